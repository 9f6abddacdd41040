#include "graph/program/judge_run.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace twill::program::judged {
namespace {

constexpr std::int64_t kMostMeetings = 1 << 20;  // of a table of copies

/// A program of n iterations, unrolled.
class Run {
 public:
  Run(const Common& common, int n, bool cut, std::vector<std::uint64_t>& words)
      : c_(common), p_(common.program), n_(n), cut_(cut), ops_(p_.ops.size()), past_(words) {
    build();
  }

  Finding check() {
    if (auto found = deadlock()) return found;
    close();
    if (auto found = phases()) return found;
    if (auto found = arrivals()) return found;
    return accesses();
  }

 private:
  enum Part { issue, begin, end };
  struct Instance {
    int op = 0;
    std::int64_t iteration = 0;
    Index first = 0;  ///< node of its first wait; waits, issue, begin, end follow each other
    Index waits = 0;
  };
  struct Access {
    Index who = 0;
    bool writes = false;
    int storage = 0;
    std::int64_t copy = 0;  ///< iteration whose copy it is
    Index place = 0;        ///< which of the storage's copies
    /// Rows of past_: what precedes its begin, and the begin of who writes that copy (kNone: it is
    /// there before the loop).
    Index row = 0, writer_row = 0;
  };

  Index instance(int op, std::int64_t i) const {
    return index(op) * index(n_) + static_cast<Index>(i);
  }
  Index node(Index x, Part part) const {
    return instances_[x].first + instances_[x].waits + static_cast<Index>(part);
  }
  bool in_range(std::int64_t i) const { return i >= 0 && i < n_; }
  std::string name(Index x) const {
    return p_.ops[index(instances_[x].op)].id + "[" + std::to_string(instances_[x].iteration) + "]";
  }

  void arc(Index from, Index to) {
    arcs_.emplace_back(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
    ++open_[to];
  }

  /// Arcs by the node that they leave, in the order in which they came.
  void sort_arcs() {
    first_arc_.assign(open_.size() + 1, 0);
    for (const auto& [from, to] : arcs_) ++first_arc_[from + 1];
    for (Index k = 0; k + 1 < first_arc_.size(); ++k) first_arc_[k + 1] += first_arc_[k];
    std::vector<std::uint32_t> next(first_arc_.begin(), first_arc_.end() - 1);
    targets_.resize(arcs_.size());
    for (const auto& [from, to] : arcs_) targets_[next[from]++] = to;
  }

  std::span<const std::uint32_t> successors(Index k) const {
    return std::span(targets_).subspan(first_arc_[k], first_arc_[k + 1] - first_arc_[k]);
  }

  void build() {
    Index nodes = 0;
    instances_.reserve(ops_ * index(n_));
    for (Index v = 0; v < ops_; ++v)
      for (int i = 0; i < n_; ++i) {
        Index live = cut_ ? 1 : 0;  // (its start is a node of its own)
        for (const int w : c_.waits[v])
          if (in_range(i - std::int64_t{p_.waits[index(w)].offset})) ++live;
        instances_.push_back({static_cast<int>(v), i, nodes, live});
        nodes += live + 3;
      }
    arcs_.reserve(2 * nodes);
    open_.assign(nodes, 0);
    owner_.resize(nodes);
    previous_.assign(instances_.size(), kNone);
    for (Index x = 0; x < instances_.size(); ++x) {
      const Instance& one = instances_[x];
      for (Index k = one.first; k < node(x, end); ++k) {
        arc(k, k + 1);
        owner_[k] = x;
      }
      owner_[node(x, end)] = x;
      Index k = one.first + (cut_ ? 1 : 0);
      for (const int w : c_.waits[index(one.op)]) {
        const Wait& wait = p_.waits[index(w)];
        const std::int64_t i = one.iteration - wait.offset;
        if (!in_range(i)) continue;
        for (const int other : c_.ends[index(wait.event)]) arc(node(instance(other, i), end), k);
        ++k;
      }
    }
    if (cut_)
      cut_slots();
    else
      slots();
    sort_arcs();
  }

  /// The order of a slot's instances that holds wherever the loop is cut.
  void cut_slots() {
    for (Index x = 0; x < instances_.size(); ++x)
      for (Index y = 0; y < instances_.size(); ++y) {
        const Instance &a = instances_[x], &b = instances_[y];
        const Op &first = p_.ops[index(a.op)], &then = p_.ops[index(b.op)];
        const std::int64_t p = a.iteration + first.stage, q = b.iteration + then.stage;
        if (x == y || first.slot != then.slot || a.iteration > b.iteration || p > q ||
            (p == q && a.op >= b.op))
          continue;
        arc(node(x, first.ending == Ending::at_once ? end : issue), b.first);
        if (!first.queue.empty() && first.queue == then.queue) arc(node(x, end), node(y, begin));
      }
  }

  /// The code of each slot, period by period, and what its queues hold.
  void slots() {
    int stages = 0;
    for (const Op& op : p_.ops) stages = std::max(stages, op.stage + 1);
    for (Index slot = 0, from = 0, to = 0; slot < p_.slots.size(); ++slot, from = to) {
      while (to < ops_ && index(p_.ops[to].slot) == slot) ++to;
      if (from == to) continue;
      Index last = kNone;
      std::vector<Index> queues(index(c_.queues), kNone);  // what each holds, the last of it
      for (std::int64_t t = 0; t < n_ + std::int64_t{stages} - 1; ++t)
        for (Index v = from; v < to; ++v) {
          const Op& op = p_.ops[v];
          if (!in_range(t - op.stage)) continue;
          const Index x = instance(static_cast<int>(v), t - op.stage);
          if (last != kNone) {
            previous_[x] = node(
                last, p_.ops[index(instances_[last].op)].ending == Ending::at_once ? end : issue);
            arc(previous_[x], instances_[x].first);
          }
          last = x;
          if (c_.queue[v] < 0) continue;
          Index& ahead = queues[index(c_.queue[v])];
          if (ahead != kNone) arc(node(ahead, end), node(x, begin));
          ahead = x;
        }
    }
  }

  /// Every node has its turn, or a circle is left.
  Finding deadlock() {
    std::vector<std::uint32_t> open = open_;
    turn_.reserve(open.size());
    for (Index k = 0; k < open.size(); ++k)
      if (open[k] == 0) turn_.push_back(static_cast<std::uint32_t>(k));
    for (Index done = 0; done < turn_.size(); ++done)
      for (const std::uint32_t to : successors(turn_[done]))
        if (--open[to] == 0) turn_.push_back(to);
    if (turn_.size() == open.size()) return std::nullopt;
    std::vector<Index> before(open.size(), kNone);
    Index at = kNone;
    for (Index k = 0; k < open.size(); ++k)
      if (open[k] > 0)
        for (const std::uint32_t to : successors(k))
          if (open[to] > 0) before[to] = k;
    for (Index k = 0; k < open.size() && at == kNone; ++k)
      if (open[k] > 0) at = k;
    for (Index k = 0; k < open.size(); ++k) at = before[at];
    std::vector<std::string> circle;
    Index back = at;
    do {
      if (circle.empty() || circle.back() != name(owner_[back]))
        circle.push_back(name(owner_[back]));
      back = before[back];
    } while (back != at);
    if (circle.size() > 1 && circle.front() == circle.back()) circle.pop_back();
    std::reverse(circle.begin(), circle.end());
    std::string text;
    for (const std::string& one : circle) text += one + " before ";
    return Fault{"deadlock", at_n() + text + circle.front(), circle};
  }

  std::string at_n() const { return "n = " + std::to_string(n_) + ": "; }

  /// Per node, which issues and ends happen before it or are it.
  void close() {
    words_ = (2 * instances_.size() + 63) / 64;
    past_.assign(open_.size() * words_, 0);
    for (const Index k : turn_) {
      const Index x = owner_[k];
      if (k == node(x, issue)) set(k, 2 * x);
      if (k == node(x, end)) set(k, 2 * x + 1);
      const std::uint64_t* const from = &past_[k * words_];
      for (const std::uint32_t next : successors(k)) {
        std::uint64_t* const to = &past_[next * words_];
        for (Index w = 0; w < words_; ++w) to[w] |= from[w];
      }
    }
  }
  void set(Index k, Index bit) { past_[k * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64); }
  bool has(Index k, Index bit) const {
    return (past_[k * words_ + bit / 64] >> (bit % 64) & 1) != 0;
  }
  bool issued_before(Index x, Index k) const { return has(k, 2 * x); }
  bool ended_before(Index x, Index k) const { return has(k, 2 * x + 1); }
  /// x and all it does, before anything that y does.
  bool precedes(Index x, Index y) const { return x != y && ended_before(x, node(y, begin)); }

  Finding phases() const {
    for (Index x = 0; x < instances_.size(); ++x) {
      Index k = instances_[x].first + (cut_ ? 1 : 0);
      for (const int w : c_.waits[index(instances_[x].op)]) {
        const Wait& wait = p_.waits[index(w)];
        const Event& event = p_.events[index(wait.event)];
        const std::int64_t i = instances_[x].iteration - wait.offset;
        if (!in_range(i)) continue;
        const Index begins = k == instances_[x].first ? previous_[x] : k - 1;
        ++k;
        if (event.pending) {
          const Index other = instance(event.op, i);
          if (begins == kNone || !issued_before(other, begins))
            return Fault{"phase",
                         at_n() + name(x) + " waits by a pending count for " + name(other) +
                             ", which its slot has not issued",
                         {name(x), name(other)}};
          continue;
        }
        // All that is on this barrier before and after, not the next ones alone: nobody may have
        // waited for those.
        for (std::int64_t j = i % event.phases; j < n_; j += event.phases) {
          // A phase is complete when all that arrive have: one that cannot yet is enough.
          bool held = false;
          for (const int op : c_.ends[index(wait.event)]) {
            const Index other = instance(op, j);
            if (j < i && (begins == kNone || !ended_before(other, begins)))
              return Fault{"phase",
                           at_n() + "when " + name(x) + " waits for " +
                               name(instance(event.op, i)) + ", " + name(other) +
                               " on the same of " + std::to_string(event.phases) +
                               " barriers may not have ended: the wait passes too early",
                           {name(x), name(other)}};
            held = held || issued_before(x, node(other, end));
          }
          if (j > i && !held)
            return Fault{"phase",
                         at_n() + name(instance(event.op, j)) + " may end while " + name(x) +
                             " still waits for " + name(instance(event.op, i)) +
                             " on the same of " + std::to_string(event.phases) +
                             " barriers: the phase is overrun",
                         {name(x), name(instance(event.op, j))}};
        }
      }
    }
    return std::nullopt;
  }

  /// Of several that arrive at a barrier none is a phase ahead: its arrival would be counted for
  /// another that has not come yet.
  Finding arrivals() const {
    for (Index e = 0; e < p_.events.size(); ++e) {
      const Event& event = p_.events[e];
      if (event.with.empty()) continue;
      const std::vector<int>& all = c_.ends[e];
      for (std::int64_t i = 0; i + event.phases < n_; ++i)
        for (const int first : all)
          for (const int then : all) {
            const Index x = instance(first, i), y = instance(then, i + event.phases);
            if (!ended_before(x, node(y, end)))
              return Fault{"phase",
                           at_n() + name(y) + " may arrive at its barrier, one of " +
                               std::to_string(event.phases) + ", before " + name(x) +
                               " has, which arrives there, too",
                           {name(y), name(x)}};
          }
    }
    return std::nullopt;
  }

  Index place_of(int storage, std::int64_t copy) const {
    const std::int64_t depth = p_.storages[index(storage)].depth;
    return static_cast<Index>(((copy % depth) + depth) % depth);
  }

  /// Per storage, by instances.
  std::vector<std::vector<Access>> all_accesses() const {
    std::vector<std::vector<Access>> of(p_.storages.size());
    const auto row = [&](Index x) { return node(x, begin) * words_; };
    const auto add = [&](Index x, bool writes, int storage, std::int64_t copy) {
      of[index(storage)].push_back({x, writes, storage, copy, place_of(storage, copy), row(x),
                                    copy < 0 ? kNone : row(instance(writer_of(storage), copy))});
    };
    for (Index x = 0; x < instances_.size(); ++x) {
      const Op& op = p_.ops[index(instances_[x].op)];
      const std::int64_t i = instances_[x].iteration;
      for (const Read& r : op.reads) add(x, false, r.storage, i - r.distance);
      for (const int s : op.writes) add(x, true, s, i);
    }
    return of;
  }

  Finding accesses() const {
    const std::vector<std::vector<Access>> of = all_accesses();
    for (int s = 0; s < static_cast<int>(of.size()); ++s) {
      for (const Common::Near& near : c_.near[index(s)]) {
        const int t = near.storage;
        const Index depth = index(p_.storages[index(t)].depth);
        const bool known = !near.meets.empty();
        for (std::int64_t i = 0; i < n_; ++i) {
          const char* const meets = near.meets.data() + static_cast<Index>(i) % depth;
          const Access write = write_of(t, i);
          const Index write_row = node(write.who, begin) * words_;
          for (const Access& access : of[index(s)])
            if ((known ? meets[access.place * depth] != 0 : meet(p_, s, access.copy, t, i)) &&
                !is_safe(access, write, write_row))
              if (auto found = pair(access, write)) return found;
        }
      }
      // (What is there after the last tile says nothing of those before.)
      if (cut_) continue;
      if (auto found = kept(s)) return found;
    }
    return std::nullopt;
  }

  bool ended_in(Index x, Index row) const {
    return (past_[row + (2 * x + 1) / 64] >> ((2 * x + 1) % 64) & 1) != 0;
  }

  /// What pair() accepts of two instances, at less cost.
  bool is_safe(const Access& access, const Access& write, Index write_row) const {
    if (access.who == write.who) return false;
    const bool own = !access.writes && access.storage == write.storage && access.copy == write.copy;
    if (ended_in(access.who, write_row)) return !own;
    if (!ended_in(write.who, access.row)) return false;
    if (access.writes || own) return true;
    return access.writer_row != kNone && ended_in(write.who, access.writer_row);
  }

  /// An access of storage s, and a write of s or of what shares its addresses, in the same cells.
  Finding pair(const Access& access, const Access& write) const {
    const Storage &s = p_.storages[index(access.storage)], &t = p_.storages[index(write.storage)];
    if (access.who == write.who) {
      if (access.writes) {
        if (access.storage == write.storage) return std::nullopt;
        return Fault{"in place",
                     at_n() + name(write.who) + " writes " + s.name + " and " + t.name +
                         " to the same addresses",
                     {name(write.who)}};
      }
      const std::vector<int>& in_place = p_.ops[index(instances_[access.who].op)].in_place;
      const bool over =
          std::find(in_place.begin(), in_place.end(), access.storage) != in_place.end() &&
          (access.storage == write.storage ||
           copy_range(s, access.copy) == copy_range(t, write.copy));
      if (!over)
        return Fault{
            "in place",
            at_n() + name(write.who) + " writes " + t.name + " over " + s.name + ", which it reads",
            {name(write.who)}};
      return std::nullopt;
    }
    const bool after = precedes(access.who, write.who), before = precedes(write.who, access.who);
    if (!after && !before)
      return Fault{"race",
                   at_n() + name(access.who) + (access.writes ? " writes " : " reads ") + s.name +
                       " while " + name(write.who) + " may write " + t.name,
                   {name(access.who), name(write.who)}};
    if (access.writes) return std::nullopt;
    // What the read sees: its own copy's write, or what was there before the loop.
    const bool own = write.storage == access.storage && write.copy == access.copy;
    if (own)
      return before ? std::nullopt
                    : Finding(Fault{"version",
                                    at_n() + name(access.who) + " reads " + s.name + " before " +
                                        name(write.who) + " has written it",
                                    {name(access.who), name(write.who)}});
    if (!before) return std::nullopt;
    const bool initial = access.copy < 0;
    const Index writer = initial ? kNone : instance(writer_of(access.storage), access.copy);
    if (!initial && precedes(write.who, writer)) return std::nullopt;
    return Fault{"version",
                 at_n() + name(access.who) + " is to read " + s.name + " as " +
                     (initial ? std::string("it is before the loop") : name(writer) + " wrote it") +
                     ", but " + name(write.who) + " has written " + t.name + " there since",
                 {name(access.who), initial ? "start" : name(writer), name(write.who)}};
  }

  /// Carried results are still there after the loop.
  Finding kept(int s) const {
    for (std::int64_t i = std::int64_t{n_} - c_.carried[index(s)]; i < n_; ++i)
      for (const Common::Near& near : c_.near[index(s)])
        for (std::int64_t j = 0; j < n_; ++j) {
          const int t = near.storage;
          const Access write = write_of(t, j);
          if ((t == s && j == i) || !meet(p_, s, i, t, j)) continue;
          const Index writer = i < 0 ? kNone : instance(writer_of(s), i);
          if (i >= 0 && precedes(write.who, writer)) continue;
          const std::string maker = i < 0 ? "iteration " + std::to_string(i) : name(writer);
          return Fault{"version",
                       at_n() + p_.storages[index(s)].name + " of " + maker +
                           " is carried and must be there after the loop, but " + name(write.who) +
                           " writes " + p_.storages[index(t)].name + " there",
                       {i < 0 ? "start" : name(writer), name(write.who)}};
        }
    return std::nullopt;
  }

  int writer_of(int s) const { return c_.writer[index(s)]; }
  Access write_of(int s, std::int64_t i) const {
    return {instance(writer_of(s), i), true, s, i, 0, 0, 0};
  }

  static constexpr Index kNone = static_cast<Index>(-1);
  const Common& c_;
  const Program& p_;
  int n_;
  bool cut_;
  Index ops_;
  std::vector<Instance> instances_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> arcs_;
  std::vector<std::uint32_t> first_arc_, targets_;  ///< per node, and one more; arcs_ in order
  std::vector<std::uint32_t> open_, turn_;
  std::vector<Index> owner_;
  std::vector<Index> previous_;  ///< per instance, the node of its slot before it
  Index words_ = 0;
  std::vector<std::uint64_t>& past_;
};

}  // namespace

bool meet(const Program& program, int s, std::int64_t i, int t, std::int64_t j) {
  const Storage &a = program.storages[index(s)], &b = program.storages[index(t)];
  if (a.kind != Storage::in_memory || b.kind != Storage::in_memory)
    return s == t && (i - j) % a.depth == 0;
  return a.memory == b.memory && copy_range(a, i).meets(copy_range(b, j));
}

Common::Common(const Program& p)
    : program(p),
      waits(p.ops.size()),
      queue(p.ops.size(), -1),
      writer(p.storages.size(), -1),
      near(p.storages.size()),
      carried(p.storages.size(), 0) {
  for (Index w = 0; w < p.waits.size(); ++w)
    waits[index(p.waits[w].before)].push_back(static_cast<int>(w));
  for (const Event& event : p.events) ends.push_back(ends_of(event));
  // A queue is of its slot.
  std::map<std::pair<int, std::string>, int> named;
  for (Index v = 0; v < p.ops.size(); ++v) {
    const Op& op = p.ops[v];
    if (!op.queue.empty())
      queue[v] =
          named.try_emplace({op.slot, op.queue}, static_cast<int>(named.size())).first->second;
    for (const int s : op.writes) writer[index(s)] = static_cast<int>(v);
    for (const Read& r : op.reads)
      carried[index(r.storage)] = std::max<std::int64_t>(carried[index(r.storage)], r.distance);
  }
  queues = static_cast<int>(named.size());
  for (int s = 0; s < static_cast<int>(p.storages.size()); ++s) {
    std::vector<int> all = p.storages[index(s)].shares;
    all.push_back(s);
    for (const int t : all) {
      Near one{t, {}};
      const std::int64_t own = p.storages[index(s)].depth, other = p.storages[index(t)].depth;
      if (own * other <= kMostMeetings)
        for (std::int64_t i = 0; i < own; ++i)
          for (std::int64_t j = 0; j < other; ++j) one.meets.push_back(meet(p, s, i, t, j) ? 1 : 0);
      near[index(s)].push_back(std::move(one));
    }
  }
}

Finding check_run(const Common& common, int n, std::vector<std::uint64_t>& words, bool cut) {
  return Run(common, n, cut, words).check();
}

}  // namespace twill::program::judged
