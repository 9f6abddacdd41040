// Attention in double precision on the CPU, and what the 16-bit baseline would make of it.
#pragma once

#include <cstdint>
#include <vector>

namespace twill::gpu::tests {

/// A row of queries against the keys that it sees; all values exactly those of the 16-bit inputs.
struct RowInput {
  const float* q;                  ///< [head_dim]
  std::vector<const float*> k, v;  ///< of the keys that the row sees
  int head_dim;
  double scale;
};

struct RowOutput {
  std::vector<double> o;         ///< softmax(scale q K^T) V; 0 where no key is seen
  double lse;                    ///< natural; -infinity where no key is seen
  std::vector<double> baseline;  ///< the same with scores, probabilities and result in 16 bits
};

/// `round` rounds to the 16-bit type.
RowOutput reference_row(const RowInput& row, float (*round)(float));

}  // namespace twill::gpu::tests
