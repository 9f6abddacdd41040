// The writer of a certificate of tiles: a certificate of each choice, then what ties them together.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/derivation.hpp"
#include "engine/certificate/tiles_manifest.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/sha256.hpp"

namespace twill {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_folder(const std::string& directory, const std::string& rule) {
  throw InputError("certificate", "--certificate", directory, rule);
}

// A directory beside the one wanted, removed unless it is renamed.
class FolderDraft {
 public:
  explicit FolderDraft(const std::string& directory) : target_(directory) {
    while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
    std::error_code error;
    if (fs::exists(target_, error) &&
        !(fs::is_directory(target_, error) && fs::is_empty(target_, error)))
      refuse_folder(target_, "must not exist or be an empty directory");
    std::string path = target_ + ".part-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) refuse_folder(target_, "cannot be created");
    path_ = path;
    if (!fs::create_directory(path_ + "/choices", error))
      refuse_folder(target_, "cannot be written");
  }
  ~FolderDraft() {
    std::error_code ignored;
    if (!done_) fs::remove_all(path_, ignored);
  }
  FolderDraft(const FolderDraft&) = delete;
  FolderDraft& operator=(const FolderDraft&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  void finish() {
    std::error_code error;
    fs::permissions(path_, static_cast<fs::perms>(0755), error);
    fs::rename(path_, target_, error);
    if (error) refuse_folder(target_, "cannot be created");
    done_ = true;
  }

 private:
  std::string target_, path_;
  bool done_ = false;
};

/// What is certified of a choice: its schedule with its bounds, or that none is better.
Solution certified(const TileOutcome& outcome, const Problem& problem, const Solution& best) {
  Solution solution;
  if (outcome.solution) {
    solution = *outcome.solution;
  } else {  // bounds alone
    solution.problem = problem.name;
    solution.stages = best.stages;
    solution.engine = best.engine;
    for (const auto& option : best.options)
      if (!option.first.starts_with("tile ")) solution.options.push_back(option);
  }
  if (outcome.closed != TileOutcome::by_bound && outcome.closed != TileOutcome::refuted)
    return solution;
  solution.schedule.reset();
  solution.ring_depths.clear();
  solution.goals.clear();
  solution.status = Status::infeasible;
  solution.ii_lower_bound = outcome.ii_bound;
  solution.length_lower_bound = 0;
  solution.options.emplace_back(kBetterOption,
                                better_than_text({outcome.ii_bound, outcome.length_bound}));
  return solution;
}

}  // namespace

void write_tiles_certificate(const std::string& directory, const TilesSolution& tiles,
                             const TileSource& source) {
  if (tiles.status != Status::optimal && tiles.status != Status::infeasible)
    refuse_folder(directory,
                  "a limit left choices open: only what was decided of all can be certified");
  FolderDraft draft(directory);
  TilesManifest manifest;
  manifest.kernel = sha256(source.kernel);
  manifest.machine = sha256(source.machine);
  manifest.options = source.options;
  manifest.work_unit = kernel_parameters(source.kernel, "kernel.json").work_unit;
  manifest.best = tiles.chosen;
  write_file(draft.path("kernel.json"), source.kernel);
  write_file(draft.path("machine.json"), source.machine);
  static const Solution kNone;
  const Solution& best = tiles.chosen ? tiles.solution() : kNone;
  for (std::size_t k = 0; k < tiles.choices.size(); ++k) {
    const TileChoice& choice = tiles.choices[k];
    manifest.choices.push_back({choice.values, choice.layout, choice.work, choice.misfit, ""});
    if (!choice.lowered) continue;
    const Problem& problem = choice.lowered->problem;
    const std::string folder = draft.path(choice_folder(k));
    write_certificate(folder, problem, certified(tiles.outcomes[k], problem, best));
    manifest.choices.back().manifest = sha256(read_file(folder + "/manifest.json"));
  }
  write_file(draft.path(kTilesFile), tiles_manifest_text(manifest));
  draft.finish();
}

}  // namespace twill
