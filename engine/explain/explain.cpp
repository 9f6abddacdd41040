// Why there is no schedule at any initiation interval: a minimal set of constraints that clash.
#include "engine/explain/clash_words.hpp"
#include "engine/options.hpp"
#include "engine/search.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

// The serial problem says nothing of pins to cycles: which of them are needed so that there is no
// schedule, each tried to be without; none = the rest of the problem clashes.
std::vector<Reason> explain_cycle_pins(const Search& search) {
  const auto none = [&](const Problem& problem) {
    const Search inner = search.on(problem);
    const Cycle low = lower_bounds(problem).front().value;
    return search.engine.smallest_interval(inner, low).none;
  };
  Problem rest = search.problem;
  std::erase_if(rest.pins, [](const Pin& pin) { return pin.kind == Pin::at_cycle; });
  if (none(rest)) return explain_infeasible(search.on(rest));
  rest = search.problem;
  std::vector<Reason> needed;
  for (std::size_t i = 0; i < search.problem.pins.size(); ++i) {
    const Pin& pin = search.problem.pins[i];
    if (pin.kind != Pin::at_cycle) continue;
    Problem without = rest;
    std::erase(without.pins, pin);
    if (none(without))
      rest = std::move(without);
    else
      needed.push_back({Reason::pin, pin_text(rest, pin), {pin.op}, static_cast<int>(i)});
  }
  return needed;
}

// An op that fits on no slot, whatever else there is.
std::optional<Reason> unplaceable(const Problem& problem, int v) {
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w)
    if (slot_fits(problem, v, w)) return std::nullopt;
  const Op& op = problem.ops[at(v)];
  std::string text = "no slot for " + op.id + ": its width is " + std::to_string(op.width);
  if (variable_latency_slot(problem) >= 0)
    text += std::string(", its latency ") + (op.variable_latency ? "variable" : "fixed");
  return Reason{Reason::no_slot, std::move(text), {v}};
}

}  // namespace

// At the serial problem's interval (graph/bounds/serial.hpp), where only orders matter; parts of it
// are parts of the problem, and clash at every interval as they do there.
std::vector<Reason> explain_infeasible(const Search& search) {
  const Problem& given = search.problem;
  for (int v = 0; v < static_cast<int>(given.ops.size()); ++v)
    if (auto why = unplaceable(given, v)) return {*std::move(why)};
  if (latest_pinned_cycle(given) > 0) return explain_cycle_pins(search);
  const Problem problem = with_pins(given, search.placement.pins);
  const SerialProblem serial = serial_problem(problem);
  Search orders = search.on(serial.problem);
  orders.placement.pins.clear();
  std::vector<order::Clashing> clash;
  if (given.ops.size() <= kMaxOrderOps) {
    clash = order::minimal_clash(orders, serial.ii, 0, 0);
    if (clash.empty()) return {};
  }
  for (order::Clashing& c : clash) c.without.reset();  // at residues of the serial problem
  return clash.empty() ? everything(problem) : words(problem, clash);
}

}  // namespace twill
