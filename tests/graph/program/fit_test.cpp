// Places for blocks, against trying every base of every block.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "graph/program/fit.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace fit_test {

using namespace twill;
using program::Block;
using program::Fit;
using program::Meet;

namespace {

struct Question {
  std::vector<Block> blocks;
  std::vector<Meet> meet;
  Amount capacity = 0;

  Meet how(std::size_t a, std::size_t b) const { return meet[a * blocks.size() + b]; }
};

/// "" = they are a placement.
std::string wrong(const Question& q, const std::vector<Amount>& bases) {
  for (std::size_t a = 0; a < q.blocks.size(); ++a) {
    if (bases[a] < 0 || bases[a] % q.blocks[a].alignment != 0) return "alignment";
    if (q.capacity >= 0 && bases[a] + q.blocks[a].extent > q.capacity) return "capacity";
    for (std::size_t b = 0; b < a; ++b) {
      if (q.how(a, b) == Meet::must && bases[a] != bases[b]) return "must";
      const bool over =
          bases[a] < bases[b] + q.blocks[b].extent && bases[b] < bases[a] + q.blocks[a].extent;
      if (!over) continue;
      if (q.how(a, b) == Meet::never) return "never";
      if (q.how(a, b) == Meet::same &&
          (bases[a] != bases[b] || q.blocks[a].alignment != q.blocks[b].alignment))
        return "same";
    }
  }
  return "";
}

bool any_placement(const Question& q, std::vector<Amount>& bases) {
  if (bases.size() == q.blocks.size()) return wrong(q, bases).empty();
  for (Amount base = 0; base + q.blocks[bases.size()].extent <= q.capacity; ++base) {
    bases.push_back(base);
    if (any_placement(q, bases)) return true;
    bases.pop_back();
  }
  return false;
}

Question random_question(test::Random& random) {
  Question q;
  const auto n = static_cast<std::size_t>(random.range(1, 5));
  q.capacity = random.range(3, 12);
  for (std::size_t k = 0; k < n; ++k)
    q.blocks.push_back({random.range(1, 5), random.percent(70) ? 1 : random.range(2, 3)});
  q.meet.assign(n * n, Meet::any);
  std::vector<std::size_t> root(n);
  std::iota(root.begin(), root.end(), std::size_t{0});
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      Meet how = random.percent(60) ? Meet::never : random.percent(50) ? Meet::same : Meet::any;
      if (how == Meet::same && random.percent(30)) how = Meet::must;
      q.meet[a * n + b] = q.meet[b * n + a] = how;
    }
  // What must share a base is of one size: that of the first of them.
  for (std::size_t round = 0; round < n; ++round)
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (q.how(a, b) == Meet::must && root[a] != root[b])
          root[a] = root[b] = std::min(root[a], root[b]);
  for (std::size_t a = 0; a < n; ++a) q.blocks[a] = q.blocks[root[a]];
  return q;
}

}  // namespace

TEST_CASE("blocks fit if and only if some bases do") {
  int found = 0, none = 0;
  for (std::uint64_t seed = 0; seed < 20'000 / test::kShare; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const Question q = random_question(random);
    const std::size_t n = q.blocks.size();
    std::vector<Amount> bases, tried;
    const Fit fit = program::fit(q.blocks, q.meet, q.capacity, 1'000'000, bases);
    REQUIRE(fit != Fit::unknown);
    const bool there = any_placement(q, tried);
    CHECK((fit == Fit::found) == there);
    if (fit == Fit::found && !wrong(q, bases).empty()) {
      std::string text;
      for (std::size_t k = 0; k < n; ++k)
        text += " " + std::to_string(q.blocks[k].extent) + "/" +
                std::to_string(q.blocks[k].alignment) + "@" + std::to_string(bases[k]);
      for (const Meet how : q.meet) text += " " + std::to_string(static_cast<int>(how));
      FAIL_CHECK(wrong(q, bases) << text);
    }
    ++(there ? found : none);
  }
  MESSAGE(found << " fit, " << none << " do not");
  CHECK(found > 1'000 / test::kShare);
  CHECK(none > 1'000 / test::kShare);
}

TEST_CASE("order of size alone does not find every placement") {
  // 4 | 3, 4 over each other: 4 at 0, the 3 before the second 4 leaves no room at its end.
  std::vector<Amount> bases;
  const std::vector<Block> blocks = {{4, 1}, {4, 4}, {3, 1}, {1, 1}};
  const std::vector<Meet> never(16, Meet::never);
  CHECK(program::fit(blocks, never, 12, 1'000, bases) == Fit::found);
  CHECK(program::fit(blocks, never, 11, 1'000, bases) == Fit::none);
  CHECK(program::fit(blocks, never, -1, 1'000, bases) == Fit::found);
  CHECK(program::fit({}, {}, 0, 10, bases) == Fit::found);
  CHECK(program::fit({{13, 1}}, {Meet::any}, 12, 10, bases) == Fit::none);
  CHECK(program::fit(blocks, never, 12, 1, bases) == Fit::unknown);
}

}  // namespace fit_test
