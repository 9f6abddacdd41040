// Why a lemma about the sum of all lifetimes holds: where it does not, the sum is more than the
// goal allows. The reason is text, "L u3 u5 f12 a40 a40": uses, one an op at most, and constraints
// between rows, each counted as often as it stands there.
//
// Use e = (u, v) says lifetime(u) >= row(v) - row(u) + (stage(v) - stage(u) + distance) I + hold; a
// fact or an atom that the lemma denies, row(b) - row(a) >= weight. If all the rows cancel, that
// is, the constraints' rows add up to those of the uses, then the sum of lifetimes is at least the
// uses' distances and holds, the constraints' weights, and I times the stages, each of which is
// bounded by the stage literals that the lemma denies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/certificate/lemma_cycles.hpp"
#include "engine/certificate/regenerate.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Does a lemma's reason begin as those here do?
bool is_lifetime_reason(std::string_view reason);

/// What is allowed, and what bounds it.
struct LifetimeQuestion {
  const Problem& problem;
  Cycle ii = 1;
  Cycle stages = 1;       ///< every stage is in [0, stages)
  std::int64_t most = 0;  ///< that the lifetimes may sum to
};

/// Adds a reason up: "" when it proves the lemma, else what is wrong with it.
std::string lifetime_fault(const LifetimeQuestion& question, const RegeneratedFormula& formula,
                           const DifferenceRows& rows, std::span<const int> lemma,
                           std::string_view reason);

}  // namespace twill
