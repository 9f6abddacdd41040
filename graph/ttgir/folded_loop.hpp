// What undo.cpp makes of a replayed loop: its ops, where each reads from, and the iteration that
// each works for. Private to graph/ttgir/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/replay.hpp"
#include "graph/ttgir/retime.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {

struct Peeled;

/// Where a value that an op reads comes from.
struct FoldedSource {
  enum Kind { node, before, number, variable, buffer } kind = node;
  int op = kNone;              ///< node: which; before, buffer: the execution
  int result = 0;              ///< of the op
  std::int64_t iteration = 0;  ///< node: of its thread; number: which
  bool operator==(const FoldedSource&) const = default;
};

inline bool of_loop(const Execution& e) {
  return e.iteration != kBefore;
}

[[noreturn]] inline void cannot_undo(int op, const std::string& why) {
  throw CannotUndo{op, why};
}

/// A replayed loop as one loop: all partitions and all iterations of an op are one node.
/// folded_loop.cpp: ops, sources and order; folded_buffers.cpp: what goes through buffers.
class FoldedLoop {
 public:
  using Source = FoldedSource;
  struct Node {
    int op = kNone;
    std::vector<Source> reads;  ///< per operand
  };

  /// Throws CannotUndo. `any_tile`: as replay() has it.
  FoldedLoop(const Module& module, int loop, bool any_tile = false);

  /// Iterations as those that stand before the loop say (peeled.hpp), not as few values carried as
  /// can be. Throws CannotUndo.
  void take(const Peeled& peeled);

  const Module& module() const { return m_; }
  const Replay& replayed() const { return r_; }
  const Execution& at(int execution) const {
    return r_.executions[static_cast<std::size_t>(execution)];
  }
  int first_loop() const { return r_.loops.front().op; }
  /// The ttg.warp_specialize whose partitions the loop is in; kNone where there is none.
  int specialised() const { return specialised_; }
  /// The loops around it up to the function, the outermost first; none where it is in partitions.
  const std::vector<int>& around() const { return around_; }
  /// In how many of these an op is.
  std::size_t level_of(int op) const;
  /// Is there nothing else around it, but that the function may return before?
  bool stands_in_loops() const { return stands_in_loops_; }
  /// The branches with which it returns before the loop, and whether it does where that asks holds.
  const std::vector<std::pair<int, bool>>& early_returns() const { return early_returns_; }
  /// The replayed loop that a value is a result of, of whichever partition; kNone where it is none.
  int loop_left_by(int value) const;
  /// The ops behind the loops, of partitions and then of the function, each in its order.
  std::vector<int> behind() const;
  /// A result of ttg.warp_specialize is what its default region yields, and an argument of a
  /// partition what the function gives it.
  int through(int value) const;
  /// Who reads what in the first iterations, and before them, where that depends on which partition
  /// is faster. None where it does not.
  const std::optional<CannotUndo>& unordered_first() const { return unordered_first_; }
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
    return op.name == "ttg.memdesc_index" || op.name == "ttg.memdesc_subview" ||
           op.name.starts_with("nvws.aref.");
  }
  /// By the order in which they were found.
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int v) const { return nodes_[static_cast<std::size_t>(v)]; }
  int node_index(int op) const { return index_.at(op); }
  /// Nodes in the order of one iteration.
  const std::vector<int>& order() const { return order_; }
  bool is_ring(int allocation) const { return rings_.count(allocation) != 0; }
  /// Is a buffer made in the loop, of a tile? It is a value as any.
  bool is_value(int buffer) const;
  /// Who fills what is read by a view: kNone where nothing is read, or of several.
  int filled_for(int view) const;
  /// An execution with what it reads through buffers that only hand tiles over, as it was stored
  /// there.
  Execution with_stored(const Execution& x) const;
  /// Is there a node of an op?
  bool has_node(int op) const { return index_.count(op) != 0; }
  /// The execution of an op in an iteration of the window.
  int execution(int op, std::int64_t iteration) const {
    const auto found = by_op_.find(op);
    if (found == by_op_.end() || iteration < 0 || iteration >= kReplayed) return kNone;
    return found->second[static_cast<std::size_t>(iteration)];
  }
  bool runs(int op) const { return execution(op, kFirstSeen) != kNone; }
  /// Of a source of node v, in iterations of the loop that is written.
  std::int64_t distance(int v, const Source& s) const {
    return s.iteration + shift_[static_cast<std::size_t>(v)] -
           shift_[static_cast<std::size_t>(index_.at(s.op))];
  }
  /// The text of types of an execution, with the tiles on the module's warps: those of a partition
  /// with another number are priced for the module's.
  std::string on_module_warps(const std::string& text, int execution) const;
  /// Operands that are not written again: barriers, tokens that only order, flags of barriers.
  bool drops(int value) const {
    return is_barrier_buffer(m_, value) || is_kind(value, TypeKind::token);
  }

 private:
  /// A buffer from before the loop that something in the loop writes or reads.
  struct Ring {
    std::set<int> writers;  ///< ops
    bool tensor_memory = false;
    bool from_registers = false;  ///< its one writer is a local_store
    std::vector<int> readers;     ///< ops
    bool forwarded = false;       ///< all that read it load the tile that was stored, as it was
  };
  /// Who wrote what each op reads from a buffer, in each iteration of the window.
  using Written =
      std::map<std::tuple<int, std::int64_t, std::size_t>, std::pair<int, std::int64_t>>;

  /// The loops of all partitions must be the same one: from the same bounds by the same step.
  void check_loops() const;
  void collect();
  /// Does every op read the same, whichever partition is faster?
  void check_order();
  /// In iterations from one up to another; kBefore: before the loop.
  static Written written(const Replay& replay, std::int64_t from, std::int64_t to);
  /// The first that two replays do not agree on.
  std::optional<CannotUndo> differs(const Written& one, const Written& other, bool faster) const;
  bool stays(int index) const;
  int node_of(int op);
  void connect();
  /// Of the default region and each partition.
  void read_warps();
  void read_around();
  /// From the function's first block to one of its own. Does it only go on to there or return?
  bool reaches(int function, int block);
  /// The sources of a node in each iteration of the window; what makes them is kept, too.
  void read_all(int v);
  /// The k-th source of an op in an iteration, that of a node by its distance.
  Source source_at(int op, std::int64_t i, std::size_t k, bool numbers) const;
  /// The ops of one iteration in the order of time; those of `early` before all others.
  void arrange(const std::set<int>& early);
  void edge(int from, int to, std::int64_t distance, bool carries) {
    if (seen_.emplace(from, to, distance, carries).second)
      edges_.push_back({from, to, distance, carries});
  }

  void classify_buffers();
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
  Source source(const Execution& x, std::size_t k, bool numbers) const;
  int index_of(int op, int value) const;
  /// What a load from a forwarded ring loads: the tile that was stored there.
  std::optional<Source> stored(const Execution& load) const;
  Source buffer_source(const Execution& x, std::size_t k, const Datum& datum) const;
  /// Whatever an op reads of a buffer must come from who wrote it there: by a value of the loop
  /// that is written, or by an order of accesses to tensor memory.
  void check_reads(int v) const;
  /// Reads after writes of tensor memory carry what is there; writes after reads and after writes
  /// are orders.
  void order_accesses();
  /// One buffer in the place of a ring: does each op still read what it read?
  void check_buffers() const;

  const Module& m_;
  const int loop_;
  const bool any_tile_;
  const Replay r_;
  std::map<int, std::vector<int>> by_op_;  ///< executions per iteration, in the order of the text
  std::map<int, Ring> rings_;              ///< by the execution of the allocation
  std::map<int, std::set<int>> filled_;    ///< view -> writers of what is read by it
  int specialised_ = kNone;
  std::vector<int> around_;
  bool stands_in_loops_ = true;
  std::vector<std::pair<int, bool>> early_returns_;
  std::optional<CannotUndo> unordered_first_;
  std::vector<int> warps_;  ///< by thread; none where there are no partitions
  std::vector<Node> nodes_;
  std::map<int, int> index_;  ///< op -> node
  std::vector<Distance> edges_;
  std::set<std::tuple<int, int, std::int64_t, bool>> seen_;
  std::vector<std::int64_t> shift_;
  std::vector<int> order_;
  mutable int chain_ = 0;  ///< of hand-overs
};

}  // namespace twill::ttgir
