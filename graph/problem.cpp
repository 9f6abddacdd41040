#include "graph/problem.hpp"

#include <algorithm>

namespace twill {

int variable_latency_slot(const Problem& problem) {
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    if (problem.warps[w].variable_latency) return static_cast<int>(w);
  return -1;
}

void drop_channels(Problem& problem) {
  problem.channels.clear();
  for (Op& op : problem.ops) op.traffic.clear();
}

std::string fraction_text(const Fraction& fraction) {
  const std::string whole = std::to_string(fraction.numerator);
  return fraction.denominator == 1 ? whole : whole + "/" + std::to_string(fraction.denominator);
}

std::string pin_text(const Problem& problem, const Pin& pin) {
  const auto op = [&](int v) { return problem.ops[static_cast<std::size_t>(v)].id; };
  const auto slot = [&] { return problem.warps[static_cast<std::size_t>(pin.slot)].name; };
  switch (pin.kind) {
    case Pin::on_slot: return "pin of " + op(pin.op) + " to " + slot();
    case Pin::not_on_slot: return op(pin.op) + " not on " + slot();
    case Pin::at_cycle: return op(pin.op) + " at cycle " + std::to_string(pin.cycle);
    case Pin::at_stage: return op(pin.op) + " in stage " + std::to_string(pin.stage);
    case Pin::other_slot: return op(pin.op) + " not on the slot of " + op(pin.other);
    case Pin::same_slot: break;
  }
  return op(pin.op) + " on the slot of " + op(pin.other);
}

std::string range_text(const IntervalRange& range) {
  const std::string least = std::to_string(range.least), most = std::to_string(range.most);
  if (range.most == kMaxInterval) return least + " or more";
  return range.least == 1 ? "at most " + most : least + " to " + most;
}

Cycle spill_of(const Problem& problem, const Edge& edge) {
  return edge.spill.value_or(problem.ops[static_cast<std::size_t>(edge.from)].spill);
}

Cycle latest_pinned_cycle(const Problem& problem) {
  Cycle latest = -1;
  for (const Pin& pin : problem.pins)
    if (pin.kind == Pin::at_cycle) latest = std::max(latest, pin.cycle);
  return latest;
}

Cycle last_pinned_stage(const Problem& problem) {
  Cycle last = -1;
  for (const Pin& pin : problem.pins)
    if (pin.kind == Pin::at_stage) last = std::max(last, pin.stage);
  return last;
}

bool anchored(const Problem& problem) {
  return latest_pinned_cycle(problem) >= 0 || last_pinned_stage(problem) >= 0;
}

std::vector<StartRange> pinned_starts(const Problem& problem, Cycle ii) {
  std::vector<StartRange> ranges(problem.ops.size());
  for (const Pin& pin : problem.pins) {
    StartRange left;
    if (pin.kind == Pin::at_cycle) left = {pin.cycle, pin.cycle};
    if (pin.kind == Pin::at_stage) left = {pin.stage * ii, pin.stage * ii + ii - 1};
    StartRange& range = ranges[static_cast<std::size_t>(pin.op)];
    range = {std::max(range.first, left.first), std::min(range.last, left.last)};
  }
  return ranges;
}

bool slot_fits(const Problem& problem, int v, int w) {
  const Op& op = problem.ops[static_cast<std::size_t>(v)];
  const WarpSlot& slot = problem.warps[static_cast<std::size_t>(w)];
  if (slot.width < op.width) return false;
  if (variable_latency_slot(problem) < 0) return true;
  return slot.variable_latency == op.variable_latency;
}

bool slot_allowed(const Problem& problem, int v, int w) {
  return slot_fits(problem, v, w) &&
         std::none_of(problem.pins.begin(), problem.pins.end(), [&](const Pin& pin) {
           return pin.op == v && ((pin.kind == Pin::on_slot && pin.slot != w) ||
                                  (pin.kind == Pin::not_on_slot && pin.slot == w));
         });
}

std::vector<int> allowed_slots(const Problem& problem, int v) {
  // As slot_allowed() of each, with one look for the marked slot and one at the pins.
  const Op& op = problem.ops[static_cast<std::size_t>(v)];
  const bool marked = variable_latency_slot(problem) >= 0;
  std::vector<bool> allowed;
  for (const WarpSlot& slot : problem.warps)
    allowed.push_back(slot.width >= op.width &&
                      (!marked || slot.variable_latency == op.variable_latency));
  for (const Pin& pin : problem.pins) {
    if (pin.op != v) continue;
    const auto slot = static_cast<std::size_t>(pin.slot);
    if (pin.kind == Pin::not_on_slot) allowed[slot] = false;
    if (pin.kind == Pin::on_slot)
      for (std::size_t w = 0; w < allowed.size(); ++w) allowed[w] = allowed[w] && w == slot;
  }
  std::vector<int> slots;
  for (std::size_t w = 0; w < allowed.size(); ++w)
    if (allowed[w]) slots.push_back(static_cast<int>(w));
  return slots;
}

bool exempt_from_concurrency(const Problem& problem, int v) {
  return variable_latency_slot(problem) >= 0 &&
         problem.ops[static_cast<std::size_t>(v)].variable_latency;
}

bool single_segments(const Problem& problem) {
  return std::all_of(problem.ops.begin(), problem.ops.end(), [](const Op& op) {
    for (std::size_t i = 0; i < op.reservations.size(); ++i) {
      if (op.reservations[i].offset != 0) return false;
      for (std::size_t j = 0; j < i; ++j)
        if (op.reservations[j].unit == op.reservations[i].unit) return false;
    }
    return true;
  });
}

std::optional<Cycle> monotone_from(const Problem& problem) {
  if (!single_segments(problem) || !problem.inner_loops.empty()) return std::nullopt;
  const Cycle latest = latest_pinned_cycle(problem);
  return latest > 0 ? latest + 1 : 1;
}

bool monotone_in_ii(const Problem& problem) {
  return monotone_from(problem) == Cycle{1};
}

}  // namespace twill
