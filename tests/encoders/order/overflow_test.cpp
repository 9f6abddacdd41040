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

namespace overflow_test {

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

TEST_CASE("sums come once, the sooner the smaller they are: small ones with the first model") {
  constexpr int kModels = 6;
  int last = 1, later = 0;
  for (int values = 3; values <= 24; ++values) {
    CAPTURE(values);
    const Problem problem = crowd(values);
    const std::vector<int> counted = sizes(problem, 16, kModels),
                           never = sizes(problem, OrderRequest::kNone, kModels);
    int first = 0;  // model after which there are sums
    while (first <= kModels && counted[at(first)] == never[at(first)]) ++first;
    CHECK(first >= last);
    CHECK(first <= kModels);
    if (values <= 4) CHECK(first == 1);
    later += first > last;
    last = first;
    for (int i = first; i <= kModels; ++i)
      CHECK(counted[at(i)] - never[at(i)] == counted[at(first)] - never[at(first)]);
  }
  CHECK(last > 1);
  CHECK(later > 1);  // not all at one size
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

}  // namespace overflow_test
