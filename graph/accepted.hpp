// The preconditions of functions that take a problem, for their asserts.
#pragma once

#include <algorithm>

#include "graph/check.hpp"

namespace twill {

/// Does check() accept the problem? It looks at all of the problem: not for code that runs often.
inline bool accepted(const Problem& problem) {
  try {
    check(problem);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Do ops, edges and units name each other rightly? That is all that arithmetic takes for granted:
/// it is asked of problems that are still being made, too.
inline bool consistent(const Problem& problem) {
  const auto ops = static_cast<int>(problem.ops.size());
  const auto units = static_cast<int>(problem.units.size());
  return std::all_of(problem.edges.begin(), problem.edges.end(),
                     [&](const Edge& e) {
                       return e.from >= 0 && e.from < ops && e.to >= 0 && e.to < ops &&
                              e.distance >= 0 && e.delay >= 0;
                     }) &&
         std::all_of(problem.ops.begin(), problem.ops.end(),
                     [&](const Op& op) {
                       return op.cycles >= 0 &&
                              std::all_of(op.reservations.begin(), op.reservations.end(),
                                          [&](const Reservation& r) {
                                            return r.unit >= 0 && r.unit < units && r.length >= 0;
                                          });
                     }) &&
         std::all_of(
             problem.ops.begin(), problem.ops.end(),
             [channels = static_cast<int>(problem.channels.size())](const Op& op) {
               return std::all_of(op.traffic.begin(), op.traffic.end(), [&](const Traffic& t) {
                 return t.channel >= 0 && t.channel < channels && t.amount.denominator >= 1;
               });
             }) &&
         std::all_of(
             problem.channels.begin(), problem.channels.end(),
             [](const Channel& c) { return c.rate.numerator >= 1 && c.rate.denominator >= 1; }) &&
         std::all_of(problem.units.begin(), problem.units.end(),
                     [](const Unit& unit) { return unit.capacity >= 1; });
}

}  // namespace twill
