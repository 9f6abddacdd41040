// Why a lemma about the sum of all lifetimes holds: where it does not, the sum is more than the
// goal allows. The reason is text, "L u3 u5 d5 l2 f12 a40*2": uses, one an op at most, and
// constraints. "*2" says how often it counts, where that is not once.
//
//   u3   edge 3 as a use:       lifetime(u) >= start(v) - start(u) + distance I + hold
//   d5   the delay of edge 5:   start(v) - start(u) >= delay - distance I
//   l2   the length, by op 2:   start(v) <= D - cycles(v)
//   f12  fact 12, or
//   a40  the atom of variable 40, which the lemma denies: row(b) - row(a) >= weight
//
// Edges and ops count from 0, and a start is row + stage I. The sentences are added up. The rows
// must cancel: those of the constraints add up to those of the uses. Then the sum of lifetimes is
// at least
//   - the uses' distances times I, and their holds,
//   - the constraints' right sides,
//   - I times the stages that are left, each bounded by the stage literals that the lemma denies.
// Without a use the constraints alone give a sum of nothing, 0, that is more than the goal allows:
// they contradict each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/certificate/encoded_formula.hpp"
#include "engine/certificate/lemma_cycles.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Does a lemma's reason begin as those here do?
bool is_lifetime_reason(std::string_view reason);

/// What is allowed, and what bounds it.
struct LifetimeQuestion {
  const Problem& problem;
  Cycle ii = 1;
  Cycle deadline = -1;    ///< of the length; -1 = none
  Cycle stages = 1;       ///< every stage is in [0, stages); less than 1 = any, no lemma holds
  std::int64_t most = 0;  ///< that the lifetimes may sum to
};

/// Adds a reason up: "" when it proves the lemma, else what is wrong with it.
std::string lifetime_fault(const LifetimeQuestion& question, const EncodedFormula& formula,
                           const DifferenceRows& rows, std::span<const int> lemma,
                           std::string_view reason);

}  // namespace twill
