#include "tests/support/encoding_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace twill::test {
namespace {

std::int64_t bits_for(std::int64_t n) {  // ceil(log2 n)
  std::int64_t bits = 0;
  while (std::int64_t{1} << bits < n) ++bits;
  return bits;
}

/// Pairs (i, j) != (0, 0), i <= a, j <= b, i + j <= limit.
std::int64_t pairs(std::int64_t a, std::int64_t b, std::int64_t limit) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i <= a; ++i)
    for (std::int64_t j = 0; j <= b; ++j) count += i + j >= 1 && i + j <= limit;
  return count;
}

/// A totalizer tree over n literals that counts to `limit`.
Size tree(std::int64_t n, std::int64_t limit) {
  if (n <= 1) return {};
  const std::int64_t a = n / 2, b = n - a;
  return tree(a, limit) + tree(b, limit) +
         Size{std::min(n, limit), pairs(std::min(a, limit), std::min(b, limit), limit)};
}

// Comparators of Batcher's merge and sort.
std::int64_t merge(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == 1 && b == 1) return 1;
  return merge((a + 1) / 2, (b + 1) / 2) + merge(a / 2, b / 2) + (a + b - 1) / 2;
}
std::int64_t sort(std::int64_t n) {
  return n <= 1 ? 0 : sort(n / 2) + sort(n - n / 2) + merge(n / 2, n - n / 2);
}

/// Keeps m of two sorted sequences.
Size keep(std::int64_t a, std::int64_t b, std::int64_t m) {
  a = std::min(a, m);
  b = std::min(b, m);
  if (a + b <= m || a == 0 || b == 0) return {2 * merge(a, b), 3 * merge(a, b)};
  if (m == 1) return {1, 2};
  const Size odd = keep((a + 1) / 2, (b + 1) / 2, m / 2 + 1), even = keep(a / 2, b / 2, m / 2);
  // Positions 2, 3 | 4, 5 | ..: both sides are there, as a + b > m; a lone last one is half.
  const std::int64_t whole = (m - 1) / 2;
  return odd + even + Size{2 * whole, 3 * whole} + (m % 2 == 0 ? Size{1, 2} : Size{});
}

Size adders(std::vector<std::int64_t> bits, std::int64_t k) {
  Size size;
  for (std::size_t b = 0; b < bits.size(); ++b) {
    const std::int64_t m = bits[b];
    if (m >= 2) {
      size = size + Size{2 * ((m - 1) / 2), 14 * ((m - 1) / 2)};
      if (m % 2 == 0) size = size + Size{2, 7};
      if (b + 1 == bits.size()) bits.push_back(0);
      bits[b + 1] += m / 2;
    }
  }
  for (std::size_t b = bits.size(); b-- > 0;) {
    if (bits[b] > 0)
      size.clauses += !(k >> b & 1);
    else if (k >> b & 1)
      break;  // a bit that is never 1 where k has one: always below
  }
  return size;
}

int top_bit(const Weights& weights) {
  const std::int64_t heaviest = *std::max_element(weights.begin(), weights.end());
  int top = 0;
  while (heaviest >> (top + 1) != 0) ++top;
  return top;
}

/// Buckets of the watchdog counted to m 2^(p-b), with `tare` a variable (a merge more) or a
/// constant bit; the number of outputs of the last one.
Size buckets(const Weights& weights, std::int64_t m, std::int64_t constant_tare, bool variable_tare,
             std::int64_t& outputs) {
  const int top = top_bit(weights);
  Size size;
  outputs = 0;
  const auto node = [&](std::int64_t a, std::int64_t b, std::int64_t limit) {
    if (a > 0 && b > 0) size = size + Size{std::min(a + b, limit), pairs(a, b, limit)};
    return std::min(a + b, limit);
  };
  for (int b = 0; b <= top; ++b) {
    const auto n = static_cast<std::int64_t>(weights.size());
    const std::int64_t limit = std::min(m << (top - b), 2 * n + 2);
    const std::int64_t mine =
        std::count_if(weights.begin(), weights.end(), [&](std::int64_t w) { return w >> b & 1; });
    size = size + tree(mine, limit);
    outputs = node(std::min(mine, limit), outputs / 2, limit);
    if (b == top) break;
    if (variable_tare)
      outputs = node(1, outputs, limit);
    else
      outputs += constant_tare >> b & 1;
  }
  return size;
}

/// A watchdog of sum > bound, and whether it can fire.
Size watchdog_size(const Weights& weights, std::int64_t bound, bool& fires) {
  Weights light;
  std::int64_t total = 0;
  for (const std::int64_t w : weights)
    if (w <= bound) {
      light.push_back(w);
      total += w;
    }
  const auto heavy = static_cast<std::int64_t>(weights.size() - light.size());
  fires = heavy > 0 || total > bound;
  Size size;
  if (total > bound) {
    const std::int64_t unit = std::int64_t{1} << top_bit(light);
    const std::int64_t m = (bound + unit) / unit;
    std::int64_t outputs = 0;
    size = buckets(light, m, m * unit - bound - 1, false, outputs);
  }
  size.clauses += heavy;
  if (heavy > 0 && total <= bound) ++size.variables;
  return size;
}

/// Comparators between inputs that are not the same literal; -1 - i is the i-th comparator's
/// output.
struct Network {
  std::int64_t comparators = 0;
  std::int64_t next = -1;
  using Sequence = std::vector<std::int64_t>;

  std::pair<std::int64_t, std::int64_t> compare(std::int64_t a, std::int64_t b) {
    if (a == b) return {a, a};
    ++comparators;
    next -= 2;
    return {next, next - 1};
  }
  static Sequence half(const Sequence& s, std::size_t first) {
    Sequence out;
    for (std::size_t i = first; i < s.size(); i += 2) out.push_back(s[i]);
    return out;
  }
  Sequence merged(const Sequence& a, const Sequence& b) {
    if (a.empty() || b.empty()) return a.empty() ? b : a;
    if (a.size() + b.size() == 2) {
      const auto [high, low] = compare(a[0], b[0]);
      return {high, low};
    }
    const Sequence v = merged(half(a, 0), half(b, 0)), w = merged(half(a, 1), half(b, 1));
    Sequence out = {v[0]};
    for (std::size_t i = 0; out.size() < a.size() + b.size(); ++i) {
      if (i + 1 >= v.size()) {
        out.push_back(w[i]);
      } else if (i >= w.size()) {
        out.push_back(v[i + 1]);
      } else {
        const auto [high, low] = compare(v[i + 1], w[i]);
        out.push_back(high);
        out.push_back(low);
      }
    }
    return out;
  }
  Sequence sorted(const Sequence& s) {
    if (s.size() <= 1) return s;
    const auto middle = s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2);
    return merged(sorted({s.begin(), middle}), sorted({middle, s.end()}));
  }
};

}  // namespace

Size pairwise_size(std::int64_t n) {
  return {0, n * (n - 1) / 2};
}

Size ladder_size(std::int64_t n) {
  return n < 2 ? Size{} : Size{n - 1, 3 * n - 4};
}

Size product_size(std::int64_t n) {
  if (n <= 4) return pairwise_size(n);
  std::int64_t p = 1;  // ceil(sqrt(n))
  while (p * p < n) ++p;
  const std::int64_t q = (n + p - 1) / p;
  return Size{p + q, 2 * n} + product_size(p) + product_size(q);
}

Size commander_size(std::int64_t n) {
  if (n <= 4) return pairwise_size(n);
  const std::int64_t two = n % 3 == 2;
  return Size{n / 3 + two, 7 * (n / 3) + 4 * two} + commander_size((n + 2) / 3);
}

Size binary_size(std::int64_t n) {
  return n < 2 ? Size{} : Size{bits_for(n), n * bits_for(n)};
}

Size bimander_size(std::int64_t n) {
  if (n < 2) return {};
  const std::int64_t bits = bits_for((n + 1) / 2);
  return {bits, n / 2 + n * bits};
}

Size seqcounter_size(std::int64_t n, std::int64_t k) {
  return {k * (n - 1), 2 * n * k + n - 3 * k - 1};
}

Size totalizer_size(std::int64_t n, std::int64_t) {
  return tree(n, n) + Size{0, 1};
}

Size ktotalizer_size(std::int64_t n, std::int64_t k) {
  return tree(n, k + 1) + Size{0, 1};
}

Size kmtotalizer_size(std::int64_t n, std::int64_t k) {
  std::int64_t p = 2;
  while (p * p < n) ++p;
  const std::int64_t limit = k / p + 1;
  const auto quotients = [&](std::int64_t s) { return std::min(s / p, limit); };
  const auto remainders = [&](std::int64_t s) { return std::min(s, p - 1); };
  const auto node = [&](auto& self, std::int64_t s) -> Size {
    if (s == 1) return {};
    const std::int64_t a = s / 2, b = s - a;
    const bool carries = remainders(a) + remainders(b) >= p;
    Size size{
        quotients(s) + remainders(s) + carries,
        (remainders(a) + 1) * (remainders(b) + 1) - 1 + pairs(quotients(a), quotients(b), limit)};
    if (carries)
      for (std::int64_t i = 0; i <= quotients(a); ++i)
        for (std::int64_t j = 0; j <= quotients(b); ++j) size.clauses += i + j + 1 <= limit;
    return size + self(self, a) + self(self, b);
  };
  Size size = node(node, n);
  if (k / p + 1 <= quotients(n)) ++size.clauses;
  if (k / p <= quotients(n) && k % p + 1 <= remainders(n)) ++size.clauses;
  return size;
}

Size sortnet_size(std::int64_t n, std::int64_t) {
  return {2 * sort(n), 3 * sort(n) + 1};
}

Size cardnet_size(std::int64_t n, std::int64_t k) {
  const auto network = [&](auto& self, std::int64_t s) -> Size {
    if (s <= k + 1) return {2 * sort(s), 3 * sort(s)};
    return self(self, s / 2) + self(self, s - s / 2) + keep(s / 2, s - s / 2, k + 1);
  };
  return network(network, n) + Size{0, 1};
}

Size card_adder_size(std::int64_t n, std::int64_t k) {
  return adders({n}, k);
}

Size bdd_size(const Weights& weights, std::int64_t bound) {
  // Of the reduced ordered diagram, by truth tables: a node per level and function of the inputs
  // from that level on that depends on the level's input.
  const std::size_t n = weights.size();
  Size size{0, 1};
  for (std::size_t level = 0; level < n; ++level) {
    std::set<std::vector<bool>> functions;
    for (std::size_t prefix = 0; prefix < std::size_t{1} << level; ++prefix) {
      std::int64_t used = 0;
      for (std::size_t i = 0; i < level; ++i)
        if (prefix >> i & 1) used += weights[i];
      std::vector<bool> function;  // bit 0 of the index is this level's input
      for (std::size_t rest = 0; rest < std::size_t{1} << (n - level); ++rest) {
        std::int64_t sum = used;
        for (std::size_t i = level; i < n; ++i)
          if (rest >> (i - level) & 1) sum += weights[i];
        function.push_back(sum <= bound);
      }
      bool depends = false;
      for (std::size_t i = 0; i < function.size(); i += 2)
        depends = depends || function[i] != function[i + 1];
      if (depends) functions.insert(function);
    }
    for (const auto& function : functions) {
      ++size.variables;
      bool else_true = true;
      for (std::size_t i = 0; i < function.size(); i += 2) else_true = else_true && function[i];
      size.clauses += else_true ? 1 : 2;
    }
  }
  return size;
}

Size swc_size(const Weights& weights, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(weights.size());
  Size size{(n - 1) * k, (n - 2) * k + n - 1};
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    size.clauses += weights[i];
    if (i > 0) size.clauses += k - weights[i];
  }
  return size;
}

Size gte_size(const Weights& weights, std::int64_t k) {
  const auto node = [&](auto& self, const Weights& part, std::set<std::int64_t>& sums) -> Size {
    if (part.size() == 1) {
      sums = {part[0]};
      return {};
    }
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    std::set<std::int64_t> left, right;
    Size size = self(self, {part.begin(), middle}, left) + self(self, {middle, part.end()}, right);
    const auto a = static_cast<std::int64_t>(left.size());
    const auto b = static_cast<std::int64_t>(right.size());
    left.insert(0);
    right.insert(0);
    for (const std::int64_t x : left)
      for (const std::int64_t y : right)
        if (x + y > 0) sums.insert(std::min(x + y, k + 1));
    return size + Size{static_cast<std::int64_t>(sums.size()), a + b + a * b};
  };
  std::set<std::int64_t> sums;
  return node(node, weights, sums) + Size{0, 1};
}

Size gpw_size(const Weights& weights, std::int64_t k) {
  bool fires = false;
  return watchdog_size(weights, k, fires) + Size{0, 1};
}

Size lpw_size(const Weights& weights, std::int64_t k) {
  Size size;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Weights others = weights;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    bool fires = false;
    size = size + watchdog_size(others, k - weights[i], fires);
    size.clauses += fires;
  }
  return size;
}

Size dpw_size(const Weights& weights, std::int64_t k) {
  const int top = top_bit(weights);
  std::int64_t outputs = 0;
  const std::int64_t m = (k >> top) + 1;
  const Size size = buckets(weights, m, 0, true, outputs);
  return size + Size{top, top + (outputs >= m)};
}

Size pb_adder_size(const Weights& weights, std::int64_t k) {
  std::vector<std::int64_t> bits;
  for (const std::int64_t w : weights)
    for (std::size_t b = 0; w >> b != 0; ++b) {
      if (bits.size() <= b) bits.resize(b + 1);
      bits[b] += w >> b & 1;
    }
  return adders(bits, k);
}

Size sorter_size(const Weights& weights, std::int64_t k) {
  PseudoBoolean sum{{}, k};
  for (const std::int64_t w : weights) sum.terms.push_back({w, Lit::of(1)});
  const std::vector<std::int64_t> base = sorter_base(sum);
  Size size;
  Weights rest = weights;
  Network network;
  Network::Sequence carries;
  std::vector<std::int64_t> reach;  // most that a digit can show
  for (std::size_t digit = 0; digit <= base.size(); ++digit) {
    Network::Sequence inputs = carries;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const std::int64_t times = digit < base.size() ? rest[i] % base[digit] : rest[i];
      inputs.insert(inputs.end(), static_cast<std::size_t>(times), static_cast<std::int64_t>(i));
      if (digit < base.size()) rest[i] /= base[digit];
    }
    network.comparators = 0;
    const Network::Sequence sorted = network.sorted(inputs);
    size = size + Size{2 * network.comparators, 3 * network.comparators};
    const auto n = static_cast<std::int64_t>(sorted.size());
    if (digit == base.size()) {
      reach.push_back(n);
      break;
    }
    const std::int64_t b = base[digit];
    size = size + Size{std::min(b - 1, n), n - n / b};
    reach.push_back(std::min(b - 1, n));
    carries.clear();
    for (std::int64_t j = b; j <= n; j += b)
      carries.push_back(sorted[static_cast<std::size_t>(j - 1)]);
  }
  Weights limit;
  for (const std::int64_t b : base) {
    limit.push_back(k % b);
    k /= b;
  }
  limit.push_back(k);
  for (std::size_t digit = limit.size(); digit-- > 0;) {
    if (limit[digit] > reach[digit]) break;
    size.clauses += limit[digit] < reach[digit];
  }
  return size;
}

}  // namespace twill::test
