// What a formula takes: what was counted on the way is what came, and where there is no room for it
// the work ends, at the latest when the formula is made.
#include "engine/order/memory.hpp"

#include <doctest/doctest.h>

#include <stop_token>

#include "encoders/sinks.hpp"
#include "engine/order/difference_theory.hpp"
#include "graph/hidden_loop.hpp"

namespace memory_test {

using namespace twill;
using namespace twill::order;

namespace {

/// A formula of lengths up to two periods.
OrderRequest two_stages(Cycle ii) {
  OrderRequest request;
  request.ii_low = request.ii_high = ii;
  request.stages = 2;
  request.deadline = true;
  return request;
}

/// What is counted of it, within the budget. Throws Budget::Spent.
FormulaCount counted(const Problem& problem, const OrderRequest& request, Budget& budget,
                     MemoryCnf& cnf) {
  CountedClauses sink(cnf, budget, problem, request);
  Formula formula(sink);
  const OrderEncoding encoding(formula, problem, request, {});
  sink.complete(encoding.rows());
  CHECK(sink.count().nodes == encoding.rows().nodes());
  CHECK(sink.count().clauses == formula.clauses());
  return sink.count();
}

HiddenLoop loop(int ops) {
  HiddenKnobs knobs;
  knobs.ops = ops;
  knobs.seed = 1;
  return hidden_loop(knobs);
}

}  // namespace

TEST_CASE("what is counted is what the solver gets") {
  for (const int ops : {10, 40, 80}) {
    CAPTURE(ops);
    const HiddenLoop hidden = loop(ops);
    Budget budget({}, 0, 0, 0);
    MemoryCnf cnf;
    const FormulaCount count =
        counted(hidden.problem, two_stages(hidden.schedule.initiation_interval), budget, cnf);
    CHECK(count.variables == cnf.variables());
    CHECK(count.clauses == static_cast<std::int64_t>(cnf.clauses()));
    std::int64_t literals = 0;
    for (std::size_t i = 0; i < cnf.clauses(); ++i)
      literals += static_cast<std::int64_t>(cnf.clause(i).size());
    CHECK(count.literals == literals);
    CHECK(count.atoms > 0);
    CHECK(count.nodes > ops / 2);
    CHECK(count.bytes() > static_cast<std::int64_t>(
                              DifferenceTheory::most_bytes(static_cast<std::size_t>(count.nodes))));
    CHECK_FALSE(budget.spent());
  }
}

TEST_CASE("of what is learned the most is known before, by the count and the limit alone") {
  FormulaCount small, large;
  large.clauses = 20'000'000;
  using Count = FormulaCount;
  CHECK(small.learned_bytes(0) == Count::kMostLearned);
  CHECK(large.learned_bytes(0) == Count::kMostLearned);
  for (const std::int64_t limit :
       {std::int64_t{1} << 20, std::int64_t{100} << 20, std::int64_t{1} << 30,
        std::int64_t{2} << 30, std::int64_t{16} << 30})
    for (const FormulaCount& count : {small, large}) {
      const std::int64_t bytes = count.learned_bytes(limit);
      CHECK(bytes >= Count::kLeastLearned);
      CHECK(bytes <= Count::kMostLearned);
      // Two such formulas are within the limit, but for the least.
      if (bytes > Count::kLeastLearned) CHECK(2 * bytes + count.bytes() <= limit);
    }
  CHECK(small.learned_bytes(std::int64_t{16} << 30) == Count::kMostLearned);
  CHECK(small.learned_bytes(std::int64_t{1} << 30) > large.learned_bytes(std::int64_t{1} << 30));
}

TEST_CASE("without room for it, it is not begun or not finished") {
  const HiddenLoop hidden = loop(80);
  const OrderRequest request = two_stages(hidden.schedule.initiation_interval);
  Budget free({}, 0, 0, 0);
  MemoryCnf all;
  const FormulaCount count = counted(hidden.problem, request, free, all);
  const auto clauses_within = [&](std::int64_t bytes) {
    Budget budget({}, 0, 0, resident_memory() + bytes);
    MemoryCnf cnf;
    const bool whole = budget.complete([&] { counted(hidden.problem, request, budget, cnf); });
    CHECK(whole == !budget.spent());
    if (!whole) CHECK(budget.reason() == Stop::memory_limit);
    CHECK((whole || cnf.clauses() <= all.clauses()));
    return whole ? all.clauses() + 1 : cnf.clauses();
  };
  CHECK(clauses_within(2 << 20) == 0);  // the closure alone is more
  const std::size_t half = clauses_within(count.bytes() / 4 * 3);
  CHECK(half <= all.clauses());
  CHECK(clauses_within(2 * count.bytes()) == all.clauses() + 1);
}

}  // namespace memory_test
