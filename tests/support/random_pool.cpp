#include "tests/support/random_pool.hpp"

namespace twill::test {

RegisterPool random_pool(const Problem& problem, Random& random) {
  RegisterPool pool;
  pool.granule = random.range(1, 3);
  pool.min = random.range(0, 2);
  pool.max = random.range(3, 6) * pool.granule + pool.min;
  pool.resident = random.range(0, 1);
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w) {
    if (w > 0 && random.percent(20))
      pool.shares.back().slots.push_back(w);
    else
      pool.shares.push_back({{w}, static_cast<int>(random.range(1, 2)), 0});
  }
  pool.launch = least_count(pool) + random.range(1, 2) * pool.granule;
  for (RegisterPool::Share& share : pool.shares) share.layout = pool.launch;
  return pool;
}

RegisterCounts most(const RegisterPool& pool) {
  RegisterCounts counts;
  for (std::size_t s = 0; s < pool.shares.size(); ++s) counts.push_back(most_of(pool, s));
  return counts;
}

std::vector<RegisterCounts> all_splits(const RegisterPool& pool) {
  std::vector<RegisterCounts> splits;
  RegisterCounts counts(pool.shares.size(), 0);
  for (;;) {
    if (is_split(pool, counts)) splits.push_back(counts);
    std::size_t s = 0;
    while (s < counts.size() && ++counts[s] > pool.max) counts[s++] = 0;
    if (s == counts.size()) return splits;
  }
}

}  // namespace twill::test
