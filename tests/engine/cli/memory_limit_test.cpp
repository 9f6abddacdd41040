// What the program may take where --memory is not given.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "engine/budget.hpp"
#include "engine/cli/cli.hpp"
#include "graph/threads.hpp"

namespace memory_limit_test {

using namespace twill;
using namespace twill::cli;

namespace {
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
}

TEST_CASE("2 GiB, one more for each further thread, and no more than there is") {
  // What is free is looked up once, at the first call.
  const std::int64_t free = default_memory_limit();
  for (int threads = 1; threads <= 64; ++threads) {
    CAPTURE(threads);
    const std::int64_t limit = memory_limit_of("", threads),
                       most = (threads_for(threads) + 1) * kGiB;
    CHECK(limit > 0);
    CHECK(limit <= most);
    if (free == 0 || free / 2 > most) CHECK(limit == most);
    if (free > 0) CHECK(limit <= 2 * std::max(free, kGiB));
    CHECK(limit >= memory_limit_of("", 1));
  }
  CHECK(memory_limit_of("", 0) >= memory_limit_of("", 1));  // all cores
}

TEST_CASE("what is said, is taken; 0 is none") {
  for (const int threads : {0, 1, 8}) {
    CHECK(memory_limit_of("0", threads) == 0);
    CHECK(memory_limit_of("500M", threads) == 500 * kGiB / 1024);
    CHECK(memory_limit_of("3G", threads) == 3 * kGiB);
    CHECK(memory_limit_of("12345", threads) == 12345);
  }
}

}  // namespace memory_limit_test
