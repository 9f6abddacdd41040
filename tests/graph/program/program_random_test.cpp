// Random loops all the way: solved, placed, derived, judged, and executed with numbers, in several
// orders, beside the same loop in double precision.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/include/twill_program.hpp"
#include "graph/meaning/unroll.hpp"
#include "graph/program/links.hpp"
#include "graph/unroll.hpp"
#include "tests/support/loop_meaning.hpp"
#include "tests/support/number_from.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace program_random_test {

using namespace twill;
using program::Program;

namespace {

/// Copies of 16 bytes and more, so that what lies there has room.
void widen(Problem& p) {
  for (Memory& memory : p.memories) memory.capacity *= 16;
  for (Op& op : p.ops)
    for (Footprint& f : op.footprints) f.amount *= 16;
}

Problem loop_of(std::uint64_t seed) {
  Problem p = seed % 4 == 0   ? test::ring_loop(seed)
              : seed % 4 == 1 ? test::scarce_loop(seed)
                              : test::random_loop(seed);
  if (seed % 4 != 1) widen(p);
  // (Products add in place; what is computed here is none.)
  for (Op& op : p.ops)
    if (op.kind == "gemm") op.kind.clear();
  return p;
}

/// "" or what is wrong with n iterations in this order.
std::string wrong(const Program& program, int n, const program::Course& course,
                  std::uint64_t seed) {
  const auto inputs = meaning::seeded_inputs(*program.meaning, n, seed);
  const auto run = program::execute(program, n, inputs, course);
  if (!run.fault.empty()) return run.fault + ": " + run.text;
  const auto right = meaning::reference(*program.meaning, n, inputs);
  return meaning::all_right(meaning::compare_with(*program.meaning, right, run.outputs))
             ? ""
             : "a wrong number";
}

}  // namespace

TEST_CASE("random loops, from the problem to numbers") {
  const auto from = test::number_from("TWILL_PROGRAM_FROM", 0);
  const auto loops = test::number_from("TWILL_PROGRAM_LOOPS", 1'500 / test::kShare);
  std::map<std::string, std::int64_t> counts;
  std::int64_t runs = 0, mutants = 0, shown = 0;
  for (std::uint64_t seed = from; seed < from + loops; ++seed) {
    CAPTURE(seed);
    // Some with two iterations in one.
    const int copies = seed % 6 == 5 ? 2 : 1;
    const Problem loop = loop_of(seed), problem = unrolled(loop, copies);
    Options search;
    if (copies > 1) search.conflict_limit = 1'000;
    const Solution found = solve(problem, search);
    if (!found.schedule) {
      ++counts["no schedule"];
      continue;
    }
    program::DeriveOptions how;
    how.merge = seed % 5 == 0;
    if (seed % 7 == 0) how.turns = program::Turns::all;
    const ProgramSolution made = solve_program(problem, found, search, {}, how);
    if (const auto* refusal = std::get_if<program::Refusal>(&made.program)) {
      ++counts["refused: " + refusal->rule];
      continue;
    }
    Program program = std::get<Program>(made.program);
    const auto fault = program::judge(program);
    if (fault) FAIL_CHECK(fault->rule << ": " << fault->text);
    const auto other = program::compare(program, problem, *made.solution.schedule);
    if (other) FAIL_CHECK(other->rule << ": " << other->text);
    program.meaning = meaning::unrolled(test::loop_meaning(loop), copies);
    program::Links links;
    if (const auto no = program::link(program, links)) {
      FAIL_CHECK(*no);
      continue;
    }
    ++counts[made.again ? "executed, placed at second try" : "executed"];
    if (copies > 1) ++counts["executed, two iterations in one"];
    using enum program::Pace;
    const std::uint64_t other_seed = seed ^ 0x5851F42D4C957F2D;
    const program::Course courses[] = {
        {late, seed, {}}, {eager, seed, {}}, {random, seed, {}}, {random, other_seed, {}}};
    for (const int n : {0, 1, 2, 5})
      for (const program::Course& course : courses) {
        ++runs;
        const std::string what = wrong(program, n, course, seed);
        if (!what.empty()) FAIL_CHECK("n = " << n << ": " << what);
      }
    // One wait less: the judge refuses it. Some of these orders show it, too. (Without a turn
    // nothing is wrong, only late.)
    std::vector<std::ptrdiff_t> needed;
    for (std::size_t k = 0; k < program.waits.size(); ++k)
      if (program.waits[k].need != program::Need::turn)
        needed.push_back(static_cast<std::ptrdiff_t>(k));
    if (needed.empty()) continue;
    Program less = program;
    less.waits.erase(less.waits.begin() + needed[seed % needed.size()]);
    ++mutants;
    if (!program::judge(less)) FAIL_CHECK("one wait less is accepted");
    const bool seen = std::any_of(std::begin(courses), std::end(courses), [&](const auto& course) {
      return !wrong(less, 5, course, seed).empty();
    });
    shown += seen ? 1 : 0;
  }
  for (const auto& [what, count] : counts) MESSAGE(what << " " << count);
  MESSAGE(runs << " runs; " << mutants << " with one wait less refused, " << shown
               << " of them shown wrong");
  CHECK(counts["executed"] > static_cast<std::int64_t>(loops) / 3);
  CHECK(shown > mutants / 3);
}

}  // namespace program_random_test
