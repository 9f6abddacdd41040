// Input phase: is a problem well formed? Nothing downstream re-checks what is checked here.
#pragma once

#include <string>

#include "graph/error.hpp"
#include "graph/problem.hpp"

namespace twill {

/// Throws InputError naming the JSON pointer, the value and the rule of the first violation:
/// empty or duplicate ids and names, indices out of range, numbers out of range (kMaxCycles, ...),
/// reservation amount > capacity, offset + length > cycles, a zero-cycle op with a reservation,
/// two overlapping footprints of one memory, a second variable_latency slot, a streaming op that
/// is not variable latency or has cycles, reservations, incoming edges or outgoing delays, and any
/// dependence cycle whose distances are all 0. `source` is the file name used in the message.
void check(const Problem& problem, const std::string& source = "problem");

/// For forms of the problem that know no pins: throws InputError where there are any.
void refuse_pins(const Problem& problem, const std::string& form);

/// The same of a range of I.
void refuse_range(const Problem& problem, const std::string& form);

/// The same of inner loops.
void refuse_inner_loops(const Problem& problem, const std::string& form);

/// For forms that charge no rings: throws InputError where a memory does.
void refuse_rings(const Problem& problem, const std::string& form);

}  // namespace twill
