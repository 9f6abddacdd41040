// A build without the log: nothing is written and nothing evaluated.
#undef TWILL_WITH_LOG
#include "graph/log.hpp"

#include <doctest/doctest.h>

#include <iostream>
#include <sstream>

namespace log_off_test {

TEST_CASE("without the log its arguments are not evaluated") {
  std::ostringstream text;
  std::streambuf* const before = std::cerr.rdbuf(text.rdbuf());
  int evaluated = 0;
  TWILL_LOG("never ", ++evaluated);
  if (evaluated > 0)
    TWILL_LOG("a statement like any other");
  else
    TWILL_LOG("so that else stays here");
  std::cerr.rdbuf(before);
  CHECK(evaluated == 0);
  CHECK(text.str().empty());
}

}  // namespace log_off_test
