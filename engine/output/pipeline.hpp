// The pipelined loop as prologue, steady state and epilogue (the Twill paper, Section 3.1, Figure
// 1f; the construction is that of Allan et al., "Software Pipelining", ACM Computing Surveys,
// 1995).
//
// With N stages and n >= N iterations: the prologue is the first N - 1 periods, the steady state
// one period for each i = 0 .. n - N, the epilogue the last N - 1 periods. Each period issues the
// same ops in the same order; prologue and epilogue leave out iterations below 0 and from n on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/output/steady_state.hpp"

namespace twill {

struct Instruction {
  int op = 0;
  Cycle cycle = 0;      ///< from the start of its section; in the steady state, of the period
  Cycle iteration = 0;  ///< prologue: the iteration; steady state: relative to i; epilogue: to n
};

struct Pipeline {
  std::vector<Instruction> prologue;
  std::vector<Instruction> steady;
  std::vector<Instruction> epilogue;
  /// Prologue and epilogue would exceed the limit and are left empty: they are the steady state
  /// with i from -(N - 1) to -1 and from n - N + 1 to n - 1, without iterations outside [0, n).
  bool abridged = false;
};

/// `limit`: most instructions in each of prologue and epilogue.
Pipeline pipeline(const SteadyState& state, std::size_t limit = 4000);

enum class Section { prologue, steady, epilogue };

/// "0", "i+1", "n-1": the iteration of an instruction as it is written in brackets.
std::string iteration_text(Section section, Cycle iteration);

}  // namespace twill
