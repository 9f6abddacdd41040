#include "gpu/hopper/tensor_map.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "gpu/api/error.hpp"

namespace twill::gpu {

namespace {

PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &result),
             "looking up cuTensorMapEncodeTiled");
  if (result != cudaDriverEntryPointSuccess || !function)
    refuse(TWILL_GPU_CUDA_ERROR,
           "the driver has no cuTensorMapEncodeTiled (it is older than 12.0)");
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

CUtensorMap encode(CUtensorMapDataType type, void* data, const cuuint64_t (&dims)[5],
                   const cuuint64_t (&strides)[4], const cuuint32_t (&box)[5]) {
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  static const PFN_cuTensorMapEncodeTiled_v12000 encode_tiled = encoder();  // looked up once
  // The driver wants the map's alignment. GCC 12 does not give it to where a result is returned,
  // which a map of that name would be; it does to a member of another type.
  struct {
    CUtensorMap map;
  } aligned;
  const CUresult result =
      encode_tiled(&aligned.map, type, 5, data, dims, strides, box, steps,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    refuse(TWILL_GPU_CUDA_ERROR,
           "cuTensorMapEncodeTiled failed with " + std::to_string(static_cast<int>(result)));
  return aligned.map;
}

}  // namespace

CUtensorMap tensor_map(const twill_gpu_tensor& tensor, const TensorShape& shape,
                       twill_gpu_type type, int box_rows, int box_panels) {
  const auto size = [](int n) { return static_cast<cuuint64_t>(n); };
  // A dimension of length 1 is never stepped along; TMA still wants a multiple of 16 bytes.
  const auto stride = [](std::int64_t elements, int length) {
    return length == 1 ? cuuint64_t{16} : static_cast<cuuint64_t>(elements) * 2;
  };
  const cuuint64_t dims[5] = {64, size(shape.length), size(shape.head_dim / 64), size(shape.heads),
                              size(shape.batch)};
  const cuuint64_t strides[4] = {stride(tensor.sequence_stride, shape.length), 128,
                                 stride(tensor.head_stride, shape.heads),
                                 stride(tensor.batch_stride, shape.batch)};
  const cuuint32_t box[5] = {64, static_cast<cuuint32_t>(box_rows),
                             static_cast<cuuint32_t>(box_panels), 1, 1};
  return encode(
      type == TWILL_GPU_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      tensor.data, dims, strides, box);
}

CUtensorMap float_tensor_map(void* data, int batch, int rows, int columns, int box_rows,
                             int box_columns) {
  constexpr int kFloatPanel = 32;
  const auto size = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  const cuuint64_t dims[5] = {kFloatPanel, size(rows), size(columns / kFloatPanel), 1, size(batch)};
  const cuuint64_t strides[4] = {size(columns) * 4, 128, 16,
                                 size(std::int64_t{rows} * columns) * 4};
  const cuuint32_t box[5] = {kFloatPanel, static_cast<cuuint32_t>(box_rows),
                             static_cast<cuuint32_t>(box_columns / kFloatPanel), 1, 1};
  return encode(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, data, dims, strides, box);
}

}  // namespace twill::gpu
