// From a backward schedule to the statements of a consumer warpgroup: prologue, steady state and
// epilogue, with every wait, hand-over and release that the order of the steps calls for. The rules
// are forward/program.hpp's: macro-iteration t runs each step of stage s on iteration t - s, wgmma
// groups of a warpgroup end in the order they were committed, each ended group frees what it read.
//
// The kernel executes these statements (backward/consumer.cuh), the model searches them
// (gpu/model).
#pragma once

#include "gpu/hopper/backward/schedule.hpp"
#include "gpu/hopper/phase.hpp"

namespace twill::gpu {

enum class BackwardDo : unsigned char {
  wait_q,        ///< the tile's Q and log-sum-exp have arrived
  wait_do,       ///< its dO and delta
  join_ds,       ///< both warpgroups have stored their dS
  wait_staging,  ///< this warpgroup's dQ staging buffer has been read
  issue,         ///< the GEMM `op`, asynchronous, one group
  wait_groups,   ///< until at most `pending` groups of this warpgroup are in flight
  end,           ///< the GEMM `op` has ended: its registers and buffers are free
  mask,          ///< scores that do not count become -inf
  compute,       ///< the step's arithmetic
  hand_over      ///< the staging buffer goes to the warp that adds it to dQ
};

struct BackwardAction {
  BackwardDo what = BackwardDo::compute;
  BackwardOp op = BackwardOp::qk;
  int lag = 0;      ///< it concerns iteration t - lag
  int pending = 0;  ///< of wait_groups
};

/// Statements of one phase, and the groups that it leaves in flight.
struct BackwardProgram {
  static constexpr int kMost = 56;
  BackwardAction action[kMost] = {};
  int count = 0;
  struct Group {
    BackwardOp op = BackwardOp::qk;
    int lag = 0;
    constexpr bool operator==(const Group&) const = default;
  };
  static constexpr int kMostGroups = 8;
  Group group[kMostGroups] = {};  ///< oldest first
  int groups = 0;
  /// Of the steady state: the first statement before which no group is in flight. The loop is cut
  /// there, as in the forward kernel. -1: there is none.
  int cut = -1;

  constexpr void add(BackwardDo what, BackwardOp op, int lag, int pending = 0) {
    action[count++] = {what, op, lag, pending};
  }
  constexpr void note_cut() {
    if (groups == 0 && cut < 0) cut = count;
  }

  /// Ends the group of `op` if one is in flight, and those before it.
  constexpr void end(BackwardOp op) {
    int at = -1;
    for (int g = 0; g < groups; ++g)
      if (group[g].op == op) at = g;
    if (at < 0) return;
    add(BackwardDo::wait_groups, op, 0, groups - 1 - at);
    for (int g = 0; g <= at; ++g) {
      add(BackwardDo::end, group[g].op, group[g].lag);
      if (group[g].op == BackwardOp::qk) add(BackwardDo::mask, group[g].op, group[g].lag);
    }
    for (int g = at + 1; g < groups; ++g) group[g - at - 1] = group[g];
    groups -= at + 1;
    note_cut();
  }
};

/// One phase, begun with the groups that `before` left in flight a macro-iteration ago.
constexpr BackwardProgram expand(const BackwardSchedule& schedule, Phase phase,
                                 const BackwardProgram& before) {
  BackwardProgram p;
  p.groups = before.groups;
  for (int g = 0; g < before.groups; ++g) {
    p.group[g] = before.group[g];
    ++p.group[g].lag;
  }
  p.note_cut();
  for (const BackwardStep& step : schedule.steps) {
    if (phase == Phase::prologue && step.stage != 0) continue;
    if (phase == Phase::epilogue && step.stage == 0) continue;
    const auto [op, stage] = step;
    switch (op) {
      case BackwardOp::mul_s:
      case BackwardOp::sub_s: p.end(BackwardOp::qk); break;
      case BackwardOp::exp_p: p.end(BackwardOp::dk); break;  // of the iteration before, under dP
      case BackwardOp::sub_dp: p.end(BackwardOp::dp); break;
      case BackwardOp::trunc_p: p.end(BackwardOp::dv); break;   // wgmma reads P from registers
      case BackwardOp::trunc_ds: p.end(BackwardOp::dk); break;  // and dS
      case BackwardOp::st_dq: p.end(BackwardOp::dq); break;
      default: break;
    }
    if (is_gemm(op)) {
      p.end(op);  // two of one kind would share their registers
      if (op == BackwardOp::dp && schedule.dk_before_dp) p.end(BackwardOp::dk);
      if (op == BackwardOp::qk) p.add(BackwardDo::wait_q, op, stage);
      if (op == BackwardOp::dp) p.add(BackwardDo::wait_do, op, stage);
      if (op == BackwardOp::dq) p.add(BackwardDo::join_ds, op, stage);
      p.add(BackwardDo::issue, op, stage);
      p.group[p.groups++] = {op, stage};
      continue;
    }
    if (op == BackwardOp::st_dq) p.add(BackwardDo::wait_staging, op, stage);
    p.add(BackwardDo::compute, op, stage);
    if (op == BackwardOp::st_dq) p.add(BackwardDo::hand_over, op, stage);
  }
  if (phase == Phase::epilogue && p.groups > 0) p.end(p.group[p.groups - 1].op);
  return p;
}

/// The three phases.
struct BackwardPhases {
  BackwardProgram prologue, steady, epilogue;
  constexpr const BackwardProgram& phase(Phase which) const {
    return which == Phase::prologue ? prologue : which == Phase::steady ? steady : epilogue;
  }
  /// The steady state ends as it began and as the prologue ends, nothing is in flight after the
  /// epilogue, the loop can be cut, and scores are computed in stage 0 (their mask counts tiles).
  bool sound = false;
};

constexpr BackwardPhases backward_phases(const BackwardSchedule& schedule) {
  BackwardPhases s;
  s.prologue = expand(schedule, Phase::prologue, BackwardProgram());
  s.steady = expand(schedule, Phase::steady, s.prologue);
  s.epilogue = expand(schedule, Phase::epilogue, s.steady);
  s.sound = s.steady.groups == s.prologue.groups && s.epilogue.groups == 0 && s.steady.cut >= 0;
  for (int g = 0; g < s.steady.groups; ++g)
    s.sound = s.sound && s.steady.group[g] == s.prologue.group[g];
  for (const BackwardStep& step : schedule.steps)
    s.sound = s.sound && step.stage <= 1 && (step.op != BackwardOp::qk || step.stage == 0);
  return s;
}

}  // namespace twill::gpu
