// How each cost of a loop came about: op, rule, formula, cycles.
#include <algorithm>
#include <array>

#include "graph/lowering/costed_loop.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

namespace twill::ttgir {
namespace {

std::string times(Cycle cycles, Cycle occupancy, Cycle latency) {
  std::string text = std::to_string(cycles);
  if (occupancy != cycles) text += ", unit " + std::to_string(occupancy);
  if (latency != cycles) text += ", result after " + std::to_string(latency);
  return text;
}

/// The arithmetic of a rule for the op's tile.
std::string formula(const LoweredModule& lowered, std::size_t v, const CostedOp& costed) {
  const KernelOp& op = lowered.loop.kernel.ops[v];
  if (op.alias_of) return "view of " + lowered.loop.kernel.ops[*op.alias_of].id;
  if (op.cost) {
    std::string text;
    for (const auto& [unit, length] : op.cost->uses)
      text += (text.empty() ? "" : ", ") + unit + " " + std::to_string(length);
    return text.empty() ? "given" : text;
  }
  const auto found = lowered.machine.rules.find(op.kind);
  if (found == lowered.machine.rules.end() || found->second.unit.empty()) return "no instruction";
  const CostRule& rule = found->second;
  const CostContext context{lowered.loop.kernel.source, v, lowered.machine.vector_copies};
  const auto part = [&](const char* name, const std::vector<CostTerm>& terms) -> std::string {
    if (terms.empty()) return "";
    std::string text;
    const Cycle sum = sum_terms(terms, *op.tile, costed.op.width, context, &text);
    return std::string("; ") + name + " " + text + " = " + std::to_string(sum);
  };
  return rule.unit + ": " + part("cycles", rule.cycles).substr(2) + part("unit", rule.occupancy) +
         part("result", rule.latency);
}

std::string shape_text(const KernelOp& op) {
  if (!op.tile) return "";
  std::string text;
  for (const std::int64_t extent : op.tile->shape) text += std::to_string(extent) + "x";
  return text + op.tile->type;
}

}  // namespace

std::string explain(const LoweredModule& lowered) {
  std::vector<std::array<std::string, 6>> rows;
  rows.push_back({"node", "op", "rule", "tile", "cycles", "formula"});
  for (std::size_t v = 0; v < lowered.loop.kernel.ops.size(); ++v) {
    const KernelOp& op = lowered.loop.kernel.ops[v];
    const NodeInfo& info = lowered.loop.nodes[v];
    const CostedOp costed = cost_op(lowered.loop.kernel, lowered.machine, v);
    std::string how = formula(lowered, v, costed);
    if (costed.op.registers > 0) how += "; " + std::to_string(costed.op.registers) + " registers";
    for (const Footprint& use : costed.op.footprints)
      how += "; " + std::to_string(use.amount) + " of " +
             lowered.machine.memories[static_cast<std::size_t>(use.memory)].name;
    if (!info.note.empty()) how += " (" + info.note + ")";
    rows.push_back({op.id,
                    std::string(lowered.module.op(info.op).name) + " line " +
                        std::to_string(lowered.module.op(info.op).line),
                    op.alias_of ? "view" : op.kind, shape_text(op),
                    times(costed.op.cycles, costed.occupancy, costed.latency), how});
  }
  std::array<std::size_t, 6> width{};
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c + 1 < row.size(); ++c)
      text += row[c] + std::string(width[c] - row[c].size() + 2, ' ');
    text += row.back() + "\n";
  }
  for (const Chunk& chunk : lowered.loop.kernel.chunks) {
    text += chunk.id + " streams " + std::to_string(chunk.columns) + " columns at a time over:";
    for (const std::size_t v : chunk.ops) text += " " + lowered.loop.kernel.ops[v].id;
    text += "\n";
  }
  if (!lowered.loop.replicated.empty()) {
    text += "computed by every slot that uses it:";
    for (const int op : lowered.loop.replicated)
      text += " " + std::string(lowered.module.op(op).name) + ":" +
              std::to_string(lowered.module.op(op).line);
    text += "\n";
  }
  return text;
}

}  // namespace twill::ttgir
