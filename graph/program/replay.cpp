#include "graph/program/replay.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace twill::program {
namespace {

/// "S[3]" -> op and iteration.
std::optional<std::pair<int, int>> instance_named(const Program& program, const std::string& name) {
  const std::size_t bracket = name.rfind('[');
  if (bracket == std::string::npos || name.back() != ']') return std::nullopt;
  int iteration = 0;
  const char* const end = name.data() + name.size() - 1;
  const auto read = std::from_chars(name.data() + bracket + 1, end, iteration);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  for (std::size_t v = 0; v < program.ops.size(); ++v)
    if (program.ops[v].id == name.substr(0, bracket))
      return std::pair{static_cast<int>(v), iteration};
  return std::nullopt;  // "start", of what is before the loop
}

}  // namespace

std::vector<Course> replay(const Program& program, const Fault& fault, int later) {
  std::vector<std::pair<int, int>> who;
  for (const std::string& name : fault.witness)
    if (const auto one = instance_named(program, name))
      who.emplace_back(one->first, one->second + later);
  std::vector<Course> all;
  for (const auto& held : who)
    for (const auto& until : who) {
      if (held == until) continue;
      for (const Hold::Where where : {Hold::waits, Hold::reads, Hold::writes, Hold::end})
        for (const Pace pace : {Pace::late, Pace::eager})
          all.push_back({pace, 0, Hold{where, held.first, held.second, until.first, until.second}});
    }
  return all;
}

}  // namespace twill::program
