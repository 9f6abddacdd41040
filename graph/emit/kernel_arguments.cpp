#include "graph/emit/kernel_arguments.hpp"

#include <algorithm>

#include "graph/emit/tile_loop.hpp"
#include "graph/index.hpp"

namespace twill::emit {

namespace {

std::vector<KernelArgument> of_loop(const Plan& plan) {
  std::vector<KernelArgument> all;
  const auto block = [&](std::size_t h) {
    return plan.meaning->tensors[at(plan.axes.tensors[h].parts.front())].shape;
  };
  if (plan.user != nullptr) {
    for (std::size_t k = 0; k < plan.parameter_name.size(); ++k) {
      const std::string& name = plan.parameter_name[k];
      if (name.empty()) continue;
      const meaning::Parameter& given = plan.user->parameters[k];
      KernelArgument one{KernelArgument::number, name, given.type, {}};
      if (given.kind == meaning::Parameter::pointer) {
        one.kind = KernelArgument::pointer;
        one.type.clear();
        for (std::size_t h = 0; h < plan.host_name.size(); ++h)
          if (name == plan.host_name[h] + "_ptr") one.type = plan.axes.tensors[h].type;
        const auto& loaded = plan.user->loaded;  // (how often a loop runs)
        const bool counts = std::any_of(loaded.begin(), loaded.end(), [&](const auto& number) {
          return number.parameter == static_cast<int>(k);
        });
        if (one.type.empty() && (plan.by_elements() || counts)) one.type = given.pointed;
      }
      if (given.kind == meaning::Parameter::descriptor) {
        one.kind = KernelArgument::descriptor;
        one.block = given.block;
        for (std::size_t h = 0; h < plan.host_name.size(); ++h)
          if (name == plan.host_name[h] + "_desc") one.block = block(h);
      }
      one.divisor = given.divisor;
      all.push_back(std::move(one));
    }
    return all;
  }
  for (std::size_t h = 0; h < plan.host_name.size(); ++h) {
    const bool vector = plan.axes.tensors[h].axes.size() == 1;
    all.push_back({vector ? KernelArgument::pointer : KernelArgument::descriptor,
                   plan.host_name[h] + plan.suffix(static_cast<int>(h)), plan.axes.tensors[h].type,
                   vector ? std::vector<std::int64_t>{} : block(h)});
  }
  for (const std::string& one : plan.host_name)
    all.push_back({KernelArgument::number, one + "_rows", "i32", {}});
  all.push_back({KernelArgument::number, "n", "i32", {}});
  for (const char* const one : kBlockCounts)
    if (plan.persistent) all.push_back({KernelArgument::number, one, "i32", {}});
  return all;
}

}  // namespace

std::vector<KernelArgument> kernel_arguments(const std::vector<const Plan*>& plans) {
  std::vector<KernelArgument> all = of_loop(*plans.front());
  // What lies where a pointer leads, and the tile of a descriptor, one of the loops knows.
  for (std::size_t part = 1; part < plans.size(); ++part)
    for (const KernelArgument& known : of_loop(*plans[part]))
      for (KernelArgument& one : all) {
        if (one.name != known.name) continue;
        if (one.type.empty()) one.type = known.type;
        if (one.block.empty()) one.block = known.block;
      }
  return all;
}

}  // namespace twill::emit
