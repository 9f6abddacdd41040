// Edges of a loop's graph: values, memory, what blocks (see builder.hpp).
#include <algorithm>

#include "graph/error.hpp"
#include "graph/lowering/costed_loop.hpp"
#include "graph/ttgir/absorbed_numbers.hpp"
#include "graph/ttgir/builder.hpp"
#include "graph/ttgir/index_ops.hpp"
#include "graph/ttgir/scheduled.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kMaxDependences = 200'000;    // of the most ops that a loop may have, 20 each
constexpr std::int64_t kMaxRingSteps = 20'000'000;  // a tenth of a second; real loops: thousands

}  // namespace

void Builder::add_edge(std::size_t from, std::size_t to, int distance, bool accumulate,
                       bool liveness_only) {
  auto& edges = out_.kernel.edges;
  for (const std::size_t e : edge_index_[{from, to}])
    if (edges[e].distance == distance) {
      if (!liveness_only && edges[e].delay) edges[e].delay.reset();
      if (!ordering_) orders_[e] = false;
      return;
    }
  if (edges.size() >= kMaxDependences)
    throw InputError(m_.source, Module::place(m_.op(out_.nodes[to].op)),
                     "more than " + std::to_string(kMaxDependences) + " dependences",
                     "the loop is too large");
  KernelEdge edge;
  edge.from = from;
  edge.to = to;
  edge.distance = distance;
  edge.accumulate = accumulate;
  if (liveness_only) edge.delay = 0;
  edge_index_[{from, to}].push_back(edges.size());
  edges.push_back(edge);
  orders_.push_back(ordering_ && !liveness_only);
}

/// Does the node's op run on its own once it is issued?
bool Builder::is_async(std::size_t node) const {
  const NodeInfo& info = out_.nodes[node];
  if (!info.part.empty()) return false;
  const Operation& op = m_.op(info.op);
  switch (class_of(op)) {
    case OpClass::load:
    case OpClass::copy:
    case OpClass::store: return true;
    case OpClass::mma: return is_async_mma(op);
    default: return false;
  }
}

/// A consumer waits for what runs on its own, and the asynchronous reader of a buffer waits for who
/// wrote it. Views never wait; tmem_load carries its own wait.
bool Builder::blocks(std::size_t from, std::size_t to) const {
  if (out_.kernel.ops[to].alias_of) return false;
  std::size_t root = from;
  while (out_.kernel.ops[root].alias_of) root = *out_.kernel.ops[root].alias_of;
  if (is_async(root)) return true;
  if (!is_async(to)) return false;
  const NodeInfo& info = out_.nodes[root];
  if (info.part == "stage") return true;
  const OpClass c = class_of(m_.op(info.op));
  return c == OpClass::tmem_store || c == OpClass::tmem_alloc || c == OpClass::local_store ||
         c == OpClass::local_alloc;
}

void Builder::add_edges() {
  // Numbers that reductions' nodes compute, too, come from there; what they read, those nodes read.
  AbsorbedNumbers absorbed;
  if (nesting_ == 0 && !options_.nest)
    absorbed = absorbed_numbers(
        m_, sources_.body(),
        [this](int op) {
          return first_.contains({op, 0});
        },
        [this](int op) {
          return first_.contains({op, 1});
        });
  for (const auto& [reduction, behind] : absorbed.behind)
    for (const int value : m_.op(behind.back()).results)
      sources_.set(value, 0, last_.at({reduction, 0}));
  for (const int index : sources_.ops()) add_uses(index);
  for (const auto& [reduction, behind] : absorbed.behind) {
    const std::size_t node = first_.at({reduction, 0});
    for (const int op : behind)
      for (const int value : m_.op(op).operands)
        for (const Source& source : sources_.of(value, 0))
          if (source.node != node || source.distance > 0)
            add_edge(source.node, node, edge_distance(source, node));
  }
  value_users_.assign(out_.kernel.ops.size(), {});
  for (const KernelEdge& edge : out_.kernel.edges) value_users_[edge.from].push_back(edge.to);
  ordering_ = true;
  for (const Buffer& buffer : buffers_) add_buffer_edges(buffer);
  ordering_ = false;
  release_readers();
  for (KernelEdge& edge : out_.kernel.edges)
    edge.blocking = !edge.accumulate && blocks(edge.from, edge.to);
  add_holds();
}

/// What an op reads, also in its regions.
void Builder::add_uses(int index) {
  const Operation& op = m_.op(index);
  const int copies = copies_of(op);
  std::vector<std::pair<int, int>> reads;  // value, op
  const auto collect = [&](const auto& self, int inner) -> void {
    for (const int value : m_.op(inner).operands) reads.emplace_back(value, inner);
    for (const int region : m_.op(inner).regions)
      for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
        for (const int next : m_.block(block).ops) self(self, next);
  };
  collect(collect, index);
  int accumulator = kNone, tiles = 0;
  if (class_of(op) == OpClass::mma)
    for (const int value : op.operands)
      if ((is_tile(value, TypeKind::tensor) || is_tile(value, TypeKind::memdesc)) && ++tiles == 3 &&
          is_tile(value, TypeKind::tensor))
        accumulator = value;
  const int mask = data_mask(m_, op, [&](int made) { return sources_.inside(made); });
  for (int copy = 0; copy < copies; ++copy) {
    const auto found = first_.find({index, copy});
    if (found == first_.end()) return;
    const OpClass c = class_of(op);
    const std::size_t named = last_.at({index, copy});  // a buffer that a load fills
    if ((c == OpClass::local_alloc || c == OpClass::local_store) &&
        out_.kernel.ops[named].alias_of) {
      add_edge(*out_.kernel.ops[named].alias_of, named, 0);
      continue;
    }
    for (const auto& [value, reader] : reads) {
      const Type* t = m_.type_of(value);
      // Tokens of tensor memory repeat the order of its accesses, which the buffers tell.
      if (t != nullptr && t->kind == TypeKind::token && m_.op(reader).name.starts_with("ttng."))
        continue;
      if (t != nullptr && t->kind == TypeKind::token &&
          class_of(m_.op(reader)) == OpClass::terminator)
        continue;
      // (The half of a store that goes to memory has its mask, too.)
      const std::size_t node = value == mask ? named : found->second;
      for (const Source& source : sources_.of(value, copy)) {
        // The load half of a node pair has its address, the other half its data.
        if (value == mask) set_flag_registers(source.node);
        const int distance = edge_distance(source, node);
        if (source.node == node && distance == 0) continue;
        // A register accumulator that a product hands to the next is updated in place.
        const bool same =
            value == accumulator && class_of(m_.op(out_.nodes[source.node].op)) == OpClass::mma;
        add_edge(source.node, node, distance, same);
        bool& alone = only_added_to_.try_emplace({source.node, node}, true).first->second;
        alone = alone && value == accumulator;
      }
    }
  }
}

/// A mask that goes to a store is a number for each element there: what makes it holds as much.
void Builder::set_flag_registers(std::size_t node) {
  while (at(node).alias_of) node = *at(node).alias_of;
  for (const int value : m_.op(out_.nodes[node].op).results) {
    if (!is_tile(value, TypeKind::tensor) || type(value).element != "i1") continue;
    const auto held = elements_per_thread(type(value), m_);
    const std::int64_t all = std::int64_t{32} * out_.warps;
    const std::int64_t each = held ? *held : (type(value).elements() + all - 1) / all;
    at(node).registers = std::min(std::max(at(node).registers.value_or(0), each), kMaxAmount);
  }
}

/// Do values or tokens lead from an op to another, in this iteration or a later one?
bool Builder::follows(int from, int to) {
  const auto u = last_.find({from, 0}), v = first_.find({to, 0});
  if (u == last_.end() || v == first_.end()) return true;  // no nodes: nothing to order
  const auto [known, fresh] = reached_.try_emplace(u->second);
  if (fresh) {
    std::vector<std::size_t> work = {u->second};
    known->second.assign(out_.kernel.ops.size(), false);
    while (!work.empty()) {
      const std::size_t node = work.back();
      work.pop_back();
      for (const std::size_t next : value_users_[node]) {
        if (++ring_steps_ > kMaxRingSteps)
          throw InputError(m_.source, Module::place(m_.op(from)), std::string(m_.op(from).name),
                           "the loop has too many copies into rings of buffers");
        if (known->second[next]) continue;
        known->second[next] = true;
        work.push_back(next);
      }
    }
  }
  return known->second[v->second];
}

std::string Builder::ring_text(const Buffer& buffer, int reader) const {
  const Value& root = m_.value(buffer.root);
  std::string text =
      std::string(m_.op(reader).name) + " from a ring of buffers, %" + std::string(root.name);
  if (root.op != kNone) text += " of line " + std::to_string(m_.op(root.op).line);
  return text + ", without a token of the copy that fills it";
}

/// Do the uses of the buffer's name say all: a loaded tile is stored into it once, and who reads it
/// names it, or views of it that are made in the loop? (A view from before the store does not lead
/// to it.)
bool Builder::is_value(const Buffer& buffer) {
  const auto& list = buffer.accesses;
  const Operation& first = m_.op(list.front().op);
  if (!buffer.fresh || class_of(first) != OpClass::local_store || !alias_of_load(first))
    return false;
  const auto named = [&](const auto& self, int index) -> bool {
    const Operation& op = m_.op(index);
    for (const int value : op.operands)
      if (is_tile(value, TypeKind::memdesc) && sources_.root(value) == buffer.root &&
          sources_.of(value, 0).empty())
        return false;
    for (const int region : op.regions)
      for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
        for (const int inner : m_.block(block).ops)
          if (!self(self, inner)) return false;
    return true;
  };
  return std::all_of(list.begin() + 1, list.end(), [&](const Access& access) {
    return !access.writes && named(named, access.op) && follows(list.front().op, access.op);
  });
}

/// The second access after the first one, part by part.
void Builder::connect(const Access& from, const Access& to, int distance, bool liveness_only) {
  const int copies = std::max(copies_of(m_.op(from.op)), copies_of(m_.op(to.op)));
  for (int copy = 0; copy < copies; ++copy) {
    const auto u = last_.find({from.op, std::min(copy, copies_of(m_.op(from.op)) - 1)});
    const auto v = first_.find({to.op, std::min(copy, copies_of(m_.op(to.op)) - 1)});
    if (u == last_.end() || v == first_.end()) continue;
    if (u->second == v->second && distance == 0) continue;
    add_edge(u->second, v->second, distance, from.product && to.product && from.writes && to.writes,
             liveness_only);
  }
}

void Builder::add_buffer_edges(const Buffer& buffer) {
  if (!buffer.written || is_value(buffer)) return;
  const auto& list = buffer.accesses;
  add_run_edges(buffer);
  const auto conflict = [](const Access& a, const Access& b) { return a.writes || b.writes; };
  if (std::any_of(list.begin(), list.end(), [](const Access& a) { return a.ring; })) {
    // Buffers of a ring: what is copied goes to its readers by tokens; a copy waits for who read
    // the buffer before, at least one iteration ago.
    if (options_.undo_rings && !options_.nest)
      refuse_op(m_, list.front().op, ring_text(buffer, list.front().op));
    if (buffer.written)
      warn("the loop has been pipelined before, by copies into a ring of buffers (" +
           Module::place(m_.op(list.front().op)) +
           "): it is scheduled as it stands, each copy with the iteration that reads it");
    for (const Access& reader : list)
      for (const Access& writer : list) {
        if (!writer.writes || reader.writes) continue;
        if (!follows(writer.op, reader.op)) refuse_op(m_, reader.op, ring_text(buffer, reader.op));
        connect(reader, writer, 1, false);
      }
    return;
  }
  // In program order: each access after the last write, and each write after the reads before it.
  for (std::size_t j = 1; j < list.size(); ++j) {
    for (std::size_t i = j; i-- > 0;) {
      if (!conflict(list[i], list[j])) continue;
      connect(list[i], list[j], 0, false);
      if (list[i].writes) break;
    }
  }
  if (buffer.fresh) {  // live from its first write to its last access
    for (std::size_t j = 1; j < list.size(); ++j) connect(list[0], list[j], 0, true);
    // With one buffer the next iteration waits for the last access. (Of inner accesses alone
    // add_run_edges() has it.)
    if (!buffer.single) return;
    for (std::size_t j = list.size(); j-- > 1;) {
      if (!(list[j].inner && list[0].inner)) connect(list[j], list[0], 1, false);
      if (list[j].writes) break;
    }
    return;
  }
  if (!buffer.outside) return;
  // Around the loop: into the next iteration up to its first write.
  for (std::size_t i = list.size(); i-- > 0;) {
    for (std::size_t j = 0; j <= i; ++j) {
      // (Two inner accesses: an outer one comes between, else add_run_edges() refuses them.)
      if (conflict(list[i], list[j]) && !(list[i].inner && list[j].inner))
        connect(list[i], list[j], 1, false);
      if (list[j].writes) break;
    }
    if (list[i].writes) break;
  }
}

/// Asynchronous readers read while they execute: what they read stays live that long. Not what a
/// product in registers adds to: from its issue on those registers are its result's.
void Builder::add_holds() {
  std::vector<Cycle> occupancy(out_.kernel.ops.size(), -1);
  for (KernelEdge& edge : out_.kernel.edges) {
    const NodeInfo& info = out_.nodes[edge.to];
    if (edge.distance != 0 || edge.accumulate || !is_async(edge.to)) continue;
    const auto added_to = only_added_to_.find({edge.from, edge.to});
    if (added_to != only_added_to_.end() && added_to->second) continue;
    if (class_of(m_.op(info.op)) == OpClass::load || class_of(m_.op(info.op)) == OpClass::copy)
      continue;
    Cycle& cycles = occupancy[edge.to];
    if (cycles < 0) cycles = cost_op(out_.kernel, machine_, edge.to).occupancy;
    edge.hold = cycles;
  }
}

}  // namespace twill::ttgir
