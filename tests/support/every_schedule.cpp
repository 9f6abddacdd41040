// Why the enumeration is complete.
//
// At one I. Let D be the least differences of starts that any schedule at I has: of edges, d - δ I;
// of a value that holds something, the reverse, because more than `cap` copies at once do not fit
// and so M(v) + δ I + hold - M(u) <= cap I. Two ops with a least difference in both directions are
// in one class: given one of them, the others have finitely many starts. Between classes D has one
// direction only, and no value that holds anything is used across them: so, where no length is
// asked for, a later class may be moved up by any multiple of I without a change of a rule. It is
// enough to try I rows for the first op of each class, far above those before. Starts begin at 0:
// an origin, before every op; pins to cycles and stages, a limit of the stages or of the length tie
// ops to it. Without these the first class may also be rotated: one row is enough.
//
// Over all I. Let C be the sum over the ops of max(1, cycles, delays + spill of its edges, holds of
// the edges into it) and one a load, streaming or in flight, and P the cycles up to the latest pin.
// If I > C + P,
// some residue r lies after all pins, not in the first max(...) cycles after any issue, and not
// just before a load's issue. Without r in each period the schedule keeps every rule at I - 1: an
// edge that spans k copies of r has its delay before the first of them; reservations, executions
// and holds do not contain r, so that in every other residue the same is busy, executing and live;
// starts stay in their period, so that stages stay; a ring of floor(span / I) + 1 buffers could
// only become deeper if the cell before the load's issue were r. So if there is a schedule at all,
// there is one with I <= C + P.
//
// Inner loops: r lies in none of their spans either, whose cycles are added to C, so that its parts
// keep their offsets.
//
// Channels only ask for an I of at least B. Such a residue r may also be doubled: the same argument
// gives a schedule at I + 1. So the other rules allow either all I > C + P or none of them, and
// asking up to max(C + P, B) is enough: if B is beyond C + P, asking B is.
//
// Where every reservation is one segment from the issue, an idle cycle at the end of every period
// keeps every rule (model.md), pins below I too: then asking I = 1 .. latest pin and C + P decides
// whether there is any.
#include "tests/support/every_schedule.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace twill::test {

namespace {

constexpr Cycle kNone = -1'000'000'000'000;  // no least difference

Cycle modulo(Cycle a, Cycle b) {
  return ((a % b) + b) % b;
}

// What holds a load's buffer, each with the most iterations that it comes after the load by any way
// (as the comment of ring_depth.hpp says); ops in a circle are passed once, the next ones first.
std::map<int, int> holders(const Problem& p, int load) {
  std::set<int> reached{load};
  for (std::size_t before = 0; before < reached.size();) {
    before = reached.size();
    for (const Edge& e : p.edges)
      if (reached.contains(e.from) && p.ops[static_cast<std::size_t>(e.to)].cycles == 0)
        reached.insert(e.to);
  }
  std::map<int, int> found{{load, 0}};
  while (found.size() < reached.size()) {
    std::map<int, int> next, all;
    for (const int v : reached) {
      if (found.contains(v)) continue;
      bool open = false;
      int most = -1;
      for (const Edge& e : p.edges) {
        if (e.to != v || e.from == v || !reached.contains(e.from)) continue;
        if (const auto from = found.find(e.from); from != found.end())
          most = std::max(most, from->second + e.distance);
        else
          open = true;
      }
      if (most >= 0) all[v] = most;
      if (most >= 0 && !open) next[v] = most;
    }
    found.merge(next.empty() ? all : next);
  }
  return found;
}

// Rule 10: a load in flight has the ring of a streaming one.
bool is_load(const Op& op) {
  return op.streaming || op.in_flight;
}

// Rule 9, one channel at an I: the sum is brought to the product of all denominators. Numbers are
// small: a few ops, one digit each.
bool channel_allows(const Problem& p, int channel, Cycle ii) {
  std::int64_t over = 0, under = 1;
  for (const Op& op : p.ops)
    for (const Traffic& t : op.traffic)
      if (t.channel == channel) {
        over = over * t.amount.denominator + t.amount.numerator * under;
        under *= t.amount.denominator;
      }
  const Fraction rate = p.channels[static_cast<std::size_t>(channel)].rate;
  return over * rate.denominator <= ii * rate.numerator * under;
}

bool channels_allow(const Problem& p, Cycle ii) {
  for (int c = 0; c < static_cast<int>(p.channels.size()); ++c)
    if (!channel_allows(p, c, ii)) return false;
  return true;
}

struct Use {
  int op;
  int iterations;
  Cycle cycles;
};

struct Loads {
  std::vector<int> loads;
  std::vector<std::vector<Use>> uses;            // a load
  std::vector<std::vector<Amount>> ring_charge;  // a memory, a load
  std::vector<std::vector<Amount>> live_charge;  // a memory, an op
};

Loads find_loads(const Problem& p) {
  Loads l;
  std::vector<std::vector<int>> holds(p.ops.size());  // an op: indices of loads
  std::vector<std::map<int, int>> found;
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
    if (is_load(p.ops[static_cast<std::size_t>(v)])) {
      found.push_back(holders(p, v));
      for (const auto& [op, far] : found.back())
        holds[static_cast<std::size_t>(op)].push_back(static_cast<int>(l.loads.size()));
      l.loads.push_back(v);
    }
  for (const auto& held : found) {
    l.uses.emplace_back();
    for (const Edge& e : p.edges)
      if (const auto from = held.find(e.from); from != held.end())
        l.uses.back().push_back({e.to, from->second + e.distance,
                                 std::max(p.ops[static_cast<std::size_t>(e.to)].cycles, e.hold)});
  }
  for (int m = 0; m < static_cast<int>(p.memories.size()); ++m) {
    std::vector<Amount> live(p.ops.size(), 0), ring(l.loads.size(), 0);
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      for (const Footprint& f : p.ops[v].footprints)
        if (f.memory == m) {
          if (p.memories[static_cast<std::size_t>(m)].rings && holds[v].size() == 1)
            ring[static_cast<std::size_t>(holds[v][0])] += f.amount;
          else
            live[v] += f.amount;
        }
    l.live_charge.push_back(std::move(live));
    l.ring_charge.push_back(std::move(ring));
  }
  return l;
}

// Some or all ops of the loop with starts and slots.
struct Partial {
  std::vector<bool> has;
  std::vector<Cycle> start;
  std::vector<int> slot;
};

class LoopRules {
 public:
  LoopRules(const Problem& problem, const TruthAsked& asked)
      : p_(problem), asked_(asked), loads_(find_loads(problem)) {
    for (std::size_t w = 0; w < p_.warps.size(); ++w)
      if (p_.warps[w].variable_latency) variable_ = static_cast<int>(w);
    for (std::size_t v = 0; v < p_.ops.size(); ++v) {
      slots_.emplace_back();
      for (std::size_t w = 0; w < p_.warps.size(); ++w)
        if (slot_is_possible(static_cast<int>(v), static_cast<int>(w)))
          slots_.back().push_back(static_cast<int>(w));
    }
  }

  const std::vector<int>& slots(int v) const { return slots_[static_cast<std::size_t>(v)]; }
  const Loads& loads() const { return loads_; }

  // Rules 2 to 8 and pins of the ops that are there. What is missing can only make it worse:
  // reservations, copies, waits and buffers are added.
  std::string broken(Cycle ii, const Partial& s) const {
    for (const Edge& e : p_.edges) {
      const auto u = static_cast<std::size_t>(e.from), v = static_cast<std::size_t>(e.to);
      if (!s.has[u] || !s.has[v]) continue;
      const bool across = s.slot[u] != s.slot[v];
      const Cycle spill = !across ? 0 : e.spill ? *e.spill : p_.ops[u].spill;
      if (s.start[v] + e.distance * ii < s.start[u] + e.delay) return "dependence";
      if (s.start[v] + e.distance * ii < s.start[u] + e.delay + spill) return "spill";
      if (spill > 0 && !asked_.handover) return "no hand-over";
      if ((!e.blocking && spill == 0) || s.slot[v] == variable_) continue;
      if (part_of(e.to) != nullptr && p_.ops[v].cycles == 0) continue;
      for (std::size_t o = 0; o < p_.ops.size(); ++o) {
        if (o == v || !s.has[o] || s.slot[o] != s.slot[v] || p_.ops[o].cycles == 0) continue;
        if (p_.ops[o].cycles >= ii || modulo(s.start[v] - s.start[o], ii) < p_.ops[o].cycles)
          return "concurrency";
      }
    }
    for (const Pin& pin : p_.pins) {
      const auto v = static_cast<std::size_t>(pin.op);
      if (!s.has[v]) continue;
      if (pin.kind == Pin::at_cycle && s.start[v] != pin.cycle) return "pin to a cycle";
      if (pin.kind == Pin::same_slot && s.has[static_cast<std::size_t>(pin.other)] &&
          s.slot[v] != s.slot[static_cast<std::size_t>(pin.other)])
        return "pin to a slot with another";
      if (pin.kind == Pin::other_slot && s.has[static_cast<std::size_t>(pin.other)] &&
          s.slot[v] == s.slot[static_cast<std::size_t>(pin.other)])
        return "pin to another slot";
      // (In an enumeration times are moved by multiples of I where nothing ties them to the
      // origin.)
      if (pin.kind == Pin::at_stage &&
          (s.start[v] < pin.stage * ii || s.start[v] > pin.stage * ii + ii - 1))
        return "pin to a stage";
    }
    for (std::size_t a = 0; a < p_.ops.size(); ++a) {
      const InnerLoop* loop = part_of(static_cast<int>(a));
      if (loop == nullptr || !s.has[a]) continue;
      for (const InnerPart& other : loop->parts)
        if (s.has[static_cast<std::size_t>(other.op)] &&
            s.start[a] - offset_of(*loop, static_cast<int>(a)) !=
                s.start[static_cast<std::size_t>(other.op)] - other.offset)
          return "offsets of an inner loop";
      if (p_.ops[a].cycles == 0 || s.slot[a] == variable_) continue;
      if (p_.ops[a].cycles > ii) return "code of an inner loop meets itself";
      for (std::size_t b = 0; b < p_.ops.size(); ++b) {
        if (a == b || !s.has[b] || s.slot[b] != s.slot[a]) continue;
        for (Cycle t = 0; t < p_.ops[b].cycles; ++t)
          if (modulo(s.start[b] + t - s.start[a], ii) < p_.ops[a].cycles)
            return "slot of an inner loop";
      }
    }
    const auto rows = static_cast<std::size_t>(ii);
    for (std::size_t f = 0; f < p_.units.size(); ++f) {
      sum_.assign(rows, 0);
      for (std::size_t v = 0; v < p_.ops.size(); ++v)
        if (s.has[v])
          for (const Reservation& r : p_.ops[v].reservations)
            if (r.unit == static_cast<int>(f))
              for (Cycle t = 0; t < r.length; ++t)
                sum_[static_cast<std::size_t>(modulo(s.start[v] + r.offset + t, ii))] += r.amount;
      if (most() > p_.units[f].capacity) return "capacity";
    }
    for (std::size_t w = 0; w < p_.warps.size(); ++w)
      if (fullest_slot(ii, s, w) > p_.warps[w].registers) return "registers";
    for (std::size_t m = 0; m < p_.memories.size(); ++m)
      if (fullest_memory(ii, s, m) > p_.memories[m].capacity) return "memory";
    return "";
  }

  const InnerLoop* part_of(int v) const {
    for (const InnerLoop& loop : p_.inner_loops)
      for (const InnerPart& part : loop.parts)
        if (part.op == v) return &loop;
    return nullptr;
  }
  static Cycle offset_of(const InnerLoop& loop, int v) {
    for (const InnerPart& part : loop.parts)
      if (part.op == v) return part.offset;
    return 0;
  }
  Cycle lifetime(Cycle ii, const Partial& s, std::size_t u) const {
    Cycle last = s.start[u];
    for (const Edge& e : p_.edges)
      if (static_cast<std::size_t>(e.from) == u && s.has[static_cast<std::size_t>(e.to)])
        last = std::max(last, s.start[static_cast<std::size_t>(e.to)] + e.distance * ii + e.hold);
    return last - s.start[u];
  }
  Amount fullest_slot(Cycle ii, const Partial& s, std::size_t w) const {
    sum_.assign(static_cast<std::size_t>(ii), 0);
    for (std::size_t u = 0; u < p_.ops.size(); ++u)
      if (s.has[u] && s.slot[u] == static_cast<int>(w)) add_live(ii, s, u, p_.ops[u].registers);
    return most();
  }
  Amount fullest_memory(Cycle ii, const Partial& s, std::size_t m) const {
    sum_.assign(static_cast<std::size_t>(ii), 0);
    for (std::size_t u = 0; u < p_.ops.size(); ++u)
      if (s.has[u]) add_live(ii, s, u, loads_.live_charge[m][u]);
    Amount all = most();
    for (std::size_t l = 0; l < loads_.loads.size(); ++l)
      if (loads_.ring_charge[m][l] > 0) all += loads_.ring_charge[m][l] * buffers(ii, s, l);
    return all;
  }
  std::int64_t buffers(Cycle ii, const Partial& s, std::size_t load) const {
    const auto u = static_cast<std::size_t>(loads_.loads[load]);
    if (!s.has[u]) return 1;
    Cycle end = s.start[u];
    for (const Use& use : loads_.uses[load])
      if (s.has[static_cast<std::size_t>(use.op)])
        end = std::max(
            end, s.start[static_cast<std::size_t>(use.op)] + use.iterations * ii + use.cycles);
    return (end - s.start[u]) / ii + 1;
  }

 private:
  bool slot_is_possible(int v, int w) const {
    const Op& op = p_.ops[static_cast<std::size_t>(v)];
    if (p_.warps[static_cast<std::size_t>(w)].width < op.width) return false;
    if (variable_ >= 0 && op.variable_latency != (w == variable_)) return false;
    for (const Pin& pin : p_.pins) {
      if (pin.op != v) continue;
      if (pin.kind == Pin::on_slot && pin.slot != w) return false;
      if (pin.kind == Pin::not_on_slot && pin.slot == w) return false;
    }
    return std::ranges::all_of(asked_.on,
                               [&](const auto& on) { return on.first != v || on.second == w; });
  }
  void add_live(Cycle ii, const Partial& s, std::size_t u, Amount amount) const {
    if (amount == 0) return;
    const Cycle held = lifetime(ii, s, u);
    for (Cycle row = 0; row < ii; ++row) {
      const Cycle copies = held / ii + (modulo(row - s.start[u], ii) < held % ii ? 1 : 0);
      sum_[static_cast<std::size_t>(row)] += amount * copies;
    }
  }
  Amount most() const { return *std::ranges::max_element(sum_); }

  const Problem& p_;
  const TruthAsked& asked_;
  Loads loads_;
  int variable_ = -1;
  std::vector<std::vector<int>> slots_;
  mutable std::vector<Amount> sum_;
};

Partial whole(const Schedule& s) {
  return {std::vector<bool>(s.start.size(), true), s.start, s.warp};
}

std::int64_t measure_of(const Problem& problem, const LoopRules& rules, const Schedule& s,
                        const std::string& goal) {
  const Cycle ii = s.initiation_interval;
  const Partial all = whole(s);
  if (const std::size_t plus = goal.find('+'); plus != std::string::npos)
    return measure_of(problem, rules, s, goal.substr(0, plus)) +
           measure_of(problem, rules, s, goal.substr(plus + 1));
  if (const std::size_t times = goal.find('*'); times != std::string::npos)
    return std::stoll(goal.substr(0, times)) *
           measure_of(problem, rules, s, goal.substr(times + 1));
  const std::size_t colon = goal.find(':');
  const std::string kind = goal.substr(0, colon);
  const std::string name = colon == std::string::npos ? "" : goal.substr(colon + 1);
  const auto find = [&](const auto& list, auto member) {
    std::size_t i = 0;
    while (list.at(i).*member != name) ++i;
    return i;
  };
  if (kind == "length") return s.length;
  if (kind == "slots") return std::ssize(std::set<int>(s.warp.begin(), s.warp.end()));
  if (kind == "handovers" || kind == "crossings")
    return std::ranges::count_if(problem.edges, [&](const Edge& e) {
      return s.warp[static_cast<std::size_t>(e.from)] != s.warp[static_cast<std::size_t>(e.to)] &&
             (kind == "crossings" ||
              e.spill.value_or(problem.ops[static_cast<std::size_t>(e.from)].spill) > 0);
    });
  if (kind == "spills") {
    std::int64_t cycles = 0;
    for (const Edge& e : problem.edges)
      if (s.warp[static_cast<std::size_t>(e.from)] != s.warp[static_cast<std::size_t>(e.to)])
        cycles += e.spill.value_or(problem.ops[static_cast<std::size_t>(e.from)].spill);
    return cycles;
  }
  if (kind == "issuers") {
    std::set<std::pair<int, int>> pairs;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      for (const Reservation& r : problem.ops[v].reservations)
        if (name.empty() || problem.units[static_cast<std::size_t>(r.unit)].name == name)
          pairs.insert({r.unit, s.warp[v]});
    return std::ssize(pairs);
  }
  if (kind == "registers") {
    if (!name.empty()) return rules.fullest_slot(ii, all, find(problem.warps, &WarpSlot::name));
    Amount most = 0;
    for (std::size_t w = 0; w < problem.warps.size(); ++w)
      most = std::max(most, rules.fullest_slot(ii, all, w));
    return most;
  }
  if (kind == "memory") return rules.fullest_memory(ii, all, find(problem.memories, &Memory::name));
  if (kind == "rings" || kind == "ring") {
    std::int64_t most = 0;
    for (std::size_t l = 0; l < rules.loads().loads.size(); ++l)
      if (name.empty() || problem.ops[static_cast<std::size_t>(rules.loads().loads[l])].id == name)
        most = std::max(most, rules.buffers(ii, all, l));
    return most;
  }
  if (kind == "lifetime") {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < problem.ops.size(); ++v) sum += rules.lifetime(ii, all, v);
    return sum;
  }
  const std::size_t op = find(problem.ops, &Op::id);
  return kind == "start" ? s.start[op] : s.warp[op];
}

// Up to the latest pin to a cycle.
Cycle cycles_pinned(const Problem& problem) {
  Cycle pinned = 0;
  for (const Pin& pin : problem.pins)
    if (pin.kind == Pin::at_cycle) pinned = std::max(pinned, pin.cycle + 1);
  return pinned;
}

struct Unfinished {};

class Enumeration {
 public:
  Enumeration(const Problem& problem, const TruthAsked& asked, std::int64_t most_nodes)
      : p_(problem), asked_(asked), rules_(problem, asked), most_nodes_(most_nodes) {}

  Truth run() {
    Truth truth;
    try {
      if (find_interval(truth)) {
        find_length(truth);
        find_goals(truth);
      }
      truth.finished = true;
    } catch (const Unfinished&) {
    }
    truth.nodes = nodes_;
    return truth;
  }

 private:
  std::size_t ops() const { return p_.ops.size(); }

  bool find_interval(Truth& truth) {
    if (asked_.ii) {
      truth.ii = *asked_.ii;
      return p_.interval.holds(*asked_.ii) && feasible(*asked_.ii);
    }
    // Of a range that begins behind what is enough, its first I is like all.
    const auto [least, most] = p_.interval;
    const Cycle pinned = cycles_pinned(p_),
                last = std::min(most, std::max(least, enough_interval(p_)));
    bool single = p_.inner_loops.empty();
    for (const Op& op : p_.ops) {
      std::set<int> units;
      for (const Reservation& r : op.reservations)
        single = single && r.offset == 0 && units.insert(r.unit).second;
    }
    // Asked once at the largest I, before those between are.
    const bool none_late = single && pinned < last && !feasible(last);
    for (Cycle ii = least; ii <= (none_late ? pinned : last); ++ii) {
      truth.ii = ii;
      if (feasible(ii)) return true;
    }
    return false;
  }

  bool feasible(Cycle ii) {
    if (!channels_allow(p_, ii)) return false;
    prepare(ii, std::nullopt);
    bool found = false;
    visit([&] { return found = true; });
    return found;
  }

  void find_length(Truth& truth) {
    prepare(truth.ii, std::nullopt);
    for (std::size_t v = 0; v < ops(); ++v)
      truth.length = std::max(truth.length, least_[ops()][v] + p_.ops[v].cycles);
    for (;; ++truth.length) {
      prepare(truth.ii, truth.length);
      visit([&] {
        truth.best = Schedule{truth.ii, truth.length, now_.start, now_.slot};
        return true;
      });
      if (truth.best) return;
    }
  }

  void find_goals(Truth& truth) {
    if (asked_.goals.empty()) return;
    const std::vector<std::string> names = goals_asked(p_, asked_);
    std::vector<std::int64_t> least;
    prepare(truth.ii, truth.length + asked_.length_slack.value_or(0));
    visit([&] {
      Schedule schedule{truth.ii, 0, now_.start, now_.slot};
      for (std::size_t v = 0; v < ops(); ++v)
        schedule.length = std::max(schedule.length, now_.start[v] + p_.ops[v].cycles);
      std::vector<std::int64_t> values;
      for (std::size_t g = 0; g < names.size(); ++g) {
        values.push_back(measure_of(p_, rules_, schedule, names[g]));
        if (!least.empty() && std::equal(values.begin(), values.end() - 1, least.begin()) &&
            values[g] > least[g])
          return false;
      }
      if (least.empty() || values < least) {
        least = values;
        truth.best = schedule;
      }
      return false;
    });
    truth.goals = least;
  }

  // Least differences and classes at an interval, with every op's end at most at `length`.
  void prepare(Cycle ii, std::optional<Cycle> length) {
    ii_ = ii;
    const std::size_t n = ops();
    least_.assign(n + 1, std::vector<Cycle>(n + 1, kNone));
    const auto at_least = [&](std::size_t from, std::size_t to, Cycle cycles) {
      least_[from][to] = std::max(least_[from][to], cycles);
    };
    for (std::size_t v = 0; v < n; ++v) {
      at_least(n, v, 0);
      if (length) at_least(v, n, p_.ops[v].cycles - *length);
      if (asked_.stages > 0) at_least(v, n, 1 - asked_.stages * ii);
    }
    for (const Pin& pin : p_.pins)
      if (pin.kind == Pin::at_cycle) {
        at_least(n, static_cast<std::size_t>(pin.op), pin.cycle);
        at_least(static_cast<std::size_t>(pin.op), n, -pin.cycle);
      } else if (pin.kind == Pin::at_stage) {
        at_least(n, static_cast<std::size_t>(pin.op), pin.stage * ii);
        at_least(static_cast<std::size_t>(pin.op), n, 1 - (pin.stage + 1) * ii);
      }
    for (const Edge& e : p_.edges) {
      const auto u = static_cast<std::size_t>(e.from), v = static_cast<std::size_t>(e.to);
      at_least(u, v, e.delay - e.distance * ii);
      const std::optional<Amount> copies = most_copies(u);
      if (copies) at_least(v, u, e.distance * ii + e.hold - *copies * ii);
    }
    for (const InnerLoop& loop : p_.inner_loops)
      for (const InnerPart& a : loop.parts)
        for (const InnerPart& b : loop.parts)
          if (a.op != b.op)
            at_least(static_cast<std::size_t>(a.op), static_cast<std::size_t>(b.op),
                     b.offset - a.offset);
    const Loads& loads = rules_.loads();
    for (std::size_t m = 0; m < p_.memories.size(); ++m)
      for (std::size_t l = 0; l < loads.loads.size(); ++l)
        if (loads.ring_charge[m][l] > 0)
          for (const Use& use : loads.uses[l])
            at_least(static_cast<std::size_t>(use.op), static_cast<std::size_t>(loads.loads[l]),
                     use.iterations * ii + use.cycles + 1 -
                         p_.memories[m].capacity / loads.ring_charge[m][l] * ii);
    for (std::size_t k = 0; k <= n; ++k)
      for (std::size_t a = 0; a <= n; ++a)
        for (std::size_t b = 0; b <= n; ++b)
          if (least_[a][k] > kNone && least_[k][b] > kNone)
            at_least(a, b, least_[a][k] + least_[k][b]);
    contradiction_ = false;
    for (std::size_t a = 0; a <= n; ++a) contradiction_ = contradiction_ || least_[a][a] > 0;

    // Classes in an order in which no later one has to be before an earlier one. The origin's is
    // the first, the classes of least differences from others come later.
    class_.assign(n + 1, -1);
    int classes = 0;
    while (std::ranges::count(class_, -1) > 0) {
      for (std::size_t i = 0; i <= n; ++i) {
        const std::size_t a = (i + n) % (n + 1);  // the origin first
        if (class_[a] >= 0) continue;
        bool ready = true;
        for (std::size_t b = 0; b <= n; ++b)
          ready = ready && (class_[b] >= 0 || least_[b][a] == kNone || least_[a][b] > kNone);
        if (!ready) continue;
        for (std::size_t b = 0; b <= n; ++b)
          if (a == b || (least_[a][b] > kNone && least_[b][a] > kNone)) class_[b] = classes;
        ++classes;
        break;
      }
    }
    may_rotate_ = std::ranges::count(class_, class_[n]) == 1;
  }

  // How many copies of u's result fit at most; nullopt = it holds nothing.
  std::optional<Amount> most_copies(std::size_t u) const {
    std::optional<Amount> most;
    const auto room = [&](Amount capacity, Amount each) {
      if (each > 0) most = std::min(most.value_or(capacity / each), capacity / each);
    };
    Amount registers = 0;
    for (const int w : rules_.slots(static_cast<int>(u)))
      registers = std::max(registers, p_.warps[static_cast<std::size_t>(w)].registers);
    room(registers, p_.ops[u].registers);
    for (std::size_t m = 0; m < p_.memories.size(); ++m)
      room(p_.memories[m].capacity, rules_.loads().live_charge[m][u]);
    return most;
  }

  // Tells all schedules until one is enough.
  template <class Tell>
  void visit(const Tell& tell) {
    if (contradiction_) return;
    now_ = {std::vector<bool>(ops(), false), std::vector<Cycle>(ops(), 0),
            std::vector<int>(ops(), -1)};
    extend(0, tell);
  }

  template <class Tell>
  bool extend(std::size_t count, const Tell& tell) {
    if (count == ops()) return tell();
    int lowest = std::numeric_limits<int>::max();
    for (std::size_t v = 0; v < ops(); ++v)
      if (!now_.has[v]) lowest = std::min(lowest, class_[v]);
    // Of the first class that is not complete, the op with the fewest starts.
    std::size_t next = ops();
    Cycle first = 0, last = 0;
    for (std::size_t v = 0; v < ops(); ++v) {
      if (now_.has[v] || class_[v] != lowest) continue;
      const auto [low, high] = window(v);
      if (next == ops() || high - low < last - first) {
        next = v;
        first = low;
        last = high;
      }
    }
    now_.has[next] = true;
    for (const int slot : rules_.slots(static_cast<int>(next)))
      for (Cycle start = first; start <= last; ++start) {
        now_.slot[next] = slot;
        now_.start[next] = start;
        if (++nodes_ > most_nodes_) throw Unfinished{};
        if (rules_.broken(ii_, now_).empty() && extend(count + 1, tell)) return true;
      }
    now_.has[next] = false;
    return false;
  }

  std::pair<Cycle, Cycle> window(std::size_t v) const {
    const std::size_t n = ops();
    Cycle low = 0, high = std::numeric_limits<Cycle>::max();
    const auto from = [&](std::size_t a, Cycle start) {
      if (least_[a][v] > kNone) low = std::max(low, start + least_[a][v]);
      if (class_[a] == class_[v]) high = std::min(high, start - least_[v][a]);
    };
    from(n, 0);
    for (std::size_t a = 0; a < n; ++a)
      if (now_.has[a]) from(a, now_.start[a]);
    if (high < std::numeric_limits<Cycle>::max()) return {low, high};
    // The first of its class: far above all others. No span within a class is near this.
    constexpr Cycle kFar = 1'000'000;
    const Cycle base = (class_[v] + 1) * kFar * ii_;
    const bool only_row = may_rotate_ && class_[v] == 1;
    return {base, base + (only_row ? 0 : ii_ - 1)};
  }

  const Problem& p_;
  const TruthAsked& asked_;
  LoopRules rules_;
  std::int64_t most_nodes_, nodes_ = 0;
  Cycle ii_ = 1;
  std::vector<std::vector<Cycle>> least_;  // M(b) - M(a) is at least this; index ops() = cycle 0
  std::vector<int> class_;
  bool contradiction_ = false, may_rotate_ = false;
  Partial now_;
};

}  // namespace

Cycle enough_interval(const Problem& problem) {
  Cycle sum = cycles_pinned(problem) + static_cast<Cycle>(problem.inner_loops.size());
  for (const InnerLoop& loop : problem.inner_loops) {
    Cycle span = 0;
    for (const InnerPart& part : loop.parts) span = std::max(span, part.offset);
    sum += span;
  }
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    Cycle after = std::max<Cycle>(1, problem.ops[v].cycles);
    for (const Edge& e : problem.edges) {
      if (static_cast<std::size_t>(e.from) == v)
        after = std::max(after, e.delay + e.spill.value_or(problem.ops[v].spill));
      if (static_cast<std::size_t>(e.to) == v) after = std::max(after, e.hold);
    }
    sum += after + (is_load(problem.ops[v]) ? 1 : 0);
  }
  Cycle enough = std::max<Cycle>(1, sum);
  while (!channels_allow(problem, enough)) ++enough;
  return enough;
}

Truth every_schedule(const Problem& problem, const TruthAsked& asked, std::int64_t most_nodes) {
  return Enumeration(problem, asked, most_nodes).run();
}

std::string broken_rule(const Problem& problem, const TruthAsked& asked, const Schedule& s) {
  if (s.start.size() != problem.ops.size() || s.warp.size() != problem.ops.size()) return "shape";
  if (s.initiation_interval < 1 || (asked.ii && s.initiation_interval != *asked.ii) ||
      !problem.interval.holds(s.initiation_interval))
    return "interval";
  const LoopRules rules(problem, asked);
  Cycle length = 0;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (s.start[v] < 0) return "start";
    if (std::ranges::count(rules.slots(static_cast<int>(v)), s.warp[v]) == 0) return "slot";
    if (asked.stages > 0 && s.start[v] / s.initiation_interval >= asked.stages) return "stages";
    length = std::max(length, s.start[v] + problem.ops[v].cycles);
  }
  if (length != s.length) return "length";
  if (!channels_allow(problem, s.initiation_interval)) return "channel";
  return rules.broken(s.initiation_interval, whole(s));
}

std::vector<std::string> all_goals(const Problem& problem, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names)
    if (name == "canonical")
      for (const Op& op : problem.ops) {
        all.push_back("start:" + op.id);
        all.push_back("slot:" + op.id);
      }
    else
      all.push_back(name);
  return all;
}

std::vector<std::string> goals_asked(const Problem& problem, const TruthAsked& asked) {
  std::vector<std::string> names = asked.goals;
  if (asked.length_slack && std::ranges::count(names, "length") == 0) {
    const bool canonical = !names.empty() && names.back() == "canonical";
    if (canonical) names.pop_back();
    names.emplace_back("length");
    if (canonical) names.emplace_back("canonical");
  }
  return all_goals(problem, names);
}

std::int64_t measured(const Problem& problem, const Schedule& s, const std::string& goal) {
  const TruthAsked nothing;
  return measure_of(problem, LoopRules(problem, nothing), s, goal);
}

}  // namespace twill::test
