#include "graph/program/varied_time.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "graph/index.hpp"
#include "graph/program/contended_time.hpp"
#include "graph/random.hpp"

namespace twill::program {

std::vector<double> varied_clocks(const Clock& clock, const Program& program,
                                  const Problem& problem, const BarrierCosts& costs,
                                  const Contention& contention, const Variation& variation) {
  std::set<std::string> loads;
  for (const twill::Op& op : problem.ops)
    if (op.variable_latency) loads.insert(op.id);
  const auto n = static_cast<std::size_t>(clock.iterations());
  std::vector<int> factor(program.ops.size() * n);
  SplitMix64 random(variation.seed);
  std::vector<double> all;
  for (int k = 0; k < variation.runs; ++k) {
    for (std::size_t v = 0; v < program.ops.size(); ++v) {
      const std::int64_t thousandths =
          std::int64_t{10} *
          (loads.contains(program.ops[v].id) ? variation.load_spread : variation.spread);
      const auto drawn = [&] {
        return static_cast<int>(
            random.range(std::max<std::int64_t>(1000 - thousandths, 0), 1000 + thousandths));
      };
      const int once = drawn();
      for (std::size_t i = 0; i < n; ++i)
        factor[v * n + i] = variation.every_execution ? drawn() : once;
    }
    all.push_back(middle_clocks(run_in_time(clock, costs, contention, factor)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

double quantile(const std::vector<double>& ascending, double share) {
  const double place = std::ceil(share * static_cast<double>(ascending.size()));
  return ascending[std::min(ascending.size() - 1,
                            static_cast<std::size_t>(std::max(place, 1.0)) - 1)];
}

}  // namespace twill::program
