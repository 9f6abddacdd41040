// The smallest sums of differences (graph/bounds/difference_flow.hpp) against all values in a box:
// random constraints come and go, and what refuses one is added up.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "graph/bounds/difference_flow.hpp"
#include "tests/support/random_loop.hpp"

namespace difference_flow_test {

using namespace twill;
using namespace twill::test;

namespace {

constexpr Cycle kBox = 5;  // values are those of node 0 and up to so much more

struct Sum {
  int from, to;
};

Cycle total(const std::vector<Sum>& sums, const std::vector<Cycle>& x) {
  Cycle sum = 0;
  for (const Sum& s : sums)
    sum += x[static_cast<std::size_t>(s.to)] - x[static_cast<std::size_t>(s.from)];
  return sum;
}

bool keeps(const std::vector<FlowArc>& arcs, const std::vector<Cycle>& x) {
  return std::all_of(arcs.begin(), arcs.end(), [&](const FlowArc& a) {
    return x[static_cast<std::size_t>(a.to)] - x[static_cast<std::size_t>(a.from)] >= a.weight;
  });
}

/// The least sum over all values; nullopt = none keep the constraints.
std::optional<Cycle> enumerated(int nodes, const std::vector<FlowArc>& arcs,
                                const std::vector<Sum>& sums) {
  std::optional<Cycle> least;
  std::vector<Cycle> x(static_cast<std::size_t>(nodes), 0);
  for (;;) {
    if (keeps(arcs, x)) least = std::min(least.value_or(total(sums, x)), total(sums, x));
    std::size_t v = 1;
    for (; v < x.size(); ++v) {
      if (++x[v] <= kBox) break;
      x[v] = 0;
    }
    if (v == x.size()) return least;
  }
}

/// Do the steps say, added up, that the sum (or 0) is more than `most`?
bool adds_up(int nodes, const std::vector<FlowArc>& named, const std::vector<Sum>& sums,
             const std::vector<DifferenceFlow::Step>& reason, std::int64_t most) {
  std::vector<std::int64_t> left(static_cast<std::size_t>(nodes), 0);
  std::int64_t sum = 0;
  for (const DifferenceFlow::Step& step : reason) {
    const FlowArc& a = named[static_cast<std::size_t>(step.name)];
    left[static_cast<std::size_t>(a.to)] += step.times;
    left[static_cast<std::size_t>(a.from)] -= step.times;
    sum += step.times * a.weight;
  }
  std::vector<std::int64_t> wanted(left.size(), 0);
  for (const Sum& s : sums) {
    ++wanted[static_cast<std::size_t>(s.to)];
    --wanted[static_cast<std::size_t>(s.from)];
  }
  const std::vector<std::int64_t> nothing(left.size(), 0);
  return sum > most && (left == wanted || left == nothing);
}

}  // namespace

TEST_CASE("least sums of differences while constraints come and go, and reasons that add up") {
  int refused = 0, contradictions = 0, undone = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int nodes = static_cast<int>(random.range(3, 5));
    const std::int64_t most = random.range(0, 12);
    DifferenceFlow flow(nodes, most);
    std::vector<FlowArc> named, arcs;  // ever, and now
    std::vector<Sum> sums;
    const auto add = [&](FlowArc a) {
      named.push_back(a);
      arcs.push_back(a);
      return flow.add(a, static_cast<int>(named.size()) - 1);
    };
    for (int v = 1; v < nodes; ++v) {
      REQUIRE(add({0, v, 0}));
      REQUIRE(add({v, 0, -kBox}));
    }
    bool within = true;
    for (int s = 0; s < 4 && within; ++s) {
      const int from = static_cast<int>(random.range(0, nodes - 1));
      const int to = (from + static_cast<int>(random.range(1, nodes - 1))) % nodes;
      sums.push_back({from, to});
      within = flow.count(from, to);
      CHECK(within == (*enumerated(nodes, arcs, sums) <= most));
    }
    CHECK(flow.sum() == *enumerated(nodes, arcs, sums));
    std::vector<std::size_t> marks;  // how many arcs there were
    for (int step = 0; step < 25 && (within || !marks.empty()); ++step) {
      CAPTURE(step);
      if (!within || (!marks.empty() && random.percent(25))) {
        const auto to =
            static_cast<std::size_t>(random.range(0, static_cast<std::int64_t>(marks.size()) - 1));
        flow.undo(to);
        arcs.resize(marks[to]);
        marks.resize(to);
        within = true;
        ++undone;
        CHECK(flow.sum() == *enumerated(nodes, arcs, sums));
      } else if (random.percent(30)) {
        flow.mark();
        marks.push_back(arcs.size());
        continue;
      } else {
        const int from = static_cast<int>(random.range(0, nodes - 1));
        const int to = (from + static_cast<int>(random.range(1, nodes - 1))) % nodes;
        within = add({from, to, random.range(-kBox, 3)});
        const std::optional<Cycle> least = enumerated(nodes, arcs, sums);
        CHECK(within == (least && *least <= most));
        if (!within) {
          ++refused;
          contradictions += least ? 0 : 1;
          CHECK(adds_up(nodes, named, sums, flow.reason(), most));
          continue;
        }
        CHECK(flow.sum() == *least);
      }
      std::vector<Cycle> x = flow.values();
      CHECK(keeps(arcs, x));
      CHECK(total(sums, x) == flow.sum());
    }
  }
  CHECK(refused > 100);
  CHECK(contradictions > 20);
  CHECK(undone > 100);
}

}  // namespace difference_flow_test
