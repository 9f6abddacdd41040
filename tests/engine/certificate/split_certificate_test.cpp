// Certificates of register splits: covers against lists of all splits, the answers for random loops
// and pools, and forgeries.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/claims.hpp"
#include "engine/certificate/manifest.hpp"
#include "engine/certificate/split_cover.hpp"
#include "engine/include/twill.hpp"
#include "graph/lowering/machine.hpp"
#include "tests/support/forgery.hpp"
#include "tests/support/random_pool.hpp"
#include "tests/support/streaming.hpp"
#include "tests/support/temporary_directory.hpp"

namespace split_certificate_test {

using namespace twill;
using namespace twill::test;

namespace {

LoopKnobs small_loops() {
  LoopKnobs knobs;
  knobs.min_ops = 3;
  knobs.max_ops = 6;
  knobs.max_memories = 0;
  knobs.max_slots = 4;
  knobs.max_registers = 5;
  return knobs;
}

/// May shares change places? Said again, without a thought of classes.
bool alike(const Problem& problem, const RegisterPool& pool, std::size_t a, std::size_t b) {
  const auto slots = [&](std::size_t s) {
    std::vector<std::pair<int, bool>> all;
    for (const int w : pool.shares[s].slots) {
      const WarpSlot& slot = problem.warps[static_cast<std::size_t>(w)];
      all.emplace_back(slot.width, slot.variable_latency);
    }
    return all;
  };
  return pool.shares[a].warpgroups == pool.shares[b].warpgroups && slots(a) == slots(b);
}

/// Is a rearrangement of the split among such shares below a corner? By trying all.
bool below_some(const Problem& problem, const RegisterPool& pool, const RegisterCounts& split,
                const std::vector<RegisterCounts>& corners, bool pinned) {
  std::vector<std::size_t> from(split.size());
  std::iota(from.begin(), from.end(), 0);
  do {
    bool allowed = true;
    RegisterCounts moved;
    for (std::size_t s = 0; s < from.size(); ++s) {
      allowed = allowed && (from[s] == s || (!pinned && alike(problem, pool, s, from[s])));
      moved.push_back(split[from[s]]);
    }
    const auto above = [&](const RegisterCounts& corner) {
      for (std::size_t s = 0; s < moved.size(); ++s)
        if (moved[s] > corner[s]) return false;
      return true;
    };
    if (allowed && std::any_of(corners.begin(), corners.end(), above)) return true;
  } while (std::next_permutation(from.begin(), from.end()));
  return false;
}

/// A loop with all the registers that its slots have in any split, and its pool.
struct Pooled {
  Problem problem;
  RegisterPool pool;
};
Pooled pooled(std::uint64_t seed, Random& random) {
  LoopKnobs knobs = small_loops();
  knobs.flight = seed % 2 == 0;
  knobs.max_channels = seed % 3 == 0 ? 1 : 0;
  Pooled p{random_loop(seed, knobs), {}};
  p.pool = random_pool(p.problem, random);
  p.problem = with_counts(p.problem, p.pool, most(p.pool));
  return p;
}

/// What `check` found, or why it refuses.
std::string certified(const std::string& path, const SplitSolution& split) {
  write_certificate(path, split.problem, split.solution);
  const CertificateReport report = check(path);
  if (!report.accepted) return report.refusal;
  std::string all;
  for (const std::string& line : report.proved) all += line + "\n";
  return all;
}

/// A loop and a pool whose cover takes several corners, and refutations.
Pooled branching() {
  for (std::uint64_t seed = 1;; ++seed) {
    Random random(seed);
    Pooled p = pooled(seed, random);
    Options options;
    options.evidence = true;
    const SplitSolution split = solve_split(p.problem, p.pool, options);
    if (!split.solution.schedule || split.solution.evidence->split()->corners.size() < 3) continue;
    const TemporaryDirectory directory;
    const std::string proved = certified(directory / "c", split);
    if (proved.find(": refutation split-") != std::string::npos) return p;
  }
}

}  // namespace

TEST_CASE("corners cover all splits if and only if each split is below one") {
  int covered = 0, uncovered = 0, only_unpinned = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Pooled p = pooled(seed, random);
    const std::vector<RegisterCounts> splits = all_splits(p.pool);
    if (splits.size() > 300) continue;
    RegisterSplit split{p.pool, {}, {}};
    const Cycle corners = random.range(0, 6);
    for (Cycle c = 0; c < corners; ++c) {
      RegisterCounts corner = most(p.pool);
      for (Amount& count : corner)
        if (random.percent(50)) count = random.range(least_count(p.pool), count);
      split.corners.push_back(corner);
    }
    bool covers[2];
    for (const bool pinned : {false, true}) {
      const bool all = std::all_of(splits.begin(), splits.end(), [&](const RegisterCounts& s) {
        return below_some(p.problem, p.pool, s, split.corners, pinned);
      });
      const std::string fault = cover_fault(p.problem, split, pinned);
      CHECK(fault.empty() == all);
      if (!all) CHECK(fault.ends_with(" is below no corner"));
      ++(all ? covered : uncovered);
      covers[pinned ? 1 : 0] = all;
    }
    only_unpinned += covers[0] && !covers[1] ? 1 : 0;
  }
  CHECK(covered > 100);
  CHECK(uncovered > 100);
  CHECK(only_unpinned > 5);
}

TEST_CASE("random loops and pools: what is found is certified, whatever was asked for") {
  int several = 0, refuted = 0, none = 0, stopped = 0, at_one = 0, pins = 0;
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Pooled p = pooled(seed, random);
    const std::vector<RegisterCounts> splits = all_splits(p.pool);
    if (splits.size() > 100) continue;
    Options options;
    options.explain = false;
    options.engine = random.percent(30) ? "time_indexed" : "order";
    if (random.percent(20)) options.stages = std::to_string(random.range(1, 3));
    if (random.percent(20)) options.ii = random.range(1, 8);
    if (random.percent(20)) options.handover = false;
    if (random.percent(20))
      for (int w = 0; w < static_cast<int>(p.problem.warps.size()); ++w)
        if (options.pins.empty() && slot_allowed(p.problem, 0, w))
          options.pins = {{p.problem.ops[0].id, p.problem.warps[static_cast<std::size_t>(w)].name}};
    std::optional<std::pair<Cycle, Cycle>> best;
    for (const RegisterCounts& counts : splits) {
      const Solution one = solve(with_counts(p.problem, p.pool, counts), options);
      if (!one.schedule) continue;
      const std::pair value{one.schedule->initiation_interval, one.schedule->length};
      if (!best || value < *best) best = value;
    }
    const SplitSolution without = solve_split(p.problem, p.pool, options);
    options.evidence = true;
    if (random.percent(20)) {
      options.conflict_limit = random.range(1, 4);
      options.threads = 1;
    }
    const SplitSolution split = solve_split(p.problem, p.pool, options);
    const TemporaryDirectory directory;
    const std::string proved = certified(directory / "c", split);
    CAPTURE(proved);
    const auto says = [&](const std::string& text) {
      return proved.find(text) != std::string::npos;
    };
    if (split.solution.status == Status::feasible || split.solution.status == Status::unknown) {
      REQUIRE(options.conflict_limit > 0);
      if (options.ii && split.solution.status == Status::unknown) {
        CHECK(!says("no register split"));
      } else if (!options.ii) {
        CHECK(says("no register split has a schedule with I < " +
                   std::to_string(split.solution.ii_lower_bound)));
        if (best) CHECK(split.solution.ii_lower_bound <= best->first);
      }
      ++stopped;
      continue;
    }
    CHECK(split.solution.schedule == without.solution.schedule);
    CHECK(split.counts == without.counts);
    REQUIRE(split.solution.schedule.has_value() == best.has_value());
    if (!best) {
      CHECK(says(options.ii
                     ? "no register split has a schedule with I = " + std::to_string(*options.ii)
                     : "no register split has a schedule: "));
    } else {
      CHECK(std::pair{split.solution.schedule->initiation_interval,
                      split.solution.schedule->length} == *best);
      CHECK(says((options.ii ? "with I = " : "nor one with I = ") + std::to_string(best->first) +
                 " and L < " + std::to_string(best->second)));
      if (!options.ii) CHECK(says("no register split has a schedule with I < "));
    }
    none += best ? 0 : 1;
    at_one += options.ii && best ? 1 : 0;
    pins += options.pins.empty() ? 0 : 1;
    several += split.solution.evidence->split()->corners.size() > 1 ? 1 : 0;
    refuted += says(": refutation split-") ? 1 : 0;
  }
  CHECK(several > 4);
  CHECK(refuted > 50);
  CHECK(none > 20);
  CHECK(stopped > 5);
  CHECK(at_one > 5);
  CHECK(pins > 15);
}

TEST_CASE("a forger who mends hashes and claims is refused") {
  const Pooled p = branching();
  Options options;
  options.evidence = true;
  const SplitSolution split = solve_split(p.problem, p.pool, options);
  const TemporaryDirectory directory;
  int number = 0;
  // Changes the manifest and says what a certificate with it would have to say.
  const auto forged = [&](const std::function<void(Manifest&)>& change) {
    const std::string copy = directory / std::to_string(++number);
    write_certificate(copy, split.problem, split.solution);
    const Problem problem = read_problem(copy + "/problem.json");
    const std::string path = copy + "/manifest.json";
    Manifest manifest = parse_manifest(problem, read_file(path), path);
    change(manifest);
    mend_names(copy, manifest);
    const Solution solution = read_schedule(problem, copy + "/schedule.json");
    manifest.claims = claims_of(problem, solution, manifest.refutations, manifest.names,
                                manifest.split ? &*manifest.split : nullptr)
                          .claims;
    write_file(path, manifest_text(problem, manifest));
    return verdict(copy);
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  REQUIRE(forged([](Manifest&) {}) == "accepted");
  const std::size_t corners = split.solution.evidence->split()->corners.size();
  const std::size_t shares = p.pool.shares.size();
  for (std::size_t c = 0; c < corners; ++c) {
    contains(forged([&](Manifest& m) {
               m.split->corners.erase(m.split->corners.begin() + static_cast<std::ptrdiff_t>(c));
             }),
             "is below no corner");
    contains(forged([&](Manifest& m) {
               for (Amount& count : m.split->corners[c]) count = 0;
             }),
             "is below no corner");
    // Above all corners there is a better schedule, or the corners would not be several.
    contains(forged([&](Manifest& m) { m.split->corners[c] = most(p.pool); }), "not proved: with ");
    CHECK(forged([&](Manifest& m) { m.split->corners[c].pop_back(); }) != "accepted");
  }
  // More to choose from, which the corners do not cover; or a split that is none.
  contains(forged([](Manifest& m) { m.split->pool.launch += 50 * m.split->pool.granule; }),
           "not proved: the schedule's option registers at launch");
  RegisterPool wider = p.pool;
  wider.max += 50 * wider.granule;
  const std::vector<RegisterCounts> splits = all_splits(wider);
  const bool still = std::all_of(splits.begin(), splits.end(), [&](const RegisterCounts& s) {
    return below_some(p.problem, wider, s, split.solution.evidence->split()->corners, false);
  });
  CHECK((forged([&](Manifest& m) { m.split->pool.max = wider.max; }) == "accepted") == still);
  CHECK(forged([](Manifest& m) { m.split->pool.resident += 1; }) != "accepted");
  contains(forged([](Manifest& m) { m.split->counts[0] += m.split->pool.granule; }),
           " is no split of the pool");
  contains(forged([](Manifest& m) { m.split->counts.clear(); }),
           "which register split the schedule is for");
  contains(forged([&](Manifest& m) {
             for (std::size_t s = 0; s < shares; ++s) m.split->counts[s] = least_count(p.pool);
           }),
           "the problem's slots do not have the registers of");
  CHECK(forged([](Manifest& m) { m.split->pool.shares.pop_back(); }) != "accepted");
  contains(forged([](Manifest& m) { m.split->pool.shares[0].warpgroups = 0; }),
           "must be an integer");
  contains(forged([](Manifest& m) { m.split->pool.shares[0].warpgroups += 1; }), "not proved: ");
  // Refutations of other counts than they are of: the formula is another one, or of no use.
  bool changed = false;
  const auto relabelled = [&](Amount more) {
    return forged([&](Manifest& m) {
      for (Refutation& r : m.refutations) {
        changed = changed || !r.counts.empty();
        for (Amount& count : r.counts) count = std::max<Amount>(0, count + more);
      }
    });
  };
  contains(relabelled(100), ".");
  contains(relabelled(-100), ".");
  CHECK(changed);
  contains(forged([](Manifest& m) {
             for (Refutation& r : m.refutations) r.counts.clear();
           }),
           ".");
  // Without the split, or as if it had not been a choice.
  contains(forged([](Manifest& m) {
             m.split.reset();
             for (Refutation& r : m.refutations) r.counts.clear();
           }),
           ".");
  for (std::size_t i = 0;; ++i) {
    bool last = false;
    const std::string said = forged([&](Manifest& m) {
      last = i + 1 >= m.refutations.size();
      for (const char* ending : kProofEndings)
        std::erase_if(m.files, [&](const auto& file) {
          return file.first == "proofs/" + m.names[i] + ending;
        });
      m.refutations.erase(m.refutations.begin() + static_cast<std::ptrdiff_t>(i));
      m.names.erase(m.names.begin() + static_cast<std::ptrdiff_t>(i));
    });
    contains(said, "not proved: with ");
    if (last) break;
  }
}

TEST_CASE("a flipped bit of a manifest's split and of what is claimed is refused") {
  const Pooled p = branching();
  Options options;
  options.evidence = true;
  const SplitSolution split = solve_split(p.problem, p.pool, options);
  const TemporaryDirectory directory;
  write_certificate(directory / "c", split.problem, split.solution);
  const std::string path = directory / "c/manifest.json", good = read_file(path);
  const std::size_t end = good.find("\"refutations\": [");
  REQUIRE(end != std::string::npos);
  REQUIRE(good.find("\"register_split\": {") < end);
  Random random(7);
  for (std::size_t place = 0; place < end; place += 13) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 1 << random.range(0, 7));
    write_file(path, bad);
    const std::string around = bad.substr(place < 30 ? 0 : place - 30, 60);
    CAPTURE(around);
    CHECK(verdict(directory / "c") != "accepted");
  }
  write_file(path, good);
  CHECK(verdict(directory / "c") == "accepted");
}

TEST_CASE("a certificate of one problem is not passed off as one of all splits") {
  const Pooled p = branching();
  // The best of a poor split, which is proved; that it is the best of all splits is not.
  const Problem poor =
      with_counts(p.problem, p.pool, RegisterCounts(p.pool.shares.size(), least_count(p.pool)));
  Options options;
  options.evidence = true;
  Solution solution = solve(poor, options);
  const TemporaryDirectory directory;
  write_certificate(directory / "one", poor, solution);
  CHECK(verdict(directory / "one") == "accepted");
  solution.options.emplace_back("registers", "auto");
  CHECK_THROWS_AS(write_certificate(directory / "a", poor, solution), InputError);
  // Nor one of all splits as one of a problem whose bounds it does not have.
  SplitSolution split = solve_split(p.problem, p.pool, options);
  std::erase_if(split.solution.options, [](const auto& o) { return o.first == "registers"; });
  CHECK_THROWS_AS(write_certificate(directory / "b", split.problem, split.solution), InputError);
  // Nor for more registers than the split gives.
  split = solve_split(p.problem, p.pool, options);
  Problem more = split.problem;
  for (WarpSlot& slot : more.warps) ++slot.registers;
  CHECK_THROWS_AS(write_certificate(directory / "c", more, split.solution), InputError);
  write_certificate(directory / "d", split.problem, split.solution);
  CHECK(verdict(directory / "d") == "accepted");
}

TEST_CASE("attention: goals, pins and operands held, with all splits certified") {
  LowerOptions lowering = streaming_loads();
  lowering.choose_registers = true;
  lowering.layout = "2x4";
  Lowered loop = lower(builtin_kernel("hopper-fwd-sub2", "hopper"), "hopper-fwd-sub2",
                       builtin_machine("hopper"), "hopper", lowering)
                     .front();
  const TemporaryDirectory directory;
  Options options;
  options.evidence = true;
  options.goals = {"slots"};
  const std::string free =
      certified(directory / "free", solve_split(loop.problem, *loop.pool, options));
  CAPTURE(free);
  CHECK(
      free.starts_with("the problem has a register split, 24 of load + aux, 240 of wg0, 240 of "
                       "wg1: multiples of 8 from 24 to 240 that add up to 504 "));
  CHECK(free.find("no register split has a schedule with I < 2048, nor one with I = 2048 and L < "
                  "3072: every split (counts of slots that can change places in any order) ") !=
        std::string::npos);
  CHECK(free.find("with the problem's own split: at I = 2048 and L = 3072, slots is not below ") !=
        std::string::npos);
  loop.problem.pins.push_back({Pin::on_slot, 0, 2, -1, -1});
  if (!slot_fits(loop.problem, 0, 2)) loop.problem.pins.front().slot = 0;
  const std::string pinned =
      certified(directory / "pinned", solve_split(loop.problem, *loop.pool, options));
  CAPTURE(pinned);
  CHECK(pinned.find("no register split has a schedule with I < ") != std::string::npos);
  CHECK(pinned.find("change places") == std::string::npos);
}

}  // namespace split_certificate_test
