// What a loop of a module computes, and what stands around it: the meaning that a kernel file of
// version 4 has (graph/meaning/meaning.hpp), read from the module's ops.
//
// Every node of the loop graph becomes a value of its name. Buffers vanish: who reads one uses what
// was written into it last, in this iteration or in the one before. What is not understood is
// refused by name and line, never guessed.
#pragma once

#include <string>
#include <variant>

#include "graph/meaning/meaning.hpp"
#include "graph/meaning/user_kernel.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

namespace twill::ttgir {

/// Where the tile of a tensor of the meaning comes from or goes to.
struct TileOp {
  int op = kNone;  ///< the load or store of the module; or the loop or branch with `result`
  int copy = 0, copies = 1;
  int dimension = -1;  ///< along which it is cut into copies; -1 = it is not
  /// Not in memory: what another loop or branch hands to this loop, or this one to others. The
  /// number of `op`'s result; -1 = it is in memory.
  int result = -1;
  /// The tile is what a load brings through a mask that is no rule of places, or what a store under
  /// such a mask is given.
  bool masked = false;
  int iteration = 0;  ///< of the module's iterations in one of the meaning's (unrolled()) its own
};

struct ModuleMeaning {
  meaning::Meaning meaning;
  meaning::UserKernel kernel;
  std::vector<TileOp> tiles;  ///< per tensor of the meaning
};

/// Why there is none.
struct NoMeaning {
  int op = kNone;
  std::string why;  ///< with the op's name and line
};

/// Constants that stand for arguments of the function have numbers from the middle of what one
/// uses: 1/8 for a real argument, 0 for an integer; UserKernel::numbers says whose they are.
std::variant<ModuleMeaning, NoMeaning> meaning_of_loop(const LoweredModule& lowered);

/// Of the loop with `copies` of its iterations in one (graph/meaning/unroll.hpp): its kernel's
/// `unrolled` says so. Throws InputError where names of copies are taken.
ModuleMeaning unrolled(const ModuleMeaning& of, int copies);

/// The problem as its program has it: edges are those that hand data on, and who writes into a
/// buffer that the loop finds there holds it itself. A schedule of `problem` is one of this, or the
/// loop has to be solved as this (verify()). `problem` must be one of `lowered`, or one of these
/// unrolled() as often as the meaning is.
Problem program_problem(const LoweredModule& lowered, const ModuleMeaning& of,
                        const Problem& problem);

}  // namespace twill::ttgir
