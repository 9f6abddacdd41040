#include "graph/program/early_ends.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/links.hpp"
#include "graph/program/pending_event.hpp"

namespace twill::program {
namespace {

bool in_registers(const Program& p, int storage) {
  return p.storages[at(storage)].kind == Storage::in_registers;
}

/// The op of the same slot and queue that is issued next, and whether that is a period later; -1 =
/// there is none but `op`.
struct Next {
  int op = -1;
  int periods = 0;
};

Next next_in_queue(const Program& p, int op) {
  const auto alike = [&](int v) {
    return p.ops[at(v)].slot == p.ops[at(op)].slot && p.ops[at(v)].queue == p.ops[at(op)].queue;
  };
  const int count = static_cast<int>(p.ops.size());
  for (int v = op + 1; v < count; ++v)
    if (alike(v)) return {v, 0};
  for (int v = 0; v < op; ++v)
    if (alike(v)) return {v, 1};
  return {};
}

}  // namespace

std::vector<int> products_of_registers(const Program& program) {
  std::vector<int> all;
  Links links;
  if (!program.meaning || link(program, links)) return all;
  for (int v = 0; v < static_cast<int>(program.ops.size()); ++v) {
    const Op& op = program.ops[at(v)];
    const meaning::Value& value = program.meaning->values[at(links.result[at(v)])];
    if (op.ending != Ending::pending || op.queue.empty() ||
        value.function != meaning::Function::product || value.operands.empty())
      continue;
    const meaning::Operand& left = value.operands.front();
    if (left.value < 0 || !program.meaning->in_loop(left.value)) continue;
    const int from = links.runner[at(left.value)];
    if (from < 0) continue;
    const std::vector<int> read = storages_read(program, v, from, left.distance);
    if (std::any_of(read.begin(), read.end(), [&](int s) { return in_registers(program, s); }))
      all.push_back(v);
  }
  return all;
}

std::optional<Program> ended_early(const Program& program, int op) {
  const Next next = next_in_queue(program, op);
  if (next.op < 0) return std::nullopt;
  // In a period an op of stage s is of iteration t - s.
  const int offset = next.periods + program.ops[at(op)].stage - program.ops[at(next.op)].stage;
  Program ended = program;
  const int event = pending_event(ended, op);
  const Wait wait{next.op, event, offset, Need::turn, -1};
  for (const Wait& one : program.waits)
    if (one.before == wait.before && one.event == event && one.offset <= offset)
      return std::nullopt;
  const auto place =
      std::upper_bound(ended.waits.begin(), ended.waits.end(), next.op,
                       [](int before, const Wait& one) { return before < one.before; });
  ended.waits.insert(place, wait);
  if (judge(ended)) return std::nullopt;
  return ended;
}

}  // namespace twill::program
