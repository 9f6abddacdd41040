#include "engine/output/dot.hpp"

#include "engine/output/style.hpp"
#include "graph/bounds/channel_bounds.hpp"

namespace twill {
namespace {

/// A DOT quoted string: '"' and '\' are escaped, so that no name ends it or makes an escape.
std::string dot_quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// Two lines; the break is DOT's own escape and must not be escaped again.
std::string two_lines(const std::string& first, const std::string& second) {
  std::string result = dot_quoted(first), below = dot_quoted(second);
  result.insert(result.size() - 1, "\\n" + below.substr(1, below.size() - 2));
  return result;
}

std::string node(const Problem& problem, const Solution& solution, int v,
                 const std::vector<Colour>& colours) {
  const auto index = static_cast<std::size_t>(v);
  const Op& op = problem.ops[index];
  std::string text = "  n" + std::to_string(v) + " [";
  if (solution.schedule) {
    const Schedule& schedule = *solution.schedule;
    const Cycle start = schedule.start[index];
    text +=
        "label=" + two_lines(printable(op.id),
                             "@" + std::to_string(start) + "  +" + std::to_string(op.cycles) +
                                 "  stage " + std::to_string(start / schedule.initiation_interval));
    const auto slot = static_cast<std::size_t>(schedule.warp[index]);
    text += std::string(", fillcolor=\"") + colours[slot].hex + "\"";
    text +=
        ", tooltip=" + dot_quoted(printable(op.id) + " on " + printable(problem.warps[slot].name));
  } else {
    text += "label=" + two_lines(printable(op.id), "+" + std::to_string(op.cycles));
  }
  if (op.cycles == 0 && !op.fills_ring()) text += ", style=\"filled,rounded,dotted\"";
  return text + "];\n";
}

std::string edge(const Solution& solution, const Edge& e) {
  std::string attributes;
  const auto add = [&](const std::string& attribute) {
    attributes += (attributes.empty() ? "" : ", ") + attribute;
  };
  if (e.distance > 0) {
    add("style=dashed, constraint=false, label=\"" + std::to_string(e.distance) + "\"");
  }
  if (solution.schedule && solution.schedule->warp[static_cast<std::size_t>(e.from)] !=
                               solution.schedule->warp[static_cast<std::size_t>(e.to)]) {
    add("penwidth=2.6");
  }
  if (e.blocking) add("arrowhead=onormal");
  std::string text = "  n" + std::to_string(e.from) + " -> n" + std::to_string(e.to);
  return text + (attributes.empty() ? "" : " [" + attributes + "]") + ";\n";
}

std::string legend(const Problem& problem, const Solution& solution,
                   const std::vector<Colour>& colours) {
  std::string text = "  subgraph cluster_legend {\n    label=\"Legend\"; color=\"#b8bfc7\";\n";
  if (solution.schedule) {
    for (std::size_t w = 0; w < problem.warps.size(); ++w) {
      text += "    slot" + std::to_string(w) +
              " [label=" + dot_quoted(printable(problem.warps[w].name)) + ", fillcolor=\"" +
              colours[w].hex + "\"];\n";
    }
  }
  const auto sample = [&](const char* name, const char* meaning, const char* attributes) {
    text += std::string("    ") + name + "a [label=\"\", shape=point, width=0.06];\n    " + name +
            "b [label=\"" + meaning + "\", shape=plaintext, style=\"\"];\n    " + name + "a -> " +
            name + "b [" + attributes + "];\n";
  };
  sample("carried", "loop-carried: distance", "style=dashed, label=\"1\"");
  if (solution.schedule) sample("crossing", "from one slot to another", "penwidth=2.6");
  sample("blocking", "the consumer blocks", "arrowhead=onormal");
  return text + "  }\n";
}

}  // namespace

std::string dot_graph(const Problem& problem, const Solution& solution) {
  const std::vector<Colour> colours = slot_colours(problem, solution);
  std::string title = printable(problem.name) + ": " + to_string(solution.status);
  if (solution.schedule) {
    title += ", I = " + std::to_string(solution.schedule->initiation_interval) +
             ", L = " + std::to_string(solution.schedule->length);
    for (const ChannelUse& use : channel_uses(problem))
      if (use.least >= solution.schedule->initiation_interval)
        title += ", bound by channel " +
                 printable(problem.channels[static_cast<std::size_t>(use.channel)].name);
  }
  std::string text = "digraph " + dot_quoted(printable(problem.name)) + " {\n";
  const std::string made = printable(made_by_text(solution));
  text += "  graph [label=" + (made.empty() ? dot_quoted(title) : two_lines(title, made)) +
          ", labelloc=t, fontname=\"Helvetica\", fontsize=16, nodesep=0.25, ranksep=0.35];\n"
          "  node [shape=box, style=\"filled,rounded\", fillcolor=\"#eef0f2\", color=\"#5b6570\", "
          "fontname=\"Helvetica\", fontsize=11, margin=\"0.1,0.04\"];\n"
          "  edge [color=\"#3c444c\", fontname=\"Helvetica\", fontsize=10, arrowsize=0.7];\n";
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    text += node(problem, solution, static_cast<int>(v), colours);
  }
  for (const Edge& e : problem.edges) text += edge(solution, e);
  text += legend(problem, solution, colours);
  return text + "}\n";
}

}  // namespace twill
