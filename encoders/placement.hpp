// What the forms share: the slot literals, the rules about slots alone, and what is no more than a
// dependence.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/formula.hpp"
#include "graph/problem.hpp"

namespace twill {

/// M(to) + distance * I >= M(from) + delay, and nothing is live because of it. `distance` may be
/// negative.
struct Precedence {
  int from = 0, to = 0;
  int distance = 0;
  Cycle delay = 0;
};

struct GoalKind;  // goals.hpp

/// Secondary goals that no capacity expresses.
struct PlacementLimits {
  struct Part {
    const GoalKind* goal;  ///< one with terms
    int index;
    std::int64_t weight = 1;
    bool operator==(const Part&) const = default;
  };
  struct Count {
    std::vector<Part> parts;  ///< whose weighted sum is
    std::int64_t most;        ///< at most this
  };
  std::vector<Count> counts = {};                  ///< in the order of the table of goals
  std::int64_t lifetime = -1;                      ///< total_lifetime(); -1 = no limit
  std::vector<Precedence> precedences = {};        ///< of ring depths
  std::vector<std::pair<int, Cycle>> latest = {};  ///< op, the last cycle that it may start at

  /// Do they single out an op, so that exchanging it with another can break them?
  bool single_out() const { return !precedences.empty() || !latest.empty(); }
};

struct PlacementRequest {
  bool handover = true;  ///< may register results cross slots at all (ablation)
  PlacementLimits limits = {};
  bool parts = false;  ///< a selector per ConstraintPart, for explanations; order form only
};

/// One constraint of the problem at the grain in which an explanation names it. All are of the
/// loop: none is about one of several identical slots, so that these may be exchanged in any set of
/// them.
struct ConstraintPart {
  enum Kind {
    pin,         ///< Problem::pins[index]
    unit,        ///< capacity of unit `index`
    registers,   ///< on a slot that has too few for them, `copies` are not all live at once
    memory,      ///< nor anywhere, for memory `index`
    inner_loop,  ///< Problem::inner_loops[index]: its offsets, and its slots for itself
    wait,        ///< edge `index` is blocking: nothing else of the slot executes at its end's issue
    hold,        ///< edge `index` keeps its value for its hold; without: until the use issues
    handover,    ///< edge `index` across slots costs the spill, and a wait
    no_handover,  ///< edge `index` may not cross slots (PlacementRequest::handover)
    dependence,   ///< the delay of edge `index`
  } kind = unit;
  int index = -1;
  /// Op, live copies of its value or, where the memory charges it, buffers of its ring; by op.
  std::vector<std::pair<int, Cycle>> copies = {};
  auto operator<=>(const ConstraintPart&) const = default;
};

/// Names for clauses, and a selector literal for each part where those are asked for, so that a
/// refutation can name what clashes.
class ConstraintGroups {
 public:
  ConstraintGroups(Formula& f, bool by_parts) : f_(f), by_parts_(by_parts) {}
  /// Until the returned object dies, clauses belong to the group `description`.
  Formula::Guarded open(std::string_view description) {
    return Formula::Guarded(f_, kTrueLit, description);
  }
  /// The same, and where parts have selectors the clauses hold only if that of `part` is true.
  Formula::Guarded open(std::string_view description, const ConstraintPart& part) {
    return Formula::Guarded(f_, by_parts_ ? selector(part) : kTrueLit, description);
  }
  bool by_parts() const { return by_parts_; }
  /// Of a part, where parts have them.
  Lit selector(const ConstraintPart& part) {
    const auto [place, fresh] = parts_.emplace(part, kFalseLit);
    if (fresh) place->second = f_.fresh();
    return place->second;
  }
  const std::map<ConstraintPart, Lit>& parts() const { return parts_; }

 private:
  Formula& f_;
  bool by_parts_;
  std::map<ConstraintPart, Lit> parts_;
};

/// Everything the families of a form share while a formula is built.
struct PlacementModel {
  PlacementModel(const Problem& p, Formula& formula, const EncodingChoice& encoding,
                 const PlacementRequest& request)
      : problem(p),
        f(formula),
        choice(encoding),
        placement(request),
        groups(formula, request.parts) {}

  virtual ~PlacementModel() = default;
  /// M(v) + distance * I >= M(u) + delay whenever `condition` is true: what each form says in its
  /// own way.
  virtual void precede(int u, int v, Cycle distance, Cycle delay, Lit condition) = 0;

  const Problem& problem;
  Formula& f;
  const EncodingChoice& choice;
  const PlacementRequest& placement;
  ConstraintGroups groups;
  std::vector<std::vector<Lit>> slot;  ///< slot[v][w]: op v is on slot w
  std::vector<Lit> cross;              ///< per edge: implied when its ops are on different slots

  Lit on(int v, int w) const {
    return slot[static_cast<std::size_t>(v)][static_cast<std::size_t>(w)];
  }
};

/// "start of S at most 4": the group of a latest start.
std::string latest_text(const Problem& problem, const std::pair<int, Cycle>& latest);  // goals.cpp
/// "ring of ld_k, used by s0_qk": the group of a precedence.
std::string ring_text(const Problem& problem, const Precedence& precedence);  // goals.cpp

// What the forms share because it is about slots alone, or says no more of starts than precede().
void encode_slots(PlacementModel& m);             // warp_assignment.cpp: uniqueness, latency
void encode_warp_assignment(PlacementModel& m);   // the same file: that, pins, and who crosses
void encode_symmetry(PlacementModel& m);          // symmetry.cpp: identical slots
void encode_placement_limits(PlacementModel& m);  // goals.cpp

void encode_inner_loops(PlacementModel& m, Cycle ii);  // inner_loops.cpp: their offsets
/// A form's clauses that op `issued` is not issued while `executing` executes, where both literals
/// are true.
using NotIssuedIn = std::function<void(int issued, int executing, Lit, Lit)>;
/// inner_loops.cpp: rule 12, parts have their slots for themselves.
void encode_inner_loops_alone(PlacementModel& m, Cycle ii, const NotIssuedIn& not_issued_in);

// dependence.cpp: rule 1 of one edge, rule 7 of one edge, and the rings that goals limit.
void encode_dependence_of(PlacementModel& m, int edge);
void encode_handover_of(PlacementModel& m, int edge);
void encode_ring_limits(PlacementModel& m);
/// The same file: the ring of load u has at most `buffers` buffers unless `more`.
void limit_buffers(PlacementModel& m, int u, Cycle buffers, Lit more);

/// Per op: implied when the op must wait at its issue (rule 8): an incoming edge is blocking or
/// hands a register result over from another slot. In waits.cpp.
std::vector<Lit> encode_waits(PlacementModel& m);

}  // namespace twill
