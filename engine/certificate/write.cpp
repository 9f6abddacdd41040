#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/claims.hpp"
#include "engine/certificate/drat_proof.hpp"
#include "engine/certificate/lemma_cycles.hpp"
#include "engine/certificate/manifest.hpp"
#include "engine/certificate/proof_files.hpp"
#include "engine/certificate/regenerate.hpp"
#include "graph/error.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule_io.hpp"
#include "graph/serial.hpp"

namespace twill {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::pair<std::string, std::string>>;

std::string lemmas_text(const RegeneratedFormula& formula, const Refutation& r) {
  const DifferenceRows rows(static_cast<int>(formula.nodes.size()), formula.facts, formula.atoms,
                            formula.sums, r.ii, std::max<Cycle>(r.deadline, 0));
  const CycleFinder finder(rows);
  std::string text;
  for (std::size_t i = 0; i < r.lemmas.clauses(); ++i) {
    if (const auto reason = r.lemma_reasons.find(i); reason != r.lemma_reasons.end()) {
      append_lemma(text, r.lemmas.clause(i), reason->second);
      continue;
    }
    const auto cycle = finder.cycle(r.lemmas.clause(i));
    if (!cycle) throw std::logic_error("a lemma of the order engine has no positive cycle");
    append_lemma(text, r.lemmas.clause(i), *cycle);
  }
  return text;
}

// The proof of an incremental solver lacks the clauses that it took back from its store of
// eliminated ones; without deletions they never went away. (Every step of CaDiCaL's is implied.)
std::string without_deletions(const std::string& proof) {
  std::string kept;
  std::optional<ProofError> error;
  const DratProof steps = parse_drat(proof, ProofFormat::binary, error);
  if (error) throw std::logic_error("CaDiCaL's proof cannot be read: " + error->reason);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const std::size_t end = i + 1 < steps.steps.size() ? steps.steps[i + 1].place : proof.size();
    if (!steps.steps[i].deletes)
      kept.append(proof, steps.steps[i].place, end - steps.steps[i].place);
  }
  return kept;
}

void add_refutation(Files& files, const Problem& problem, const Refutation& r,
                    const std::string& name) {
  const RegeneratedFormula formula = regenerate(problem, r);
  const std::string base = "proofs/" + name;
  const std::string proof = r.proof->bytes();
  files.emplace_back(base + ".cnf", dimacs_text(formula.cnf, r.lemmas));
  files.emplace_back(base + ".drat",
                     !r.by_order() && r.deadline >= 0 ? without_deletions(proof) : proof);
  files.emplace_back(base + ".groups", groups_text(formula, r.lemmas));
  if (!r.by_order()) return;
  files.emplace_back(base + ".rows", rows_text(formula));
  files.emplace_back(base + ".lemmas", lemmas_text(formula, r));
  files.emplace_back(base + ".refinements", refinements_text(r.refinements));
}

std::string name_of(const Refutation& r, std::vector<RegisterCounts>& corners) {
  std::string corner;
  if (!r.counts.empty()) {
    const auto found = std::find(corners.begin(), corners.end(), r.counts);
    corner = "split-" + std::to_string(found - corners.begin() + 1) + "-";
    if (found == corners.end()) corners.push_back(r.counts);
  }
  if (r.serial) return corner + "serial";
  std::string name = "interval-" + std::to_string(r.ii);
  if (r.deadline >= 0)
    name = "length-" + std::to_string(r.deadline) + "-at-" + std::to_string(r.ii);
  if (!r.limits.empty()) name = "goal-" + std::to_string(r.limits.size());
  return corner + name;
}

// A directory beside the one wanted, removed unless it is renamed.
class Draft {
 public:
  explicit Draft(const std::string& directory) : target_(directory) {
    std::error_code error;
    if (fs::exists(target_, error) &&
        !(fs::is_directory(target_, error) && fs::is_empty(target_, error)))
      fail("must not exist or be an empty directory");
    std::string path = fs::path(directory).lexically_normal().string();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    path += ".part-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) fail("cannot be created");
    path_ = path;
    fs::create_directory(path_ / "proofs", error);
    if (error) fail("cannot be written");
  }
  ~Draft() {
    std::error_code ignored;
    if (!done_) fs::remove_all(path_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream out(path_ / name, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) fail("cannot be written");
  }
  void finish() {
    std::error_code error;
    fs::permissions(path_,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                        fs::perms::others_read | fs::perms::others_exec,
                    error);
    fs::remove(target_, error);  // an empty one
    fs::rename(path_, target_, error);
    if (error) fail("cannot be created");
    done_ = true;
  }

 private:
  [[noreturn]] void fail(const char* rule) const {
    throw InputError("certificate", "--certificate", target_.string(), rule);
  }
  fs::path target_, path_;
  bool done_ = false;
};

}  // namespace

void write_certificate(const std::string& directory, const Problem& problem,
                       const Solution& solution) {
  static const std::vector<Refutation> kNone;
  const std::vector<Refutation>& all = solution.evidence ? solution.evidence->refutations() : kNone;
  std::vector<std::string> names;
  std::vector<RegisterCounts> corners;  // numbered in the order of their refutations
  for (const Refutation& r : all) names.push_back(name_of(r, corners));
  const RegisterSplit* split =
      solution.evidence && solution.evidence->split() ? &*solution.evidence->split() : nullptr;
  const Claims claims = claims_of(problem, solution, all, names, split);
  if (!claims.unproved.empty())
    throw InputError("certificate", "--certificate", claims.unproved,
                     "must be shown by a bound or by a refutation that was kept");

  Draft draft(directory);
  Solution own = solution;
  const std::string problem_json = problem_text(problem);
  own.problem_sha256 = sha256(problem_json);
  Files files = {{"problem.json", problem_json}, {"schedule.json", schedule_text(problem, own)}};
  Manifest manifest;
  manifest.claims = claims.claims;
  if (split != nullptr) manifest.split = *split;
  for (const std::size_t i : claims.needed) {
    const Problem about = problem_at(problem, split, all[i].counts);
    add_refutation(files, all[i].serial ? serial_problem(about).problem : about, all[i], names[i]);
    manifest.names.push_back(names[i]);
    manifest.refutations.push_back(all[i]);
  }
  for (const auto& [name, bytes] : files) {
    draft.write(name, bytes);
    manifest.files.emplace_back(name, sha256(bytes));
  }
  draft.write("manifest.json", manifest_text(problem, manifest));
  draft.finish();
}

}  // namespace twill
