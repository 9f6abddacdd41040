#include "graph/program/program.hpp"

#include <algorithm>

#include "graph/index.hpp"

namespace twill::program {

int stage_count(const Program& program) {
  int stages = 0;
  for (const Op& op : program.ops) stages = std::max(stages, op.stage + 1);
  return stages;
}

std::vector<int> writers(const Program& program) {
  std::vector<int> writer(program.storages.size(), -1);
  for (std::size_t v = 0; v < program.ops.size(); ++v)
    for (const int s : program.ops[v].writes) writer[at(s)] = static_cast<int>(v);
  return writer;
}

std::vector<int> ops_of(const Event& event) {
  std::vector<int> all = {event.op};
  all.insert(all.end(), event.with.begin(), event.with.end());
  return all;
}

bool ends(const Event& event, int op) {
  return event.op == op || std::find(event.with.begin(), event.with.end(), op) != event.with.end();
}

const char* to_string(Need need) {
  constexpr const char* kNames[] = {"RAW", "WAR", "WAW", "overlay", "turn"};
  return kNames[static_cast<std::size_t>(need)];
}

std::vector<Channel> channels(const Program& program) {
  std::vector<bool> waited(program.events.size(), false);
  for (const Wait& wait : program.waits) waited[at(wait.event)] = true;
  const auto barrier_of = [&](int op) {
    for (std::size_t e = 0; e < program.events.size(); ++e)
      if (ends(program.events[e], op) && !program.events[e].pending && waited[e])
        return static_cast<int>(e);
    return -1;
  };
  const std::vector<int> writer = writers(program);
  std::vector<Channel> all;
  for (std::size_t s = 0; s < program.storages.size(); ++s) {
    if (writer[s] < 0) continue;
    Channel channel{static_cast<int>(s), writer[s], {}, barrier_of(writer[s]), {}};
    for (std::size_t v = 0; v < program.ops.size(); ++v) {
      const Op& op = program.ops[v];
      if (op.slot == program.ops[at(writer[s])].slot) continue;
      if (std::none_of(op.reads.begin(), op.reads.end(),
                       [&](const Read& r) { return at(r.storage) == s; }))
        continue;
      channel.consumers.push_back(static_cast<int>(v));
      const int event = barrier_of(static_cast<int>(v));
      if (event >= 0) channel.consumed.push_back(event);
    }
    if (!channel.consumers.empty()) all.push_back(std::move(channel));
  }
  return all;
}

}  // namespace twill::program
