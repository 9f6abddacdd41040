// A program in the instructions that a target has: who tells others that a product has ended.
#pragma once

#include <variant>
#include <vector>

#include "graph/program/links.hpp"
#include "graph/program/loop_view.hpp"
#include "graph/program/program.hpp"

namespace twill::emit {

enum class Target {
  hopper,     ///< wgmma: results in registers, ends known to their own warps by pending counts
  blackwell,  ///< tcgen05: results in tensor memory, ends told to barriers by the hardware
};
/// By where the products' results lie; a program that has both, or none, is refused by
/// make_legal().
struct LegalProgram {
  Target target = Target::hopper;
  program::Program program;     ///< without meaning where ops were added: see `source`
  std::vector<int> source;      ///< per op, the one of the given program; -1 = it is a release
  std::vector<int> release_of;  ///< per op, the op whose end it tells; -1 = it is no release
  /// Ops (load of tensor memory, arithmetic, store) that are executed as one where the last stands,
  /// part by part, so that the tile is never in registers as a whole.
  std::vector<std::vector<int>> fused;
  /// Per op of the given program: it copies a vector to registers that is used along columns alone.
  /// Its users read it in memory, as a thread would hold it for all of its columns.
  std::vector<bool> read_again;
  /// Per op of the given program: it is a product that the warps of its slot compute from registers
  /// (mma.sync), which ends where it is: of fewer rows than wgmma and tcgen05.mma have.
  std::vector<bool> by_warps;
};

/// Rewrites what the target cannot say and has the judge accept the outcome for every trip count:
///
/// - Hopper: registers that a product still reads are not written over, the compiler takes others
///   (a ring of one copy more), so no wait is needed for that. A product's end on a barrier becomes
///   a *release*, an op of its own on the product's slot: it waits for the product by its pending
///   count, then a thread arrives. It stands where the slot has waited for the product anyway, or
///   else before its next product.
/// - Products by warps end at once: no one waits for them.
/// - Blackwell: a pending count of a product becomes a barrier. Loads and stores of tensor memory
///   end at once, since Triton waits for each where it is (tcgen05.wait::ld, ::st). What a product
///   adds to is put where its result lies. A load, an op and a store of one tile become one.
///
/// Vectors along columns are read where they are used, and told to be free there.
///
/// Barriers get more phases where the later arrival asks for it. Rule "target" or "release".
///
/// `tiles`: it is run once for each tile of a loop around it, which judge_tiles() accepts, too.
std::variant<LegalProgram, program::Refusal> make_legal(const program::Program& program,
                                                        const program::Links& links,
                                                        bool tiles = false);

}  // namespace twill::emit
