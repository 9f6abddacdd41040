// The replay of a pipelined or partitioned loop (replay.hpp): its state and its steps. Private to
// graph/ttgir/. replay.cpp: threads and control; replay_numbers.cpp: integers; replay_barriers.cpp:
// barriers; replay_arefs.cpp: the references that stand for them before they are lowered;
// replay_buffers.cpp: who writes and reads which buffer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/ttgir/replay.hpp"

namespace twill::ttgir {

class Replayer {
 public:
  Replayer(const Module& module, int loop, const Pace& pace, bool any_tile)
      : m_(module), loop_(loop), pace_(pace), any_tile_(any_tile) {}
  Replay run();

 private:
  static constexpr std::int64_t kMaxFactor = 1 << 30;  ///< of numbers: products of two fit
  static constexpr std::int64_t kPassed = 12;  ///< iterations of a loop before the one replayed

  struct Barrier {
    std::int64_t count = 0, pending = 0, bytes = 0;
    int phase = 0;
  };

  struct Frame {
    int block = kNone;
    std::size_t at = 0;
    /// The scf.for or scf.if that the block is of; kNone = the function, a partition.
    int op = kNone;
    std::int64_t iteration = kBefore;  ///< of a replayed loop
    std::int64_t passed = -1;          ///< iterations of one that is executed on the way to it
  };

  struct Thread {
    std::vector<Frame> frames;
    bool done = false;
    bool replays = false;  ///< is in its loop
  };

  /// An asynchronous reference: rings that are filled and read in turns.
  struct Aref {
    std::vector<Datum> rings;
    std::vector<int> names;  ///< the values that they are
    std::int64_t puts = 0, filled = 0;
    std::map<int, std::int64_t> gets;  ///< of each op that takes from it
  };

  using Place = std::pair<int, std::int64_t>;  // buffer, slot

  // The module.
  [[noreturn]] static void fail(int op, const std::string& why) { throw CannotUndo{op, why}; }
  /// One op of a thread, or all that it can do. Did it do one?
  bool go(std::size_t t, bool all);
  void choose_region(int function);
  std::string waiting() const;
  std::vector<int> loops_in(int block) const;
  bool is_wanted(int index, int t) const;
  int block_of(int op, std::size_t region) const;
  template <typename Visit>
  void each_under(int op, const Visit& visit) const {
    for (const int region : m_.op(op).regions)
      for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
        for (const int inner : m_.block(block).ops) {
          visit(inner);
          each_under(inner, visit);
        }
  }
  int count_under(int op, std::string_view name) const {
    int count = 0;
    each_under(op, [&](int inner) { count += m_.op(inner).name == name ? 1 : 0; });
    return count;
  }
  bool is_under(int op, int around) const {
    while (op != kNone && op != around) op = m_.parent(op);
    return op == around;
  }
  const Type* type(int value) const { return m_.type_of(value); }
  bool is_kind(int value, TypeKind kind) const {
    const Type* t = type(value);
    return t != nullptr && t->kind == kind;
  }
  bool is_integer(int value) const {
    const Type* t = type(value);
    return t != nullptr && t->kind == TypeKind::scalar && !t->is_pointer() &&
           (t->element.starts_with("i") || t->element == "index");
  }
  static bool is_constant(const std::optional<Linear>& n) { return n && n->terms.empty(); }
  Datum& read(int value, int op);
  int record(int index, int t, const std::vector<Datum>& in);
  void define(int value, Datum datum);
  void pass(int index, int t, const std::vector<Datum>& in);
  /// Does a loop that is not replayed do more than compute: must its barriers go on from it?
  bool is_executed(int index) const;
  void enter_passed(int index, int t, const std::vector<Datum>& in);
  /// The next iteration of such a loop, or what comes after it.
  void go_on(int t, const std::vector<Datum>& out);
  void define_passed(int index, int t, const std::vector<Datum>& out);
  void jump(int t, int terminator);
  void enter_loop(int index, int t, const std::vector<Datum>& in);
  /// A while loop around the one replayed: its condition holds.
  void enter_while(int index, int t, const std::vector<Datum>& in);
  /// The end of a block.
  void leave(int t, int terminator);
  void specialise(int index, int t, const std::vector<Datum>& in);
  bool has_nested(int block) const;
  /// Does what an integer op makes hold in loops that run for long alone?
  bool assumes(int index, const std::vector<Datum>& in) const;
  bool only_computes(int index) const;
  /// One op of a thread. False where it waits.
  bool step(int t);

  // Integers.
  Datum unknown(int value);
  Linear fresh();
  static bool too_large(const Linear& n);
  /// The sign of a difference in loops that run for long, which is noted to be looked at at the
  /// end.
  std::optional<int> sign(const Linear& n, int op);
  /// The same by the length of a loop that may come to be replayed.
  std::optional<int> sign_by_length(const Linear& n, int op);
  std::optional<int> sign_by_candidates(const Linear& n, int op);
  /// In a loop that is executed on the way its length is known.
  std::optional<int> sign_in_passed(const Linear& n) const;
  /// A value that is computed later on, from what is known already.
  std::optional<Datum> foresee(int value, int depth = 0);
  /// k where the terms are those of k x (upper - lower bound) of a loop.
  static std::optional<std::int64_t> multiple(const Linear& n, const std::vector<Datum>& bounds);
  void check_assumptions() const;
  std::optional<Linear> compare(int op, std::string_view how, const Linear& a, const Linear& b);
  /// eq of `arith.cmpi eq, %a, %b`, in either syntax.
  std::string_view predicate(const Operation& op) const;
  std::optional<Linear> evaluate(int index, const std::vector<Datum>& in);

  // Barriers.
  Barrier& barrier(int op, const Datum& datum);
  static void complete(Barrier& b);
  void arrive(int op, const Datum& datum, std::int64_t count);
  /// Is a flag set? One that is not known decides what is executed.
  bool flag(int op, const Datum& datum);
  /// The number behind the `nth` operand of a custom op, or an attribute of a generic one.
  std::int64_t number_in(int index, std::string_view attribute) const;
  std::vector<std::size_t> operands_of(const Operation& op, bool barriers) const;
  std::vector<std::size_t> flags_of(const Operation& op) const;
  /// An op on barriers alone. False where it has to wait.
  bool synchronise(int index, const std::vector<Datum>& in);
  /// A product or a copy with a flag that is not set does nothing.
  bool executes(int index, const std::vector<Datum>& in);
  void signal(int index, const std::vector<Datum>& in);

  // Buffers.
  void touch(int execution, std::size_t k, bool reads, bool writes);
  void touch_buffers(int execution);
  /// A view of a buffer: which, and where in its ring.
  Datum view(int index, const std::vector<Datum>& in);
  /// The ops of a body as one: an scf.if whose condition is not known, a loop that is not replayed.
  int opaque(int index, int t, std::vector<Datum> in);
  /// What is done to a buffer from around an op by the ops in it.
  enum class Use { reads, writes, signals };
  Use use_within(int index, int value) const;
  /// Nothing is known of a buffer any more, but who did that.
  void forget(int buffer, int execution, Use use);
  void results(int index, int execution, const std::vector<Datum>& in);

  // Asynchronous references.
  /// False where it waits.
  bool refer(int index, int t, const std::vector<Datum>& in);

  const Module& m_;
  const int loop_;
  const Pace pace_;
  const bool any_tile_;  ///< what the variables of loops around the one replayed are is not known
  int region_ = kNone;   ///< the op whose partitions are replayed, if any
  /// Of the loops around loop_ in its partition and of itself, the outermost first: which of the
  /// loops of its block, and of how many.
  std::vector<std::pair<std::size_t, std::size_t>> path_;
  bool nested_ = false;             ///< partitions have loops in loops
  std::vector<bool> in_partition_;  ///< of the threads, once there are partitions
  std::vector<Thread> threads_;
  std::unordered_map<int, Datum> environment_;
  std::map<Place, Barrier> barriers_;
  std::map<Place, int> writers_;
  std::unordered_map<int, int> unknown_writer_;  ///< of buffers: who wrote somewhere in them
  std::unordered_map<int, Aref> arefs_;          ///< by the value of its creation
  std::vector<int> candidates_;                  ///< loops that may come to be replayed or passed
  std::vector<ReplayedLoop> passed_;             ///< loops that are not replayed
  std::map<int, std::vector<std::size_t>> passed_threads_;  ///< of partitions before those replayed
  std::vector<std::pair<int, Linear>> assumptions_;
  int unknowns_ = 0;
  bool foreseeing_ = false;  ///< is a bound of a loop that is yet to come asked for?
  std::size_t now_ = 0;      ///< the thread that does something
  std::size_t steps_ = 0;
  Replay out_;
};

}  // namespace twill::ttgir
