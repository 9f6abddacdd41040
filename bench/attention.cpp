// twill bench attention: every built-in attention graph on its machine with
// every layout.

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>

#include "bench/bench.hpp"
#include "bench/measured.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"

namespace twill::bench {
namespace {

// What is aimed for on one core: where an arithmetic bound meets I, and a proof
// on the rest.
constexpr double kBoundSeconds = 1, kProofSeconds = 600;
constexpr std::int64_t kBoundBytes = 500'000'000;

constexpr double kNoTime = 0.001;  // seconds; 0 would be no limit

struct AttentionFlags {
  SearchFlags search;
  std::vector<std::string> kernels, machines;
  std::string normalize = "300";
  bool json = false;
};

/// A graph on a machine.
struct Pair {
  std::string kernel, machine;
  std::vector<std::string> layouts;
};

/// Is `machine` (a name or a path) a variant of the machine that the kernel is
/// written for?
bool is_variant(const std::string& machine, const std::string& kernel) {
  const std::string usual = usual_machine(kernel);
  const std::string name = machine.substr(machine.find_last_of('/') + 1);
  return !usual.empty() && name.starts_with(usual);
}

std::vector<Pair> pairs(const AttentionFlags& flags) {
  const bool all = flags.kernels.empty();
  std::vector<Pair> result;
  for (const std::string& kernel : all ? attention_kernels() : flags.kernels) {
    if (flags.machines.empty()) result.push_back({kernel, usual_machine(kernel), {}});
    for (const std::string& machine : flags.machines) {
      if (!all || is_variant(machine, kernel)) result.push_back({kernel, machine, {}});
    }
  }
  if (result.empty()) {
    throw InputError("command line", "--machine", cli::joined(flags.machines),
                     "no built-in attention graph is written for it: name some with --kernel");
  }
  for (Pair& pair : result) pair.layouts = layouts_of(pair.kernel, pair.machine);
  return result;
}

std::int64_t number(const Measured& row, const char* key) {
  return row.contains(key) ? row[key].get<std::int64_t>() : 0;
}

std::string text_at(const Measured& row, const char* key) {
  return row.contains(key) ? std::to_string(row[key].get<std::int64_t>()) : "-";
}

std::int64_t largest_bound(const Measured& row) {
  std::int64_t value = 0;
  if (!row.contains("bounds")) return 0;
  for (const auto& bound : row["bounds"]) value = std::max(value, number(bound, "value"));
  return value;
}

/// "units 300, slot 120": the largest of each name, in the order of the row
/// (largest first).
std::string bounds_text(const Measured& row) {
  if (!row.contains("bounds")) return "-";
  std::string text;
  std::vector<std::string> seen;
  for (const auto& bound : row["bounds"]) {
    const std::string name = bound["name"].get<std::string>();
    const bool trivial = name == "trivial" && !seen.empty();
    if (trivial || std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    text += (text.empty() ? "" : ", ") + name + " " + text_at(bound, "value");
  }
  return text;
}

std::string status(const Measured& row) {
  if (row.contains("failure")) return row["failure"].get<std::string>();
  const std::string text = row["status"].get<std::string>();
  const std::string why = row["stopped_by"].get<std::string>();
  return why.empty() ? text : text + " (" + why + ")";
}

bool has_schedule(const Measured& row) {
  return row.contains("initiation_interval");
}

/// Smallest I, then smallest L, of the rows that have a schedule; -1 = none has
/// one.
int best_of(const std::vector<Measured>& rows) {
  int best = -1;
  const auto key = [&](int k) {
    const Measured& row = rows[static_cast<std::size_t>(k)];
    return std::pair(number(row, "initiation_interval"), number(row, "length"));
  };
  for (int k = 0; k < static_cast<int>(rows.size()); ++k) {
    if (!has_schedule(rows[static_cast<std::size_t>(k)])) continue;
    if (best < 0 || key(k) < key(best)) best = k;
  }
  return best;
}

/// Is nothing left that could beat `best`, or is it proved that there is no
/// schedule at all?
bool proved(const std::vector<Measured>& rows, int best) {
  return std::all_of(rows.begin(), rows.end(), [&](const Measured& row) {
    if (row.contains("failure")) return false;
    if (row["status"] == "optimal" || row["status"] == "infeasible") return true;
    if (best < 0) return false;
    const Measured& winner = rows[static_cast<std::size_t>(best)];
    if (&row == &winner) return false;
    return number(row["lower_bound"], "initiation_interval") >
           number(winner, "initiation_interval");
  });
}

Table layout_table() {
  return {std::cout,
          {{"graph", 26, false},
           {"machine", 9, false},
           {"layout", 6, false},
           {"status", 10, false},
           {"I", 4},
           {"L", 4},
           {"s", 5},
           {"CPU s", 5},
           {"MiB", 5},
           {"variables", 9},
           {"clauses", 8},
           {"conflicts", 9},
           {"arithmetic bounds on I", 22, false}}};
}

std::vector<std::string> cells(const Pair& pair, const std::string& layout, const Measured& row) {
  return {pair.kernel,
          pair.machine,
          layout,
          status(row),
          text_at(row, "initiation_interval"),
          text_at(row, "length"),
          short_seconds(row["wall_seconds"].get<double>()),
          short_seconds(row["cpu_seconds"].get<double>()),
          mebibytes(number(row, "peak_bytes")),
          text_at(row, "variables"),
          text_at(row, "clauses"),
          text_at(row, "conflicts"),
          bounds_text(row)};
}

/// A graph over all its layouts: what `rows` of single layouts show, in the time of `twill solve`.
std::vector<std::string> summary(const Pair& pair, const std::vector<Measured>& rows,
                                 const Measured& solved) {
  const int best = best_of(rows);
  const double seconds = solved["wall_seconds"].get<double>();
  const std::int64_t peak = number(solved, "peak_bytes");
  const bool done = proved(rows, best) && !solved.contains("failure") &&
                    solved["status"] == (best < 0 ? "infeasible" : "optimal");
  const Measured none = Measured::object();
  const Measured& winner = best < 0 ? none : rows[static_cast<std::size_t>(best)];
  const bool met = best >= 0 && largest_bound(winner) == number(winner, "initiation_interval");
  const bool good = met ? done && seconds < kBoundSeconds && peak < kBoundBytes
                        : done && seconds <= kProofSeconds;
  return {pair.kernel,
          pair.machine,
          best < 0 ? "-" : winner["layout"].get<std::string>(),
          text_at(winner, "initiation_interval"),
          text_at(winner, "length"),
          done ? (best < 0 ? "none exists" : "yes") : "no",
          met ? "yes" : "no",
          short_seconds(seconds),
          mebibytes(peak),
          good ? "yes" : "no"};
}

int run(const AttentionFlags& flags) {
  const Options options = flags.search.options();
  const std::vector<Pair> work = pairs(flags);
  cli::Interrupt interrupt;
  Table layouts = layout_table();
  if (!flags.json) layouts.head();
  std::vector<std::vector<std::string>> summaries;
  bool failed = false, stopped = false;
  for (const Pair& pair : work) {
    std::vector<Measured> rows;
    double spent = 0;
    for (const std::string& layout : pair.layouts) {
      if (interrupt.token().stop_requested()) break;
      // The layouts of a graph share its time; a layout that gets none is a row all the same.
      Options left = options;
      if (options.time_limit > 0) left.time_limit = std::max(options.time_limit - spent, kNoTime);
      Measured row;
      row["bench"] = "attention";
      row["kernel"] = pair.kernel;
      row["machine"] = pair.machine;
      row["normalize"] = flags.normalize;
      row["threads"] = options.threads;
      row["seed"] = options.seed;
      row.update(measure({"bench", "row", pair.kernel, "--reading", "paper", "--machine",
                          pair.machine, "--layout", layout, "--normalize", flags.normalize},
                         left, interrupt.token()));
      row["layout"] = layout;
      spent += row["wall_seconds"].get<double>();
      if (flags.json) {
        std::cout << row.dump() << std::endl;
      } else {
        layouts.row(cells(pair, layout, row));
      }
      failed = failed || (row.contains("failure") && !interrupt.token().stop_requested());
      rows.push_back(std::move(row));
    }
    Measured solved;
    solved["bench"] = "solve";
    solved["kernel"] = pair.kernel;
    solved["machine"] = pair.machine;
    solved["normalize"] = flags.normalize;
    solved["threads"] = options.threads;
    solved["seed"] = options.seed;
    solved.update(measure({"solve", pair.kernel, "--reading", "paper", "--machine", pair.machine,
                           "--normalize", flags.normalize, "--quiet", "--json"},
                          options, interrupt.token()));
    if (interrupt.token().stop_requested()) return cli::kStopped;
    const int best = best_of(rows);
    const bool settled = proved(rows, best);
    if (settled && best >= 0 && solved["status"] == "optimal") {
      const Measured& winner = rows[static_cast<std::size_t>(best)];
      for (const char* key : {"initiation_interval", "length"}) {
        if (solved[key] != winner[key])
          throw std::logic_error(std::string("twill solve and its layouts differ in ") + key);
      }
    }
    if (flags.json) std::cout << solved.dump() << std::endl;
    failed = failed || solved.contains("failure");
    stopped = stopped || !settled || solved["status"] != (best < 0 ? "infeasible" : "optimal");
    summaries.push_back(summary(pair, rows, solved));
  }
  if (!flags.json) {
    std::cout << "\n";
    Table table(std::cout, {{"graph, all layouts", 26, false},
                            {"machine", 9, false},
                            {"best", 6, false},
                            {"I", 4},
                            {"L", 4},
                            {"proved", 6, false},
                            {"I = bound", 9, false},
                            {"s", 5},
                            {"MiB", 5},
                            {"target met", 10, false}});
    table.head();
    for (const auto& row : summaries) table.row(row);
  }
  return failed ? cli::kInternal : stopped ? cli::kStopped : cli::kDone;
}

}  // namespace

cli::Command attention_command(CLI::App& bench) {
  auto flags = std::make_shared<AttentionFlags>();
  flags->search.search.time_limit = kProofSeconds;
  CLI::App* app = bench.add_subcommand("attention",
                                       "Solve every built-in attention graph "
                                       "with every layout that can hold it");
  app->add_option("--kernel", flags->kernels,
                  "Only this graph, a name or a file; may be repeated "
                  "(default: all)")
      ->allow_extra_args(false);
  app->add_option("--machine", flags->machines,
                  "On this machine, a name or a file; may be repeated (default: the one "
                  "each "
                  "graph is written for; HOPPER* gets the Hopper graphs, and so on)")
      ->allow_extra_args(false);
  app->add_option("--normalize", flags->normalize, "Sum U of the normalised costs, or none")
      ->capture_default_str();
  flags->search.add_to(*app, "a graph: its layouts together, and all of them again in one");
  app->add_flag("--json", flags->json, "A JSON object a row, a line each");
  app->footer(
      "A row is a graph on one layout: wall clock and CPU seconds and peak memory of its process,\n"
      "variables and clauses of its largest formula, conflicts of all, and the largest arithmetic\n"
      "bound of each kind. The second table has the time and memory of `twill solve`, which tries\n"
      "all layouts and asks later ones only for something better, and says whether the target is\n"
      "met on this machine: under 1 s and 500 MB where an arithmetic bound equals I, a proved\n"
      "optimum within 600 s elsewhere.\n"
      "Exit codes: 0 every graph is settled, 3 one is not, 4 a process failed.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
