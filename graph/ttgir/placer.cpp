#include "graph/ttgir/placer.hpp"

#include <algorithm>
#include <tuple>

#include "graph/index.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

// Of the search for where an inner loop's values are used; what a longer chain of loop variables
// hands on stays with the loop.
constexpr int kMaxPasses = 64;

bool is_inner_loop(const Operation& op) {
  return op.name == "scf.for";  // with a body, or the parser would have refused it
}

/// All ops in the regions of an op, in the text's order; of other ops than loops only the op.
void ops_within(const Module& m, int loop, std::vector<int>& ops) {
  for (const int region : m.op(loop).regions)
    for (const int block : m.regions[at(region)].blocks)
      for (const int inner : m.block(block).ops) {
        ops.push_back(inner);
        if (is_inner_loop(m.op(inner))) ops_within(m, inner, ops);
      }
}

bool is_pointer_load(const Module& m, int op) {
  if (op == kNone || m.op(op).name != "tt.load" || m.op(op).results.empty()) return false;
  const Type* type = m.type_of(m.op(op).results[0]);
  return type != nullptr && type->kind == TypeKind::tensor;
}

std::string id_list(const std::set<int>& ids) {
  std::string text;
  for (const int id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text;
}

/// Buffers of tensor memory from before the loop that ops after it load from.
std::set<int> accumulators(const Module& m, int loop) {
  std::set<int> found;
  const std::vector<int>& ops = m.block(m.op(loop).block).ops;
  for (auto it = ops.rbegin(); it != ops.rend() && *it != loop; ++it)
    if (class_of(m.op(*it)) == OpClass::tmem_load)
      for (const int value : m.op(*it).operands)
        if (const Type* t = m.type_of(value); t != nullptr && t->kind == TypeKind::memdesc)
          found.insert(value);
  return found;
}

}  // namespace

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

std::vector<Pin> partition_pins(const LoweredModule& lowered, const Problem& problem) {
  const Module& m = lowered.module;
  const std::vector<int> index = problem_ops(lowered, problem);
  const std::set<int> held = accumulators(m, lowered.loop.loop);
  const int products = product_slot(problem);
  std::vector<Pin> pins;
  std::vector<int> read_after;
  std::map<int, std::vector<int>> sharing;  // loads and stores of other buffers of tensor memory
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (index[k] < 0) continue;
    const Operation& op = m.op(lowered.loop.nodes[k].op);
    if (is_tensor_memory_mma(op)) {
      const bool known =
          std::any_of(pins.begin(), pins.end(), [&](const Pin& pin) { return pin.op == index[k]; });
      if (products >= 0 && !known && slot_fits(problem, index[k], products))
        pins.push_back({Pin::on_slot, index[k], products, -1, -1});
      continue;
    }
    const auto join = [&](std::vector<int>& group) {
      if (!problem.ops[at(index[k])].variable_latency &&
          std::find(group.begin(), group.end(), index[k]) == group.end())
        group.push_back(index[k]);
    };
    if (lowered.loop.handed_out.count(k) != 0) join(read_after);
    const OpClass c = class_of(op);
    if (c != OpClass::tmem_load && c != OpClass::tmem_store) continue;
    for (const int value : op.operands)
      if (const Type* t = m.type_of(value); t != nullptr && t->kind == TypeKind::memdesc)
        join(held.count(value) != 0 ? read_after : sharing[value]);
  }
  sharing[kNone] = read_after;
  for (const auto& [buffer, group] : sharing)
    for (std::size_t i = 1; i < group.size(); ++i)
      pins.push_back({Pin::same_slot, group[0], -1, -1, group[i]});
  return pins;
}

int product_slot(const Problem& problem) {
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    if (!problem.warps[w].variable_latency && problem.warps[w].width < 4)
      return static_cast<int>(w);
  return -1;
}

Placer::Placer(const LoweredModule& lowered, const Problem& problem, const Schedule& schedule)
    : l_(lowered), m_(lowered.module), problem_(problem), schedule_(schedule) {
  body_ = m_.block(m_.regions[at(m_.op(l_.loop.loop).regions[0])].blocks[0]).ops;
  index_ = problem_ops(lowered, problem);
  number_partitions();
  number_clusters();
  place_nodes();
  note_users();
  for (const int op : body_)
    if (is_spread(op)) spread(op);
  place_rest();
}

const std::set<int>* Placer::partitions_within(int op) const {
  const auto found = within_.find(op);
  return found == within_.end() ? nullptr : &found->second;
}

const std::vector<std::set<int>>* Placer::outputs_within(int op) const {
  const auto found = outputs_.find(op);
  return found == outputs_.end() ? nullptr : &found->second;
}

/// An inner loop with tensor memory products, on a machine with a slot for them.
bool Placer::is_spread(int op) const {
  if (!is_inner_loop(m_.op(op)) || product_slot(problem_) < 0) return false;
  std::vector<int> ops;
  ops_within(m_, op, ops);
  return std::any_of(ops.begin(), ops.end(),
                     [&](int inner) { return is_tensor_memory_mma(m_.op(inner)); });
}

/// Slots that have ops of the schedule, or of an inner loop that is spread.
std::vector<int> Placer::used_slots() const {
  std::set<int> used(schedule_.warp.begin(), schedule_.warp.end());
  for (const int op : body_) {
    if (!is_spread(op)) continue;
    used.insert(product_slot(problem_));
    if (const int loads = variable_latency_slot(problem_); loads >= 0) used.insert(loads);
  }
  return {used.begin(), used.end()};
}

void Placer::number_partitions() {
  std::vector<int> slots = used_slots();
  std::map<int, int> yields;  // of values that ops after the loop read, by slot
  std::map<int, int> stores;  // of accumulators, by slot
  for (std::size_t k = 0; k < l_.loop.nodes.size(); ++k) {
    const OpClass c = class_of(m_.op(l_.loop.nodes[k].op));
    if (index_[k] < 0) continue;
    const int slot = schedule_.warp[at(index_[k])];
    if (c == OpClass::tmem_store) ++stores[slot];
    if (l_.loop.handed_out.count(k) != 0) ++yields[slot];
  }
  const auto key = [&](int w) {
    const bool wide = problem_.warps[at(w)].width >= 4;
    return std::tuple(wide, wide ? yields[w] : 0, wide ? stores[w] : 0);
  };
  std::stable_sort(slots.begin(), slots.end(), [&](int a, int b) { return key(a) > key(b); });
  // A default group of fewer than four warps does not exist: then it is empty.
  int next = 0;
  if (!slots.empty() && problem_.warps[at(slots[0])].width < 4) next = 1;
  for (const int w : slots) partition_[w] = next++;
  deepest_.assign(at(next), 0);
}

void Placer::number_clusters() {
  std::set<Cycle> rows;
  for (const Cycle start : schedule_.start) rows.insert(start % schedule_.initiation_interval);
  int next = 0;
  for (const Cycle row : rows) cluster_[row] = next++;
}

void Placer::place_nodes() {
  for (std::size_t k = 0; k < index_.size(); ++k) {
    const NodeInfo& info = l_.loop.nodes[k];
    if (index_[k] < 0) continue;
    const Cycle start = schedule_.start[at(index_[k])];
    const int partition = partition_.at(schedule_.warp[at(index_[k])]);
    Place& place = places_[info.op];
    // Of an op's two halves the one at global memory counts.
    if (place.known && !info.part.empty()) continue;
    place = Place();
    place.known = true;
    place.partitions = {partition};
    place.stage = start / schedule_.initiation_interval;
    place.cluster = cluster_.at(start % schedule_.initiation_interval);
    if (l_.loop.kernel.ops[k].alias_of) views_.insert(info.op);
  }
}

void Placer::note_users() {
  for (const int top : body_) {
    const auto visit = [&](const auto& self, int op) -> void {
      for (const int value : m_.op(op).operands)
        if (const int made = m_.value(value).op; made != kNone) users_[made].emplace_back(op, top);
      for (const int region : m_.op(op).regions)
        for (const int block : m_.regions[at(region)].blocks)
          for (const int inner : m_.block(block).ops) self(self, inner);
    };
    visit(visit, top);
  }
}

/// What an op of a spread loop is placed by: its class; empty = by those that use it.
std::set<int> Placer::seed(int op, const std::set<int>& own) const {
  const Operation& o = m_.op(op);
  const OpClass c = class_of(o);
  const int loads = variable_latency_slot(problem_);
  if (is_tensor_memory_mma(o)) return {partition_.at(product_slot(problem_))};
  if (c == OpClass::load && !is_pointer_load(m_, op) && loads >= 0) return {partition_.at(loads)};
  if (c == OpClass::local_alloc && !o.operands.empty()) {
    const int source = m_.value(o.operands[0]).op;
    if (source != kNone && class_of(m_.op(source)) == OpClass::load &&
        !is_pointer_load(m_, source) && loads >= 0)
      return {partition_.at(loads)};
  }
  const bool by_users = c == OpClass::view || c == OpClass::replicated ||
                        c == OpClass::terminator || is_inner_loop(o) || is_pointer_load(m_, op);
  if (by_users) return {};
  const bool scalar = std::all_of(o.results.begin(), o.results.end(), [&](int value) {
    const Type* type = m_.type_of(value);
    return type != nullptr && type->kind == TypeKind::scalar;
  });
  return scalar && o.regions.empty() && !o.results.empty() ? std::set<int>{} : own;
}

/// Partitions of the ops of an inner loop: those of its seeds, from there back to what they use (a
/// value that is yielded is used where the loop variable is), to a fixed point.
void Placer::spread(int loop) {
  const std::set<int> own = places_[loop].partitions;
  std::vector<int> ops;
  ops_within(m_, loop, ops);
  for (const int op : ops) within_[op] = seed(op, own);
  std::unordered_map<int, std::set<int>> needed;  // value -> partitions that use it
  bool changed = true;
  for (int pass = 0; changed && pass < kMaxPasses; ++pass) {
    changed = false;
    const auto need = [&](int value, const std::set<int>& ids) {
      std::set<int>& known = needed[value];
      const std::size_t before = known.size();
      known.insert(ids.begin(), ids.end());
      changed = changed || known.size() != before;
    };
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      const Operation& op = m_.op(*it);
      std::set<int>& mine = within_[*it];
      if (class_of(op) == OpClass::terminator) continue;
      const std::size_t before = mine.size();
      if (is_inner_loop(op)) {
        for (const int inner : m_.block(m_.regions[at(op.regions[0])].blocks[0]).ops)
          mine.insert(within_[inner].begin(), within_[inner].end());
      } else if (seed(*it, own).empty()) {
        for (const int value : op.results) mine.insert(needed[value].begin(), needed[value].end());
      }
      changed = changed || mine.size() != before;
      const std::size_t used = is_inner_loop(op) ? 3 : op.operands.size();  // its bounds
      for (std::size_t k = 0; k < std::min(used, op.operands.size()); ++k)
        need(op.operands[k], mine);
    }
    // Loop variables: what is yielded, and what they begin with, is used where they are.
    const auto pass_on = [&](int inner) {
      const Operation& op = m_.op(inner);
      const Block& block = m_.block(m_.regions[at(op.regions[0])].blocks[0]);
      const Operation* yield = block.ops.empty() ? nullptr : &m_.op(block.ops.back());
      for (std::size_t k = 1; k < block.arguments.size(); ++k) {
        const std::set<int> used = needed[block.arguments[k]];
        if (yield != nullptr && k - 1 < yield->operands.size()) need(yield->operands[k - 1], used);
        if (k - 1 < op.results.size()) need(op.results[k - 1], used);
        if (k + 2 < op.operands.size()) need(op.operands[k + 2], used);
      }
    };
    pass_on(loop);
    for (const int op : ops)
      if (is_inner_loop(m_.op(op))) pass_on(op);
  }
  // What nobody uses stays with the loop; loops and terminators are wherever one of their ops is.
  const auto close = [&](const auto& self, int inner) -> std::set<int> {
    std::set<int> all;
    const Block& block = m_.block(m_.regions[at(m_.op(inner).regions[0])].blocks[0]);
    for (const int op : block.ops) {
      std::set<int>& mine = within_[op];
      if (is_inner_loop(m_.op(op))) mine = self(self, op);
      if (mine.empty() && class_of(m_.op(op)) != OpClass::terminator) mine = own;
      all.insert(mine.begin(), mine.end());
    }
    if (all.empty()) all = own;
    if (!block.ops.empty() && class_of(m_.op(block.ops.back())) == OpClass::terminator)
      within_[block.ops.back()] = all;
    for (const int value : m_.op(inner).results)
      outputs_[inner].push_back(needed[value].empty() ? own : needed[value]);
    return all;
  };
  places_[loop].partitions = close(close, loop);
  for (const int op : ops)
    if (within_[op].empty()) within_[op] = own;
  remarks_.push_back(Module::place(m_.op(loop)) + ": the inner loop's ops are in partitions " +
                     id_list(places_[loop].partitions) +
                     ": loads and products apart, as Triton takes them");
}

void Placer::place_at_users(int op, Place& place) {
  std::set<int> partitions;
  for (const auto& [user, top] : users_[op])
    if (class_of(m_.op(top)) != OpClass::terminator)
      partitions.insert(places_[top].partitions.begin(), places_[top].partitions.end());
  if (partitions.empty() || partitions == place.partitions) return;
  remarks_.push_back(Module::place(m_.op(op)) + ": the load is in partition " +
                     id_list(partitions) + ", where its result is used, and not in " +
                     id_list(place.partitions) + ": Triton hands on no loads through pointers");
  place.partitions = partitions;
}

/// Ops that are no nodes, and views, go where they are used: latest ops first, so that users are
/// known. What nobody uses goes to the default group.
void Placer::place_rest() {
  for (auto it = body_.rbegin(); it != body_.rend(); ++it) {
    const Operation& op = m_.op(*it);
    if (class_of(op) == OpClass::terminator) continue;
    Place& place = places_[*it];
    const bool view = views_.count(*it) != 0;
    if (is_pointer_load(m_, *it)) place_at_users(*it, place);
    if (place.known && !view) continue;
    std::set<int> partitions;
    bool first = !place.known;
    for (const auto& [user, top] : users_[*it]) {
      if (top == *it || class_of(m_.op(top)) == OpClass::terminator) continue;
      const Place& there = places_[top];
      const std::set<int>* inner = partitions_within(user);
      const std::set<int>& ids = inner != nullptr ? *inner : there.partitions;
      partitions.insert(ids.begin(), ids.end());
      if (view) continue;
      if (first || std::pair(there.stage, there.cluster) < std::pair(place.stage, place.cluster)) {
        place.stage = there.stage;
        place.cluster = there.cluster;
        first = false;
      }
    }
    // The buffer of a load stays with the load that fills it.
    if (view && op.name == "ttg.local_alloc") {
      const int load = m_.value(op.operands[0]).op;
      if (!is_pointer_load(m_, load)) partitions = places_[load].partitions;
    }
    if (partitions.empty()) partitions = place.partitions;
    if (partitions.empty()) partitions = {0};
    place.partitions = partitions;
    place.known = true;
  }
  for (const int op : body_) {
    if (class_of(m_.op(op)) == OpClass::terminator) continue;
    const Place& place = places_[op];
    for (const int partition : place.partitions)
      deepest_[at(partition)] = std::max(deepest_[at(partition)], place.stage);
  }
}

}  // namespace twill::ttgir
