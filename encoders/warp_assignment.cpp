// Rule 5, warp uniqueness: every op is on exactly one slot that is wide enough (Soi et al. 2025,
// Figure 6, WARP UNIQUENESS, and Section 4.3, "operations that span multiple warps").
//
// Variables: slot[v][w] for every op and every slot that it may use (rule 5's second half, variable
// latency, among what decides that); the others are constant false. Clauses: one at-least-one and
// an at-most-one per op. cross[e] for the edges that can leave a slot: cross[e] is implied by
// slot[u][w] and not slot[v][w], two clauses a slot (both directions). Pins: the slots that they
// exclude are constants too; "the same slot" is two clauses a slot, "another slot" one.
#include <algorithm>

#include "encoders/placement.hpp"

namespace twill {
namespace {

// Pins to slots are in allowed_slots() already, but where parts have selectors.
void encode_slot_pins(PlacementModel& m) {
  for (std::size_t i = 0; i < m.problem.pins.size(); ++i) {
    const Pin& pin = m.problem.pins[i];
    if (pin.kind == Pin::at_cycle || pin.kind == Pin::at_stage) continue;
    const auto group =
        m.groups.open(pin_text(m.problem, pin), {ConstraintPart::pin, static_cast<int>(i)});
    if (pin.kind == Pin::same_slot) {
      for (int w = 0; w < static_cast<int>(m.problem.warps.size()); ++w) {
        m.f.implies(m.on(pin.op, w), m.on(pin.other, w));
        m.f.implies(m.on(pin.other, w), m.on(pin.op, w));
      }
    } else if (pin.kind == Pin::other_slot) {
      for (int w = 0; w < static_cast<int>(m.problem.warps.size()); ++w)
        m.f.clause({~m.on(pin.op, w), ~m.on(pin.other, w)});
    } else if (m.groups.by_parts()) {
      const Lit on = m.on(pin.op, pin.slot);
      m.f.unit(pin.kind == Pin::on_slot ? on : ~on);
    }
  }
}

}  // namespace

void encode_slots(PlacementModel& m) {
  const Problem& p = m.problem;
  const int slots = static_cast<int>(p.warps.size());
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
    std::vector<Lit> on(static_cast<std::size_t>(slots), kFalseLit);
    std::vector<int> allowed = allowed_slots(p, v);
    if (m.groups.by_parts()) {
      allowed.clear();
      for (int w = 0; w < slots; ++w)
        if (slot_fits(p, v, w)) allowed.push_back(w);
    }
    for (int w = 0; w < slots; ++w)
      if (std::find(allowed.begin(), allowed.end(), w) != allowed.end())
        on[static_cast<std::size_t>(w)] = allowed.size() == 1 ? kTrueLit : m.f.fresh();
    m.f.clause(on);
    at_most_one(m.f, m.choice, on);
    m.slot.push_back(std::move(on));
  }
}

void encode_warp_assignment(PlacementModel& m) {
  const Problem& p = m.problem;
  const int slots = static_cast<int>(p.warps.size());
  encode_slots(m);
  encode_slot_pins(m);
  for (const Edge& e : p.edges) {
    Lit cross = kFalseLit;
    if (e.from != e.to) {
      bool may_share = false, may_leave = false;
      for (int w = 0; w < slots; ++w) {
        const Lit a = m.on(e.from, w), b = m.on(e.to, w);
        may_share = may_share || (!a.is_false() && !b.is_false());
        may_leave = may_leave || (!a.is_false() && !b.is_true());
      }
      cross = !may_share ? kTrueLit : !may_leave ? kFalseLit : m.f.fresh();
      for (int w = 0; w < slots; ++w) {
        m.f.clause({~m.on(e.from, w), m.on(e.to, w), cross});
        m.f.clause({m.on(e.from, w), ~m.on(e.to, w), cross});
      }
    }
    m.cross.push_back(cross);
  }
}

}  // namespace twill
