// Exact modulo scheduling by branch and bound over difference constraints.
//
// A node is a set of constraints M(v) - M(u) >= w: the dependences, a deadline L, and the decisions
// so far, kept closed under longest paths. Its earliest starts E are the least solution, so when E
// meets rule 2 it is also the shortest schedule of the node. Otherwise:
// - Pairs. For two ops on a common unit, M(v) - M(u) must have an allowed residue (residues.hpp).
//   Each bound on a difference is rounded up to the next allowed value, to a fixed point. When E
//   itself has a forbidden difference D, between the allowed values `below` and `above`, a schedule
//   has M(v) - M(u) <= below or >= above: two branches.
// - Copies. On a unit with several instances more than two ops may collide. A minimal set of copies
//   (segments of ops, each in some iteration) that overflow the unit at one instant of E cannot all
//   overlap in pairs in a valid schedule (intervals that meet in pairs have a common instant), and
//   two copies of the same op keep their distance. So for some ordered pair of copies of different
//   ops the first ends before the second begins: one branch each.
// Every branch raises E, and starts are bounded by the deadline, so the search ends.
// - Energy. The segments of a unit that must lie in a window of at most I cycles, by their earliest
//   and latest starts, cannot ask for more than capacity x window (Carlier, EJOR 1982, for one
//   machine): the cycles of the window have different residues. Such nodes are cut off.
//
// A query asks for a schedule of length <= L. Its tree is cut near the root into a fixed list of
// subtrees, searched in parallel; the subtree with the smallest index that holds a schedule wins,
// and its first schedule in depth-first order is the answer, whatever the number of threads. The
// deadline rises from the dependence bound in doubling steps until a query succeeds, then the
// length is bisected. modulo_stage_bound() stages are enough, which bounds the last deadline.
#include "graph/modulo_schedule.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <utility>

#include "graph/bounds.hpp"
#include "graph/difference_matrix.hpp"
#include "graph/loop.hpp"
#include "graph/residues.hpp"
#include "graph/schedule.hpp"
#include "graph/stage_bound.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// value(to) - value(from) >= gap, on nodes of the matrix.
struct Decision {
  int from = 0, to = 0;
  Cycle gap = 0;
};

/// What all queries at one I share: the ops that use a unit, their distances through the loop, and
/// the allowed issue distances of every pair.
class Instance {
 public:
  Instance(const Problem& problem, Cycle ii) : problem_(problem), ii_(ii) {
    const auto earliest = earliest_starts(problem, ii);
    IssueDistances distances(problem, ii);
    if (!earliest || distances.infeasible()) return;
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
      if (!problem.ops[at(v)].reservations.empty()) ops_.push_back(v);
    const int n = size();
    path_ = std::make_unique<DifferenceMatrix>(n + 2, kUnreachable);
    const auto tail = [&](const std::vector<Cycle>& start) {
      Cycle longest = 0;
      for (std::size_t v = 0; v < start.size(); ++v)
        if (start[v] != kUnreachable) longest = std::max(longest, start[v] + problem.ops[v].cycles);
      return longest;
    };
    for (int x = 0; x < n; ++x) {
      const std::vector<Cycle> from = longest_paths_from(problem, ops_[at(x)], ii);
      for (int y = 0; y < n; ++y) path_->set(x, y, from[at(ops_[at(y)])]);
      path_->set(x, sink(), tail(from));
      path_->set(origin(), x, (*earliest)[at(ops_[at(x)])]);
    }
    path_->set(origin(), origin(), 0);
    path_->set(sink(), sink(), 0);
    path_->set(origin(), sink(), tail(*earliest));
    pairs_.resize(at(n) * at(n));
    for (int x = 0; x < n; ++x) {
      for (int y = x + 1; y < n; ++y) {
        auto& set = pairs_[at(x) * at(n) + at(y)];
        set = distances.of(ops_[at(x)], ops_[at(y)]);
        if (set && set->empty()) return;
      }
    }
    for (int f = 0; f < static_cast<int>(problem.units.size()); ++f)
      if (distances.shared(f)) shared_.push_back(f);
    feasible_ = true;
  }

  /// Not refuted at once: no positive cycle, every op and every pair fits.
  bool feasible() const { return feasible_; }
  int size() const { return static_cast<int>(ops_.size()); }
  int origin() const { return size(); }
  int sink() const { return size() + 1; }
  int op(int x) const { return ops_[at(x)]; }
  const Problem& problem() const { return problem_; }
  Cycle ii() const { return ii_; }
  const std::vector<int>& shared_units() const { return shared_; }
  Cycle shortest() const { return (*path_)(origin(), sink()); }

  /// Smallest value >= w that M(y) - M(x) may have.
  Cycle round_up(int x, int y, Cycle w) const {
    if (x < y) {
      const auto& set = pairs_[at(x) * at(size()) + at(y)];
      return set ? set->at_least(w) : w;
    }
    const auto& set = pairs_[at(y) * at(size()) + at(x)];
    return set ? -set->at_most(-w) : w;
  }
  bool constrained(int x, int y) const {
    return x < size() && y < size() && x != y &&
           pairs_[at(std::min(x, y)) * at(size()) + at(std::max(x, y))].has_value();
  }

  /// The dependences and the deadline, closed: a longest path takes the arc sink -> origin of
  /// weight -deadline at most once. Precondition: shortest() <= deadline.
  DifferenceMatrix matrix(Cycle deadline) const {
    DifferenceMatrix closed = *path_;
    for (int x = 0; x < size() + 2; ++x) {
      for (int y = 0; y < size() + 2; ++y) {
        const Cycle around = (*path_)(x, sink()) - deadline + (*path_)(origin(), y);
        closed.set(x, y, x == y ? 0 : std::max((*path_)(x, y), around));
      }
      if (x != origin()) closed.set(x, origin(), (*path_)(x, sink()) - deadline);
    }
    for (int y = 0; y < size(); ++y) closed.set(sink(), y, (*path_)(origin(), y) - deadline);
    return closed;
  }

 private:
  const Problem& problem_;
  Cycle ii_;
  bool feasible_ = false;
  std::vector<int> ops_;
  std::unique_ptr<DifferenceMatrix> path_;
  std::vector<std::optional<ResidueSet>> pairs_;  // x < y: M(y) - M(x)
  std::vector<int> shared_;
};

/// One node of the search, moved along the tree.
class Node {
 public:
  Node(const Instance& instance, Cycle deadline)
      : instance_(instance),
        matrix_(instance.matrix(deadline)),
        queued_(at(matrix_.nodes()) * at(matrix_.nodes()), false) {}

  /// Rounds every bound; false when the node has no schedule. Only the root needs it.
  bool propagate_all() {
    for (int x = 0; x < instance_.size(); ++x)
      for (int y = 0; y < instance_.size(); ++y) enqueue(x, y);
    return propagate();
  }

  bool decide(const Decision& d) {
    if (!matrix_.insert(d.from, d.to, d.gap, [this](int x, int y) { enqueue(x, y); })) return false;
    return propagate();
  }

  Cycle start(int x) const { return matrix_(instance_.origin(), x); }
  std::size_t mark() const { return matrix_.mark(); }
  void undo(std::size_t mark) { matrix_.undo(mark); }

  /// The branches of this node in the order in which to try them; none when E is a schedule.
  std::vector<Decision> branches() const {
    std::vector<Decision> result = pair_branches();
    for (const int f : instance_.shared_units())
      if (result.empty()) result = copy_branches(f);
    return result;
  }

 private:
  struct Copy {  // a segment of op node `x`, busy in [begin, end) of this iteration's time
    int x;
    Cycle begin, end;  // from the op's start of iteration 0
    Amount amount;
  };

  struct Window {  // a segment lies within [begin, end)
    Cycle begin, end;
    Wide area;
  };

  void enqueue(int x, int y) {
    if (!instance_.constrained(x, y)) return;
    const std::size_t key = at(x) * at(matrix_.nodes()) + at(y);
    if (queued_[key]) return;
    queued_[key] = true;
    queue_.emplace_back(x, y);
  }

  bool propagate() {
    bool ok = true;
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const auto [x, y] = queue_[next];
      queued_[at(x) * at(matrix_.nodes()) + at(y)] = false;
      if (!ok) continue;  // only empties the queue
      const Cycle bound = matrix_(x, y), rounded = instance_.round_up(x, y, bound);
      if (rounded > bound)
        ok = matrix_.insert(x, y, rounded, [this](int a, int b) { enqueue(a, b); });
    }
    queue_.clear();
    return ok && !overloaded();
  }

  /// Is some window too short for the segments that lie in it?
  bool overloaded() {
    for (std::size_t f = 0; f < instance_.problem().units.size(); ++f) {
      const Wide capacity = instance_.problem().units[f].capacity;
      windows_.clear();
      for (int x = 0; x < instance_.size(); ++x) {
        const Cycle first = start(x), last = -matrix_(x, instance_.origin());
        for (const Reservation& r : instance_.problem().ops[at(instance_.op(x))].reservations)
          if (at(r.unit) == f)
            windows_.push_back(
                {first + r.offset, last + r.offset + r.length, Wide{r.amount} * r.length});
      }
      std::sort(windows_.begin(), windows_.end(),
                [](const Window& a, const Window& b) { return a.end < b.end; });
      for (const Window& from : windows_) {
        Wide area = 0;
        for (const Window& w : windows_) {
          if (w.end - from.begin > instance_.ii()) break;
          if (w.begin < from.begin) continue;
          area += w.area;
          if (area > capacity * (w.end - from.begin)) return true;
        }
      }
    }
    return false;
  }

  /// The forbidden difference whose cheaper branch costs most; the cheaper branch comes first.
  std::vector<Decision> pair_branches() const {
    Cycle worst = 0, second = 0;
    std::vector<Decision> result;
    for (int x = 0; x < instance_.size(); ++x) {
      for (int y = x + 1; y < instance_.size(); ++y) {
        if (!instance_.constrained(x, y)) continue;
        const Cycle difference = start(y) - start(x);
        const Cycle above = instance_.round_up(x, y, difference);
        if (above == difference) continue;
        const Cycle below = -instance_.round_up(y, x, -difference);
        const Cycle up = above - difference, down = difference - below;
        const Cycle cheap = std::min(up, down), dear = std::max(up, down);
        if (cheap < worst || (cheap == worst && dear <= second)) continue;
        worst = cheap;
        second = dear;
        result = {{x, y, above}, {y, x, -below}};
        if (down < up) std::swap(result[0], result[1]);
      }
    }
    return result;
  }

  /// Copies of a unit's segments that are busy at an instant congruent to `instant` at E, each
  /// moved by whole iterations so that it covers the instant itself.
  std::vector<Copy> copies_at(int unit, Cycle instant) const {
    std::vector<Copy> copies;
    const Cycle ii = instance_.ii();
    for (int x = 0; x < instance_.size(); ++x) {
      for (const Reservation& r : instance_.problem().ops[at(instance_.op(x))].reservations) {
        if (r.unit != unit) continue;
        const Cycle begin = start(x) + r.offset;
        // The last iteration that has begun by the instant, and those before it still running.
        Cycle shift =
            instant - begin >= 0 ? (instant - begin) / ii : -((begin - instant + ii - 1) / ii);
        for (; begin + shift * ii + r.length > instant; --shift)
          copies.push_back({x, r.offset + shift * ii, r.offset + shift * ii + r.length, r.amount});
      }
    }
    return copies;
  }

  std::vector<Decision> copy_branches(int unit) const {
    const Amount capacity = instance_.problem().units[at(unit)].capacity;
    const auto total = [](const std::vector<Copy>& copies) {
      return std::accumulate(copies.begin(), copies.end(), Amount{0},
                             [](Amount sum, const Copy& c) { return sum + c.amount; });
    };
    for (int x = 0; x < instance_.size(); ++x) {
      for (const Reservation& r : instance_.problem().ops[at(instance_.op(x))].reservations) {
        if (r.unit != unit) continue;
        // Usage is largest where some segment begins.
        std::vector<Copy> copies = copies_at(unit, start(x) + r.offset);
        Amount used = total(copies);
        if (used <= capacity) continue;
        std::stable_sort(copies.begin(), copies.end(),
                         [](const Copy& a, const Copy& b) { return a.amount < b.amount; });
        for (std::size_t i = 0; i < copies.size();) {  // leave out what is not needed
          if (used - copies[i].amount > capacity) {
            used -= copies[i].amount;
            copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(i));
          } else {
            ++i;
          }
        }
        return order_copies(copies);
      }
    }
    return {};
  }

  std::vector<Decision> order_copies(const std::vector<Copy>& copies) const {
    std::vector<std::pair<Cycle, Decision>> ranked;
    for (const Copy& a : copies) {
      for (const Copy& b : copies) {
        if (a.x == b.x) continue;
        // M(b.x) + b.begin >= M(a.x) + a.end
        const Decision d{a.x, b.x, a.end - b.begin};
        ranked.emplace_back(d.gap - (start(b.x) - start(a.x)), d);
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Decision> result;
    for (const auto& [cost, d] : ranked) result.push_back(d);
    return result;
  }

  const Instance& instance_;
  DifferenceMatrix matrix_;
  std::vector<bool> queued_;
  std::vector<std::pair<int, int>> queue_;
  std::vector<Window> windows_;
};

enum class Outcome { found, refuted, stopped };

struct Answer {
  Outcome outcome = Outcome::refuted;
  std::vector<Cycle> start;  // per node of the instance
};

/// Is there a schedule of length <= deadline?
class Query {
 public:
  Query(const Instance& instance, Cycle deadline, const ModuloScheduleOptions& options,
        std::atomic<std::int64_t>& nodes)
      : instance_(instance), options_(options), nodes_(nodes), root_(instance, deadline) {}

  Answer run() {
    if (!root_.propagate_all()) return {};
    std::vector<Subtree> subtrees = cut();
    std::atomic<std::size_t> next = 0, winner = subtrees.size();
    const auto work = [&](int) {
      // In order, so that with one thread nothing behind the first schedule is searched.
      for (std::size_t i; (i = next.fetch_add(1)) < subtrees.size();) {
        if (i > winner.load()) continue;
        subtrees[i].answer = search(subtrees[i], i, winner);
        if (subtrees[i].answer.outcome != Outcome::found) continue;
        std::size_t best = winner.load();
        while (i < best && !winner.compare_exchange_weak(best, i)) {
        }
      }
    };
    // No more than the process is allowed: the library complains about requests beyond it.
    const int allowed = static_cast<int>(oneapi::tbb::global_control::active_value(
        oneapi::tbb::global_control::max_allowed_parallelism));
    const int workers = options_.threads > 0 ? std::min(options_.threads, allowed) : allowed;
    if (workers == 1 || subtrees.size() == 1) {
      work(0);
    } else {
      oneapi::tbb::task_arena arena(workers);
      arena.execute([&] { oneapi::tbb::parallel_for(0, workers, work); });
    }
    if (winner < subtrees.size()) return subtrees[winner].answer;
    for (const Subtree& subtree : subtrees)
      if (subtree.answer.outcome == Outcome::stopped) return {Outcome::stopped, {}};
    return {};
  }

 private:
  struct Subtree {
    std::vector<Decision> decisions;  // from the root
    Answer answer;
    bool open = true;  // may still be cut further
  };

  std::vector<Cycle> starts(const Node& node) const {
    std::vector<Cycle> start;
    for (int x = 0; x < instance_.size(); ++x) start.push_back(node.start(x));
    return start;
  }

  /// The tree's first levels, in depth-first order.
  std::vector<Subtree> cut() const {
    constexpr std::size_t kSubtrees = 32;
    constexpr int kLevels = 12;
    std::vector<Subtree> level(1);
    for (int depth = 0; depth < kLevels && level.size() < kSubtrees; ++depth) {
      std::vector<Subtree> deeper;
      for (Subtree& subtree : level) {
        Node node = root_;
        bool alive = true;
        for (const Decision& d : subtree.decisions) alive = alive && node.decide(d);
        if (!alive) continue;
        const std::vector<Decision> branches =
            subtree.open ? node.branches() : std::vector<Decision>{};
        if (branches.empty()) {  // a schedule: search() finds it at once
          subtree.open = false;
          deeper.push_back(std::move(subtree));
          break;  // and nothing to the right of it can win
        }
        for (const Decision& d : branches) {
          deeper.push_back({subtree.decisions, {}, true});
          deeper.back().decisions.push_back(d);
        }
      }
      level = std::move(deeper);
      if (level.empty() || (level.size() == 1 && !level[0].open)) break;
    }
    return level;
  }

  /// Depth-first search; gives up when a subtree further left has won.
  Answer search(const Subtree& subtree, std::size_t index, const std::atomic<std::size_t>& winner) {
    Node node = root_;
    for (const Decision& d : subtree.decisions)
      if (!node.decide(d)) return {};
    struct Frame {
      std::size_t mark;
      std::vector<Decision> branches;
      std::size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto enter = [&] {
      stack.push_back({node.mark(), node.branches(), 0});
      return stack.back().branches.empty();
    };
    std::int64_t count = 1;
    Answer answer;
    if (enter()) answer = {Outcome::found, starts(node)};
    while (answer.outcome == Outcome::refuted && !stack.empty()) {
      Frame& frame = stack.back();
      node.undo(frame.mark);
      if (frame.next == frame.branches.size()) {
        stack.pop_back();
        continue;
      }
      if (count >= options_.node_limit || options_.stop.stop_requested()) {
        answer.outcome = Outcome::stopped;
      } else if (index > winner.load(std::memory_order_relaxed)) {
        break;
      } else {
        ++count;
        if (node.decide(frame.branches[frame.next++]) && enter())
          answer = {Outcome::found, starts(node)};
      }
    }
    nodes_ += count;
    return answer;
  }

  const Instance& instance_;
  const ModuloScheduleOptions& options_;
  std::atomic<std::int64_t>& nodes_;
  Node root_;
};

/// The ops that use no unit follow the others: least solution of the dependences above them.
std::vector<Cycle> complete(const Instance& instance, const std::vector<Cycle>& fixed) {
  const Problem& problem = instance.problem();
  std::vector<Cycle> start = *earliest_starts(problem, instance.ii());
  for (int x = 0; x < instance.size(); ++x) {
    const std::vector<Cycle> from = longest_paths_from(problem, instance.op(x), instance.ii());
    for (std::size_t v = 0; v < start.size(); ++v)
      if (from[v] != kUnreachable) start[v] = std::max(start[v], fixed[at(x)] + from[v]);
  }
  return start;
}

Cycle longest_op(const Problem& problem) {
  Cycle longest = 0;
  for (const Op& op : problem.ops) longest = std::max(longest, op.cycles);
  return longest;
}

}  // namespace

ModuloSchedule optimal_modulo_schedule(const Problem& problem, Cycle ii,
                                       const ModuloScheduleOptions& options) {
  ModuloSchedule result;
  result.initiation_interval = ii;
  result.proved = true;
  const Instance instance(problem, ii);
  if (!instance.feasible()) return result;
  std::atomic<std::int64_t> nodes = 0;
  const auto query = [&](Cycle deadline) {
    const Answer answer = Query(instance, deadline, options, nodes).run();
    if (answer.outcome == Outcome::found) {
      result.start = complete(instance, answer.start);
      result.length = schedule_length(problem, *result.start);
    }
    return answer.outcome;
  };
  // Lengths below `lower` are refuted; [tried_from, length) is still of interest, and differs from
  // `lower` once a query was stopped.
  Cycle lower = instance.shortest(), from = lower, step = 0;
  // Starts below stages * I are enough, hence lengths up to this one.
  const Cycle last =
      std::max(lower, modulo_stage_bound(problem, ii) * ii - 1 + longest_op(problem));
  const auto attempt = [&](Cycle deadline) {
    const Outcome outcome = query(deadline);
    if (outcome == Outcome::found) return;
    if (outcome == Outcome::refuted) lower = std::max(lower, deadline + 1);
    from = deadline + 1;
  };
  while (!result.start && from <= last && !options.stop.stop_requested()) {
    attempt(std::min(last, from + step));
    step = 2 * step + 1;
  }
  while (result.start && from < result.length && !options.stop.stop_requested())
    attempt(from + (result.length - 1 - from) / 2);
  result.nodes = nodes;
  result.proved = result.start ? lower >= result.length : lower > last;
  result.length_lower_bound = result.start ? std::min(lower, result.length) : lower;
  return result;
}

ModuloSchedule smallest_modulo_schedule(const Problem& problem,
                                        const ModuloScheduleOptions& options) {
  // With I = the sum of max(cycles, delays) the ops can run one after the other in a topological
  // order: every dependence holds, carried ones because all starts lie within one I, and no two
  // reservations meet. So only an op at odds with itself at that I can prevent every schedule.
  std::vector<Cycle> span;
  for (const Op& op : problem.ops) span.push_back(op.cycles);
  for (const Edge& edge : problem.edges)
    span[at(edge.from)] = std::max(span[at(edge.from)], edge.delay);
  const Cycle serial = std::max<Cycle>(1, std::accumulate(span.begin(), span.end(), Cycle{0}));
  Cycle ii = 1;
  for (const Bound& bound : res_mii(problem)) ii = std::max(ii, bound.value);
  if (const auto bound = rec_mii(problem, false)) ii = std::max(ii, bound->value);

  ModuloSchedule result;
  bool proved = true;
  std::int64_t nodes = 0;
  Cycle lower = ii;
  for (; ii <= serial && !options.stop.stop_requested(); ++ii) {
    result = optimal_modulo_schedule(problem, ii, options);
    nodes += result.nodes;
    if (result.start) break;
    proved = proved && result.proved;
    if (proved) lower = ii + 1;
  }
  result.ii_lower_bound = lower;
  result.nodes = nodes;
  result.proved = proved && (result.start ? result.proved : lower > serial);
  return result;
}

}  // namespace twill
