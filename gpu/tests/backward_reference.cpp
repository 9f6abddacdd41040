#include "gpu/tests/backward_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace twill::gpu::tests {

namespace {

std::size_t size(int n) {
  return static_cast<std::size_t>(n);
}

double dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add(double* to, double factor, const double* from, int n) {
  for (int i = 0; i < n; ++i) to[i] += factor * from[i];
}

}  // namespace

HeadOutput reference_head(const HeadInput& in) {
  HeadOutput out;
  out.o.assign(size(in.queries) * size(in.head_dim), 0.0);
  out.lse.assign(size(in.queries), -std::numeric_limits<double>::infinity());
  for (int r = 0; r < in.queries; ++r) {
    const int seen = in.seen[size(r)];
    if (seen == 0) continue;
    std::vector<double> s(size(seen));
    for (int j = 0; j < seen; ++j)
      s[size(j)] = in.scale * dot(&in.q[size(r) * size(in.head_dim)],
                                  &in.k[size(j) * size(in.head_dim)], in.head_dim);
    const double most = *std::max_element(s.begin(), s.end());
    double sum = 0;
    for (const double x : s) sum += std::exp(x - most);
    out.lse[size(r)] = most + std::log(sum);
    for (int j = 0; j < seen; ++j)
      add(&out.o[size(r) * size(in.head_dim)], std::exp(s[size(j)] - out.lse[size(r)]),
          &in.v[size(j) * size(in.head_dim)], in.head_dim);
  }
  return out;
}

HeadGradients reference_gradients(const HeadInput& in, float (*round)(float)) {
  const auto kept = [round](double x) {
    return round ? static_cast<double>(round(static_cast<float>(x))) : x;
  };
  const int d = in.head_dim;
  HeadGradients g;
  g.dq.assign(in.q.size(), 0.0);
  g.dk.assign(in.k.size(), 0.0);
  g.dv.assign(in.v.size(), 0.0);
  const HeadOutput forward = reference_head(in);
  for (int r = 0; r < in.queries; ++r) {
    const double* const q = &in.q[size(r) * size(d)];
    const double* const d_o = &in.d_o[size(r) * size(d)];
    double delta = 0;
    for (int c = 0; c < d; ++c) delta += d_o[c] * kept(forward.o[size(r) * size(d) + size(c)]);
    for (int j = 0; j < in.seen[size(r)]; ++j) {
      const std::size_t key = size(j) * size(d);
      const double s = kept(in.scale * dot(q, &in.k[key], d));
      const double p = kept(std::exp(s - forward.lse[size(r)]));
      const double dp = kept(dot(d_o, &in.v[key], d));
      const double ds = kept(p * (dp - delta));
      add(&g.dv[key], p, d_o, d);
      add(&g.dk[key], ds * in.scale, q, d);
      add(&g.dq[size(r) * size(d)], ds * in.scale, &in.k[key], d);
    }
  }
  for (auto* const result : {&g.dq, &g.dk, &g.dv})
    for (double& x : *result) x = kept(x);
  return g;
}

}  // namespace twill::gpu::tests
