// Certificates of tiles: what a check accepts of all choices must be true, whoever wrote it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "engine/certificate/derivation.hpp"
#include "engine/certificate/tiles_manifest.hpp"
#include "engine/include/twill.hpp"
#include "graph/io/sha256.hpp"
#include "tests/support/forgery.hpp"
#include "tests/support/random_tiles.hpp"
#include "tests/support/temporary_directory.hpp"

namespace tiles_certificate_test {

using namespace twill;
using namespace twill::test;
namespace fs = std::filesystem;

namespace {

Options with_evidence() {
  Options options;
  options.threads = 1;
  options.evidence = true;
  return options;
}

struct Sample {
  std::string kernel;
  TilesSolution tiles;
};

std::optional<std::size_t> first(const TilesSolution& tiles, TileOutcome::Closed closed) {
  for (std::size_t k = 0; k < tiles.outcomes.size(); ++k)
    if (tiles.outcomes[k].closed == closed) return k;
  return std::nullopt;
}

/// A kernel with choices of every kind.
const Sample& sample() {
  static const Sample found = [] {
    for (std::uint64_t seed = 1;; ++seed) {
      Sample s{random_tile_kernel(seed), {}};
      s.tiles = solve_tiles(lower_tiles(s.kernel, "k", kTileMachine, "m"), with_evidence());
      if (s.tiles.chosen && first(s.tiles, TileOutcome::misfit) &&
          first(s.tiles, TileOutcome::by_bound) && first(s.tiles, TileOutcome::refuted) &&
          *s.tiles.chosen > 0 &&
          solve(s.tiles.choices[*first(s.tiles, TileOutcome::refuted)].lowered->problem).schedule)
        return s;
    }
  }();
  return found;
}

/// Writes the sample's certificate, lets `change` have it, makes the hashes those of the files.
std::string forged(const std::function<void(const std::string&, TilesManifest&)>& change) {
  const TemporaryDirectory directory;
  const std::string path = directory / "c";
  write_tiles_certificate(path, sample().tiles, {sample().kernel, kTileMachine, {}});
  const std::string file = path + "/" + kTilesFile;
  TilesManifest manifest = parse_tiles_manifest(read_file(file), file);
  change(path, manifest);
  manifest.kernel = sha256(read_file(path + "/kernel.json"));
  manifest.machine = sha256(read_file(path + "/machine.json"));
  for (std::size_t k = 0; k < manifest.choices.size(); ++k) {
    const std::string own = path + "/" + choice_folder(k) + "/manifest.json";
    if (fs::exists(own)) manifest.choices[k].manifest = sha256(read_file(own));
    if (!manifest.choices[k].misfit.empty()) manifest.choices[k].manifest.clear();
  }
  write_file(file, tiles_manifest_text(manifest));
  return verdict(path);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A certificate of its own in the place of choice k.
void put(const std::string& path, std::size_t k, const Problem& problem, const Solution& solution) {
  fs::remove_all(path + "/" + choice_folder(k));
  write_certificate(path + "/" + choice_folder(k), problem, solution);
}

const Problem& problem_of(std::size_t k) {
  return sample().tiles.choices[k].lowered->problem;
}

}  // namespace

TEST_CASE("as it was written it is accepted, and says what is proved") {
  const TemporaryDirectory directory;
  write_tiles_certificate(directory / "c", sample().tiles, {sample().kernel, kTileMachine, {}});
  const CertificateReport report = check(directory / "c");
  REQUIRE(report.accepted);
  CHECK(report.proved.back().starts_with("no choice of "));
  CHECK(contains(report.proved.back(), "ragged ends are not counted"));
  CHECK(*report.solution.schedule == *sample().tiles.solution().schedule);
  CHECK(forged([](const std::string&, TilesManifest&) {}) == "accepted");
  // What narrowed the space stands in the claim.
  LowerOptions options;
  options.values = {{"y", "2"}};
  options.layout = "two";
  const TilesSolution narrow =
      solve_tiles(lower_tiles(sample().kernel, "k", kTileMachine, "m", options), with_evidence());
  write_tiles_certificate(directory / "n", narrow, {sample().kernel, kTileMachine, options});
  const CertificateReport other = check(directory / "n");
  REQUIRE(other.accepted);
  CHECK(contains(other.proved.back(), "(with y = 2, layout two)"));
}

TEST_CASE("what lists other choices than the kernel has on the machine is refused") {
  const std::size_t misfit = *first(sample().tiles, TileOutcome::misfit);
  const std::size_t refuted = *first(sample().tiles, TileOutcome::refuted);
  const std::size_t best = *sample().tiles.chosen;
  CHECK(contains(forged([](const std::string&, TilesManifest& m) { m.choices.pop_back(); }),
                 "choices, the kernel on the machine has"));
  CHECK(contains(forged([&](const std::string& path, TilesManifest& m) {
                   m.choices.erase(m.choices.begin() + static_cast<std::ptrdiff_t>(refuted));
                   if (best > refuted) --*m.best;
                   fs::remove_all(path + "/" + choice_folder(refuted));
                 }),
                 "choices, the kernel on the machine has"));
  CHECK(contains(forged([&](const std::string&, TilesManifest& m) { ++m.choices[best].work; }),
                 " has work "));
  CHECK(contains(forged([&](const std::string&, TilesManifest& m) {
                   m.choices[refuted].values[0].second = "7";
                 }),
                 "other values or another layout"));
  CHECK(contains(
      forged([&](const std::string&, TilesManifest& m) { m.choices[refuted].layout = "none"; }),
      "other values or another layout"));
  CHECK(contains(forged([&](const std::string&, TilesManifest& m) {
                   m.choices[refuted].misfit = "it is too large";
                 }),
                 "its layout can hold it"));
  CHECK(contains(
      forged([&](const std::string&, TilesManifest& m) { m.choices[misfit].misfit = "because"; }),
      "choice " + std::to_string(misfit) + ": "));
  CHECK(contains(forged([&](const std::string&, TilesManifest& m) { m.work_unit = "bytes"; }),
                 "the kernel's work is in things"));
  // Another kernel or machine.
  CHECK(forged([](const std::string& path, TilesManifest&) {
          edit(path + "/kernel.json", [](std::string& t) {
            replace(t, "\"y\": {\"values\": [1, 2]", "\"y\": {\"values\": [1]");
          });
        }) != "accepted");
  CHECK(forged([](const std::string& path, TilesManifest&) {
          edit(path + "/machine.json",
               [](std::string& t) { replace(t, "\"registers\": 6", "\"registers\": 2"); });
        }) != "accepted");
  CHECK(forged([](const std::string& path, TilesManifest&) {
          edit(path + "/machine.json", [](std::string& t) { replace(t, "\"V\": 2", "\"V\": 1"); });
        }) != "accepted");
  CHECK(forged([](const std::string&, TilesManifest& m) {
          m.options.values = {{"y", "2"}};
        }) != "accepted");
}

TEST_CASE("certificates of choices: exchanged, missing, of less than is needed") {
  const std::size_t refuted = *first(sample().tiles, TileOutcome::refuted);
  const std::size_t bound = *first(sample().tiles, TileOutcome::by_bound);
  const std::size_t best = *sample().tiles.chosen;
  CHECK(forged([&](const std::string& path, TilesManifest&) {
          fs::rename(path + "/" + choice_folder(refuted), path + "/x");
          fs::rename(path + "/" + choice_folder(bound), path + "/" + choice_folder(refuted));
          fs::rename(path + "/x", path + "/" + choice_folder(bound));
        }) != "accepted");
  CHECK(forged([&](const std::string& path, TilesManifest&) {
          fs::remove_all(path + "/" + choice_folder(bound));
        }) != "accepted");
  // One that is itself a certificate of tiles says nothing of its problem.
  CHECK(forged([&](const std::string& path, TilesManifest&) {
          const std::string folder = path + "/" + choice_folder(refuted);
          for (const char* const name : {"kernel.json", "machine.json"})
            fs::copy_file(path + "/" + name, folder + "/" + name);
          write_file(folder + "/" + kTilesFile, "{}");
          fs::remove(folder + "/schedule.json");
        }) != "accepted");
  // True, and weaker: each certificate is accepted alone.
  Solution weak;
  weak.problem = problem_of(refuted).name;
  weak.stages = "complete";
  weak.engine = "order";
  weak.status = Status::infeasible;
  weak.options = {{kBetterOption, better_than_text({1, 0})}};
  const std::string less = forged([&](const std::string& path, TilesManifest&) {
    put(path, refuted, problem_of(refuted), weak);
    CHECK(verdict(path + "/" + choice_folder(refuted)) == "accepted");
  });
  CHECK(contains(less, "is not proved to"));
  Solution open = weak;
  open.status = Status::unknown;
  open.options.clear();
  open.ii_lower_bound = 1;
  CHECK(contains(forged([&](const std::string& path, TilesManifest&) {
                   put(path, refuted, problem_of(refuted), open);
                 }),
                 "is not proved to"));
  // Of fewer schedules than those of the others.
  Options narrow = with_evidence();
  narrow.stages = "1";
  CHECK(contains(forged([&](const std::string& path, TilesManifest&) {
                   put(path, refuted, problem_of(refuted), solve(problem_of(refuted), narrow));
                 }),
                 "is about other schedules"));
  // Of register splits, none of which has what the problem has.
  RegisterPool pool;
  pool.min = pool.max = pool.launch = 0;
  for (int w = 0; w < static_cast<int>(problem_of(refuted).warps.size()); ++w)
    pool.shares.push_back({{w}, 1, 0});
  pool.granule = 1;
  const SplitSolution nothing = solve_split(problem_of(refuted), pool, with_evidence());
  if (nothing.solution.status == Status::infeasible) {
    const std::string of_splits = forged([&](const std::string& path, TilesManifest&) {
      put(path, refuted, nothing.problem, nothing.solution);
      CHECK(verdict(path + "/" + choice_folder(refuted)) == "accepted");
    });
    CHECK(contains(of_splits, "has a register split, which was no choice"));
  }
  CHECK(nothing.solution.status == Status::infeasible);
  CHECK(nothing.problem == problem_of(refuted));
  Options one = with_evidence();
  one.ii = 40;
  CHECK(forged([&](const std::string& path, TilesManifest&) {
          put(path, refuted, problem_of(refuted), solve(problem_of(refuted), one));
        }) != "accepted");
  // The best one must be called so, and be no worse than the others.
  CHECK(contains(forged([&](const std::string& path, TilesManifest& m) {
                   m.best = refuted;
                   put(path, refuted, problem_of(refuted),
                       solve(problem_of(refuted), with_evidence()));
                 }),
                 " is not proved to"));
  CHECK(forged([&](const std::string&, TilesManifest& m) { m.best = refuted; }) != "accepted");
  CHECK(forged([&](const std::string&, TilesManifest& m) {
          m.best = *first(sample().tiles, TileOutcome::misfit);
        }) != "accepted");
  CHECK(contains(forged([&](const std::string&, TilesManifest& m) { m.best.reset(); }),
                 "may have a schedule"));
  const Problem& loop = problem_of(best);
  Solution feasible = solve(loop, with_evidence());
  feasible.status = Status::feasible;
  CHECK(contains(
      forged([&](const std::string& path, TilesManifest&) { put(path, best, loop, feasible); }),
      "is not called optimal"));
}

TEST_CASE("a claim of nothing better: only what is proved, and only of none") {
  const Problem& loop = problem_of(*sample().tiles.chosen);
  const Solution best = solve(loop, with_evidence());
  REQUIRE(best.schedule);
  const Cycle ii = best.schedule->initiation_interval, length = best.schedule->length;
  const auto said = [&](std::pair<Cycle, Cycle> than, Status status = Status::infeasible) {
    Solution solution = best;
    solution.options.emplace_back(kBetterOption, better_than_text(than));
    solution.status = status;
    if (status == Status::infeasible) solution.schedule.reset();
    const TemporaryDirectory directory;
    try {
      write_certificate(directory / "c", loop, solution);
    } catch (const InputError&) {
      return std::string("not written");
    }
    return verdict(directory / "c");
  };
  CHECK(said({ii, length}) == "accepted");
  CHECK(said({ii, 0}) == "accepted");
  CHECK(said({ii, length + 1}) == "not written");
  CHECK(said({ii + 1, 0}) == "not written");
  CHECK(said({ii, length}, Status::optimal) == "not written");
  // The same claims in a manifest that somebody else wrote.
  for (const std::string value : {"0, 3", "1,2", "x", "1, 0", "1, 2, 3", ""}) {
    Solution solution = best;
    solution.schedule.reset();
    solution.status = Status::infeasible;
    solution.options.emplace_back(kBetterOption, value);
    CHECK(asked_of(solution).unreadable != "");
  }
}

}  // namespace tiles_certificate_test
