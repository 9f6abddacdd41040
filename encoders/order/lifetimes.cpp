// Rules 3, 4 and 6 in the order form: live copies, memories, registers (Soi et al. 2025, Figures 5
// and 6, for the infinite steady state).
//
// A sum of live copies grows only where a value begins, so it is checked at the issue of every
// value y of the resource. Copies of w live there: the largest over w's uses e = (w, x) of
//     floor((start(y) - start(w)) / I) - floor((start(y) - start(x) - distance I - hold) / I),
// that is, with k = stage(x) - stage(w) + distance,
//     k + [row(w) <= row(y)] - 1 + #{h >= 0 : row(y) - row(x) < hold - h I},
// y's stage cancels. For hold = 0 this is k + [row(w) <= row(y)] - [row(x) <= row(y)].
//
// Variables: "k >= t" per edge and t, one-sided, or where stages are integers the atom k <= t - 1;
// live(w, y, j) = "at least j copies". Clauses: S per "k >= t", and one or two that derive it from
// rules 1 and 7 and the rows (implied where stages are known, but found without them); four per
// edge and live literal (hold = 0), each saying that the terms that are there imply live. At most
// capacity / amount + 1 copies are told apart, since one more is too many.
//
// Sums are made late, because many resources never bind (bench/results/attention.md has what that
// is worth):
// - Where the least lifetimes alone fill 1/kFull of a resource there is at once one pseudo-Boolean
//   sum of it per y. Light values and more than kCounted copies of one are left out of it
//   (OrderRequest::share).
// - Elsewhere there is none until a model overflows the resource. Then refine() adds clauses over a
//   minimal set of copies that overflow. After some such models the sums follow, the sooner the
//   smaller they are.
// - The register files of several slots have one sum together (order/register_files.cpp) where they
//   have any from the beginning.
// - A search that has met an overflow, or whose first attempt was not enough, asks for all sums at
//   once in the formulas that it makes later (OrderRequest::at_once): refutations that need sums
//   seldom meet a model.
//
// Where a memory charges rings, their buffers (order/rings.cpp) are terms of its sums, the first
// buffer of each taken off the capacity; with nothing else in the memory there is one sum.
#include <algorithm>
#include <tuple>

#include "encoders/order/order.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
namespace {

constexpr Cycle kCounted = 4;
constexpr Cycle kTerms = 512;
constexpr Cycle kFull = 3;

}  // namespace

std::vector<OrderLifetimes::Resource> OrderLifetimes::resources() const {
  const Problem& p = m_.problem;
  std::vector<char> used(p.ops.size(), 0);
  for (const Edge& e : p.edges) used[static_cast<std::size_t>(e.from)] = 1;
  std::vector<Resource> all;
  for (int memory = 0; memory < static_cast<int>(p.memories.size()); ++memory) {
    const Memory& m = p.memories[static_cast<std::size_t>(memory)];
    Resource r{m.capacity,
               -1,
               memory,
               {},
               "capacity of " + m.name + " (" + std::to_string(m.capacity) + ")",
               {}};
    const MemoryCharges charges = memory_charges(p, memory);
    for (std::size_t v = 0; v < p.ops.size(); ++v) {
      r.rings.push_back(charges.ring[v] > 0 ? 1 : 0);
      r.amounts.push_back(charges.ring[v] > 0 ? charges.ring[v] : used[v] ? charges.live[v] : 0);
    }
    all.push_back(std::move(r));
  }
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
    const WarpSlot& slot = p.warps[static_cast<std::size_t>(w)];
    Resource r{slot.registers,
               w,
               -1,
               {},
               "registers of " + slot.name + " (" + std::to_string(slot.registers) + ")",
               std::vector<char>(p.ops.size(), 0)};
    for (std::size_t v = 0; v < p.ops.size(); ++v)
      r.amounts.push_back(used[v] && !m_.on(static_cast<int>(v), w).is_false() ? p.ops[v].registers
                                                                               : 0);
    all.push_back(std::move(r));
  }
  std::erase_if(all, [](const Resource& r) {
    return std::all_of(r.amounts.begin(), r.amounts.end(), [](Amount a) { return a == 0; });
  });
  return all;
}

Lit OrderLifetimes::turns_below(std::size_t e, Cycle turns) {
  const Edge& edge = m_.problem.edges[e];
  if (!m_.any_stage()) return ~turns_at_least(e, turns);
  if (edge.from == edge.to) return Lit::constant(turns > edge.distance);
  return m_.rows.atom(m_.stages_apart(edge.to, edge.from, edge.distance - turns + 1));
}

Lit OrderLifetimes::turns_at_least(std::size_t e, Cycle turns) {
  const Edge& edge = m_.problem.edges[e];
  const OrderModel::StageWindow &from = m_.window[static_cast<std::size_t>(edge.from)],
                                &to = m_.window[static_cast<std::size_t>(edge.to)];
  if (edge.from == edge.to) return Lit::constant(turns <= edge.distance);
  if (turns <= edge.distance + to.first - from.last) return kTrueLit;
  if (turns > edge.distance + to.last - from.first) return kFalseLit;
  const auto [place, fresh] = turns_.emplace(std::pair(e, turns), kFalseLit);
  if (!fresh) return place->second;
  const Lit literal = place->second = m_.f.fresh();
  const auto meaning = m_.groups.open({});  // whatever part asks for it first
  // stage(from) <= a and stage(to) >= a + turns - distance.
  for (Cycle a = from.first; a <= from.last; ++a)
    m_.f.clause({literal, m_.stage_at_least(edge.from, a + 1),
                 ~m_.stage_at_least(edge.to, a + turns - edge.distance)});
  // What the dependence asks of k, from the rows alone.
  const Cycle delay = edge.delay;
  const auto implied_by = [&](ConstraintPart::Kind rule) {
    return m_.groups.by_parts() ? m_.groups.selector({rule, static_cast<int>(e)}) : kTrueLit;
  };
  m_.f.clause({literal, m_.apart(edge.from, edge.to, delay, 1 - turns),
               ~implied_by(ConstraintPart::dependence)});
  const Cycle spill = spill_of(m_.problem, edge);
  if (const Lit cross = m_.cross[e]; spill > 0 && !cross.is_false())
    m_.f.clause({literal, ~cross, m_.apart(edge.from, edge.to, delay + spill, 1 - turns),
                 ~implied_by(ConstraintPart::handover)});
  return literal;
}

Cycle OrderLifetimes::most_copies(int w) const {
  if (m_.any_stage()) return kMaxAmount;
  Cycle most = 0;
  for (const Edge& e : m_.problem.edges)
    if (e.from == w)
      most = std::max(most, e.distance + (e.to == w ? 0 : m_.request.stages - 1) + 1 +
                                (e.hold + m_.request.ii_low - 1) / m_.request.ii_low);
  return most;
}

Lit OrderLifetimes::live(int w, int y, Cycle copies) {
  const auto [place, fresh] = live_.emplace(std::tuple(w, y, copies), kFalseLit);
  if (!fresh) return place->second;
  const Lit literal = place->second = m_.f.fresh();
  const Lit w_later = m_.apart(y, w, 1, 0);  // row(w) > row(y)
  for (std::size_t e = 0; e < m_.problem.edges.size(); ++e) {
    const Edge& edge = m_.problem.edges[e];
    if (edge.from != w) continue;
    // `beyond` terms h = 0, 1, ... of the sum over the hold are there (each implies the one
    // before).
    const auto implies_live = [&](Cycle hold) {
      // Of the terms that are there whatever the rows are, the last one says all.
      const Cycle first = hold / m_.request.ii_high - 1;
      for (Cycle beyond = first > kManyStages ? first : 0;; ++beyond) {
        const Lit over = beyond == 0 ? kFalseLit : m_.apart(edge.to, y, hold, -(beyond - 1));
        if (over.is_true()) break;
        const Cycle turns = copies - beyond;  // k that is needed if w is not later
        m_.f.clause({turns_below(e, turns), over, w_later, literal});
        m_.f.clause({turns_below(e, turns + 1), over, literal});
      }
    };
    if (!m_.groups.by_parts() || edge.hold == 0) {
      implies_live(edge.hold);
      continue;
    }
    implies_live(0);
    const auto part = m_.groups.open({}, {ConstraintPart::hold, static_cast<int>(e)});
    implies_live(edge.hold);
  }
  return literal;
}

Amount OrderLifetimes::beside_rings(const Resource& r) {
  Amount capacity = r.capacity;
  for (int v = 0; v < static_cast<int>(r.amounts.size()); ++v)
    if (r.ring(v)) capacity -= r.amounts[static_cast<std::size_t>(v)];
  return capacity;
}

void OrderLifetimes::encode() {
  if (m_.request.share == OrderRequest::kNone) return;
  const std::vector<Cycle> life = smallest_lifetimes(m_.problem);
  Cycle counted = 0, left = 0;
  const std::vector<Resource> resources = this->resources();
  std::vector<const Resource*> files;  // of slots: all are there from the beginning, or none is
  for (const Resource& r : resources)
    if (r.slot >= 0 && from_the_beginning(r, life)) files.push_back(&r);
  const bool jointly = counts_jointly(files.size());
  for (const Resource& r : resources) {
    if (beside_rings(r) < 0) {
      const auto group = m_.groups.open(r.description);
      m_.f.clause({});
    }
    const Sums all = sums(r);
    const bool now = from_the_beginning(r, life);
    (now ? counted : left) += all.cost();
    if (now && !(jointly && r.slot >= 0)) count(r, all);
  }
  if (jointly) count_files(files);
  nearly_complete_ = left <= counted;
}

bool OrderLifetimes::from_the_beginning(const Resource& r, const std::vector<Cycle>& life) const {
  return m_.request.at_once ||
         kFull * least_area(r, life) >= m_.request.ii_high * shared_capacity(r);
}

// Slots count the same copies as literals; the resource with the most of them is taken as all. Two
// clauses of live(w, y, j) and an edge have no hold; they are not counted where no stages are so
// far apart, and where a fact may join w and y, or the ends of the edge.
FormulaSize OrderLifetimes::least_size() const {
  if (m_.request.share == OrderRequest::kNone) return {};
  const std::vector<Cycle> life = smallest_lifetimes(m_.problem);
  const std::vector<Resource> resources = this->resources();
  const bool jointly = counts_jointly(static_cast<std::size_t>(std::count_if(
      resources.begin(), resources.end(),
      [&](const Resource& r) { return r.slot >= 0 && from_the_beginning(r, life); })));
  FormulaSize size;
  FormulaSize live;                              // of the resource with most
  std::vector<std::set<int>> back(life.size());  // per op, those that it has edges to
  for (const Edge& e : m_.problem.edges) back[at(e.from)].insert(e.to);
  for (const Resource& r : resources) {
    if (!from_the_beginning(r, life)) continue;
    const Sums all = sums(r);
    Cycle copies = 0, on_slot = 0, clauses = 0;
    for (const auto& [w, most] : all.terms) {
      if (r.ring(w)) continue;
      copies += most;
      if (r.slot >= 0 && !jointly && !m_.on(w, r.slot).is_constant()) on_slot += most;
      Cycle said = 0, joined = 1;
      for (const Edge& e : m_.problem.edges) {
        joined += e.from == w || e.to == w;
        if (e.from != w || m_.leader[at(e.to)] == m_.leader[at(w)] || back[at(e.to)].contains(w))
          continue;
        const Cycle last = e.distance + m_.window[at(e.to)].last - m_.window[at(w)].first;
        for (Cycle j = 1; j <= most; ++j) said += m_.any_stage() ? 2 : (j <= last) + (j < last);
      }
      clauses += said * std::max<Cycle>(0, std::ssize(all.instants) - joined);
    }
    const auto instants = static_cast<double>(all.instants.size());
    live.variables = std::max(live.variables, instants * static_cast<double>(copies));
    live.clauses = std::max(live.clauses, static_cast<double>(clauses));
    size.variables += instants * static_cast<double>(on_slot);
    size.clauses += instants * static_cast<double>(on_slot);
  }
  size.variables += live.variables;
  size.clauses += live.clauses;
  return size;
}

// Values may be on any slot, so registers are taken together.
Wide OrderLifetimes::shared_capacity(const Resource& r) const {
  if (r.slot < 0) return beside_rings(r);
  Wide registers = 0;
  for (const WarpSlot& slot : m_.problem.warps) registers += slot.registers;
  return registers;
}

Wide OrderLifetimes::least_area(const Resource& r, const std::vector<Cycle>& life) const {
  Wide area = 0;
  for (std::size_t v = 0; v < life.size(); ++v) {
    const Op& op = m_.problem.ops[v];
    if (!r.ring(static_cast<int>(v)))
      area += Wide{r.slot < 0 ? r.amounts[v] : op.registers} * life[v];
  }
  return area;
}

OrderLifetimes::Sums OrderLifetimes::sums(const Resource& r) const {
  Sums sums;
  for (int v = 0; v < static_cast<int>(r.amounts.size()); ++v) {
    const Amount amount = r.amounts[static_cast<std::size_t>(v)];
    if (amount == 0 || amount * m_.request.share < r.capacity) continue;
    sums.terms.emplace_back(v, std::min({r.capacity / amount + 1, kCounted,
                                         r.ring(v) ? most_buffers(v) : most_copies(v)}));
    if (!r.ring(v)) sums.instants.push_back(v);
  }
  // Rings take the same at every instant.
  if (sums.instants.empty() && !sums.terms.empty())
    sums.instants.push_back(sums.terms.front().first);
  return sums;
}

Cycle OrderLifetimes::Sums::cost() const {
  Cycle copies = 0;
  for (const auto& [w, most] : terms) copies += most;
  return copies * static_cast<Cycle>(instants.size());
}

void OrderLifetimes::count(const Resource& r, const Sums& sums) {
  counted_.emplace(r.slot, r.memory);
  const auto group = m_.groups.open(r.description);
  for (const int y : sums.instants) {
    std::vector<Term> terms;
    for (const auto& [w, most] : sums.terms) {
      for (Cycle j = r.ring(w) ? 2 : 1; j <= most; ++j) {
        Lit counted = taken(r, w, y, j);
        if (r.slot >= 0) counted = m_.f.implied_by_both(counted, m_.on(w, r.slot));
        terms.push_back({r.amounts[static_cast<std::size_t>(w)], counted});
      }
    }
    at_most_sum(m_.f, m_.choice, terms, beside_rings(r));
  }
}

void OrderLifetimes::note_overflow(const Resource& r) {
  if (m_.request.share == OrderRequest::kNone || counted_.count({r.slot, r.memory}) != 0) return;
  const Sums all = sums(r);
  if (++overflows_[{r.slot, r.memory}] == 1 + all.cost() / kTerms) count(r, all);
}

int OrderLifetimes::refine(const Schedule& s) {
  const Problem& p = m_.problem;
  const Cycle ii = s.initiation_interval;
  std::vector<Cycle> end(p.ops.size());
  for (std::size_t v = 0; v < p.ops.size(); ++v) end[v] = s.start[v];
  for (const Edge& e : p.edges) {
    Cycle& last = end[static_cast<std::size_t>(e.from)];
    last = std::max(last, s.start[static_cast<std::size_t>(e.to)] + e.distance * ii + e.hold);
  }
  int added = 0;
  const std::vector<Resource> all = resources();
  for (const Resource& r : all) {
    const auto counts = [&](std::size_t v) {
      return r.amounts[v] > 0 && r.rings[v] == 0 && end[v] > s.start[v] &&
             (r.slot < 0 || s.warp[v] == r.slot);
    };
    struct Live {
      int op;
      Cycle copies;
      Amount amount;
    };
    std::vector<Live> rings;
    for (int w = 0; w < static_cast<int>(p.ops.size()); ++w)
      if (r.ring(w)) {
        const Amount amount = r.amounts[static_cast<std::size_t>(w)];
        rings.push_back({w, std::min(ring_depth(p, s, w), r.capacity / amount + 1), amount});
      }
    bool overflows = false;
    // At the issue of every value, or, if there is none, of any op.
    std::vector<std::size_t> instants;
    for (std::size_t y = 0; y < p.ops.size(); ++y)
      if (counts(y)) instants.push_back(y);
    if (instants.empty() && !rings.empty()) instants.push_back(0);
    for (const std::size_t y : instants) {
      std::vector<Live> live_here = rings;
      for (std::size_t w = 0; w < p.ops.size(); ++w) {
        if (!counts(w)) continue;
        // One copy more than fits overflows by itself: no sum of these leaves 64 bits.
        const Cycle copies = std::min(
            floor_divide(s.start[y] - s.start[w], ii) - floor_divide(s.start[y] - end[w], ii),
            r.capacity / r.amounts[w] + 1);
        if (copies > 0) live_here.push_back({static_cast<int>(w), copies, r.amounts[w]});
      }
      Amount sum = 0;
      for (const Live& l : live_here) sum += l.copies * l.amount;
      if (sum <= r.capacity) continue;
      // The heaviest values first: lighter ones leave while the rest still overflows.
      std::stable_sort(live_here.begin(), live_here.end(),
                       [](const Live& a, const Live& b) { return a.amount < b.amount; });
      std::vector<Copies> overflow;
      for (const Live& l : live_here) {
        const Cycle spare = std::min(l.copies, (sum - r.capacity - 1) / l.amount);
        sum -= spare * l.amount;
        if (l.copies > spare) overflow.emplace_back(l.op, l.copies - spare);
      }
      std::sort(overflow.begin(), overflow.end());
      overflows = true;
      added += forbid(r, sum, overflow, all);
    }
    if (overflows) note_overflow(r);
  }
  return added;
}

void OrderLifetimes::forbid(const ConstraintPart& part) {
  const std::vector<Resource> all = resources();
  for (const Resource& r : all) {
    if (part.kind == ConstraintPart::registers ? r.slot < 0 : r.memory != part.index) continue;
    Amount sum = 0;
    for (const auto& [v, copies] : part.copies)
      sum += copies * r.amounts[static_cast<std::size_t>(v)];
    forbid(r, sum, part.copies, all);
  }
}

// What overflows at one issue does so at the issue of every value of the set, and on every slot
// that is no larger: said at once, so that no model has to show it again.
int OrderLifetimes::forbid(const Resource& resource, Amount sum, std::span<const Copies> overflow,
                           std::span<const Resource> all) {
  int added = 0;
  for (const Resource& r : all) {
    const bool same = r.slot >= 0 ? resource.slot >= 0 : &r == &resource;
    if (!same || r.capacity >= sum) continue;
    if (!forbidden_.emplace(r.slot, r.memory, std::vector(overflow.begin(), overflow.end())).second)
      continue;
    const auto group = m_.groups.open(r.description);
    const bool rings_only = std::all_of(overflow.begin(), overflow.end(),
                                        [&](const Copies& c) { return r.ring(c.first); });
    for (const auto& [y, ignored] : overflow) {
      // Rings take the same at every instant: those of the values are enough.
      if (r.ring(y) && (!rings_only || y != overflow.front().first)) continue;
      std::vector<Lit> clause;
      for (const auto& [w, copies] : overflow) {
        clause.push_back(~taken(r, w, y, copies));
        if (r.slot >= 0) clause.push_back(~m_.on(w, r.slot));
      }
      if (m_.groups.by_parts())
        clause.push_back(
            ~m_.groups.selector({r.slot >= 0 ? ConstraintPart::registers : ConstraintPart::memory,
                                 r.memory, std::vector(overflow.begin(), overflow.end())}));
      m_.f.clause(clause);
      ++added;
    }
  }
  return added;
}

}  // namespace twill
