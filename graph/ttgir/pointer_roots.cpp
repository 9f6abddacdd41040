#include "graph/ttgir/pointer_roots.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/index_values.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

bool leads_to_memory(const Module& module, int value) {
  const Type* type = module.type_of(value);
  return type != nullptr && (type->is_pointer() || type->kind == TypeKind::descriptor);
}

/// What a region of a loop or a branch ends with; nullptr = with no scf.yield.
const Operation* yield_of(const Module& module, int region) {
  const std::vector<int>& blocks = module.regions[at(region)].blocks;
  if (blocks.size() != 1 || module.block(blocks[0]).ops.empty()) return nullptr;
  const Operation& last = module.op(module.block(blocks[0]).ops.back());
  return last.name == "scf.yield" ? &last : nullptr;
}

/// Adds the values of which variable or result k of an scf.for may be one. false = not known.
bool add_variable(const Module& module, const Operation& loop, std::size_t k,
                  std::vector<int>& open) {
  const Operation* const yield = loop.name == "scf.for" && loop.regions.size() == 1
                                     ? yield_of(module, loop.regions[0])
                                     : nullptr;
  if (yield == nullptr || k >= yield->operands.size() ||
      kFirstLoopVariable + k >= loop.operands.size())
    return false;
  open.push_back(loop.operands[kFirstLoopVariable + k]);
  open.push_back(yield->operands[k]);
  return true;
}

/// Ops that make a pointer or a descriptor of their pointers alone.
bool keeps_root(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {
      "tt.addptr",          "tt.splat",  "tt.broadcast", "tt.expand_dims",
      "ttg.convert_layout", "tt.trans",  "tt.reshape",   "tt.make_tensor_descriptor",
      "arith.select",       "tt.bitcast"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

std::optional<std::set<int>> pointer_roots(const Module& module, int function, int value) {
  std::set<int> roots, met;
  std::vector<int> open = {value};
  while (!open.empty()) {
    const int now = open.back();
    open.pop_back();
    if (!met.insert(now).second) continue;
    const Value& v = module.value(now);
    if (v.op == kNone) {
      if (v.block == kNone) return std::nullopt;
      const Region& region = module.regions[at(module.block(v.block).region)];
      if (region.op == function && !region.blocks.empty() && region.blocks[0] == v.block)
        roots.insert(v.index);
      else if (region.op == kNone || v.index == 0 ||
               !add_variable(module, module.op(region.op), at(v.index) - 1, open))
        return std::nullopt;
      continue;
    }
    const Operation& op = module.op(v.op);
    if (op.name == "scf.for") {
      if (!add_variable(module, op, at(v.index), open)) return std::nullopt;
    } else if (op.name == "scf.if") {
      for (const int region : op.regions) {
        const Operation* const yield = yield_of(module, region);
        if (yield == nullptr || at(v.index) >= yield->operands.size()) return std::nullopt;
        open.push_back(yield->operands[at(v.index)]);
      }
    } else if (keeps_root(op.name)) {
      bool some = false;
      for (const int operand : op.operands)
        if (leads_to_memory(module, operand)) {
          open.push_back(operand);
          some = true;
        }
      if (!some) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return roots;
}

bool never_stored(const Module& module, int function, int argument) {
  for (const Operation& op : module.ops) {
    const OpClass c = class_of(op);
    // (What is not known may store.)
    if (c != OpClass::store && c != OpClass::unknown && op.name != "tt.call" &&
        op.name != "tt.elementwise_inline_asm" && op.name != "tt.extern_elementwise" &&
        op.name != "tt.ptr_to_int")
      continue;
    for (const int operand : op.operands) {
      if (!leads_to_memory(module, operand)) continue;
      const auto roots = pointer_roots(module, function, operand);
      if (!roots || roots->contains(argument)) return false;
    }
  }
  return true;
}

}  // namespace twill::ttgir
