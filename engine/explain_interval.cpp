#include "engine/explain_interval.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "engine/search.hpp"
#include "graph/bounds.hpp"

namespace twill {
namespace {

using Change = std::function<void(Problem&)>;

struct Constraint {
  std::string text;
  Change drop;
};

// "; largest s0_exp_p 128, s0_sub_s 64": what weighs on a resource, at most four.
template <class AmountOf>
std::string largest(const Problem& problem, const AmountOf& amount_of, const char* unit) {
  std::vector<std::pair<Amount, int>> weights;
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    if (const Amount amount = amount_of(v); amount > 0) weights.emplace_back(-amount, v);
  std::stable_sort(weights.begin(), weights.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < weights.size() && i < 4; ++i)
    text += (i == 0 ? ": " : ", ") + problem.ops[static_cast<std::size_t>(weights[i].second)].id +
            " " + std::to_string(-weights[i].first);
  if (weights.size() > 4) text += ", ...";
  return text.empty() ? text : text + unit;
}

std::vector<Constraint> unit_constraints(const Problem& p) {
  std::vector<Constraint> all;
  for (int f = 0; f < static_cast<int>(p.units.size()); ++f) {
    const auto cycles = [&](int v) {
      Cycle sum = 0;
      for (const Reservation& r : p.ops[static_cast<std::size_t>(v)].reservations)
        if (r.unit == f) sum += r.length;
      return sum;
    };
    const std::string load = largest(p, cycles, " cycles");
    if (load.empty()) continue;
    const Unit& unit = p.units[static_cast<std::size_t>(f)];
    all.push_back(
        {"unit " + unit.name + " (" + std::to_string(unit.capacity) + ")" + load, [f](Problem& q) {
           for (Op& op : q.ops)
             std::erase_if(op.reservations, [f](const Reservation& r) { return r.unit == f; });
         }});
  }
  return all;
}

std::vector<Constraint> memory_constraints(const Problem& p) {
  std::vector<Constraint> all;
  for (int m = 0; m < static_cast<int>(p.memories.size()); ++m) {
    const auto amount = [&](int v) {
      Amount sum = 0;
      for (const Footprint& f : p.ops[static_cast<std::size_t>(v)].footprints)
        if (f.memory == m) sum += f.amount;
      return sum;
    };
    const std::string load = largest(p, amount, "");
    if (load.empty()) continue;
    const Memory& memory = p.memories[static_cast<std::size_t>(m)];
    all.push_back({"memory " + memory.name + " (" + std::to_string(memory.capacity) + ")" + load,
                   [m](Problem& q) {
                     for (Op& op : q.ops)
                       std::erase_if(op.footprints,
                                     [m](const Footprint& f) { return f.memory == m; });
                   }});
  }
  return all;
}

std::vector<Constraint> register_constraints(const Problem& p) {
  std::vector<Constraint> all;
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
    const auto amount = [&](int v) {
      return slot_allowed(p, v, w) ? p.ops[static_cast<std::size_t>(v)].registers : 0;
    };
    const std::string load = largest(p, amount, "");
    if (load.empty()) continue;
    const WarpSlot& slot = p.warps[static_cast<std::size_t>(w)];
    all.push_back(
        {"registers of " + slot.name + " (" + std::to_string(slot.registers) + ")" + load,
         [w](Problem& q) { q.warps[static_cast<std::size_t>(w)].registers = kMaxAmount; }});
  }
  return all;
}

std::vector<Constraint> spill_constraints(const Problem& p) {
  std::vector<Constraint> all;
  for (std::size_t v = 0; v < p.ops.size(); ++v)
    if (p.ops[v].spill > 0)
      all.push_back({"hand-over of " + p.ops[v].id + " to another slot (" +
                         std::to_string(p.ops[v].spill) + " cycles, and a wait)",
                     [v](Problem& q) { q.ops[v].spill = 0; }});
  return all;
}

std::vector<Constraint> wait_constraints(const Problem& p) {
  std::vector<Constraint> all;
  for (std::size_t e = 0; e < p.edges.size(); ++e) {
    const Edge& edge = p.edges[e];
    if (!edge.blocking) continue;
    all.push_back({"wait of " + p.ops[static_cast<std::size_t>(edge.to)].id + " on " +
                       p.ops[static_cast<std::size_t>(edge.from)].id,
                   [e](Problem& q) { q.edges[e].blocking = false; }});
  }
  return all;
}

std::vector<Constraint> hold_constraints(const Problem& p) {
  std::vector<Constraint> all;
  for (std::size_t e = 0; e < p.edges.size(); ++e) {
    const Edge& edge = p.edges[e];
    if (edge.hold == 0) continue;
    all.push_back({"hold of " + p.ops[static_cast<std::size_t>(edge.from)].id + " by " +
                       p.ops[static_cast<std::size_t>(edge.to)].id + " (" +
                       std::to_string(edge.hold) + " cycles)",
                   [e](Problem& q) { q.edges[e].hold = 0; }});
  }
  return all;
}

std::vector<Constraint> pin_constraints(const Problem& p) {
  std::vector<Constraint> all;
  for (const Pin& pin : p.pins)
    all.push_back({pin_text(p, pin), [pin](Problem& q) { std::erase(q.pins, pin); }});
  return all;
}

// Single changes that a user could buy.
std::vector<Constraint> single_changes(const Problem& p) {
  std::vector<Constraint> all;
  for (std::size_t w = 0; w < p.warps.size(); ++w) {
    const WarpSlot& slot = p.warps[w];
    if (slot.variable_latency) continue;
    const bool again =
        std::any_of(p.warps.begin(), p.warps.begin() + static_cast<std::ptrdiff_t>(w),
                    [&](const WarpSlot& other) {
                      return other.width == slot.width && !other.variable_latency &&
                             other.registers == slot.registers;
                    });
    if (!again)
      all.push_back({"one more slot like " + slot.name, [slot](Problem& q) {
                       q.warps.push_back(slot);
                       q.warps.back().name += " (more)";
                     }});
  }
  for (std::size_t w = 0; w < p.warps.size(); ++w)
    if (p.warps[w].registers > 0)
      all.push_back({"16 more registers on " + p.warps[w].name,
                     [w](Problem& q) { q.warps[w].registers += 16; }});
  if (std::any_of(p.ops.begin(), p.ops.end(), [](const Op& op) { return op.spill > 0; }))
    all.push_back({"half of every spill", [](Problem& q) {
                     for (Op& op : q.ops) op.spill /= 2;
                   }});
  for (std::size_t f = 0; f < p.units.size(); ++f)
    all.push_back(
        {"one more instance of " + p.units[f].name, [f](Problem& q) { ++q.units[f].capacity; }});
  for (std::size_t m = 0; m < p.memories.size(); ++m)
    all.push_back({"twice the memory " + p.memories[m].name,
                   [m](Problem& q) { q.memories[m].capacity *= 2; }});
  return all;
}

class Explainer {
 public:
  Explainer(Cycle ii, const Options& options, const std::stop_token& stop, std::int64_t conflicts)
      : ii_(ii), options_(options), stop_(stop), conflicts_(conflicts) {}

  // Is there a schedule at the interval? Lengths are of no interest.
  Verdict ask(const Problem& problem) {
    const double left = options_.time_limit - spent_;
    if (stop_.stop_requested() || (options_.time_limit > 0 && left <= 0)) return Verdict::unknown;
    Options question = options_;
    if (options_.time_limit > 0) question.time_limit = left;
    if (conflicts_ > 0)
      question.conflict_limit =
          options_.conflict_limit > 0 ? std::min(conflicts_, options_.conflict_limit) : conflicts_;
    const Decided answer = decide_interval(problem, ii_, question, stop_);
    spent_ += answer.seconds;
    return answer.verdict;
  }

 private:
  Cycle ii_;
  Options options_;
  std::stop_token stop_;
  std::int64_t conflicts_;
  double spent_ = 0;
};

}  // namespace

IntervalExplanation explain_interval(const Problem& problem, Cycle ii, const Options& options,
                                     const std::stop_token& stop, std::int64_t question_conflicts) {
  check(problem);
  IntervalExplanation explanation;
  explanation.ii = ii;
  if (const auto recurrence = rec_mii(problem, false); recurrence && ii < recurrence->value) {
    explanation.verdict = Verdict::unsat;
    explanation.clash = {"recurrence " + recurrence->text};
    return explanation;
  }
  explanation.verdict = Explainer(ii, options, stop, 0).ask(problem);
  if (explanation.verdict != Verdict::unsat) return explanation;

  Explainer quick(ii, options, stop, question_conflicts);
  Problem rest = problem;  // without what is not needed
  // Still no schedule without all of `parts`?
  const auto needless = [&](const std::vector<Constraint>& parts) {
    Problem without = rest;
    for (const Constraint& part : parts) part.drop(without);
    const Verdict verdict = quick.ask(without);
    if (verdict == Verdict::unsat) rest = std::move(without);
    if (verdict == Verdict::unknown && parts.size() == 1) explanation.minimal = false;
    return verdict == Verdict::unsat;
  };
  for (const auto& family :
       {pin_constraints(problem), hold_constraints(problem), memory_constraints(problem),
        wait_constraints(problem), unit_constraints(problem), spill_constraints(problem),
        register_constraints(problem)}) {
    if (family.empty() || (family.size() > 1 && needless(family))) continue;
    for (const Constraint& one : family)
      if (!needless({one})) explanation.clash.push_back(one.text);
  }
  for (const Constraint& change : single_changes(problem)) {
    Problem changed = problem;
    change.drop(changed);
    explanation.relaxations.push_back({change.text, quick.ask(changed)});
  }
  return explanation;
}

}  // namespace twill
