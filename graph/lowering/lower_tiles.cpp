// All combinations of a kernel's parameters, on all layouts (see graph/tiles.hpp).
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/io/json_text.hpp"
#include "graph/lowering/instantiate.hpp"
#include "graph/lowering/lower_kernel.hpp"
#include "graph/lowering/machine.hpp"
#include "graph/lowering/stored_results.hpp"
#include "graph/tiles.hpp"

namespace twill {
namespace {

/// Ops and edges of all problems together: they are in memory at once.
constexpr std::size_t kMostOpsAndEdges = 5'000'000;

/// What is resident must fit before anything else does: else no layout can hold the kernel.
std::string resident_misfit(const Kernel& kernel, const Machine& machine) {
  for (const auto& [name, amount] : kernel.resident_memory)
    for (const MachineMemory& memory : machine.memories)
      if (memory.name == name && amount > memory.capacity)
        return std::to_string(amount) + " of " + name + " are resident, the machine has " +
               std::to_string(memory.capacity);
  return "";
}

class TileSpace {
 public:
  TileSpace(const KernelTemplate& kernel, const Machine& machine, const LowerOptions& options)
      : kernel_(kernel),
        machine_(machine),
        options_(options),
        first_(kernel.indices(options.values)) {
    std::size_t combinations = 1;
    const auto& parameters = kernel.parameters().all;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const KernelParameter& parameter = parameters[p];
      const bool named = std::any_of(options.values.begin(), options.values.end(),
                                     [&](const auto& v) { return v.first == parameter.name; });
      free_.push_back(!named && !parameter.given);
      if (free_.back()) {
        first_[p] = 0;
        combinations *= parameter.size();
      }
      if (combinations > kMaxCombinations)
        throw InputError(kernel.source(), "/parameters", "more combinations",
                         "must have at most " + std::to_string(kMaxCombinations) +
                             " combinations; fix some of the values");
    }
  }

  std::vector<TileChoice> run() {
    ParameterIndices indices = first_;
    do {
      if (kernel_.allowed(indices)) add(indices);
    } while (next(indices));
    if (all_.empty())
      throw InputError(kernel_.source(), "/where", "no combination",
                       "some combination of the values must meet the kernel's conditions");
    return std::move(all_);
  }

 private:
  bool next(ParameterIndices& indices) const {
    for (std::size_t p = indices.size(); p-- > 0;) {
      if (!free_[p]) continue;
      if (++indices[p] < kernel_.parameters().all[p].size()) return true;
      indices[p] = 0;
    }
    return false;
  }

  void add(const ParameterIndices& indices) {
    const Amount work = kernel_.work(indices);
    KernelInstance instance = kernel_.instantiate(indices);
    store_results(instance.kernel, options_.stored);
    const std::string resident = resident_misfit(instance.kernel, machine_);
    const auto put = [&](OnLayout on) {
      if (on.lowered) {
        size_ += on.lowered->problem.ops.size() + on.lowered->problem.edges.size();
        if (size_ > kMostOpsAndEdges)
          throw InputError(kernel_.source(), "/parameters", "too many problems",
                           "ops and edges of all combinations on all layouts must be at most " +
                               std::to_string(kMostOpsAndEdges) + "; fix some of the values");
      }
      all_.push_back({kernel_.values(indices), work, std::move(on.layout), std::move(on.lowered),
                      std::move(on.misfit)});
    };
    if (!resident.empty()) {
      for (const Layout& layout : machine_.layouts)
        if (options_.layout.empty() || options_.layout == layout.name)
          put({layout.name, std::nullopt, resident});
      return;
    }
    try {
      for (OnLayout& on : lower_each(instance.kernel, machine_, options_)) put(std::move(on));
    } catch (const InputError& error) {
      throw instance.placed(error);
    }
  }

  const KernelTemplate& kernel_;
  const Machine& machine_;
  const LowerOptions& options_;
  ParameterIndices first_;
  std::vector<bool> free_;
  std::size_t size_ = 0;
  std::vector<TileChoice> all_;
};

}  // namespace

KernelParameters kernel_parameters(std::string_view kernel_text, const std::string& kernel_source) {
  JsonDocument document = JsonDocument::parse(kernel_text, kernel_source);
  if (!has_parameters(document)) return {};
  return KernelTemplate(std::move(document)).parameters();
}

std::vector<TileChoice> lower_tiles(std::string_view kernel_text, const std::string& kernel_source,
                                    std::string_view machine_text,
                                    const std::string& machine_source,
                                    const LowerOptions& options) {
  if (options.normalize != 0)
    throw InputError("options", "normalize", std::to_string(options.normalize),
                     "tiles are compared in clocks: must be none");
  JsonDocument document = JsonDocument::parse(kernel_text, kernel_source);
  if (!has_parameters(document))
    throw InputError(kernel_source, "/parameters", "none",
                     "the kernel has no parameters to choose: see `twill kernels --show "
                     "fmha-forward-tiles --machine hopper`");
  const Machine machine = parse_machine(machine_text, machine_source, options.set, options.ends);
  const KernelTemplate kernel(std::move(document));
  return TileSpace(kernel, machine, options).run();
}

}  // namespace twill
