#include "bench/lab/loops.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "bench/lab/crowded.hpp"
#include "engine/cli/workload.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/io/json_text.hpp"
#include "graph/synthetic.hpp"

namespace twill::bench {
namespace {

/// What a built-in kernel computes, as the rows name it.
std::string family_of(const std::string& kernel) {
  const std::pair<const char*, const char*> parts[] = {{"fwd", "attention"},
                                                       {"bwd", "attention"},
                                                       {"forward", "attention"},
                                                       {"backward", "attention"},
                                                       {"gqa", "attention"},
                                                       {"mla", "attention"},
                                                       {"retnet", "linear"},
                                                       {"gla", "linear"},
                                                       {"deltanet", "linear"},
                                                       {"mlstm", "linear"},
                                                       {"layer-norm", "normalisation"},
                                                       {"gemm", "matrix"},
                                                       {"mlp", "matrix"}};
  for (const auto& [part, family] : parts)
    if (kernel.find(part) != std::string::npos) return family;
  return "example";
}

// The kernel on each layout of its machine, costs normalised to a sum of `budget`.
void add_kernel(std::vector<Loop>& loops, const std::string& kernel, const std::string& machine,
                int budget, const std::vector<std::string>& tiles = {}) {
  cli::WorkloadFlags flags;
  flags.input = kernel;
  flags.machine = machine;
  flags.normalize = budget == 0 ? "none" : std::to_string(budget);
  flags.reading = "paper";  // the published questions
  flags.tiles = tiles;
  std::string values;
  for (const std::string& value : tiles) values += "-" + value;
  for (const Lowered& lowered : cli::load(flags).problems) {
    std::string name = kernel + values + "-" + lowered.layout + "-u" + std::to_string(budget);
    std::replace(name.begin(), name.end(), '+', '_');
    std::replace(name.begin(), name.end(), '=', '_');
    std::replace(name.begin(), name.end(), ',', '-');
    loops.push_back({name, family_of(kernel), lowered.problem});
  }
}

void add_synthetic(std::vector<Loop>& loops, int ops, std::uint64_t seed, Cycle longest,
                   int pressure) {
  SyntheticLoop knobs;
  knobs.ops = ops;
  knobs.seed = seed;
  knobs.width = std::max(2, ops / 5);
  knobs.recurrences = std::max(1, ops / 12);
  knobs.longest = longest;
  knobs.pressure = pressure;
  loops.push_back({"synthetic-" + std::to_string(ops) + "-" + std::to_string(longest) + "-p" +
                       std::to_string(pressure) + "-s" + std::to_string(seed),
                   "synthetic", synthetic_loop(knobs)});
}

std::vector<Loop> quick_or_default(const std::string& grid) {
  std::vector<Loop> loops;
  if (grid == "quick") {
    add_kernel(loops, "figure-1", "figure-1", 0);
    add_kernel(loops, "hopper-fwd-plain", "hopper", 16);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      add_synthetic(loops, 8, seed, 3, 80);
      add_synthetic(loops, 12, seed, 4, 90);
    }
    return loops;
  }
  add_kernel(loops, "figure-1", "figure-1", 0);
  add_kernel(loops, "gemm", "hopper", 24);
  for (const int budget : {16, 32, 64}) {
    add_kernel(loops, "hopper-fwd-plain", "hopper", budget);
    add_kernel(loops, "hopper-fwd-sub2", "hopper", budget);
  }
  add_kernel(loops, "hopper-bwd", "hopper", 24);
  add_kernel(loops, "blackwell-fwd-sub2", "blackwell-paper", 24);
  add_kernel(loops, "blackwell-bwd", "blackwell-paper", 24);
  for (const char* kernel :
       {"hopper-gqa", "hopper-mla", "hopper-retnet", "hopper-gla", "hopper-deltanet",
        "hopper-mlstm", "hopper-mlp", "hopper-layer-norm", "hopper-grouped-gemm"})
    add_kernel(loops, kernel, "hopper", 24);
  for (const int ops : {8, 12, 16, 24, 32})
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      add_synthetic(loops, ops, seed, ops <= 16 ? 6 : 4, seed == 2 ? 95 : 80);
  return loops;
}

// Every kernel that the machine can hold, on each layout.
void add_kernels(std::vector<Loop>& loops, const std::string& prefix, const std::string& machine) {
  for (const std::string& kernel : builtin_kernels())
    if (kernel.starts_with(prefix) && !kernel.ends_with("-tiles"))
      for (const int budget : {24, 48}) add_kernel(loops, kernel, machine, budget);
}

// The module's first loop; channels are what formulas do not say.
void add_modules(std::vector<Loop>& loops, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code none;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().extension() == ".ttgir") files.push_back(entry.path().string());
  if (files.empty())
    throw InputError("command line", "--grid", quote(folder),
                     "must have the TTGIR modules of the source tree");
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    cli::WorkloadFlags flags;
    flags.input = file;
    flags.normalize = "32";
    flags.reading = "paper";
    for (const Lowered& lowered : cli::load(flags).problems) {
      std::string name = fs::path(file).stem().string() + "-" + lowered.layout + "-u32";
      std::replace(name.begin(), name.end(), '+', '_');
      loops.push_back({"ttgir-" + name, "triton", lowered.problem});
    }
  }
}

void add_hidden(std::vector<Loop>& loops, int ops, std::uint64_t seed, int filled) {
  HiddenKnobs knobs;
  knobs.ops = ops;
  knobs.seed = seed;
  knobs.longest = 4;
  knobs.filled = filled;
  HiddenLoop hidden = hidden_loop(knobs);
  loops.push_back({"hidden-" + std::to_string(ops) + "-f" + std::to_string(filled) + "-s" +
                       std::to_string(seed),
                   "hidden", std::move(hidden.problem)});
}

std::vector<Loop> domain() {
  std::vector<Loop> loops;
  add_kernels(loops, "hopper-", "hopper");
  add_kernels(loops, "blackwell-", "blackwell-paper");
  for (const int budget : {24, 48}) add_kernel(loops, "gemm", "hopper", budget);
  for (const char* keys : {"keys=64", "keys=176"})
    add_kernel(loops, "hopper-forward-tiles", "hopper", 32, {keys});
  for (const char* q : {"q=64", "q=80"})
    add_kernel(loops, "hopper-backward-tiles", "hopper", 32, {q});
  for (const char* keys : {"keys=64", "keys=128"})
    add_kernel(loops, "blackwell-forward-tiles", "blackwell-paper", 32, {keys});
  add_modules(loops, TWILL_BENCH_FOLDER "/../graph/kernels/triton");
  for (const int pressure : {0, 80, 95})  // 0: registers do not bind
    for (const int ops : {12, 24, 50, 100})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) add_synthetic(loops, ops, seed, 4, pressure);
  for (const int ops : {12, 20, 30})
    for (const int filled : {60, 95, 100})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) add_hidden(loops, ops, seed, filled);
  for (const Amount heaviest : {1, 9})  // 1: cardinalities
    for (const int ops : {20, 40, 80})
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        CrowdedLoop knobs;
        knobs.ops = ops;
        knobs.seed = seed;
        knobs.heaviest = heaviest;
        loops.push_back({"crowded-" + std::to_string(ops) + "-w" + std::to_string(heaviest) + "-s" +
                             std::to_string(seed),
                         heaviest == 1 ? "cardinality" : "weighted", crowded_loop(knobs)});
      }
  return loops;
}

}  // namespace

std::vector<Loop> grid_loops(const std::string& grid) {
  if (grid == "domain") return domain();
  if (grid == "quick" || grid == "default") return quick_or_default(grid);
  throw InputError("command line", "--grid", quote(grid), "must be quick, default or domain");
}

}  // namespace twill::bench
