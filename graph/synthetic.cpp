#include "graph/synthetic.hpp"

#include <algorithm>
#include <string>

#include "graph/bounds/bounds.hpp"
#include "graph/error.hpp"
#include "graph/io/json_text.hpp"
#include "graph/random.hpp"

namespace twill {
namespace {

constexpr Amount kPlenty = 1'000'000;
constexpr Amount kLargest = 8;  // registers of a result, in units of a tile's

void check_range(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw InputError("synthetic loop", name, std::to_string(value), range_rule(low, high));
}

// Half of the values are used by an op of the layer before; tensor cores, special functions and
// loads have one instance, the arithmetic units two.
class Generator {
 public:
  explicit Generator(const SyntheticLoop& k) : k_(k), random_(k.seed) {}

  Problem run() {
    p_.name = "synthetic-" + std::to_string(k_.ops) + "-" + std::to_string(k_.seed);
    p_.units = {{"TC", 1}, {"SFU", 1}, {"ALU", 2}, {"TMA", 1}};
    for (int w = 0; w < k_.slots; ++w)
      p_.warps.push_back({"w" + std::to_string(w), 4, kPlenty, false});
    p_.warps.push_back({"load", 1, 0, true});
    for (int v = 0; v < k_.ops; ++v) add_op(v);
    for (int r = 0; r < k_.recurrences; ++r) add_recurrence();
    if (k_.pressure > 0) limit_registers();
    return std::move(p_);
  }

 private:
  bool percent(int chance) { return random_.range(0, 99) < chance; }

  void add_op(int v) {
    Op op;
    op.id = "op" + std::to_string(v);
    const bool load = v < k_.width && percent(60);
    const int unit = load ? 3 : percent(30) ? 0 : percent(45) ? 1 : 2;
    op.kind = p_.units[static_cast<std::size_t>(unit)].name;
    op.cycles = random_.range(1, k_.longest);
    op.variable_latency = load;
    op.width = load ? 1 : 4;
    // Tensor cores and loads take the next op while this one is in flight.
    const Cycle busy = unit == 0 || unit == 3 ? (op.cycles + 1) / 2 : op.cycles;
    op.reservations.push_back({unit, 0, busy, 1});
    if (!load) {
      op.registers = Amount{1} << random_.range(0, 3);
      op.spill = percent(50) ? random_.range(1, std::max<Cycle>(1, k_.longest / 3)) : 0;
    }
    p_.ops.push_back(op);
    if (v < k_.width || load) return;
    const int sources = percent(40) ? 2 : 1;
    for (int s = 0; s < sources; ++s) {
      const int from = static_cast<int>(random_.range(std::max(0, v - 2 * k_.width), v - 1));
      if (std::any_of(p_.edges.begin(), p_.edges.end(),
                      [&](const Edge& e) { return e.from == from && e.to == v; }))
        continue;
      const Op& producer = p_.ops[static_cast<std::size_t>(from)];
      const bool waits = producer.kind == "TC" || producer.variable_latency;
      p_.edges.push_back({from, v, producer.cycles, 0, waits && percent(50), op.cycles});
    }
  }

  // From an op to one that it depends on, an iteration later: the accumulators of these loops.
  void add_recurrence() {
    const int last = static_cast<int>(random_.range(k_.ops / 2, k_.ops - 1));
    int first = last;
    for (int hops = static_cast<int>(random_.range(0, 3)); hops > 0; --hops) {
      const auto before = std::find_if(p_.edges.begin(), p_.edges.end(), [&](const Edge& e) {
        return e.to == first && e.distance == 0 &&
               !p_.ops[static_cast<std::size_t>(e.from)].variable_latency;
      });
      if (before == p_.edges.end()) break;
      first = before->from;
    }
    const Op& producer = p_.ops[static_cast<std::size_t>(last)];
    if (producer.variable_latency) return;
    p_.edges.push_back({last, first, producer.cycles, static_cast<int>(random_.range(1, 2)), false,
                        p_.ops[static_cast<std::size_t>(first)].cycles});
  }

  // Every slot gets an equal part of what the smallest lifetimes hold at the bound on I, and room
  // for the largest value at least.
  void limit_registers() {
    const Cycle ii = lower_bounds(p_).front().value;
    std::vector<Cycle> lifetime(p_.ops.size(), 0);
    for (const Edge& e : p_.edges) {
      Cycle& l = lifetime[static_cast<std::size_t>(e.from)];
      l = std::max(l, e.delay + e.hold);
    }
    Amount held = 0;
    for (std::size_t v = 0; v < p_.ops.size(); ++v) held += p_.ops[v].registers * lifetime[v];
    const Amount share =
        held * 100 / (static_cast<Amount>(k_.pressure) * ii * static_cast<Amount>(k_.slots));
    for (WarpSlot& slot : p_.warps)
      if (!slot.variable_latency) slot.registers = std::max(share, kLargest);
  }

  SyntheticLoop k_;
  SplitMix64 random_;
  Problem p_;
};

}  // namespace

Problem synthetic_loop(const SyntheticLoop& knobs) {
  check_range("ops", knobs.ops, 1, kMaxOps);
  check_range("width", knobs.width, 1, kMaxOps);
  check_range("recurrences", knobs.recurrences, 0, kMaxOps);
  check_range("slots", knobs.slots, 1, 64);
  check_range("longest", knobs.longest, 1, 1'000'000);
  check_range("pressure", knobs.pressure, 0, 1000);
  return Generator(knobs).run();
}

}  // namespace twill
