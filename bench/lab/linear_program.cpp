#include "bench/lab/linear_program.hpp"

#include <vector>

#include "graph/bounds/stage_bound.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

std::string signed_term(std::int64_t weight, const std::string& variable) {
  return (weight < 0 ? " - " : " + ") + std::to_string(weight < 0 ? -weight : weight) + " " +
         variable;
}

}  // namespace

std::string modulo_linear_program(const Problem& problem, Cycle ii) {
  const auto row = [](std::size_t v, Cycle r) {
    return "a_" + std::to_string(v) + "_" + std::to_string(r);
  };
  const auto stage = [](std::size_t v) { return "k_" + std::to_string(v); };
  // sign * M(v) = sign * (sum of r a_v_r + I k_v)
  const auto start = [&](std::size_t v, std::int64_t sign) {
    std::string text = signed_term(sign * ii, stage(v));
    for (Cycle r = 1; r < ii; ++r) text += signed_term(sign * r, row(v, r));
    return text;
  };
  std::string text = "\\ " + one_line(problem.name) + ", I = " + std::to_string(ii) +
                     ": smallest L under dependences and units\nMinimize\n obj: L\nSubject To\n";
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    text += "\\ op " + std::to_string(v) + ": " + one_line(problem.ops[v].id) + "\n row_" +
            std::to_string(v) + ":";
    for (Cycle r = 0; r < ii; ++r) text += signed_term(1, row(v, r));
    text += " = 1\n length_" + std::to_string(v) + ": + 1 L" + start(v, -1) +
            " >= " + std::to_string(problem.ops[v].cycles) + "\n";
  }
  for (std::size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    const Cycle right = edge.delay - edge.distance * ii;
    if (edge.from == edge.to) {
      // M cancels: true, or no schedule at this I at all.
      if (right > 0)
        text += " edge_" + std::to_string(e) + ": + 0 L >= " + std::to_string(right) + "\n";
      continue;
    }
    text += " edge_" + std::to_string(e) + ":" + start(static_cast<std::size_t>(edge.to), 1) +
            start(static_cast<std::size_t>(edge.from), -1) + " >= " + std::to_string(right) + "\n";
  }
  for (std::size_t unit = 0; unit < problem.units.size(); ++unit)
    for (Cycle s = 0; s < ii; ++s) {
      std::string terms;
      for (std::size_t v = 0; v < problem.ops.size(); ++v)
        for (Cycle r = 0; r < ii; ++r) {
          Amount busy = 0;  // of this unit at residue s when v is in row r
          for (const Reservation& x : problem.ops[v].reservations) {
            if (x.unit != static_cast<int>(unit)) continue;
            const Cycle into = ((s - r - x.offset) % ii + ii) % ii;
            if (into < x.length) busy += x.amount * ((x.length - into - 1) / ii + 1);
          }
          if (busy > 0) terms += signed_term(busy, row(v, r));
        }
      if (!terms.empty())
        text += " unit_" + std::to_string(unit) + "_" + std::to_string(s) + ":" + terms +
                " <= " + std::to_string(problem.units[unit].capacity) + "\n";
    }
  const Cycle stages = modulo_stage_bound(problem, ii);
  text += "Bounds\n";
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    text += " 0 <= " + stage(v) + " <= " + std::to_string(stages) + "\n";
  text += "General\n L";
  for (std::size_t v = 0; v < problem.ops.size(); ++v) text += " " + stage(v);
  text += "\nBinary\n";
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    for (Cycle r = 0; r < ii; ++r) text += " " + row(v, r);
    text += "\n";
  }
  return text + "End\n";
}

}  // namespace twill::bench
