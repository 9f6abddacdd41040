// Lemma. Let two problems have the same units, memories, slots, pins, inner loops, ops and edges,
// but for costs, of which `loose` has none that is larger: cycles, delays, holds, spills, the
// length of each segment, registers, and, of each channel, what passes over its rate. Let ops with
// cycles be the same ops, and segments begin at the same offsets. Then a schedule of `tight` is one
// of `loose`, with the same I, starts and slots; its L can only shrink.
//
// Proof, rule by rule (graph/README.md).
// 1, 7  M(v) + distance I >= M(u) + d + spill stays true where d and spill shrink.
// 2     A segment that begins where it did and is no longer covers, at each residue, no more.
// 3     A life begins where it did, M(u), and ends at the largest M(v) + distance I + hold, not
//       later. What it holds is no more. So rules 4 and 6 keep their sums. (A chunked chain holds
//       the whole tile's registers only where handing it over costs something: fuse_chunks().)
// 4     Which ops show the buffer of a load depends on edges and on who has cycles, and these are
//       the same. The depth of its ring counts from M(u) to the end of the last use, which is not
//       later. So no ring is deeper.
// 5     is of slots and widths alone. Pins are of starts and slots alone.
// 8     An edge waits where it is blocking, which is the same, or hands over with spill > 0, which
//       is so for no more edges. What executes on the slot, [M(o), M(o) + cycles(o)), is no longer.
// 9     What passes through a channel, over its rate, is no more, so it is at most I as before.
// 10    Loads in flight are the same; their latency is the delay of their edges.
// 12    Offsets are the same. What executes on a slot, a part or another op, is no longer.
//
// Where offsets move with costs (an op with a reservation behind its issue) the lemma does not
// hold: a segment that ends earlier may begin earlier, where another op is. Such a pair is refused
// here, and only the judge can say of a schedule whether it is one of the other problem too.
// Chunked chains, as lowering makes them, reserve each of their units from issue on
// (fuse_chunks()), so theirs do not move.
#include "graph/relaxation.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "graph/bounds/channel_bounds.hpp"
#include "graph/index.hpp"
#include "graph/io/json_text.hpp"

namespace twill {
namespace {

/// Equal but for costs.
Op without_costs(Op op) {
  op.cycles = op.spill = 0;
  op.registers = 0;
  op.reservations.clear();
  op.traffic.clear();
  return op;
}

/// Every segment of `loose` lies in one of `tight` with the same offset, each in one of its own.
bool shorter(const std::vector<Reservation>& loose, std::vector<Reservation> tight) {
  for (const Reservation& use : loose) {
    const auto found = std::find_if(tight.begin(), tight.end(), [&](const Reservation& other) {
      return other.unit == use.unit && other.offset == use.offset && other.amount == use.amount &&
             other.length >= use.length;
    });
    if (found == tight.end()) return false;
    tight.erase(found);
  }
  return true;
}

}  // namespace

std::optional<std::string> no_relaxation(const Problem& tight, const Problem& loose) {
  if (tight.units != loose.units || tight.memories != loose.memories ||
      tight.warps != loose.warps || tight.pins != loose.pins ||
      tight.inner_loops != loose.inner_loops || tight.interval != loose.interval ||
      tight.cycle_unit != loose.cycle_unit)
    return "units, memories, slots, pins, inner loops or ranges of I differ";
  if (tight.ops.size() != loose.ops.size() || tight.edges.size() != loose.edges.size())
    return "the numbers of ops or edges differ";
  for (std::size_t v = 0; v < tight.ops.size(); ++v) {
    const Op &a = tight.ops[v], &b = loose.ops[v];
    const std::string name = "op " + quote(a.id);
    if (without_costs(a) != without_costs(b)) return name + " differs in more than its costs";
    if ((a.cycles == 0) != (b.cycles == 0)) return name + " has cycles in one of them only";
    if (b.cycles > a.cycles || b.spill > a.spill) return name + " takes more cycles";
    if (b.registers > a.registers) return name + " holds more registers";
    if (!shorter(b.reservations, a.reservations)) return name + " reserves a unit at other cycles";
  }
  for (std::size_t e = 0; e < tight.edges.size(); ++e) {
    const Edge &a = tight.edges[e], &b = loose.edges[e];
    Edge same = b;
    same.delay = a.delay;
    same.spill = a.spill;
    same.hold = a.hold;
    const auto name = [&] {
      return "the edge from " + quote(tight.ops[at(a.from)].id) + " to " +
             quote(tight.ops[at(a.to)].id);
    };
    if (same != a) return name() + " differs in more than its costs";
    if (b.delay > a.delay || b.hold > a.hold || spill_of(loose, b) > spill_of(tight, a))
      return name() + " waits or holds longer";
  }
  std::map<std::string, Cycle> least;
  for (const ChannelUse& use : channel_uses(tight))
    least[tight.channels[at(use.channel)].name] = use.least;
  for (const ChannelUse& use : channel_uses(loose)) {
    const std::string& name = loose.channels[at(use.channel)].name;
    const auto before = least.find(name);
    if (before == least.end() || use.least > before->second)
      return "channel " + quote(name) + " takes more cycles";
  }
  return std::nullopt;
}

}  // namespace twill
