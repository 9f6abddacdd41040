#include "engine/explain/broken_part.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/inner_loops.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill::order {
namespace {

// [begin, end) and its copies every I cycles.
struct Span {
  int op = 0;
  Cycle begin = 0, end = 0;
};

Cycle copies_at(const Span& span, Cycle moment, Cycle ii) {
  if (span.end <= span.begin) return 0;
  return floor_divide(moment - span.begin, ii) - floor_divide(moment - span.end, ii);
}

// The residues at which `too_much` holds, which can change only where a span begins or ends.
std::vector<ResidueRange> residues_where(std::span<const Span> spans, Cycle ii,
                                         const std::function<bool(Cycle)>& too_much) {
  std::set<Cycle> moments{0};
  for (const Span& span : spans) {
    moments.insert(span.begin - floor_divide(span.begin, ii) * ii);
    moments.insert(span.end - floor_divide(span.end, ii) * ii);
  }
  std::vector<ResidueRange> ranges;
  for (auto at_moment = moments.begin(); at_moment != moments.end(); ++at_moment) {
    if (!too_much(*at_moment)) continue;
    const auto next = std::next(at_moment);
    const Cycle last = (next == moments.end() ? ii : *next) - 1;
    if (!ranges.empty() && ranges.back().last + 1 == *at_moment)
      ranges.back().last = last;
    else
      ranges.push_back({*at_moment, last});
  }
  return ranges;
}

class PartJudge {
 public:
  PartJudge(const Problem& problem, const Schedule& schedule, std::span<const ConstraintPart> parts)
      : p_(problem), s_(schedule), ii_(schedule.initiation_interval), parts_(parts) {}

  std::optional<BrokenPart> judge(const ConstraintPart& part) const {
    switch (part.kind) {
      case ConstraintPart::pin: return when(!pinned(p_.pins[at(part.index)]));
      case ConstraintPart::unit: return unit(part.index);
      case ConstraintPart::registers:
      case ConstraintPart::memory: return overflow(part, -1);
      case ConstraintPart::inner_loop: return when(loop_broken(p_.inner_loops[at(part.index)]));
      case ConstraintPart::wait: return wait(part.index);
      case ConstraintPart::hold:
        for (const ConstraintPart& other : parts_)
          if (other.kind == ConstraintPart::registers || other.kind == ConstraintPart::memory)
            if (auto found = overflow(other, part.index)) return found;
        return std::nullopt;
      case ConstraintPart::handover: {
        const Edge& e = p_.edges[at(part.index)];
        const Cycle spill = spill_of(p_, e);
        if (spill == 0 || s_.warp[at(e.from)] == s_.warp[at(e.to)]) return std::nullopt;
        if (late_by(e) < spill) return BrokenPart{};
        return wait(part.index);
      }
      case ConstraintPart::no_handover: {
        const Edge& e = p_.edges[at(part.index)];
        return when(s_.warp[at(e.from)] != s_.warp[at(e.to)]);
      }
      case ConstraintPart::dependence: return when(late_by(p_.edges[at(part.index)]) < 0);
    }
    return std::nullopt;
  }

 private:
  static std::optional<BrokenPart> when(bool broken) {
    if (broken) return BrokenPart{};
    return std::nullopt;
  }

  bool pinned(const Pin& pin) const {
    switch (pin.kind) {
      case Pin::on_slot: return s_.warp[at(pin.op)] == pin.slot;
      case Pin::not_on_slot: return s_.warp[at(pin.op)] != pin.slot;
      case Pin::at_cycle: return s_.start[at(pin.op)] == pin.cycle;
      case Pin::at_stage: return s_.start[at(pin.op)] / ii_ == pin.stage;
      case Pin::other_slot: return s_.warp[at(pin.op)] != s_.warp[at(pin.other)];
      case Pin::same_slot: break;
    }
    return s_.warp[at(pin.op)] == s_.warp[at(pin.other)];
  }

  bool loop_broken(const InnerLoop& loop) const {
    const InnerPart& first = loop.parts.front();
    for (const InnerPart& part : loop.parts) {
      const Cycle apart = s_.start[at(part.op)] - s_.start[at(first.op)];
      if (apart != part.offset - first.offset) return true;
      if (p_.ops[at(part.op)].cycles == 0 || exempt_from_concurrency(p_, part.op)) continue;
      if (p_.ops[at(part.op)].cycles > ii_) return true;
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
        if (v == part.op || p_.ops[at(v)].cycles == 0 || s_.warp[at(v)] != s_.warp[at(part.op)])
          continue;
        const Span one = execution(part.op), other = execution(v);
        if (copies_at(one, other.begin, ii_) > 0 || copies_at(other, one.begin, ii_) > 0)
          return true;
      }
    }
    return false;
  }

  Span execution(int v) const {
    const Cycle begin = s_.start[at(v)];
    return {v, begin, begin + p_.ops[at(v)].cycles};
  }

  // Cycles between what the delay asks for and the use.
  Cycle late_by(const Edge& e) const {
    return s_.start[at(e.to)] + e.distance * ii_ - s_.start[at(e.from)] - e.delay;
  }

  std::optional<BrokenPart> unit(int u) const {
    std::vector<Span> spans;
    std::vector<Amount> amounts;
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
      for (const Reservation& r : p_.ops[at(v)].reservations) {
        if (r.unit != u) continue;
        const Cycle begin = s_.start[at(v)] + r.offset;
        spans.push_back({v, begin, begin + r.length});
        amounts.push_back(r.amount);
      }
    BrokenPart found;
    found.residues = residues_where(spans, ii_, [&](Cycle moment) {
      Amount sum = 0;
      for (std::size_t i = 0; i < spans.size(); ++i)
        sum += amounts[i] * copies_at(spans[i], moment, ii_);
      return sum > p_.units[at(u)].capacity;
    });
    if (found.residues.empty()) return std::nullopt;
    // Within a range others may come and go: those at its beginning are named.
    const auto length = [](const ResidueRange& r) { return r.last - r.first; };
    found.residues = {*std::max_element(
        found.residues.begin(), found.residues.end(),
        [&](const ResidueRange& a, const ResidueRange& b) { return length(a) < length(b); })};
    for (const Span& span : spans)
      if (copies_at(span, found.residues.front().first, ii_) > 0) found.ops.push_back(span.op);
    return found;
  }

  // Of edge e; that of edge `hold` counts too.
  Cycle held(int e, int hold) const {
    const bool counts = e == hold || std::any_of(parts_.begin(), parts_.end(), [&](const auto& o) {
                          return o.kind == ConstraintPart::hold && o.index == e;
                        });
    return counts ? p_.edges[at(e)].hold : 0;
  }

  Span life(int v, int hold) const {
    Span span{v, s_.start[at(v)], s_.start[at(v)]};
    for (int e = 0; e < static_cast<int>(p_.edges.size()); ++e) {
      const Edge& edge = p_.edges[at(e)];
      if (edge.from == v)
        span.end = std::max(span.end, s_.start[at(edge.to)] + edge.distance * ii_ + held(e, hold));
    }
    return span;
  }

  // Buffers of the ring of load v, as ring_depth() has them.
  Cycle buffers(int v, int hold) const {
    Cycle last = s_.start[at(v)];
    for (const BufferUse& use : buffer_uses(p_, v))
      last = std::max(last, s_.start[at(use.op)] + use.iterations * ii_ +
                                std::max(p_.ops[at(use.op)].cycles, held(use.edge, hold)));
    return (last - s_.start[at(v)]) / ii_ + 1;
  }

  std::optional<BrokenPart> overflow(const ConstraintPart& part, int hold) const {
    BrokenPart found;
    if (part.kind == ConstraintPart::registers) {
      found.slot = s_.warp[at(part.copies.front().first)];
      Amount sum = 0;
      for (const auto& [v, copies] : part.copies) {
        if (s_.warp[at(v)] != found.slot) return std::nullopt;
        sum += copies * p_.ops[at(v)].registers;
      }
      if (sum <= p_.warps[at(found.slot)].registers) return std::nullopt;
    }
    const MemoryCharges charges =
        part.kind == ConstraintPart::memory ? memory_charges(p_, part.index) : MemoryCharges{};
    std::vector<Span> spans;
    std::vector<Cycle> copies;
    for (const auto& [v, count] : part.copies) {
      if (part.kind == ConstraintPart::memory && charges.ring[at(v)] > 0) {
        if (buffers(v, hold) < count) return std::nullopt;
        continue;
      }
      spans.push_back(life(v, hold));
      copies.push_back(count);
    }
    if (spans.empty()) return found;  // rings alone, the same at every residue
    found.residues = residues_where(spans, ii_, [&](Cycle moment) {
      for (std::size_t i = 0; i < spans.size(); ++i)
        if (copies_at(spans[i], moment, ii_) < copies[i]) return false;
      return true;
    });
    if (found.residues.empty()) return std::nullopt;
    return found;
  }

  std::optional<BrokenPart> wait(int e) const {
    const int v = p_.edges[at(e)].to;
    BrokenPart found;
    found.slot = s_.warp[at(v)];
    if (p_.warps[at(found.slot)].variable_latency ||
        !may_wait(p_, inner_loop_of(p_), p_.edges[at(e)]))
      return std::nullopt;
    const Cycle issue = s_.start[at(v)];
    const Cycle row = issue - floor_divide(issue, ii_) * ii_;
    for (int o = 0; o < static_cast<int>(p_.ops.size()); ++o)
      if (o != v && s_.warp[at(o)] == found.slot &&
          copies_at({o, s_.start[at(o)], s_.start[at(o)] + p_.ops[at(o)].cycles}, row, ii_) > 0)
        found.ops.push_back(o);
    if (found.ops.empty()) return std::nullopt;
    found.residues = {{row, row}};
    return found;
  }

  const Problem& p_;
  const Schedule& s_;
  Cycle ii_;
  std::span<const ConstraintPart> parts_;
};

}  // namespace

std::optional<BrokenPart> broken(const Problem& problem, const Schedule& schedule,
                                 const ConstraintPart& part,
                                 std::span<const ConstraintPart> parts) {
  return PartJudge(problem, schedule, parts).judge(part);
}

}  // namespace twill::order
