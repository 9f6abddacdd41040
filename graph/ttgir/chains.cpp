// Accumulators that are loaded, scaled and stored back, or loaded, converted and put into shared
// memory for a store: such a chain streams over the tile some columns at a time and is one op of
// the problem (costed_loop.hpp, fuse_chunks).
#include <algorithm>

#include "graph/ttgir/builder.hpp"

namespace twill::ttgir {

void Builder::find_chunks() {
  if (options_.chunk_columns <= 0) return;
  Kernel& kernel = out_.kernel;
  std::vector<std::vector<std::size_t>> next(kernel.ops.size());
  std::vector<bool> has_view(kernel.ops.size(), false);
  for (const KernelEdge& edge : kernel.edges) {
    if (edge.distance == 0 && !edge.delay) next[edge.from].push_back(edge.to);
    if (kernel.ops[edge.to].alias_of == edge.from) has_view[edge.from] = true;
  }
  // Registers are those of a chunk.
  const auto add = [&](Chunk chunk, std::int64_t columns) {
    chunk.columns = options_.chunk_columns;
    for (const std::size_t v : chunk.ops)
      if (auto& held = kernel.ops[v].registers)
        held = (*held * chunk.columns + columns - 1) / columns;
    kernel.chunks.push_back(std::move(chunk));
  };
  const auto streams = [&](std::size_t v, std::int64_t columns) {
    const KernelOp& op = kernel.ops[v];
    return !op.cost && !op.alias_of && !has_view[v] && op.tile && op.tile->shape.size() == 2 &&
           op.tile->shape[1] == columns;
  };
  for (std::size_t v = 0; v < kernel.ops.size(); ++v) {
    const Operation& load = m_.op(out_.nodes[v].op);
    if (class_of(load) != OpClass::tmem_load || load.operands.empty() || !kernel.ops[v].tile)
      continue;
    const std::int64_t columns = kernel.ops[v].tile->shape[1];
    if (columns <= options_.chunk_columns || columns % options_.chunk_columns != 0) continue;
    const int root = sources_.root(load.operands[0]);
    Chunk chunk;
    std::size_t at = v;
    for (;;) {
      if (!streams(at, columns)) break;
      chunk.ops.push_back(at);
      const Operation& op = m_.op(out_.nodes[at].op);
      const bool stage = out_.nodes[at].part == "stage";
      if (stage && chunk.ops.size() >= 2) {
        chunk.id = kernel.ops[at].id + ".chunks";
        add(chunk, columns);
      }
      if (stage) break;
      if (class_of(op) == OpClass::tmem_store) {
        // The chain ends where it began, and nobody else sees what is in between.
        const bool back = std::any_of(op.operands.begin(), op.operands.end(), [&](int value) {
          return is_tile(value, TypeKind::memdesc) && sources_.root(value) == root;
        });
        if (!back || chunk.ops.size() < 3) break;
        chunk.id = kernel.ops[chunk.ops[1]].id + ".chunks";
        add(chunk, columns);
        break;
      }
      // One user; the load's other edge is its release of the buffer.
      std::vector<std::size_t> users;
      for (const std::size_t user : next[at])
        if (out_.nodes[user].part != "release") users.push_back(user);
      if (users.size() != 1) break;
      at = users[0];
      if (out_.nodes[at].inner != out_.nodes[v].inner) break;  // of a nest, the other level
      const OpClass c = class_of(m_.op(out_.nodes[at].op));
      if (c != OpClass::elementwise && c != OpClass::tmem_store && c != OpClass::layout &&
          out_.nodes[at].part != "stage")
        break;
      if (std::find(chunk.ops.begin(), chunk.ops.end(), at) != chunk.ops.end()) break;
    }
  }
}

}  // namespace twill::ttgir
