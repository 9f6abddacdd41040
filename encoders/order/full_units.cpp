// Waits beside a unit that is hardly idle, in the order form: redundant clauses about slots.
//
// At the issue of an op v that waits on slot w nothing else of w executes (rule 8). So a unit is
// used in that cycle by v itself, by ops of other slots, or not in full. Let `idle` be what is left
// of the unit in I cycles, capacity x I less the area of all segments. If all ops that use the unit
// are on w, each v that waits there costs what v itself leaves of the unit at its issue. Issues of
// ops with cycles that wait on one slot are different cycles. So these costs sum to `idle` at the
// most, or one op that uses the unit is on another slot.
//
// At the bound a unit is often never idle. Then every wait needs such an op, which takes a result
// over from another slot and is late by the spill. Rules 2 and 8 say so once the order of all ops
// is known; these clauses say it before anything is.
//
// Variables: one a unit and slot, "not all on w". Clauses: one for that, and where nothing is idle
// one an op that may wait; else one sum over the ops that wait in every schedule.
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/order/order.hpp"
#include "graph/accepted.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

/// What an iteration takes of the unit, and per op the most that it takes itself at its issue.
struct UnitUse {
  Wide area = 0;
  std::vector<Amount> at_issue;
  std::vector<int> users;
};

UnitUse use_of(const OrderModel& m, int unit) {
  const Problem& p = m.problem;
  UnitUse use;
  use.at_issue.resize(p.ops.size(), 0);
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
    bool uses = false;
    for (const Reservation& r : p.ops[at(v)].reservations) {
      if (r.unit != unit || r.length <= 0 || r.amount <= 0) continue;
      use.area += Wide{r.length} * r.amount;
      // An op longer than I meets its own next copy there.
      if (p.ops[at(v)].cycles > m.request.ii_low)
        use.at_issue[at(v)] = p.units[at(unit)].capacity;
      else if (r.offset == 0)
        use.at_issue[at(v)] += r.amount;
      uses = true;
    }
    if (uses) use.users.push_back(v);
  }
  return use;
}

}  // namespace

void encode_full_units(OrderModel& m, std::span<const Lit> waits) {
  const Problem& p = m.problem;
  if (m.groups.by_parts()) return;
  for (int unit = 0; unit < static_cast<int>(p.units.size()); ++unit) {
    const Amount capacity = p.units[at(unit)].capacity;
    const UnitUse use = use_of(m, unit);
    const Wide idle = Wide{capacity} * m.request.ii_high - use.area;
    if (idle < 0 || use.users.empty()) continue;
    const auto group = m.groups.open("waits beside " + p.units[at(unit)].name);
    for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
      if (p.warps[at(w)].variable_latency) continue;
      std::vector<std::vector<Lit>> waiting;  // both hold: it waits on w
      std::vector<Term> costs;
      Wide cost = 0;
      for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
        const Amount left = capacity - use.at_issue[at(v)];
        const Lit on = m.on(v, w);
        if (left <= 0 || on.is_false() || waits[at(v)].is_false()) continue;
        if (idle == 0) waiting.push_back({~waits[at(v)], ~on});
        if (!waits[at(v)].is_true() || p.ops[at(v)].cycles == 0) continue;
        costs.push_back({left, on});
        cost += left;
      }
      if (idle == 0 ? waiting.empty() : cost <= idle) continue;
      const Lit elsewhere = m.f.fresh();
      std::vector<Lit> not_all = {~elsewhere};
      for (const int v : use.users) not_all.push_back(~m.on(v, w));
      m.f.clause(not_all);
      for (const auto& one : waiting) m.f.clause({one[0], one[1], elsewhere});
      if (idle == 0) continue;
      const Formula::Guarded all_on_slot(m.f, ~elsewhere, "waits beside " + p.units[at(unit)].name);
      at_most_sum(m.f, m.choice, costs, static_cast<std::int64_t>(idle));
    }
  }
}

}  // namespace twill
