// Why there is no schedule at any initiation interval: a minimal set of clashing constraint groups,
// from selector literals and the solver's failed assumptions, minimised by deletion.
#include "engine/search.hpp"
#include "graph/serial.hpp"
#include "graph/stage_bound.hpp"

namespace twill {
namespace {

// The serial problem says nothing of pins to cycles: which of them are needed so that there is no
// schedule, each tried to be without; none = the rest of the problem clashes.
std::vector<std::string> explain_cycle_pins(const Search& search, Cycle stage_limit) {
  const auto none = [&](const Problem& problem) {
    const Search inner = search.on(problem);
    return search.engine.smallest_interval(inner, 1, stage_limit).none;
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

}  // namespace

std::vector<std::string> explain_infeasible(const Search& search, Cycle stage_limit) {
  if (latest_pinned_cycle(search.problem) > 0) return explain_cycle_pins(search, stage_limit);
  const SerialProblem serial = serial_problem(search.problem);
  const Cycle enough = stage_bound(serial.problem, serial.ii);
  for (int detail = 0; detail <= 30; ++detail) {
    SatSolver solver(search.budget, search.seed);
    Formula formula(solver);
    ModuloRequest request;
    request.ii = serial.ii;
    request.stages = stage_limit > 0 && stage_limit <= enough ? stage_limit : enough;
    request.detail = detail;
    request.selectable = true;
    request.handover = search.handover;
    request.pins = search.pins;
    ModuloEncoding encoding;
    try {
      encoding = encode_modulo(formula, serial.problem, request, search.choice);
    } catch (const Budget::Spent&) {
      return {};
    }
    std::vector<std::pair<Lit, std::string>> core = encoding.selectors;
    const auto refuted = [&](std::vector<std::pair<Lit, std::string>>& groups) {
      std::vector<Lit> assumptions;
      for (const auto& group : groups) assumptions.push_back(group.first);
      const SatSolver::Answer verdict = solver.solve(assumptions);
      if (verdict == SatSolver::Answer::unsat)
        std::erase_if(groups, [&](const auto& group) { return !solver.failed(group.first); });
      return verdict;
    };
    const SatSolver::Answer verdict = refuted(core);
    if (verdict == SatSolver::Answer::sat && encoding.relaxed) continue;
    if (verdict != SatSolver::Answer::unsat) return {};
    for (std::size_t i = 0; i < core.size();) {
      auto fewer = core;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (refuted(fewer) == SatSolver::Answer::unsat)
        core = std::move(fewer);
      else
        ++i;
    }
    std::vector<std::string> text;
    for (const auto& group : core) text.push_back(group.second);
    return text;
  }
  return {};
}

}  // namespace twill
