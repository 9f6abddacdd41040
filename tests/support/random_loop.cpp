#include "tests/support/random_loop.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace twill::test {

namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const LoopKnobs& knobs) : random_(seed), k_(knobs) {}

  Problem run(std::uint64_t seed) {
    p_.name = "random-" + std::to_string(seed);
    machine();
    const int count = pick(k_.min_ops, k_.max_ops);
    for (int v = 0; v < count; ++v) p_.ops.push_back(op(v));
    edges();
    // Not drawn: the rest of the problem is the same with and without.
    for (std::size_t m = 0; m < p_.memories.size(); ++m)
      p_.memories[m].rings = k_.charged_rings && (seed + m) % 3 == 0;
    return p_;
  }

 private:
  int pick(int low, int high) { return static_cast<int>(random_.range(low, high)); }

  void machine() {
    for (int f = 0, count = pick(1, std::max(1, k_.max_units)); f < count; ++f)
      p_.units.push_back({"unit" + std::to_string(f), random_.range(1, k_.max_capacity)});
    for (int m = 0, count = pick(0, k_.max_memories); m < count; ++m)
      p_.memories.push_back({"mem" + std::to_string(m), random_.range(1, 6)});
    const bool identical = k_.identical_slots && random_.percent(40);
    for (int w = 0, count = pick(1, std::max(1, k_.max_slots)); w < count; ++w) {
      WarpSlot slot;
      if (identical && w > 0) slot = p_.warps[0];
      slot.name = "w" + std::to_string(w);
      if (!identical || w == 0) {
        slot.width = k_.wide_ops && random_.percent(60) ? 4 : 1;
        slot.registers = random_.range(k_.max_registers / 2, 3 * k_.max_registers);
      }
      p_.warps.push_back(slot);
    }
    if (k_.variable_latency_slot && random_.percent(50)) {
      const WarpSlot load{"load", 1, random_.range(0, 2 * k_.max_registers), true};
      p_.warps.insert(p_.warps.begin() + pick(0, static_cast<int>(p_.warps.size())), load);
    }
  }

  Op op(int v) {
    Op op;
    op.id = "op" + std::to_string(v);
    const bool marked = variable_latency_slot(p_) >= 0;
    op.variable_latency = marked ? random_.percent(30) : random_.percent(5);
    op.streaming = op.variable_latency && k_.streaming && random_.percent(33);
    const bool zero = op.streaming || (k_.zero_cycle_ops && random_.percent(15));
    op.cycles = zero || k_.max_cycles == 0 ? 0 : random_.range(1, k_.max_cycles);
    if (op.cycles > 0) reservations(op);
    if (k_.max_registers > 0 && random_.percent(60))
      op.registers = random_.range(1, k_.max_registers);
    for (int m = 0; m < static_cast<int>(p_.memories.size()); ++m)
      if (random_.percent(30)) op.footprints.push_back({m, random_.range(1, 2)});
    if (k_.max_spill > 0 && random_.percent(60)) op.spill = random_.range(1, k_.max_spill);
    p_.ops.push_back(op);  // for allowed_slots() only
    op.width = k_.wide_ops && random_.percent(30) ? 4 : 1;
    p_.ops.back().width = op.width;
    if (k_.always_placeable && allowed_slots(p_, v).empty()) op.width = 1;
    p_.ops.pop_back();
    return op;
  }

  void reservations(Op& op) {
    const int used = random_.percent(80) ? 1 : pick(0, static_cast<int>(p_.units.size()));
    std::vector<int> units;
    for (int f = 0; f < static_cast<int>(p_.units.size()); ++f) units.push_back(f);
    for (int i = 0; i < used; ++i) {
      const auto at = static_cast<std::size_t>(pick(i, static_cast<int>(units.size()) - 1));
      std::swap(units[static_cast<std::size_t>(i)], units[at]);
    }
    for (int i = 0; i < used; ++i) {
      const int unit = units[static_cast<std::size_t>(i)];
      const Amount capacity = p_.units[static_cast<std::size_t>(unit)].capacity;
      const int segments = k_.multi_segment && random_.percent(25) ? pick(1, 2) : 1;
      for (int s = 0; s < segments; ++s) {
        Reservation r{unit, 0, op.cycles, random_.range(1, capacity)};
        if (k_.multi_segment && random_.percent(30)) r.offset = random_.range(0, op.cycles - 1);
        r.length = op.cycles - r.offset;
        if ((k_.pipelined_units || segments > 1) && random_.percent(40))
          r.length = random_.range(1, r.length);
        // check() refuses an op whose own segments exceed a unit; segments that do not overlap
        // cannot.
        const bool overlaps = std::any_of(
            op.reservations.begin(), op.reservations.end(), [&](const Reservation& other) {
              return other.unit == unit && other.offset < r.offset + r.length &&
                     r.offset < other.offset + other.length;
            });
        if (!overlaps) op.reservations.push_back(r);
      }
    }
  }

  void edges() {
    const int count = static_cast<int>(p_.ops.size());
    std::vector<int> rank(p_.ops.size());  // distance 0 only goes up in rank: no such cycle
    for (int v = 0; v < count; ++v) rank[static_cast<std::size_t>(v)] = v;
    for (int v = count - 1; v > 0; --v)
      std::swap(rank[static_cast<std::size_t>(v)], rank[static_cast<std::size_t>(pick(0, v))]);
    for (int i = 0, tries = pick(0, count * k_.max_edges_per_op); i < tries; ++i) {
      Edge edge;
      edge.from = pick(0, count - 1);
      edge.to = pick(0, count - 1);
      const bool carried = k_.max_distance > 0 && random_.percent(30);
      if (!carried && edge.from == edge.to) continue;
      if (!carried &&
          rank[static_cast<std::size_t>(edge.from)] > rank[static_cast<std::size_t>(edge.to)])
        std::swap(edge.from, edge.to);
      const Op& producer = p_.ops[static_cast<std::size_t>(edge.from)];
      if (p_.ops[static_cast<std::size_t>(edge.to)].streaming) continue;
      if (carried) edge.distance = pick(1, k_.max_distance);
      if (!producer.streaming)
        edge.delay = random_.percent(80) ? producer.cycles : random_.range(0, producer.cycles + 1);
      edge.blocking = k_.blocking && random_.percent(30);
      if (k_.max_hold > 0 && random_.percent(20)) edge.hold = random_.range(1, k_.max_hold);
      p_.edges.push_back(edge);
    }
  }

  Random random_;
  const LoopKnobs& k_;
  Problem p_;
};

}  // namespace

// Rules 9 and 10.
static void add_flight_and_channels(Problem& p, std::uint64_t seed, const LoopKnobs& knobs) {
  Random random(seed + 2'000'000'033);
  for (std::size_t v = 0; knobs.flight && v < p.ops.size(); ++v) {
    if (!p.ops[v].streaming || random.percent(50)) continue;
    p.ops[v].streaming = false;
    p.ops[v].in_flight = true;
    const Cycle latency = random.range(0, 4);
    for (Edge& e : p.edges)
      if (e.from == static_cast<int>(v)) e.delay = latency + random.range(0, 1);
  }
  const auto fraction = [&](Amount least, Amount most) {
    const Amount numerator = random.range(least, most), denominator = random.range(1, 4);
    const Amount common = std::gcd(numerator, denominator);
    return Fraction{numerator / common, denominator / common};
  };
  for (int c = 0; c < knobs.max_channels; ++c) {
    if (random.percent(30)) continue;
    const int channel = static_cast<int>(p.channels.size());
    p.channels.push_back({"channel" + std::to_string(channel), fraction(2, 6)});
    for (Op& op : p.ops)
      if (random.percent(70)) op.traffic.push_back({channel, fraction(0, 6)});
  }
}

Problem random_loop(std::uint64_t seed, const LoopKnobs& knobs) {
  Problem problem = Generator(seed, knobs).run(seed);
  add_flight_and_channels(problem, seed, knobs);
  return problem;
}

Problem ring_loop(std::uint64_t seed, const LoopKnobs& knobs) {
  Problem p = Generator(seed, knobs).run(seed);
  Random random(seed + 1'000'003);
  const int count = static_cast<int>(p.ops.size());
  const auto op = [&](int v) -> Op& { return p.ops[static_cast<std::size_t>(v)]; };
  const auto zero = [&](int v) {
    op(v).cycles = 0;
    op(v).reservations.clear();
  };
  if (p.memories.empty()) p.memories.push_back({"mem0", 0});
  p.memories[0] = {"mem0", random.range(1, 8), true};
  const auto put = [&](int v) {
    std::erase_if(op(v).footprints, [](const Footprint& f) { return f.memory == 0; });
    op(v).footprints.push_back({0, random.range(1, 2)});
  };
  const bool marked = variable_latency_slot(p) >= 0;
  for (int load = 0; load < (random.percent(30) && count > 2 ? 2 : 1); ++load) {
    zero(load);
    op(load).streaming = op(load).variable_latency = true;
    if (marked) op(load).width = 1;
    std::erase_if(p.edges, [&](const Edge& e) { return e.to == load; });
    const int user = static_cast<int>(random.range(load + 1, count - 1));
    p.edges.push_back({load, user, 0, static_cast<int>(random.range(0, 1)), random.percent(30),
                       random.percent(30) ? random.range(1, 3) : 0});
    for (Edge& e : p.edges)
      if (e.from == load) e.delay = 0;
    put(load);
    if (op(user).streaming || random.percent(50)) continue;
    zero(user);
    if (random.percent(70)) put(user);
    if (random.percent(50))
      std::erase_if(op(load).footprints, [](const Footprint&) { return true; });
  }
  // A second load may follow an edge into it: none does, and no cycle has lost its distances.
  std::erase_if(p.edges, [&](const Edge& e) { return op(e.to).streaming; });
  add_flight_and_channels(p, seed, knobs);
  return p;
}

Schedule random_schedule(const Problem& problem, Random& random, Cycle max_interval) {
  Schedule schedule;
  schedule.initiation_interval = random.range(1, max_interval);
  const Cycle interval = schedule.initiation_interval;
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
    const auto slots = allowed_slots(problem, v);
    const auto any = static_cast<std::int64_t>(problem.warps.size()) - 1;
    const auto last = static_cast<std::int64_t>(slots.size()) - 1;
    schedule.warp.push_back(slots.empty() || random.percent(2)
                                ? static_cast<int>(random.range(0, any))
                                : slots[static_cast<std::size_t>(random.range(0, last))]);
    schedule.start.push_back(random.range(0, random.percent(50) ? 2 : 2 * interval));
  }
  // Push consumers back until the edges hold; gives up on a recurrence that I cannot meet.
  const bool repair = random.percent(90);
  for (std::size_t round = 0; repair && round <= problem.ops.size(); ++round)
    for (const Edge& edge : problem.edges) {
      const auto u = static_cast<std::size_t>(edge.from), v = static_cast<std::size_t>(edge.to);
      Cycle apart = edge.delay - edge.distance * interval;
      if (schedule.warp[u] != schedule.warp[v]) apart += problem.ops[u].spill;
      schedule.start[v] = std::max(schedule.start[v], schedule.start[u] + apart);
    }
  schedule.length = schedule_length(problem, schedule.start);
  return schedule;
}

Problem scarce_loop(std::uint64_t seed) {
  Random random(seed);
  LoopKnobs knobs;
  knobs.min_ops = 2;
  knobs.max_ops = 4;
  knobs.max_slots = 2;
  knobs.max_spill = 1;
  knobs.max_memories = 1;
  knobs.max_distance = 2;
  knobs.wide_ops = false;
  Problem p = seed % 3 == 0 ? ring_loop(seed, knobs) : random_loop(seed, knobs);
  if (p.memories.empty()) p.memories.push_back({"m", 0, false});
  const bool tensor = random.percent(25);
  p.memories[0].name = tensor ? "tmem" : "smem";
  const Amount unit = tensor ? 32 : 128;
  for (Op& op : p.ops) {
    for (Footprint& f : op.footprints) f.amount *= unit;
    if (op.footprints.empty() && op.registers == 0 && op.cycles > 0 && random.percent(60))
      op.footprints.push_back({0, unit * random.range(1, 2)});
    if (op.cycles > 0 && random.percent(30)) op.kind = "gemm";
  }
  p.memories[0].capacity = unit * random.range(1, 5) + (tensor ? 0 : 64);
  return p;
}

Problem beside_itself(const Problem& problem) {
  Problem both = problem;
  const int n = static_cast<int>(problem.ops.size());
  for (Op op : problem.ops) {
    op.id += "_again";
    both.ops.push_back(std::move(op));
  }
  for (Edge e : problem.edges) {
    e.from += n;
    e.to += n;
    both.edges.push_back(e);
  }
  return both;
}

}  // namespace twill::test
