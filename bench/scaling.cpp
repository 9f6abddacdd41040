// twill bench scaling: what the optimum and its proof cost as loops get longer and as cycles get
// finer, on seeded random loops, with the exponents of the power laws that fit.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/bench.hpp"
#include "bench/fit.hpp"
#include "bench/lab/plot.hpp"
#include "bench/measured.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"
#include "graph/synthetic.hpp"

namespace twill::bench {
namespace {

struct ScalingFlags {
  SearchFlags search;
  std::vector<int> ops = {25, 50, 100, 200, 400};
  std::vector<int> scales = {1, 4, 16, 64, 256, 1024, 4096};
  std::string sweep = "both", out;
  int seeds = 5, scale_ops = 25;
  Cycle longest = 1000;
  int pressure = 80;
  bool json = false, quiet = false;
};

// The loops of the scale sweep before they are scaled.
constexpr Cycle kCoarse = 6;

SyntheticLoop knobs_of(int ops, int seed, Cycle longest, int pressure) {
  SyntheticLoop knobs;
  knobs.ops = ops;
  knobs.seed = static_cast<std::uint64_t>(seed);
  knobs.width = std::max(2, ops / 5);
  knobs.recurrences = std::max(1, ops / 12);
  knobs.longest = longest;
  knobs.pressure = pressure;
  return knobs;
}

/// Every number of cycles times `factor`: the same loop on a finer clock.
Problem finer(Problem problem, Cycle factor) {
  for (Op& op : problem.ops) {
    op.cycles *= factor;
    op.spill *= factor;
    for (Reservation& r : op.reservations) {
      r.offset *= factor;
      r.length *= factor;
    }
  }
  for (Edge& e : problem.edges) {
    e.delay *= factor;
    e.hold *= factor;
    if (e.spill) *e.spill *= factor;
  }
  return problem;
}

/// A size, and what its runs cost.
struct ScalingPoint {
  int x = 0;
  std::vector<CostSample> cpu;
  std::vector<double> clauses;  ///< of all runs, solved or not
  int solved = 0, with_schedule = 0;
};

struct SweepResult {
  std::string name, x_title;
  std::vector<ScalingPoint> points;
  std::vector<GrowthPoint> runs;
};

class Scaling {
 public:
  Scaling(const ScalingFlags& flags, std::stop_token stop)
      : flags_(flags),
        options_(flags.search.options()),
        stop_(std::move(stop)),
        file_((std::filesystem::temp_directory_path() /
               ("twill-scaling-" + std::to_string(::getpid()) + ".problem.json"))
                  .string()) {}
  ~Scaling() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  Scaling(const Scaling&) = delete;
  Scaling& operator=(const Scaling&) = delete;

  int run() {
    std::vector<SweepResult> results;
    if (flags_.sweep != "scale") {
      results.push_back({"ops", "ops of the loop", {}, {}});
      for (const int n : flags_.ops) measure_size(results.back(), n);
    }
    if (flags_.sweep != "ops") {
      results.push_back({"scale", "factor on every number of cycles", {}, {}});
      for (const int k : flags_.scales) measure_size(results.back(), k);
    }
    // A run that is interrupted reports what it knows.
    bool all = !stop_.stop_requested();
    std::string page;
    for (const SweepResult& result : results) {
      const Growth growth = plot_of(result);
      if (flags_.json)
        std::cout << summary(result).dump() << std::endl;
      else
        print(result, growth.fit_text);
      page += growth_svg(growth) + html_of(result, growth.fit_text);
      for (const ScalingPoint& p : result.points)
        all = all && p.solved == static_cast<int>(p.cpu.size());
    }
    if (!flags_.out.empty()) {
      std::filesystem::create_directories(flags_.out);
      const std::filesystem::path folder(flags_.out);
      for (const SweepResult& result : results)
        write_file((folder / (result.name + ".svg")).string(), growth_svg(plot_of(result)));
      write_file((folder / "rows.jsonl").string(), rows_);
      write_file((folder / "index.html").string(), html_page(page));
    }
    return all ? cli::kDone : cli::kStopped;
  }

 private:
  void measure_size(SweepResult& result, int x) {
    ScalingPoint point;
    point.x = x;
    for (int seed = 1; seed <= flags_.seeds && !stop_.stop_requested(); ++seed) {
      const bool by_ops = result.name == "ops";
      const int ops = by_ops ? x : flags_.scale_ops;
      Problem problem =
          synthetic_loop(knobs_of(ops, seed, by_ops ? flags_.longest : kCoarse, flags_.pressure));
      if (!by_ops) problem = finer(std::move(problem), x);
      write_file(file_, problem_text(problem));
      Measured row;
      row["bench"] = "scaling";
      row["sweep"] = result.name;
      row["x"] = x;
      row["seed"] = seed;
      row["solver_seed"] = options_.seed;
      row["threads"] = options_.threads;
      row["engine"] = options_.engine;
      row["limit_s"] = options_.time_limit;
      row.update(measure({"bench", "row", file_}, options_, stop_));
      if (stop_.stop_requested()) break;
      const std::string status = row.value("status", "failed");
      const bool solved = status == "optimal" || status == "infeasible";
      // Of a process that failed, its whole time is what is known.
      const double cpu = row.value("solve_cpu_seconds", row["cpu_seconds"].get<double>());
      point.cpu.push_back({cpu, solved});
      point.clauses.push_back(row.value("clauses", 0.0));
      point.solved += solved;
      point.with_schedule += row.contains("initiation_interval");
      result.runs.push_back({static_cast<double>(x), std::max(cpu, 1e-4), solved,
                             "x = " + std::to_string(x) + ", seed " + std::to_string(seed) + ": " +
                                 status + ", " + short_seconds(cpu) + " s"});
      rows_ += row.dump() + "\n";
      if (flags_.json)
        std::cout << row.dump() << std::endl;
      else if (!flags_.quiet)
        std::cerr << result.name << " " << x << ", seed " << seed << ": " << status << ", "
                  << short_seconds(cpu) << " CPU s\n";
    }
    if (!point.cpu.empty()) result.points.push_back(std::move(point));
  }

  static std::vector<std::pair<double, double>> medians_of(const SweepResult& result) {
    std::vector<std::pair<double, double>> medians;
    for (const ScalingPoint& p : result.points)
      if (const auto median = censored_median(p.cpu))
        medians.emplace_back(p.x, std::max(*median, 1e-4));
    return medians;
  }

  static std::vector<std::pair<double, double>> clause_medians_of(const SweepResult& result) {
    std::vector<std::pair<double, double>> medians;
    for (const ScalingPoint& p : result.points) {
      std::vector<CostSample> samples;
      for (const double c : p.clauses) samples.push_back({c, true});
      const auto median = censored_median(samples);
      if (median && *median > 0) medians.emplace_back(p.x, *median);
    }
    return medians;
  }

  static Growth plot_of(const SweepResult& result) {
    Growth growth;
    growth.title = "CPU seconds to the proved optimum";
    growth.x_title = result.x_title;
    growth.y_title = "CPU seconds";
    growth.runs = result.runs;
    growth.medians = medians_of(result);
    const auto law = fit_power_law(growth.medians);
    if (law) {
      growth.factor = law->factor;
      growth.exponent = law->exponent;
    }
    growth.fit_text = law ? "median ~ x^" + decimal(law->exponent, 2) + " (+- " +
                                decimal(law->error, 2) + ", " +
                                std::to_string(growth.medians.size()) + " sizes)"
                          : "no fit: fewer than two sizes with a median";
    return growth;
  }

  Measured summary(const SweepResult& result) const {
    Measured all;
    all["bench"] = "scaling-fit";
    all["sweep"] = result.name;
    all["limit_s"] = options_.time_limit;
    all["points"] = Measured::array();
    for (const ScalingPoint& p : result.points) {
      const auto median = censored_median(p.cpu);
      Measured point = {{"x", p.x},
                        {"runs", p.cpu.size()},
                        {"solved", p.solved},
                        {"with_schedule", p.with_schedule}};
      point["median_cpu_s"] = median ? Measured(*median) : Measured();
      all["points"].push_back(std::move(point));
    }
    const auto add_fit = [&](const char* name, const std::optional<PowerLaw>& law) {
      all[name] = law ? Measured({{"exponent", law->exponent},
                                  {"standard_error", law->error},
                                  {"factor", law->factor}})
                      : Measured();
    };
    add_fit("cpu_fit", fit_power_law(medians_of(result)));
    add_fit("clauses_fit", fit_power_law(clause_medians_of(result)));
    return all;
  }

  static std::vector<std::string> cells_of(const ScalingPoint& p) {
    const auto median = censored_median(p.cpu);
    double least = 1e300, most = 0;
    for (const CostSample& s : p.cpu) {
      least = std::min(least, s.cost);
      most = std::max(most, s.cost);
    }
    const bool cut = p.solved < static_cast<int>(p.cpu.size());
    std::vector<CostSample> sizes;
    for (const double c : p.clauses) sizes.push_back({c, true});
    return {std::to_string(p.x),
            std::to_string(p.solved) + "/" + std::to_string(p.cpu.size()),
            std::to_string(p.with_schedule) + "/" + std::to_string(p.cpu.size()),
            p.cpu.empty() ? "-" : short_seconds(least),
            median ? short_seconds(*median) : "unsolved",
            p.cpu.empty() ? "-" : (cut ? "> " : "") + short_seconds(most),
            decimal(censored_median(sizes).value_or(0), 0)};
  }

  static std::vector<Column> columns_of(const std::string& name) {
    return {{name, 6},
            {"solved", 6},
            {"has schedule", 12},
            {"least CPU s", 11},
            {"median CPU s", 12},
            {"most CPU s", 10},
            {"median clauses", 14}};
  }

  std::string remark() const {
    return "Seeds 1 to " + std::to_string(flags_.seeds) + " a size, limit " +
           short_seconds(options_.time_limit) +
           " s of wall clock a run. Solved = I and L proved optimal, or proved that there is no "
           "schedule; the median counts unsolved runs as slower than all solved ones, and sizes "
           "whose median is unsolved are not fitted.";
  }

  void print(const SweepResult& result, const std::string& fit) const {
    Table table(std::cout, columns_of(result.name));
    table.head();
    for (const ScalingPoint& p : result.points) table.row(cells_of(p));
    const auto law = fit_power_law(clause_medians_of(result));
    std::cout << "\nCPU seconds: " << fit << "\n";
    if (law)
      std::cout << "clauses: median ~ x^" << decimal(law->exponent, 2) << " (+- "
                << decimal(law->error, 2) << ")\n";
    std::cout << remark() << "\n\n";
  }

  std::string html_of(const SweepResult& result, const std::string& fit) const {
    std::string html = "<table><thead><tr>";
    for (const Column& c : columns_of(result.name)) html += "<th>" + xml_text(c.title) + "</th>";
    html += "</tr></thead><tbody>\n";
    for (const ScalingPoint& p : result.points) {
      html += "<tr>";
      for (const std::string& cell : cells_of(p)) html += "<td>" + xml_text(cell) + "</td>";
      html += "</tr>\n";
    }
    return html + "</tbody></table>\n<p>" + xml_text("CPU seconds: " + fit + ". " + remark()) +
           "</p>\n";
  }

  static std::string html_page(const std::string& body) {
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Twill: cost "
           "against size</title>\n<style>body{font:14px sans-serif;margin:2em;max-width:1000px}"
           "table{border-collapse:collapse}td,th{padding:2px 8px;text-align:right;border-bottom:"
           "1px solid #ddd}svg{max-width:100%;height:auto}</style></head><body>\n<h1>Cost against "
           "size</h1>\n" +
           body + "</body></html>\n";
  }

  const ScalingFlags& flags_;
  Options options_;
  std::stop_token stop_;
  std::string file_, rows_;
};

}  // namespace

cli::Command scaling_command(CLI::App& bench) {
  auto flags = std::make_shared<ScalingFlags>();
  flags->search.search.time_limit = 60;
  flags->search.memory = "2G";
  CLI::App* app = bench.add_subcommand(
      "scaling", "Cost against the number of ops and the scale of cycles, with fitted exponents");
  app->add_option("--sweep", flags->sweep, "ops, scale or both")
      ->check(CLI::IsMember({"ops", "scale", "both"}))
      ->capture_default_str();
  app->add_option("--ops", flags->ops, "Sizes of the first sweep, as 25,50")
      ->delimiter(',')
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  app->add_option("--scale", flags->scales, "Factors of the second sweep, as 1,16,256")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--scale-ops", flags->scale_ops, "Ops of the loops of the second sweep")
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  app->add_option("--longest", flags->longest,
                  "Cycles of an op in the first sweep, 1 to this (the second: 1 to 6, scaled)")
      ->check(CLI::Range(Cycle{1}, Cycle{1'000'000}))
      ->capture_default_str();
  app->add_option("--pressure", flags->pressure,
                  "Per cent of the registers that the smallest lifetimes fill (0 = no limit)")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app->add_option("--seeds", flags->seeds, "Random loops a size")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  flags->search.add_to(*app, "a loop");
  app->add_option("-o,--out", flags->out,
                  "Folder for index.html (self-contained), SVG plots and rows.jsonl");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "A JSON object a run, then one a sweep, a line each");
  app->footer(
      "Seeded random loops (layers of ops on the units of a GPU, recurrences, register files that\n"
      "bind) are solved to the proved optimum of I and L, or the proof that there is no schedule,\n"
      "each in a process of its own. Costs are CPU seconds of the solve, without the process's\n"
      "start and reading. A run that a limit ends is counted as unsolved, never left out: medians\n"
      "take it as slower than all solved ones, and sizes whose median is unsolved are in the "
      "table\n"
      "and the plot but not in the fit.\n"
      "Exit codes: 0 all are solved, 3 some are not.");
  return {app, [flags] {
            cli::Interrupt interrupt;
            return Scaling(*flags, interrupt.token()).run();
          }};
}

}  // namespace twill::bench
