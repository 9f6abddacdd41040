// TTGIR modules as input of `solve` and `lower`: their options, and the way back.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/include/twill_triton.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

namespace twill::cli {

/// Options that say which loop of a module and how it becomes a problem.
struct TtgirFlags {
  std::optional<int> module, loop;
  bool list_loops = false;
  std::string subtile = "1";  ///< 1, "M=2", "M=4", "auto"
  Amount resident_registers = 24;
  std::int64_t chunk_columns = 32;
  std::int64_t trips = 16;
  bool nest = false;         ///< of `twill nest`, no option: ttgir::LoopOptions::nest
  bool sequence = false;     ///< of `twill emit`, no option: ttgir::LoopOptions::sequence
  bool undo_rings = false;   ///< of `twill program` and the like: ttgir::LoopOptions::undo_rings
  std::string left_factors;  ///< "", "registers", "memory": ttgir::LoopOptions::stored_factors
  std::string profile;       ///< file

  void add_to(CLI::App& app);
  /// The sub-tilings to solve: one, or 1, 2 and 4 for "auto". Throws InputError.
  std::vector<int> factors() const;
  /// Throws InputError when one of these options was given: the input is no TTGIR module.
  void refuse_for(const std::string& input) const;

 private:
  std::vector<CLI::Option*> options_;
};

/// A module's loop on a machine, split in each way asked for that is legal (at least one, else
/// InputError). `costs`, when given, gets how each cost came about, also where this throws because
/// no layout fits.
TritonLoop load_module(const TtgirFlags& flags, const std::string& text, const std::string& source,
                       const std::string& machine_text, const std::string& machine_source,
                       const LowerOptions& options, std::string* costs = nullptr);

/// The warnings of a module, each once, as lines.
std::string warnings_text(const ttgir::LoweredModule& lowered);

/// What `solve --emit` writes.
struct EmitFlags {
  std::string kind;      ///< "", "ttgir" or "pipelined"
  std::string schedule;  ///< file of the schedule when -o names the emitted file

  void add_to(CLI::App& app);
  /// Throws InputError when nothing could be emitted: asked before anything is solved.
  void check(const TtgirFlags& flags, const ttgir::LoweredModule* lowered) const;
};

/// The pins that --emit ttgir gave a problem (ttgir/placer.hpp), in words.
std::string emit_pins_text(const Problem& problem);

/// The emitted text of a solution with a schedule. `remarks` gets where it is not as scheduled.
std::string emitted(const EmitFlags& flags, const ttgir::LoweredModule& lowered,
                    const Problem& problem, const Solution& solution,
                    std::vector<std::string>& remarks);

}  // namespace twill::cli
