#include "graph/ttgir/stored_factors.hpp"

#include <algorithm>
#include <vector>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/text_edit.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

/// As the layout has them: "[8, 1]".
std::string_view warps_of(std::string_view layout, const Module& module) {
  return layout_field(resolve_alias(layout, module), "warpsPerCTA");
}

bool is_left_factor(const Type& type) {
  return type.encoding.starts_with("#ttg.dot_op<") && layout_field(type.encoding, "opIdx") == "0";
}

class StoredFactors {
 public:
  explicit StoredFactors(const Module& module) : m_(module), users_(module.values.size()) {
    for (std::size_t v = 0; v < module.ops.size(); ++v)
      for (const int value : module.ops[v].operands)
        users_[static_cast<std::size_t>(value)].push_back(static_cast<int>(v));
  }

  std::optional<std::string> text() {
    for (const Operation& op : m_.ops) take(op);
    if (edits_.empty()) return std::nullopt;
    return edited(*m_.text, std::move(edits_));
  }

 private:
  bool in_loop(const Operation& op) const {
    int block = op.block;
    while (block != kNone) {
      const int around = m_.regions[static_cast<std::size_t>(m_.block(block).region)].op;
      if (around == kNone) return false;
      if (m_.op(around).name == "scf.for") return true;
      block = m_.op(around).block;
    }
    return false;
  }

  /// The product that alone uses the value, as its left factor in registers; kNone = there is none.
  int product_of_factor(int value) const {
    const std::vector<int>& users = users_[static_cast<std::size_t>(value)];
    if (users.size() != 1) return kNone;
    const Operation& product = m_.op(users.front());
    return product.name == "ttng.warp_group_dot" && product.operands.front() == value &&
                   std::count(product.operands.begin(), product.operands.end(), value) == 1
               ? users.front()
               : kNone;
  }

  /// Of the op that makes a value; nullptr = it comes from elsewhere.
  const Operation* maker(int value) const {
    const int op = m_.value(value).op;
    return op == kNone ? nullptr : &m_.op(op);
  }

  static std::string buffer_type(const std::vector<std::int64_t>& shape, const Type& type,
                                 std::int64_t line_bytes, bool transposed) {
    return "!ttg.memdesc<" + std::to_string(shape[0]) + "x" + std::to_string(shape[1]) + "x" +
           type.element +
           ", #ttg.nvmma_shared<{swizzlingByteWidth = " + std::to_string(line_bytes) +
           ", transposed = " + (transposed ? "true" : "false") +
           ", elementBitWidth = 16}>, #ttg.shared_memory>";
  }

  void replace(const Operation& op, const std::string& text) {
    edits_.push_back({op.begin, op.end - op.begin, text});
  }

  void take(const Operation& op) {
    constexpr std::int64_t kLine = 128, kLeastLine = 32;  // bytes: swizzles of wgmma's descriptors
    if (op.name != "ttg.convert_layout" || op.operands.size() != 1 || op.results.size() != 1 ||
        !in_loop(op) || is_left_fragment(m_, op))
      return;
    const Type* const to = m_.type_of(op.results[0]);
    if (to == nullptr || to->kind != TypeKind::tensor || to->bits != 16 || to->shape.size() != 2 ||
        !is_left_factor(*to))
      return;
    const int user = product_of_factor(op.results[0]);
    if (user == kNone) return;
    const Operation& product = m_.op(user);
    // The product names the factor's type: once, before the sign that is between its factors.
    const std::size_t named = m_.text->find(to->text, product.begin);
    if (named == std::string::npos || named + to->text.size() > product.end) return;

    int tile = op.operands[0];
    const Operation* const turn = maker(tile);
    const bool turned = turn != nullptr && turn->name == "tt.trans" && turn->block == op.block &&
                        turn->operands.size() == 1 &&
                        users_[static_cast<std::size_t>(tile)].size() == 1;
    if (turned) tile = turn->operands[0];
    const Type* const from = m_.type_of(tile);
    const Operation* const source = maker(tile);
    if (from == nullptr || from->kind != TypeKind::tensor || from->shape.size() != 2 ||
        source == nullptr || source->block != op.block || class_of(*source) == OpClass::load ||
        class_of(*source) == OpClass::local_load)
      return;
    const std::int64_t line = std::min(kLine, from->shape[1] * 2);
    if (line < kLeastLine || (line & (line - 1)) != 0) return;
    const std::string stored = buffer_type(from->shape, *from, line, false);
    const std::string alloc = "ttg.local_alloc " + written_name(m_, tile) + " : (" +
                              std::string(from->text) + ") -> " + stored;
    std::string read = stored;
    if (turned) {
      read = buffer_type(to->shape, *to, line, true);
      replace(*turn, alloc);
      replace(op, "ttg.memdesc_trans " + written_name(m_, op.operands[0]) +
                      " {order = array<i32: 1, 0>} : " + stored + " -> " + read);
    } else {
      replace(op, alloc);
    }
    edits_.push_back({named, to->text.size(), read});
  }

  const Module& m_;
  std::vector<std::vector<int>> users_;  ///< ops, per value
  std::vector<TextEdit> edits_;
};

}  // namespace

bool is_left_fragment(const Module& module, const Operation& op) {
  if (op.name != "ttg.convert_layout" || op.operands.empty() || op.results.empty()) return false;
  const Type* to = module.type_of(op.results[0]);
  const Type* from = module.type_of(op.operands[0]);
  return to != nullptr && from != nullptr && is_left_factor(*to) &&
         from->encoding.starts_with("#ttg.nvidia_mma") &&
         warps_of(from->encoding, module) ==
             warps_of(layout_field(to->encoding, "parent"), module) &&
         warps_of(from->encoding, module).ends_with(", 1]");
}

std::optional<std::string> with_stored_factors(const Module& module) {
  return StoredFactors(module).text();
}

}  // namespace twill::ttgir
