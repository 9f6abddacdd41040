// What is left of limits that several searches share.
#include <doctest/doctest.h>

#include <stop_token>

#include "engine/limits_left.hpp"

namespace limits_left_test {
namespace {

using namespace twill;

Options limits(double seconds, std::int64_t conflicts) {
  Options options;
  options.time_limit = seconds;
  options.conflict_limit = conflicts;
  return options;
}

TEST_CASE("conflicts are shared, and a part keeps a smaller limit of its own") {
  LimitsLeft left(limits(0, 100), {});
  CHECK(left.of(limits(0, 0)).conflict_limit == 100);
  CHECK(left.of(limits(0, 30)).conflict_limit == 30);
  left.took(80);
  CHECK(left.of(limits(0, 30)).conflict_limit == 20);
  CHECK(left.timed(limits(0, 30)).conflict_limit == 30);
  CHECK(!left.spent());
  left.took(25);
  CHECK(left.spent());
  CHECK(!left.out_of_time());
  // Not 0, which would be no limit.
  CHECK(left.of(limits(0, 0)).conflict_limit == 1);
  left.renew();
  CHECK(!left.spent());
  CHECK(left.of(limits(0, 0)).conflict_limit == 100);
}

TEST_CASE("time is shared by all parts, and is not renewed") {
  LimitsLeft left(limits(1e-9, 0), {});
  while (!left.out_of_time()) {
  }
  left.renew();
  CHECK(left.spent());
  CHECK(left.timed(limits(60, 0)).time_limit > 0);
  CHECK(left.timed(limits(60, 0)).time_limit < 1e-3);
  CHECK(left.of(limits(60, 7)).conflict_limit == 7);
}

TEST_CASE("without limits nothing is spent until somebody asks to stop") {
  std::stop_source source;
  LimitsLeft left(limits(0, 0), source.get_token());
  left.took(1'000'000);
  CHECK(!left.spent());
  CHECK(left.of(limits(5, 6)).time_limit == 5);
  CHECK(left.of(limits(5, 6)).conflict_limit == 6);
  source.request_stop();
  CHECK(left.spent());
  CHECK(left.out_of_time());
}

}  // namespace
}  // namespace limits_left_test
