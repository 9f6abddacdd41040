// Building a problem in memory (the running example of the Twill paper, Figure 1), solving it with
// a stop token and a progress callback, and verifying the answer.

#include "twill.hpp"

#include <iostream>

int main() {
  twill::Problem problem;
  problem.name = "attention";
  problem.units = {{"TC", 1}, {"SFU", 1}};
  problem.warps = {{"w0", 1, 255, false}};
  const int tensor_core = 0, special_function = 1;
  const auto op = [](const char* id, int unit) {
    twill::Op result;
    result.id = id;
    result.cycles = 1;
    result.reservations = {{unit, 0, 1, 1}};
    return result;
  };
  problem.ops = {op("S", tensor_core), op("P", special_function), op("O", tensor_core)};
  problem.edges = {{0, 1, 1, 0, false, 0}, {1, 2, 1, 0, false, 0}, {2, 2, 1, 1, false, 0}};

  try {
    std::stop_source stop;  // another thread may call stop.request_stop()
    twill::Options options;
    options.time_limit = 60;
    int reports = 0;
    const twill::Solution solution = twill::solve(problem, options, stop.get_token(),
                                                  [&](const twill::Progress&) { ++reports; });
    if (!solution.schedule) {
      std::cerr << "no schedule: " << to_string(solution.status) << "\n";
      return 1;
    }
    const twill::Schedule& schedule = *solution.schedule;
    if (const auto violation = twill::verify(problem, schedule)) {
      std::cerr << violation->rule << ": " << violation->text << "\n";
      return 1;
    }
    std::cout << to_string(solution.status) << ": I = " << schedule.initiation_interval
              << ", L = " << schedule.length << "\n";
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      std::cout << "  " << problem.ops[v].id << " cycle " << schedule.start[v] << " on "
                << problem.warps[static_cast<std::size_t>(schedule.warp[v])].name << "\n";
    }
    return 0;
  } catch (const twill::InputError& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
