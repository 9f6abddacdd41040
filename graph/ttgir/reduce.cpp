// Hierarchical reduction (Lam, PLDI 1988): an inner loop or a branch becomes one op with a
// reservation, so that the loop around it can be pipelined (see builder.hpp).
#include <algorithm>

#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/lowering/costed_loop.hpp"
#include "graph/lowering/lower_kernel.hpp"
#include "graph/ttgir/builder.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/wide.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMaxLoops = 8;  // nested
// Each inner loop and each branch goes over the values of the module.
constexpr std::size_t kMaxReductionWork = std::size_t{1} << 26;

/// The longest path of one iteration.
Cycle critical_path(const Problem& loop) {
  std::vector<Cycle> start(loop.ops.size(), 0);
  bool changed = true;
  for (std::size_t round = 0; changed && round <= loop.ops.size(); ++round) {
    changed = false;
    for (const Edge& edge : loop.edges) {
      if (edge.distance != 0) continue;
      Cycle& to = start[static_cast<std::size_t>(edge.to)];
      const Cycle from = start[static_cast<std::size_t>(edge.from)] + edge.delay;
      if (from > to) to = from, changed = true;
    }
  }
  Cycle length = 0;
  for (std::size_t v = 0; v < loop.ops.size(); ++v)
    length = std::max(length, start[v] + loop.ops[v].cycles);
  return length;
}

std::vector<std::pair<std::string, Cycle>> work_of(const std::vector<Unit>& units,
                                                   const std::vector<Op>& ops) {
  std::vector<std::pair<std::string, Cycle>> work;
  for (std::size_t u = 0; u < units.size(); ++u) {
    Cycle sum = 0;
    for (const Op& op : ops)
      for (const Reservation& use : op.reservations)
        if (use.unit == static_cast<int>(u)) sum += use.length;
    if (sum > 0) work.emplace_back(units[u].name, sum);
  }
  return work;
}

/// What the loop takes of a memory where its ops run one after the other: no order of theirs that
/// is known to work needs less.
Amount in_turn(const CostedLoop& loop, int memory) {
  const std::size_t ops = loop.ops.size();
  std::vector<std::size_t> last(ops),
      wrapped(ops, 0);  // ends of uses, here and in later iterations
  for (std::size_t v = 0; v < ops; ++v) last[v] = v + 1;
  for (const Edge& edge : loop.edges) {
    const auto u = static_cast<std::size_t>(edge.from), v = static_cast<std::size_t>(edge.to);
    last[u] = edge.distance > 0 ? ops : std::max(last[u], v + 1);
    if (edge.distance > 0) wrapped[u] = std::max(wrapped[u], v + 1);
  }
  std::vector<Wide> more(ops + 1, 0);  // held from here on, less what ends
  for (std::size_t u = 0; u < ops; ++u)
    for (const Footprint& use : loop.ops[u].op.footprints) {
      if (use.memory != memory) continue;
      const std::size_t end = std::min(wrapped[u], u);
      more[0] += end > 0 ? use.amount : 0;
      more[end] -= end > 0 ? use.amount : 0;
      more[u] += use.amount;
      more[last[u]] -= use.amount;
    }
  Wide held = 0, most = 0;
  for (const Wide change : more) most = std::max(most, held += change);
  return static_cast<Amount>(std::min<Wide>(most, kMaxAmount));
}

}  // namespace

/// Cycles of so many iterations, at most kMaxCycles.
Cycle Builder::product(const Operation& op, Cycle cycles, std::int64_t trips) const {
  Cycle all = 0;
  if (__builtin_mul_overflow(cycles, trips, &all) || all > kMaxCycles)
    throw InputError(m_.source, Module::place(op),
                     std::to_string(trips) + " x " + std::to_string(cycles) + " cycles",
                     "an inner loop must take at most " + std::to_string(kMaxCycles) + " cycles");
  return all;
}

std::int64_t Builder::trips_of(const Operation& op) {
  std::int64_t bounds[3];
  for (std::size_t k = 0; k < 3; ++k) {
    std::optional<std::int64_t> known;
    if (op.operands.size() > k) known = constant_integer(m_, op.operands[k]);
    bounds[k] = known.value_or(0);
    if (!known || (k == 2 && bounds[2] <= 0)) {
      warn("the trip count of the inner loop at " + Module::place(op) +
           " is not constant: " + std::to_string(options_.trips) + " assumed (--trips)");
      return options_.trips;
    }
  }
  std::int64_t length = 0;
  if (__builtin_sub_overflow(bounds[1], bounds[0], &length))
    length = bounds[1] > 0 ? kMaxCycles : 0;
  length = std::clamp<std::int64_t>(length, 0, kMaxCycles);
  return std::max<std::int64_t>(1, length / bounds[2] + (length % bounds[2] != 0 ? 1 : 0));
}

/// Refuses loops whose inner loops and branches would take long to reduce.
void check_reductions(const Module& module, int loop) {
  std::size_t inner = 0;
  const auto count = [&](const auto& self, int op) -> void {
    for (const int region : module.op(op).regions)
      for (const int block : module.regions[static_cast<std::size_t>(region)].blocks)
        for (const int next : module.block(block).ops) {
          if (class_of(module.op(next)) == OpClass::control)
            inner += module.op(next).regions.size();
          self(self, next);
        }
  };
  count(count, loop);
  if (inner > kMaxReductionWork / (module.values.size() + 1))
    throw InputError(
        module.source, Module::place(module.op(loop)),
        std::to_string(inner) + " inner loops and branches",
        "are too many for a module of " + std::to_string(module.values.size()) + " values");
}

/// n iterations take (n - 1) * I + L, with I the largest of the bounds of units, channels and
/// recurrences that the inner loop has alone, in the same reading, and L its critical path. Each
/// unit is reserved for its whole work from the issue on, and what passes through channels does.
GivenCost Builder::reduce_loop(int index) {
  const Operation& op = m_.op(index);
  if (nesting_ >= kMaxLoops)
    throw InputError(m_.source, Module::place(op), "a loop " + std::to_string(nesting_) + " deep",
                     "loops may be " + std::to_string(kMaxLoops) + " deep");
  GivenCost cost;
  if (op.name != "scf.for") {  // scf.while and the like: the ops of all its regions, in turn
    warn("the trip count of " + std::string(op.name) + " at " + Module::place(op) +
         " is not known: " + std::to_string(options_.trips) + " assumed (--trips)");
    GivenCost once = reduce_branches(index, 0);
    for (auto& [unit, length] : once.uses) length = product(op, length, options_.trips);
    once.cycles = once.latency = product(op, once.cycles, options_.trips);
    return once;
  }
  const std::int64_t trips = trips_of(op);
  LoopKernel inner = lower_one_loop(m_, machine_, options_, index, nesting_ + 1);
  for (const std::string& text : inner.warnings) warn(text);
  warn("the inner loop at " + Module::place(op) +
       " is one op that takes a lower bound of its cycles, not a schedule of its own: what is "
       "proved is of the loop with that op (twill nest schedules both)");
  const CostedLoop loop = cost_kernel(inner.kernel, machine_);
  inner.kernel.resident_memory.clear();  // bounds ask for no memory
  Cycle interval = 1, amount = 0;
  const Problem problem = lower_without_slots(inner.kernel, machine_, options_.lower);
  if (!problem.ops.empty()) {
    for (const Bound& bound : res_mii(problem)) interval = std::max(interval, bound.value);
    for (const Bound& bound : channel_bounds(problem)) interval = std::max(interval, bound.value);
    if (const auto recurrence = rec_mii(problem, false))
      interval = std::max(interval, recurrence->value);
  }
  cost.cycles = product(op, interval, trips - 1) + critical_path(problem);
  cost.uses = work_of(problem.units, problem.ops);
  for (auto& [unit, length] : cost.uses) {
    length = product(op, length, trips);
    cost.cycles = std::max(cost.cycles, length);
  }
  for (const Op& each : problem.ops)
    for (const Traffic& moved : each.traffic) {
      Fraction all = moved.amount;
      if (__builtin_mul_overflow(all.numerator, trips, &all.numerator) ||
          all.numerator > kMaxAmount)
        throw InputError(m_.source, Module::place(op), std::to_string(trips) + " trips",
                         "move more through " +
                             problem.channels[static_cast<std::size_t>(moved.channel)].name +
                             " than can be said");
      cost.traffic.emplace_back(problem.channels[static_cast<std::size_t>(moved.channel)].name,
                                all);
    }
  cost.latency = cost.cycles;
  if (cost.cycles > kMaxCycles)
    throw InputError(m_.source, Module::place(op), std::to_string(cost.cycles) + " cycles",
                     "an inner loop must take at most " + std::to_string(kMaxCycles) + " cycles");
  for (std::size_t m = 0; m < machine_.memories.size(); ++m)
    if (machine_.memories[m].name == "smem") amount = in_turn(loop, static_cast<int>(m));
  if (amount > 0) {
    out_.kernel.resident_memory.emplace_back("smem", amount);
    out_.residents.emplace_back("smem", "the inner loop of line " + std::to_string(op.line),
                                amount);
  }
  return cost;
}

/// Each branch runs its ops one after the other; the op takes the longest branch and, of each unit,
/// the most that a branch asks for.
GivenCost Builder::reduce_branches(int index, int copy) {
  const Operation& op = m_.op(index);
  GivenCost worst;
  for (const int region : op.regions) {
    LoopKernel kept = std::move(out_);
    out_ = LoopKernel();
    out_.warps = kept.warps;
    out_.kernel.source = kept.kernel.source;
    const auto first = first_, last = last_;
    const auto edges = edge_index_;
    const auto orders = orders_;
    const auto names = names_;
    const Sources sources = sources_;
    edge_index_.clear();
    orders_.clear();
    for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks) add_nodes(block);
    Cycle cycles = 0;
    CostedLoop loop;
    for (std::size_t v = 0; v < out_.kernel.ops.size(); ++v) {
      if (copies_of(op) > 1 && out_.nodes[v].copy != copy) continue;
      loop.ops.push_back(cost_op(out_.kernel, machine_, v));
      cycles += loop.ops.back().op.cycles;
    }
    std::vector<std::string> warnings = std::move(out_.warnings);
    std::vector<int> replicated = std::move(out_.replicated);
    out_ = std::move(kept);
    for (const std::string& text : warnings) warn(text);
    out_.replicated.insert(out_.replicated.end(), replicated.begin(), replicated.end());
    first_ = first;
    last_ = last;
    edge_index_ = edges;
    orders_ = orders;
    names_ = names;
    sources_ = sources;
    worst.cycles = std::max(worst.cycles, cycles);
    std::vector<Op> ops;
    for (const CostedOp& costed : loop.ops) ops.push_back(costed.op);
    for (const auto& [unit, length] : work_of(machine_.units, ops)) {
      const auto found =
          std::find_if(worst.uses.begin(), worst.uses.end(),
                       [&, &name = unit](const auto& use) { return use.first == name; });
      if (found == worst.uses.end())
        worst.uses.emplace_back(unit, length);
      else
        found->second = std::max(found->second, length);
    }
  }
  if (worst.cycles > kMaxCycles)
    throw InputError(m_.source, Module::place(op), std::to_string(worst.cycles) + " cycles",
                     "a branch must take at most " + std::to_string(kMaxCycles) + " cycles");
  worst.latency = worst.cycles;
  return worst;
}

}  // namespace twill::ttgir
