// Binary (logarithmic) encoding: Iwama and Miyazaki, "SAT-Variable Complexity of Hard Combinatorial
// Problems", IFIP 1994; Walsh, CP 2000.
//
// Row and stage are binary numbers, and M = I stage + row is added up by adders (binary_sum.hpp).
// Variables per op: ceil(log2 I) + ceil(log2 S) bits; sum and carry of the adders, whose inputs are
// the row's bits and the stage's bits times I; and, for the families that read order literals, one
// gate per inner threshold: "the low i + 1 bits are at least c", an and or an or of bit i and a
// gate of the bits below, shared among thresholds. Clauses: three a gate (equivalences), the chain
// of each order, 14 and 7 an adder, at most one per bit for row < I, stage < S, and the window on
// M. Where the window has one stage, or one cycle, its bits are constants.
// Unit propagation: neither bounds nor arc consistent. Differences: see dependence.cpp.
#include <bit>
#include <map>
#include <utility>

#include "encoders/time_indexed/starts.hpp"

namespace twill {
namespace {

// A number in [low, high], with the literals "at least c".
class Number {
 public:
  Number(Formula& f, Cycle low, Cycle high) : f_(f), low_(low), high_(high) {
    const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(high)));
    for (int i = 0; i < width; ++i)
      bits_.push_back(low == high ? Lit::constant(low >> i & 1) : f.fresh());
    if (low == high) return;
    at_most_binary(f, bits_, high);
    at_least_binary(f, bits_, low);
  }

  const Binary& bits() const { return bits_; }

  /// Thresholds 1 .. end - 1.
  std::vector<Lit> order(Cycle end) {
    std::vector<Lit> literals;
    for (Cycle c = 1; c < end; ++c) {
      const Lit literal = c <= low_ ? kTrueLit : c > high_ ? kFalseLit : at_least(bits_.size(), c);
      if (!literals.empty()) f_.implies(literal, literals.back());
      literals.push_back(literal);
    }
    return literals;
  }

 private:
  // The number of the low `count` bits is at least c.
  Lit at_least(std::size_t count, Cycle c) {
    if (c <= 0) return kTrueLit;
    if (c >= Cycle{1} << count) return kFalseLit;
    const auto [entry, fresh] = gates_.try_emplace({count, c});
    if (!fresh) return entry->second;
    const Cycle half = Cycle{1} << (count - 1);
    const Lit bit = bits_[count - 1];
    const Lit below = at_least(count - 1, c <= half ? c : c - half);
    Lit gate = bit;
    if (c < half) {
      gate = f_.fresh();
      f_.implies(bit, gate);
      f_.implies(below, gate);
      f_.clause({~gate, bit, below});
    } else if (c > half) {
      gate = f_.fresh();
      f_.implies(gate, bit);
      f_.implies(gate, below);
      f_.implies(bit, below, gate);
    }
    return entry->second = gate;
  }

  Formula& f_;
  Cycle low_, high_;
  Binary bits_;
  std::map<std::pair<std::size_t, Cycle>, Lit> gates_;
};

}  // namespace

Starts starts_binary(Formula& f, Cycle ii, Cycle stages, const StartWindows& windows) {
  Starts starts(ii, stages);
  for (std::size_t i = 0; i < windows.earliest.size(); ++i) {
    const Cycle earliest = windows.earliest[i], latest = windows.latest[i];
    const bool one_stage = earliest / ii == latest / ii;
    Number stage(f, earliest / ii, latest / ii);
    Number row(f, one_stage ? earliest % ii : 0, one_stage ? latest % ii : ii - 1);
    std::vector<Term> terms;
    for (std::size_t bit = 0; bit < row.bits().size(); ++bit)
      terms.push_back({std::int64_t{1} << bit, row.bits()[bit]});
    for (std::size_t bit = 0; bit < stage.bits().size(); ++bit)
      terms.push_back({ii << bit, stage.bits()[bit]});
    starts.bits().push_back(binary_sum(f, terms));
    if (!one_stage) {
      at_most_binary(f, starts.bits().back(), latest);
      at_least_binary(f, starts.bits().back(), earliest);
    }
    starts.stage_literals().push_back(stage.order(stages));
    starts.rows().push_back(row.order(ii));
  }
  return starts;
}

}  // namespace twill
