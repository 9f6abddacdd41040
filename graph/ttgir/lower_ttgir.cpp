#include "graph/ttgir/lower_ttgir.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/lowering/costed_loop.hpp"
#include "graph/lowering/lower_kernel.hpp"
#include "graph/ttgir/always_added.hpp"
#include "graph/ttgir/builder.hpp"
#include "graph/ttgir/chosen_branches.hpp"
#include "graph/ttgir/counted_while.hpp"
#include "graph/ttgir/flat_nests.hpp"
#include "graph/ttgir/index_values.hpp"
#include "graph/ttgir/late_returns.hpp"
#include "graph/ttgir/loads_ahead.hpp"
#include "graph/ttgir/loads_once.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/modules.hpp"
#include "graph/ttgir/named_ops.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/scheduled.hpp"
#include "graph/ttgir/stored_factors.hpp"
#include "graph/ttgir/sums_kept.hpp"
#include "graph/ttgir/undo.hpp"
#include "graph/ttgir/without_vector_sums.hpp"

namespace twill::ttgir {

namespace {

/// The innermost loop with the most products in a loop, perhaps itself.
int innermost(const Module& module, const std::vector<LoopInfo>& loops, int loop) {
  int best = loop;
  std::int64_t most = -1;
  for (const LoopInfo& info : loops) {
    bool within = false;
    for (int op = info.op; op != kNone; op = module.parent(op)) within = within || op == loop;
    if (!within || !info.innermost || info.macs <= most) continue;
    best = info.op;
    most = info.macs;
  }
  return best;
}

/// What undo_schedule() made of a loop, with the lines of the file.
Module parsed(const Module& module, const Undone& undone) {
  Module again = parse_module(undone.text, module.source);
  for (Operation& op : again.ops) {
    if (op.line == 0 || op.line > undone.places.size()) continue;
    std::tie(op.line, op.column) = undone.places[op.line - 1];
  }
  return again;
}

/// A module that is to be executed or written: what its ops compute, in forms that the meaning has.
/// (Of what is solved alone a branch stays one op, and what is written back stays as it came.)
void rewrite_to_compute(Module& module) {
  if (auto once = with_loads_once(module)) module = std::move(*once);
  if (auto late = with_late_returns(module)) module = std::move(*late);
  if (auto ahead = with_loads_ahead(module)) module = std::move(*ahead);
  if (auto added = with_products_always_added(module)) module = std::move(*added);
  if (auto kept = with_sums_kept(module)) module = std::move(*kept);
  if (auto chosen = with_chosen_branches(module)) module = std::move(*chosen);
  if (auto apart = without_vector_sums(module)) module = std::move(*apart);
}

/// A module of the loop as it was before it was pipelined or partitioned. Throws InputError where
/// it cannot be undone. `remark` says what was done, `lost` why the function around it is lost.
/// `which`: of its loops.
Module undone(const Module& module, const LoopOptions& options, const AlreadyLowered& seen,
              std::string& remark, std::string& lost, std::int64_t& resident,
              std::optional<int>& which) {
  const std::vector<LoopInfo> loops = list_loops(module);
  const int chosen = loops[choose_loop(module, loops, options.loop)].op;
  const int loop = innermost(module, loops, chosen);
  try {
    const Undone undone = undo_schedule(module, loop);
    resident = undone.resident;
    Module again = parsed(module, undone);
    if (options.undo_rings && undone.whole) rewrite_to_compute(again);
    const std::vector<LoopInfo> found = list_loops(again);
    for (std::size_t l = 0; l < found.size(); ++l) {
      const auto place = [](const Operation& op) { return std::pair(op.line, op.column); };
      if (found[l].innermost && place(again.op(found[l].op)) == place(module.op(loop)))
        which = static_cast<int>(l);
    }
    if (!undone.whole) {
      const CannotUndo& why = undone.why_alone;
      lost = (why.op == kNone ? ""
                              : std::string(module.op(why.op).name) + " of line " +
                                    std::to_string(module.op(why.op).line) + ": ") +
             why.why;
    }
    remark = "the loop has been pipelined or partitioned already (" + seen.seen + ", line " +
             std::to_string(module.op(seen.op).line) + "): it is undone" +
             (undone.whole ? ", with the function around it" : "");
    if (loop != chosen)
      remark += "; of the loops in loops, the inner one at line " +
                std::to_string(module.op(loop).line) + " is taken";
    return again;
  } catch (const CannotUndo& reason) {
    refuse_op(module, seen.op, seen.seen,
              std::string(module.op(reason.op).name) + " of line " +
                  std::to_string(module.op(reason.op).line) + ": " + reason.why);
  } catch (const InputError& error) {
    refuse_op(module, seen.op, seen.seen,
              "what is made of it is not read: " + error.rule() + " (" + error.value() + ")");
  }
}

/// A refusal that names ops of the problem, or says how much is resident, with the lines of these.
InputError with_names(const InputError& error, const LoweredModule& lowered) {
  constexpr std::string_view kResident = "/resident/memory/";
  std::string names;
  if (error.place() == "/layouts") names = named_ops(lowered.loop, lowered.module, {error.rule()});
  if (error.place().starts_with(kResident))
    for (const auto& [memory, what, amount] : lowered.loop.residents)
      if (error.place().substr(kResident.size()) == memory)
        names += (names.empty() ? "held by " : ", ") + what + " (" + std::to_string(amount) + ")";
  if (names.empty()) return error;
  return {error.file(), error.place(), error.value(), error.rule() + "; " + names};
}

/// A loop that counts has its bounds, its step, and what each variable that it carries begins with.
void check_bounds(const Module& module, const Operation& loop) {
  std::size_t variables = 1;
  if (!loop.regions.empty())
    if (const auto& blocks = module.regions[at(loop.regions[0])].blocks; !blocks.empty())
      variables = module.block(blocks[0]).arguments.size();
  if (variables == 0 || loop.operands.size() != kFirstLoopVariable + variables - 1)
    throw InputError(module.source, Module::place(loop), std::string(loop.name),
                     "must have two bounds, a step, and a value for each variable that it carries");
}

/// How many operands ops have that places and integers are made of, so that who looks through them
/// need not ask.
void check_operands(const Module& module) {
  static const std::unordered_map<std::string_view, std::size_t> kCounts = {
      {"tt.addptr", 2},        {"arith.addi", 2},  {"arith.subi", 2},        {"arith.muli", 2},
      {"arith.divsi", 2},      {"arith.remsi", 2}, {"arith.minsi", 2},       {"arith.maxsi", 2},
      {"arith.andi", 2},       {"arith.ori", 2},   {"arith.xori", 2},        {"arith.shli", 2},
      {"arith.shrsi", 2},      {"arith.shrui", 2}, {"arith.cmpi", 2},        {"arith.cmpf", 2},
      {"arith.select", 3},     {"arith.extsi", 1}, {"arith.extui", 1},       {"arith.trunci", 1},
      {"arith.index_cast", 1}, {"tt.splat", 1},    {"ttg.convert_layout", 1}};
  for (const Operation& op : module.ops) {
    if (op.name == "scf.for") check_bounds(module, op);
    const auto count = kCounts.find(op.name);
    if (count != kCounts.end() && (op.operands.size() != count->second || op.results.size() != 1))
      throw InputError(module.source, Module::place(op), std::string(op.name),
                       "must have " + std::to_string(count->second) + " operands and one result");
  }
}

/// One module of a file. Where it has no scf.for, loops that count are read as such.
Module read_counted(std::string_view text, const std::string& source, std::optional<int> number) {
  Module module = parse_one_module(text, source, number);
  check_operands(module);
  // (What is written back is else as it came.)
  if (std::any_of(module.ops.begin(), module.ops.end(),
                  [](const Operation& op) { return op.name == "scf.for"; }))
    return module;
  if (const auto counted = with_counted_loops(module)) return parse_module(*counted, source);
  return module;
}

}  // namespace

LoweredModule lower_module(std::string_view text, const std::string& source,
                           std::string_view machine_text, const std::string& machine_source,
                           const LoopOptions& loop_options, const LowerOptions& options,
                           std::string* costs) {
  LoweredModule result{read_counted(text, source, loop_options.module),
                       parse_machine(machine_text, machine_source, options.set, options.ends),
                       loop_options,
                       LoopKernel(),
                       {},
                       false,
                       {}};
  if (loop_options.stored_factors)
    if (const auto stored = with_stored_factors(result.module))
      result.module = parse_module(*stored, source);
  if (loop_options.undo_rings) {
    if (auto flat = with_flat_nests(result.module)) result.module = std::move(*flat);
    rewrite_to_compute(result.module);
  }
  LoopOptions as_read = loop_options;
  as_read.lower = options;
  std::string remark;
  std::int64_t resident = 0;
  try {
    result.loop = lower_loop(result.module, result.machine, as_read);
  } catch (const AlreadyLowered& seen) {
    if (as_read.nest) throw;  // one loop of it is undone, not two
    std::optional<Module> before;
    std::optional<int> which;
    try {
      before = undone(result.module, loop_options, seen, remark, result.lost, resident, which);
    } catch (const InputError&) {
      if (!as_read.undo_rings) throw;
    }
    if (as_read.undo_rings && (!before || !result.lost.empty())) {
      // The loop alone can be scheduled as it stands, perhaps.
      LoopOptions as_it_stands = loop_options;
      as_it_stands.undo_rings = false;
      return lower_module(text, source, machine_text, machine_source, as_it_stands, options, costs);
    }
    result.module = std::move(*before);
    result.undone = true;
    LoopOptions only = as_read;
    only.loop = which;
    result.loop = lower_loop(result.module, result.machine, only);
    if (resident > 0) {
      result.loop.kernel.resident_memory.emplace_back("smem", resident);
      result.loop.residents.emplace_back("smem", "buffers beside the loop's own", resident);
    }
    result.loop.warnings.insert(result.loop.warnings.begin(), remark);
  }
  try {
    if (costs != nullptr) *costs = explain(result);
    result.problems = lower(result.loop.kernel, result.machine, options);
  } catch (const InputError& unpriced) {
    // An op that cannot be priced is named by its place in the module.
    for (std::size_t v = 0; v < result.loop.nodes.size(); ++v) {
      try {
        cost_op(result.loop.kernel, result.machine, v);
      } catch (const InputError& error) {
        throw placed(error, result.module, result.loop.nodes);
      }
    }
    throw with_names(unpriced, result);
  }
  return result;
}

std::string machine_of_target(std::string_view text, const std::string& source,
                              const LoopOptions& options) {
  const Module module = read_counted(text, source, options.module);
  const std::vector<LoopInfo> loops = list_loops(module);
  const int loop = loops[choose_loop(module, loops, options.loop)].op;
  const std::string_view target = module.inherited(loop, "ttg.target").first;
  for (const auto& [name, machine] : {std::pair{"\"cuda:80\"", "ampere"},
                                      {"\"cuda:90\"", "hopper"},
                                      {"\"cuda:100\"", "blackwell"}})
    if (target == name) return machine;
  throw InputError(
      "command line", "--machine", "nothing",
      target.empty() ? "must be given: the module names no ttg.target (TTIR names none, TTGIR does)"
                     : "must be given: no built-in machine is of the module's target " +
                           std::string(target) + " (cuda:80, cuda:90 and cuda:100 have one)");
}

std::string loop_listing(std::string_view text, const std::string& source,
                         std::optional<int> number) {
  const std::vector<ModulePart> parts = split_modules(text);
  if (number || parts.size() == 1) return loop_listing(read_counted(text, source, number));
  std::string all;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    all += "module " + std::to_string(k) + "  line " + std::to_string(parts[k].line) +
           (parts[k].title.empty() ? "" : "  " + parts[k].title) + "\n";
    try {
      all += loop_listing(read_counted(text, source, static_cast<int>(k)));
    } catch (const InputError& error) {
      all += "  " + error.place() + ": " + error.rule() + "\n";
    }
  }
  return all;
}

std::string loop_listing(const Module& module) {
  const std::vector<LoopInfo> loops = list_loops(module);
  const std::size_t chosen = choose_loop(module, loops, std::nullopt);
  std::string text;
  for (std::size_t l = 0; l < loops.size(); ++l) {
    const LoopInfo& info = loops[l];
    text += (l == chosen ? "* " : "  ") + std::to_string(l) + "  " + info.function + "  line " +
            std::to_string(module.op(info.op).line) + "  depth " + std::to_string(info.depth) +
            (info.innermost ? "  innermost" : "") + "  " + std::to_string(info.ops) + " ops  " +
            std::to_string(info.macs) + " MACs" +
            (info.warp_specialize ? "  tt.warp_specialize" : "") + "\n";
  }
  return text;
}

}  // namespace twill::ttgir
