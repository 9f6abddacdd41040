// Scheduling instances of the literature as problems: project scheduling under resources (RCPSP,
// RCPSP/max) and job shops. Each is a loop of one stage: asked at I = L, nothing wraps around, so
// the residues of the modulo form are the times, and the smallest L with a schedule is the
// published makespan (bench/lab/makespan.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/problem.hpp"

namespace twill::bench {

/// `to` starts no less than `cycles` after `from`; where that is negative, `from` starts at most so
/// many after `to`.
struct Lag {
  int from = 0, to = 0;
  Cycle cycles = 0;
};

/// A project, or a job shop. What needs no word of the makespan is in the problem; a lag becomes an
/// edge of distance 1 whose delay is the makespan that is asked about and `cycles`, since
/// M(to) + I >= M(from) + I + cycles.
struct Project {
  Problem problem;
  std::vector<Lag> lags;
};

/// .sm, .rcp, .sch, .SCH or .jss.
bool is_literature_ending(std::string_view ending);

/// Reads, by the ending of `source`:
///   .sm   PSPLIB (Kolisch and Sprecher, "PSPLIB - A project scheduling problem library", EJOR 96,
///         1997): one mode an activity, renewable resources only
///   .rcp  Patterson's format (Patterson, Management Science 30, 1984; what RanGen writes)
///   .sch  ProGen/max (Schwindt, "Generation of resource-constrained project scheduling problems
///         subject to temporal constraints", 1998), also .SCH: RCPSP/max, least and most times from
///         start to start; one mode an activity, renewable resources only
///   else  a job shop in the "standard specification" of the OR-Library (Beasley, JORS 41, 1990):
///         jobs and machines, then a line a job of machine (from 0) and duration; lines that begin
///         with # or with + are skipped
/// Strict: throws InputError with the file, the line, the value and the rule. The problem is named
/// after the file, passes check() and has one slot on which everything runs.
Project parse_literature(std::string_view text, const std::string& source);

/// The loop that has a schedule at I = L = `makespan` if and only if the project has one no longer.
/// (A lag that every schedule within the makespan keeps is left out.)
Problem at_makespan(const Project& project, Cycle makespan);

}  // namespace twill::bench
