#include "engine/order/lifetime_limit.hpp"

#include <algorithm>
#include <cassert>

#include "graph/index.hpp"

namespace twill::order {
namespace {

std::size_t literal_slot(int literal) {
  return literal < 0 ? 2 * at(-literal) + 1 : 2 * at(literal);
}

}  // namespace

// A step that holds always is a constraint at once.
bool LifetimeLimit::add(const FlowArc& arc, std::string name, int literal) {
  if (arc.from == arc.to) return true;
  const int index = static_cast<int>(steps_.size());
  steps_.push_back({arc, std::move(name), literal});
  if (literal == 0) return flow_->add(arc, index) || refuse();
  const std::size_t slot = literal_slot(literal);
  if (step_of_.size() <= slot) step_of_.resize(slot + 1, -1);
  step_of_[slot] = index;
  return true;
}

bool LifetimeLimit::reset(Cycle ii, Cycle deadline) {
  assert(ii >= 1);
  steps_.clear();
  step_of_.clear();
  flow_.emplace(1 + 3 * ops(), most_);
  const Differences& rows = encoding_.rows();
  const auto between_rows = [&](const Difference& d, const char* kind, int number, int literal) {
    if (std::max(d.from, d.to) > ops()) return true;  // sequences' first
    return add({d.from, d.to, d.at(ii, deadline)}, kind + std::to_string(number), literal);
  };
  for (std::size_t f = 0; f < rows.facts().size(); ++f)
    if (!between_rows(rows.facts()[f], "f", static_cast<int>(f), 0)) return false;
  for (const DifferenceAtom& a : rows.atoms())
    if (!between_rows(a.difference, "a", a.variable, a.variable)) return false;
  for (int v = 0; v < ops(); ++v) {
    const int row = rows.node(v), start = start_node(v);
    if (!add({row, start, 0}, "", 0) || !add({start, row, (1 - stages_) * ii}, "", 0) ||
        !add({start, 0, problem_.ops[at(v)].cycles - deadline}, "l" + std::to_string(v), 0))
      return false;
    for (Cycle a = 1; a < stages_; ++a) {
      const int later = encoding_.stage_at_least(v, a).dimacs();
      if (!add({row, start, a * ii}, "", later) || !add({start, row, (1 - a) * ii}, "", -later))
        return false;
    }
  }
  std::vector<char> used(problem_.ops.size(), 0);
  for (int e = 0; e < static_cast<int>(problem_.edges.size()); ++e) {
    const Edge& edge = problem_.edges[at(e)];
    used[at(edge.from)] = 1;
    const std::string number = std::to_string(e);
    if (!add({start_node(edge.from), start_node(edge.to), edge.delay - edge.distance * ii},
             "d" + number, 0) ||
        !add({start_node(edge.to), end_node(edge.from), edge.distance * ii + edge.hold},
             "u" + number, 0))
      return false;
  }
  for (int v = 0; v < ops(); ++v)
    if (used[at(v)] != 0 && !flow_->count(start_node(v), end_node(v))) return refuse();
  return true;
}

bool LifetimeLimit::assign(int literal) {
  assert(flow_ && literal != 0);
  const std::size_t slot = literal_slot(literal);
  if (slot >= step_of_.size() || step_of_[slot] < 0) return true;
  const int index = step_of_[slot];
  return flow_->add(steps_[at(index)].arc, index) || refuse();
}

bool LifetimeLimit::refuse() {
  lemma_.clear();
  reason_ = reasons_ ? "L" : "";
  for (const DifferenceFlow::Step& used : flow_->reason()) {
    const Step& step = steps_[at(used.name)];
    if (step.literal != 0) lemma_.push_back(-step.literal);
    if (!reasons_ || step.name.empty()) continue;
    reason_ += " " + step.name;
    if (used.times > 1) reason_ += "*" + std::to_string(used.times);
  }
  return false;
}

std::vector<Cycle> LifetimeLimit::rows() const {
  assert(flow_);
  std::vector<Cycle> rows;
  for (int v = 0; v < ops(); ++v)
    rows.push_back(flow_->values()[at(encoding_.rows().node(v))] - flow_->values()[0]);
  return rows;
}

}  // namespace twill::order
