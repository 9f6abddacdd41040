#include "graph/list_scheduling/partial_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/memory_charges.hpp"

namespace twill {

PartialSchedule::PartialSchedule(const Problem& problem, Cycle ii, Storage storage)
    : problem_(problem),
      ii_(ii),
      soft_(storage == Storage::may_overflow),
      variable_latency_(variable_latency_slot(problem)),
      in_(problem.ops.size()),
      out_(problem.ops.size()),
      held_(problem.ops.size()),
      uses_(problem.units.size()),
      in_memory_(problem.memories.size()),
      rings_of_(problem.ops.size()),
      start_(problem.ops.size(), 0),
      life_(problem.ops.size(), 0),
      load_(problem.warps.size(), 0),
      slot_(problem.ops.size(), -1),
      waits_(problem.ops.size(), 0) {
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    allowed_.push_back(allowed_slots(problem, v));
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
    for (const Reservation& r : op(v).reservations)
      uses_[at(r.unit)].push_back({v, r.offset, r.length});
    if (op(v).registers > 0) in_registers_.push_back(v);
    if (op(v).cycles > 0) executing_ops_.push_back(v);
  }
  for (int e = 0; e < static_cast<int>(problem.edges.size()); ++e) {
    in_[at(problem.edges[at(e)].to)].push_back(e);
    out_[at(problem.edges[at(e)].from)].push_back(e);
  }
  for (const Unit& unit : problem.units) units_.emplace_back(ii, unit.capacity);
  for (const WarpSlot& slot : problem.warps) {
    registers_.emplace_back(ii, slot.registers);
    executing_.emplace_back(ii, 1);
    waiting_.emplace_back(ii, 1);
  }
  for (int m = 0; m < static_cast<int>(problem.memories.size()); ++m) {
    memories_.emplace_back(ii, problem.memories[at(m)].capacity);
    const MemoryCharges charges = memory_charges(problem, m);
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      if (charges.live[v] > 0) {
        held_[v].emplace_back(m, charges.live[v]);
        in_memory_[at(m)].push_back(static_cast<int>(v));
      }
      if (charges.ring[v] == 0) continue;
      const int load = static_cast<int>(v);
      auto ring = std::find_if(rings_.begin(), rings_.end(),
                               [&](const Ring& one) { return one.load == load; });
      if (ring == rings_.end()) {
        ring = rings_.insert(ring, {load, buffer_uses(problem, load), {}, 0});
        std::vector<int> users = {load};
        for (const BufferUse& use : ring->uses) users.push_back(use.op);
        std::sort(users.begin(), users.end());
        users.erase(std::unique(users.begin(), users.end()), users.end());
        for (const int user : users)
          rings_of_[at(user)].push_back(static_cast<int>(rings_.size()) - 1);
      }
      ring->amounts.emplace_back(m, charges.ring[v]);
    }
  }
}

bool PartialSchedule::crosses(const Edge& e) const {
  return slot_[at(e.from)] != slot_[at(e.to)] && spill_of(problem_, e) > 0;
}

// Is it known that e's producer hands over, once e.to is on slot w?
bool PartialSchedule::hands_over(const Edge& e, int w) const {
  const int from = planned_.empty() ? slot_[at(e.from)] : planned_[at(e.from)];
  return from >= 0 && from != w && spill_of(problem_, e) > 0;
}

Profile& PartialSchedule::profile(Clash::Kind kind, int index) {
  return kind == Clash::unit        ? units_[at(index)]
         : kind == Clash::registers ? registers_[at(index)]
                                    : memories_[at(index)];
}
const Profile& PartialSchedule::profile(Clash::Kind kind, int index) const {
  return const_cast<PartialSchedule*>(this)->profile(kind, index);
}

PartialSchedule::Window PartialSchedule::window(int v, int w) const {
  Window window;
  const auto delay = [&](const Edge& e, int other) {
    return e.delay + (slot_[at(other)] == w ? 0 : spill_of(problem_, e)) - e.distance * ii_;
  };
  for (const int i : in_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    if (e.from == v || !placed(e.from)) continue;
    const Cycle first = start_[at(e.from)] + delay(e, e.from);
    window.first = window.before ? std::max(window.first, first) : first;
    window.before = true;
  }
  for (const int i : out_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    if (e.to == v || !placed(e.to)) continue;
    const Cycle last = start_[at(e.to)] - delay(e, e.to);
    window.last = window.after ? std::min(window.last, last) : last;
    window.after = true;
  }
  return window;
}

// Does v wait on slot w for something that is placed?
bool PartialSchedule::waits_on(int v, int w) const {
  if (!takes_turns(w)) return false;
  return std::any_of(in_[at(v)].begin(), in_[at(v)].end(), [&](int i) {
    const Edge& e = problem_.edges[at(i)];
    return e.blocking || hands_over(e, w);
  });
}

Cycle PartialSchedule::least_life(int v) const {
  Cycle least = 0;
  for (const int i : out_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    const Cycle use = e.to == v ? e.distance * ii_ : e.delay;
    least = std::max(least, use + e.hold);
  }
  return least;
}

Cycle PartialSchedule::life(int v) const {
  Cycle life = 0;
  for (const int i : out_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    Cycle use = e.delay;
    if (placed(e.to))
      use = start_[at(e.to)] - start_[at(v)] + e.distance * ii_;
    else if (!expected_.empty())
      use = std::max(use, expected_[at(e.to)] - expected_[at(v)] + e.distance * ii_);
    life = std::max(life, use + e.hold);
  }
  return life;
}

template <typename Fit>
std::optional<Cycle> PartialSchedule::room(int v, int w, Cycle from, Cycle to,
                                           const Fit& fit) const {
  const Op& one = op(v);
  const bool waits = waits_on(v, w);
  const Cycle least = least_life(v);
  std::optional<Cycle> t = fit.begin(from, to);
  for (;;) {
    const std::optional<Cycle> before = t;
    const auto narrow = [&](const Profile& p, Cycle offset, Cycle length, Amount amount) {
      if (t) t = fit(p, *t, from, to, offset, length, amount);
    };
    for (const Reservation& r : one.reservations)
      narrow(units_[at(r.unit)], r.offset, r.length, r.amount);
    if (takes_turns(w)) {
      if (waits) narrow(executing_[at(w)], 0, 1, 1);
      narrow(waiting_[at(w)], 0, std::min(one.cycles, ii_), 1);  // its own copies do not clash
    }
    if (!soft_) {
      narrow(registers_[at(w)], 0, least, one.registers);
      for (const auto& [memory, amount] : held_[at(v)])
        narrow(memories_[at(memory)], 0, least, amount);
    }
    if (!t || t == before) return t;
  }
}

namespace {

struct FirstFit {
  std::optional<Cycle> begin(Cycle from, Cycle to) const {
    return from <= to ? std::optional(from) : std::nullopt;
  }
  std::optional<Cycle> operator()(const Profile& p, Cycle t, Cycle, Cycle to, Cycle offset,
                                  Cycle length, Amount amount) const {
    const auto fits = p.first_fit(t + offset, to + offset, length, amount);
    return fits ? std::optional(*fits - offset) : std::nullopt;
  }
};
struct LastFit {
  std::optional<Cycle> begin(Cycle from, Cycle to) const {
    return from <= to ? std::optional(to) : std::nullopt;
  }
  std::optional<Cycle> operator()(const Profile& p, Cycle t, Cycle from, Cycle, Cycle offset,
                                  Cycle length, Amount amount) const {
    const auto fits = p.last_fit(from + offset, t + offset, length, amount);
    return fits ? std::optional(*fits - offset) : std::nullopt;
  }
};

}  // namespace

std::optional<Cycle> PartialSchedule::first_room(int v, int w, Cycle from, Cycle to) const {
  return room(v, w, from, to, FirstFit());
}
std::optional<Cycle> PartialSchedule::last_room(int v, int w, Cycle from, Cycle to) const {
  return room(v, w, from, to, LastFit());
}

// Of v's result in [begin, end) from its issue.
void PartialSchedule::hold(int v, Cycle begin, Cycle end, int sign) {
  const Cycle from = start_[at(v)] + begin, length = end - begin;
  const auto one = [&](Clash::Kind kind, int index, Amount amount) {
    if (amount == 0 || length <= 0) return;
    Profile& p = profile(kind, index);
    p.add(from, length, sign * amount);
    if (sign < 0) return;
    touched_.push_back({kind, index, from, length, v == last_, amount});
    growth_ += Wide{length} * amount * kGrowthUnit / std::max<Amount>(1, p.capacity());
  };
  one(Clash::registers, slot_[at(v)], op(v).registers);
  for (const auto& [memory, amount] : held_[at(v)]) one(Clash::memory, memory, amount);
}

// v's result is held for as long as what is placed now says.
void PartialSchedule::stretch(int v) {
  const Cycle now = life(v), before = life_[at(v)];
  if (now > before) hold(v, before, now, 1);
  if (now < before) hold(v, now, before, -1);
  life_[at(v)] = now;
}

// One edge more, or less, for which v waits.
void PartialSchedule::wait(int v, int by) {
  const int before = waits_[at(v)];
  waits_[at(v)] += by;
  const int w = slot_[at(v)];
  if (!takes_turns(w) || (before > 0) == (waits_[at(v)] > 0)) return;
  waiting_[at(w)].add(start_[at(v)], 1, by);
  if (by > 0) new_waits_.push_back(v);
}

void PartialSchedule::settle_rings(int v) {
  for (const int r : rings_of_[at(v)]) {
    Ring& ring = rings_[at(r)];
    Cycle depth = 0;
    if (placed(ring.load)) {
      Cycle end = start_[at(ring.load)];
      for (const BufferUse& use : ring.uses)
        if (placed(use.op))
          end = std::max(end, start_[at(use.op)] + use.iterations * ii_ + use.cycles);
      depth = floor_divide(end - start_[at(ring.load)], ii_) + 1;
    }
    for (const auto& [memory, amount] : ring.amounts) {
      memories_[at(memory)].add(0, ii_, amount * (depth - ring.depth));
      if (depth > ring.depth)
        touched_.push_back({Clash::memory, memory, 0, ii_, false, amount * (depth - ring.depth)});
    }
    ring.depth = depth;
  }
}

void PartialSchedule::place(int v, int w, Cycle t) {
  assert(!placed(v));
  touched_.clear();
  new_waits_.clear();
  growth_ = 0;
  last_ = v;
  start_[at(v)] = t;
  slot_[at(v)] = w;
  for (const Reservation& r : op(v).reservations) {
    units_[at(r.unit)].add(t + r.offset, r.length, r.amount);
    touched_.push_back({Clash::unit, r.unit, t + r.offset, r.length, true, r.amount});
  }
  load_[at(w)] += op(v).cycles;
  if (takes_turns(w)) executing_[at(w)].add(t, op(v).cycles, 1);
  life_[at(v)] = 0;
  stretch(v);
  waits_[at(v)] = 0;
  for (const int i : in_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    if (e.blocking || (e.from != v && hands_over(e, w))) wait(v, 1);
    if (e.from != v && placed(e.from)) stretch(e.from);
  }
  for (const int i : out_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    if (planned_.empty() && e.to != v && !e.blocking && placed(e.to) && crosses(e)) wait(e.to, 1);
  }
  settle_rings(v);
}

void PartialSchedule::remove(int v) {
  assert(placed(v));
  const int w = slot_[at(v)];
  const Cycle t = start_[at(v)];
  for (const Reservation& r : op(v).reservations)
    units_[at(r.unit)].add(t + r.offset, r.length, -r.amount);
  load_[at(w)] -= op(v).cycles;
  if (takes_turns(w)) {
    executing_[at(w)].add(t, op(v).cycles, -1);
    if (waits_[at(v)] > 0) waiting_[at(w)].add(t, 1, -1);
  }
  for (const int i : out_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    if (planned_.empty() && e.to != v && !e.blocking && placed(e.to) && crosses(e)) wait(e.to, -1);
  }
  hold(v, 0, life_[at(v)], -1);
  slot_[at(v)] = -1;
  for (const int i : in_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    if (e.from != v && placed(e.from)) stretch(e.from);
  }
  settle_rings(v);
}

// Does nothing but v itself execute on its slot when it is issued?
bool PartialSchedule::alone_at(int v) const {
  const Amount own = op(v).cycles > 0 ? 1 + (op(v).cycles - 1) / ii_ : 0;
  return executing_[at(slot_[at(v)])].value(start_[at(v)]) == own;
}

std::optional<Clash> PartialSchedule::clash() const {
  const int v = last_, w = slot_[at(v)];
  const Cycle t = start_[at(v)];
  for (const int i : in_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    if (e.from == v || !placed(e.from)) continue;
    const Cycle ready = start_[at(e.from)] + e.delay + (crosses(e) ? spill_of(problem_, e) : 0);
    if (t + e.distance * ii_ < ready) return Clash{Clash::dependence, e.from, t, false};
  }
  for (const int i : out_[at(v)]) {
    const Edge& e = problem_.edges[at(i)];
    if (e.to == v || !placed(e.to)) continue;
    const Cycle ready = t + e.delay + (crosses(e) ? spill_of(problem_, e) : 0);
    if (start_[at(e.to)] + e.distance * ii_ < ready)
      return Clash{Clash::dependence, e.to, t, false};
  }
  for (const Touched& touched : touched_) {
    if (soft_ && touched.kind != Clash::unit) continue;
    if (const auto when =
            profile(touched.kind, touched.index).overflow(touched.begin, touched.length))
      return Clash{touched.kind, touched.index, *when, touched.own};
  }
  for (const int waiting : new_waits_)
    if (!alone_at(waiting)) return Clash{Clash::waits_for_run, waiting, start_[at(waiting)], false};
  if (takes_turns(w) && op(v).cycles > 0) {
    // What v does itself, in all its copies, is no clash.
    const Cycle length = std::min(op(v).cycles, ii_);
    const bool own_wait = waits_[at(v)] > 0;
    const Cycle own = own_wait ? 1 : 0;
    if (waiting_[at(w)].value(t) > own || waiting_[at(w)].most(t + 1, length - 1) > 0)
      for (int c = 0; c < static_cast<int>(problem_.ops.size()); ++c)
        if (c != v && slot_[at(c)] == w && waits_[at(c)] > 0 &&
            mod(start_[at(c)] - t, ii_) < length)
          return Clash{Clash::runs_over_wait, c, start_[at(c)], false};
  }
  return std::nullopt;
}

Wide PartialSchedule::new_excess() const {
  Wide sum = 0;
  for (const Touched& touched : touched_)
    if (touched.kind != Clash::unit)
      sum += profile(touched.kind, touched.index)
                 .excess(touched.begin, touched.length, touched.amount);
  return sum;
}

Wide PartialSchedule::excess() const {
  Wide sum = 0;
  for (const auto* profiles : {&registers_, &memories_})
    for (const Profile& p : *profiles) sum += p.excess(0, ii_, std::numeric_limits<Amount>::max());
  return sum;
}

std::vector<int> PartialSchedule::blamed(const Clash& clash, int v) const {
  std::vector<int> ops;
  const auto covers = [&](Cycle begin, Cycle length) {
    return length >= ii_ || mod(clash.when - begin, ii_) < length;
  };
  switch (clash.kind) {
    case Clash::dependence:
    case Clash::runs_over_wait: return {clash.index};
    case Clash::unit:
      for (const Use& use : uses_[at(clash.index)])
        if (use.op != v && placed(use.op) && (ops.empty() || ops.back() != use.op) &&
            covers(start_[at(use.op)] + use.offset, use.length))
          ops.push_back(use.op);
      return ops;
    case Clash::registers:
    case Clash::memory: {
      const bool registers = clash.kind == Clash::registers;
      for (const int c : registers ? in_registers_ : in_memory_[at(clash.index)])
        if ((registers ? slot_[at(c)] == clash.index : placed(c)) &&
            covers(start_[at(c)], life_[at(c)])) {
          ops.push_back(c);
          // Without its last use it is held for less.
          for (const int i : out_[at(c)]) {
            const Edge& e = problem_.edges[at(i)];
            if (placed(e.to) &&
                start_[at(e.to)] + e.distance * ii_ + e.hold == start_[at(c)] + life_[at(c)])
              ops.push_back(e.to);
          }
        }
      if (!registers)
        for (const Ring& ring : rings_)
          if (ring.depth > 1 &&
              std::any_of(ring.amounts.begin(), ring.amounts.end(),
                          [&](const auto& one) { return one.first == clash.index; })) {
            ops.push_back(ring.load);
            for (const BufferUse& use : ring.uses)
              if (placed(use.op)) ops.push_back(use.op);
          }
      std::sort(ops.begin(), ops.end());
      ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
      std::erase(ops, v);
      return ops;
    }
    case Clash::waits_for_run:
      for (const int c : executing_ops_)
        if (c != v && c != clash.index && slot_[at(c)] == slot_[at(clash.index)] &&
            covers(start_[at(c)], op(c).cycles))
          ops.push_back(c);
      if (clash.index != v)
        ops.insert(std::lower_bound(ops.begin(), ops.end(), clash.index), clash.index);
      return ops;
  }
  return ops;
}

Schedule PartialSchedule::schedule() const {
  Schedule s{ii_, 0, start_, slot_};
  const Cycle first = *std::min_element(start_.begin(), start_.end());
  for (Cycle& t : s.start) t -= first;
  s.length = schedule_length(problem_, s.start);
  return s;
}

}  // namespace twill
