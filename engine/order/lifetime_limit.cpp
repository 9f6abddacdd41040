#include "engine/order/lifetime_limit.hpp"

#include <algorithm>

#include "graph/difference_flow.hpp"
#include "graph/index.hpp"

namespace twill::order {

LeastLifetime least_lifetime(const Problem& problem, const OrderEncoding& encoding,
                             const OrderSearcher& solver, Cycle ii, Cycle deadline, Cycle stages) {
  const int ops = static_cast<int>(problem.ops.size());
  std::vector<Cycle> stage;
  for (int v = 0; v < ops; ++v) {
    Cycle a = 0;
    const auto holds = [&](Lit l) { return l.is_constant() ? l.is_true() : solver.value(l); };
    while (holds(encoding.stage_at_least(v, a + 1))) ++a;
    stage.push_back(a);
  }
  // Nodes: the origin, the rows, and for each op the end of its lifetime counted from its own
  // stage.
  const auto end_node = [&](int v) { return Differences::node(ops) + v; };
  const Differences& rows = encoding.rows();
  std::vector<FlowArc> arcs;
  std::vector<std::string> names;  // of an arc, as a step of the reason
  std::vector<int> variables;      // of atoms; 0 = a fact, and below 0 the edge -1 - e
  const auto add = [&](const Difference& d, std::string name, int variable) {
    if (std::max(d.from, d.to) > Differences::node(ops - 1)) return;  // first rows of sequences
    arcs.push_back({d.from, d.to, d.at(ii, deadline)});
    names.push_back(std::move(name));
    variables.push_back(variable);
  };
  for (std::size_t f = 0; f < rows.facts().size(); ++f)
    add(rows.facts()[f], "f" + std::to_string(f), 0);
  for (const DifferenceAtom& atom : rows.atoms())
    if (solver.value(Lit::of(atom.variable)))
      add(atom.difference, "a" + std::to_string(atom.variable), atom.variable);
  std::vector<Cycle> values(at(end_node(ops)), 0);
  for (int v = 0; v < ops; ++v)
    values[at(Differences::node(v))] = solver.least(0, Differences::node(v));
  std::vector<int> coefficients(values.size(), 0);
  for (int e = 0; e < static_cast<int>(problem.edges.size()); ++e) {
    const Edge& edge = problem.edges[at(e)];
    const Cycle weight =
        (stage[at(edge.to)] - stage[at(edge.from)] + edge.distance) * ii + edge.hold;
    arcs.push_back({Differences::node(edge.to), end_node(edge.from), weight});
    names.push_back("u" + std::to_string(e));
    variables.push_back(-1 - e);
    coefficients[at(Differences::node(edge.from))] = -1;
    coefficients[at(end_node(edge.from))] = 1;
  }
  for (int v = 0; v < ops; ++v) {  // an end is at its last use, which may be in an earlier stage
    Cycle& end = values[at(end_node(v))];
    bool used = false;
    for (const Edge& edge : problem.edges) {
      if (edge.from != v) continue;
      const Cycle here = values[at(Differences::node(edge.to))] +
                         (stage[at(edge.to)] - stage[at(v)] + edge.distance) * ii + edge.hold;
      end = used ? std::max(end, here) : here;
      used = true;
    }
  }

  FlowOptimum optimum = least_weighted_sum(arcs, coefficients, std::move(values));
  LeastLifetime least;
  least.total = optimum.sum;
  for (int v = 0; v < ops; ++v)
    least.rows.push_back(optimum.values[at(Differences::node(v))] - optimum.values[0]);
  std::vector<int> stages_counted(at(ops), 0);
  least.reason = "L";
  for (std::size_t a = 0; a < arcs.size(); ++a) {
    if (optimum.times[a] == 0) continue;
    if (variables[a] > 0) least.lemma.push_back(-variables[a]);
    if (variables[a] < 0) {
      const Edge& edge = problem.edges[at(-1 - variables[a])];
      ++stages_counted[at(edge.to)];
      --stages_counted[at(edge.from)];
    }
    for (int i = 0; i < optimum.times[a]; ++i) least.reason += " " + names[a];
  }
  for (int v = 0; v < ops; ++v) {
    const Cycle a = stage[at(v)];
    if (stages_counted[at(v)] > 0 && a > 0)
      least.lemma.push_back(-encoding.stage_at_least(v, a).dimacs());
    if (stages_counted[at(v)] < 0 && a + 1 < stages)
      least.lemma.push_back(encoding.stage_at_least(v, a + 1).dimacs());
  }
  return least;
}

}  // namespace twill::order
