// The rules of the model on concrete iterations: v[i] is the copy of op v in iteration i, issued at
// start[v] + i * I. Nothing here is stated modulo I; graph/replay.hpp says why a finite unrolling
// is enough. Rules and names: Soi et al. 2025 (arXiv:2512.18134), Figures 4-6.
#include "graph/verify.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <map>
#include <utility>
#include <vector>

#include "graph/replay.hpp"

namespace twill {
namespace {

using Finding = std::optional<Violation>;

/// What was found so far, up to a number.
class Findings {
 public:
  explicit Findings(std::size_t most) : most_(most) {}
  /// Is it enough now?
  bool add(Violation violation) {
    found_.push_back(std::move(violation));
    return full();
  }
  bool full() const { return found_.size() >= most_; }
  bool empty() const { return found_.empty(); }
  std::vector<Violation> take() { return std::move(found_); }

 private:
  std::size_t most_;
  std::vector<Violation> found_;
};

std::string number(std::int64_t value) {
  return std::to_string(value);
}

class Judge {
 public:
  Judge(const Problem& problem, const Schedule& schedule)
      : problem_(problem), schedule_(schedule) {}

  Finding shape() const;
  void slots(Findings& findings) const;
  void pins(Findings& findings) const;
  void dependences(Findings& findings) const;
  void inner_loops(Findings& findings) const;
  void alone(const Unrolling& unrolling, Findings& findings) const;
  void capacity(const Unrolling& unrolling, Findings& findings) const;
  void memory(const Unrolling& unrolling, Findings& findings) const;
  void registers(const Unrolling& unrolling, Findings& findings) const;
  void concurrency(const Unrolling& unrolling, Findings& findings) const;

 private:
  const Op& op(int v) const { return problem_.ops[static_cast<std::size_t>(v)]; }
  const WarpSlot& slot(int w) const { return problem_.warps[static_cast<std::size_t>(w)]; }
  Cycle start(int v) const { return schedule_.start[static_cast<std::size_t>(v)]; }
  int slot_of(int v) const { return schedule_.warp[static_cast<std::size_t>(v)]; }
  int op_count() const { return static_cast<int>(problem_.ops.size()); }
  Cycle issue(int v, Cycle iteration) const {
    return start(v) + iteration * schedule_.initiation_interval;
  }
  std::string copy(int v, Cycle iteration) const {
    return op(v).id + "[" + number(iteration) + "]";
  }

  /// The result is handed over to another slot through memory; its consumer waits for that.
  bool is_part(int v) const;
  bool crosses(const Edge& edge) const {
    return spill_of(problem_, edge) > 0 && slot_of(edge.from) != slot_of(edge.to);
  }
  std::vector<Train> lifetimes() const;

  /// The ring of a streaming load in a memory that charges it: `depth` buffers in every cycle.
  struct Ring {
    int load = 0;
    Amount buffer = 0;
    Cycle depth = 0;
  };
  /// What is taken in every cycle.
  struct Fixed {
    std::string terms;
    Amount sum = 0;
    bool too_large = false;  ///< for 64 bits
  };
  std::vector<std::pair<int, Cycle>> shown_buffer(int load) const;
  Cycle ring_depth(int load, const std::vector<std::pair<int, Cycle>>& shown) const;
  std::vector<Ring> rings(std::vector<int>& ring_of) const;
  Fixed fixed(const std::vector<Ring>& rings) const;

  Finding within(const Unrolling& unrolling, const std::vector<Train>& trains, Amount limit,
                 const std::string& rule, const std::string& where, const Fixed& fixed) const;

  const Problem& problem_;
  const Schedule& schedule_;
};

Finding Judge::shape() const {
  const std::size_t ops = problem_.ops.size();
  const auto wrong_size = [&](const std::string& what, std::size_t size) {
    return Violation{"shape", "the schedule has " + std::to_string(size) + " " + what +
                                  ", the problem has " + std::to_string(ops) + " ops"};
  };
  if (schedule_.start.size() != ops) return wrong_size("starts", schedule_.start.size());
  if (schedule_.warp.size() != ops) return wrong_size("warp slots", schedule_.warp.size());
  const Cycle interval = schedule_.initiation_interval;
  if (interval < 1) return Violation{"initiation interval", "I = " + number(interval) + " < 1"};
  if (interval > kMaxInterval)
    return Violation{"initiation interval",
                     "I = " + number(interval) + " > " + number(kMaxInterval)};
  if (const auto& [least, most] = problem_.interval; interval < least || interval > most)
    return Violation{"initiation interval",
                     "I = " + number(interval) + (interval < least ? " < " : " > ") +
                         number(interval < least ? least : most) + ", which the problem asks for"};
  Cycle length = 0;
  int last = -1;
  for (int v = 0; v < op_count(); ++v) {
    if (start(v) < 0)
      return Violation{"start", op(v).id + " starts at " + number(start(v)) + " < 0"};
    if (start(v) > kMaxStart)
      return Violation{"start",
                       op(v).id + " starts at " + number(start(v)) + " > " + number(kMaxStart)};
    if (last >= 0 && start(v) + op(v).cycles <= length) continue;
    length = start(v) + op(v).cycles;
    last = v;
  }
  if (schedule_.length == length) return std::nullopt;
  if (last < 0) return Violation{"length", "L = " + number(schedule_.length) + ", no op: 0"};
  return Violation{"length", "L = " + number(schedule_.length) + ", but the last op to end is " +
                                 op(last).id + " at " + number(start(last)) + " + " +
                                 number(op(last).cycles) + " = " + number(length)};
}

void Judge::slots(Findings& findings) const {
  const int marked = variable_latency_slot(problem_);
  const int count = static_cast<int>(problem_.warps.size());
  for (int v = 0; v < op_count(); ++v) {
    const int w = slot_of(v);
    if (w < 0 || w >= count)
      if (findings.add(Violation{"warp uniqueness", op(v).id + " is on slot number " + number(w) +
                                                        ", not one of 0 .. " + number(count - 1)}))
        return;
    if (slot(w).width < op(v).width)
      if (findings.add(Violation{"warp uniqueness", op(v).id + " is on " + slot(w).name +
                                                        ": width " + number(slot(w).width) + " < " +
                                                        number(op(v).width)}))
        return;
    if (marked < 0) continue;
    if (op(v).variable_latency && w != marked)
      if (findings.add(Violation{"variable latency", op(v).id + " has variable latency and is on " +
                                                         slot(w).name + ", not on " +
                                                         slot(marked).name}))
        return;
    if (!op(v).variable_latency && w == marked)
      if (findings.add(Violation{"variable latency", op(v).id + " has fixed latency and is on " +
                                                         slot(w).name +
                                                         ", which only takes variable latency"}))
        return;
  }
}

void Judge::pins(Findings& findings) const {
  for (const Pin& pin : problem_.pins) {
    const std::string where = op(pin.op).id + " is on " + slot(slot_of(pin.op)).name;
    if (pin.kind == Pin::at_cycle && start(pin.op) != pin.cycle)
      if (findings.add(Violation{"pin", op(pin.op).id + " starts at " + number(start(pin.op)) +
                                            ", pinned to " + number(pin.cycle)}))
        return;
    if (pin.kind == Pin::on_slot && slot_of(pin.op) != pin.slot)
      if (findings.add(Violation{"pin", where + ", pinned to " + slot(pin.slot).name})) return;
    if (pin.kind == Pin::not_on_slot && slot_of(pin.op) == pin.slot)
      if (findings.add(Violation{"pin", where + ", which is forbidden to it"})) return;
    if (pin.kind == Pin::at_stage) {
      const Cycle interval = schedule_.initiation_interval, stage = start(pin.op) / interval;
      if (stage != pin.stage &&
          findings.add(Violation{"pin", op(pin.op).id + " starts at " + number(start(pin.op)) +
                                            ", in stage " + number(stage) +
                                            " of I = " + number(interval) + ", pinned to stage " +
                                            number(pin.stage)}))
        return;
    }
    if (pin.kind == Pin::other_slot && slot_of(pin.op) == slot_of(pin.other))
      if (findings.add(Violation{
              "pin", where + ", as is " + op(pin.other).id + ", which must be on another slot"}))
        return;
    if (pin.kind == Pin::same_slot && slot_of(pin.op) != slot_of(pin.other))
      if (findings.add(Violation{"pin", where + ", not with " + op(pin.other).id + " on " +
                                            slot(slot_of(pin.other)).name}))
        return;
  }
}

/// Rule 12: the parts of an inner loop keep their offsets.
void Judge::inner_loops(Findings& findings) const {
  for (const InnerLoop& loop : problem_.inner_loops)
    for (const InnerPart& part : loop.parts) {
      const InnerPart& other = loop.parts.front();
      const Cycle apart = start(part.op) - start(other.op), given = part.offset - other.offset;
      if (apart == given) continue;
      if (findings.add(Violation{"inner loop", "inner loop " + loop.name + ": " + op(part.op).id +
                                                   " at " + number(start(part.op)) + " is " +
                                                   number(apart) + " cycles after " +
                                                   op(other.op).id + ", not " + number(given)}))
        return;
    }
}

/// Every iteration repeats iteration 0 shifted, so u[0] and v[distance] stand for all of them.
void Judge::dependences(Findings& findings) const {
  for (const Edge& edge : problem_.edges) {
    const Cycle ready = issue(edge.from, 0) + edge.delay;
    const Cycle issued = issue(edge.to, edge.distance);
    const std::string consumer = copy(edge.to, edge.distance), producer = copy(edge.from, 0);
    if (issued < ready) {
      if (findings.add(Violation{"dependence", consumer + " at " + number(issued) + " < " +
                                                   producer + " at " + number(issue(edge.from, 0)) +
                                                   " + delay " + number(edge.delay) + " = " +
                                                   number(ready)}))
        return;
      continue;
    }
    const Cycle spill = spill_of(problem_, edge), spilled = ready + spill;
    if (crosses(edge) && issued < spilled)
      if (findings.add(
              Violation{"cross-warp spill",
                        consumer + " on " + slot(slot_of(edge.to)).name + " at " + number(issued) +
                            " < " + producer + " on " + slot(slot_of(edge.from)).name + " at " +
                            number(issue(edge.from, 0)) + " + delay " + number(edge.delay) +
                            " + spill " + number(spill) + " = " + number(spilled)}))
        return;
  }
}

/// Checks that the trains together, beside what is fixed (less than the limit), never hold more
/// than `limit`; otherwise lists who holds what in the first cycle in which they do.
Finding Judge::within(const Unrolling& unrolling, const std::vector<Train>& trains, Amount limit,
                      const std::string& rule, const std::string& where, const Fixed& fixed) const {
  const auto cycle = unrolling.first_excess(trains, limit - fixed.sum);
  if (!cycle) return std::nullopt;
  constexpr int kListed = 12;  // longer sums are cut, their total is not
  std::string terms = fixed.terms;
  int listed = terms.empty() ? 0 : 1, left_out = 0;
  Amount sum = fixed.sum;
  for (const Train& train : trains) {
    const Iterations active = unrolling.covering(train, *cycle);
    if (active.count() == 0 || train.amount == 0) continue;
    Amount held = 0;
    if (__builtin_mul_overflow(active.count(), train.amount, &held) ||
        __builtin_add_overflow(sum, held, &sum))
      return Violation{rule, where + " at cycle " + number(*cycle) + ": " + number(active.count()) +
                                 " copies of " + op(train.op).id + ", " + number(train.amount) +
                                 " each > " + number(limit)};
    if (listed == kListed) {
      ++left_out;
      continue;
    }
    terms += (listed++ > 0 ? " + " : "") + op(train.op).id + "[" + number(active.begin);
    if (active.count() > 1) terms += ".." + number(active.end - 1);
    terms +=
        "] " + (active.count() > 1 ? number(active.count()) + " x " : "") + number(train.amount);
  }
  if (left_out > 0) terms += " + " + number(left_out) + " more";
  return Violation{rule, where + " at cycle " + number(*cycle) + ": " + terms + " = " +
                             number(sum) + " > " + number(limit)};
}

void Judge::capacity(const Unrolling& unrolling, Findings& findings) const {
  std::vector<std::vector<Train>> busy(problem_.units.size());
  for (int v = 0; v < op_count(); ++v)
    for (const Reservation& r : op(v).reservations)
      busy[static_cast<std::size_t>(r.unit)].push_back(
          {v, start(v) + r.offset, r.length, r.amount});
  for (std::size_t f = 0; f < busy.size(); ++f) {
    const Unit& unit = problem_.units[f];
    if (auto found =
            within(unrolling, busy[f], unit.capacity, "capacity", "capacity of " + unit.name, {});
        found && findings.add(*std::move(found)))
      return;
  }
}

/// Per op, its result's life: from its issue to the last use by any consumer, in whatever
/// iteration.
std::vector<Train> Judge::lifetimes() const {
  std::vector<Train> lives;
  for (int v = 0; v < op_count(); ++v) lives.push_back({v, issue(v, 0), 0, 0});
  for (const Edge& edge : problem_.edges) {
    Train& life = lives[static_cast<std::size_t>(edge.from)];
    const Cycle last_use = issue(edge.to, edge.distance) + edge.hold;
    life.length = std::max(life.length, last_use - life.first);
  }
  return lives;
}

/// The load and the zero-cycle ops (allocations, views) that show its buffer, each with the
/// iterations between it and the load, by the way of most of them: what an op shows in one
/// iteration may be buffers of several, of which the oldest counts. Around a circle of such ops
/// there is no most, so that they are settled from where the buffer comes in, each once.
std::vector<std::pair<int, Cycle>> Judge::shown_buffer(int load) const {
  constexpr Cycle kOpen = -1;
  std::map<int, Cycle> shown = {{load, 0}};  // kOpen = not settled
  for (std::vector<int> next = {load}; !next.empty();) {
    const int from = next.back();
    next.pop_back();
    for (const Edge& edge : problem_.edges)
      if (edge.from == from && op(edge.to).cycles == 0 && shown.emplace(edge.to, kOpen).second)
        next.push_back(edge.to);
  }
  for (;;) {
    std::map<int, Cycle> settled, reached;
    for (const auto& [v, iterations] : shown)
      if (iterations == kOpen) settled.emplace(v, kOpen);
    if (settled.empty()) break;
    for (const Edge& edge : problem_.edges) {
      const auto to = settled.find(edge.to);
      const auto from = shown.find(edge.from);
      if (to == settled.end() || from == shown.end() || from->second == kOpen) continue;
      to->second = std::max(to->second, from->second + edge.distance);
    }
    std::erase_if(settled, [](const auto& one) { return one.second == kOpen; });
    reached = settled;
    for (const Edge& edge : problem_.edges)
      if (const auto from = shown.find(edge.from);
          edge.from != edge.to && from != shown.end() && from->second == kOpen)
        settled.erase(edge.to);
    for (const auto& [v, iterations] : settled.empty() ? reached : settled) shown[v] = iterations;
  }
  return {shown.begin(), shown.end()};
}

/// load[0] fills a buffer at its issue, which is free again after the last cycle of its last use.
/// The loads issued up to and including that cycle need buffers of their own.
Cycle Judge::ring_depth(int load, const std::vector<std::pair<int, Cycle>>& shown) const {
  Cycle last = issue(load, 0);
  for (const Edge& edge : problem_.edges)
    for (const auto& [holder, iterations] : shown)
      if (edge.from == holder)
        last = std::max(last, issue(edge.to, iterations + edge.distance) +
                                  std::max(op(edge.to).cycles, edge.hold));
  return 1 + (last - issue(load, 0)) / schedule_.initiation_interval;
}

/// The rings of all streaming loads, their buffers' sizes still 0. ring_of[v]: the index of the
/// only one whose buffer v shows; negative = none or several.
std::vector<Judge::Ring> Judge::rings(std::vector<int>& ring_of) const {
  constexpr int kNone = -1, kSeveral = -2;
  ring_of.assign(problem_.ops.size(), kNone);
  std::vector<Ring> all;
  for (int v = 0; v < op_count(); ++v) {
    if (!op(v).streaming && !op(v).in_flight) continue;
    const auto shown = shown_buffer(v);
    for (const auto& [holder, iterations] : shown) {
      int& ring = ring_of[static_cast<std::size_t>(holder)];
      ring = ring == kNone ? static_cast<int>(all.size()) : kSeveral;
    }
    all.push_back({v, 0, ring_depth(v, shown)});
  }
  return all;
}

Judge::Fixed Judge::fixed(const std::vector<Ring>& rings) const {
  Fixed fixed;
  for (const Ring& ring : rings) {
    if (ring.buffer == 0) continue;
    Amount held = 0;
    fixed.terms += (fixed.terms.empty() ? "" : " + ") + ("ring of " + op(ring.load).id + ": ") +
                   number(ring.depth) + " x " + number(ring.buffer);
    fixed.too_large = fixed.too_large || __builtin_mul_overflow(ring.depth, ring.buffer, &held) ||
                      __builtin_add_overflow(fixed.sum, held, &fixed.sum);
  }
  return fixed;
}

/// Where a memory charges rings, a ring takes all of its buffers in every cycle, as the kernel
/// allocates them, and what an op holds in the buffer of one load is not counted again.
void Judge::memory(const Unrolling& unrolling, Findings& findings) const {
  std::vector<int> ring_of(problem_.ops.size(), -1);
  std::vector<Ring> all_rings;
  if (std::any_of(problem_.memories.begin(), problem_.memories.end(),
                  [](const Memory& mem) { return mem.rings; }))
    all_rings = rings(ring_of);
  const std::vector<Train> lives = lifetimes();
  for (int m = 0; m < static_cast<int>(problem_.memories.size()); ++m) {
    const Memory& mem = problem_.memories[static_cast<std::size_t>(m)];
    std::vector<Ring> charged = all_rings;
    std::vector<Train> held;
    for (Train life : lives) {
      const int ring = ring_of[static_cast<std::size_t>(life.op)];
      for (const Footprint& footprint : op(life.op).footprints) {
        if (footprint.memory != m) continue;
        if (mem.rings && ring >= 0) {
          charged[static_cast<std::size_t>(ring)].buffer += footprint.amount;
          continue;
        }
        life.amount = footprint.amount;
        held.push_back(life);
      }
    }
    const Fixed always = fixed(charged);
    if (always.too_large || always.sum > mem.capacity)
      if (findings.add(
              Violation{"memory", "memory " + mem.name + " in every cycle: " + always.terms +
                                      (always.too_large ? "" : " = " + number(always.sum)) + " > " +
                                      number(mem.capacity)}))
        return;
    if (auto found = within(unrolling, held, mem.capacity, "memory", "memory " + mem.name, always);
        found && findings.add(*std::move(found)))
      return;
  }
}

void Judge::registers(const Unrolling& unrolling, Findings& findings) const {
  std::vector<std::vector<Train>> held(problem_.warps.size());
  for (Train life : lifetimes()) {
    life.amount = op(life.op).registers;
    held[static_cast<std::size_t>(slot_of(life.op))].push_back(life);
  }
  for (std::size_t w = 0; w < held.size(); ++w) {
    const WarpSlot& here = problem_.warps[w];
    if (auto found = within(unrolling, held[w], here.registers, "registers",
                            "registers of " + here.name, {});
        found && findings.add(*std::move(found)))
      return;
  }
}

/// When v[j] waits on its slot, nothing else may execute there: no other op, in any iteration.
/// Copies of v itself do not count: v[j-1] comes before v[j] in the slot's order anyway, and an op
/// longer than I could otherwise never wait at all. That an op o with cycles(o) >= I may not share
/// the slot needs no rule of its own here: some copy of it executes in every steady-state cycle.
void Judge::concurrency(const Unrolling& unrolling, Findings& findings) const {
  const int marked = variable_latency_slot(problem_);
  const auto count = problem_.warps.size();
  std::vector<std::vector<Train>> executions(count), waits(count);
  std::vector<std::vector<const Edge*>> reasons(count);
  for (int v = 0; v < op_count(); ++v)
    if (op(v).cycles > 0)
      executions[static_cast<std::size_t>(slot_of(v))].push_back({v, start(v), op(v).cycles, 1});
  for (const Edge& edge : problem_.edges) {
    if (slot_of(edge.to) == marked || !(edge.blocking || crosses(edge))) continue;
    if (op(edge.to).cycles == 0 && is_part(edge.to)) continue;  // the loop's code is alone there
    // Iteration i of the producer is waited for in iteration i + distance, the first being 0.
    const auto w = static_cast<std::size_t>(slot_of(edge.to));
    waits[w].push_back({edge.to, issue(edge.to, edge.distance), 0, 1});
    reasons[w].push_back(&edge);
  }
  for (std::size_t w = 0; w < count; ++w) {
    const auto clash = unrolling.first_clash(executions[w], waits[w]);
    if (!clash) continue;
    const Edge& edge = *reasons[w][clash->probe];
    const Cycle producer =
        (clash->cycle - waits[w][clash->probe].first) / schedule_.initiation_interval;
    for (const Train& train : executions[w]) {
      const Iterations active = unrolling.covering(train, clash->cycle);
      if (train.op == edge.to || active.count() == 0) continue;
      const Cycle begin = issue(train.op, active.begin);
      if (findings.add(Violation{
              "concurrency",
              copy(edge.to, producer + edge.distance) + " on " + problem_.warps[w].name +
                  " waits for " + copy(edge.from, producer) + " at cycle " + number(clash->cycle) +
                  (edge.blocking ? " (blocking)"
                                 : " (spilled from " + slot(slot_of(edge.from)).name + ")") +
                  " while " + copy(train.op, active.begin) + " executes in [" + number(begin) +
                  ", " + number(begin + train.length) + ")"}))
        return;
    }
  }
}

bool Judge::is_part(int v) const {
  for (const InnerLoop& loop : problem_.inner_loops)
    for (const InnerPart& part : loop.parts)
      if (part.op == v) return true;
  return false;
}

/// Rule 12: when an op with cycles is issued on a slot, no part of an inner loop is executing
/// there, and when a part is issued, no op. Copies of the part itself count too: the loop's code
/// runs once at a time.
void Judge::alone(const Unrolling& unrolling, Findings& findings) const {
  const int marked = variable_latency_slot(problem_);
  for (std::size_t k = 0; k < problem_.inner_loops.size(); ++k)
    for (const InnerPart& part : problem_.inner_loops[k].parts) {
      const int w = slot_of(part.op);
      if (op(part.op).cycles == 0 || w == marked) continue;
      const auto clash = [&](int executing, int issued) {
        if (executing == issued) return op(executing).cycles > schedule_.initiation_interval;
        const std::vector<Train> runs = {{executing, start(executing), op(executing).cycles, 1}};
        const std::vector<Train> begins = {{issued, start(issued), 0, 1}};
        return unrolling.first_clash(runs, begins).has_value();
      };
      for (int v = 0; v < op_count(); ++v) {
        if (slot_of(v) != w || op(v).cycles == 0) continue;
        if (!clash(part.op, v) && !clash(v, part.op)) continue;
        if (findings.add(Violation{
                "inner loop",
                "inner loop " + problem_.inner_loops[k].name + " on " + slot(w).name + ": " +
                    op(v).id + " (start " + number(start(v)) + ", " + number(op(v).cycles) +
                    " cycles) and " + op(part.op).id + " (start " + number(start(part.op)) + ", " +
                    number(op(part.op).cycles) + " cycles) execute at the same time"}))
          return;
      }
    }
}

}  // namespace

std::optional<Violation> verify_channels(const Problem& problem, Cycle ii) {
  using Exact = boost::multiprecision::cpp_int;
  struct Quotient {
    Exact over, under;
  };
  for (std::size_t c = 0; c < problem.channels.size(); ++c) {
    // Added in pairs, then pairs of pairs: numbers stay short for as long as they can.
    std::vector<Quotient> sums = {{0, 1}};
    for (const Op& op : problem.ops)
      for (const Traffic& moved : op.traffic)
        if (static_cast<std::size_t>(moved.channel) == c)
          sums.push_back({moved.amount.numerator, moved.amount.denominator});
    while (sums.size() > 1) {
      std::vector<Quotient> pairs;
      for (std::size_t i = 0; i + 1 < sums.size(); i += 2) {
        const Quotient &a = sums[i], &b = sums[i + 1];
        pairs.push_back(a.under == b.under
                            ? Quotient{a.over + b.over, a.under}
                            : Quotient{a.over * b.under + b.over * a.under, a.under * b.under});
      }
      if (sums.size() % 2 == 1) pairs.push_back(sums.back());
      sums = std::move(pairs);
    }
    const auto& [name, rate] = problem.channels[c];
    const Exact most = Exact(rate.numerator) * ii * sums[0].under;
    const Exact moved = sums[0].over * rate.denominator;
    if (moved <= most) continue;
    const Exact common = sums[0].under * rate.denominator;
    const auto shown = [&](const Exact& part) {
      const Exact divisor = gcd(part, common), under = common / divisor;
      if (under > 1'000'000) return Exact(part / common).str() + " and a fraction";
      return Exact(part / divisor).str() + (under == 1 ? "" : "/" + under.str());
    };
    return Violation{"channel", "channel " + name + ": an iteration moves " + shown(moved) +
                                    ", more than " + shown(most) + " in I = " + number(ii) +
                                    " cycles"};
  }
  return std::nullopt;
}

static std::vector<Violation> violations(const Problem& problem, const Schedule& schedule,
                                         std::size_t most) {
  const Judge judge(problem, schedule);
  Findings findings(most);
  // What is no schedule of the problem has nothing more to be judged; a wrong L alone has, with the
  // right one.
  if (auto found = judge.shape()) {
    const bool length = found->rule == "length";
    findings.add(*std::move(found));
    if (length && !findings.full()) {
      Schedule right = schedule;
      right.length = 0;
      for (std::size_t v = 0; v < problem.ops.size(); ++v)
        right.length = std::max(right.length, right.start[v] + problem.ops[v].cycles);
      for (Violation& more : violations(problem, right, most - 1)) findings.add(std::move(more));
      return findings.take();
    }
  }
  if (findings.empty()) judge.slots(findings);
  const auto slots = static_cast<int>(problem.warps.size());
  if (!findings.empty() && (findings.full() || schedule.warp.size() != problem.ops.size() ||
                            std::any_of(schedule.warp.begin(), schedule.warp.end(),
                                        [&](int w) { return w < 0 || w >= slots; }) ||
                            judge.shape()))
    return findings.take();
  judge.pins(findings);
  if (!findings.full()) judge.dependences(findings);
  if (!findings.full()) judge.inner_loops(findings);
  if (!findings.full())
    if (auto found = verify_channels(problem, schedule.initiation_interval))
      findings.add(*std::move(found));
  if (findings.full()) return findings.take();
  const Unrolling unrolling(problem, schedule);
  judge.capacity(unrolling, findings);
  if (!findings.full()) judge.memory(unrolling, findings);
  if (!findings.full()) judge.registers(unrolling, findings);
  if (!findings.full()) judge.concurrency(unrolling, findings);
  if (!findings.full()) judge.alone(unrolling, findings);
  return findings.take();
}

std::optional<Violation> verify(const Problem& problem, const Schedule& schedule) {
  std::vector<Violation> found = violations(problem, schedule, 1);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::vector<Violation> verify_all(const Problem& problem, const Schedule& schedule) {
  return violations(problem, schedule, kMostViolations);
}

}  // namespace twill
