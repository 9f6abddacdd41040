// twill run: a program executed with numbers, beside a double-precision reference of its loop; with
// --time replayed in time.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "engine/cli/cli.hpp"
#include "engine/cli/make_program.hpp"
#include "engine/cli/run_time.hpp"
#include "engine/output/style.hpp"
#include "graph/index.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/program/execute.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/links.hpp"
#include "graph/program/program_io.hpp"
#include "graph/program/replay.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"

namespace twill::cli {
namespace {

constexpr int kMostRunIterations = 1'000;
constexpr int kMostRandomOrders = 1'000;
constexpr int kMostLater = 4;                 // iterations by which a witness is moved
constexpr std::uint64_t kMostPassedOver = 4;  // inputs
constexpr double kMostNumbers = 5e7;          // in the tiles of all tensors, 400 MB

struct RunFlags {
  MakeFlags make;
  int iterations = 8;
  int orders = 3;
  bool json = false;
  TimeFlags time;
  /// So many seeds were tried before: with their inputs some result is not known.
  std::uint64_t passed_over = 0;

  /// Of the inputs and of the orders; without those that are passed over that of the solver, too.
  std::uint64_t seed() const { return make.search.options().seed + passed_over; }
};

struct OrderRun {
  std::string order;
  program::Execution execution;
  std::vector<meaning::Comparison> compared;  ///< empty where the execution has a fault
  bool right() const { return execution.fault.empty() && meaning::all_right(compared); }
};

/// What the judge says of this trip count, and of every one where that is nothing. That it cannot
/// judge is no fault.
std::optional<program::Fault> judged(const RunFlags& flags, const program::Program& program) {
  auto fault = program::judge(program, flags.iterations);
  if (!fault) fault = program::judge(program);
  return fault && fault->rule == "window" ? std::nullopt : fault;
}

/// As late and as eagerly as can be, then at random, then as the judge's witness says, until one of
/// these is wrong.
std::vector<OrderRun> run_orders(const RunFlags& flags, const program::Program& program,
                                 const std::optional<program::Fault>& fault,
                                 const std::optional<ttgir::ModuleRun>& module, bool of_module) {
  const std::uint64_t seed = flags.seed();
  const meaning::Meaning& meaning = *program.meaning;
  const auto inputs =
      module ? module->inputs : meaning::seeded_inputs(meaning, flags.iterations, seed);
  auto right = meaning::reference(meaning, flags.iterations, inputs);
  if (module) ttgir::take_numbers(right, *module);
  std::vector<OrderRun> all;
  const auto add = [&](const std::string& name, const program::Course& course) {
    OrderRun one{name, program::execute(program, flags.iterations, inputs, course), {}};
    if (one.execution.fault.empty())
      one.compared = meaning::compare_with(meaning, right, one.execution.outputs, of_module);
    all.push_back(std::move(one));
  };
  add("late", {program::Pace::late, seed, {}});
  add("eager", {program::Pace::eager, seed, {}});
  for (int k = 0; k < flags.orders; ++k)
    add("random " + std::to_string(k),
        {program::Pace::random, seed + static_cast<std::uint64_t>(k), {}});
  if (!fault) return all;
  for (int later = 0; later < kMostLater && later < flags.iterations; ++later)
    for (const program::Course& course : program::replay(program, *fault, later)) {
      const program::Hold& hold = *course.hold;
      const auto name = [&](int op, int iteration) {
        return program.ops[at(op)].id + "[" + std::to_string(iteration) + "]";
      };
      add("with " + name(hold.op, hold.iteration) + " kept back until " +
              name(hold.until_op, hold.until_iteration) + " has ended",
          course);
      if (!all.back().right()) return all;
      all.pop_back();
    }
  return all;
}

std::string shown_number(double x) {
  std::ostringstream text;
  text.precision(3);
  text << x;
  return text.str();
}

bool is_number(const ttgir::ModuleRun& run) {
  for (const auto& tensor : run.outputs)
    for (const meaning::Numbers& tile : tensor)
      for (const double x : tile.data)
        if (std::isnan(x)) return false;
  return true;
}

/// A module's own numbers, for a launch in which its loop runs so often. nullopt = the loop's
/// meaning is the reference, and why is said.
std::optional<ttgir::ModuleRun> module_numbers(const RunFlags& flags, const MadeProgram& made,
                                               program::Program& program) {
  if (!made.module_meaning || !program.meaning) return std::nullopt;
  const auto say = [&](const std::string& why) {
    if (!flags.make.quiet && flags.passed_over == 0)
      std::cerr << "the module itself is not executed, its loop's meaning is the reference: "
                << printable(why) << "\n";
    return std::nullopt;
  };
  const meaning::UserKernel& kernel = made.module_meaning->kernel;
  const auto plain = ttgir::launch_of(kernel, flags.iterations);
  if (!plain)
    return say("no arguments are known with which the loop runs " +
               std::to_string(flags.iterations) + " times");
  const auto at_launch = [&](const meaning::Launch& launch) {
    ttgir::set_numbers(*program.meaning, kernel, launch);
    return ttgir::run_module(*made.module, *made.module_meaning, launch, flags.iterations,
                             flags.seed());
  };
  // With ragged ends, unless the module itself has no number then (a softmax of nothing).
  const auto ragged = ttgir::ragged_launch_of(*made.module_meaning, flags.iterations);
  auto run = at_launch(ragged.value_or(*plain));
  if (const auto* numbers = std::get_if<ttgir::ModuleRun>(&run); numbers && !is_number(*numbers))
    run = at_launch(*plain);
  if (const auto* no = std::get_if<ttgir::NotInterpreted>(&run)) return say(no->why);
  return std::move(std::get<ttgir::ModuleRun>(run));
}

/// Is a fault or a wrong number shown?
bool shows_wrong(const std::vector<OrderRun>& all) {
  return std::any_of(all.begin(), all.end(), [](const OrderRun& one) {
    return !one.execution.fault.empty() ||
           std::any_of(one.compared.begin(), one.compared.end(),
                       [](const auto& c) { return c.wrong > c.unbounded; });
  });
}

bool is_right(const std::vector<OrderRun>& all) {
  return std::all_of(all.begin(), all.end(), [](const OrderRun& one) { return one.right(); });
}

void print_text(const RunFlags& flags, const program::Program& program,
                const std::optional<program::Fault>& fault, const std::vector<OrderRun>& all,
                bool right, bool module) {
  std::cout << "run of " << printable(program.problem) << ": n = " << flags.iterations
            << ", I = " << program.initiation_interval << ", inputs of seed " << flags.seed();
  if (flags.passed_over > 0)
    std::cout << " (with those of " << flags.seed() - flags.passed_over
              << (flags.passed_over > 1 ? " to " + std::to_string(flags.seed() - 1) : "")
              << " something is not known)";
  std::cout << "\nbeside the " << (module ? "module, executed op by op" : "loop")
            << " in double precision: largest error, and the bound for it by the "
               "types of all steps\n";
  for (const OrderRun& one : all) {
    std::cout << "  " << printable(one.order) << ": ";
    if (!one.execution.fault.empty())
      std::cout << one.execution.fault << ": " << printable(one.execution.text) << "\n";
    bool first = true;
    for (const meaning::Comparison& c : one.compared) {
      std::cout << (first ? "" : "; ") << printable(c.tensor) << " "
                << shown_number(c.largest_error) << " <= " << shown_number(c.bound);
      if (c.wrong > c.unbounded)
        std::cout << ": " << c.wrong - c.unbounded << " of " << c.compared << " numbers are wrong";
      if (c.unbounded > 0)
        std::cout << ": of " << c.unbounded << " of " << c.compared
                  << " nothing is known: an error decides, or a number may leave its type";
      if (c.no_number > 0)
        std::cout << ", " << c.no_number << " of " << c.compared << " are no numbers in the "
                  << (module ? "module" : "loop") << " either";
      first = false;
    }
    if (one.execution.fault.empty()) std::cout << "\n";
  }
  if (fault)
    std::cout << "the judge refuses it: " << printable(fault->rule) << ": "
              << printable(fault->text) << "\n";
  const bool known = fault || shows_wrong(all);
  std::cout << (right ? "right\n" : known ? "wrong\n" : "not known\n");
}

void print_json(const RunFlags& flags, const program::Program& program,
                const std::optional<program::Fault>& fault, const std::vector<OrderRun>& all,
                bool right) {
  nlohmann::ordered_json answer = {{"format", "twill.run"},
                                   {"version", 1},
                                   {"problem", program.problem},
                                   {"iterations", flags.iterations},
                                   {"seed", flags.seed()},
                                   {"right", right},
                                   {"runs", nlohmann::ordered_json::array()}};
  if (flags.passed_over > 0) answer["seeds_passed_over"] = flags.passed_over;
  if (fault)
    answer["refused"] = {{"rule", fault->rule}, {"text", fault->text}, {"witness", fault->witness}};
  for (const OrderRun& one : all) {
    nlohmann::ordered_json run = {{"order", one.order}, {"right", one.right()}};
    if (!one.execution.fault.empty()) {
      run["fault"] = one.execution.fault;
      run["text"] = one.execution.text;
    }
    run["outputs"] = nlohmann::ordered_json::array();
    for (const meaning::Comparison& c : one.compared) {
      run["outputs"].push_back({{"tensor", c.tensor},
                                {"largest_error", c.largest_error},
                                {"bound", c.bound},
                                {"numbers", c.compared},
                                {"wrong", c.wrong}});
      if (c.no_number > 0) run["outputs"].back()["no_number"] = c.no_number;
      if (c.unbounded > 0) run["outputs"].back()["unbounded"] = c.unbounded;
    }
    answer["runs"].push_back(std::move(run));
  }
  std::cout << answer.dump(2) << "\n";
}

/// Where nobody has chosen a loop of the module, and its default is one around others: what such a
/// one computes is not read. Then a loop inside is run whose meaning is known.
MakeFlags with_known_loop(MakeFlags make) {
  if (!make.schedule.empty() || !is_file(make.work.input)) return make;
  const auto known = [](const ttgir::LoweredModule& module) {
    return std::holds_alternative<ttgir::ModuleMeaning>(ttgir::meaning_of_loop(module));
  };
  try {
    if (const auto loop = other_loop(make.work, load_source(make.work), known)) {
      make.work.ttgir.loop = loop;
      if (!make.quiet)
        std::cerr << "loop " << *loop << " of the module is run (--loop): what its default loop "
                  << "computes is not known\n";
    }
  } catch (const InputError&) {  // said where its program is made
  }
  return make;
}

int run_numbers(RunFlags flags) {
  program::Program program;
  std::optional<MadeProgram> kernel;
  bool of_module = false;  // which may have no number where somebody's kernel divides by 0
  const WorkloadFlags& work = flags.make.work;
  if (flags.time.on) return run_time(flags.make, flags.time, flags.json);
  // Standard input is read once: from there comes a program.
  const std::string bytes = is_file(work.input) ? read_file(work.input) : "";
  if (work.input == "-" || json_format(bytes) == "twill.program") {
    if (!work.machine.empty() || !flags.make.schedule.empty())
      throw InputError("command line", work.machine.empty() ? "SCHEDULE" : "--machine",
                       quote(work.machine.empty() ? flags.make.schedule : work.machine),
                       "a program file has all that is needed");
    program = program::parse_program(bytes, work.input);
  } else {
    auto made = make_program(with_known_loop(flags.make));
    if (const int* code = std::get_if<int>(&made)) return *code;
    kernel = std::get<MadeProgram>(std::move(made));
    program = std::move(kernel->program);
    of_module = kernel->module_meaning != nullptr;
  }
  program::Links links;
  if (const auto no = program::link(program, links))
    throw InputError(work.input, "", "", "the program cannot be executed: " + *no);
  double numbers = 0;
  for (int t = 0; t < static_cast<int>(program.meaning->tensors.size()); ++t)
    numbers += static_cast<double>(meaning::elements(program.meaning->tensors[at(t)].shape)) *
               (program.meaning->streams(t) ? flags.iterations : 1);
  if (numbers > kMostNumbers)
    throw InputError("command line", "--iterations", std::to_string(flags.iterations),
                     "its tensors have more than 50000000 numbers in so many iterations");
  const auto fault = judged(flags, program);
  std::optional<ttgir::ModuleRun> module;
  std::vector<OrderRun> all;
  for (;; ++flags.passed_over) {
    if (kernel) module = module_numbers(flags, *kernel, program);
    all = run_orders(flags, program, fault, module, of_module);
    if (fault || is_right(all) || shows_wrong(all) || flags.passed_over == kMostPassedOver) break;
  }
  const bool right = !fault && is_right(all);
  if (flags.json)
    print_json(flags, program, fault, all, right);
  else
    print_text(flags, program, fault, all, right, module.has_value());
  return right ? kDone : kNo;
}

}  // namespace

Command run_command(CLI::App& program) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* app = program.add_subcommand(
      "run",
      "Execute a program (or the one of a kernel) with numbers, beside a reference; or in time");
  flags->make.add_to(*app);
  CLI::Option* iterations =
      app->add_option("--iterations", flags->iterations, "Trip count n; 8, with --time 100")
          ->check(CLI::Range(0, kMostRunIterations));
  app->add_option("--orders", flags->orders,
                  "Random orders, beside one as late and one as eager as can be")
      ->check(CLI::Range(0, kMostRandomOrders))
      ->capture_default_str();
  app->add_flag("--json", flags->json, "Print what was found as JSON");
  flags->time.add_to(*app);
  return {app, [flags, iterations] {
            if (iterations->count() > 0) flags->time.iterations = flags->iterations;
            return run_numbers(*flags);
          }};
}

}  // namespace twill::cli
