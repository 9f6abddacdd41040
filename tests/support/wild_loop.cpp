#include "tests/support/wild_loop.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "encoders/choose.hpp"
#include "tests/support/random_pool.hpp"

namespace twill::test {

namespace {

class Wild {
 public:
  explicit Wild(std::uint64_t seed)
      : random_(seed),
        more_(seed + 7'000'000'000),
        inner_(seed + 8'000'000'000),
        fifth_(seed + 10'000'000'000),
        sixth_(seed + 20'000'000'000),
        seventh_(seed + 30'000'000'000) {
    // Each loop has its own taste, so that rules also meet in ones that use few of them much.
    for (int* taste : {&blocking_, &spills_, &zero_, &carried_, &registers_, &footprints_, &loads_})
      *taste = std::array{0, 15, 40, 75}[static_cast<std::size_t>(random_.range(0, 3))];
    long_ = random_.percent(15);
    segments_ = random_.percent(30);
    case_.problem.name = "wild-" + std::to_string(seed);
  }

  WildCase run() {
    machine();
    const int count = std::array{1, 2, 2, 3, 3, 3, 3, 4, 4, 5}[pick(0, 9)];
    for (int v = 0; v < count; ++v) case_.problem.ops.push_back(op(v));
    edges(count);
    flight();
    channels();
    if (count <= 3 && random_.percent(20)) twice();
    if (random_.percent(35)) pins();
    question();
    if (fifth_.percent(40)) version_5();
    if (inner_.percent(20)) inner_loop();
    length_slack();
    return std::move(case_);
  }

 private:
  std::size_t pick(std::size_t low, std::size_t high) {
    return static_cast<std::size_t>(
        random_.range(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
  }
  int any_op() { return static_cast<int>(pick(0, case_.problem.ops.size() - 1)); }
  int any_slot() { return static_cast<int>(pick(0, case_.problem.warps.size() - 1)); }
  int width() { return std::array{1, 1, 1, 4, 4, 8}[pick(0, 5)]; }

  void machine() {
    Problem& p = case_.problem;
    for (std::size_t f = 0, count = pick(1, 3); f < count; ++f)
      p.units.push_back({"u" + std::to_string(f), random_.range(1, 3)});
    for (std::size_t m = 0, count = pick(0, 2); m < count; ++m)
      p.memories.push_back({"m" + std::to_string(m), random_.range(0, 6), random_.percent(50)});
    const bool same = random_.percent(35);
    for (std::size_t w = 0, count = pick(1, 3); w < count; ++w) {
      if (same && w > 0)
        p.warps.push_back(p.warps[0]);
      else
        p.warps.push_back({"", std::array{8, 8, 8, 4, 1}[pick(0, 4)], random_.range(0, 8), false});
    }
    if (random_.percent(50))
      p.warps.insert(p.warps.begin() + random_.range(0, std::ssize(p.warps)),
                     {"", random_.percent(70) ? 8 : 4, random_.range(0, 4), true});
    for (std::size_t w = 0; w < p.warps.size(); ++w) p.warps[w].name = "w" + std::to_string(w);
  }

  Op op(int v) {
    const Problem& p = case_.problem;
    const bool marked =
        std::ranges::any_of(p.warps, [](const WarpSlot& slot) { return slot.variable_latency; });
    Op op;
    op.id = std::string(1, static_cast<char>('a' + v));
    op.variable_latency = random_.percent(marked ? 15 + loads_ / 2 : 5);
    op.streaming = op.variable_latency && random_.percent(55);
    if (!op.streaming && !random_.percent(zero_)) op.cycles = random_.range(1, long_ ? 5 : 2);
    if (op.cycles > 0)
      for (std::size_t f = 0; f < p.units.size(); ++f)
        if (random_.percent(45)) reserve(op, static_cast<int>(f));
    if (random_.percent(registers_)) op.registers = random_.range(1, 4);
    for (int m = 0; m < std::ssize(p.memories); ++m)
      if (random_.percent(footprints_ + (op.streaming ? 25 : 0)))
        op.footprints.push_back({m, random_.range(random_.percent(10) ? 0 : 1, 3)});
    if (random_.percent(spills_)) op.spill = random_.range(1, 3);
    if (random_.percent(25)) op.width = width();
    return op;
  }

  void reserve(Op& op, int unit) {
    const Amount capacity = case_.problem.units[static_cast<std::size_t>(unit)].capacity;
    if (!segments_) {
      op.reservations.push_back({unit, 0, random_.range(1, op.cycles), random_.range(1, capacity)});
      return;
    }
    std::vector<Amount> used(static_cast<std::size_t>(op.cycles), 0);
    for (std::size_t i = 0, count = pick(1, 3); i < count; ++i) {
      const Cycle offset = random_.range(0, op.cycles - 1);
      const Reservation r{unit, offset, random_.range(1, op.cycles - offset),
                          random_.range(1, capacity)};
      bool fits = true;
      for (Cycle t = offset; t < offset + r.length; ++t)
        fits = fits && used[static_cast<std::size_t>(t)] + r.amount <= capacity;
      if (!fits) continue;
      for (Cycle t = offset; t < offset + r.length; ++t)
        used[static_cast<std::size_t>(t)] += r.amount;
      op.reservations.push_back(r);
    }
  }

  // Edges of distance 0 follow an order of the ops that is not the file's.
  void edges(int count) {
    std::vector<int> place(static_cast<std::size_t>(count));
    std::iota(place.begin(), place.end(), 0);
    for (std::size_t i = place.size(); i-- > 1;) std::swap(place[i], place[pick(0, i)]);
    std::vector<Edge>& all = case_.problem.edges;
    for (std::size_t i = 0, most = pick(0, 2 * static_cast<std::size_t>(count)); i < most; ++i) {
      if (!all.empty() && random_.percent(15)) {
        all.push_back(all[pick(0, all.size() - 1)]);  // beside another, a little different
        if (random_.percent(50)) all.back().delay = 0;
        if (random_.percent(50)) all.back().distance += 1;
        continue;
      }
      Edge e;
      e.from = any_op();
      e.to = any_op();
      const Op& from = case_.problem.ops[static_cast<std::size_t>(e.from)];
      if (case_.problem.ops[static_cast<std::size_t>(e.to)].streaming) continue;
      const bool forward =
          place[static_cast<std::size_t>(e.from)] < place[static_cast<std::size_t>(e.to)];
      e.distance = static_cast<int>(!forward                    ? random_.range(1, 3)
                                    : random_.percent(carried_) ? random_.range(0, 3)
                                                                : 0);
      if (!from.streaming)
        e.delay = random_.percent(60) ? from.cycles : random_.range(0, long_ ? 6 : 3);
      e.blocking = random_.percent(blocking_);
      if (random_.percent(25)) e.hold = random_.range(1, random_.percent(25) ? 9 : 3);
      all.push_back(e);
    }
  }

  // Rules 9 and 10 are drawn apart: a loop that has neither is the one that its seed was before.
  void flight() {
    Problem& p = case_.problem;
    if (!more_.percent(50)) return;
    const int chance = more_.percent(50) ? 80 : 30;
    for (std::size_t v = 0; v < p.ops.size(); ++v) {
      Op& op = p.ops[v];
      if (!op.variable_latency || !more_.percent(chance)) continue;
      op.streaming = false;
      op.in_flight = true;
      op.cycles = 0;
      op.reservations.clear();
      std::erase_if(p.edges, [&](const Edge& e) { return e.to == static_cast<int>(v); });
      const Cycle latency = more_.range(0, more_.percent(25) ? 9 : 4);
      for (Edge& e : p.edges)
        if (e.from == static_cast<int>(v))
          e.delay = more_.percent(75) ? latency : more_.range(0, 5);
      for (int m = 0; m < std::ssize(p.memories); ++m)
        if (op.footprints.empty() && more_.percent(40))
          op.footprints.push_back({m, more_.range(1, 3)});
    }
  }

  void channels() {
    Problem& p = case_.problem;
    if (!more_.percent(50)) return;
    const bool fractions = more_.percent(60);
    const auto fraction = [&](Amount least, Amount most) {
      const Amount numerator = more_.range(least, most);
      const Amount denominator =
          fractions ? std::array{1, 1, 2, 3, 5, 7}[static_cast<std::size_t>(more_.range(0, 5))] : 1;
      const Amount common = std::gcd(numerator, denominator);
      return Fraction{numerator / common, denominator / common};
    };
    for (int c = 0, count = static_cast<int>(more_.range(1, 2)); c < count; ++c) {
      p.channels.push_back({"c" + std::to_string(c), fraction(1, 4)});
      const int chance = more_.percent(50) ? 90 : 40;
      for (Op& op : p.ops)
        if (more_.percent(chance)) op.traffic.push_back({c, fraction(0, 6)});
      // Long intervals are only enumerated of the smallest loops.
      const Cycle most = p.ops.size() <= 2 ? 40 : p.ops.size() == 3 ? 15 : 7;
      while (!passes(c, most)) ++p.channels.back().rate.numerator;
      const Amount common =
          std::gcd(p.channels.back().rate.numerator, p.channels.back().rate.denominator);
      p.channels.back().rate.numerator /= common;
      p.channels.back().rate.denominator /= common;
    }
  }

  bool passes(int channel, Cycle ii) const {
    double moved = 0;
    for (const Op& op : case_.problem.ops)
      for (const Traffic& t : op.traffic)
        if (t.channel == channel)
          moved +=
              static_cast<double>(t.amount.numerator) / static_cast<double>(t.amount.denominator);
    const Fraction rate = case_.problem.channels[static_cast<std::size_t>(channel)].rate;
    return moved * static_cast<double>(rate.denominator) <=
           static_cast<double>(ii * rate.numerator);
  }

  // Two sub-tiles: the ops and edges again, with or without some ops that both have.
  void twice() {
    Problem& p = case_.problem;
    const std::size_t count = p.ops.size(), shared = pick(0, 1) * pick(0, count - 1);
    if (2 * count - shared > 5) return;
    std::vector<int> copy(count);
    for (std::size_t v = 0; v < count; ++v) {
      copy[v] = static_cast<int>(v < shared ? v : p.ops.size());
      if (v < shared) continue;
      p.ops.push_back(p.ops[v]);
      p.ops.back().id += "2";
    }
    for (std::size_t i = 0, edges = p.edges.size(); i < edges; ++i) {
      Edge e = p.edges[i];
      e.from = copy[static_cast<std::size_t>(e.from)];
      e.to = copy[static_cast<std::size_t>(e.to)];
      if (e.from != p.edges[i].from || e.to != p.edges[i].to) p.edges.push_back(e);
    }
  }

  void pins() {
    Problem& p = case_.problem;
    std::set<int> slot, cycle;
    for (std::size_t i = 0, count = pick(1, 3); i < count; ++i) {
      Pin pin;
      pin.kind = std::array{Pin::on_slot, Pin::not_on_slot, Pin::at_cycle, Pin::at_cycle,
                            Pin::same_slot}[pick(0, 4)];
      pin.op = any_op();
      if (pin.kind == Pin::on_slot) {
        pin.slot = any_slot();
        if (!slot_fits(p, pin.op, pin.slot) || !slot.insert(pin.op).second) continue;
      } else if (pin.kind == Pin::not_on_slot) {
        pin.slot = any_slot();
      } else if (pin.kind == Pin::at_cycle) {
        pin.cycle = random_.range(0, 6);
        if (!cycle.insert(pin.op).second) continue;
      } else {
        pin.other = any_op();
      }
      p.pins.push_back(pin);
    }
  }

  // What problem files have from version 5 on.
  void version_5() {
    Problem& p = case_.problem;
    const int last = static_cast<int>(p.ops.size()) - 1;
    const auto some = [&] { return static_cast<int>(fifth_.range(0, last)); };
    if (fifth_.percent(60))
      for (Edge& e : p.edges)
        if (fifth_.percent(40)) e.spill = fifth_.range(0, 4);
    if (last > 0 && fifth_.percent(40)) {
      Pin pin;
      pin.kind = Pin::other_slot;
      pin.op = some();
      pin.other = (pin.op + 1 + static_cast<int>(fifth_.range(0, last - 1))) % (last + 1);
      p.pins.push_back(pin);
    }
    std::set<int> stage;
    if (fifth_.percent(50))
      for (std::int64_t i = 0, count = fifth_.range(1, 3); i < count; ++i) {
        Pin pin;
        pin.kind = Pin::at_stage;
        pin.op = some();
        pin.stage = fifth_.range(0, fifth_.percent(20) ? 4 : 1);
        if (stage.insert(pin.op).second) p.pins.push_back(pin);
      }
    if (fifth_.percent(40)) {
      if (fifth_.percent(60)) p.interval.least = fifth_.range(1, 8);
      if (fifth_.percent(60)) p.interval.most = p.interval.least + fifth_.range(0, 7);
    }
    if (p.interval != IntervalRange{} || last_pinned_stage(p) > 0) case_.iterations = 0;
  }

  void question() {
    const Problem& p = case_.problem;
    Options& o = case_.options;
    o.threads = 1;
    o.seed = static_cast<std::uint64_t>(random_.range(0, 3));
    o.explain = random_.percent(20);
    if (random_.percent(25)) o.stages = std::to_string(random_.range(1, 3));
    if (random_.percent(15)) o.ii = random_.range(1, 7);
    if (random_.percent(20)) o.handover = false;
    if (random_.percent(10)) {
      const int v = any_op(), w = any_slot();
      const bool elsewhere = std::ranges::any_of(p.pins, [&](const Pin& pin) {  // is refused
        return pin.op == v && pin.kind == Pin::on_slot && pin.slot != w;
      });
      if (slot_allowed(p, v, w) && !elsewhere)
        o.pins.emplace_back(p.ops[static_cast<std::size_t>(v)].id,
                            p.warps[static_cast<std::size_t>(w)].name);
    }
    if (random_.percent(40)) goals();
    if (random_.percent(8)) case_.pool = random_pool(p, random_);
    for (std::string* encoding : {&case_.order, &case_.cnf})
      if (random_.percent(15)) *encoding = some_encoding(encoding == &case_.cnf);
    case_.straight = random_.percent(3);
    case_.paper = random_.percent(5);
    case_.stopped = random_.percent(5);
    case_.threads = random_.percent(2);
    if (random_.percent(25))
      case_.iterations = random_.percent(60) ? random_.range(1, 3) : random_.range(4, 40);
  }

  // Of one to all of the ops, each part with cycles on a slot of its own.
  void inner_loop() {
    Problem& p = case_.problem;
    if (case_.pool || !case_.options.pins.empty() || anchored(p)) return;
    const int ops = static_cast<int>(p.ops.size());
    std::set<int> slots;
    InnerLoop loop{"k", {}};
    for (int v = 0; v < ops; ++v) {
      if (!inner_.percent(60)) continue;
      if (p.ops[static_cast<std::size_t>(v)].cycles > 0) {
        const std::vector<int> allowed = allowed_slots(p, v);
        if (allowed.empty()) continue;
        const int slot =
            allowed[static_cast<std::size_t>(inner_.range(0, std::ssize(allowed) - 1))];
        if (!slots.insert(slot).second) continue;
        if (std::ranges::none_of(
                p.pins, [&](const Pin& pin) { return pin.op == v && pin.kind == Pin::on_slot; }))
          p.pins.push_back({Pin::on_slot, v, slot, -1, -1});
      }
      loop.parts.push_back({v, inner_.range(0, 6)});
    }
    if (loop.parts.empty()) return;
    const Cycle first = std::ranges::min(loop.parts, {}, &InnerPart::offset).offset;
    for (InnerPart& part : loop.parts) part.offset -= first;
    p.inner_loops.push_back(std::move(loop));
    case_.straight = case_.paper = false;
    case_.iterations = 0;
  }

  // One or two keys, each with any of its values. "start" is of cnf alone.
  std::string some_encoding(bool starts) {
    std::map<std::string, std::string> chosen;
    const std::span<const EncodingInfo> table = encoding_table();
    for (int i = 0; i < 2; ++i) {
      const EncodingInfo& info = table[pick(0, table.size() - 1)];
      if (info.key != "form" && (starts || info.key != "start")) chosen[info.key] = info.value;
    }
    if (random_.percent(30)) chosen["symmetry"] = "off";
    std::string text;
    for (const auto& [key, value] : chosen) text += (text.empty() ? "" : ",") + key + "=" + value;
    return text;
  }

  void goals() {
    const Problem& p = case_.problem;
    std::vector<std::string> names = {"slots",   "handovers", "crossings", "registers",
                                      "issuers", "lifetime",  "lifetime"};
    bool loads = false;
    for (const Op& op : p.ops) {
      names.push_back("start:" + op.id);
      names.push_back("slot:" + op.id);
      if (op.fills_ring()) names.push_back("ring:" + op.id);
      loads = loads || op.fills_ring();
    }
    if (loads) names.emplace_back("rings");
    for (const Unit& unit : p.units) names.push_back("issuers:" + unit.name);
    for (const Memory& memory : p.memories) names.push_back("memory:" + memory.name);
    for (const WarpSlot& slot : p.warps) names.push_back("registers:" + slot.name);
    std::vector<std::string>& goals = case_.options.goals;
    for (std::size_t i = 0, count = pick(0, 3); i < count; ++i)
      goals.push_back(names[pick(0, names.size() - 1)]);
    const bool canonical = goals.empty() || random_.percent(25);
    if (sixth_.percent(25)) goals.push_back(sum_of_goals());
    if (canonical) goals.emplace_back("canonical");
  }

  // Goals that may cost cycles of L. (What is about I and L alone is not asked then.)
  void length_slack() {
    std::vector<std::string>& goals = case_.options.goals;
    if (goals.empty() || case_.pool || !seventh_.percent(40)) return;
    case_.options.length_slack = seventh_.range(0, 4);
    case_.iterations = 0;
    case_.straight = case_.paper = false;
    const bool canonical = goals.back() == "canonical";
    if (seventh_.percent(30))
      goals.insert(goals.begin() + seventh_.range(0, std::ssize(goals) - (canonical ? 1 : 0)),
                   "length");
  }

  // "2*spills+slots".
  std::string sum_of_goals() {
    std::vector<std::string> names = {"slots", "handovers", "crossings", "spills", "issuers"};
    for (const Unit& unit : case_.problem.units) names.push_back("issuers:" + unit.name);
    std::string sum;
    for (auto parts = sixth_.range(1, 3); parts > 0; --parts) {
      if (!sum.empty()) sum += "+";
      if (sixth_.percent(60)) sum += std::to_string(sixth_.range(1, 5)) + "*";
      sum += names[static_cast<std::size_t>(sixth_.range(0, std::ssize(names) - 1))];
    }
    return sum;
  }

  Random random_, more_, inner_, fifth_, sixth_, seventh_;  // one for each that was added later
  WildCase case_;
  int blocking_ = 0, spills_ = 0, zero_ = 0, carried_ = 0, registers_ = 0, footprints_ = 0,
      loads_ = 0;  // in percent
  bool long_ = false, segments_ = false;
};

}  // namespace

WildCase wild_case(std::uint64_t seed) {
  return Wild(seed).run();
}

TruthAsked asked(const WildCase& wild) {
  TruthAsked a;
  const Options& o = wild.options;
  if (o.stages != "complete") a.stages = std::stoll(o.stages);
  a.ii = o.ii;
  a.handover = o.handover;
  const auto index = [](const auto& all, auto member, const std::string& name) {
    return static_cast<int>(std::ranges::find(all, name, member) - all.begin());
  };
  for (const auto& [op, slot] : o.pins)
    a.on.emplace_back(index(wild.problem.ops, &Op::id, op),
                      index(wild.problem.warps, &WarpSlot::name, slot));
  a.goals = o.goals;
  a.length_slack = o.length_slack;
  return a;
}

}  // namespace twill::test
