// Start cycles as literals: M(v) = I * stage(v) + row(v), row in [0, I), stage in [0, S).
//
// Every constraint family reads starts through these accessors, so that each start encoding serves
// all of them. An encoding that also has absolute order literals M(v) >= t offers them, and the
// families that gain from them (dependence, length) use them.
#pragma once

#include <vector>

#include "encoders/formula.hpp"
#include "graph/problem.hpp"

namespace twill {

class Starts {
 public:
  Starts(Cycle ii, Cycle stages) : ii_(ii), stages_(stages) {}

  Cycle ii() const { return ii_; }
  Cycle stages() const { return stages_; }
  Cycle horizon() const { return ii_ * stages_; }

  /// row(v) >= s, for any integer s.
  Lit row_at_least(int v, Cycle s) const { return at(rows_, v, s, ii_); }
  /// stage(v) >= k, for any integer k.
  Lit stage_at_least(int v, Cycle k) const { return at(stage_literals_, v, k, stages_); }
  /// M(v) >= t as one literal; only when has_absolute().
  bool has_absolute() const { return !absolute_.empty(); }
  Lit start_at_least(int v, Cycle t) const { return at(absolute_, v, t, horizon()); }

  // Filled by the encodings: entry v holds the literals for thresholds 1, 2, ...
  std::vector<std::vector<Lit>>& rows() { return rows_; }
  std::vector<std::vector<Lit>>& stage_literals() { return stage_literals_; }
  std::vector<std::vector<Lit>>& absolute() { return absolute_; }

 private:
  static Lit at(const std::vector<std::vector<Lit>>& table, int v, Cycle threshold, Cycle end) {
    if (threshold <= 0) return kTrueLit;
    if (threshold >= end) return kFalseLit;
    return table[static_cast<std::size_t>(v)][static_cast<std::size_t>(threshold - 1)];
  }
  Cycle ii_, stages_;
  std::vector<std::vector<Lit>> rows_, stage_literals_, absolute_;
};

/// What is known about M(v) before encoding: earliest[v] <= M(v) <= latest[v], 0-based. latest may
/// not exceed horizon - 1.
struct StartWindows {
  std::vector<Cycle> earliest, latest;
};

Starts starts_rowstage(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows);
Starts starts_order(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows);

}  // namespace twill
