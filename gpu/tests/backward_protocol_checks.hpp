// What the model of the backward kernel's barriers must show, as a list of failures (empty = all
// holds), like protocol_checks.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/model/backward.hpp"
#include "gpu/tests/protocol_checks.hpp"

namespace twill::gpu::tests {

using model::BackwardCase;

/// Of both head dimensions.
inline std::vector<const BackwardSchedule*> all_backward_schedules() {
  std::vector<const BackwardSchedule*> all;
  for (const int head_dim : {64, 128})
    for (const BackwardSchedule* schedule : executed_schedules(head_dim)) all.push_back(schedule);
  return all;
}

/// Every schedule's kernel, all interleavings.
inline std::vector<std::string> backward_protocol_holds() {
  std::vector<std::string> failures;
  for (const BackwardSchedule* schedule : all_backward_schedules())
    for (const int iterations : {1, 2, 3, 4, 5}) {
      const model::Verdict verdict = model::search(model::backward_system(*schedule, {iterations}));
      const std::string text =
          std::string(schedule->name) + ", " + std::to_string(iterations) + " tiles";
      if (!verdict.error.empty()) failures.push_back(text + ": " + verdict.error);
      if (!verdict.complete) failures.push_back(text + ": the search was not complete");
      if (verdict.states < 50) failures.push_back(text + ": suspiciously few states");
    }
  return failures;
}

/// The values in the registers, for one to six query tiles.
inline std::vector<std::string> backward_registers_hold() {
  std::vector<std::string> failures;
  for (const BackwardSchedule* schedule : all_backward_schedules()) {
    if (!backward_phases(*schedule).sound)
      failures.push_back(std::string(schedule->name) + ": the phases do not fit together");
    for (int iterations = 1; iterations <= 6; ++iterations) {
      const std::string wrong = model::register_flow(*schedule, iterations);
      if (!wrong.empty()) failures.push_back(std::string(schedule->name) + ": " + wrong);
    }
  }
  return failures;
}

/// Errors planted into the threads and tables: what the model finds instead of them.
inline std::vector<std::string> planted_backward_errors_are_found() {
  std::vector<std::string> missed;
  constexpr std::size_t kLoader = 0, kAdder = 1, kConsumer = 2;
  for (const BackwardSchedule* schedule : all_backward_schedules()) {
    const model::detail::BackwardNames name{schedule->ring_q, schedule->ring_do};
    const auto plant = [&](const std::string& what, const auto& change) {
      System system = model::backward_system(*schedule, {4});
      change(system);
      if (model::search(system).error.empty())
        missed.push_back(std::string(schedule->name) + ": " + what);
    };
    /// The n-th event of a kind on a barrier or buffer.
    const auto on = [](const Thread& t, Kind kind, int barrier, int n = 0) {
      for (std::size_t i = 0; i < t.size(); ++i)
        if (t[i].kind == kind && (t[i].barrier == barrier || t[i].buffer == barrier) && n-- == 0)
          return i;
      return t.size();
    };
    plant("Q is read before it has arrived", [&](System& s) {
      drop(s.threads[kConsumer], on(s.threads[kConsumer], Kind::wait, name.q_full(0)));
    });
    plant("K is not waited for", [&](System& s) { drop(s.threads[kConsumer], 0); });
    plant("dO is not waited for", [&](System& s) {
      drop(s.threads[kConsumer], on(s.threads[kConsumer], Kind::wait, name.do_full(1)));
    });
    plant("the loader does not wait for a free Q buffer", [&](System& s) {
      Thread& t = s.threads[kLoader];
      drop(t, on(t, Kind::wait, name.q_free(0), 1));
    });
    plant("the loader waits for the wrong parity", [&](System& s) {
      Thread& t = s.threads[kLoader];
      t[on(t, Kind::wait, name.do_free(0))].parity ^= 1;
    });
    plant("a Q buffer is never freed", [&](System& s) {
      Thread& t = s.threads[kConsumer];
      drop(t, on(t, Kind::arrive, name.q_free(0)));
    });
    plant("a Q buffer is freed twice", [&](System& s) {
      Thread& t = s.threads[kConsumer];
      const std::size_t i = on(t, Kind::arrive, name.q_free(0));
      const Event again = t[i];
      t.insert(t.begin() + static_cast<std::ptrdiff_t>(i), again);
    });
    plant("one consumer's release is enough", [](System& s) {
      for (int& arrivals : s.mbarriers)
        if (arrivals > 1) arrivals = 4;
    });
    plant("Q is freed before dK reads it", [&](System& s) {
      for (const std::size_t w : {kConsumer, kConsumer + 1}) {
        Thread& t = s.threads[w];
        const std::size_t i = on(t, Kind::arrive, name.q_free(0));
        const Event free = t[i];
        drop(t, i);
        const auto at = static_cast<std::ptrdiff_t>(find(t, Kind::wait_groups) + 1);
        t.insert(t.begin() + at, free);
      }
    });
    plant("dQ starts before the other consumer has stored its dS", [&](System& s) {
      for (const std::size_t w : {kConsumer, kConsumer + 1})
        drop(s.threads[w], on(s.threads[w], Kind::named_sync, name.kJoin));
    });
    plant("one consumer does not join", [&](System& s) {
      drop(s.threads[kConsumer], on(s.threads[kConsumer], Kind::named_sync, name.kJoin));
    });
    plant("one buffer of dS", [&](System& s) {
      for (const std::size_t w : {kConsumer, kConsumer + 1})
        for (Event& e : s.threads[w]) {
          const auto one = [&](int& buffer) {
            if (buffer >= 6 && buffer < 8) buffer -= 2;
          };
          one(e.buffer);
          for (auto& read : e.also) one(read.first);
        }
    });
    plant("dQ is stored before its GEMM has ended", [&](System& s) {
      Thread& t = s.threads[kConsumer];
      const std::size_t i = on(t, Kind::write, name.ds(1, 0));
      std::size_t wait = find(t, Kind::wait_groups, 0, i);
      // Without its wait the next tile's dS overwrites what the GEMM reads, or nothing ends.
      while (wait < t.size()) {
        drop(t, wait);
        wait = find(t, Kind::wait_groups, 0, wait);
      }
    });
    plant("the staging buffer is not waited for", [&](System& s) {
      Thread& t = s.threads[kConsumer];
      drop(t, on(t, Kind::named_sync, name.staging_free(0), 1));
      drop(s.threads[kAdder], on(s.threads[kAdder], Kind::named_arrive, name.staging_free(0), 1));
    });
    plant("the staging buffer is free before it has been read", [&](System& s) {
      Thread& t = s.threads[kAdder];
      const std::size_t i = find(t, Kind::wait_groups);
      std::swap(t[i], t[i + 1]);
    });
    plant("the staging buffer is never free at first",
          [&](System& s) { drop(s.threads[kAdder], 0); });
    plant("the staging buffer is free once too often",
          [&](System& s) { s.threads[kAdder].push_back(s.threads[kAdder].front()); });
    plant("dQ is not handed over", [&](System& s) {
      Thread& t = s.threads[kConsumer];
      drop(t, on(t, Kind::named_arrive, name.staging_full(0)));
    });
    plant("dK is written while the other consumer reads K", [&](System& s) {
      for (const std::size_t w : {kConsumer, kConsumer + 1}) {
        Thread& t = s.threads[w];
        for (std::size_t i = t.size(); i-- > 0;)
          if (t[i].kind == Kind::named_sync && t[i].barrier == name.kJoin) {
            drop(t, i);
            break;
          }
      }
    });
    plant("the block ends while dV is stored", [](System& s) { s.threads[kConsumer].pop_back(); });
  }

  // The tables themselves.
  const auto table = [&](const std::string& what, BackwardSchedule schedule, const auto& change) {
    change(schedule);
    bool found = !backward_phases(schedule).sound;
    for (int iterations = 1; iterations <= 4 && !found; ++iterations)
      found = !model::register_flow(schedule, iterations).empty();
    if (!found) missed.push_back(what);
  };
  const auto step = [](BackwardSchedule& schedule, BackwardOp op) -> BackwardStep& {
    return *std::find_if(std::begin(schedule.steps), std::end(schedule.steps),
                         [op](const BackwardStep& s) { return s.op == op; });
  };
  for (const BackwardSchedule* schedule : all_backward_schedules()) {
    const auto exchange = [&](const char* what, BackwardOp a, BackwardOp b) {
      table(std::string(schedule->name) + ": " + what, *schedule,
            [&](BackwardSchedule& s) { std::swap(step(s, a), step(s, b)); });
    };
    exchange("P in 16 bits before the exponential", BackwardOp::trunc_p, BackwardOp::exp_p);
    exchange("dV before P", BackwardOp::dv, BackwardOp::trunc_p);
    exchange("dS before the exponential", BackwardOp::exp_p, BackwardOp::mul_ds);
    exchange("dS is stored before it is made", BackwardOp::st_ds, BackwardOp::trunc_ds);
    exchange("dQ before dS is stored", BackwardOp::dq, BackwardOp::st_ds);
    exchange("dQ is stored before it is made", BackwardOp::st_dq, BackwardOp::dq);
    table(std::string(schedule->name) + ": dV a stage too late", *schedule,
          [&](BackwardSchedule& s) { step(s, BackwardOp::dv).stage += 1; });
  }
  table("Twill: dK a stage too early", kBackwardTwill,
        [&](BackwardSchedule& s) { step(s, BackwardOp::dk).stage = 0; });
  return missed;
}

}  // namespace twill::gpu::tests
