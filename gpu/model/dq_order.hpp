// The counters between blocks of the Hopper backward kernel where dQ is summed in a fixed order
// (add_dq in backward/loader.cuh): a block adds its part of a query tile when the counter of that
// tile says its key tile's number, and then counts on.
//
// One run stands for all interleavings. A counter says a number until the one block that waits for
// it has added, so no step takes another one's possibility away; and the more units are done the
// more are taken. Whatever can be reached in any order is reached by going on while anything moves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/hopper/backward/work.hpp"

namespace twill::gpu::model {

/// Runs the blocks of a grid, `resident` at a time, the i-th of which works on unit `taken(i)`.
/// Returns what is wrong, or "".
inline std::string dq_order(const BackwardWork& w, int query_heads, int resident,
                            const std::function<int(int)>& taken) {
  struct Block {
    KeyTile tile;
    int number = 0;  // of the query tile it is at
  };
  const auto counter_of = [&](const Block& b) {
    const QueryPlace place = query_place(w, b.tile, b.number);
    const int counter =
        (b.tile.batch * query_heads + place.query_head) * w.tiles + place.row / w.rows;
    return static_cast<std::size_t>(counter);
  };
  const int batches = w.units / (w.key_tiles * w.key_heads);
  std::vector<int> counters(static_cast<std::size_t>(batches * query_heads * w.tiles), 0);
  std::vector<int> due = counters;  // key tiles that add to it
  std::vector<Block> running;
  int begun = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (; begun < w.units && static_cast<int>(running.size()) < resident; ++begun) {
      running.push_back({key_tile(w, taken(begun))});
      moved = true;
      for (Block all = running.back(); all.number < all.tile.iterations; ++all.number)
        ++due[counter_of(all)];
    }
    for (std::size_t i = 0; i < running.size();) {
      Block& b = running[i];
      while (b.number < b.tile.iterations && counters[counter_of(b)] == b.tile.number) {
        ++counters[counter_of(b)];
        ++b.number;
        moved = true;
      }
      if (b.number < b.tile.iterations) {
        ++i;
        continue;
      }
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      moved = true;
    }
  }
  if (!running.empty()) return "blocks wait for each other";
  if (begun < w.units) return "units are left";
  return counters == due ? "" : "a part of dQ is not added";
}

}  // namespace twill::gpu::model
