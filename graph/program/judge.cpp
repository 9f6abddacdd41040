// One relation "happens before" covers every run: there is no branch that depends on data, so that
// runs differ only in when things happen. Its nodes are, per op instance, each of its waits (it has
// passed), the issue, the begin of its accesses and its end; its arcs are the code of the slots,
// waits, queues, and begin and end of an op itself. Two accesses are safe if and only if the end of
// one happens before the begin of the other: otherwise all that precedes either begin can be
// executed without either end, and then they are under way together.
//
// An arc from an event to a wait holds only if the wait does not pass too early or never. That is
// judged in the same relation, and is no circle: take a run and the first wait in it that goes
// wrong. All arcs into what happened before it hold, so that what the relation says of its
// beginning is true in this run: phase j - 1 has ended, phase j + 1 has not; then the parity is
// that of j.
//
// Why finitely many n are enough. Say op v of iteration i is in period i + stage(v). Let no wait be
// for an op of a later period (enough_iterations() refuses others). Then all arcs go from a period
// to the same or a later one, and whether x happens before y depends on the instances between the
// periods of the two alone. With S stages these are of iterations from period(x) - S + 1 to
// period(y): which of them exist is all that an end of the loop can change. What is looked at are
// (1) accesses of one address, one of which writes; (2) waits with the phases before and after;
// (3) circles, which lie in one period. Accesses of one address that are further apart than H
// periods need no look: its storages are written again and again, at least every `depth`
// iterations, and as each write is ordered after the accesses since the one before (looked at, as
// near), far ones are ordered through a chain of writes, and none that is further away can be the
// version that a read sees. So what is judged lies in windows of H + 2 S iterations, H the largest
// of: twice the depths of the storages at an address (in common multiples where they share it) plus
// their distances; offsets and phases of waits. Beyond n = H + 2 S no window has both ends of the
// loop in it, and which addresses are met repeats after C iterations, the common multiple of their
// depths (C the largest). So a program of n > H + 2 S + C iterations has only windows that one of n
// - C iterations has, too.
//
// Sequences of runs (judge_tiles). Where tiles end, slots drain: which of two instances of a slot
// is first depends on where the cuts are, if the one of the later iteration is in the earlier
// period. So what is judged has the order of two instances of a slot (or queue) only where it is
// the same wherever the loop is cut: the first is of the same or an earlier iteration, and earlier
// in a run that is not cut. Every sequence has these arcs and those of the waits (none is for a
// later iteration, so that none is left out where a tile ends), and more. An access or a phase that
// is safe by fewer arcs is safe by more. No sequence has a circle: an arc goes to the same or a
// later tile, and those within a tile are those of a run of as many iterations, which
// judge(program) has accepted. Tiles without iterations have no instances. All arcs go to the same
// or a later iteration and are the same from each iteration on, so that what lies before an
// instance within a window does not depend on where in the loop the window is; the windows above
// are long enough, and the one run that is looked at has all of them, for each residue of the
// copies.
#include "graph/program/judge.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace twill::program {
namespace {

using Finding = std::optional<Fault>;
using Index = std::size_t;

constexpr std::int64_t kMostPeriods = 500;
constexpr double kMostWords = 3e7;  // of the relation at one n, 240 MB
constexpr double kMostSteps = 4e9;  // of work(), some seconds

Index index(int i) {
  return static_cast<Index>(i);
}

Amount step_of(const Storage& s) {
  return (s.size + s.alignment - 1) / s.alignment * s.alignment;
}

/// The ops whose ends are arrivals of an event.
std::vector<int> ends_of(const Event& event) {
  std::vector<int> all = event.with;
  all.insert(all.begin(), event.op);
  return all;
}

/// First address of a copy and the one after its last.
struct Range {
  Amount begin = 0, end = 0;
  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
  bool operator==(const Range&) const = default;
};

Range copy_range(const Storage& s, std::int64_t iteration) {
  const std::int64_t copy = ((iteration % s.depth) + s.depth) % s.depth;
  const Amount begin = s.base + copy * step_of(s);
  return {begin, begin + s.size};
}

Range whole_range(const Storage& s) {
  return {s.base, s.base + (s.depth - 1) * step_of(s) + s.size};
}

/// What can be said of a program without running it.
class Shape {
 public:
  explicit Shape(const Program& program) : p_(program) {}

  Finding check() const {
    if (auto found = storages()) return found;
    if (auto found = ops()) return found;
    if (auto found = memory()) return found;
    if (auto found = before_the_loop()) return found;
    if (auto found = fences()) return found;
    if (auto found = events()) return found;
    return barriers();
  }

 private:
  Finding storages() const {
    std::vector<int> written(p_.storages.size(), 0);
    for (const Op& op : p_.ops)
      for (const int s : op.writes) ++written[index(s)];
    for (Index s = 0; s < written.size(); ++s)
      if (written[s] != 1)
        return Fault{"shape",
                     p_.storages[s].name + " is written by " + std::to_string(written[s]) +
                         " ops, not by one",
                     {}};
    return std::nullopt;
  }

  Finding ops() const {
    std::vector<int> home(p_.storages.size(), -1);
    for (const Op& op : p_.ops)
      for (const int s : op.writes) home[index(s)] = op.slot;
    int slot = 0;
    for (const Op& op : p_.ops) {
      if (op.slot < slot)
        return Fault{"shape", op.id + " is not among the ops of its slot", {op.id}};
      slot = op.slot;
      if (op.ending == Ending::transaction && !op.queue.empty())
        return Fault{"shape", op.id + " ends by a transaction, which no queue orders", {op.id}};
      for (const Read& r : op.reads) {
        const Storage& s = p_.storages[index(r.storage)];
        if (r.distance == 0 &&
            std::find(op.writes.begin(), op.writes.end(), r.storage) != op.writes.end())
          return Fault{"version", op.id + " reads " + s.name + " of its own iteration", {op.id}};
        if (r.distance > s.depth)
          return Fault{"version",
                       op.id + " reads " + s.name + " of " + std::to_string(r.distance) +
                           " iterations before: before the loop so many copies are there, not " +
                           std::to_string(s.depth),
                       {op.id}};
        if (s.kind == Storage::in_registers && home[index(r.storage)] != op.slot)
          return Fault{"shape",
                       op.id + " on " + p_.slots[index(op.slot)].name + " reads registers of " +
                           p_.slots[index(home[index(r.storage)])].name + ", " + s.name,
                       {op.id}};
      }
      for (const int s : op.in_place)
        if (std::none_of(op.reads.begin(), op.reads.end(),
                         [&](const Read& r) { return r.storage == s; }))
          return Fault{
              "shape",
              op.id + " may write over " + p_.storages[index(s)].name + ", which it does not read",
              {op.id}};
    }
    return std::nullopt;
  }

  Finding memory() const {
    for (Index k = 0; k < p_.storages.size(); ++k) {
      const Storage& s = p_.storages[k];
      if (s.kind != Storage::in_memory) {
        if (!s.shares.empty())
          return Fault{"memory", s.name + " has no address and shares none", {}};
        continue;
      }
      const Memory& m = p_.memories[index(s.memory)];
      const Range range = whole_range(s);
      if (s.base % s.alignment != 0)
        return Fault{"memory",
                     s.name + " lies at " + std::to_string(s.base) + ", no multiple of " +
                         std::to_string(s.alignment),
                     {}};
      if (m.capacity >= 0 && range.end > m.capacity)
        return Fault{"memory",
                     s.name + " ends at " + std::to_string(range.end) + " of " + m.name + ", " +
                         std::to_string(s.depth) + " x " + std::to_string(step_of(s)) + " from " +
                         std::to_string(s.base) + " > " + std::to_string(m.capacity),
                     {}};
      std::vector<int> shares;
      for (Index l = 0; l < p_.storages.size(); ++l) {
        const Storage& t = p_.storages[l];
        if (l != k && t.kind == Storage::in_memory && t.memory == s.memory &&
            whole_range(t).meets(range))
          shares.push_back(static_cast<int>(l));
      }
      if (shares != s.shares)
        return Fault{
            "memory", s.name + " does not name all that it shares addresses with, or more", {}};
    }
    return std::nullopt;
  }

  /// Carried results have places of their own before the loop.
  Finding before_the_loop() const {
    std::vector<int> carried(p_.storages.size(), 0);
    for (const Op& op : p_.ops)
      for (const Read& r : op.reads)
        carried[index(r.storage)] = std::max(carried[index(r.storage)], r.distance);
    for (Index k = 0; k < p_.storages.size(); ++k)
      for (const int l : p_.storages[k].shares)
        for (std::int64_t i = 1; i <= carried[k]; ++i)
          for (std::int64_t j = 1; j <= carried[index(l)]; ++j) {
            const Storage &s = p_.storages[k], &t = p_.storages[index(l)];
            if (copy_range(s, -i).meets(copy_range(t, -j)))
              return Fault{"version",
                           s.name + " and " + t.name +
                               " are carried and would be at one place before the loop",
                           {}};
          }
    return std::nullopt;
  }

  /// The writes of a slot's instructions to shared memory are seen by an asynchronous unit only
  /// beyond a fence of that slot (PTX ISA, "async proxy").
  Finding fences() const {
    std::vector<const Op*> writer(p_.storages.size(), nullptr);
    for (const Op& op : p_.ops) {
      for (const int s : op.writes) writer[index(s)] = &op;
      if (op.async_proxy && op.ending == Ending::at_once)
        return Fault{"shape", op.id + " is asynchronous and is said to end at once", {op.id}};
      if (op.async_proxy && op.fence)
        return Fault{
            "shape", op.id + " is asynchronous: a fence is for what a slot writes", {op.id}};
    }
    for (const Op& op : p_.ops)
      for (const Read& r : op.reads) {
        const Storage& s = p_.storages[index(r.storage)];
        const Op& from = *writer[index(r.storage)];
        if (op.async_proxy && !from.async_proxy && !from.fence && s.kind == Storage::in_memory &&
            p_.memories[index(s.memory)].name == kBarrierMemory)
          return Fault{"fence",
                       from.id + " writes " + s.name + " by instructions of its slot and " + op.id +
                           " reads it asynchronously: without a fence it need not see it",
                       {from.id + "[0]", op.id + "[" + std::to_string(r.distance) + "]"}};
      }
    return std::nullopt;
  }

  /// Each lies in shared memory, by itself.
  Finding barriers() const {
    std::vector<std::pair<Range, std::string>> taken;
    Amount capacity = -1;
    bool memory = false, none = false;
    for (const Memory& m : p_.memories)
      if (m.name == kBarrierMemory) {
        memory = true;
        capacity = m.capacity;
      }
    for (const Storage& s : p_.storages)
      if (s.kind == Storage::in_memory && p_.memories[index(s.memory)].name == kBarrierMemory)
        taken.emplace_back(whole_range(s), s.name);
    bool some = false;
    for (const Event& event : p_.events) {
      if (event.pending && event.address < 0) continue;
      (event.address < 0 ? none : some) = true;
      if (event.address < 0) continue;
      const std::string name = "the barrier of " + p_.ops[index(event.op)].id;
      const Range range{event.address, event.address + kBarrierBytes * event.phases};
      if (event.pending || !memory || event.address % kBarrierBytes != 0 ||
          (capacity >= 0 && range.end > capacity))
        return Fault{"memory",
                     name + " cannot lie at " + std::to_string(event.address) + " of " +
                         kBarrierMemory + ", " + std::to_string(event.phases) + " x " +
                         std::to_string(kBarrierBytes) + " bytes",
                     {}};
      for (const auto& [other, who] : taken)
        if (other.meets(range))
          return Fault{
              "memory",
              name + " lies at " + std::to_string(event.address) + ", where " + who + " is",
              {}};
      taken.emplace_back(range, name);
    }
    if (some && none)
      return Fault{"memory", "some barriers have addresses and others have none", {}};
    return std::nullopt;
  }

  Finding events() const {
    std::map<std::pair<int, bool>, int> of;
    for (const Event& event : p_.events) {
      const Op& op = p_.ops[index(event.op)];
      const std::string name = "the end of " + op.id;
      int last_op = event.op;
      for (const int one : ends_of(event))
        if (++of[{one, event.pending}] > 1)
          return Fault{"shape",
                       "the end of " + p_.ops[index(one)].id + " has two barriers or two counts",
                       {p_.ops[index(one)].id}};
      for (const int one : event.with) {
        if (one <= last_op || event.pending)
          return Fault{
              "shape", name + " is said to come with others that it cannot come with", {op.id}};
        last_op = one;
      }
      if (event.pending) {
        if (op.ending != Ending::pending)
          return Fault{"shape", name + " cannot be waited for by a pending count", {op.id}};
        if (event.phases != 0 || event.arrivals != 0 || event.bytes != 0)
          return Fault{"shape", name + " has no barrier and is said to have one", {op.id}};
        continue;
      }
      if (event.phases < 1) return Fault{"shape", name + " has no phases", {op.id}};
      // What arrives are the ops themselves, each once in an iteration.
      const int arrivals = 1 + static_cast<int>(event.with.size());
      if (event.arrivals != arrivals)
        return Fault{
            "arrivals",
            name +
                (arrivals == 1 ? " is one arrival"
                               : ", with others, is " + std::to_string(arrivals) + " arrivals") +
                ", its barrier expects " + std::to_string(event.arrivals),
            {op.id}};
      Amount bytes = 0;
      for (const int one : ends_of(event))
        if (p_.ops[index(one)].ending == Ending::transaction)
          for (const int s : p_.ops[index(one)].writes)
            if (p_.storages[index(s)].kind == Storage::in_memory)
              bytes += p_.storages[index(s)].size;
      if (bytes != event.bytes)
        return Fault{"bytes",
                     name + " brings " + std::to_string(bytes) + ", its barrier expects " +
                         std::to_string(event.bytes),
                     {op.id}};
    }
    int last = 0;
    for (const Wait& wait : p_.waits) {
      if (wait.before < last) return Fault{"shape", "waits are not in the order of the ops", {}};
      last = wait.before;
      const Event& event = p_.events[index(wait.event)];
      if (event.pending && p_.ops[index(event.op)].slot != p_.ops[index(wait.before)].slot)
        return Fault{"shape",
                     p_.ops[index(wait.before)].id + " waits by a pending count of another slot, " +
                         p_.ops[index(event.op)].id,
                     {p_.ops[index(wait.before)].id}};
    }
    return std::nullopt;
  }

  const Program& p_;
};

/// A program of n iterations, unrolled.
class Run {
 public:
  /// `cut`: into tiles, wherever.
  Run(const Program& program, int n, bool cut = false)
      : p_(program), n_(n), cut_(cut), ops_(program.ops.size()) {
    waits_.resize(ops_);
    for (Index w = 0; w < p_.waits.size(); ++w)
      waits_[index(p_.waits[w].before)].push_back(static_cast<int>(w));
    writer_.assign(p_.storages.size(), -1);
    for (Index v = 0; v < ops_; ++v)
      for (const int s : p_.ops[v].writes) writer_[index(s)] = static_cast<int>(v);
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
    successors_[from].push_back(static_cast<std::uint32_t>(to));
    ++open_[to];
  }

  void build() {
    Index nodes = 0;
    for (Index v = 0; v < ops_; ++v)
      for (int i = 0; i < n_; ++i) {
        Index live = cut_ ? 1 : 0;  // (its start is a node of its own)
        for (const int w : waits_[v])
          if (in_range(i - std::int64_t{p_.waits[index(w)].offset})) ++live;
        instances_.push_back({static_cast<int>(v), i, nodes, live});
        nodes += live + 3;
      }
    successors_.resize(nodes);
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
      for (const int w : waits_[index(one.op)]) {
        const Wait& wait = p_.waits[index(w)];
        const std::int64_t i = one.iteration - wait.offset;
        if (!in_range(i)) continue;
        for (const int other : ends_of(p_.events[index(wait.event)]))
          arc(node(instance(other, i), end), k);
        ++k;
      }
    }
    if (cut_)
      cut_slots();
    else
      slots();
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
      std::map<std::string, Index> queues;
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
          if (op.queue.empty()) continue;
          const auto [ahead, first] = queues.try_emplace(op.queue, x);
          if (!first) arc(node(ahead->second, end), node(x, begin));
          ahead->second = x;
        }
    }
  }

  /// Every node has its turn, or a circle is left.
  Finding deadlock() {
    std::vector<Index> open = open_;
    std::deque<Index> next;
    for (Index k = 0; k < open.size(); ++k)
      if (open[k] == 0) next.push_back(k);
    while (!next.empty()) {
      const Index k = next.front();
      next.pop_front();
      turn_.push_back(k);
      for (const std::uint32_t to : successors_[k])
        if (--open[to] == 0) next.push_back(to);
    }
    if (turn_.size() == open.size()) return std::nullopt;
    std::vector<Index> before(open.size(), kNone);
    Index at = kNone;
    for (Index k = 0; k < open.size(); ++k)
      if (open[k] > 0)
        for (const std::uint32_t to : successors_[k])
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
    past_.assign(successors_.size() * words_, 0);
    for (const Index k : turn_) {
      const Index x = owner_[k];
      if (k == node(x, issue)) set(k, 2 * x);
      if (k == node(x, end)) set(k, 2 * x + 1);
      for (const std::uint32_t to : successors_[k])
        for (Index w = 0; w < words_; ++w) past_[to * words_ + w] |= past_[k * words_ + w];
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
      for (const int w : waits_[index(instances_[x].op)]) {
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
          for (const int op : ends_of(event)) {
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
    for (const Event& event : p_.events) {
      if (event.with.empty()) continue;
      const std::vector<int> all = ends_of(event);
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

  std::vector<Access> accesses_of(Index x) const {
    std::vector<Access> all;
    const Op& op = p_.ops[index(instances_[x].op)];
    const std::int64_t i = instances_[x].iteration;
    for (const Read& r : op.reads) all.push_back({x, false, r.storage, i - r.distance});
    for (const int s : op.writes) all.push_back({x, true, s, i});
    return all;
  }

  /// Do a copy of one storage and a copy of another, or the same, have cells in common?
  bool meet(int s, std::int64_t i, int t, std::int64_t j) const {
    const Storage &a = p_.storages[index(s)], &b = p_.storages[index(t)];
    if (a.kind != Storage::in_memory || b.kind != Storage::in_memory)
      return s == t && (i - j) % a.depth == 0;
    return a.memory == b.memory && copy_range(a, i).meets(copy_range(b, j));
  }

  Finding accesses() const {
    std::vector<std::vector<Access>> of(p_.storages.size());
    for (Index x = 0; x < instances_.size(); ++x)
      for (const Access& access : accesses_of(x)) of[index(access.storage)].push_back(access);
    for (int s = 0; s < static_cast<int>(of.size()); ++s) {
      std::vector<int> near = p_.storages[index(s)].shares;
      near.push_back(s);
      for (const int t : near)
        for (std::int64_t i = 0; i < n_; ++i)
          for (const Access& access : of[index(s)])
            if (auto found = pair(access, write_of(t, i))) return found;
      // (What is there after the last tile says nothing of those before.)
      if (cut_) continue;
      if (auto found = kept(s, near)) return found;
    }
    return std::nullopt;
  }

  /// An access of storage s, and a write of s or of what shares its addresses.
  Finding pair(const Access& access, const Access& write) const {
    if (!meet(access.storage, access.copy, write.storage, write.copy)) return std::nullopt;
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
  Finding kept(int s, const std::vector<int>& near) const {
    int carried = 0;
    for (const Op& op : p_.ops)
      for (const Read& r : op.reads)
        if (r.storage == s) carried = std::max(carried, r.distance);
    for (std::int64_t i = std::int64_t{n_} - carried; i < n_; ++i)
      for (const int t : near)
        for (std::int64_t j = 0; j < n_; ++j) {
          const Access write = write_of(t, j);
          if ((t == s && j == i) || !meet(s, i, t, j)) continue;
          const Index writer = i < 0 ? kNone : instance(writer_of(s), i);
          if (i >= 0 && precedes(write.who, writer)) continue;
          const std::string maker = i < 0 ? "iteration " + std::to_string(i) : name(writer);
          return Fault{"version",
                       at_n() + p_.storages[index(s)].name + " of " + maker +
                           " is carried and must be there after the loop, but " + name(write.who) +
                           " writes " + p_.storages[index(t)].name + " there",
                       {name(writer), name(write.who)}};
        }
    return std::nullopt;
  }

  int writer_of(int s) const { return writer_[index(s)]; }
  Access write_of(int s, std::int64_t i) const { return {instance(writer_of(s), i), true, s, i}; }

  static constexpr Index kNone = static_cast<Index>(-1);
  const Program& p_;
  int n_;
  bool cut_;
  Index ops_;
  std::vector<std::vector<int>> waits_;
  std::vector<int> writer_;  ///< per storage
  std::vector<Instance> instances_;
  std::vector<std::vector<std::uint32_t>> successors_;
  std::vector<Index> open_, owner_, turn_;
  std::vector<Index> previous_;  ///< per instance, the node of its slot before it
  Index words_ = 0;
  std::vector<std::uint64_t> past_;
};

}  // namespace

std::optional<int> enough_iterations(const Program& program) {
  std::int64_t stages = 0, reach = 0, period = 1;
  for (const Op& op : program.ops) stages = std::max<std::int64_t>(stages, op.stage + 1);
  std::vector<std::int64_t> distance(program.storages.size(), 0);
  for (const Op& op : program.ops)
    for (const Read& r : op.reads)
      distance[index(r.storage)] = std::max<std::int64_t>(distance[index(r.storage)], r.distance);
  for (Index s = 0; s < program.storages.size(); ++s) {
    std::int64_t common = program.storages[s].depth, far = distance[s];
    for (const int t : program.storages[s].shares) {
      common = std::lcm(common, std::int64_t{program.storages[index(t)].depth});
      far = std::max(far, distance[index(t)]);
      if (common > kMostPeriods) return std::nullopt;
    }
    reach = std::max(reach, 2 * common + far);
    period = std::max(period, common);
  }
  for (const Wait& wait : program.waits) {
    const Event& event = program.events[index(wait.event)];
    for (const int op : ends_of(event))
      if (std::int64_t{program.ops[index(op)].stage} - wait.offset -
              program.ops[index(wait.before)].stage >
          0)
        return std::nullopt;
    reach = std::max(reach, std::abs(std::int64_t{wait.offset}) + event.phases);
  }
  for (const Event& event : program.events)
    if (!event.with.empty()) reach = std::max<std::int64_t>(reach, event.phases);
  const std::int64_t enough = reach + stages + 2 * stages + period;
  if (enough > kMostPeriods) return std::nullopt;
  return static_cast<int>(enough);
}

namespace {

/// About how many steps a run of n iterations takes: words of the relation, and pairs of accesses.
double work(const Program& program, int n) {
  const double ops = static_cast<double>(program.ops.size());
  const double nodes = n * (3 * ops + static_cast<double>(program.waits.size()));
  std::vector<double> accesses(program.storages.size(), 1), carried(accesses);
  double stages = 0;
  for (const Op& op : program.ops) {
    stages = std::max<double>(stages, op.stage);
    for (const Read& r : op.reads) {
      ++accesses[index(r.storage)];
      carried[index(r.storage)] = std::max<double>(carried[index(r.storage)], r.distance);
    }
  }
  double pairs = (n + stages) * ops;
  for (Index s = 0; s < accesses.size(); ++s) {
    pairs += accesses[s] * static_cast<double>(program.storages[s].shares.size() + 1) * n * n;
    for (const int t : program.storages[s].shares) pairs += carried[s] * (carried[index(t)] + n);
  }
  const double words = nodes * (1 + n * ops / 32);
  return words > kMostWords ? std::numeric_limits<double>::infinity() : words + pairs;
}

}  // namespace

std::optional<Fault> judge(const Program& program, int n) {
  if (work(program, n) > kMostSteps)
    return Fault{"window", "n = " + std::to_string(n) + " is too large to be judged", {}};
  if (auto found = Shape(program).check()) return found;
  return Run(program, n).check();
}

std::optional<Fault> judge(const Program& program) {
  const auto enough = enough_iterations(program);
  if (!enough)
    return Fault{"window",
                 "a wait is for an op of a later period, or depths and offsets are too large: "
                 "nothing can be said of every trip count",
                 {}};
  if (work(program, *enough) * *enough / 3 > kMostSteps)
    return Fault{
        "window", "up to n = " + std::to_string(*enough) + " must be judged, too much work", {}};
  if (auto found = Shape(program).check()) return found;
  for (int n = 0; n <= *enough; ++n)
    if (auto found = Run(program, n).check()) return found;
  return std::nullopt;
}

std::optional<Fault> judge_tiles(const Program& program) {
  for (const Wait& wait : program.waits)
    if (wait.offset < 0)
      return Fault{"tiles",
                   program.ops[index(wait.before)].id + " waits for a later iteration of " +
                       program.ops[index(program.events[index(wait.event)].op)].id +
                       ", which another tile may have",
                   {}};
  const auto enough = enough_iterations(program);
  if (!enough || work(program, *enough) * *enough > kMostSteps)
    return Fault{"window", "sequences of tiles are too much work to be judged", {}};
  if (auto found = Shape(program).check()) return found;
  return Run(program, *enough, true).check();
}

}  // namespace twill::program
