#include "engine/cli/workload.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/cli/cli.hpp"
#include "engine/cli/nearest.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/meaning/unroll.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/unroll.hpp"

namespace twill::cli {
namespace {

constexpr int kLargestBudget = 1'000'000;

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

[[noreturn]] void refuse(const std::string& place, const std::string& value,
                         const std::string& rule) {
  throw InputError("command line", place, value, rule);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int budget(const WorkloadFlags& flags) {
  if (!flags.normalizes()) return 0;
  int value = 0;
  for (char c : flags.normalize) {
    if (c < '0' || c > '9' || value > kLargestBudget) {
      value = 0;
      break;
    }
    value = 10 * value + (c - '0');
  }
  if (value < 1 || value > kLargestBudget) {
    refuse("--normalize", quoted(flags.normalize),
           "must be none or a number from 1 to " + std::to_string(kLargestBudget));
  }
  return value;
}

std::vector<std::pair<std::string, std::string>> overrides(const std::vector<std::string>& set) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& item : set) {
    const std::size_t sign = item.find('=');
    if (sign == std::string::npos || sign == 0) {
      refuse("--set", quoted(item), "must be PATH=VALUE, as units.SFU=2");
    }
    result.emplace_back(item.substr(0, sign), item.substr(sign + 1));
  }
  return result;
}

std::string machine_text(const WorkloadFlags& flags) {
  if (contains(builtin_machines(), flags.machine)) return builtin_machine(flags.machine);
  if (flags.machine.empty()) {
    refuse("--machine", "nothing",
           "a kernel needs a machine: a file or one of " + joined(builtin_machines()));
  }
  if (!is_file(flags.machine)) {
    refuse("--machine", quoted(flags.machine),
           "must be a file or a built-in machine: " + joined(builtin_machines()) +
               meant(flags.machine, builtin_machines()));
  }
  return read_file(flags.machine);
}

void refuse_tiles(const WorkloadFlags& flags, const char* rule) {
  if (!flags.tiles.empty()) refuse("--tiles", quoted(flags.tiles.front()), rule);
  if (!flags.type.empty()) refuse("--type", quoted(flags.type), rule);
}

void refuse_store(const WorkloadFlags& flags) {
  if (!flags.store.empty())
    refuse("--store", quoted(flags.store.front()), "only a kernel file has results to store");
}

void add_reading(const WorkloadFlags& flags, LowerOptions& options) {
  if (!flags.reading.empty())
    options.reading = flags.reading == "paper" ? Reading::paper : Reading::machine;
  if (!flags.holds.empty()) options.holds = flags.holds == "on";
  if (!flags.rings.empty()) options.rings = flags.rings == "charged";
}

/// What a kernel or a module is lowered with, beside its own text.
struct OnMachine {
  std::string machine;  ///< the file's text
  RangeEnds ends;
};

/// Where the machine has ranges, what is needed to lower the workload at their other ends.
void note_ranges(const WorkloadFlags& flags, const std::string& text, const OnMachine& on,
                 const LowerOptions& options, Workload& work) {
  work.ranges = machine_ranges(on.machine, flags.machine, options.set);
  if (work.ranges.empty()) return;
  if (options.normalize > 0)
    refuse("--normalize", quoted(flags.normalize),
           "machine " + printable(flags.machine) + " has ranges, as " +
               printable(work.ranges.front().place) +
               ": intervals of differently normalised costs cannot be compared, must be none");
  work.input_text = text;
  work.machine_text = on.machine;
}

LowerOptions lower_options(const WorkloadFlags& flags, const RangeEnds& ends) {
  LowerOptions options;
  options.ends = ends;
  options.layout = flags.layout;
  add_reading(flags, options);
  options.choose_registers = flags.choose_registers;
  options.set = overrides(flags.set);
  options.normalize = budget(flags);
  options.normalize_relative = flags.relative;
  options.stored = flags.store;
  return options;
}

/// --tiles and --type; `parameters` are the kernel's.
ParameterValues values_of(const WorkloadFlags& flags, const KernelParameters& parameters) {
  ParameterValues values;
  const auto add = [&](const char* option, const std::string& item) {
    const std::size_t sign = item.find('=');
    if (sign == std::string::npos || sign == 0)
      refuse(option, quoted(item), "must be NAME=VALUE of a parameter of the kernel");
    values.emplace_back(item.substr(0, sign), item.substr(sign + 1));
  };
  for (const std::string& item : flags.tiles)
    if (item != "auto") add("--tiles", item);
  if (flags.type.empty()) return values;
  std::vector<std::string> types;
  for (const KernelParameter& parameter : parameters.all)
    if (!parameter.types.empty()) types.push_back(parameter.name);
  if (flags.type.find('=') != std::string::npos)
    add("--type", flags.type);
  else if (types.size() == 1)
    values.emplace_back(types.front(), flags.type);
  else
    refuse("--type", quoted(flags.type),
           types.empty() ? "the kernel has no element type to set"
                         : "must be NAME=TYPE, NAME one of " + joined(types));
  return values;
}

/// The texts of kernel and machine, `text` or a built-in one (whose name may stand for the graph of
/// the machine), and how to lower them.
TileSource source_of(const WorkloadFlags& flags, const std::string& text, const OnMachine& on) {
  flags.ttgir.refuse_for(flags.input);
  TileSource source{text, on.machine, lower_options(flags, on.ends)};
  if (text.empty())
    source.kernel = builtin_kernel(kernel_on_machine(flags.input, source.machine, flags.machine));
  return source;
}

Workload load_kernel(const WorkloadFlags& flags, const std::string& text, const OnMachine& on) {
  if (flags.chooses_tiles())
    refuse("--tiles", "\"auto\"", "only `solve` chooses tiles: must be NAME=VALUE here");
  TileSource source = source_of(flags, text, on);
  Workload work;
  note_ranges(flags, text, on, source.options, work);
  const KernelParameters parameters = kernel_parameters(source.kernel, flags.input);
  source.options.values = values_of(flags, parameters);
  for (const KernelParameter& parameter : parameters.all) {
    work.values.emplace_back(parameter.name, parameter.text(parameter.otherwise));
    for (const auto& [name, value] : source.options.values)
      if (name == parameter.name) work.values.back().second = value;
  }
  if (flags.costs != nullptr)
    *flags.costs =
        explain_costs(source.kernel, flags.input, source.machine, flags.machine, source.options);
  work.problems = lower(source.kernel, flags.input, source.machine, flags.machine, source.options);
  work.meaning =
      meaning_of_kernel(source.kernel, flags.input, source.options.values, source.options.stored);
  for (const Lowered& lowered : work.problems) {
    work.hashes.push_back(sha256(problem_text(lowered.problem)));
  }
  work.from_kernel = true;
  return work;
}

/// Sub-tilings are compared by I, so "auto" needs clocks; the names of layouts say which is which.
Workload load_ttgir(const WorkloadFlags& flags, const std::string& text, const OnMachine& on) {
  refuse_tiles(flags, "a TTGIR module has its tiles already (--subtile splits them)");
  refuse_store(flags);
  LowerOptions options = lower_options(flags, on.ends);
  if (flags.ttgir.factors().size() > 1 && options.normalize > 0) {
    refuse("--normalize", quoted(flags.normalize), "--subtile auto compares clocks: must be none");
  }
  Workload work;
  note_ranges(flags, text, on, options, work);
  const TritonLoop loop =
      load_module(flags.ttgir, text, flags.input, on.machine, flags.machine, options, flags.costs);
  work.problems = loop.problems();
  work.remarks = loop.left_out();
  for (std::size_t k = 0; k < work.problems.size(); ++k) {
    work.hashes.push_back(sha256(problem_text(work.problems[k].problem)));
    work.modules.push_back(loop.lowered(k));
  }
  work.from_kernel = true;
  return work;
}

Workload load_problem(const WorkloadFlags& flags, const std::string& text) {
  const char* const rule = "a problem file is already on a machine";
  if (!flags.machine.empty()) refuse("--machine", quoted(flags.machine), rule);
  if (!flags.layout.empty()) refuse("--layout", quoted(flags.layout), rule);
  if (!flags.set.empty()) refuse("--set", quoted(flags.set.front()), rule);
  refuse_tiles(flags, "a problem file has its tiles already");
  refuse_store(flags);
  flags.ttgir.refuse_for(flags.input);
  if (flags.choose_registers)
    refuse("--registers", "auto", "a problem file has its counts already");
  if (!flags.reading.empty())
    refuse("--reading", flags.reading, "a problem file says what it has of a machine");
  if (!flags.holds.empty()) refuse("--holds", flags.holds, "a problem file has its holds already");
  if (!flags.rings.empty())
    refuse("--rings", flags.rings, "a problem file's memories say whether they charge rings");
  Workload work;
  Lowered lowered;
  lowered.problem = parse_problem(text, flags.input);
  const int sum = budget(flags);
  if (sum > 0) {
    lowered.problem = normalize_problem(lowered.problem, sum, flags.relative, &lowered.normalized);
    work.hashes.push_back(sha256(problem_text(lowered.problem)));
  } else {
    work.hashes.push_back(sha256(text));
    work.as_read = true;
  }
  work.problems.push_back(std::move(lowered));
  return work;
}

}  // namespace

void WorkloadFlags::add_to(CLI::App& app) {
  app.add_option("KERNEL", input,
                 "Built-in kernel, kernel file, problem file or TTGIR module; - = standard input")
      ->required();
  app.add_option(
      "--machine", machine,
      "Built-in machine or machine file (default for a TTGIR module: that of its target)");
  app.add_option("--layout", layout, "Slot layout of the machine (default: every one that fits)");
  app.add_option("--normalize", normalize,
                 "Sum U of the normalised costs (the paper's Section 5.2), or none")
      ->default_str("none");
  app.add_flag("--normalize-relative", relative, "Minimise the largest relative error of a ratio");
  app.add_option(
         "--set", set,
         "What if: replace a value of the machine file. A count, as units.SFU=2, is two side\n"
         "by side, each as fast as before: an op takes as long, two are served at once. A\n"
         "rate, as rules.exp2.cycles.0.rate=32 or channels.L2.rate=128, is a faster one: an\n"
         "op takes fewer clocks, or more passes in one")
      ->allow_extra_args(false);
  app.add_option(
         "--more", more,
         "What if: one more slot like this one, as wg0 (a warpgroup), with as many registers\n"
         "and on top of the layout: whether the register file has them is not asked")
      ->allow_extra_args(false);
  app.add_option(
         "--tiles", tiles,
         "Values of the kernel's parameters, as rows=128,keys=176 (others: their default);\n"
         "for solve also auto = the ones not named with the smallest I / work, proved")
      ->delimiter(',');
  app.add_option("--type", type, "Element type of a kernel that leaves it open, as bf16 or T=bf16");
  app.add_option(
         "--store", store,
         "Results of these ops are stored to shared memory by an op of its own, OP_stored, from\n"
         "which matrix products on any slot read them: they hold no registers from then on")
      ->delimiter(',');
  app.add_option("--reading", reading,
                 "machine = channels bound I, loads are in flight, operands are held and rings\n"
                 "charged; paper = none of it (default: what the machine file says)")
      ->check(CLI::IsMember({"machine", "paper"}));
  app.add_option(
         "--holds", holds,
         "on = an MMA or a TMA store keeps its operands live until it ends; off = until it\n"
         "issues (default: on in the machine reading)")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option(
         "--rings", rings,
         "charged = a load's ring takes all its buffers all the time, as a kernel allocates\n"
         "it; live = what is in it counts while it is live (default: charged in the\n"
         "machine reading)")
      ->check(CLI::IsMember({"live", "charged"}));
  app.add_option(
         "--unroll", unroll,
         "So many iterations of the loop in one, each op once a copy: i0_OP, i1_OP and so on.\n"
         "Copies may be on different slots: I is of all of them together")
      ->check(CLI::Range(1, kMostCopies))
      ->capture_default_str();
  pins.add_to(app);
  ttgir.add_to(app);
}

std::optional<std::string> loop_listing(const WorkloadFlags& flags) {
  if (!flags.ttgir.list_loops) return std::nullopt;
  if (!is_file(flags.input)) refuse("KERNEL", quoted(flags.input), "must be a TTGIR file");
  return ttgir::loop_listing(read_file(flags.input), flags.input, flags.ttgir.module);
}

namespace {

Workload load_text(const WorkloadFlags& flags, const std::string& text, const OnMachine& on) {
  if (text.empty() && is_builtin_kernel(flags.input)) return load_kernel(flags, {}, on);
  if (flags.input.ends_with(".ttgir") || ttgir::looks_like_mlir(text))
    return load_ttgir(flags, text, on);
  return load_kernel(flags, text, on);
}

/// The machine's text, unless both were standard input.
OnMachine on_machine(const WorkloadFlags& flags, const char* what) {
  if (flags.input == "-" && flags.machine == "-")
    refuse("--machine", "\"-\"", std::string(what) + " and machine cannot both be standard input");
  return {machine_text(flags), {}};
}

/// Neither a file nor a built-in kernel. No kernel's name has what paths have.
[[noreturn]] void refuse_kernel(const std::string& input) {
  if (input.find_first_of("./") != std::string::npos)
    refuse("KERNEL", quoted(input), "must be a file that exists, or a built-in kernel");
  refuse("KERNEL", quoted(input),
         "must be a file or a built-in kernel: " + joined(builtin_kernels()) +
             meant(input, builtin_kernels()));
}

Workload load_unpinned(const WorkloadFlags& flags) {
  if (is_builtin_kernel(flags.input)) return load_text(flags, {}, on_machine(flags, "kernel"));
  if (!is_file(flags.input)) refuse_kernel(flags.input);
  const std::string text = read_file(flags.input);
  if (flags.input.ends_with(".ttgir") || ttgir::looks_like_mlir(text)) {
    if (!flags.machine.empty()) return load_text(flags, text, on_machine(flags, "module"));
    WorkloadFlags named = flags;
    ttgir::LoopOptions loop;
    loop.module = flags.ttgir.module;
    loop.loop = flags.ttgir.loop;
    named.machine = ttgir::machine_of_target(text, flags.input, loop);
    Workload work = load_text(named, text, on_machine(named, "module"));
    work.machine = named.machine;
    work.remarks.push_back("machine " + named.machine + ", by the module's target");
    return work;
  }
  // What is not JSON is left to the strict readers, whose messages say where it breaks.
  const std::string format = json_format(text);
  if (format == "twill.kernel") return load_text(flags, text, on_machine(flags, "kernel"));
  if (format.empty() || format == "twill.problem") return load_problem(flags, text);
  throw InputError(flags.input, "/format", quoted(format), "must be twill.kernel or twill.problem");
}

/// --more. Layouts that have not the slot are left out.
Workload with_more_slots(const WorkloadFlags& flags, Workload work) {
  for (const std::string& name : flags.more) {
    if (flags.choose_registers)
      refuse("--more", quoted(name),
             "does not go with --registers auto, which splits what the layout's slots have");
    std::vector<std::string> known;
    for (std::size_t k = 0; k < work.problems.size();) {
      Lowered& lowered = work.problems[k];
      for (const WarpSlot& slot : lowered.problem.warps)
        if (!contains(known, slot.name)) known.push_back(slot.name);
      const auto place = static_cast<std::ptrdiff_t>(k);
      if (!add_slot(lowered, name)) {
        work.problems.erase(work.problems.begin() + place);
        work.hashes.erase(work.hashes.begin() + place);
        if (!work.modules.empty()) work.modules.erase(work.modules.begin() + place);
        continue;
      }
      work.hashes[k] = sha256(problem_text(lowered.problem));
      ++k;
    }
    if (work.problems.empty())
      refuse("--more", quoted(name), "must be a slot of the layout: " + joined(known));
    work.as_read = false;
  }
  return work;
}

/// --unroll.
Workload with_unrolled(const WorkloadFlags& flags, Workload work) {
  if (flags.unroll == 1) return work;
  for (std::size_t k = 0; k < work.problems.size(); ++k) {
    unroll(work.problems[k], flags.unroll);
    work.hashes[k] = sha256(problem_text(work.problems[k].problem));
  }
  if (work.meaning) work.meaning = meaning::unrolled(*work.meaning, flags.unroll);
  work.unroll = flags.unroll;
  work.as_read = false;
  return work;
}

Workload pinned(const WorkloadFlags& flags, Workload unpinned) {
  Workload work = with_unrolled(flags, with_more_slots(flags, std::move(unpinned)));
  if (!flags.pins.any()) return work;
  for (std::size_t k = 0; k < work.problems.size(); ++k) {
    flags.pins.apply(work.problems[k].problem, work.problems[k].layout);
    work.hashes[k] = sha256(problem_text(work.problems[k].problem));
  }
  work.as_read = false;
  return work;
}

}  // namespace

bool WorkloadFlags::chooses_tiles() const {
  return contains(tiles, "auto");
}

TileWorkload load_tiles(const WorkloadFlags& flags) {
  std::string text;
  if (!is_builtin_kernel(flags.input)) {
    if (!is_file(flags.input)) refuse_kernel(flags.input);
    text = read_file(flags.input);
    const std::string format = json_format(text);
    if (flags.input.ends_with(".ttgir") || ttgir::looks_like_mlir(text) ||
        format == "twill.problem")
      refuse_tiles(flags, "only a kernel file has tiles to choose");
  }
  if (!flags.more.empty())
    refuse("--more", quoted(flags.more.front()), "does not go with --tiles auto");
  if (flags.unroll > 1)
    refuse("--unroll", std::to_string(flags.unroll), "does not go with --tiles auto");
  TileWorkload work;
  work.source = source_of(flags, text, on_machine(flags, "kernel"));
  work.parameters = kernel_parameters(work.source.kernel, flags.input);
  work.source.options.values = values_of(flags, work.parameters);
  work.choices = lower_tiles(work.source.kernel, flags.input, work.source.machine, flags.machine,
                             work.source.options);
  if (flags.pins.any())
    for (TileChoice& choice : work.choices)
      if (choice.lowered) flags.pins.apply(choice.lowered->problem, choice.layout);
  return work;
}

Workload load(const WorkloadFlags& flags) {
  return pinned(flags, load_unpinned(flags));
}

Workload load_at(const WorkloadFlags& flags, const Workload& work, const RangeEnds& ends) {
  WorkloadFlags named = flags;
  if (flags.machine.empty()) named.machine = work.machine;
  return pinned(named, load_text(named, work.input_text, {work.machine_text, ends}));
}

std::string normalization_text(const Lowered& lowered) {
  std::string text;
  double worst = 0;
  for (const NormalizedCost& cost : lowered.normalized) {
    text += (text.empty() ? "" : ", ") + std::to_string(cost.before) + " -> " +
            std::to_string(cost.after);
    for (const NormalizedCost& other : lowered.normalized) {
      const double before = static_cast<double>(cost.before) / static_cast<double>(other.before);
      const double after = static_cast<double>(cost.after) / static_cast<double>(other.after);
      worst = std::max(worst, std::abs(after / before - 1));
    }
  }
  return text + "; largest ratio error " + percent(worst);
}

}  // namespace twill::cli
