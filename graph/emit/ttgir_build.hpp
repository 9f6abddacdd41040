// Expressions of an emitted kernel (kernel_tree.hpp) as ops of TTGIR (ttgir_ir.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/emit/kernel_tree.hpp"
#include "graph/emit/ttgir_ir.hpp"

namespace twill::emit::ws {

/// What an expression is: known while the file is written, or a value of the kernel.
struct Thing {
  enum Kind { nothing, whole, real, truth, quoted, element, layout, value, several } kind = nothing;
  std::int64_t number = 0;  ///< of a whole number or a truth
  double size = 0;          ///< of a real one
  std::string text;         ///< of a string, and of an element type ("f32")
  LayoutRef of;             ///< of a layout
  int id = -1;              ///< of a value
  std::vector<Thing> parts;

  static Thing make_whole(std::int64_t x);
  static Thing make_value(int id);
};

/// Variables in the order in which they were first assigned.
class Variables {
 public:
  const Thing* find(const std::string& name) const;
  void set(const std::string& name, Thing thing);
  const std::vector<std::pair<std::string, Thing>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, Thing>> all_;
};

/// Writes ops into a block. Ops without effect are written once for each block that sees them, and
/// sums with whole numbers are joined, as Triton's canonicalizer and its common-subexpression pass
/// would: none of them runs on what is written here. Throws program::Refusal of rule "ttgir".
///
/// `needed`: of the ops without effect, in the order in which they are met, which ones somebody
/// uses; an op that nobody uses does not stand for a later one. Null: nothing is joined, and
/// met() says what the ops are.
class Builder {
 public:
  Builder(Module& module, const KernelTree& tree, const std::vector<bool>* needed)
      : m_(module), tree_(tree), useful_(needed) {
    here = &m_.root();
  }
  const std::vector<int>& met() const { return met_; }

  Block* here = nullptr;    ///< where ops go
  Variables variables;      ///< of the function that is written
  int partition_warps = 4;  ///< of its partition

  void define(const Stmt& definition);
  Thing evaluate(const Expr& expression);
  /// As a value: a number becomes a constant of the type i32 (or f32), a truth one of i1.
  int materialize(const Thing& thing);
  void comment(std::string text) { comment_ = std::move(text); }
  void hint(const Thing& thing, const std::string& name);
  Thing add(const Thing& a, const Thing& b) { return binary("+", a, b); }
  /// What is no plain op may do anything.
  /// `stores`: may it write global memory?
  Op& append(Op::Kind kind, Op::Effect effect = Op::acts, bool stores = true);
  /// Behind a loop or a branch that was begun as one that stores nothing.
  void leave(const Op& op) const;
  const Type& type(const Thing& thing) const;

 private:
  void stored() const;
  // ttgir_values.cpp: arithmetic of numbers and tiles
  Thing binary(const std::string& sign, Thing a, Thing b);
  Thing folded(const std::string& sign, const Thing& a, const Thing& b) const;
  Thing integer(const std::string& sign, const Thing& a, const Thing& b);
  Thing product(int value, std::int64_t factor);
  Thing negated(const Thing& one);
  Thing widened(const Expr& item);
  Thing elementwise(const std::string& operation, std::vector<Thing> all);
  Thing largest(const Expr& call, bool most);
  Thing chosen(const Expr& call);
  Thing chosen_number(int condition, const Thing& yes, const Thing& no);
  int in_type(const Thing& thing, const Type& type);
  int broadcast(int value, const std::vector<std::int64_t>& shape);
  int splat(int value, const Type& type);
  static std::string number_of(double x, const std::string& element);

  // ttgir_tiles.cpp: reductions, scans, layouts and types of tiles
  /// combine: with which operation of reals; "" = the call names a function.
  Thing reduced(const Expr& call, std::string combine);
  Thing scanned(const Expr& call);
  Thing converted(const Thing& from, const LayoutRef& to);
  Thing transposed(const Expr& call);
  Thing cast(const Thing& from, const std::string& element);
  /// Its bits as those of another type of the same width.
  Thing as_bits(const Thing& from, const std::string& element);
  /// An integer in 64 bits.
  Thing wide(const Thing& from);
  Thing full(const Expr& call);
  Thing range(const Expr& call);
  Thing histogram(const Expr& call);
  Thing asm_elementwise(const Expr& call);

  // ttgir_calls.cpp: functions, values and layouts
  Thing call(const Expr& call);
  Thing function_call(const TreeFunction& function, const Expr& call);
  bool layout_call(const std::string& name, const Expr& call, Thing& made);
  bool value_call(const std::string& name, const Expr& call, Thing& made);

  // ttgir_actions.cpp: places, barriers, copies, products
  Thing method(const Expr& call);
  bool barrier_call(const std::string& name, const Expr& call, Thing& made);
  bool copy_call(const std::string& name, const Expr& call, Thing& made);
  bool product_call(const std::string& name, const Expr& call, Thing& made);
  Thing allocated(const Expr& call, bool on_tensor_memory);
  Thing index_of(const Thing& place, const Thing& index);
  Thing slice_of(const Thing& place, const Expr& call);
  Thing turned(const Thing& place);
  Thing reinterpreted(const Thing& place, const Expr& call);
  Thing wgmma(const Expr& call);
  Thing by_warps(const Expr& call);
  Thing wgmma_wait(const Expr& call);
  void tcgen05(const Expr& call);
  void vector_copy(const Expr& call);
  /// The keyword `mask` of a call, as wide as its places.
  int mask_of(const Expr& call, const Type& places);

  int pure(const std::string& text, const std::vector<int>& operands, const Type& type,
           Op::Effect effect = Op::none);
  void act(const std::string& text, const std::vector<int>& operands);
  const Expr* argument(const Expr& call, std::size_t position, const char* keyword) const;
  Thing needed(const Expr& call, std::size_t position, const char* keyword);
  std::int64_t whole_argument(const Expr& call, std::size_t position, const char* keyword);
  std::vector<std::int64_t> wholes(const Thing& list) const;
  int truth(bool yes);

  Module& m_;
  const KernelTree& tree_;
  const std::vector<bool>* useful_;
  std::vector<int> met_;  ///< results of ops without effect
  Variables definitions_;
  std::string comment_;
  std::map<const Expr*, Thing> ready_;  ///< arguments of the calls that are written
  int calls_ = 0;
};

/// A name of functions: "mbarrier.wait"; "" for what is none.
std::string path_of(const Expr& expression);
[[noreturn]] void no_text(const std::string& what);
LayoutRef layout_of(Layout::Kind kind, std::string text);
/// The layout of 16- or 32-bit elements in shared memory whose rows are swizzled by `swizzle`
/// bytes, and a name for it.
std::string nvmma_text(int swizzle, bool transposed, int bits);
std::string nvmma_name(int swizzle, bool transposed, int bits);

}  // namespace twill::emit::ws
