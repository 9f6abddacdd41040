// Integers of a function as indices (graph/meaning/user_kernel.hpp): what a program computes of its
// arguments, its place in the grid and the loop's iteration.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/meaning/user_kernel.hpp"
#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

class IndexValues {
 public:
  /// Of the function around `loop`. handed_through: the loop around it may have results, those that
  /// the loop hands on to itself.
  IndexValues(const Module& module, int loop, bool handed_through = false);

  /// nullopt = it is not made of what an index is made of (a number from memory, another loop's
  /// variable), or of too many parts: a sum of two that are one is twice as large.
  std::optional<meaning::Index> of(int value) const {
    parts_ = 0;
    return of(value, 0);
  }

  /// Iterations of the loop, where its bounds are indices: those below 0 are none.
  std::optional<meaning::Index> trips() const;

  /// An integer tile as scale_row row + scale_column column + begin; rows are those of dimension 0
  /// where a tile has one. nullopt = it is something else.
  struct Affine {
    std::int64_t row = 0, column = 0;
    meaning::Index begin;
  };
  std::optional<Affine> tile(int value) const {
    parts_ = 0;
    return tile(value, 0);
  }

  /// The loop over tiles around the loop: an scf.for in the function's own block, the loop in its
  /// body, without results. nullopt = there is none, or its bounds are no indices.
  std::optional<meaning::TileLoop> around() const;

  /// The numbers that indices asked for so far are made of and that the function loads before its
  /// loops (Index::loaded).
  const std::vector<meaning::LoadedNumber>& loaded() const { return loaded_; }

  int function() const { return function_; }
  /// Index of a function's argument, -1 for another value.
  int argument(int value) const;

 private:
  /// wide: says where 32 bits become 64.
  std::optional<meaning::Index> of(int value, int depth, bool wide = false) const;
  std::optional<Affine> tile(int value, int depth) const;
  std::optional<meaning::Index> carried(int value, int depth, bool wide = false) const;
  std::optional<Affine> carried_tile(int value, int depth) const;
  std::optional<meaning::Index> loaded(const Operation& op, int depth) const;
  std::optional<meaning::Index> chosen(const Operation& op, int depth, bool wide) const;
  std::optional<meaning::LoadedNumber> behind_pointer(int value, int depth) const;

  const Module& m_;
  int loop_, function_ = kNone, body_ = kNone;
  int around_ = kNone, around_body_ = kNone;  ///< the loop over tiles and its block
  mutable std::vector<meaning::LoadedNumber> loaded_;
  mutable std::vector<int> loads_;  ///< the op of each: somebody may store between two of one place
  mutable int parts_ = 0;           ///< of the index that is asked for, until now
};

/// The first loop variable among an scf.for's operands.
inline constexpr std::size_t kFirstLoopVariable = 3;

/// What an index is made of by this op; nullopt = by none.
std::optional<meaning::Index::Kind> index_kind_of(std::string_view op);

/// The index that the op makes of its two operands; nullopt = none that is known, as of a shift by
/// what is no number.
std::optional<meaning::Index> index_made(const Module& module, const Operation& op,
                                         meaning::Index a, meaning::Index b);

/// Axis of a tt.get_program_id or tt.get_num_programs; -1 = the text does not say.
int grid_axis(const Module& module, const Operation& op);

/// "array<i32: 1, 0>" swaps two dimensions.
bool is_transposition(std::string_view order);

}  // namespace twill::ttgir
