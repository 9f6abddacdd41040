// The judge of programs against exhaustive search: accepted if and only if no interleaving goes
// wrong. On random programs, most of them wrong, and on derived ones that were changed a little.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>

#include "engine/include/twill.hpp"
#include "graph/program/derive.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/judge_run.hpp"
#include "tests/support/program_search.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace program_judge_test {

using namespace twill;
using program::Ending;
using program::Program;
using program::Storage;
using test::pick;
using test::Random;

namespace {

std::size_t any_of(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.range(0, static_cast<std::int64_t>(count) - 1));
}

/// Events and arrivals, bytes and shared addresses as the rest of the program has them, so that
/// only what happens can be wrong.
void settle(Program& p) {
  for (auto& e : p.events) {
    e.bytes = 0;
    for (const int one : program::ops_of(e)) {
      const auto& op = p.ops[static_cast<std::size_t>(one)];
      if (op.ending != Ending::transaction) continue;
      for (const int s : op.writes)
        if (p.storages[static_cast<std::size_t>(s)].kind == Storage::in_memory)
          e.bytes += p.storages[static_cast<std::size_t>(s)].size;
    }
  }
  for (std::size_t a = 0; a < p.storages.size(); ++a) {
    p.storages[a].shares.clear();
    for (std::size_t b = 0; b < p.storages.size(); ++b) {
      const Storage &s = p.storages[a], &t = p.storages[b];
      if (a != b && s.kind == Storage::in_memory && t.kind == Storage::in_memory &&
          s.base < t.base + t.size * t.depth && t.base < s.base + s.size * s.depth)
        p.storages[a].shares.push_back(static_cast<int>(b));
    }
  }
  std::stable_sort(p.waits.begin(), p.waits.end(),
                   [](const auto& a, const auto& b) { return a.before < b.before; });
}

/// How far random programs reach.
struct Reach {
  int stages = 2, depth = 2, distance = 1, phases = 2, offset = 1;
};

int event_for(Program& p, int op, int waiter, Random& random, int phases) {
  const auto& o = p.ops[static_cast<std::size_t>(op)];
  const bool pending =
      o.ending == Ending::pending && o.slot == p.ops[static_cast<std::size_t>(waiter)].slot;
  for (std::size_t e = 0; e < p.events.size(); ++e)
    if (p.events[e].op == op && p.events[e].pending == pending) return static_cast<int>(e);
  program::Event event;
  event.op = op;
  event.pending = pending;
  if (!pending) {
    event.phases = pick(random, 1, phases);
    event.arrivals = 1;
  }
  p.events.push_back(event);
  return static_cast<int>(p.events.size()) - 1;
}

void add_wait(Program& p, Random& random, int before, int on, int offset, int phases) {
  if (before == on && offset == 0) return;
  p.waits.push_back(
      {before, event_for(p, on, before, random, phases), offset, program::Need::raw, -1});
}

/// Two barriers become one, at which both of their ops arrive.
void join(Program& p) {
  std::vector<std::size_t> barriers;
  for (std::size_t e = 0; e < p.events.size(); ++e)
    if (!p.events[e].pending) barriers.push_back(e);
  if (barriers.size() < 2) return;
  std::size_t first = barriers[0], second = barriers[1];
  if (p.events[first].op > p.events[second].op) std::swap(first, second);
  p.events[first].with = {p.events[second].op};
  p.events[first].arrivals = 2;
  p.events.erase(p.events.begin() + static_cast<std::ptrdiff_t>(second));
  const int gone = static_cast<int>(second);
  int kept = static_cast<int>(first);
  if (gone < kept) --kept;
  for (auto& wait : p.waits)
    wait.event = wait.event == gone ? kept : wait.event > gone ? wait.event - 1 : wait.event;
  // (Waits that are the same now stay: two of one barrier.)
}

Program random_program(Random& random, const Reach& reach = {}) {
  Program p;
  p.initiation_interval = 1;
  const int slots = pick(random, 1, 3), ops = pick(random, 2, 4);
  for (int s = 0; s < slots; ++s) p.slots.push_back({"w" + std::to_string(s), 1, 0});
  p.memories.push_back({"smem", -1});
  std::vector<int> slot(static_cast<std::size_t>(ops));
  for (int& s : slot) s = pick(random, 0, slots - 1);
  std::sort(slot.begin(), slot.end());
  for (int v = 0; v < ops; ++v) {
    program::Op op;
    op.id = std::string(1, static_cast<char>('a' + v));
    op.slot = slot[static_cast<std::size_t>(v)];
    op.stage = pick(random, 0, reach.stages - 1);
    op.ending = static_cast<Ending>(pick(random, 0, 2));
    if (op.ending != Ending::transaction && random.percent(30)) op.queue = "q";
    if (random.percent(80)) {
      Storage s;
      s.name = op.id;
      s.depth = pick(random, 1, reach.depth);
      if (random.percent(80)) {
        s.kind = Storage::in_memory;
        s.memory = 0;
        s.size = pick(random, 1, 2);
        s.base = pick(random, 0, 2 * reach.depth);
      }
      op.writes.push_back(static_cast<int>(p.storages.size()));
      p.storages.push_back(s);
    }
    p.ops.push_back(op);
  }
  for (int v = 0; v < ops; ++v)
    for (int s = 0; s < static_cast<int>(p.storages.size()); ++s)
      if (random.percent(25)) {
        auto& op = p.ops[static_cast<std::size_t>(v)];
        const bool own = std::find(op.writes.begin(), op.writes.end(), s) != op.writes.end();
        const int most = std::min(reach.distance, p.storages[static_cast<std::size_t>(s)].depth);
        const int distance = own || random.percent(30) ? pick(random, 1, most) : 0;
        op.reads.push_back({s, distance});
        if (random.percent(50)) op.in_place.push_back(s);
        // Mostly with the wait that it needs, and the one back.
        const int w = program::writers(p)[static_cast<std::size_t>(s)];
        if (random.percent(80)) add_wait(p, random, v, w, distance, reach.phases);
        if (random.percent(80))
          add_wait(p, random, w, v, p.storages[static_cast<std::size_t>(s)].depth - distance,
                   reach.phases);
      }
  for (int extra = pick(random, 0, 1); extra > 0; --extra)
    add_wait(p, random, pick(random, 0, ops - 1), pick(random, 0, ops - 1),
             pick(random, -1, reach.offset), reach.phases);
  if (random.percent(40)) join(p);
  settle(p);
  return p;
}

/// One change of what a program does.
void mutate(Program& p, Random& random) {
  switch (pick(random, 0, 5)) {
    case 0:
      if (!p.waits.empty())
        p.waits.erase(p.waits.begin() + pick(random, 0, static_cast<int>(p.waits.size()) - 1));
      break;
    case 1:
      if (!p.waits.empty())
        p.waits[any_of(random, p.waits.size())].offset += random.percent(50) ? 1 : -1;
      break;
    case 2:
      if (!p.events.empty()) {
        auto& e = p.events[any_of(random, p.events.size())];
        if (!e.pending) e.phases = std::max(1, e.phases + (random.percent(50) ? 1 : -1));
      }
      break;
    case 3:
      if (!p.storages.empty()) {
        auto& s = p.storages[any_of(random, p.storages.size())];
        s.depth = std::max(1, s.depth + (random.percent(30) ? 1 : -1));
      }
      break;
    case 4:
      if (!p.storages.empty()) {
        auto& s = p.storages[any_of(random, p.storages.size())];
        if (s.kind == Storage::in_memory) s.base = pick(random, 0, 3) * s.alignment;
      }
      break;
    default:
      if (!p.ops.empty()) {
        auto& op = p.ops[any_of(random, p.ops.size())];
        op.stage = std::max(0, op.stage + (random.percent(50) ? 1 : -1));
      }
  }
  settle(p);
}

struct Counts {
  int accepted = 0, refused = 0, unknown = 0;
  std::map<std::string, int> rules;
};

/// Judge and search agree at n = 0 .. most; the verdict for all n is not better than theirs.
void compare(const Program& p, int most, Counts& counts) {
  const auto always = program::judge(p);
  for (int n = 0; n <= most; ++n) {
    CAPTURE(n);
    const auto fault = program::judge(p, n);
    if (fault && (fault->rule == "shape" || fault->rule == "memory")) return;
    const auto found = test::search_program(p, n);
    if (fault) ++counts.rules[fault->rule];
    if (found.fault && !fault) FAIL_CHECK("search alone: " << *found.fault);
    if (!found.fault && !found.complete) {
      ++counts.unknown;
      continue;
    }
    // A place before the loop that nobody comes to read is wrong by its shape alone.
    if (fault && !found.fault && fault->witness.size() > 1)
      FAIL_CHECK("judge alone: " << fault->rule << ": " << fault->text);
    (fault ? counts.refused : counts.accepted) += 1;
    if (fault) CHECK(always.has_value());
  }
}

}  // namespace

TEST_CASE("random programs: judge and exhaustive search agree") {
  Counts counts;
  for (std::uint64_t seed = 0; seed < 6000 / test::kShare; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    compare(random_program(random), 3, counts);
  }
  for (const auto& [rule, count] : counts.rules) MESSAGE(rule << " " << count);
  MESSAGE(counts.accepted << " accepted, " << counts.refused << " refused, " << counts.unknown
                          << " too large");
  CHECK(counts.accepted > 3000 / test::kShare);
  CHECK(counts.refused > 3000 / test::kShare);
  for (const char* rule : {"deadlock", "race", "version", "phase", "in place"})
    CHECK(counts.rules[rule] > 50 / test::kShare);
}

TEST_CASE("derived programs, changed: judge and exhaustive search agree") {
  Counts counts;
  test::LoopKnobs knobs;
  knobs.max_ops = 4;
  int made = 0, joined = 0;
  // Barriers of several ops are so seldom that only all loops have some.
  const std::uint64_t loops = test::kSanitized ? 600 / test::kShare : 600;
  for (std::uint64_t seed = 0; seed < loops; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_loop(seed, knobs);
    const Solution solution = solve(problem);
    if (!solution.schedule) continue;
    program::DeriveOptions how;
    how.merge = seed % 2 == 0;
    auto derived = program::derive(problem, *solution.schedule, how);
    if (std::holds_alternative<program::Refusal>(derived)) continue;
    ++made;
    for (const auto& event : std::get<Program>(derived).events)
      joined += event.with.empty() ? 0 : 1;
    Random random(seed);
    for (int change = 0; change < 4; ++change) {
      Program p = std::get<Program>(derived);
      for (int k = 0; k < change; ++k) mutate(p, random);
      compare(p, 3, counts);
    }
  }
  MESSAGE(joined << " barriers of several ops");
  if (!test::kSanitized) CHECK(joined > 2);
  MESSAGE(made << " programs: " << counts.accepted << " accepted, " << counts.refused
               << " refused, " << counts.unknown << " too large");
  for (const auto& [rule, count] : counts.rules) MESSAGE(rule << " " << count);
  CHECK(counts.accepted > 500 / test::kShare);
  CHECK(counts.refused > 500 / test::kShare);
}

TEST_CASE("sequences of runs: what the judge accepts has no fault wherever the loop is cut") {
  test::LoopKnobs knobs;
  knobs.max_ops = 4;
  const std::vector<std::vector<int>> cuts = {{1, 1}, {1, 2}, {2, 1}, {1, 1, 1}, {2, 0, 2}, {3, 1}};
  int accepted = 0, refused = 0, found_too = 0;
  const auto look = [&](const Program& p) {
    if (program::judge(p)) return;  // (each run by itself is its question)
    const auto fault = program::judge_tiles(p);
    bool found = false;
    for (const std::vector<int>& tiles : cuts) {
      const auto result = test::search_tiles(p, tiles);
      if (!result.fault) continue;
      found = true;
      if (!fault) FAIL_CHECK("search alone: " << *result.fault);
    }
    (fault ? refused : accepted) += 1;
    if (fault && found) ++found_too;
  };
  for (std::uint64_t seed = 0; seed < 6'000 / test::kShare; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    look(random_program(random));
  }
  for (std::uint64_t seed = 0; seed < 100 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_loop(seed, knobs);
    const Solution solution = solve(problem);
    if (!solution.schedule) continue;
    auto derived = program::derive(problem, *solution.schedule);
    if (std::holds_alternative<program::Refusal>(derived)) continue;
    Random random(seed);
    for (int change = 0; change < 4; ++change) {
      Program p = std::get<Program>(derived);
      for (int k = 0; k < change; ++k) mutate(p, random);
      look(p);
    }
  }
  MESSAGE(accepted << " accepted, " << refused << " refused, of which the search finds "
                   << found_too);
  CHECK(accepted > 300 / test::kShare);
  if (test::kThorough) CHECK(found_too >= 1);
}

TEST_CASE("what is right up to the window is right beyond it") {
  int accepted = 0, refused = 0, late = 0, longest = 0, sequences = 0;
  const auto look = [&](const Program& p) {
    const auto enough = program::enough_iterations(p);
    if (!enough) return;
    const auto fault = program::judge(p);
    if (fault) {
      ++refused;
      for (int n = 0; n <= 3; ++n)
        if (program::judge(p, n)) return;
      ++late;  // only more iterations show it
      return;
    }
    ++accepted;
    longest = std::max(longest, *enough);
    const bool tiles = !program::judge_tiles(p);
    sequences += tiles ? 1 : 0;
    const program::judged::Common common(p);
    std::vector<std::uint64_t> words;
    for (int n = *enough + 1; n <= 2 * *enough + 8; ++n) {
      CAPTURE(n);
      const auto more = program::judge(p, n);
      if (more) FAIL_CHECK(more->rule << ": " << more->text);
      if (const auto cut =
              tiles ? program::judged::check_run(common, n, words, true) : std::nullopt)
        FAIL_CHECK("in tiles: " << cut->rule << ": " << cut->text);
    }
  };
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    look(random_program(random));
    look(random_program(random, {4, 4, 4, 4, 5}));
  }
  for (std::uint64_t seed = 0; seed < 400 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_loop(seed);
    const Solution solution = solve(problem);
    if (!solution.schedule) continue;
    auto derived = program::derive(problem, *solution.schedule);
    if (std::holds_alternative<program::Refusal>(derived)) continue;
    Random random(seed);
    for (int change = 0; change < 4; ++change) {
      Program p = std::get<Program>(derived);
      for (int k = 0; k < change; ++k) mutate(p, random);
      look(p);
    }
  }
  MESSAGE(accepted << " accepted, " << refused << " refused, " << late
                   << " of them above n = 3; up to n = " << longest << " is enough; " << sequences
                   << " accepted in tiles");
  CHECK(accepted > 500 / test::kShare);
  CHECK(late > 0);
  CHECK(sequences > 300 / test::kShare);
}

}  // namespace program_judge_test
