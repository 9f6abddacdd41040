#include "engine/output/pipeline.hpp"

namespace twill {

Pipeline pipeline(const SteadyState& state, std::size_t limit) {
  Pipeline result;
  const auto cycle = [&](int v) { return state.row[static_cast<std::size_t>(v)]; };
  const auto stage = [&](int v) { return state.stage[static_cast<std::size_t>(v)]; };
  for (int v : state.order) result.steady.push_back({v, cycle(v), state.iteration(v)});

  // An op of stage s is in N - 1 - s periods of the prologue and in s of the epilogue.
  const Cycle periods = state.stages - 1;
  if (periods > static_cast<Cycle>(limit)) {
    result.abridged = true;
    return result;
  }
  Cycle before = 0;
  Cycle after = 0;
  for (Cycle s : state.stage) {
    before += periods - s;
    after += s;
  }
  if (before > static_cast<Cycle>(limit) || after > static_cast<Cycle>(limit)) {
    result.abridged = true;
    return result;
  }
  for (Cycle p = 0; p < periods; ++p) {
    for (int v : state.order) {
      const Cycle at = p * state.ii + cycle(v);
      if (stage(v) <= p) {
        result.prologue.push_back({v, at, p - stage(v)});
      } else {
        result.epilogue.push_back({v, at, p - stage(v)});
      }
    }
  }
  return result;
}

std::string iteration_text(Section section, Cycle iteration) {
  if (section == Section::prologue) return std::to_string(iteration);
  std::string base = section == Section::steady ? "i" : "n";
  if (iteration == 0) return base;
  return base + (iteration > 0 ? "+" : "") + std::to_string(iteration);
}

}  // namespace twill
