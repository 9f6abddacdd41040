// The check of a certificate, file by file. Whatever is wrong is a refusal with its place.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/claims.hpp"
#include "engine/certificate/counting.hpp"
#include "engine/certificate/drat.hpp"
#include "engine/certificate/drat_trim.hpp"
#include "engine/certificate/formula_text.hpp"
#include "engine/certificate/full_units.hpp"
#include "engine/certificate/lemma_cycles.hpp"
#include "engine/certificate/lifetime_lemma.hpp"
#include "engine/certificate/manifest.hpp"
#include "engine/certificate/proof_files.hpp"
#include "engine/certificate/regenerate.hpp"
#include "engine/certificate/tiles_manifest.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"
#include "graph/restriction.hpp"
#include "graph/ring_depth.hpp"
#include "graph/schedule_io.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

constexpr Cycle kSmallTable = 1'000'000;

struct Refusal {
  std::string text;
};

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw Refusal{file + ": " + what};
}

std::string counted(std::size_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

class CertificateCheck {
 public:
  CertificateCheck(const std::string& directory, const CertificateOptions& options,
                   CertificateReport& report)
      : directory_(directory), options_(options), report_(report) {}

  void run() {
    const std::string manifest_bytes = bytes_of("manifest.json");
    const std::string problem_bytes = bytes_of("problem.json");
    const std::string hash = sha256(problem_bytes);
    if (hash != problem_hash_of_manifest(manifest_bytes, path("manifest.json")))
      refuse("problem.json", "its SHA-256 is " + hash + ", not the manifest's");
    problem_ = parse_problem(problem_bytes, path("problem.json"));
    manifest_ = parse_manifest(problem_, manifest_bytes, path("manifest.json"));
    if (manifest_text(problem_, manifest_) != manifest_bytes)
      refuse("manifest.json", "is not in its canonical form");
    check_files();

    Solution& solution = report_.solution;
    solution = parse_schedule(problem_, listed("schedule.json"), path("schedule.json"));
    if (solution.problem_sha256 != hash)
      refuse("schedule.json", "it is for the problem " + solution.problem_sha256);
    check_schedule(solution);
    // What is claimed comes first: only a formula that a claim needs is made, and such a one is
    // about the problem, with no more stages than can matter.
    const Claims claims = check_claims(solution);
    for (std::size_t i = 0; i < manifest_.refutations.size(); ++i) check_refutation(i);
    check_bounds(claims);
    for (const Claim& claim : claims.claims)
      report_.proved.push_back(claim.says + ": " + claim.because);
    report_.restriction = restriction_of(solution);
    report_.accepted = true;
  }

 private:
  std::string path(const std::string& name) const {
    return (std::filesystem::path(directory_) / name).string();
  }
  const RegisterSplit* split() const { return manifest_.split ? &*manifest_.split : nullptr; }
  // A pipe or a device in its place would be read for ever.
  std::string bytes_of(const std::string& name) const {
    std::error_code error;
    const auto status = std::filesystem::status(path(name), error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      refuse(name, "is not a regular file");
    return read_file(path(name));
  }
  // A file whose hash has been compared.
  std::string listed(const std::string& name) const {
    if (manifest_.hash_of(name).empty()) refuse("manifest.json", "lists no " + name);
    return bytes_of(name);
  }

  void check_files() {
    for (const auto& [name, hash] : manifest_.files) {
      const bool own = name == "problem.json" || name == "schedule.json" ||
                       std::any_of(manifest_.names.begin(), manifest_.names.end(),
                                   [&name = name](const std::string& refutation) {
                                     const std::string base = "proofs/" + refutation;
                                     return std::any_of(
                                         std::begin(kProofEndings), std::end(kProofEndings),
                                         [&](const char* ending) { return name == base + ending; });
                                   });
      if (!own) refuse("manifest.json", "lists a file of no refutation: " + name);
      const std::string found = sha256(bytes_of(name));
      if (found != hash) refuse(name, "its SHA-256 is " + found + ", not the manifest's");
    }
    report_.checks.push_back("SHA-256 of " + counted(manifest_.files.size(), "file"));
  }

  void check_schedule(const Solution& solution) {
    if (solution.problem != problem_.name)
      refuse("schedule.json", "it names the problem \"" + solution.problem + "\"");
    if (solution.engine != "order" && solution.engine != "order-cadical" &&
        solution.engine != "time_indexed" && solution.engine != "cnf")
      refuse("schedule.json", "no engine is called \"" + solution.engine + "\"");
    check_stages(solution);
    if (!solution.schedule) {
      if (!solution.ring_depths.empty() || !solution.goals.empty())
        refuse("schedule.json", "it has ring depths or goals, and no schedule");
      return;
    }
    if (const auto violation = verify(problem_, *solution.schedule))
      refuse("schedule.json", violation->rule + ": " + violation->text);
    if (solution.ring_depths != ring_depths(problem_, *solution.schedule))
      refuse("schedule.json", "the ring depths are not the schedule's");
    if (const auto& time = solution.whole_time; time && time->lower_bound > time->cycles)
      refuse("schedule.json", "the schedule takes less time than its lower bound");
    if (solution.ii_lower_bound > solution.schedule->initiation_interval ||
        (solution.ii_lower_bound == solution.schedule->initiation_interval &&
         solution.length_lower_bound > solution.schedule->length))
      refuse("schedule.json", "the schedule is better than its lower bound");
    report_.checks.push_back(
        "schedule replayed: I = " + std::to_string(solution.schedule->initiation_interval) +
        ", L = " + std::to_string(solution.schedule->length));
  }

  // "Stages searched: complete, up to 41": no fewer than can matter at the schedule's I, or than
  // the limit, and no more than at any I.
  void check_stages(const Solution& solution) {
    Cycle largest =
              std::max({serial_ii(problem_), least_by_channels(problem_), problem_.interval.least}),
          least = 0;
    if (solution.schedule) {
      largest = std::max(largest, solution.schedule->initiation_interval);
      least = stage_bound(problem_, solution.schedule->initiation_interval);
    }
    // The bound is a convex function of 1 / I. (Rotating a schedule can add a stage.)
    Cycle most = std::max(stage_bound(problem_, 1), stage_bound(problem_, largest)) + 1;
    // Within the length an op may start later than it needs to.
    if (solution.schedule)
      most = std::max(most, solution.schedule->length / solution.schedule->initiation_interval + 1);
    if (solution.stages != "complete") {
      most = std::atoll(solution.stages.c_str());  // what it may be, check_claims() asks
      least = std::min(least, most);
    }
    if (solution.max_stages < least || solution.max_stages > most)
      refuse("schedule.json", "max_stages is " + std::to_string(solution.max_stages) +
                                  ", not from " + std::to_string(least) + " to " +
                                  std::to_string(most));
  }

  void check_refutation(std::size_t i) {
    Refutation& r = manifest_.refutations[i];
    const std::string base = "proofs/" + manifest_.names[i];
    const Problem about = problem_at(problem_, split(), r.counts);
    const Problem problem = problem_about(about, r.about);
    if (r.by_order() && !manifest_.hash_of(base + ".refinements").empty()) {
      std::size_t number = 0;
      const std::string text = listed(base + ".refinements");
      for (const std::string_view line : lines_of(text)) {
        ++number;
        auto model = parse_refinement(problem, line);
        const auto& order = std::get<OrderRequest>(r.request);
        if (!model || model->initiation_interval < order.ii_low ||
            model->initiation_interval > order.ii_high)
          refuse(base + ".refinements", "line " + std::to_string(number) + " is no model");
        r.refinements.push_back(*std::move(model));
      }
    }
    const std::string cnf = bytes_of(base + ".cnf");
    const EncodedFormula formula = made_again(problem, r, base, cnf);
    if (const std::string fault = full_units_fault(problem, r, formula); !fault.empty())
      refuse(base + ".cnf", fault);
    MemoryCnf lemmas;
    if (r.by_order()) check_lemmas(problem, formula, r, base, lemmas);
    if (cnf != all_text([&](TextWriter& t) { write_formula(t, formula, lemmas); }))
      refuse(base + ".cnf", "is not the formula of the problem with its lemmas");
    check_proof(formula, lemmas, base);
  }

  // The formula of the request. The file that it must be equal to says how large it is: a literal
  // takes two bytes or more, and its header names the variables and clauses.
  EncodedFormula made_again(const Problem& problem, const Refutation& r, const std::string& base,
                            const std::string& cnf) {
    FormulaLimit limit;
    limit.literals = static_cast<std::int64_t>(cnf.size()) / 2;
    const std::size_t header = cnf.starts_with("p cnf ") ? 0 : cnf.find("\np cnf ");
    if (header == std::string::npos ||
        std::sscanf(cnf.c_str() + cnf.find('p', header), "p cnf %" SCNd64 " %" SCNd64,
                    &limit.variables, &limit.clauses) != 2 ||
        limit.variables < 0 || limit.clauses < 0)
      refuse(base + ".cnf", "has no line \"p cnf VARIABLES CLAUSES\"");
    // The tables of the time-indexed form have an entry a cycle, and so has the file at least.
    if (!r.by_order() && r.ii > std::max<Cycle>(limit.literals, kSmallTable))
      refuse(base + ".cnf", "is smaller than the formula of its request");
    try {
      return regenerate(problem, r, limit);
    } catch (const FormulaTooLarge&) {
      refuse(base + ".cnf", "is smaller than the formula of its request");
    }
  }

  // Reads the lemmas and adds up their cycles.
  void check_lemmas(const Problem& problem, const EncodedFormula& formula, const Refutation& r,
                    const std::string& base, MemoryCnf& lemmas) {
    const DifferenceRows rows(static_cast<int>(formula.nodes.size()), formula.facts, formula.atoms,
                              formula.sums, r.ii, std::max<Cycle>(r.deadline, 0));
    // Lemmas read a literal as equivalent to its constraint; for clauses that say it only where it
    // is to hold, that is no restriction.
    for (std::size_t c = 0; c < formula.cnf.clauses(); ++c)
      for (const int l : formula.cnf.clause(c))
        if (l < 0 && rows.asserted(-l))
          refuse(base + ".cnf", "clause " + std::to_string(c + 1) + " denies a difference");
    std::optional<LifetimeQuestion> lifetimes;
    if (const std::int64_t most = limit_problem(problem, r.limits).placement.lifetime; most >= 0)
      lifetimes.emplace(LifetimeQuestion{problem, r.ii, r.deadline,
                                         std::get<OrderRequest>(r.request).stages, most});
    std::size_t number = 0;
    const std::string text = listed(base + ".lemmas");
    for (const std::string_view line : lines_of(text)) {
      const std::string place = "line " + std::to_string(++number) + ": ";
      const auto lemma = parse_lemma(line);
      if (!lemma) refuse(base + ".lemmas", place + "is no clause with a cycle");
      for (const int l : lemma->literals)
        if (std::abs(l) > formula.cnf.variables())
          refuse(base + ".lemmas", place + "has a literal of no variable of the formula");
      const std::string fault =
          lifetimes && is_lifetime_reason(lemma->cycle)
              ? lifetime_fault(*lifetimes, formula, rows, lemma->literals, lemma->cycle)
              : cycle_fault(rows, lemma->literals, lemma->cycle);
      if (!fault.empty()) refuse(base + ".lemmas", place + fault);
      lemmas.add_clause(lemma->literals);
    }
    report_.checks.push_back(base + ": the reasons of " + counted(number, "lemma") + " add up");
  }

  void check_proof(const EncodedFormula& formula, const MemoryCnf& lemmas,
                   const std::string& base) {
    std::vector<int> clauses;
    for (const MemoryCnf* part : {&formula.cnf, &lemmas})
      for (std::size_t c = 0; c < part->clauses(); ++c) {
        const auto clause = part->clause(c);
        clauses.insert(clauses.end(), clause.begin(), clause.end());
        clauses.push_back(0);
      }
    const std::string proof = listed(base + ".drat");
    const DratVerdict verdict = check_drat(clauses, proof, ProofFormat::binary);
    if (!verdict.accepted)
      refuse(base + ".drat", "byte " + std::to_string(verdict.place) + ": " + verdict.reason);
    report_.checks.push_back(
        base + ": " + counted(formula.cnf.clauses() + lemmas.clauses(), "clause") +
        " made again from the problem, DRAT proof of " + counted(verdict.steps, "step") +
        " checked (" + std::to_string(verdict.checked) + " needed)");
    if (!options_.drat_trim) return;
    const auto program = find_drat_trim();
    if (!program) {
      report_.checks.push_back(base + ": drat-trim is not on the PATH, skipped");
      return;
    }
    std::optional<ProofError> error;
    if (!drat_trim_verifies(*program, path(base + ".cnf"),
                            parse_drat(proof, ProofFormat::binary, error)))
      refuse(base + ".drat", "drat-trim does not verify it");
    report_.checks.push_back(base + ": drat-trim verifies it");
  }

  Claims check_claims(const Solution& solution) {
    Claims claims = claims_of(problem_, solution, manifest_.refutations, manifest_.names, split());
    if (!claims.unproved.empty()) refuse("schedule.json", "not proved: " + claims.unproved);
    if (claims.claims != manifest_.claims)
      refuse("manifest.json", "claims something else than what is proved");
    for (std::size_t i = 0; i < manifest_.names.size(); ++i)
      if (!std::binary_search(claims.needed.begin(), claims.needed.end(), i))
        refuse("manifest.json", "no claim needs the refutation " + manifest_.names[i]);
    return claims;
  }

  // Bounds are the only proof where they are met: each is found a second time, by other code.
  void check_bounds(const Claims& claims) {
    for (const BoundUse& use : claims.bounds) {
      Problem problem = problem_at(problem_, split(), use.counts);
      if (!use.channels) drop_channels(problem);
      const bool again = use.ii ? length_counted_out(problem, *use.ii, use.value - 1)
                                : use.value <= 1 || interval_counted_out(problem, use.value - 1);
      if (!again)
        refuse("manifest.json", "the bound " + std::string(use.ii ? "L" : "I") + " >= " +
                                    std::to_string(use.value) + " is not found a second time");
    }
    for (const TimeUse& use : claims.times)
      if (!time_counted_out(problem_at(problem_, split(), use.counts), use))
        refuse("manifest.json", "the time of " + std::to_string(use.iterations) +
                                    " iterations, >= " + std::to_string(use.time) +
                                    ", is not found a second time");
    for (const GoalBoundUse& use : claims.goal_bounds)
      if (counted_goal(problem_, use.goal) < use.value)
        refuse("manifest.json",
               "a goal's bound " + std::to_string(use.value) + " is not found a second time");
    report_.checks.push_back(
        counted(claims.bounds.size() + claims.times.size() + claims.goal_bounds.size(), "bound") +
        " counted a second time");
  }

  const std::string directory_;
  const CertificateOptions& options_;
  CertificateReport& report_;
  Problem problem_;
  Manifest manifest_;
};

}  // namespace

CertificateReport check_certificate(const std::string& directory,
                                    const CertificateOptions& options) {
  std::error_code error;
  const bool tiles = std::filesystem::exists(std::filesystem::path(directory) / kTilesFile, error);
  return tiles ? check_tiles_certificate(directory, options)
               : check_problem_certificate(directory, options);
}

CertificateReport check_problem_certificate(const std::string& directory,
                                            const CertificateOptions& options) {
  CertificateReport report;
  try {
    CertificateCheck(directory, options, report).run();
  } catch (const Refusal& refusal) {
    report.refusal = refusal.text;
  }
  return report;
}

}  // namespace twill
