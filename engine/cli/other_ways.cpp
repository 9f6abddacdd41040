#include "engine/cli/other_ways.hpp"

#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"

namespace twill::cli {

std::vector<std::pair<std::string, MakeFlags>> other_ways(const MakeFlags& flags) {
  std::vector<std::pair<std::string, MakeFlags>> ways;
  const WorkloadFlags& work = flags.work;
  if (!flags.schedule.empty() || work.input == "-" || work.pins.any()) return ways;
  if (flags.search.options().ii || !work.more.empty()) return ways;
  const bool file = is_file(work.input);
  const std::string format = file ? json_format(read_file(work.input)) : "twill.kernel";
  const bool module = file && format.empty();
  if (!module && format != "twill.kernel") return ways;
  const bool whole = work.ttgir.factors() == std::vector<int>{1};
  for (const std::string factor : {"", "M=2", "M=4"}) {
    if (!factor.empty() && (!module || !whole)) break;
    for (const bool choose : {false, true}) {
      if (choose ? !flags.registers.empty() : factor.empty()) continue;
      MakeFlags other = flags;
      std::string name = factor.empty() ? "" : "--subtile " + factor;
      if (choose) {
        other.registers = "auto";
        name += (name.empty() ? "" : " ") + std::string("--registers auto");
      }
      if (!factor.empty()) other.work.ttgir.subtile = factor;
      other.quiet = true;  // (the first way has said what there is to say of the input)
      ways.emplace_back(name, other);
    }
  }
  return ways;
}

}  // namespace twill::cli
