// Why there is no schedule at any initiation interval: a smallest set of constraints that clash.
#include "engine/explain/clash_words.hpp"
#include "engine/search.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

// The serial problem says nothing of pins to cycles: which of them are needed so that there is no
// schedule, each tried to be without; none = the rest of the problem clashes.
std::vector<std::string> explain_cycle_pins(const Search& search, Cycle stage_limit) {
  const auto none = [&](const Problem& problem) {
    const Search inner = search.on(problem);
    const Cycle low = lower_bounds(problem).front().value;
    return search.engine.smallest_interval(inner, low, stage_limit).none;
  };
  Problem rest = search.problem;
  std::erase_if(rest.pins, [](const Pin& pin) { return pin.kind == Pin::at_cycle; });
  if (none(rest)) return explain_infeasible(search.on(rest), stage_limit);
  rest = search.problem;
  std::vector<std::string> needed;
  for (const Pin& pin : search.problem.pins) {
    if (pin.kind != Pin::at_cycle) continue;
    Problem without = rest;
    std::erase(without.pins, pin);
    if (none(without))
      rest = std::move(without);
    else
      needed.push_back(pin_text(rest, pin));
  }
  return needed;
}

// An op that fits on no slot, whatever else there is.
std::optional<std::string> unplaceable(const Problem& problem, int v) {
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w)
    if (slot_fits(problem, v, w)) return std::nullopt;
  const Op& op = problem.ops[at(v)];
  std::string text = "no slot for " + op.id + ": its width is " + std::to_string(op.width);
  if (variable_latency_slot(problem) >= 0)
    text += std::string(", its latency ") + (op.variable_latency ? "variable" : "fixed");
  return text;
}

}  // namespace

// At the serial problem's interval (graph/bounds/serial.hpp), where only orders matter; parts of it
// are parts of the problem, and clash at every interval as they do there.
std::vector<std::string> explain_infeasible(const Search& search, Cycle stage_limit) {
  const Problem& given = search.problem;
  for (int v = 0; v < static_cast<int>(given.ops.size()); ++v)
    if (auto why = unplaceable(given, v)) return {*std::move(why)};
  if (latest_pinned_cycle(given) > 0) return explain_cycle_pins(search, stage_limit);
  Problem problem = given;
  for (const auto& [op, slot] : search.pins)
    problem.pins.push_back({Pin::on_slot, op, slot, -1, -1});
  const SerialProblem serial = serial_problem(problem);
  Search orders = search.on(serial.problem);
  orders.pins.clear();
  std::vector<order::Clashing> clash;
  if (given.ops.size() <= kMaxOrderOps) {
    clash = order::smallest_clash(orders, serial.ii, stage_limit, 0, 0);
    if (clash.empty()) return {};
  }
  for (order::Clashing& c : clash) c.without.reset();  // at residues of the serial problem
  const ClashWords lines = clash.empty() ? everything(problem) : words(problem, clash);
  std::vector<std::string> text = lines.clash;
  for (const std::string& line : lines.forced_by) text.push_back("forced by " + line);
  return text;
}

}  // namespace twill
