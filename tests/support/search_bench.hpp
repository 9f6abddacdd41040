// What a search by the order engine needs, for tests of its parts.
#pragma once

#include <cstdint>

#include "engine/search.hpp"

namespace twill::test {

struct SearchBench {
  explicit SearchBench(const Problem& problem, std::uint64_t seed = 0)
      : search{problem, choice, seed, budget, report, order_engine()} {}
  EncodingChoice choice;
  Budget budget{{}, 0, 0, 0};
  ProgressCallback silent;
  Reporter report{silent, budget};
  Search search;
};

}  // namespace twill::test
