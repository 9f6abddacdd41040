// What the model of the barrier protocol must show, as a list of failures (empty = all holds). Run
// by gpu's own test program and by the main project's; no GPU is needed.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/model/forward.hpp"

namespace twill::gpu::tests {

using model::Event;
using model::ForwardCase;
using model::System;
using model::Thread;
using Kind = model::Event::Kind;

/// Every schedule's kernel, all interleavings: one to three tiles of one to four key blocks, and
/// clusters of two.
inline std::vector<std::string> forward_protocol_holds() {
  std::vector<std::string> failures;
  const auto expect_clean = [&](const Schedule& schedule, const ForwardCase& c) {
    const model::Verdict verdict = model::search(model::forward_system(schedule, c));
    std::string text = std::string(schedule.name) + ", tiles of";
    for (const int blocks : c.key_blocks) text += " " + std::to_string(blocks);
    if (!verdict.error.empty()) failures.push_back(text + ": " + verdict.error);
    if (!verdict.complete) failures.push_back(text + ": the search was not complete");
    if (verdict.states < 50) failures.push_back(text + ": suspiciously few states");
  };
  for (const Schedule* schedule : kForwardSchedules) {
    for (const std::vector<int>& blocks : std::vector<std::vector<int>>{
             {1}, {2}, {3}, {4}, {1, 1}, {1, 2}, {2, 1}, {1, 3}, {3, 2}, {2, 2, 2}, {1, 3, 1}})
      for (const bool own_output : {true, false})
        expect_clean(*schedule, {blocks, 1, 2, true, own_output});
  }
  for (const Schedule* schedule : kForwardSchedules)
    if (forward_consumers(*schedule, 64) == 3)
      for (const std::vector<int>& blocks : std::vector<std::vector<int>>{{1}, {3}, {2, 1}})
        expect_clean(*schedule, {blocks, 1, 3, true, true});
  // Three blocks: the first buffers are filled a second time.
  expect_clean(kCudaDefault, {{3}, 2, 1, false});
  expect_clean(kTwillSwp, {{3}, 2, 1, false});
  expect_clean(kTwill, {{1}, 2, 2, false});
  return failures;
}

/// The values in the registers, for one to six key blocks.
inline std::vector<std::string> forward_registers_hold() {
  std::vector<std::string> failures;
  for (const Schedule* schedule : kForwardSchedules)
    for (int slot = 0; slot < schedule->slots; ++slot) {
      if (!slot_program(*schedule, slot).sound)
        failures.push_back(std::string(schedule->name) + ": the phases do not fit together");
      for (int blocks = 1; blocks <= 6; ++blocks) {
        const std::string wrong = model::register_flow(*schedule, slot, blocks);
        if (!wrong.empty()) failures.push_back(std::string(schedule->name) + ": " + wrong);
      }
    }
  return failures;
}

/// The n-th event of a kind in a thread, from `from` on.
inline std::size_t find(const Thread& thread, Kind kind, int n = 0, std::size_t from = 0) {
  for (std::size_t i = from; i < thread.size(); ++i)
    if (thread[i].kind == kind && n-- == 0) return i;
  return thread.size();
}
inline void drop(Thread& thread, std::size_t i) {
  thread.erase(thread.begin() + static_cast<std::ptrdiff_t>(i));
}

/// Errors planted into the kernel's threads and tables: what the model finds instead of them.
inline std::vector<std::string> planted_errors_are_found() {
  std::vector<std::string> missed;
  const ForwardCase three{{3, 2}, 1, 2, true, true}, through_q{{3, 2}, 1, 2, true, false};
  // Threads of a block: K/V loader, Q loader, consumers 0 and 1.
  const auto plant = [&](const std::string& what, const Schedule& schedule, const ForwardCase& c,
                         const auto& change) {
    System system = model::forward_system(schedule, c);
    change(system);
    if (model::search(system).error.empty()) missed.push_back(what);
  };
  for (const Schedule* schedule : kForwardSchedules) {
    const std::string name = std::string(schedule->name) + ": ";
    plant(name + "K is read before it has arrived", *schedule, three, [](System& s) {
      Thread& t = s.threads[2];
      drop(t, find(t, Kind::wait, 1));
    });
    plant(name + "a K buffer is freed before the GEMM has ended", *schedule, three, [](System& s) {
      Thread& t = s.threads[3];
      const std::size_t i = find(t, Kind::wait_groups);
      std::swap(t[i], t[find(t, Kind::arrive, 0, i)]);
    });
    plant(name + "a buffer is freed twice", *schedule, three, [](System& s) {
      Thread& t = s.threads[2];
      const std::size_t i = find(t, Kind::arrive);
      t.insert(t.begin() + static_cast<std::ptrdiff_t>(i), t[i]);
    });
    plant(name + "a buffer is never freed", *schedule, three,
          [](System& s) { drop(s.threads[2], find(s.threads[2], Kind::arrive)); });
    plant(name + "the loader does not wait for a free buffer", *schedule, three, [](System& s) {
      Thread& t = s.threads[0];
      drop(t, find(t, Kind::wait, 3));
    });
    plant(name + "the loader waits for the wrong parity", *schedule, three,
          [](System& s) { s.threads[0][find(s.threads[0], Kind::wait)].parity ^= 1; });
    plant(name + "one consumer's release is enough", *schedule, three, [](System& s) {
      for (int& arrivals : s.mbarriers)
        if (arrivals > 1) arrivals = 4;
    });
    plant(name + "Q is reloaded before the last GEMM has read it", *schedule,
          {{1, 1}, 1, 2, true, true}, [](System& s) {
            Thread& t = s.threads[2];
            const std::size_t i = find(t, Kind::wait_groups);
            // Of the first tile's arrivals that of Q is the second: K's buffer is freed before it.
            const std::size_t q = find(t, Kind::arrive, 1, i);
            const Event free = t[q];
            drop(t, q);
            t.insert(t.begin() + static_cast<std::ptrdiff_t>(i), free);
          });
    plant(name + "Q is reloaded before O was stored", *schedule, through_q, [](System& s) {
      Thread& t = s.threads[2];
      const std::size_t i = find(t, Kind::write);
      std::swap(t[find(t, Kind::wait_groups, 0, i)], t[find(t, Kind::arrive, 0, i)]);
    });
    plant(name + "O is written before the last GEMM has ended", *schedule, {{1}, 1, 2, true, false},
          [](System& s) {
            Thread& t = s.threads[2];
            const std::size_t w = find(t, Kind::write);
            const Event write = t[w];
            drop(t, w);
            const auto at = static_cast<std::ptrdiff_t>(find(t, Kind::wait_groups));
            t.insert(t.begin() + at, write);
          });
  }
  plant("Twill-SWP waits for one group too few", kTwillSwp, three, [](System& s) {
    Thread& t = s.threads[2];
    t[find(t, Kind::wait_groups)].count = 1;
  });
  plant("the first turn is not handed over", kTwill, three,
        [](System& s) { drop(s.threads[3], find(s.threads[3], Kind::named_arrive)); });
  plant("a turn is not given back", kTwill, three,
        [](System& s) { drop(s.threads[2], find(s.threads[2], Kind::named_arrive, 1)); });
  plant("a turn is given twice", kTwill, three, [](System& s) {
    Thread& t = s.threads[3];
    const std::size_t i = find(t, Kind::named_arrive, 2);
    t.insert(t.begin() + static_cast<std::ptrdiff_t>(i), t[i]);
  });
  plant("the last turn is left over", kTwill, three, [](System& s) { s.threads[2].pop_back(); });
  const ForwardCase pair{{3}, 2, 1, false};
  plant("the other block is not told that a buffer is free", kCudaDefault, pair, [](System& s) {
    Thread& t = s.threads[1];
    drop(t, find(t, Kind::arrive, 1));
  });
  plant("the other block's release is not waited for", kCudaDefault, pair, [](System& s) {
    for (int& arrivals : s.mbarriers)
      if (arrivals > 1) arrivals /= 2;
    for (const std::size_t consumer : {1U, 3U}) {
      Thread& t = s.threads[consumer];    // its own arrivals only: every first of a pair...
      const bool second = consumer == 1;  // ... or second
      for (std::size_t i = find(t, Kind::arrive, second); i < t.size();
           i = find(t, Kind::arrive, 1, i))
        drop(t, i);
    }
  });

  // The tables themselves.
  const auto table = [&](const std::string& what, Schedule schedule, int a, int b) {
    std::swap(schedule.slot[0].steps[a], schedule.slot[0].steps[b]);
    bool found = !slot_program(schedule, 0).sound;
    for (int blocks = 1; blocks <= 4 && !found; ++blocks)
      found = !model::register_flow(schedule, 0, blocks).empty();
    if (!found) missed.push_back(what);
  };
  table("P in 16 bits before the exponential", kTwill, 8, 10);
  table("the accumulator is scaled by the old alpha", kTwill, 11, 12);
  table("the row sum after the next exponential", kTwillSwp, 2, 12);
  table("PV before the rescale", kTwillSwp, 6, 8);
  Schedule staged = kTwillSwp;
  staged.slot[0].steps[3].stage = 0;
  if (model::register_flow(staged, 0, 3).empty()) missed.emplace_back("a stage too early");
  return missed;
}

}  // namespace twill::gpu::tests
