// The division of the forward kernel's work: every query row of every head belongs to one tile,
// every key that a row sees to one of the tile's blocks, and the two blocks of a cluster read the
// same ones.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gpu/api/forward_plan.hpp"

using namespace twill::gpu;

namespace {

void check(bool holds, const char* what, const twill_fmha_forward_arguments& a) {
  if (holds) return;
  std::printf("FAILED: %s: batch %d, heads %d/%d, lengths %d/%d, head dimension %d, mask %d\n",
              what, a.batch, a.query_heads, a.key_heads, a.query_length, a.key_length, a.head_dim,
              a.mask);
  std::exit(1);
}

void covers_everything(const twill_fmha_forward_arguments& a, int grid) {
  const ForwardWork w = forward_work(a);
  const int keys = forward_tile(a.head_dim).keys;
  std::vector<int> owners(static_cast<std::size_t>(w.heads) *
                          static_cast<std::size_t>(a.query_length));
  int longest_before = 0, section_before = -1;
  check(w.blocks == 1 || !w.causal, "only blocks of equal work share K and V", a);
  for (int cluster = 0; cluster < grid; ++cluster)
    for (int unit = cluster; unit < w.units; unit += grid)
      for (int rank = 0; rank < w.blocks; ++rank) {
        const QueryTile tile = query_tile(w, unit, rank, keys);
        check(tile.head == tile.batch * a.query_heads + tile.query_head && tile.batch < a.batch,
              "heads", a);
        check(tile.blocks == query_tile(w, unit, 0, keys).blocks, "blocks of a cluster", a);
        int most = 0;
        for (int r = tile.row; r < tile.row + kQueryRows && r < a.query_length; ++r) {
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
        if (grid == 1 && w.causal) {  // in order: never longer than the one before
          const int section = unit / (w.section * w.rows);
          check(section != section_before || tile.blocks <= longest_before, "longest first", a);
          section_before = section;
          longest_before = tile.blocks;
        }
      }
  for (const int owner : owners) check(owner == 1, "a row has one tile", a);
}

}  // namespace

int main() {
  int cases = 0;
  for (const int head_dim : {64, 128, 256})
    for (const auto mask :
         {TWILL_GPU_MASK_NONE, TWILL_GPU_MASK_CAUSAL_TOP_LEFT, TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT})
      for (const int queries : {1, 63, 128, 129, 256, 300, 1024, 1025})
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
              covers_everything(a, grid);
              ++cases;
            }
  std::printf("%d divisions of work hold\n", cases);
}
