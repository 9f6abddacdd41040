// What orders the accesses of shared memory by threads, TMA and the tensor core. Of each line of 16
// bytes it is known who has had it, and of each thread what it knows to be over: its own accesses,
// and what barriers, waits and meetings have told it. So a missing barrier is found also where the
// threads happened to come in the right order.
//
// Threads access by the generic proxy, TMA and products by the async proxy (PTX ISA, "Async
// proxy"). Between the two fence.proxy.async must lie, after reads too: of the thread that has read
// or written, before it tells others. (CUTLASS fences before it releases a buffer that it has read
// with ordinary loads, Triton has a pass that does.) What ordinary accesses do to each other is not
// looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/emulator/core.hpp"

namespace twill::gpu::emulator {

/// An event of an agent (Known): its `count`th. Count 0: none.
struct Event {
  std::uint32_t agent = 0, count = 0;
  bool known(const Known& to) const {
    return count == 0 || (agent < to.size() && to[agent] >= count);
  }
};

/// Of one block's shared memory. What returns a text returns what is wrong, "" if nothing.
class Order {
 public:
  explicit Order(std::size_t lines) : lines_(lines) {}

  /// An ordinary access by `thread`, which is at event `now`. Adds the line to `touched`, the
  /// thread's list of what it has not fenced.
  std::string ordinary(std::uint32_t line, int thread, const Event& now, const Known& known,
                       bool writes, std::vector<std::uint32_t>& touched) {
    Line& at = lines_[line];
    const char* const what = writes ? "written" : "read";
    if (!at.loaded.known(known))
      return std::string(what) + " where TMA has written, without a wait for it";
    if (writes && !ended(at, known))
      return "written while TMA or wgmma may still read it: its end is not known to the thread";
    Access* one = find(at, thread, writes);
    if (one == nullptr) one = &at.ordinary.emplace_back(Access{thread, writes, true, now});
    if (one->fenced) touched.push_back(line);
    one->fenced = false;
    return "";
  }
  /// fence.proxy.async of the thread, for what it has touched.
  void fence(int thread, const Event& now, std::vector<std::uint32_t>& touched) {
    for (const std::uint32_t line : touched)
      for (Access& one : lines_[line].ordinary)
        if (one.thread == thread && !one.fenced) one.fenced = true, one.at = now;
    touched.clear();
  }

  /// TMA starts to write, and has written when `loaded` has happened. `known`: to who issues it,
  /// null where that is a thread of another block, of which no barrier here tells.
  std::string start_writing(std::uint32_t line, const Known* known, const Event& loaded) {
    Line& at = lines_[line];
    for (const Access& one : at.ordinary) {
      const std::string what = "TMA overwrites what thread " + std::to_string(one.thread) +
                               (one.writes ? " wrote" : " has read");
      if (!one.fenced) return what + " without fence.proxy.async";
      if (known != nullptr && !one.at.known(*known)) return what + ", and no barrier lies between";
    }
    if (known != nullptr && !at.loaded.known(*known))
      return "TMA overwrites what it has loaded before anyone has waited for it";
    if (known != nullptr && !ended(at, *known))
      return "TMA overwrites what TMA or wgmma may still read: its end is not known to the thread";
    at.ordinary.clear();
    at.readers.clear();
    at.loaded = loaded;
    return "";
  }
  /// TMA or a product starts to read.
  std::string start_reading(std::uint32_t line, const Known& known) const {
    const Line& at = lines_[line];
    for (const Access& one : at.ordinary) {
      if (!one.writes) continue;
      const std::string what =
          "read by TMA or wgmma, written by thread " + std::to_string(one.thread);
      if (!one.fenced) return what + " without fence.proxy.async";
      if (!one.at.known(known)) return what + ", and no barrier lies between";
    }
    if (!at.loaded.known(known)) return "read by TMA or wgmma before a wait for the load";
    return "";
  }
  /// Such a reading has ended, by this event.
  void end_reading(std::uint32_t line, const Event& end) {
    for (Event& one : lines_[line].readers)
      if (one.agent == end.agent) {
        one.count = std::max(one.count, end.count);
        return;
      }
    lines_[line].readers.push_back(end);
  }

 private:
  struct Access {
    int thread;
    bool writes, fenced;
    Event at;  ///< where it was fenced
  };
  struct Line {
    std::vector<Access> ordinary;  ///< since TMA wrote, the last of each thread and kind
    std::vector<Event> readers;    ///< ends of readings since TMA wrote
    Event loaded;
  };

  static bool ended(const Line& at, const Known& known) {
    return std::all_of(at.readers.begin(), at.readers.end(),
                       [&](const Event& one) { return one.known(known); });
  }
  static Access* find(Line& at, int thread, bool writes) {
    for (auto one = at.ordinary.rbegin(); one != at.ordinary.rend(); ++one)
      if (one->thread == thread && one->writes == writes) return &*one;
    return nullptr;
  }

  std::vector<Line> lines_;
};

}  // namespace twill::gpu::emulator
