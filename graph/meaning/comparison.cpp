// What a loop is executed on, and how the result of an execution lies to the reference.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/random.hpp"

namespace twill::meaning {

TensorTiles seeded_inputs(const Meaning& meaning, int n, std::uint64_t seed) {
  TensorTiles all(meaning.tensors.size());
  for (int t = 0; t < static_cast<int>(all.size()); ++t) {
    if (meaning.is_output(t)) continue;
    const Tensor& tensor = meaning.tensors[at(t)];
    const NumberType& type = *number_type(tensor.type);
    const int tiles = meaning.streams(t) ? n : 1;
    // Tensors get streams of their own: neighbouring seeds must not share numbers.
    SplitMix64 random(SplitMix64(seed ^ SplitMix64(static_cast<std::uint64_t>(t)).next()).next());
    for (int i = 0; i < tiles; ++i) {
      Numbers tile{tensor.shape,
                   std::vector<double>(static_cast<std::size_t>(elements(tensor.shape)))};
      for (double& x : tile.data) {
        const double share = static_cast<double>(random.next() >> 11) * 0x1p-53;
        x = rounded(type, tensor.low + share * (tensor.high - tensor.low));
      }
      all[at(t)].push_back(std::move(tile));
    }
  }
  return all;
}

std::vector<Comparison> compare_with(const Meaning& meaning,
                                     const std::vector<std::vector<Bounded>>& reference,
                                     const TensorTiles& outputs, bool may_be_none) {
  std::vector<Comparison> all;
  for (int t = 0; t < static_cast<int>(meaning.tensors.size()); ++t) {
    if (!meaning.is_output(t)) continue;
    Comparison one;
    one.tensor = meaning.tensors[at(t)].name;
    for (std::size_t i = 0; i < reference[at(t)].size(); ++i) {
      const Bounded& right = reference[at(t)][i];
      for (std::size_t k = 0; k < right.value.data.size(); ++k) {
        const double x = right.value.data[k], bound = right.error.data[k];
        const bool there = i < outputs[at(t)].size() && k < outputs[at(t)][i].data.size();
        const double y =
            there ? outputs[at(t)][i].data[k] : std::numeric_limits<double>::quiet_NaN();
        ++one.compared;
        if (may_be_none && there && std::isnan(x) && std::isnan(y)) {
          ++one.no_number;
          continue;
        }
        const double error = x == y ? 0 : std::abs(x - y);
        if (!(error <= bound) || !std::isfinite(bound) || std::isnan(x)) ++one.wrong;
        if (there && std::isinf(bound) && !std::isnan(x)) ++one.unbounded;
        if (error > one.largest_error || std::isnan(error)) one.largest_error = error;
        one.bound = std::max(one.bound, bound);
        if (error > 0) one.largest_share = std::max(one.largest_share, error / bound);
      }
    }
    all.push_back(one);
  }
  return all;
}

bool all_right(const std::vector<Comparison>& all) {
  return std::all_of(all.begin(), all.end(), [](const Comparison& one) { return one.wrong == 0; });
}

}  // namespace twill::meaning
