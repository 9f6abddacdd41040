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
// one an op that may wait; else one sum over the ops that wait in every schedule. They change which
// of several schedules is found, so that a formula has them only once a search is long
// (OrderRequest::full_units).
#include <utility>
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

/// What can wait on one slot beside one unit, as long as all that use the unit are there.
struct Beside {
  int unit = 0, slot = 0;
  Wide idle = 0;
  std::vector<int> waiting;  ///< where nothing is idle: what may wait, and then cannot
  std::vector<Term> costs;   ///< else: what waits in every schedule
};

std::vector<Beside> waits_beside(const OrderModel& m, const UnitUse& use, int unit, Cycle ii) {
  const Problem& p = m.problem;
  const Amount capacity = p.units[at(unit)].capacity;
  const Wide idle = Wide{capacity} * ii - use.area;
  std::vector<Beside> found;
  if (idle < 0 || use.users.empty()) return found;
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
    if (p.warps[at(w)].variable_latency) continue;
    Beside beside{unit, w, idle, {}, {}};
    Wide cost = 0;
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      const Amount left = capacity - use.at_issue[at(v)];
      const Lit on = m.on(v, w);
      if (left <= 0 || on.is_false() || m.waits[at(v)].is_false()) continue;
      if (idle == 0) beside.waiting.push_back(v);
      if (idle == 0 || !m.waits[at(v)].is_true() || p.ops[at(v)].cycles == 0) continue;
      beside.costs.push_back({left, on});
      cost += left;
    }
    if (!beside.waiting.empty() || cost > idle) found.push_back(std::move(beside));
  }
  return found;
}

}  // namespace

bool has_full_units(const OrderModel& m, Cycle ii) {
  if (m.groups.by_parts() || m.waits.empty()) return false;
  for (int unit = 0; unit < static_cast<int>(m.problem.units.size()); ++unit)
    if (!waits_beside(m, use_of(m, unit), unit, ii).empty()) return true;
  return false;
}

void encode_full_units(OrderModel& m, Cycle ii) {
  const Problem& p = m.problem;
  if (m.groups.by_parts() || m.waits.empty()) return;
  for (int unit = 0; unit < static_cast<int>(p.units.size()); ++unit) {
    const UnitUse use = use_of(m, unit);
    for (const Beside& beside : waits_beside(m, use, unit, ii)) {
      const std::string text =
          "waits on " + p.warps[at(beside.slot)].name + " beside " + p.units[at(unit)].name;
      const auto group = m.groups.open(text);
      const Lit elsewhere = m.f.fresh();
      std::vector<Lit> not_all = {~elsewhere};
      for (const int v : use.users) not_all.push_back(~m.on(v, beside.slot));
      m.f.clause(not_all);
      for (const int v : beside.waiting)
        m.f.clause({~m.waits[at(v)], ~m.on(v, beside.slot), elsewhere});
      if (beside.idle == 0) continue;
      const Formula::Guarded all_on_slot(m.f, ~elsewhere, text);
      at_most_sum(m.f, m.choice, beside.costs, static_cast<std::int64_t>(beside.idle));
    }
  }
}

}  // namespace twill
