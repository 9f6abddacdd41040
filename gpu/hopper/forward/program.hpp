// From a schedule to the statements of a warpgroup: prologue, steady state and epilogue, with every
// wait, hand-over and release that the order of the steps calls for.
//
// Macro-iteration t runs each step of stage s on iteration t - s: t = 0 is the prologue (stage 0
// only), t = 1 .. n-1 the steady state, t = n the epilogue (stage 1 only). wgmma groups of a
// warpgroup end in the order they were committed, so "wait until at most k are pending" ends a
// group and all before it; each ended group frees the buffer it read.
//
// The kernel executes these statements (forward/consumer.cuh), the model searches them (gpu/model).
#pragma once

#include "gpu/hopper/forward/schedule.hpp"
#include "gpu/hopper/phase.hpp"

namespace twill::gpu {

enum class Do : unsigned char {
  wait_k,       ///< the K block of this iteration has arrived in its ring
  wait_v,       ///< likewise V
  take_turn,    ///< the tensor core is this warpgroup's
  give_turn,    ///< ... and now the other's
  issue_qk,     ///< asynchronous, one group
  issue_pv,     ///< asynchronous, one group
  wait_groups,  ///< until at most `pending` groups of this warpgroup are in flight
  end_qk,       ///< S may be read; the K buffer is free
  end_pv,       ///< O and P may be written; the V buffer is free
  mask,         ///< scores of keys that do not count become -inf
  compute       ///< the step's arithmetic
};

struct Action {
  Do what = Do::compute;
  Op op = Op::qk;   ///< of compute; of take_turn: the product to be issued
  int lag = 0;      ///< it concerns iteration t - lag; nothing is done while that is negative
  int pending = 0;  ///< of wait_groups
};

/// Statements of one phase, and the state that it leaves behind.
struct Program {
  static constexpr int kMost = 40;
  Action action[kMost] = {};
  int count = 0;
  struct Group {
    Op op = Op::qk;
    int lag = 0;
    constexpr bool operator==(const Group&) const = default;
  };
  Group group[2] = {};  ///< in flight at the end, oldest first
  int groups = 0;
  bool turn = false;  ///< the tensor core is this warpgroup's at the end
  /// Of the steady state: the first statement before which no group is in flight (if there is
  /// one; else 0). The loop is cut there, see forward/consumer.cuh.
  int cut = 0;

  constexpr void add(Do what, int lag, Op op = Op::qk, int pending = 0) {
    action[count++] = {what, op, lag, pending};
  }

  /// Adds a wait for V of iteration t - lag as statement number `at`.
  constexpr void put_wait_v(int at, int lag) {
    for (int i = count++; i > at; --i) action[i] = action[i - 1];
    action[at] = {Do::wait_v, Op::qk, lag, 0};
  }
  /// Takes the wait for V out; its lag, or -1 if there is none.
  constexpr int take_wait_v() {
    for (int i = 0; i < count; ++i) {
      if (action[i].what != Do::wait_v) continue;
      const int lag = action[i].lag;
      for (int k = i; k + 1 < count; ++k) action[k] = action[k + 1];
      --count;
      if (i < cut) --cut;
      return lag;
    }
    return -1;
  }
  /// The statement behind the last mask.
  constexpr int behind_mask() const {
    int at = 0;
    for (int i = 0; i < count; ++i)
      if (action[i].what == Do::mask) at = i + 1;
    return at;
  }

  /// Ends the group of `op` if one is in flight, and those before it.
  constexpr void end(Op op) {
    int at = -1;
    for (int g = 0; g < groups; ++g)
      if (group[g].op == op) at = g;
    if (at < 0) return;
    add(Do::wait_groups, 0, op, groups - 1 - at);
    for (int g = 0; g <= at; ++g) {
      add(group[g].op == Op::qk ? Do::end_qk : Do::end_pv, group[g].lag);
      if (group[g].op == Op::qk) add(Do::mask, group[g].lag);
    }
    for (int g = at + 1; g < groups; ++g) group[g - at - 1] = group[g];
    groups -= at + 1;
    if (groups == 0 && cut == 0) cut = count;
  }
};

/// The slot of the GEMM that follows (slot, op) on the tensor core, cyclically.
constexpr int next_on_tensor_core(const Schedule& schedule, int slot, Op op) {
  for (int k = 0; k < schedule.turns; ++k)
    if (schedule.turn[k].slot == slot && schedule.turn[k].op == op)
      return schedule.turn[(k + 1) % schedule.turns].slot;
  return slot;
}

/// One phase of one slot, begun in the state that `before` left a macro-iteration ago.
constexpr Program expand(const Schedule& schedule, int slot, Phase phase, const Program& before) {
  Program p;
  p.groups = before.groups;
  p.turn = before.turn;
  for (int g = 0; g < before.groups; ++g)
    p.group[g] = {before.group[g].op, before.group[g].lag + 1};
  int gemms = 0;  // still to be issued in this phase
  for (const Step& step : schedule.slot[slot].steps)
    gemms += (step.op == Op::qk || step.op == Op::pv) &&
             (phase == Phase::steady || (step.stage == 0) == (phase == Phase::prologue));
  const auto give = [&p] {
    p.add(Do::give_turn, 0);
    p.turn = false;
  };
  if (phase == Phase::epilogue && p.turn && gemms == 0) give();
  for (const Step& step : schedule.slot[slot].steps) {
    if (phase == Phase::prologue && step.stage != 0) continue;
    if (phase == Phase::epilogue && step.stage == 0) continue;
    const bool gemm = step.op == Op::qk || step.op == Op::pv;
    switch (step.op) {
      case Op::qk:  // its result's registers and its ring position are in use until it has ended
      case Op::row_max:
      case Op::mul_s:
      case Op::sub_s: p.end(Op::qk); break;
      case Op::trunc_p:  // wgmma reads P from registers while it runs
      case Op::mul_acc:
      case Op::pv: p.end(Op::pv); break;
      default: break;
    }
    if (!gemm) {
      p.add(Do::compute, step.stage, step.op);
      continue;
    }
    const bool qk = step.op == Op::qk;
    p.add(qk ? Do::wait_k : Do::wait_v, step.stage);
    if (schedule.slots > 1 && !p.turn) {
      p.add(Do::take_turn, 0, step.op);
      p.turn = true;
    }
    p.add(qk ? Do::issue_qk : Do::issue_pv, step.stage);
    p.group[p.groups++] = {step.op, step.stage};
    const bool last = phase == Phase::epilogue && --gemms == 0;
    if (p.turn && (last || next_on_tensor_core(schedule, slot, step.op) != slot)) give();
  }
  if (phase == Phase::epilogue && p.groups > 0) p.end(p.group[p.groups - 1].op);
  return p;
}

/// The three phases of a slot.
struct SlotProgram {
  Program prologue, steady, epilogue;
  constexpr const Program& phase(Phase which) const {
    return which == Phase::prologue ? prologue : which == Phase::steady ? steady : epilogue;
  }
  /// The steady state ends as it began, and what the prologue leaves in flight is the newest part
  /// of what the steady state expects: only groups of iterations before the first are missing,
  /// whose statements are skipped.
  bool sound = false;
};

/// Moves the steady state's wait for V from the issue of PV to the loop's back edge. A wait is a
/// loop. ptxas moves arithmetic down over one, and mixes what lies between two: with the wait at
/// PV, it put the rescaling of O and the conversion of P behind all exponentials instead of between
/// them.
constexpr void wait_for_v_early(SlotProgram& s) {
  const int cut = s.steady.cut, lag = s.steady.take_wait_v();
  if (lag < 0) return;
  if (s.steady.cut == cut) {  // behind the back edge: PV of the same round
    s.steady.put_wait_v(cut, lag);
    return;
  }
  // In front of it: PV of the round before, which the round before waits for, or the prologue.
  s.steady.put_wait_v(s.steady.cut, lag - 1);
  s.prologue.put_wait_v(s.prologue.behind_mask(), lag - 1);
  s.epilogue.take_wait_v();
}

constexpr SlotProgram slot_program(const Schedule& schedule, int slot) {
  SlotProgram s;
  s.prologue = expand(schedule, slot, Phase::prologue, Program());
  const Program first = expand(schedule, slot, Phase::steady, s.prologue);
  s.steady = expand(schedule, slot, Phase::steady, first);
  s.epilogue = expand(schedule, slot, Phase::epilogue, s.steady);
  s.sound = s.steady.groups == first.groups && s.steady.turn == first.turn &&
            s.prologue.turn == s.steady.turn && s.prologue.groups <= s.steady.groups &&
            s.epilogue.groups == 0;
  for (int g = 0; g < s.steady.groups; ++g)
    s.sound = s.sound && s.steady.group[g] == first.group[g];
  const int missing = s.steady.groups - s.prologue.groups;
  for (int g = 0; g < s.prologue.groups && missing >= 0; ++g)
    s.sound = s.sound && s.prologue.group[g] == s.steady.group[g + missing];
  for (int g = 0; g < missing; ++g) s.sound = s.sound && s.steady.group[g].lag > 0;
  for (const Step& step : schedule.slot[slot].steps) s.sound = s.sound && step.stage <= 1;
  wait_for_v_early(s);
  return s;
}

/// The warpgroup that begins, and how the other hands it the first turn: see forward/consumer.cuh.
constexpr int first_turn(const Schedule& schedule) {
  return schedule.turn[0].slot;
}

}  // namespace twill::gpu
