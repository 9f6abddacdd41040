// Loads an iteration earlier than the schedule has them.
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ring_depth.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/placer.hpp"
#include "graph/verify.hpp"

namespace twill::ttgir {

/// Loads of tiles that are used in the stage in which they are issued.
std::vector<int> Placer::late_loads(bool partitioned) const {
  std::vector<int> loads;
  for (const int op : body_) {
    const bool pointers = is_pointer_load(m_, op);
    if (class_of(m_.op(op)) != OpClass::load || problem_op_.count(op) == 0) continue;
    if (!pointers && (partitioned || m_.op(op).name == "tt.load")) continue;
    const auto users = users_.find(op);
    if (users == users_.end()) continue;
    if (std::any_of(users->second.begin(), users->second.end(),
                    [&](int user) { return places_.at(user).stage <= places_.at(op).stage; }))
      loads.push_back(op);
  }
  return loads;
}

/// The schedule with all else an iteration later than these loads and what they wait for. False,
/// and nothing is changed, where the judge refuses it.
bool Placer::issue_earlier(const std::vector<int>& loads) {
  std::set<int> early;
  std::vector<int> work;
  for (const int op : loads) work.push_back(problem_op_.at(op));
  while (!work.empty()) {
    const int v = work.back();
    work.pop_back();
    if (!early.insert(v).second) continue;
    for (const Edge& edge : problem_.edges)
      if (edge.to == v && edge.distance == 0) work.push_back(edge.from);
  }
  Schedule moved = schedule_;
  for (std::size_t v = 0; v < moved.start.size(); ++v)
    if (early.count(static_cast<int>(v)) == 0) moved.start[v] += moved.initiation_interval;
  moved.length = schedule_length(problem_, moved.start);
  if (verify(problem_, moved)) return false;
  schedule_ = std::move(moved);
  place_nodes();
  place_rest();
  return true;
}

void Placer::issue_ahead(bool partitioned) {
  const std::vector<int> late = late_loads(partitioned);
  if (late.empty()) return;
  std::vector<int> stay;
  if (!issue_earlier(late)) {
    for (const int op : late)
      if (!issue_earlier({op})) stay.push_back(op);
  }
  for (const int op : late) {
    const bool stays = std::find(stay.begin(), stay.end(), op) != stay.end();
    said_.push_back(Module::place(m_.op(op)) +
                    (stays ? ": the load waits where it is issued: what uses it is of the same "
                             "stage, and an iteration earlier the schedule has no room for it"
                           : ": the load is issued an iteration earlier than the schedule has it: "
                             "what uses it is of the same stage, and Triton copies on its own only "
                             "from stage to stage"));
  }
}

std::int64_t Placer::ring_depth() const {
  std::int64_t depth = 2;
  for (const auto& [load, buffers] : ring_depths(problem_, schedule_))
    depth = std::max(depth, buffers);
  return depth;
}

}  // namespace twill::ttgir
