#include "graph/lowering/explain_costs.hpp"

#include <algorithm>

#include "graph/lowering/costed_loop.hpp"

namespace twill {
namespace {

std::string times(Cycle cycles, Cycle occupancy, Cycle latency) {
  std::string text = std::to_string(cycles);
  if (occupancy != cycles) text += ", unit " + std::to_string(occupancy);
  if (latency != cycles) text += ", result after " + std::to_string(latency);
  return text;
}

/// The arithmetic of a rule for the op's tile.
std::string formula(const Kernel& kernel, const Machine& machine, std::size_t v,
                    const CostedOp& costed) {
  const KernelOp& op = kernel.ops[v];
  if (op.alias_of) return "view of " + kernel.ops[*op.alias_of].id;
  if (op.cost) {
    std::string text;
    for (const auto& [unit, length] : op.cost->uses)
      text += (text.empty() ? "" : ", ") + unit + " " + std::to_string(length);
    if (!text.empty()) return text;
    return op.cost->unit.empty() ? "given" : op.cost->unit + ": given";
  }
  const auto found = machine.rules.find(op.kind);
  if (found == machine.rules.end() || found->second.unit.empty()) return "no instruction";
  const CostRule& rule = found->second;
  const CostContext context{kernel.source, v, machine.vector_copies};
  // A scalar has no tile to count; it costs nothing (cost_rule.hpp).
  if (!op.tile || op.tile->shape.empty()) return rule.unit + ": a scalar";
  const auto part = [&](const char* name, const std::vector<CostTerm>& terms) -> std::string {
    if (terms.empty()) return "";
    std::string text;
    const Cycle sum = sum_terms(terms, *op.tile, costed.op.width, context, &text);
    return std::string("; ") + name + " " + text + " = " + std::to_string(sum);
  };
  const std::string all =
      part("cycles", rule.cycles) + part("unit", rule.occupancy) + part("result", rule.latency);
  return rule.unit + ": " + (all.empty() ? "no time" : all.substr(2));
}

std::string shape_text(const KernelOp& op) {
  if (!op.tile) return "";
  std::string text;
  for (const std::int64_t extent : op.tile->shape) text += std::to_string(extent) + "x";
  return text + op.tile->type;
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c + 1 < row.size(); ++c)
      text += row[c] + std::string(width[c] - row[c].size() + 2, ' ');
    text += row.back() + "\n";
  }
  return text;
}

}  // namespace

std::string explain_costs(const Kernel& kernel, const Machine& machine,
                          const std::vector<CostRemark>& remarks) {
  std::vector<std::vector<std::string>> rows = {{"node"}};
  if (!remarks.empty()) rows.front().emplace_back("op");
  for (const char* column : {"rule", "tile", "cycles", "formula"})
    rows.front().emplace_back(column);
  for (std::size_t v = 0; v < kernel.ops.size(); ++v) {
    const KernelOp& op = kernel.ops[v];
    const CostedOp costed = cost_op(kernel, machine, v);
    std::string how = formula(kernel, machine, v, costed);
    if (costed.op.registers > 0) how += "; " + std::to_string(costed.op.registers) + " registers";
    for (const Footprint& use : costed.op.footprints)
      how += "; " + std::to_string(use.amount) + " of " +
             machine.memories[static_cast<std::size_t>(use.memory)].name;
    std::vector<std::string> row = {op.id};
    if (!remarks.empty()) {
      row.push_back(remarks[v].op);
      if (!remarks[v].note.empty()) how += " (" + remarks[v].note + ")";
    }
    row.push_back(op.alias_of ? "view" : op.kind);
    row.push_back(shape_text(op));
    row.push_back(times(costed.op.cycles, costed.occupancy, costed.latency));
    row.push_back(how);
    rows.push_back(std::move(row));
  }
  std::string text = aligned(rows);
  for (const Chunk& chunk : kernel.chunks) {
    const bool whole = kernel.ops[chunk.ops.front()].tile->shape[1] == chunk.columns;
    text += chunk.id +
            (whole ? " is one op, element by element, for:"
                   : " streams " + std::to_string(chunk.columns) + " columns at a time over:");
    for (const std::size_t v : chunk.ops) text += " " + kernel.ops[v].id;
    text += "\n";
  }
  return text;
}

}  // namespace twill
