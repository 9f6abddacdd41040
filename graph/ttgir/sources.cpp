#include "graph/ttgir/sources.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <unordered_set>

#include "graph/error.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kLoopBounds = 3;  // operands of an scf.for before its variables' first values
constexpr int kMostBefore = 2;          // iterations of which each is told from the others
constexpr std::int64_t kMaxSourceSteps = 5'000'000;  // seconds; real loops take thousands

}  // namespace

Sources::Sources(const Module& module, int loop, int inner)
    : m_(&module), loop_(loop), inner_(inner), nodes_(module.values.size()) {
  const auto body_of = [&](int op) {
    return m_->regions[static_cast<std::size_t>(m_->op(op).regions[0])].blocks[0];
  };
  body_ = body_of(loop);
  for (const int op : m_->block(body_).ops) {
    if (op != inner) {
      ops_.push_back(op);
      continue;
    }
    const auto& within = m_->block(body_of(inner)).ops;
    ops_.insert(ops_.end(), within.begin(), within.end());
  }
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

bool Sources::under(int op, int loop) const {
  while (op != kNone && op != loop) op = m_->parent(op);
  return op == loop;
}

int Sources::inner_variable(int value) const {
  const Value& v = m_->value(value);
  if (inner_ == kNone || v.block == kNone || v.index == 0) return -1;
  const int around = m_->regions[static_cast<std::size_t>(m_->block(v.block).region)].op;
  return around == inner_ ? v.index - 1 : -1;
}

int Sources::inner_yield(std::size_t k) const {
  const int body = m_->regions[static_cast<std::size_t>(m_->op(inner_).regions[0])].blocks[0];
  const auto& ops = m_->block(body).ops;
  if (ops.empty()) return kNone;
  const Operation& yield = m_->op(ops.back());
  return k < yield.operands.size() ? yield.operands[k] : kNone;
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
  std::set<std::tuple<std::size_t, int, int>> known;
  // What comes from an earlier iteration is another thing than what comes from this one, though it
  // has the same name: a number may be made of the largest so far and of the one before it. (What
  // is made of itself comes from all iterations before.)
  std::set<std::pair<int, int>> visited;
  // 0-1 breadth first: nearest first. Value, iterations before, inner iterations before.
  std::deque<std::tuple<int, int, int>> queue = {{value, 0, 0}};
  while (!queue.empty()) {
    const auto [next, distance, inner] = queue.front();
    queue.pop_front();
    if (!visited.emplace(next, std::min(distance, kMostBefore)).second) continue;
    step(next);
    const auto& list = nodes_[static_cast<std::size_t>(next)];
    if (!list.empty()) {
      const std::size_t node = list[std::min(static_cast<std::size_t>(copy), list.size() - 1)];
      if (known.emplace(node, distance, inner).second) found.push_back({node, distance, inner});
      continue;
    }
    if (const int before = yielded(next); before != kNone) {
      queue.emplace_back(before, distance + 1, inner);
      continue;
    }
    if (const int k = inner_variable(next); k >= 0) {
      const std::size_t init = kLoopBounds + static_cast<std::size_t>(k);
      const auto& operands = m_->op(inner_).operands;
      if (init < operands.size()) queue.emplace_front(operands[init], distance, inner);
      if (const int before = inner_yield(static_cast<std::size_t>(k)); before != kNone)
        queue.emplace_back(before, distance, inner + 1);
      continue;
    }
    const int op = m_->value(next).op;
    if (op == kNone || !inside(op) || op == loop_) continue;
    if (op == inner_) {
      const int last = inner_yield(static_cast<std::size_t>(m_->value(next).index));
      if (last != kNone) queue.emplace_front(last, distance, inner);
      continue;
    }
    const Operation& made = m_->op(op);
    // A wait hands its operands on one by one; all else mixes them.
    if (class_of(made) == OpClass::transparent && made.results.size() == made.operands.size()) {
      queue.emplace_front(made.operands[static_cast<std::size_t>(m_->value(next).index)], distance,
                          inner);
      continue;
    }
    for (const int operand : made.operands) queue.emplace_front(operand, distance, inner);
    // An inner loop of index arithmetic reads values from around it, too.
    const auto within = [&](const auto& self, const Operation& around) -> void {
      for (const int region : around.regions)
        for (const int block : m_->regions[static_cast<std::size_t>(region)].blocks)
          for (const int deeper : m_->block(block).ops) {
            for (const int operand : m_->op(deeper).operands)
              queue.emplace_front(operand, distance, inner);
            self(self, m_->op(deeper));
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
