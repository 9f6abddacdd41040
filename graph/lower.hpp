// From a kernel (a loop before it is put on a machine) and a machine to a problem.
//
// A kernel file gives ops with kind, tile shape and element type; a machine file gives units,
// memories, slot layouts and cost rules. Lowering multiplies them out. Both formats are this
// project's own; their JSON Schemas are graph/schema/{kernel,machine}.schema.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/barrier_costs.hpp"
#include "graph/contention.hpp"
#include "graph/error.hpp"
#include "graph/problem.hpp"
#include "graph/register_pool.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Names of what is built in, sorted. `fmha-forward` and `fmha-backward` stand for the attention
/// graph of the machine asked for (its file's `aliases`) and are listed too.
std::vector<std::string> builtin_kernels();
/// Is the name one of them? (Cheaper: machines are read only for a name that is no file's.)
bool is_builtin_kernel(const std::string& name);
std::vector<std::string> builtin_machines();
/// The embedded text of a built-in kernel or machine; throws InputError for an unknown name.
std::string builtin_kernel(const std::string& name, const std::string& machine = "");
std::string builtin_machine(const std::string& name);
/// The kernel that `name` stands for on a machine (its file's `aliases`), or `name` itself.
std::string kernel_on_machine(const std::string& name, std::string_view machine_text,
                              const std::string& machine_source);

/// What of a machine a loop meets (graph/README.md).
enum class Reading {
  of_file,  ///< what the machine file names; files of version 1: the paper's, but for holds
  paper,    ///< streaming loads cost nothing, operands are free at issue, rings count while live
  machine,  ///< loads are in flight, operands held, rings charged, channels bound I
};

/// Where in its range a cost is that a machine file gives as a range. The worst end costs the most
/// cycles: of a rate, which divides, the low one, of everything else the high one.
enum class RangeEnd { worst, nominal, best };

/// The ends at which all ranges of a machine file are read, but perhaps for one.
struct RangeEnds {
  RangeEnd all = RangeEnd::worst;
  std::optional<std::size_t> one = {};  ///< its index in machine_ranges() ...
  RangeEnd of_one = RangeEnd::worst;    ///< ... and its end
};

/// A number of a machine file that is given as {"nominal": x, "low": a, "high": b}, a <= x <= b.
struct CostRange {
  std::string place;  ///< dotted path, as LowerOptions::set takes it: "rules.exp2.cycles.0.rate"
  Fraction nominal, low, high;
  bool rate = false;  ///< its worst end is the low one
};

/// The ranges of a machine file with `set` applied, in the order of reading: channels, spill,
/// rules, each in the file's order. Throws InputError like lower().
std::vector<CostRange> machine_ranges(
    std::string_view machine_text, const std::string& machine_source,
    const std::vector<std::pair<std::string, std::string>>& set = {});

/// Values of parameters of a kernel file, by name: "keys" -> "176", "T" -> "bf16".
using ParameterValues = std::vector<std::pair<std::string, std::string>>;

struct LowerOptions {
  Reading reading = Reading::of_file;
  std::string layout;  ///< a layout's name; "" = every layout that can hold the kernel
  /// Overrides applied to the machine file before it is checked, "units.SFU" -> "2": dotted path
  /// into the file, JSON value. The path must exist and keep its type; a number may replace a
  /// range.
  std::vector<std::pair<std::string, std::string>> set;
  /// Where costs that the machine file gives as ranges are.
  RangeEnds ends;
  /// Do MMAs and TMA stores hold what they read until they end (the machine's `asynchronous`
  /// rules)? false = the paper's reading: an operand is free when they issue, but for holds in the
  /// kernel.
  /// Unset = as the reading has it.
  std::optional<bool> holds;
  /// Are the rings of loads charged to memory, buffer by buffer, as the kernel allocates
  /// them (Memory::rings)? false = what is in them counts while it is live, the paper's reading.
  /// Unset = as the reading has it.
  std::optional<bool> rings;
  /// The register split is to be chosen: every slot gets the most it could have in any split, which
  /// together is more than there is, and Lowered::pool says what the slots share. For
  /// solve_split().
  bool choose_registers = false;
  /// 0 = raw cycles; U > 0 = normalised so that the distinct costs sum to at most U (paper 5.2).
  int normalize = 0;
  bool normalize_relative = false;  ///< minimise the relative ratio error, not the paper's F
  /// Of the kernel's parameters (files of version 3); others have their default (graph/tiles.hpp).
  ParameterValues values = {};
  /// Ops of a kernel that says what they compute. The result of each is stored to shared memory by
  /// an op of its own, NAME_stored, from which matrix products read it. It holds registers until it
  /// is stored; what is handed over without that holds them until its last reader has ended (rule
  /// 6). InputError where a result is no matrix, of a chunk, in memory already, or read by no
  /// product.
  std::vector<std::string> stored = {};
};

/// What all ops of an iteration move through a channel that the reading leaves out: informative, no
/// part of the problem, and so no bound on I that verify() could check.
struct BandwidthSum {
  std::string unit;
  /// Clocks of the machine, normalised or not: compare with I * Problem::cycle_unit.
  Cycle cycles = 0;
};

/// How far a ratio of costs moved by normalisation.
struct NormalizedCost {
  Cycle before = 0, after = 0;
};

/// A kernel on one slot layout of a machine.
struct Lowered {
  std::string layout;
  Problem problem;
  std::vector<BandwidthSum> bandwidth;     ///< empty where the problem has channels
  std::vector<NormalizedCost> normalized;  ///< distinct costs, largest first; empty when raw
  std::optional<RegisterPool> pool = {};   ///< with LowerOptions::choose_registers
  /// Channels of the problem whose rate or traffic the machine file calls an estimate.
  std::vector<std::string> estimated = {};
  /// Channels that some op moves something through, of which the kernel does not say how much: how
  /// many blocks share a loaded tile. It is not charged.
  std::vector<std::string> unknown = {};
  /// What its machine says that barriers cost, in cycles of the problem; none where it does not.
  std::optional<BarrierCosts> barriers = {};
  /// What its machine says that units which ops of it reserve do to each other.
  Contention contention = {};
  /// What it was made of, but for the version; none where the problem was only read.
  std::optional<MadeBy> made_by = {};
};

/// Lowers `kernel_text` onto `machine_text`: one problem per layout that can hold it, in the
/// machine file's order. Throws InputError when a file is malformed, a layout does not fit the
/// register file, or no layout can hold the kernel (with the reason for each), or registers are to
/// be chosen on a machine without a register file.
std::vector<Lowered> lower(std::string_view kernel_text, const std::string& kernel_source,
                           std::string_view machine_text, const std::string& machine_source,
                           const LowerOptions& options = {});

/// How each cost of the kernel on the machine comes about, one line an op: rule, tile, cycles,
/// formula. No slot layout takes part. Throws InputError when a file is malformed or the machine
/// has no price for an op.
std::string explain_costs(std::string_view kernel_text, const std::string& kernel_source,
                          std::string_view machine_text, const std::string& machine_source,
                          const LowerOptions& options = {});

/// Normalises the cycles of a problem (paper 5.2; see graph/lowering/normalize.hpp).
Problem normalize_problem(const Problem& problem, int budget, bool relative,
                          std::vector<NormalizedCost>* costs = nullptr);

}  // namespace twill
