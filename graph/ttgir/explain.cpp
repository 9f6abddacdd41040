// How each cost of a loop came about: op, rule, formula, cycles.
#include "graph/lowering/explain_costs.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/named_ops.hpp"

namespace twill::ttgir {

std::string explain(const LoweredModule& lowered) {
  std::vector<CostRemark> remarks;
  for (const NodeInfo& info : lowered.loop.nodes) {
    const Operation& op = lowered.module.op(info.op);
    std::string note = info.note;
    const std::int64_t threads = repetition(lowered.module, op, lowered.loop.warps);
    if (threads > 1 && lowered.loop.kernel.ops[remarks.size()].registers.value_or(0) > 0)
      note += (note.empty() ? "" : "; ") + std::string("its layout has each value in ") +
              std::to_string(threads) + " threads";
    remarks.push_back({std::string(op.name) + " line " + std::to_string(op.line), note});
  }
  std::string text = explain_costs(lowered.loop.kernel, lowered.machine, remarks);
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
