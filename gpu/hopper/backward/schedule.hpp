// The schedules that the Hopper backward kernel realises, as constants, like forward/schedule.hpp:
// the order of every slot's operations in one steady-state period with the stage of each.
//
// Source: Soi et al., "Optimal Software Pipelining and Warp Specialization for Tensor Core GPUs"
// (2025), Section 6.2.2 and Figure 10. Each table is what `twill solve` returned for the command in
// its comment (of several optima; which one it is may change with the search); the files are in
// gpu/schedules, and tests/gpu/gpu_backward_schedule_test.cpp verifies them, proves them optimal
// and compares them with these tables line by line.
//
// The built-in kernels hopper-bwd-q64, which `fmha-backward` is on Hopper, and hopper-bwd-q80 are
// hopper-bwd one query tile at a time. With 64 rows 32 registers are set aside, which leaves room
// for one copy of dS (the next iteration's would be the second: it would need the loop unrolled by
// two, which has not been tried).
//
// Plain C++: the kernel expands these tables at compile time (backward/program.hpp), the model of
// the barrier protocol and the test read the same ones.
#pragma once

namespace twill::gpu {

/// The operations of the backward loop that are instructions, named as in Twill's kernel files.
enum class BackwardOp : unsigned char {
  ld_q,
  ld_do,
  ld_m,      ///< log-sum-exp of the tile's query rows, base 2
  ld_d,      ///< delta = row sum of dO * O
  qk,        ///< S^T = K Q^T
  mul_s,     ///< S, scaled: no instruction of its own, sub_s is one fused multiply-add
  bc_m,      ///< from shared memory, a few registers at a time, where sub_s uses them
  sub_s,     ///< S * scale - log-sum-exp
  exp_p,     ///< P = exp2(.)
  trunc_p,   ///< P in 16 bits
  dp,        ///< dP^T = V dO^T
  bc_d,      ///< as bc_m, for sub_dp
  sub_dp,    ///< dP - delta
  mul_ds,    ///< dS = P * (dP - delta)
  trunc_ds,  ///< dS in 16 bits
  st_ds,     ///< dS, transposed, to shared memory
  dv,        ///< dV += P^T dO
  dk,        ///< dK += dS^T Q
  dq,        ///< dQ^T = K^T dS^T, of this step alone
  st_dq,     ///< dQ to shared memory
  red_dq     ///< added to dQ in global memory
};

constexpr const char* op_name(BackwardOp op) {
  constexpr const char* names[] = {"ld_q",   "ld_do",  "ld_m",     "ld_d",    "qkT", "mul_s",
                                   "bc_m",   "sub_s",  "exp_p",    "trunc_p", "dpT", "bc_d",
                                   "sub_dp", "mul_ds", "trunc_ds", "st_ds",   "dv",  "dk",
                                   "dq",     "st_dq",  "red_dq"};
  return names[static_cast<int>(op)];
}

constexpr bool is_gemm(BackwardOp op) {
  return op == BackwardOp::qk || op == BackwardOp::dp || op == BackwardOp::dv ||
         op == BackwardOp::dk || op == BackwardOp::dq;
}

/// At macro-iteration t a step of stage s works on iteration t - s.
struct BackwardStep {
  BackwardOp op = BackwardOp::qk;
  int stage = 0;
};

inline constexpr int kBackwardSteps = 16, kBackwardLoads = 5;

/// A schedule as the kernel declares it. An iteration is one query tile of `rows` rows. Both
/// consumer warpgroups are one slot of eight warps: each works on 64 of the 128 keys. The loads and
/// the reduction of dQ, one slot in the schedule, are two warps: no load waits behind a reduction.
struct BackwardSchedule {
  const char* name;
  const char* file;    ///< NAME of gpu/schedules/NAME.{problem,schedule}.json
  const char* kernel;  ///< built in
  int rows;
  int interval;  ///< I and L, in clocks
  int length;
  const char* slot;
  BackwardStep steps[kBackwardSteps];
  const char* loader;
  BackwardStep loads[kBackwardLoads];
  int ring_q;   ///< buffers of Q and the log-sum-exp, >= the schedule's
  int ring_do;  ///< of dO and delta
  /// dP is issued when dK has ended, as the schedule's cycles say, and not right behind it: dS need
  /// not be kept for dK while dP's accumulators are in use.
  bool dk_before_dp = false;
};

/// In order.
/// `twill solve fmha-backward --machine hopper --stages 1`
inline constexpr BackwardSchedule kBackwardDefault{"CUDA-Default",
                                                   "fmha-backward-default",
                                                   "hopper-bwd-q64",
                                                   64,
                                                   3074,
                                                   4610,
                                                   "wg01",
                                                   {{BackwardOp::qk, 0},
                                                    {BackwardOp::mul_s, 0},
                                                    {BackwardOp::bc_m, 0},
                                                    {BackwardOp::sub_s, 0},
                                                    {BackwardOp::dp, 0},
                                                    {BackwardOp::bc_d, 0},
                                                    {BackwardOp::exp_p, 0},
                                                    {BackwardOp::sub_dp, 0},
                                                    {BackwardOp::trunc_p, 0},
                                                    {BackwardOp::dv, 0},
                                                    {BackwardOp::mul_ds, 0},
                                                    {BackwardOp::trunc_ds, 0},
                                                    {BackwardOp::st_ds, 0},
                                                    {BackwardOp::dq, 0},
                                                    {BackwardOp::st_dq, 0},
                                                    {BackwardOp::dk, 0}},
                                                   "load",
                                                   {{BackwardOp::ld_q, 0},
                                                    {BackwardOp::ld_do, 0},
                                                    {BackwardOp::ld_m, 0},
                                                    {BackwardOp::ld_d, 0},
                                                    {BackwardOp::red_dq, 0}},
                                                   2,
                                                   2};

/// dK one iteration late, under the next one's exponential. At most one copy of dS and P in
/// registers. `twill solve fmha-backward --machine hopper`
inline constexpr BackwardSchedule kBackwardTwill{"Twill",
                                                 "fmha-backward-twill",
                                                 "hopper-bwd-q64",
                                                 64,
                                                 3010,
                                                 5058,
                                                 "wg01",
                                                 {{BackwardOp::qk, 0},
                                                  {BackwardOp::mul_s, 0},
                                                  {BackwardOp::dk, 1},
                                                  {BackwardOp::bc_m, 0},
                                                  {BackwardOp::sub_s, 0},
                                                  {BackwardOp::dp, 0},
                                                  {BackwardOp::bc_d, 0},
                                                  {BackwardOp::exp_p, 0},
                                                  {BackwardOp::sub_dp, 0},
                                                  {BackwardOp::trunc_p, 0},
                                                  {BackwardOp::dv, 0},
                                                  {BackwardOp::mul_ds, 0},
                                                  {BackwardOp::trunc_ds, 0},
                                                  {BackwardOp::st_ds, 0},
                                                  {BackwardOp::dq, 0},
                                                  {BackwardOp::st_dq, 0}},
                                                 "load",
                                                 {{BackwardOp::ld_q, 0},
                                                  {BackwardOp::ld_do, 0},
                                                  {BackwardOp::ld_m, 0},
                                                  {BackwardOp::ld_d, 0},
                                                  {BackwardOp::red_dq, 1}},
                                                 2,
                                                 2,
                                                 true};

/// The same for tiles of 80 query rows, FlashAttention-3's, which the paper's power-of-two tiles
/// could not be. `twill solve hopper-bwd-q80 --machine hopper`
inline constexpr BackwardSchedule kBackwardTwill80{"Twill-80",
                                                   "fmha-backward-twill80",
                                                   "hopper-bwd-q80",
                                                   80,
                                                   3762,
                                                   6322,
                                                   "wg01",
                                                   {{BackwardOp::qk, 0},
                                                    {BackwardOp::mul_s, 0},
                                                    {BackwardOp::bc_m, 0},
                                                    {BackwardOp::dk, 1},
                                                    {BackwardOp::sub_s, 0},
                                                    {BackwardOp::dp, 0},
                                                    {BackwardOp::exp_p, 0},
                                                    {BackwardOp::bc_d, 0},
                                                    {BackwardOp::sub_dp, 0},
                                                    {BackwardOp::trunc_p, 0},
                                                    {BackwardOp::dv, 0},
                                                    {BackwardOp::mul_ds, 0},
                                                    {BackwardOp::trunc_ds, 0},
                                                    {BackwardOp::st_ds, 0},
                                                    {BackwardOp::dq, 0},
                                                    {BackwardOp::st_dq, 0}},
                                                   "load",
                                                   {{BackwardOp::ld_q, 0},
                                                    {BackwardOp::ld_do, 0},
                                                    {BackwardOp::ld_m, 0},
                                                    {BackwardOp::ld_d, 0},
                                                    {BackwardOp::red_dq, 1}},
                                                   2,
                                                   2};

inline constexpr const BackwardSchedule* kBackwardSchedules[] = {&kBackwardDefault, &kBackwardTwill,
                                                                 &kBackwardTwill80};
inline constexpr int kBackwardScheduleCount = 3;

/// What the kernel executes with head dimension 64: dQ is stored under the product that follows its
/// own, dK or the next S, and not between the two. (With head dimension 128 S and dQ are too many
/// registers together, and ptxas serialises wgmma.) The schedules are of head dimension 128: no
/// file has this order.
constexpr BackwardSchedule late_store(const BackwardSchedule& schedule) {
  BackwardSchedule late = schedule;
  bool after = false;
  int next = -1;  // the product after dQ's; -1: the first of the next period
  for (int i = 0; i < kBackwardSteps; ++i) {
    if (after && next < 0 && is_gemm(schedule.steps[i].op)) next = i;
    after = after || schedule.steps[i].op == BackwardOp::dq;
  }
  const int behind = next < 0 ? 0 : next;
  int count = 0;
  for (int i = 0; i < kBackwardSteps; ++i) {
    if (schedule.steps[i].op != BackwardOp::st_dq) late.steps[count++] = schedule.steps[i];
    if (i == behind) late.steps[count++] = {BackwardOp::st_dq, next < 0 ? 1 : 0};
  }
  return late;
}
inline constexpr BackwardSchedule kBackwardDefault64 = late_store(kBackwardDefault);
inline constexpr BackwardSchedule kBackwardTwill64 = late_store(kBackwardTwill);
inline constexpr BackwardSchedule kBackwardTwill80At64 = late_store(kBackwardTwill80);
inline constexpr const BackwardSchedule* kBackwardSchedules64[] = {
    &kBackwardDefault64, &kBackwardTwill64, &kBackwardTwill80At64};
static_assert(kBackwardTwill.steps[0].op == BackwardOp::qk &&
              kBackwardTwill80.steps[0].op == BackwardOp::qk);

/// Those that kernels of a head dimension execute.
constexpr const BackwardSchedule* const (&executed_schedules(int head_dim))[3] {
  return head_dim == 64 ? kBackwardSchedules64 : kBackwardSchedules;
}

}  // namespace twill::gpu
