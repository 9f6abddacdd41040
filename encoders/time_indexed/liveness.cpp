// Rule 3, liveness: u's result is live in [M(u), max over its edges of M(v) + distance I + hold).
//
// For edge e = (u, v) write hold = q I + h, 0 <= h < I, and D = stage(v) - stage(u) + distance + q.
// The lifetime up to this use is D I + (row(v) + h - row(u)), the bracket in (-I, 2 I), so:
//   row(v) + h < row(u)       D - 1 full copies, partial at [row(u), I) and [0, row(v) + h) (back)
//   in between                D full copies, partial at [row(u), row(v) + h) modulo I
//   row(v) + h >= row(u) + I  D + 1 full copies, partial at [row(u), row(v) + h - I) (over)
// The value's own count is the maximum over its edges: full is at least every edge's full count,
// and partial covers the partial residues of the edges that reach it (`tight`).
//
// Variables, all one-sided (the meaning implies the literal, or the literal may only be chosen when
// the meaning holds, so that a solver can always choose exactly the true lifetimes): full[j], and
// partial[s] per value; per edge D >= j, back, over (only for h > 0), tight (only where the value
// has several uses), back and tight. Clauses per edge: S per D >= j, I for back, about 3 I for
// partial, 5 per j. Nothing here depends on the horizon I S but the D >= j.
//
// This replaces the paper's four dataflow families (Figure 5), which undercount loop-carried
// values.
#include <algorithm>

#include "encoders/time_indexed/modulo.hpp"
#include "graph/memory_charges.hpp"

namespace twill {
namespace {

// Most copies of op u that any capacity it meets allows at once.
Amount most_copies(const Problem& p, int u) {
  const Op& op = p.ops[static_cast<std::size_t>(u)];
  Amount most = kMaxAmount;
  if (op.registers > 0) {
    Amount registers = 0;
    for (const int w : allowed_slots(p, u))
      registers = std::max(registers, p.warps[static_cast<std::size_t>(w)].registers);
    most = std::min(most, registers / op.registers);
  }
  for (const Footprint& f : op.footprints)
    if (f.amount > 0)
      most = std::min(most, p.memories[static_cast<std::size_t>(f.memory)].capacity / f.amount);
  return most;
}

// Per op: some slot or memory counts what of its result is live.
std::vector<bool> counted_while_live(const Problem& p) {
  std::vector<bool> counted;
  for (const Op& op : p.ops) counted.push_back(op.registers > 0);
  for (std::size_t memory = 0; memory < p.memories.size(); ++memory) {
    const std::vector<Amount> live = memory_charges(p, static_cast<int>(memory)).live;
    for (std::size_t u = 0; u < live.size(); ++u) counted[u] = counted[u] || live[u] > 0;
  }
  return counted;
}

class Encoder {
 public:
  Encoder(ModuloModel& m, int u, Cycle copies, bool forbid_more)
      : m_(m), u_(u), copies_(copies), forbid_more_(forbid_more) {
    for (Cycle j = 0; j < copies; ++j) {
      life_.full.push_back(m.f.fresh());
      if (j > 0)
        m.f.implies(life_.full[static_cast<std::size_t>(j)],
                    life_.full[static_cast<std::size_t>(j - 1)]);
    }
    for (Cycle s = 0; s < m.starts.ii(); ++s) life_.partial.push_back(m.f.fresh());
  }

  void edge(const Edge& e, bool only_use) {
    const Cycle ii = m_.starts.ii(), extra = e.distance + e.hold / ii, h = e.hold % ii;
    const Lit tight = only_use ? kTrueLit : m_.f.fresh();
    const Lit back = e.to == u_ ? kFalseLit : m_.f.fresh();
    const Lit over = h == 0 ? kFalseLit : m_.f.fresh();
    if (!back.is_false())  // back implies row(v) + h < row(u)
      for (Cycle t = 0; t < ii; ++t) {
        m_.f.clause({~back, ~row(e.to, t), row(u_, t + h + 1)});
        if (t + h + 1 >= ii) break;
      }
    if (h > 0)  // unless over, row(v) + h - I < row(u)
      for (Cycle t = ii - h; t < ii; ++t)
        m_.f.clause({over, ~row(e.to, t), row(u_, t + h - ii + 1)});

    for (Cycle j = 1; j <= copies_ + 1; ++j) {
      const Lit reach = difference(e, extra, j), more = difference(e, extra, j + 1);
      const Lit less = difference(e, extra, j - 1);
      m_.f.implies(more, full(j));
      m_.f.clause({~reach, back, full(j)});
      m_.f.clause({~less, ~over, full(j)});
      m_.f.clause({~reach, tight, full(j)});
      m_.f.clause({~reach, back, tight, full(j + 1)});
      m_.f.clause({~less, ~over, tight, full(j + 1)});
    }
    // j = 0 of the "not tight" rules: a full count of at least 0 that is not tight gives 1.
    m_.f.clause({back, tight, full(1)});
    const Lit tight_back = m_.f.implied_by_both(tight, back);
    for (Cycle s = 0; s < ii; ++s) {
      const Lit here = life_.partial[static_cast<std::size_t>(s)];
      const Lit after_start = ~row(u_, s + 1);      // row(u) <= s
      const Lit before_end = row(e.to, s - h + 1);  // s < row(v) + h
      m_.f.clause({~tight_back, ~after_start, here});
      m_.f.clause({~tight_back, ~before_end, here});
      m_.f.clause({~tight, over, ~after_start, ~before_end, here});
      if (h > 0 && s < h) {
        const Lit before_wrapped_end = row(e.to, s - h + ii + 1);  // s < row(v) + h - I
        m_.f.clause({~tight, over, ~before_wrapped_end, here});
        m_.f.clause({~tight, ~over, ~after_start, ~before_wrapped_end, here});
      }
    }
  }

  Lifetime take() { return std::move(life_); }

 private:
  Lit row(int v, Cycle s) const { return m_.starts.row_at_least(v, s); }

  // "At least j full copies"; beyond what is counted: forbidden, or not counted (a relaxation).
  Lit full(Cycle j) const {
    if (j <= 0) return kTrueLit;
    if (j <= copies_) return life_.full[static_cast<std::size_t>(j - 1)];
    return forbid_more_ ? kFalseLit : kTrueLit;
  }

  // Implied by stage(v) - stage(u) + extra >= j.
  Lit difference(const Edge& e, Cycle extra, Cycle j) {
    if (j <= 0) return kTrueLit;
    if (e.to == u_) return Lit::constant(extra >= j);
    const Cycle stages = m_.starts.stages();
    if (stages - 1 + extra < j) return kFalseLit;
    const auto [entry, fresh] = differences_.try_emplace({e.to, j - extra});
    if (!fresh) return entry->second;
    const Lit literal = entry->second = m_.f.fresh();
    for (Cycle k = 0; k < stages; ++k)
      m_.f.clause({m_.starts.stage_at_least(u_, k + 1),
                   ~m_.starts.stage_at_least(e.to, k + j - extra), literal});
    return literal;
  }

  ModuloModel& m_;
  int u_;
  Cycle copies_;
  bool forbid_more_;
  Lifetime life_;
  std::map<std::pair<int, Cycle>, Lit> differences_;
};

}  // namespace

void encode_liveness(ModuloModel& m) {
  const Problem& p = m.problem;
  const Cycle ii = m.starts.ii();
  const std::vector<bool> counted_live = counted_while_live(p);
  for (int u = 0; u < static_cast<int>(p.ops.size()); ++u) {
    m.lifetimes.emplace_back();
    const Op& op = p.ops[static_cast<std::size_t>(u)];
    if (!counted_live[static_cast<std::size_t>(u)]) continue;
    std::vector<const Edge*> uses;
    Cycle reach = 0;  // full copies of the longest lifetime that the windows allow
    for (const Edge& e : p.edges)
      if (e.from == u) {
        uses.push_back(&e);
        const Cycle longest = m.window.latest[static_cast<std::size_t>(e.to)] + e.distance * ii +
                              e.hold - m.window.earliest[static_cast<std::size_t>(u)];
        reach = std::max(reach, longest / ii);
      }
    if (uses.empty()) continue;
    const Amount most = most_copies(p, u);
    Cycle copies = std::min(reach, most);
    const bool small = most >= 16;
    const Cycle counted = m.request.detail >= 30 ? reach : Cycle{1} << m.request.detail;
    if (small && m.request.detail == 0) {
      m.relaxed = true;
      continue;
    }
    bool forbid_more = true;
    if (small && counted < copies) {
      copies = counted;
      forbid_more = false;
      m.relaxed = true;
    }
    const auto group = m.groups.open("lifetime of " + op.id);
    Encoder encoder(m, u, copies, forbid_more);
    for (const Edge* e : uses) encoder.edge(*e, uses.size() == 1);
    m.lifetimes.back() = encoder.take();
  }
}

}  // namespace twill
