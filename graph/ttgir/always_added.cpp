#include "graph/ttgir/always_added.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parsed_edits.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostMoves = 50;  // of a factor, from its load on, and of its mask

class AlwaysAdded {
 public:
  explicit AlwaysAdded(const Module& module) : m_(module) {}

  std::optional<Module> run() {
    if (!m_.gaps.empty()) return std::nullopt;
    for (std::size_t op = 0; op < m_.ops.size(); ++op)
      for (int side = 0; side < 2; ++side)
        if (adds(static_cast<int>(op), side)) {
          replace(static_cast<int>(op), side);
          break;
        }
    if (edits_.empty()) return std::nullopt;
    return parsed_edits(m_, std::move(edits_));
  }

 private:
  // ---- Which branches.

  /// Does one side of a branch add a product of what is 0 elsewhere, and the other one nothing?
  bool adds(int index, int side) const {
    const Operation& op = m_.op(index);
    if (op.name != "scf.if" || op.generic || op.operands.size() != 1 || op.results.size() != 1 ||
        op.regions.size() != 2 || m_.parent(index) == kNone ||
        m_.op(m_.parent(index)).name != "scf.for" || !line_begin(m_, index))
      return false;
    const Block *const one = block_of(op, side), *const other = block_of(op, 1 - side);
    if (one == nullptr || other == nullptr || other->ops.size() != 1 || one->ops.size() < 2)
      return false;
    const int sum = m_.op(other->ops[0]).operands[0];
    const int product = product_of(*one, sum);
    if (product == kNone) return false;
    const Operation& p = m_.op(product);
    return is_nothing_without(p.operands[0], op.operands[0], side == 0) &&
           is_nothing_without(p.operands[1], op.operands[0], side == 0);
  }

  const Block* block_of(const Operation& op, int side) const {
    const auto& blocks = m_.regions[at(op.regions[at(side)])].blocks;
    if (blocks.size() != 1) return nullptr;
    const Block& block = m_.block(blocks[0]);
    if (!block.label.empty() || block.ops.empty()) return nullptr;
    const Operation& yield = m_.op(block.ops.back());
    return yield.name == "scf.yield" && !yield.generic && yield.operands.size() == 1 ? &block
                                                                                     : nullptr;
  }

  /// The one product of a side that does nothing but add it to `sum`; else kNone.
  int product_of(const Block& side, int sum) const {
    int product = kNone, memory = kNone, begun = kNone, read = kNone;
    for (std::size_t k = 0; k + 1 < side.ops.size(); ++k) {
      const int index = side.ops[k];
      const Operation& op = m_.op(index);
      int* found = nullptr;
      if (class_of(op) == OpClass::mma) found = &product;
      if (op.name == "ttng.tmem_alloc" && op.operands.empty()) found = &memory;
      if (op.name == "ttng.tmem_store") found = &begun;
      if (op.name == "ttng.tmem_load") found = &read;
      if (found == nullptr && moves(op)) continue;
      if (found == nullptr || *found != kNone || op.generic || op.results.empty()) return kNone;
      *found = index;
    }
    if (product == kNone) return kNone;
    const int handed = m_.op(side.ops.back()).operands[0];
    const Operation& p = m_.op(product);
    if (memory == kNone)
      return begun == kNone && read == kNone && p.operands.size() == 3 && p.operands[2] == sum &&
                     m_.value(handed).op == product
                 ? product
                 : kNone;
    // In tensor memory of its own, which begins with the sum.
    if (begun == kNone || read == kNone) return kNone;
    const Operation &store = m_.op(begun), &load = m_.op(read);
    const int buffer = m_.op(memory).results[0];
    const bool whole =
        store.operands.size() == 4 && store.operands[0] == sum && store.operands[1] == buffer &&
        is_true(store.operands[3]) && p.operands.size() == 6 && p.operands[2] == buffer &&
        is_made_by(p.operands[3], begun) && is_true(p.operands[4]) && is_true(p.operands[5]) &&
        load.operands.size() == 2 && load.operands[0] == buffer &&
        is_made_by(load.operands[1], product) && handed == load.results[0];
    return whole ? product : kNone;
  }

  bool is_true(int value) const { return constant_integer(m_, value) == 1; }
  bool is_made_by(int value, int op) const { return m_.value(value).op == op; }

  /// Does it hand its one operand's numbers on as they are? (0 stays 0.)
  static bool moves(const Operation& op) {
    static constexpr std::string_view kMoves[] = {"ttg.local_alloc",    "ttg.memdesc_trans",
                                                  "ttg.convert_layout", "tt.trans",
                                                  "tt.reshape",         "ttg.memdesc_reshape"};
    return op.operands.size() == 1 && op.results.size() == 1 && op.regions.empty() && !op.generic &&
           std::find(std::begin(kMoves), std::end(kMoves), op.name) != std::end(kMoves);
  }

  /// Is a tile 0 wherever a flag is not what it is on the side?
  bool is_nothing_without(int value, int flag, bool holds) const {
    for (int k = 0; k < kMostMoves; ++k) {
      const int made = m_.value(value).op;
      if (made == kNone) return false;
      const Operation& op = m_.op(made);
      if (op.name == "tt.load")
        return op.operands.size() == 3 && is_tile_of_zeros(m_, op.operands[2]) &&
               is_only_with(op.operands[1], flag, holds, 0);
      if (!moves(op)) return false;
      value = op.operands[0];
    }
    return false;
  }

  /// Is a mask false everywhere unless a flag is what it is on the side?
  bool is_only_with(int mask, int flag, bool holds, int depth) const {
    if (mask == flag) return holds;
    const int made = m_.value(mask).op;
    if (made == kNone || depth == kMostMoves) return false;
    const Operation& op = m_.op(made);
    if (op.name == "arith.andi")
      return std::any_of(op.operands.begin(), op.operands.end(), [&](int operand) {
        return is_only_with(operand, flag, holds, depth + 1);
      });
    if (op.name == "arith.xori" && op.operands.size() == 2 && is_true(op.operands[1]))
      return op.operands[0] == flag && !holds;
    return (op.name == "tt.splat" || op.name == "tt.broadcast" ||
            op.name == "ttg.convert_layout") &&
           op.operands.size() == 1 && is_only_with(op.operands[0], flag, holds, depth + 1);
  }

  // ---- The text.

  void replace(int branch, int side) {
    const Operation& op = m_.op(branch);
    const Block& block = *block_of(op, side);
    std::map<int, std::string> names;
    names[m_.op(block.ops.back()).operands[0]] = written_name(m_, op.results[0]);
    std::string lines;
    for (std::size_t k = 0; k + 1 < block.ops.size(); ++k) {
      std::string results;
      for (const int result : m_.op(block.ops[k]).results) {
        // (Names that no printer makes.)
        const auto [name, fresh] = names.try_emplace(result, "%added." + std::to_string(names_));
        if (fresh) ++names_;
        results += (results.empty() ? "" : ", ") + name->second;
      }
      if (k > 0) lines += "\n";
      lines += results + " = " + op_text(m_, block.ops[k], names);
    }
    const std::size_t begin = *line_begin(m_, branch);
    edits_.push_back({begin, op.end - begin, lines});
  }

  const Module& m_;
  std::vector<TextEdit> edits_;
  int names_ = 0;
};

}  // namespace

std::optional<Module> with_products_always_added(const Module& module) {
  return AlwaysAdded(module).run();
}

}  // namespace twill::ttgir
