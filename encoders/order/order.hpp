// The order form: start(v) = stage(v) * I + row(v), where rows are integers of a difference-logic
// solver and never bit-blasted, so that neither size nor time depends on the number of cycles.
//
// Slots are literals as in the modulo form. So are the stages where there are few; where there may
// be any number they are integers of difference logic as well, of which only the differences along
// edges matter: no bound on them is needed, and the formula does not grow with one. Ops that have
// nothing to gain from a start of their own (graph/bounds/coincidence.hpp) share row and stage,
// unless the request speaks of their starts. What the rules say about rows becomes clauses over
// difference atoms (difference.hpp), always of one kind: "an instant lies before copy m of an
// interval begins, or after it has ended, or is covered". Sums (units with several instances,
// memories, registers) are taken at the instants where something begins, over literals "so many
// copies are live", and are bit-blasted by the same pseudo-Boolean encodings as elsewhere. The idea
// is that of disjunctive graphs (Roy and Sussmann 1964) with lazy clause explanations (difference
// logic in SAT: Cotton and Maler, SAT 2006), applied to the modulo form of Soi et al. 2025.
//
// The formula holds for every I of a range at once: I is a parameter of the atoms. Where every
// weight in them is >= 0, as it is when reservations are one segment from the op's issue, a
// positive cycle at I stays positive at any smaller I, so that what has been learned is kept on the
// way down.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "encoders/order/difference.hpp"
#include "encoders/placement.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"
#include "graph/wide.hpp"

namespace twill {

struct OrderRequest : PlacementRequest {
  Cycle ii_low = 1, ii_high = 1;  ///< the formula is exact for every I in between
  Cycle stages = 0;               ///< stages lie in [0, stages), literals; 0 = any, integers
  int pinned = -1;                ///< op whose row is 0 (rotation symmetry), -1 = none
  /// An automorphism of the loop that exchanges ops in pairs (graph/bounds/automorphism.hpp), empty
  /// = none: of one pair the row of the first is at most that of the second. Where the first is
  /// pinned, the second is at most I / 2 later: else exchange them and rotate. Needs an empty
  /// `pins`.
  std::vector<int> exchange = {};
  /// Further ones, which make a chain with `exchange` (exchange_chain()) that begins with the op of
  /// exchanged_op(): the rows of the chain do not fall. None where that op is pinned.
  std::vector<std::vector<int>> further_exchanges = {};
  bool deadline = false;  ///< lengths of at most D only, D a parameter like I
  /// Where a resource is scarce, or models overflow it (OrderEncoding::refine), its values of at
  /// least 1/share of its capacity are counted, up to four copies of each; lighter ones, and more
  /// copies, only as they overflow.
  Amount share = 16;
  bool at_once = false;  ///< every resource is scarce
  /// Where a search is long: clauses about waits beside units that are hardly idle at an I of at
  /// most `ii` (order/full_units.cpp), added after so many refinements. 0 = none.
  struct FullUnits {
    Cycle ii = 0;
    std::int64_t after = 0;
  };
  FullUnits full_units = {};
  /// OrderRequest::share where nothing is counted but as it overflows.
  static constexpr Amount kNone = -1;
};

/// Of more stages, or turns of I, than this the greater part is left to arithmetic: literals only
/// where it leaves a choice, and clauses only where one that is stronger is not there.
inline constexpr Cycle kManyStages = 64;

/// May one formula stand for all I in [low, high]? (Weights >= 0, no dependence cycle is positive
/// at `low`, and nothing folds differently at the two ends.)
bool order_range_allowed(const Problem& problem, Cycle low, Cycle high);

/// Of the pairs that `exchange` exchanges, whose order is chosen? That of the pinned op, else that
/// of the longest op: its first. -1 = nothing changes places.
int exchanged_op(const Problem& problem, const OrderRequest& request);

/// The ops whose rows do not fall, from exchanged_op() on; empty = none are exchanged, or the
/// exchanges are none that a formula may rely on.
std::vector<int> exchanged_chain(const Problem& problem, const OrderRequest& request);

struct OrderModel : PlacementModel {
  OrderModel(const Problem& problem, Formula& f, const EncodingChoice& choice,
             const OrderRequest& order_request);

  const OrderRequest& request;
  std::vector<int> leader;  ///< per op, the one that it starts with (graph/bounds/coincidence.hpp)
  Differences rows;
  std::vector<Lit> waits = {};  ///< per op, see encode_waits(); empty until rule 8 is encoded
  /// Where stages are literals: stage(v) lies in [first, last], by arithmetic where there are many
  /// (kManyStages), else in [0, stages).
  struct StageWindow {
    Cycle first = 0, last = 0;
  };
  std::vector<StageWindow> window;
  std::vector<std::vector<Lit>> stage;  ///< stage[v][k]: stage(v) > first + k

  bool any_stage() const { return request.stages == 0; }
  /// stage(v) >= a, where stages are literals.
  Lit stage_at_least(int v, Cycle a) const {
    const StageWindow& w = window[static_cast<std::size_t>(v)];
    if (a <= w.first) return kTrueLit;
    if (a > w.last) return kFalseLit;
    return stage[static_cast<std::size_t>(v)][static_cast<std::size_t>(a - w.first - 1)];
  }

  /// stage(b) - stage(a) >= weight, where stages are integers.
  Difference stages_apart(int a, int b, Cycle weight) const {
    return {rows.stage_node(a), rows.stage_node(b), weight, 0};
  }
  void precede(int u, int v, Cycle distance, Cycle delay,
               Lit condition) override;  // order/dependence.cpp
  /// row(b) - row(a) >= weight + turns * I.
  Lit apart(int a, int b, Cycle weight, Cycle turns) {
    return rows.atom({rows.node(a), rows.node(b), weight, turns});
  }
};

/// The half-open interval [row(op) + begin, row(op) + end) and its copies every I cycles.
struct RowArc {
  int op = 0;
  Cycle begin = 0, end = 0;
};

/// A literal that is implied when copy `m` of the arc (shifted by m * I) covers the instant
/// row(op) + offset.
Lit covering(OrderModel& m, const RowArc& arc, Cycle copy, int op, Cycle offset);
/// The copies that may cover the instant at some I of the range: [first, last].
struct Copies {
  Cycle first, last;
};
Copies copies_near(const OrderModel& m, const RowArc& arc, Cycle offset);

/// Of a sequence of ops that wait on one slot: what else is in the gaps from the issue of one to
/// that of the next.
struct SlotGaps {
  /// An op that executes there in one gap, which is longer than what begins it by `excess` for each
  /// guest in it.
  struct Guest {
    int op = 0;
    Cycle cycles = 0, excess = 0;
  };
  std::vector<Guest> guests;
  std::vector<int> instants;  ///< ops of no cycles that wait there
};

/// Redundant constraints for ops whose executions, arcs from their issue on, exclude each other in
/// every schedule (order/sequence.cpp) in which all the variables `only_if` are true.
/// Every arc begins at 0, one an op.
void order_sequence(OrderModel& m, std::span<const RowArc> arcs, std::span<const Lit> only_if = {},
                    const SlotGaps& gaps = {});

/// Variables and clauses.
struct FormulaSize {
  double variables = 0, clauses = 0;
};
/// At least so many has rule 8 (order/concurrency.cpp): of pairs of ops that may wait and execute
/// on one slot, for more than a cycle and less than I, without a unit or an edge in common.
FormulaSize least_concurrency_size(const OrderModel& m);

// The families, beside those that placement.hpp has.
void encode_order_capacity(OrderModel& m);     // order/capacity.cpp: rule 2
void encode_order_concurrency(OrderModel& m);  // order/concurrency.cpp: rule 8
void encode_order_length(OrderModel& m);       // order/length.cpp
/// order/full_units.cpp: rules 2 and 8 where a unit is hardly idle at intervals of at most `ii`.
void encode_full_units(OrderModel& m, Cycle ii);
/// Has it any clause?
bool has_full_units(const OrderModel& m, Cycle ii);

/// Rules 3, 4 and 6 (order/lifetimes.cpp): live copies at the instants where values begin, and the
/// buffers of rings (order/rings.cpp).
class OrderLifetimes {
 public:
  explicit OrderLifetimes(OrderModel& m) : m_(m) {}
  /// The sums of resources that are scarce.
  void encode();
  /// What encode() has at least: a literal for every copy that it counts with two clauses for most
  /// edges, and one more a slot.
  FormulaSize least_size() const;
  /// Are these most of all sums?
  bool nearly_complete() const { return nearly_complete_; }
  /// Adds clauses against every sum that `schedule` overflows, over all values, and, where
  /// they have overflowed often enough, the sums of resources over heavy values. Returns how many
  /// of the former.
  int refine(const Schedule& schedule);
  bool overflowed() const { return !forbidden_.empty(); }
  /// The copies of a part, registers or memory, do not fit together.
  void forbid(const ConstraintPart& part);

 private:
  struct Resource {
    Amount capacity = 0;
    int slot = -1;  ///< of registers; -1 for a memory
    int memory = -1;
    std::vector<Amount> amounts;  ///< per op: of a live copy, or of a buffer of its ring
    std::string description;
    std::vector<char> rings;  ///< per op: it is a load whose ring the memory charges
    bool ring(int op) const { return rings[static_cast<std::size_t>(op)] != 0; }
  };
  using Copies = std::pair<int, Cycle>;  ///< of an op's value, or buffers of its ring
  std::vector<Resource> resources() const;
  /// What is left of the capacity when every ring has one buffer.
  static Amount beside_rings(const Resource& resource);
  /// Of a resource: the heavy values with the most copies (buffers) of each that are counted, and
  /// the ops at whose issue they are.
  struct Sums {
    std::vector<Copies> terms;
    std::vector<int> instants;
    Cycle cost() const;  ///< terms of all sums together
  };
  Sums sums(const Resource& resource) const;
  void count(const Resource& resource, const Sums& sums);
  /// One sum for the register files of all slots (order/register_files.cpp): is it made where so
  /// many have sums from the beginning?
  bool counts_jointly(std::size_t files) const;
  void count_files(std::span<const Resource* const> files);
  /// Implied when v and w are on one of these slots.
  Lit together(int v, int w, std::span<const Resource* const> files);
  /// Amount x cycles that the values take at least in an iteration (`life`: smallest_lifetimes()),
  /// and amount in which they have room.
  Wide least_area(const Resource& resource, const std::vector<Cycle>& life) const;
  Wide shared_capacity(const Resource& resource) const;
  /// Are its sums there from the beginning?
  bool from_the_beginning(const Resource& resource, const std::vector<Cycle>& life) const;
  /// One more model overflows it: counts it when that is often enough.
  void note_overflow(const Resource& resource);
  /// No sum that `overflow`, which takes `sum` of the resource, is a part of.
  int forbid(const Resource& resource, Amount sum, std::span<const Copies> overflow,
             std::span<const Resource> all);
  /// Implied when at least `copies` >= 1 copies of w's value are live at row(y).
  Lit live(int w, int y, Cycle copies);
  /// No more copies of w's value can be live at once within the stages (any number: as many as are
  /// asked for).
  Cycle most_copies(int w) const;
  /// Implied when the ring of load w has at least `buffers` (order/rings.cpp).
  Lit deep(int w, Cycle buffers);
  /// No ring of w has more within the stages.
  Cycle most_buffers(int w) const;
  /// Of the resource: copies of w's value, live at row(y), or buffers of w's ring.
  Lit taken(const Resource& resource, int w, int y, Cycle copies) {
    return resource.ring(w) ? deep(w, copies) : live(w, y, copies);
  }
  /// stage(to) - stage(from) + distance < turns, of edge e; for clauses in positive polarity.
  Lit turns_below(std::size_t e, Cycle turns);
  /// Implied when that is >= turns, where stages are literals.
  Lit turns_at_least(std::size_t e, Cycle turns);

  OrderModel& m_;
  bool nearly_complete_ = false;
  std::map<std::tuple<int, int, Cycle>, Lit> live_;
  std::map<std::pair<int, Cycle>, Lit> deep_;
  std::map<std::pair<std::size_t, Cycle>, Lit> turns_;
  std::set<std::tuple<int, int, std::vector<Copies>>> forbidden_;  ///< by slot and memory
  std::map<std::pair<int, int>, Cycle> overflows_;                 ///< the same
  std::set<std::pair<int, int>> counted_;                          ///< the same
  std::map<std::pair<int, int>, Lit> together_;
};

/// A formula of the order form with what the search needs back from it.
class OrderEncoding {
 public:
  /// Encodes into f, which must outlive the encoding, as must `problem`.
  OrderEncoding(Formula& f, const Problem& problem, const OrderRequest& request,
                const EncodingChoice& choice);
  OrderEncoding(const OrderEncoding&) = delete;
  OrderEncoding& operator=(const OrderEncoding&) = delete;

  const Differences& rows() const { return model_.rows; }
  /// Op v is on slot w.
  Lit on(int v, int w) const { return model_.on(v, w); }
  /// stage(v) >= a, where stages are literals.
  Lit stage_at_least(int v, Cycle a) const { return model_.stage_at_least(v, a); }

  /// The schedule of a model at I: `value` gives the truth of a literal that is no constant,
  /// `rows[v]` the row of op v and, where stages are integers, `stages[v]` its stage.
  Schedule decode(Cycle ii, const std::function<bool(Lit)>& value, const std::vector<Cycle>& rows,
                  const std::vector<Cycle>& stages) const;
  /// Has a model overflowed a resource?
  bool overflowed() const { return lifetimes_.overflowed(); }
  /// Would OrderRequest::at_once add little?
  bool nearly_complete() const { return lifetimes_.nearly_complete(); }
  /// Clauses against the overflows of a model; 0 = it has none.
  int refine(const Schedule& schedule) { return lifetimes_.refine(schedule); }
  /// OrderRequest::full_units: adds them, to be called once. `ii`: no I asked from now on is more.
  void add_full_units(Cycle ii) { encode_full_units(model_, ii); }
  bool has_full_units(Cycle ii) const { return twill::has_full_units(model_, ii); }
  /// Only where parts have selectors: the selector of each so far, and clauses for one of registers
  /// or memory, which otherwise only refine() makes.
  const std::map<ConstraintPart, Lit>& parts() const { return model_.groups.parts(); }
  void forbid(const ConstraintPart& part) { lifetimes_.forbid(part); }

 private:
  OrderRequest request_;
  EncodingChoice choice_;
  OrderModel model_;
  OrderLifetimes lifetimes_;
};

}  // namespace twill
