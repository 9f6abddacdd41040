// How many registers a slot's results take at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Registers a thread that results of the slot take where most of them are held, in the steady
/// state: from the op that writes one to the last that reads it. An op may write over what it is
/// the last to read; what a product of Hopper reads is held until its slot has waited for it. With
/// registers_before().
Amount register_pressure(const Plan& plan, int slot);
/// Registers a thread that results of the slot take behind each op of a period, summed.
Amount summed_pressure(const Plan& plan, int slot);
/// Registers a thread of what the slot computes before the loop and uses in it; in_loop: without
/// what is used before the loop alone.
Amount registers_before(const Plan& plan, int slot, bool in_loop = false);

/// What a slot of Hopper holds where a compiler cannot go through results element by element.
struct PressureOfProducts {
  Amount held = 0;  ///< registers a thread, the most at an issue of a product or a wait for one
  int op = -1;      ///< behind which that is; -1 = the slot has no products
  int tiles_stored = 0;  ///< tiles a period that go from its registers to shared memory
  Amount vector = 0;     ///< registers of the longest vector along columns that it reads from there
};
PressureOfProducts pressure_of_products(const Plan& plan, int slot);

/// Where products in flight and results beside them leave too few of `registers`, ptxas says C7512
/// and ends each product before it issues the next. A tile that is stored in shared memory has four
/// addresses, for its rows' swizzle, which are kept over the loop; a vector along columns is read
/// early. (A rule of thumb: 232 registers
/// of results compile without a spill, bench/results/emission.md has what did not.) Why it will; or
/// nothing.
std::optional<std::string> why_serialised(const Plan& plan, int slot, int registers);

/// Registers a thread that a compiler wants for the slot's text where it wants the most: results
/// held there, or those held before an op and the tiles that the op reads from memory, which ptxas
/// loads whole before it computes with any; what was computed before the loop; a vector along
/// columns; addresses of tiles that are read and stored; and some for all else. On Hopper a factor
/// in registers is held until the wait that the text has for its product: legal.hpp leaves out
/// waits for registers alone. An estimate (ptxas 13.4: of slots that it gave fewer, most spilled;
/// bench/results/emission.md).
Amount registers_needed(const Plan& plan, int slot);

/// Do the slot's threads read a whole tile from memory for this op?
bool reads_tile(const Plan& plan, int slot, int op);

/// Where a slot's loop is to begin (cut_code.hpp): where it holds the fewest registers. 0 = where
/// it begins as it is: another place has to save 32 registers a thread, or one where the slot has
/// hardly any left. A tile that is held where the loop begins again gets registers of its own there
/// and is moved into them: ptxas spills.
int cut_of_slot(const Plan& plan, int slot);

/// Per item of the slot's period: are about as few registers held before it as anywhere?
std::vector<bool> light_cuts(const Plan& plan, int slot);

}  // namespace twill::emit
