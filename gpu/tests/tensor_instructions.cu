// Every instruction of gpu/blackwell/tcgen05.cuh, to be assembled for sm_100a; it computes nothing.
#include "gpu/blackwell/slots/exchange.cuh"
#include "gpu/blackwell/slots/tensor.cuh"

using namespace twill::gpu;

template <int kCount>
__device__ void columns(float* numbers, std::uint32_t* words, TensorAddress at) {
  TensorColumns<kCount>::load(numbers, at);
  end_tensor_stores();
  tensor_wait_loads();
  TensorColumns<kCount>::store(at, numbers);
  TensorColumns<kCount>::store(at + 32, words);
}

__global__ void all(float* out, std::uint64_t a, std::uint64_t b, BarrierAddress barrier) {
  __shared__ std::uint32_t place;
  if (threadIdx.x < 32) {
    tensor_allocate(shared_address(&place), 512);
    tensor_relinquish();
  }
  tensor_fence_before();
  __syncthreads();
  tensor_fence_after();
  const TensorAddress at = place;
  if (threadIdx.x == 0) {
    constexpr std::uint32_t kHow = instruction_descriptor(Element::bf16, 128, 64, false, true);
    tensor_multiply(at, a, b, kHow, 0);
    tensor_multiply_lanes(at, at + 64, b, kHow, 1);
    tensor_commit(barrier);
  }
  float numbers[32] = {};
  std::uint32_t words[32] = {};
  columns<1>(numbers, words, at);
  columns<2>(numbers, words, at);
  columns<4>(numbers, words, at);
  columns<8>(numbers, words, at);
  columns<16>(numbers, words, at);
  columns<32>(numbers, words, at);
  for (int i = 0; i < 32; ++i) out[i * 128 + threadIdx.x] = numbers[i];
  __syncthreads();
  if (threadIdx.x < 32) tensor_free(at, 512);
}
