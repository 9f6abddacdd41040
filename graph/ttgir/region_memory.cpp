#include "graph/ttgir/region_memory.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/index.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/type.hpp"
#include "graph/ttgir/within.hpp"

namespace twill::ttgir {
namespace {

constexpr std::int64_t kBarriers = 32;  // of a buffer, and room to align it
constexpr std::int64_t kRegion = 1024;  // what partitions are started with, and hand back

std::int64_t tile_bytes(const Module& m, int value) {
  const Type* type = m.type_of(value);
  if (type == nullptr || type->tensor_memory ||
      (type->kind != TypeKind::tensor && type->kind != TypeKind::memdesc))
    return 0;
  return buffer_bytes(*type);
}

class Sum {
 public:
  Sum(const LoweredModule& lowered, const Placer& placer) : m_(lowered.module), placer_(placer) {}

  RegionMemory memory() {
    for (const int op : placer_.demand().ops()) {
      if (placer_.demand().is_opened(op) || class_of(m_.op(op)) == OpClass::terminator) continue;
      each_within(m_, op, [&](int inner) {
        for (const int value : m_.op(inner).operands) users_[value].push_back(op);
      });
    }
    for (const int op : placer_.demand().ops())
      if (!placer_.demand().is_opened(op)) add(op);
    for (const auto& [value, users] : users_)
      if (const int made = m_.value(value).op;
          made != kNone && m_.op(made).name == "ttg.local_alloc" && in_region_.count(made) == 0)
        take_once(tile_bytes(m_, value));
    // (What a loop around the region stores by descriptor has a buffer before that loop.)
    for (int around = m_.parent(placer_.root()); around != kNone; around = m_.parent(around))
      if (m_.op(around).name == "scf.for" || m_.op(around).name == "scf.while")
        each_within(m_, around, [&](int op) {
          if (!is_in_region(op)) add_store(op);
        });
    sum_.once += kRegion;
    return sum_;
  }

 private:
  bool is_in_region(int op) const {
    while (op != kNone && op != placer_.root()) op = m_.parent(op);
    return op != kNone;
  }

  void take_once(std::int64_t bytes) {
    if (bytes > 0) sum_.once += bytes + kBarriers;
  }

  void add_store(int op) {
    const Operation& o = m_.op(op);
    if (class_of(o) != OpClass::store || !o.name.starts_with("tt.descriptor_")) return;
    for (const int value : o.operands) take_once(tile_bytes(m_, value));
  }

  void add(int op) {
    in_region_.insert(op);
    add_store(op);
    const Operation& o = m_.op(op);
    const OpClass c = class_of(o);
    if (o.results.empty()) return;
    const std::int64_t bytes = tile_bytes(m_, o.results[0]);
    if (c == OpClass::load) {
      if (is_pointer_load(m_, op))  // in each partition that uses it
        take_once(bytes * stages_held(op) *
                  static_cast<std::int64_t>(placer_.demand().partitions(op).size()));
      else
        sum_.ring += bytes + kBarriers;
      return;
    }
    if (c == OpClass::local_alloc) {
      const int made = o.operands.empty() ? kNone : m_.value(o.operands[0]).op;
      if (made == kNone || class_of(m_.op(made)) != OpClass::load) take_once(bytes);
      return;
    }
    for (const int value : o.results)
      if (is_handed_on(op, value)) {
        take_once(tile_bytes(m_, value));
        sum_.handed.push_back({op, tile_bytes(m_, value), users_.at(value)});
      }
  }

  bool is_handed_on(int op, int value) const {
    const std::set<int>& own = placer_.demand().partitions(op);
    const auto users = users_.find(value);
    const Type* type = m_.type_of(value);  // none of what an unknown op gives without saying it
    if (users == users_.end() || type == nullptr || type->kind != TypeKind::tensor) return false;
    return std::any_of(users->second.begin(), users->second.end(), [&](int user) {
      const std::set<int>& theirs = placer_.demand().partitions(user);
      return !std::includes(own.begin(), own.end(), theirs.begin(), theirs.end());
    });
  }

  /// From a load through pointers to its first use; 0 where it has no buffer.
  std::int64_t stages_held(int op) const {
    if (!placer_.has_place(op)) return 0;
    std::int64_t held = 0;
    const auto users = users_.find(m_.op(op).results[0]);
    if (users == users_.end()) return 0;
    for (const int user : users->second)
      if (placer_.has_place(user))
        held = std::max(held, placer_.place(user).stage - placer_.place(op).stage);
    return held == 0 ? 0 : held + 2;  // (Products that run on read for one stage more.)
  }

  const Module& m_;
  const Placer& placer_;
  RegionMemory sum_;
  std::unordered_map<int, std::vector<int>> users_;
  std::set<int> in_region_;
};

/// Bytes; -1: the machine says nothing of it.
std::int64_t shared_memory(const LoweredModule& lowered) {
  for (const MachineMemory& memory : lowered.machine.memories)
    if (memory.name == "smem") return memory.capacity;
  return -1;
}

}  // namespace

RegionMemory region_memory(const LoweredModule& lowered, const Placer& placer) {
  return Sum(lowered, placer).memory();
}

std::int64_t fitting_depth(const LoweredModule& lowered, const Placer& placer) {
  const std::int64_t capacity = shared_memory(lowered);
  std::int64_t depth = placer.ring_depth();
  if (capacity < 0) return depth;
  const RegionMemory memory = region_memory(lowered, placer);
  while (depth > 0 && memory.once + memory.ring * depth > capacity) --depth;
  return depth < 2 ? 0 : depth;
}

std::vector<Pin> pins_for_memory(const LoweredModule& lowered, const Problem& problem,
                                 const Schedule& schedule) {
  if (lowered.loop.target != 0 && lowered.loop.target < 100) return {};  // it takes no partitions
  Placer placer(lowered, problem, schedule);
  if (!placer.opens_loops()) placer.issue_ahead(true);
  if (fitting_depth(lowered, placer) != 0) return {};
  RegionMemory memory = region_memory(lowered, placer);
  std::stable_sort(memory.handed.begin(), memory.handed.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::vector<Pin> pins;
  for (const RegionMemory::Handed& tile : memory.handed) {
    const int made = placer.problem_op(tile.op);
    if (made < 0 || problem.ops[at(made)].variable_latency) continue;
    bool stays = true;
    std::vector<Pin> of_tile;
    for (const int user : tile.users) {
      const int v = placer.problem_op(user);
      if (v == made || (v >= 0 && schedule.warp[at(v)] == schedule.warp[at(made)])) continue;
      stays = stays && v >= 0 && !placer.is_view(user) && !problem.ops[at(v)].variable_latency;
      of_tile.push_back({Pin::same_slot, made, -1, -1, v});
    }
    if (!stays || of_tile.empty()) continue;
    pins.insert(pins.end(), of_tile.begin(), of_tile.end());
    memory.once -= tile.bytes;
    if (memory.once + 2 * memory.ring <= shared_memory(lowered)) return pins;
  }
  return {};
}

}  // namespace twill::ttgir
