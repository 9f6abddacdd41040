// The step function of a period against an array of its cycles.
#include "graph/list_scheduling/profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/random_loop.hpp"

namespace profile_test {

using namespace twill;
using namespace twill::test;

namespace {

class Cells {
 public:
  explicit Cells(Cycle period) : cells_(static_cast<std::size_t>(period), 0) {}

  Amount& operator[](Cycle t) {
    const auto period = static_cast<Cycle>(cells_.size());
    return cells_[static_cast<std::size_t>(((t % period) + period) % period)];
  }
  void add(Cycle begin, Cycle length, Amount amount) {
    for (Cycle t = begin; t < begin + length; ++t) (*this)[t] += amount;
  }
  Amount most(Cycle begin, Cycle length) {
    Amount most = length > 0 ? (*this)[begin] : 0;
    for (Cycle t = begin; t < begin + length; ++t) most = std::max(most, (*this)[t]);
    return most;
  }
  Amount excess(Cycle begin, Cycle length, Amount most, Amount capacity) {
    Amount sum = 0;
    for (Cycle t = begin; t < begin + std::min(length, static_cast<Cycle>(cells_.size())); ++t)
      sum += std::clamp<Amount>((*this)[t] - capacity, 0, most);
    return sum;
  }
  std::optional<Cycle> overflow(Cycle begin, Cycle length, Amount capacity) {
    for (Cycle t = begin; t < begin + length; ++t)
      if ((*this)[t] > capacity) return t;
    return std::nullopt;
  }
  /// Is there room for `amount` more in [t, t + length)?
  bool fits(Cycle t, Cycle length, Amount amount, Amount capacity) const {
    Cells more = *this;
    more.add(t, length, amount);
    return amount <= 0 || !more.overflow(t, length, capacity);
  }

 private:
  std::vector<Amount> cells_;
};

}  // namespace

TEST_CASE("what is taken, added and given back at random, is what an array says") {
  int fitted = 0, refused = 0, overflows = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Cycle period = random.range(1, 12);
    const Amount capacity = random.range(0, 5);
    Profile profile(period, capacity);
    Cells cells(period);
    struct Taken {
      Cycle begin, length;
      Amount amount;
    };
    std::vector<Taken> taken;
    for (int step = 0; step < 40; ++step) {
      CAPTURE(step);
      if (!taken.empty() && random.percent(40)) {
        const std::size_t which = random.below(taken.size());
        const Taken one = taken[which];
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
        profile.add(one.begin, one.length, -one.amount);
        cells.add(one.begin, one.length, -one.amount);
      } else {
        const Taken one{random.range(-20, 20), random.range(-1, 2 * period + 1),
                        random.range(0, 2)};
        taken.push_back(one);
        profile.add(one.begin, one.length, one.amount);
        cells.add(one.begin, one.length, one.amount);
      }
      for (Cycle t = -period; t < 2 * period; ++t) {
        REQUIRE(profile.value(t) == cells[t]);
        // Between here and there nothing changes.
        const Cycle next = profile.next_step(t);
        REQUIRE(next > t);
        for (Cycle between = t; between < next; ++between) REQUIRE(cells[between] == cells[t]);
      }
      const Cycle begin = random.range(-15, 15), length = random.range(0, 2 * period);
      CHECK(profile.most(begin, length) == cells.most(begin, length));
      const auto over = cells.overflow(begin, length, capacity);
      CHECK(profile.overflow(begin, length) == over);
      overflows += over.has_value();
      for (const Amount most : {0, 1, 2, 100})
        CHECK(profile.excess(begin, length, most) == cells.excess(begin, length, most, capacity));
      const Cycle to = begin + random.range(-1, 3 * period);
      const Amount amount = random.range(0, 3);
      std::optional<Cycle> first, last;
      for (Cycle t = begin; t <= to; ++t)
        if (cells.fits(t, length, amount, capacity)) {
          if (!first) first = t;
          last = t;
        }
      CHECK(profile.first_fit(begin, to, length, amount) == first);
      CHECK(profile.last_fit(begin, to, length, amount) == last);
      (first ? fitted : refused) += 1;
    }
  }
  CHECK(fitted > 1000);
  CHECK(refused > 1000);
  CHECK(overflows > 1000);
}

TEST_CASE("more steps than are looked at one by one") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Cycle period = random.range(60, 120);
    Profile profile(period, 3);
    Cells cells(period);
    for (int step = 0; step < 120; ++step) {
      CAPTURE(step);
      const Cycle begin = random.range(0, period - 1);
      const Cycle length = random.range(1, step % 4 == 0 ? period - 1 : 4);
      const Amount amount = random.range(-2, 2);
      profile.add(begin, length, amount);
      cells.add(begin, length, amount);
      for (Cycle t = 0; t < period; ++t) REQUIRE(profile.value(t) == cells[t]);
    }
  }
}

}  // namespace profile_test
