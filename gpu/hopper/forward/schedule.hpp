// The schedules that the Hopper forward kernel realises, as constants: roles, and for every slot
// the order of its operations in one steady-state period with the stage of each.
//
// Source: Soi et al., "Optimal Software Pipelining and Warp Specialization for Tensor Core GPUs"
// (2025), Section 6.2.1 and Figure 7 (three variants; the fourth is ours). Each table is what
// `twill solve` returned for the command in its comment; the files are in gpu/schedules, and
// tests/gpu/gpu_schedule_test.cpp verifies them, proves them optimal and compares them with these
// tables line by line.
//
// Plain C++: the kernel expands these tables at compile time (forward/program.hpp), the model of
// the barrier protocol and the test read the same ones.
#pragma once

namespace twill::gpu {

/// The operations of attention's loop that are instructions, named as in Twill's kernel files.
/// (Views, buffer names and address arithmetic cost no cycle and are left out.)
enum class Op : unsigned char {
  ld_k,
  ld_v,
  qk,       ///< S = Q K^T
  row_max,  ///< row maximum of S
  mul_m,    ///< the maximum, scaled
  mul_s,    ///< S, scaled: no instruction of its own, sub_s is one fused multiply-add
  max_m,    ///< m = max(m, .), carried
  sub_s,    ///< S * scale - m
  sub_m,    ///< the old m - the new
  exp_p,    ///< P = exp2(.)
  exp_a,    ///< alpha = exp2(.)
  row_sum,  ///< row sum of P, of this thread's columns; the quad is summed after the loop
  trunc_p,  ///< P in 16 bits
  mul_l,    ///< l * alpha
  add_l,    ///< + row sum, carried
  mul_acc,  ///< O * alpha
  pv        ///< O += P V
};

constexpr const char* op_name(Op op) {
  constexpr const char* names[] = {"ld_k",    "ld_v",  "qk",    "row_max", "mul_m", "mul_s",
                                   "max_m",   "sub_s", "sub_m", "exp_p",   "exp_a", "row_sum",
                                   "trunc_p", "mul_l", "add_l", "mul_acc", "pv"};
  return names[static_cast<int>(op)];
}

/// At macro-iteration t a step of stage s works on iteration t - s.
struct Step {
  Op op;
  int stage;
};

inline constexpr int kSlotSteps = 15;

/// What one slot of the schedule runs: `steps` in the order of a steady-state period from cycle 0.
struct Slot {
  const char* name;    ///< the slot's name in the schedule file
  const char* prefix;  ///< of the op names: which sub-tile of 64 query rows it works on
  Step steps[kSlotSteps];
};

/// A GEMM's place in the tensor core's order of a steady-state period.
struct Turn {
  int slot;
  Op op;
};

/// A schedule as the kernel declares it.
struct Schedule {
  const char* name;  ///< the paper's, Figure 7
  const char* file;  ///< NAME of gpu/schedules/NAME.schedule.json and .problem.json
  int interval;      ///< I and L, in cycles of the problem
  int length;
  const char* loader;  ///< the slot of both loads
  int slots;           ///< 1: both consumer warpgroups run slot 0, as one slot of eight warps;
                       ///< 2: warpgroup w runs slot w
  Slot slot[2];
  int turns;
  Turn turn[4];     ///< with 2 slots the warpgroups keep this order: the ping-pong
  int ring;         ///< buffers of each of the rings of K and V blocks, >= the schedule's
  int v_stage = 0;  ///< of the load of V; the loader is a block behind with it in any case
  /// With head dimension 64 three consumer warpgroups fit if each can do with 160 registers. There
  /// exponentials bind and not products: a third warpgroup fills gaps of the other two.
  bool three_at_64 = false;
};

/// Consumer warpgroups of a block, 64 query rows each.
constexpr int forward_consumers(const Schedule& schedule, int head_dim) {
  return schedule.three_at_64 && head_dim == 64 ? 3 : 2;
}

/// In order. `twill solve hopper-fwd-plain --machine hopper --layout 1x8 --stages 1`
inline constexpr Schedule kCudaDefault{"CUDA-Default",
                                       "fmha-forward-default",
                                       680,
                                       680,
                                       "load",
                                       1,
                                       {{"wg01",
                                         "",
                                         {{Op::qk, 0},
                                          {Op::mul_s, 0},
                                          {Op::row_max, 0},
                                          {Op::mul_m, 0},
                                          {Op::max_m, 0},
                                          {Op::sub_m, 0},
                                          {Op::sub_s, 0},
                                          {Op::exp_a, 0},
                                          {Op::mul_acc, 0},
                                          {Op::exp_p, 0},
                                          {Op::mul_l, 0},
                                          {Op::trunc_p, 0},
                                          {Op::pv, 0},
                                          {Op::row_sum, 0},
                                          {Op::add_l, 0}}},
                                        {}},
                                       2,
                                       {{0, Op::qk}, {0, Op::pv}},
                                       2,
                                       0,
                                       true};

/// The software pipeline, on both warpgroups alike; only the loads have a warp of their own.
/// `twill solve hopper-fwd-plain --machine hopper --layout 1x8`
inline constexpr Schedule kTwillSwp{"Twill-SWP",
                                    "fmha-forward-swp",
                                    494,
                                    962,
                                    "load",
                                    1,
                                    {{"wg01",
                                      "",
                                      {{Op::qk, 0},
                                       {Op::sub_m, 1},
                                       {Op::row_sum, 1},
                                       {Op::trunc_p, 1},
                                       {Op::row_max, 0},
                                       {Op::exp_a, 1},
                                       {Op::mul_acc, 1},
                                       {Op::mul_s, 0},
                                       {Op::pv, 1},
                                       {Op::mul_m, 0},
                                       {Op::max_m, 0},
                                       {Op::sub_s, 0},
                                       {Op::exp_p, 0},
                                       {Op::mul_l, 1},
                                       {Op::add_l, 1}}},
                                     {}},
                                    2,
                                    {{0, Op::qk}, {0, Op::pv}},
                                    2};

/// The joint schedule: PV belongs to the pipeline on wg1 only, and the tensor core alternates
/// between the warpgroups. `twill solve fmha-forward --machine hopper`
inline constexpr Schedule kTwill{"Twill",
                                 "fmha-forward-twill",
                                 740,
                                 1110,
                                 "load",
                                 2,
                                 {{"wg0",
                                   "s1_",
                                   {{Op::qk, 0},
                                    {Op::row_sum, 1},
                                    {Op::add_l, 1},
                                    {Op::row_max, 0},
                                    {Op::mul_m, 0},
                                    {Op::mul_s, 0},
                                    {Op::max_m, 0},
                                    {Op::sub_s, 0},
                                    {Op::exp_p, 0},
                                    {Op::sub_m, 0},
                                    {Op::trunc_p, 0},
                                    {Op::exp_a, 0},
                                    {Op::mul_acc, 0},
                                    {Op::pv, 0},
                                    {Op::mul_l, 0}}},
                                  {"wg1",
                                   "s0_",
                                   {{Op::trunc_p, 1},
                                    {Op::pv, 1},
                                    {Op::row_sum, 1},
                                    {Op::add_l, 1},
                                    {Op::qk, 0},
                                    {Op::row_max, 0},
                                    {Op::mul_m, 0},
                                    {Op::max_m, 0},
                                    {Op::sub_m, 0},
                                    {Op::exp_a, 0},
                                    {Op::mul_acc, 0},
                                    {Op::mul_s, 0},
                                    {Op::sub_s, 0},
                                    {Op::exp_p, 0},
                                    {Op::mul_l, 0}}}},
                                 4,
                                 {{0, Op::qk}, {1, Op::pv}, {1, Op::qk}, {0, Op::pv}},
                                 2};

/// As many cycles as Twill (I), and each warpgroup has a product of its own in flight under its own
/// exponential, with turns: FlashAttention-3's order. A product's result is needed later than in
/// Twill, by a product of the other warpgroup. The problem file pins slots and cycles to have the
/// order of Twill-SWP on both; `twill solve gpu/schedules/fmha-forward-overlap.problem.json`
inline constexpr Schedule kOverlap{"Twill-Overlap",
                                   "fmha-forward-overlap",
                                   740,
                                   1480,
                                   "load",
                                   2,
                                   {{"wg0",
                                     "s0_",
                                     {{Op::qk, 0},
                                      {Op::sub_m, 1},
                                      {Op::row_sum, 1},
                                      {Op::trunc_p, 1},
                                      {Op::row_max, 0},
                                      {Op::exp_a, 1},
                                      {Op::mul_l, 1},
                                      {Op::add_l, 1},
                                      {Op::mul_acc, 1},
                                      {Op::mul_s, 0},
                                      {Op::pv, 1},
                                      {Op::mul_m, 0},
                                      {Op::max_m, 0},
                                      {Op::sub_s, 0},
                                      {Op::exp_p, 0}}},
                                    {"wg1",
                                     "s1_",
                                     {{Op::qk, 0},
                                      {Op::sub_m, 1},
                                      {Op::row_sum, 1},
                                      {Op::trunc_p, 1},
                                      {Op::exp_a, 1},
                                      {Op::mul_l, 1},
                                      {Op::add_l, 1},
                                      {Op::row_max, 0},
                                      {Op::mul_acc, 1},
                                      {Op::mul_s, 0},
                                      {Op::pv, 1},
                                      {Op::mul_m, 0},
                                      {Op::max_m, 0},
                                      {Op::sub_s, 0},
                                      {Op::exp_p, 0}}}},

                                   4,
                                   {{0, Op::qk}, {1, Op::qk}, {0, Op::pv}, {1, Op::pv}},
                                   2,
                                   1};

inline constexpr const Schedule* kForwardSchedules[] = {&kCudaDefault, &kTwillSwp, &kTwill,
                                                        &kOverlap};
inline constexpr int kForwardScheduleCount = 4;

}  // namespace twill::gpu
