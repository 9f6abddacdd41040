#include "graph/register_pool.hpp"

#include <algorithm>
#include <cassert>

#include "graph/error.hpp"
#include "graph/lowering/machine.hpp"

namespace twill {
namespace {

Amount rounded_down(Amount value, Amount granule) {
  return value / granule * granule;
}

int all_warpgroups(const RegisterPool& pool) {
  int sum = 0;
  for (const RegisterPool::Share& share : pool.shares) sum += share.warpgroups;
  return sum;
}

// What check_register_file() says.
[[maybe_unused]] bool fits_register_file(const RegisterFile& file, const Layout& layout) {
  try {
    check_register_file(file, layout, "", "");
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

Amount least_count(const RegisterPool& pool) {
  return rounded_down(pool.min + pool.granule - 1, pool.granule);
}

Amount most_of(const RegisterPool& pool, std::size_t share) {
  assert(share < pool.shares.size());
  const int groups = pool.shares[share].warpgroups;
  const int others = all_warpgroups(pool) - groups;
  const Amount left = pool.launch * (others + groups) - least_count(pool) * others;
  return rounded_down(std::min(pool.max, left / groups), pool.granule);
}

Amount registers_used(const RegisterPool& pool, const RegisterCounts& counts) {
  assert(counts.size() <= pool.shares.size());
  Amount sum = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) sum += counts[s] * pool.shares[s].warpgroups;
  return sum;
}

bool is_split(const RegisterPool& pool, const RegisterCounts& counts) {
  return counts.size() == pool.shares.size() &&
         std::all_of(counts.begin(), counts.end(),
                     [&](Amount count) {
                       return count >= pool.min && count <= pool.max && count % pool.granule == 0;
                     }) &&
         registers_used(pool, counts) <= pool.launch * all_warpgroups(pool);
}

std::string share_name(const Problem& problem, const RegisterPool::Share& share) {
  std::string names;
  for (const int w : share.slots)
    names += (names.empty() ? "" : " + ") + problem.warps[static_cast<std::size_t>(w)].name;
  return names;
}

Problem with_counts(Problem problem, const RegisterPool& pool, const RegisterCounts& counts) {
  for (std::size_t s = 0; s < counts.size(); ++s)
    for (const int w : pool.shares[s].slots)
      problem.warps[static_cast<std::size_t>(w)].registers =
          std::max<Amount>(0, counts[s] - pool.resident);
  return problem;
}

std::vector<std::pair<std::string, std::string>> split_options(const Problem& problem,
                                                               const RegisterPool& pool,
                                                               const RegisterCounts& counts) {
  std::vector<std::pair<std::string, std::string>> options = {
      {"registers", "auto"}, {"registers at launch", std::to_string(pool.launch)}};
  for (std::size_t s = 0; s < counts.size(); ++s)
    options.emplace_back("setmaxnreg " + share_name(problem, pool.shares[s]),
                         std::to_string(counts[s]) + " gross, " +
                             std::to_string(std::max<Amount>(0, counts[s] - pool.resident)) +
                             " net");
  return options;
}

RegisterPool register_pool(const RegisterFile& file, const Layout& layout, Amount resident) {
  assert(fits_register_file(file, layout));
  const int warps = file.threads_per_warpgroup / kThreadsPerWarp;
  RegisterPool pool;
  pool.granule = file.granule;
  pool.min = file.min;
  pool.max = file.max;
  pool.resident = resident;
  int free = 0;            // warps of the warpgroup that narrow slots share
  std::size_t packed = 0;  // its share
  for (int w = 0; w < static_cast<int>(layout.slots.size()); ++w) {
    const WarpSlot& slot = layout.slots[static_cast<std::size_t>(w)];
    if (slot.width < warps && free >= slot.width) {
      pool.shares[packed].slots.push_back(w);
      free -= slot.width;
      continue;
    }
    if (slot.width < warps) {
      packed = pool.shares.size();
      free = warps - slot.width;
    }
    pool.shares.push_back({{w}, std::max(1, slot.width / warps), slot.registers});
  }
  const Amount threads = static_cast<Amount>(file.threads_per_warpgroup) * all_warpgroups(pool);
  // A launch count above the largest that a warpgroup may have would add nothing.
  pool.launch = rounded_down(std::min(file.registers / threads, file.max), file.granule);
  return pool;
}

}  // namespace twill
