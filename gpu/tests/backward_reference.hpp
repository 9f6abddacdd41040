// Gradients of attention in double precision on the CPU, and what 16-bit arithmetic would make of
// them.
#pragma once

#include <vector>

namespace twill::gpu::tests {

/// One query head against its keys; matrices are [rows][head_dim].
struct HeadInput {
  int queries, keys, head_dim;
  double scale;
  std::vector<double> q, k, v, d_o;
  std::vector<int> seen;  ///< per query row: it sees the keys before this one, 0 .. keys
};

struct HeadOutput {
  std::vector<double> o;    ///< softmax(scale q k^T) v; 0 where no key is seen
  std::vector<double> lse;  ///< natural; -infinity where no key is seen
};
HeadOutput reference_head(const HeadInput& input);

struct HeadGradients {
  std::vector<double> dq, dk, dv;
};
/// Of sum(d_o * o). `round` rounds what a 16-bit implementation of separate operations would keep
/// in 16 bits (scores, probabilities, o, their gradients, the results); null: exact.
HeadGradients reference_gradients(const HeadInput& input, float (*round)(float) = nullptr);

}  // namespace twill::gpu::tests
