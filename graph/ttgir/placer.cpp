#include "graph/ttgir/placer.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/verify.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kBounds = 3;  // operands of an scf.for before its first values

bool is_inner_loop(const Operation& op) {
  return op.name == "scf.for";  // with a body, or the parser would have refused it
}

/// An op, and all ops in its regions, in the text's order.
template <typename Visit>
void each_within(const Module& m, int op, const Visit& visit) {
  visit(op);
  for (const int region : m.op(op).regions)
    for (const int block : m.regions[at(region)].blocks)
      for (const int inner : m.block(block).ops) each_within(m, inner, visit);
}

std::string id_list(const std::set<int>& ids) {
  std::string text;
  for (const int id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text;
}

bool is_memory_access(OpClass c) {
  return c == OpClass::tmem_load || c == OpClass::tmem_store;
}

/// The buffer of tensor memory that a load or store of it works on, behind views; else kNone.
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

/// Does Triton hold an op for cheap, so that it is repeated where that saves a hand-over?
bool is_cheap(const Module& m, int index) {
  const Operation& op = m.op(index);
  if (is_tensor_memory_mma(op) || is_memory_access(class_of(op)) ||
      op.name.starts_with("tt.descriptor_") || op.name.starts_with("ttg.memdesc_"))
    return false;
  return op.name != "tt.broadcast" && op.name != "tt.expand_dims" &&
         op.name != "ttg.convert_layout";
}

/// Triton numbers partitions anew: first those without any of these ops, then those with stores by
/// descriptor, with products, with loads by descriptor. The largest of a partition's ops counts.
enum PartitionRank { other, loads, products, stores };
constexpr std::array<int, 4> kRanks = {0, 3, 2, 1};  // the order of these

int partition_rank(const Operation& op) {
  if (is_tensor_memory_mma(op)) return products;
  if (!op.name.starts_with("tt.descriptor_")) return other;
  return class_of(op) == OpClass::load ? loads : stores;
}

bool all_scalar(const Module& m, const Operation& op) {
  return std::all_of(op.results.begin(), op.results.end(), [&](int value) {
    const Type* type = m.type_of(value);
    return type != nullptr && type->kind == TypeKind::scalar;
  });
}

}  // namespace

bool is_pointer_load(const Module& m, int op) {
  if (op == kNone || m.op(op).name != "tt.load" || m.op(op).results.empty()) return false;
  const Type* type = m.type_of(m.op(op).results[0]);
  return type != nullptr && type->kind == TypeKind::tensor;
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
    if (asked && is_inner_loop(m.op(around))) root = around;
  }
  return root;
}

namespace {

/// In an inner loop a value that is carried is used by the partition that makes it: Triton gives
/// the hand-over no stage.
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
      if (!is_memory_access(class_of(m.op(op)))) return;
      std::vector<int>& group = sharing[tensor_memory_of(m, m.op(op))];
      if (std::find(group.begin(), group.end(), index[k]) == group.end()) group.push_back(index[k]);
    });
  }
  for (const auto& [buffer, group] : sharing)
    for (std::size_t i = 1; buffer != kNone && i < group.size(); ++i)
      pins.push_back({Pin::same_slot, group[0], -1, -1, group[i]});
  if (specialised_root(m, lowered.loop.loop) != lowered.loop.loop)
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
  std::map<int, int> ranks;
  for (std::size_t k = 0; k < l_.loop.nodes.size(); ++k) {
    const Operation& op = m_.op(l_.loop.nodes[k].op);
    if (index_[k] < 0) continue;
    const int slot = schedule_.warp[at(index_[k])];
    if (class_of(op) == OpClass::tmem_store) ++stores[slot];
    if (l_.loop.handed_out.count(k) != 0) ++yields[slot];
    ranks[slot] = std::max(ranks[slot], partition_rank(op));
  }
  const auto key = [&](int w) {
    const bool wide = problem_.warps[at(w)].width >= 4;
    return std::tuple(!wide, kRanks[at(ranks[w])], wide ? -yields[w] : 0, wide ? -stores[w] : 0);
  };
  std::stable_sort(slots.begin(), slots.end(), [&](int a, int b) { return key(a) < key(b); });
  // A default group of fewer than four warps does not exist: then it is empty.
  int next = 0;
  if (!slots.empty() && problem_.warps[at(slots[0])].width < 4) next = 1;
  for (const int w : slots) partition_[w] = next++;
  partition_count_ = at(next);
}

/// Ops that begin a way through cheap ops of one partition and back to the one that it came from.
std::set<int> Placer::not_repeated() const {
  std::unordered_map<int, std::vector<int>> next;  // op of the region -> those that use it
  std::unordered_map<int, std::vector<int>> before;
  const auto link = [&](int made, int user) {
    next[made].push_back(user);
    before[user].push_back(made);
  };
  const auto single = [&](int op) {
    const std::set<int>& ids = demand_->partitions(op);
    return ids.size() == 1 ? *ids.begin() : -1;
  };
  std::unordered_map<int, std::vector<int>> users;  // value -> ops of the region
  for (const int op : demand_->ops())
    if (!demand_->is_opened(op) && class_of(m_.op(op)) != OpClass::terminator)
      each_within(m_, op, [&](int inner) {
        for (const int value : m_.op(inner).operands) users[value].push_back(op);
      });
  for (const int op : demand_->ops())
    for (const int value : m_.op(op).results) {
      std::set<int> names = {value};  // and the loop variables that it becomes
      for (const int yield : demand_->ops()) {
        if (class_of(m_.op(yield)) != OpClass::terminator) continue;
        const std::vector<int>& values = m_.op(yield).operands;
        const auto& arguments = m_.block(m_.op(yield).block).arguments;
        for (std::size_t k = 0; k < values.size() && k + 1 < arguments.size(); ++k)
          if (values[k] == value) names.insert(arguments[k + 1]);
      }
      for (const int name : names)
        for (const int user : users[name])
          if (user != op) link(op, user);
    }
  std::set<int> begin;
  for (const int op : demand_->ops()) {
    const int mine = single(op);
    if (mine < 0 || demand_->is_opened(op) || !is_cheap(m_, op)) continue;
    std::set<int> from;
    for (const int made : before[op])
      if (const int id = single(made); id >= 0 && id != mine) from.insert(id);
    std::vector<int> work = {op};
    std::unordered_set<int> seen = {op};
    while (!work.empty() && !from.empty() && begin.count(op) == 0) {
      const int now = work.back();
      work.pop_back();
      for (const int user : next[now]) {
        const int id = single(user);
        if (id < 0 || !is_cheap(m_, user)) continue;
        if (from.count(id) != 0) begin.insert(op);
        if (id == mine && seen.insert(user).second) work.push_back(user);
      }
    }
  }
  return begin;
}

/// Ops with a partition of their own whose results depend on no load by descriptor, tensor memory
/// or product.
std::vector<int> Placer::not_followed() const {
  std::unordered_set<int> known;  // values that do, or that are told to be as if they did
  std::set<int> told;
  for (bool changed = true; changed;) {
    changed = false;
    const auto know = [&](int value) { changed = known.insert(value).second || changed; };
    for (const int op : demand_->ops()) {
      const Operation& o = m_.op(op);
      if (class_of(o) == OpClass::terminator || demand_->is_opened(op)) {
        // Loop variables, and what a loop ends with.
        const int loop = demand_->is_opened(op) ? op : m_.parent(op);
        const auto& arguments =
            m_.block(m_.regions[at(m_.op(loop).regions[0])].blocks[0]).arguments;
        const std::size_t first = loop == op ? kBounds : 0;
        for (std::size_t k = first; k < o.operands.size(); ++k) {
          if (known.count(o.operands[k]) == 0) continue;
          if (k - first + 1 < arguments.size()) know(arguments[k - first + 1]);
          if (k - first < m_.op(loop).results.size()) know(m_.op(loop).results[k - first]);
        }
        continue;
      }
      bool follows = is_tensor_memory_mma(o) || class_of(o) == OpClass::tmem_load ||
                     (class_of(o) == OpClass::load && o.name != "tt.load") || told.count(op) != 0;
      each_within(m_, op, [&](int inner) {
        for (const int value : m_.op(inner).operands) follows = follows || known.count(value) != 0;
      });
      if (!follows && !o.results.empty() && own_.count(op) != 0 &&
          demand_->partitions(op) == std::set<int>{own_.at(op)})
        follows = told.insert(op).second;
      if (follows)
        for (const int value : o.results) know(value);
    }
  }
  return {told.begin(), told.end()};
}

bool Placer::keeps_default() const {
  std::map<int, int> ranks;
  for (const int op : demand_->ops())
    if (const std::set<int>& ids = demand_->partitions(op); ids.size() == 1)
      ranks[*ids.begin()] = std::max(ranks[*ids.begin()], partition_rank(m_.op(op)));
  for (const int op : not_repeated()) ranks[*demand_->partitions(op).begin()] = stores;
  return ranks.count(0) == 0 || std::all_of(ranks.begin(), ranks.end(), [&](const auto& one) {
           return kRanks[at(ranks.at(0))] <= kRanks[at(one.second)];
         });
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
}

/// Ops that the schedule does not have, and views, are where they are first used: a buffer stays
/// one copy's until then. Through loop variables that is in the next iteration.
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
  if (is_memory_access(c))
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

void Placer::assign_partitions() {
  const std::unordered_set<int> opened = opened_loops();
  for (const auto& [op, partition] : own_)
    if (opened.count(op) == 0)
      each_within(m_, op, [&, id = partition](int inner) {
        if (is_memory_access(class_of(m_.op(inner))))
          buffer_partition_.emplace(tensor_memory_of(m_, m_.op(inner)), id);
      });
  std::unordered_map<int, std::set<int>> own;
  std::map<int, std::set<int>> otherwise = {{root_, {0}}};
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
        if (const auto ids = seed(op, default_ids)) own[op] = *ids;
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

/// Loads of tiles that are used in the stage in which they are issued.
std::vector<int> Placer::late_loads(bool partitioned) const {
  std::vector<int> loads;
  for (const int op : body_) {
    const bool pointers = is_pointer_load(m_, op);
    if (class_of(m_.op(op)) != OpClass::load || problem_op_.count(op) == 0) continue;
    if (!pointers && (partitioned || m_.op(op).name == "tt.load")) continue;
    const auto users = users_.find(op);
    if (users == users_.end()) continue;
    if (std::any_of(users->second.begin(), users->second.end(),
                    [&](int user) { return places_.at(user).stage <= places_.at(op).stage; }))
      loads.push_back(op);
  }
  return loads;
}

/// The schedule with all else an iteration later than these loads and what they wait for. False,
/// and nothing is changed, where the judge refuses it.
bool Placer::issue_earlier(const std::vector<int>& loads) {
  std::set<int> early;
  std::vector<int> work;
  for (const int op : loads) work.push_back(problem_op_.at(op));
  while (!work.empty()) {
    const int v = work.back();
    work.pop_back();
    if (!early.insert(v).second) continue;
    for (const Edge& edge : problem_.edges)
      if (edge.to == v && edge.distance == 0) work.push_back(edge.from);
  }
  Schedule moved = schedule_;
  for (std::size_t v = 0; v < moved.start.size(); ++v)
    if (early.count(static_cast<int>(v)) == 0) moved.start[v] += moved.initiation_interval;
  moved.length = schedule_length(problem_, moved.start);
  if (verify(problem_, moved)) return false;
  schedule_ = std::move(moved);
  place_nodes();
  place_rest();
  return true;
}

void Placer::issue_ahead(bool partitioned) {
  const std::vector<int> late = late_loads(partitioned);
  if (late.empty()) return;
  std::vector<int> stay;
  if (!issue_earlier(late)) {
    for (const int op : late)
      if (!issue_earlier({op})) stay.push_back(op);
  }
  for (const int op : late) {
    const bool stays = std::find(stay.begin(), stay.end(), op) != stay.end();
    said_.push_back(Module::place(m_.op(op)) +
                    (stays ? ": the load waits where it is issued: what uses it is of the same "
                             "stage, and an iteration earlier the schedule has no room for it"
                           : ": the load is issued an iteration earlier than the schedule has it: "
                             "what uses it is of the same stage, and Triton copies on its own only "
                             "from stage to stage"));
  }
}

std::int64_t Placer::ring_depth() const {
  std::int64_t depth = 2;
  for (const auto& [load, buffers] : ring_depths(problem_, schedule_))
    depth = std::max(depth, buffers);
  Problem charged = problem_;
  charge_rings(charged);
  const auto fits = [&] {
    for (std::size_t f = 0; f < charged.memories.size(); ++f) {
      const MemoryCharges charges = memory_charges(charged, static_cast<int>(f));
      Amount sum = 0;
      for (const Amount one : charges.live) sum += one;
      for (const Amount one : charges.ring) sum += one * depth;
      if (sum > charged.memories[f].capacity &&
          std::any_of(charges.ring.begin(), charges.ring.end(), [](Amount a) { return a > 0; }))
        return false;
    }
    return true;
  };
  while (depth > 2 && !fits()) --depth;
  return depth;
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
