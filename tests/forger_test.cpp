// Forgers of certificates. What a check accepts must be true, whoever made the certificate: so these
// make certificates of claims that are known to be false, and each must be refused.
//
//   known      forgeries that earlier versions accepted, made again in today's format
//   requests   genuine refutations, with lemmas and proofs, of formulas that leave schedules out
//   manifests  true certificates in which fields were changed, and all that follows from them mended
//
// TWILL_FORGERIES=N makes the last two try that many loops (.ci/long), TWILL_FORGERY_SEED begins
// elsewhere.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/claims.hpp"
#include "engine/certificate/formula_text.hpp"
#include "engine/certificate/manifest.hpp"
#include "engine/certificate/proof_files.hpp"
#include "engine/certificate/regenerate.hpp"
#include "engine/include/twill.hpp"
#include "engine/order/question.hpp"
#include "engine/search.hpp"
#include "graph/automorphism.hpp"
#include "graph/file.hpp"
#include "graph/restriction.hpp"
#include "graph/ring_depth.hpp"
#include "graph/sha256.hpp"
#include "graph/stage_bound.hpp"
#include "tests/support/forgery.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace twill;
using namespace twill::test;
namespace fs = std::filesystem;

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What a solution of solve() has beside its schedule.
Solution said_of(const Problem& problem, Status status, std::optional<Schedule> schedule) {
  Solution s;
  s.problem = problem.name;
  s.status = status;
  s.stages = "complete";
  s.engine = "order";
  if (schedule) {
    s.max_stages = stage_bound(problem, schedule->initiation_interval);
    s.ring_depths = ring_depths(problem, *schedule);
  }
  s.schedule = std::move(schedule);
  return s;
}

/// A refutation that a forger writes by hand.
struct Forged {
  Refutation refutation;
  std::string lemmas = {};  ///< the file
  std::string proof = {};
};

/// Writes a certificate as if all in it were right: formulas that match their requests (where these
/// can be made), the claims that the check will derive, hashes. Returns the check's verdict.
std::string forge(const std::string& directory, const Problem& problem, Solution solution,
                  const std::vector<Forged>& forged) {
  fs::create_directories(directory + "/proofs");
  Manifest manifest;
  const auto write = [&](const std::string& name, const std::string& bytes, bool listed = true) {
    write_file(directory + "/" + name, bytes);
    if (listed) manifest.files.emplace_back(name, sha256(bytes));
  };
  write("problem.json", problem_text(problem));
  solution.problem_sha256 = manifest.files.back().second;
  write("schedule.json", schedule_text(problem, solution));
  for (const Forged& f : forged) manifest.refutations.push_back(f.refutation);
  manifest.names = refutation_names(manifest.refutations);
  try {  // what cannot be read is made into no formula
    parse_manifest(problem, manifest_text(problem, manifest), "manifest.json");
  } catch (const InputError& error) {
    return error.what();
  }
  for (std::size_t i = 0; i < forged.size(); ++i) {
    const std::string base = "proofs/" + manifest.names[i];
    MemoryCnf lemmas;
    for (const std::string_view line : lines_of(forged[i].lemmas))
      if (const auto lemma = parse_lemma(line)) lemmas.add_clause(lemma->literals);
    FormulaLimit limit;
    limit.clauses = limit.variables = 100'000;
    try {
      const EncodedFormula formula = regenerate(problem, forged[i].refutation, limit);
      write(base + ".cnf", all_text([&](TextWriter& t) { write_formula(t, formula, lemmas); }),
            false);
    } catch (const FormulaTooLarge&) {
      write(base + ".cnf", "p cnf 2000000000 2000000000\n", false);
    }
    write(base + ".drat", forged[i].proof);
    if (forged[i].refutation.by_order()) write(base + ".lemmas", forged[i].lemmas);
  }
  manifest.claims = claims_of(problem, solution, manifest.refutations, manifest.names).claims;
  write_file(directory + "/manifest.json", manifest_text(problem, manifest));
  return verdict(directory);
}

void contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
}

Op named(const std::string& id, Cycle cycles) {
  Op op;
  op.id = id;
  op.cycles = cycles;
  return op;
}

/// One op of two cycles that waits for itself of two iterations before: I = 2 is the optimum.
Problem self_loop() {
  Problem p;
  p.name = "self";
  p.warps = {{.name = "w0", .width = 1, .registers = 8}};
  p.ops = {named("a", 2)};
  p.edges = {{.from = 0, .to = 0, .delay = 4, .distance = 2}};
  return p;
}

Schedule at_zero(const Problem& problem, Cycle ii) {
  Schedule s{ii, 0, std::vector<Cycle>(problem.ops.size(), 0),
             std::vector<int>(problem.ops.size(), 0)};
  s.length = schedule_length(problem, s.start);
  return s;
}

Refutation refutation_at(Cycle ii, OrderRequest request) {
  Refutation r;
  r.ii = ii;
  r.encoding = encoding_text(EncodingChoice{});
  r.request = std::move(request);
  return r;
}

}  // namespace

TEST_CASE("known: a formula for a range that begins below a recurrence") {
  const Problem problem = self_loop();
  Solution liar = said_of(problem, Status::optimal, at_zero(problem, 1000));
  liar.ii_lower_bound = 1000;
  liar.length_lower_bound = liar.schedule->length;
  OrderRequest request;
  request.ii_low = 1;
  request.ii_high = 999;
  const TemporaryDirectory directory;
  contains(forge(directory / "c", problem, liar, {{refutation_at(999, request)}}),
           "not proved: no schedule has I < 1000");
  // At one I the formula is exact, and has models.
  request.ii_low = 999;
  contains(forge(directory / "d", problem, liar, {{refutation_at(999, request)}}),
           "the proof ends without a refutation");
  liar.schedule = at_zero(problem, 2);
  liar.ii_lower_bound = 2;
  CHECK(forge(directory / "e", problem, liar, {}) == "accepted");
}

TEST_CASE("known: lifetimes of ops that may be in any stage") {
  Problem p;
  p.name = "lifetime";
  p.units = {{"u", 1}};
  p.warps = {{.name = "w0", .width = 1, .registers = 8}};
  p.ops = {named("a", 1), named("b", 1), named("c", 10)};
  p.ops[0].registers = 1;
  p.ops[2].reservations = {{0, 0, 10, 1}};
  p.edges = {{.from = 0, .to = 1, .delay = 1}};
  Schedule late = at_zero(p, 10);
  late.start = {0, 9, 0};
  Solution liar = said_of(p, Status::optimal, late);
  liar.schedule->length = schedule_length(p, late.start);
  liar.ii_lower_bound = liar.length_lower_bound = 10;
  liar.goals = {{"lifetime", 9, 9}};
  OrderRequest request;
  request.ii_low = request.ii_high = 10;
  request.deadline = true;
  Refutation r = refutation_at(10, request);
  r.deadline = 10;
  r.limits = {{"lifetime", 8}};
  const TemporaryDirectory directory;
  contains(forge(directory / "c", p, liar, {{r, "0 L d0*1000000 f0*1000000 f3*1000000\n"}}),
           "not proved: at I = 10 and L = 10, lifetime is not below 9");
}

TEST_CASE("known: what is larger than memory is refused before it is made") {
  const Problem problem = self_loop();
  Solution liar = said_of(problem, Status::feasible, at_zero(problem, 1000));
  liar.ii_lower_bound = 1000;
  const TemporaryDirectory directory;
  int number = 0;
  const auto said = [&](const std::function<void(Refutation&, OrderRequest&)>& change) {
    OrderRequest request;
    request.ii_low = request.ii_high = 999;
    Refutation r = refutation_at(999, request);
    change(r, std::get<OrderRequest>(r.request));
    return forge(directory / std::to_string(++number), problem, liar, {{r}});
  };
  for (const Cycle stages : {Cycle{1'000'000}, kMaxStart})
    contains(said([&](Refutation&, OrderRequest& o) { o.stages = stages; }), "not proved");
  contains(said([](Refutation&, OrderRequest& o) { o.stages = kMaxStart + 1; }), "/stages");
  contains(said([](Refutation&, OrderRequest& o) { o.pinned = 1; }), "/pinned");
  contains(said([](Refutation&, OrderRequest& o) { o.share = 0; }), "/share");
  contains(said([](Refutation&, OrderRequest& o) { o.exchange = {0, 0}; }), "not proved");
  contains(said([](Refutation&, OrderRequest& o) { o.exchange = {1}; }), "/exchange/0");
  contains(said([](Refutation& r, OrderRequest&) { r.ii = 0; }), "/initiation_interval");
  contains(said([](Refutation& r, OrderRequest&) { r.encoding = "form=straight-line"; }), "not proved");
  // The time-indexed form has tables of I entries.
  ModuloRequest modulo;
  modulo.ii = kMaxCycles;
  modulo.stages = 1;
  Refutation r;
  r.ii = modulo.ii;
  r.encoding = encoding_text(EncodingChoice{});
  r.request = modulo;
  liar = said_of(problem, Status::feasible, at_zero(problem, kMaxCycles + 1));
  liar.ii_lower_bound = kMaxCycles + 1;
  contains(forge(directory / "modulo", problem, liar, {{r}}), "smaller than the formula");
}

TEST_CASE("known: a folder that is not one of files, and files that nobody listed") {
  const Problem problem = self_loop();
  Solution solution = said_of(problem, Status::optimal, at_zero(problem, 2));
  solution.ii_lower_bound = 2;
  solution.length_lower_bound = 2;
  const TemporaryDirectory directory;
  for (const std::string name : {"manifest.json", "problem.json", "schedule.json"}) {
    CAPTURE(name);
    const std::string copy = directory / name;
    REQUIRE(forge(copy, problem, solution, {}) == "accepted");
    fs::remove(copy + "/" + name);
    REQUIRE(::mkfifo((copy + "/" + name).c_str(), 0600) == 0);
    contains(verdict(copy), name + ": is not a regular file");
    fs::remove(copy + "/" + name);
    fs::create_directory(copy + "/" + name);
    contains(verdict(copy), name + ": is not a regular file");
  }
  const std::string copy = directory / "unlisted";
  REQUIRE(forge(copy, problem, solution, {}) == "accepted");
  const std::string path = copy + "/manifest.json";
  Manifest manifest = parse_manifest(problem, read_file(path), path);
  std::erase_if(manifest.files, [](const auto& file) { return file.first == "schedule.json"; });
  write_file(path, manifest_text(problem, manifest));
  contains(verdict(copy), "lists no schedule.json");
}

TEST_CASE("known: a schedule file that says more than the schedule") {
  Problem problem = self_loop();
  problem.warps.push_back({.name = "load", .width = 1, .variable_latency = true});
  problem.ops.push_back(named("ld", 0));
  problem.ops[1].variable_latency = problem.ops[1].streaming = true;
  problem.edges.push_back({.from = 1, .to = 0});
  Schedule schedule = at_zero(problem, 2);
  schedule.warp[1] = 1;
  Solution honest = said_of(problem, Status::optimal, schedule);
  honest.ii_lower_bound = honest.length_lower_bound = 2;
  const TemporaryDirectory directory;
  int number = 0;
  const auto said = [&](const std::function<void(Solution&)>& change) {
    Solution liar = honest;
    change(liar);
    return forge(directory / std::to_string(++number), problem, liar, {});
  };
  REQUIRE(said([](Solution&) {}) == "accepted");
  contains(said([](Solution& s) { s.ring_depths["ld"] = 7; }), "ring depths");
  contains(said([](Solution& s) { s.ring_depths.clear(); }), "ring depths");
  contains(said([](Solution& s) { s.max_stages = 1'000'000; }), "max_stages");
  contains(said([](Solution& s) { s.max_stages = 0; }), "max_stages");
  contains(said([](Solution& s) { s.problem = "another"; }), "it names the problem");
  contains(said([](Solution& s) { s.engine = "oracle"; }), "no engine is called");
  contains(said([](Solution& s) { s.ii_lower_bound = 3; }), "better than its lower bound");
  contains(said([](Solution& s) { s.length_lower_bound = 3; }), "better than its lower bound");
  contains(said([](Solution& s) { s.status = Status::infeasible, s.schedule.reset(); }),
           "ring depths or goals, and no schedule");
  contains(said([](Solution& s) {
             s.status = Status::infeasible;
             s.schedule.reset();
             s.ring_depths.clear();
           }),
           "not proved: no schedule exists at any I");
  // What was searched is said, and nothing else is.
  contains(said([](Solution& s) { s.stages = "1", s.max_stages = 1; }), "searched only");
  contains(said([](Solution& s) { s.options.emplace_back("ii", "2"); }), "searched only");
  contains(said([](Solution& s) { s.options.emplace_back("handover", "no"); }), "searched only");
  contains(said([](Solution& s) { s.options.emplace_back("pin a", "w0"); }), "searched only");
  contains(said([](Solution& s) { s.options.emplace_back(kRestrictionOption, "of my choice"); }),
           "searched only");
  const auto restricted = [&](const std::string& name, const std::string& value) {
    return said([&](Solution& s) {
      s.options.emplace_back(name, value);
      s.options.emplace_back(kRestrictionOption, restriction_of(s));
    });
  };
  CHECK(restricted("ii", "2") == "accepted");
  contains(restricted("ii", "3"), "its I is 2");
  contains(restricted("pin ld", "w0"), "ld is on another slot");
  contains(restricted("pin x", "w0"), "option pin x");
}

// --- genuine refutations of forged requests ---

namespace {

/// A loop, what is true of it, and a searcher that asks what it is told to.
struct Bench {
  Problem problem;
  EncodingChoice choice;
  Budget budget{{}, 0, 20'000, 0};
  ProgressCallback silent;
  Reporter report{silent, budget};
  Evidence evidence{std::nullopt};

  explicit Bench(Problem p) : problem(std::move(p)) {}
  Search search() {
    Search search{problem, choice, 0, budget, report, order_engine()};
    search.evidence = &evidence;
    return search;
  }
};

OrderRequest forged_request(const Problem& problem, Cycle ii, Random& random) {
  OrderRequest o;
  o.ii_low = o.ii_high = ii;
  const auto some = [&](int percent) { return random.percent(percent); };
  if (some(40)) o.ii_low = random.range(1, ii);
  if (some(30)) o.ii_high = ii + random.range(0, 5);
  if (some(50)) o.stages = random.range(0, 6);
  if (some(40)) o.pinned = static_cast<int>(random.range(0, std::ssize(problem.ops) - 1));
  if (some(30)) o.share = random.range(1, 20);
  o.at_once = some(50);
  o.handover = !some(20);
  if (some(25)) {
    const int v = static_cast<int>(random.range(0, std::ssize(problem.ops) - 1));
    const int w = static_cast<int>(random.range(0, std::ssize(problem.warps) - 1));
    if (slot_allowed(problem, v, w)) o.pins.emplace_back(v, w);
  }
  if (some(30)) {
    o.exchange = exchangeable_ops(problem);
    if (o.exchange.empty() || some(40)) {  // two ops that differ
      o.exchange.resize(problem.ops.size());
      for (std::size_t v = 0; v < o.exchange.size(); ++v) o.exchange[v] = static_cast<int>(v);
      std::swap(o.exchange.front(), o.exchange.back());
    }
  }
  return o;
}

}  // namespace

TEST_CASE("requests: a refutation of a formula that leaves schedules out proves nothing") {
  const std::uint64_t loops = number_from("TWILL_FORGERIES", 600);
  const std::uint64_t first = number_from("TWILL_FORGERY_SEED", 1);
  int refuted = 0, honest = 0;
  for (std::uint64_t seed = first; seed < first + loops; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    LoopKnobs knobs;
    knobs.multi_segment = random.percent(20);
    Bench bench(random.percent(25)   ? beside_itself(random_loop(seed, knobs))
                : random.percent(25) ? ring_loop(seed, knobs)
                                     : random_loop(seed, knobs));
    const Problem& problem = bench.problem;
    const Solution best = solve(problem);
    if (!best.schedule) continue;
    // At an I that has a schedule, or at one that has none.
    const Cycle ii = std::max<Cycle>(
        1, best.schedule->initiation_interval + random.range(-1, 2));
    const bool exists = [&] {
      Options only;
      only.ii = ii;
      return solve(problem, only).schedule.has_value();
    }();
    Options above;
    above.ii = ii + 1;
    const Solution next = solve(problem, above);
    if (!next.schedule) continue;
    Search search = bench.search();
    OrderRequest request = forged_request(problem, ii, random);
    const bool short_ones = random.percent(30);
    Cycle deadline = 0;
    if (short_ones) {
      request.deadline = true;
      deadline = best.schedule->length + random.range(-1, 4);
      if (random.percent(30)) request.stages = deadline / ii + 1;
    }
    try {
      order::Question question(search, request);
      if (question.ask(ii, deadline).verdict != SatSolver::Answer::unsat) continue;
    } catch (const std::exception&) {
      continue;  // a model that verify() refuses: the formula was another one's
    } catch (const Budget::Spent&) {
      continue;
    }
    ++refuted;
    Solution liar = said_of(problem, Status::feasible, next.schedule);
    bool truth = !exists;
    if (short_ones) {
      Options only;
      only.ii = ii;
      const Solution at = solve(problem, only);
      if (!at.schedule) continue;
      liar = said_of(problem, Status::feasible, at.schedule);
      liar.ii_lower_bound = 1;
      liar.length_lower_bound = deadline + 1;
      truth = at.schedule->length > deadline;
      if (!truth) {  // a longer one, to have something to lie about
        liar.schedule->length = std::max(liar.schedule->length, deadline + 1);
        int last = 0;
        for (std::size_t v = 0; v < problem.ops.size(); ++v)
          if (std::none_of(problem.edges.begin(), problem.edges.end(),
                           [&](const Edge& e) { return e.from == static_cast<int>(v); }))
            last = static_cast<int>(v) + 1;
        if (last == 0) continue;
        Cycle& start = liar.schedule->start[static_cast<std::size_t>(last - 1)];
        while (schedule_length(problem, liar.schedule->start) <= deadline) start += ii;
        liar.schedule->length = schedule_length(problem, liar.schedule->start);
        liar.max_stages = std::max(liar.max_stages, stage_count(*liar.schedule));
        liar.ring_depths = ring_depths(problem, *liar.schedule);
        if (verify(problem, *liar.schedule)) continue;
      }
    } else {
      liar.ii_lower_bound = ii + 1;
    }
    liar.evidence = std::make_shared<Evidence>(bench.evidence);
    const TemporaryDirectory directory;
    try {
      write_certificate(directory / "c", problem, liar);
    } catch (const InputError&) {
      continue;  // it does not even claim it
    }
    const std::string said = verdict(directory / "c");
    CAPTURE(said);
    if (truth)
      honest += said == "accepted" ? 1 : 0;
    else
      CHECK(said != "accepted");
  }
  MESSAGE("refutations of forged requests: ", refuted, ", true claims accepted: ", honest);
  CHECK(refuted > static_cast<int>(loops / 10));
  CHECK(honest > static_cast<int>(loops / 60));
}
