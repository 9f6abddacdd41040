#include "graph/ttgir/placer.hpp"

#include <algorithm>
#include <tuple>

#include "graph/index.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/partition_tags.hpp"
#include "graph/ttgir/type.hpp"
#include "graph/ttgir/within.hpp"

namespace twill::ttgir {
namespace {

bool is_inner_loop(const Operation& op) {
  return op.name == "scf.for";  // with a body, or the parser would have refused it
}

bool all_scalar(const Module& m, const Operation& op) {
  return std::all_of(op.results.begin(), op.results.end(), [&](int value) {
    const Type* type = m.type_of(value);
    return type != nullptr && type->kind == TypeKind::scalar;
  });
}

/// Numbers, with commas.
std::string id_list(const std::set<int>& ids) {
  std::string text;
  for (const int id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text;
}

}  // namespace

Placer::Placer(const LoweredModule& lowered, const Problem& problem, const Schedule& schedule)
    : l_(lowered),
      m_(lowered.module),
      problem_(problem),
      schedule_(schedule),
      root_(specialised_root(lowered.module, lowered.loop.loop)),
      index_(problem_ops(lowered, problem)) {
  const Operation& loop = m_.op(l_.loop.loop);
  const Block& block = m_.block(m_.regions[at(loop.regions[0])].blocks[0]);
  body_ = block.ops;
  std::unordered_map<int, int> top;  // any op of the loop -> the op of its body that it is in
  for (const int op : body_) each_within(m_, op, [&, op](int inner) { top[inner] = op; });
  std::unordered_map<int, int> yielded;  // loop variable -> op of the body
  if (!body_.empty() && class_of(m_.op(body_.back())) == OpClass::terminator) {
    const std::vector<int>& values = m_.op(body_.back()).operands;
    for (std::size_t k = 0; k < values.size() && k + 1 < block.arguments.size(); ++k)
      if (const auto made = top.find(m_.value(values[k]).op); made != top.end())
        yielded[block.arguments[k + 1]] = made->second;
  }
  for (const auto& [inner, user] : top) {
    if (class_of(m_.op(inner)) == OpClass::terminator && inner == user) continue;
    for (const int value : m_.op(inner).operands) {
      if (const auto made = top.find(m_.value(value).op); made != top.end() && made->second != user)
        users_[made->second].push_back(user);
      if (const auto made = yielded.find(value); made != yielded.end())
        next_users_[made->second].push_back(user);
    }
  }
  number_partitions();
  place_nodes();
  place_rest();
  assign_partitions();
}

/// An inner loop with tensor memory products, on a machine with a slot for them.
bool Placer::is_spread(int op) const {
  if (!is_inner_loop(m_.op(op)) || product_slot(problem_) < 0) return false;
  bool products = false;
  each_within(m_, op,
              [&](int inner) { products = products || is_tensor_memory_mma(m_.op(inner)); });
  return products;
}

/// Slots that have ops of the schedule, or of what is spread.
std::vector<int> Placer::used_slots() const {
  std::set<int> used(schedule_.warp.begin(), schedule_.warp.end());
  const int products = product_slot(problem_), loads = variable_latency_slot(problem_);
  each_within(m_, root_, [&](int op) {
    if (op != root_ && is_spread(op)) {
      used.insert(products);
      if (loads >= 0) used.insert(loads);
    }
  });
  return {used.begin(), used.end()};
}

void Placer::number_partitions() {
  std::vector<int> slots = used_slots();
  std::map<int, int> yields;  // of values that ops after the loop read, by slot
  std::map<int, int> stores;  // of accumulators, by slot
  std::map<int, PartitionKind> kinds;
  for (std::size_t k = 0; k < l_.loop.nodes.size(); ++k) {
    const Operation& op = m_.op(l_.loop.nodes[k].op);
    if (index_[k] < 0) continue;
    const int slot = schedule_.warp[at(index_[k])];
    if (class_of(op) == OpClass::tmem_store) ++stores[slot];
    if (l_.loop.handed_out.count(k) != 0) ++yields[slot];
    kinds[slot] = joined(kinds[slot], partition_kind(op));
  }
  const auto key = [&](int w) {
    const bool wide = problem_.warps[at(w)].width >= 4;
    return std::tuple(!wide, kinds[w], wide ? -yields[w] : 0, wide ? -stores[w] : 0);
  };
  std::stable_sort(slots.begin(), slots.end(), [&](int a, int b) { return key(a) < key(b); });
  // A default group of fewer than four warps does not exist: then it is empty.
  int next = 0;
  if (!slots.empty() && problem_.warps[at(slots[0])].width < 4) next = 1;
  for (const int w : slots) partition_[w] = next++;
  partition_count_ = at(next);
}

/// Stage, order and slot of the ops that the schedule has.
void Placer::place_nodes() {
  places_.clear();
  views_.clear();
  std::map<Cycle, int> clusters;  // start modulo I -> cluster
  for (const Cycle start : schedule_.start) clusters[start % schedule_.initiation_interval] = 0;
  int next = 0;
  for (auto& [row, cluster] : clusters) cluster = next++;
  for (std::size_t k = 0; k < index_.size(); ++k) {
    const NodeInfo& info = l_.loop.nodes[k];
    if (index_[k] < 0) continue;
    const Cycle start = schedule_.start[at(index_[k])];
    Place& place = places_[info.op];
    // Of an op's two halves the one at global memory counts.
    if (place.known && !info.part.empty()) continue;
    place.known = true;
    place.stage = start / schedule_.initiation_interval;
    place.cluster = clusters.at(start % schedule_.initiation_interval);
    own_[info.op] = partition_.at(schedule_.warp[at(index_[k])]);
    problem_op_[info.op] = index_[k];
    if (l_.loop.kernel.ops[k].alias_of) views_.insert(info.op);
  }
  order_by_text();
}

void Placer::order_by_text() {
  if (in_text_order_.empty()) return;
  const auto partition = [&](int op) {  // the one in which it is executed
    const std::set<int>& ids = demand_->partitions(op);
    return ids.size() == 1 ? *ids.begin() : -1;
  };
  std::map<int, Cycle> stages;  // one behind the last load through pointers
  for (const int op : body_)
    if (is_pointer_load(m_, op) && places_.count(op) != 0)
      for (const int id : demand_->partitions(op))
        stages[id] = std::max(stages[id], places_.at(op).stage + 1);
  for (const int op : body_) {
    const auto place = places_.find(op);
    if (place == places_.end() || is_pointer_load(m_, op) ||
        class_of(m_.op(op)) == OpClass::terminator)
      continue;
    const int id = partition(op);
    if (in_text_order_.count(id) == 0) continue;
    place->second.stage = stages[id];
    place->second.cluster = 0;
  }
}

void Placer::keep_text_order(std::set<int> partitions) {
  in_text_order_ = std::move(partitions);
  place_nodes();
  place_rest();
}

Cycle Placer::stages() const {
  Cycle most = 1;
  for (const auto& [op, place] : places_)
    if (place.known || users_.count(op) != 0) most = std::max(most, place.stage + 1);
  return most;
}

int Placer::problem_op(int op) const {
  const auto found = problem_op_.find(op);
  return found == problem_op_.end() ? -1 : found->second;
}

/// Ops that the schedule does not have, and views, are where they are first used: a buffer stays
/// one copy's until then. Through loop variables that is in the next iteration, but never before
/// what they use; there are those that nobody uses but the next iteration's like.
void Placer::place_rest() {
  const auto moves = [&](int op) {
    return class_of(m_.op(op)) != OpClass::terminator &&
           (views_.count(op) != 0 || !places_[op].known);
  };
  std::unordered_set<int> settled;
  for (const int op : body_)
    if (!moves(op)) settled.insert(op);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = body_.rbegin(); it != body_.rend(); ++it) {
      if (settled.count(*it) != 0 && !moves(*it)) continue;
      Place first;
      for (const auto* users : {&users_, &next_users_}) {
        const auto found = users->find(*it);
        if (found == users->end()) continue;
        for (const int user : found->second) {
          if (settled.count(user) == 0 || user == *it) continue;
          const Place& there = places_.at(user);
          if (!first.known ||
              std::pair(there.stage, there.cluster) < std::pair(first.stage, first.cluster))
            first = there;
          first.known = true;
        }
      }
      if (!first.known) continue;
      Place& mine = places_[*it];
      if (settled.insert(*it).second ||
          std::pair(first.stage, first.cluster) < std::pair(mine.stage, mine.cluster)) {
        mine = first;
        changed = true;
      }
    }
  }
  for (const int op : body_) {
    const auto users = users_.find(op);
    if (users == users_.end()) continue;
    const Place& here = places_.at(op);
    for (const int user : users->second)
      if (moves(user) && std::pair(places_.at(user).stage, places_.at(user).cluster) <
                             std::pair(here.stage, here.cluster)) {
        places_.at(user).stage = here.stage;
        places_.at(user).cluster = here.cluster;
      }
  }
}

int Placer::own_partition(int op) const {
  const auto found = own_.find(op);
  return found == own_.end() ? -1 : found->second;
}

bool Placer::opens_loops() const {
  return std::any_of(body_.begin(), body_.end(), [&](int op) { return demand_->is_opened(op); });
}

std::unordered_set<int> Placer::opened_loops() const {
  std::unordered_set<int> opened = {root_};
  for (int op = l_.loop.loop; op != kNone && op != root_; op = m_.parent(op))
    if (is_inner_loop(m_.op(op))) opened.insert(op);
  const auto open = [&](const auto& self, int loop) -> void {
    for (const int op : m_.block(m_.regions[at(m_.op(loop).regions[0])].blocks[0]).ops) {
      if (!is_inner_loop(m_.op(op)) || (opened.count(op) == 0 && !is_spread(op))) continue;
      opened.insert(op);
      self(self, op);
    }
  };
  open(open, root_);
  return opened;
}

/// The partition of an op that the schedule has not placed one by one; none: it goes where it is
/// used.
std::optional<std::set<int>> Placer::seed(int op, const std::set<int>& own) const {
  const Operation& o = m_.op(op);
  const OpClass c = class_of(o);
  const int slot = variable_latency_slot(problem_);
  const auto loads = slot < 0 ? partition_.end() : partition_.find(slot);
  const std::set<int> for_loads = loads == partition_.end() ? own : std::set<int>{loads->second};
  if (is_tensor_memory_mma(o)) {
    const int products = product_slot(problem_);
    if (products >= 0) return std::set<int>{partition_.at(products)};
  }
  if (c == OpClass::terminator || is_pointer_load(m_, op)) return std::nullopt;
  if (c == OpClass::load && o.name != "tt.load") return for_loads;
  if (c == OpClass::local_alloc && !o.operands.empty()) {
    const int source = m_.value(o.operands[0]).op;
    if (is_pointer_load(m_, source)) return std::nullopt;
    if (source != kNone && class_of(m_.op(source)) == OpClass::load) return for_loads;
  }
  if (is_memory_access(o))
    if (const auto found = buffer_partition_.find(tensor_memory_of(m_, o));
        found != buffer_partition_.end())
      return std::set<int>{found->second};
  if (c == OpClass::view || c == OpClass::replicated ||
      (c == OpClass::tmem_alloc && o.operands.empty()))
    return std::nullopt;
  if (!o.results.empty() && o.regions.empty() &&
      (all_scalar(m_, o) || !can_be_handed_on(m_, o.results[0])))
    return std::nullopt;
  return own;
}

/// Of a load of tensor memory, and of what is made of its tile and of none that is larger, the
/// partition that has the buffer; -1 of other ops. Handing on an accumulator takes as much shared
/// memory.
int Placer::loaded_in(int op, const std::unordered_map<int, int>& loaded) const {
  const Operation& o = m_.op(op);
  if (!o.regions.empty()) return -1;
  if (class_of(o) == OpClass::tmem_load) {
    const auto found = buffer_partition_.find(tensor_memory_of(m_, o));
    return found == buffer_partition_.end() ? -1 : found->second;
  }
  int place = -1;
  std::int64_t most = 0;
  for (const int value : o.operands) {
    const Type* type = m_.type_of(value);
    if (type == nullptr || type->kind != TypeKind::tensor || buffer_bytes(*type) <= most) continue;
    most = buffer_bytes(*type);
    const auto found = loaded.find(m_.value(value).op);
    place = found == loaded.end() ? -1 : found->second;
  }
  return place;
}

/// The partitions that make the loop's results that an op outside it reads.
std::set<int> Placer::made_by_loop(int op) const {
  std::set<int> made;
  if (class_of(m_.op(op)) == OpClass::terminator || body_.empty()) return made;
  const std::vector<int>& results = m_.op(l_.loop.loop).results;
  const std::vector<int>& yielded = m_.op(body_.back()).operands;
  each_within(m_, op, [&](int inner) {
    for (const int value : m_.op(inner).operands) {
      const auto found = std::find(results.begin(), results.end(), value);
      const std::size_t k = static_cast<std::size_t>(found - results.begin());
      if (found == results.end() || k >= yielded.size()) continue;
      const Type* type = m_.type_of(value);
      if (type == nullptr || type->kind == TypeKind::token) continue;
      if (const int id = own_partition(m_.value(yielded[k]).op); id >= 0) made.insert(id);
    }
  });
  return made;
}

void Placer::assign_partitions() {
  const std::unordered_set<int> opened = opened_loops();
  for (const auto& [op, partition] : own_)
    if (opened.count(op) == 0)
      each_within(m_, op, [&, id = partition](int inner) {
        if (is_memory_access(m_.op(inner)))
          buffer_partition_.emplace(tensor_memory_of(m_, m_.op(inner)), id);
      });
  std::unordered_map<int, std::set<int>> own;
  std::map<int, std::set<int>> otherwise = {{root_, {0}}};
  std::unordered_map<int, int> loaded;  // op around the loop -> where its largest tile was loaded
  const auto visit = [&](const auto& self, int loop, const std::set<int>& default_ids) -> void {
    for (const int op : m_.block(m_.regions[at(m_.op(loop).regions[0])].blocks[0]).ops) {
      const int slot = own_partition(op);
      if (opened.count(op) != 0) {
        const std::set<int> ids = slot >= 0 ? std::set<int>{slot} : default_ids;
        if (slot >= 0) otherwise[op] = ids;
        self(self, op, ids);
        continue;
      }
      if (loop != l_.loop.loop) {
        std::optional<std::set<int>> ids = seed(op, default_ids);
        if (const int place = loaded_in(op, loaded); place >= 0) {
          loaded[op] = place;
          if (ids == default_ids) ids = {place};
        }
        if (const std::set<int> made = made_by_loop(op); !made.empty()) {
          if (made.size() > 1 && torn_ == kNone) torn_ = op;
          ids = {*made.begin()};
        }
        if (ids) own[op] = *ids;
        continue;
      }
      if (slot < 0) continue;
      otherwise[op] = {slot};
      const Operation& o = m_.op(op);
      const bool handed_on =
          o.results.empty() || !o.regions.empty() || can_be_handed_on(m_, o.results[0]);
      const bool fills = o.name == "ttg.local_alloc" && !o.operands.empty() &&
                         !is_pointer_load(m_, m_.value(o.operands[0]).op);
      if (handed_on && !is_pointer_load(m_, op) && (views_.count(op) == 0 || fills))
        own[op] = {slot};
      // The buffer of a load stays with the load that fills it.
      if (fills && views_.count(op) != 0)
        if (const int load = own_partition(m_.value(o.operands[0]).op); load >= 0) own[op] = {load};
    }
  };
  visit(visit, root_, {0});
  demand_.emplace(m_, root_, opened, own, otherwise);
}

std::vector<Cycle> Placer::deepest() const {
  std::vector<Cycle> stages(partition_count_, 0);
  for (const int op : body_) {
    const auto found = places_.find(op);
    if (found == places_.end() || class_of(m_.op(op)) == OpClass::terminator) continue;
    for (const int id : demand_->partitions(op))
      if (at(id) < stages.size()) stages[at(id)] = std::max(stages[at(id)], found->second.stage);
  }
  return stages;
}

std::vector<std::string> Placer::remarks(bool partitioned) const {
  std::vector<std::string> all = said_;
  if (!partitioned) return all;
  for (const int op : body_) {
    const int slot = own_partition(op);
    if (demand_->is_opened(op)) {
      all.push_back(Module::place(m_.op(op)) + ": the inner loop's ops are in partitions " +
                    id_list(demand_->partitions(op)) +
                    ": loads and products apart, as Triton takes them");
    } else if (slot >= 0 && views_.count(op) == 0 &&
               demand_->partitions(op) != std::set<int>{slot}) {
      const bool load = is_pointer_load(m_, op);
      all.push_back(Module::place(m_.op(op)) + ": the " + (load ? "load" : "mask") +
                    " is in partition " + id_list(demand_->partitions(op)) +
                    ", where it is used, and not in " + std::to_string(slot) +
                    ": Triton hands on no " +
                    (load ? "loads through pointers" : "masks or pointers"));
    }
  }
  if (root_ != l_.loop.loop)
    all.push_back(
        Module::place(m_.op(root_)) +
        ": the outer loop is partitioned with the loop: its loads are in the partition of "
        "the loads, its products in that of the products, the rest in the default group");
  return all;
}

}  // namespace twill::ttgir
