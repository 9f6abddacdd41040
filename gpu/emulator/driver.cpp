// The driver's part for the emulator: cuTensorMapEncodeTiled, looked up as tensor_map.cpp does. It
// refuses what the CUDA Driver API says is refused ("Tensor Map Object Management") and what the
// emulator cannot copy, and leaves an emulator::Map in the map's bytes.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

#include "gpu/emulator/machine.hpp"

namespace {

using twill::gpu::emulator::Map;

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* steps, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion /*promotion*/,
                      CUtensorMapFloatOOBfill fill) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (map == nullptr || reinterpret_cast<std::uintptr_t>(map) % 64 != 0 || at % 16 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool floats = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  if (!floats && type != CU_TENSOR_MAP_DATA_TYPE_FLOAT16 &&
      type != CU_TENSOR_MAP_DATA_TYPE_BFLOAT16)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (rank != 5 || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      swizzle != CU_TENSOR_MAP_SWIZZLE_128B || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;
  const unsigned bytes = floats ? 4 : 2;
  for (unsigned k = 0; k < rank; ++k) {
    if (dims[k] == 0 || dims[k] > std::uint64_t{1} << 32) return CUDA_ERROR_INVALID_VALUE;
    if (box[k] == 0 || box[k] > 256) return CUDA_ERROR_INVALID_VALUE;
    if (steps[k] != 1) return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (unsigned k = 0; k + 1 < rank; ++k)
    if (strides[k] % 16 != 0 || strides[k] >= std::uint64_t{1} << 40)
      return CUDA_ERROR_INVALID_VALUE;
  // The inner dimension of a box is at most the span of the swizzle; the emulator wants all of it.
  if (box[0] * bytes > 128) return CUDA_ERROR_INVALID_VALUE;
  if (box[0] * bytes != 128 || box[3] != 1 || box[4] != 1) return CUDA_ERROR_NOT_SUPPORTED;

  Map m{};
  m.data = static_cast<std::uint16_t*>(address);
  m.strides[0] = 1;
  for (unsigned k = 0; k < rank; ++k) {
    const unsigned halves = k == 0 ? bytes / 2 : 1;
    m.dims[k] = static_cast<int>(dims[k] * halves);
    m.box[k] = static_cast<int>(box[k] * halves);
    if (k > 0) m.strides[k] = static_cast<std::int64_t>(strides[k - 1] / 2);
  }
  static_assert(sizeof m <= sizeof *map);
  std::memcpy(map, &m, sizeof m);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                       unsigned int /*version*/,
                                                       unsigned long long /*flags*/,
                                                       cudaDriverEntryPointQueryResult* result) {
  const bool known = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *function = known ? reinterpret_cast<void*>(&encode_tiled) : nullptr;
  *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetLastError() {
  return cudaSuccess;
}
const char* CUDARTAPI cudaGetErrorString(cudaError_t /*error*/) {
  return "an error of the emulated driver";
}

}  // extern "C"
