// The function around a loop whose first iterations stand before it (see folded_text.hpp).
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/folded_text.hpp"
#include "graph/ttgir/op_text.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostNames = 1'000;  // that a value has, one behind the other
constexpr char kMark = '\1';       // around what stands for the name of a result of the loop

std::string mark_of(int node, int result, std::int64_t distance) {
  return kMark + std::to_string(node) + "," + std::to_string(result) + "," +
         std::to_string(distance) + kMark;
}

}  // namespace

std::string FoldedText::first(int node, int result, std::int64_t distance,
                              const std::string& type) {
  const int loop = l_.first_loop();
  if (peeled_ == nullptr) {
    std::string name = "%" + unique("first");
    line(Where::before, "    " + name + " = ub.poison : " + type, loop);
    return name;
  }
  const std::int64_t iteration = -distance - peeled_->ahead[twill::at(node)];
  const auto found = peeled_->first.find({node, result, iteration});
  if (found != peeled_->first.end()) return text_of(found->second, found->second.value, loop);
  const auto known = first_of_left_.find({node, result, distance});
  if (known != first_of_left_.end()) return known->second;
  cannot_undo(l_.node(node).op, "what it begins with is not known");
}

bool FoldedText::is_set(int v) const {
  if (peeled_ == nullptr) return false;
  const FoldedLoop::Node& node = l_.node(v);
  const Operation& op = m_.op(node.op);
  if (op.name != "tt.splat" || op.operands.size() != 1 || peeled_->once.count({v, 0}) != 0)
    return false;
  const FoldedSource& s = node.reads[0];
  const Type* type = l_.type(op.operands[0]);
  return s.kind == FoldedSource::number && s.iteration == 1 && type != nullptr && type->bits == 1;
}

std::optional<std::string> FoldedText::without_guard(int v) {
  const FoldedLoop::Node& node = l_.node(v);
  if (m_.op(node.op).name != "arith.andi" || node.reads.size() != 2) return std::nullopt;
  const Execution& x = l_.at(l_.execution(node.op, kFirstSeen));
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
    if (reads_set(v, k) && !reads_set(v, 1 - k)) return read_text(v, 1 - k, x.names[1 - k]);
  return std::nullopt;
}

std::string FoldedText::end(const Datum& bound, int name) {
  const int loop = l_.first_loop();
  if (peeled_->more == 0) return text_of(bound, name, loop);
  const Linear& step = *r_.loops.front().bounds[2].number;
  if (!step.terms.empty()) cannot_undo(loop, "its step is not known");
  const std::int64_t added = peeled_->more * step.constant;
  if (bound.made != kNone) {  // what the pipeliner has subtracted
    const Execution& made = l_.at(bound.made);
    const auto known = [&](std::int64_t number) {
      return made.reads.size() == 2 && made.reads[1].number &&
             made.reads[1].number->terms.empty() && made.reads[1].number->constant == number;
    };
    if ((m_.op(made.op).name == "arith.subi" && known(added)) ||
        (m_.op(made.op).name == "arith.addi" && known(-added)))
      return text_of(made.reads[0], made.names[0], loop);
  }
  const Type& type = *l_.type(name);
  const std::string text = text_of(bound, name, loop);
  std::string result = "%" + unique("end");
  const std::string more = constant(added, type.bits);
  line(Where::before,
       "    " + result + " = arith.addi " + text + ", " + more + " : " + std::string(type.text),
       loop);
  return result;
}

std::optional<std::string> FoldedText::number_ahead(int v, std::size_t k, int name,
                                                    std::int64_t ahead) {
  const FoldedSource& s = l_.node(v).reads[k];
  if (s.kind == FoldedSource::variable)
    return earlier(variable_, *r_.loops.front().bounds[2].number, ahead, name, l_.node(v).op);
  if (s.kind != FoldedSource::node) return std::nullopt;
  const int u = l_.node_index(s.op);
  const auto even = peeled_->even.find(u);
  if (even == peeled_->even.end()) return std::nullopt;
  if (recurs_.count(v) != 0 && s.iteration != 0) return std::nullopt;  // it is carried
  if (recurs_.count(u) != 0) {
    write_number(u, 0);
    return earlier(numbers_.at({u, 0}), even->second, s.iteration + ahead, name, l_.node(v).op);
  }
  write_number(u, s.iteration + ahead);
  return numbers_.at({u, s.iteration + ahead});
}

/// Of a node that adds to a number just what that grows by in so many iterations: the number.
std::optional<std::string> FoldedText::without_addition(int u, std::int64_t before) {
  const FoldedLoop::Node& node = l_.node(u);
  const Linear& by = peeled_->even.at(u);
  if (before == 0 || m_.op(node.op).name != "arith.addi") return std::nullopt;
  const Execution& x = l_.at(l_.execution(node.op, kFirstSeen));
  const Execution& next = l_.at(l_.execution(node.op, kFirstSeen + 1));
  const Linear whole = sum_of(Linear(), by, before);
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const FoldedSource& to = node.reads[1 - k];
    const auto &added = x.reads[k].number, &later = next.reads[k].number;
    if (!added || !later || x.reads[k].assumed || !equal(*added, whole) || !equal(*later, whole))
      continue;
    if (to.kind == FoldedSource::node && to.iteration != 0) continue;
    const auto number = number_ahead(u, 1 - k, x.names[1 - k], 0);
    return number ? *number : read_plain(u, 1 - k, x.names[1 - k]);
  }
  return std::nullopt;
}

/// The numbers of a node so many iterations before.
void FoldedText::write_number(int u, std::int64_t before) {
  if (numbers_.count({u, before}) != 0) return;
  const FoldedLoop::Node& node = l_.node(u);
  const Execution& x = l_.at(l_.execution(node.op, kFirstSeen));
  if (++chain_ > kMostNames) cannot_undo(node.op, "it is the end of too long a chain of ops");
  if (const auto undone = without_addition(u, before)) {
    numbers_[{u, before}] = *undone;
    --chain_;
    return;
  }
  std::map<int, std::string> names;
  for (std::size_t k = 0; k < x.reads.size(); ++k) {
    if (l_.drops(x.names[k])) continue;
    const auto number = number_ahead(u, k, x.names[k], before);
    names[x.names[k]] = once(u, k, x.names[k], number ? *number : read_plain(u, k, x.names[k]));
  }
  --chain_;
  const std::string name = "%" + unique(name_of(m_.op(node.op).results[0]));
  numbers_[{u, before}] = name;
  if (before == 0) results_[{u, 0}] = name;
  line_in_body(name + " = " + op_text(m_, node.op, names), node.op);
}

std::string FoldedText::earlier(const std::string& number, const Linear& by,
                                std::int64_t iterations, int name, int op) {
  if (!by.terms.empty() && iterations != 0)
    cannot_undo(op, "it is ahead by a number that is not known");
  const std::int64_t less = by.constant * iterations;
  if (less == 0) return number;
  const auto [found, fresh] = earlier_.try_emplace({number, less}, "");
  if (fresh) {
    const Type& type = *l_.type(name);
    std::string subtracted;
    if (type.kind == TypeKind::tensor) {
      subtracted = "%" + unique("less");
      line(Where::before,
           "    " + subtracted + " = arith.constant dense<" + std::to_string(less) +
               "> : " + std::string(type.text),
           op);
    } else {
      subtracted = constant(less, type.bits);
    }
    found->second = "%" + unique(name_of(name));
    line_in_body(found->second + " = arith.subi " + number + ", " + subtracted + " : " +
                     std::string(type.text),
                 op);
  }
  return found->second;
}

std::string FoldedText::once(int v, std::size_t k, int name, const std::string& later) {
  if (peeled_ == nullptr) return later;
  const auto found = peeled_->once.find({v, k});
  if (found == peeled_->once.end()) return later;
  Once one;
  one.name = "%" + unique(name_of(name));
  one.type = std::string(l_.type(name)->text);
  one.first = text_of(found->second, name, l_.first_loop());
  one.later = later;
  once_.push_back(one);
  return one.name;
}

int FoldedText::operand_tile(const Operation& op) const {
  for (const int value : op.operands)
    if (l_.is_kind(value, TypeKind::tensor)) return value;
  return kNone;
}

std::map<int, std::string> FoldedText::names_before(int execution) {
  const Execution& x = l_.at(execution);
  std::map<int, std::string> names;
  for (std::size_t k = 0; k < x.reads.size(); ++k)
    if (!l_.drops(x.names[k]) && !l_.is_kind(x.names[k], TypeKind::memdesc))
      names[x.names[k]] = text_of(x.reads[k], x.names[k], x.op);
  return names;
}

std::string FoldedText::filled_before(int execution, int value) {
  int writer = kNone;
  for (std::size_t e = 0; e < r_.executions.size(); ++e)
    for (const BufferUse& use : r_.executions[e].buffers) {
      if (use.buffer != execution || !use.writes) continue;
      if (of_loop(r_.executions[e]) || (writer != kNone && writer != static_cast<int>(e)))
        cannot_undo(r_.executions[e].op, "it fills a buffer that something else fills, too");
      writer = static_cast<int>(e);
    }
  const int made = l_.at(execution).op;
  if (writer == kNone || !is_filler(m_.op(l_.at(writer).op)))
    cannot_undo(made, "what its buffer is filled with is not known");
  const std::string base = name_of(value);
  const auto [tile, type] =
      loaded(Where::before, l_.at(writer).op, base, names_before(writer), writer);
  std::string& name = made_[{execution, value}];
  name = "%" + unique(base);
  line(Where::before,
       "    " + name + " = ttg.local_alloc " + tile + " : (" + type + ") -> " +
           std::string(l_.type(value)->text),
       l_.at(writer).op);
  return name;
}

/// Numbers that are made of themselves, of earlier iterations.
void FoldedText::find_recurring() {
  for (const auto& [u, by] : peeled_->even) {
    std::vector<int> work = {u};
    std::set<int> seen;
    while (!work.empty()) {
      const int v = work.back();
      work.pop_back();
      for (const FoldedSource& s : l_.node(v).reads) {
        if (s.kind != FoldedSource::node) continue;
        const int w = l_.node_index(s.op);
        if (w == u) recurs_.insert(u);
        if (peeled_->even.count(w) != 0 && seen.insert(w).second) work.push_back(w);
      }
    }
  }
}

void FoldedText::find_befores() {
  for (std::size_t e = 0; e < r_.executions.size(); ++e) {
    const Execution& x = r_.executions[e];
    if (of_loop(x)) continue;
    const auto [found, fresh] = executed_.try_emplace(x.op, static_cast<int>(e));
    if (!fresh) found->second = kNone;  // in a loop before this one
  }
}

std::string FoldedText::before_text(int value, int user) {
  for (int steps = 0; steps < kMostNames; ++steps) {
    value = l_.through(value);
    const Value& v = m_.value(value);
    if (v.op == kNone) {
      const auto found = arguments_.find(value);
      if (found != arguments_.end()) return found->second;
      if (const auto variable = outer_variable(value)) return *variable;
      break;
    }
    const Operation& op = m_.op(v.op);
    if (class_of(op) == OpClass::transparent && op.operands.size() == op.results.size()) {
      value = op.operands[twill::at(v.index)];
      continue;
    }
    const auto found = executed_.find(v.op);
    if (found == executed_.end() || found->second == kNone) break;
    const Type* type = l_.type(value);
    if (type != nullptr && type->tensor_memory) {
      int root = v.op;
      while (class_of(m_.op(root)) == OpClass::view && !m_.op(root).operands.empty() &&
             m_.value(m_.op(root).operands[0]).op != kNone)
        root = m_.value(m_.op(root).operands[0]).op;
      const auto buffer = executed_.find(root);
      const Type* ring = l_.type(m_.op(root).results.at(0));
      if (buffer == executed_.end() || buffer->second == kNone || ring == nullptr ||
          type->shape.size() != 2 || (ring->shape.size() > 2 && ring->shape[0] != 1))
        cannot_undo(user, "which buffer of a ring it reads behind the loop is not known");
      return collapsed(buffer->second, value);
    }
    Datum datum;
    datum.made = found->second;
    datum.value = value;
    return text_of(datum, value, user);
  }
  cannot_undo(user, "where what it reads comes from is not known");
}

std::string FoldedText::left(int index, std::size_t k, int user) {
  const Operation& loop = m_.op(index);
  const int block = m_.regions[twill::at(loop.regions[0])].blocks[0];
  const Operation& yield = m_.op(m_.block(block).ops.back());
  std::vector<std::size_t> variables = {k};  // each takes over what the next one had
  if (k >= yield.operands.size()) cannot_undo(user, "it is not known what the loop leaves");
  int value = yield.operands[k];
  for (int steps = 0;; ++steps) {
    const Value& v = m_.value(value);
    if (steps == kMostNames) cannot_undo(user, "it is not known what the loop leaves");
    if (v.op == kNone && v.block == block && v.index > 0) {
      variables.push_back(twill::at(v.index) - 1);
      value = yield.operands.at(variables.back());
      continue;
    }
    const Operation* made = v.op == kNone ? nullptr : &m_.op(v.op);
    if (made == nullptr || class_of(*made) != OpClass::transparent ||
        made->operands.size() != made->results.size())
      break;
    value = made->operands[twill::at(v.index)];
  }
  const Value& v = m_.value(value);
  if (v.op == kNone || !l_.has_node(v.op))
    cannot_undo(user, "it is not known what the loop leaves");
  const int node = l_.node_index(v.op);
  const std::int64_t ahead = peeled_->ahead[twill::at(node)];
  const auto back = static_cast<std::int64_t>(variables.size());
  const std::int64_t distance = back + peeled_->more - ahead;
  if (distance < 1) cannot_undo(user, "it reads what the loop makes for a later iteration");
  carried(node, v.index, distance);
  // With no iteration the loop leaves what its variables begin with.
  for (std::int64_t t = 0; t < back - ahead; ++t) {
    if (peeled_->first.count({node, v.index, t - back}) != 0) continue;
    const int begin = loop.operands.at(kBounds + variables[static_cast<std::size_t>(t)]);
    first_of_left_[{node, v.index, back - ahead - t}] = before_text(begin, user);
  }
  return mark_of(node, v.index, distance);
}

std::string FoldedText::after_text(int value, int user) {
  value = l_.through(value);
  for (int steps = 0; same_.count(value) != 0; ++steps) {
    if (steps == kMostNames) cannot_undo(user, "where what it reads comes from is not known");
    value = l_.through(same_.at(value));
  }
  if (const auto found = left_.find(value); found != left_.end()) return found->second;
  if (const auto last = lasts_.find(value); last != lasts_.end()) {
    const auto& [node, result, distance] = last->second;
    carried(node, result, distance);
    return left_[value] = mark_of(node, result, distance);
  }
  if (held_.count(value) != 0 || brought_.count(value) != 0) {  // a buffer, by what is in it
    const auto brought = brought_.find(value);
    const auto [tile, type] = brought != brought_.end()
                                  ? brought->second
                                  : std::pair(after_text(held_.at(value), user),
                                              std::string(l_.type(held_.at(value))->text));
    std::string& name = left_[value];
    name = "%" + unique(name_of(value));
    line(Where::after,
         "    " + name + " = ttg.local_alloc " + tile + " : (" + type + ") -> " +
             std::string(l_.type(value)->text),
         user);
    return name;
  }
  if (const auto result = outer_result(value)) return *result;
  if (const int made = m_.value(value).op; made != kNone && behind_.count(made) != 0) {
    if (++chain_ > kMostNames) cannot_undo(user, "it is the end of too long a chain of ops");
    write_after_op(made);  // it was not needed before
    --chain_;
    if (left_.count(value) == 0 && same_.count(value) == 0 && lasts_.count(value) == 0)
      cannot_undo(user, "where what it reads comes from is not known");
    return after_text(value, user);
  }
  if (const int loop = l_.loop_left_by(value); loop != kNone)
    return left(loop, twill::at(m_.value(value).index), user);
  return before_text(value, user);
}

/// A buffer behind the loop gets a new tile: nothing is known of what was in it.
void FoldedText::hold(int buffer) {
  const int made = m_.value(buffer).op;
  if (made != kNone && class_of(m_.op(made)) == OpClass::view)
    cannot_undo(made, "a part of a buffer is filled behind the loop");
  held_.erase(buffer);
  brought_.erase(buffer);
  left_.erase(buffer);
}

/// Not those that only say which barrier is waited for, in which phase.
std::set<int> FoldedText::needed_behind() const {
  std::set<int> needed, values;
  const std::vector<int> behind = l_.behind();
  for (auto index = behind.rbegin(); index != behind.rend(); ++index) {
    const Operation& op = m_.op(*index);
    const OpClass c = class_of(op);
    if (is_kept(*index)) {
      needed.insert(*index);
      for (const int value : read_by(*index)) values.insert(l_.through(value));
      continue;
    }
    if (c == OpClass::synchronise || c == OpClass::terminator || only_waits(m_, *index)) continue;
    if (!op.results.empty() && is_barrier_buffer(m_, op.results[0])) continue;
    const bool computes = c == OpClass::replicated || c == OpClass::elementwise ||
                          c == OpClass::view || c == OpClass::layout;
    if (computes && std::none_of(op.results.begin(), op.results.end(),
                                 [&](int value) { return values.count(value) != 0; }))
      continue;
    needed.insert(*index);
    std::vector<int> ops = {*index};  // with what ops in its regions read
    for (std::size_t k = 0; k < ops.size(); ++k) {
      for (const int value : m_.op(ops[k]).operands) values.insert(l_.through(value));
      for (const int region : m_.op(ops[k]).regions)
        for (const int block : m_.regions[twill::at(region)].blocks)
          ops.insert(ops.end(), m_.block(block).ops.begin(), m_.block(block).ops.end());
    }
  }
  return needed;
}

void FoldedText::write_after() {
  const std::vector<int> behind = l_.behind();
  behind_.insert(behind.begin(), behind.end());
  find_kept(behind);
  const std::set<int> needed = needed_behind();
  std::size_t level = l_.around().size();
  for (const int op : behind) {
    if (l_.level_of(op) != level) {  // what a buffer has there is that of some tile
      held_.clear();
      brought_.clear();
      level = l_.level_of(op);
    }
    if (needed.count(op) != 0) write_after_op(op);
  }
}

/// A copy from shared memory is a store of the tile that lies there.
std::string FoldedText::descriptor_store(int index, const std::map<int, std::string>& names,
                                         const std::string& tile, const std::string& type) const {
  const Operation& op = m_.op(index);
  std::string coordinates, descriptor;
  for (const int value : op.operands) {
    const Type* t = l_.type(value);
    if (t == nullptr) cannot_undo(index, "it has a value without a type");
    if (t->kind == TypeKind::descriptor)
      descriptor = names.at(value);
    else if (t->kind == TypeKind::scalar)
      coordinates += (coordinates.empty() ? "" : ", ") + names.at(value);
  }
  if (descriptor.empty()) cannot_undo(index, "its descriptor is not read");
  std::string text = "tt.descriptor_store ";
  if (op.name == "ttng.async_tma_reduce") {
    const std::string own = op_text(m_, index, {});
    const std::size_t kind = own.find(' '), end = own.find(',');
    if (op.generic || kind > end) cannot_undo(index, "how it reduces is not read");
    text = "tt.descriptor_reduce" + own.substr(kind, end - kind) + ", ";
  }
  return text + descriptor + "[" + coordinates + "], " + tile + " : " +
         std::string(l_.type(op.operands[0])->text) + ", " + type;
}

bool FoldedText::is_tile_store(const Operation& op) {
  return op.name == "ttng.async_tma_copy_local_to_global" || op.name == "ttng.async_tma_reduce";
}

/// Buffers that a tile only passes through on its way out.
void FoldedText::find_staging() {
  std::map<int, bool> all;  // node -> is it read by such stores alone?
  for (std::size_t v = 0; v < l_.nodes().size(); ++v)
    for (const FoldedSource& s : l_.nodes()[v].reads) {
      if (s.kind != FoldedSource::node) continue;
      const int u = l_.node_index(s.op);
      const Operation& op = m_.op(s.op);
      const bool fills = operand_tile(op) != kNone && (class_of(op) == OpClass::local_store ||
                                                       class_of(op) == OpClass::local_alloc);
      if (!fills) continue;
      bool& only = all.try_emplace(u, true).first->second;
      only = only && is_tile_store(m_.op(l_.nodes()[v].op)) &&
             l_.distance(static_cast<int>(v), s) == 0;
    }
  for (const auto& [u, only] : all)
    if (only) staging_.insert(u);
}

void FoldedText::store_staged(int v, const std::map<int, std::string>& names) {
  const FoldedLoop::Node& node = l_.node(v);
  for (const FoldedSource& s : node.reads) {
    if (s.kind != FoldedSource::node || staging_.count(l_.node_index(s.op)) == 0) continue;
    const int u = l_.node_index(s.op), tile = operand_tile(m_.op(s.op));
    const Execution& x = l_.at(l_.execution(s.op, kFirstSeen));
    const auto k = std::find(x.names.begin(), x.names.end(), tile) - x.names.begin();
    const std::string text = read_text(u, static_cast<std::size_t>(k), tile);
    line_in_body(
        descriptor_store(node.op, names, text, on_warps(std::string(l_.type(tile)->text), u)),
        node.op);
    return;
  }
  cannot_undo(node.op, "the tile that it copies is not known");
}

void FoldedText::store_after(int index) {
  const Operation& op = m_.op(index);
  std::map<int, std::string> names;
  int tile = kNone;
  for (const int value : op.operands) {
    if (const auto held = held_.find(l_.through(value)); held != held_.end())
      tile = held->second;
    else if (!l_.is_kind(value, TypeKind::memdesc))
      names[value] = after_text(value, index);
  }
  if (tile == kNone) cannot_undo(index, "the tile that it copies behind the loop is not known");
  const std::string text = after_text(tile, index);
  line(Where::after,
       "    " + descriptor_store(index, names, text, std::string(l_.type(tile)->text)), index);
}

/// What the whole loop leaves, of an op behind it that is its last iteration's.
void FoldedText::left_in_last(int index, int k) {
  const auto found = peeled_->last.results.find({index, k});
  if (found == peeled_->last.results.end()) return;
  const auto& [node, result, back] = found->second;
  if (peeled_->even.count(node) != 0) return;  // a number: it is not asked for
  const std::int64_t distance = back + peeled_->more - peeled_->ahead[twill::at(node)];
  if (distance < 1) cannot_undo(index, "it has what the loop makes for a later iteration");
  lasts_[m_.op(index).results[twill::at(k)]] = {node, result, distance};
}

/// The results of a branch with the last iteration are what the whole loop leaves.
void FoldedText::last_iteration(int index) {
  const Operation& op = m_.op(index);
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    const auto& [node, result, back] = peeled_->last.results.at({index, static_cast<int>(k)});
    const std::int64_t ahead = peeled_->ahead[twill::at(node)];
    const std::int64_t distance = back + peeled_->more - ahead;
    if (distance < 1) cannot_undo(index, "it has what the loop makes for a later iteration");
    carried(node, result, distance);
    left_[op.results[k]] = mark_of(node, result, distance);
    // With no iteration: the other branch, what a variable begins with.
    if (op.regions.size() != 2) cannot_undo(index, "what there is without it is not known");
    const auto& block = m_.regions[twill::at(op.regions[1])].blocks;
    const int value = m_.op(m_.block(block.at(0)).ops.back()).operands.at(k);
    const int from = l_.loop_left_by(value);
    const int begin =
        from == kNone ? value : m_.op(from).operands.at(kBounds + twill::at(m_.value(value).index));
    first_of_left_[{node, result, distance}] = before_text(begin, index);
  }
}

void FoldedText::write_after_op(int index) {
  const Operation& op = m_.op(index);
  const OpClass c = class_of(op);
  if (is_kept(index)) return write_kept(index);
  if (c == OpClass::terminator || c == OpClass::synchronise || only_waits(m_, index) ||
      op.name.starts_with("cf."))
    return;
  if (peeled_->last.branches.count(index) != 0) return last_iteration(index);
  if (peeled_->last.straight.count(index) != 0) {
    for (std::size_t k = 0; k < op.results.size(); ++k) left_in_last(index, static_cast<int>(k));
    return;
  }
  if (c == OpClass::transparent) {
    if (op.operands.size() == op.results.size())
      for (std::size_t k = 0; k < op.operands.size(); ++k) same_[op.results[k]] = op.operands[k];
    return;
  }
  if (!op.results.empty() && is_barrier_buffer(m_, op.results[0])) return;
  if (c == OpClass::local_alloc) {
    if (const int tile = operand_tile(op); tile != kNone) held_[op.results.at(0)] = tile;
    return;
  }
  if (c == OpClass::local_store) {
    const int buffer = l_.through(op.operands.at(1));
    hold(buffer);
    held_[buffer] = op.operands[0];
    return;
  }
  if (c == OpClass::local_load && op.operands.size() == 1 && op.results.size() == 1) {
    // What a partition leaves for the function, as it was stored.
    const auto held = held_.find(l_.through(op.operands[0]));
    if (held != held_.end() && l_.type(held->second)->text == l_.type(op.results[0])->text) {
      same_[op.results[0]] = held->second;
      return;
    }
  }
  if (is_tile_store(op)) return store_after(index);
  if (c == OpClass::copy && is_filler(op)) {
    std::map<int, std::string> names;
    for (const int value : op.operands)
      if (!l_.drops(value) && !l_.is_kind(value, TypeKind::memdesc))
        names[value] = after_text(value, index);
    hold(filled(op));
    brought_[filled(op)] = loaded(Where::after, index, name_of(filled(op)), names, kNone);
    return;
  }
  if (c == OpClass::control || c == OpClass::unknown || c == OpClass::copy ||
      op.name.starts_with("ttng.async_"))
    cannot_undo(index, "what it does behind the loop is not undone");
  std::map<int, std::string> names;
  for (const int value : op.operands)
    if (!l_.drops(value)) names[value] = after_text(value, index);
  std::string text = is_tensor_memory_mma(op) ? product(op, names) : op_text(m_, index, names);
  std::string results;
  for (const int value : op.operands)
    if (l_.is_kind(value, TypeKind::token)) text = without_token(text, name_of(value));
  for (const int value : op.results) {
    left_[value] = "%" + unique(name_of(value));
    results += (results.empty() ? "" : ", ") + left_[value];
  }
  statement(Where::after, results, text, index);
}

std::string FoldedText::with_left_names(std::string text) const {
  for (const auto& [key, name] : left_names_) {
    const auto& [node, result, distance] = key;
    const std::string mark = mark_of(node, result, distance);
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
      text.replace(at, mark.size(), name);
  }
  return text;
}

}  // namespace twill::ttgir
