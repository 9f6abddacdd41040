#include "engine/placed.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "engine/placement_conflict.hpp"
#include "engine/placement_needs.hpp"
#include "engine/search.hpp"
#include "graph/index.hpp"
#include "graph/program/fit.hpp"
#include "graph/program/placement.hpp"
#include "graph/program/storages.hpp"
#include "graph/program/waits.hpp"

namespace twill {

using program::Ending;
using program::Meet;
using program::Storage;

/// What a way takes for granted of all of its schedules, at its best.
struct PlacementGranted {
  std::map<StorageKey, int> depth;                         ///< no deeper
  std::map<StorageKey, int> least;                         ///< no less deep
  std::map<std::pair<StorageKey, StorageKey>, Meet> meet;  ///< they may meet so, at least
  std::set<int> kept;                                      ///< results that are not handed over
  std::set<std::pair<int, int>> apart;  ///< a result, and who reads it on another slot

  auto operator<=>(const PlacementGranted&) const = default;
};

struct PlacementWay {
  PlacementGranted granted;
  Problem problem;
  Solution solution;

  /// No schedule of this way is better.
  std::pair<Cycle, Cycle> bound() const {
    const bool same =
        solution.schedule && solution.schedule->initiation_interval == solution.ii_lower_bound;
    return {solution.ii_lower_bound, same ? solution.length_lower_bound : 0};
  }
};

// (PlacedAnswers, which has a public name, is made of what a way takes for granted.)
struct PlacedAnswers::Known {
  std::map<PlacementGranted, Solution> of;
};

PlacedAnswers::PlacedAnswers() : known_(std::make_unique<Known>()) {}
PlacedAnswers::~PlacedAnswers() = default;

class PlacedSearcher {
 public:
  PlacedSearcher(const Problem& problem, const Solution& found, const program::Draft& draft,
                 const Options& options, LimitsLeft& left, const program::DeriveOptions& how,
                 const PlacedLimits& limits, PlacedAnswers& answers)
      : problem_(problem),
        draft_(draft),
        found_(found),
        needs_(problem, draft),
        options_(options),
        left_(left),
        how_(how),
        most_ways_(limits.ways),
        incumbent_(limits.incumbent),
        answers_(answers) {
    options_.explain = false;
    options_.evidence = false;
    known_ = {found.ii_lower_bound, found.length_lower_bound};
  }

  PlacedSearch run() {
    PlacementWay first{{}, problem_, found_};
    first.solution.goals.clear();
    if (ask(std::move(first), known_))
      go_on();
    else
      leave({known_.interval, known_.length});
    Placement& placement = result_.placement;
    if (result_.solution) {
      const Schedule& best = *result_.solution->schedule;
      placement.reached = bound_ == std::pair(best.initiation_interval, best.length);
    }
    if (bound_.first != kEndless)
      std::tie(placement.ii_lower_bound, placement.length_lower_bound) = bound_;
    else
      placement.none = true;
    return std::move(result_);
  }

 private:
  static constexpr Cycle kEndless = std::numeric_limits<Cycle>::max();

  struct Place {
    std::pair<Cycle, Cycle> bound;
    std::size_t way = 0;
    /// The best first, of equals the newest: it has the most asked of it.
    bool operator<(const Place& other) const {
      return bound != other.bound ? bound > other.bound : way < other.way;
    }
  };

  /// The best way first, until one has a placement or there is no time for more.
  void go_on() {
    while (!open_.empty()) {
      const Place place = open_.top();
      if (incumbent_ && place.bound >= *incumbent_) return leave(place.bound);
      open_.pop();
      const PlacementWay way = std::move(ways_[place.way]);
      if (!way.solution.schedule) {  // not settled
        leave(place.bound);
        continue;
      }
      auto made = program::derive(problem_, schedule_of(way), how_);
      if (auto* program = std::get_if<program::Program>(&made)) {
        leave(place.bound);
        result_.program = std::move(*program);
        result_.solution = way.solution;
        result_.solution->schedule = schedule_of(way);
        return;
      }
      if (!branch(way, place.bound)) {
        leave(place.bound);
        return;
      }
    }
  }

  /// Without the ops that orders were added by.
  Schedule schedule_of(const PlacementWay& way) const {
    Schedule schedule = *way.solution.schedule;
    schedule.start.resize(problem_.ops.size());
    schedule.warp.resize(problem_.ops.size());
    schedule.length = 0;
    for (std::size_t v = 0; v < problem_.ops.size(); ++v)
      schedule.length = std::max(schedule.length, schedule.start[v] + problem_.ops[v].cycles);
    return schedule;
  }

  /// Of some schedules no more is known than this.
  void leave(std::pair<Cycle, Cycle> bound) { bound_ = std::min(bound_, bound); }

  /// Solves it, `known` being proved; false = there is no time for it. A way without schedules is
  /// closed.
  bool ask(PlacementWay way, const KnownBounds& known) {
    if (!seen_.insert(way.granted).second) return true;
    if (left_.spent()) return false;
    if (!way.solution.schedule) {  // else nothing was asked of it that was not before
      if (result_.placement.ways >= most_ways_) return false;
      ++result_.placement.ways;
      way.solution = solved(way, known);
      // (Counted each time: what is found does not hang on what was known.)
      left_.took(way.solution.conflicts);
      if (way.solution.status == Status::infeasible) return true;
    }
    open_.push({way.bound(), ways_.size()});
    ways_.push_back(std::move(way));
    return true;
  }

  Solution solved(const PlacementWay& way, const KnownBounds& known) {
    const auto before = answers_.known_->of.find(way.granted);
    if (before != answers_.known_->of.end()) return before->second;
    Solution now = solve_above(known, way.problem, left_.of(options_), left_.stop());
    const bool settled = now.status == Status::optimal || now.status == Status::infeasible;
    if (settled) answers_.known_->of.emplace(way.granted, now);
    return now;
  }

  bool ask_child(PlacementWay next, const PlacementWay& way) {
    // (The best of what asks for less, where it is one of these, too.)
    if (next.problem == way.problem || (way.solution.status == Status::optimal &&
                                        next.problem.ops.size() == way.problem.ops.size() &&
                                        !verify(next.problem, *way.solution.schedule)))
      next.solution = way.solution;
    const auto [interval, length] = way.bound();
    return ask(std::move(next), {interval, length});
  }

  // ---- why a schedule has no placement

  std::optional<PlacementConflict> conflict_of(const program::Draft& draft,
                                               const PlacementGranted& granted) const {
    for (int m = 0; m < static_cast<int>(draft.program.memories.size()); ++m) {
      PlacementConflict c = blocks_of(draft, granted, m);
      if (c.capacity < 0 || c.keys.empty()) continue;
      if (c.holds()) return c;
      if (draft.program.memories[at(m)].name != program::kBarrierMemory) continue;
      c.barriers = std::max(c.barriers, barriers_of(draft));
      if (c.holds()) return c;
    }
    return std::nullopt;
  }

  PlacementConflict blocks_of(const program::Draft& draft, const PlacementGranted& granted,
                              int memory) const {
    const program::Program& p = draft.program;
    const program::MemoryBlocks blocks = memory_blocks(draft, memory);
    PlacementConflict c;
    c.memory = memory;
    c.capacity = p.memories[at(memory)].capacity;
    for (const int s : blocks.storages) {
      const Storage& storage = p.storages[at(s)];
      const StorageKey key = storage_key(draft, s);
      c.keys.push_back(key);
      c.handed.push_back(handed_over(draft, s));
      c.vague.push_back(c.handed.back() && needs_.others(key.first).size() > 1);
      c.there.push_back(!(c.handed.back() && granted.kept.contains(key.first)));
      const auto most = granted.depth.find(key), least = granted.least.find(key);
      const int depth =
          most == granted.depth.end() ? storage.depth : std::min(storage.depth, most->second);
      c.least.push_back(least == granted.least.end() ? 1 : least->second);
      c.depth.push_back(std::max(depth, c.least.back()));
      c.size.push_back(storage.size);
      c.stride.push_back((storage.size + storage.alignment - 1) / storage.alignment *
                         storage.alignment);
      c.alignment.push_back(storage.alignment);
    }
    c.meet = blocks.meet;
    for (std::size_t a = 0; a < c.keys.size(); ++a)
      for (std::size_t b = 0; b < c.keys.size(); ++b) {
        if (a == b) continue;
        const auto known = granted.meet.find(std::minmax(c.keys[a], c.keys[b]));
        if (known != granted.meet.end()) c.how(a, b) = std::max(c.how(a, b), known->second);
        if (c.how(a, b) == Meet::must) c.how(a, b) = Meet::same;  // in all other schedules, too
      }
    if (p.memories[at(memory)].name == program::kBarrierMemory)
      c.barriers = c.least_barriers = least_barriers(draft);
    return c;
  }

  /// Somebody waits on the barrier of every bulk copy that is read.
  int least_barriers(const program::Draft& draft) const {
    int count = 0;
    for (const program::Op& op : draft.program.ops)
      if (op.ending == Ending::transaction &&
          std::any_of(op.writes.begin(), op.writes.end(),
                      [&](int s) { return !draft.readers[at(s)].empty(); }))
        ++count;
    return how_.merge ? std::min(count, 1) : count;
  }

  /// Those of the program, if it has a placement without them.
  static int barriers_of(const program::Draft& draft) {
    program::Draft placed = draft;
    if (place(placed) || add_waits(placed)) return 0;
    int count = 0;
    for (const program::Event& event : placed.program.events) count += event.phases;
    return count;
  }

  // ---- the ways out

  /// All of them; the way's schedules are `bound` at best. False = there is no time.
  bool branch(const PlacementWay& way, std::pair<Cycle, Cycle> bound) {
    program::Draft draft;
    draft.merge = how_.merge;
    auto conflict = draft_program(problem_, schedule_of(way), draft)
                        ? std::nullopt
                        : conflict_of(draft, way.granted);
    if (!conflict) {
      leave(bound);
      return true;
    }
    conflict->shrink();
    const PlacementConflict& c = *conflict;
    // Of programs with fewer barriers nothing says which schedules have them.
    if (c.barriers > c.least_barriers) leave(bound);
    // What is likely goes last: of equals the newest is taken first.
    bool all = true;
    for (const Meet how : {Meet::same, Meet::any})
      for (std::size_t a = 0; a < c.keys.size() && all; ++a)
        for (std::size_t b = 0; b < a && all; ++b)
          if (c.open(a, b)) all = how == Meet::same ? rings(way, c, a, b) : sharing(way, c, a, b);
    for (std::size_t k = 0; k < c.keys.size() && all; ++k)
      if (c.there[k] && c.depth[k] > c.least[k]) all = less_deep(way, c, k);
    for (std::size_t k = 0; k < c.keys.size() && all; ++k)
      if (c.there[k] && c.handed[k]) all = without_handover(way, c.keys[k].first);
    return all;
  }

  bool without_handover(const PlacementWay& way, int op) {
    PlacementWay next{way.granted, way.problem, {}};
    next.granted.kept.insert(op);
    for (const PlacementNeeds::Reader& reader : needs_.others(op)) {
      if (way.granted.apart.contains({op, reader.op})) return true;
      next.problem.pins.push_back({Pin::same_slot, reader.op, -1, -1, op, -1});
    }
    return ask_child(std::move(next), way);
  }

  bool less_deep(const PlacementWay& way, const PlacementConflict& c, std::size_t k) {
    const int op = c.keys[k].first, most = c.depth[k] - 1;
    PlacementWay next{way.granted, way.problem, {}};
    next.granted.depth[c.keys[k]] = most;
    if (!c.handed[k])
      return !needs_.ask_depth(next.problem, c.keys[k], most) || ask_child(std::move(next), way);
    // Some reader is on another slot, and has read a copy before the one `most` later is made.
    for (const PlacementNeeds::Reader& reader : needs_.others(op)) {
      PlacementWay one = next;
      put_apart(one, op, reader.op);
      if (!needs_.ask_read_before(one.problem, op, reader, most)) continue;
      if (!ask_child(std::move(one), way)) return false;
    }
    return true;
  }

  /// Who reads it on another slot, if it is known.
  std::optional<PlacementNeeds::Reader> far_reader(PlacementWay& way, const PlacementConflict& c,
                                                   std::size_t k) const {
    if (!c.handed[k]) return std::nullopt;
    const PlacementNeeds::Reader reader = needs_.others(c.keys[k].first).front();
    put_apart(way, c.keys[k].first, reader.op);
    return reader;
  }

  /// Two with one copy each, at different times.
  bool sharing(const PlacementWay& way, const PlacementConflict& c, std::size_t a, std::size_t b) {
    if (c.least[a] > 1 || c.least[b] > 1) return true;
    PlacementWay next{way.granted, way.problem, {}};
    next.granted.meet[std::minmax(c.keys[a], c.keys[b])] = Meet::any;
    for (const std::size_t k : {a, b}) {
      next.granted.depth[c.keys[k]] = 1;
      if (!c.handed[k] && !needs_.ask_depth(next.problem, c.keys[k], 1)) return true;
    }
    if (!c.vague[a] && !c.vague[b]) {
      const auto one = far_reader(next, c, a), other = far_reader(next, c, b);
      needs_.ask_turns(next.problem, {c.keys[a], one}, {c.keys[b], other}, 1);
    }
    return ask_child(std::move(next), way);
  }

  /// Two rings of one size and more than one copy, copy upon copy.
  bool rings(const PlacementWay& way, const PlacementConflict& c, std::size_t a, std::size_t b) {
    if (c.size[a] != c.size[b] || c.size[a] > c.capacity || c.how(a, b) == Meet::same) return true;
    const Amount most = (c.capacity - c.size[a]) / c.stride[a] + 1;
    if (most < 2) return true;
    PlacementWay next{way.granted, way.problem, {}};
    next.granted.meet[std::minmax(c.keys[a], c.keys[b])] = Meet::same;
    for (const std::size_t k : {a, b}) {
      int& least = next.granted.least[c.keys[k]];
      least = std::max(least, 2);
      const auto deepest = next.granted.depth.find(c.keys[k]);
      if (deepest != next.granted.depth.end() && deepest->second < least) return true;
    }
    if (!c.handed[a] && !c.handed[b])
      needs_.ask_turns(next.problem, {c.keys[a], {}}, {c.keys[b], {}}, most);
    return ask_child(std::move(next), way);
  }

  static void put_apart(PlacementWay& way, int op, int reader) {
    if (way.granted.apart.emplace(op, reader).second)
      way.problem.pins.push_back({Pin::other_slot, reader, -1, -1, op, -1});
  }

  const Problem& problem_;
  const program::Draft& draft_;
  const Solution& found_;
  PlacementNeeds needs_;
  Options options_;
  LimitsLeft& left_;
  const program::DeriveOptions& how_;
  int most_ways_;
  std::optional<std::pair<Cycle, Cycle>> incumbent_;
  PlacedAnswers& answers_;
  KnownBounds known_;
  PlacedSearch result_;
  std::vector<PlacementWay> ways_;
  std::priority_queue<Place> open_;
  std::set<PlacementGranted> seen_;
  /// Of all schedules that were left or found: none is better.
  std::pair<Cycle, Cycle> bound_ = {kEndless, 0};
};

PlacedSearch search_placed(const Problem& problem, const Solution& found, const Options& options,
                           LimitsLeft& left, const program::DeriveOptions& how,
                           const PlacedLimits& limits, PlacedAnswers& answers) {
  program::Draft draft;
  if (draft_program(problem, *found.schedule, draft)) return {};
  return PlacedSearcher(problem, found, draft, options, left, how, limits, answers).run();
}

}  // namespace twill
