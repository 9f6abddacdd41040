// The reading of machine files of version 1: what many tests have numbers of.
#pragma once

#include "graph/lower.hpp"

namespace twill::test {

/// Loads cost nothing, rings count while live, channels bind nothing; operands are held until the
/// op that reads them ends.
inline LowerOptions streaming_loads(bool holds = true) {
  LowerOptions options;
  options.reading = Reading::paper;
  options.holds = holds;
  return options;
}

}  // namespace twill::test
