#include "bench/smtlib.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "encoders/straight_line/straight_line.hpp"
#include "graph/check.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
namespace {

/// Terms are texts; "" stands for false, and kTrue is known where terms are put together.
using Text = std::string;
const Text kTrue = "true";

Text number(std::int64_t n) {
  return std::to_string(n);
}

Text written(const Text& term) {
  return term.empty() ? "false" : term;
}

Text negated(const Text& term) {
  if (term.empty()) return kTrue;
  return term == kTrue ? "" : "(not " + term + ")";
}

Text joined(const char* name, const std::vector<Text>& terms) {
  Text text = "(" + Text(name);
  for (const Text& term : terms) (text += " ") += term;
  return text + ")";
}

Text all(std::vector<Text> terms) {
  std::erase(terms, kTrue);
  if (std::find(terms.begin(), terms.end(), "") != terms.end()) return "";
  if (terms.empty()) return kTrue;
  return terms.size() == 1 ? terms[0] : joined("and", terms);
}

Text any(std::vector<Text> terms) {
  std::erase(terms, "");
  if (std::find(terms.begin(), terms.end(), kTrue) != terms.end()) return kTrue;
  if (terms.empty()) return "";
  return terms.size() == 1 ? terms[0] : joined("or", terms);
}

void add(std::vector<Text>& sum, const Text& term, Amount weight) {
  if (term.empty() || weight == 0) return;
  sum.push_back(term == kTrue ? number(weight) : "(ite " + term + " " + number(weight) + " 0)");
}

Text total(const std::vector<Text>& sum) {
  if (sum.empty()) return "0";
  return sum.size() == 1 ? sum[0] : joined("+", sum);
}

class Writer {
 public:
  Writer(const Problem& problem, Cycle ii, Cycle length, bool literal)
      : p_(problem), ii_(ii), length_(length), literal_(literal) {
    StraightLineRequest request;
    request.ii = ii;
    request.length = length;
    request.literal = literal;
    const StraightLineShape shape = straight_line_shape(problem, request);
    copies_ = shape.copies;
    horizon_ = shape.horizon;
    end_ = literal ? horizon_ : horizon_ + 1;
  }

  std::string write() {
    head();
    schedule();
    dependence();
    capacity();
    liveness();
    memory();
    warps();
    registers();
    spills();
    concurrency();
    out_ += "(check-sat)\n";
    return std::move(out_);
  }

 private:
  int ops() const { return static_cast<int>(p_.ops.size()); }
  int slots() const { return static_cast<int>(p_.warps.size()); }
  int edges() const { return static_cast<int>(p_.edges.size()); }
  const Op& at(int v) const { return p_.ops[static_cast<std::size_t>(v)]; }
  const Edge& edge(int e) const { return p_.edges[static_cast<std::size_t>(e)]; }

  Text op(int v, Cycle i, Cycle t) const {
    if (i >= copies_ || t < 0 || t >= end_) return "";
    return "op_" + number(v) + "_" + number(i) + "_" + number(t);
  }
  /// The cycles in which UNIQUENESS, CONSISTENCY and COMPLETION let copy i of v be issued.
  Cycle first(Cycle i) const { return i * ii_; }
  Cycle last(int v, Cycle i) const { return std::min(length_ - at(v).cycles + i * ii_, end_ - 1); }
  /// op(v, i, t), known to be false elsewhere.
  Text issued(int v, Cycle i, Cycle t) const {
    return i < copies_ && t >= first(i) && t <= last(v, i) ? op(v, i, t) : "";
  }
  /// Copy i < copies of v is issued at `t` or before.
  Text by(int v, Cycle i, Cycle t) const {
    if (t >= last(v, i)) return kTrue;
    if (t < first(i)) return "";
    return "by_" + number(v) + "_" + number(i) + "_" + number(t);
  }
  /// Copy i < copies of v is issued in (after, t].
  Text issued_in(int v, Cycle i, Cycle after, Cycle t) const {
    return all({by(v, i, t), negated(by(v, i, after))});
  }
  static Text live(int v, Cycle i, Cycle t) {
    return "live_" + number(v) + "_" + number(i) + "_" + number(t);
  }
  static Text opw(int v, int w) { return "opw_" + number(v) + "_" + number(w); }
  static Text apart(int e) { return "apart_" + number(e); }
  static Text run(int o, Cycle t) { return "run_" + number(o) + "_" + number(t); }
  static Text together(int v, int o) { return "with_" + number(v) + "_" + number(o); }
  static Text busy(int v, Cycle t) { return "busy_" + number(v) + "_" + number(t); }
  /// May v be on slot w? opw_v_w is asserted false where not.
  bool allowed(int v, int w) const {
    const int marked = variable_latency_slot(p_);
    return p_.warps[static_cast<std::size_t>(w)].width >= at(v).width &&
           (marked < 0 || at(v).variable_latency == (w == marked));
  }
  /// Does a value cross warps at a cost when the ops of `e` are on different slots?
  bool spilled(const Edge& e) const { return spill_of(p_, e) > 0 && e.from != e.to; }

  void family(const char* name) { out_ += "; " + std::string(name) + "\n"; }
  void require(const Text& term) {
    if (term != kTrue) out_ += "(assert " + written(term) + ")\n";
  }
  void implies(const std::vector<Text>& premises, const Text& conclusion) {
    const Text premise = all(premises);
    if (premise.empty() || conclusion == kTrue) return;
    require(premise == kTrue     ? conclusion
            : conclusion.empty() ? negated(premise)
                                 : "(=> " + premise + " " + conclusion + ")");
  }
  void equal(const Text& a, const Text& b) {
    require(b == kTrue ? a : b.empty() ? negated(a) : "(= " + a + " " + b + ")");
  }
  void declare(const Text& name) { out_ += "(declare-fun " + name + " () Bool)\n"; }
  void define(const Text& name, const Text& term) {
    out_ += "(define-fun " + name + " () Bool " + written(term) + ")\n";
  }
  void at_most(const std::vector<Text>& sum, Amount limit) {
    require("(<= " + total(sum) + " " + number(limit) + ")");
  }

  void comment_name(const char* what, int index, const std::string& name) {
    out_ += "; " + std::string(what) + " " + number(index) + " = ";
    for (const char c : name) out_ += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    out_ += "\n";
  }

  void head();
  void schedule();
  void dependence();
  void capacity();
  void liveness();
  Text live_at_end(int v, Cycle i) const;
  Text used_at(int v, Cycle i, Cycle t) const;
  void add_ring(std::vector<Text>& sum, int memory, int u, Amount each);
  void memory();
  void warps();
  void registers();
  void spills();
  void concurrency();

  const Problem& p_;
  const Cycle ii_, length_;
  const bool literal_;
  Cycle copies_ = 0, horizon_ = 0;
  Cycle end_ = 0;  // op[v,i,t] has t in [0, end)
  std::string out_;
};

void Writer::head() {
  out_ += literal_ ? "; Soi et al. 2025, Figures 4-6 as printed"
                   : "; Soi et al. 2025, Figures 4-6, copies and INIT corrected";
  out_ += ": I = " + number(ii_) + ", L = " + number(length_) + ", " + number(copies_) +
          " copies, T = " + number(horizon_) + "\n";
  for (int v = 0; v < ops(); ++v) comment_name("op", v, at(v).id);
  for (int w = 0; w < slots(); ++w)
    comment_name("slot", w, p_.warps[static_cast<std::size_t>(w)].name);
  out_ += "(set-logic QF_LIA)\n";
  for (int v = 0; v < ops(); ++v) {
    for (Cycle i = 0; i < copies_; ++i) {
      for (Cycle t = 0; t < end_; ++t) declare(op(v, i, t));
      for (Cycle t = 0; t <= horizon_; ++t) declare(live(v, i, t));
    }
    for (int w = 0; w < slots(); ++w) declare(opw(v, w));
  }
  family("Abbreviation: by_v_i_t = copy i of op v is issued in cycle t or before");
  for (int v = 0; v < ops(); ++v)
    for (Cycle i = 0; i < copies_; ++i)
      for (Cycle t = first(i); t < last(v, i); ++t) {
        declare(by(v, i, t));
        equal(by(v, i, t), any({by(v, i, t - 1), op(v, i, t)}));
      }
}

void Writer::schedule() {
  family("UNIQUENESS");
  for (int v = 0; v < ops(); ++v)
    for (Cycle i = 0; i < copies_; ++i) {
      std::vector<Text> sum;
      for (Cycle t = 0; t < end_; ++t) add(sum, op(v, i, t), 1);
      require("(= " + total(sum) + " 1)");
    }
  family("CONSISTENCY");
  for (int v = 0; v < ops(); ++v)
    for (Cycle i = 1; i < copies_; ++i)
      for (Cycle t = 0; t < end_; ++t) {
        const Text later = op(v, i, t + i * ii_);
        require(later.empty() ? negated(op(v, 0, t)) : "(=> " + op(v, 0, t) + " " + later + ")");
      }
  family("COMPLETION");
  for (int v = 0; v < ops(); ++v)
    for (Cycle i = 0; i < copies_; ++i)
      for (Cycle t = std::max<Cycle>(0, horizon_ - at(v).cycles + 1); t < end_; ++t)
        require(negated(op(v, i, t)));
}

void Writer::dependence() {
  family("DEPENDENCE");
  for (const Edge& e : p_.edges)
    for (Cycle i = 0; i + e.distance < copies_; ++i)
      for (Cycle t = first(i); t <= last(e.from, i); ++t)
        implies({op(e.from, i, t)}, negated(by(e.to, i + e.distance, t + e.delay - 1)));
}

void Writer::capacity() {
  family("CAPACITY");
  for (int unit = 0; unit < static_cast<int>(p_.units.size()); ++unit)
    for (Cycle t = 0; t < end_; ++t) {
      std::vector<Text> sum;
      for (int v = 0; v < ops(); ++v)
        for (const Reservation& r : at(v).reservations)
          for (Cycle i = 0; i < copies_ && r.unit == unit; ++i)
            add(sum, issued_in(v, i, t - r.offset - r.length, t - r.offset), r.amount);
      at_most(sum, p_.units[static_cast<std::size_t>(unit)].capacity);
    }
}

/// Is the result of copy i of v live at T?
Text Writer::live_at_end(int v, Cycle i) const {
  bool carried = false;
  std::vector<Text> beyond;  // a use of this copy ends behind T
  for (const Edge& e : p_.edges) {
    if (e.from != v) continue;
    carried = carried || e.distance > 0;
    // Copy 0 of the user issued at `latest` ends its use at T.
    const Cycle latest = horizon_ - (i + e.distance) * ii_ - e.hold;
    beyond.push_back(negated(by(e.to, 0, latest)));
  }
  if (literal_) return carried && i == copies_ - 1 ? kTrue : "";
  return any(beyond);
}

/// Does a use of copy i of v end at t?
Text Writer::used_at(int v, Cycle i, Cycle t) const {
  std::vector<Text> uses;
  for (const Edge& e : p_.edges) {
    if (e.from != v) continue;
    // The corrected program knows the starts of copies behind its last one, too.
    const Cycle user = i + e.distance, end = literal_ ? t : t - e.hold;
    uses.push_back(literal_ || user < copies_ ? issued(e.to, user, end)
                                              : issued(e.to, 0, end - user * ii_));
  }
  return any(uses);
}

void Writer::liveness() {
  family("INIT");
  for (int v = 0; v < ops(); ++v)
    for (Cycle i = 0; i < copies_; ++i) equal(live(v, i, horizon_), live_at_end(v, i));
  family("LIVEPROP-1, LIVEPROP-2, DEADPROP-1, DEADPROP-2");
  for (int v = 0; v < ops(); ++v)
    for (Cycle i = 0; i < copies_; ++i)
      for (Cycle t = 1; t <= horizon_; ++t) {
        const Text now = live(v, i, t), used = used_at(v, i, t);
        const Text fresh = negated(issued(v, i, t));
        // As printed a value that is dead at t was live before if it is used at t, even where t is
        // the cycle of its own issue.
        equal(live(v, i, t - 1), literal_ ? any({all({now, fresh}), all({negated(now), used})})
                                          : all({fresh, any({now, used})}));
      }
}

/// Defines, for k = 1, 2, ..., "the ring of load u has more than k buffers": some use of a buffer
/// does not end before the load of k iterations later. Adds them to the sum, `each` a buffer, the
/// first included.
void Writer::add_ring(std::vector<Text>& sum, int memory, int u, Amount each) {
  const std::vector<BufferUse> uses = buffer_uses(p_, u);
  Cycle more = 0;
  for (const BufferUse& use : uses)
    more = std::max(more, (last(use.op, 0) + use.iterations * ii_ + use.cycles) / ii_);
  add(sum, kTrue, each);
  for (Cycle k = 1; k <= more; ++k) {
    std::vector<Text> late;
    for (const BufferUse& use : uses)
      for (Cycle t = first(0); t <= last(use.op, 0); ++t)
        late.push_back(
            all({op(use.op, 0, t), by(u, 0, t + (use.iterations - k) * ii_ + use.cycles)}));
    const Text name = "more_" + number(memory) + "_" + number(u) + "_" + number(k);
    define(name, any(late));
    add(sum, name, each);
  }
}

void Writer::memory() {
  family("MEMORY CAPACITY");
  for (int memory = 0; memory < static_cast<int>(p_.memories.size()); ++memory) {
    const MemoryCharges charges = memory_charges(p_, memory);
    std::vector<Text> rings;
    for (int u = 0; u < ops(); ++u)
      if (const Amount each = charges.ring[static_cast<std::size_t>(u)]; each > 0)
        add_ring(rings, memory, u, each);
    for (Cycle t = 0; t < end_; ++t) {
      std::vector<Text> sum = rings;
      for (int v = 0; v < ops(); ++v)
        for (Cycle i = 0; i < copies_; ++i)
          add(sum, live(v, i, t), charges.live[static_cast<std::size_t>(v)]);
      at_most(sum, p_.memories[static_cast<std::size_t>(memory)].capacity);
    }
  }
}

void Writer::warps() {
  family("WARP UNIQUENESS");
  for (int v = 0; v < ops(); ++v) {
    std::vector<Text> sum;
    for (int w = 0; w < slots(); ++w) add(sum, opw(v, w), 1);
    require("(= " + total(sum) + " 1)");
    for (int w = 0; w < slots(); ++w)
      if (p_.warps[static_cast<std::size_t>(w)].width < at(v).width) require(negated(opw(v, w)));
  }
  family("VARIABLE LATENCY");
  const int marked = variable_latency_slot(p_);
  for (int v = 0; v < ops() && marked >= 0; ++v)
    require(at(v).variable_latency ? opw(v, marked) : negated(opw(v, marked)));
}

void Writer::registers() {
  family("REGISTER LIMIT");
  for (int w = 0; w < slots(); ++w)
    for (Cycle t = 0; t < end_; ++t) {
      std::vector<Text> sum;
      for (int v = 0; v < ops(); ++v)
        for (Cycle i = 0; i < copies_ && at(v).registers > 0 && allowed(v, w); ++i)
          add(sum, "(and " + live(v, i, t) + " " + opw(v, w) + ")", at(v).registers);
      at_most(sum, p_.warps[static_cast<std::size_t>(w)].registers);
    }
}

void Writer::spills() {
  family("CROSS-WARP SPILLS");
  for (int k = 0; k < edges(); ++k) {
    const Edge& e = edge(k);
    if (!spilled(e)) continue;
    std::vector<Text> pairs;
    for (int a = 0; a < slots(); ++a)
      for (int b = 0; b < slots(); ++b)
        if (a != b && allowed(e.from, a) && allowed(e.to, b))
          pairs.push_back(all({opw(e.from, a), opw(e.to, b)}));
    define(apart(k), any(pairs));
    for (Cycle i = 0; i + e.distance < copies_; ++i)
      for (Cycle t = first(i); t <= last(e.from, i); ++t)
        implies({op(e.from, i, t), apart(k)},
                negated(by(e.to, i + e.distance, t + e.delay + spill_of(p_, e) - 1)));
  }
}

void Writer::concurrency() {
  family("CONCURRENCY");
  const int marked = variable_latency_slot(p_);
  const auto executing = [&](int o, Cycle t) {
    std::vector<Text> copies;
    for (Cycle j = 0; j < copies_; ++j) copies.push_back(issued_in(o, j, t - at(o).cycles, t));
    return any(copies);
  };
  std::vector<std::vector<Text>> running(p_.ops.size());
  for (int o = 0; o < ops(); ++o)
    for (Cycle t = 0; t < end_ && at(o).cycles > 0; ++t) {
      const Text term = executing(o, t);
      const bool constant = term.empty() || term == kTrue;
      if (!constant) define(run(o, t), term);
      running[static_cast<std::size_t>(o)].push_back(constant ? term : run(o, t));
    }
  for (int v = 0; v < ops(); ++v) {
    bool always = false;      // v waits wherever its producers are
    std::vector<Text> waits;  // v waits for the producer of one of these edges
    for (int k = 0; k < edges(); ++k) {
      if (edge(k).to != v) continue;
      always = always || edge(k).blocking;
      if (spilled(edge(k))) waits.push_back(apart(k));
    }
    if (!always && waits.empty()) continue;
    std::vector<int> others;
    for (int o = 0; o < ops(); ++o) {
      if (o == v || at(o).cycles == 0) continue;
      std::vector<Text> shared;
      for (int w = 0; w < slots(); ++w)
        if (w != marked && allowed(v, w) && allowed(o, w))
          shared.push_back(all({opw(v, w), opw(o, w)}));
      if (shared.empty()) continue;
      define(together(v, o), any(shared));
      others.push_back(o);
    }
    const Text waiting = always ? kTrue : any(waits);
    for (Cycle t = 0; t <= last(v, copies_ - 1); ++t) {
      std::vector<Text> on_slot;
      for (const int o : others)
        on_slot.push_back(all(
            {together(v, o), running[static_cast<std::size_t>(o)][static_cast<std::size_t>(t)]}));
      const Text some = any(on_slot);
      if (some.empty()) continue;
      define(busy(v, t), some);
      for (Cycle i = 0; i < copies_; ++i) implies({issued(v, i, t), waiting}, negated(busy(v, t)));
    }
  }
}

}  // namespace

std::string smtlib(const Problem& problem, Cycle ii, Cycle length, bool literal) {
  refuse_pins(problem, "the straight-line program");
  refuse_inner_loops(problem, "the straight-line program");
  refuse_range(problem, "the straight-line program");
  if (literal) refuse_rings(problem, "the straight-line program as printed");
  return Writer(problem, ii, length, literal).write();
}

}  // namespace twill
