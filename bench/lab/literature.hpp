// Scheduling instances of the literature as problems: project scheduling under resources (RCPSP)
// and job shops. Each is a loop of one stage: asked at I = L, nothing wraps around, so the residues
// of the modulo form are the times, and the smallest L with a schedule is the published makespan.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "graph/problem.hpp"

namespace twill::bench {

/// Reads, by the ending of `source`:
///   .sm   PSPLIB (Kolisch and Sprecher, "PSPLIB - A project scheduling problem library", EJOR 96,
///         1997): one mode an activity, renewable resources only
///   .rcp  Patterson's format (Patterson, Management Science 30, 1984; what RanGen writes)
///   else  a job shop in the "standard specification" of the OR-Library (Beasley, JORS 41, 1990):
///         jobs and machines, then a line a job of machine (from 0) and duration; lines that begin
///         with # or with + are skipped
/// Strict: throws InputError with the file, the line, the value and the rule. The problem is named
/// after the file, passes check() and has one slot on which everything runs.
Problem parse_literature(std::string_view text, const std::string& source);

/// The length of a serial schedule, longest tail first: an upper bound on the optimum. (Kelley,
/// "The critical-path method: resources planning and scheduling", 1963.)
Cycle serial_length(const Problem& problem);

/// A lower bound: the longest path, and the work of every unit.
Cycle one_stage_bound(const Problem& problem);

/// The smallest L with a schedule at I = L, by bisection between the two, each question decided by
/// the order engine; nothing when `seconds` did not suffice. Precondition: as parse_literature()
/// makes them (distances 0, so that a schedule of length L is one of any larger I and L).
std::optional<Cycle> smallest_makespan(const Problem& problem, double seconds,
                                       const std::stop_token& stop);

}  // namespace twill::bench
