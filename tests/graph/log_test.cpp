// A build with the log: a line on stderr for each call.
#ifndef TWILL_WITH_LOG
#define TWILL_WITH_LOG 1
#endif
#include "graph/log.hpp"

#include <doctest/doctest.h>

#include <iostream>
#include <sstream>

namespace log_test {

TEST_CASE("the log writes what it is given as one line") {
  std::ostringstream text;
  std::streambuf* const before = std::cerr.rdbuf(text.rdbuf());
  TWILL_LOG("I = ", 7, ", ", 2.5, " s");
  TWILL_LOG("end");
  std::cerr.rdbuf(before);
  CHECK(text.str() == "I = 7, 2.5 s\nend\n");
}

}  // namespace log_test
