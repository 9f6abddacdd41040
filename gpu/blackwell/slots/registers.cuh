// Tiles in the registers of a warpgroup whose threads have a row each, as tensor memory gives them
// (tcgen05.ld.32x32b): thread t of the warpgroup holds row t of a tile of 128 rows. Warpgroups of
// one slot share out the columns: number `group` has kColumns from group kColumns on. Arithmetic is
// that of gpu/hopper/slots/registers.cuh.
#pragma once

#include "gpu/hopper/slots/registers.cuh"

namespace twill::gpu {

template <int kColumns>
struct LaneTile {
  float x[kColumns];
};
struct LaneRow {
  float x;
};
/// 16-bit elements, two a word.
template <Element kElement, int kColumns>
struct LaneHalfTile {
  std::uint32_t x[kColumns / 2];
};

template <>
struct Rank<LaneRow> {
  static constexpr int value = 1;
  using Result = LaneRow;
};
template <int kColumns>
struct Rank<LaneTile<kColumns>> {
  static constexpr int value = 2;
  using Result = LaneTile<kColumns>;
};
template <Element kElement, int kColumns>
struct Rank<LaneHalfTile<kElement, kColumns>> {
  static constexpr int value = 2;
  using Result = LaneTile<kColumns>;
};

__device__ __forceinline__ float element(const LaneRow& a, int, int) {
  return own(a.x);
}
template <int kColumns>
__device__ __forceinline__ float element(const LaneTile<kColumns>& a, int, int i) {
  return own(a.x[i]);
}
template <Element kElement, int kColumns>
__device__ __forceinline__ float element(const LaneHalfTile<kElement, kColumns>& a, int, int i) {
  const float2 pair = unpack<kElement>(a.x[i / 2]);
  return i % 2 == 0 ? pair.x : pair.y;
}
template <class F, class... A>
__device__ __forceinline__ void fill_elements(LaneRow& d, const F& f, const A&... a) {
  d.x = f(element(a, 0, 0)...);
}
template <class F, int kColumns, class... A>
__device__ __forceinline__ void fill_elements(LaneTile<kColumns>& d, const F& f, const A&... a) {
#pragma unroll
  for (int i = 0; i < kColumns; ++i) d.x[i] = f(element(a, 0, i)...);
}

template <Element kElement, int kColumns>
__device__ __forceinline__ LaneHalfTile<kElement, kColumns> rounded(const LaneTile<kColumns>& a) {
  LaneHalfTile<kElement, kColumns> d;
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) d.x[i] = pack<kElement>(a.x[2 * i], a.x[2 * i + 1]);
  return d;
}

/// The row's numbers taken together by four chains: `add` takes the next one in, `join` two chains.
template <int kColumns, class Add, class Join>
__device__ __forceinline__ LaneRow together(const LaneTile<kColumns>& s, const Add& add,
                                            const Join& join) {
  static_assert(kColumns % 4 == 0);
  float a[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) a[c] = own(s.x[c]);
#pragma unroll
  for (int i = 4; i < kColumns; i += 4)
#pragma unroll
    for (int c = 0; c < 4; ++c) a[c] = add(a[c], s.x[i + c]);
  return {join(join(a[0], a[1]), join(a[2], a[3]))};
}
/// The largest of the row.
template <int kColumns>
__device__ __forceinline__ LaneRow max_of_rows(const LaneTile<kColumns>& s) {
  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  return together(s, larger, larger);
}
/// The smallest of the row.
template <int kColumns>
__device__ __forceinline__ LaneRow min_of_rows(const LaneTile<kColumns>& s) {
  const auto smaller = [](float a, float b) { return fminf(a, b); };
  return together(s, smaller, smaller);
}
/// The sum of the row.
template <int kColumns>
__device__ __forceinline__ LaneRow sum_of_rows(const LaneTile<kColumns>& s) {
  return together(
      s, [](float a, float x) { return a + own(x); }, [](float a, float b) { return a + b; });
}

/// The row of the tile that the thread has.
__device__ __forceinline__ int lane_row() {
  return static_cast<int>(threadIdx.x % 128);
}
/// Elements of columns up to first + row / share, `column` columns on, remain; others are `other`.
template <int kColumns>
__device__ __forceinline__ LaneTile<kColumns> masked(LaneTile<kColumns> s, int group, int column,
                                                     int first, int share, float other) {
  const int last = first + lane_row() / share - column - group * kColumns;
#pragma unroll
  for (int i = 0; i < kColumns; ++i)
    if (i > last) s.x[i] = other;
  return s;
}

}  // namespace twill::gpu
