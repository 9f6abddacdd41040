// The goal `lifetime` in the time-indexed form: the sum of all lifetimes is at most a bound.
//
// Starts as binary numbers, summed from the literals of rows and stages where the encoding has no
// bits; a binary number t(u) for every op with a use; for each of its edges (u, v)
// M(v) + distance I + hold <= M(u) + t(u), one adder a side and a comparator; an adder for the sum
// of all t(u). Variables and clauses: O(I) an op, O(log(I S)) an edge.
#include <algorithm>

#include "encoders/time_indexed/modulo.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

Binary start_of(ModuloModel& m, int v) {
  if (m.starts.has_bits()) return m.starts.start_bits(v);
  std::vector<Term> terms;
  for (Cycle s = 1; s < m.starts.ii(); ++s) terms.push_back({1, m.starts.row_at_least(v, s)});
  for (Cycle k = 1; k < m.starts.stages(); ++k)
    terms.push_back({m.starts.ii(), m.starts.stage_at_least(v, k)});
  return binary_sum(m.f, terms);
}

void append(std::vector<Term>& terms, const Binary& number) {
  for (std::size_t bit = 0; bit < number.size(); ++bit)
    terms.push_back({std::int64_t{1} << bit, number[bit]});
}

}  // namespace

void encode_total_lifetime(ModuloModel& m) {
  const std::int64_t most = m.placement.limits.lifetime;
  if (most < 0) return;
  const auto group = m.groups.open("lifetimes of at most " + std::to_string(most) + " in all");
  const Problem& p = m.problem;
  std::vector<Binary> start;
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) start.push_back(start_of(m, v));
  std::vector<Term> total;
  for (int u = 0; u < static_cast<int>(p.ops.size()); ++u) {
    const auto uses = [u](const Edge& e) { return e.from == u; };
    if (std::none_of(p.edges.begin(), p.edges.end(), uses)) continue;
    Binary lifetime;
    for (std::int64_t left = most; left > 0; left >>= 1) lifetime.push_back(m.f.fresh());
    append(total, lifetime);
    std::vector<Term> terms;
    append(terms, start[at(u)]);
    append(terms, lifetime);
    const Binary end = binary_sum(m.f, terms);
    for (const Edge& e : p.edges)
      if (uses(e))
        at_most_binary(m.f, binary_plus(m.f, start[at(e.to)], e.distance * m.starts.ii() + e.hold),
                       end);
  }
  at_most_binary(m.f, binary_sum(m.f, total), most);
}

}  // namespace twill
