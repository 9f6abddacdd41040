// Triton's loops for callers of the library: graph/ttgir behind one class.
#include <utility>

#include "engine/include/twill_triton.hpp"
#include "graph/ttgir/emit.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/profile.hpp"

namespace twill {
namespace {

bool is_json(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

void require(bool holds, const char* name, std::int64_t value, const char* rule) {
  if (!holds) throw InputError("options", name, std::to_string(value), rule);
}

}  // namespace

TritonLoop::TritonLoop(std::shared_ptr<const ttgir::LoweredModule> lowered)
    : lowered_(std::move(lowered)) {}

const std::vector<Lowered>& TritonLoop::problems() const {
  return lowered_->problems;
}

std::vector<Lowered> TritonLoop::problems_for_triton() const {
  std::vector<Lowered> problems = lowered_->problems;
  for (Lowered& one : problems) one.problem.pins = ttgir::partition_pins(*lowered_, one.problem);
  return problems;
}

const std::vector<std::string>& TritonLoop::warnings() const {
  return lowered_->loop.warnings;
}

std::shared_ptr<const ttgir::LoweredModule> TritonLoop::lowered() const {
  return lowered_;
}

std::string TritonLoop::costs() const {
  return ttgir::explain(*lowered_);
}

std::vector<int> TritonLoop::inner_ops(std::size_t k) const {
  return ttgir::inner_ops(lowered_->loop, lowered_->problems.at(k).problem);
}

std::int64_t TritonLoop::inner_trips() const {
  return lowered_->loop.inner_trips;
}

std::string TritonLoop::annotated(const Problem& problem, const Schedule& schedule,
                                  std::vector<std::string>* remarks) const {
  if (lowered_->undone)
    throw InputError("module", "loop", "scheduled already",
                     "attributes go to a module's own ops: give the one from before Triton's "
                     "pipeliner, or take pipelined()");
  return ttgir::emit_ttgir(*lowered_, problem, schedule, remarks);
}

std::string TritonLoop::pipelined(const Problem& problem, const Solution& solution) const {
  return ttgir::emit_pipelined(*lowered_, problem, solution);
}

TritonLoop read_triton(std::string_view text, const std::string& source, const std::string& machine,
                       const TritonOptions& options, const LowerOptions& lower) {
  require(
      options.subtile == 1 || options.subtile == 2 || options.subtile == 4 || options.subtile == 8,
      "subtile", options.subtile, "must be 1, 2, 4 or 8");
  require(options.resident_registers >= 0 && options.resident_registers <= 255,
          "resident_registers", options.resident_registers, "must be from 0 to 255");
  require(options.chunk_columns >= 0 && options.chunk_columns <= 16'384, "chunk_columns",
          options.chunk_columns, "must be from 0 to 16384");
  require(options.trips >= 1 && options.trips <= 1'000'000, "trips", options.trips,
          "must be from 1 to 1000000");
  ttgir::LoopOptions loop;
  loop.module = options.module;
  loop.loop = options.loop;
  loop.subtile = options.subtile;
  loop.resident_registers = options.resident_registers;
  loop.chunk_columns = options.chunk_columns;
  loop.trips = options.trips;
  loop.nest = options.nest;
  if (!options.profile.empty()) loop.profile = ttgir::parse_profile(options.profile, "profile");
  const bool file = is_json(machine);
  const std::string name = machine.empty() ? ttgir::machine_of_target(text, source, loop)
                           : file          ? "machine"
                                           : machine;
  const std::string description = file ? machine : builtin_machine(name);
  return TritonLoop(std::make_shared<const ttgir::LoweredModule>(
      ttgir::lower_module(text, source, description, name, loop, lower)));
}

std::string triton_loops(std::string_view text, const std::string& source,
                         std::optional<int> module) {
  return ttgir::loop_listing(text, source, module);
}

}  // namespace twill
