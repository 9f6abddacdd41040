#include "engine/smtlib.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "encoders/straight_line.hpp"

namespace twill {
namespace {

std::string number(std::int64_t n) {
  return std::to_string(n);
}

/// Terms are texts; "" stands for false.
using Text = std::string;

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
  const Op& at(int v) const { return p_.ops[static_cast<std::size_t>(v)]; }

  Text op(int v, Cycle i, Cycle t) const {
    if (i >= copies_ || t < 0 || t >= end_) return "";
    return "op_" + number(v) + "_" + number(i) + "_" + number(t);
  }
  static Text live(int v, Cycle i, Cycle t) {
    return "live_" + number(v) + "_" + number(i) + "_" + number(t);
  }
  static Text opw(int v, int w) { return "opw_" + number(v) + "_" + number(w); }

  void family(const std::string& name) { out_ += "; " + name + "\n"; }
  void require(const Text& term) { out_ += "(assert " + term + ")\n"; }
  static Text negated(const Text& term) { return "(not " + term + ")"; }
  /// No term may be false ("") in these two.
  static Text all(const std::vector<Text>& terms) { return joined("and", "true", terms); }
  static Text any(const std::vector<Text>& terms) { return joined("or", "false", terms); }
  static Text joined(const char* name, const char* empty, const std::vector<Text>& terms) {
    if (terms.empty()) return empty;
    if (terms.size() == 1) return terms[0];
    Text text = "(" + Text(name);
    for (const Text& term : terms) text += " " + term;
    return text + ")";
  }
  static void add(std::vector<Text>& sum, const Text& term, Amount weight) {
    if (!term.empty() && weight > 0) sum.push_back("(ite " + term + " " + number(weight) + " 0)");
  }
  static Text total(const std::vector<Text>& sum) { return joined("+", "0", sum); }

  void comment_name(const std::string& what, int index, const std::string& name) {
    out_ += "; " + what + " " + number(index) + " = ";
    for (const char c : name) out_ += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    out_ += "\n";
  }

  void head();
  void schedule();
  void dependence();
  void capacity();
  void liveness();
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
  const auto declare = [&](const Text& name) { out_ += "(declare-fun " + name + " () Bool)\n"; };
  for (int v = 0; v < ops(); ++v) {
    for (Cycle i = 0; i < copies_; ++i) {
      for (Cycle t = 0; t < end_; ++t) declare(op(v, i, t));
      for (Cycle t = 0; t <= horizon_; ++t) declare(live(v, i, t));
    }
    for (int w = 0; w < slots(); ++w) declare(opw(v, w));
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
      for (Cycle t = 0; t < end_; ++t) {
        std::vector<Text> early;
        for (Cycle u = 0; u < std::min(t + e.delay, end_); ++u)
          early.push_back(negated(op(e.to, i + e.distance, u)));
        if (!early.empty()) require("(=> " + op(e.from, i, t) + " " + all(early) + ")");
      }
}

void Writer::capacity() {
  family("CAPACITY");
  for (int unit = 0; unit < static_cast<int>(p_.units.size()); ++unit)
    for (Cycle t = 0; t < end_; ++t) {
      std::vector<Text> sum;
      for (int v = 0; v < ops(); ++v)
        for (const Reservation& r : at(v).reservations)
          for (Cycle i = 0; i < copies_ && r.unit == unit; ++i)
            for (Cycle c = r.offset; c < r.offset + r.length; ++c)
              add(sum, op(v, i, t - c), r.amount);
      require("(<= " + total(sum) + " " +
              number(p_.units[static_cast<std::size_t>(unit)].capacity) + ")");
    }
}

void Writer::liveness() {
  family("INIT, LIVEPROP-1, LIVEPROP-2, DEADPROP-1, DEADPROP-2");
  for (int v = 0; v < ops(); ++v)
    for (Cycle i = 0; i < copies_; ++i) {
      bool carried = false;
      std::vector<Text> beyond;  // uses of this copy that end behind T, by the start of the user
      for (const Edge& e : p_.edges) {
        if (e.from != v) continue;
        carried = carried || e.distance > 0;
        for (Cycle t = 0; t < end_; ++t)
          if (t + (i + e.distance) * ii_ + e.hold > horizon_) beyond.push_back(op(e.to, 0, t));
      }
      const Text last = live(v, i, horizon_);
      if (literal_)
        require(carried && i == copies_ - 1 ? last : negated(last));
      else
        require("(= " + last + " " + any(beyond) + ")");
      for (Cycle t = 1; t <= horizon_; ++t) {
        const Text now = live(v, i, t), before = live(v, i, t - 1), issue = op(v, i, t);
        std::vector<Text> uses;
        for (const Edge& e : p_.edges) {
          if (e.from != v) continue;
          // The corrected program knows the starts of copies behind its last one, too.
          const Cycle user = i + e.distance, end = literal_ ? t : t - e.hold;
          const Text use =
              literal_ || user < copies_ ? op(e.to, user, end) : op(e.to, 0, end - user * ii_);
          if (!use.empty()) uses.push_back(use);
        }
        const Text dead = negated(now), used = any(uses);
        if (!issue.empty())
          require("(=> " + (literal_ ? "(and " + now + " " + issue + ")" : issue) + " " +
                  negated(before) + ")");
        require("(=> " + (issue.empty() ? now : "(and " + now + " " + negated(issue) + ")") + " " +
                before + ")");
        if (!uses.empty())
          require("(=> (and " + dead + " " + used +
                  (literal_ || issue.empty() ? "" : " " + negated(issue)) + ") " + before + ")");
        require("(=> (and " + dead + " " + negated(used) + ") " + negated(before) + ")");
      }
    }
}

void Writer::memory() {
  family("MEMORY CAPACITY");
  for (int memory = 0; memory < static_cast<int>(p_.memories.size()); ++memory)
    for (Cycle t = 0; t < end_; ++t) {
      std::vector<Text> sum;
      for (int v = 0; v < ops(); ++v)
        for (const Footprint& footprint : at(v).footprints)
          for (Cycle i = 0; i < copies_ && footprint.memory == memory; ++i)
            add(sum, live(v, i, t), footprint.amount);
      require("(<= " + total(sum) + " " +
              number(p_.memories[static_cast<std::size_t>(memory)].capacity) + ")");
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
        for (Cycle i = 0; i < copies_; ++i)
          add(sum, "(and " + live(v, i, t) + " " + opw(v, w) + ")", at(v).registers);
      require("(<= " + total(sum) + " " + number(p_.warps[static_cast<std::size_t>(w)].registers) +
              ")");
    }
}

void Writer::spills() {
  family("CROSS-WARP SPILLS");
  for (const Edge& e : p_.edges)
    for (int a = 0; a < slots() && e.from != e.to; ++a)
      for (int b = 0; b < slots(); ++b)
        for (Cycle i = 0; a != b && i + e.distance < copies_; ++i)
          for (Cycle t = 0; t < end_; ++t)
            for (Cycle s = 0; s < at(e.from).spill; ++s)
              if (const Text early = op(e.to, i + e.distance, t + e.delay + s); !early.empty())
                require("(=> (and " + op(e.from, i, t) + " " + opw(e.from, a) + " " + opw(e.to, b) +
                        ") " + negated(early) + ")");
}

void Writer::concurrency() {
  family("CONCURRENCY");
  const int marked = variable_latency_slot(p_);
  for (const Edge& e : p_.edges) {
    if (!e.blocking && (at(e.from).spill == 0 || e.from == e.to)) continue;
    for (int w = 0; w < slots(); ++w) {
      if (w == marked) continue;
      for (int o = 0; o < ops(); ++o) {
        if (o == e.to || at(o).cycles == 0) continue;
        std::vector<Text> here = {opw(e.to, w), opw(o, w)};
        if (!e.blocking) here.push_back(negated(opw(e.from, w)));
        for (Cycle i = 0; i < copies_; ++i)
          for (Cycle t = 0; t < end_; ++t) {
            std::vector<Text> executing;
            for (Cycle j = 0; j < copies_; ++j)
              for (Cycle u = std::max<Cycle>(0, t - (at(o).cycles - 1)); u <= t; ++u)
                executing.push_back(op(o, j, u));
            std::vector<Text> premise = here;
            premise.push_back(op(e.to, i, t));
            require("(=> " + all(premise) + " " + negated(any(executing)) + ")");
          }
      }
    }
  }
}

}  // namespace

std::string smtlib(const Problem& problem, Cycle ii, Cycle length, bool literal) {
  return Writer(problem, ii, length, literal).write();
}

}  // namespace twill
