#include "engine/placement_needs.hpp"

#include <algorithm>
#include <set>

#include "graph/index.hpp"

namespace twill {

using program::Ending;
using program::Storage;

bool handed_over(const program::Draft& draft, int s) {
  const auto& takes = draft.loop.takes[at(draft.source[at(draft.writer[at(s)])])];
  const int memory = draft.program.storages[at(s)].memory;
  return at(memory) >= takes.size() || takes[at(memory)] == 0;
}

StorageKey storage_key(const program::Draft& draft, int s) {
  return {draft.source[at(draft.writer[at(s)])], draft.program.storages[at(s)].memory};
}

std::vector<std::pair<int, int>> reading_ops(const program::Draft& draft, int op) {
  std::vector<std::pair<int, int>> readers;
  for (int v = 0; v < static_cast<int>(draft.loop.uses.size()); ++v)
    for (const program::Use& use : draft.loop.uses[at(v)])
      if (use.from == op && v != op) readers.emplace_back(v, use.distance);
  return readers;
}

Problem PlacementNeeds::strengthened() {
  Problem problem = problem_;
  const program::Program& p = draft_.program;
  for (int s = 0; s < static_cast<int>(p.storages.size()); ++s) {
    const Storage& storage = p.storages[at(s)];
    if (storage.kind != Storage::in_memory || handed_over(draft_, s)) continue;
    for (const program::Reader& r : draft_.readers[at(s)]) {
      const int reader = draft_.source[at(r.op)];
      if (r.accumulates || !ends_alone(r.op, storage.memory)) continue;
      const int writer = draft_.source[at(draft_.writer[at(s)])];
      Cycle end = draft_.loop.ends[at(reader)];
      holds_[{storage_key(draft_, s), reader}] = end;
      // (Of a charged ring's copies one is counted that is given back in the cycle of a load.)
      if (problem_.ops[at(writer)].fills_ring()) --end;
      // (Charged rings are there all the time, and a program may lay others over them: with these
      // no sum of what is held bounds it.)
      if (problem_.memories[at(storage.memory)].rings) continue;
      // (What holds registers, too, gives them away as its slot's code has it.)
      for (Edge& e : problem.edges)
        if (e.to == reader && problem_.ops[at(e.from)].registers == 0 && shows(e.from, writer))
          e.hold = std::max(e.hold, end);
    }
  }
  return problem;
}

bool PlacementNeeds::shows(int op, int writer) const {
  if (op == writer) return true;
  if (draft_.loop.is_code[at(op)]) return false;
  std::set<int> seen;
  std::vector<int> next = {op};
  while (!next.empty()) {
    const int v = next.back();
    next.pop_back();
    for (const Edge& e : problem_.edges) {
      if (e.to != v) continue;
      if (e.from == writer) return true;
      if (!draft_.loop.is_code[at(e.from)] && seen.insert(e.from).second) next.push_back(e.from);
    }
  }
  return false;
}

bool PlacementNeeds::ends_alone(int op, int memory) const {
  const program::Op& reader = draft_.program.ops[at(op)];
  const int vl = variable_latency_slot(problem_);
  for (int v = 0; v < static_cast<int>(draft_.program.ops.size()); ++v) {
    if (!writes_there(v, memory)) continue;
    const program::Op& writer = draft_.program.ops[at(v)];
    const bool in_order =
        reader.ending == Ending::at_once || (!reader.queue.empty() && reader.queue == writer.queue);
    // One of them on the slot of loads, the other one never.
    const bool apart = vl >= 0 && problem_.ops[at(draft_.source[at(op)])].variable_latency !=
                                      problem_.ops[at(draft_.source[at(v)])].variable_latency;
    if (in_order && !apart) return false;
  }
  return true;
}

bool PlacementNeeds::writes_there(int v, int memory) const {
  const program::Program& p = draft_.program;
  // Registers that are handed over are written to shared memory by whoever makes them.
  if (p.memories[at(memory)].name == program::kBarrierMemory &&
      draft_.loop.registers[at(draft_.source[at(v)])] > 0)
    return true;
  const std::vector<int>& writes = p.ops[at(v)].writes;
  return std::any_of(writes.begin(), writes.end(), [&](int s) {
    const Storage& storage = p.storages[at(s)];
    return storage.kind == Storage::in_memory && storage.memory == memory;
  });
}

}  // namespace twill
