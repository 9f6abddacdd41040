// Rule 9: the bound, the judge and the check of certificates against exact rationals that are added
// up here, small ones in 128 bits, long ones by counting.
#include "graph/bounds/channel_bounds.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>

#include "engine/certificate/counting.hpp"
#include "graph/check.hpp"
#include "graph/verify.hpp"
#include "graph/wide.hpp"
#include "tests/support/random_loop.hpp"

namespace channel_bounds_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Ops without cycles on one slot: nothing but the channels binds.
Problem loop_of(std::size_t ops, Fraction rate) {
  Problem p;
  p.name = "channels";
  p.warps = {{"w", 1, 0, false}};
  p.channels = {{"bus", rate}};
  p.ops.resize(ops);
  for (std::size_t v = 0; v < ops; ++v) p.ops[v].id = "op" + std::to_string(v);
  return p;
}

Schedule at_zero(const Problem& p, Cycle ii) {
  return {ii, 0, std::vector<Cycle>(p.ops.size(), 0), std::vector<int>(p.ops.size(), 0)};
}

/// What all three say of the smallest interval: met, and nothing below it is.
void is_least(const Problem& p, Cycle least) {
  CHECK_NOTHROW(check(p));
  CHECK(least_by_channels(p) == least);
  CHECK(lower_bounds(p).front().value == least);
  CHECK_FALSE(verify_channels(p, least));
  CHECK_FALSE(verify(p, at_zero(p, least)));
  CHECK_FALSE(interval_counted_out(p, least));
  if (least == 1) return;
  CHECK(lower_bounds(p).front().name == "channel");
  REQUIRE(verify(p, at_zero(p, least - 1)));
  CHECK(verify(p, at_zero(p, least - 1))->rule == "channel");
  CHECK(interval_counted_out(p, least - 1));
  CHECK(interval_counted_out(p, 1));
}

std::vector<Amount> primes_below(Amount end) {
  std::vector<char> composite(static_cast<std::size_t>(end), 0);
  std::vector<Amount> primes;
  for (Amount p = 2; p < end; ++p) {
    if (composite[static_cast<std::size_t>(p)]) continue;
    primes.push_back(p);
    for (Amount q = p * p; q < end; q += p) composite[static_cast<std::size_t>(q)] = 1;
  }
  return primes;
}

}  // namespace

TEST_CASE("channel bounds: random small fractions against sums in 128 bits") {
  Random random(24);
  int fractions = 0, binding = 0;
  for (int i = 0; i < 20'000; ++i) {
    CAPTURE(i);
    const Amount digits = random.percent(50) ? 9 : 60;
    const auto fraction = [&](Amount least) {
      const Amount n = random.range(least, digits), d = random.percent(40) ? 1 : random.range(1, 9);
      const Amount common = std::gcd(n, d);
      return random.percent(80) ? Fraction{n / common, d / common} : Fraction{n, d};
    };
    Problem p = loop_of(static_cast<std::size_t>(random.range(1, 8)), fraction(1));
    const int channels = static_cast<int>(random.range(1, 3));
    for (int c = 1; c < channels; ++c)
      p.channels.push_back({"bus" + std::to_string(c), fraction(1)});
    Cycle least = 1;
    for (int c = 0; c < channels; ++c) {
      Wide over = 0, under = 1;
      for (Op& op : p.ops) {
        if (random.percent(30)) continue;
        const Fraction amount = fraction(0);
        op.traffic.push_back({c, amount});
        over = over * amount.denominator + Wide{amount.numerator} * under;
        under *= amount.denominator;
      }
      // The first I that is enough, tried from 1 on.
      const Fraction rate = p.channels[static_cast<std::size_t>(c)].rate;
      while (over * rate.denominator > Wide{least} * rate.numerator * under) ++least;
      fractions += under > 1;
    }
    binding += least > 1;
    is_least(p, least);
  }
  CHECK(fractions > 10'000);
  CHECK(binding > 15'000);
}

TEST_CASE("channel bounds: one bound a channel, with its arithmetic") {
  Problem p = loop_of(4, {128, 1});
  CHECK(channel_bounds(p).empty());
  for (Op& op : p.ops) op.traffic = {{0, {65536, 1}}};
  p.ops[3].traffic[0].amount = {32768, 1};
  p.channels.push_back({"unused", {1, 1}});
  p.channels.push_back({"issue", {4, 1}});
  p.channels.push_back({"slow", {7, 2}});
  p.ops[0].traffic.push_back({1, {0, 1}});
  p.ops[1].traffic.push_back({2, {21, 2}});
  p.ops[2].traffic.push_back({2, {1, 3}});
  p.ops[2].traffic.push_back({3, {14, 1}});
  const std::vector<Bound> bounds = channel_bounds(p);
  REQUIRE(bounds.size() == 3);
  CHECK(bounds[0].value == 1792);
  CHECK(bounds[0].text == "bus: 3 x 65536 + 32768 = 229376 at 128 a cycle: at least 1792 cycles");
  CHECK(bounds[1].value == 3);  // 65/6 of 4
  CHECK(bounds[1].text == "issue: 21/2 + 1/3 at 4 a cycle: at least 3 cycles");
  CHECK(bounds[2].value == 4);
  CHECK(bounds[2].text == "slow: 14 at 7/2 a cycle: at least 4 cycles");
  CHECK(channel_load(p, 0, 1792) == doctest::Approx(1.0));
  CHECK(channel_load(p, 0, 3584) == doctest::Approx(0.5));
  CHECK(channel_load(p, 1, 10) == 0);
  CHECK(channel_load(p, 3, 8) == doctest::Approx(0.5));
  is_least(p, 1792);
  CHECK(verify_channels(p, 1791)->text ==
        "channel bus: an iteration moves 229376, more than 229248 in I = 1791 cycles");
  p.channels[0].rate = p.channels[2].rate = {1'000'000, 1};
  CHECK(verify_channels(p, 3)->text ==
        "channel slow: an iteration moves 14, more than 21/2 in I = 3 cycles");
  p.ops[0].traffic.push_back({3, {1, 999'983}});
  p.channels[3].rate = {7, 3};
  CHECK(verify_channels(p, 6)->text ==
        "channel slow: an iteration moves 13999763/999983, more than 14 in I = 6 cycles");
  p.ops[1].traffic.push_back({3, {1, 1'000'003}});
  CHECK(verify_channels(p, 6)->text ==
        "channel slow: an iteration moves 14 and a fraction, more than 14 in I = 6 cycles");
}

TEST_CASE("channel bounds: sums far beyond 64 bits are exact") {
  // (p - 1) / p of the first 4,000 primes: no two terms have a common denominator, and the sum's
  // has over 50,000 bits. What is missing to 4,000 is the sum of 1 / p, 2.6.
  const std::vector<Amount> primes = primes_below(37'814);
  REQUIRE(primes.size() == 4'000);
  Problem p = loop_of(primes.size(), {1, 1});
  double missing = 0;
  for (std::size_t v = 0; v < primes.size(); ++v) {
    p.ops[v].traffic = {{0, {primes[v] - 1, primes[v]}}};
    missing += 1.0 / static_cast<double>(primes[v]);
  }
  REQUIRE((missing > 2.5 && missing < 2.9));
  is_least(p, 3998);

  // Only the whole sum decides: 1/p and (p - 1)/p of each prime, so that it is whole, and a hair
  // above or below where one term differs by that.
  Problem exact = loop_of(6'000, {1, 1});
  for (std::size_t v = 0; v < 2 * primes.size() && v + 1 < exact.ops.size(); v += 2) {
    const Amount q = primes[v / 2];
    exact.ops[v].traffic = {{0, {1, q}}};
    exact.ops[v + 1].traffic = {{0, {q - 1, q}}};
  }
  is_least(exact, 3'000);
  exact.ops[5].traffic[0].amount = {4'999'999'999, 5'000'000'000};  // instead of 4/5
  is_least(exact, 3'001);
  exact.ops[5].traffic[0].amount = {3'999'999'999, 5'000'000'000};
  is_least(exact, 3'000);
  exact.ops[0].traffic.clear();  // 1/2 less
  is_least(exact, 3'000);
  exact.channels[0].rate = {999'999'999'999, 1'000'000'000'000};
  is_least(exact, 3'000);
  exact.ops[0].traffic = {{0, {1, 2}}};
  exact.ops[5].traffic[0].amount = {4, 5};
  is_least(exact, 3'001);  // 3,000 at a rate a hair below 1

  // As many and as long as a file can have: what is missing to 10,000 is 10^-8.
  Problem longest = loop_of(kMaxOps, {1, 1});
  for (std::size_t v = 0; v < longest.ops.size(); ++v) {
    const Amount under = kMaxAmount - 1 - 2 * static_cast<Amount>(v);
    longest.ops[v].traffic = {{0, {under - 1, under}}};
  }
  const std::vector<ChannelUse> use = channel_uses(longest);
  REQUIRE(use.size() == 1);
  CHECK(use[0].least == kMaxOps);
  CHECK(use[0].sum.ends_with(" + 9988 more at 1 a cycle"));
  CHECK_FALSE(verify_channels(longest, kMaxOps));
  CHECK(verify_channels(longest, kMaxOps - 1));

  // The largest amounts at the lowest rate, over all ops.
  Problem most = loop_of(kMaxOps, {1, kMaxAmount});
  for (Op& op : most.ops) op.traffic = {{0, {1, 1'000}}};
  is_least(most, kMaxInterval);
  for (Op& op : most.ops) op.traffic = {{0, {kMaxAmount, 1}}};
  most.channels[0].rate = {1'000, 1};
  is_least(most, kMaxInterval);
}

}  // namespace channel_bounds_test
