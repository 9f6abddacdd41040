// Which iteration each op of a pipelined loop works for.
//
// A software pipeliner executes op v for iteration j + s(v) in iteration j of its loop: a retiming
// (Leiserson and Saxe, 1991). With other s an edge of distance d has distance d + s(to) - s(from);
// cycles of edges keep theirs, so every s without negative distances is the same recurrence. The
// loop from before the pipeliner is taken to be the one that carries least from iteration to
// iteration.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace twill::ttgir {

struct Distance {
  int from = 0, to = 0;
  std::int64_t iterations =
      0;                ///< `to` reads what `from` made so many iterations of the loop before
  bool carries = true;  ///< a value; else an order alone
};

/// The shift s of each of `ops` with the smallest sum of iterations + s(to) - s(from) over the
/// edges that carry, none negative over all; nullopt where there is none, or where
/// finding it takes too long. The smallest shift is 0.
std::optional<std::vector<std::int64_t>> retime(int ops, const std::vector<Distance>& edges);

}  // namespace twill::ttgir
