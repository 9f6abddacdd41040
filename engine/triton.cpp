// Triton's loops for callers of the library: graph/ttgir behind one class.
#include <utility>

#include "engine/include/twill_triton.hpp"
#include "graph/ttgir/emit.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/profile.hpp"
#include "graph/ttgir/sequence.hpp"

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

struct TritonLoop::Read {
  std::vector<std::shared_ptr<const ttgir::LoweredModule>> ways;
  std::vector<Lowered> problems;
  std::vector<std::size_t> way_of;  ///< one a problem
  std::vector<std::size_t> layout;  ///< one a problem: its place in that way's problems
  std::vector<std::string> left_out;
};

TritonLoop::TritonLoop(std::shared_ptr<const ttgir::LoweredModule> lowered)
    : TritonLoop(std::vector{std::move(lowered)}) {}

TritonLoop::TritonLoop(std::vector<std::shared_ptr<const ttgir::LoweredModule>> ways,
                       std::vector<std::string> left_out) {
  auto read = std::make_shared<Read>();
  const bool several = ways.size() > 1 || !left_out.empty();
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const std::string split = "M=" + std::to_string(ways[way]->options.subtile);
    for (std::size_t k = 0; k < ways[way]->problems.size(); ++k) {
      Lowered one = ways[way]->problems[k];
      if (several || ways[way]->options.subtile > 1)
        one.made_by->options.emplace_back("subtile", split);
      if (several) one.layout = split + " " + one.layout;
      read->problems.push_back(std::move(one));
      read->way_of.push_back(way);
      read->layout.push_back(k);
    }
  }
  read->ways = std::move(ways);
  read->left_out = std::move(left_out);
  read_ = std::move(read);
}

const std::vector<Lowered>& TritonLoop::problems() const {
  return read_->problems;
}

const std::vector<std::string>& TritonLoop::left_out() const {
  return read_->left_out;
}

std::vector<Lowered> TritonLoop::problems_for_triton() const {
  std::vector<Lowered> problems = read_->problems;
  for (std::size_t k = 0; k < problems.size(); ++k)
    problems[k].problem.pins = ttgir::partition_pins(*lowered(k), problems[k].problem);
  return problems;
}

const std::vector<std::string>& TritonLoop::warnings() const {
  return lowered()->loop.warnings;
}

std::shared_ptr<const ttgir::LoweredModule> TritonLoop::lowered(std::size_t k) const {
  return read_->ways[read_->way_of.at(k)];
}

std::vector<int> TritonLoop::sequence() const {
  return ttgir::default_sequence(lowered()->module);
}

std::string TritonLoop::costs() const {
  return ttgir::explain(*lowered());
}

std::vector<int> TritonLoop::inner_ops(std::size_t k) const {
  return ttgir::inner_ops(lowered(k)->loop, read_->problems.at(k).problem);
}

std::int64_t TritonLoop::inner_trips() const {
  return lowered()->loop.inner_trips;
}

std::string TritonLoop::annotated(const Problem& problem, const Schedule& schedule,
                                  std::vector<std::string>* remarks) const {
  if (lowered()->undone)
    throw InputError("module", "loop", "scheduled already",
                     "attributes go to a module's own ops: give the one from before Triton's "
                     "pipeliner, or take pipelined()");
  if (read_->ways.size() > 1)
    throw InputError("module", "subtile", "several",
                     "attributes go to a module's own ops, and sub-tiles have others: must be 1");
  return ttgir::emit_ttgir(*lowered(), problem, schedule, remarks);
}

std::string TritonLoop::pipelined(const Problem& problem, const Solution& solution) const {
  // (One way, or the one whose ops these are: each way has others.)
  std::size_t k = 0;
  for (std::size_t other = 0; other < read_->problems.size(); ++other)
    if (read_->problems[other].problem.ops == problem.ops) k = other;
  return ttgir::emit_pipelined(*lowered(k), problem, solution);
}

TritonLoop read_triton(std::string_view text, const std::string& source, const std::string& machine,
                       const TritonOptions& options, const LowerOptions& lower) {
  require(options.subtile == 0 || options.subtile == 1 || options.subtile == 2 ||
              options.subtile == 4 || options.subtile == 8,
          "subtile", options.subtile, "must be 1, 2, 4 or 8, or 0 for each of 1, 2, 4");
  require(options.subtile != 0 || lower.normalize == 0, "normalize", lower.normalize,
          "several sub-tilings compare clocks: must be none");
  require(options.resident_registers >= 0 && options.resident_registers <= 255,
          "resident_registers", options.resident_registers, "must be from 0 to 255");
  require(options.chunk_columns >= 0 && options.chunk_columns <= 16'384, "chunk_columns",
          options.chunk_columns, "must be from 0 to 16384");
  require(options.trips >= 1 && options.trips <= 1'000'000, "trips", options.trips,
          "must be from 1 to 1000000");
  ttgir::LoopOptions loop;
  loop.module = options.module;
  loop.loop = options.loop;
  loop.resident_registers = options.resident_registers;
  loop.chunk_columns = options.chunk_columns;
  loop.trips = options.trips;
  loop.nest = options.nest;
  loop.sequence = options.sequence;
  loop.undo_rings = options.undo_rings;
  loop.stored_factors = options.stored_factors;
  if (!options.profile.empty()) loop.profile = ttgir::parse_profile(options.profile, "profile");
  const bool file = is_json(machine);
  const std::string name = machine.empty() ? ttgir::machine_of_target(text, source, loop)
                           : file          ? "machine"
                                           : machine;
  const std::string description = file ? machine : builtin_machine(name);
  const auto read = [&](int subtile) {
    loop.subtile = subtile;
    return std::make_shared<const ttgir::LoweredModule>(
        ttgir::lower_module(text, source, description, name, loop, lower));
  };
  if (options.subtile != 0) return TritonLoop(read(options.subtile));
  std::vector<std::shared_ptr<const ttgir::LoweredModule>> ways;
  std::vector<std::string> left_out;
  std::optional<InputError> refusal;
  for (const int subtile : {1, 2, 4}) {
    try {
      ways.push_back(read(subtile));
    } catch (const InputError& error) {
      left_out.push_back("M=" + std::to_string(subtile) + " is left out: " + error.what());
      if (!refusal) refusal = error;
    }
  }
  if (ways.empty()) throw *refusal;
  return TritonLoop(std::move(ways), std::move(left_out));
}

std::string triton_loops(std::string_view text, const std::string& source,
                         std::optional<int> module) {
  return ttgir::loop_listing(text, source, module);
}

}  // namespace twill
