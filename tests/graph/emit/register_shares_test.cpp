// Registers moved between the partitions of a launch, beside every other way to share them out.
#include "graph/emit/register_shares.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random_loop.hpp"

namespace register_shares_test {

using namespace twill;
using emit::Launch;
using emit::Partition;
using test::pick;
using test::Random;

namespace {

Launch random_launch(Random& random) {
  Launch launch;
  launch.first.warps = 4;
  launch.workers.resize(static_cast<std::size_t>(pick(random, 1, 3)));
  const int most = emit::kRegisterFile / 128 / static_cast<int>(launch.workers.size() + 1);
  for (Partition& one : launch.workers) {
    one.warps = 4;
    one.registers = pick(random, 3, std::min(30, most / 8)) * 8;
  }
  launch.first.registers = std::min(240, emit::launch_facts(launch).first_registers);
  return launch;
}

/// Is there any launch in whose limits all have what they need?
bool can_have_enough(Launch launch, const std::vector<Amount>& needed, std::size_t worker = 0) {
  if (worker == launch.workers.size()) {
    launch.first.registers = emit::kLeastRegisters;
    return !emit::check_limits(launch) && emit::registers_short(launch, needed) == 0;
  }
  for (int registers = 24; registers <= emit::kMostRegisters; registers += 8) {
    launch.workers[worker].registers = registers;
    if (can_have_enough(launch, needed, worker + 1)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("all have enough where that can be") {
  Random random(28);
  int moved = 0, enough = 0, never = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Launch launch = random_launch(random);
    REQUIRE(!emit::check_limits(launch));
    std::vector<Amount> needed;
    for (std::size_t k = 0; k <= launch.workers.size(); ++k)
      needed.push_back(std::clamp<Amount>(
          emit::registers_had(launch, k) + pick(random, -100, trial % 3 == 0 ? 100 : 24), 1, 240));
    const Amount before = emit::registers_short(launch, needed);
    const Launch shared = emit::shared_by_need(launch, needed);
    const Amount after = emit::registers_short(shared, needed);
    CHECK(!emit::check_limits(shared));
    CHECK(after <= before);
    bool same = shared.first.registers == launch.first.registers;
    for (std::size_t k = 0; k < launch.workers.size(); ++k) {
      CHECK(shared.workers[k].warps == launch.workers[k].warps);
      same &= shared.workers[k].registers == launch.workers[k].registers;
    }
    if (before == 0 || after > emit::kRegisterStep) CHECK(same);
    if (can_have_enough(launch, needed)) {
      CHECK(after == 0);
      ++(before > 0 ? moved : enough);
    } else {
      CHECK(after > 0);
      ++never;
    }
  }
  CHECK(moved > 20);
  CHECK(enough > 20);
  CHECK(never > 10);
}

TEST_CASE("a launch of one partition has nothing to share") {
  Launch launch;
  launch.first = {4, 240};
  CHECK(emit::registers_short(launch, {200}) == 0);
  CHECK(emit::registers_short(launch, {250}) == 10);
  CHECK(emit::shared_by_need(launch, {250}).first.registers == 240);
}

}  // namespace register_shares_test
