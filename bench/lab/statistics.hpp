// Statistics of paired measurements. Nothing here knows what was measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twill::bench {

struct ConfidenceInterval {
  double low = 0, high = 0;
};

/// The mean of all values with its 95 % percentile bootstrap interval (Efron, "Bootstrap methods",
/// Annals of Statistics 1979). Whole groups are drawn, with all their values: those of one group
/// are not independent of each other. No values = {0, 0}. The same seed gives the same interval.
ConfidenceInterval bootstrap_mean(const std::vector<std::vector<double>>& groups,
                                  std::uint64_t seed, std::size_t resamples = 2'000);

/// Ranks from 1, the smallest value first; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values);

/// The two-sided p-value of Wilcoxon's signed-rank test (Biometrics Bulletin 1945): that
/// differences this lopsided come from values without a difference. Zeros are left out. Up to
/// kExactPairs others it is exact, ties included (all signs are equally likely); beyond, the normal
/// approximation with corrections for ties and continuity. No differences = 1.
double signed_rank_p(const std::vector<double>& differences);
inline constexpr std::size_t kExactPairs = 60;

/// p-values of several tests such that each can be compared with one level for all of them: Holm,
/// "A simple sequentially rejective multiple test procedure" (Scandinavian Journal of Statistics
/// 1979). In the order given.
std::vector<double> holm_adjusted(const std::vector<double>& p);

/// By how much the mean ranks of two of `contestants` over `questions` must differ to be told apart
/// at the level 5 % (Nemenyi's test; Demsar, "Statistical comparisons of classifiers over multiple
/// data sets", JMLR 2006). Precondition: two contestants at least, one question.
double critical_difference(std::size_t contestants, std::size_t questions);

}  // namespace twill::bench
