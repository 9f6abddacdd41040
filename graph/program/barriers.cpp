#include "graph/program/barriers.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/divide.hpp"
#include "graph/index.hpp"

namespace twill::program {

std::optional<Refusal> place_barriers(Draft& draft) {
  Program& program = draft.program;
  int memory = -1;
  for (int m = 0; m < static_cast<int>(program.memories.size()); ++m)
    if (program.memories[at(m)].name == kBarrierMemory) memory = m;
  if (memory < 0) return std::nullopt;
  const Amount capacity = program.memories[at(memory)].capacity;
  std::vector<std::pair<Amount, Amount>> taken;  // begin, end
  Amount top = 0;
  for (const Storage& s : program.storages) {
    if (s.kind != Storage::in_memory || s.memory != memory) continue;
    const Amount step = ceil_divide(s.size, s.alignment) * s.alignment;
    taken.emplace_back(s.base, s.base + step * (s.depth - 1) + s.size);
    top = std::max(top, taken.back().second);
  }
  const auto free = [&](Amount begin, Amount end) {
    return (capacity < 0 || end <= capacity) &&
           std::none_of(taken.begin(), taken.end(), [&](const auto& other) {
             return begin < other.second && other.first < end;
           });
  };
  Amount all = 0;
  for (Event& event : program.events) {
    if (event.pending) continue;
    const Amount bytes = kBarrierBytes * event.phases;
    all += bytes;
    std::vector<Amount> places = {0};
    for (const auto& [begin, end] : taken) places.push_back(end);
    std::sort(places.begin(), places.end());
    places.insert(places.begin(), top);
    for (const Amount place : places) {
      const Amount base = ceil_divide(place, kBarrierBytes) * kBarrierBytes;
      if (!free(base, base + bytes)) continue;
      event.address = base;
      taken.emplace_back(base, base + bytes);
      if (place == top) top = base + bytes;
      break;
    }
    if (event.address >= 0) continue;
    Refusal refusal{"placement",
                    "no room is left for the barriers of the end of " +
                        program.ops[at(event.op)].id + " in " + program.memories[at(memory)].name +
                        " of " + std::to_string(capacity),
                    -1, 0, all};
    if (at(memory) < draft.loop.problem->memories.size()) refusal.memory = memory;
    return refusal;
  }
  return std::nullopt;
}

}  // namespace twill::program
