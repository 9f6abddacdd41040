// Tile functions as Gluon expressions, with the register layouts of their results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/emit/gluon_slot.hpp"

namespace twill::emit {

/// What an instruction of a product of 16 bits sums over.
inline constexpr int kUsualDepth = 16;

/// Of a result in registers: an M x N tile over the slot's warps, or the part of one that a vector
/// of its rows, or of its columns, takes; or of a vector that no tile has.
struct Layout {
  enum Kind {
    none,  ///< a number
    matrix,
    of_rows,
    of_columns,
    alone,  ///< a vector of `rows` elements, shared out among all threads
    right,  ///< of a product by warps of this many rows and columns, the right factor
  } kind = none;
  std::int64_t rows = 0, columns = 0;  ///< of the tile
  bool turned = false;                 ///< a transposed tile's: it has no name
  /// Of a product's result on Hopper, what an instruction sums over, where a kernel has products of
  /// several widths and this is not one of 16 bits: the same registers under another type. 0 else.
  int depth = 0;
  bool operator==(const Layout&) const = default;
};

struct Expression {
  std::string text;
  Layout layout;
  std::string type;  ///< "" = a number, of any type
};

/// Where an operand comes from, through views.
struct Source {
  enum Kind {
    number,
    before,
    registers,
    memory,
    chain,
    computed,  ///< a number of this iteration that no op runs: each slot computes its own
  } kind = number;
  int value = -1;    ///< before, computed: of the meaning
  int op = -1;       ///< registers, memory: that made it
  int storage = -1;  ///< registers, memory
  int distance = 0;
  bool transposed = false;
  std::int64_t first_column = 0, columns = 0;  ///< taken before transposing; 0 = all
};

/// An operand that is a whole number of 32 bits, as text; nullopt = it is none, or a constant of
/// the kernel's.
std::optional<std::string> whole_text(const meaning::Operand& one);

class ValuePrinter {
 public:
  ValuePrinter(const Plan& plan, int slot, ModuleNeeds& needs)
      : plan_(plan), slot_(slot), needs_(needs), mixed_(has_mixed_products(plan)) {}

  /// Are products of wgmma in it whose instructions sum over several numbers of elements?
  static bool has_mixed_products(const Plan& plan);
  /// What an instruction of the product sums over; `mixed()`: of its kernel.
  static int depth_of(const meaning::Meaning& meaning, const meaning::Value& product);
  bool mixed() const { return mixed_; }

  /// Throws Refusal where the operand is none of these.
  Source resolve(int op, const meaning::Operand& operand) const;
  /// Does it come from before the loop, perhaps through views?
  bool reaches_before(const meaning::Operand& operand) const;

  /// The register layout that a value has wherever it is held.
  Layout layout_of(int value) const;
  /// Its text; the tile is made a need of the file.
  std::string text_of(const Layout& layout) const;

  Expression number(const meaning::Operand& operand) const;
  /// A tile of one number, in the value's shape and layout.
  std::string filled(int value, double x) const;
  /// What a carried value begins with: a number, or one of the launch. Only where the latter is in
  /// reach (`of_launch`).
  std::string filled_first(int value, const meaning::Operand& what, bool of_launch) const;
  /// A value's text as it is stored to its buffer, where a number is a vector of one element.
  std::string in_a_buffer(const meaning::Value& value, const std::string& text) const;
  /// The number that such a buffer holds.
  std::string number_in(const std::string& buffer) const;
  /// What a carried value begins with, in that value's layout and type: a number is repeated.
  /// Throws Refusal where it is another tile.
  std::string begun(int value, const Expression& first) const;
  /// The result in `layout`; `iteration` is the text of its iteration, for masks.
  Expression evaluate(int value, const std::vector<Expression>& operands, const Layout& layout,
                      const std::string& iteration) const;

  /// Operand k in the layout of the result, in its own type; a vector as a row or a column.
  std::string placed(const meaning::Value& value, std::size_t k, const Expression& one,
                     const Layout& layout) const;

 private:
  std::string one_number_layout() const;
  Source resolve(int op, const meaning::Operand& operand, int distance, int steps) const;
  /// A tile that a slot copied from memory to registers, where it was copied from: if `op` reads
  /// that, too (the program says so, so that the judge has accepted it).
  std::optional<Source> where_copied_from(int op, const Source& source) const;
  Layout layout_of(int value, int steps) const;
  /// What is read from memory for products by warps alone, as they take it; none = it is not
  /// (gluon_warp_products.cpp).
  Layout as_right_factor(int value) const;
  /// Of a vector: the tile, row by row or column by column, that it is first used with.
  Layout used_with(int value) const;
  /// A tile or vector of one number, which is text.
  std::string repeated(const std::string& number, const meaning::Value& of,
                       const Layout& layout) const;
  std::string converted(const Expression& from, const Layout& to) const;
  /// 1 or 0 in 32 bits. Of what is no number nothing is so, but that it is not equal; in Triton,
  /// too.
  Expression compared(const meaning::Value& value, const std::vector<Expression>& in,
                      const Layout& layout) const;
  /// Arithmetic modulo 2 to the power of 32, and bits: gluon_integers.cpp.
  Expression of_integers(const meaning::Value& value, const std::vector<Expression>& in,
                         const Layout& layout) const;
  /// Is it what whole() has a text for: integers of 32 bits that are moved, chosen, compared?
  bool is_whole(const meaning::Value& value, const std::vector<Expression>& in) const;
  Expression whole(const meaning::Value& value, const std::vector<Expression>& in,
                   const Layout& layout) const;
  /// The first place in each row, each column (down) or the vector: gluon_row_places.cpp.
  Expression row_place(const meaning::Value& value, const Expression& of,
                       const Layout& layout) const;
  /// In a layout that Triton scans, and back.
  Expression running(const meaning::Value& value, const Expression& of, const Layout& layout) const;
  /// gluon_rearranged.cpp
  Expression rearranged(const meaning::Value& value, const std::vector<Expression>& in,
                        const Layout& layout) const;
  /// Of a matrix its rows, or its columns where it is seen transposed; of a vector a number:
  /// gluon_reductions.cpp.
  Expression reduced(const meaning::Value& value, const Expression& of, const Layout& layout) const;
  // gluon_bounds.cpp
  struct Places {
    std::string row, column;  ///< of every element; "0" = it has none
    std::int64_t own = 0;     ///< column_bits_of_threads(), of a tile's that are compared so
  };
  /// repeated: in every iteration anew, where they would be held over the loop.
  Places places_of(const meaning::Value& value, const Layout& layout, bool repeated) const;
  /// The four numbers from operand `first` on, at the places; compared with 0, or their sum. Throws
  /// Refusal where they are not whole.
  std::string linear(const meaning::Value& value, std::size_t first, const Places& places,
                     const std::string& iteration, bool compared) const;
  /// column_bits_of_threads() of a tile in registers; 0 = none, or it is no such tile.
  std::int64_t own_bits(const meaning::Value& value, const Layout& layout) const;
  /// A comparison of columns with a limit, which each row has for itself. `own`:
  /// own_bits().
  std::string compared_columns(const std::string& columns, bool at_least, const std::string& limit,
                               std::int64_t own) const;
  /// Which elements the value's bounds let through.
  std::string kept(const meaning::Value& value, const Layout& layout,
                   const std::string& iteration) const;
  Expression places(const meaning::Value& value, const Layout& layout,
                    const std::string& iteration) const;

  const Plan& plan_;
  int slot_;
  ModuleNeeds& needs_;
  const bool mixed_;
};

}  // namespace twill::emit
