#include "graph/ttgir/scheduled.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "graph/error.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

/// How one gets the module that Twill reads (tried with Triton 3.9).
constexpr std::string_view kWayOut =
    "; Twill reads the module from before Triton's scheduling passes: compile with "
    "MLIR_ENABLE_DUMP=1 "
    "and TRITON_ALWAYS_COMPILE=1, and give the file of what comes on standard error with --module "
    "N, where --list-loops calls N \"IR Dump Before NVGPUWarpSpecialization\" or, without that, "
    "\"IR Dump Before TritonGPUAssignLatencies\" (graph/kernels/triton/compile.py does it in "
    "Python)";

/// Attributes that a scheduling pass leaves, or Twill's --emit ttgir.
constexpr std::array<std::string_view, 9> kSchedule = {"loop.stage",
                                                       "loop.cluster",
                                                       "ttg.partition",
                                                       "ttg.partition.outputs",
                                                       "ttg.partition.stages",
                                                       "tt.scheduled_max_stage",
                                                       "tt.latency",
                                                       "tt.self_latency",
                                                       "ttg.warp_specialize.tag"};

/// Ops that work on barriers in memory, or stand for partitions.
bool is_barrier(std::string_view name) {
  constexpr std::array<std::string_view, 13> kNames = {"ttng.init_barrier",
                                                       "ttng.inval_barrier",
                                                       "ttng.wait_barrier",
                                                       "ttng.arrive_barrier",
                                                       "ttng.barrier_expect",
                                                       "ttng.tc_gen5_commit",
                                                       "ttng.async_tma_copy_global_to_local",
                                                       "ttng.async_tma_gather",
                                                       "ttng.async_copy_mbarrier_arrive",
                                                       "ttng.arrive_barrier_named",
                                                       "ttng.wait_barrier_named",
                                                       "ttng.named_barrier_arrive",
                                                       "ttng.named_barrier_wait"};
  return name.starts_with("nvws.") || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_partitions(std::string_view name) {
  return name.starts_with("ttg.warp_specialize") || name == "ttg.warp_return" ||
         name == "ttg.warp_yield" || name.starts_with("nvws.warp_group");
}

bool has(const Module& m, const Operation& op, std::string_view name) {
  bool found = false;
  m.attribute(op, name, &found);
  return found;
}

bool is_annotated(const Module& m, const Operation& op) {
  return std::any_of(kSchedule.begin(), kSchedule.end(),
                     [&](std::string_view name) { return has(m, op, name); });
}

/// The first op under an op that `seen` names, with the name; kNone when there is none.
template <typename Seen>
std::pair<int, std::string> first_under(const Module& m, int op, const Seen& seen) {
  for (const int region : m.op(op).regions)
    for (const int block : m.regions[static_cast<std::size_t>(region)].blocks)
      for (const int inner : m.block(block).ops) {
        if (std::string name = seen(m.op(inner)); !name.empty()) return {inner, name};
        if (auto found = first_under(m, inner, seen); found.first != kNone) return found;
      }
  return {kNone, ""};
}

/// A Tensor Core product that signals a barrier: it has a buffer beyond its three tiles and, of a
/// scaled one, its scales.
bool signals(const Module& m, const Operation& op) {
  if (!is_tensor_memory_mma(op)) return false;
  return std::any_of(op.operands.begin(), op.operands.end(), [&](int value) {
    const Type* type = m.type_of(value);
    return type != nullptr && type->kind == TypeKind::memdesc && type->element == "i64";
  });
}

}  // namespace

AlreadyLowered::AlreadyLowered(const Module& module, int at_op, const std::string& what,
                               const std::string& rule)
    : InputError(module.source, Module::place(module.op(at_op)), what, rule),
      op(at_op),
      seen(what) {}

void refuse_op(const Module& module, int op, const std::string& seen, const std::string& why) {
  throw AlreadyLowered(module, op, seen,
                       "the loop has been pipelined or partitioned already" +
                           (why.empty() ? "" : " and is not undone: " + why) +
                           std::string(kWayOut));
}

void remove_schedule(Editor& editor, const Module& module, int loop) {
  int function = loop;
  for (int at = module.parent(loop); at != kNone; at = module.parent(at))
    if (module.op(at).name.ends_with(".func")) function = at;
  const auto visit = [&](const auto& self, int op) -> void {
    for (const std::string_view name : kSchedule)
      if (has(module, module.op(op), name)) editor.remove(op, std::string(name));
    for (const int region : module.op(op).regions)
      for (const int block : module.regions[static_cast<std::size_t>(region)].blocks)
        for (const int inner : module.block(block).ops) self(self, inner);
  };
  visit(visit, function);
}

std::optional<std::pair<int, std::string>> lowered_already(const Module& module, int loop) {
  for (int at = module.parent(loop); at != kNone; at = module.parent(at))
    if (is_partitions(module.op(at).name)) return {{at, std::string(module.op(at).name)}};
  const auto partitions = first_under(module, function_of(module, loop), [](const Operation& op) {
    return is_partitions(op.name) ? std::string(op.name) : "";
  });
  if (partitions.first != kNone) return partitions;
  const auto under = first_under(module, loop, [&](const Operation& op) -> std::string {
    if (is_barrier(op.name)) return std::string(op.name);
    if (signals(module, op)) return std::string(op.name) + " with a barrier";
    return "";
  });
  if (under.first != kNone) return under;
  return std::nullopt;
}

bool refuse_scheduled(const Module& module, int loop) {
  if (const auto seen = lowered_already(module, loop)) refuse_op(module, seen->first, seen->second);
  bool annotated = is_annotated(module, module.op(loop));
  first_under(module, loop, [&](const Operation& op) {
    annotated = annotated || is_annotated(module, op);
    return std::string();
  });
  return annotated;
}

}  // namespace twill::ttgir
