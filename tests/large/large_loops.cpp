// large_loops [--loops N] [--seed S] [--low OPS] [--high OPS] [--seconds T] [--certificates K]
//
// Loops S, S + 1, ... S + N - 1 of --low to --high ops (20 to 200), with every feature: random ones
// with channels, loads in flight, rings and pins of all kinds, hidden schedules, loops in layers.
// Each is solved by both engines, T seconds each, by the order engine on three threads too (every
// fourth, with a limit of conflicts), and with a certificate (every K-th). Asked of them:
//   - verify() accepts every schedule;
//   - what one engine proves, no schedule of the other contradicts: no smaller I, at this I none
//     shorter, none at all; and where both prove an optimum, it is the same;
//   - a hidden schedule is no better than what is proved;
//   - three threads find the same schedule and prove the same as one;
//   - check_certificate() accepts.
// Prints each fault with its seed, and what was met. Exit code 1 where there was one. The runs so
// far are recorded in bench/results/hard.md. A change of the generators changes what a seed stands
// for.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "engine/include/twill.hpp"
#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/index.hpp"
#include "graph/synthetic.hpp"
#include "tests/support/random_loop.hpp"

using namespace twill;
using namespace twill::test;

namespace {

struct LargeSettings {
  std::uint64_t loops = 100, seed = 1;
  int low = 20, high = 60, certificates = 8;
  double seconds = 10;
  std::string folder;  // of certificates, "" = none
};

struct LargeCase {
  std::string kind;
  Problem problem;
  std::optional<Schedule> hidden;
};

void add_pins(Problem& problem, Random& random) {
  const int ops = static_cast<int>(problem.ops.size());
  const auto op = [&] { return static_cast<int>(random.range(0, ops - 1)); };
  for (int left = static_cast<int>(random.range(1, 3)); left > 0; --left) {
    Pin pin;
    pin.op = op();
    switch (random.range(0, 3)) {
      case 0:
        pin.kind = Pin::same_slot;
        pin.other = op();
        break;
      case 1:
        pin.kind = Pin::other_slot;
        pin.other = op();
        break;
      case 2:
        pin.kind = Pin::at_stage;
        pin.stage = random.range(0, 2);
        break;
      default:
        pin.kind = Pin::on_slot;
        pin.slot =
            static_cast<int>(random.range(0, static_cast<std::int64_t>(problem.warps.size()) - 1));
    }
    problem.pins.push_back(pin);
    try {
      check(problem);
    } catch (const InputError&) {
      problem.pins.pop_back();
    }
  }
}

LargeCase large_case(std::uint64_t seed, const LargeSettings& settings) {
  Random random(seed);
  const int ops = static_cast<int>(random.range(settings.low, settings.high));
  const Cycle longest = random.percent(50) ? 4 : random.percent(50) ? 12 : 200;
  LargeCase large;
  const std::int64_t kind = random.range(0, 9);
  if (kind < 2) {
    HiddenKnobs knobs{seed, ops, 3, longest, 8, 60};
    knobs.filled = static_cast<int>(random.range(60, 100));
    HiddenLoop loop = hidden_loop(knobs);
    return {"hidden", std::move(loop.problem), std::move(loop.schedule)};
  }
  if (kind < 4) {
    SyntheticLoop knobs;
    knobs.seed = seed;
    knobs.ops = ops;
    knobs.width = std::max(2, ops / 5);
    knobs.recurrences = std::max(1, ops / 12);
    knobs.longest = longest;
    knobs.pressure = static_cast<int>(random.range(0, 90));
    large = {"layers", synthetic_loop(knobs), {}};
  } else {
    LoopKnobs knobs;
    knobs.min_ops = knobs.max_ops = ops;
    knobs.max_cycles = longest;
    knobs.max_capacity = 4;
    knobs.max_slots = 4;
    knobs.max_edges_per_op = 2;
    knobs.max_hold = longest;
    knobs.max_spill = longest;
    knobs.multi_segment = random.percent(30);
    knobs.flight = random.percent(50);
    knobs.max_channels = random.percent(50) ? 2 : 0;
    const bool rings = random.percent(30);
    large = {
        rings ? "rings" : "random", rings ? ring_loop(seed, knobs) : random_loop(seed, knobs), {}};
    // Slots and memories are for five ops: with so many more there is mostly no schedule.
    for (WarpSlot& slot : large.problem.warps) slot.registers *= ops / random.range(2, 6);
    for (Memory& memory : large.problem.memories) memory.capacity *= ops / random.range(2, 6);
  }
  if (random.percent(30)) add_pins(large.problem, random);
  check(large.problem);
  return large;
}

using Tally = std::map<std::string, std::int64_t>;

// What `proved` says against the schedule; "" = nothing.
std::string contradiction(const Solution& proved, const Schedule& schedule) {
  if (proved.status == Status::infeasible) return "a schedule where none was proved";
  if (schedule.initiation_interval < proved.ii_lower_bound)
    return "I = " + std::to_string(schedule.initiation_interval) + " below a proved " +
           std::to_string(proved.ii_lower_bound);
  if (proved.schedule && proved.schedule->initiation_interval == schedule.initiation_interval &&
      schedule.length < proved.length_lower_bound)
    return "L = " + std::to_string(schedule.length) + " below a proved " +
           std::to_string(proved.length_lower_bound);
  return {};
}

bool same(const std::optional<Schedule>& a, const std::optional<Schedule>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->initiation_interval == b->initiation_interval && a->start == b->start &&
                a->warp == b->warp);
}

std::string fault(const LargeCase& large, std::uint64_t seed, const LargeSettings& settings,
                  Tally& tally) {
  const Problem& problem = large.problem;
  Options options;
  options.threads = 1;
  options.explain = false;
  options.time_limit = settings.seconds;
  options.memory_limit = std::int64_t{2} << 30;
  options.search_engine = EngineChoice::order;
  options.evidence = !settings.folder.empty() && seed % at(settings.certificates) == 0;
  const Solution order = solve(problem, options);
  options.evidence = false;
  options.search_engine = EngineChoice::time_indexed;
  const Solution clauses = solve(problem, options);
  ++tally["order " + std::string(to_string(order.status))];
  ++tally["time_indexed " + std::string(to_string(clauses.status))];
  for (const Solution* one : {&order, &clauses}) {
    if (!one->schedule) continue;
    if (const auto violation = verify(problem, *one->schedule)) return "verify: " + violation->text;
    for (const Solution* other : {&order, &clauses})
      if (const std::string text = contradiction(*other, *one->schedule); !text.empty())
        return "engines: " + text;
  }
  if (large.hidden)
    for (const Solution* one : {&order, &clauses})
      if (const std::string text = contradiction(*one, *large.hidden); !text.empty())
        return "hidden: " + text;
  if (settings.folder.empty() == false && seed % at(settings.certificates) == 0 &&
      (order.status == Status::optimal || order.status == Status::infeasible)) {
    const std::string folder = settings.folder + "/" + std::to_string(seed);
    write_certificate(folder, problem, order);
    const CertificateReport report = check_certificate(folder);
    std::filesystem::remove_all(folder);
    if (!report.accepted) return "certificate: " + report.refusal;
    ++tally["certificates"];
  }
  if (seed % 4 == 0) {
    options.search_engine = EngineChoice::order;
    options.time_limit = 0;
    options.conflict_limit = 3'000;
    const Solution alone = solve(problem, options);
    options.threads = 3;
    const Solution three = solve(problem, options);
    if (!same(alone.schedule, three.schedule) || alone.status != three.status ||
        alone.ii_lower_bound != three.ii_lower_bound ||
        alone.length_lower_bound != three.length_lower_bound)
      return "threads: another answer with three";
    ++tally["threads"];
  }
  return {};
}

void print(std::uint64_t done, std::int64_t faults, const Tally& tally) {
  std::printf("%llu loops, %lld faults", static_cast<unsigned long long>(done),
              static_cast<long long>(faults));
  for (const auto& [name, count] : tally)
    std::printf(", %s %lld", name.c_str(), static_cast<long long>(count));
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  LargeSettings settings;
  settings.folder = "/dev/shm/twill-large-" + std::to_string(::getpid());
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const char* value = i + 1 < count ? arguments[++i] : "";
    if (name == "--loops")
      settings.loops = std::strtoull(value, nullptr, 10);
    else if (name == "--seed")
      settings.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--low")
      settings.low = std::atoi(value);
    else if (name == "--high")
      settings.high = std::atoi(value);
    else if (name == "--seconds")
      settings.seconds = std::atof(value);
    else if (name == "--certificates")
      settings.certificates = std::atoi(value);
    else
      return std::fprintf(stderr, "large_loops: unknown argument %s\n", name.c_str()), 2;
  }
  if (settings.low < 2 || settings.high < settings.low || settings.high > 1000 ||
      settings.certificates < 0)
    return std::fprintf(stderr, "large_loops: ops of 2 to 1000, certificates of 0 (none) on\n"), 2;
  if (settings.certificates == 0) settings.folder.clear();
  if (!settings.folder.empty()) std::filesystem::create_directories(settings.folder);
  Tally tally;
  std::int64_t faults = 0;
  for (std::uint64_t done = 0; done < settings.loops; ++done) {
    const std::uint64_t seed = settings.seed + done;
    const LargeCase large = large_case(seed, settings);
    ++tally[large.kind];
    std::string wrong;
    try {
      wrong = fault(large, seed, settings, tally);
    } catch (const std::exception& error) {
      wrong = std::string("exception: ") + error.what();
    }
    if (!wrong.empty()) {
      ++faults;
      std::printf("seed %llu (%s, %zu ops): %s\n", static_cast<unsigned long long>(seed),
                  large.kind.c_str(), large.problem.ops.size(), wrong.c_str());
      std::fflush(stdout);
    }
    if ((done + 1) % 20 == 0) print(done + 1, faults, tally);
  }
  print(settings.loops, faults, tally);
  if (!settings.folder.empty()) std::filesystem::remove_all(settings.folder);
  return faults == 0 ? 0 : 1;
}
