#include "tests/support/loop_meaning.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace twill::test {

namespace {

using meaning::Function;
using meaning::Meaning;
using meaning::Operand;

struct OpUse {
  int from = 0, distance = 0;
  bool operator==(const OpUse&) const = default;
};

bool runs_as_code(const Op& op) {
  return op.cycles > 0 || op.fills_ring() || op.variable_latency;
}

/// Ops that are code, or show what some op that is makes.
std::vector<bool> ops_made(const Problem& problem) {
  std::vector<bool> all;
  for (const Op& op : problem.ops) all.push_back(runs_as_code(op));
  for (bool more = true; more;) {
    more = false;
    for (const Edge& e : problem.edges)
      if (all[static_cast<std::size_t>(e.from)] && !all[static_cast<std::size_t>(e.to)])
        all[static_cast<std::size_t>(e.to)] = more = true;
  }
  return all;
}

/// What op v uses, directly or through ops that are no code; each once. (A circle of ops that show
/// something has no program.)
void op_uses(const Problem& problem, const std::vector<bool>& shown, int v, int distance,
             std::vector<OpUse>& seen, std::vector<OpUse>& uses) {
  for (const Edge& e : problem.edges) {
    if (e.to != v || !shown[static_cast<std::size_t>(e.from)]) continue;
    const OpUse use{e.from, distance + e.distance};
    const bool code = runs_as_code(problem.ops[static_cast<std::size_t>(e.from)]);
    std::vector<OpUse>& known = code ? uses : seen;
    if (std::find(known.begin(), known.end(), use) != known.end()) continue;
    known.push_back(use);
    if (!code) op_uses(problem, shown, e.from, use.distance, seen, uses);
  }
}

}  // namespace

Meaning loop_meaning(const Problem& problem) {
  const int ops = static_cast<int>(problem.ops.size());
  std::vector<std::vector<OpUse>> uses(problem.ops.size());
  std::vector<bool> used(problem.ops.size()), carried(problem.ops.size());
  const std::vector<bool> shown = ops_made(problem);
  for (int v = 0; v < ops; ++v) {
    const auto at = static_cast<std::size_t>(v);
    if (!runs_as_code(problem.ops[at])) continue;
    std::vector<OpUse> seen;
    op_uses(problem, shown, v, 0, seen, uses[at]);
    for (const OpUse& use : uses[at]) {
      used[static_cast<std::size_t>(use.from)] = true;
      if (use.distance > 0) carried[static_cast<std::size_t>(use.from)] = true;
    }
  }
  Meaning m;
  std::vector<int> value_of(problem.ops.size(), -1);
  // The ops' own values first, so that others can name them.
  for (int v = 0; v < ops; ++v) {
    const auto at = static_cast<std::size_t>(v);
    if (!runs_as_code(problem.ops[at])) continue;
    value_of[at] = static_cast<int>(m.values.size());
    meaning::Value value;
    value.id = problem.ops[at].id;
    value.tile = value.shape = {4};
    value.type = "f32";
    m.values.push_back(value);
  }
  const auto tensor = [&](const std::string& name) {
    m.tensors.push_back({name, {4}, "f32", -2, 2});
    return static_cast<int>(m.tensors.size()) - 1;
  };
  const auto number = [](double x) {
    Operand one;
    one.number = x;
    return one;
  };
  for (int v = 0; v < ops; ++v) {
    const auto at = static_cast<std::size_t>(v);
    if (value_of[at] < 0) continue;
    const auto mine = static_cast<std::size_t>(value_of[at]);
    const std::string id = m.values[mine].id;
    if (uses[at].empty()) {
      m.values[mine].function = Function::load;
      m.values[mine].tensor = tensor("in_" + id);
      continue;
    }
    const auto part = [&](Function function, std::vector<Operand> operands) {
      meaning::Value value = m.values[mine];
      value.id = id + "_" + std::to_string(m.values.size());
      value.part_of = id;
      value.function = function;
      value.operands = std::move(operands);
      m.values.push_back(std::move(value));
      Operand made;
      made.value = static_cast<int>(m.values.size()) - 1;
      return made;
    };
    Operand sum;
    for (const OpUse& use : uses[at]) {
      Operand next;
      next.value = value_of[static_cast<std::size_t>(use.from)];
      next.distance = use.distance;
      sum = sum.value < 0 ? next : part(Function::add, {sum, next});
    }
    const std::vector<Operand> last = {sum, number(0.5), number(0.125 * (v + 1))};
    if (used[at]) {
      m.values[mine].function = Function::mul_add;
      m.values[mine].operands = last;
    } else {
      const Operand all = part(Function::mul_add, last);
      m.values[mine].function = Function::store;
      m.values[mine].tensor = tensor("out_" + id);
      m.values[mine].operands = {all};
    }
  }
  for (int v = 0; v < ops; ++v)
    if (const auto at = static_cast<std::size_t>(v); carried[at])
      m.initial.push_back({value_of[at], number(0.25 * (v + 1))});
  m.loop_begin = 0;
  m.after_begin = static_cast<int>(m.values.size());
  return m;
}

}  // namespace twill::test
