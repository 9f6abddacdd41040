// Tiles in the registers of warpgroups, and arithmetic on them, for emitted kernels.
//
// A thread holds of its warpgroup's kBlocks blocks of 64 rows what wgmma's accumulator layout gives
// it (wgmma.cuh): of block b the value x[b][4 j + 2 h + e] is row 16 (t / 32) + (t % 32) / 4 + 8 h,
// column 8 j + 2 (t % 4) + e. A vector has one value a row, the same in the four lanes of a row.
// Block b of warpgroup g of a slot is rows 64 (g kBlocks + b) and on of the slot's tile. Where a
// tile has fewer rows than the slot's warpgroups, they share out its columns.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "gpu/hopper/ptx.cuh"
#include "gpu/hopper/wgmma.cuh"

namespace twill::gpu {

template <int kBlocks, int kColumns>
struct Tile {
  float x[kBlocks][kColumns / 2];
};
template <int kBlocks>
struct Rows {
  float x[kBlocks][2];
};
/// A vector along the columns: what the thread has of a row, the same in every row.
template <int kColumns>
struct Columns {
  float x[kColumns / 4];
};
/// 16-bit elements, two a word.
template <Element kElement, int kBlocks, int kColumns>
struct HalfTile {
  std::uint32_t x[kBlocks][kColumns / 4];
};

/// 0 a number, 1 a vector, 2 a tile; and what arithmetic makes of it.
template <class T>
struct Rank {
  static constexpr int value = 0;
  using Result = float;
};
template <int kBlocks>
struct Rank<Rows<kBlocks>> {
  static constexpr int value = 1;
  using Result = Rows<kBlocks>;
};
template <int kColumns>
struct Rank<Columns<kColumns>> {
  static constexpr int value = 1;
  using Result = Columns<kColumns>;
};
template <int kBlocks, int kColumns>
struct Rank<Tile<kBlocks, kColumns>> {
  static constexpr int value = 2;
  using Result = Tile<kBlocks, kColumns>;
};
template <Element kElement, int kBlocks, int kColumns>
struct Rank<HalfTile<kElement, kBlocks, kColumns>> {
  static constexpr int value = 2;
  using Result = Tile<kBlocks, kColumns>;
};
template <class A, class... More>
struct Widest {
  using Result = typename Rank<A>::Result;
};
template <class A, class B, class... More>
struct Widest<A, B, More...> {
  using Result = typename Widest<std::conditional_t<(Rank<A>::value >= Rank<B>::value), A, B>,
                                 More...>::Result;
};

/// A register that arithmetic reads: the emulator refuses those of products in flight.
__device__ __forceinline__ float own(float x) {
#ifdef TWILL_GPU_EMULATED
  used(x);
#endif
  return x;
}
__device__ __forceinline__ float element(float a, int, int) {
  return a;
}
template <int kBlocks>
__device__ __forceinline__ float element(const Rows<kBlocks>& a, int block, int i) {
  return a.x[block][(i >> 1) & 1];
}
template <int kColumns>
__device__ __forceinline__ float element(const Columns<kColumns>& a, int, int i) {
  return a.x[i / 4 * 2 + i % 2];
}
template <int kBlocks, int kColumns>
__device__ __forceinline__ float element(const Tile<kBlocks, kColumns>& a, int block, int i) {
  return own(a.x[block][i]);
}
template <Element kElement, int kBlocks, int kColumns>
__device__ __forceinline__ float element(const HalfTile<kElement, kBlocks, kColumns>& a, int block,
                                         int i) {
  const float2 pair = unpack<kElement>(a.x[block][i / 2]);
  return i % 2 == 0 ? pair.x : pair.y;
}

template <class F, int kBlocks, class... A>
__device__ __forceinline__ void fill_elements(Rows<kBlocks>& d, const F& f, const A&... a) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h) d.x[b][h] = f(element(a, b, 2 * h)...);
}
template <class F, int kBlocks, int kColumns, class... A>
__device__ __forceinline__ void fill_elements(Tile<kBlocks, kColumns>& d, const F& f,
                                              const A&... a) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) d.x[b][i] = f(element(a, b, i)...);
}
template <class F, class... A>
__device__ __forceinline__ void fill_elements(float& d, const F& f, const A&... a) {
  d = f(a...);
}
/// f of each element; vectors and numbers are repeated.
template <class F, class... A>
__device__ __forceinline__ typename Widest<A...>::Result elementwise(const F& f, const A&... a) {
  typename Widest<A...>::Result d;
  fill_elements(d, f, a...);
  return d;
}

/// 1 / x to within an ulp, and x / y to within two, as Triton has them.
__device__ __forceinline__ float reciprocal_of(float x) {
#ifdef TWILL_GPU_EMULATED
  return 1.f / x;
#else
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}
__device__ __forceinline__ float quotient_of(float x, float y) {
#ifdef TWILL_GPU_EMULATED
  return x / y;
#else
  float z;
  asm("div.full.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
#endif
}

/// At least one operand is in registers as a tile or a vector.
template <class A, class B>
using IfRegisters = std::enable_if_t<(Rank<A>::value > 0 || Rank<B>::value > 0), int>;

template <class A, class B, IfRegisters<A, B> = 0>
__device__ __forceinline__ auto operator+(const A& a, const B& b) {
  return elementwise([](float x, float y) { return x + y; }, a, b);
}
template <class A, class B, IfRegisters<A, B> = 0>
__device__ __forceinline__ auto operator-(const A& a, const B& b) {
  return elementwise([](float x, float y) { return x - y; }, a, b);
}
template <class A, class B, IfRegisters<A, B> = 0>
__device__ __forceinline__ auto operator*(const A& a, const B& b) {
  return elementwise([](float x, float y) { return x * y; }, a, b);
}
template <class A, class B, IfRegisters<A, B> = 0>
__device__ __forceinline__ auto operator/(const A& a, const B& b) {
  return elementwise([](float x, float y) { return quotient_of(x, y); }, a, b);
}
/// a b + c and a b - c, rounded once.
template <class A, class B, class C>
__device__ __forceinline__ auto multiply_add(const A& a, const B& b, const C& c) {
  return elementwise([](float x, float y, float z) { return fmaf(x, y, z); }, a, b, c);
}
template <class A, class B, class C>
__device__ __forceinline__ auto multiply_subtract(const A& a, const B& b, const C& c) {
  return elementwise([](float x, float y, float z) { return fmaf(x, y, -z); }, a, b, c);
}
template <class A, class B>
__device__ __forceinline__ auto larger(const A& a, const B& b) {
  return elementwise([](float x, float y) { return fmaxf(x, y); }, a, b);
}
template <class A>
__device__ __forceinline__ auto power_of_2(const A& a) {
  return elementwise([](float x) { return exp2_approx(x); }, a);
}
template <class A>
__device__ __forceinline__ auto binary_logarithm(const A& a) {
  return elementwise([](float x) { return log2f(x); }, a);
}
template <class A>
__device__ __forceinline__ auto reciprocal(const A& a) {
  return elementwise([](float x) { return reciprocal_of(x); }, a);
}
template <class A, class B>
__device__ __forceinline__ auto smaller(const A& a, const B& b) {
  return elementwise([](float x, float y) { return fminf(x, y); }, a, b);
}
template <class A>
__device__ __forceinline__ auto magnitude(const A& a) {
  return elementwise([](float x) { return fabsf(x); }, a);
}
template <class A>
__device__ __forceinline__ auto square_root(const A& a) {
  return elementwise([](float x) { return sqrtf(x); }, a);
}
template <class A>
__device__ __forceinline__ auto inverse_square_root(const A& a) {
  return elementwise([](float x) { return 1.f / sqrtf(x); }, a);
}
template <class A>
__device__ __forceinline__ auto natural_logarithm(const A& a) {
  return elementwise([](float x) { return logf(x); }, a);
}
template <class A>
__device__ __forceinline__ auto sine(const A& a) {
  return elementwise([](float x) { return sinf(x); }, a);
}
template <class A>
__device__ __forceinline__ auto cosine(const A& a) {
  return elementwise([](float x) { return cosf(x); }, a);
}
template <class A>
__device__ __forceinline__ auto error_function(const A& a) {
  return elementwise([](float x) { return erff(x); }, a);
}
template <class A>
__device__ __forceinline__ auto whole_below(const A& a) {
  return elementwise([](float x) { return floorf(x); }, a);
}
template <class A>
__device__ __forceinline__ auto whole_above(const A& a) {
  return elementwise([](float x) { return ceilf(x); }, a);
}
template <class A>
__device__ __forceinline__ auto whole_part(const A& a) {
  return elementwise([](float x) { return truncf(x); }, a);
}
/// b where a > 0, else c.
template <class A, class B, class C>
__device__ __forceinline__ auto where_positive(const A& a, const B& b, const C& c) {
  return elementwise([](float x, float y, float z) { return x > 0.f ? y : z; }, a, b, c);
}

/// All of it one number.
template <class T>
__device__ __forceinline__ void fill(T& d, float x) {
  fill_elements(
      d, [](float y) { return y; }, x);
}

/// 16-bit elements as fp32.
template <class A>
__device__ __forceinline__ auto widened(const A& a) {
  return elementwise([](float x) { return x; }, a);
}
template <Element kElement, int kBlocks, int kColumns>
__device__ __forceinline__ HalfTile<kElement, kBlocks, kColumns> rounded(
    const Tile<kBlocks, kColumns>& a) {
  HalfTile<kElement, kBlocks, kColumns> d;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int i = 0; i < kColumns / 4; ++i)
      d.x[b][i] = pack<kElement>(a.x[b][2 * i], a.x[b][2 * i + 1]);
  return d;
}

/// Of each row what `further` leaves of two numbers, by two chains and two shuffles.
template <int kBlocks, int kColumns, class F>
__device__ __forceinline__ Rows<kBlocks> extreme_of_rows(const Tile<kBlocks, kColumns>& s,
                                                         const F& further) {
  Rows<kBlocks> d;
#pragma unroll
  for (int k = 0; k < kBlocks; ++k)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float a = s.x[k][2 * h], b = s.x[k][2 * h + 1];
#pragma unroll
      for (int j = 1; j < kColumns / 8; ++j) {
        a = further(a, s.x[k][4 * j + 2 * h]);
        b = further(b, s.x[k][4 * j + 2 * h + 1]);
      }
      a = further(a, b);
      a = further(a, __shfl_xor_sync(~0u, a, 1));
      d.x[k][h] = further(a, __shfl_xor_sync(~0u, a, 2));
    }
  return d;
}
/// The largest of each row.
template <int kBlocks, int kColumns>
__device__ __forceinline__ Rows<kBlocks> max_of_rows(const Tile<kBlocks, kColumns>& s) {
  return extreme_of_rows(s, [](float a, float b) { return fmaxf(a, b); });
}
/// The smallest of each row.
template <int kBlocks, int kColumns>
__device__ __forceinline__ Rows<kBlocks> min_of_rows(const Tile<kBlocks, kColumns>& s) {
  return extreme_of_rows(s, [](float a, float b) { return fminf(a, b); });
}
/// The sum of each row's elements that the lane holds: the row's is that over its four lanes.
template <int kBlocks, int kColumns>
__device__ __forceinline__ Rows<kBlocks> lane_sum(const Tile<kBlocks, kColumns>& s) {
  Rows<kBlocks> d;
#pragma unroll
  for (int k = 0; k < kBlocks; ++k)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float a = own(s.x[k][2 * h]), b = own(s.x[k][2 * h + 1]);
#pragma unroll
      for (int j = 1; j < kColumns / 8; ++j) {
        a += own(s.x[k][4 * j + 2 * h]);
        b += own(s.x[k][4 * j + 2 * h + 1]);
      }
      d.x[k][h] = a + b;
    }
  return d;
}
/// Lanes' sums to the rows'.
template <int kBlocks>
__device__ __forceinline__ Rows<kBlocks> over_lanes(Rows<kBlocks> d) {
#pragma unroll
  for (int k = 0; k < kBlocks; ++k)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      d.x[k][h] += __shfl_xor_sync(~0u, d.x[k][h], 1);
      d.x[k][h] += __shfl_xor_sync(~0u, d.x[k][h], 2);
    }
  return d;
}

/// The row of the slot's tile of x[block][2 h]; `group`: the warpgroup of the slot.
template <int kBlocks>
__device__ __forceinline__ int row_of(int group, int block, int h) {
  const int thread = static_cast<int>(threadIdx.x % 128);
  return (group * kBlocks + block) * 64 + thread / 32 * 16 + h * 8 + thread % 32 / 4;
}
/// Elements of columns up to first + row / share, `column` columns on, remain; others are `other`.
template <int kBlocks, int kColumns>
__device__ __forceinline__ Tile<kBlocks, kColumns> masked(Tile<kBlocks, kColumns> s, int group,
                                                          int column, int first, int share,
                                                          float other) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int last = first + row_of<kBlocks>(group, b, h) / share - column -
                       2 * static_cast<int>(threadIdx.x % 4);
#pragma unroll
      for (int j = 0; j < kColumns / 8; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = s.x[b][4 * j + 2 * h + e];
          if (8 * j + e > last) x = other;
        }
    }
  return s;
}

}  // namespace twill::gpu
