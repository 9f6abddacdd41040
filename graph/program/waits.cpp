// All orders are made waits; those are dropped that the others imply in every iteration of every
// trip count.
//
// That this is a least set: the instances of a program are a graph without circles, because the
// schedule's issue order satisfies every order and runs along the code of each slot. There an arc
// is dispensable if and only if another path leads from its tail to its head, and all that are
// dispensable can be left out together (Aho, Garey and Ullman, "The transitive reduction of a
// directed graph", SIAM J. Computing, 1972). A wait is left out if all its instances are
// dispensable. Orders within a queue, which end in the beginning of an op and not in its issue,
// were left out before (orders.cpp): such an op ends after another one of its queue only, so for
// all other ops what has ended before it begins has ended before it is issued.
//
// Why finitely many trip counts are enough: a path between two instances goes forward in the
// schedule's issue order. From op a of iteration i - k to op b of iteration i it meets iterations
// from i - |k| - S to i + S alone, S the number of stages: what makes the difference is whether
// these are there. More iterations only add paths: an instance that is left out in a trip count is
// left out in each larger one. So each pair of instances is asked about where the later one's
// iteration is the last; and for n >= |k| + S + 1 the first iteration is not near, so that more of
// them bring nothing new. The phases of a barrier ask the same with k + R in place of k.
#include "graph/program/waits.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/program/window.hpp"

namespace twill::program {
namespace {

constexpr std::int64_t kMaxInstances = 6'000;

class Waiter {
 public:
  explicit Waiter(Draft& draft) : draft_(draft), program_(draft.program) {}

  std::optional<Refusal> run() {
    const std::vector<Order> orders = orders_of(draft_);
    const std::int64_t stages = stage_count(program_);
    std::int64_t reach = 1;
    for (const Order& o : orders) reach = std::max(reach, std::abs(o.offset));
    most_phases_ = reach + stages;
    const std::int64_t near = reach + stages + 2;
    const std::int64_t most = reach + most_phases_ + 2 * stages + 2;
    const auto ops = static_cast<std::int64_t>(program_.ops.size());
    if (most * ops > kMaxInstances)
      return Refusal{"size", std::to_string(ops) + " ops in " + std::to_string(most) +
                                 " iterations, which is where the loop repeats itself, are more "
                                 "than " +
                                 std::to_string(kMaxInstances)};
    const int last = static_cast<int>(most);
    std::vector<bool> needed(orders.size(), false);
    Window window(draft_, orders, static_cast<int>(near));
    for (int n = 1; n <= static_cast<int>(near); ++n) {
      window.run(n);
      mark_needed(window, orders, needed);
    }
    for (std::size_t k = 0; k < orders.size(); ++k)
      if (needed[k]) waits_.push_back(orders[k]);
    sort_waits();
    return barriers(last);
  }

 private:
  static void mark_needed(const Window& window, const std::vector<Order>& orders,
                          std::vector<bool>& needed) {
    for (std::size_t k = 0; k < orders.size(); ++k) {
      const Order& o = orders[k];
      const std::int64_t i = window.iterations() - 1 + std::min<std::int64_t>(0, o.offset);
      if (!needed[k] && window.exists(i) && window.exists(i - o.offset) &&
          !window.ended_otherwise(o.first, i - o.offset, o.then, i))
        needed[k] = true;
    }
  }

  /// What the schedule has ended first is waited for first.
  Cycle when(const Order& o) const {
    const int u = draft_.source[at(o.first)];
    return draft_.loop.start(u) + draft_.loop.ends[at(u)] - o.offset * program_.initiation_interval;
  }
  void sort_waits() {
    std::stable_sort(waits_.begin(), waits_.end(), [&](const Order& a, const Order& b) {
      return a.then != b.then ? a.then < b.then : when(a) < when(b);
    });
  }

  bool is_pending(const Order& o) const {
    const Op& op = program_.ops[at(o.first)];
    return op.slot == program_.ops[at(o.then)].slot && op.ending == Ending::pending;
  }

  /// Ops that are waited for together wherever one of them is: they arrive on one barrier. Per op
  /// the first of its barrier.
  std::map<int, int> barriers_of() const {
    std::map<int, std::set<std::pair<int, std::int64_t>>> waited;
    for (const Order& o : waits_)
      if (!is_pending(o)) waited[o.first].emplace(o.then, o.offset);
    std::map<int, int> first;
    std::map<std::set<std::pair<int, std::int64_t>>, int> known;
    for (const auto& [op, by] : waited) {
      const bool alone = !draft_.merge || alone_.contains(op);
      first[op] = alone ? op : known.try_emplace(by, op).first->second;
    }
    return first;
  }

  void make() {
    program_.events.clear();
    program_.waits.clear();
    made_.clear();
    const std::map<int, int> first = barriers_of();
    std::map<std::pair<int, bool>, int> known;
    for (const Order& o : waits_) {
      const bool pending = is_pending(o);
      known.try_emplace({pending ? o.first : first.at(o.first), pending}, 0);
    }
    for (auto& [key, index] : known) {
      index = static_cast<int>(program_.events.size());
      Event event;
      event.op = key.first;
      event.pending = key.second;
      if (!event.pending)
        for (const auto& [op, barrier] : first)
          if (barrier == event.op && op != event.op) event.with.push_back(op);
      if (!event.pending) event.phases = 1;
      if (!event.pending) event.arrivals = 1 + static_cast<int>(event.with.size());
      for (const int v : ops_of(event)) {
        const Op& op = program_.ops[at(v)];
        if (op.ending != Ending::transaction) continue;
        for (const int s : op.writes)
          if (program_.storages[at(s)].kind == Storage::in_memory)
            event.bytes += program_.storages[at(s)].size;
      }
      event.consumed = true;
      program_.events.push_back(event);
    }
    // Of waits for one barrier the last stays, with the need of the first.
    for (std::size_t k = 0; k < waits_.size(); ++k) {
      const Order& o = waits_[k];
      const bool pending = is_pending(o);
      const int event = known.at({pending ? o.first : first.at(o.first), pending});
      if (o.need == Need::raw || o.need == Need::waw || o.need == Need::turn)
        program_.events[at(event)].consumed = false;
      const Wait wait{o.then, event, static_cast<int>(o.offset), o.need, o.storage};
      const auto same =
          std::find_if(program_.waits.begin(), program_.waits.end(), [&](const Wait& w) {
            return w.before == wait.before && w.event == event && w.offset == wait.offset;
          });
      if (same == program_.waits.end()) {
        program_.waits.push_back(wait);
        made_.push_back({k});
        continue;
      }
      Wait kept = *same;
      if (wait.need == Need::raw && kept.need != Need::raw) kept = wait;
      std::vector<std::size_t> orders =
          made_[static_cast<std::size_t>(same - program_.waits.begin())];
      orders.push_back(k);
      made_.erase(made_.begin() + (same - program_.waits.begin()));
      program_.waits.erase(same);
      program_.waits.push_back(kept);
      made_.push_back(std::move(orders));
    }
  }

  /// The wait for iteration i of an event with R phases: iterations i - R, i - 2 R, ... have ended
  /// before it begins, so that the parity cannot be that of the phase before the last; and
  /// iterations i + R, ... cannot end before it has passed, so that it cannot be that of the next.
  bool safe(const Window& window, std::size_t wait, std::int64_t phases) const {
    const Wait& w = program_.waits[wait];
    const std::vector<int> all = ops_of(program_.events[at(w.event)]);
    for (std::int64_t j = 0; j < window.iterations(); ++j) {
      const std::int64_t i = j - w.offset;
      if (!window.exists(i)) continue;
      for (std::int64_t k = i % phases; k < window.iterations(); k += phases) {
        if (std::max({i, j, k}) + 1 < window.iterations()) continue;  // asked with fewer
        const auto ended = [&](int op) { return ended_before(window, wait, op, k, j); };
        const auto later = [&](int op) { return window.issued(w.before, j, op, k); };
        if ((k < i && !std::all_of(all.begin(), all.end(), ended)) ||
            (k > i && std::none_of(all.begin(), all.end(), later)))
          return false;
      }
    }
    return true;
  }

  /// Does no op of a barrier arrive a phase before another?
  bool in_step(const Window& window, const Event& event) const {
    if (event.with.empty()) return true;
    const std::vector<int> all = ops_of(event);
    const std::int64_t i = window.iterations() - 1 - event.phases;
    if (!window.exists(i)) return true;
    for (const int first : all)
      for (const int then : all)
        if (!window.ended_with(then, i + event.phases, first, i)) return false;
    return true;
  }

  /// Has `op` ended, in iteration i, before this wait of iteration j begins?
  bool ended_before(const Window& window, std::size_t wait, int op, std::int64_t i,
                    std::int64_t j) const {
    const int then = program_.waits[wait].before;
    if (window.ended_before_waits(op, i, then, j)) return true;
    for (std::size_t k = wait; k > 0 && program_.waits[k - 1].before == then; --k)
      for (const std::size_t o : made_[k - 1]) {
        const Order& earlier = waits_[o];
        const std::int64_t e = j - earlier.offset;
        if (!window.exists(e)) continue;
        if ((earlier.first == op && e == i) || window.ended_with(earlier.first, e, op, i))
          return true;
      }
    return false;
  }

  /// The least phases with which all waits are safe, of every trip count up to `last`. An event
  /// that no number of them makes safe is returned.
  std::optional<int> phases(int last) {
    Window window(draft_, waits_, last);
    for (bool changed = true; changed;) {
      changed = false;
      for (int n = 1; n <= last; ++n) {
        window.run(n);
        for (std::size_t w = 0; w < program_.waits.size(); ++w) {
          Event& event = program_.events[at(program_.waits[w].event)];
          for (; !event.pending && !(safe(window, w, event.phases) && in_step(window, event));
               changed = true)
            if (++event.phases > most_phases_) return program_.waits[w].event;
        }
      }
    }
    return std::nullopt;
  }

  /// Waits with their barriers; barriers of several ops that cannot be safe are taken apart.
  std::optional<Refusal> barriers(int last) {
    for (;;) {
      make();
      const auto unsafe = phases(last);
      if (!unsafe) return std::nullopt;
      const Event& event = program_.events[at(*unsafe)];
      if (event.with.empty())
        return Refusal{"phases", "no barrier of up to " + std::to_string(most_phases_) +
                                     " phases is safe for the end of " +
                                     program_.ops[at(event.op)].id};
      for (const int op : ops_of(event)) alone_.insert(op);
    }
  }

  Draft& draft_;
  Program& program_;
  std::vector<Order> waits_;
  std::vector<std::vector<std::size_t>> made_;  ///< per wait of the program, its orders
  std::set<int> alone_;                         ///< ops with a barrier of their own
  std::int64_t most_phases_ = 1;
};

}  // namespace

std::optional<Refusal> add_waits(Draft& draft) {
  return Waiter(draft).run();
}

}  // namespace twill::program
