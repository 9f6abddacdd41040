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
// period(y): which of them exist is all that an end of the loop can change. What is looked at are
// (1) accesses of one address, one of which writes; (2) waits with the phases before and after;
// (3) circles, which lie in one period. Accesses of one address that are further apart than H
// periods need no look: its storages are written again and again, at least every `depth`
// iterations, and as each write is ordered after the accesses since the one before (looked at, as
// near), far ones are ordered through a chain of writes, and none that is further away can be the
// version that a read sees. So what is judged lies in windows of H + 2 S iterations, H the largest
// of: twice the depths of the storages at an address (in common multiples where they share it) plus
// their distances; offsets and phases of waits. Beyond n = H + 2 S no window has both ends of the
// loop in it, and which addresses are met repeats after C iterations, the common multiple of their
// depths (C the largest). So a program of n > H + 2 S + C iterations has only windows that one of n
// - C iterations has, too.
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

}  // namespace

std::optional<int> enough_iterations(const Program& program) {
  std::int64_t stages = 0, reach = 0, period = 1;
  for (const Op& op : program.ops) stages = std::max<std::int64_t>(stages, op.stage + 1);
  std::vector<std::int64_t> distance(program.storages.size(), 0);
  for (const Op& op : program.ops)
    for (const Read& r : op.reads)
      distance[index(r.storage)] = std::max<std::int64_t>(distance[index(r.storage)], r.distance);
  for (Index s = 0; s < program.storages.size(); ++s) {
    std::int64_t common = program.storages[s].depth, far = distance[s];
    for (const int t : program.storages[s].shares) {
      common = std::lcm(common, std::int64_t{program.storages[index(t)].depth});
      far = std::max(far, distance[index(t)]);
      if (common > kMostPeriods) return std::nullopt;
    }
    reach = std::max(reach, 2 * common + far);
    period = std::max(period, common);
  }
  for (const Wait& wait : program.waits) {
    const Event& event = program.events[index(wait.event)];
    for (const int op : judged::ends_of(event))
      if (std::int64_t{program.ops[index(op)].stage} - wait.offset -
              program.ops[index(wait.before)].stage >
          0)
        return std::nullopt;
    reach = std::max(reach, std::abs(std::int64_t{wait.offset}) + event.phases);
  }
  for (const Event& event : program.events)
    if (!event.with.empty()) reach = std::max<std::int64_t>(reach, event.phases);
  const std::int64_t enough = reach + stages + 2 * stages + period;
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
  return judged::check_run(judged::Common(program), n);
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
  for (int n = 0; n <= *enough; ++n)
    if (auto found = judged::check_run(common, n)) return found;
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
  return judged::check_run(judged::Common(program), *enough, true);
}

}  // namespace twill::program
