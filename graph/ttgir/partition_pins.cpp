#include "graph/ttgir/partition_pins.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "graph/ttgir/demand.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/within.hpp"

namespace twill::ttgir {

bool is_pointer_load(const Module& m, int op) {
  if (op == kNone || m.op(op).name != "tt.load" || m.op(op).results.empty()) return false;
  const Type* type = m.type_of(m.op(op).results[0]);
  return type != nullptr && type->kind == TypeKind::tensor;
}

bool is_memory_access(const Operation& op) {
  const OpClass c = class_of(op);
  return c == OpClass::tmem_load || c == OpClass::tmem_store;
}

int tensor_memory_of(const Module& m, const Operation& op) {
  constexpr int kSteps = 64;
  for (int value : op.operands) {
    const Type* type = m.type_of(value);
    if (type == nullptr || type->kind != TypeKind::memdesc || !type->tensor_memory) continue;
    for (int step = 0; step < kSteps; ++step) {
      const int made = m.value(value).op;
      if (made == kNone || class_of(m.op(made)) != OpClass::view || m.op(made).operands.empty())
        break;
      value = m.op(made).operands[0];
    }
    return value;
  }
  return kNone;
}

std::vector<int> problem_ops(const LoweredModule& lowered, const Problem& problem) {
  std::unordered_map<std::string, int> index;
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    index.emplace(problem.ops[v].id, static_cast<int>(v));
  const Kernel& kernel = lowered.loop.kernel;
  std::vector<const std::string*> names;
  for (const KernelOp& op : kernel.ops) names.push_back(&op.id);
  for (const Chunk& chunk : kernel.chunks)
    for (const std::size_t k : chunk.ops) names[k] = &chunk.id;
  std::vector<int> result;
  for (const std::string* name : names) {
    const auto found = index.find(*name);
    result.push_back(found == index.end() ? -1 : found->second);
  }
  return result;
}

int product_slot(const Problem& problem) {
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    if (!problem.warps[w].variable_latency && problem.warps[w].width < 4)
      return static_cast<int>(w);
  return -1;
}

int specialised_root(const Module& m, int loop) {
  int root = loop;
  for (int around = m.parent(loop); around != kNone; around = m.parent(around)) {
    bool asked = false;
    m.attribute(m.op(around), "tt.warp_specialize", &asked);
    if (asked && m.op(around).name == "scf.for") root = around;
  }
  return root;
}

namespace {

/// The op that makes what an allocation begins with, behind views of it; else kNone.
int filled_from(const Module& m, int alloc) {
  constexpr int kSteps = 64;
  if (m.op(alloc).operands.empty()) return kNone;
  int made = m.value(m.op(alloc).operands[0]).op;
  for (int step = 0; step < kSteps && made != kNone; ++step) {
    if (class_of(m.op(made)) != OpClass::view || m.op(made).operands.empty()) return made;
    made = m.value(m.op(made).operands[0]).op;
  }
  return made;
}

/// A value that is carried is used by the partition that makes it: Triton gives the hand-over no
/// stage, so its wait may come behind what reads it.
void pin_carried(const LoweredModule& lowered, const Problem& problem,
                 const std::vector<int>& index, std::vector<Pin>& pins) {
  const Module& m = lowered.module;
  std::unordered_map<int, int> node;  // op of the module -> op of the problem; views are none
  for (std::size_t k = 0; k < index.size(); ++k)
    if (index[k] >= 0 && !lowered.loop.kernel.ops[k].alias_of)
      node.emplace(lowered.loop.nodes[k].op, index[k]);
  const Block& block = m.block(m.regions[at(m.op(lowered.loop.loop).regions[0])].blocks[0]);
  if (block.ops.empty() || class_of(m.op(block.ops.back())) != OpClass::terminator) return;
  std::unordered_map<int, std::vector<int>> users;  // value -> ops of the body
  for (const int op : block.ops)
    if (op != block.ops.back())
      each_within(m, op, [&](int inner) {
        for (const int value : m.op(inner).operands) users[value].push_back(op);
      });
  const std::vector<int>& yielded = m.op(block.ops.back()).operands;
  for (std::size_t k = 0; k < yielded.size() && k + 1 < block.arguments.size(); ++k) {
    const auto made = node.find(m.value(yielded[k]).op);
    if (made == node.end() || !can_be_handed_on(m, yielded[k]) ||
        m.type_of(yielded[k])->kind == TypeKind::token ||
        problem.ops[at(made->second)].variable_latency)
      continue;
    std::vector<int> values = {block.arguments[k + 1]};
    for (std::size_t i = 0; i < values.size(); ++i)
      for (const int user : users[values[i]]) {
        const auto found = node.find(user);
        if (found == node.end()) {
          for (const int value : m.op(user).results)
            if (std::find(values.begin(), values.end(), value) == values.end())
              values.push_back(value);
        } else if (found->second != made->second &&
                   !problem.ops[at(found->second)].variable_latency) {
          pins.push_back({Pin::same_slot, made->second, -1, -1, found->second});
        }
      }
  }
}

}  // namespace

std::vector<Pin> partition_pins(const LoweredModule& lowered, const Problem& problem) {
  const Module& m = lowered.module;
  if (lowered.loop.target != 0 && lowered.loop.target < 100) return {};  // it takes no partitions
  const std::vector<int> index = problem_ops(lowered, problem);
  const int products = product_slot(problem);
  std::vector<Pin> pins;
  std::map<int, std::vector<int>> sharing;  // a buffer of tensor memory -> who reads or writes it
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (index[k] < 0) continue;
    const int node = lowered.loop.nodes[k].op;
    if (is_tensor_memory_mma(m.op(node))) {
      const bool known =
          std::any_of(pins.begin(), pins.end(), [&](const Pin& pin) { return pin.op == index[k]; });
      if (products >= 0 && !known && slot_fits(problem, index[k], products))
        pins.push_back({Pin::on_slot, index[k], products, -1, -1});
      continue;
    }
    if (problem.ops[at(index[k])].variable_latency) continue;
    each_within(m, node, [&](int op) {
      if (!is_memory_access(m.op(op))) return;
      std::vector<int>& group = sharing[tensor_memory_of(m, m.op(op))];
      if (std::find(group.begin(), group.end(), index[k]) == group.end()) group.push_back(index[k]);
    });
  }
  for (const auto& [buffer, group] : sharing)
    for (std::size_t i = 1; buffer != kNone && i < group.size(); ++i)
      pins.push_back({Pin::same_slot, group[0], -1, -1, group[i]});
  pin_carried(lowered, problem, index, pins);
  // A buffer is filled by the partition that makes what is in it.
  std::unordered_map<int, int> made;
  for (std::size_t k = 0; k < index.size(); ++k)
    if (index[k] >= 0 && !lowered.loop.kernel.ops[k].alias_of)
      made.emplace(lowered.loop.nodes[k].op, index[k]);
  for (std::size_t k = 0; k < index.size(); ++k) {
    const int node = lowered.loop.nodes[k].op;
    const OpClass c = class_of(m.op(node));
    if (made.count(node) == 0 || (c != OpClass::local_alloc && c != OpClass::tmem_alloc)) continue;
    const auto source = made.find(filled_from(m, node));
    if (source == made.end() || source->second == made[node] ||
        problem.ops[at(source->second)].variable_latency ||
        problem.ops[at(made[node])].variable_latency)
      continue;
    pins.push_back({Pin::same_slot, source->second, -1, -1, made[node]});
  }
  return pins;
}

}  // namespace twill::ttgir
