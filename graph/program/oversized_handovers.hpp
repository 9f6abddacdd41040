// Results that a program hands on in less memory than they take.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/program/program.hpp"

namespace twill::program {

/// Pairs of ops, by name, of which the second reads on another slot, from a storage that is too
/// small for it, what the first makes. A mask of a tile is charged one register a thread, as long
/// as it stays with the slot that compares (triton.md); a number in memory is a byte at least. Such
/// a program cannot be executed; with the two on one slot it can. None where there is no meaning.
std::vector<std::pair<std::string, std::string>> oversized_handovers(const Program& program);

}  // namespace twill::program
