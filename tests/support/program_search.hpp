// An oracle for the judge of programs: all interleavings of a small program, one by one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/program/program.hpp"

namespace twill::test {

struct SearchResult {
  std::optional<std::string> fault;  ///< the first that was met: what happens, in words
  bool complete = false;             ///< no fault, and every state was seen
  std::size_t states = 0;
};

/// Executes n iterations in every order that the slots, the late ends of ops and the parity of the
/// barriers allow. A fault is an interleaving in which two accesses of a cell are under way
/// together and one writes, a read begins at a cell that holds something else than it names, a wait
/// stands at a barrier that is a phase ahead or behind, nothing can go on, or a carried result is
/// gone in the end. Cells hold tags (storage, iteration). Static rules (capacity, bytes) are not
/// looked at.
SearchResult search_program(const program::Program& program, int n,
                            std::size_t most_states = 200'000);

/// Runs of so many iterations each, one after the other on each slot, iterations counted through
/// all of them. A wait for a later run's iteration is left out. What a run reads of iterations
/// before its own is not looked at, nor what is there in the end.
SearchResult search_tiles(const program::Program& program, const std::vector<int>& tiles,
                          std::size_t most_states = 200'000);

}  // namespace twill::test
