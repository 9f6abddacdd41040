// TMA descriptors of attention's tensors.
#pragma once

#include <cuda.h>

#include "gpu/twill_gpu.h"

namespace twill::gpu {

/// Sizes of a tensor [batch][sequence][head][head_dim].
struct TensorShape {
  int batch, length, heads, head_dim;
};

/// The map of a tensor as (64 elements, sequence, panel, head, batch), panel = head_dim / 64: one
/// copy of a box fills [panels][rows][64 elements] in shared memory, 128-byte swizzled. Rows beyond
/// the sequence read as 0 and are not written. Refuses (Refusal) what the driver refuses.
CUtensorMap tensor_map(const twill_gpu_tensor& tensor, const TensorShape& shape,
                       twill_gpu_type type, int box_rows, int box_panels);

/// Of contiguous fp32 matrices [batch][rows][columns], whose panels have 32 columns. Throws
/// Refusal.
CUtensorMap float_tensor_map(void* data, int batch, int rows, int columns, int box_rows,
                             int box_columns);

}  // namespace twill::gpu
