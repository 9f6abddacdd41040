#include "engine/explain/clash_words.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "engine/explain/broken_part.hpp"
#include "graph/index.hpp"
#include "graph/inner_loops.hpp"
#include "graph/memory_charges.hpp"

namespace twill {
namespace {

using order::BrokenPart;

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : between) + words[i];
  return text;
}

// " at residues 12-15, 40"; the first four ranges.
std::string at_residues(const std::vector<order::ResidueRange>& ranges) {
  constexpr std::size_t kNamed = 4;
  if (ranges.empty()) return {};
  const bool one = ranges.size() == 1 && ranges[0].first == ranges[0].last;
  std::string text = one ? " at residue " : " at residues ";
  for (std::size_t i = 0; i < ranges.size() && i < kNamed; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranges[i].first);
    if (ranges[i].last > ranges[i].first) text += "-" + std::to_string(ranges[i].last);
  }
  return text + (ranges.size() > kNamed ? ", ..." : "");
}

class Wording {
 public:
  explicit Wording(const Problem& problem) : p_(problem) {}

  const std::string& id(int v) const { return p_.ops[at(v)].id; }

  // "S 512, O 512 = 1024 cycles", longest first; empty = nobody is on it.
  std::string load(int unit) const {
    std::vector<std::pair<Cycle, int>> loads;
    Cycle sum = 0;
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
      Cycle cycles = 0;
      for (const Reservation& r : p_.ops[at(v)].reservations)
        if (r.unit == unit) cycles += r.length * r.amount;
      if (cycles > 0) loads.emplace_back(-cycles, v);
      sum += cycles;
    }
    std::sort(loads.begin(), loads.end());
    constexpr std::size_t kNamed = 6;
    std::vector<std::string> terms;
    for (std::size_t i = 0; i < loads.size() && i < kNamed; ++i)
      terms.push_back(id(loads[i].second) + " " + std::to_string(-loads[i].first));
    if (terms.empty()) return {};
    if (loads.size() > kNamed) terms.push_back(std::to_string(loads.size() - kNamed) + " more");
    return joined(terms, ", ") + " = " + std::to_string(sum) + " cycles";
  }

  std::string unit(int u, const BrokenPart& where) const {
    std::vector<std::string> meet;
    for (const int v : where.ops)
      if (std::find(meet.begin(), meet.end(), id(v)) == meet.end()) meet.push_back(id(v));
    const Unit& here = p_.units[at(u)];
    return "unit " + here.name + " (" + std::to_string(here.capacity) + ")" +
           at_residues(where.residues) + ": " +
           (meet.empty() ? "" : joined(meet, " + ") + "; it has ") + load(u);
  }

  std::string memory(const ConstraintPart& part, const BrokenPart& where) const {
    const Memory& here = p_.memories[at(part.index)];
    const MemoryCharges charges = memory_charges(p_, part.index);
    std::vector<std::string> terms;
    Amount sum = 0;
    for (const auto& [v, copies] : part.copies) {
      const Amount ring = charges.ring[at(v)], amount = ring > 0 ? ring : charges.live[at(v)];
      terms.push_back(ring > 0 ? this->ring(v, copies, ring) : term(v, copies, amount));
      sum += copies * amount;
    }
    return "memory " + here.name + at_residues(where.residues) + ": " + joined(terms, " + ") +
           (terms.size() > 1 || part.copies.front().second > 1 ? " = " + std::to_string(sum) : "") +
           " > " + std::to_string(here.capacity);
  }

  // Slots that ops of the part can go to and that have too few registers for it, and the most that
  // one of them has.
  std::pair<std::string, Amount> too_small(const ConstraintPart& part, int only) const {
    Amount sum = 0;
    for (const auto& [v, copies] : part.copies) sum += copies * p_.ops[at(v)].registers;
    std::vector<std::string> names;
    Amount most = 0;
    for (int w = 0; w < static_cast<int>(p_.warps.size()); ++w) {
      const bool fits = std::all_of(part.copies.begin(), part.copies.end(),
                                    [&](const auto& c) { return slot_fits(p_, c.first, w); });
      if (!fits || p_.warps[at(w)].registers >= sum || (only >= 0 && only != w)) continue;
      names.push_back(p_.warps[at(w)].name);
      most = std::max(most, p_.warps[at(w)].registers);
    }
    return {joined(names, ", "), most};
  }

  std::string registers(const ConstraintPart& part, const BrokenPart& where) const {
    const auto [names, most] = too_small(part, where.slot);
    return "registers of " + names + at_residues(where.residues) + ": " +
           sum_of(part, [&](int v) { return p_.ops[at(v)].registers; }) + " > " +
           std::to_string(most);
  }

  // Values each of which alone is too much for the same slots, in one line.
  void add_too_large(std::span<const order::Clashing> clash, std::vector<Reason>& reasons) const {
    std::map<std::pair<std::string, Amount>, std::vector<int>> values;
    for (const order::Clashing& c : clash)
      if (alone(c.part)) values[too_small(c.part, -1)].push_back(c.part.copies.front().first);
    for (const auto& [slots, ops] : values) {
      std::vector<std::string> names;
      for (const int v : ops)
        names.push_back(id(v) + " " + std::to_string(p_.ops[at(v)].registers));
      reasons.push_back({Reason::registers,
                         "registers of " + slots.first + ": " + std::to_string(slots.second) +
                             ", too few for " + joined(names, " or "),
                         ops});
    }
  }
  static bool alone(const ConstraintPart& part) {
    return part.kind == ConstraintPart::registers && part.copies.size() == 1 &&
           part.copies.front().second == 1;
  }

  // "S -1-> P -1-> O[+1]": edges end to end, with their delays and distances.
  void add_chains(std::span<const order::Clashing> clash, std::vector<Reason>& reasons) const {
    std::vector<int> left;
    for (const order::Clashing& c : clash)
      if (c.part.kind == ConstraintPart::dependence) left.push_back(c.part.index);
    while (!left.empty()) {
      // From an edge that none of the others leads to, if there is one.
      const auto follows = [&](int e) {
        return std::any_of(left.begin(), left.end(),
                           [&](int o) { return p_.edges[at(o)].to == p_.edges[at(e)].from; });
      };
      auto next = std::find_if_not(left.begin(), left.end(), follows);
      if (next == left.end()) next = left.begin();
      Reason chain{Reason::dependence, id(p_.edges[at(*next)].from), {p_.edges[at(*next)].from}};
      while (next != left.end()) {
        const Edge& e = p_.edges[at(*next)];
        chain.text += " -" + std::to_string(e.delay) + "-> " + id(e.to);
        if (e.distance > 0) chain.text += "[+" + std::to_string(e.distance) + "]";
        chain.ops.push_back(e.to);
        left.erase(next);
        next = std::find_if(left.begin(), left.end(),
                            [&](int o) { return p_.edges[at(o)].from == e.to; });
      }
      reasons.push_back(std::move(chain));
    }
  }

  std::string wait(int e, const BrokenPart& where) const {
    const Edge& edge = p_.edges[at(e)];
    std::string text = "wait of " + id(edge.to) + " on " + id(edge.from);
    if (where.ops.empty()) return text;
    std::vector<std::string> beside;
    for (const int o : where.ops)
      beside.push_back(id(o) + " (" + std::to_string(p_.ops[at(o)].cycles) + " cycles)");
    return text + at_residues(where.residues) + " of " + p_.warps[at(where.slot)].name +
           ", where " + joined(beside, ", ") + " executes";
  }

  std::string edge(const char* between, int e) const {
    const Edge& edge = p_.edges[at(e)];
    return id(edge.from) + between + id(edge.to) +
           (edge.distance > 0 ? "[+" + std::to_string(edge.distance) + "]" : "");
  }

  // (Dependences are chains, see add_chains().)
  void add(const ConstraintPart& part, const BrokenPart& where,
           std::vector<Reason>& reasons) const {
    const auto cycles = [](Cycle n) { return std::to_string(n) + " cycles"; };
    const auto say = [&](Reason::Kind kind, std::string text) {
      reasons.push_back({kind, std::move(text), ops_of(part, where), part.index});
    };
    switch (part.kind) {
      case ConstraintPart::pin: say(Reason::pin, pin_text(p_, p_.pins[at(part.index)])); break;
      case ConstraintPart::unit: say(Reason::unit, unit(part.index, where)); break;
      case ConstraintPart::memory: say(Reason::memory, memory(part, where)); break;
      case ConstraintPart::registers: say(Reason::registers, registers(part, where)); break;
      case ConstraintPart::inner_loop:
        say(Reason::inner_loop, inner_loop_text(p_.inner_loops[at(part.index)]));
        break;
      case ConstraintPart::wait: say(Reason::wait, wait(part.index, where)); break;
      case ConstraintPart::hold:
        say(Reason::hold,
            "hold of " + edge(" by ", part.index) + ", " + cycles(p_.edges[at(part.index)].hold));
        break;
      case ConstraintPart::handover:
        say(Reason::handover, "hand-over of " + edge(" to ", part.index) + " on another slot, " +
                                  cycles(spill_of(p_, p_.edges[at(part.index)])) + " and a wait");
        break;
      case ConstraintPart::no_handover:
        say(Reason::no_handover,
            "no hand-over of " + edge(" to ", part.index) + " on another slot");
        break;
      case ConstraintPart::dependence: break;
    }
  }

  // "ring of K: 3 x 16384".
  std::string ring(int v, Cycle buffers, Amount amount) const {
    return "ring of " + id(v) + ": " + std::to_string(buffers) + " x " + std::to_string(amount);
  }

 private:
  std::vector<int> ops_of(const ConstraintPart& part, const BrokenPart& where) const {
    std::vector<int> ops = where.ops;
    for (const auto& [v, copies] : part.copies) ops.push_back(v);
    if (part.kind == ConstraintPart::pin)
      for (const int v : {p_.pins[at(part.index)].op, p_.pins[at(part.index)].other})
        if (v >= 0) ops.push_back(v);
    if (part.kind == ConstraintPart::inner_loop)
      for (const InnerPart& one : p_.inner_loops[at(part.index)].parts) ops.push_back(one.op);
    const bool of_edge = part.kind >= ConstraintPart::wait;
    if (of_edge) ops = {p_.edges[at(part.index)].from, p_.edges[at(part.index)].to};
    return ops;
  }

  // "2 x S 64".
  std::string term(int v, Cycle copies, Amount amount) const {
    return (copies > 1 ? std::to_string(copies) + " x " : "") + id(v) + " " +
           std::to_string(amount);
  }

  template <class AmountOf>
  std::string sum_of(const ConstraintPart& part, const AmountOf& amount_of) const {
    std::vector<std::string> terms;
    Amount sum = 0;
    for (const auto& [v, copies] : part.copies) {
      terms.push_back(term(v, copies, amount_of(v)));
      sum += copies * amount_of(v);
    }
    const bool one = terms.size() == 1 && part.copies.front().second == 1;
    return joined(terms, " + ") + (one ? "" : " = " + std::to_string(sum));
  }

  const Problem& p_;
};

}  // namespace

std::vector<Reason> words(const Problem& problem, const std::vector<order::Clashing>& clash) {
  std::vector<ConstraintPart> parts;
  for (const order::Clashing& c : clash) parts.push_back(c.part);
  const Wording wording(problem);
  std::vector<Reason> reasons;
  for (const order::Clashing& c : clash) {
    BrokenPart where;
    if (c.without)
      if (const auto found = order::broken(problem, *c.without, c.part, parts)) where = *found;
    if (!Wording::alone(c.part)) wording.add(c.part, where, reasons);
  }
  wording.add_too_large(clash, reasons);
  wording.add_chains(clash, reasons);
  std::stable_partition(reasons.begin(), reasons.end(),
                        [](const Reason& reason) { return !reason.forces(); });
  return reasons;
}

std::vector<Reason> everything(const Problem& problem) {
  const Wording wording(problem);
  std::vector<Reason> reasons;
  for (std::size_t i = 0; i < problem.pins.size(); ++i)
    wording.add({ConstraintPart::pin, static_cast<int>(i)}, {}, reasons);
  for (std::size_t i = 0; i < problem.inner_loops.size(); ++i)
    wording.add({ConstraintPart::inner_loop, static_cast<int>(i)}, {}, reasons);
  for (int u = 0; u < static_cast<int>(problem.units.size()); ++u)
    if (!wording.load(u).empty()) wording.add({ConstraintPart::unit, u}, {}, reasons);
  const auto line = [&](Reason::Kind kind, int index, const std::string& what, Amount limit,
                        const auto& amount_of, std::vector<std::string> terms = {}) {
    std::vector<int> ops;
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
      if (const Amount amount = amount_of(v); amount > 0) {
        terms.push_back(wording.id(v) + " " + std::to_string(amount));
        ops.push_back(v);
      }
    if (!terms.empty())
      reasons.push_back({kind, what + " (" + std::to_string(limit) + "): " + joined(terms, ", "),
                         std::move(ops), index});
  };
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w)
    line(Reason::registers, w, "registers of " + problem.warps[at(w)].name,
         problem.warps[at(w)].registers,
         [&](int v) { return slot_allowed(problem, v, w) ? problem.ops[at(v)].registers : 0; });
  for (int m = 0; m < static_cast<int>(problem.memories.size()); ++m) {
    const MemoryCharges charges = memory_charges(problem, m);
    std::vector<std::string> rings;
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
      if (const Amount buffer = charges.ring[at(v)]; buffer > 0)
        rings.push_back("ring of " + wording.id(v) + ", each buffer " + std::to_string(buffer));
    line(
        Reason::memory, m, "memory " + problem.memories[at(m)].name,
        problem.memories[at(m)].capacity, [&](int v) { return charges.live[at(v)]; },
        std::move(rings));
  }
  reasons.push_back({Reason::dependence, "all dependences, waits, hand-overs and holds"});
  return reasons;
}

}  // namespace twill
