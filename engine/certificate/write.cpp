#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/claims.hpp"
#include "engine/certificate/drat_proof.hpp"
#include "engine/certificate/formula_text.hpp"
#include "engine/certificate/lemma_cycles.hpp"
#include "engine/certificate/manifest.hpp"
#include "engine/certificate/proof_files.hpp"
#include "engine/certificate/regenerate.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/error.hpp"
#include "graph/io/sha256.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule_io.hpp"

namespace twill {
namespace {

namespace fs = std::filesystem;

// The proof of an incremental solver lacks the clauses that it took back from its store of
// eliminated ones; without deletions they never went away. (Every step of CaDiCaL's is implied.)
std::string without_deletions(std::string_view proof) {
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

// A directory beside the one wanted, removed unless it is renamed. (System calls and plain strings:
// where a solve takes milliseconds, std::filesystem's functions are a measurable part of it,
// because each is looked up in its library when it is first called.)
class Draft {
 public:
  explicit Draft(const std::string& directory) : target_(directory) {
    if (target_.ends_with("/.")) target_ = fs::path(directory).lexically_normal().string();
    while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
    std::error_code error;
    if (struct stat there{}; ::stat(target_.c_str(), &there) == 0 &&
                             !(fs::is_directory(target_, error) && fs::is_empty(target_, error)))
      fail("must not exist or be an empty directory");
    std::string path = target_ + ".part-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) fail("cannot be created");
    path_ = path;
    if (::mkdir((path_ + "/proofs").c_str(), 0777) != 0) fail("cannot be written");
  }
  ~Draft() {
    if (file_ >= 0) ::close(file_);
    std::error_code ignored;
    if (!done_) fs::remove_all(path_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  /// A file that the check makes again and compares.
  template <class Write>
  void write_made(const std::string& name, const Write& write_text) {
    file_ = ::open((path_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) fail("cannot be written");
    write_text(text_);
    text_.flush();
    const bool closed = ::close(std::exchange(file_, -1)) == 0;
    if (!closed) fail("cannot be written");
  }
  /// Any other: the manifest lists its name and SHA-256.
  template <class Write>
  void write(const std::string& name, const Write& write_text) {
    hash_.emplace();
    write_made(name, write_text);
    hashes_.emplace_back(name, hash_->hex());
    hash_.reset();
  }
  void write_bytes(const std::string& name, std::string_view bytes) {
    write(name, [&](TextWriter& text) { text.put(bytes); });
  }
  void write_bytes(const std::string& name, std::string_view bytes, const std::string& sha256) {
    write_made(name, [&](TextWriter& text) { text.put(bytes); });
    hashes_.emplace_back(name, sha256);
  }
  /// Of the files so far.
  const std::vector<std::pair<std::string, std::string>>& hashes() const { return hashes_; }

  void finish() {
    ::chmod(path_.c_str(), 0755);
    // In place of an empty directory, if there is one.
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail("cannot be created");
    done_ = true;
  }

 private:
  [[noreturn]] void fail(const char* rule) const {
    throw InputError("certificate", "--certificate", target_, rule);
  }
  void append(std::string_view bytes) {
    if (hash_) hash_->add(bytes);
    while (!bytes.empty()) {
      const ssize_t done = ::write(file_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("cannot be written");
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
  }

  std::string target_, path_;
  bool done_ = false;
  int file_ = -1;               // the one that is being written
  std::optional<Sha256> hash_;  // of it, where that is listed
  TextWriter text_{[this](std::string_view bytes) { append(bytes); }};
  std::vector<std::pair<std::string, std::string>> hashes_;
};

void write_refutation(Draft& draft, const Problem& problem, const Refutation& r,
                      const std::string& name) {
  std::shared_ptr<const EncodedFormula> formula = r.formula;
  if (!formula) formula = std::make_shared<const EncodedFormula>(regenerate(problem, r));
  static const MemoryCnf kNoLemmas;
  const MemoryCnf& lemmas = r.lemmas ? r.lemmas->clauses : kNoLemmas;
  const std::string base = "proofs/" + name;
  draft.write_made(base + ".cnf", [&](TextWriter& t) { write_formula(t, *formula, lemmas); });
  if (!r.by_order() && r.deadline >= 0)
    draft.write_bytes(base + ".drat", without_deletions(*r.proof));
  else
    draft.write_bytes(base + ".drat", *r.proof);
  if (!r.by_order()) return;
  const DifferenceRows rows(static_cast<int>(formula->nodes.size()), formula->facts, formula->atoms,
                            formula->sums, r.ii, std::max<Cycle>(r.deadline, 0));
  draft.write(base + ".lemmas", [&](TextWriter& t) { write_lemmas(t, *r.lemmas, rows); });
  if (r.refinements.empty()) return;
  draft.write(base + ".refinements", [&](TextWriter& t) { write_refinements(t, r.refinements); });
}

}  // namespace

void write_certificate(const std::string& directory, const Problem& given,
                       const Solution& solution) {
  static const Evidence kNoEvidence{std::nullopt};
  const Evidence& evidence = solution.evidence ? *solution.evidence : kNoEvidence;
  std::vector<Refutation> kept = evidence.refutations();
  const RegisterSplit* split = evidence.split() ? &*evidence.split() : nullptr;
  const KnownProblem* known = evidence.known(given);
  if (known == nullptr) known = evidence.known_with_pins(given);
  const Problem& problem = known == nullptr ? given : known->problem;
  std::vector<std::string> names = refutation_names(kept);
  Claims claims = claims_of(problem, solution, kept, names, split, &evidence);
  // What no claim needs is left out, until each of the rest is needed.
  while (claims.unproved.empty() && claims.needed.size() < kept.size()) {
    std::vector<Refutation> needed;
    for (const std::size_t i : claims.needed) needed.push_back(std::move(kept[i]));
    kept = std::move(needed);
    names = refutation_names(kept);
    claims = claims_of(problem, solution, kept, names, split, &evidence);
  }
  if (!claims.unproved.empty())
    throw InputError("certificate", "--certificate", claims.unproved,
                     "must be shown by a bound or by a refutation that was kept");

  Draft draft(directory);
  if (known != nullptr)
    draft.write_bytes("problem.json", known->text, known->sha256);
  else
    draft.write_bytes("problem.json", problem_text(problem));
  Solution own = solution;
  own.problem = problem.name;
  own.problem_sha256 = draft.hashes().back().second;
  draft.write_bytes("schedule.json", schedule_text(problem, own));
  Manifest manifest;
  manifest.claims = claims.claims;
  if (split != nullptr) manifest.split = *split;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Problem about = problem_at(problem, split, kept[i].counts);
    write_refutation(draft, problem_about(about, kept[i].about), kept[i], names[i]);
  }
  manifest.names = std::move(names);
  manifest.refutations = std::move(kept);
  manifest.files = draft.hashes();
  draft.write_bytes("manifest.json", manifest_text(problem, manifest));
  draft.finish();
}

}  // namespace twill
