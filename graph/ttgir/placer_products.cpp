// Products of Hopper in one stage.
#include <algorithm>
#include <map>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/placer.hpp"

namespace twill::ttgir {
namespace {

bool is_warp_group_product(const Operation& op) {
  return op.name == "ttng.warp_group_dot";
}

}  // namespace

/// Ops that loads wait for in their iteration, and the loads; {} where an op of the schedule that
/// is none of them makes in one iteration what they wait for in the next.
std::set<int> Placer::loads_and_addresses() const {
  std::map<int, std::vector<int>> before, carried;
  for (const auto& [op, users] : users_)
    for (const int user : users) before[user].push_back(op);
  for (const auto& [op, users] : next_users_)
    for (const int user : users) carried[user].push_back(op);
  std::set<int> ahead;
  std::vector<int> work;
  const auto reach = [&](std::set<int>& set, int op) {
    if (set.insert(op).second) work.push_back(op);
  };
  for (const int op : body_)
    if (class_of(m_.op(op)) == OpClass::load && !m_.op(op).results.empty()) reach(ahead, op);
  while (!work.empty()) {
    const int op = work.back();
    work.pop_back();
    for (const int made : before[op]) reach(ahead, made);
  }
  std::set<int> earlier;  // made in an iteration before
  for (const int op : ahead)
    for (const int made : carried[op]) reach(earlier, made);
  while (!work.empty()) {
    const int op = work.back();
    work.pop_back();
    for (const auto* from : {&before, &carried})
      if (const auto found = from->find(op); found != from->end())
        for (const int made : found->second) reach(earlier, made);
  }
  const bool made_behind = std::any_of(earlier.begin(), earlier.end(), [&](int op) {
    return ahead.count(op) == 0 && problem_op_.count(op) != 0;
  });
  const bool products = std::any_of(ahead.begin(), ahead.end(),
                                    [&](int op) { return is_warp_group_product(m_.op(op)); });
  return made_behind || products ? std::set<int>() : ahead;
}

void Placer::gather_products() {
  int early = kNone;
  for (const int op : body_)
    if (is_warp_group_product(m_.op(op)) && places_.at(op).stage + 1 < stages() && early == kNone)
      early = op;
  const std::set<int> ahead = early == kNone ? std::set<int>() : loads_and_addresses();
  if (ahead.empty()) return;
  std::map<int, Cycle> lead;  // stages ahead of the products
  for (auto it = body_.rbegin(); it != body_.rend(); ++it) {
    const auto users = users_.find(*it);
    if (ahead.count(*it) == 0 || users == users_.end()) continue;
    std::optional<Cycle> first;
    Cycle most = 0;
    for (const int user : users->second) {
      const Cycle theirs = lead.count(user) != 0 ? lead.at(user) : 0;
      const Cycle stages = std::max<Cycle>(0, places_.at(user).stage - places_.at(*it).stage);
      first = std::min(first.value_or(theirs + stages), theirs + stages);
      most = std::max(most, theirs);
    }
    lead[*it] = std::max(most, first.value_or(0));
  }
  Cycle last = 0;
  for (const auto& [op, stages] : lead) last = std::max(last, stages);
  for (auto& [op, place] : places_) {
    if (!place.known) continue;
    const bool leads = ahead.count(op) != 0;
    place.stage = last - (leads && lead.count(op) != 0 ? lead.at(op) : 0);
    place.cluster = leads ? 0 : 1;
  }
  place_rest();
  said_.push_back(
      Module::place(m_.op(early)) +
      ": Triton puts a product of Hopper that is not of the last stage into a branch, "
      "where it waits for it at once: all but the loads is handed over in one stage, in "
      "the order of the text");
}

}  // namespace twill::ttgir
