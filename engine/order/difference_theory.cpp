#include "engine/order/difference_theory.hpp"

#include <algorithm>

namespace twill {
namespace {

constexpr Cycle kNone = -4'000'000'000'000'000'000;  // less than any sum of weights
constexpr bool reachable(Cycle distance) {
  return distance > kNone / 2;
}

}  // namespace

DifferenceTheory::DifferenceTheory(int nodes, const std::vector<signed char>& values)
    : nodes_(static_cast<std::size_t>(nodes)),
      values_(values),
      distance_(nodes_ * nodes_, kNone),
      newest_(nodes_ * nodes_, -1),
      against_(nodes_ * nodes_) {}

void DifferenceTheory::add_atom(const DifferenceAtom& atom) {
  const auto variable = static_cast<std::size_t>(atom.variable);
  if (atom_of_.size() <= variable) atom_of_.resize(variable + 1, -1);
  atom_of_[variable] = static_cast<int>(atoms_.size());
  atoms_.push_back(atom);
}

bool DifferenceTheory::reset(Cycle ii, Cycle deadline, std::vector<int>& refuted) {
  changes_.clear();
  asserted_.clear();
  records_.clear();
  std::fill(distance_.begin(), distance_.end(), kNone);
  std::fill(newest_.begin(), newest_.end(), -1);
  const int n = static_cast<int>(nodes_);
  for (int v = 0; v < n; ++v) distance_[index(v, v)] = 0;
  std::vector<Refuted> none;
  arcs_.clear();
  for (auto& list : against_) list.clear();
  for (const Difference& fact : facts_)
    if (!insert({fact.from, fact.to, fact.at(ii, deadline), 0}, none)) return false;
  // What the facts imply needs no explanation: it is the ground on which all else is built.
  changes_.clear();
  asserted_.clear();
  std::fill(newest_.begin(), newest_.end(), -1);
  for (const DifferenceAtom& atom : atoms_) {
    const Difference& d = atom.difference;
    arcs_.push_back({d.from, d.to, d.at(ii, deadline), atom.variable});
    const Arc& arc = arcs_.back();
    against_[index(d.to, d.from)].push_back({arc.weight, atom.variable});
    const Cycle back = distance_[index(d.to, d.from)];
    if (reachable(back) && back + arc.weight > 0) refuted.push_back(atom.variable);
  }
  for (auto& list : against_)
    std::stable_sort(list.begin(), list.end(),
                     [](const Watched& a, const Watched& b) { return a.weight > b.weight; });
  return true;
}

bool DifferenceTheory::assert_atom(int variable, std::vector<Refuted>& refuted) {
  const auto v = static_cast<std::size_t>(variable);
  if (v >= atom_of_.size() || atom_of_[v] < 0) return true;
  return insert(arcs_[static_cast<std::size_t>(atom_of_[v])], refuted);
}

bool DifferenceTheory::insert(const Arc& arc, std::vector<Refuted>& refuted) {
  if (distance_[index(arc.from, arc.to)] >= arc.weight) return true;
  const int time = static_cast<int>(asserted_.size());
  const Cycle back = distance_[index(arc.to, arc.from)];
  if (reachable(back) && back + arc.weight > 0) {
    conflict_.assign(1, arc.variable);
    explain_path(arc.to, arc.from, time, conflict_);
    return false;
  }
  asserted_.push_back(arc);
  const int n = static_cast<int>(nodes_);
  targets_.clear();
  const Cycle* const from_head = &distance_[index(arc.to, 0)];
  const Cycle* const from_tail = &distance_[index(arc.from, 0)];
  for (int y = 0; y < n; ++y)
    if (reachable(from_head[y]) && arc.weight + from_head[y] > from_tail[y]) targets_.push_back(y);
  for (int x = 0; x < n; ++x) {
    const Cycle to_tail = distance_[index(x, arc.from)];
    if (!reachable(to_tail)) continue;
    const Cycle through = to_tail + arc.weight;
    if (through <= distance_[index(x, arc.to)]) continue;
    for (const int y : targets_) {
      const std::size_t entry = index(x, y);
      const Cycle path = through + from_head[y];
      if (path <= distance_[entry]) continue;
      changes_.push_back({entry, distance_[entry], newest_[entry], time});
      newest_[entry] = static_cast<int>(changes_.size()) - 1;
      distance_[entry] = path;
      for (const Watched& atom : against_[entry]) {
        if (atom.weight + path <= 0) break;
        if (values_[static_cast<std::size_t>(atom.variable)] != 0) continue;
        refuted.push_back({atom.variable, static_cast<int>(records_.size())});
        records_.push_back({x, y, time + 1});
      }
    }
  }
  return true;
}

void DifferenceTheory::explain_path(int from, int to, int before,
                                    std::vector<int>& variables) const {
  int newest = newest_[index(from, to)];
  while (newest >= 0 && changes_[static_cast<std::size_t>(newest)].time >= before)
    newest = changes_[static_cast<std::size_t>(newest)].newest;
  if (newest < 0) return;  // a path of facts
  const int time = changes_[static_cast<std::size_t>(newest)].time;
  const Arc& arc = asserted_[static_cast<std::size_t>(time)];
  variables.push_back(arc.variable);
  explain_path(from, arc.from, time, variables);
  explain_path(arc.to, to, time, variables);
}

void DifferenceTheory::explain(int record, std::vector<int>& variables) const {
  const Record& r = records_[static_cast<std::size_t>(record)];
  explain_path(r.from, r.to, r.time, variables);
}

void DifferenceTheory::undo(const Mark& mark) {
  while (changes_.size() > mark.changes) {
    const Change& change = changes_.back();
    distance_[change.entry] = change.distance;
    newest_[change.entry] = change.newest;
    changes_.pop_back();
  }
  asserted_.resize(mark.asserted);
  records_.resize(mark.records);
}

}  // namespace twill
