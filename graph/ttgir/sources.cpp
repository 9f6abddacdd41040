#include "graph/ttgir/sources.hpp"

#include <deque>
#include <set>
#include <unordered_set>

#include "graph/error.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

constexpr std::int64_t kMaxSourceSteps = 5'000'000;  // seconds; real loops take thousands

}  // namespace

Sources::Sources(const Module& module, int loop)
    : m_(&module), loop_(loop), nodes_(module.values.size()) {
  const Region& region = m_->regions[static_cast<std::size_t>(m_->op(loop).regions[0])];
  body_ = region.blocks[0];
}

void Sources::set(int value, int copy, std::size_t node) {
  auto& list = nodes_[static_cast<std::size_t>(value)];
  if (list.size() <= static_cast<std::size_t>(copy))
    list.resize(static_cast<std::size_t>(copy) + 1, node);
  list[static_cast<std::size_t>(copy)] = node;
}

void Sources::set_all(int value, std::size_t node, int copies) {
  for (int copy = 0; copy < copies; ++copy) set(value, copy, node);
}

bool Sources::inside(int op) const {
  while (op != kNone && op != loop_) op = m_->parent(op);
  return op == loop_;
}

int Sources::yielded(int value) const {
  const Value& v = m_->value(value);
  const Block& body = m_->block(body_);
  if (v.block != body_ || v.index == 0 || body.ops.empty()) return kNone;
  const Operation& yield = m_->op(body.ops.back());
  const std::size_t k = static_cast<std::size_t>(v.index) - 1;
  return k < yield.operands.size() ? yield.operands[k] : kNone;
}

void Sources::step(int value) const {
  if (++steps_ <= kMaxSourceSteps) return;
  const Operation& loop = m_->op(loop_);
  throw InputError(m_->source, Module::place(loop), "%" + std::string(m_->value(value).name),
                   "chains of index arithmetic and views in the loop are too long");
}

std::vector<Source> Sources::of(int value, int copy) const {
  std::vector<Source> found;
  std::set<std::pair<std::size_t, int>> known;
  std::unordered_set<int> visited;
  std::deque<std::pair<int, int>> queue = {{value, 0}};  // 0-1 breadth first: nearest first
  while (!queue.empty()) {
    const auto [next, distance] = queue.front();
    queue.pop_front();
    if (!visited.insert(next).second) continue;
    step(next);
    const auto& list = nodes_[static_cast<std::size_t>(next)];
    if (!list.empty()) {
      const std::size_t node = list[std::min(static_cast<std::size_t>(copy), list.size() - 1)];
      if (known.emplace(node, distance).second) found.push_back({node, distance});
      continue;
    }
    if (const int before = yielded(next); before != kNone) {
      queue.emplace_back(before, distance + 1);
      continue;
    }
    const int op = m_->value(next).op;
    if (op == kNone || !inside(op) || op == loop_) continue;
    const Operation& made = m_->op(op);
    // A wait hands its operands on one by one; all else mixes them.
    if (class_of(made) == OpClass::transparent && made.results.size() == made.operands.size()) {
      queue.emplace_front(made.operands[static_cast<std::size_t>(m_->value(next).index)], distance);
      continue;
    }
    for (const int operand : made.operands) queue.emplace_front(operand, distance);
    // An inner loop of index arithmetic reads values from around it, too.
    const auto within = [&](const auto& self, const Operation& around) -> void {
      for (const int region : around.regions)
        for (const int block : m_->regions[static_cast<std::size_t>(region)].blocks)
          for (const int inner : m_->block(block).ops) {
            for (const int operand : m_->op(inner).operands) queue.emplace_front(operand, distance);
            self(self, m_->op(inner));
          }
    };
    within(within, made);
  }
  return found;
}

int Sources::climb(int value, const std::function<bool(const Operation&)>& enough) const {
  std::unordered_set<int> visited;
  while (visited.insert(value).second) {
    step(value);
    if (const int before = yielded(value); before != kNone) {
      value = before;
      continue;
    }
    const int op = m_->value(value).op;
    if (op == kNone) return value;
    const Operation& made = m_->op(op);
    if (enough(made) || class_of(made) != OpClass::view || made.operands.empty()) return value;
    value = made.operands[0];
  }
  return value;
}

int Sources::root(int value) const {
  return climb(value, [](const Operation&) { return false; });
}

bool Sources::in_ring(int value) const {
  bool found = false;
  climb(value, [&](const Operation& made) {
    if (made.name == "ttg.memdesc_index") {
      // A constant index names one buffer, a changing one walks the ring.
      const int index = made.operands.size() > 1 ? m_->value(made.operands[1]).op : kNone;
      found = index == kNone || m_->op(index).name != "arith.constant";
    }
    return found;
  });
  return found;
}

}  // namespace twill::ttgir
