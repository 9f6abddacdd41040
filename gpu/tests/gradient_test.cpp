// The reference of the gradients against central differences of the loss sum(d_o * o).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "gpu/tests/backward_reference.hpp"

using namespace twill::gpu::tests;

namespace {

double loss(const HeadInput& in) {
  const HeadOutput out = reference_head(in);
  double sum = 0;
  for (std::size_t i = 0; i < out.o.size(); ++i) sum += in.d_o[i] * out.o[i];
  return sum;
}

int compare(const char* what, HeadInput in, std::vector<double> HeadInput::*of,
            const std::vector<double>& gradient) {
  const double h = 1e-5;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double at = (in.*of)[i];
    (in.*of)[i] = at + h;
    const double above = loss(in);
    (in.*of)[i] = at - h;
    const double below = loss(in);
    (in.*of)[i] = at;
    const double difference = (above - below) / (2 * h);
    if (!(std::fabs(difference - gradient[i]) <= 1e-7 * (1 + std::fabs(difference)))) {
      std::printf("FAILED: %s[%zu] is %.12g, by differences %.12g\n", what, i, gradient[i],
                  difference);
      std::exit(1);
    }
  }
  return static_cast<int>(gradient.size());
}

}  // namespace

int main() {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  int compared = 0;
  for (const int queries : {1, 5, 8})
    for (const int keys : {1, 6, 9})
      for (const int diagonal : {1000, 0, keys - queries, -2}) {
        HeadInput in{queries, keys, 4, 0.7, {}, {}, {}, {}, {}};
        const auto fill = [&](std::vector<double>& x, int rows) {
          x.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(in.head_dim));
          for (double& v : x) v = normal(random);
        };
        fill(in.q, queries), fill(in.k, keys), fill(in.v, keys), fill(in.d_o, queries);
        for (int r = 0; r < queries; ++r)
          in.seen.push_back(std::min(keys, std::max(0, r + diagonal + 1)));
        const HeadGradients g = reference_gradients(in);
        compared += compare("dq", in, &HeadInput::q, g.dq);
        compared += compare("dk", in, &HeadInput::k, g.dk);
        compared += compare("dv", in, &HeadInput::v, g.dv);
      }
  std::printf("%d gradients agree with differences\n", compared);
}
