// A slot's code with the loop cut anywhere, at every trip count, against the program's own
// definition (program.hpp).
#include <doctest/doctest.h>

#include <vector>

#include "graph/emit/cut_code.hpp"
#include "graph/index.hpp"
#include "tests/support/random_loop.hpp"

namespace cut_code_test {

using namespace twill;
using emit::CutCode;
using emit::Iteration;
using emit::Step;
using test::pick;
using test::Random;

namespace {

struct Event {
  bool is_wait;
  int index, iteration;
  bool operator==(const Event&) const = default;
};

/// One slot with waits in both directions of time.
program::Program random_program(Random& random) {
  program::Program p;
  p.slots.resize(1);
  for (int k = pick(random, 1, 5); k > 0; --k) {
    program::Op op;
    op.stage = pick(random, 0, 3);
    p.ops.push_back(op);
  }
  p.events.push_back({0, {}, false, false, 1, 1, 0});
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
    for (int k = pick(random, 0, 2); k > 0; --k)
      p.waits.push_back({v, 0, pick(random, -2, 3), program::Need::raw, -1});
  return p;
}

/// Period by period; before an op its waits.
std::vector<Event> defined(const program::Program& p, int n) {
  std::vector<Event> all;
  for (int t = 0; t < n + program::stage_count(p) - 1; ++t)
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      const int i = t - p.ops[at(v)].stage;
      if (i < 0 || i >= n) continue;
      for (int w = 0; w < static_cast<int>(p.waits.size()); ++w) {
        const int j = i - p.waits[at(w)].offset;
        if (p.waits[at(w)].before == v && j >= 0 && j < n) all.push_back({true, w, j});
      }
      all.push_back({false, v, i});
    }
  return all;
}

void run(const std::vector<Step>& steps, int i, int n, std::vector<Event>& all) {
  for (const Step& step : steps) {
    int iteration = step.iteration.offset;
    if (step.iteration.from == Iteration::loop) iteration += i;
    if (step.iteration.from == Iteration::end) iteration += n;
    if (step.if_begun && iteration < 0) continue;
    if (step.if_exists && iteration >= n) continue;
    all.push_back({step.is_wait, step.index, iteration});
  }
}

std::vector<Event> emitted(const CutCode& cut, int n) {
  std::vector<Event> all;
  const emit::SlotCode& code = cut.code;
  if (code.guarded > 0) {
    for (int i = 0; i < n + code.guarded; ++i)
      for (const Step& step : code.steady)
        if (i >= step.lag && i < n + step.lag) run({step}, i, n, all);
    return all;
  }
  if (n < code.depth) {
    run(code.short_runs[at(n)], 0, n, all);
    return all;
  }
  run(code.prologue, 0, n, all);
  for (int i = 0; i < n - code.depth; ++i) run(code.steady, i, n, all);
  run(code.epilogue, 0, n, all);
  return all;
}

}  // namespace

TEST_CASE("wherever the loop is cut, a slot's code is the program's at every trip count") {
  Random random(29);
  int cuts = 0, deeper = 0;
  for (int round = 0; round < 1500; ++round) {
    const program::Program p = random_program(random);
    const CutCode whole = emit::cut_code(p, 0, 0);
    for (int cut = 0; cut < static_cast<int>(whole.items.size()); ++cut) {
      const CutCode code = emit::cut_code(p, 0, cut);
      ++cuts;
      deeper += code.code.depth > whole.code.depth ? 1 : 0;
      for (int n = 0; n <= 9; ++n) REQUIRE(emitted(code, n) == defined(p, n));
      if (code.code.depth == 0) continue;
      CutCode guarded = code;
      emit::guard(guarded, p);
      REQUIRE(guarded.code.guarded == code.code.depth);
      for (int n = 0; n <= 9; ++n) REQUIRE(emitted(guarded, n) == defined(p, n));
    }
  }
  CHECK(cuts > 5000);
  CHECK(deeper > 1000);
}

TEST_CASE("lags and places of a cut loop") {
  program::Program p;
  p.slots.resize(1);
  p.ops.resize(3);
  p.ops[1].stage = 1;
  p.events.push_back({0, {}, true, false, 0, 0, 0});
  p.waits.push_back({2, 0, 0, program::Need::raw, 0});
  // Items 0, 1, wait, 2; cut between the wait and its op.
  const CutCode code = emit::cut_code(p, 0, 3);
  CHECK(code.position(2) == 0);
  CHECK(code.position(0) == 1);
  CHECK(code.lag(2) == 1);
  CHECK(code.lag(0) == 0);
  CHECK(code.lag(1) == 1);
  CHECK(code.items[3].is_wait);
  CHECK(code.items[3].lag == 0);
  CHECK(code.code.depth == 1);
}

TEST_CASE("what takes nothing and gives nothing makes the code no deeper") {
  program::Program p;
  p.slots.resize(1);
  p.storages.resize(2);
  p.ops.resize(3);
  p.ops[0].writes = {0};  // a mask, say, that is computed where it is used
  p.ops[1].stage = 70;
  p.ops[1].writes = {1};
  p.ops[2].stage = 71;
  p.ops[2].reads = {{1, 0}};
  CHECK(emit::cut_code(p, 0, 0).code.depth == 1);
  // Something reads it.
  program::Program read = p;
  read.ops[2].reads.push_back({0, 0});
  CHECK(emit::cut_code(read, 0, 0).code.depth == 71);
  // It waits for something, or is waited for.
  program::Program waits = p;
  waits.events.push_back({1, {}, true, false, 0, 0, 0});
  waits.waits.push_back({0, 0, 0, program::Need::raw, 0});
  CHECK(emit::cut_code(waits, 0, 0).code.depth == 71);
  program::Program told = p;
  told.events.push_back({0, {}, true, false, 0, 0, 0});
  CHECK(emit::cut_code(told, 0, 0).code.depth == 71);
  // It is in memory, which others may see.
  program::Program memory = p;
  memory.storages[0].kind = program::Storage::in_memory;
  CHECK(emit::cut_code(memory, 0, 0).code.depth == 71);
}

TEST_CASE("waits that stand earlier") {
  program::Program p;
  p.slots.resize(1);
  p.ops.resize(3);
  p.events.push_back({0, {}, true, false, 0, 0, 0});
  p.waits.push_back({2, 0, 0, program::Need::raw, 0});
  p.waits.push_back({1, 0, 1, program::Need::raw, 0});
  // Items 0, the second wait, 1, the first wait, 2.
  const CutCode before = emit::cut_code(p, 0, 0, false, {{0, 1}});
  CHECK(before.items.size() == 5);
  CHECK((before.items[2].is_wait && before.items[2].index == 0 && before.items[2].lag == 0));
  CHECK((!before.items[3].is_wait && before.items[3].index == 1));
  CHECK(before.code.depth == 0);
  // The one of the iteration before goes to the end of the period before: all else is a period
  // late.
  const CutCode end = emit::cut_code(p, 0, 0, false, {{1, -1}});
  CHECK((end.items.back().is_wait && end.items.back().index == 1 && end.items.back().lag == 0));
  CHECK(end.lag(0) == 1);
  CHECK(end.lag(2) == 1);
  CHECK(end.code.depth == 1);
  // In the loop it waits for the product that the loop has just issued.
  const emit::Step& last = end.code.steady.back();
  const emit::Step& first = end.code.steady.front();
  CHECK((last.is_wait && last.index == 1));
  CHECK((!first.is_wait && first.index == 0));
  CHECK(last.iteration.offset == first.iteration.offset);
}

}  // namespace cut_code_test
