// The division of the kernels' work. Forward: every query row of every head belongs to one tile,
// every key that a row sees to one of the tile's blocks, and the two blocks of a cluster read the
// same ones. Backward: every key tile of every head is one unit, which works on every query tile
// that sees one of its keys, and a fixed order of summing dQ cannot wait for a unit that is taken
// later.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gpu/api/backward_plan.hpp"
#include "gpu/api/forward_plan.hpp"
#include "gpu/hopper/forward/schedule.hpp"
#include "gpu/model/dq_order.hpp"

using namespace twill::gpu;

namespace {

void check(bool holds, const char* what, const twill_fmha_forward_arguments& a) {
  if (holds) return;
  std::printf("FAILED: %s: batch %d, heads %d/%d, lengths %d/%d, head dimension %d, mask %d\n",
              what, a.batch, a.query_heads, a.key_heads, a.query_length, a.key_length, a.head_dim,
              a.mask);
  std::exit(1);
}

void covers_everything(const twill_fmha_forward_arguments& a, const ForwardWork& w, int grid) {
  const int keys = forward_tile(a.head_dim).keys;
  std::vector<int> owners(static_cast<std::size_t>(w.heads) *
                          static_cast<std::size_t>(a.query_length));
  int longest_before = 0, section_before = -1;
  check(w.blocks == 1 || !w.causal, "only blocks of equal work share K and V", a);
  for (int cluster = 0; cluster < grid; ++cluster)
    for (int unit = first_unit(w, cluster); unit < w.units; unit = next_unit(w, unit, grid))
      for (int rank = 0; rank < w.blocks; ++rank) {
        const QueryTile tile = query_tile(w, unit, rank, keys);
        check(tile.head == tile.batch * a.query_heads + tile.query_head && tile.batch < a.batch,
              "heads", a);
        check(tile.blocks == query_tile(w, unit, 0, keys).blocks, "blocks of a cluster", a);
        int most = 0;
        for (int r = tile.row; r < tile.row + w.tile_rows && r < a.query_length; ++r) {
          ++owners[static_cast<std::size_t>(tile.head) * static_cast<std::size_t>(a.query_length) +
                   static_cast<std::size_t>(r)];
          // The definition, once more: the mask as the header of the C API words it.
          int seen = a.key_length;
          if (a.mask == TWILL_GPU_MASK_CAUSAL_TOP_LEFT) seen = r + 1;
          if (a.mask == TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT)
            seen = a.key_length - (a.query_length - 1 - r);
          if (seen > a.key_length) seen = a.key_length;
          check(keys_seen(w, r) == seen, "keys of a row", a);
          if (seen > most) most = seen;
        }
        check(tile.blocks >= 1 && tile.blocks * keys >= most &&
                  (tile.blocks == 1 || (tile.blocks - 1) * keys < most),
              "blocks of a tile", a);
        if (grid == 1 && w.causal && !w.paired) {  // in order: never longer than the one before
          const int section = unit / (w.section * w.rows);
          check(section != section_before || tile.blocks <= longest_before, "longest first", a);
          section_before = section;
          longest_before = tile.blocks;
        }
      }
  for (const int owner : owners) check(owner == 1, "a row has one tile", a);
}

/// Causal tiles of the lengths that are measured, 16,384 tokens in all, on 132 multiprocessors:
/// what the one with most to do has beyond the mean. In a fixed stride over tiles in the order of
/// their length it is 13 to 16 percent from 1,024 tokens a head on.
void is_balanced() {
  for (const int length : {512, 1024, 2048, 4096, 8192, 16384}) {
    twill_fmha_forward_arguments a{};
    a.batch = 16384 / length;
    a.query_heads = a.key_heads = 16;
    a.query_length = a.key_length = length;
    a.head_dim = 128;
    a.mask = TWILL_GPU_MASK_CAUSAL_TOP_LEFT;
    ForwardWork w = forward_work(a);
    const int clusters = forward_clusters(w, 132);
    const auto beyond = [&] {
      const auto all = static_cast<double>(longest_share(w, 128, 1));
      return static_cast<double>(longest_share(w, 128, clusters)) * clusters / all - 1;
    };
    const double stride = beyond();
    balance(w, 128, clusters);
    std::printf(
        "causal, %d tokens a head: the longest share is %.1f %% above the mean, %.1f %% balanced\n",
        length, 100 * stride, 100 * beyond());
    check(beyond() <= 0.035 && beyond() <= stride, "balanced tiles", a);
    check(w.paired == (stride > 0.035), "tiles are paired where that helps", a);
  }
}

std::size_t size(int n) {
  return static_cast<std::size_t>(n);
}

void check(bool holds, const char* what, const twill_fmha_backward_arguments& a) {
  if (holds) return;
  std::printf("FAILED: backward: %s: schedule %d, heads %d/%d, lengths %d/%d, mask %d\n", what,
              a.schedule, a.query_heads, a.key_heads, a.query_length, a.key_length, a.mask);
  std::exit(1);
}

void covers_everything(const twill_fmha_backward_arguments& a) {
  const BackwardWork w = backward_work(a);
  check(w.tiles * w.rows >= a.query_length && (w.tiles - 1) * w.rows < a.query_length, "tiles", a);
  std::vector<int> taken(size(w.units), -1);
  int iterations_before = 0, section_before = -1;
  for (int unit = 0; unit < w.units; ++unit) {
    const KeyTile tile = key_tile(w, unit);
    const int head = tile.batch * a.key_heads + tile.key_head;
    const auto at = size(head * w.key_tiles + tile.number);
    check(tile.batch < a.batch && tile.key_head < a.key_heads && tile.number < w.key_tiles &&
              taken[at] < 0,
          "a key tile is one unit's", a);
    taken[at] = unit;
    if (tile.number > 0) {
      check(taken[at - 1] >= 0, "earlier key tiles are taken earlier", a);
      check(key_tile(w, taken[at - 1]).first <= tile.first, "earlier key tiles see as much", a);
    }
    const int section = unit / (w.section * w.key_tiles);
    check(section != section_before || tile.iterations <= iterations_before, "longest first", a);
    section_before = section;
    iterations_before = tile.iterations;
    // Every query row that sees a key of the tile, by the mask's definition, is worked on.
    std::vector<int> rows(size(w.group) * size(w.tiles * w.rows));
    for (int n = 0; n < tile.iterations; ++n) {
      const QueryPlace place = query_place(w, tile, n);
      check(place.query_head / w.group == tile.key_head && place.row % w.rows == 0, "heads", a);
      for (int r = 0; r < w.rows; ++r)
        ++rows[size(place.query_head % w.group * w.tiles * w.rows + place.row + r)];
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int row = static_cast<int>(i) % (w.tiles * w.rows);
      int seen = a.key_length;
      if (a.mask == TWILL_GPU_MASK_CAUSAL_TOP_LEFT) seen = row + 1;
      if (a.mask == TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT)
        seen = a.key_length - (a.query_length - 1 - row);
      const bool sees = row < a.query_length && tile.number * kKeyRows < seen;
      check(rows[i] <= 1 && (!sees || rows[i] == 1), "a row that sees the tile", a);
    }
  }
}

/// However few blocks run at once; and where units are taken in another order, that is noticed.
void fixed_order_ends(const twill_fmha_backward_arguments& a) {
  const BackwardWork w = backward_work(a);
  for (const int resident : {1, 2, 5, 132})
    check(model::dq_order(w, a.query_heads, resident, [](int i) { return i; }).empty(),
          "a fixed order of dQ ends", a);
  const auto last_first = [&w](int i) { return w.units - 1 - i; };
  if (!w.causal)  // every key tile adds to every query tile
    check(model::dq_order(w, a.query_heads, 1, last_first).empty() == (w.key_tiles == 1),
          "a wrong order is found", a);
}

void dq_order_is_a_permutation(int head_dim, int rows) {
  const int values = backward_tile(head_dim, rows).dq_values;
  std::vector<int> found(size(rows) * size(head_dim));
  for (int w = 0; w < kConsumers; ++w)
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < values / 128; ++i) {
        const DqPlace place = dq_place(head_dim, rows, w, thread, i);
        ++found[size(place.row * head_dim + place.column)];
      }
  for (const int n : found)
    if (n != 1) {
      std::printf("FAILED: dQ's order, head dimension %d, %d rows\n", head_dim, rows);
      std::exit(1);
    }
}

}  // namespace

int main() {
  int cases = 0;
  for (const int head_dim : {64, 128})
    for (const int rows : {64, 80}) dq_order_is_a_permutation(head_dim, rows);
  for (const int schedule : {0, 1, 2})
    for (const auto mask :
         {TWILL_GPU_MASK_NONE, TWILL_GPU_MASK_CAUSAL_TOP_LEFT, TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT})
      for (const int queries : {1, 63, 80, 81, 256, 300, 1025})
        for (const int key_count : {1, 127, 300, 1024, 5000})
          for (const int shared : {1, 3}) {
            twill_fmha_backward_arguments a{};
            a.schedule = schedule;
            a.batch = 2;
            a.key_heads = 3;
            a.query_heads = 3 * shared;
            a.query_length = queries;
            a.key_length = key_count;
            a.head_dim = 128;
            a.mask = mask;
            covers_everything(a);
            fixed_order_ends(a);
            ++cases;
          }
  for (const int head_dim : {64, 128, 256})
    for (const auto mask :
         {TWILL_GPU_MASK_NONE, TWILL_GPU_MASK_CAUSAL_TOP_LEFT, TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT})
      for (const int queries : {1, 63, 128, 129, 192, 193, 256, 300, 1024, 1025})
        for (const int key_count : {1, 64, 127, 300, 1024, 20000})
          for (const int shared : {1, 3})
            for (const int grid : {1, 7, 132}) {
              twill_fmha_forward_arguments a{};
              a.batch = 2;
              a.key_heads = 3;
              a.query_heads = 3 * shared;
              a.query_length = queries;
              a.key_length = key_count;
              a.head_dim = head_dim;
              a.mask = mask;
              a.schedule = cases % kForwardScheduleCount;
              ForwardWork w = forward_work(a);
              check(w.tile_rows == (head_dim == 64 && a.schedule == 0 ? 192 : 128), "rows", a);
              covers_everything(a, w, grid);
              w.paired = w.causal;  // the number of heads is even
              covers_everything(a, w, grid);
              ++cases;
            }
  is_balanced();
  std::printf("%d divisions of work hold\n", cases);
}
