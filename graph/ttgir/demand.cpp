#include "graph/ttgir/demand.hpp"

#include <algorithm>
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

/// All values that an op reads, also in its regions.
template <typename Visit>
void each_read(const Module& m, int op, const Visit& visit) {
  for (const int value : m.op(op).operands) visit(value);
  for (const int region : m.op(op).regions)
    for (const int block : m.regions[at(region)].blocks)
      for (const int inner : m.block(block).ops) each_read(m, inner, visit);
}

}  // namespace

bool can_be_handed_on(const Module& module, int value) {
  const Type* type = module.type_of(value);
  if (type == nullptr) return false;
  switch (type->kind) {
    case TypeKind::tensor:
    case TypeKind::scalar: return !type->is_pointer() && type->element != "i1";
    case TypeKind::memdesc: {
      const int made = module.value(value).op;
      return made != kNone && !module.op(made).operands.empty() &&
             (class_of(module.op(made)) == OpClass::local_alloc ||
              class_of(module.op(made)) == OpClass::tmem_alloc);
    }
    case TypeKind::token: return true;  // it follows the buffer that it is about
    default: return false;
  }
}

Demand::Demand(const Module& module, int root, std::unordered_set<int> opened,
               const std::unordered_map<int, std::set<int>>& own,
               const std::map<int, std::set<int>>& otherwise)
    : m_(module), root_(root), opened_(std::move(opened)) {
  partitions_[root_];
  collect(root_);
  for (const int op : ops_)
    if (const auto found = own.find(op); found != own.end() && !found->second.empty()) {
      has_own_.insert(op);
      grow(op, found->second);
    }
  // What is read behind the region's loop is the default group's, but for tiles of numbers.
  const Operation& loop = m_.op(root_);
  const std::unordered_set<int> results(loop.results.begin(), loop.results.end());
  for (const Operation& op : m_.ops)
    for (const int value : op.operands) {
      const Type* type = results.count(value) != 0 ? m_.type_of(value) : nullptr;
      if (type != nullptr && (type->kind == TypeKind::scalar ||
                              (type->kind == TypeKind::tensor && !can_be_handed_on(m_, value))))
        need(value, {0});
    }
  settle();
  // Ops that nobody uses: first those without a user, then what is left, which uses itself.
  const auto default_of = [&](int op) {
    for (int around = op; around != kNone; around = m_.parent(around))
      if (const auto found = otherwise.find(around); found != otherwise.end()) return found->second;
    return std::set<int>{0};
  };
  for (const int op : ops_) {
    if (is_opened(op)) {
      for (const int value : m_.op(op).operands) first_user_.emplace(value, op);
    } else {
      each_read(m_, op, [&](int value) { first_user_.emplace(value, op); });
    }
  }
  for (const bool sinks : {true, false}) {
    for (auto it = ops_.rbegin(); it != ops_.rend(); ++it) {
      if (!partitions_[*it].empty() || class_of(m_.op(*it)) == OpClass::terminator) continue;
      const auto& made = m_.op(*it).results;
      if (sinks &&
          std::any_of(made.begin(), made.end(), [&](int v) { return first_user_.count(v) != 0; }))
        continue;
      grow(*it, default_of(*it));
    }
    settle();
  }
}

const std::vector<int>& Demand::body(int loop) const {
  return m_.block(m_.regions[at(m_.op(loop).regions[0])].blocks[0]).ops;
}

void Demand::collect(int loop) {
  for (const int op : body(loop)) {
    ops_.push_back(op);
    partitions_[op];
    if (is_opened(op)) collect(op);
  }
}

int Demand::yielded(int loop, int k) const {
  const std::vector<int>& ops = body(loop);
  if (ops.empty() || class_of(m_.op(ops.back())) != OpClass::terminator) return kNone;
  const std::vector<int>& values = m_.op(ops.back()).operands;
  return k >= 0 && at(k) < values.size() ? values[at(k)] : kNone;
}

int Demand::loop_of_argument(int value) const {
  const int block = m_.value(value).block;
  if (block == kNone) return kNone;
  const int loop = m_.regions[at(m_.block(block).region)].op;
  return loop != kNone && is_opened(loop) ? loop : kNone;
}

/// A value is needed in partitions: who makes it, or hands it on, hears of it.
void Demand::need(int value, const std::set<int>& ids) {
  std::vector<int> work = {value};
  while (!work.empty()) {
    const int now = work.back();
    work.pop_back();
    std::set<int>& known = needed_[now];
    const std::size_t before = known.size();
    known.insert(ids.begin(), ids.end());
    if (known.size() == before) continue;
    const auto carried = [&](int loop, int k) {
      const std::vector<int>& operands = m_.op(loop).operands;
      if (const int value_of = yielded(loop, k); value_of != kNone) work.push_back(value_of);
      if (k >= 0 && at(k) + kBounds < operands.size()) work.push_back(operands[at(k) + kBounds]);
    };
    if (const int made = m_.value(now).op; made != kNone) {
      if (partitions_.count(made) == 0) continue;
      if (is_opened(made))
        carried(made, m_.value(now).index);
      else if (has_own_.count(made) == 0)
        grow(made, ids);
    } else if (const int loop = loop_of_argument(now); loop != kNone) {
      carried(loop, m_.value(now).index - 1);
    }
  }
}

/// An op is in more partitions, and so are the loops around it.
void Demand::grow(int op, const std::set<int>& ids) {
  for (int around = op; around != kNone; around = m_.parent(around)) {
    const auto found = partitions_.find(around);
    if (found == partitions_.end()) break;
    const std::size_t before = found->second.size();
    found->second.insert(ids.begin(), ids.end());
    if (found->second.size() != before) grown_.push_back(around);
    if (around == root_) break;
  }
}

void Demand::settle() {
  while (!grown_.empty()) {
    const int op = grown_.back();
    grown_.pop_back();
    const std::set<int> ids = partitions_.at(op);
    if (is_opened(op)) {
      const std::vector<int>& operands = m_.op(op).operands;
      for (std::size_t k = 0; k < std::min(kBounds, operands.size()); ++k) need(operands[k], ids);
    } else if (class_of(m_.op(op)) != OpClass::terminator) {
      each_read(m_, op, [&](int value) { need(value, ids); });
    }
  }
}

/// The partitions that have a value of the region; none: it comes from outside.
std::set<int> Demand::made_in(int value, std::unordered_set<int>& seen) const {
  if (!seen.insert(value).second) return {};
  if (const int made = m_.value(value).op; made != kNone) {
    const auto found = partitions_.find(made);
    if (found == partitions_.end()) return {};
    if (!is_opened(made)) return found->second;
    const int from = yielded(made, m_.value(value).index);
    return from == kNone ? std::set<int>{} : made_in(from, seen);
  }
  const int loop = loop_of_argument(value);
  const int from = loop == kNone ? kNone : yielded(loop, m_.value(value).index - 1);
  return from == kNone ? std::set<int>{} : made_in(from, seen);
}

std::set<int> Demand::takers(int token) const {
  std::unordered_set<int> seen;
  while (seen.insert(token).second) {
    const auto user = first_user_.find(token);
    if (user == first_user_.end()) break;
    const int op = user->second;
    const bool ends = class_of(m_.op(op)) == OpClass::terminator;
    if (!ends && !is_opened(op)) return partitions(op);
    // Handed to a loop, or on to its next iteration: who takes the variable.
    const std::vector<int>& operands = m_.op(op).operands;
    const auto k = static_cast<std::size_t>(std::find(operands.begin(), operands.end(), token) -
                                            operands.begin());
    const int loop = ends ? m_.parent(op) : op;
    const std::size_t first = ends ? 0 : kBounds;
    const auto& arguments = m_.block(m_.regions[at(m_.op(loop).regions[0])].blocks[0]).arguments;
    if (k < first || k - first + 1 >= arguments.size()) break;
    token = arguments[k - first + 1];
  }
  return {};
}

std::vector<std::set<int>> Demand::outputs(int loop) const {
  std::vector<std::set<int>> sets;
  const auto& block = m_.block(m_.regions[at(m_.op(loop).regions[0])].blocks[0]);
  for (std::size_t k = 0; k < m_.op(loop).results.size(); ++k) {
    std::unordered_set<int> seen;
    const int value = yielded(loop, static_cast<int>(k));
    const Type* type = m_.type_of(m_.op(loop).results[k]);
    std::set<int> made;
    if (type != nullptr && type->kind == TypeKind::token && k + 1 < block.arguments.size())
      made = takers(block.arguments[k + 1]);
    if (made.empty() && value != kNone) made = made_in(value, seen);
    if (made.empty()) {  // from outside: where it is used
      std::vector<int> names = {m_.op(loop).results[k]};
      if (k + 1 < block.arguments.size()) names.push_back(block.arguments[k + 1]);
      for (const int name : names)
        if (const auto found = needed_.find(name); found != needed_.end())
          made.insert(found->second.begin(), found->second.end());
    }
    if (made.empty() && !partitions(loop).empty()) made.insert(*partitions(loop).begin());
    if (made.empty()) made.insert(0);
    sets.push_back(std::move(made));
  }
  return sets;
}

}  // namespace twill::ttgir
