#include "encoders/order/order.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "graph/bounds/automorphism.hpp"
#include "graph/bounds/coincidence.hpp"
#include "graph/bounds/start_arcs.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"

namespace twill {

bool order_range_allowed(const Problem& problem, Cycle low, Cycle high) {
  if (low == high) return true;
  // A dependence of an op on itself folds by `low` alone (precede()).
  if (low < 1 || low > high || !monotone_in_ii(problem) || !positive_cycle(problem, low).empty())
    return false;
  for (const Op& op : problem.ops)
    for (const Reservation& r : op.reservations)
      if (r.length > low) return false;
  return std::all_of(problem.edges.begin(), problem.edges.end(),
                     [&](const Edge& e) { return e.hold <= low; });
}

int exchanged_op(const Problem& problem, const OrderRequest& request) {
  const std::vector<int>& image = request.exchange;
  const auto moves = [&](int v) { return v >= 0 && image[at(v)] != v; };
  if (image.empty()) return -1;
  if (moves(request.pinned)) return request.pinned;
  int first = -1;
  for (int v = 0; v < static_cast<int>(image.size()); ++v)
    if (moves(v) && image[at(v)] > v &&
        (first < 0 || problem.ops[at(v)].cycles > problem.ops[at(first)].cycles))
      first = v;
  return first;
}

std::vector<int> exchanged_chain(const Problem& problem, const OrderRequest& request) {
  if (request.exchange.empty()) return {};
  std::vector<std::vector<int>> exchanges = {request.exchange};
  exchanges.insert(exchanges.end(), request.further_exchanges.begin(),
                   request.further_exchanges.end());
  const int first = exchanged_op(problem, request);
  if (first == request.pinned && exchanges.size() > 1) return {};
  return exchange_chain(problem, exchanges, first);
}

namespace {

void order_exchangeable(OrderModel& m) {
  const std::vector<int> chain = exchanged_chain(m.problem, m.request);
  if (chain.empty()) return;
  if (chain.front() == m.request.pinned) {
    m.rows.fact({m.rows.node(chain[1]), 0, 0, 0, 0, 1});
    return;
  }
  for (std::size_t i = 0; i + 1 < chain.size(); ++i)
    m.rows.fact({m.rows.node(chain[i]), m.rows.node(chain[i + 1]), 0, 0});
}

// Which ops share a start, where neither the request nor the explanation that it is for speaks of
// one that they may move from. Leaders keep their starts, so that of exchanged sub-tiles those of a
// pair of leaders still tell which comes first; where the leaders of a pair are none, all are
// alone.
std::vector<int> shared_starts(const Problem& problem, const OrderRequest& request) {
  std::vector<int> alone(problem.ops.size());
  std::iota(alone.begin(), alone.end(), 0);
  if (request.parts || !request.limits.latest.empty() || request.limits.lifetime >= 0) return alone;
  std::vector<int> leader = leaders(problem);
  const std::vector<int> chain = exchanged_chain(problem, request);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    const std::vector<int>& image = i == 0 ? request.exchange : request.further_exchanges[i - 1];
    for (std::size_t j = 0; j < chain.size(); ++j) {
      const int to = j == i ? chain[i + 1] : j == i + 1 ? chain[i] : chain[j];
      if (image[at(leader[at(chain[j])])] != leader[at(to)]) return alone;
    }
  }
  return leader;
}

// M(v) = c: two facts on the row, and two on the stage or units on its literals. Only where one
// formula stands for one I, or c = 0 (order_range_allowed). A pin to a stage says nothing of the
// row, so that one formula may stand for many I. Stages then count from the origin.
void order_start_pins(OrderModel& m) {
  if (!anchored(m.problem)) return;
  const auto node_is = [&](int node, Cycle value) {
    for (const Difference& bound : {Difference{0, node, value, 0}, Difference{node, 0, -value, 0}})
      if (m.groups.by_parts())
        m.f.unit(m.rows.atom(bound));
      else
        m.rows.fact(bound);
  };
  for (int v = 0; m.any_stage() && v < static_cast<int>(m.problem.ops.size()); ++v)
    m.rows.fact({0, m.rows.stage_node(v), 0, 0});
  for (std::size_t i = 0; i < m.problem.pins.size(); ++i) {
    const Pin& pin = m.problem.pins[i];
    if (pin.kind != Pin::at_cycle && pin.kind != Pin::at_stage) continue;
    const auto group =
        m.groups.open(pin_text(m.problem, pin), {ConstraintPart::pin, static_cast<int>(i)});
    const bool cycle = pin.kind == Pin::at_cycle;
    const Cycle stage = cycle ? pin.cycle / m.request.ii_low : pin.stage;
    if (cycle) node_is(m.rows.node(pin.op), pin.cycle % m.request.ii_low);
    if (m.any_stage()) {
      node_is(m.rows.stage_node(pin.op), stage);
      continue;
    }
    m.f.unit(m.stage_at_least(pin.op, stage));
    m.f.unit(~m.stage_at_least(pin.op, stage + 1));
  }
}

// M(v) <= c: for every stage a, stage(v) < a or row(v) <= c - a I, as order/length.cpp has it for
// the length. Only where one formula stands for one I. (Where stages are integers only row(v) <= c
// is said, which holds too.)
void order_latest_starts(OrderModel& m) {
  for (const auto& latest : m.placement.limits.latest) {
    const auto group = m.groups.open(latest_text(m.problem, latest));
    const auto [v, cycle] = latest;
    m.f.unit(m.rows.atom({m.rows.node(v), 0, -cycle, 0}));
    const OrderModel::StageWindow& window = m.window[at(v)];
    for (Cycle a = std::max<Cycle>(1, window.first); a <= window.last; ++a)
      m.f.clause({~m.stage_at_least(v, a), m.rows.atom({m.rows.node(v), 0, -cycle, a})});
  }
}

// Where there are many stages: those that an op can have by the constraints between starts. Not
// where a question is about parts of the problem, nor about the sum of lifetimes, whose lemmas know
// stages by their literals.
void narrow_windows(OrderModel& m) {
  const OrderRequest& request = m.request;
  if (request.stages <= kManyStages || request.ii_low != request.ii_high || request.parts ||
      request.limits.lifetime >= 0)
    return;
  const Cycle ii = request.ii_low;
  const StartArcs arcs(m.problem);
  const auto earliest = arcs.earliest(ii);
  if (!earliest) {  // no schedule at all: nothing that is left out is lost
    m.f.clause({});
    for (auto& window : m.window) window = {0, 0};
    return;
  }
  const std::vector<Cycle> latest = arcs.latest(ii, request.stages * ii - 1);
  for (std::size_t v = 0; v < m.window.size(); ++v) {
    auto& window = m.window[at(m.leader[v])];  // the ops that it leads start with it
    window.first = std::max(window.first, (*earliest)[v] / ii);
    window.last = std::min(window.last, floor_divide(latest[v], ii));
  }
  for (std::size_t v = 0; v < m.window.size(); ++v) {
    if (at(m.leader[v]) != v) continue;
    if (m.window[v].first <= m.window[v].last) continue;
    m.f.clause({});
    m.window[v].last = m.window[v].first;
  }
  for (std::size_t v = 0; v < m.window.size(); ++v) m.window[v] = m.window[at(m.leader[v])];
}

}  // namespace

OrderModel::OrderModel(const Problem& p, Formula& formula, const EncodingChoice& encoding,
                       const OrderRequest& order_request)
    : PlacementModel(p, formula, encoding, order_request),
      request(order_request),
      leader(shared_starts(p, order_request)),
      rows(formula, leader, order_request.ii_low, order_request.ii_high, order_request.stages == 0),
      window(p.ops.size(), {0, std::max<Cycle>(0, order_request.stages - 1)}),
      stage(p.ops.size()) {
  assert(request.exchange.empty() || p.pins.empty());
  narrow_windows(*this);
  double literals = 0, implications = 0;
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    if (at(leader[v]) != v) continue;
    const auto of_op = static_cast<double>(window[v].last - window[v].first);
    literals += of_op;
    implications += std::max(0.0, of_op - 1);
  }
  f.expect(literals, implications, literals * sizeof(Lit));
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    if (at(leader[v]) != v) continue;
    std::vector<Lit>& at_least = stage[v];
    for (Cycle a = window[v].first + 1; a <= window[v].last; ++a) {
      at_least.push_back(f.fresh());
      if (at_least.size() > 1) f.implies(at_least.back(), at_least[at_least.size() - 2]);
    }
  }
  for (std::size_t v = 0; v < p.ops.size(); ++v) stage[v] = stage[at(leader[v])];
  if (request.pinned >= 0) rows.fact({rows.node(request.pinned), 0, 0, 0});
  order_exchangeable(*this);
}

Copies copies_near(const OrderModel& m, const RowArc& arc, Cycle offset) {
  // Rows differ by less than I, so copy c of the arc, [begin, end) + c I relative to its op, can
  // cover the instant only if begin + c I < offset + I and end + c I > offset - I.
  Copies near{0, 0};
  for (const Cycle ii : {m.request.ii_low, m.request.ii_high}) {
    near.first = std::min(near.first, floor_divide(offset - arc.end, ii));
    near.last = std::max(near.last, floor_divide(offset - arc.begin, ii) + 1);
  }
  return near;
}

Lit covering(OrderModel& m, const RowArc& arc, Cycle copy, int op, Cycle offset) {
  const Lit ended = m.apart(arc.op, op, arc.end - offset, copy);
  const Lit not_begun = m.apart(op, arc.op, offset + 1 - arc.begin, -copy);
  if (ended.is_true() || not_begun.is_true()) return kFalseLit;
  if (ended.is_false() && not_begun.is_false()) return kTrueLit;
  const Lit covers = m.f.fresh();
  m.f.clause({covers, ended, not_begun});
  return covers;
}

OrderEncoding::OrderEncoding(Formula& f, const Problem& problem, const OrderRequest& request,
                             const EncodingChoice& choice)
    : request_(request),
      choice_(choice),
      model_(problem, f, choice_, request_),
      lifetimes_(model_) {
  encode_warp_assignment(model_);
  if (!model_.groups.by_parts()) {  // else literals that are constant here are variables
    const FormulaSize pairs = least_concurrency_size(model_), copies = lifetimes_.least_size();
    f.expect(pairs.variables + copies.variables, pairs.clauses + copies.clauses);
  }
  encode_symmetry(model_);
  encode_placement_limits(model_);
  order_start_pins(model_);
  order_latest_starts(model_);
  for (int e = 0; e < static_cast<int>(problem.edges.size()); ++e) {
    encode_dependence_of(model_, e);
    encode_handover_of(model_, e);
  }
  if (!problem.inner_loops.empty()) {
    assert(request_.ii_low == request_.ii_high);
    encode_inner_loops(model_, request_.ii_low);
  }
  encode_ring_limits(model_);
  encode_order_capacity(model_);
  encode_order_concurrency(model_);
  lifetimes_.encode();
  if (request_.deadline) encode_order_length(model_);
}

Schedule OrderEncoding::decode(Cycle ii, const std::function<bool(Lit)>& value,
                               const std::vector<Cycle>& rows,
                               const std::vector<Cycle>& stages) const {
  const auto holds = [&](Lit l) { return l.is_constant() ? l.is_true() : value(l); };
  Schedule schedule;
  schedule.initiation_interval = ii;
  for (std::size_t v = 0; v < rows.size(); ++v) {
    const Cycle stage = model_.any_stage()
                            ? stages[v]
                            : model_.window[v].first + std::count_if(model_.stage[v].begin(),
                                                                     model_.stage[v].end(), holds);
    schedule.start.push_back(ii * stage + rows[v]);
    const auto on = std::find_if(model_.slot[v].begin(), model_.slot[v].end(), holds);
    schedule.warp.push_back(static_cast<int>(on - model_.slot[v].begin()));
  }
  schedule.length = schedule_length(model_.problem, schedule.start);
  return schedule;
}

}  // namespace twill
