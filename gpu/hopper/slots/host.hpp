// The host's part of an emitted kernel: memory, tensor maps, the launch. On the emulator
// (TWILL_GPU_EMULATED) the same without a device.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/hopper/element.hpp"
#include "gpu/hopper/ptx.cuh"

#ifndef TWILL_GPU_EMULATED
#include "gpu/api/error.hpp"
#include "gpu/hopper/tensor_map.hpp"
#endif

namespace twill::gpu {

/// Bytes that the kernel sees; freed at the end.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
#ifdef TWILL_GPU_EMULATED
    held_.assign(bytes, std::byte{0xFF});
    data_ = held_.data();
#else
    check_cuda(cudaMalloc(&data_, bytes == 0 ? 1 : bytes), "allocating a tensor");
    check_cuda(cudaMemset(data_, 0xFF, bytes), "filling a tensor");
#endif
  }
  ~DeviceMemory() {
#ifndef TWILL_GPU_EMULATED
    cudaFree(data_);
#endif
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data() const {
    return data_;
  }
  std::size_t bytes() const {
    return bytes_;
  }
  void upload(const void* from) {
    if (bytes_ == 0) return;
#ifdef TWILL_GPU_EMULATED
    std::memcpy(data_, from, bytes_);
#else
    check_cuda(cudaMemcpy(data_, from, bytes_, cudaMemcpyHostToDevice), "copying to the device");
#endif
  }
  void download(void* to) const {
    if (bytes_ == 0) return;
#ifdef TWILL_GPU_EMULATED
    std::memcpy(to, data_, bytes_);
#else
    check_cuda(cudaMemcpy(to, data_, bytes_, cudaMemcpyDeviceToHost), "copying from the device");
#endif
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
#ifdef TWILL_GPU_EMULATED
  std::vector<std::byte> held_;
#endif
};

#ifdef TWILL_GPU_EMULATED
/// The map in a CUtensorMap's bytes. As the driver, it refuses a dimension of 0.
inline CUtensorMap emulated_map(const emulator::Map& map) {
  for (const int dimension : map.dims)
    if (dimension < 1) throw std::invalid_argument("a tensor map with a dimension of 0");
  CUtensorMap made{};
  std::memcpy(&made, &map, sizeof map);
  return made;
}
#endif

/// The map of contiguous matrices [batch][rows][columns] of 16-bit elements: a box is
/// [panel of 64 columns][box_rows][64 columns]. columns and box_columns are multiples of 64.
/// Without rows or columns no box is ever copied; the map says one, because the driver refuses 0.
inline CUtensorMap matrix_map(const void* data, int batch, int rows, int columns, Element element,
                              int box_rows, int box_columns) {
  rows = rows < 1 ? 1 : rows;
  columns = columns < 1 ? box_columns : columns;
#ifdef TWILL_GPU_EMULATED
  static_cast<void>(element);
  const emulator::Map m{
      static_cast<std::uint16_t*>(const_cast<void*>(data)),
      {1, columns, 64, std::int64_t{rows} * columns, std::int64_t{rows} * columns},
      {64, rows, columns / 64, 1, batch},
      {64, box_rows, box_columns / 64, 1, 1}};
  return emulated_map(m);
#else
  const twill_gpu_tensor tensor{const_cast<void*>(data), std::int64_t{rows} * columns, columns,
                                columns};
  return tensor_map(tensor, {batch, rows, 1, columns},
                    element == Element::f16 ? TWILL_GPU_F16 : TWILL_GPU_BF16, box_rows,
                    box_columns / 64);
#endif
}

/// The same of 8-bit elements: two are one of 16 bits to TMA, which copies bytes and swizzles
/// chunks of 16 of them. A box is [panel of 128 columns][box_rows][128 columns].
inline CUtensorMap byte_map(const void* data, int batch, int rows, int columns, int box_rows,
                            int box_columns) {
  return matrix_map(data, batch, rows, columns / 2, Element::f16, box_rows, box_columns / 2);
}

/// The same of fp32 elements: a box is [panel of 32 columns][box_rows][32
/// columns].
inline CUtensorMap float_map(float* data, int batch, int rows, int columns, int box_rows,
                             int box_columns) {
  rows = rows < 1 ? 1 : rows;
  columns = columns < 1 ? box_columns : columns;
#ifdef TWILL_GPU_EMULATED
  const std::int64_t row = std::int64_t{2} * columns;  // halves
  const emulator::Map m{reinterpret_cast<std::uint16_t*>(data),
                        {1, row, 64, rows * row, rows * row},
                        {64, rows, columns / 32, 1, batch},
                        {64, box_rows, box_columns / 32, 1, 1}};
  return emulated_map(m);
#else
  return float_tensor_map(data, batch, rows, columns, box_rows, box_columns);
#endif
}

#ifdef TWILL_GPU_EMULATED

/// How the emulator runs what is launched.
inline emulator::Launch emulated_launch;

template <class Kernel>
void launch(const typename Kernel::Arguments& arguments, int blocks, cudaStream_t /*stream*/) {
  if (blocks == 0) return;
  emulator::Launch how = emulated_launch;
  how.blocks = blocks;
  how.threads = Kernel::kThreads;
  how.shared_bytes = Kernel::kSharedBytes;
  emulator::run(how, [&] { Kernel::block(arguments, 0); });
}

#else

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, 1)
    run_block(const __grid_constant__ typename Kernel::Arguments g) {
  extern __shared__ std::uint8_t raw[];
  Kernel::block(g, aligned_shared_1024(raw));
}

template <class Kernel>
void launch(const typename Kernel::Arguments& arguments, int blocks, cudaStream_t stream) {
  if (blocks == 0) return;
  const auto kernel = run_block<Kernel>;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  Kernel::kSharedBytes),
             "asking for shared memory");
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(Kernel::kThreads);
  config.dynamicSmemBytes = Kernel::kSharedBytes;
  config.stream = stream;
  check_cuda(cudaLaunchKernelEx(&config, kernel, arguments), "launching the kernel");
}

#endif

}  // namespace twill::gpu
