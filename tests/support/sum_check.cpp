#include "tests/support/sum_check.hpp"

#include "tests/support/unit_propagation.hpp"

namespace twill::test {

SumReport check_sum(std::size_t n, const Value& value, std::int64_t bound, const Emit& emit) {
  MemoryCnf cnf;
  Formula f(cnf);
  std::vector<Lit> inputs;
  for (std::size_t i = 0; i < n; ++i) inputs.push_back(f.fresh());
  emit(f, inputs);
  SumReport report;
  report.size = {f.variables() - static_cast<std::int64_t>(n), f.clauses()};
  std::vector<int> state(n, -1);  // -1 false, 0 open, 1 true
  for (;;) {
    std::vector<bool> chosen(n);
    std::vector<Lit> assumed;
    for (std::size_t i = 0; i < n; ++i) {
      chosen[i] = state[i] == 1;
      if (state[i] != 0) assumed.push_back(state[i] == 1 ? inputs[i] : ~inputs[i]);
    }
    const bool within = value(chosen) <= bound;
    const auto closure = propagate(cnf, assumed);
    if (within)
      report.sound = report.sound && closure.has_value();
    else
      report.consistent = report.consistent && !closure.has_value();
    for (std::size_t i = 0; i < n && within && closure; ++i) {
      if (state[i] != 0) continue;
      chosen[i] = true;
      if (value(chosen) > bound) {
        report.arc_consistent = report.arc_consistent && closure->of(inputs[i]) == -1;
        report.sound = report.sound && closure->of(inputs[i]) <= 0;
      } else {
        report.sound = report.sound && closure->of(inputs[i]) == 0;
      }
      chosen[i] = false;
    }
    if (assumed.size() == n) report.models = report.models && satisfiable(cnf, assumed) == within;
    std::size_t i = 0;
    while (i < n && ++state[i] == 2) state[i++] = -1;
    if (i == n) break;
  }
  return report;
}

SumReport check_sum(const std::vector<std::int64_t>& weights, std::int64_t bound,
                    const Emit& emit) {
  const Value sum = [&](const std::vector<bool>& chosen) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i]) total += weights[i];
    return total;
  };
  return check_sum(weights.size(), sum, bound, emit);
}

}  // namespace twill::test
