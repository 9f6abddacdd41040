// Exhaustive search over all interleavings of threads that synchronise through mbarriers, named
// barriers and TMA loads: finds deadlocks, reads of the wrong contents, buffers overwritten while
// they are read, over-arrivals and barriers left half full.
//
// A thread is a straight line of events. A warpgroup is one thread (its warps run the same events;
// what its four warps signal one by one is one event of weight 4). Loads end at any time. A wgmma
// group is taken to read its buffers until it is waited for: it may end sooner, but then fewer
// orders are wrong, so the search stays complete for errors. Memory-proxy fences are not modelled.
//
// Only waits and the ends of loads are interleaved in all orders (partial-order reduction): the
// other events are always enabled and are taken at once. An arrival commutes with all but the waits
// of a phase that it ends a second time, which it then rightly blocks; a load that starts, or a
// read, is found to clash with a later one as with an earlier one, because it lasts until a wait.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace twill::gpu::model {

struct Event {
  enum class Kind : unsigned char {
    wait,         ///< until phase of `parity` of mbarrier `barrier` has ended
    arrive,       ///< `count` arrivals on mbarrier `barrier`
    expect,       ///< one arrival on `barrier`, and `count` loads are to come
    load,         ///< start loading `tag` into `buffer`, to be signalled on `barrier`
    issue,        ///< a group that reads `tag` from `buffer`, `tag2` from `buffer2`, and `also`
    read,         ///< ordinary read of `tag` from `buffer`
    wait_groups,  ///< until at most `count` groups of this thread are in flight
    write,        ///< ordinary write of `tag` to `buffer`
    named_sync,   ///< named barrier `barrier`: arrive and wait
    named_arrive  ///< arrive only
  };
  Kind kind = Kind::wait;
  int barrier = -1;
  int parity = 0;
  int count = 0;
  int buffer = -1, buffer2 = -1;
  int tag = 0, tag2 = 0;
  std::vector<std::pair<int, int>> also = {};  ///< buffer, tag
};

using Thread = std::vector<Event>;

struct System {
  std::vector<Thread> threads;
  std::vector<std::string> names;  ///< of the threads
  std::vector<int> mbarriers;      ///< arrivals of a phase
  int named = 0;                   ///< named barriers, each of `named_size` warpgroups
  int named_size = 2;
  int buffers = 0;
  /// Loads end only when no thread can move: far fewer states, for systems of two blocks. Late ends
  /// are what a missing wait is found by.
  bool late_loads = false;
};

struct Verdict {
  std::string error;  ///< "" = every interleaving ends well
  std::size_t states = 0;
  bool complete = true;  ///< false: stopped at the limit
};

namespace detail {

struct State {
  std::vector<std::int16_t> at;      ///< per thread: next event
  std::vector<std::int8_t> waiting;  ///< per thread: generation it syncs on, -1 = none
  std::vector<std::int8_t> phase, pending, transfers;  ///< per mbarrier
  std::vector<std::int8_t> arrived, generation;        ///< per named barrier
  std::vector<std::int16_t> contents;                  ///< per buffer: tag, kEmpty or kLoading
  std::vector<std::int8_t> readers;                    ///< per buffer
  struct Load {
    std::int16_t barrier, buffer, tag;
    auto operator<=>(const Load&) const = default;
  };
  std::vector<Load> loads;  ///< in flight
  struct Group {
    std::int16_t thread, event;
  };
  std::vector<Group> groups;  ///< in flight, oldest first

  std::string key() const {
    std::string k;
    const auto put = [&k](const auto& values) {
      for (const auto v : values) k.append(reinterpret_cast<const char*>(&v), sizeof v);
    };
    put(at), put(waiting), put(phase), put(pending), put(transfers), put(arrived);
    put(generation), put(contents), put(readers);
    for (const Load& l : loads) {
      k.push_back(static_cast<char>(l.barrier));
      k.push_back(static_cast<char>(l.buffer));
    }
    return k;  // the groups follow from `at`, the loads' tags from their threads'
  }
};

inline constexpr std::int16_t kEmpty = -1, kLoading = -2;

class Search {
 public:
  Search(const System& system, std::size_t limit) : system_(system), limit_(limit) {}

  Verdict run() {
    State first;
    first.at.assign(system_.threads.size(), 0);
    first.waiting.assign(system_.threads.size(), -1);
    first.phase.assign(system_.mbarriers.size(), 0);
    for (const int arrivals : system_.mbarriers)
      first.pending.push_back(static_cast<std::int8_t>(arrivals));
    first.transfers.assign(system_.mbarriers.size(), 0);
    first.arrived.assign(static_cast<std::size_t>(system_.named), 0);
    first.generation.assign(static_cast<std::size_t>(system_.named), 0);
    first.contents.assign(static_cast<std::size_t>(system_.buffers), kEmpty);
    first.readers.assign(static_cast<std::size_t>(system_.buffers), 0);
    run_ahead(first);
    seen_.insert(first.key());
    std::vector<State> open{first};
    while (!open.empty() && verdict_.error.empty()) {
      const State state = std::move(open.back());
      open.pop_back();
      bool moved = false;
      const auto take = [&](State&& next) {
        moved = true;
        run_ahead(next);
        if (verdict_.error.empty() && seen_.insert(next.key()).second)
          open.push_back(std::move(next));
      };
      for (std::size_t t = 0; t < system_.threads.size(); ++t) {
        State next = state;
        if (step(next, t)) take(std::move(next));
      }
      if (!moved || !system_.late_loads)
        for (std::size_t l = 0; l < state.loads.size(); ++l) {
          State next = state;
          end_load(next, l);
          take(std::move(next));
        }
      if (!moved && verdict_.error.empty()) at_rest(state);
      if (seen_.size() > limit_) {
        verdict_.complete = false;
        break;
      }
    }
    verdict_.states = seen_.size();
    return verdict_;
  }

 private:
  void fail(const std::string& what, std::size_t thread, const State& state) {
    if (verdict_.error.empty())
      verdict_.error =
          what + " (" + system_.names[thread] + ", event " + std::to_string(state.at[thread]) + ")";
  }

  static std::size_t buffer_of(const Event& e) { return static_cast<std::size_t>(e.buffer); }

  static std::vector<std::pair<int, int>> reads(const Event& e) {
    std::vector<std::pair<int, int>> all = e.also;
    if (e.buffer >= 0) all.emplace_back(e.buffer, e.tag);
    if (e.buffer2 >= 0) all.emplace_back(e.buffer2, e.tag2);
    return all;
  }

  void settle(State& s, std::size_t b) const {
    if (s.pending[b] != 0 || s.transfers[b] != 0) return;
    s.phase[b] ^= 1;
    s.pending[b] = static_cast<std::int8_t>(system_.mbarriers[b]);
  }

  void end_load(State& s, std::size_t which) {
    const State::Load load = s.loads[which];
    s.loads.erase(s.loads.begin() + static_cast<std::ptrdiff_t>(which));
    s.contents[static_cast<std::size_t>(load.buffer)] = load.tag;
    const auto b = static_cast<std::size_t>(load.barrier);
    --s.transfers[b];
    settle(s, b);
  }

  // All events that need not be interleaved.
  void run_ahead(State& s) {
    for (bool again = true; again && verdict_.error.empty();) {
      again = false;
      for (std::size_t t = 0; t < system_.threads.size(); ++t) {
        const Thread& thread = system_.threads[t];
        while (verdict_.error.empty() && static_cast<std::size_t>(s.at[t]) < thread.size()) {
          const Event::Kind kind = thread[static_cast<std::size_t>(s.at[t])].kind;
          if (kind == Event::Kind::wait || kind == Event::Kind::wait_groups || !step(s, t)) break;
          again = true;
        }
      }
    }
    std::sort(s.loads.begin(), s.loads.end());
  }

  // Executes the thread's next event if it is enabled.
  bool step(State& s, std::size_t t) {
    const Thread& thread = system_.threads[t];
    if (static_cast<std::size_t>(s.at[t]) == thread.size()) return false;
    const Event& e = thread[static_cast<std::size_t>(s.at[t])];
    const auto b = static_cast<std::size_t>(e.barrier);
    switch (e.kind) {
      case Event::Kind::wait:
        if (s.phase[b] == e.parity) return false;
        break;
      case Event::Kind::arrive:
      case Event::Kind::expect: {
        const int arrivals = e.kind == Event::Kind::expect ? 1 : e.count;
        if (s.pending[b] < arrivals) fail("more arrivals than a phase has", t, s);
        s.pending[b] = static_cast<std::int8_t>(s.pending[b] - arrivals);
        if (e.kind == Event::Kind::expect)
          s.transfers[b] = static_cast<std::int8_t>(s.transfers[b] + e.count);
        settle(s, b);
        break;
      }
      case Event::Kind::load: {
        auto& contents = s.contents[static_cast<std::size_t>(e.buffer)];
        if (s.readers[static_cast<std::size_t>(e.buffer)] > 0)
          fail("a buffer is overwritten while it is read", t, s);
        if (contents == kLoading) fail("two loads into one buffer", t, s);
        contents = kLoading;
        s.loads.push_back({static_cast<std::int16_t>(e.barrier),
                           static_cast<std::int16_t>(e.buffer), static_cast<std::int16_t>(e.tag)});
        break;
      }
      case Event::Kind::issue: {
        for (const auto& [buffer, tag] : reads(e)) {
          if (s.contents[static_cast<std::size_t>(buffer)] != tag)
            fail("a buffer does not hold what is read from it", t, s);
          ++s.readers[static_cast<std::size_t>(buffer)];
        }
        s.groups.push_back({static_cast<std::int16_t>(t), static_cast<std::int16_t>(s.at[t])});
        break;
      }
      case Event::Kind::wait_groups: {
        int own = 0;
        for (const State::Group& g : s.groups) own += g.thread == static_cast<int>(t);
        for (std::size_t g = 0; g < s.groups.size() && own > e.count;) {
          if (s.groups[g].thread != static_cast<int>(t)) {
            ++g;
            continue;
          }
          for (const auto& [buffer, tag] :
               reads(thread[static_cast<std::size_t>(s.groups[g].event)]))
            --s.readers[static_cast<std::size_t>(buffer)];
          s.groups.erase(s.groups.begin() + static_cast<std::ptrdiff_t>(g));
          --own;
        }
        break;
      }
      case Event::Kind::read:
        if (s.contents[buffer_of(e)] != e.tag)
          fail("a buffer does not hold what is read from it", t, s);
        break;
      case Event::Kind::write:
        if (s.readers[static_cast<std::size_t>(e.buffer)] > 0)
          fail("a buffer is overwritten while it is read", t, s);
        if (s.contents[static_cast<std::size_t>(e.buffer)] == kLoading)
          fail("a buffer is written while it is loaded", t, s);
        s.contents[static_cast<std::size_t>(e.buffer)] = static_cast<std::int16_t>(e.tag);
        break;
      case Event::Kind::named_sync:
        if (s.waiting[t] < 0) {  // first half: arrive
          s.waiting[t] = s.generation[b];
          arrive_named(s, t, b);
          return true;
        }
        if (s.waiting[t] == s.generation[b]) return false;
        s.waiting[t] = -1;
        break;
      case Event::Kind::named_arrive: arrive_named(s, t, b); break;
    }
    ++s.at[t];
    return true;
  }

  void arrive_named(State& s, std::size_t t, std::size_t b) {
    // A warpgroup that arrives twice before a generation ends would complete it alone.
    if (++s.arrived[b] > system_.named_size) fail("more arrivals than a named barrier has", t, s);
    if (s.arrived[b] == system_.named_size) {
      s.arrived[b] = 0;
      s.generation[b] = static_cast<std::int8_t>((s.generation[b] + 1) % 64);
    }
  }

  // No thread can move and no load is in flight.
  void at_rest(const State& s) {
    for (std::size_t t = 0; t < system_.threads.size(); ++t)
      if (static_cast<std::size_t>(s.at[t]) < system_.threads[t].size()) {
        fail("deadlock", t, s);
        return;
      }
    for (const auto arrived : s.arrived)
      if (arrived != 0) verdict_.error = "a named barrier is left half full";
    if (!s.groups.empty()) verdict_.error = "a group is still in flight at the end";
  }

  const System& system_;
  std::size_t limit_;
  std::unordered_set<std::string> seen_;
  Verdict verdict_;
};

}  // namespace detail

/// Searches at most `limit` states.
inline Verdict search(const System& system, std::size_t limit = 20'000'000) {
  return detail::Search(system, limit).run();
}

}  // namespace twill::gpu::model
