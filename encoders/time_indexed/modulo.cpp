#include "encoders/time_indexed/modulo.hpp"

#include <algorithm>
#include <optional>

#include "graph/loop.hpp"

namespace twill {
namespace {

// Earliest and latest starts by the dependences alone, with the hand-overs that no assignment can
// avoid, within the stages and the length asked for. Empty when there are none.
std::optional<StartWindows> start_windows(const Problem& p, const ModuloRequest& request) {
  const Cycle horizon = request.ii * request.stages;
  const std::vector<Cycle> delays = forced_delays(p);
  const auto earliest = earliest_starts(p, request.ii, delays);
  if (!earliest) return std::nullopt;
  StartWindows w{*earliest, std::vector<Cycle>(p.ops.size(), horizon - 1)};
  if (request.length_high >= 0) {
    const auto latest = latest_starts(p, request.ii, request.length_high, delays);
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      w.latest[v] = std::min(horizon - 1, (*latest)[v]);
  }
  for (const auto& [v, cycle] : request.limits.latest) {
    Cycle& latest = w.latest[static_cast<std::size_t>(v)];
    latest = std::min(latest, cycle);
  }
  for (std::size_t v = 0; v < p.ops.size(); ++v)
    if (w.earliest[v] > w.latest[v]) return std::nullopt;
  return w;
}

// A literal or a constant for every row and stage of an op, in whatever encoding; an op whose
// window is as long as I has all rows as variables, in all of them but `binary`. A liveness family
// has as many again.
void expect_starts(Formula& f, const ModuloRequest& request, const StartWindows& w) {
  double constants = 0, variables = 0;
  for (std::size_t v = 0; v < w.earliest.size(); ++v) {
    constants += static_cast<double>(request.ii) + static_cast<double>(request.stages);
    variables += static_cast<double>(std::min(request.ii, w.latest[v] - w.earliest[v] + 1));
  }
  f.expect(variables / 2, 0, constants * sizeof(Lit));
}

// M(v) = c: units on the row and stage literals; a pin to a stage only on the latter. Clauses: four
// a pin to a cycle, two a pin to a stage.
void encode_start_pins(ModuloModel& m) {
  for (const Pin& pin : m.problem.pins) {
    if (pin.kind != Pin::at_cycle && pin.kind != Pin::at_stage) continue;
    const auto group = m.groups.open(pin_text(m.problem, pin));
    const bool cycle = pin.kind == Pin::at_cycle;
    const Cycle stage = cycle ? pin.cycle / m.request.ii : pin.stage;
    if (cycle) {
      const Cycle row = pin.cycle % m.request.ii;
      m.f.unit(m.starts.row_at_least(pin.op, row));
      m.f.unit(~m.starts.row_at_least(pin.op, row + 1));
    }
    m.f.unit(m.starts.stage_at_least(pin.op, stage));
    m.f.unit(~m.starts.stage_at_least(pin.op, stage + 1));
  }
}

// M(v) <= c, for formulas whose windows are not narrowed: two clauses on the row and stage
// literals.
void encode_latest_starts(ModuloModel& m) {
  for (const auto& latest : m.placement.limits.latest) {
    const auto group = m.groups.open(latest_text(m.problem, latest));
    const int v = latest.first;
    const Cycle stage = (latest.second + 1) / m.request.ii,
                row = (latest.second + 1) % m.request.ii;
    m.f.clause({~m.starts.stage_at_least(v, stage), ~m.starts.row_at_least(v, row)});
    m.f.clause({~m.starts.stage_at_least(v, stage + 1)});
  }
}

}  // namespace

ModuloEncoding encode_modulo(Formula& f, const Problem& problem, const ModuloRequest& request,
                             const EncodingChoice& choice) {
  ModuloEncoding encoding;
  encoding.ii = request.ii;
  encoding.stages = request.stages;
  encoding.length_low = request.length_low;

  const auto window = start_windows(problem, request);
  if (!window) {
    f.clause({});
    return encoding;
  }
  expect_starts(f, request, *window);
  FamilySizes sizes(f);
  ModuloModel m(problem, f, choice, request, *window,
                encode_starts(f, request.ii, request.stages, *window, choice));
  if (request.pinned >= 0) f.unit(~m.starts.row_at_least(request.pinned, 1));
  sizes.add("starts");
  encode_warp_assignment(m);
  sizes.add("slots");
  encode_symmetry(m);
  sizes.add("symmetry");
  encode_placement_limits(m);
  sizes.add("slots");
  encode_start_pins(m);
  encode_latest_starts(m);
  sizes.add("starts");
  const int edges = static_cast<int>(problem.edges.size());
  for (int e = 0; e < edges; ++e) encode_dependence_of(m, e);
  encode_inner_loops(m, request.ii);
  encode_ring_limits(m);
  sizes.add("dependence");
  encode_capacity(m);
  sizes.add("capacity");
  for (int e = 0; e < edges; ++e) encode_handover_of(m, e);
  sizes.add("spill");
  if (request.lifetimes) encode_liveness(m);
  encode_total_lifetime(m);
  sizes.add("liveness");
  if (request.lifetimes) encode_memory(m);
  sizes.add("memory");
  if (request.lifetimes) encode_registers(m);
  sizes.add("registers");
  encode_concurrency(m);
  sizes.add("concurrency");
  if (request.length_high >= 0) encoding.longer = encode_length(m);
  sizes.add("length");
  encoding.sizes = sizes.sizes();

  encoding.relaxed = m.relaxed;
  encoding.rows = std::move(m.starts.rows());
  encoding.stage_literals = std::move(m.starts.stage_literals());
  encoding.slot = std::move(m.slot);
  return encoding;
}

Lit ModuloEncoding::at_most_length(Cycle length) const {
  if (length < length_low) return kFalseLit;
  const auto index = static_cast<std::size_t>(length - length_low);
  return index < longer.size() ? ~longer[index] : kTrueLit;
}

Schedule ModuloEncoding::decode(const Problem& problem,
                                const std::function<bool(Lit)>& value) const {
  const auto holds = [&](Lit l) { return l.is_constant() ? l.is_true() : value(l); };
  const auto count = [&](const std::vector<Lit>& literals) {
    return static_cast<Cycle>(std::count_if(literals.begin(), literals.end(), holds));
  };
  Schedule schedule;
  schedule.initiation_interval = ii;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    schedule.start.push_back(ii * count(stage_literals[v]) + count(rows[v]));
    const auto on = std::find_if(slot[v].begin(), slot[v].end(), holds);
    schedule.warp.push_back(static_cast<int>(on - slot[v].begin()));
  }
  schedule.length = schedule_length(problem, schedule.start);
  return schedule;
}

}  // namespace twill
