// Solutions of one problem, found in several ways.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>

#include "graph/schedule.hpp"

namespace twill::test {

/// Status, interval and length are those of each of the others. Is there a schedule?
inline bool same_answers(const Solution& one, std::initializer_list<const Solution*> others) {
  for (const Solution* other : others) {
    CHECK(one.status == other->status);
    REQUIRE(one.schedule.has_value() == other->schedule.has_value());
    if (!one.schedule) continue;
    CHECK(one.schedule->initiation_interval == other->schedule->initiation_interval);
    CHECK(one.schedule->length == other->schedule->length);
  }
  return one.schedule.has_value();
}

}  // namespace twill::test
