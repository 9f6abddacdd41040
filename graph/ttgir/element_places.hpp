// Where each element of a tile lies that is loaded or stored by pointers: a pointer argument and
// what a function adds to it, made of its arguments, the program's place, the loop's iteration, the
// element's own row and column, and numbers that it gathers: integers from memory that it stores
// nothing to. And which elements a mask lets through, where that is made of the same.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/meaning/user_kernel.hpp"
#include "graph/ttgir/index_values.hpp"
#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

class ElementPlaces {
 public:
  /// Of the loop that `indices` is about.
  ElementPlaces(const Module& module, int loop, const IndexValues& indices);

  /// Of a tile of pointers of at most two dimensions. Index::row and Index::column are those of the
  /// tile's dimensions, of one dimension Index::row. Additions of places to a pointer are of 64
  /// bits each; within a place Index::wide says where 32 bits become 64, as the function has it.
  /// nullopt = it is made of something else.
  std::optional<meaning::Elements> of(int value) const { return pointer(value, 0); }
  /// Likewise of an integer, alone or in a tile.
  std::optional<meaning::Index> integer(int value) const { return number(value, 0); }
  /// A mask as comparisons of such integers, all of which hold where it lets an element through.
  /// nullopt = it is something else.
  std::optional<std::vector<meaning::IndexComparison>> mask(int value) const {
    return comparisons(value, 0);
  }

 private:
  std::optional<meaning::Elements> pointer(int value, int depth) const;
  std::optional<meaning::Elements> carried_pointer(int value, int depth) const;
  std::optional<meaning::Index> number(int value, int depth) const;
  std::optional<meaning::Index> made(const Operation& op, int depth) const;
  std::optional<meaning::Index> carried_number(int value, int depth) const;
  std::optional<meaning::Index> gathered(const Operation& load, int depth) const;
  std::optional<std::vector<meaning::IndexComparison>> comparisons(int value, int depth) const;
  /// What a variable of the loop begins with and what is yielded for it.
  std::optional<std::pair<int, int>> variable(int value) const;
  /// As `op`, a view of it, shows it; false = not a view that is read.
  bool shown(const Operation& op, meaning::Index& index) const;

  const Module& m_;
  int loop_, body_ = kNone;
  const IndexValues& indices_;
  mutable int steps_ = 0;
};

}  // namespace twill::ttgir
