#include "graph/ttgir/partition_limits.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "graph/index.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/partition_tags.hpp"
#include "graph/ttgir/region_memory.hpp"
#include "graph/ttgir/within.hpp"

namespace twill::ttgir {
namespace {

/// The first of these ops, or of those in their regions, that is of a kind; kNone where none is.
int first_named(const Module& m, const std::vector<int>& ops,
                const std::function<bool(const Operation&)>& is) {
  for (const int index : ops) {
    if (is(m.op(index))) return index;
    for (const int region : m.op(index).regions)
      for (const int block : m.regions[static_cast<std::size_t>(region)].blocks)
        if (const int found = first_named(m, m.block(block).ops, is); found != kNone) return found;
  }
  return kNone;
}

bool is_used_outside(const Module& m, int value, int loop) {
  return std::any_of(m.ops.begin(), m.ops.end(), [&](const Operation& op) {
    return op.block != kNone && op.block != loop &&
           std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
  });
}

/// A load of tensor memory behind a loop whose tile becomes another accumulator of a loop that is
/// not specialised; kNone where none is.
int passed_on_accumulator(const Module& m, int root) {
  std::set<int> buffers;
  each_within(m, root, [&](int op) {
    if (is_memory_access(m.op(op)) || is_tensor_memory_mma(m.op(op)))
      for (const int value : m.op(op).operands) buffers.insert(value);
  });
  const auto is_specialised = [&](int buffer) {
    return std::any_of(m.ops.begin(), m.ops.end(), [&](const Operation& op) {
      if (std::find(op.operands.begin(), op.operands.end(), buffer) == op.operands.end())
        return false;
      const int around = m.parent(static_cast<int>(&op - m.ops.data()));
      bool found = false;
      if (around != kNone) m.attribute(m.op(around), "tt.warp_specialize", &found);
      return found;
    });
  };
  for (std::size_t k = 0; k < m.ops.size(); ++k) {
    const Operation& load = m.ops[k];
    if (class_of(load) != OpClass::tmem_load || load.results.empty() || load.begin == load.end ||
        load.begin < m.op(root).end || buffers.count(load.operands[0]) == 0)
      continue;
    for (const Operation& store : m.ops) {
      if (class_of(store) != OpClass::tmem_store || store.operands.size() < 2) continue;
      int value = store.operands[0];
      while (m.value(value).op != kNone && class_of(m.op(m.value(value).op)) == OpClass::layout)
        value = m.op(m.value(value).op).operands[0];
      if (value == load.results[0] && !is_specialised(store.operands[1]))
        return static_cast<int>(k);
    }
  }
  return kNone;
}

/// A variable of the scheduled loop that a partition reads and another one makes, its place in the
/// loop's results; -1: none.
int handed_variable(const Module& m, const Placer& placer) {
  const int loop = m.parent(placer.body().front());
  const std::vector<std::set<int>> made = placer.demand().outputs(loop);
  const auto& arguments = m.block(m.op(placer.body().front()).block).arguments;
  std::set<int> found;
  for (const int op : placer.body()) {
    if (class_of(m.op(op)) == OpClass::terminator) continue;
    const std::set<int>& in = placer.demand().partitions(op);
    each_within(m, op, [&](int inner) {
      for (const int value : m.op(inner).operands) {
        const auto argument = std::find(arguments.begin(), arguments.end(), value);
        if (argument == arguments.begin() || argument == arguments.end()) continue;
        const int k = static_cast<int>(argument - arguments.begin()) - 1;
        const Type* type = m.type_of(value);
        if (type == nullptr || type->kind == TypeKind::token || at(k) >= made.size()) continue;
        if (!std::includes(made[at(k)].begin(), made[at(k)].end(), in.begin(), in.end()))
          found.insert(k);
      }
    });
  }
  return found.empty() ? -1 : *found.begin();
}

/// An op of the loop that uses a descriptor in a later stage than that in which the loop makes it,
/// or hands it on to the next iteration; kNone where none does.
int late_descriptor(const Module& m, const Placer& placer) {
  const std::vector<int>& body = placer.body();
  if (!makes_descriptors(m, body)) return kNone;
  if (carried_descriptors(m, body) > 0) return body.back();
  std::map<int, int> made;  // descriptor -> op of the body
  int late = kNone;
  for (const int op : body)
    each_within(m, op, [&](int inner) {
      for (const int value : m.op(inner).operands) {
        const auto found = made.find(value);
        if (found == made.end() || late != kNone || class_of(m.op(op)) == OpClass::terminator)
          continue;
        if (placer.place(op).stage != placer.place(found->second).stage) late = op;
      }
      const bool makes = m.op(inner).name == "tt.make_tensor_descriptor";
      for (const int value : m.op(inner).results) {
        const Type* type = m.type_of(value);
        if (makes || (type != nullptr && type->kind == TypeKind::descriptor)) made[value] = op;
      }
    });
  return late;
}

}  // namespace

bool makes_descriptors(const Module& m, const std::vector<int>& body) {
  return first_named(m, body, [](const Operation& op) {
           return op.name == "tt.make_tensor_descriptor";
         }) != kNone;
}

int makes_descriptors_within(const Module& m, const std::vector<int>& body) {
  return first_named(m, body, [&](const Operation& op) {
    if (op.name != "scf.for" && op.name != "scf.while") return false;
    const int index = static_cast<int>(&op - m.ops.data());
    return makes_descriptors(m, {index});
  });
}

int carried_descriptors(const Module& m, const std::vector<int>& body) {
  int count = 0;
  for (const int value : m.block(m.op(body.front()).block).arguments)
    if (const Type* type = m.type_of(value); type != nullptr && type->kind == TypeKind::descriptor)
      ++count;
  return count;
}

NoPartitions why_no_partitions(const LoweredModule& lowered, const Placer& placer) {
  const Module& m = lowered.module;
  const int root = placer.root();
  const auto line = [&](int op) { return "line " + std::to_string(m.op(op).line); };
  std::set<int> used;
  for (const int op : placer.body())
    if (const int own = placer.own_partition(op); own >= 0) used.insert(own);
  if (used.size() < 2) return {"the schedule uses one partition"};
  if (lowered.loop.target != 0 && lowered.loop.target < 90)
    return {"Triton has no warp specialisation for cuda:" + std::to_string(lowered.loop.target)};
  if (lowered.loop.target >= 90 && lowered.loop.target < 100)
    return {"Triton's warp specialisation for Hopper makes tasks of its own"};
  if (const int late = late_descriptor(m, placer); late != kNone)
    return {"the op of " + line(late) +
            " uses a descriptor that the loop makes in an earlier stage: Triton's partitions have "
            "too few places for it"};
  const std::vector<int>& body =
      m.block(m.regions[static_cast<std::size_t>(m.op(root).regions[0])].blocks[0]).ops;
  const int whole = first_named(m, body, [&](const Operation& op) {
    if (op.regions.empty() || op.name == "scf.for") return false;
    bool token = false;  // its own, or of an op in it
    each_within(m, static_cast<int>(&op - m.ops.data()), [&](int inner) {
      for (const int value : m.op(inner).results) {
        const Type* type = m.type_of(value);
        token = token || (type != nullptr && type->kind == TypeKind::token);
      }
    });
    return op.name == "scf.if" ? token : op.name != "tt.reduce" || op.results.size() > 1;
  });
  if (whole != kNone)
    return {"Triton puts no " + std::string(m.op(whole).name) + " as that of " + line(whole) +
                " into partitions that are given",
            true};
  if (const int load = passed_on_accumulator(m, root); load != kNone)
    return {
        "Triton's hoisting of tensor memory aborts where a partitioned loop's accumulator is "
        "loaded, as in " +
            line(load) + ", to be that of a loop without partitions",
        true};
  std::set<int> written;  // loads through pointers go where they are used
  for (const int op : placer.body())
    written.insert(placer.demand().partitions(op).begin(), placer.demand().partitions(op).end());
  if (written.size() < 2)
    return {
        "all of its ops come to one partition, as a load through pointers is issued where its "
        "result is used"};
  if (placer.torn() != kNone)
    return {"the op of " + line(placer.torn()) +
                " reads results of the loop from several partitions, which Triton does not hand on",
            true};
  if (const std::string large = why_too_large(lowered, placer); !large.empty())
    return {large, true};
  if (const int k = handed_variable(m, placer); k >= 0 && !placer.opens_loops()) {
    const int variable = m.block(m.op(placer.body().front()).block).arguments[at(k) + 1];
    return {"%" + std::string(m.value(variable).name) +
                ", a variable of the loop, is read in another partition than makes it: Triton's "
                "wait for it gets no stage",
            true};
  }
  const std::vector<std::set<int>> outputs = placer.demand().outputs(root);
  const std::vector<int>& results = m.op(root).results;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Type* type = m.type_of(results[k]);
    if ((type != nullptr && type->kind == TypeKind::token) || !is_used_outside(m, results[k], root))
      continue;
    const std::vector<int>& values = m.op(body.back()).operands;
    const bool tile = type != nullptr && type->kind == TypeKind::tensor && !type->is_pointer();
    if (tile && k < values.size() && m.value(values[k]).op != kNone) continue;
    if (outputs[k].count(0) != 0 && keeps_default(m, placer.demand())) continue;
    return {"%" + std::string(m.value(results[k]).name) + "#" + std::to_string(k) +
                ", which is used after the loop, comes from another partition than the default one",
            true};
  }
  return {};
}

std::string why_too_large(const LoweredModule& lowered, const Placer& placer) {
  if (fitting_depth(lowered, placer) != 0) return "";
  const RegionMemory memory = region_memory(lowered, placer);
  return "with two buffers a load the partitions would take " +
         std::to_string(memory.once + 2 * memory.ring) +
         " bytes of shared memory, more than there are";
}

int pipelined_by_triton(const Module& m, const std::vector<int>& ops) {
  return first_named(m, ops, [&](const Operation& op) {
    if (op.name != "scf.for") return false;
    const std::vector<int>& inner =
        m.block(m.regions[static_cast<std::size_t>(op.regions[0])].blocks[0]).ops;
    const auto any = [&](const std::function<bool(const Operation&)>& is) {
      return first_named(m, inner, is) != kNone;
    };
    bool counted = false;
    if (m.attribute(op, "tt.num_stages", &counted).starts_with("1 ")) return false;
    if (any([](const Operation& o) { return o.name == "scf.for" || o.name == "scf.while"; }))
      return false;
    if (any(is_tensor_memory_mma)) return true;
    return (counted || any([](const Operation& o) { return class_of(o) == OpClass::mma; })) &&
           any([](const Operation& o) {
             return class_of(o) == OpClass::load && !o.results.empty();
           });
  });
}

}  // namespace twill::ttgir
