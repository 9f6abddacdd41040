// What an emitted kernel says of its tensors, and the sizes of a launch.
#pragma once

#include <cstddef>

namespace twill::gpu {

enum class Number : unsigned char { f16, bf16, f32, f8 };

/// What a dimension of a tensor covers: `whole`: one tile has all of it; `loop`: a tile an
/// iteration; `block`: a tile a block of the grid, along its dimension `block`.
struct AxisInfo {
  enum Kind : unsigned char { whole, loop, block } kind = whole;
  int tile = 1;
  int dimension = 0;
};
/// A tensor [batch][rows][columns], or a vector [batch][rows], contiguous.
struct TensorInfo {
  const char* name;
  Number type;
  bool output;
  int rank;
  AxisInfo axis[2];
  int parts;             ///< equal parts of a tile's rows, each with a slot of its own
  double low, high;      ///< inputs lie between them where the kernel is checked
  bool added = false;    ///< an output to whose tiles several blocks add; zero before the kernel
  bool vectors = false;  ///< iteration i takes row i, as a vector
};

struct Sizes {
  int batch = 1;
  int n = 0;  ///< trip count of the loop
  int blocks[2] = {1, 1};

  int along(const AxisInfo& axis) const {
    return axis.tile * (axis.kind == AxisInfo::whole  ? 1
                        : axis.kind == AxisInfo::loop ? n
                                                      : blocks[axis.dimension]);
  }
  int rows(const TensorInfo& tensor) const { return along(tensor.axis[0]); }
  int columns(const TensorInfo& tensor) const {
    return tensor.rank == 2 ? along(tensor.axis[1]) : 1;
  }
  std::size_t elements(const TensorInfo& tensor) const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(rows(tensor)) *
           static_cast<std::size_t>(columns(tensor));
  }
};

inline std::size_t bytes_of(Number type) {
  return type == Number::f32 ? 4 : type == Number::f8 ? 1 : 2;
}

}  // namespace twill::gpu
