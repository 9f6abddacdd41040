// The straight-line form put together: its shape, its literals, its schedule.
#include "encoders/straight_line/straight_line.hpp"

#include <algorithm>
#include <cassert>

#include "graph/check.hpp"

namespace twill {

StraightLineShape straight_line_shape(const Problem& problem, const StraightLineRequest& request) {
  const Cycle ii = request.ii;
  Cycle copies = std::max<Cycle>(1, (request.length + ii - 1) / ii);
  if (!request.literal) {
    Cycle distance = 0, hold = 0;
    for (const Edge& e : problem.edges) {
      distance = std::max<Cycle>(distance, e.distance);
      hold = std::max(hold, e.hold);
    }
    copies += distance + (hold + ii - 1) / ii;
    if (std::any_of(problem.ops.begin(), problem.ops.end(),
                    [](const Op& op) { return op.cycles == 0; }))
      copies = std::max(copies, request.length / ii + 1);
  }
  return {copies, request.length + (copies - 1) * ii};
}

double straight_line_variables(const Problem& problem, const StraightLineRequest& request) {
  const StraightLineShape shape = straight_line_shape(problem, request);
  return 2.0 * static_cast<double>(problem.ops.size()) * static_cast<double>(shape.copies) *
         static_cast<double>(request.literal ? shape.horizon + 1 : request.length + 1);
}

Cycle StraightLineModel::latest(int v) const {
  const Cycle by_length = request.length - at(v).cycles;
  return request.stages > 0 ? std::min(by_length, request.ii * request.stages - 1) : by_length;
}

Lit StraightLineModel::op(int v, Cycle i, Cycle t) const {
  const bool shifted = !request.literal;
  const auto& row = issue[shifted ? static_cast<std::size_t>(v) : copy(v, i)];
  if (shifted) t -= i * request.ii;
  if (t < 0 || t >= static_cast<Cycle>(row.size())) return kFalseLit;
  return row[static_cast<std::size_t>(t)];
}

Lit StraightLineModel::issued(int v, Cycle t) const {
  if (t < 0) return kFalseLit;
  const auto& row = order[static_cast<std::size_t>(v)];
  return t < static_cast<Cycle>(row.size()) ? row[static_cast<std::size_t>(t)] : kTrueLit;
}

Cycle StraightLineModel::last_sum() const {
  if (request.literal) return shape.horizon - 1;
  return std::min(shape.copies * request.ii - 1, shape.horizon);
}

Schedule StraightLineEncoding::decode(const Problem& problem,
                                      const std::function<bool(Lit)>& value) const {
  const auto first_true = [&](const std::vector<Lit>& literals) {
    const auto it = std::find_if(literals.begin(), literals.end(),
                                 [&](Lit l) { return l.is_constant() ? l.is_true() : value(l); });
    return it - literals.begin();
  };
  Schedule schedule;
  schedule.initiation_interval = ii;
  for (std::size_t v = 0; v < issue.size(); ++v) {
    schedule.start.push_back(static_cast<Cycle>(first_true(issue[v])));
    schedule.warp.push_back(static_cast<int>(first_true(slot[v])));
  }
  schedule.length = schedule_length(problem, schedule.start);
  return schedule;
}

StraightLineEncoding encode_straight_line(Formula& f, const Problem& problem,
                                          const StraightLineRequest& request,
                                          const EncodingChoice& choice) {
  assert(request.ii >= 1 && request.length >= (request.literal ? 1 : 0));
  refuse_pins(problem, "the straight-line program");
  if (request.literal) refuse_rings(problem, "the straight-line program as printed");
  StraightLineModel m(problem, f, choice, request);
  const double variables = straight_line_variables(problem, request);
  f.expect(variables / 2, 0, variables * sizeof(Lit));
  FamilySizes sizes(f);
  encode_q_issue(m);
  sizes.add("starts");
  encode_q_dependence(m);
  sizes.add("dependence");
  encode_q_capacity(m);
  sizes.add("capacity");
  encode_q_warps(m);
  sizes.add("slots");
  encode_q_liveness(m);
  sizes.add("liveness");
  encode_q_memory(m);
  sizes.add("memory");
  encode_q_registers(m);
  sizes.add("registers");
  encode_q_spills(m);
  sizes.add("spill");
  encode_q_concurrency(m);
  sizes.add("concurrency");

  StraightLineEncoding encoding;
  encoding.sizes = sizes.sizes();
  encoding.ii = request.ii;
  for (int v = 0; v < m.ops(); ++v)
    encoding.issue.push_back(m.issue[request.literal ? m.copy(v, 0) : static_cast<std::size_t>(v)]);
  encoding.slot = std::move(m.slot);
  return encoding;
}

}  // namespace twill
