#include "engine/cli/offers.hpp"
#include "engine/options.hpp"

#include <algorithm>

namespace twill::cli {
namespace {

constexpr double kSeconds = 5;  // of one try

}  // namespace

std::vector<std::string> offers(const WorkloadFlags& flags, const Workload& work,
                                const Options& options, const std::stop_token& stop) {
  if (!work.from_kernel || flags.input == "-" || flags.pins.any()) return {};
  std::vector<std::pair<std::string, WorkloadFlags>> tries;
  if (!flags.choose_registers) {
    tries.emplace_back("--registers auto", flags);
    tries.back().second.choose_registers = true;
  }
  if (work.module(0) != nullptr && flags.ttgir.factors() == std::vector<int>{1})
    for (const std::string factor : {"M=2", "M=4"}) {
      tries.emplace_back("--subtile " + factor, flags);
      tries.back().second.ttgir.subtile = factor;
    }
  std::vector<std::string> found;
  for (const auto& [name, other] : tries) {
    Options quick = options;
    quick.time_limit = options.time_limit > 0 ? std::min(options.time_limit, kSeconds) : kSeconds;
    drop_goals(quick);
    quick.evidence = quick.explain = false;
    try {
      const LayoutsSolution all = solve_layouts(load(other).problems, quick, stop);
      const Solution& solution = all.solution();
      if (solution.schedule)
        found.push_back("with " + name +
                        ": I = " + std::to_string(solution.schedule->initiation_interval) +
                        (all.status == Status::optimal ? "" : " or less"));
    } catch (const InputError&) {  // not for this loop
    }
    if (stop.stop_requested()) break;
  }
  return found;
}

}  // namespace twill::cli
