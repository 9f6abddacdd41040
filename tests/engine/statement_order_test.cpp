// Statements of slots in another order: what is moved, and that it computes and takes the same.
#include "engine/statement_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/index.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/program/execute.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/time.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace statement_order_test {

using namespace twill;
using program::Program;

const MadeProgram& made_of(const std::string& kernel) {
  static std::map<std::string, MadeProgram> all;
  if (const auto one = all.find(kernel); one != all.end()) return one->second;
  ProgramOptions options;
  options.search.conflict_limit = 2'000;
  const ProgramResult result = best_program(program_source(kernel, "hopper"), options);
  REQUIRE(result.made);
  return all.emplace(kernel, *result.made).first->second;
}

bool by_threads(const program::Op& op) {
  return op.ending == program::Ending::at_once && op.queue.empty() && !op.async_proxy;
}

/// Of each slot: ops that others execute, in order, and between two of them the names of the rest.
std::vector<std::multiset<std::string>> between(const Program& p) {
  std::vector<std::multiset<std::string>> all(1);
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    if (v > 0 && p.ops[v].slot != p.ops[v - 1].slot) all.emplace_back();
    if (!by_threads(p.ops[v])) all.insert(all.end(), {{p.ops[v].id}, {}});
    if (by_threads(p.ops[v])) all.back().insert(p.ops[v].id);
  }
  return all;
}

/// Pairs of a slot whose order is not that of `rank`: so many "registers" are lacking.
emit::RegisterLack out_of_order(const Program& p, const std::map<std::string, int>& rank) {
  emit::RegisterLack lack;
  for (int k = 0; k < static_cast<int>(p.slots.size()); ++k) lack.slots.push_back(k);
  for (std::size_t a = 0; a < p.ops.size(); ++a)
    for (std::size_t b = a + 1; b < p.ops.size(); ++b)
      if (p.ops[a].slot == p.ops[b].slot && rank.at(p.ops[a].id) > rank.at(p.ops[b].id))
        ++lack.registers;
  return lack;
}

Cycle total(const MadeProgram& made, const Program& p) {
  const program::Clock clock(p, made.problem, *made.solution.schedule, 24,
                             program::UnitOrder::arrival);
  return clock.run(made.barriers.value_or(BarrierCosts{})).total;
}

TEST_CASE(
    "ops of a slot's threads are moved, the rest stays: judged, no slower, the same numbers") {
  int moved = 0;
  for (const char* kernel : {"hopper-fwd-plain", "hopper-bwd", "hopper-retnet", "gemm"}) {
    const MadeProgram& made = made_of(kernel);
    const int n = 3;
    const auto inputs = meaning::seeded_inputs(*made.program.meaning, n, 5);
    const auto right = meaning::reference(*made.program.meaning, n, inputs);
    for (std::uint64_t seed = 1; seed <= (test::kSanitized ? 3 : 12); ++seed) {
      CAPTURE(kernel);
      CAPTURE(seed);
      test::Random random(seed);
      std::map<std::string, int> rank;
      for (const program::Op& op : made.program.ops) rank[op.id] = test::pick(random, 0, 999);
      const auto order = ordered_for_registers(
          made, [&](const Program& p) { return std::optional(out_of_order(p, rank)); });
      if (!order) continue;
      ++moved;
      CHECK(!order->moves.empty());
      CHECK(order->lack.registers < out_of_order(made.program, rank).registers);
      CHECK(order->lack.registers == out_of_order(order->program, rank).registers);
      CHECK(!program::judge(order->program));
      CHECK(between(order->program) == between(made.program));
      CHECK(total(made, order->program) <= total(made, made.program));
      if (seed > 2) continue;
      const auto run = program::execute(order->program, n, inputs, {program::Pace::late, 0, {}});
      CHECK(run.fault == "");
      CHECK(meaning::all_right(meaning::compare_with(*made.program.meaning, right, run.outputs)));
    }
  }
  CHECK(moved > (test::kSanitized ? 3 : 15));
}

TEST_CASE("nothing is moved where no order lacks fewer, or of slots that lack none") {
  const MadeProgram& made = made_of("hopper-fwd-plain");
  const emit::RegisterLack same{100, {0, 1, 2}, 5'000};
  CHECK(!ordered_for_registers(made, [&](const Program&) { return std::optional(same); }));
  CHECK(!ordered_for_registers(
      made, [](const Program&) -> std::optional<emit::RegisterLack> { return std::nullopt; }));
  std::map<std::string, int> rank;
  int next = 0;
  for (const program::Op& op : made.program.ops) rank[op.id] = --next;
  CHECK(!ordered_for_registers(made, [&](const Program& p) {
    emit::RegisterLack lack = out_of_order(p, rank);
    lack.slots.clear();
    return std::optional(lack);
  }));
}

TEST_CASE("what is held elsewhere counts where it is a tile's") {
  const MadeProgram& made = made_of("hopper-fwd-plain");
  for (const Amount tile : {31, 32}) {
    const auto order = ordered_for_registers(made, [&](const Program& p) {
      return std::optional(
          emit::RegisterLack{10, {0, 1, 2}, p.ops == made.program.ops ? tile : Amount{0}});
    });
    CHECK(order.has_value() == (tile >= 32));
  }
}

}  // namespace statement_order_test
