#include "graph/ttgir/op_class.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace twill::ttgir {
namespace {

using Table = std::unordered_map<std::string_view, OpClass>;

const Table& table() {
  static const Table classes = [] {
    Table t;
    const auto add = [&](OpClass c, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) t.emplace(name, c);
    };
    add(OpClass::elementwise,
        {"tt.clampf", "tt.fp_to_fp", "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui",
         "tt.elementwise_inline_asm", "tt.extern_elementwise", "tt.map_elementwise",
         "tt.int_to_ptr", "tt.ptr_to_int", "tt.addptr", "ttg.fp4_to_fp", "ttg.upcast_mxfp"});
    add(OpClass::reduction, {"tt.reduce", "tt.scan", "tt.histogram"});
    add(OpClass::layout, {"ttg.convert_layout", "tt.gather", "tt.cat"});
    add(OpClass::view, {"tt.expand_dims", "tt.broadcast", "tt.reshape", "tt.trans", "tt.bitcast",
                        "arith.bitcast", "tt.join", "tt.split", "ttg.memdesc_trans",
                        "ttg.memdesc_subview", "ttg.memdesc_subslice", "ttg.memdesc_index",
                        "ttg.memdesc_reshape", "ttg.memdesc_reinterpret", "ttng.tmem_subslice"});
    add(OpClass::mma, {"tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma",
                       "ttng.tc_gen5_mma_scaled"});
    add(OpClass::load, {"tt.load", "tt.descriptor_load", "tt.descriptor_gather",
                        "tt.experimental_descriptor_load", "tt.experimental_descriptor_gather"});
    add(OpClass::copy, {"ttg.async_copy_global_to_local", "ttng.async_tma_copy_global_to_local",
                        "ttng.async_tma_gather", "ttng.tmem_copy", "nvws.descriptor_load"});
    add(OpClass::store,
        {"tt.store", "tt.descriptor_store", "tt.descriptor_scatter", "tt.descriptor_reduce",
         "tt.experimental_descriptor_store", "tt.atomic_rmw", "tt.atomic_cas",
         "ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_scatter"});
    add(OpClass::tmem_load, {"ttng.tmem_load"});
    add(OpClass::tmem_store, {"ttng.tmem_store"});
    add(OpClass::tmem_alloc, {"ttng.tmem_alloc"});
    add(OpClass::local_load, {"ttg.local_load", "ttg.local_gather"});
    add(OpClass::local_store, {"ttg.local_store", "ttg.local_scatter"});
    add(OpClass::local_alloc, {"ttg.local_alloc"});
    add(OpClass::transparent,
        {"ttg.async_wait", "ttg.async_commit_group", "ttng.warp_group_dot_wait",
         "ttng.async_tma_store_wait", "ttng.async_tma_store_token_wait"});
    add(OpClass::replicated,
        {"arith.constant", "tt.make_range", "tt.splat", "tt.unsplat", "tt.get_program_id",
         "tt.get_num_programs", "tt.make_tensor_descriptor", "tt.make_tensor_ptr", "tt.advance",
         "tt.reinterpret_tensor_descriptor", "ttg.global_scratch_alloc", "ttg.warp_id",
         "gpu.block_id", "gpu.thread_id", "nvgpu.cluster_id", "tt.call", "ub.poison",
         "nvvm.read.ptx.sreg.ctaid.x"});
    add(OpClass::synchronise, {"ttng.init_barrier",
                               "ttng.inval_barrier",
                               "ttng.wait_barrier",
                               "ttng.arrive_barrier",
                               "ttng.barrier_expect",
                               "ttng.fence_async_shared",
                               "ttng.fence",
                               "ttng.tensormap_create",
                               "ttng.tensormap_fenceproxy_acquire",
                               "ttg.local_dealloc",
                               "ttg.barrier",
                               "gpu.barrier",
                               "nvgpu.cluster_barrier",
                               "ttng.tc_gen5_commit",
                               "ttng.cluster_arrive",
                               "ttng.cluster_wait",
                               "tt.print",
                               "tt.assert",
                               "llvm.intr.assume",
                               "nvws.arefs.put",
                               "rocdl.sched.barrier",
                               "ttg.predicate_stage",
                               "ttg.mask"});
    add(OpClass::control, {"scf.for", "scf.while", "scf.if", "scf.index_switch",
                           "scf.execute_region", "ttg.warp_specialize", "nvws.warp_group"});
    add(OpClass::terminator,
        {"scf.yield", "scf.condition", "tt.return", "tt.reduce.return", "tt.scan.return", "cf.br",
         "cf.cond_br", "ttg.warp_return", "ttg.warp_yield", "tt.map_elementwise.return",
         "ttg.mask.return", "nvws.warp_group.yield", "nvws.warp_group.return"});
    return t;
  }();
  return classes;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The op that combines two elements of a reduction: the first of its body.
std::string_view combiner(const Module& module, const Operation& op) {
  if (op.regions.empty()) return {};
  const Region& region = module.regions[static_cast<std::size_t>(op.regions[0])];
  if (region.blocks.empty()) return {};
  const Block& block = module.block(region.blocks[0]);
  return block.ops.empty() ? std::string_view() : module.op(block.ops[0]).name;
}

}  // namespace

OpClass class_of(const Operation& op) {
  if (op.op_class >= 0) return static_cast<OpClass>(op.op_class);
  const auto found = table().find(op.name);
  if (found != table().end()) return found->second;
  if (op.name.starts_with("arith.") || op.name.starts_with("math.")) return OpClass::elementwise;
  if (op.name.starts_with("nvws.")) return OpClass::synchronise;
  return OpClass::unknown;
}

bool is_tensor_memory_mma(const Operation& op) {
  return op.name.starts_with("ttng.tc_gen5_mma");
}

bool is_async_mma(const Operation& op) {
  return is_tensor_memory_mma(op) || op.name == "ttng.warp_group_dot";
}

std::vector<std::string> kinds_of(const Module& module, const Operation& op, bool outer_axis) {
  const std::string_view name = op.name;
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  switch (class_of(op)) {
    case OpClass::mma: return {"gemm"};
    case OpClass::layout:
      // Through shared memory, written and read: local_alloc is priced for twice the tile.
      return {"convert_layout", "local_alloc"};
    case OpClass::load:
      if (contains(name, "descriptor")) return {"tma_load"};
      return {"load"};
    case OpClass::copy:
      if (name == "ttng.tmem_copy") return {"tmem_copy", "tmem_store"};
      if (contains(name, "tma")) return {"tma_load"};
      return {"async_copy", "load"};
    case OpClass::store:
      if (contains(name, "reduce") || contains(name, "atomic")) return {"tma_reduce", "tma_load"};
      return {"tma_store", "tma_load"};
    case OpClass::tmem_load: return {"tmem_load"};
    case OpClass::tmem_store:
    case OpClass::tmem_alloc: return {"tmem_store"};
    case OpClass::local_load: return {"local_load", "local_alloc"};
    case OpClass::local_store:
    case OpClass::local_alloc: return {"local_alloc"};
    case OpClass::view: return {"reshape"};
    case OpClass::reduction: {
      const std::string_view body = combiner(module, op);
      const bool extreme = contains(body, "max") || contains(body, "min") || contains(body, "cmp");
      const std::string kind = extreme ? "reduce_max" : "reduce_add";
      if (outer_axis) return {kind + "_outer", kind};
      return {kind};
    }
    default: break;
  }
  if (name == "arith.addf" || name == "arith.addi") return {"add", "elementwise"};
  if (name == "arith.subf" || name == "arith.subi") return {"sub", "elementwise"};
  if (name == "arith.mulf" || name == "arith.muli") return {"mul", "elementwise"};
  if (name == "math.fma") return {"fma", "mul", "elementwise"};
  if (contains(name, ".max") || contains(name, ".min")) return {"max", "elementwise", "add"};
  if (name == "math.exp2" || name == "math.exp") return {"exp2"};
  if (is_one_of({"math.log2", "math.log"})) return {"log2", "exp2"};
  if (is_one_of({"math.sqrt", "math.rsqrt", "math.tanh", "math.sin", "math.cos", "math.erf",
                 "tt.precise_sqrt"}))
    return {"sqrt", "exp2"};
  if (is_one_of({"arith.divf", "tt.precise_divf", "arith.remf"})) return {"div", "exp2"};
  if (is_one_of({"arith.truncf", "arith.extf", "arith.sitofp", "arith.uitofp", "arith.fptosi",
                 "arith.fptoui", "tt.fp_to_fp", "ttg.fp4_to_fp"}))
    return {"trunc", "elementwise", "add"};
  return {"elementwise", "add"};
}

}  // namespace twill::ttgir
