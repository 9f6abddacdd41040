#include "engine/cli/ttgir.hpp"

#include <functional>

#include "engine/cli/cli.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/ttgir/emit.hpp"
#include "graph/ttgir/profile.hpp"

namespace twill::cli {

void TtgirFlags::add_to(CLI::App& app) {
  options_ = {
      app.add_option("--loop", loop, "TTGIR: the loop to take (default: see --list-loops)"),
      app.add_option("--module", module,
                     "TTGIR: the module to take of a file with several, from 0 (see --list-loops)"),
      app.add_option("--subtile", subtile,
                     "TTGIR: split the tile program along M: M=2, M=4, or auto = the best of "
                     "1, 2, 4")
          ->capture_default_str(),
      app.add_option("--resident-registers", resident_registers,
                     "TTGIR: registers a thread keeps for addresses and the like")
          ->capture_default_str()
          ->check(CLI::Range(0, 255)),
      app.add_option("--chunk", chunk_columns,
                     "TTGIR: columns at a time when an accumulator is rescaled; 0 = whole tiles")
          ->capture_default_str()
          ->check(CLI::Range(0, 16384)),
      app.add_option("--trips", trips, "TTGIR: iterations of an inner loop of unknown count")
          ->capture_default_str()
          ->check(CLI::Range(1, 1'000'000)),
      app.add_option(
             "--left-factors", left_factors,
             "TTGIR, Hopper: left factors that a loop converts to registers: as the module\n"
             "has it, or stored to shared memory, where the product reads them (default:\n"
             "registers; emit: what has the smaller I)")
          ->check(CLI::IsMember({"registers", "memory"})),
      app.add_option("--profile", profile,
                     "TTGIR: file of measured cycles that replace the rules'")};
  app.add_flag("--list-loops", list_loops, "TTGIR: list the module's loops and stop");
}

void TtgirFlags::refuse_for(const std::string& input) const {
  for (const CLI::Option* option : options_)
    if (option->count() > 0)
      throw InputError("command line", option->get_name(), quote(input),
                       "is no TTGIR module, for which this option is");
}

std::vector<int> TtgirFlags::factors() const {
  if (subtile == "auto") return {1, 2, 4};
  std::string number = subtile;
  if (number.starts_with("M=")) number = number.substr(2);
  for (const int factor : {1, 2, 4, 8})
    if (number == std::to_string(factor)) return {factor};
  throw InputError("command line", "--subtile", quote(subtile),
                   "must be M=1, M=2, M=4, M=8 or auto");
}

namespace {

using LowerAs = std::function<std::shared_ptr<const ttgir::LoweredModule>(
    const ttgir::LoopOptions&, const LowerOptions&, std::string* table)>;

/// Where no layout holds the loop, the refusal says with which other options one does.
[[noreturn]] void throw_with_what_fits(const InputError& error, const LowerAs& lower_as,
                                       const ttgir::LoopOptions& loop,
                                       const LowerOptions& options) {
  if (error.place() != "/layouts") throw error;
  LowerOptions registers = options;
  registers.choose_registers = true;
  const auto fits = [&](int subtile, bool stored, const LowerOptions& as) {
    ttgir::LoopOptions other = loop;
    other.subtile = subtile;
    other.stored_factors = stored;
    try {
      lower_as(other, as, nullptr);
      return true;
    } catch (const InputError&) {
      return false;
    }
  };
  std::string what;
  const auto say = [&](const std::string& with) { what += (what.empty() ? "" : ", ") + with; };
  const bool stored = loop.stored_factors;
  if (!options.choose_registers && fits(1, stored, registers)) say("--registers auto");
  if (!stored && fits(1, true, options)) say("--left-factors memory");
  for (const int factor : {2, 4})
    if (fits(factor, stored, options)) say("--subtile M=" + std::to_string(factor));
  throw InputError(error.file(), error.place(), error.value(),
                   error.rule() + (what.empty() ? "; nor with --registers auto or --subtile"
                                                : "; one can with: " + what));
}

}  // namespace

TritonLoop load_module(const TtgirFlags& flags, const std::string& text, const std::string& source,
                       const std::string& machine_text, const std::string& machine_source,
                       const LowerOptions& options, std::string* costs) {
  ttgir::LoopOptions loop;
  loop.module = flags.module;
  loop.loop = flags.loop;
  loop.resident_registers = flags.resident_registers;
  loop.chunk_columns = flags.chunk_columns;
  loop.trips = flags.trips;
  loop.nest = flags.nest;
  loop.sequence = flags.sequence;
  loop.undo_rings = flags.undo_rings;
  loop.stored_factors = flags.left_factors == "memory";
  if (!flags.profile.empty())
    loop.profile = ttgir::parse_profile(read_file(flags.profile), flags.profile);
  const std::vector<int> factors = flags.factors();
  std::vector<std::shared_ptr<const ttgir::LoweredModule>> modules;
  std::vector<std::string> left_out;
  std::optional<InputError> refusal;
  const auto lower_as = [&](const ttgir::LoopOptions& one, const LowerOptions& as,
                            std::string* table) {
    return std::make_shared<const ttgir::LoweredModule>(
        ttgir::lower_module(text, source, machine_text, machine_source, one, as, table));
  };
  std::string known;  // of the first sub-tiling that a layout holds, else of the first
  for (const int factor : factors) {
    std::string table;
    loop.subtile = factor;
    try {
      modules.push_back(lower_as(loop, options, costs != nullptr ? &table : nullptr));
      if (modules.size() == 1) known = table;
    } catch (const InputError& error) {
      if (known.empty()) known = table;
      if (costs != nullptr) *costs = known;
      if (factors.size() == 1) throw_with_what_fits(error, lower_as, loop, options);
      left_out.push_back("M=" + std::to_string(factor) + " is left out: " + error.what());
      if (!refusal) refusal = error;
    }
  }
  if (costs != nullptr) *costs = known;
  if (modules.empty()) throw *refusal;
  return TritonLoop(std::move(modules), std::move(left_out));
}

std::string warnings_text(const ttgir::LoweredModule& lowered) {
  std::string text;
  for (const std::string& warning : lowered.loop.warnings)
    text += "twill: warning: " + warning + "\n";
  return text;
}

void EmitFlags::add_to(CLI::App& app) {
  app.add_option("--emit", kind,
                 "TTGIR: write the module with the schedule as attributes (ttgir) or the "
                 "software-pipelined loop (pipelined); -o then names this file")
      ->check(CLI::IsMember({"ttgir", "pipelined"}));
  app.add_option("--schedule", schedule,
                 "With --emit: write the schedule here and its problem beside it");
}

void EmitFlags::check(const TtgirFlags& flags, const ttgir::LoweredModule* lowered) const {
  if (kind.empty()) {
    if (!schedule.empty())
      throw InputError("command line", "--schedule", quote(schedule),
                       "is for --emit; elsewhere -o names the schedule");
    return;
  }
  if (lowered == nullptr)
    throw InputError("command line", "--emit", kind,
                     "needs a TTGIR module as input, which is not unrolled");
  if (kind == "ttgir" && lowered->undone)
    throw InputError("command line", "--emit", kind,
                     "annotates the module's own ops, and these have been pipelined or partitioned "
                     "already: emit them as pipelined, or give the module from before");
  if (kind == "ttgir" && flags.factors() != std::vector<int>{1})
    throw InputError("command line", "--emit", kind,
                     "annotates the module's own ops, and sub-tiles have others: emit them as "
                     "pipelined, or sub-tile in the kernel's source and leave --subtile out");
}

std::string emit_pins_text(const Problem& problem) {
  std::string text;
  for (const Pin& pin : problem.pins)
    text += (text.empty() ? "for Triton's passes: " : ", ") + pin_text(problem, pin);
  return text + " (solve without --emit says what that costs)";
}

std::string emitted(const EmitFlags& flags, const ttgir::LoweredModule& lowered,
                    const Problem& problem, const Solution& solution,
                    std::vector<std::string>& remarks) {
  if (flags.kind == "pipelined") return ttgir::emit_pipelined(lowered, problem, solution);
  return ttgir::emit_ttgir(lowered, problem, *solution.schedule, &remarks);
}

}  // namespace twill::cli
