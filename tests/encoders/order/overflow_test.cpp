// Resources of the order form (encoders/order/lifetimes.cpp) are looked at once models overflow
// them: clauses against the model, and from some overflow on the resource's sums. (That these
// exclude no schedule is what the engines' comparisons with brute force would find.)
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "encoders/order/order.hpp"
#include "encoders/sinks.hpp"
#include "graph/index.hpp"
#include "graph/verify.hpp"

using namespace twill;

namespace {

/// `values` ops of 4 registers each that one op uses, on a slot with room for two of them.
Problem crowd(int values) {
  Problem p;
  p.name = "crowd";
  p.warps.resize(1);
  p.warps[0].name = "w";
  p.warps[0].registers = 8;
  for (int v = 0; v <= values; ++v) {
    Op op;
    op.id = v < values ? "value" + std::to_string(v) : "use";
    op.cycles = 1;
    op.registers = v < values ? 4 : 0;
    p.ops.push_back(op);
    if (v == values) continue;
    Edge e;
    e.from = v;
    e.to = values;
    e.delay = 1;
    p.edges.push_back(e);
  }
  return p;
}

/// All values of a crowd at once, in cycle `start`.
Schedule all_at(const Problem& problem, Cycle start) {
  Schedule schedule{64, 0, {}, {}};
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    schedule.start.push_back(v + 1 < problem.ops.size() ? start : start + 1);
    schedule.warp.push_back(0);
  }
  schedule.length = schedule_length(problem, schedule.start);
  return schedule;
}

/// Variables of the formula before and after each of some models that overflow.
std::vector<int> sizes(const Problem& problem, Amount share, int models, bool at_once = false) {
  MemoryCnf cnf;
  Formula f(cnf);
  OrderRequest request;
  request.ii_low = request.ii_high = 64;
  request.share = share;
  request.at_once = at_once;
  OrderEncoding encoding(f, problem, request, {});
  std::vector<int> result = {cnf.variables()};
  for (int i = 0; i < models; ++i) {
    const Schedule model = all_at(problem, i);
    REQUIRE(verify(problem, model));
    REQUIRE(encoding.overflowed() == (i > 0));
    REQUIRE((encoding.refine(model) > 0 || i > 0));  // the same set of values is forbidden once
    result.push_back(cnf.variables());
  }
  return result;
}

}  // namespace

TEST_CASE("sums are there from the first model on that overflows, for large ones later") {
  // Up to three copies of each value at the issue of each: 3 n^2 terms, 512 a model.
  struct Case {
    int values, model;
  };
  for (const Case& c : {Case{3, 1}, Case{13, 1}, Case{14, 2}, Case{18, 2}, Case{19, 3}}) {
    CAPTURE(c.values);
    const Problem problem = crowd(c.values);
    const std::vector<int> counted = sizes(problem, 16, 4),
                           never = sizes(problem, OrderRequest::kNone, 4);
    REQUIRE(counted.front() == never.front());
    for (int i = 1; i <= 4; ++i) {
      CAPTURE(i);
      CHECK((counted[at(i)] > never[at(i)]) == (i >= c.model));
    }
    CHECK(counted.back() == counted[at(c.model)]);  // once
  }
}

TEST_CASE("all sums at once, where that is asked for") {
  const Problem problem = crowd(19);
  const std::vector<int> later = sizes(problem, 16, 3), first = sizes(problem, 16, 3, true);
  CHECK(first.front() > later.front());
  CHECK(first.back() == later.back());
}

TEST_CASE("values that are light are left out of the sums") {
  const Problem problem = crowd(6);
  const std::vector<int> all = sizes(problem, 2, 1);   // 4 are half of 8
  const std::vector<int> none = sizes(problem, 1, 1);  // but not all
  CHECK(all.back() > none.back());
  CHECK(none == sizes(problem, OrderRequest::kNone, 1));
}
