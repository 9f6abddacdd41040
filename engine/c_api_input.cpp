// What the C interface is given to solve.
#include "engine/c_api_input.hpp"

#include <charconv>

#include "graph/check.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/parser.hpp"

namespace twill::c_api {
namespace {

/// "path=value", a line each.
std::vector<std::pair<std::string, std::string>> what_ifs(const char* text) {
  std::vector<std::pair<std::string, std::string>> set;
  std::istringstream lines(text == nullptr ? "" : text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t sign = line.find('=');
    if (sign == line.npos || sign == 0)
      refuse("workload.set", line.c_str(), "must be lines of the form path=value");
    set.emplace_back(line.substr(0, sign), line.substr(sign + 1));
  }
  return set;
}

/// Which of two words it is; nullopt = none was given.
std::optional<bool> one_of(const char* place, const char* given, const char* yes, const char* no) {
  if (given == nullptr) return std::nullopt;
  const std::string_view word = given;
  if (word != yes && word != no)
    refuse(place, given, (std::string("must be ") + yes + " or " + no).c_str());
  return word == yes;
}

void set_options(const twill_workload& workload, LowerOptions& options) {
  if (workload.normalize < 0)
    refuse("workload.normalize", "a negative number", "must be 0 or a budget");
  if (workload.layout != nullptr) options.layout = workload.layout;
  options.normalize = workload.normalize;
  options.normalize_relative = workload.normalize_relative != 0;
  options.holds = one_of("workload.holds", workload.holds, "on", "off");
  options.rings = one_of("workload.rings", workload.rings, "charged", "live");
  options.choose_registers = workload.choose_registers != 0;
  options.set = what_ifs(workload.set);
  options.values = values_of(workload.tiles);
  std::istringstream stored(workload.store == nullptr ? "" : workload.store);
  for (std::string name; std::getline(stored, name, ',');) options.stored.push_back(name);
}

int slot_named(const Problem& problem, std::string_view name) {
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    if (problem.warps[w].name == name) return static_cast<int>(w);
  refuse("value", std::string(name).c_str(), "must be a slot of the problem");
}

Cycle number_of(std::string_view text) {
  Cycle value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    refuse("value", std::string(text).c_str(), "must be a number from 0");
  return value;
}

}  // namespace

twill_workload known_part(const twill_workload* given) {
  twill_workload workload;
  twill_workload_init(&workload);
  if (given == nullptr) refuse("workload", "NULL", "must be given");
  if (given->size < sizeof(given->size))
    refuse("workload.size", "too small", "must be set by twill_workload_init");
  std::memcpy(&workload, given, std::min(given->size, sizeof(workload)));
  workload.size = sizeof(workload);
  if (workload.input == nullptr) refuse("workload.input", "NULL", "must be given");
  return workload;
}

bool is_module(const twill_workload& workload) {
  return ttgir::looks_like_mlir(workload.input);
}

TritonLoop module_of(const twill_workload& workload, bool nest, const RangeEnds& ends,
                     bool sequence, bool computes) {
  LowerOptions lower;
  lower.ends = ends;
  lower.reading = reading_of(workload.reading);
  set_options(workload, lower);
  if (!lower.values.empty())
    refuse("workload.tiles", workload.tiles, "a TTGIR module has its tiles already");
  if (!lower.stored.empty())
    refuse("workload.store", workload.store, "only a kernel file has results to store");
  TritonOptions options;
  if (workload.module >= 0) options.module = workload.module;
  if (workload.loop >= 0) options.loop = workload.loop;
  options.subtile = workload.subtile;
  options.chunk_columns = workload.chunk_columns;
  options.trips = workload.trips;
  options.resident_registers = workload.resident_registers;
  options.nest = nest;
  options.sequence = sequence;
  options.undo_rings = computes;
  if (workload.profile != nullptr) options.profile = workload.profile;
  return read_triton(workload.input, "module", workload.machine == nullptr ? "" : workload.machine,
                     options, lower);
}

Inputs kernel_of(const twill_workload& workload, const RangeEnds& ends) {
  if (workload.profile != nullptr)
    refuse("workload.profile", "given", "only a TTGIR module has one");
  Inputs inputs = inputs_of(workload.input, workload.machine, workload.reading);
  set_options(workload, inputs.source.options);
  inputs.source.options.ends = ends;
  return inputs;
}

std::vector<CostRange> ranges_of(const twill_workload& workload) {
  std::string machine = workload.machine == nullptr ? "" : workload.machine;
  if (machine.empty() && is_module(workload)) {
    ttgir::LoopOptions loop;
    if (workload.module >= 0) loop.module = workload.module;
    if (workload.loop >= 0) loop.loop = workload.loop;
    machine = ttgir::machine_of_target(workload.input, "module", loop);
  }
  const bool text = is_text(machine.c_str());
  return machine_ranges(text ? machine : builtin_machine(machine), text ? "machine" : machine,
                        what_ifs(workload.set));
}

int op_named(const Problem& problem, std::string_view name, const char* place) {
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (problem.ops[v].id == name) return static_cast<int>(v);
  refuse(place, std::string(name).c_str(), "must be an op of the problem");
}

void pin(Problem& problem, std::string_view kind, const char* op, std::string_view value) {
  if (kind == "least_ii" || kind == "most_ii") {
    (kind == "least_ii" ? problem.interval.least : problem.interval.most) = number_of(value);
    return;
  }
  if (op == nullptr) refuse("op", "NULL", "must be given");
  Pin one;
  one.op = op_named(problem, op, "op");
  if (kind == "slot" || kind == "not_slot") {
    one.kind = kind == "slot" ? Pin::on_slot : Pin::not_on_slot;
    one.slot = slot_named(problem, value);
  } else if (kind == "cycle") {
    one.kind = Pin::at_cycle;
    one.cycle = number_of(value);
  } else if (kind == "stage") {
    one.kind = Pin::at_stage;
    one.stage = number_of(value);
  } else if (kind == "same_slot" || kind == "other_slot") {
    one.kind = kind == "same_slot" ? Pin::same_slot : Pin::other_slot;
    one.other = op_named(problem, value, "value");
  } else {
    refuse("kind", std::string(kind).c_str(),
           "must be slot, not_slot, cycle, stage, same_slot, other_slot, least_ii or most_ii");
  }
  problem.pins.push_back(one);
}

void pin_all(const char* text, Problem& problem) {
  std::istringstream lines(text == nullptr ? "" : text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(' '), last = line.rfind(' ');
    if (first == line.npos)
      refuse("workload.pins", line.c_str(), "must be lines of the form \"kind op value\"");
    const std::string kind = line.substr(0, first), value = line.substr(last + 1);
    const std::string op = first == last ? "" : line.substr(first + 1, last - first - 1);
    pin(problem, kind, first == last ? nullptr : op.c_str(), value);
  }
  check(problem, "problem");
}

std::vector<Lowered> layouts_of(const twill_workload& workload, const RangeEnds& ends) {
  std::vector<Lowered> layouts;
  if (is_module(workload)) {
    const TritonLoop loop = module_of(workload, false, ends);
    layouts = workload.for_triton != 0 ? loop.problems_for_triton() : loop.problems();
  } else {
    const Inputs in = kernel_of(workload, ends);
    layouts = lower(in.source.kernel, in.kernel, in.source.machine, in.machine, in.source.options);
  }
  change(workload, layouts, [](std::size_t) {});
  return layouts;
}

}  // namespace twill::c_api
