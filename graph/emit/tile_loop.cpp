#include "graph/emit/tile_loop.hpp"

#include <algorithm>

#include "graph/emit/names.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

std::string indented(const std::string& lines) {
  std::string text;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    text += (end == begin ? "" : "    ") + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::string tile_loop(const std::string& range, const std::vector<KernelNumber>& numbers,
                      const std::string& body) {
  const bool counts = mentions(body, "first");
  const bool turns = body.find("turn & 1") != std::string::npos ||
                     body.find("turn > 0") != std::string::npos;  // (not in a comment)
  std::string text;
  if (counts) text += "    first = 0  # iterations of the tiles before\n";
  if (turns) text += "    turn = 0  # tiles before\n";
  text += "    for tile in range(" + range + "):\n";
  for (const auto& [name, value, comment] : numbers)
    if (mentions(body, name) || (name == "n" && counts))
      text += "        " + name + " = " + value + comment + "\n";
  text += indented(body);
  if (counts) text += "        first += n\n";
  if (turns) text += "        turn += 1\n";
  return text;
}

std::vector<KernelNumber> block_places(const Plan& plan) {
  std::vector<KernelNumber> all;
  const Axes& axes = plan.axes;
  for (std::size_t t = 0; t < plan.tensor_name.size(); ++t) {
    const int h = axes.tensor_of[t];
    const HostTensor& host = axes.tensors[at(h)];
    for (std::size_t d = 0; d < host.axes.size(); ++d) {
      const Axis& axis = axes.axes[at(host.axes[d])];
      std::string text = d == 0 ? "batch * " + plan.host_name[at(h)] + "_rows" : "";
      if (host.steps >= 0) text += " * n";
      if (axis.kind == Axis::block) {
        const auto k =
            std::find(axes.blocks.begin(), axes.blocks.end(), host.axes[d]) - axes.blocks.begin();
        text += (text.empty() ? "" : " + ") + ("block_" + std::to_string(k)) + " * " +
                std::to_string(axis.tile);
      }
      if (d == 0 && axes.part_of[t] > 0)
        text += " + " + std::to_string(axes.part_of[t] * plan.meaning->tensors[t].shape[0]);
      if (d == 0)
        all.push_back({plan.tensor_name[t] + "_row", text, ""});
      else if (axis.kind == Axis::block && axes.part_of[t] == 0)
        all.push_back({plan.host_name[at(h)] + "_column", text, ""});
    }
  }
  return all;
}

std::string persistent_loop(const Plan& plan, const std::string& body) {
  std::vector<KernelNumber> numbers = {{"block_0", "tile % blocks_0", ""},
                                       {"block_1", "tile // blocks_0 % blocks_1", ""},
                                       {"batch", "tile // (blocks_0 * blocks_1)", ""}};
  std::string places;
  for (const KernelNumber& one : block_places(plan))
    if (mentions(body, one.name)) places += "    " + one.name + " = " + one.value + "\n";
  return tile_loop("gl.program_id(0), tile_count, gl.num_programs(0)", numbers, places + body);
}

}  // namespace twill::emit
