// Rule 12: a nest whose inner loop has a schedule becomes an ordinary problem with an inner loop of
// fixed parts. What goes into it, exactly:
//   units      each slot's part has the reservations of all its instances, summed over time, holes
//              included;
//   slots      a part lasts from the first issue to the last end on its slot, waits of zero-cycle
//              ops included, and has the slot for itself; a self edge says that runs follow
//              another;
//   values     what inner results hold of registers and memories, summed over time, is held by
//              zero-cycle ops from one change to the next; of registers only while it grows;
//   outside    an op that uses an outer result has one zero-cycle op at its first and one at its
//              last issue, between which the result lives; one whose result is used outside has one
//              at its last issue, which holds that result;
//   rings      the ring of an inner load keeps the depth that the inner schedule gives it (not more
//              than the trips) and is taken from the memory; the next run may load once the buffer
//              is free, which is one more self edge;
//   channels   what all instances move.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/io/json_text.hpp"
#include "graph/memory_charges.hpp"
#include "graph/nested/nested_loop.hpp"
#include "graph/nested/profile.hpp"
#include "graph/ring_depth.hpp"
#include "graph/verify.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

class PartsBuilder {
 public:
  PartsBuilder(const NestedLoop& nest, const Schedule& schedule)
      : nest_(nest), p_(nest.problem), inner_(inner_problem(nest)), s_(schedule) {
    if (const auto broken = verify(inner_, s_))
      throw InputError("schedule of the inner loop", broken->rule, inner_.name, broken->text);
    inner_of_.assign(p_.ops.size(), -1);
    for (std::size_t i = 0; i < nest.inner.size(); ++i)
      inner_of_[at(nest.inner[i])] = static_cast<int>(i);
    first_ = *std::min_element(s_.start.begin(), s_.start.begin() + size());
    if (Wide{s_.initiation_interval} * nest.trips + s_.length > kMaxCycles)
      throw InputError("inner loop", nest.name, std::to_string(nest.trips) + " trips",
                       "must take at most " + std::to_string(kMaxCycles) + " cycles");
  }

  Problem run() {
    outer();
    loop_.name = nest_.name;
    for (int w = 0; w < static_cast<int>(p_.warps.size()); ++w) code(w);
    for (int w = 0; w < static_cast<int>(p_.warps.size()); ++w) registers(w);
    for (int m = 0; m < static_cast<int>(p_.memories.size()); ++m) memory(m);
    outside();
    // The run begins with its first issue, also where that is of a load that is no part.
    if (std::ranges::none_of(loop_.parts, [](const InnerPart& one) { return one.offset == 0; }))
      marker(some_slot(), 0);
    rings();
    channels();
    out_.inner_loops.push_back(std::move(loop_));
    check(out_, "nested loop");
    return std::move(out_);
  }

 private:
  Cycle ii() const { return s_.initiation_interval; }
  Cycle last() const { return (nest_.trips - 1) * ii(); }
  /// Issue of the first instance of inner op i, from the first issue of the run.
  Cycle base(int i) const { return s_.start[at(i)] - first_; }
  int slot(int i) const { return s_.warp[at(i)]; }
  /// Inner ops: the last of the inner problem may be "(outside)".
  int size() const { return static_cast<int>(nest_.inner.size()); }

  void outer() {
    out_ = p_;
    out_.name = p_.name + "-nested";
    out_.ops.clear();
    out_.edges.clear();
    out_.pins.clear();
    index_.assign(p_.ops.size(), -1);
    for (std::size_t v = 0; v < p_.ops.size(); ++v) {
      if (inner_of_[v] >= 0) continue;
      index_[v] = static_cast<int>(out_.ops.size());
      out_.ops.push_back(p_.ops[v]);
      names_.insert(p_.ops[v].id);
    }
    for (Edge e : p_.edges)
      if (index_[at(e.from)] >= 0 && index_[at(e.to)] >= 0) {
        e.from = index_[at(e.from)];
        e.to = index_[at(e.to)];
        out_.edges.push_back(e);
      }
    for (Pin pin : p_.pins) {
      const int other = pin.other;
      if (pin.kind == Pin::same_slot && (index_[at(pin.op)] < 0) != (index_[at(other)] < 0)) {
        // An outer op with an inner one, whose slot is given.
        const bool op_inner = index_[at(pin.op)] < 0;
        const int in = op_inner ? pin.op : other, out = op_inner ? other : pin.op;
        out_.pins.push_back({Pin::on_slot, index_[at(out)], slot(inner_of_[at(in)]), -1, -1});
        continue;
      }
      if (index_[at(pin.op)] < 0) continue;
      pin.op = index_[at(pin.op)];
      if (other >= 0) pin.other = index_[at(other)];
      out_.pins.push_back(pin);
    }
  }

  int part(std::string id, Op op, int slot, Cycle offset) {
    while (!names_.insert(id).second) id += "'";
    op.id = std::move(id);
    const int v = static_cast<int>(out_.ops.size());
    out_.ops.push_back(std::move(op));
    out_.pins.push_back({Pin::on_slot, v, slot, -1, -1});
    loop_.parts.push_back({v, offset});
    return v;
  }
  /// A zero-cycle op for a slot.
  Op instant(int slot) const {
    Op op;
    op.variable_latency = variable_latency_slot(p_) >= 0 && p_.warps[at(slot)].variable_latency;
    return op;
  }
  /// On the slot of what ends there: no hand-over comes between.
  int marker(int slot, Cycle offset) {
    const auto [place, fresh] = markers_.emplace(std::pair(slot, offset), -1);
    if (!fresh) return place->second;
    const std::string id = nest_.name + "." + p_.warps[at(slot)].name + "+";
    return place->second = part(id + std::to_string(offset), instant(slot), slot, offset);
  }
  /// A slot for what is held in memories.
  int some_slot() const {
    int slot = 0;
    while (slot + 1 < static_cast<int>(p_.warps.size()) && p_.warps[at(slot)].variable_latency)
      ++slot;
    return slot;
  }

  /// May the op have to wait, on whatever slot outer ops are?
  bool waits(int i) const {
    return std::any_of(p_.edges.begin(), p_.edges.end(), [&](const Edge& e) {
      if (inner_of_[at(e.to)] != i) return false;
      const int from = inner_of_[at(e.from)];
      return e.blocking || (spill_of(p_, e) > 0 && (from < 0 || slot(from) != slot(i)));
    });
  }

  /// The code of a slot.
  void code(int w) {
    Cycle begin = kMaxCycles, end = 0;
    Op op = instant(w);
    op.kind = "inner_loop";
    std::vector<std::vector<Held>> uses(p_.units.size());
    for (int i = 0; i < size(); ++i) {
      const Op& each = inner_.ops[at(i)];
      const Cycle cycles = each.cycles > 0 ? each.cycles : waits(i) ? 1 : 0;
      if (slot(i) != w || cycles == 0) continue;
      begin = std::min(begin, base(i));
      end = std::max(end, base(i) + last() + cycles);
      op.width = std::max(op.width, each.width);
      for (const Reservation& r : each.reservations)
        for (std::int64_t k = 0; k < nest_.trips; ++k) {
          const Cycle from = base(i) + k * ii() + r.offset;
          uses[at(r.unit)].push_back({from, from + r.length, r.amount});
        }
    }
    code_.emplace_back(begin, end);
    if (begin >= end) return;
    op.cycles = end - begin;
    for (std::size_t u = 0; u < uses.size(); ++u)
      for (const Held& h : profile(uses[u]))
        op.reservations.push_back(
            {static_cast<int>(u), h.begin - begin, h.end - h.begin, h.amount});
    const Cycle cycles = op.cycles;
    const bool exempt = op.variable_latency;  // from waits, and alone in nothing
    const int v = part(nest_.name + "." + p_.warps[at(w)].name, std::move(op), w, begin);
    if (!exempt) out_.edges.push_back({v, v, cycles, 1, true, 0});
  }

  /// Where instance k of the op's result is last used inside; its issue where it is not.
  Cycle end_of_use(int i, std::int64_t k) const {
    Cycle end = base(i) + k * ii();
    for (const Edge& e : inner_.edges)
      if (e.from == i && k + e.distance < nest_.trips)
        end = std::max(end, base(e.to) + (k + e.distance) * ii() + e.hold);
    return end;
  }
  bool used_outside(int i) const {
    return std::any_of(p_.edges.begin(), p_.edges.end(), [&](const Edge& e) {
      return inner_of_[at(e.from)] == i && inner_of_[at(e.to)] < 0;
    });
  }
  void held_by(int i, Amount amount, std::vector<Held>& held) const {
    if (amount == 0) return;
    const std::int64_t count = nest_.trips - (used_outside(i) ? 1 : 0);  // that is in outside()
    for (std::int64_t k = 0; k < count; ++k)
      held.push_back({base(i) + k * ii(), end_of_use(i, k), amount});
  }
  template <class Give>
  void pieces(const std::string& what, const std::vector<Held>& held, int slot, const Give& give) {
    for (const Held& h : held) {
      Op op = instant(slot);
      give(op, h.amount);
      const int v = part(nest_.name + "." + what + "+" + std::to_string(h.begin), std::move(op),
                         slot, h.begin);
      out_.edges.push_back({v, marker(slot, h.end), 0, 0, false, 0});
    }
  }

  void registers(int w) {
    std::vector<Held> held;
    for (int i = 0; i < size(); ++i)
      if (slot(i) == w) held_by(i, inner_.ops[at(i)].registers, held);
    pieces("registers." + p_.warps[at(w)].name, while_it_grows(w, profile(held)), w,
           [](Op& op, Amount amount) { op.registers = amount; });
  }

  /// While a slot executes a run's code no other result begins to be held there: what others hold
  /// does not grow. So where less is held than was before, nothing is asked that was not asked
  /// already, and the most so far may stand for it. The count begins anew where a result begins
  /// that is used outside, which is counted apart. Makes a profile short, whatever the trips.
  std::vector<Held> while_it_grows(int w, const std::vector<Held>& exact) const {
    const auto [begin, end] = code_[at(w)];
    if (begin >= end || p_.warps[at(w)].variable_latency) return exact;
    // (Outer ops without cycles may be issued beside the code.)
    for (std::size_t v = 0; v + nest_.inner.size() < p_.ops.size(); ++v)
      if (out_.ops[v].cycles == 0 && out_.ops[v].registers > 0) return exact;
    std::set<Cycle> anew;
    for (int i = 0; i < size(); ++i) {
      const Amount registers = inner_.ops[at(i)].registers;
      if (slot(i) != w || registers == 0) continue;
      if (base(i) < begin || base(i) + last() >= end) return exact;
      if (used_outside(i)) anew.insert(base(i) + last());
    }
    std::vector<Held> pieces;
    auto reset = anew.begin();
    for (const Held& h : exact) {
      // Cut where the count begins anew, and at the end of the code.
      for (Cycle from = h.begin; from < h.end;) {
        Cycle to = h.end;
        while (reset != anew.end() && *reset <= from) ++reset;
        if (reset != anew.end()) to = std::min(to, *reset);
        if (from < end) to = std::min(to, end);
        Held piece{from, to, h.amount};
        const bool counts =
            from < end && !pieces.empty() &&
            (anew.empty() || anew.upper_bound(pieces.back().begin) == anew.upper_bound(from));
        if (counts) {
          pieces.back().end = from;  // over a gap, too
          piece.amount = std::max(piece.amount, pieces.back().amount);
          if (piece.amount == pieces.back().amount) {
            pieces.back().end = to;
            from = to;
            continue;
          }
        }
        pieces.push_back(piece);
        from = to;
      }
    }
    return pieces;
  }

  void memory(int m) {
    const MemoryCharges charges = memory_charges(inner_, m);
    std::vector<Held> held;
    Wide rings = 0;
    for (int i = 0; i < size(); ++i) {
      held_by(i, charges.live[at(i)], held);
      rings += Wide{charges.ring[at(i)]} * (charges.ring[at(i)] > 0 ? depth(i) : 0);
    }
    Memory& here = out_.memories[at(m)];
    if (rings > here.capacity)
      throw InputError("inner loop", here.name, nest_.name,
                       "the rings of its loads need more than there is");
    here.capacity -= static_cast<Amount>(rings);
    pieces("memory." + here.name, profile(held), some_slot(), [&](Op& op, Amount amount) {
      op.footprints = {{m, amount}};
    });
  }

  std::int64_t depth(int load) const {
    return std::min<std::int64_t>(ring_depth(inner_, s_, load), nest_.trips);
  }

  void rings() {
    Cycle apart = 0;  // from run to run
    for (const int u : charged_loads(inner_))
      for (const BufferUse& use : buffer_uses(inner_, u))
        if (use.iterations < depth(u))
          apart = std::max(apart, base(use.op) + use.cycles + 1 - base(u) +
                                      (nest_.trips - depth(u) + use.iterations) * ii());
    const int v = loop_.parts.front().op;
    if (apart > 0) out_.edges.push_back({v, v, apart, 1, false, 0});
  }

  void outside() {
    std::set<int> in_rings;  // outer ops that hold a charged buffer
    for (const int u : charged_loads(p_))
      if (inner_of_[at(u)] < 0)
        for (const BufferHolder& holder : buffer_holders(p_, u)) in_rings.insert(holder.op);
    for (int i = 0; i < size(); ++i) {
      const Op& each = inner_.ops[at(i)];
      int begin = -1, end = -1, result = -1;
      const auto issue = [&](const char* name, Cycle offset) {
        Op op = instant(slot(i));
        op.width = each.width;
        op.variable_latency = each.variable_latency;
        return part(each.id + name, std::move(op), slot(i), offset);
      };
      for (const Edge& e : p_.edges) {
        const bool from = inner_of_[at(e.from)] == i, to = inner_of_[at(e.to)] == i;
        if (to && inner_of_[at(e.from)] < 0) {
          const bool ring = in_rings.contains(e.from);
          if (ring && each.cycles == 0)
            throw InputError("inner loop", quote(each.id), quote(p_.ops[at(e.from)].id),
                             "a view of what is loaded outside must be outside, too");
          if (begin < 0) {
            begin = issue("@first", base(i));
            end = nest_.trips == 1 ? begin : issue("@last", base(i) + last());
          }
          const Cycle hold = ring ? std::max(e.hold, each.cycles) : e.hold;
          out_.edges.push_back({index_[at(e.from)], begin, e.delay, e.distance, false, 0, e.spill});
          out_.edges.push_back(
              {index_[at(e.from)], end, e.delay, e.distance, false, hold, e.spill});
        }
        if (from && inner_of_[at(e.to)] < 0) {
          if (result < 0) {
            result = issue("@result", base(i) + last());
            Op& op = out_.ops[at(result)];
            op.registers = each.registers;
            op.footprints = each.footprints;
            op.spill = each.spill;
            if (const Cycle used = end_of_use(i, nest_.trips - 1); used > base(i) + last())
              out_.edges.push_back({result, marker(slot(i), used), 0, 0, false, 0});
          }
          out_.edges.push_back(
              {result, index_[at(e.to)], e.delay, e.distance, e.blocking, e.hold, e.spill});
        }
      }
    }
  }

  void channels() {
    for (int c = 0; c < static_cast<int>(p_.channels.size()); ++c) {
      Wide over = 0, under = 1;
      for (const Op& op : inner_.ops)
        for (const Traffic& moved : op.traffic) {
          if (moved.channel != c || moved.amount.numerator == 0) continue;
          const Wide common = std::lcm(static_cast<std::int64_t>(under), moved.amount.denominator);
          over = over * (common / under) +
                 Wide{moved.amount.numerator} * (common / moved.amount.denominator);
          under = common;
          if (over > kMaxAmount || under > kMaxAmount)
            throw InputError("inner loop", p_.channels[at(c)].name, nest_.name,
                             "moves more through the channel than a problem can say");
        }
      if (over == 0) continue;
      over *= nest_.trips;
      Op& op = out_.ops[at(loop_.parts.front().op)];
      op.traffic.push_back({c,
                            {static_cast<Amount>(std::min<Wide>(over, kMaxAmount + Wide{1})),
                             static_cast<Amount>(under)}});
    }
  }

  const NestedLoop& nest_;
  const Problem& p_;
  Problem inner_;
  const Schedule& s_;
  std::vector<int> inner_of_;  // per op, its index in the inner problem, or -1
  Cycle first_ = 0;
  Problem out_;
  std::vector<int> index_;  // per outer op, in out_
  std::set<std::string> names_;
  InnerLoop loop_;
  std::vector<std::pair<Cycle, Cycle>> code_;     // of a run by slot, {kMaxCycles, 0} = none
  std::map<std::pair<int, Cycle>, int> markers_;  // by slot and offset
};

}  // namespace

Problem nested_problem(const NestedLoop& nest, const Schedule& inner) {
  check(nest);
  return PartsBuilder(nest, inner).run();
}

Schedule flat_schedule(const NestedLoop& nest, const Schedule& inner, const Problem& nested,
                       const Schedule& schedule) {
  const InnerPart& part = nested.inner_loops.front().parts.front();
  const Cycle origin = schedule.start[at(part.op)] - part.offset;
  const Cycle first = *std::min_element(
      inner.start.begin(), inner.start.begin() + static_cast<std::ptrdiff_t>(nest.inner.size()));
  const std::size_t outer = nest.problem.ops.size() - nest.inner.size();
  const auto some = static_cast<std::ptrdiff_t>(outer);
  Schedule flat{schedule.initiation_interval,
                0,
                {schedule.start.begin(), schedule.start.begin() + some},
                {schedule.warp.begin(), schedule.warp.begin() + some}};
  for (std::size_t i = 0; i < nest.inner.size(); ++i)
    for (std::int64_t k = 0; k < nest.trips; ++k) {
      flat.start.push_back(origin + inner.start[i] - first + k * inner.initiation_interval);
      flat.warp.push_back(inner.warp[i]);
    }
  flat.length = schedule_length(flat_problem(nest), flat.start);
  return flat;
}

}  // namespace twill
