#include "graph/ttgir/partition_tags.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/within.hpp"

namespace twill::ttgir {
namespace {

/// Does Triton hold an op for cheap, so that it is repeated where that saves a hand-over?
bool is_cheap(const Module& m, int index) {
  const Operation& op = m.op(index);
  if (is_tensor_memory_mma(op) || is_memory_access(op) || op.name.starts_with("tt.descriptor_") ||
      op.name.starts_with("ttg.memdesc_"))
    return false;
  return op.name != "tt.broadcast" && op.name != "tt.expand_dims" &&
         op.name != "ttg.convert_layout";
}

/// Ops that begin a way through cheap ops of one partition and back to the one that it came from.
std::set<int> ways_back(const Module& m, const Demand& demand) {
  std::unordered_map<int, std::vector<int>> next;  // op of the region -> those that use it
  std::unordered_map<int, std::vector<int>> before;
  const auto link = [&](int made, int user) {
    next[made].push_back(user);
    before[user].push_back(made);
  };
  const auto single = [&](int op) {
    const std::set<int>& ids = demand.partitions(op);
    return ids.size() == 1 ? *ids.begin() : -1;
  };
  std::unordered_map<int, std::vector<int>> users;  // value -> ops of the region
  for (const int op : demand.ops())
    if (!demand.is_opened(op) && class_of(m.op(op)) != OpClass::terminator)
      each_within(m, op, [&](int inner) {
        for (const int value : m.op(inner).operands) users[value].push_back(op);
      });
  for (const int op : demand.ops())
    for (const int value : m.op(op).results) {
      std::set<int> names = {value};  // and the loop variables that it becomes
      for (const int yield : demand.ops()) {
        if (class_of(m.op(yield)) != OpClass::terminator) continue;
        const std::vector<int>& values = m.op(yield).operands;
        const auto& arguments = m.block(m.op(yield).block).arguments;
        for (std::size_t k = 0; k < values.size() && k + 1 < arguments.size(); ++k)
          if (values[k] == value) names.insert(arguments[k + 1]);
      }
      for (const int name : names)
        for (const int user : users[name])
          if (user != op) link(op, user);
    }
  std::set<int> begin;
  for (const int op : demand.ops()) {
    const int mine = single(op);
    if (mine < 0 || demand.is_opened(op) || !is_cheap(m, op)) continue;
    std::set<int> from;
    for (const int made : before[op])
      if (const int id = single(made); id >= 0 && id != mine) from.insert(id);
    std::vector<int> work = {op};
    std::unordered_set<int> seen = {op};
    while (!work.empty() && !from.empty() && begin.count(op) == 0) {
      const int now = work.back();
      work.pop_back();
      for (const int user : next[now]) {
        const int id = single(user);
        if (id < 0 || !is_cheap(m, user)) continue;
        if (from.count(id) != 0) begin.insert(op);
        if (id == mine && seen.insert(user).second) work.push_back(user);
      }
    }
  }
  return begin;
}

}  // namespace

PartitionKind partition_kind(const Operation& op) {
  if (is_tensor_memory_mma(op)) return PartitionKind::products;
  if (!op.name.starts_with("tt.descriptor_")) return PartitionKind::other;
  return class_of(op) == OpClass::load ? PartitionKind::loads : PartitionKind::stores;
}

PartitionKind joined(PartitionKind a, PartitionKind b) {
  if (a == PartitionKind::other) return b;
  return b == PartitionKind::other ? a : std::min(a, b);
}

std::set<int> not_repeated(const Module& m, const Demand& demand) {
  std::set<int> found = ways_back(m, demand);
  if (!found.empty()) return found;
  int last = kNone;
  int partition = -1;
  for (const int op : demand.ops()) {
    const PartitionKind kind = partition_kind(m.op(op));
    if (kind == PartitionKind::loads || kind == PartitionKind::stores) return found;
    const std::set<int>& ids = demand.partitions(op);
    if (ids.size() != 1 || demand.is_opened(op)) continue;
    if (class_of(m.op(op)) == OpClass::terminator || *ids.begin() < partition) continue;
    // (A partition with products is numbered by them.)
    const bool multiplies = std::any_of(demand.ops().begin(), demand.ops().end(), [&](int other) {
      return partition_kind(m.op(other)) == PartitionKind::products &&
             demand.partitions(other) == ids;
    });
    if (multiplies) continue;
    last = op;
    partition = *ids.begin();
  }
  if (last != kNone) found.insert(last);
  return found;
}

std::vector<int> not_followed(const Module& m, const Demand& demand,
                              const std::unordered_map<int, int>& own) {
  std::unordered_set<int> known;  // values that do, or that are told to be as if they did
  std::set<int> told;
  for (bool changed = true; changed;) {
    changed = false;
    const auto know = [&](int value) { changed = known.insert(value).second || changed; };
    for (const int op : demand.ops()) {
      const Operation& o = m.op(op);
      if (class_of(o) == OpClass::terminator || demand.is_opened(op)) {
        // Loop variables, and what a loop ends with.
        const int loop = demand.is_opened(op) ? op : m.parent(op);
        const auto& arguments = m.block(m.regions[at(m.op(loop).regions[0])].blocks[0]).arguments;
        const std::size_t first = loop == op ? kBounds : 0;
        for (std::size_t k = first; k < o.operands.size(); ++k) {
          if (known.count(o.operands[k]) == 0) continue;
          if (k - first + 1 < arguments.size()) know(arguments[k - first + 1]);
          if (k - first < m.op(loop).results.size()) know(m.op(loop).results[k - first]);
        }
        continue;
      }
      bool follows = is_tensor_memory_mma(o) || class_of(o) == OpClass::tmem_load ||
                     (class_of(o) == OpClass::load && o.name != "tt.load") || told.count(op) != 0;
      each_within(m, op, [&](int inner) {
        for (const int value : m.op(inner).operands) follows = follows || known.count(value) != 0;
      });
      if (!follows && !o.results.empty() && own.count(op) != 0 &&
          demand.partitions(op) == std::set<int>{own.at(op)})
        follows = told.insert(op).second;
      if (follows)
        for (const int value : o.results) know(value);
    }
  }
  return {told.begin(), told.end()};
}

bool keeps_default(const Module& m, const Demand& demand) {
  std::map<int, PartitionKind> kinds;
  const auto add = [&](int op, PartitionKind kind) {
    if (const std::set<int>& ids = demand.partitions(op); ids.size() == 1)
      kinds[*ids.begin()] = joined(kinds[*ids.begin()], kind);
  };
  for (const int op : demand.ops()) add(op, partition_kind(m.op(op)));
  for (const int op : not_repeated(m, demand)) add(op, PartitionKind::stores);
  return kinds.count(0) == 0 || std::all_of(kinds.begin(), kinds.end(), [&](const auto& one) {
           return kinds.at(0) <= one.second;
         });
}

}  // namespace twill::ttgir
