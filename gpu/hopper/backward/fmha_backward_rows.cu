// The launches before and after the Hopper backward kernel: backward/rows.cuh.
#include "gpu/hopper/backward/rows.cuh"

namespace twill::gpu {

namespace {

constexpr int kMostRows = 80;

template <Element kElement, int kHeadDim>
__global__ void __launch_bounds__(kRowThreads)
    fmha_backward_delta(const __grid_constant__ DeltaArguments g) {
  delta_block<kElement, kHeadDim>(g);
}

template <Element kElement, int kHeadDim>
__global__ void __launch_bounds__(kRowThreads)
    fmha_backward_convert(const __grid_constant__ ConvertArguments g) {
  __shared__ __align__(16) std::uint16_t staging[kMostRows * kRowPitch<kHeadDim>];
  convert_block<kElement, kHeadDim>(g, staging);
}

template <class Arguments>
using Kernel = void (*)(Arguments);

template <class Arguments>
cudaError_t launch(Kernel<Arguments> kernel, const Arguments& g, cudaStream_t stream) {
  if (g.rows > kMostRows) return cudaErrorInvalidValue;
  kernel<<<g.batch * g.query_heads * g.tiles, kRowThreads, 0, stream>>>(g);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_backward_delta(const DeltaArguments& g, cudaStream_t stream) {
  const bool half = g.element == Element::f16;
  if (g.head_dim == 64)
    return launch(
        half ? fmha_backward_delta<Element::f16, 64> : fmha_backward_delta<Element::bf16, 64>, g,
        stream);
  return launch(
      half ? fmha_backward_delta<Element::f16, 128> : fmha_backward_delta<Element::bf16, 128>, g,
      stream);
}

cudaError_t launch_backward_convert(const ConvertArguments& g, cudaStream_t stream) {
  const bool half = g.element == Element::f16;
  if (g.head_dim == 64)
    return launch(
        half ? fmha_backward_convert<Element::f16, 64> : fmha_backward_convert<Element::bf16, 64>,
        g, stream);
  return launch(
      half ? fmha_backward_convert<Element::f16, 128> : fmha_backward_convert<Element::bf16, 128>,
      g, stream);
}

}  // namespace twill::gpu
