// The placement keeps a table of the period for every unit and slot. Where an op finds no room at
// any residue, all begins anew with a longer interval, at which there is some: in the end each op
// has cycles of its own.
#include "graph/hidden_loop.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/divide.hpp"
#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/io/json_text.hpp"
#include "graph/random.hpp"

namespace twill {
namespace {

constexpr Amount kUncut = 1'000'000;
constexpr Amount kArithmetic = 4;  // instances, before they are cut to the peak
enum UnitIndex { kTensor, kSpecial, kAlu, kTma };

void require(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw InputError("hidden loop", name, std::to_string(value), range_rule(low, high));
}

/// [begin, begin + length) of every period, length <= I.
struct BusyTime {
  Cycle begin = 0, length = 0;
  Amount amount = 1;
};

/// Does `s` lie in it?
bool covers(const BusyTime& busy, Cycle s, Cycle ii) {
  return mod(s - busy.begin, ii) < busy.length;
}

class Placement {
 public:
  Placement(const Problem& problem, SplitMix64& random, Cycle ii)
      : p_(problem),
        random_(random),
        ii_(ii),
        units_(problem.units.size()),
        executing_(problem.warps.size()),
        waiting_(problem.warps.size()),
        start_(problem.ops.size()),
        slot_(problem.ops.size()) {}

  /// Every op at this interval, in their order; nullopt where one finds no room.
  std::optional<Schedule> run() {
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
      if (!place(v)) return std::nullopt;
    return Schedule{ii_, schedule_length(p_, start_), start_, slot_};
  }

 private:
  bool place(int v) {
    const Op& op = p_.ops[at(v)];
    slot_[at(v)] = op.variable_latency ? static_cast<int>(p_.warps.size()) - 1
                                       : static_cast<int>(random_.below(p_.warps.size() - 1));
    Cycle ready = 0;
    bool waits = false;
    for (const Edge& e : p_.edges) {
      if (e.to != v) continue;
      const Cycle spill = p_.ops[at(e.from)].spill;
      const bool handed = slot_[at(e.from)] != slot_[at(v)];
      ready = std::max(ready, start_[at(e.from)] + e.delay + (handed ? spill : 0));
      waits = waits || e.blocking || (handed && spill > 0);
    }
    if (op.variable_latency) waits = false;
    const Cycle jitter = random_.range(0, std::max<Cycle>(1, op.cycles / 2));
    for (Cycle t = ready + jitter; t < ready + jitter + ii_; t = next_try(v, t, waits))
      if (fits(v, t, waits)) {
        take(v, t, waits);
        return true;
      }
    return false;
  }

  bool fits(int v, Cycle t, bool waits) const { return next_try(v, t, waits) == t; }

  /// `t` where the op fits there, else a later cycle before which it does not fit.
  Cycle next_try(int v, Cycle t, bool waits) const {
    const Op& op = p_.ops[at(v)];
    for (const Reservation& r : op.reservations) {
      // Where the unit is full, the op cannot begin before one of those that fill it has ended.
      const auto& others = units_[at(r.unit)];
      std::vector<Cycle> residues = {mod(t, ii_)};
      for (const BusyTime& one : others)
        if (mod(one.begin - t, ii_) < r.length) residues.push_back(one.begin);
      for (const Cycle s : residues) {
        Amount taken = r.amount;
        Cycle wait = ii_;
        for (const BusyTime& one : others)
          if (covers(one, s, ii_)) {
            taken += one.amount;
            wait = std::min(wait, mod(one.begin + one.length - t, ii_));
          }
        if (taken > p_.units[at(r.unit)].capacity) return t + std::max<Cycle>(1, wait);
      }
    }
    if (op.variable_latency || op.cycles == 0) return t;
    const std::size_t w = at(slot_[at(v)]);
    if (waits)
      for (const BusyTime& one : executing_[w])
        if (covers(one, t, ii_))
          return t + std::max<Cycle>(1, mod(one.begin + one.length - t, ii_));  // 0 if it is I long
    for (const Cycle issue : waiting_[w])
      if (covers({t, op.cycles, 1}, issue, ii_)) return t + mod(issue - t, ii_) + 1;
    return t;
  }

  void take(int v, Cycle t, bool waits) {
    const Op& op = p_.ops[at(v)];
    start_[at(v)] = t;
    for (const Reservation& r : op.reservations)
      units_[at(r.unit)].push_back({mod(t, ii_), r.length, r.amount});
    const std::size_t w = at(slot_[at(v)]);
    executing_[w].push_back({mod(t, ii_), op.cycles, 1});
    if (waits) waiting_[w].push_back(mod(t, ii_));
  }

  const Problem& p_;
  SplitMix64& random_;
  Cycle ii_;
  std::vector<std::vector<BusyTime>> units_, executing_;
  std::vector<std::vector<Cycle>> waiting_;
  std::vector<Cycle> start_;
  std::vector<int> slot_;
};

class HiddenGenerator {
 public:
  explicit HiddenGenerator(const HiddenKnobs& knobs) : k_(knobs), random_(knobs.seed) {}

  HiddenLoop run() {
    p_.name = "hidden-" + std::to_string(k_.ops) + "-" + std::to_string(k_.filled) + "-" +
              std::to_string(k_.seed);
    p_.units = {{"TC", 1}, {"SFU", 1}, {"ALU", kArithmetic}, {"TMA", 1}};
    p_.memories = {{"smem", kUncut, false}};
    for (int w = 0; w < k_.slots; ++w)
      p_.warps.push_back({"w" + std::to_string(w), 4, kUncut, false});
    p_.warps.push_back({"load", 1, 0, true});
    width_ = std::max(2, k_.ops / 6);
    for (int v = 0; v < k_.ops; ++v) add_op(v);
    Cycle ii = least_interval();
    std::optional<Schedule> found;
    while (!(found = Placement(p_, random_, ii).run())) ii += ii / 50 + 1;
    s_ = std::move(*found);
    for (int v = 0; v < k_.ops; ++v)
      if (percent(k_.carried)) add_carried(v);
    cut();
    return {std::move(p_), std::move(s_)};
  }

 private:
  bool percent(int chance) { return random_.range(0, 99) < chance; }

  void add_op(int v) {
    Op op;
    op.id = "op" + std::to_string(v);
    const bool load = v < width_ && percent(60);
    const UnitIndex unit = load ? kTma : percent(30) ? kTensor : percent(40) ? kSpecial : kAlu;
    op.kind = p_.units[static_cast<std::size_t>(unit)].name;
    op.cycles = random_.range(1, k_.longest);
    op.variable_latency = load;
    op.width = load ? 1 : 4;
    // Tensor cores and loads take the next op while this one is in flight.
    const Cycle busy = unit == kTensor || unit == kTma ? (op.cycles + 1) / 2 : op.cycles;
    op.reservations.push_back({unit, 0, busy, unit == kAlu ? random_.range(1, 3) : 1});
    if (load)
      op.footprints.push_back({0, Amount{1} << random_.range(0, 3)});
    else
      op.registers = Amount{1} << random_.range(0, 3);
    if (!load && percent(50)) op.spill = random_.range(1, std::max<Cycle>(1, k_.longest / 8));
    p_.ops.push_back(op);
    if (v == 0 || load) return;
    for (int s = percent(40) ? 2 : 1; s > 0; --s) {
      const auto from = static_cast<int>(random_.range(std::max(0, v - 2 * width_), v - 1));
      const auto same = [&](const Edge& e) { return e.from == from && e.to == v; };
      if (std::any_of(p_.edges.begin(), p_.edges.end(), same)) continue;
      const Op& producer = p_.ops[at(from)];
      const bool waits = producer.kind == "TC" || producer.variable_latency;
      p_.edges.push_back({from, v, producer.cycles, 0, waits && percent(40), op.cycles});
    }
  }

  /// What the units need, and the longest op: no op meets itself.
  Cycle least_interval() const {
    Cycle least = 1;
    for (std::size_t f = 0; f < p_.units.size(); ++f) {
      Amount work = 0;
      for (const Op& op : p_.ops)
        for (const Reservation& r : op.reservations)
          if (at(r.unit) == f) work += r.length * r.amount;
      least = std::max(least, ceil_divide(work, p_.units[f].capacity));
    }
    for (const Op& op : p_.ops) least = std::max(least, op.cycles);
    return least;
  }

  /// An op of a later iteration that reads v's result: with the least distance at which the hidden
  /// schedule has it, on v's slot, so that nobody has to wait more.
  void add_carried(int v) {
    const Op& producer = p_.ops[at(v)];
    if (producer.variable_latency) return;
    const int to = static_cast<int>(random_.range(0, v));
    if (s_.warp[at(to)] != s_.warp[at(v)]) return;
    const Cycle behind = s_.start[at(v)] + producer.cycles - s_.start[at(to)];
    const Cycle distance = std::max<Cycle>(1, ceil_divide(behind, s_.initiation_interval));
    if (distance > 3) return;
    p_.edges.push_back(
        {v, to, producer.cycles, static_cast<int>(distance), false, p_.ops[at(to)].cycles});
  }

  /// The most of `amounts` that is taken at one residue: [begin, end) each, ends beyond I go round.
  Amount peak(const std::vector<std::pair<std::pair<Cycle, Cycle>, Amount>>& intervals) const {
    const Cycle ii = s_.initiation_interval;
    Amount always = 0, most = 0;
    std::vector<std::pair<Cycle, Amount>> steps;
    for (const auto& [interval, amount] : intervals) {
      const Cycle length = interval.second - interval.first;
      always += amount * (length / ii);
      if (length % ii == 0) continue;
      const Cycle begin = mod(interval.first, ii), end = begin + length % ii;
      steps.emplace_back(begin, amount);
      if (end < ii) steps.emplace_back(end, -amount);
      if (end <= ii) continue;
      always += amount;
      steps.emplace_back(end - ii, -amount);
    }
    std::sort(steps.begin(), steps.end());  // at one residue what ends comes first
    Amount now = 0;
    for (const auto& step : steps) most = std::max(most, now += step.second);
    return always + most;
  }

  Amount capacity_for(Amount most) const {
    return std::max<Amount>(1, ceil_divide(most * 100, k_.filled));
  }

  void cut() {
    std::vector<Cycle> ends = s_.start;
    for (const Edge& e : p_.edges)
      ends[at(e.from)] = std::max(
          ends[at(e.from)], s_.start[at(e.to)] + e.hold + e.distance * s_.initiation_interval);
    std::vector<std::vector<std::pair<std::pair<Cycle, Cycle>, Amount>>> files(p_.warps.size());
    std::vector<std::pair<std::pair<Cycle, Cycle>, Amount>> memory, alu;
    for (std::size_t v = 0; v < p_.ops.size(); ++v) {
      const std::pair<Cycle, Cycle> live{s_.start[v], ends[v]};
      files[at(s_.warp[v])].emplace_back(live, p_.ops[v].registers);
      for (const Footprint& f : p_.ops[v].footprints) memory.emplace_back(live, f.amount);
      for (const Reservation& r : p_.ops[v].reservations)
        if (r.unit == kAlu) alu.push_back({{s_.start[v], s_.start[v] + r.length}, r.amount});
    }
    for (std::size_t w = 0; w < p_.warps.size(); ++w)
      if (!p_.warps[w].variable_latency)
        p_.warps[w].registers = capacity_for(std::max(peak(files[w]), largest_result()));
    p_.memories[0].capacity = capacity_for(peak(memory));
    p_.units[kAlu].capacity = std::min(kArithmetic, capacity_for(std::max<Amount>(peak(alu), 1)));
    for (const Op& op : p_.ops)
      for (const Reservation& r : op.reservations)
        if (r.unit == kAlu) p_.units[kAlu].capacity = std::max(p_.units[kAlu].capacity, r.amount);
  }

  Amount largest_result() const {
    Amount most = 1;
    for (const Op& op : p_.ops) most = std::max(most, op.registers);
    return most;
  }

  HiddenKnobs k_;
  SplitMix64 random_;
  Problem p_;
  Schedule s_;
  int width_ = 2;
};

}  // namespace

HiddenLoop hidden_loop(const HiddenKnobs& knobs) {
  require("ops", knobs.ops, 1, kMaxOps);
  require("slots", knobs.slots, 1, 64);
  require("longest", knobs.longest, 1, 1'000'000);
  require("carried", knobs.carried, 0, 100);
  require("filled", knobs.filled, 1, 100);
  return HiddenGenerator(knobs).run();
}

}  // namespace twill
