// A replayed loop as one: rings and buffers (see undo.hpp).
#include <algorithm>

#include "graph/ttgir/folded_loop.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMaxHandOvers = 1'000;  // one behind the other

}  // namespace

void FoldedLoop::classify_buffers() {
  for (const auto& [op, list] : by_op_) {
    if (!runs(op)) continue;
    for (std::int64_t i = kFirstSeen; i < kLastSeen; ++i)
      for (const BufferUse& use : at(list[static_cast<std::size_t>(i)]).buffers) {
        if (is_value(use.buffer)) {
          if (use.writes && use.buffer != list[static_cast<std::size_t>(i)])
            cannot_undo(op, "it writes a buffer that has been filled where it was made");
          continue;
        }
        Ring& ring = rings_[ring_key(use.buffer)];
        const Type* t = type(m_.op(at(use.buffer).op).results[0]);
        ring.tensor_memory = t != nullptr && t->tensor_memory;
        if (use.writes) ring.writers.insert(op);
        if (use.reads && (ring.readers.empty() || ring.readers.back() != op))
          ring.readers.push_back(op);
      }
  }
  for (const Execution& x : r_.executions)
    for (const BufferUse& use : x.buffers)
      if (const int made = x.reads[use.read].made; use.reads && made != kNone &&
                                                   class_of(m_.op(at(made).op)) == OpClass::view &&
                                                   !names_buffer(m_.op(at(made).op)))
        filled_[made].insert(use.before);
  for (auto& [buffer, ring] : rings_) {
    if (ring.tensor_memory || ring.writers.empty()) continue;
    if (ring.writers.size() > 1)
      cannot_undo(*std::next(ring.writers.begin()), "several ops of the loop write its buffer");
    const Operation& writer = m_.op(*ring.writers.begin());
    ring.from_registers = class_of(writer) == OpClass::local_store;
    const int tile = ring.from_registers ? writer.operands[0] : kNone;
    // Partitions of other numbers of warps hand on what is one tile on the module's.
    const auto text_of = [&](int op, int value) {
      const std::string text(type(value)->text);
      return runs(op) ? on_module_warps(text, execution(op, kFirstSeen)) : text;
    };
    ring.forwarded =
        ring.from_registers && !ring.readers.empty() &&
        std::all_of(ring.readers.begin(), ring.readers.end(), [&](int reader) {
          const Operation& op = m_.op(reader);
          return op.name == "ttg.local_load" && type(op.results[0]) != nullptr &&
                 text_of(reader, op.results[0]) == text_of(*ring.writers.begin(), tile);
        });
  }
}

bool FoldedLoop::is_value(int buffer) const {
  if (!of_loop(at(buffer))) return false;
  const auto& operands = m_.op(at(buffer).op).operands;
  return std::any_of(operands.begin(), operands.end(),
                     [&](int v) { return is_kind(v, TypeKind::tensor); });
}

FoldedSource FoldedLoop::source(const Execution& x, std::size_t k, bool numbers) const {
  const Datum& datum = x.reads[k];
  const int name = x.names[k];
  const Type* t = type(name);
  if (t == nullptr) cannot_undo(x.op, "it has a value without a type");
  if (numbers && t->kind == TypeKind::scalar && datum.number && datum.number->terms.empty() &&
      t->element.starts_with("i") && t->element != "index")
    return {Source::number, kNone, t->bits, datum.number->constant};
  if (datum.made == kNone) {
    for (const ReplayedLoop& loop : r_.loops)
      if (m_.block(m_.regions[static_cast<std::size_t>(m_.op(loop.op).regions[0])].blocks[0])
              .arguments[0] == datum.value)
        return {Source::variable, kNone, 0, 0};
    return {Source::before, kNone, datum.value, 0};
  }
  const Execution& made = at(datum.made);
  if (datum.buffer != kNone && !is_value(datum.buffer)) return buffer_source(x, k, datum);
  if (!of_loop(made)) return {Source::before, datum.made, datum.value, 0};
  if (m_.op(made.op).name == "ttg.local_load")
    if (const auto forwarded = stored(made)) return *forwarded;
  return {Source::node, made.op, index_of(made.op, datum.value), made.iteration};
}

int FoldedLoop::index_of(int op, int value) const {
  const auto& results = m_.op(op).results;
  const auto found = std::find(results.begin(), results.end(), value);
  if (found == results.end()) cannot_undo(op, "its results are not understood");
  return static_cast<int>(found - results.begin());
}

std::optional<FoldedSource> FoldedLoop::stored(const Execution& load) const {
  if (load.buffers.size() != 1) return std::nullopt;
  const BufferUse& use = load.buffers.front();
  const Ring* ring = ring_of(use.buffer);
  if (ring == nullptr || !ring->forwarded) return std::nullopt;
  if (use.before == kNone || !of_loop(at(use.before)))
    cannot_undo(load.op, "it reads what is written before the loop");
  if (chain_ > kMaxHandOvers)
    cannot_undo(load.op, "it is the end of too long a chain of hand-overs");
  ++chain_;
  const Source made = source(at(use.before), 0, true);
  --chain_;
  return made;
}

Execution FoldedLoop::with_stored(const Execution& x) const {
  Execution result = x;
  for (Datum& datum : result.reads)
    for (int steps = 0; steps < kMaxHandOvers && datum.made != kNone; ++steps) {
      const Execution& load = at(datum.made);
      if (m_.op(load.op).name != "ttg.local_load" || load.buffers.size() != 1) break;
      const BufferUse& use = load.buffers.front();
      const Ring* ring = ring_of(use.buffer);
      if (ring == nullptr || !ring->forwarded || use.before == kNone) break;
      if (class_of(m_.op(at(use.before).op)) != OpClass::local_store) break;
      datum = at(use.before).reads.at(0);
    }
  return result;
}

int FoldedLoop::filled_for(int view) const {
  const auto found = filled_.find(view);
  return found == filled_.end() || found->second.size() != 1 ? kNone : *found->second.begin();
}

FoldedSource FoldedLoop::buffer_source(const Execution& x, std::size_t k,
                                       const Datum& datum) const {
  const Execution& made = at(datum.made);
  const Ring* ring = ring_of(datum.buffer);
  const bool view =
      of_loop(made) && class_of(m_.op(made.op)) == OpClass::view && !names_buffer(m_.op(made.op));
  const auto use = std::find_if(x.buffers.begin(), x.buffers.end(), [&](const BufferUse& u) {
    return u.read == k && u.buffer == datum.buffer;
  });
  if (view) {
    // It names the buffer; all that read by it must read what one writer wrote.
    if (use != x.buffers.end() && use->reads && ring != nullptr && !ring->writers.empty() &&
        !ring->tensor_memory && filled_for(datum.made) != use->before)
      cannot_undo(made.op, "its buffer is filled several times while it is in use");
    return {Source::node, made.op, index_of(made.op, datum.value), made.iteration};
  }
  if (ring == nullptr || ring->writers.empty()) {
    if (datum.slot < 0) cannot_undo(x.op, "which buffer of the ring it means is not known");
    if (of_loop(at(datum.buffer))) cannot_undo(x.op, "it reads a buffer that nothing fills");
    return {Source::before, datum.made, datum.value, 0};
  }
  if (ring->tensor_memory) return {Source::buffer, ring_key(datum.buffer), 0, 0};
  const bool fills = *ring->writers.begin() == x.op;
  if (fills) return {Source::buffer, ring_key(datum.buffer), 0, 0};  // its own
  int writer = use == x.buffers.end() ? kNone : use->before;
  // A view may be made before its buffer is filled: what counts is what is read by it.
  if (class_of(m_.op(x.op)) == OpClass::view)
    writer = filled_for(static_cast<int>(&x - r_.executions.data()));
  if (writer == kNone || !of_loop(at(writer)))
    cannot_undo(x.op, "it reads a buffer that is filled before the loop");
  return {Source::node, at(writer).op, 0, at(writer).iteration};
}

void FoldedLoop::check_reads(int v) const {
  const Node& node = nodes_[static_cast<std::size_t>(v)];
  const Execution& x = at(execution(node.op, kFirstSeen));
  for (const BufferUse& use : x.buffers) {
    if (!use.reads) continue;
    const Ring* ring = ring_of(use.buffer);
    if (use.before == kNone || !of_loop(at(use.before))) {
      if (of_loop(at(use.buffer)) || (ring != nullptr && !ring->writers.empty()))
        cannot_undo(node.op, "it reads a buffer that is filled before the loop");
      continue;
    }
    const Execution& writer = at(use.before);
    if (writer.op == node.op) continue;
    if (ring != nullptr && ring->tensor_memory) {
      const auto u = index_.find(writer.op);
      if (u == index_.end() ||
          seen_.count({u->second, v, x.iteration - writer.iteration, true}) == 0)
        cannot_undo(node.op, "who writes what it reads is not known");
      continue;
    }
    // Through views, to who fills the buffer.
    Source s = node.reads[use.read];
    std::int64_t distance = s.iteration;
    for (int depth = 0; s.kind == Source::node && s.op != writer.op && depth < 100; ++depth) {
      const auto view = index_.find(s.op);
      if (view == index_.end() || class_of(m_.op(s.op)) != OpClass::view) break;
      s = nodes_[static_cast<std::size_t>(view->second)].reads[0];
      distance += s.iteration;
    }
    if (s.kind != Source::node || s.op != writer.op || distance != x.iteration - writer.iteration)
      cannot_undo(node.op, "who writes what it reads is not known");
  }
}

void FoldedLoop::order_accesses() {
  struct Last {
    int writer = kNone;
    std::vector<int> readers;
  };
  std::map<std::pair<int, std::int64_t>, Last> last;
  const auto connect = [&](int from, int to, bool carries) {
    if (from == kNone || !of_loop(at(from)) || !of_loop(at(to))) return;
    const auto u = index_.find(at(from).op), v = index_.find(at(to).op);
    if (u == index_.end() || v == index_.end() || u->second == v->second) return;
    if (at(to).iteration < kFirstSeen || at(to).iteration >= kLastSeen) return;
    edge(u->second, v->second, at(to).iteration - at(from).iteration, carries);
  };
  for (std::size_t e = 0; e < r_.executions.size(); ++e)
    for (const BufferUse& use : r_.executions[e].buffers) {
      const Ring* ring = ring_of(use.buffer);
      if (ring == nullptr || !ring->tensor_memory || (!use.reads && !use.writes)) continue;
      Last& l = last[{use.buffer, use.slot}];
      const int now = static_cast<int>(e);
      if (use.reads) connect(l.writer, now, true);
      if (use.writes) {
        connect(l.writer, now, false);
        for (const int reader : l.readers) connect(reader, now, false);
        l = {now, {}};
      } else {
        l.readers.push_back(now);
      }
    }
}

void FoldedLoop::check_buffers() const {
  for (const auto& [buffer, ring] : rings_) {
    if (!ring.tensor_memory || ring.writers.empty()) continue;
    std::pair<int, std::int64_t> last{kNone, 0};  // who wrote, in which iteration
    for (std::int64_t i = 0; i < 4; ++i)
      for (const int v : order_) {
        const int op = nodes_[static_cast<std::size_t>(v)].op;
        const Execution& x = at(execution(op, kFirstSeen + 8));
        for (const BufferUse& use : x.buffers) {
          if (ring_key(use.buffer) != buffer || !use.reads || i < 2) continue;
          if (use.before == kNone || !of_loop(at(use.before)))
            cannot_undo(op, "it reads a buffer that is filled before the loop");
          const Execution& w = at(use.before);
          const auto u = index_.find(w.op);
          if (u == index_.end()) cannot_undo(op, "who writes what it reads is not known");
          const std::int64_t d = x.iteration - w.iteration + shift_[static_cast<std::size_t>(v)] -
                                 shift_[static_cast<std::size_t>(u->second)];
          if (last != std::pair{u->second, i - d})
            cannot_undo(op,
                        "with one buffer in the place of the ring it would read something else");
        }
        for (const BufferUse& use : x.buffers)
          if (ring_key(use.buffer) == buffer && use.writes) last = {v, i};
      }
  }
}

}  // namespace twill::ttgir
