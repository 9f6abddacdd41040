// `twill bench`: measurements of the solver, linked into the program when
// TWILL_BUILD_BENCH is on.
//
// The program's subcommand has subcommands of its own, one file each; every one
// adds its options to the parser and returns what is to run. Whatever is
// measured is measured in a process of its own (bench/process.hpp), so that
// time and peak memory are those of one row; `bench row` and `bench ask` are
// those processes, and users' tools for a single measurement. With --json each
// prints one JSON object a line, a row a line, as soon as the row is known: a
// run that is interrupted loses the row in flight and no other. A new
// experiment is a new file here and a line in bench.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "engine/cli/cli.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/cli/workload.hpp"

namespace twill::bench {

/// The options of one search, spelt as in `twill solve`; without --memory there is no limit.
struct SearchFlags : cli::SearchFlags {
  void add_to(CLI::App& app, const std::string& limited = "a row");
  /// Throws InputError.
  Options options() const;
  /// Reads the workload with no more threads than the search may use: normalisation is parallel.
  cli::Workload load(const cli::WorkloadFlags& work) const;
};

// One measurement, in this process.
cli::Command row_command(CLI::App& bench);
cli::Command ask_command(CLI::App& bench);
// Tables of measurements, each in a process of its own.
cli::Command attention_command(CLI::App& bench);
cli::Command peers_command(CLI::App& bench);
// Cost against the number of ops and against the scale of cycles, with fitted exponents.
cli::Command scaling_command(CLI::App& bench);
cli::Command hard_command(CLI::App& bench);
// Loops of TTGIR modules, sub-tiled and unrolled, beside CP-SAT.
cli::Command modules_command(CLI::App& bench);
// Projects and job shops of the literature to the proved makespan.
cli::Command makespan_command(CLI::App& bench);
// The spread over random costs, in this process.
cli::Command robust_command(CLI::App& bench);
// Both readings of a machine side by side, in this process.
cli::Command readings_command(CLI::App& bench);
// The best time over the number of iterations, in this process.
cli::Command iterations_command(CLI::App& bench);
// Loops with a loop inside, beside the same unrolled, in this process.
cli::Command nested_command(CLI::App& bench);
// The best tile of kernels with parameters, beside others', in this process.
cli::Command tiles_command(CLI::App& bench);
// Loops and schedules of Meta's Triton fork, judged and solved.
cli::Command schedule_graph_command(CLI::App& bench);
// Reading and lowering of TTGIR modules, in this process.
cli::Command ttgir_command(CLI::App& bench);

}  // namespace twill::bench
