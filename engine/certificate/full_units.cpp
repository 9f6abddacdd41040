#include "engine/certificate/full_units.hpp"

#include <cstdint>
#include <map>
#include <variant>

#include "graph/wide.hpp"

namespace twill {
namespace {

/// Clauses of every group, by its description.
std::map<std::string, std::int64_t> clauses_by_group(const EncodedFormula& formula) {
  std::map<std::string, std::int64_t> clauses;
  const auto& marks = formula.groups.marks();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const std::int64_t end = i + 1 < marks.size()
                                 ? marks[i + 1].clause
                                 : static_cast<std::int64_t>(formula.cnf.clauses());
    clauses[std::string(formula.groups.description(marks[i]))] += end - marks[i].clause;
  }
  return clauses;
}

/// Instances of the unit that the op holds in the cycle in which it begins, if it is its only copy.
Amount held_at_first(const Op& op, int unit) {
  Amount held = 0;
  for (const Reservation& r : op.reservations)
    if (r.unit == unit && r.offset <= 0 && r.offset + r.length > 0) held += r.amount;
  return held;
}

/// The ops that may wait for another one, blocked or by a hand-over, and leave a part of the unit.
std::int64_t waiting_beside(const Problem& problem, int unit, Amount capacity) {
  std::int64_t ops = 0;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    bool waits = false;
    for (const Edge& e : problem.edges)
      waits = waits || (e.to == static_cast<int>(v) && (e.blocking || spill_of(problem, e) > 0));
    if (waits && held_at_first(problem.ops[v], unit) < capacity) ++ops;
  }
  return ops;
}

}  // namespace

std::string full_units_fault(const Problem& problem, const Refutation& refutation,
                             const EncodedFormula& formula) {
  const auto* order = std::get_if<OrderRequest>(&refutation.request);
  if (order == nullptr || order->full_units.ii == 0) return {};
  const auto [ii, after] = order->full_units;
  if (ii < refutation.ii || ii > order->ii_high)
    return "clauses about full units were made for I = " + std::to_string(ii);
  if (after > static_cast<std::int64_t>(refutation.refinements.size()))
    return "clauses about full units come after more refinements than there are";
  const auto clauses = clauses_by_group(formula);
  for (int u = 0; u < static_cast<int>(problem.units.size()); ++u) {
    const Unit& unit = problem.units[static_cast<std::size_t>(u)];
    Wide spare = Wide{unit.capacity} * ii;
    for (const Op& op : problem.ops)
      for (const Reservation& r : op.reservations)
        if (r.unit == u) spare -= Wide{r.amount} * r.length;
    for (const WarpSlot& slot : problem.warps) {
      const auto group = clauses.find("waits on " + slot.name + " beside " + unit.name);
      if (group == clauses.end() || group->second == 0) continue;
      const std::string what = "the clauses about waits on " + slot.name + " beside " + unit.name;
      if (spare < 0) return what + " are about a unit that is too small";
      if (slot.variable_latency) return what + " are about a slot on which nothing waits";
      if (spare == 0 && group->second > 1 + waiting_beside(problem, u, unit.capacity))
        return what + " are more than ops that wait there";
    }
  }
  return {};
}

}  // namespace twill
