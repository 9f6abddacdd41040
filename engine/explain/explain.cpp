// Why there is no schedule at any initiation interval: a minimal set of constraints that clash.
#include "engine/explain/clash_words.hpp"
#include "engine/options.hpp"
#include "engine/search.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/index.hpp"
#include "graph/inner_loops.hpp"

namespace twill {
namespace {

// The serial problem says nothing of pins to cycles, nor of inner loops: which of them are needed
// so that there is no schedule, each tried to be without; none = the rest of the problem clashes.
// `with` makes the problem of those that are kept.
template <class With, class Why>
std::vector<Reason> explain_one_by_one(const Search& search, std::size_t count, const With& with,
                                       const Why& why) {
  const auto none = [&](const Problem& problem) {
    const Search inner = search.on(problem);
    const Cycle low = lower_bounds(problem).front().value;
    return search.engine.smallest_interval(inner, low).none;
  };
  std::vector<bool> kept(count, false);
  if (const Problem rest = with(kept); none(rest)) return explain_infeasible(search.on(rest));
  kept.assign(count, true);
  std::vector<Reason> needed;
  for (std::size_t i = 0; i < count; ++i) {
    kept[i] = false;
    if (none(with(kept))) continue;
    kept[i] = true;
    needed.push_back(why(i));
  }
  return needed;
}

std::vector<Reason> explain_cycle_pins(const Search& search) {
  const Problem& problem = search.problem;
  std::vector<std::size_t> cycles;  // indices of pins
  for (std::size_t i = 0; i < problem.pins.size(); ++i)
    if (problem.pins[i].kind == Pin::at_cycle) cycles.push_back(i);
  const auto with = [&](const std::vector<bool>& kept) {
    Problem rest = problem;
    for (std::size_t k = cycles.size(); k-- > 0;)
      if (!kept[k]) rest.pins.erase(rest.pins.begin() + static_cast<std::ptrdiff_t>(cycles[k]));
    return rest;
  };
  return explain_one_by_one(search, cycles.size(), with, [&](std::size_t k) {
    const Pin& pin = problem.pins[cycles[k]];
    return Reason{Reason::pin, pin_text(problem, pin), {pin.op}, static_cast<int>(cycles[k])};
  });
}

std::vector<Reason> explain_inner_loops(const Search& search) {
  const Problem& problem = search.problem;
  const auto with = [&](const std::vector<bool>& kept) {
    Problem rest = problem;
    for (std::size_t k = kept.size(); k-- > 0;)
      if (!kept[k])
        rest.inner_loops.erase(rest.inner_loops.begin() + static_cast<std::ptrdiff_t>(k));
    return rest;
  };
  return explain_one_by_one(search, problem.inner_loops.size(), with, [&](std::size_t k) {
    Reason why{
        Reason::inner_loop, inner_loop_text(problem.inner_loops[k]), {}, static_cast<int>(k)};
    for (const InnerPart& part : problem.inner_loops[k].parts) why.ops.push_back(part.op);
    return why;
  });
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
  if (given.interval != IntervalRange{}) {  // there is none outside of the range either
    Problem open = given;
    open.interval = {};
    return explain_infeasible(search.on(open));
  }
  for (int v = 0; v < static_cast<int>(given.ops.size()); ++v)
    if (auto why = unplaceable(given, v)) return {*std::move(why)};
  if (latest_pinned_cycle(given) > 0) return explain_cycle_pins(search);
  if (!given.inner_loops.empty()) return explain_inner_loops(search);
  const SerialProblem serial = serial_problem(given);
  const Search orders = search.on(serial.problem);
  std::vector<order::Clashing> clash;
  if (given.ops.size() <= kMaxOrderOps) {
    clash = order::minimal_clash(orders, serial.ii, 0, 0);
    if (clash.empty()) return {};
  }
  for (order::Clashing& c : clash) c.without.reset();  // at residues of the serial problem
  return clash.empty() ? everything(given) : words(given, clash);
}

}  // namespace twill
