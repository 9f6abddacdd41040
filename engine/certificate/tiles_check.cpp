// The check of a certificate of tiles. All choices are lowered again from the texts; each must be
// the problem of its own certificate, which is checked as any other; and what those prove must say
// that no choice is better than the one called the best. (Nothing of the search is used.)
#include <filesystem>
#include <optional>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/derivation.hpp"
#include "engine/certificate/manifest.hpp"
#include "engine/certificate/tiles_manifest.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/sha256.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

struct TilesRefusal {
  std::string text;
};

[[noreturn]] void refuse_tiles(const std::string& file, const std::string& what) {
  throw TilesRefusal{file + ": " + what};
}

/// a / b < c / d.
bool less(Cycle a, Amount b, Cycle c, Amount d) {
  return Wide{a} * d < Wide{c} * b;
}

/// What a certificate proves of a choice.
struct Proved {
  bool none = false;         ///< it has no schedule at all; else
  Cycle ii = 1, length = 0;  ///< none of a smaller I, nor of this one and a smaller L
};

class TilesCheck {
 public:
  TilesCheck(const std::string& directory, const CertificateOptions& options,
             CertificateReport& report)
      : directory_(directory), options_(options), report_(report) {}

  void run() {
    const std::string text = bytes_of(kTilesFile);
    manifest_ = parse_tiles_manifest(text, path(kTilesFile));
    if (tiles_manifest_text(manifest_) != text)
      refuse_tiles(kTilesFile, "is not in its canonical form");
    const std::string kernel = hashed("kernel.json", manifest_.kernel);
    const std::string machine = hashed("machine.json", manifest_.machine);
    const std::string unit = kernel_parameters(kernel, path("kernel.json")).work_unit;
    if (unit != manifest_.work_unit) refuse_tiles(kTilesFile, "the kernel's work is in " + unit);
    const std::vector<TileChoice> choices =
        lower_tiles(kernel, path("kernel.json"), machine, path("machine.json"), manifest_.options);
    if (choices.size() != manifest_.choices.size())
      refuse_tiles(kTilesFile, "lists " + std::to_string(manifest_.choices.size()) +
                                   " choices, the kernel on the machine has " +
                                   std::to_string(choices.size()));
    for (std::size_t k = 0; k < choices.size(); ++k) same(k, choices[k]);
    report_.checks.push_back(std::to_string(choices.size()) + " choices lowered again");
    std::vector<Proved> proved;
    for (std::size_t k = 0; k < choices.size(); ++k) proved.push_back(check(k, choices[k]));
    compare(proved);
    report_.accepted = true;
  }

 private:
  std::string path(const std::string& name) const {
    return (std::filesystem::path(directory_) / name).string();
  }
  // A pipe or a device in its place would be read for ever.
  std::string bytes_of(const std::string& name) const {
    std::error_code error;
    const auto status = std::filesystem::status(path(name), error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      refuse_tiles(name, "is not a regular file");
    return read_file(path(name));
  }
  std::string hashed(const std::string& name, const std::string& hash) const {
    std::string text = bytes_of(name);
    if (sha256(text) != hash)
      refuse_tiles(name, "its SHA-256 is " + sha256(text) + ", not tiles.json's");
    return text;
  }
  static std::string choice_text(std::size_t k) { return "choice " + std::to_string(k); }

  void same(std::size_t k, const TileChoice& choice) const {
    const TilesManifest::Choice& listed = manifest_.choices[k];
    if (listed.values != choice.values || listed.layout != choice.layout)
      refuse_tiles(kTilesFile,
                   choice_text(k) + " is not the kernel's: other values or another layout");
    if (listed.work != choice.work)
      refuse_tiles(kTilesFile, choice_text(k) + " has work " + std::to_string(choice.work) +
                                   ", not " + std::to_string(listed.work));
    if (listed.misfit != choice.misfit)
      refuse_tiles(kTilesFile,
                   choice_text(k) + ": " +
                       (choice.misfit.empty() ? "its layout can hold it" : choice.misfit));
  }

  /// The certificate's problem is the choice's; where registers are chosen, with the counts of its
  /// split, of the same pool.
  void same_problem(std::size_t k, const Lowered& lowered) const {
    const std::string folder = choice_folder(k);
    const Problem problem =
        parse_problem(bytes_of(folder + "/problem.json"), path(folder + "/problem.json"));
    Problem expected = lowered.problem;
    const Manifest own = parse_manifest(problem, bytes_of(folder + "/manifest.json"),
                                        path(folder + "/manifest.json"));
    // Splits of another pool, of none at all, say nothing of this problem.
    if (own.split.has_value() != lowered.pool.has_value())
      refuse_tiles(folder, own.split ? "has a register split, which was no choice"
                                     : "has no register split");
    if (lowered.pool) {
      RegisterPool pool = own.split->pool;
      if (pool.shares.size() == lowered.pool->shares.size())
        for (std::size_t s = 0; s < pool.shares.size(); ++s)  // what plays no part
          pool.shares[s].layout = lowered.pool->shares[s].layout;
      if (pool != *lowered.pool) refuse_tiles(folder, "its register pool is not the layout's");
      if (!own.split->counts.empty())
        expected = with_counts(std::move(expected), *lowered.pool, own.split->counts);
      else  // it speaks of all splits: its own counts say nothing
        for (std::size_t w = 0; w < expected.warps.size() && w < problem.warps.size(); ++w)
          expected.warps[w].registers = problem.warps[w].registers;
    }
    if (problem != expected || bytes_of(folder + "/problem.json") != problem_text(expected))
      refuse_tiles(folder, "problem.json is not the problem of " + choice_text(k));
  }

  Proved check(std::size_t k, const TileChoice& choice) {
    if (!choice.lowered) return {true};
    const std::string folder = choice_folder(k);
    hashed(folder + "/manifest.json", manifest_.choices[k].manifest);
    const CertificateReport own = check_problem_certificate(path(folder), options_);
    if (!own.accepted) refuse_tiles(folder, own.refusal);
    same_problem(k, *choice.lowered);
    if (!restriction_) restriction_ = own.restriction;
    if (own.restriction != *restriction_)
      refuse_tiles(folder, "is about other schedules than the choices before it");
    for (const std::string& line : own.checks)
      if (report_.checks.empty() || line.find("skipped") == std::string::npos)
        report_.checks.push_back(folder + ": " + line);
    const Solution& solution = own.solution;
    const Asked asked = asked_of(solution);
    if (asked.ii) refuse_tiles(folder, "is about one initiation interval");
    if (k == manifest_.best) {
      if (solution.status != Status::optimal)
        refuse_tiles(folder, "its schedule is not called optimal");
      report_.solution = solution;
      for (const std::string& line : own.proved)
        report_.proved.push_back(choice_text(k) + ": " + line);
      if (asked.better_than) refuse_tiles(folder, "has no schedule");
    }
    if (solution.status == Status::infeasible) {
      if (!asked.better_than) return {true};
      return {false, asked.better_than->first, asked.better_than->second};
    }
    const bool same =
        solution.schedule && solution.schedule->initiation_interval == solution.ii_lower_bound;
    return {false, solution.ii_lower_bound, same ? solution.length_lower_bound : 0};
  }

  void compare(const std::vector<Proved>& proved) {
    report_.restriction = restriction_.value_or("");
    if (!manifest_.best) {
      for (std::size_t k = 0; k < proved.size(); ++k)
        if (!proved[k].none) refuse_tiles(kTilesFile, choice_text(k) + " may have a schedule");
      report_.solution.status = Status::infeasible;
      report_.proved.push_back("none of " + std::to_string(proved.size()) +
                               " choices has a schedule" + among() + ": a certificate of each");
      return;
    }
    const std::size_t best = *manifest_.best;
    if (!report_.solution.schedule) refuse_tiles(kTilesFile, "the best choice has no schedule");
    const Cycle ii = report_.solution.schedule->initiation_interval;
    const Cycle length = report_.solution.schedule->length;
    const Amount work = manifest_.choices[best].work;
    for (std::size_t k = 0; k < proved.size(); ++k) {
      if (k == best || proved[k].none) continue;
      const Amount own = manifest_.choices[k].work;
      if (less(ii, work, proved[k].ii, own)) continue;
      if (less(proved[k].ii, own, ii, work))
        refuse_tiles(kTilesFile, choice_text(k) + " is not proved to have no smaller I / work");
      const bool longer = less(length, work, proved[k].length, own);
      const bool shorter = less(proved[k].length, own, length, work);
      if (shorter || (!longer && k < best))
        refuse_tiles(kTilesFile,
                     choice_text(k) +
                         " is not proved to be no better at the same I / work: L / work, or "
                         "its place before the best");
    }
    report_.proved.push_back(
        "no choice of " + std::to_string(proved.size()) + " has a smaller I / work than " +
        std::to_string(ii) + " / " + std::to_string(work) +
        ", nor the same and a smaller L / work than " + std::to_string(length) + " / " +
        std::to_string(work) + ", nor the same of both and an earlier place than " +
        choice_text(best) + among() + ": a certificate of each; ragged ends are not counted");
  }

  /// What narrowed the choices, and what the machine was changed to.
  std::string among() const {
    std::string text;
    const LowerOptions& options = manifest_.options;
    for (const auto& [name, value] : options.values) text += ", " + name + " = " + value;
    if (!options.layout.empty()) text += ", layout " + options.layout;
    for (const auto& [name, value] : options.set) text += ", " + name + " set to " + value;
    if (options.reading != Reading::of_file)
      text += options.reading == Reading::paper ? ", the paper's reading" : ", machine reading";
    if (options.holds) text += *options.holds ? ", operands held" : ", operands free at issue";
    if (options.rings) text += *options.rings ? ", rings charged" : ", rings while live";
    if (options.choose_registers) text += ", all register splits";
    return text.empty() ? "" : " (with " + text.substr(2) + ")";
  }

  const std::string directory_;
  const CertificateOptions& options_;
  CertificateReport& report_;
  TilesManifest manifest_;
  std::optional<std::string> restriction_;
};

}  // namespace

CertificateReport check_tiles_certificate(const std::string& directory,
                                          const CertificateOptions& options) {
  CertificateReport report;
  try {
    TilesCheck(directory, options, report).run();
  } catch (const TilesRefusal& refusal) {
    report = {};
    report.refusal = refusal.text;
  }
  return report;
}

}  // namespace twill
