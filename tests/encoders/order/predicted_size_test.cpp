// What a formula of the order form has at least is said before it is made: never more than it has,
// and enough of it to end there.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "encoders/order/order.hpp"
#include "encoders/sinks.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/synthetic.hpp"
#include "tests/support/random_loop.hpp"

namespace predicted_size_test {

using namespace twill;
using namespace twill::test;

namespace {

struct Enough {};

/// Remembers what it was told to expect, and throws where that is more than `most` clauses.
class Expecting : public CountingSink {
 public:
  explicit Expecting(double most) : most_(most) {}
  void expect(double expected_variables, double expected_clauses, double) override {
    told_variables_ = std::max(told_variables_, expected_variables);
    told_clauses_ = std::max(told_clauses_, expected_clauses);
    if (told_clauses_ > most_) throw Enough{};
  }
  double told_variables() const { return told_variables_; }
  double told_clauses() const { return told_clauses_; }

 private:
  double most_, told_variables_ = 0, told_clauses_ = 0;
};

OrderRequest request_at(Cycle low, Cycle high, Cycle stages, bool at_once) {
  OrderRequest request;
  request.ii_low = low;
  request.ii_high = high;
  request.stages = stages;
  request.at_once = at_once;
  return request;
}

/// Encodes, and says which share of the clauses was expected.
double expected_share(const Problem& problem, const OrderRequest& request) {
  Expecting sink(1e18);
  Formula f(sink);
  const OrderEncoding encoding(f, problem, request, {});
  CHECK(sink.told_variables() <= f.variables());
  CHECK(sink.told_clauses() <= static_cast<double>(f.clauses()));
  return sink.told_clauses() / static_cast<double>(std::max<std::int64_t>(1, f.clauses()));
}

}  // namespace

TEST_CASE("no formula has less than was said") {
  int some = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 9;
    knobs.multi_segment = seed % 3 == 0;
    knobs.flight = seed % 2 == 0;
    const Problem problem = seed % 5 == 0 ? ring_loop(seed, knobs) : random_loop(seed, knobs);
    const Cycle low = lower_bounds(problem).front().value, high = std::max(low, serial_ii(problem));
    for (const Cycle stages : {Cycle{0}, Cycle{1}, Cycle{3}})
      for (const bool at_once : {false, true}) {
        some += expected_share(problem, request_at(low, low, stages, at_once)) > 0;
        if (order_range_allowed(problem, low, high))
          expected_share(problem, request_at(low, high, stages, at_once));
      }
  }
  CHECK(some > 500);
}

TEST_CASE("of large loops a good part is said") {
  for (const int filled : {60, 100}) {
    HiddenKnobs knobs;
    knobs.ops = 120;
    knobs.filled = filled;
    const HiddenLoop loop = hidden_loop(knobs);
    const Cycle ii = loop.schedule.initiation_interval;
    for (const bool at_once : {false, true})
      CHECK(expected_share(loop.problem, request_at(ii, ii, 3, at_once)) > 0.05);
  }
  const Problem layers = synthetic_loop({.seed = 1, .ops = 120, .width = 24, .longest = 1000});
  const Cycle ii = lower_bounds(layers).front().value;
  CHECK(expected_share(layers, request_at(ii, ii, 3, true)) > 0.05);
}

TEST_CASE("what is too large is not begun") {
  HiddenKnobs knobs;
  knobs.ops = 300;
  const HiddenLoop loop = hidden_loop(knobs);
  const Cycle ii = loop.schedule.initiation_interval;
  Expecting sink(20'000);
  Formula f(sink);
  const OrderRequest request = request_at(ii, ii, 3, true);
  CHECK_THROWS_AS(OrderEncoding(f, loop.problem, request, {}), Enough);
  CHECK(f.clauses() < 20'000);
}

}  // namespace predicted_size_test
