#include "bench/lab/crowded.hpp"

#include <algorithm>
#include <string>

#include "graph/error.hpp"
#include "graph/io/json_text.hpp"
#include "graph/random.hpp"

namespace twill::bench {
namespace {

constexpr Cycle kLongest = 4;
constexpr Cycle kInterval = 8;  // about: what the units are cut for

}  // namespace

Problem crowded_loop(const CrowdedLoop& knobs) {
  if (knobs.ops < 2 || knobs.ops > 1000)
    throw InputError("crowded loop", "ops", std::to_string(knobs.ops), range_rule(2, 1000));
  if (knobs.heaviest < 1 || knobs.heaviest > 1000)
    throw InputError("crowded loop", "heaviest", std::to_string(knobs.heaviest),
                     range_rule(1, 1000));
  SplitMix64 random(knobs.seed);
  const auto weight = [&] { return random.range(1, knobs.heaviest); };
  Problem p;
  p.name = "crowded-" + std::to_string(knobs.ops) + "-" + std::to_string(knobs.seed);
  p.warps = {{"w0", 4, 0, false}, {"w1", 4, 0, false}};
  p.units = {{"wide", 0}, {"narrow", 0}};
  p.memories = {{"shared", 0, false}};
  std::vector<Amount> work(p.units.size(), 0), most(p.units.size(), 0);
  for (int v = 0; v < knobs.ops; ++v) {
    Op op;
    op.id = "op" + std::to_string(v);
    op.cycles = random.range(1, kLongest);
    op.width = 4;
    const std::size_t unit = random.range(0, 3) > 0 ? 0 : 1;
    const Amount amount = weight();
    op.reservations.push_back({static_cast<int>(unit), 0, op.cycles, amount});
    work[unit] += amount * op.cycles;
    most[unit] = std::max(most[unit], amount);
    op.registers = weight();
    if (random.range(0, 1) == 0) op.footprints.push_back({0, weight()});
    op.spill = random.range(0, 1);
    p.ops.push_back(std::move(op));
    // Wide and shallow: one op of the last dozen is read, if any.
    if (v > 0 && random.range(0, 4) > 0) {
      const auto from = static_cast<int>(random.range(std::max(0, v - 12), v - 1));
      p.edges.push_back({from, v, p.ops[static_cast<std::size_t>(from)].cycles, 0, false, 0});
    }
  }
  for (std::size_t u = 0; u < p.units.size(); ++u)
    p.units[u].capacity = std::max({most[u], (work[u] + kInterval - 1) / kInterval, Amount{1}});
  // What the shortest lifetimes hold at that interval, and a fifth: memory and registers bind.
  Amount held = 0, registers = 0, largest = 1, footprint = 1;
  for (const Edge& e : p.edges) {
    const Op& op = p.ops[static_cast<std::size_t>(e.from)];
    registers += op.registers * e.delay;
    largest = std::max(largest, op.registers);
    for (const Footprint& f : op.footprints) {
      held += f.amount * e.delay;
      footprint = std::max(footprint, f.amount);
    }
  }
  p.memories[0].capacity = std::max(footprint, held * 6 / (5 * kInterval) + 1);
  for (WarpSlot& slot : p.warps)
    slot.registers = std::max(largest, registers * 6 / (10 * kInterval) + 1);
  return p;
}

}  // namespace twill::bench
