// Op chains that stream over their tile in chunks become one op (see costed_loop.hpp).
#include <algorithm>
#include <map>

#include "graph/lowering/costed_loop.hpp"

namespace twill {
namespace {

CostedOp fuse(const Kernel& kernel, const Machine& machine, const CostedLoop& loop,
              std::size_t index) {
  const Chunk& chunk = kernel.chunks[index];
  const auto fail = [&](const std::string& value, const std::string& rule) {
    throw InputError(kernel.source, "/chunks/" + std::to_string(index), value, rule);
  };
  const std::int64_t chunks = kernel.ops[chunk.ops.front()].tile->shape[1] / chunk.columns;
  CostedOp fused;
  fused.op.id = chunk.id;
  fused.op.kind = chunk.kind;
  std::map<int, Cycle> work;  // of one chunk, per unit
  Cycle first = 0, busiest = 0;
  std::map<int, Fraction> reserved, traffic;  // by channel
  for (const std::size_t v : chunk.ops) {
    const CostedOp part = cost_op(kernel, machine, v, chunk.columns);
    if (part.op.variable_latency)
      fail(kernel.ops[v].id, "an op of variable latency cannot be chunked");
    if (chunk.kind.empty()) fused.op.kind += (fused.op.kind.empty() ? "" : "+") + part.op.kind;
    fused.op.width = std::max(fused.op.width, part.op.width);
    fused.op.registers = std::max(fused.op.registers, part.op.registers);
    first += part.op.cycles;
    for (const Reservation& use : part.op.reservations)
      busiest = std::max(busiest, work[use.unit] += use.length);
    for (const auto& [channel, amount] : part.reserved)
      for (std::int64_t k = 0; k < chunks; ++k)
        reserved[channel] = sum_of(reserved[channel], amount, kernel.source);
    // What else is moved does not depend on how the tile is cut.
    for (const auto& [channel, amount] : loop.ops[v].traffic)
      traffic[channel] = sum_of(traffic[channel], amount, kernel.source);
    fused.estimate = fused.estimate || loop.ops[v].estimate;
  }
  const Op& last = loop.ops[chunk.ops.back()].op;  // of the whole tile
  fused.op.footprints = last.footprints;
  fused.op.spill = last.spill;
  if (last.spill > 0) fused.op.registers = std::max(fused.op.registers, last.registers);
  fused.op.cycles = first + (chunks - 1) * busiest;
  if (fused.op.cycles > kMaxCycles)
    fail(std::to_string(fused.op.cycles) + " cycles",
         "must take at most " + std::to_string(kMaxCycles) + " cycles");
  for (const auto& [unit, length] : work)
    fused.op.reservations.push_back({unit, 0, chunks * length, 1});
  fused.latency = fused.occupancy = fused.op.cycles;
  for (const auto& [channel, amount] : reserved) fused.reserved.push_back({channel, amount});
  for (const auto& [channel, amount] : traffic) fused.traffic.push_back({channel, amount});
  return fused;
}

}  // namespace

CostedLoop fuse_chunks(const Kernel& kernel, const Machine& machine, CostedLoop loop) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> chunk_of(loop.ops.size(), kNone);
  for (std::size_t c = 0; c < kernel.chunks.size(); ++c)
    for (const std::size_t v : kernel.chunks[c].ops) chunk_of[v] = c;

  CostedLoop result;
  std::vector<int> place(loop.ops.size());
  std::vector<int> fused_at(kernel.chunks.size(), -1);
  for (std::size_t v = 0; v < loop.ops.size(); ++v) {
    const std::size_t c = chunk_of[v];
    if (c == kNone || fused_at[c] < 0) {
      place[v] = static_cast<int>(result.ops.size());
      if (c != kNone) fused_at[c] = place[v];
      result.ops.push_back(c == kNone ? loop.ops[v] : fuse(kernel, machine, loop, c));
    } else {
      place[v] = fused_at[c];
    }
  }
  for (std::size_t e = 0; e < loop.edges.size(); ++e) {
    Edge edge = loop.edges[e];
    const auto from = static_cast<std::size_t>(edge.from), to = static_cast<std::size_t>(edge.to);
    edge.from = place[from];
    edge.to = place[to];
    if (chunk_of[from] != kNone) {
      if (chunk_of[to] == chunk_of[from] && edge.distance == 0) continue;
      // Edges behind the kernel's own keep a value live through a view or a descriptor: they say 0.
      const bool stated = e >= kernel.edges.size() || kernel.edges[e].delay.has_value();
      if (!stated) edge.delay = result.ops[static_cast<std::size_t>(edge.from)].latency;
    }
    result.edges.push_back(edge);
  }
  return result;
}

}  // namespace twill
