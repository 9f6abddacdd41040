#include "graph/ttgir/generic_partitions.hpp"

namespace twill::ttgir {

void take_partitions(Module& module, Operation& op, int index) {
  if (!op.generic || op.name != "ttg.warp_specialize" || op.regions.size() != 2) return;
  const auto& blocks = module.regions[static_cast<std::size_t>(op.regions[1])].blocks;
  if (blocks.size() != 1 || module.block(blocks[0]).ops.size() != 1) return;
  const int held = module.block(blocks[0]).ops[0];
  Operation& partitions = module.ops[static_cast<std::size_t>(held)];
  if (partitions.name != "ttg.warp_specialize.partitions") return;
  if (!partitions.operands.empty()) op.operands = std::move(partitions.operands);
  op.regions.resize(1);
  for (const int region : partitions.regions) {
    module.regions[static_cast<std::size_t>(region)].op = index;
    op.regions.push_back(region);
  }
  // The inner op stays in the module's list without a part in anything.
  partitions.operands.clear();
  partitions.regions.clear();
}

}  // namespace twill::ttgir
