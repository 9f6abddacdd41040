#include "encoders/sums/watchdog.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace twill {

int watchdog_top(std::span<const Term> terms) {
  std::int64_t heaviest = 1;
  for (const Term& t : terms) heaviest = std::max(heaviest, t.weight);
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(heaviest))) - 1;
}

Unary watchdog_buckets(Formula& f, std::span<const Term> terms, std::span<const Lit> tare,
                       std::size_t limit) {
  const int top = watchdog_top(terms);
  Unary sum;
  for (int b = 0; b <= top; ++b) {
    // Beyond the literals there are, more cannot be counted; that keeps the shift from overflowing.
    const std::size_t most = 2 * terms.size() + 2;
    const std::size_t here = top - b < 20 && limit << (top - b) < most ? limit << (top - b) : most;
    std::vector<Lit> bucket;
    for (const Term& t : terms)
      if (t.weight >> b & 1) bucket.push_back(t.literal);
    Unary half;
    for (std::size_t i = 1; i < sum.size(); i += 2) half.push_back(sum[i]);
    sum = unary_sum(f, unary_count(f, bucket, here), half, here);
    if (b == top || tare[static_cast<std::size_t>(b)].is_false()) continue;
    const Lit extra = tare[static_cast<std::size_t>(b)];
    if (extra.is_true())
      sum.insert(sum.begin(), kTrueLit);
    else
      sum = unary_sum(f, {extra}, sum, here);
  }
  return sum;
}

Lit watchdog(Formula& f, std::span<const Term> terms, std::int64_t bound) {
  assert(bound >= 0);
  std::vector<Term> light;
  std::vector<Lit> heavy;
  std::int64_t total = 0;
  for (const Term& t : terms) {
    if (t.weight > bound) {
      heavy.push_back(t.literal);
    } else {
      light.push_back(t);
      total += t.weight;
    }
  }
  Lit alarm = kFalseLit;
  if (total > bound) {
    const int top = watchdog_top(light);
    // The tare brings bound + 1 to a multiple of 2^top.
    const std::int64_t multiple = (bound >> top) + 1, rest = (multiple << top) - (bound + 1);
    std::vector<Lit> tare;
    for (int b = 0; b < top; ++b) tare.push_back(Lit::constant(rest >> b & 1));
    alarm = watchdog_buckets(f, light, tare, static_cast<std::size_t>(multiple)).back();
  }
  if (heavy.empty()) return alarm;
  if (alarm.is_false()) alarm = f.fresh();
  for (const Lit l : heavy) f.implies(l, alarm);
  return alarm;
}

}  // namespace twill
