// Schedules become programs that the judge accepts: random loops and the built-in attention
// kernels. Programs that were made wrong are refused: a wait less, a copy less, two ops in the
// wrong order.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/program.hpp"
#include "graph/io/builtin.hpp"
#include "graph/program/compare.hpp"
#include "graph/program/derive.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/program_io.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace program_derive_test {

using namespace twill;
using program::Program;
using program::Refusal;
using program::Storage;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Amount end_of(const Storage& s) {
  const Amount step = (s.size + s.alignment - 1) / s.alignment * s.alignment;
  return s.base + step * (s.depth - 1) + s.size;
}

/// Storages name again what they share addresses with.
void settle_shares(Program& p) {
  for (std::size_t a = 0; a < p.storages.size(); ++a) {
    p.storages[a].shares.clear();
    for (std::size_t b = 0; b < p.storages.size(); ++b) {
      const Storage &s = p.storages[a], &t = p.storages[b];
      if (a != b && s.kind == Storage::in_memory && t.kind == Storage::in_memory &&
          s.memory == t.memory && s.base < end_of(t) && t.base < end_of(s))
        p.storages[a].shares.push_back(static_cast<int>(b));
    }
  }
}

/// Two neighbours of a slot change places.
Program swapped(const Program& program, int v) {
  Program p = program;
  std::swap(p.ops[static_cast<std::size_t>(v)], p.ops[static_cast<std::size_t>(v) + 1]);
  const auto other = [&](int op) { return op == v ? v + 1 : op == v + 1 ? v : op; };
  for (auto& event : p.events) event.op = other(event.op);
  for (auto& wait : p.waits) wait.before = other(wait.before);
  std::stable_sort(p.waits.begin(), p.waits.end(),
                   [](const auto& a, const auto& b) { return a.before < b.before; });
  return p;
}

/// Does the second of two neighbours read what the first makes in the same period, or write where
/// the first reads?
bool order_forbids(const Program& p, int v) {
  const auto reads = [&](int reader, int writer) {
    const auto &r = p.ops[static_cast<std::size_t>(reader)],
               &w = p.ops[static_cast<std::size_t>(writer)];
    return std::any_of(r.reads.begin(), r.reads.end(), [&](const program::Read& read) {
      return std::find(w.writes.begin(), w.writes.end(), read.storage) != w.writes.end() &&
             r.stage + read.distance == w.stage;
    });
  };
  const auto over = [&](int reader, int writer) {
    const auto &r = p.ops[static_cast<std::size_t>(reader)],
               &w = p.ops[static_cast<std::size_t>(writer)];
    return std::any_of(r.reads.begin(), r.reads.end(), [&](const program::Read& read) {
      return std::find(w.writes.begin(), w.writes.end(), read.storage) != w.writes.end() &&
             (r.stage + read.distance - w.stage) %
                     p.storages[static_cast<std::size_t>(read.storage)].depth ==
                 0;
    });
  };
  return reads(v + 1, v) || over(v, v + 1);
}

/// Is there a shared memory in which barriers have addresses?
bool has_barrier_memory(const Program& p) {
  return std::any_of(p.memories.begin(), p.memories.end(),
                     [](const program::Memory& m) { return m.name == "smem"; });
}

struct Mutants {
  int fences = 0, fences_left = 0, barriers = 0, barriers_left = 0;
  int waits = 0, waits_left = 0;
  int depths = 0, depths_left = 0;
  int swaps = 0, swaps_left = 0;
  int phases = 0, phases_left = 0;
  std::vector<std::string> survivors;

  void of(const Program& program) {
    for (std::size_t w = 0; w < program.waits.size(); ++w) {
      Program p = program;
      p.waits.erase(p.waits.begin() + static_cast<std::ptrdiff_t>(w));
      ++waits;
      if (program::judge(p)) continue;
      ++waits_left;
      const auto& wait = program.waits[w];
      survivors.push_back(program.problem + ": wait before " +
                          program.ops[static_cast<std::size_t>(wait.before)].id + " for " +
                          program
                              .ops[static_cast<std::size_t>(
                                  program.events[static_cast<std::size_t>(wait.event)].op)]
                              .id);
    }
    for (std::size_t s = 0; s < program.storages.size(); ++s) {
      if (program.storages[s].depth == 1) continue;
      Program p = program;
      --p.storages[s].depth;
      settle_shares(p);
      ++depths;
      if (program::judge(p)) continue;
      ++depths_left;
      survivors.push_back(program.problem + ": depth of " + program.storages[s].name + " " +
                          std::to_string(program.storages[s].depth));
    }
    for (int v = 0; v + 1 < static_cast<int>(program.ops.size()); ++v) {
      if (program.ops[static_cast<std::size_t>(v)].slot !=
              program.ops[static_cast<std::size_t>(v) + 1].slot ||
          !order_forbids(program, v))
        continue;
      ++swaps;
      if (!program::judge(swapped(program, v))) ++swaps_left;
    }
    for (std::size_t v = 0; v < program.ops.size(); ++v) {
      if (!program.ops[v].fence) continue;
      Program p = program;
      p.ops[v].fence = false;
      ++fences;
      if (const auto fault = program::judge(p); !fault || fault->rule != "fence") ++fences_left;
    }
    for (std::size_t e = 0; e < program.events.size(); ++e) {
      if (program.events[e].pending) continue;
      CHECK((program.events[e].address >= 0) == has_barrier_memory(program));
      if (program.events[e].address < 0) continue;
      std::vector<Amount> wrong = {program.events[e].address + 4, Amount{1} << 39, -1};
      for (std::size_t f = 0; f < program.events.size(); ++f)
        if (f != e && !program.events[f].pending) wrong.push_back(program.events[f].address);
      for (const Storage& s : program.storages)
        if (s.kind == Storage::in_memory &&
            program.memories[static_cast<std::size_t>(s.memory)].name == "smem")
          wrong.push_back((end_of(s) - 1) / 8 * 8);
      for (const Amount address : wrong) {
        // Alone it is said of none; where nothing is known of the capacity there is no end.
        if (address == -1 && wrong.size() == 3) continue;
        const auto unknown = [](const program::Memory& m) {
          return m.name == "smem" && m.capacity < 0;
        };
        if (address == Amount{1} << 39 &&
            std::any_of(program.memories.begin(), program.memories.end(), unknown))
          continue;
        if (address == -1 && std::count_if(program.events.begin(), program.events.end(),
                                           [](const auto& event) { return !event.pending; }) == 1)
          continue;
        Program p = program;
        p.events[e].address = address;
        ++barriers;
        if (const auto fault = program::judge(p); !fault || fault->rule != "memory")
          ++barriers_left;
      }
    }
    for (std::size_t e = 0; e < program.events.size(); ++e) {
      if (program.events[e].phases < 2) continue;
      Program p = program;
      --p.events[e].phases;
      ++phases;
      if (!program::judge(p)) ++phases_left;
    }
  }
  void report() const {
    MESSAGE(waits << " waits removed, " << waits_left << " accepted; " << depths
                  << " storages a copy less, " << depths_left << " accepted; " << swaps
                  << " pairs swapped, " << swaps_left << " accepted; " << phases
                  << " barriers a phase less, " << phases_left << " accepted; " << fences
                  << " fences less, " << fences_left << " accepted; " << barriers
                  << " barriers elsewhere, " << barriers_left << " accepted");
    for (const std::string& one : survivors) MESSAGE(one);
  }
};

struct Case {
  const char *kernel, *machine;
};
const Case kAttention[] = {{"blackwell-fwd-plain", "blackwell"},
                           {"blackwell-fwd-sub2", "blackwell"},
                           {"blackwell-bwd", "blackwell"},
                           {"blackwell-bwd-sub2", "blackwell"},
                           {"hopper-fwd-plain", "hopper"},
                           {"hopper-fwd-sub2", "hopper"},
                           {"hopper-fwd-sub2-m128", "hopper"},
                           {"hopper-bwd", "hopper"},
                           {"hopper-bwd-sub2", "hopper"},
                           {"hopper-bwd-q64", "hopper"},
                           {"blackwell-fwd-sub2-chunked", "blackwell"}};

}  // namespace

TEST_CASE(
    "attention: every kernel becomes a program, every program that is made wrong is refused") {
  Mutants mutants;
  int grown = 0;
  for (const Case& c : kAttention)
    for (const std::string reading : {"", "-paper"}) {
      const std::string kernel = c.kernel, machine = c.machine + reading;
      CAPTURE(kernel);
      CAPTURE(machine);
      LayoutsSolution all;
      try {
        all =
            solve_layouts(lower(builtin_kernel(kernel), kernel, builtin_machine(machine), machine));
      } catch (const InputError& error) {
        MESSAGE(kernel << " on " << machine << ": " << error.what());
        continue;
      }
      REQUIRE(all.solution().schedule);
      const Problem& problem = all.layout().problem;
      const ProgramSolution made = solve_program(problem, all.solution());
      const auto* refusal = std::get_if<Refusal>(&made.program);
      if (refusal != nullptr) FAIL_CHECK(refusal->rule << ": " << refusal->text);
      if (refusal != nullptr) continue;
      const Program& program = std::get<Program>(made.program);
      // Where addresses cost anything, no schedule that has some is better: proved.
      if (made.solution.status != Status::optimal) {
        REQUIRE(made.placed);
        CHECK(made.placed->reached);
        ++grown;
      }
      const double begin = now();
      const auto once = program::derive(problem, *made.solution.schedule);
      const double derived = now();
      const auto fault = program::judge(program);
      const double judged = now();
      if (fault) FAIL_CHECK(fault->rule << ": " << fault->text);
      CHECK(std::get<Program>(once) == program);
      for (int n = 0; n <= 9; ++n) CHECK(!program::judge(program, n));
      const auto other = program::compare(program, problem, *made.solution.schedule);
      if (other) FAIL_CHECK(other->rule << ": " << other->text);
      Program named = program;
      named.problem_sha256 = std::string(64, '0');
      named.status = "optimal";
      CHECK(program::parse_program(program::program_text(named)) == named);
      std::map<std::string, int> per_slot;
      for (const auto& wait : program.waits)
        if (!program.events[static_cast<std::size_t>(wait.event)].pending)
          ++per_slot[program
                         .slots[static_cast<std::size_t>(
                             program.ops[static_cast<std::size_t>(wait.before)].slot)]
                         .name];
      std::string waits;
      for (const auto& [slot, count] : per_slot) waits += " " + slot + " " + std::to_string(count);
      MESSAGE(kernel << " on " << machine
                     << ": I = " << all.solution().schedule->initiation_interval << " -> "
                     << program.initiation_interval << std::string(made.again ? " (again)" : "")
                     << ", derive " << 1e3 * (derived - begin) << " ms, judge "
                     << 1e3 * (judged - derived) << " ms, barrier waits" << waits);
      CHECK(judged - begin < 1);  // a tenth of it by far, when nothing else runs
      mutants.of(program);
    }
  mutants.report();
  CHECK(mutants.waits > 300);
  CHECK(mutants.waits_left == 0);
  CHECK(mutants.swaps > 100);
  CHECK(mutants.swaps_left == 0);
  CHECK(mutants.phases_left == 0);
  CHECK(mutants.fences > 20);
  CHECK(mutants.fences_left == 0);
  CHECK(mutants.barriers > 100);
  CHECK(mutants.barriers_left == 0);
  CHECK(grown == 1);  // blackwell-bwd in the paper's reading: I = 4608, 4096 without addresses
}

TEST_CASE("random loops: what is derived is accepted and says what the schedule says") {
  std::map<std::string, int> counts;
  Mutants mutants;
  int shared = 0, crossing = 0;
  for (std::uint64_t seed = 0; seed < 4000 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 4 == 0 ? test::ring_loop(seed) : test::random_loop(seed);
    const Solution solution = solve(problem);
    if (!solution.schedule) {
      ++counts["no schedule"];
      continue;
    }
    const auto made = program::derive(problem, *solution.schedule);
    if (const auto* refusal = std::get_if<Refusal>(&made)) {
      ++counts["refused: " + refusal->rule];
      continue;
    }
    ++counts["programs"];
    Program program = std::get<Program>(made);
    const auto fault = program::judge(program);
    if (fault) FAIL_CHECK(fault->rule << ": " << fault->text);
    for (int n = 0; n <= 9; ++n) CHECK(!program::judge(program, n));
    const auto other = program::compare(program, problem, *solution.schedule);
    if (other) FAIL_CHECK(other->rule << ": " << other->text);
    program.problem_sha256 = std::string(64, '0');
    program.status = "optimal";
    CHECK(program::parse_program(program::program_text(program)) == program);
    shared += std::any_of(program.storages.begin(), program.storages.end(),
                          [](const Storage& s) { return !s.shares.empty(); })
                  ? 1
                  : 0;
    crossing += program::channels(program).empty() ? 0 : 1;
    if (seed % 2 == 0) mutants.of(program);
  }
  for (const auto& [what, count] : counts) MESSAGE(what << " " << count);
  MESSAGE(shared << " with shared addresses, " << crossing << " with channels");
  mutants.survivors.resize(std::min<std::size_t>(mutants.survivors.size(), 5));
  mutants.report();
  CHECK(counts["programs"] > 2000 / test::kShare);
  CHECK(shared > 20 / test::kShare);
  CHECK(crossing > 500 / test::kShare);
  CHECK(mutants.waits_left == 0);
  CHECK(mutants.swaps_left == 0);
  CHECK(mutants.phases_left == 0);
  CHECK(mutants.fences > 20 / test::kShare);
  CHECK(mutants.fences_left == 0);
  CHECK(mutants.barriers > 100 / test::kShare);
  CHECK(mutants.barriers_left == 0);
}

TEST_CASE("every feasible schedule is material: random ones that verify() accepts") {
  int made = 0;
  for (std::uint64_t seed = 0; seed < 20000 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_loop(seed);
    test::Random random(seed);
    const Schedule schedule = test::random_schedule(problem, random, 12);
    const auto derived = program::derive(problem, schedule);
    if (const auto* refusal = std::get_if<Refusal>(&derived)) {
      CHECK(!refusal->text.empty());
      continue;
    }
    ++made;
    const auto fault = program::judge(std::get<Program>(derived));
    if (fault) FAIL_CHECK(fault->rule << ": " << fault->text);
    const auto other = program::compare(std::get<Program>(derived), problem, schedule);
    if (other) FAIL_CHECK(other->rule << ": " << other->text);
  }
  MESSAGE(made << " programs");
  CHECK(made > 1000 / test::kShare);
}

}  // namespace program_derive_test
