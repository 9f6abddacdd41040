// What is to be solved: a kernel lowered onto a machine, or a problem file.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/cli/pins.hpp"
#include "engine/cli/ttgir.hpp"
#include "engine/include/twill.hpp"
#include "graph/meaning/meaning.hpp"

namespace twill::cli {

/// The options that change the problem; `solve` and `lower` share them.
struct WorkloadFlags {
  std::string input;    ///< KERNEL, a kernel, problem or TTGIR file; "-" = standard input
  std::string machine;  ///< built-in name or file
  std::string layout;
  std::string normalize;  ///< "" = the default of the input's kind
  bool relative = false;
  std::string reading;            ///< "machine" or "paper", else the machine file's
  std::string holds;              ///< "on" or "off", else the reading's
  std::string rings;              ///< "charged" or "live", else the reading's
  bool choose_registers = false;  ///< LowerOptions::choose_registers; an option of solve alone
  std::vector<std::string> set;
  std::vector<std::string> more;   ///< slots of which there is one more each
  std::vector<std::string> tiles;  ///< NAME=VALUE of the kernel's parameters, and "auto"
  std::string type;                ///< TYPE or NAME=TYPE
  std::vector<std::string> store;  ///< LowerOptions::stored
  int unroll = 1;                  ///< iterations of the loop in one of what is solved
  PinFlags pins;
  TtgirFlags ttgir;
  /// When given, gets how each cost of a kernel or module came about, also where load() then throws
  /// because no layout fits.
  std::string* costs = nullptr;

  void add_to(CLI::App& app);
  bool chooses_tiles() const;
  bool normalizes() const { return !normalize.empty() && normalize != "none"; }
};

struct Workload {
  std::vector<Lowered> problems;    ///< one a layout; a problem file is one without layout
  std::vector<std::string> hashes;  ///< problem_sha256 of each
  bool from_kernel = false;
  bool as_read = false;  ///< the problem is the input file, byte by byte
  /// Per problem the module that it came from; empty when the input was no TTGIR.
  std::vector<std::shared_ptr<const ttgir::LoweredModule>> modules;
  int unroll = 1;                    ///< iterations of the input's loop in one of the problems'
  std::vector<std::string> remarks;  ///< for a person: sub-tilings that are not legal
  std::string machine;               ///< its name, where the module's target chose it
  /// Costs that the machine gives as ranges; the problems are those of their worst ends.
  std::vector<CostRange> ranges;
  std::string input_text, machine_text;  ///< as read, where there are ranges: "-" is read once
  ParameterValues values;                ///< of the kernel's parameters, all of them
  /// What the ops compute, where the kernel file says it.
  std::optional<meaning::Meaning> meaning;

  /// nullptr also where the problem is the module's loop unrolled: its ops are not the module's.
  const ttgir::LoweredModule* module(std::size_t k) const {
    return modules.empty() || unroll > 1 ? nullptr : modules[k].get();
  }
};

/// --list-loops: the listing, or nothing when it was not asked for.
std::optional<std::string> loop_listing(const WorkloadFlags& flags);

/// Reads, decides by content what the input is, lowers and normalises. Kernels are normalised to
/// U = 300 by default unless their costs are that small, problem files are taken as they are.
/// Throws InputError.
Workload load(const WorkloadFlags& flags);

/// The workload again, with its machine's ranges at these ends. Throws InputError.
Workload load_at(const WorkloadFlags& flags, const Workload& work, const RangeEnds& ends);

/// The choices of --tiles auto, and what they were lowered from.
struct TileWorkload {
  TileSource source;
  KernelParameters parameters;
  std::vector<TileChoice> choices;
};
/// As load(), of all tiles of a kernel. Throws InputError where the input is no kernel.
TileWorkload load_tiles(const WorkloadFlags& flags);

/// One line on what normalisation did to the costs: "512 -> 64, ...; largest ratio error 1.2 %".
std::string normalization_text(const Lowered& lowered);

}  // namespace twill::cli
