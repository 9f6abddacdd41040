// One relation "happens before" covers every run: there is no branch that depends on data, so that
// runs differ only in when things happen. Its nodes are, per op instance, each of its waits (it has
// passed), the issue, the begin of its accesses and its end; its arcs are the code of the slots,
// waits, queues, and begin and end of an op itself. Two accesses are safe if and only if the end of
// one happens before the begin of the other: otherwise all that precedes either begin can be
// executed without either end, and then they are under way together.
//
// An arc from an event to a wait holds only if the wait does not pass too early or never. That is
// judged in the same relation, and is no circle: take a run and the first wait in it that goes
// wrong. All arcs into what happened before it hold, so that what the relation says of its
// beginning is true in this run: phase j - 1 has ended, phase j + 1 has not; then the parity is
// that of j.
//
// Why finitely many n are enough. Say op v of iteration i is in period i + stage(v). Let no wait be
// for an op of a later period (enough_iterations() refuses others). Then all arcs go from a period
// to the same or a later one, and whether x happens before y depends on the instances between the
// periods of the two alone. With S stages these are of iterations from period(x) - S + 1 to
// period(y): which of them exist is all that an end of the loop can change. Two instances are near
// if they are at most P periods apart. It is enough to look at near ones:
//
// (1) Accesses A and B of one cell, B a write, further than P apart. P is so large that the write
//     that is next in A's own copy is near A, and ordered after it. So is the next one after that,
//     and so on up to one that is near B and in an earlier period. That one is looked at with B and
//     can only be before it. So A is before B. Where B is in the earlier period, the same chain
//     leads from B through writes of its own storage to a write W near A. If A is a read, W is
//     before what A is to see, and so is B. A chain breaks where the loop ends: A and B are of two
//     storages then, both among the last `depth` iterations, and P is so large that they are near.
//     The same holds of what must be left after the loop.
// (2) Waits. For the phases before a wait's own the same op has waited in earlier iterations. The
//     phase after it is looked at, and the ones after that are looked at with the same op's later
//     waits. Where those waits do not exist, since the loop has not begun or has ended, the phases
//     are less than |offset| further away.
// (3) Circles. They lie in one period.
//
// So what is judged lies in windows of P + S iterations. In a run of n > P + S none has both ends
// of the loop in it. What a window has in it is the same from each iteration on, but for which
// copies of two storages meet: that repeats after C iterations, the common multiple of their depths
// (C = 1 where nothing is shared: copies of one storage meet by the difference of their
// iterations). So a program of n > P + S + C iterations has only windows that one of n - C
// iterations has, too.
//
// Sequences of runs (judge_tiles). Where tiles end, slots drain: which of two instances of a slot
// is first depends on where the cuts are, if the one of the later iteration is in the earlier
// period. So what is judged has the order of two instances of a slot (or queue) only where it is
// the same wherever the loop is cut: the first is of the same or an earlier iteration, and earlier
// in a run that is not cut. Every sequence has these arcs and those of the waits (none is for a
// later iteration, so that none is left out where a tile ends), and more. An access or a phase that
// is safe by fewer arcs is safe by more. No sequence has a circle: an arc goes to the same or a
// later tile, and those within a tile are those of a run of as many iterations, which
// judge(program) has accepted. Tiles without iterations have no instances. All arcs go to the same
// or a later iteration and are the same from each iteration on, so that what lies before an
// instance within a window does not depend on where in the loop the window is; the windows above
// are long enough, and the one run that is looked at has all of them, for each residue of the
// copies.
#include "graph/program/judge.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "graph/program/judge_run.hpp"
#include "graph/program/judge_shape.hpp"

namespace twill::program {
namespace {

using judged::Index;
using judged::index;

constexpr std::int64_t kMostPeriods = 500;
constexpr double kMostWords = 3e7;  // of the relation at one n, 240 MB
constexpr double kMostSteps = 4e9;  // of work(), some seconds

/// The periods of a storage's accesses, counted from the iteration whose copy it is.
struct Periods {
  std::int64_t write = 0, first = 0, last = 0;
};

std::vector<Periods> access_periods(const Program& program) {
  std::vector<Periods> of(program.storages.size());
  for (const Op& op : program.ops)
    for (const int s : op.writes) of[index(s)] = {op.stage, op.stage, op.stage};
  for (const Op& op : program.ops)
    for (const Read& r : op.reads) {
      Periods& all = of[index(r.storage)];
      all.first = std::min(all.first, std::int64_t{op.stage} + r.distance);
      all.last = std::max(all.last, std::int64_t{op.stage} + r.distance);
    }
  return of;
}

/// Up to how many periods apart two accesses of one cell must be looked at, and after how many
/// iterations it repeats which copies meet.
std::pair<std::int64_t, std::int64_t> storage_windows(const Program& program) {
  const std::vector<Periods> of = access_periods(program);
  std::int64_t near = 0, repeats = 1;
  for (Index s = 0; s < program.storages.size(); ++s) {
    const std::int64_t depth = program.storages[s].depth;
    const Periods& own = of[s];
    near = std::max({near, depth, own.write - own.first, own.last - own.write,
                     depth + own.write - own.first, own.last - own.write - depth});
    for (const int t : program.storages[s].shares) {
      const std::int64_t other = program.storages[index(t)].depth;
      const Periods& its = of[index(t)];
      near = std::max(near, std::max(depth, other) + std::max(own.last, its.last) -
                                std::min(own.first, its.first));
      repeats = std::max(repeats, std::lcm(depth, other));
    }
  }
  return {near, repeats};
}

/// Up to how many periods apart a wait and a phase, or two arrivals at a barrier, must be looked
/// at; nullopt = a wait is for an op of a later period.
std::optional<std::int64_t> wait_window(const Program& program) {
  std::int64_t near = 0;
  for (const Wait& wait : program.waits) {
    const Event& event = program.events[index(wait.event)];
    for (const int op : judged::ends_of(event)) {
      const std::int64_t apart = std::int64_t{program.ops[index(wait.before)].stage} + wait.offset -
                                 program.ops[index(op)].stage;
      if (apart < 0) return std::nullopt;
      // (The furthest phase of this barrier that the same op's other waits do not cover.)
      const std::int64_t offset = wait.offset, phases = std::max(event.phases, 1);
      const std::int64_t far = (phases - 1 + std::abs(offset)) / phases * phases;
      const std::int64_t next = std::max(phases, far);
      near = std::max({near, apart, offset < 0 ? next + apart : next - apart});
    }
  }
  for (const Event& event : program.events) {
    std::int64_t first = program.ops[index(event.op)].stage, last = first;
    for (const int op : event.with) {
      first = std::min(first, std::int64_t{program.ops[index(op)].stage});
      last = std::max(last, std::int64_t{program.ops[index(op)].stage});
    }
    near = std::max(near, event.phases + last - first);
  }
  return near;
}

}  // namespace

std::optional<int> enough_iterations(const Program& program) {
  const auto waits = wait_window(program);
  if (!waits) return std::nullopt;
  const auto [accesses, repeats] = storage_windows(program);
  std::int64_t stages = 0;
  for (const Op& op : program.ops) stages = std::max(stages, std::int64_t{op.stage} + 1);
  const std::int64_t enough = std::max(*waits, accesses) + stages + repeats;
  if (enough > kMostPeriods) return std::nullopt;
  return static_cast<int>(enough);
}

namespace {

/// About how many steps a run of n iterations takes: words of the relation, and pairs of accesses.
double work(const Program& program, int n) {
  const double ops = static_cast<double>(program.ops.size());
  const double nodes = n * (3 * ops + static_cast<double>(program.waits.size()));
  std::vector<double> accesses(program.storages.size(), 1), carried(accesses);
  double stages = 0;
  for (const Op& op : program.ops) {
    stages = std::max<double>(stages, op.stage);
    for (const Read& r : op.reads) {
      ++accesses[index(r.storage)];
      carried[index(r.storage)] = std::max<double>(carried[index(r.storage)], r.distance);
    }
  }
  double pairs = (n + stages) * ops;
  for (Index s = 0; s < accesses.size(); ++s) {
    pairs += accesses[s] * static_cast<double>(program.storages[s].shares.size() + 1) * n * n;
    for (const int t : program.storages[s].shares) pairs += carried[s] * (carried[index(t)] + n);
  }
  const double words = nodes * (1 + n * ops / 32);
  return words > kMostWords ? std::numeric_limits<double>::infinity() : words + pairs;
}

}  // namespace

std::optional<Fault> judge(const Program& program, int n) {
  if (work(program, n) > kMostSteps)
    return Fault{"window", "n = " + std::to_string(n) + " is too large to be judged", {}};
  if (auto found = judged::check_shape(program)) return found;
  std::vector<std::uint64_t> words;
  return judged::check_run(judged::Common(program), n, words);
}

std::optional<Fault> judge(const Program& program) {
  const auto enough = enough_iterations(program);
  if (!enough)
    return Fault{"window",
                 "a wait is for an op of a later period, or depths and offsets are too large: "
                 "nothing can be said of every trip count",
                 {}};
  if (work(program, *enough) * *enough / 3 > kMostSteps)
    return Fault{
        "window", "up to n = " + std::to_string(*enough) + " must be judged, too much work", {}};
  if (auto found = judged::check_shape(program)) return found;
  const judged::Common common(program);
  std::vector<std::uint64_t> words;
  for (int n = 0; n <= *enough; ++n)
    if (auto found = judged::check_run(common, n, words)) return found;
  return std::nullopt;
}

std::optional<Fault> judge_tiles(const Program& program) {
  for (const Wait& wait : program.waits)
    if (wait.offset < 0)
      return Fault{"tiles",
                   program.ops[index(wait.before)].id + " waits for a later iteration of " +
                       program.ops[index(program.events[index(wait.event)].op)].id +
                       ", which another tile may have",
                   {}};
  const auto enough = enough_iterations(program);
  if (!enough || work(program, *enough) * *enough > kMostSteps)
    return Fault{"window", "sequences of tiles are too much work to be judged", {}};
  if (auto found = judged::check_shape(program)) return found;
  std::vector<std::uint64_t> words;
  return judged::check_run(judged::Common(program), *enough, words, true);
}

}  // namespace twill::program
