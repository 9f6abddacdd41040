// Triton's loops for C++: a loop of a TTGIR module as a problem, and its schedule handed back.
// Beside twill.hpp, which it includes.
//
//   const twill::TritonLoop loop = twill::read_triton(text, "kernel.ttgir");
//   const auto all = twill::solve_layouts(loop.problems_for_triton());
//   if (const auto& best = all.solution(); best.schedule)
//     std::cout << loop.annotated(all.layout().problem, *best.schedule);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "twill.hpp"

namespace twill {

namespace ttgir {
struct LoweredModule;
}

/// Which loop of a module, and how it becomes a problem: the options of `twill solve FILE.ttgir`.
struct TritonOptions {
  std::optional<int> module;  ///< of a file with several, from 0
  std::optional<int> loop;    ///< as triton_loops() numbers them; unset = the one it marks
  int subtile = 1;            ///< 1, 2, 4 or 8: the tile program split along M; 0 = each of 1, 2, 4
  Amount resident_registers = 24;   ///< a thread keeps for addresses and the like
  std::int64_t chunk_columns = 32;  ///< at a time when an accumulator is rescaled; 0 = whole tiles
  std::int64_t trips = 16;          ///< iterations of an inner loop of unknown count
  bool nest = false;                ///< the loop's one inner loop with its ops: for nests()
  bool sequence = false;            ///< one of a function's loops: for ProgramSource::sequence
  /// A loop with copies into rings of buffers, as Triton's pipeliner leaves it, can be scheduled as
  /// it stands, or as the loop that it was before (where the whole function can be had back): for
  /// program_source(), which says what is computed of the latter alone.
  bool undo_rings = false;
  /// Left factors of Hopper's products that a loop converts to registers are stored to shared
  /// memory instead, where the product reads them: for program_source(). (annotated() is of the
  /// module as it was changed.)
  bool stored_factors = false;
  std::string profile = {};  ///< text of a profile file, whose cycles replace rules; "" = none
};

/// A loop of a module on a machine, split along M in one way or in several. Copies share what was
/// read.
class TritonLoop {
 public:
  explicit TritonLoop(std::shared_ptr<const ttgir::LoweredModule> lowered);
  /// Several ways, one at least; `left_out` are those that no layout holds, and why.
  explicit TritonLoop(std::vector<std::shared_ptr<const ttgir::LoweredModule>> ways,
                      std::vector<std::string> left_out = {});

  /// One a way and a slot layout that holds it. Of several ways layouts are called "M=2 1x4", and
  /// the one with the smallest I is the best: sub-tiles do the same work.
  const std::vector<Lowered>& problems() const;
  /// With several ways: "M=4 is left out: ...".
  const std::vector<std::string>& left_out() const;
  /// The same with the pins without which Triton's passes do not take a schedule: for annotated().
  std::vector<Lowered> problems_for_triton() const;
  /// Another target, ops that are not known, trip counts that were assumed.
  const std::vector<std::string>& warnings() const;
  /// What problems()[k] was read from, for program_source() (twill_emit.hpp).
  std::shared_ptr<const ttgir::LoweredModule> lowered(std::size_t k = 0) const;
  /// Where the module's function is several loops one behind the other, each with a schedule: their
  /// numbers, for ProgramSource::sequence. Else none.
  std::vector<int> sequence() const;
  /// How each cost came about, of the first way: a line a node with its rule, formula and cycles.
  std::string costs() const;
  /// With TritonOptions::nest: the ops of problems()[k] that are in the inner loop, and how often
  /// it runs.
  std::vector<int> inner_ops(std::size_t k) const;
  std::int64_t inner_trips() const;

  /// The module with `loop.stage`, `loop.cluster` and `ttg.partition` on the ops of the loop, for
  /// Triton's passes, and what these want on loops around it that ask for warp specialisation.
  /// `remarks` gets where it is not as scheduled. Throws InputError for a sub-tiled loop, one
  /// that was read in several ways, and one that was pipelined already.
  std::string annotated(const Problem& problem, const Schedule& schedule,
                        std::vector<std::string>* remarks = nullptr) const;
  /// The software-pipelined loop (Soi et al. 2025, Figure 2), to be read.
  std::string pipelined(const Problem& problem, const Solution& solution) const;

 private:
  struct Read;
  std::shared_ptr<const Read> read_;
};

/// `machine` is a built-in name or the text of a machine file; "" = that of the module's target.
/// Throws InputError, whose place is "line L, column C" of `source`, also where no layout holds the
/// loop, and for several ways with normalised costs, which do not compare.
TritonLoop read_triton(std::string_view text, const std::string& source,
                       const std::string& machine = {}, const TritonOptions& options = {},
                       const LowerOptions& lower = {});

/// One line a loop of the module asked for, or of all in the text: number, function, line, what it
/// holds; the default choice is marked.
std::string triton_loops(std::string_view text, const std::string& source,
                         std::optional<int> module = std::nullopt);

}  // namespace twill
