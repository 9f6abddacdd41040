// Symmetries of loops: found where they are, refused where they are not.
#include "graph/bounds/automorphism.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "graph/index.hpp"
#include "tests/support/attention_loop.hpp"
#include "tests/support/random_loop.hpp"

namespace automorphism_test {

using namespace twill;
using twill::test::attention_loop;

namespace {

// Every involution but the identity, by brute force.
bool any_exchange(const Problem& problem) {
  std::vector<int> image(problem.ops.size());
  std::iota(image.begin(), image.end(), 0);
  while (std::next_permutation(image.begin(), image.end()))
    if (is_exchange(problem, image)) return true;
  return false;
}

}  // namespace

TEST_CASE("random loops of few ops: found exactly where brute force finds one") {
  int symmetric = 0, plain = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Problem problem = test::random_loop(seed);
    if (problem.ops.size() > 6) continue;
    for (const Problem& p :
         {problem, problem.ops.size() <= 3 ? test::beside_itself(problem) : problem}) {
      const std::vector<int> image = exchangeable_ops(p);
      CAPTURE(seed);
      CHECK(image.empty() != any_exchange(p));
      if (!image.empty()) {
        CHECK(is_exchange(p, image));
        ++symmetric;
      } else {
        ++plain;
      }
    }
  }
  CHECK(symmetric > 20);
  CHECK(plain > 20);
}

TEST_CASE("ops whose edges cost different hand-overs do not change places") {
  Problem p;
  p.units = {{"f", 1}};
  p.warps = {{"w0", 1, 0, false}, {"w1", 1, 0, false}};
  for (const char* id : {"a0", "b0", "a1", "b1"}) {
    Op op;
    op.id = id;
    op.cycles = 1;
    op.spill = 2;
    p.ops.push_back(op);
  }
  p.edges = {{0, 1, 1, 0}, {2, 3, 1, 0}};
  CHECK_FALSE(exchangeable_ops(p).empty());
  p.edges[0].spill = p.edges[1].spill = 3;
  CHECK_FALSE(exchangeable_ops(p).empty());
  p.edges[1].spill = 4;
  CHECK(exchangeable_ops(p).empty());
  CHECK_FALSE(any_exchange(p));
}

TEST_CASE("attention: sub-tiles change places, whatever they are called") {
  for (const char* name : {"blackwell-fwd-sub2", "hopper-fwd-sub2", "hopper-fwd-sub2-m128"}) {
    CAPTURE(name);
    Problem p = attention_loop(TWILL_TEST_DATA, name);
    for (std::size_t v = 0; v < p.ops.size(); ++v) p.ops[v].id = "op" + std::to_string(v);
    const std::vector<int> image = exchangeable_ops(p);
    REQUIRE(is_exchange(p, image));
    const auto moved = [&](int v) { return image[at(v)] != v; };
    int count = 0;
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) count += moved(v) ? 1 : 0;
    CHECK(count >= 10);
    Problem uneven = p;  // one sub-tile is slower
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
      if (moved(v)) {
        ++uneven.ops[at(v)].cycles;
        break;
      }
    CHECK_FALSE(is_exchange(uneven, image));
  }
  CHECK(exchangeable_ops(attention_loop(TWILL_TEST_DATA, "hopper-fwd-plain")).empty());
  // The shift of one sub-tile's gradients by an iteration is no symmetry of the loop.
  const Problem bwd = attention_loop(TWILL_TEST_DATA, "hopper-bwd-sub2");
  const std::vector<int> image = exchangeable_ops(bwd);
  CHECK((image.empty() || is_exchange(bwd, image)));
}

TEST_CASE("what is no exchange") {
  Problem p = attention_loop(TWILL_TEST_DATA, "blackwell-fwd-sub2");
  std::vector<int> image = exchangeable_ops(p);
  REQUIRE_FALSE(image.empty());
  CHECK_FALSE(is_exchange(p, std::vector<int>{}));
  std::vector<int> outside = image;
  outside.front() = static_cast<int>(p.ops.size());
  CHECK_FALSE(is_exchange(p, outside));
  std::vector<int> merged(image.size(), 0);
  CHECK_FALSE(is_exchange(p, merged));
  ++p.edges.front().distance;
  const Edge& changed = p.edges.front();
  if (image[at(changed.from)] != changed.from || image[at(changed.to)] != changed.to)
    CHECK_FALSE(is_exchange(p, image));
}

}  // namespace automorphism_test
