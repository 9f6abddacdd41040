// Problems that the joint solver of Meta's Triton fork is asked (facebookexperimental/triton,
// TRITON_USE_MODULO_SCHEDULE=joint_solver;
// third_party/nvidia/hopper/lib/Transforms/ModuloScheduling, JointSolverScheduler.cpp and
// Z3JointSolver.cpp, read at the commit of 2026-08-22), and its answers.
#pragma once

#include <string>
#include <string_view>

#include "bench/schedule_graph.hpp"
#include "graph/io/json_reader.hpp"

namespace twill::bench {

/// Is the document such a problem, of whatever version?
bool is_joint_problem(const JsonValue& root);

/// A problem of its first stage ("joint-solver-0.1"), which asks for the least I.
///
/// As theirs: a unit for every pipeline but NONE, taken for `duration` cycles, at least one; edges
/// with their latencies, 0 behind loads that stream where `streaming_vl` says so; one slot for all,
/// since warps are not asked about yet. A buffer is a footprint of its `alloc_node`, in bytes of
/// shared memory or in columns of tensor memory, held until the cycle after its last consumer's
/// start. `stated_bound` is their `min_ii`.
///
/// Otherwise than theirs: of shared memory what is live counts, not the copies by stages, which may
/// be more (theirs are never fewer), and in tensor memory iterations overlap, while theirs compares
/// the lifetimes of one iteration. `max_ii`, limits and `canonical_root`, which picks one of
/// equals, are not read.
///
/// Refused: the second stage ("joint-solver-0.2"), which assigns warp groups at a given I and
/// gives waits, arrivals and copies a place of their own wherever groups differ, which no edge of
/// a problem can say; and relaxations (`relax_keep_kinds`), which are other problems.
GraphLoop parse_joint_problem(const JsonValue& root, const std::string& source);

/// The schedule of their answer to it: `status` must be "ok", and every node must have a cycle.
/// Throws InputError as the other readers do.
Schedule parse_joint_solution(std::string_view text, const std::string& source,
                              const Problem& problem);

}  // namespace twill::bench
