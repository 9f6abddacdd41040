// What scores show beyond chance: intervals, pairs, ranks, and what each choice is worth.
//
// The unit is the instance: its value for a contestant is the mean over its scrambles of CPU
// seconds, unsolved as twice the limit. Scrambles of one instance are not independent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/lab/score.hpp"
#include "bench/lab/statistics.hpp"

namespace twill::bench {

/// Contestants by their index in Scores::encodings.
struct PairedTest {
  std::size_t first = 0, second = 0;
  std::size_t instances = 0;   ///< that both were asked
  double difference = 0;       ///< mean over them of first - second, in seconds
  double p = 1, adjusted = 1;  ///< of the signed-rank test; Holm's over all pairs
};

/// A value of one key of an encoding, with the other keys, the solver and the instance the same.
struct ChoiceValue {
  std::string key, value;
  double mean_rank = 0;         ///< among the values that were measured there, 1 = fastest
  double mean_values = 0;       ///< how many those are
  std::size_t comparisons = 0;  ///< with two values at least
};

struct Significance {
  std::vector<ConfidenceInterval> par2;  ///< by contestant
  /// By how much the virtual best solver's PAR2 would be larger without each (Xu, Hutter, Hoos and
  /// Leyton-Brown, "Evaluating component solver contributions to portfolio-based algorithm
  /// selectors", SAT 2012).
  std::vector<double> contribution;
  std::vector<PairedTest> pairs;
  /// Over the instances that every contestant was asked: mean ranks, 1 = fastest.
  std::vector<double> mean_ranks;
  std::size_t ranked_instances = 0;
  double critical_difference = 0;    ///< of mean ranks; 0 = fewer than two contestants or instances
  std::vector<ChoiceValue> choices;  ///< by key, then by rank
};

Significance significance_of(const Scores& scores, std::uint64_t seed = 0);

}  // namespace twill::bench
