// The barriers and buffers of the Hopper backward kernel as threads for search.hpp, built from the
// statements that the kernel executes (backward/program.hpp); and the flow of values through a
// consumer's registers. One block: blocks share nothing but sums (and, in a fixed order, counters:
// dq_order.hpp).
#pragma once

#include <string>
#include <vector>

#include "gpu/hopper/backward/program.hpp"
#include "gpu/model/search.hpp"

namespace twill::gpu::model {

struct BackwardCase {
  int iterations = 1;  ///< query tiles
  int consumers = 2;
};

namespace detail {

// Numbers of barriers and buffers.
struct BackwardNames {
  int ring_q, ring_do;
  int k_full() const { return 0; }
  int v_full() const { return 1; }
  int q_full(int i) const { return 2 + i; }
  int q_free(int i) const { return 2 + ring_q + i; }
  int do_full(int i) const { return 2 + 2 * ring_q + i; }
  int do_free(int i) const { return 2 + 2 * ring_q + ring_do + i; }
  int barriers() const { return 2 + 2 * ring_q + 2 * ring_do; }

  // K and V in halves: dK and dV of a consumer leave through one.
  int k(int half) const { return half; }
  int v(int half) const { return 2 + half; }
  int ds(int number, int consumer) const { return 4 + 2 * (number % 2) + consumer; }
  int staging(int consumer) const { return 8 + consumer; }
  int q(int i) const { return 10 + i; }
  int lse(int i) const { return 10 + ring_q + i; }
  int d_o(int i) const { return 10 + 2 * ring_q + i; }
  int delta(int i) const { return 10 + 2 * ring_q + ring_do + i; }
  int buffers() const { return 10 + 2 * ring_q + 2 * ring_do; }

  // Named barriers, of two parties each.
  static constexpr int kJoin = 0;
  static int staging_free(int consumer) { return 1 + consumer; }
  static int staging_full(int consumer) { return 3 + consumer; }
};

inline constexpr int kKeysTag = 5000, kOutputTag = 6000;
inline int stored_tag(int number, int consumer) {
  return 1000 + 2 * number + consumer;
}

}  // namespace detail

/// The kernel's threads: the loader, the warp that adds dQ, the consumers.
inline System backward_system(const BackwardSchedule& schedule, const BackwardCase& c) {
  using Kind = Event::Kind;
  const detail::BackwardNames name{schedule.ring_q, schedule.ring_do};
  System system;
  system.buffers = name.buffers();
  system.named = 5;
  system.mbarriers.assign(static_cast<std::size_t>(name.barriers()), 1);
  for (int i = 0; i < schedule.ring_q; ++i)
    system.mbarriers[static_cast<std::size_t>(name.q_free(i))] = 4 * c.consumers;
  for (int i = 0; i < schedule.ring_do; ++i)
    system.mbarriers[static_cast<std::size_t>(name.do_free(i))] = 4 * c.consumers;
  const auto barrier = [](Kind kind, int which, int count = 0, int parity = 0) {
    Event e;
    e.kind = kind;
    e.barrier = which;
    e.count = count;
    e.parity = parity;
    return e;
  };
  const auto buffer = [](Kind kind, int which, int tag, int signalled = -1) {
    Event e;
    e.kind = kind;
    e.barrier = signalled;
    e.buffer = which;
    e.tag = tag;
    return e;
  };

  Thread loader;
  const auto keys = [&](bool v) {
    const int full = v ? name.v_full() : name.k_full();
    loader.push_back(barrier(Kind::expect, full, 2));
    for (int half = 0; half < 2; ++half)
      loader.push_back(buffer(Kind::load, v ? name.v(half) : name.k(half), detail::kKeysTag, full));
  };
  keys(false);
  for (int n = 0; n < c.iterations; ++n) {
    const int i = n % schedule.ring_q, j = n % schedule.ring_do;
    loader.push_back(barrier(Kind::wait, name.q_free(i), 0, (n / schedule.ring_q & 1) ^ 1));
    loader.push_back(barrier(Kind::expect, name.q_full(i), 2));
    loader.push_back(buffer(Kind::load, name.q(i), n, name.q_full(i)));
    loader.push_back(buffer(Kind::load, name.lse(i), n, name.q_full(i)));
    if (n == 0) keys(true);
    loader.push_back(barrier(Kind::wait, name.do_free(j), 0, (n / schedule.ring_do & 1) ^ 1));
    loader.push_back(barrier(Kind::expect, name.do_full(j), 2));
    loader.push_back(buffer(Kind::load, name.d_o(j), n, name.do_full(j)));
    loader.push_back(buffer(Kind::load, name.delta(j), n, name.do_full(j)));
  }
  system.threads.push_back(loader);
  system.names.emplace_back("loader");

  Thread adder;
  for (int w = 0; w < c.consumers; ++w)
    adder.push_back(barrier(Kind::named_arrive, name.staging_free(w)));
  for (int n = 0; n < c.iterations; ++n) {
    for (int w = 0; w < c.consumers; ++w) {
      adder.push_back(barrier(Kind::named_sync, name.staging_full(w)));
      adder.push_back(buffer(Kind::issue, name.staging(w), detail::stored_tag(n, w)));
    }
    for (int w = 0; w < c.consumers; ++w) {
      adder.push_back(barrier(Kind::wait_groups, -1, c.consumers - 1 - w));
      if (n + 1 < c.iterations) adder.push_back(barrier(Kind::named_arrive, name.staging_free(w)));
    }
  }
  system.threads.push_back(adder);
  system.names.emplace_back("adder of dQ");

  const BackwardPhases phases = backward_phases(schedule);
  for (int w = 0; w < c.consumers; ++w) {
    Thread consumer;
    consumer.push_back(barrier(Kind::wait, name.k_full(), 0, 0));
    consumer.push_back(barrier(Kind::wait, name.v_full(), 0, 0));
    const auto run = [&](Phase phase, int t) {
      const BackwardProgram& p = phases.phase(phase);
      for (int a = 0; a < p.count; ++a) {
        const BackwardAction& action = p.action[a];
        const int n = t - action.lag;
        const int i = n % schedule.ring_q, j = n % schedule.ring_do;
        const int i_parity = n / schedule.ring_q & 1, j_parity = n / schedule.ring_do & 1;
        switch (action.what) {
          case BackwardDo::wait_q:
            consumer.push_back(barrier(Kind::wait, name.q_full(i), 0, i_parity));
            break;
          case BackwardDo::wait_do:
            consumer.push_back(barrier(Kind::wait, name.do_full(j), 0, j_parity));
            break;
          case BackwardDo::join_ds:
            if (c.consumers > 1) consumer.push_back(barrier(Kind::named_sync, name.kJoin));
            break;
          case BackwardDo::wait_staging:
            consumer.push_back(barrier(Kind::named_sync, name.staging_free(w)));
            break;
          case BackwardDo::hand_over:
            consumer.push_back(barrier(Kind::named_arrive, name.staging_full(w)));
            break;
          case BackwardDo::issue: {
            Event e;
            if (action.op == BackwardOp::qk) {
              e = buffer(Kind::issue, name.q(i), n);
              e.also = {{name.k(0), detail::kKeysTag}, {name.k(1), detail::kKeysTag}};
            } else if (action.op == BackwardOp::dp) {
              e = buffer(Kind::issue, name.d_o(j), n);
              e.also = {{name.v(0), detail::kKeysTag}, {name.v(1), detail::kKeysTag}};
            } else if (action.op == BackwardOp::dv) {
              e = buffer(Kind::issue, name.d_o(j), n);
            } else if (action.op == BackwardOp::dk) {
              e = buffer(Kind::issue, name.q(i), n);
            } else {
              e = buffer(Kind::issue, name.k(0), detail::kKeysTag);
              e.also = {{name.k(1), detail::kKeysTag}};
              for (int from = 0; from < c.consumers; ++from)
                e.also.emplace_back(name.ds(n, from), detail::stored_tag(n, from));
            }
            consumer.push_back(e);
            break;
          }
          case BackwardDo::wait_groups:
            consumer.push_back(barrier(Kind::wait_groups, -1, action.pending));
            break;
          case BackwardDo::end:
            if (action.op == BackwardOp::dv)
              consumer.push_back(barrier(Kind::arrive, name.do_free(j), 4));
            if (action.op == BackwardOp::dk)
              consumer.push_back(barrier(Kind::arrive, name.q_free(i), 4));
            break;
          case BackwardDo::mask: break;
          case BackwardDo::compute:
            if (action.op == BackwardOp::sub_s)
              consumer.push_back(buffer(Kind::read, name.lse(i), n));
            if (action.op == BackwardOp::sub_dp)
              consumer.push_back(buffer(Kind::read, name.delta(j), n));
            if (action.op == BackwardOp::st_ds)
              consumer.push_back(buffer(Kind::write, name.ds(n, w), detail::stored_tag(n, w)));
            if (action.op == BackwardOp::st_dq)
              consumer.push_back(buffer(Kind::write, name.staging(w), detail::stored_tag(n, w)));
            break;
        }
      }
    };
    run(Phase::prologue, 0);
    for (int t = 1; t < c.iterations; ++t) run(Phase::steady, t);
    run(Phase::epilogue, c.iterations);
    if (c.consumers > 1) consumer.push_back(barrier(Kind::named_sync, name.kJoin));
    for (const int out : {name.k(w), name.v(w)}) {
      consumer.push_back(buffer(Kind::write, out, detail::kOutputTag + w));
      consumer.push_back(buffer(Kind::issue, out, detail::kOutputTag + w));
    }
    consumer.push_back(barrier(Kind::wait_groups, -1, 0));
    system.threads.push_back(consumer);
    system.names.push_back("consumer " + std::to_string(w));
  }
  return system;
}

/// Follows the values in the registers over `iterations`: every step must find the operands of its
/// own iteration, no value is lost before its last use, and no register is written while wgmma uses
/// it. Returns what is wrong, or "".
inline std::string register_flow(const BackwardSchedule& schedule, int iterations) {
  const BackwardPhases phases = backward_phases(schedule);
  // The iteration of each value; -1 = none yet (of the sums: zero).
  int s = -1, masked = -1, shifted = -1, e = -1, p = -1, dp = -1, less_delta = -1, product = -1;
  int ds = -1, stored = -1, dv = -1, dk = -1, dq = -1, staged = -1;
  bool flies[32] = {};
  std::string error;
  const auto need = [&](bool right, BackwardOp op, int i) {
    if (!right && error.empty()) error = std::string(op_name(op)) + " of " + std::to_string(i);
  };
  const auto flying = [&flies](BackwardOp op) -> bool& { return flies[static_cast<int>(op)]; };
  const auto run = [&](Phase phase, int t) {
    const BackwardProgram& program = phases.phase(phase);
    for (int a = 0; a < program.count; ++a) {
      const BackwardAction& action = program.action[a];
      const BackwardOp op = action.op;
      const int i = t - action.lag;
      if (action.what == BackwardDo::issue) {
        need(!flying(op), op, i);
        flying(op) = true;
        switch (op) {
          case BackwardOp::qk: need(shifted == i - 1, op, i), s = i; break;
          case BackwardOp::dp: need(ds == i - 1, op, i), dp = i; break;
          case BackwardOp::dv: need(p == i && dv == i - 1, op, i), dv = i; break;
          case BackwardOp::dk: need(ds == i && dk == i - 1, op, i), dk = i; break;
          default: need(stored == i && staged == i - 1, op, i), dq = i; break;
        }
      } else if (action.what == BackwardDo::end) {
        need(flying(op), op, i);
        flying(op) = false;
      } else if (action.what == BackwardDo::mask) {
        need(s == i && !flying(BackwardOp::qk), op, i);
        masked = i;
      } else if (action.what == BackwardDo::compute) {
        need(i >= 0 && i < iterations, op, i);
        switch (op) {
          case BackwardOp::mul_s:
          case BackwardOp::bc_m:
          case BackwardOp::bc_d: break;  // no instruction of their own
          case BackwardOp::sub_s:
            need(masked == i && !flying(BackwardOp::qk) && p == i - 1 && product == i - 1, op, i);
            shifted = i;
            break;
          case BackwardOp::exp_p: need(shifted == i, op, i), e = i; break;
          case BackwardOp::trunc_p:
            need(e == i && shifted == i && !flying(BackwardOp::dv) && dv == i - 1, op, i);
            p = i;
            break;
          case BackwardOp::sub_dp:
            need(dp == i && !flying(BackwardOp::dp), op, i);
            less_delta = i;
            break;
          case BackwardOp::mul_ds:
            need(less_delta == i && e == i && shifted == i, op, i);
            product = i;
            break;
          case BackwardOp::trunc_ds:
            need(product == i && !flying(BackwardOp::dk) && dk == i - 1, op, i);
            ds = i;
            break;
          case BackwardOp::st_ds: need(ds == i, op, i), stored = i; break;
          case BackwardOp::st_dq:
            need(dq == i && !flying(BackwardOp::dq), op, i), staged = i;
            break;
          default: need(false, op, i);
        }
      }
    }
  };
  run(Phase::prologue, 0);
  for (int t = 1; t < iterations; ++t) run(Phase::steady, t);
  run(Phase::epilogue, iterations);
  const int last = iterations - 1;
  bool in_flight = false;
  for (const bool one : flies) in_flight = in_flight || one;
  if (error.empty() && (dv != last || dk != last || staged != last || in_flight)) error = "the end";
  return error;
}

}  // namespace twill::gpu::model
