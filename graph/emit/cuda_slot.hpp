// The function of one slot, in CUDA C++.
#pragma once

#include <string>

#include "graph/emit/cuda_plan.hpp"

namespace twill::emit {

/// The body of the function, indented once. Throws Refusal.
std::string cuda_slot_text(const CudaPlan& plan, int slot);

/// The text of an iteration: "3", "i + 1", "n - 1".
std::string cuda_iteration(Iteration iteration);

/// Where tile `iteration` ("" = the one tile) of a tensor of the meaning begins: rows, columns.
struct CudaCoordinates {
  std::string row, column;
};
CudaCoordinates cuda_coordinates(const CudaPlan& plan, int tensor, const std::string& iteration);

}  // namespace twill::emit
