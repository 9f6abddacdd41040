// twill bench tiles: of every built-in kernel with parameters the best tile with its proof, and
// what its default and published tiles give away beside it.

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "bench/measured.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/tiles.hpp"
#include "engine/output/style.hpp"

namespace twill::bench {
namespace {

struct TilesFlags {
  SearchFlags search;
  std::vector<std::string> kernels;
  bool registers = false;
  bool json = false;
};

/// A tile that somebody chose: given values, which the best one is sought with, and the others.
struct Published {
  const char* kernel;
  const char* who;
  ParameterValues given, tile;
};

// FlashAttention-3: hopper/tile_size.h and hopper/flash_bwd_launch_template.h of its repository.
// FlashAttention-4: its paper's forward and backward tiles. CUTLASS: the cooperative default.
const std::vector<Published>& published() {
  using V = ParameterValues;
  static const std::vector<Published> all = {
      {"hopper-forward-tiles",
       "FlashAttention-3",
       {},
       V{{"rows", "128"}, {"subtiles", "2"}, {"keys", "176"}}},
      {"hopper-forward-tiles",
       "FlashAttention-3, causal",
       {},
       V{{"rows", "128"}, {"subtiles", "2"}, {"keys", "128"}}},
      {"hopper-forward-tiles", "FlashAttention-3", V{{"hdim", "64"}},
       V{{"rows", "192"}, {"subtiles", "3"}, {"keys", "192"}}},
      {"hopper-forward-tiles", "FlashAttention-3, causal", V{{"hdim", "64"}},
       V{{"rows", "192"}, {"subtiles", "3"}, {"keys", "128"}}},
      {"hopper-forward-tiles", "FlashAttention-3", V{{"hdim", "256"}},
       V{{"rows", "128"}, {"subtiles", "2"}, {"keys", "80"}}},
      {"hopper-forward-tiles", "FlashAttention-3, FP8", V{{"T", "f8"}},
       V{{"rows", "128"}, {"subtiles", "2"}, {"keys", "224"}}},
      {"hopper-backward-tiles", "FlashAttention-3", {}, V{{"kv", "128"}, {"q", "80"}}},
      {"hopper-backward-tiles", "FlashAttention-3, causal", {}, V{{"kv", "128"}, {"q", "64"}}},
      {"blackwell-forward-tiles",
       "FlashAttention-4",
       {},
       V{{"rows", "256"}, {"subtiles", "2"}, {"keys", "128"}, {"chunk", "32"}}},
      {"blackwell-backward-tiles",
       "FlashAttention-4",
       {},
       V{{"q", "128"}, {"subtiles", "1"}, {"warps", "8"}}},
      {"hopper-gemm-tiles",
       "CUTLASS, cooperative",
       {},
       V{{"m", "128"}, {"subtiles", "2"}, {"n", "256"}, {"k", "64"}}},
  };
  return all;
}

TilesSolution solved(const TilesFlags& flags, const std::string& kernel, const std::string& machine,
                     const ParameterValues& values, const Options& options,
                     const std::stop_token& stop) {
  LowerOptions lowering;
  lowering.values = values;
  lowering.choose_registers = flags.registers;
  return solve_tiles(
      lower_tiles(builtin_kernel(kernel), kernel, builtin_machine(machine), machine, lowering),
      options, stop);
}

/// The defaults of what is not given: the tile of today.
ParameterValues default_values(const std::string& kernel) {
  ParameterValues values;
  for (const KernelParameter& parameter : kernel_parameters(builtin_kernel(kernel), kernel).all)
    if (!parameter.given) values.emplace_back(parameter.name, parameter.text(parameter.otherwise));
  return values;
}

/// Per cent that a / b is above c / d.
double above(Cycle a, Amount b, Cycle c, Amount d) {
  return 100 * (static_cast<double>(a) / static_cast<double>(b) /
                    (static_cast<double>(c) / static_cast<double>(d)) -
                1);
}

class Rows {
 public:
  Rows(const TilesFlags& flags, const Options& options, std::stop_token stop)
      : flags_(flags),
        options_(options),
        stop_(std::move(stop)),
        table_(std::cout, {{"kernel", 25, false},
                           {"tile", 40, false},
                           {"whose", 26, false},
                           {"layout", 18, false},
                           {"I", 6},
                           {"L", 6},
                           {"work a cycle", 12},
                           {"I / work", 9},
                           {"L / work", 9},
                           {"choices", 7},
                           {"s", 6}}) {
    if (!flags.json) table_.head();
  }

  /// The best tile with these given values, then the default one and those of others.
  bool kernel(const std::string& name, const std::string& machine, const ParameterValues& given) {
    const TilesSolution best = solved(flags_, name, machine, given, options_, stop_);
    bool all = best.status == Status::optimal;
    if (!best.chosen) return false;
    row(name, "best", best, best);
    const auto beside = [&](const char* who, ParameterValues tile) {
      tile.insert(tile.end(), given.begin(), given.end());
      const TilesSolution one = solved(flags_, name, machine, tile, options_, stop_);
      all = all && one.status == Status::optimal;
      if (one.chosen) row(name, who, one, best);
    };
    if (given.empty()) beside("default", default_values(name));
    for (const Published& tile : published())
      if (tile.kernel == name && tile.given == given) beside(tile.who, tile.tile);
    return all;
  }

 private:
  void row(const std::string& kernel, const char* who, const TilesSolution& one,
           const TilesSolution& best) {
    const Schedule& schedule = *one.solution().schedule;
    const Schedule& least = *best.solution().schedule;
    const Amount work = one.choice().work, of = best.choice().work;
    const double ii = above(schedule.initiation_interval, work, least.initiation_interval, of);
    const double length = above(schedule.length, work, least.length, of);
    const double rate =
        static_cast<double>(work) / static_cast<double>(schedule.initiation_interval);
    if (flags_.json) {
      nlohmann::ordered_json values = nlohmann::ordered_json::object();
      for (const auto& [name, value] : one.choice().values) values[name] = value;
      std::cout << nlohmann::ordered_json{{"bench", "tiles"},
                                          {"kernel", kernel},
                                          {"whose", who},
                                          {"values", values},
                                          {"status", to_string(one.status)},
                                          {"layout", one.choice().layout},
                                          {"initiation_interval", schedule.initiation_interval},
                                          {"length", schedule.length},
                                          {"work", work},
                                          {"percent_above_ii", ii},
                                          {"percent_above_length", length},
                                          {"choices", one.choices.size()},
                                          {"wall_seconds", one.seconds}}
                       .dump()
                << std::endl;
      return;
    }
    table_.row({kernel, cli::values_text(one.choice().values), who, one.choice().layout,
                std::to_string(schedule.initiation_interval), std::to_string(schedule.length),
                decimal(rate, 1), "+" + decimal(ii, 2) + " %",
                (length < 0 ? "" : "+") + decimal(length, 2) + " %",
                std::to_string(one.choices.size()), short_seconds(one.seconds)});
  }

  const TilesFlags& flags_;
  const Options& options_;
  std::stop_token stop_;
  Table table_;
};

int run(const TilesFlags& flags) {
  Options options = flags.search.options();
  options.evidence = true;  // what is measured has its proof
  cli::Interrupt interrupt;
  std::vector<std::string> kernels = flags.kernels;
  if (kernels.empty())
    for (const std::string& kernel : builtin_kernels())
      if (kernel.ends_with("-tiles") && !usual_machine(kernel).empty()) kernels.push_back(kernel);
  Rows rows(flags, options, interrupt.token());
  bool all = true;
  for (const std::string& kernel : kernels) {
    const std::string machine = usual_machine(kernel);
    if (machine.empty())
      throw InputError("command line", "KERNEL", kernel,
                       "must be a built-in kernel whose name begins with its machine's");
    std::vector<ParameterValues> given = {{}};
    for (const Published& tile : published())
      if (tile.kernel == kernel && std::find(given.begin(), given.end(), tile.given) == given.end())
        given.push_back(tile.given);
    for (const ParameterValues& values : given) {
      all = rows.kernel(kernel, machine, values) && all;
      if (interrupt.token().stop_requested()) return cli::kStopped;
    }
  }
  return all ? cli::kDone : cli::kStopped;
}

}  // namespace

cli::Command tiles_command(CLI::App& bench) {
  auto flags = std::make_shared<TilesFlags>();
  flags->search.search.time_limit = 60;
  CLI::App* app = bench.add_subcommand(
      "tiles", "The best tile of kernels with parameters, and what others give away beside it");
  app->add_option("KERNEL", flags->kernels, "Built-in kernels (default: all with parameters)");
  app->add_flag("--registers", flags->registers, "Choose the register split with the tile");
  flags->search.add_to(*app, "a row");
  app->add_flag("--json", flags->json, "A JSON object a row, a line each");
  app->footer(
      "I / work and L / work: per cent above the best tile's. Ragged ends are not counted.\n"
      "Exit codes: 0 all are proved, 3 some are not.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
