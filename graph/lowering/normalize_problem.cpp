// A normalised problem: every time in it follows its cost, or is scaled by the mean factor.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "graph/error.hpp"
#include "graph/lower.hpp"
#include "graph/lowering/normalize.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

class Scale {
 public:
  explicit Scale(const Normalization& n) : before_(n.before_sum), after_(n.after_sum) {
    for (std::size_t i = 0; i < n.before.size(); ++i) exact_[n.before[i]] = n.after[i];
  }

  /// max(1, ceil(x * sum C' / sum C)); zero stays zero.
  Cycle mean(Cycle x) const {
    if (x == 0) return 0;
    const Wide scaled = (Wide{x} * after_ + before_ - 1) / before_;
    if (scaled > kMaxCycles)
      throw InputError("normalisation", "", std::to_string(x),
                       "becomes larger than " + std::to_string(kMaxCycles) + " cycles");
    return static_cast<Cycle>(scaled);
  }

  /// A number that equals a cost takes that cost's value.
  Cycle cost(Cycle x) const {
    const auto found = exact_.find(x);
    return found == exact_.end() ? mean(x) : found->second;
  }

 private:
  std::map<Cycle, Cycle> exact_;
  Cycle before_, after_;
};

/// What passes in a cycle of before x / after. Where that has too many digits it is rounded up, so
/// that a channel never binds more than it does.
Fraction scale_rate(const Fraction& rate, Cycle before, Cycle after) {
  Wide numerator = Wide{rate.numerator} * before, denominator = Wide{rate.denominator} * after;
  Wide common = numerator;
  for (Wide rest = denominator; rest != 0;) common = std::exchange(rest, common % rest);
  numerator /= common;
  denominator /= common;
  while (numerator > kMaxAmount || denominator > kMaxAmount) {
    numerator = (numerator + 1) / 2;
    denominator = std::max<Wide>(denominator / 2, 1);
  }
  return {static_cast<Amount>(numerator), static_cast<Amount>(denominator)};
}

bool overlap(const Reservation& a, const Reservation& b) {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

/// Scales an op's segments into its new `cycles`. Rounding may push a segment beyond the op's end:
/// its length gives way first, then its offset. Two segments of one unit that were apart and now
/// meet would make the op compete with itself: the earlier one ends where the later one begins;
/// when they begin together one is kept, with the larger length and amount.
std::vector<Reservation> scale_reservations(const Op& op, Cycle cycles, const Scale& scale) {
  struct Segment {
    Reservation before, after;
  };
  std::vector<Segment> segments;
  for (const Reservation& r : op.reservations) {
    Segment segment{r, r};
    segment.after.offset = std::min(scale.cost(r.offset), cycles - 1);
    segment.after.length = std::min(scale.cost(r.length), cycles - segment.after.offset);
    segments.push_back(segment);
  }
  for (std::size_t j = 1; j < segments.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      Reservation &a = segments[i].after, &b = segments[j].after;
      if (a.unit != b.unit || !overlap(a, b) || overlap(segments[i].before, segments[j].before))
        continue;
      if (a.offset == b.offset) {
        a.length = std::max(a.length, b.length);
        a.amount = std::max(a.amount, b.amount);
        segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(j));
        j = 0;  // the kept segment has grown: look at every pair again
        break;
      }
      Reservation& earlier = a.offset < b.offset ? a : b;
      earlier.length = std::max(a.offset, b.offset) - earlier.offset;
    }
  }
  std::vector<Reservation> result;
  for (const Segment& segment : segments) result.push_back(segment.after);
  return result;
}

}  // namespace

Problem normalize_problem(const Problem& problem, int budget, bool relative,
                          std::vector<NormalizedCost>* costs) {
  for (std::size_t i = 0; i < problem.pins.size(); ++i)
    if (problem.pins[i].kind == Pin::at_cycle)
      throw InputError(
          "normalisation", "/pins/" + std::to_string(i) + "/cycle",
          std::to_string(problem.pins[i].cycle),
          "a pin to a cycle cannot be normalised: costs are rounded, each its own way");
  if (!problem.inner_loops.empty())
    throw InputError("normalisation", "/inner_loops", problem.inner_loops.front().name,
                     "offsets of an inner loop cannot be normalised: costs are rounded, each its "
                     "own way");
  if (problem.interval != IntervalRange{})
    throw InputError("normalisation", "/initiation_interval", "a range",
                     "cannot be normalised: costs are rounded, each its own way");
  std::vector<Cycle> cycles;
  for (const Op& op : problem.ops)
    if (op.cycles > 0) cycles.push_back(op.cycles);
  const Normalization n = normalize_costs(
      cycles, budget, relative ? NormalizeObjective::relative : NormalizeObjective::absolute);
  if (costs) {
    costs->clear();
    for (std::size_t i = 0; i < n.before.size(); ++i) costs->push_back({n.before[i], n.after[i]});
  }
  Problem result = problem;
  if (n.before.empty()) return result;  // nothing has a cost, so there is no scale

  const Scale scale(n);
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const Op& op = problem.ops[v];
    Op& scaled = result.ops[v];
    if (op.cycles > 0) scaled.cycles = scale.cost(op.cycles);
    scaled.reservations = scale_reservations(op, scaled.cycles, scale);
    scaled.spill = scale.mean(op.spill);
  }
  for (Edge& edge : result.edges) {
    edge.delay = scale.cost(edge.delay);
    edge.hold = scale.mean(edge.hold);
    if (edge.spill) edge.spill = scale.mean(*edge.spill);
  }
  for (Channel& channel : result.channels)
    channel.rate = scale_rate(channel.rate, n.before_sum, n.after_sum);
  result.cycle_unit *= static_cast<double>(n.before_sum) / static_cast<double>(n.after_sum);
  return result;
}

}  // namespace twill
