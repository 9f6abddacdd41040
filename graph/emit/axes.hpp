// How the tiles of a kernel lie in whole tensors, read off what the kernel computes.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "graph/meaning/meaning.hpp"
#include "graph/program/loop_view.hpp"

namespace twill::emit {

/// A dimension of tiles that several tensors have in common.
struct Axis {
  enum Kind {
    whole,  ///< one tile has all of it (what a product sums over, outside the loop)
    loop,   ///< tile i of the loop
    block,  ///< tile by the kernel's place in the grid
  } kind = whole;
  std::int64_t tile = 0;  ///< elements of a tile (of all sub-tiles together)
};

/// A tensor of the host: one of the kernel's, or sub-tiles s0_X, s1_X, ... of one X, rows of which
/// follow each other (in every iteration, where they have a tile an iteration).
struct HostTensor {
  std::string name;        ///< as the file has it; not yet an identifier
  std::vector<int> parts;  ///< tensors of the meaning
  std::vector<int> axes;   ///< per dimension of a tile
  std::string type;
  bool output = false;
  bool pointer = false;  ///< of a user's function: an argument that is a pointer
  /// Several programs of the grid store each of its tiles: they add to what is there, which begins
  /// as 0.
  bool added = false;
  /// Of vectors of which iteration i takes the i-th: the axis of iterations, which comes before
  /// `axes`; -1 = there is none.
  int steps = -1;
};

struct Axes {
  std::vector<Axis> axes;
  std::vector<HostTensor> tensors;  ///< inputs first
  std::vector<int> tensor_of;       ///< per tensor of the meaning, its host tensor
  std::vector<int> part_of;         ///< and which part it is
  std::vector<int> blocks;          ///< axes of kind block, in the order of the grid
};

/// Dimensions are one axis where an operation needs them equal. The loop's axis is the one that all
/// matrices with a tile an iteration have and no other tensor; a vector without it has one of its
/// own, a vector an iteration. Where there is none such (chunks that
/// attend to themselves), tiles follow each other along rows, and a tensor without a tile an
/// iteration has just one. Rule "tensors" where that does not say how the tiles lie.
std::variant<Axes, program::Refusal> tensor_axes(const meaning::Meaning& meaning);

}  // namespace twill::emit
