// Start cycles as literals: M(v) = I * stage(v) + row(v), row in [0, I), stage in [0, S).
//
// Every constraint family reads starts through these accessors, so that each start encoding serves
// all of them. An encoding that also has absolute order literals M(v) >= t, value literals M(v) = t
// or the bits of M(v) offers them, and the families that gain from them (dependence, length) use
// them.
#pragma once

#include <cassert>
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/formula.hpp"
#include "encoders/sums/binary_sum.hpp"
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
  Lit start_at_least(int v, Cycle t) const {
    assert(has_absolute());
    return at(absolute_, v, t, horizon());
  }

  /// M(v) = t as one literal; only when has_values().
  bool has_values() const { return !values_.empty(); }
  Lit starts_at(int v, Cycle t) const {
    assert(has_values());
    if (t < 0 || t >= horizon()) return kFalseLit;
    return values_[static_cast<std::size_t>(v)][static_cast<std::size_t>(t)];
  }
  /// M(v) as a binary number; only when has_bits().
  bool has_bits() const { return !bits_.empty(); }
  const Binary& start_bits(int v) const {
    assert(has_bits());
    return bits_[static_cast<std::size_t>(v)];
  }

  // Filled by the encodings: entry v holds the literals for thresholds 1, 2, ...
  std::vector<std::vector<Lit>>& rows() { return rows_; }
  std::vector<std::vector<Lit>>& stage_literals() { return stage_literals_; }
  std::vector<std::vector<Lit>>& absolute() { return absolute_; }
  std::vector<std::vector<Lit>>& values() { return values_; }  ///< entry v: M(v) = 0, 1, ...
  std::vector<Binary>& bits() { return bits_; }

 private:
  static Lit at(const std::vector<std::vector<Lit>>& table, int v, Cycle threshold, Cycle end) {
    if (threshold <= 0) return kTrueLit;
    if (threshold >= end) return kFalseLit;
    return table[static_cast<std::size_t>(v)][static_cast<std::size_t>(threshold - 1)];
  }
  Cycle ii_, stages_;
  std::vector<std::vector<Lit>> rows_, stage_literals_, absolute_, values_;
  std::vector<Binary> bits_;
};

/// What is known about M(v) before encoding: earliest[v] <= M(v) <= latest[v], 0-based. latest may
/// not exceed horizon - 1.
struct StartWindows {
  std::vector<Cycle> earliest, latest;
};

Starts starts_rowstage(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows);
Starts starts_order(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows);
/// `choice` gives the at-most-one encoding over an op's start cycles.
Starts starts_direct(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows,
                     const EncodingChoice& choice);
Starts starts_channelled(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows);
Starts starts_binary(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows);

/// The one that choice.start names; automatic = rowstage.
Starts encode_starts(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows,
                     const EncodingChoice& choice);

// Parts that several of them share.

/// Order literals for thresholds 1 .. end - 1 of a number in [low, high], constant outside,
/// chained.
std::vector<Lit> order_literals(Formula& f, Cycle end, Cycle low, Cycle high);
/// Rows and stages of op v as order literals, within its window; each value literal M(v) = t, which
/// must be in starts already, implies the four literals next to its row and its stage.
void rows_from_values(Formula& f, Starts& starts, int v, Cycle earliest, Cycle latest);

}  // namespace twill
