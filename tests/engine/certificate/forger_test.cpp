// Forgers of certificates. What a check accepts must be true, whoever made the certificate: so
// these make certificates of claims that are known to be false, and each must be refused.
//
//   known      forgeries that earlier versions accepted, made again in today's format
//   requests   genuine refutations, with lemmas and proofs, of formulas that leave schedules out
//   manifests  true certificates in which fields were changed, and all that follows from them
//   mended
//
// TWILL_FORGERIES=N makes the last two try that many loops (.ci/long), TWILL_FORGERY_SEED begins
// elsewhere.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
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
#include "graph/bounds/automorphism.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/io/file.hpp"
#include "graph/io/sha256.hpp"
#include "graph/restriction.hpp"
#include "graph/ring_depth.hpp"
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
  std::string refinements = {};  ///< the file; "" = none
};

/// Writes a certificate as if all in it were right: formulas that match their requests (where these
/// can be made), the claims that the check will derive, hashes. Returns the check's verdict.
std::string forge(const std::string& directory, const Problem& problem, Solution solution,
                  const std::vector<Forged>& forged) {
  fs::create_directories(directory + "/proofs");
  Manifest manifest;
  const auto write = [&](const std::string& name, const std::string& bytes, bool listed = true) {
    std::ofstream(directory + "/" + name, std::ios::binary)
        << bytes;  // (write_file() flushes disks)
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
  // Nor is what a check will not ask for: encoders trust their requests.
  const Claims claims = claims_of(problem, solution, manifest.refutations, manifest.names);
  for (std::size_t i = 0; i < forged.size(); ++i) {
    const std::string base = "proofs/" + manifest.names[i];
    FormulaLimit limit;
    limit.clauses = limit.variables = 100'000;
    try {
      if (!claims.unproved.empty() ||
          std::find(claims.needed.begin(), claims.needed.end(), i) == claims.needed.end())
        throw FormulaTooLarge();
      const EncodedFormula formula = regenerate(problem, forged[i].refutation, limit);
      MemoryCnf lemmas;  // those of this formula
      for (const std::string_view line : lines_of(forged[i].lemmas))
        if (const auto lemma = parse_lemma(line);
            lemma && std::all_of(lemma->literals.begin(), lemma->literals.end(),
                                 [&](int l) { return std::abs(l) <= formula.cnf.variables(); }))
          lemmas.add_clause(lemma->literals);
      write(base + ".cnf", all_text([&](TextWriter& t) { write_formula(t, formula, lemmas); }),
            false);
    } catch (const FormulaTooLarge&) {
      write(base + ".cnf", "p cnf 2000000000 2000000000\n", false);
    }
    write(base + ".drat", forged[i].proof);
    if (forged[i].refutation.by_order()) write(base + ".lemmas", forged[i].lemmas);
    if (!forged[i].refinements.empty()) write(base + ".refinements", forged[i].refinements);
  }
  manifest.claims = claims.claims;
  write("manifest.json", manifest_text(problem, manifest), false);
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
  contains(said([](Refutation& r, OrderRequest&) { r.encoding = "form=straight-line"; }),
           "not proved");
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

/// A loop, in a fifth of the cases with an op pinned to a cycle that some schedule has it at.
Problem loop_to_lie_about(std::uint64_t seed, Random& random) {
  LoopKnobs knobs;
  knobs.multi_segment = random.percent(20);
  Problem problem = random.percent(25)   ? beside_itself(random_loop(seed, knobs))
                    : random.percent(25) ? ring_loop(seed, knobs)
                                         : random_loop(seed, knobs);
  if (!random.percent(20)) return problem;
  const Solution best = solve(problem);
  const int v = static_cast<int>(random.range(0, std::ssize(problem.ops) - 1));
  if (best.schedule)
    problem.pins.push_back({Pin::at_cycle, v, -1,
                            best.schedule->start[static_cast<std::size_t>(v)] + random.range(0, 1),
                            -1});
  return problem;
}

/// A schedule of more cycles than `length`: an op that nothing waits for starts iterations later.
std::optional<Schedule> longer(const Problem& problem, Schedule schedule, Cycle length) {
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (std::any_of(problem.edges.begin(), problem.edges.end(),
                    [&](const Edge& e) { return e.from == static_cast<int>(v); }))
      continue;
    while (schedule_length(problem, schedule.start) <= length)
      schedule.start[v] += schedule.initiation_interval;
    schedule.length = schedule_length(problem, schedule.start);
    if (!verify(problem, schedule)) return schedule;
    return std::nullopt;
  }
  return std::nullopt;
}

/// What a forger sets out to prove of a loop, and whether it is true.
struct Lie {
  Solution said;        ///< with the bound that is to be proved
  Cycle ii = 1;         ///< of the refutation
  Cycle deadline = -1;  ///< likewise
  GoalLimits limits = {};
  Options asked = {};
  bool truth = false;
};

std::optional<Lie> lie_about(const Problem& problem, Random& random) {
  Lie lie;
  const int w = static_cast<int>(random.range(0, std::ssize(problem.warps) - 1));
  if (random.percent(15) && slot_allowed(problem, 0, w))
    lie.asked.pins = {{problem.ops[0].id, problem.warps[static_cast<std::size_t>(w)].name}};
  lie.asked.handover = !random.percent(15);
  lie.asked.explain = false;
  const Solution best = solve(problem, lie.asked);
  if (!best.schedule) return std::nullopt;
  const auto at = [&](Cycle ii, const char* goal) {
    Options only = lie.asked;
    only.ii = ii;
    if (goal != nullptr) only.goals = {goal};
    return solve(problem, only);
  };
  const auto say = [&](const Schedule& schedule) {
    lie.said = said_of(problem, Status::feasible, schedule);
    lie.said.ii_lower_bound = 1;
    for (const auto& [name, value] : best.options)
      if (name.starts_with("pin ") || name == "handover" || name == kRestrictionOption)
        lie.said.options.emplace_back(name, value);
    lie.said.max_stages = std::max(lie.said.max_stages, stage_count(schedule));
  };
  lie.ii = std::max<Cycle>(1, best.schedule->initiation_interval + random.range(-1, 2));
  if (random.percent(40)) {  // no schedule has I < ii + 1
    const Solution next = at(lie.ii + 1, nullptr);
    if (!next.schedule) return std::nullopt;
    say(*next.schedule);
    lie.said.ii_lower_bound = lie.ii + 1;
    lie.truth = !at(lie.ii, nullptr).schedule;
    return lie;
  }
  const Solution same = at(lie.ii, nullptr);
  if (!same.schedule) return std::nullopt;
  if (random.percent(50)) {  // nor one at ii a length below deadline + 1
    lie.deadline = std::max<Cycle>(0, same.schedule->length + random.range(-1, 4));
    lie.truth = same.schedule->length > lie.deadline;
    const auto found = longer(problem, *same.schedule, lie.deadline);
    if (!found) return std::nullopt;
    say(*found);
    lie.said.length_lower_bound = lie.deadline + 1;
    return lie;
  }
  const std::string op = problem.ops[0].id;
  const std::string goals[] = {"slots",     "crossings", "lifetime",    "rings",
                               "registers", "issuers",   "start:" + op, "slot:" + op};
  const std::string goal = goals[random.range(0, std::ssize(goals) - 1)];
  const Solution least = at(lie.ii, goal.c_str());
  if (least.goals.empty()) return std::nullopt;
  const std::int64_t has = goal_value(problem, *same.schedule, parse_goal(problem, goal));
  const std::int64_t most = least.goals[0].value + random.range(-1, 1);
  if (most < 0 || has <= most) return std::nullopt;
  say(*same.schedule);
  lie.deadline = same.schedule->length;
  lie.limits = {{goal, most}};
  lie.said.goals = {{goal, has, most + 1}};
  lie.truth = least.goals[0].value > most;
  return lie;
}

/// A refutation of the request, by the order engine, or none.
std::shared_ptr<Evidence> refuted(const Problem& problem, const Lie& lie, OrderRequest request) {
  const LimitedProblem within = limited(problem, lie.limits);
  const EncodingChoice choice;
  Budget budget({}, 0, 20'000, 0);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  auto evidence = std::make_shared<Evidence>(std::nullopt);
  Search search{within.problem, choice, 0, budget, report, order_engine()};
  search.evidence = evidence.get();
  search.limits = request.limits = within.placement;
  search.goals = lie.limits;
  try {
    order::Question question(search, std::move(request));
    if (question.ask(lie.ii, std::max<Cycle>(lie.deadline, 0)).verdict != SatSolver::Answer::unsat)
      return nullptr;
  } catch (const std::logic_error&) {
    return nullptr;  // a model that verify() refuses: of another formula than the problem's
  } catch (const Budget::Spent&) {
    return nullptr;
  }
  return evidence;
}

}  // namespace

TEST_CASE("requests: a refutation of a formula that leaves schedules out proves nothing") {
  const std::uint64_t loops = 20 * number_from("TWILL_FORGERIES", 150);
  const std::uint64_t first = number_from("TWILL_FORGERY_SEED", 1);
  int proved = 0, honest = 0, lies = 0;
  for (std::uint64_t seed = first; seed < first + loops; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Problem problem = loop_to_lie_about(seed, random);
    auto lie = lie_about(problem, random);
    if (!lie) continue;
    OrderRequest request = forged_request(problem, lie->ii, random);
    request.deadline = lie->deadline >= 0;
    if (!lie->limits.empty() && random.percent(80)) request.ii_low = request.ii_high = lie->ii;
    if (lie->deadline >= 0 && random.percent(60)) request.stages = lie->deadline / lie->ii + 1;
    if (lie->limits.size() == 1 && lie->limits[0].first == "lifetime" && request.stages == 0)
      request.stages = 1;  // the searcher cannot do without
    lie->said.evidence = refuted(problem, *lie, std::move(request));
    if (!lie->said.evidence) continue;
    ++proved;
    lies += lie->truth ? 0 : 1;
    const TemporaryDirectory directory;
    try {
      write_certificate(directory / "c", problem, lie->said);
    } catch (const InputError&) {
      continue;  // it does not even claim it
    }
    const std::string said = verdict(directory / "c");
    CAPTURE(said);
    if (lie->truth)
      honest += said == "accepted" ? 1 : 0;
    else
      CHECK(said != "accepted");
  }
  MESSAGE("refutations of forged requests: ", proved, ", of what is false: ", lies,
          ", true claims accepted: ", honest);
  CHECK(lies > static_cast<int>(loops / 30));
  CHECK(honest > static_cast<int>(loops / 60));
}

// --- true certificates, changed ---

namespace {

Options random_options(const Problem& problem, Random& random) {
  Options o;
  o.engine = random.percent(40) ? "time_indexed" : "order";
  o.evidence = true;
  o.explain = false;
  if (random.percent(20)) o.stages = std::to_string(random.range(1, 3));
  if (random.percent(15)) o.ii = random.range(1, 9);
  if (random.percent(15)) o.handover = false;
  const int w = static_cast<int>(random.range(0, std::ssize(problem.warps) - 1));
  if (random.percent(15) && slot_allowed(problem, 0, w))
    o.pins = {{problem.ops[0].id, problem.warps[static_cast<std::size_t>(w)].name}};
  for (const char* goal : {"slots", "lifetime", "crossings", "rings", "registers", "canonical"})
    if (random.percent(15)) o.goals.emplace_back(goal);
  return o;
}

/// The options that a schedule file says it comes from.
Options options_said(const Solution& solution) {
  Options o;
  o.explain = false;
  o.stages = solution.stages;
  for (const auto& [name, value] : solution.options) {
    if (name == "ii") o.ii = std::strtoll(value.c_str(), nullptr, 10);
    if (name == "handover") o.handover = value != "no";
    if (name.starts_with("pin ")) o.pins.emplace_back(name.substr(4), value);
  }
  return o;
}

/// What is false in a solution that a check has accepted; "" = nothing.
std::string falsehood(const Problem& problem, const Solution& said) {
  const Options options = options_said(said);
  const Solution best = solve(problem, options);
  if (said.status == Status::infeasible) return best.schedule ? "there is a schedule" : "";
  if (!said.schedule) return "";
  if (!best.schedule) return "it has a schedule where there is none";
  if (said.ii_lower_bound > best.schedule->initiation_interval) return "a smaller I";
  Options at = options;
  at.ii = said.schedule->initiation_interval;
  const Solution same = solve(problem, at);
  if (!same.schedule || said.length_lower_bound > same.schedule->length) return "a smaller L";
  if (said.schedule->length != same.schedule->length) return "";
  for (const Goal& goal : said.goals) at.goals.push_back(goal.name);
  const Solution goals = solve(problem, at);
  if (goals.goals.size() != said.goals.size()) return "other goals";
  for (std::size_t g = 0; g < said.goals.size(); ++g) {
    if (said.goals[g].lower_bound > goals.goals[g].value) return "less of " + said.goals[g].name;
    if (said.goals[g].value != goals.goals[g].value) return "";
  }
  return "";
}

void change(Solution& s, Random& random) {
  const Cycle by = random.percent(50) ? 1 : -1;
  switch (random.range(0, 8)) {
    case 0: s.ii_lower_bound += by; break;
    case 1: s.length_lower_bound += by; break;
    case 2: s.status = random.percent(50) ? Status::feasible : Status::optimal; break;
    case 3: s.stages = random.percent(50) ? "complete" : std::to_string(random.range(1, 4)); break;
    case 4:
      if (!s.goals.empty()) {
        Goal& goal = s.goals[static_cast<std::size_t>(random.range(0, std::ssize(s.goals) - 1))];
        (random.percent(70) ? goal.lower_bound : goal.value) += by;
      }
      break;
    case 5: s.options.clear(); break;
    case 6: s.options.emplace_back("ii", std::to_string(random.range(1, 9))); break;
    case 7:
      if (s.schedule) {
        for (Cycle& start : s.schedule->start) start += s.schedule->initiation_interval;
        s.schedule->length += s.schedule->initiation_interval;
      }
      break;
    default:
      if (s.schedule) ++s.schedule->initiation_interval;
  }
  std::erase_if(s.options, [](const auto& o) { return o.first == kRestrictionOption; });
  if (const std::string only = restriction_of(s); !only.empty())
    s.options.emplace_back(kRestrictionOption, only);
}

void change(Refutation& r, Random& random, int ops) {
  const Cycle by = random.percent(50) ? 1 : -1;
  auto* o = std::get_if<OrderRequest>(&r.request);
  auto* m = std::get_if<ModuloRequest>(&r.request);
  const int pinned = static_cast<int>(random.range(-1, ops - 1));
  switch (random.range(0, 11)) {
    case 0: r.ii += by; break;
    case 1: r.deadline += by; break;
    case 2: r.deadline = -1; break;
    case 3: r.serial = !r.serial; break;
    case 4: r.limits.clear(); break;
    case 5:
      if (!r.limits.empty()) r.limits.back().second += by;
      break;
    case 6: (o != nullptr ? o->stages : m->stages) += by; break;
    case 7: (o != nullptr ? o->pinned : m->pinned) = pinned; break;
    case 8: (o != nullptr ? o->ii_low : m->length_low) += by; break;
    case 9: (o != nullptr ? o->ii_high : m->length_high) += by; break;
    case 10:
      if (o != nullptr) o->handover = !o->handover;
      if (m != nullptr) m->handover = !m->handover;
      break;
    default:
      if (o != nullptr) o->pins.clear();
      if (m != nullptr) m->pins.clear();
  }
  r.ii = std::max<Cycle>(r.ii, 1);
  if (m != nullptr) {
    m->ii = r.ii;
    m->stages = std::max<Cycle>(m->stages, 1);
    m->length_low = std::max<Cycle>(m->length_low, 0);
    m->length_high = std::max<Cycle>(m->length_high, -1);
  } else {
    o->stages = std::max<Cycle>(o->stages, 0);
    o->ii_low = std::max<Cycle>(o->ii_low, 1);
    o->ii_high = std::max<Cycle>(o->ii_high, o->ii_low);
    o->deadline = r.deadline >= 0;
  }
}

}  // namespace

TEST_CASE("manifests: whatever is changed in a true certificate, what is accepted is true") {
  const std::uint64_t loops = number_from("TWILL_FORGERIES", 150);
  const std::uint64_t first = number_from("TWILL_FORGERY_SEED", 1);
  constexpr int kForgeries = 20;
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = first; seed < first + loops; ++seed) {
    CAPTURE(seed);
    Random random(seed ^ 0x5eed);
    LoopKnobs knobs;
    knobs.max_ops = 4;
    knobs.multi_segment = random.percent(30);
    const Problem problem = random.percent(30) ? ring_loop(seed, knobs) : random_loop(seed, knobs);
    const Solution honest = solve(problem, random_options(problem, random));
    const TemporaryDirectory directory;
    write_certificate(directory / "c", problem, honest);
    REQUIRE(verdict(directory / "c") == "accepted");
    const std::string path = directory / "c/manifest.json";
    const Manifest manifest = parse_manifest(problem, read_file(path), path);
    const auto bytes = [&](std::size_t i, const char* ending) {
      const std::string name = directory / ("c/proofs/" + manifest.names[i] + ending);
      return fs::exists(name) ? read_file(name) : "";
    };
    std::vector<Forged> proofs;
    for (std::size_t i = 0; i < manifest.names.size(); ++i) {
      proofs.push_back({manifest.refutations[i], bytes(i, ".lemmas"), bytes(i, ".drat"),
                        bytes(i, ".refinements")});
      for (const std::string_view line : lines_of(proofs.back().refinements))
        proofs.back().refutation.refinements.push_back(*parse_refinement(problem, line));
    }
    for (int n = 0; n < kForgeries; ++n) {
      std::vector<Forged> forged = proofs;
      Solution liar = honest;
      liar.evidence.reset();
      for (auto changes = random.range(1, 3); changes > 0; --changes) {
        if (forged.empty() || random.percent(40)) {
          change(liar, random);
          continue;
        }
        const auto i = random.range(0, std::ssize(forged) - 1);
        if (random.percent(10))
          forged.erase(forged.begin() + i);
        else
          change(forged[static_cast<std::size_t>(i)].refutation, random,
                 static_cast<int>(problem.ops.size()));
      }
      const std::string copy = directory / ("f" + std::to_string(n));
      const std::string said = forge(copy, problem, liar, forged);
      fs::remove_all(copy);
      CAPTURE(n);
      (said == "accepted" ? accepted : refused) += 1;
      if (said == "accepted") CHECK(falsehood(problem, liar) == "");
    }
  }
  MESSAGE("changed certificates accepted: ", accepted, ", refused: ", refused);
  CHECK(accepted > static_cast<int>(loops / 4));
  CHECK(refused > static_cast<int>(4 * loops));
}
