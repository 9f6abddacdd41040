// The parts of emission that need no compiler: a slot's code at every trip count against the
// program's own definition (program.hpp), limits, names.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/emit/cut_code.hpp"
#include "graph/emit/limits.hpp"
#include "graph/emit/names.hpp"
#include "tests/support/random_loop.hpp"

namespace emit_test {

using namespace twill;
using emit::Iteration;
using emit::Launch;
using emit::SlotCode;
using emit::Step;
using test::pick;
using test::Random;

namespace {

struct Event {
  bool is_wait;
  int index, iteration;
  bool operator==(const Event&) const = default;
};

/// Ops of two slots with waits in both directions of time.
program::Program random_program(Random& random) {
  program::Program p;
  p.slots.resize(2);
  for (int slot = 0; slot < 2; ++slot)
    for (int k = pick(random, 1, 4); k > 0; --k) {
      program::Op op;
      op.slot = slot;
      op.stage = pick(random, 0, 4);
      p.ops.push_back(op);
    }
  p.events.push_back({0, {}, false, false, 1, 1, 0});
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
    for (int k = pick(random, 0, 2); k > 0; --k)
      p.waits.push_back({v, 0, pick(random, -2, 3), program::Need::raw, -1});
  return p;
}

/// As program.hpp says it: period by period, from 0 to n + stages - 2.
/// `before`: iterations of tiles before, which waits reach.
std::vector<Event> defined(const program::Program& p, int slot, int n, int before = 0) {
  std::vector<Event> all;
  for (int t = 0; t < n + program::stage_count(p) - 1; ++t)
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      const program::Op& op = p.ops[static_cast<std::size_t>(v)];
      const int i = t - op.stage;
      if (op.slot != slot || i < 0 || i >= n) continue;
      for (int w = 0; w < static_cast<int>(p.waits.size()); ++w) {
        const program::Wait& wait = p.waits[static_cast<std::size_t>(w)];
        const int j = i - wait.offset;
        if (wait.before == v && j >= -before && j < n) all.push_back({true, w, j});
      }
      all.push_back({false, v, i});
    }
  return all;
}

void run(const std::vector<Step>& steps, int i, int n, int before, std::vector<Event>& all) {
  for (const Step& step : steps) {
    int iteration = step.iteration.offset;
    if (step.iteration.from == Iteration::loop) iteration += i;
    if (step.iteration.from == Iteration::end) iteration += n;
    if (step.if_begun && before + iteration < 0) continue;
    if (step.if_exists && iteration >= n) continue;
    all.push_back({step.is_wait, step.index, iteration});
  }
}

std::vector<Event> emitted(const SlotCode& code, int n, int before = 0) {
  std::vector<Event> all;
  if (n < code.depth) {
    run(code.short_runs[static_cast<std::size_t>(n)], 0, n, before, all);
    return all;
  }
  run(code.prologue, 0, n, before, all);
  for (int i = 0; i < n - code.depth; ++i) run(code.steady, i, n, before, all);
  run(code.epilogue, 0, n, before, all);
  return all;
}

}  // namespace

TEST_CASE("a slot's code is the program's at every trip count") {
  Random random(28);
  int guarded = 0, shorter = 0;
  for (int round = 0; round < 3000; ++round) {
    const program::Program p = random_program(random);
    for (int slot = 0; slot < 2; ++slot) {
      const SlotCode code = emit::cut_code(p, slot, 0).code;
      for (const Step& step : code.steady) guarded += step.if_begun || step.if_exists ? 1 : 0;
      shorter += static_cast<int>(code.short_runs.size());
      for (int n = 0; n <= 12; ++n) REQUIRE(emitted(code, n) == defined(p, slot, n));
    }
  }
  CHECK(guarded > 1000);
  CHECK(shorter > 1000);
}

TEST_CASE("a slot's code in a loop over tiles waits for tiles before") {
  Random random(29);
  int reached = 0;
  for (int round = 0; round < 2000; ++round) {
    const program::Program p = random_program(random);
    for (int slot = 0; slot < 2; ++slot) {
      int items = 0;
      for (const program::Op& op : p.ops) items += op.slot == slot ? 1 : 0;
      const int cut = static_cast<int>(random.range(0, items - 1));
      const SlotCode code = emit::cut_code(p, slot, cut, true).code;
      for (const int before : {0, 1, 2, 7})
        for (int n = 0; n <= 9; ++n) {
          const auto right = defined(p, slot, n, before);
          REQUIRE(emitted(code, n, before) == right);
          reached += right != defined(p, slot, n) ? 1 : 0;
        }
    }
  }
  CHECK(reached > 1000);
}

TEST_CASE("places in a ring") {
  for (int depth = 1; depth <= 5; ++depth)
    for (int k = 0; k < 40; ++k) {
      CHECK(emit::ring_place(k, depth).copy == k % depth);
      CHECK(emit::ring_place(k, depth).parity == k / depth % 2);
    }
  CHECK(emit::ring_place(-1, 3).copy == 2);
  CHECK(emit::ring_place(-3, 3).copy == 0);
}

TEST_CASE("limits of a launch") {
  const auto broken = [](const Launch& launch) {
    const auto no = emit::check_limits(launch);
    return no ? no->text : std::string();
  };
  const auto with = [](emit::Partition first, std::vector<emit::Partition> workers) {
    Launch launch;
    launch.first = first;
    launch.workers = std::move(workers);
    return launch;
  };
  // As measured: 8 + 1 warps, the worker padded to a warpgroup, 24 for it and 240 for the default.
  const Launch good = with({8, 240}, {{1, 24}});
  CHECK(broken(good).empty());
  CHECK(emit::launch_facts(good).threads == 384);
  CHECK(emit::launch_facts(good).registers == 168);
  CHECK(emit::launch_facts(good).first_registers == 240);
  // Partitions of one warpgroup get the most that one of them asks for.
  const auto shared = emit::launch_facts(with({4, 24}, {{1, 24}, {1, 96}, {2, 40}, {4, 200}}));
  CHECK(shared.workers == std::vector<int>{96, 96, 96, 200});
  CHECK(broken(with({3, 24}, {})).find("power of two") != std::string::npos);
  CHECK(broken(with({2, 24}, {})).find("power of two of at least 4") != std::string::npos);
  CHECK(broken(with({4, 24}, {{3, 24}})).find("power of two") != std::string::npos);
  CHECK(broken(with({4, 24}, {{4, 16}})).find("24 to 240") != std::string::npos);
  CHECK(broken(with({4, 24}, {{4, 248}})).find("24 to 240") != std::string::npos);
  // Triton drops every setmaxnreg here, and accepts 1,152 threads.
  CHECK(broken(with({4, 24}, {{4, 200}, {4, 200}, {4, 200}})).find("setmaxnreg") !=
        std::string::npos);
  CHECK(broken(with({4, 24}, std::vector<emit::Partition>(8, {4, 24}))).find("1024") !=
        std::string::npos);
  CHECK(broken(with({8, 240}, {{4, 240}})).find("which needs 240") != std::string::npos);
  Launch memory = good;
  memory.shared_bytes = 232'448;
  CHECK(broken(memory).empty());
  ++memory.shared_bytes;
  CHECK(broken(memory).find("shared memory") != std::string::npos);
  Launch columns = good;
  for (const Amount count : {32, 64, 128, 256, 512}) {
    columns.tmem_columns = count;
    CHECK(broken(columns).empty());
  }
  for (const Amount count : {16, 48, 640, 1024}) {
    columns.tmem_columns = count;
    CHECK(broken(columns).find("tensor memory") != std::string::npos);
  }
  Launch barriers = good;
  barriers.barriers = 513;
  CHECK(broken(barriers).find("barriers") != std::string::npos);
}

TEST_CASE("names are made, text is made harmless") {
  emit::Names names({"gl", "n"});
  CHECK(names.make("qk", "value") == "qk");
  CHECK(names.make("qk", "value") == "value_0");
  CHECK(names.make("gl", "value") == "value_1");
  CHECK(names.make("def", "value") == "value_2");
  CHECK(names.make("a\nb", "value") == "value_3");
  CHECK(names.make("\xc3\xa9t\xc3\xa9", "value") == "value_4");
  CHECK(names.make("", "value") == "value_5");
  CHECK(names.make("_x", "value") == "value_6");
  CHECK(names.make("x", "value", {"_prev"}) == "x");
  CHECK(names.make("x_prev", "value") == "value_7");
  CHECK(names.make("y_prev", "value") == "y_prev");
  CHECK(names.make("y", "value", {"_prev"}) == "value_8");
  CHECK(emit::harmless("a\"\"\"\n\\b'#\x01\xff") == "a?????b????");
  CHECK(emit::harmless(std::string(500, 'x')).size() == 123);
  CHECK(emit::number_text(0.1) == "0.1");
  CHECK(emit::number_text(1) == "1.0");
  CHECK(emit::number_text(-1.0 / 0.0) == "float(\"-inf\")");
}

}  // namespace emit_test
