#include "graph/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "graph/io/json_text.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

/// The checks of one problem. Places are the JSON pointers that problem_text() would give.
class Checker {
 public:
  Checker(const Problem& problem, const std::string& source) : problem_(problem), source_(source) {}

  void run() {
    text("/name", problem_.name);
    range("/initiation_interval/least", problem_.interval.least, 1, kMaxInterval);
    range("/initiation_interval/most", problem_.interval.most, problem_.interval.least,
          kMaxInterval);
    if (!std::isfinite(problem_.cycle_unit) || problem_.cycle_unit <= 0)
      fail("/cycle_unit", std::to_string(problem_.cycle_unit), "must be finite and positive");
    units();
    memories();
    channels();
    slots();
    ops();
    edges();
    pins();
    inner_loops();
    dependence_cycles();
  }

 private:
  [[noreturn]] void fail(const std::string& place, const std::string& value,
                         const std::string& rule) const {
    throw InputError(source_, place, value, rule);
  }

  void range(const std::string& place, long long value, long long low, long long high) const {
    if (value < low || value > high) fail(place, std::to_string(value), range_rule(low, high));
  }

  /// The same of a member; its pointer is only put together when it is needed.
  void range(const std::string& place, const char* member, long long value, long long low,
             long long high) const {
    if (value < low || value > high) range(place + member, value, low, high);
  }

  void count(const char* place, std::size_t found, int most, const char* what) const {
    if (found > static_cast<std::size_t>(most))
      fail(place, std::to_string(found) + " " + what,
           "must have at most " + std::to_string(most) + " " + what);
  }

  void text(const std::string& place, const char* member, const std::string& value) const {
    if (!valid_utf8(value) || value.find('\0') != value.npos) text(place + member, value);
  }

  void text(const std::string& place, const std::string& value) const {
    if (!valid_utf8(value) || value.find('\0') != value.npos)
      fail(place, quote(value), "must be UTF-8 text without NUL");
  }

  void name(const std::string& place, const char* member, const std::string& value,
            const char* what, std::unordered_set<std::string>& seen) const {
    if (value.empty()) fail(place + member, quote(value), std::string(what) + " must not be empty");
    if (value.size() > static_cast<std::size_t>(kMaxNameBytes))
      fail(*member == '\0' ? place.substr(0, place.find('/', 1)) : place + member, quote(value),
           std::string(what) + " must have at most " + std::to_string(kMaxNameBytes) + " bytes");
    text(place, member, value);
    if (!seen.insert(value).second)
      fail(place + member, quote(value), std::string(what) + " must be unique");
  }

  void units() const {
    count("/units", problem_.units.size(), kMaxUnits, "units");
    std::unordered_set<std::string> seen;
    for (const Unit& unit : problem_.units) {
      const std::string place = "/units" + pointer_token(unit.name);
      name(place, "", unit.name, "unit names", seen);
      range(place, unit.capacity, 1, kMaxAmount);
    }
  }

  void memories() const {
    count("/memories", problem_.memories.size(), kMaxMemories, "memories");
    std::unordered_set<std::string> seen;
    for (const Memory& memory : problem_.memories) {
      const std::string place = "/memories" + pointer_token(memory.name);
      name(place, "", memory.name, "memory names", seen);
      range(place, memory.capacity, 0, kMaxAmount);
    }
  }

  /// A fraction's members, named as in the file: the number, or the elements of the pair.
  void fraction(const std::string& place, const Fraction& fraction, Amount least) const {
    const bool pair = fraction.denominator != 1;
    range(pair ? place + "/0" : place, fraction.numerator, least, kMaxAmount);
    range(place + "/1", fraction.denominator, 1, kMaxAmount);
  }

  void channels() const {
    count("/channels", problem_.channels.size(), kMaxChannels, "channels");
    std::unordered_set<std::string> seen;
    for (const Channel& channel : problem_.channels) {
      const std::string place = "/channels" + pointer_token(channel.name);
      name(place, "", channel.name, "channel names", seen);
      fraction(place, channel.rate, 1);
    }
  }

  void slots() const {
    if (problem_.warps.empty()) fail("/warps", "an empty array", "must have at least one slot");
    count("/warps", problem_.warps.size(), kMaxSlots, "slots");
    std::unordered_set<std::string> seen;
    int marked = -1;
    for (std::size_t w = 0; w < problem_.warps.size(); ++w) {
      const WarpSlot& slot = problem_.warps[w];
      const std::string place = "/warps" + pointer_token(w);
      name(place, "/name", slot.name, "slot names", seen);
      range(place + "/width", slot.width, 1, kMaxWidth);
      range(place + "/registers", slot.registers, 0, kMaxAmount);
      if (!slot.variable_latency) continue;
      if (marked >= 0)
        fail(place + "/variable_latency", "true",
             "at most one slot may be variable_latency, and " +
                 quote(problem_.warps[static_cast<std::size_t>(marked)].name) + " is");
      marked = static_cast<int>(w);
    }
  }

  void ops() const {
    if (problem_.ops.empty()) fail("/ops", "an empty array", "must have at least one op");
    count("/ops", problem_.ops.size(), kMaxOps, "ops");
    std::size_t segments = 0;
    for (const Op& op : problem_.ops) segments += op.reservations.size();
    count("/ops", segments, kMaxSegments, "segments of reservations");
    std::unordered_set<std::string> seen;
    for (std::size_t v = 0; v < problem_.ops.size(); ++v) {
      const Op& op = problem_.ops[v];
      const std::string place = "/ops" + pointer_token(v);
      name(place, "/id", op.id, "op ids", seen);
      text(place, "/kind", op.kind);
      range(place, "/cycles", op.cycles, 0, kMaxCycles);
      range(place, "/registers", op.registers, 0, kMaxAmount);
      range(place, "/spill", op.spill, 0, kMaxCycles);
      range(place, "/width", op.width, 1, kMaxWidth);
      if (op.streaming) streaming(place, op);
      if (op.in_flight) in_flight(place, op);
      reservations(place, op);
      footprints(place, op);
      traffic(place, op);
    }
  }

  void streaming(const std::string& place, const Op& op) const {
    if (!op.variable_latency)
      fail(place + "/streaming", "true", "a streaming op must be variable_latency");
    if (op.cycles != 0)
      fail(place + "/cycles", std::to_string(op.cycles), "a streaming op must have 0 cycles");
  }

  void in_flight(const std::string& place, const Op& op) const {
    if (op.streaming)
      fail(place + "/in_flight", "true", "an op in flight must not be streaming as well");
    if (!op.variable_latency)
      fail(place + "/in_flight", "true", "an op in flight must be variable_latency");
    if (op.cycles != 0)
      fail(place + "/cycles", std::to_string(op.cycles), "an op in flight must have 0 cycles");
  }

  void traffic(const std::string& op_place, const Op& op) const {
    std::unordered_set<int> seen;
    for (const Traffic& moved : op.traffic) {
      if (moved.channel < 0 || static_cast<std::size_t>(moved.channel) >= problem_.channels.size())
        fail(op_place + "/traffic", std::to_string(moved.channel),
             "must be the index of a channel");
      const Channel& channel = problem_.channels[static_cast<std::size_t>(moved.channel)];
      const std::string place = op_place + "/traffic" + pointer_token(channel.name);
      fraction(place, moved.amount, 0);
      if (!seen.insert(moved.channel).second)
        fail(place, std::to_string(moved.amount.numerator), "one amount per channel");
      // So that no interval can need more than kMaxInterval cycles.
      const Fraction amount = moved.amount, rate = channel.rate;
      if (Wide{amount.numerator} * rate.denominator >
          Wide{rate.numerator} * amount.denominator * kMaxCycles)
        fail(place, fraction_text(amount),
             "must take at most " + std::to_string(kMaxCycles) + " cycles at " +
                 fraction_text(rate) + " a cycle");
    }
  }

  void reservations(const std::string& op_place, const Op& op) const {
    for (std::size_t s = 0; s < op.reservations.size(); ++s) {
      const Reservation& segment = op.reservations[s];
      if (segment.unit < 0 || static_cast<std::size_t>(segment.unit) >= problem_.units.size())
        fail(op_place + "/reservation", std::to_string(segment.unit),
             "must be the index of a unit");
      const Unit& unit = problem_.units[static_cast<std::size_t>(segment.unit)];
      if (segment.offset >= 0 && segment.offset <= kMaxCycles && segment.length >= 1 &&
          segment.length <= op.cycles - segment.offset && segment.amount >= 1 &&
          segment.amount <= unit.capacity)
        continue;
      // Segments are named by their index among those of their unit, as in the file.
      std::size_t index = 0;
      for (std::size_t before = 0; before < s; ++before)
        if (op.reservations[before].unit == segment.unit) ++index;
      const std::string here =
          op_place + "/reservation" + pointer_token(unit.name) + pointer_token(index);
      range(here + "/0", segment.offset, 0, kMaxCycles);
      range(here + "/1", segment.length, 1, kMaxCycles);
      range(here + "/2", segment.amount, 1, unit.capacity);
      if (op.cycles == 0) fail(here, shown(segment), "a zero-cycle op must have no reservation");
      fail(here, shown(segment),
           "offset + length must be at most the op's cycles, " + std::to_string(op.cycles));
    }
    if (op.reservations.size() > 1) overlaps(op_place + "/reservation", op);
  }

  /// Segments of one unit that run at the same time must fit its capacity together: a sweep over
  /// their ends, releases before acquisitions of the same cycle.
  void overlaps(const std::string& place, const Op& op) const {
    std::vector<std::tuple<int, Cycle, Amount>> events;  // unit, offset, change of use
    for (const Reservation& segment : op.reservations) {
      events.emplace_back(segment.unit, segment.offset, segment.amount);
      events.emplace_back(segment.unit, segment.offset + segment.length, -segment.amount);
    }
    std::sort(events.begin(), events.end());
    Amount used = 0;  // returns to 0 after each unit
    for (const auto& [f, offset, change] : events) {
      used += change;
      const Unit& unit = problem_.units[static_cast<std::size_t>(f)];
      if (used > unit.capacity)
        fail(place + pointer_token(unit.name), std::to_string(used),
             "the op's segments that overlap at offset " + std::to_string(offset) +
                 " must sum to at most the capacity, " + std::to_string(unit.capacity));
    }
  }

  static std::string shown(const Reservation& segment) {
    std::string text = "[";
    text += std::to_string(segment.offset) + ", " + std::to_string(segment.length) + ", " +
            std::to_string(segment.amount);
    return text + "]";
  }

  void footprints(const std::string& op_place, const Op& op) const {
    std::unordered_set<int> seen;
    for (const Footprint& footprint : op.footprints) {
      if (footprint.memory < 0 ||
          static_cast<std::size_t>(footprint.memory) >= problem_.memories.size())
        fail(op_place + "/memory", std::to_string(footprint.memory),
             "must be the index of a memory");
      const auto here = [&, m = static_cast<std::size_t>(footprint.memory)] {
        return op_place + "/memory" + pointer_token(problem_.memories[m].name);
      };
      if (footprint.amount < 0 || footprint.amount > kMaxAmount)
        range(here(), footprint.amount, 0, kMaxAmount);
      if (op.footprints.size() > 1 && !seen.insert(footprint.memory).second)
        fail(here(), std::to_string(footprint.amount), "one footprint per memory");
    }
  }

  const Op& op(int v) const { return problem_.ops[static_cast<std::size_t>(v)]; }

  void edges() const {
    count("/edges", problem_.edges.size(), kMaxEdges, "edges");
    const int count = static_cast<int>(problem_.ops.size());
    for (std::size_t e = 0; e < problem_.edges.size(); ++e) {
      const Edge& edge = problem_.edges[e];
      const std::string place = "/edges" + pointer_token(e);
      for (const auto& [end, v] : {std::pair{"/from", edge.from}, std::pair{"/to", edge.to}})
        if (v < 0 || v >= count) fail(place + end, std::to_string(v), "must be the index of an op");
      range(place, "/delay", edge.delay, 0, kMaxCycles);
      range(place, "/distance", edge.distance, 0, kMaxDistance);
      range(place, "/hold", edge.hold, 0, kMaxCycles);
      if (edge.spill) range(place, "/spill", *edge.spill, 0, kMaxCycles);
      if (op(edge.to).streaming)
        fail(place + "/to", quote(op(edge.to).id), "a streaming op must have no incoming edge");
      if (op(edge.to).in_flight)
        fail(place + "/to", quote(op(edge.to).id), "an op in flight must have no incoming edge");
      if (op(edge.from).streaming && edge.delay != 0)
        fail(place + "/delay", std::to_string(edge.delay),
             "the outgoing delays of a streaming op must be 0");
    }
  }

  void pins() const {
    count("/pins", problem_.pins.size(), kMaxPins, "pins");
    const auto index = [&](const std::string& place, int value, std::size_t size,
                           const char* what) {
      if (value < 0 || static_cast<std::size_t>(value) >= size)
        fail(place, std::to_string(value), std::string("must be the index of ") + what);
    };
    std::unordered_set<int> slot_pinned, cycle_pinned, stage_pinned;
    for (std::size_t i = 0; i < problem_.pins.size(); ++i) {
      const Pin& pin = problem_.pins[i];
      const std::string place = "/pins" + pointer_token(i);
      index(place + "/op", pin.op, problem_.ops.size(), "an op");
      switch (pin.kind) {
        case Pin::on_slot:
          index(place + "/warp", pin.slot, problem_.warps.size(), "a slot");
          if (!slot_fits(problem_, pin.op, pin.slot))
            fail(
                place + "/warp", quote(problem_.warps[static_cast<std::size_t>(pin.slot)].name),
                "the slot must be wide enough and of the latency class of " + quote(op(pin.op).id));
          if (!slot_pinned.insert(pin.op).second)
            fail(place + "/op", quote(op(pin.op).id), "an op may be pinned to one slot");
          break;
        case Pin::not_on_slot:
          index(place + "/not_warp", pin.slot, problem_.warps.size(), "a slot");
          break;
        case Pin::at_cycle:
          range(place + "/cycle", pin.cycle, 0, kMaxCycles);
          if (!cycle_pinned.insert(pin.op).second)
            fail(place + "/op", quote(op(pin.op).id), "an op may be pinned to one cycle");
          break;
        case Pin::same_slot:
          index(place + "/same_warp_as", pin.other, problem_.ops.size(), "an op");
          break;
        case Pin::other_slot:
          index(place + "/other_warp_than", pin.other, problem_.ops.size(), "an op");
          if (pin.other == pin.op)
            fail(place + "/other_warp_than", quote(op(pin.op).id), "must be another op");
          break;
        case Pin::at_stage:
          range(place + "/stage", pin.stage, 0, kMaxDistance);
          if (!stage_pinned.insert(pin.op).second)
            fail(place + "/op", quote(op(pin.op).id), "an op may be pinned to one stage");
          break;
      }
    }
  }

  void inner_loops() const {
    const std::vector<InnerLoop>& loops = problem_.inner_loops;
    count("/inner_loops", loops.size(), kMaxInnerLoops, "inner loops");
    std::unordered_set<std::string> names;
    std::unordered_set<int> parts;
    for (std::size_t k = 0; k < loops.size(); ++k) {
      const std::string place = "/inner_loops" + pointer_token(k);
      name(place, "/name", loops[k].name, "inner loops", names);
      Cycle first = loops[k].parts.empty() ? 0 : kMaxCycles;
      std::unordered_set<int> slots;
      for (const InnerPart& part : loops[k].parts) {
        if (part.op < 0 || static_cast<std::size_t>(part.op) >= problem_.ops.size())
          fail(place + "/parts", std::to_string(part.op), "must be the index of an op");
        const std::string here = place + "/parts" + pointer_token(op(part.op).id);
        range(here, part.offset, 0, kMaxCycles);
        first = std::min(first, part.offset);
        if (!parts.insert(part.op).second)
          fail(here, quote(op(part.op).id), "an op may be part of one inner loop");
        if (op(part.op).cycles == 0) continue;
        const auto pin = std::find_if(
            problem_.pins.begin(), problem_.pins.end(),
            [&](const Pin& one) { return one.op == part.op && one.kind == Pin::on_slot; });
        if (pin == problem_.pins.end())
          fail(here, quote(op(part.op).id), "a part with cycles must be pinned to a slot");
        if (!slots.insert(pin->slot).second)
          fail(here, quote(op(part.op).id), "one part with cycles on each slot");
      }
      if (loops[k].parts.empty()) fail(place + "/parts", "{}", "must have at least one part");
      if (first != 0)
        fail(place + "/parts", std::to_string(first), "the smallest offset must be 0");
    }
    if (!loops.empty() && anchored(problem_))
      fail("/inner_loops", quote(loops.front().name),
           "must not stand beside a pin to a cycle or a stage: remove one of the two");
  }

  /// Kahn's algorithm on the edges of distance 0; what cannot be ordered leads back to a cycle.
  void dependence_cycles() const {
    const std::size_t count = problem_.ops.size();
    std::vector<std::vector<std::size_t>> out(count);
    std::vector<std::size_t> waiting(count, 0);  // predecessors that are not ordered yet
    for (const Edge& edge : problem_.edges) {
      if (edge.distance != 0) continue;
      out[static_cast<std::size_t>(edge.from)].push_back(static_cast<std::size_t>(edge.to));
      ++waiting[static_cast<std::size_t>(edge.to)];
    }
    std::vector<std::size_t> ready;
    for (std::size_t v = 0; v < count; ++v)
      if (waiting[v] == 0) ready.push_back(v);
    std::size_t ordered = 0;
    for (; ordered < ready.size(); ++ordered)
      for (const std::size_t v : out[ready[ordered]])
        if (--waiting[v] == 0) ready.push_back(v);
    if (ordered < count) report_cycle(waiting);
  }

  /// Every op with waiting > 0 has a predecessor of that kind: walk back until an op repeats.
  [[noreturn]] void report_cycle(const std::vector<std::size_t>& waiting) const {
    std::vector<std::size_t> incoming(waiting.size());  // the first such edge into each op
    for (std::size_t e = problem_.edges.size(); e-- > 0;) {
      const Edge& edge = problem_.edges[e];
      if (edge.distance == 0 && waiting[static_cast<std::size_t>(edge.from)] > 0)
        incoming[static_cast<std::size_t>(edge.to)] = e;
    }
    const auto source = [&](std::size_t v) {
      return static_cast<std::size_t>(problem_.edges[incoming[v]].from);
    };
    std::size_t v = 0;
    while (waiting[v] == 0) ++v;
    for (std::vector<bool> seen(waiting.size()); !seen[v]; v = source(v)) seen[v] = true;
    std::string cycle = one_line(problem_.ops[v].id);
    std::size_t u = v;
    do {
      u = source(u);
      cycle = one_line(problem_.ops[u].id) + " -> " + cycle;
    } while (u != v);
    fail("/edges" + pointer_token(incoming[v]) + "/distance", "0 around " + cycle,
         "some distance along a dependence cycle must be positive");
  }

  const Problem& problem_;
  const std::string& source_;
};

}  // namespace

void check(const Problem& problem, const std::string& source) {
  Checker(problem, source).run();
}

void refuse_pins(const Problem& problem, const std::string& form) {
  if (!problem.pins.empty())
    throw InputError(
        problem.name, "/pins", pin_text(problem, problem.pins.front()),
        form + " has no pins: remove them, or use the complete search on the modulo form");
}

void refuse_range(const Problem& problem, const std::string& form) {
  if (const auto& [least, most] = problem.interval; problem.interval != IntervalRange{})
    throw InputError(problem.name, "/initiation_interval",
                     std::to_string(least) + " to " + std::to_string(most),
                     form +
                         " knows no range of I: use --ii, or the complete search on the modulo "
                         "form");
}

void refuse_inner_loops(const Problem& problem, const std::string& form) {
  if (!problem.inner_loops.empty())
    throw InputError(problem.name, "/inner_loops", quote(problem.inner_loops.front().name),
                     form + " knows no inner loops: use the complete search on the modulo form");
}

void refuse_rings(const Problem& problem, const std::string& form) {
  for (const Memory& memory : problem.memories)
    if (memory.rings)
      throw InputError(problem.name, "/memories" + pointer_token(memory.name) + "/rings", "true",
                       form + " charges no rings: leave it out, or use another form");
}

}  // namespace twill
