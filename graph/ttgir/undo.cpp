#include "graph/ttgir/undo.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/retime.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMaxChain = 1'000;              // of ops before the loop, or of hand-overs
constexpr std::size_t kMaxUndoneOps = 1'000;  // of the loop that is written

/// Where a value that an op reads comes from.
struct Source {
  enum Kind { node, before, number, variable, buffer } kind = node;
  int op = kNone;              ///< node: which; before, buffer: the execution
  int result = 0;              ///< of the op
  std::int64_t iteration = 0;  ///< node: of its thread; number: which
  bool operator==(const Source&) const = default;
};

bool of_loop(const Execution& e) {
  return e.iteration != kBefore;
}

class Folder {
 public:
  Folder(const Module& module, int loop) : m_(module), loop_(loop), r_(replay(module, loop)) {}

  Undone run() {
    check_loops();
    collect();
    check_order();
    classify_buffers();
    connect();
    const auto shifts = retime(static_cast<int>(nodes_.size()), edges_);
    if (!shifts) fail(first_loop(), "its partitions' orders contradict each other");
    shift_ = *shifts;
    arrange();
    check_buffers();
    return write();
  }

 private:
  struct Node {
    int op = kNone;
    std::vector<std::vector<Source>> reads;  ///< per iteration of the window, per operand
    bool done = false;
  };
  /// A buffer from before the loop that something in the loop writes or reads.
  struct Ring {
    std::set<int> writers;  ///< ops
    bool tensor_memory = false;
    bool from_registers = false;  ///< its one writer is a local_store
    std::vector<int> readers;     ///< ops
    bool forwarded = false;       ///< all that read it load the tile that was stored, as it was
  };

  [[noreturn]] static void fail(int op, const std::string& why) { throw CannotUndo{op, why}; }

  const Execution& at(int execution) const {
    return r_.executions[static_cast<std::size_t>(execution)];
  }
  int first_loop() const { return r_.loops.front().op; }
  const Type* type(int value) const { return m_.type_of(value); }
  bool is_kind(int value, TypeKind kind) const {
    const Type* t = type(value);
    return t != nullptr && t->kind == kind;
  }
  bool is_tile(int value) const {
    return is_kind(value, TypeKind::tensor) ||
           (is_kind(value, TypeKind::memdesc) && !is_barrier_buffer(m_, value));
  }
  /// Does an op only name a buffer of a ring?
  static bool names_buffer(const Operation& op) {
    return op.name == "ttg.memdesc_index" || op.name == "ttg.memdesc_subview";
  }

  /// The loops of all partitions must be the same one: from the same bounds by the same step.
  void check_loops() const {
    const auto same = [](const std::optional<Linear>& a, const std::optional<Linear>& b) {
      return a && b && a->constant == b->constant && a->terms == b->terms;
    };
    const ReplayedLoop& first = r_.loops.front();
    for (const ReplayedLoop& loop : r_.loops)
      for (std::size_t k = 0; k < 3; ++k)
        if (!same(loop.bounds[k].number, first.bounds[k].number))
          fail(loop.op, "its bounds or its step are others than those of the partition at line " +
                            std::to_string(m_.op(first.op).line));
    if (std::none_of(r_.loops.begin(), r_.loops.end(), [&](const ReplayedLoop& loop) {
          for (int op = loop.op; op != kNone; op = m_.parent(op))
            if (op == loop_) return true;
          return false;
        }))
      fail(loop_, "another loop comes before it");
  }

  void collect() {
    for (std::size_t e = 0; e < r_.executions.size(); ++e) {
      const Execution& x = r_.executions[e];
      if (!of_loop(x)) continue;
      auto& list = by_op_[x.op];
      if (list.empty()) list.assign(static_cast<std::size_t>(kReplayed), kNone);
      int& there = list[static_cast<std::size_t>(x.iteration)];
      if (there != kNone) fail(x.op, "it is executed several times an iteration");
      there = static_cast<int>(e);
    }
    for (auto& [op, list] : by_op_) {
      const auto begin = list.begin() + kFirstSeen, end = list.begin() + kLastSeen;
      const auto count = std::count_if(begin, end, [](int e) { return e != kNone; });
      if (count != 0 && count != kLastSeen - kFirstSeen)
        fail(op, "it is not executed in every iteration");
    }
  }

  /// Who wrote what each op reads from a buffer, in each iteration of the window.
  using Written =
      std::map<std::tuple<int, std::int64_t, std::size_t>, std::pair<int, std::int64_t>>;
  static Written written(const Replay& replay) {
    Written result;
    for (const Execution& x : replay.executions) {
      if (x.iteration < kFirstSeen || x.iteration >= kLastSeen) continue;
      for (const BufferUse& use : x.buffers) {
        if (!use.reads) continue;
        const Execution* w = use.before == kNone
                                 ? nullptr
                                 : &replay.executions[static_cast<std::size_t>(use.before)];
        result[{x.op, x.iteration, use.read}] = {w == nullptr ? kNone : w->op,
                                                 w == nullptr ? 0 : w->iteration};
      }
    }
    return result;
  }

  /// Does every op read the same, whichever partition is faster?
  void check_order() const {
    if (r_.threads < 2) return;
    const Written one = written(r_);
    for (int t = 0; t < r_.threads; ++t)
      for (const bool first : {false, true}) {
        const Written other = written(replay(m_, loop_, {t, first}));
        for (const auto& [use, writer] : one) {
          const auto found = other.find(use);
          const auto known = [&](const std::pair<int, std::int64_t>& w) {
            return w.first == kNone ? std::string("nobody")
                                    : "line " + std::to_string(m_.op(w.first).line) +
                                          " in iteration " + std::to_string(w.second);
          };
          if (found == other.end() || found->second == writer) continue;
          fail(std::get<0>(use),
               "no barrier orders what it reads: in iteration " + std::to_string(std::get<1>(use)) +
                   " that was written by " + known(writer) + ", or by " + known(found->second) +
                   " where another partition is " + (first ? "faster" : "slower"));
        }
      }
  }

  /// The execution of an op in an iteration of the window.
  int execution(int op, std::int64_t iteration) const {
    const auto found = by_op_.find(op);
    if (found == by_op_.end() || iteration < 0 || iteration >= kReplayed) return kNone;
    return found->second[static_cast<std::size_t>(iteration)];
  }
  bool runs(int op) const { return execution(op, kFirstSeen) != kNone; }

  void classify_buffers() {
    for (const auto& [op, list] : by_op_) {
      if (!runs(op)) continue;
      for (std::int64_t i = kFirstSeen; i < kLastSeen; ++i)
        for (const BufferUse& use : at(list[static_cast<std::size_t>(i)]).buffers) {
          if (is_value(use.buffer)) {
            if (use.writes && use.buffer != list[static_cast<std::size_t>(i)])
              fail(op, "it writes a buffer that has been filled where it was made");
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
        if (const int made = x.reads[use.read].made;
            use.reads && made != kNone && class_of(m_.op(at(made).op)) == OpClass::view &&
            !names_buffer(m_.op(at(made).op)))
          filled_[made].insert(use.before);
    for (auto& [buffer, ring] : rings_) {
      if (ring.tensor_memory || ring.writers.empty()) continue;
      if (ring.writers.size() > 1)
        fail(*std::next(ring.writers.begin()), "several ops of the loop write its buffer");
      const Operation& writer = m_.op(*ring.writers.begin());
      ring.from_registers = class_of(writer) == OpClass::local_store;
      const int tile = ring.from_registers ? writer.operands[0] : kNone;
      ring.forwarded = ring.from_registers && !ring.readers.empty() &&
                       std::all_of(ring.readers.begin(), ring.readers.end(), [&](int reader) {
                         const Operation& op = m_.op(reader);
                         return op.name == "ttg.local_load" && type(op.results[0]) != nullptr &&
                                type(op.results[0])->text == type(tile)->text;
                       });
    }
  }

  /// Is a buffer made in the loop, of a tile? It is a value as any.
  bool is_value(int buffer) const {
    if (!of_loop(at(buffer))) return false;
    const auto& operands = m_.op(at(buffer).op).operands;
    return std::any_of(operands.begin(), operands.end(),
                       [&](int v) { return is_kind(v, TypeKind::tensor); });
  }

  /// One made in the loop for others to fill is the same ring in every iteration.
  int ring_key(int buffer) const {
    return of_loop(at(buffer)) ? kNone - 1 - at(buffer).op : buffer;
  }

  const Ring* ring_of(int buffer) const {
    const auto found = rings_.find(ring_key(buffer));
    return found == rings_.end() ? nullptr : &found->second;
  }

  /// What an execution reads as its k-th value; `numbers`: a known number is one, wherever it comes
  /// from.
  Source source(const Execution& x, std::size_t k, bool numbers) const {
    const Datum& datum = x.reads[k];
    const int name = x.names[k];
    const Type* t = type(name);
    if (t == nullptr) fail(x.op, "it has a value without a type");
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

  int index_of(int op, int value) const {
    const auto& results = m_.op(op).results;
    const auto found = std::find(results.begin(), results.end(), value);
    if (found == results.end()) fail(op, "its results are not understood");
    return static_cast<int>(found - results.begin());
  }

  /// What a load from a forwarded ring loads: the tile that was stored there.
  std::optional<Source> stored(const Execution& load) const {
    if (load.buffers.size() != 1) return std::nullopt;
    const BufferUse& use = load.buffers.front();
    const Ring* ring = ring_of(use.buffer);
    if (ring == nullptr || !ring->forwarded) return std::nullopt;
    if (use.before == kNone || !of_loop(at(use.before)))
      fail(load.op, "it reads what is written before the loop");
    if (chain_ > kMaxChain) fail(load.op, "it is the end of too long a chain of hand-overs");
    ++chain_;
    const Source made = source(at(use.before), 0, true);
    --chain_;
    return made;
  }

  /// The writer of what is read by a view; kNone where nothing is, or several things are.
  int filled_for(int view) const {
    const auto found = filled_.find(view);
    return found == filled_.end() || found->second.size() != 1 ? kNone : *found->second.begin();
  }

  Source buffer_source(const Execution& x, std::size_t k, const Datum& datum) const {
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
        fail(made.op, "its buffer is filled several times while it is in use");
      return {Source::node, made.op, index_of(made.op, datum.value), made.iteration};
    }
    if (ring == nullptr || ring->writers.empty()) {
      if (datum.slot < 0) fail(x.op, "which buffer of the ring it means is not known");
      if (of_loop(at(datum.buffer))) fail(x.op, "it reads a buffer that nothing fills");
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
      fail(x.op, "it reads a buffer that is filled before the loop");
    return {Source::node, at(writer).op, 0, at(writer).iteration};
  }

  // ---- Which ops stay, and what they read.
  bool stays(int index) const {
    const Operation& op = m_.op(index);
    const OpClass c = class_of(op);
    if (c == OpClass::synchronise || c == OpClass::terminator || c == OpClass::transparent ||
        names_buffer(op))
      return false;
    if (c == OpClass::store) return true;
    // (An allocation for others to fill is but a name.)
    if ((c == OpClass::local_alloc || c == OpClass::tmem_alloc) &&
        !is_value(execution(index, kFirstSeen)))
      return false;
    if (op.name == "ttg.local_load" && stored(at(execution(index, kFirstSeen)))) return false;
    if (c == OpClass::local_store)
      for (const BufferUse& use : at(execution(index, kFirstSeen)).buffers)
        if (const Ring* ring = ring_of(use.buffer); ring != nullptr && ring->forwarded)
          return false;
    return std::any_of(op.results.begin(), op.results.end(), [&](int v) { return is_tile(v); }) ||
           std::any_of(op.operands.begin(), op.operands.end(), [&](int v) { return is_tile(v); });
  }

  int node_of(int op) {
    const auto [found, fresh] = index_.try_emplace(op, static_cast<int>(nodes_.size()));
    if (fresh) {
      nodes_.push_back({op, {}, false});
      if (nodes_.size() > kMaxUndoneOps) fail(op, "the loop has too many ops");
    }
    return found->second;
  }

  void edge(int from, int to, std::int64_t distance, bool carries) {
    if (seen_.emplace(from, to, distance, carries).second)
      edges_.push_back({from, to, distance, carries});
  }

  void connect() {
    for (const auto& [op, list] : by_op_)
      if (runs(op) && stays(op)) node_of(op);
    if (nodes_.empty()) fail(first_loop(), "it has no tile operations");
    for (std::size_t v = 0; v < nodes_.size(); ++v) read_all(static_cast<int>(v));
    order_accesses();
    for (std::size_t v = 0; v < nodes_.size(); ++v) check_reads(static_cast<int>(v));
    check_warps();
  }

  /// A tile in registers is spread over the warps of its partition, and priced for the module's.
  void check_warps() const {
    int specialised = kNone;
    for (int op = first_loop(); op != kNone; op = m_.parent(op))
      if (m_.op(op).name == "ttg.warp_specialize") specialised = op;
    if (specialised == kNone) return;
    const Operation& around = m_.op(specialised);
    const std::string_view all =
        std::string_view(*m_.text).substr(around.begin, around.end - around.begin);
    std::vector<std::string_view> warps;  // of each partition, in the order of the text
    constexpr std::string_view kWarps = "num_warps(";
    for (std::size_t at = all.find(kWarps); at != std::string_view::npos;
         at = all.find(kWarps, at + 1)) {
      const std::size_t begin = at + kWarps.size();
      warps.push_back(all.substr(begin, all.find(')', begin) - begin));
    }
    std::string_view module = m_.inherited(specialised, "ttg.num-warps").first;
    module = module.substr(0, module.find(' '));
    for (const Node& node : nodes_) {
      const Operation& op = m_.op(node.op);
      const auto in_registers = [&](int v) { return is_kind(v, TypeKind::tensor); };
      if (std::none_of(op.results.begin(), op.results.end(), in_registers) &&
          std::none_of(op.operands.begin(), op.operands.end(), in_registers))
        continue;
      const auto thread = static_cast<std::size_t>(at(execution(node.op, kFirstSeen)).thread);
      if (thread == 0) continue;  // the function's and the default region's
      if (thread > warps.size() || warps[thread - 1] != module)
        fail(node.op,
             "its partition has another number of warps than the module, which its tiles "
             "are priced for");
    }
  }

  /// Whatever an op reads of a buffer must come from who wrote it there: by a value of the loop
  /// that is written, or by an order of accesses to tensor memory.
  void check_reads(int v) const {
    const Node& node = nodes_[static_cast<std::size_t>(v)];
    const Execution& x = at(execution(node.op, kFirstSeen));
    for (const BufferUse& use : x.buffers) {
      if (!use.reads) continue;
      const Ring* ring = ring_of(use.buffer);
      if (use.before == kNone || !of_loop(at(use.before))) {
        if (of_loop(at(use.buffer)) || (ring != nullptr && !ring->writers.empty()))
          fail(node.op, "it reads a buffer that is filled before the loop");
        continue;
      }
      const Execution& writer = at(use.before);
      if (writer.op == node.op) continue;
      if (ring != nullptr && ring->tensor_memory) {
        const auto u = index_.find(writer.op);
        if (u == index_.end() ||
            seen_.count({u->second, v, x.iteration - writer.iteration, true}) == 0)
          fail(node.op, "who writes what it reads is not known");
        continue;
      }
      // Through views, to who fills the buffer.
      Source s = node.reads[0][use.read];
      std::int64_t distance = s.iteration;
      for (int depth = 0; s.kind == Source::node && s.op != writer.op && depth < 100; ++depth) {
        const auto view = index_.find(s.op);
        if (view == index_.end() || class_of(m_.op(s.op)) != OpClass::view) break;
        s = nodes_[static_cast<std::size_t>(view->second)].reads[0][0];
        distance += s.iteration;
      }
      if (s.kind != Source::node || s.op != writer.op || distance != x.iteration - writer.iteration)
        fail(node.op, "who writes what it reads is not known");
    }
  }

  /// The sources of a node in each iteration of the window; what makes them is kept, too.
  void read_all(int v) {
    const int op = nodes_[static_cast<std::size_t>(v)].op;
    std::vector<Source> first;
    const std::size_t count = at(execution(op, kFirstSeen)).reads.size();
    for (std::size_t k = 0; k < count; ++k) {
      // A number that stays the same is one; where it comes from is asked of others.
      std::optional<Source> same = source_at(op, kFirstSeen, k, true);
      for (std::int64_t i = kFirstSeen; i < kLastSeen && same; ++i)
        if (source_at(op, i, k, true) != *same) same.reset();
      if (!same) same = source_at(op, kFirstSeen, k, false);
      for (std::int64_t i = kFirstSeen; i < kLastSeen && same->kind != Source::number; ++i)
        if (source_at(op, i, k, false) != *same && source_at(op, i, k, true) != *same)
          fail(op, "what it reads is not the same in every iteration");
      first.push_back(*same);
    }
    nodes_[static_cast<std::size_t>(v)].reads = {first};
    for (const Source& s : first)
      if (s.kind == Source::node) edge(node_of(s.op), v, s.iteration, true);
  }

  /// The k-th source of an op in an iteration, that of a node by its distance.
  Source source_at(int op, std::int64_t i, std::size_t k, bool numbers) const {
    const int now = execution(op, i);
    if (now == kNone) fail(op, "it is not executed in every iteration");
    const Execution& x = at(now);
    if (k >= x.reads.size()) fail(op, "what it reads is not the same in every iteration");
    if (drops(x.op, x.names[k])) return {Source::number, kNone, 0, 0};
    Source s = source(x, k, numbers);
    if (s.kind == Source::node) s.iteration = i - s.iteration;
    return s;
  }

  /// Operands that are not written again: barriers, tokens that only order, flags of barriers.
  bool drops(int, int value) const {
    return is_barrier_buffer(m_, value) || is_kind(value, TypeKind::token);
  }

  /// Reads after writes of tensor memory carry what is there; writes after reads and after writes
  /// are orders.
  void order_accesses() {
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

  std::int64_t distance(int v, const Source& s) const {
    return s.iteration + shift_[static_cast<std::size_t>(v)] -
           shift_[static_cast<std::size_t>(index_.at(s.op))];
  }

  /// The ops of one iteration in the order of time.
  void arrange() {
    const std::int64_t most = *std::max_element(shift_.begin(), shift_.end());
    if (most > 7) fail(first_loop(), "its partitions are too many iterations apart");
    for (std::size_t v = 0; v < nodes_.size(); ++v) order_.push_back(static_cast<int>(v));
    const std::int64_t iteration = kFirstSeen + 8;
    std::vector<std::int64_t> time;
    for (const int v : order_) {
      const Node& node = nodes_[static_cast<std::size_t>(v)];
      const int now = execution(node.op, iteration - shift_[static_cast<std::size_t>(v)]);
      if (now == kNone) fail(node.op, "it is not executed in every iteration");
      time.push_back(2 * std::int64_t{now});
    }
    for (const int v : order_) {  // a view comes behind what fills its buffer
      const Node& node = nodes_[static_cast<std::size_t>(v)];
      if (class_of(m_.op(node.op)) != OpClass::view) continue;
      for (const Source& s : node.reads[0])
        if (s.kind == Source::node && distance(v, s) == 0)
          time[static_cast<std::size_t>(v)] =
              std::max(time[static_cast<std::size_t>(v)],
                       time[static_cast<std::size_t>(index_.at(s.op))] + 1);
    }
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      return std::pair(time[static_cast<std::size_t>(a)], a) <
             std::pair(time[static_cast<std::size_t>(b)], b);
    });
  }

  /// One buffer in the place of a ring: does each op still read what it read?
  void check_buffers() const {
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
              fail(op, "it reads a buffer that is filled before the loop");
            const Execution& w = at(use.before);
            const auto u = index_.find(w.op);
            if (u == index_.end()) fail(op, "who writes what it reads is not known");
            const std::int64_t d = x.iteration - w.iteration + shift_[static_cast<std::size_t>(v)] -
                                   shift_[static_cast<std::size_t>(u->second)];
            if (last != std::pair{u->second, i - d})
              fail(op, "with one buffer in the place of the ring it would read something else");
          }
          for (const BufferUse& use : x.buffers)
            if (ring_key(use.buffer) == buffer && use.writes) last = {v, i};
        }
    }
  }

  // ---- Text.
  std::string unique(std::string name) {
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "v" + name;
    std::string result = name;
    for (int k = 1; !used_.insert(result).second; ++k) result = name + "_" + std::to_string(k);
    return result;
  }

  std::string name_of(int value) const { return std::string(m_.value(value).name); }

  void line(std::string& text, const std::string& content, int op) {
    text += content + "\n";
    (&text == &body_ ? body_places_ : before_places_)
        .emplace_back(m_.op(op).line, m_.op(op).column);
  }

  /// A constant, defined before the loop.
  std::string constant(std::int64_t number, int bits) {
    const auto [found, fresh] = constants_.try_emplace({number, bits}, "");
    if (fresh) {
      found->second = "%" + unique("c" + std::to_string(number < 0 ? -number : number) +
                                   (number < 0 ? "m" : "") + "_i" + std::to_string(bits));
      const std::string value = bits == 1 ? (number != 0 ? "true" : "false")
                                          : std::to_string(number) + " : i" + std::to_string(bits);
      line(before_, "    " + found->second + " = arith.constant " + value, first_loop());
    }
    return found->second;
  }

  std::string text_of(const Datum& datum, int name, int op) {
    if (datum.number && datum.number->terms.empty() && is_kind(name, TypeKind::scalar) &&
        type(name)->element.starts_with("i") && type(name)->element != "index")
      return constant(datum.number->constant, type(name)->bits);
    if (datum.made == kNone) {
      const auto found = arguments_.find(datum.value);
      if (found == arguments_.end()) {
        // The variable of a loop around it: any number.
        const auto [made, fresh] = outer_.try_emplace(datum.value, "");
        if (fresh) {
          made->second = "%" + unique(name_of(datum.value));
          line(before_, "    " + made->second + " = tt.get_program_id x : i32", op);
        }
        return made->second;
      }
      return found->second;
    }
    return before(datum.made, datum.value);
  }

  /// A value from before the loop, by name; the op that makes it is written.
  std::string before(int execution, int value) {
    const auto found = made_.find({execution, value});
    if (found != made_.end()) return found->second;
    const Execution& x = at(execution);
    const Operation& op = m_.op(x.op);
    const bool loops = op.name.starts_with("scf.") || op.name == "ttg.warp_specialize";
    std::map<int, std::string> names;
    if (++chain_ > kMaxChain) fail(x.op, "it is the end of too long a chain of ops");
    if (!loops)
      for (std::size_t k = 0; k < x.reads.size(); ++k)
        names[x.names[k]] = text_of(x.reads[k], x.names[k], x.op);
    --chain_;
    std::string results;
    for (const int result : op.results) {
      std::string& name = made_[{execution, result}];
      name = "%" + unique(name_of(result));
      results += (results.empty() ? "" : ", ") + name;
    }
    if (loops) {  // what they come to is known to nobody
      results.clear();
      for (const int result : op.results)
        line(before_,
             "    " + made_[{execution, result}] + " = \"twill.before\"() : () -> " +
                 std::string(type(result)->text),
             x.op);
    } else {
      line(before_, "    " + results + " = " + substituted(x.op, names), x.op);
    }
    return made_.at({execution, value});
  }

  /// The text of an op with other names for what it reads, without locations, on one line.
  std::string substituted(int index, const std::map<int, std::string>& names) const {
    const Operation& op = m_.op(index);
    std::map<std::pair<std::string_view, int>, std::string_view> tokens;
    for (const auto& [value, name] : names) {
      const Value& v = m_.value(value);
      int first = v.index;
      while (v.op != kNone && first > 0 &&
             m_.value(m_.op(v.op).results[static_cast<std::size_t>(first) - 1]).name == v.name)
        --first;
      tokens[{v.name, v.index - first}] = name;
    }
    std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
    std::string out;
    bool quoted = false;
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '$' || c == '.' || c == '-';
    };
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] == '"') quoted = !quoted;
      if (!quoted && text[i] == '%') {
        std::size_t end = i + 1;
        while (end < text.size() && is_name(text[end])) ++end;
        const std::string_view name = text.substr(i + 1, end - i - 1);
        int number = 0;
        std::size_t after = end;
        if (after < text.size() && text[after] == '#') {
          ++after;
          while (after < text.size() && text[after] >= '0' && text[after] <= '9' && number < 10'000)
            number = 10 * number + (text[after++] - '0');
        }
        const auto found = tokens.find({name, number});
        out += found == tokens.end() ? std::string(text.substr(i, after - i))
                                     : std::string(found->second);
        i = after;
      } else if (!quoted && text.substr(i).starts_with("loc(") &&
                 (i == 0 || !is_name(text[i - 1]))) {
        int depth = 0;
        bool inside = false;
        for (; i < text.size(); ++i) {
          if (text[i] == '"') inside = !inside;
          if (inside) continue;
          if (text[i] == '(') ++depth;
          if (text[i] == ')' && --depth == 0) break;
        }
        ++i;
      } else if (!quoted && text[i] == '/' && i + 1 < text.size() && text[i + 1] == '/') {
        while (i < text.size() && text[i] != '\n') ++i;
      } else {
        out += text[i++];
      }
    }
    while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
    return out;
  }

  /// A buffer in the place of a ring of tensor memory.
  std::string collapsed(int buffer, int name) {
    const auto [found, fresh] = collapsed_.try_emplace(buffer, "");
    if (fresh) {
      const int op = buffer < kNone ? kNone - 1 - buffer : at(buffer).op;
      found->second = "%" + unique(name_of(m_.op(op).results[0]));
      line(before_,
           "    " + found->second + " = ttng.tmem_alloc : () -> " + std::string(type(name)->text),
           op);
    }
    return found->second;
  }

  std::string carried(int node, int result, std::int64_t distance) {
    auto& names = carried_[{node, result}];
    while (static_cast<std::int64_t>(names.size()) < distance)
      names.push_back("%" + unique("before_" + name_of(result_value(node, result))));
    return names[static_cast<std::size_t>(distance) - 1];
  }

  /// The value of the module that a node's result has the type of.
  int result_value(int node, int result) const {
    const Operation& op = m_.op(nodes_[static_cast<std::size_t>(node)].op);
    if (is_filler(op)) return filled(op);
    return op.results[static_cast<std::size_t>(result)];
  }

  /// An op whose buffer stands for its result: a copy, a store into a ring.
  bool is_filler(const Operation& op) const {
    return op.name == "ttng.async_tma_copy_global_to_local" ||
           op.name == "ttg.async_copy_global_to_local" ||
           (class_of(op) == OpClass::local_store && op.results.empty());
  }
  int filled(const Operation& op) const {
    for (const int value : op.operands)
      if (is_kind(value, TypeKind::memdesc) && !is_barrier_buffer(m_, value)) return value;
    return kNone;
  }

  std::string read_text(int v, std::size_t k, int name) {
    const Node& node = nodes_[static_cast<std::size_t>(v)];
    const Source& s = node.reads[0][k];
    const Execution& x = at(execution(node.op, kFirstSeen));
    switch (s.kind) {
      case Source::number: return constant(s.iteration, s.result);
      case Source::variable: return variable_;
      case Source::buffer: return collapsed(s.op, name);
      case Source::before: return text_of(x.reads[k], name, node.op);
      case Source::node: break;
    }
    const int from = index_.at(s.op);
    const std::int64_t d = distance(v, s);
    if (d > 0) return carried(from, s.result, d);
    const auto found = results_.find({from, s.result});
    if (found == results_.end()) fail(node.op, "it reads what is made after it");
    return found->second;
  }

  /// Ops with the same text and sources are one: partitions repeat what is cheap.
  static bool may_repeat(OpClass c) {
    return c == OpClass::elementwise || c == OpClass::view || c == OpClass::layout ||
           c == OpClass::reduction || c == OpClass::replicated;
  }

  void write_node(int v) {
    const Node& node = nodes_[static_cast<std::size_t>(v)];
    const Operation& op = m_.op(node.op);
    const Execution& x = at(execution(node.op, kFirstSeen));
    std::map<int, std::string> names;
    for (std::size_t k = 0; k < x.reads.size(); ++k)
      if (!drops(node.op, x.names[k]) && !(is_filler(op) && x.names[k] == filled(op)))
        names[x.names[k]] = read_text(v, k, x.names[k]);
    if (is_filler(op)) return write_filler(v, names);
    std::string text = is_tensor_memory_mma(op) ? product(op, names) : substituted(node.op, names);
    for (const int value : op.operands)
      if (is_kind(value, TypeKind::token) && !is_tensor_memory_mma(op))
        text = without_token(text, name_of(value));  // [%t] or token %t
    if (may_repeat(class_of(op)) && op.results.size() == 1) {
      const auto [found, fresh] = written_.try_emplace(text, v);
      if (!fresh) {
        results_[{v, 0}] = results_.at({found->second, 0});
        return;
      }
    }
    std::string results;
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      std::string& name = results_[{v, static_cast<int>(k)}];
      name = "%" + unique(name_of(op.results[k]));
      results += (k == 0 ? "" : ", ") + name;
    }
    line_in_body(results.empty() ? text : results + " = " + text, node.op);
  }

  void line_in_body(const std::string& text, int op) {
    // Ops with regions have several lines; all are the op's.
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    body_ += "      " + text + "\n";
    for (std::int64_t k = 0; k < lines; ++k)
      body_places_.emplace_back(m_.op(op).line, m_.op(op).column);
  }

  /// "[%token]" taken out of an op's text.
  static std::string without_token(std::string text, const std::string& name) {
    for (std::size_t at = text.find("%" + name); at != std::string::npos;) {
      constexpr std::string_view kWord = " token ";
      if (at >= kWord.size() && text.compare(at - kWord.size(), kWord.size(), kWord) == 0) {
        text.erase(at - kWord.size(), kWord.size() + 1 + name.size());
        at = text.find("%" + name);
        continue;
      }
      const std::size_t begin = text.rfind('[', at), end = text.find(']', at);
      if (begin == std::string::npos || end == std::string::npos) return text;
      text.erase(begin, end - begin + 1);
      at = text.find("%" + name);
    }
    return text;
  }

  /// A product of tensor memory without its barriers.
  std::string product(const Operation& op, const std::map<int, std::string>& names) const {
    if (op.name != "ttng.tc_gen5_mma") fail(op_index(op), "products with scales are not undone");
    std::vector<int> tiles, flags;
    for (const int value : op.operands) {
      if (is_kind(value, TypeKind::memdesc) && !is_barrier_buffer(m_, value))
        tiles.push_back(value);
      if (is_kind(value, TypeKind::scalar)) flags.push_back(value);
    }
    if (tiles.size() != 3 || flags.size() < 2)
      fail(op_index(op), "its operands are not understood");
    std::string text = "ttng.tc_gen5_mma ", types;
    for (std::size_t k = 0; k < 3; ++k) {
      text += (k == 0 ? "" : ", ") + names.at(tiles[k]);
      types += (k == 0 ? "" : ", ") + std::string(type(tiles[k])->text);
    }
    text += ", " + names.at(flags[0]) + ", " + names.at(flags[1]);
    std::string attributes;
    for (const Attribute& a : op.attributes)
      if (a.name != "is_async" && a.name != "operandSegmentSizes" && !a.name.starts_with("loop.") &&
          !a.name.starts_with("ttg.partition"))
        attributes += (attributes.empty() ? "" : ", ") + std::string(a.name) +
                      (a.value.empty() ? "" : " = " + std::string(a.value));
    if (!attributes.empty()) text += " {" + attributes + "}";
    return text + " : " + types;
  }

  int op_index(const Operation& op) const { return static_cast<int>(&op - m_.ops.data()); }

  /// tensor<128xf32, #blocked> of tensor<128x!tt.ptr<f32>, #blocked>; "" of anything else.
  static std::string loaded_type(const std::string& pointers) {
    constexpr std::string_view kPointer = "!tt.ptr<";
    const std::size_t begin = pointers.find(kPointer);
    const std::size_t end = begin == std::string::npos ? begin : pointers.find('>', begin);
    if (end == std::string::npos) return "";
    std::string element = pointers.substr(begin + kPointer.size(), end - begin - kPointer.size());
    element = element.substr(0, element.find(','));
    return pointers.substr(0, begin) + element + pointers.substr(end + 1);
  }

  void write_filler(int v, const std::map<int, std::string>& names) {
    const int index = nodes_[static_cast<std::size_t>(v)].op;
    const Operation& op = m_.op(index);
    const Type* buffer = type(filled(op));
    std::string base = name_of(filled(op));
    if (const Execution& x = at(execution(index, kFirstSeen)); !x.buffers.empty())
      base = name_of(m_.op(at(x.buffers.front().buffer).op).results[0]);
    std::string tile, tile_type;
    if (op.name == "ttg.async_copy_global_to_local") {
      // Pointers, then perhaps a mask and what stands where it is not set.
      std::string operands, pointers;
      for (const int value : op.operands) {
        if (!is_kind(value, TypeKind::tensor)) continue;
        if (pointers.empty()) pointers = std::string(type(value)->text);
        operands += (operands.empty() ? "" : ", ") + names.at(value);
      }
      tile = "%" + unique(base);
      tile_type = loaded_type(pointers);
      if (tile_type.empty()) fail(index, "its pointers are not read");
      line_in_body(tile + " = tt.load " + operands + " : " + pointers, index);
    } else if (class_of(op) == OpClass::copy) {
      tile = "%" + unique(base);
      tile_type = "tensor<";
      for (const std::int64_t extent : buffer->shape) tile_type += std::to_string(extent) + "x";
      tile_type += buffer->element + ">";
      std::string coordinates, descriptor, descriptor_type;
      for (const int value : op.operands) {
        const Type* t = type(value);
        if (t->kind == TypeKind::descriptor) {
          descriptor = names.at(value);
          descriptor_type = std::string(t->text);
        } else if (t->kind == TypeKind::scalar && t->element == "i32") {
          coordinates += (coordinates.empty() ? "" : ", ") + names.at(value);
        }
      }
      if (descriptor.empty()) fail(index, "its descriptor is not read");
      line_in_body(tile + " = tt.descriptor_load " + descriptor + "[" + coordinates +
                       "] : " + descriptor_type + " -> " + tile_type,
                   index);
    } else {
      tile = names.at(op.operands[0]);
      tile_type = std::string(type(op.operands[0])->text);
    }
    std::string& name = results_[{v, 0}];
    name = "%" + unique(base);
    line_in_body(name + " = ttg.local_alloc " + tile + " : (" + tile_type + ") -> " +
                     std::string(buffer->text),
                 index);
  }

  std::string header() {
    int function = loop_;
    for (int op = m_.parent(loop_); op != kNone; op = m_.parent(op))
      if (m_.op(op).name.ends_with(".func")) function = op;
    std::vector<std::pair<const char*, std::string>> aliases;
    for (const auto& [name, value] : m_.aliases)
      aliases.emplace_back(name.data(), std::string(name) + " = " + std::string(value));
    std::sort(aliases.begin(), aliases.end());
    std::string text;
    for (const auto& [at, alias] : aliases) text += alias + "\n";
    std::string attributes;
    for (const char* name :
         {"ttg.num-ctas", "ttg.num-warps", "ttg.target", "ttg.threads-per-warp"}) {
      const auto [value, op] = m_.inherited(loop_, name);
      if (op != kNone)
        attributes += (attributes.empty() ? "" : ", ") + std::string("\"") + name +
                      "\" = " + std::string(value);
    }
    text += "module attributes {" + attributes + "} {\n  tt.func public @";
    std::string symbol(m_.op(function).symbol);
    if (symbol.empty()) {
      symbol = std::string(m_.attribute(m_.op(function), "sym_name"));
      symbol = symbol.size() > 2 ? symbol.substr(1, symbol.size() - 2) : "loop";
    }
    text += symbol + "(";
    const auto& region = m_.regions[static_cast<std::size_t>(m_.op(function).regions[0])];
    bool first = true;
    for (const int argument : m_.block(region.blocks[0]).arguments) {
      arguments_[argument] = "%" + unique(name_of(argument));
      text += (first ? "" : ", ") + arguments_[argument] + ": " + std::string(type(argument)->text);
      first = false;
    }
    return text + ") {\n";
  }

  /// Buffers from before the loop that nothing in it uses and something after it does.
  std::int64_t resident() const {
    std::set<int> executed;
    for (const Execution& x : r_.executions) executed.insert(x.op);
    std::int64_t bytes = 0;
    for (std::size_t e = 0; e < r_.executions.size(); ++e) {
      const Execution& x = r_.executions[e];
      const Operation& op = m_.op(x.op);
      if (of_loop(x) || class_of(op) != OpClass::local_alloc ||
          rings_.count(static_cast<int>(e)) != 0)
        continue;
      const int buffer = op.results.empty() ? kNone : op.results[0];
      if (buffer == kNone || type(buffer) == nullptr || is_barrier_buffer(m_, buffer)) continue;
      if (used_later(buffer, executed)) bytes += buffer_bytes(*type(buffer));
    }
    return bytes;
  }

  /// Is a buffer, under any name, used by an op that was not executed up to the loop or in it?
  bool used_later(int buffer, const std::set<int>& executed) const {
    std::set<int> names = {buffer};
    for (const Operation& op : m_.ops)  // in the order of the text, which is that of definition
      for (std::size_t k = 0; k < op.operands.size(); ++k) {
        if (names.count(op.operands[k]) == 0) continue;
        const OpClass c = class_of(op);
        if (op.name == "ttg.warp_specialize") {
          for (std::size_t r = 1; r < op.regions.size(); ++r) {
            const auto& region = m_.regions[static_cast<std::size_t>(op.regions[r])];
            if (region.blocks.empty()) continue;
            const auto& arguments = m_.block(region.blocks[0]).arguments;
            if (k < arguments.size()) names.insert(arguments[k]);
          }
        } else if (c == OpClass::view) {
          names.insert(op.results.begin(), op.results.end());
        } else if (c != OpClass::synchronise && executed.count(op_index(op)) == 0) {
          return true;
        }
      }
    return false;
  }

  Undone write() {
    std::string text = header();
    const ReplayedLoop& loop = r_.loops.front();
    const Operation& loop_op = m_.op(loop.op);
    variable_ =
        "%" +
        unique(name_of(m_.block(m_.regions[static_cast<std::size_t>(loop_op.regions[0])].blocks[0])
                           .arguments[0]));
    std::vector<std::string> bounds;
    for (std::size_t k = 0; k < 3; ++k)
      bounds.push_back(text_of(loop.bounds[k], loop_op.operands[k], loop.op));
    for (const int v : order_) write_node(v);
    std::string inits, types, yields;
    for (const auto& [key, names] : carried_) {
      const std::string value(type(result_value(key.first, key.second))->text);
      for (std::size_t d = 0; d < names.size(); ++d) {
        const std::string init = "%" + unique("first");
        line(before_, "    " + init + " = ub.poison : " + value, loop.op);
        inits += (inits.empty() ? "" : ", ") + names[d] + " = " + init;
        types += (types.empty() ? "" : ", ") + value;
        yields += (yields.empty() ? "" : ", ") + (d == 0 ? results_.at(key) : names[d - 1]);
      }
    }
    const std::string kind(type(loop_op.operands[0])->text);
    std::string head = "    ";
    if (!types.empty())
      head += "%" + unique("after") + ":" + std::to_string(count(types_count(carried_))) + " = ";
    head += "scf.for " + variable_ + " = " + bounds[0] + " to " + bounds[1] + " step " + bounds[2];
    if (!types.empty()) head += " iter_args(" + inits + ") -> (" + types + ")";
    head += " : " + kind + " {";
    Undone result;
    result.places.assign(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
                         {loop_op.line, loop_op.column});
    result.places.insert(result.places.end(), before_places_.begin(), before_places_.end());
    result.places.emplace_back(loop_op.line, loop_op.column);
    result.places.insert(result.places.end(), body_places_.begin(), body_places_.end());
    text += before_ + head + "\n" + body_ + "      scf.yield";
    if (!types.empty()) text += " " + yields + " : " + types;
    text += "\n    }\n    tt.return\n  }\n}\n";
    for (int k = 0; k < 5; ++k) result.places.emplace_back(loop_op.line, loop_op.column);
    result.text = std::move(text);
    result.resident = resident();
    return result;
  }

  using Carried = std::map<std::pair<int, int>, std::vector<std::string>>;
  static std::size_t types_count(const Carried& carried) {
    std::size_t sum = 0;
    for (const auto& [key, names] : carried) sum += names.size();
    return sum;
  }
  static std::size_t count(std::size_t n) { return n; }

  const Module& m_;
  const int loop_;
  const Replay r_;
  std::map<int, std::vector<int>> by_op_;  ///< executions per iteration, in the order of the text
  std::map<int, Ring> rings_;              ///< by the execution of the allocation
  std::map<int, std::set<int>> filled_;    ///< view -> writers of what is read by it
  std::vector<Node> nodes_;
  std::map<int, int> index_;  ///< op -> node
  std::vector<Distance> edges_;
  std::set<std::tuple<int, int, std::int64_t, bool>> seen_;
  std::vector<std::int64_t> shift_;
  std::vector<int> order_;

  mutable int chain_ = 0;
  std::set<std::string> used_;
  std::string before_, body_, variable_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> before_places_, body_places_;
  std::map<std::pair<std::int64_t, int>, std::string> constants_;
  std::map<int, std::string> arguments_, outer_, collapsed_;
  std::map<std::pair<int, int>, std::string> made_, results_;
  std::map<std::string, int> written_;
  Carried carried_;
};

}  // namespace

Undone undo_schedule(const Module& module, int loop) {
  return Folder(module, loop).run();
}

}  // namespace twill::ttgir
