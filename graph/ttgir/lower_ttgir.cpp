#include "graph/ttgir/lower_ttgir.hpp"

#include "graph/error.hpp"
#include "graph/lowering/costed_loop.hpp"
#include "graph/lowering/lower_kernel.hpp"
#include "graph/ttgir/builder.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/modules.hpp"

namespace twill::ttgir {

LoweredModule lower_module(std::string_view text, const std::string& source,
                           std::string_view machine_text, const std::string& machine_source,
                           const LoopOptions& loop_options, const LowerOptions& options,
                           std::string* costs) {
  LoweredModule result{parse_one_module(text, source, loop_options.module),
                       parse_machine(machine_text, machine_source, options.set, options.ends),
                       loop_options,
                       LoopKernel(),
                       {}};
  result.loop = lower_loop(result.module, result.machine, loop_options);
  try {
    if (costs != nullptr) *costs = explain(result);
    result.problems = lower(result.loop.kernel, result.machine, options);
  } catch (const InputError&) {
    // An op that cannot be priced is named by its place in the module.
    for (std::size_t v = 0; v < result.loop.nodes.size(); ++v) {
      try {
        cost_op(result.loop.kernel, result.machine, v);
      } catch (const InputError& error) {
        throw placed(error, result.module, result.loop.nodes);
      }
    }
    throw;
  }
  return result;
}

std::string machine_of_target(std::string_view text, const std::string& source,
                              const LoopOptions& options) {
  const Module module = parse_one_module(text, source, options.module);
  const std::vector<LoopInfo> loops = list_loops(module);
  const int loop = loops[choose_loop(module, loops, options.loop)].op;
  const std::string_view target = module.inherited(loop, "ttg.target").first;
  for (const auto& [name, machine] : {std::pair{"\"cuda:80\"", "ampere"},
                                      {"\"cuda:90\"", "hopper"},
                                      {"\"cuda:100\"", "blackwell"}})
    if (target == name) return machine;
  throw InputError("command line", "--machine", "nothing",
                   target.empty()
                       ? "must be given: the module names no ttg.target"
                       : "must be given: no built-in machine is of the module's target " +
                             std::string(target) + " (cuda:80, cuda:90 and cuda:100 have one)");
}

std::string loop_listing(std::string_view text, const std::string& source,
                         std::optional<int> number) {
  const std::vector<ModulePart> parts = split_modules(text);
  if (number || parts.size() == 1) return loop_listing(parse_one_module(text, source, number));
  std::string all;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    all += "module " + std::to_string(k) + "  line " + std::to_string(parts[k].line) +
           (parts[k].title.empty() ? "" : "  " + parts[k].title) + "\n";
    try {
      all += loop_listing(parse_one_module(text, source, static_cast<int>(k)));
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
