// What a search keeps for certificates: the formula as the order engine had it is the one that is
// made again from the problem, and the steps noted with each lemma are its cycle.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/formula_text.hpp"
#include "engine/certificate/lemma_cycles.hpp"
#include "engine/certificate/proof_files.hpp"
#include "engine/certificate/regenerate.hpp"
#include "engine/include/twill.hpp"
#include "engine/order/incremental_solver.hpp"
#include "engine/order/searcher.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/io/sha256.hpp"
#include "graph/problem_io.hpp"
#include "tests/support/forgery.hpp"
#include "tests/support/lowering.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/random_pool.hpp"
#include "tests/support/temporary_directory.hpp"

namespace evidence_test {

using namespace twill;
using namespace twill::test;

namespace {

/// Everything of a formula, as text.
std::string whole(const EncodedFormula& formula, const MemoryCnf& lemmas) {
  std::string all = all_text([&](TextWriter& text) {
    write_formula(text, formula, lemmas);
    MemoryCnf atoms;  // as if lemmas had all of them
    for (const DifferenceAtom& atom : formula.atoms) atoms.add_clause({&atom.variable, 1});
    write_formula(text, formula, atoms);
  });
  for (const std::string& node : formula.nodes) all += node + "\n";
  return all;
}

/// What was found among refutations.
struct Met {
  int intervals = 0, lengths = 0, goals = 0, serial = 0, alone = 0, lifetimes = 0, refined = 0;
  int cycles = 0, others = 0;  ///< lemmas, by whether the cycle written is that of the steps noted
  int sums = 0;                ///< steps that are
};

/// The steps of a cycle as text that are no facts.
std::string without_facts(std::string_view cycle) {
  std::istringstream text{std::string(cycle)};
  std::string steps;
  for (std::string step; text >> step;)
    if (step[0] != 'f') steps += step + " ";
  return steps;
}

void check_steps(const EncodedFormula& formula, const Refutation& r, Met& met) {
  const DifferenceRows rows(static_cast<int>(formula.nodes.size()), formula.facts, formula.atoms,
                            formula.sums, r.ii, std::max<Cycle>(r.deadline, 0));
  const std::string text =
      all_text([&](TextWriter& writer) { write_lemmas(writer, *r.lemmas, rows); });
  const std::vector<std::string_view> lines = lines_of(text);
  REQUIRE(lines.size() == r.lemmas->clauses.clauses());
  REQUIRE(lines.size() == r.lemmas->steps.lemmas());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = parse_lemma(lines[i]);
    REQUIRE(line);
    const auto clause = r.lemmas->clauses.clause(i);
    CHECK(std::equal(clause.begin(), clause.end(), line->literals.begin(), line->literals.end()));
    if (r.lemmas->reasons.contains(i)) {
      CHECK(r.lemmas->reasons.at(i) == line->cycle);
      CHECK(r.lemmas->steps.of(i).empty());
      continue;
    }
    CHECK(cycle_fault(rows, line->literals, line->cycle) == "");
    std::string steps;
    for (const LemmaStep& step : r.lemmas->steps.of(i)) {
      met.sums += step.literal == 0 ? 1 : 0;
      if (step.literal == 0)
        steps += "s" + std::to_string(step.sum) + " ";
      else
        steps += (step.literal < 0 ? "a" : "n") + std::to_string(std::abs(step.literal)) + " ";
    }
    ++(without_facts(line->cycle) == steps ? met.cycles : met.others);
  }
}

/// That every formula kept is the one made again, and its lemmas' steps are cycles.
void check_evidence(const Problem& problem, const Evidence& evidence, Met& met) {
  for (const Refutation& r : evidence.refutations()) {
    if (!r.formula) continue;
    REQUIRE(r.by_order());
    REQUIRE(r.lemmas);
    const Problem about = problem_about(problem, r.about);
    const EncodedFormula again = regenerate(about, r);
    CHECK(whole(*r.formula, r.lemmas->clauses) == whole(again, r.lemmas->clauses));
    CHECK(r.formula->stages == again.stages);
    ++(r.about == About::serial  ? met.serial
       : r.about == About::alone ? met.alone
       : !r.limits.empty()       ? met.goals
       : r.deadline >= 0         ? met.lengths
                                 : met.intervals);
    met.lifetimes += again.stages.empty() ? 0 : 1;
    met.refined += r.refinements.empty() ? 0 : 1;
    check_steps(*r.formula, r, met);
  }
}

Solution with_evidence(const Problem& problem, Options options = {}) {
  if (options.engine == "auto") options.engine = "order";
  options.evidence = true;
  return solve(problem, options);
}

}  // namespace

TEST_CASE("what the order engine refuted is what is made again from the problem") {
  for (const std::string engine : {"order", "order-cadical"}) {
    if (engine != "order" && !has_cadical_searcher()) continue;
    CAPTURE(engine);
    Met met;
    for (std::uint64_t seed = 1; seed <= 250; ++seed) {
      CAPTURE(seed);
      LoopKnobs knobs;
      knobs.max_ops = seed % 2 == 0 ? 5 : 9;
      knobs.multi_segment = seed % 3 != 0;
      if (seed % 5 == 0)
        knobs.max_registers = 100;  // light values too, that only refinements count
      const Problem problem = random_loop(seed, knobs);
      Options options;
      options.engine = engine;
      if (seed % 4 == 0) options.goals = {"lifetime", "crossings"};
      if (seed % 4 == 1) options.goals = {"slots", "registers", "issuers"};
      check_evidence(problem, *with_evidence(problem, options).evidence, met);
    }
    CHECK(met.intervals > 20);
    CHECK(met.lengths > 20);
    CHECK(met.goals > 20);
    CHECK(met.serial > 2);
    CHECK(met.lifetimes > 10);
    CHECK(met.refined > 0);
    CHECK(met.cycles > 1000);
    CHECK(met.sums > 5);
    CHECK(met.others == 0);
  }
}

TEST_CASE("attention: formulas and steps of long searches") {
  Met met;
  for (const auto& [kernel, machine] :
       {std::pair("hopper-bwd", "hopper"), std::pair("blackwell-fwd-plain", "blackwell"),
        std::pair("hopper-fwd-sub2", "hopper"), std::pair("hopper-bwd-sub2", "hopper")}) {
    CAPTURE(kernel);
    for (const Lowered& lowered : lower_builtin(kernel, machine))
      check_evidence(lowered.problem, *with_evidence(lowered.problem).evidence, met);
  }
  CHECK(met.lengths > 3);
  CHECK(met.refined > 0);
  CHECK(met.sums > 100);
  CHECK(met.cycles > 1000);
  CHECK(met.others == 0);
}

TEST_CASE("a question that is refuted stays so, and has given its formula away once") {
  const Problem problem = lower_builtin("hopper-bwd", "hopper").front().problem;
  const Solution best = with_evidence(problem);
  REQUIRE(best.schedule);
  const Cycle ii = best.schedule->initiation_interval, length = best.schedule->length;
  for (const bool kept : {false, true}) {
    CAPTURE(kept);
    const EncodingChoice choice = parse_encoding(Options{}.encoding);
    Budget budget({}, 0, 0, 0);
    const ProgressCallback silent;
    Reporter report(silent, budget);
    Evidence evidence(monotone_from(problem));
    Search search{problem, choice, 0, budget, report, order_engine()};
    if (kept) search.evidence = &evidence;
    order::IncrementalSolver question(search, order::request_within(search, ii, length + 100));
    CHECK(question.ask(ii, length).schedule);
    for (Cycle deadline = length - 1; deadline > length - 4; --deadline)
      CHECK(question.ask(ii, deadline).verdict == Verdict::unsat);
    REQUIRE(evidence.refutations().size() == (kept ? 1 : 0));
    if (!kept) continue;
    CHECK(evidence.refutations()[0].deadline == length - 1);
    Met met;
    check_evidence(problem, evidence, met);
    CHECK(met.lengths == 1);
  }
}

TEST_CASE("only the latest formulas are kept; the others are made again for the certificate") {
  LoopKnobs knobs;
  knobs.min_ops = knobs.max_ops = 9;
  Options options;
  options.goals = {"canonical"};
  Problem problem;
  Solution solution;
  for (std::uint64_t seed = 1; !solution.schedule || solution.evidence->refutations().size() <= 10;
       ++seed)
    solution = with_evidence(problem = random_loop(seed, knobs), options);
  const std::vector<Refutation>& all = solution.evidence->refutations();
  CHECK(std::count_if(all.begin(), all.end(),
                      [](const Refutation& r) { return r.formula != nullptr; }) == 8);
  const TemporaryDirectory directory;
  write_certificate(directory / "some", problem, solution);
  CHECK(verdict(directory / "some") == "accepted");
  // The same files without any.
  Evidence evidence = *solution.evidence;
  evidence.drop_derived();
  Solution without = solution;
  without.evidence = std::make_shared<const Evidence>(evidence);
  write_certificate(directory / "none", problem, without);
  CHECK(read_file(directory / "some/manifest.json") == read_file(directory / "none/manifest.json"));
  CHECK(verdict(directory / "none") == "accepted");
}

TEST_CASE(
    "register splits keep lemmas and proofs of their corners, and formulas of the first few") {
  int refutations = 0, formulas = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    Problem problem = random_loop(seed);
    const RegisterPool pool = random_pool(problem, random);
    Options options;
    options.evidence = true;
    options.engine = "order";
    const SplitSolution split = solve_split(with_counts(problem, pool, most(pool)), pool, options);
    for (const Refutation& r : split.solution.evidence->refutations()) {
      ++refutations;
      ++(r.formula ? formulas : without);
      CHECK(r.lemmas != nullptr);
    }
    // The same certificate with and without.
    Evidence few = *split.solution.evidence;
    few.drop_derived();
    Solution bare = split.solution;
    bare.evidence = std::make_shared<const Evidence>(few);
    const TemporaryDirectory directory;
    if (split.solution.status == Status::unknown) continue;
    write_certificate(directory / "some", split.problem, split.solution);
    write_certificate(directory / "none", split.problem, bare);
    CHECK(read_file(directory / "some/manifest.json") ==
          read_file(directory / "none/manifest.json"));
    CHECK(verdict(directory / "none") == "accepted");
  }
  CHECK(refutations > 20);
  CHECK(formulas > 20);
  CHECK(without > 0);
}

TEST_CASE("what is known of a problem is used for that problem alone") {
  const Problem problem =
      read_problem(std::string(TWILL_TEST_DATA) + "/examples/undercount.problem.json");
  const Solution solution = with_evidence(problem);
  const KnownProblem* const known = solution.evidence->known(problem);
  REQUIRE(known != nullptr);
  REQUIRE(known->bound);
  CHECK(known->sha256 == sha256(problem_text(problem)));
  CHECK(known->text == problem_text(problem));
  const Bound bound = lower_bounds(problem).front();
  CHECK(known->bound->value == bound.value);
  CHECK(known->bound->name + known->bound->text == bound.name + bound.text);
  Problem other = problem;
  other.name += " of another name";
  CHECK(solution.evidence->known(other) == nullptr);
  const TemporaryDirectory directory;
  write_certificate(directory / "c", other, solution);
  CHECK(read_file(directory / "c/problem.json") == problem_text(other));
  CHECK(verdict(directory / "c") == "accepted");
}

TEST_CASE("texts and hashes are the same whatever the parts") {
  std::vector<std::int64_t> numbers = {0, std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
  for (const std::int64_t power : {1, 10, 100, 1000, 10'000, 100'000, 1'000'000'000})
    for (const std::int64_t n : {power - 1, power, power + 1}) {
      numbers.push_back(n);
      numbers.push_back(-n);
    }
  Random random(3);
  std::string expected;
  int parts = 0;
  std::string found;
  Sha256 hash;
  TextWriter text([&](std::string_view part) {
    ++parts;
    found += part;
    hash.add(part);
  });
  for (int i = 0; i < 40'000; ++i) {
    const auto which = static_cast<std::size_t>(random.range(0, 30'000));
    if (which < numbers.size() * 1000) {
      const std::int64_t n = numbers[which % numbers.size()];
      text.number(n);
      expected += std::to_string(n);
      const std::vector<int> two = {static_cast<int>(which) - 20'000, i};
      text.numbers(two);
      expected += std::to_string(two[0]) + " " + std::to_string(two[1]) + " ";
    }
    if (i % 7 == 0) {
      text.put(' ');
      expected += ' ';
    }
    if (i % 4001 == 0) {  // longer than any buffer
      const std::string longer(static_cast<std::size_t>(random.range(0, 100'000)), 'x');
      text.put(longer);
      expected += longer;
    }
    if (i % 997 == 0) text.flush();  // now and then two of nothing
    if (i % 1994 == 0) text.flush();
  }
  text.flush();
  CHECK(parts > 40);
  CHECK(found == expected);
  CHECK(hash.hex() == sha256(expected));
}

}  // namespace evidence_test
