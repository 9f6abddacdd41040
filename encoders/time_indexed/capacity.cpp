// Rule 2, functional unit capacity at every residue (Soi et al. 2025, Figure 4, CAPACITY; modulo
// reservation table: Lam, PLDI 1988, and Rau, MICRO-27 1994).
//
// residues(v, offset, length): per residue s a literal implied when the window of v covers s. One
// variable and one ternary clause (two binary ones where the window wraps) per residue; windows at
// the row's ends need none. A window of length >= I covers every residue floor(length / I) times,
// the rest is a window of length mod I. Per unit and residue one sum over the ops' windows: at most
// one where capacity and amounts are 1, else a cardinality or pseudo-Boolean sum (choose.hpp).
// Windows of one op that share no residue exclude each other, for encodings that can use it.
#include <algorithm>

#include "encoders/time_indexed/modulo.hpp"
#include "graph/divide.hpp"

namespace twill {

const std::vector<Lit>& ModuloModel::residues(int v, Cycle offset, Cycle length) {
  const Cycle ii = starts.ii();
  offset %= ii;
  const auto [entry, fresh] = occupied.try_emplace({v, offset, length});
  std::vector<Lit>& literals = entry->second;
  if (!fresh) return literals;
  literals.assign(static_cast<std::size_t>(ii), kTrueLit);
  if (length >= ii) return literals;
  for (Cycle s = 0; s < ii; ++s) {
    // v covers s when its row is in [low, high], circularly.
    const Cycle low = mod(s - offset - length + 1, ii);
    const Cycle high = mod(s - offset, ii);
    const Lit from = starts.row_at_least(v, low), beyond = starts.row_at_least(v, high + 1);
    Lit& covered = literals[static_cast<std::size_t>(s)];
    if (low <= high) {
      covered = f.implied_by_both(from, ~beyond);
    } else {
      covered = f.fresh();
      f.implies(from, covered);
      f.implies(~beyond, covered);
    }
  }
  return literals;
}

namespace {

// What one op takes of a unit at every residue.
struct Window {
  Amount amount;
  Cycle offset, length;
  const std::vector<Lit>* literals;
};

bool share_residue(const Window& a, const Window& b, Cycle ii) {
  const auto within = [ii](Cycle offset, const Window& w) {
    return mod(offset - w.offset, ii) < w.length;
  };
  return within(a.offset, b) || within(b.offset, a);
}

// Windows of an op in groups that share no residue, first fit.
void add_window(std::vector<std::vector<Window>>& groups, std::size_t own, const Window& window,
                Cycle ii) {
  for (std::size_t i = own; i < groups.size(); ++i)
    if (std::none_of(groups[i].begin(), groups[i].end(),
                     [&](const Window& other) { return share_residue(window, other, ii); })) {
      groups[i].push_back(window);
      return;
    }
  groups.push_back({window});
}

}  // namespace

void encode_capacity(ModuloModel& m) {
  const Problem& p = m.problem;
  const Cycle ii = m.starts.ii();
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    const auto group = m.groups.open("capacity of " + p.units[unit].name + " (" +
                                     std::to_string(p.units[unit].capacity) + ")");
    Amount always = 0;
    std::vector<std::vector<Window>> windows;
    for (std::size_t v = 0; v < p.ops.size(); ++v) {
      const std::size_t own = windows.size();
      for (const Reservation& r : p.ops[v].reservations) {
        if (r.unit != static_cast<int>(unit)) continue;
        always += r.length / ii * r.amount;
        const Cycle length = r.length % ii;
        if (length != 0)
          add_window(
              windows, own,
              {r.amount, r.offset, length, &m.residues(static_cast<int>(v), r.offset, length)}, ii);
      }
    }
    const Amount capacity = p.units[unit].capacity - always;
    for (std::size_t s = 0; s < static_cast<std::size_t>(ii); ++s) {
      std::vector<TermGroup> groups;
      for (const std::vector<Window>& of_op : windows) {
        groups.emplace_back();
        for (const Window& w : of_op) groups.back().terms.push_back({w.amount, (*w.literals)[s]});
      }
      at_most_sum(m.f, m.choice, groups, capacity);
      if (capacity < 0) break;
    }
  }
}

}  // namespace twill
