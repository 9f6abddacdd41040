#include "graph/ttgir/replay.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kMaxReplayed = 500'000;  // a tenth of a second; attention takes 20,000
constexpr std::size_t kMaxTerms = 16;          // of a sum; more is a number that is not known
constexpr std::int64_t kMaxFactor = 1 << 30;   // of numbers: products of two fit

struct Barrier {
  std::int64_t count = 0, pending = 0, bytes = 0;
  int phase = 0;
};

struct Frame {
  int block = kNone;
  std::size_t at = 0;
  int op =
      kNone;  ///< the scf.for or scf.if that the block is of; kNone = the function, a partition
  std::int64_t iteration = kBefore;  ///< of a replayed loop
};

struct Thread {
  std::vector<Frame> frames;
  bool done = false;
  bool replays = false;  ///< is in its loop
};

using Place = std::pair<int, std::int64_t>;  // buffer, slot

class Replayer {
 public:
  Replayer(const Module& module, int loop, const Pace& pace)
      : m_(module), loop_(loop), pace_(pace) {}

  Replay run() {
    int function = loop_;
    for (int at = m_.parent(loop_); at != kNone; at = m_.parent(at))
      if (m_.op(at).name.ends_with(".func")) function = at;
    if (function == loop_) fail(loop_, "the loop is in no function");
    specialised_ = count_under(function, "ttg.warp_specialize");
    if (specialised_ > 1) fail(function, "the function has several ttg.warp_specialize");
    const int body = block_of(function, 0);
    for (const int argument : m_.block(body).arguments) environment_[argument] = unknown(argument);
    threads_.push_back({{{body, 0, kNone, kBefore}}});
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t t = 0; t < threads_.size(); ++t) {
        const bool favoured = static_cast<int>(t) == pace_.thread;
        if (favoured && !pace_.first) continue;
        moved = go(t, favoured || pace_.thread == kNone || !pace_.first) || moved;
        if (pace_.first && pace_.thread != kNone && !favoured &&
            static_cast<std::size_t>(pace_.thread) < threads_.size())
          go(static_cast<std::size_t>(pace_.thread), true);
      }
      if (!moved && pace_.thread != kNone &&
          static_cast<std::size_t>(pace_.thread) < threads_.size())
        moved = go(static_cast<std::size_t>(pace_.thread), false);
    }
    out_.threads = static_cast<int>(threads_.size());
    for (const Thread& thread : threads_)
      if (thread.replays && !thread.done && thread.frames.back().iteration < kLastSeen)
        fail(thread.frames.back().op == kNone ? loop_ : thread.frames.back().op,
             "its barriers wait for ever after " + std::to_string(thread.frames.back().iteration) +
                 " iterations");
    if (out_.loops.empty()) fail(loop_, "no partition comes to a loop");
    check_assumptions();
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail(int op, const std::string& why) { throw CannotUndo{op, why}; }

  /// One op of a thread, or all that it can do. Did it do one?
  bool go(std::size_t t, bool all) {
    bool moved = false;
    while (!threads_[t].done && step(static_cast<int>(t))) {
      moved = true;
      if (!all) break;
    }
    return moved;
  }

  int block_of(int op, std::size_t region) const {
    const Operation& around = m_.op(op);
    if (region >= around.regions.size()) fail(op, "it has no body");
    const auto& blocks = m_.regions[static_cast<std::size_t>(around.regions[region])].blocks;
    if (blocks.size() != 1) fail(op, "its body has several blocks");
    return blocks[0];
  }

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

  // ---- Numbers.
  Datum unknown(int value) {
    Datum datum;
    datum.value = value;
    if (is_integer(value)) datum.number = fresh();
    return datum;
  }

  Linear fresh() {
    Linear number;
    number.terms[unknowns_++] = 1;
    return number;
  }

  static Linear sum(const Linear& a, const Linear& b, std::int64_t factor) {
    Linear result = a;
    result.constant += factor * b.constant;
    for (const auto& [term, f] : b.terms) {
      std::int64_t& both = result.terms[term];
      both += factor * f;
      if (both == 0) result.terms.erase(term);
    }
    return result;
  }

  static bool is_constant(const std::optional<Linear>& n) { return n && n->terms.empty(); }

  static bool too_large(const Linear& n) {
    const auto large = [](std::int64_t x) { return x > kMaxFactor || x < -kMaxFactor; };
    return n.terms.size() > kMaxTerms || large(n.constant) ||
           std::any_of(n.terms.begin(), n.terms.end(),
                       [&](const auto& t) { return large(t.second); });
  }

  /// The sign of a difference in loops that run for long, which is noted to be looked at at the
  /// end.
  std::optional<int> sign(const Linear& n, int op) {
    if (n.terms.empty()) return n.constant == 0 ? 0 : n.constant > 0 ? 1 : -1;
    const bool up = n.terms.begin()->second > 0;
    for (const auto& [term, factor] : n.terms)
      if (n.terms.size() == 1 && (factor > 0) == up) {
        assumptions_.emplace_back(op, n);
        return up ? 1 : -1;
      }
    // Of several unknowns only the length of a loop can be told.
    for (const ReplayedLoop& loop : out_.loops)
      if (const auto k = multiple(n, loop)) return *k > 0 ? 1 : -1;
    return std::nullopt;
  }

  /// k where the terms are those of k x (upper - lower bound) of a loop.
  static std::optional<std::int64_t> multiple(const Linear& n, const ReplayedLoop& loop) {
    if (!loop.bounds[0].number || !loop.bounds[1].number) return std::nullopt;
    const Linear span = sum(*loop.bounds[1].number, *loop.bounds[0].number, -1);
    if (span.terms.empty() || span.terms.size() != n.terms.size()) return std::nullopt;
    std::optional<std::int64_t> k;
    for (const auto& [term, factor] : span.terms) {
      const auto found = n.terms.find(term);
      if (found == n.terms.end() || found->second % factor != 0) return std::nullopt;
      const std::int64_t q = found->second / factor;
      if (k && *k != q) return std::nullopt;
      k = q;
    }
    return k;
  }

  void check_assumptions() const {
    for (const auto& [op, number] : assumptions_) {
      const bool about_a_loop =
          std::any_of(out_.loops.begin(), out_.loops.end(),
                      [&, &n = number](const auto& loop) { return multiple(n, loop).has_value(); });
      if (!about_a_loop) fail(op, "its outcome depends on a number that is not known");
    }
  }

  std::optional<Linear> compare(int op, std::string_view how, const Linear& a, const Linear& b) {
    const std::optional<int> s = sign(sum(a, b, -1), op);
    if (!s) return std::nullopt;
    Linear result;
    if (how == "eq")
      result.constant = *s == 0;
    else if (how == "ne")
      result.constant = *s != 0;
    else if (how == "slt" || how == "ult")
      result.constant = *s < 0;
    else if (how == "sle" || how == "ule")
      result.constant = *s <= 0;
    else if (how == "sgt" || how == "ugt")
      result.constant = *s > 0;
    else if (how == "sge" || how == "uge")
      result.constant = *s >= 0;
    else
      return std::nullopt;
    return result;
  }

  /// eq of `arith.cmpi eq, %a, %b`, in either syntax.
  std::string_view predicate(const Operation& op) const {
    if (!op.generic) {
      std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
      text.remove_prefix(std::min(text.size(), op.name.size()));
      while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
      return text.substr(0, text.find_first_of(" ,"));
    }
    constexpr std::string_view kNames[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                           "sge", "ult", "ule", "ugt", "uge"};
    const std::string_view text = m_.attribute(op, "predicate");
    for (std::size_t k = 0; k < std::size(kNames); ++k)
      if (text.starts_with(std::to_string(k) + " ")) return kNames[k];
    return "";
  }

  std::optional<Linear> evaluate(int index, const std::vector<Datum>& in) {
    const Operation& op = m_.op(index);
    if (op.results.size() != 1 || !is_integer(op.results[0])) return std::nullopt;
    if (op.name == "arith.constant") {
      const auto number = constant_integer(m_, op.results[0]);
      if (!number) return std::nullopt;
      return Linear{{}, *number};
    }
    for (std::size_t k = 0; k < in.size(); ++k)
      if (!in[k].number) return fresh();
    const auto known = [&](std::size_t k) { return is_constant(in[k].number); };
    const auto at = [&](std::size_t k) { return in[k].number->constant; };
    std::optional<Linear> result;
    if (in.size() == 1 && (op.name == "arith.extui" || op.name == "arith.extsi" ||
                           op.name == "arith.index_cast" || op.name == "arith.trunci")) {
      result = in[0].number;
      // -1 : i1 is written true and read as 1.
      if (op.name == "arith.extsi" && type(op.operands[0])->element == "i1") result.reset();
    } else if (in.size() == 2) {
      if (op.name == "arith.addi")
        result = sum(*in[0].number, *in[1].number, 1);
      else if (op.name == "arith.subi")
        result = sum(*in[0].number, *in[1].number, -1);
      else if (op.name == "arith.cmpi")
        result = compare(index, predicate(op), *in[0].number, *in[1].number);
      else if (op.name == "arith.muli" && (known(0) || known(1)))
        result = sum(Linear(), *in[known(0) ? 1 : 0].number, at(known(0) ? 0 : 1));
      else if (known(0) && known(1)) {
        const std::int64_t a = at(0), b = at(1);
        if (op.name == "arith.xori") result = Linear{{}, a ^ b};
        if (op.name == "arith.andi") result = Linear{{}, a & b};
        if (op.name == "arith.ori") result = Linear{{}, a | b};
        if (op.name == "arith.maxsi") result = Linear{{}, std::max(a, b)};
        if (op.name == "arith.minsi") result = Linear{{}, std::min(a, b)};
        if (a >= 0 && b > 0) {
          if (op.name == "arith.divsi" || op.name == "arith.divui") result = Linear{{}, a / b};
          if (op.name == "arith.remsi" || op.name == "arith.remui") result = Linear{{}, a % b};
        }
      } else if (op.name == "arith.andi" && ((known(0) && at(0) == 0) || (known(1) && at(1) == 0)))
        result = Linear();
    } else if (op.name == "arith.select" && in.size() == 3 && known(0)) {
      result = in[at(0) != 0 ? 1 : 2].number;
    }
    if (!result || too_large(*result)) return fresh();
    return result;
  }

  // ---- Barriers.
  Barrier& barrier(int op, const Datum& datum) {
    const auto found = barriers_.find({datum.buffer, datum.slot});
    if (datum.buffer == kNone || found == barriers_.end()) fail(op, "its barrier is not known");
    return found->second;
  }

  static void complete(Barrier& b) {
    if (b.pending > 0 || b.bytes != 0) return;
    b.phase ^= 1;
    b.pending = b.count;
  }

  void arrive(int op, const Datum& datum, std::int64_t count) {
    Barrier& b = barrier(op, datum);
    b.pending -= count;
    if (b.pending < 0) fail(op, "more arrive at its barrier than it counts");
    complete(b);
  }

  /// Is a flag set? One that is not known decides what is executed.
  bool flag(int op, const Datum& datum) {
    if (!is_constant(datum.number)) fail(op, "whether it is executed is not known");
    return datum.number->constant != 0;
  }

  /// The number behind the `nth` operand of a custom op, or an attribute of a generic one.
  std::int64_t number_in(int index, std::string_view attribute) const {
    const Operation& op = m_.op(index);
    std::string_view text = m_.attribute(op, attribute);
    if (text.empty()) {
      text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
      const std::size_t comma = text.find(',');
      if (comma == std::string_view::npos) fail(index, "its count is not read");
      text.remove_prefix(comma + 1);
      while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    }
    std::int64_t number = 0;
    if (text.empty() || text[0] < '0' || text[0] > '9') fail(index, "its count is not read");
    for (const char c : text) {
      if (c < '0' || c > '9' || number > kMaxFactor) break;
      number = 10 * number + (c - '0');
    }
    return number;
  }

  std::vector<std::size_t> operands_of(const Operation& op, bool barriers) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < op.operands.size(); ++k)
      if (is_kind(op.operands[k], TypeKind::memdesc) &&
          is_barrier_buffer(m_, op.operands[k]) == barriers)
        found.push_back(k);
    return found;
  }

  std::vector<std::size_t> flags_of(const Operation& op) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < op.operands.size(); ++k)
      if (const Type* t = type(op.operands[k]);
          t != nullptr && t->kind == TypeKind::scalar && t->element == "i1")
        found.push_back(k);
    return found;
  }

  /// An op on barriers alone. False where it has to wait.
  bool synchronise(int index, const std::vector<Datum>& in) {
    const Operation& op = m_.op(index);
    const auto barriers = operands_of(op, true);
    const auto flags = flags_of(op);
    if (op.name == "ttng.init_barrier" && barriers.size() == 1) {
      const std::int64_t count = number_in(index, "count");
      barriers_[{in[barriers[0]].buffer, in[barriers[0]].slot}] = {count, count, 0, 0};
      return true;
    }
    if (op.name == "ttng.wait_barrier" && barriers.size() == 1 && op.operands.size() > 1) {
      if (!flags.empty() && !flag(index, in[flags[0]])) return true;
      const auto& phase = in[barriers[0] + 1].number;
      if (!is_constant(phase)) fail(index, "the phase that it waits for is not known");
      return barrier(index, in[barriers[0]]).phase != phase->constant;
    }
    if (op.name == "ttng.barrier_expect" && barriers.size() == 1) {
      if (!flags.empty() && !flag(index, in[flags[0]])) return true;
      barrier(index, in[barriers[0]]).bytes += number_in(index, "size");
      arrive(index, in[barriers[0]], 1);
      return true;
    }
    if (op.name == "ttng.arrive_barrier" && barriers.size() == 1) {
      if (flags.empty() || flag(index, in[flags[0]]))
        arrive(index, in[barriers[0]], number_in(index, "count"));
      return true;
    }
    if (op.name == "ttng.tc_gen5_commit" && barriers.size() == 1) {
      if (flags.empty() || flag(index, in[flags[0]])) arrive(index, in[barriers[0]], 1);
      return true;
    }
    // What orders the accesses of one thread, or is of no account.
    constexpr std::string_view kIdle[] = {"ttng.inval_barrier", "ttng.fence_async_shared",
                                          "ttng.fence",         "ttng.tensormap_create",
                                          "ttg.local_dealloc",  "ttng.tensormap_fenceproxy_acquire",
                                          "ttg.barrier",        "gpu.barrier",
                                          "tt.print",           "tt.assert",
                                          "llvm.intr.assume",   "rocdl.sched.barrier"};
    if (std::find(std::begin(kIdle), std::end(kIdle), op.name) != std::end(kIdle)) return true;
    fail(index, "what it does to a barrier is not known");
  }

  // ---- Ops.
  Datum& read(int value, int op) {
    const auto found = environment_.find(value);
    if (found == environment_.end())
      fail(op, "%" + std::string(m_.value(value).name) + " is not known");
    return found->second;
  }

  int record(int index, int t, const std::vector<Datum>& in) {
    Execution e;
    e.op = index;
    e.thread = t;
    for (const Frame& frame : threads_[static_cast<std::size_t>(t)].frames)
      e.iteration = std::max(e.iteration, frame.iteration);
    e.reads = in;
    e.names = m_.op(index).operands;
    out_.executions.push_back(std::move(e));
    return static_cast<int>(out_.executions.size()) - 1;
  }

  void define(int value, Datum datum) {
    if (datum.value == kNone) datum.value = value;
    environment_[value] = std::move(datum);
  }

  void touch(int execution, std::size_t k, bool reads, bool writes) {
    Execution& e = out_.executions[static_cast<std::size_t>(execution)];
    const Datum& datum = e.reads[k];
    if (datum.buffer == kNone) return;  // a function's argument: nothing is in it of the loop
    if (datum.slot < 0) fail(e.op, "which buffer of the ring it means is not known");
    if (writes && !datum.whole) fail(e.op, "it writes a part of a buffer");
    int& writer = writers_.try_emplace({datum.buffer, datum.slot}, kNone).first->second;
    e.buffers.push_back({k, datum.buffer, datum.slot, writer, reads, writes});
    if (writes) writer = execution;
  }

  void touch_buffers(int execution) {
    const int index = out_.executions[static_cast<std::size_t>(execution)].op;
    const Operation& op = m_.op(index);
    const auto tiles = operands_of(op, false);
    const OpClass c = class_of(op);
    for (std::size_t k = 0; k < tiles.size(); ++k) {
      switch (c) {
        case OpClass::mma: {
          const bool accumulates = is_tensor_memory_mma(op) && k == 2;
          const auto flags = flags_of(op);
          const Datum* use =
              flags.empty() ? nullptr
                            : &out_.executions[static_cast<std::size_t>(execution)].reads[flags[0]];
          const bool anew = accumulates && use != nullptr && is_constant(use->number) &&
                            use->number->constant == 0;
          touch(execution, tiles[k], !anew, accumulates);
          break;
        }
        case OpClass::tmem_store:
        case OpClass::local_store: touch(execution, tiles[k], false, true); break;
        case OpClass::copy:
          if ((op.name != "ttng.async_tma_copy_global_to_local" &&
               op.name != "ttg.async_copy_global_to_local") ||
              k > 0)
            fail(index, "what this copy does is not undone");
          touch(execution, tiles[k], false, true);
          break;
        case OpClass::synchronise: break;
        case OpClass::unknown: fail(index, "what it does to a buffer is not known");
        default: touch(execution, tiles[k], true, false); break;
      }
    }
  }

  /// A view of a buffer: which, and where in its ring.
  Datum view(int index, const std::vector<Datum>& in) {
    const Operation& op = m_.op(index);
    Datum result = in[0];
    result.number.reset();
    const Type *from = type(op.operands[0]), *to = type(op.results[0]);
    if (from == nullptr || to == nullptr) fail(index, "its types are not known");
    if (op.name == "ttg.memdesc_index" || op.name == "ttg.memdesc_subview") {
      if (from->shape.size() != to->shape.size() + 1) fail(index, "it is no buffer of a ring");
      for (std::size_t k = 2; k < in.size(); ++k)
        if (!is_constant(in[k].number) || in[k].number->constant != 0)
          fail(index, "it is a part of a buffer");
      if (in.size() < 2) fail(index, "it has no index");
      result.slot = is_constant(in[1].number) && in[1].number->constant >= 0 &&
                            in[1].number->constant < from->shape[0]
                        ? in[1].number->constant
                        : -1;
    } else if (op.name == "ttg.memdesc_subslice" || op.name == "ttng.tmem_subslice" ||
               op.name == "ttg.memdesc_reinterpret") {
      result.whole = false;
    }
    return result;
  }

  /// The ops of a body as one: an scf.if whose condition is not known, a loop that is not replayed.
  int opaque(int index, int t, std::vector<Datum> in) {
    std::vector<int> names = m_.op(index).operands;
    std::set<int> known(m_.op(index).operands.begin(), m_.op(index).operands.end());
    each_under(index, [&](int inner) {
      for (const int value : m_.op(inner).operands) {
        const Value& v = m_.value(value);
        const int home = v.op != kNone ? m_.op(v.op).block : v.block;
        const int around = m_.regions[static_cast<std::size_t>(m_.block(home).region)].op;
        if (around != kNone && is_under(around, index)) continue;
        if (!known.insert(value).second) continue;
        if (is_kind(value, TypeKind::memdesc))
          fail(inner,
               "it works on a buffer under a condition, or in a loop beside the one replayed");
        in.push_back(read(value, inner));
        names.push_back(value);
      }
    });
    const int execution = record(index, t, in);
    out_.executions.back().names = std::move(names);
    return execution;
  }

  void enter_loop(int index, int t, const std::vector<Datum>& in) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    const Operation& op = m_.op(index);
    const bool inner = count_under(index, "scf.for") + count_under(index, "scf.while") > 0;
    const bool wanted = specialised_ > 0 ? static_cast<std::size_t>(t) < in_partition_.size()
                                         : is_under(loop_, index);
    if (!wanted) {
      const int execution = opaque(index, t, in);
      for (const int value : op.results) {
        Datum datum = unknown(value);
        datum.made = execution;
        define(value, datum);
      }
      return;
    }
    const int body = block_of(index, 0);
    const auto& arguments = m_.block(body).arguments;
    if (in.size() != arguments.size() + 2) fail(index, "its variables are not understood");
    Frame frame{body, 0, index, kBefore};
    // Where partitions have loops in loops, one without is what waits for theirs to end.
    const bool replays = !inner && (!nested_ || thread.frames.back().op != kNone);
    if (replays) {
      frame.iteration = 0;
      thread.replays = true;
      out_.loops.push_back({index, {in[0], in[1], in[2]}});
    } else if (!is_under(loop_, index) && specialised_ == 0) {
      fail(index, "the loop has a loop in it");
    }
    Datum variable = in[0];
    variable.made = variable.buffer = kNone;
    variable.value = arguments[0];
    define(arguments[0], variable);
    for (std::size_t k = 1; k < arguments.size(); ++k) define(arguments[k], in[k + 2]);
    thread.frames.push_back(frame);
  }

  /// A while loop around the one replayed: its condition holds.
  void enter_while(int index, int t, const std::vector<Datum>& in) {
    const auto& arguments = m_.block(block_of(index, 0)).arguments;
    if (arguments.size() != in.size()) fail(index, "its variables are not understood");
    for (std::size_t k = 0; k < in.size(); ++k) define(arguments[k], in[k]);
    threads_[static_cast<std::size_t>(t)].frames.push_back({block_of(index, 0), 0, index, kBefore});
  }

  /// The end of a block.
  void leave(int t, int terminator) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    const Frame frame = thread.frames.back();
    if (frame.op == kNone) {
      thread.done = true;
      return;
    }
    std::vector<Datum> out;
    if (terminator != kNone)
      for (const int value : m_.op(terminator).operands) out.push_back(read(value, terminator));
    if (m_.op(frame.op).name == "scf.if") {
      thread.frames.pop_back();
      const auto& results = m_.op(frame.op).results;
      if (results.size() != out.size()) fail(frame.op, "its results are not understood");
      for (std::size_t k = 0; k < results.size(); ++k) define(results[k], out[k]);
      return;
    }
    if (m_.op(frame.op).name == "scf.while" && terminator != kNone &&
        m_.op(terminator).name == "scf.condition") {
      const int body = block_of(frame.op, 1);
      const auto& arguments = m_.block(body).arguments;
      if (out.size() != arguments.size() + 1) fail(frame.op, "its variables are not understood");
      for (std::size_t k = 0; k < arguments.size(); ++k) define(arguments[k], out[k + 1]);
      thread.frames.back() = {body, 0, frame.op, kBefore};
      return;
    }
    if (frame.iteration == kBefore) fail(frame.op, "the loops in it end");
    const auto& arguments = m_.block(frame.block).arguments;
    if (out.size() + 1 != arguments.size()) fail(frame.op, "its yield is not understood");
    Frame& again = thread.frames.back();
    again.at = 0;
    if (++again.iteration >= kReplayed) thread.done = true;
    Datum variable = read(arguments[0], frame.op);
    const auto& loop = *std::find_if(out_.loops.begin(), out_.loops.end(),
                                     [&](const ReplayedLoop& l) { return l.op == frame.op; });
    if (!loop.bounds[2].number || !variable.number) fail(frame.op, "its step is not known");
    variable.number = sum(*variable.number, *loop.bounds[2].number, 1);
    define(arguments[0], variable);
    for (std::size_t k = 0; k < out.size(); ++k) define(arguments[k + 1], out[k]);
  }

  void specialise(int index, int t, const std::vector<Datum>& in) {
    const Operation& op = m_.op(index);
    in_partition_.assign(1, true);
    nested_ = has_nested(block_of(index, 0));
    for (std::size_t r = 1; r < op.regions.size(); ++r) {
      const auto& region = m_.regions[static_cast<std::size_t>(op.regions[r])];
      for (const int block : region.blocks)
        for (const int inner : m_.block(block).ops)
          if (m_.op(inner).name == "ttg.warp_specialize.partitions")
            fail(inner, "its generic form is not undone");
      const int body = block_of(index, r);
      const auto& arguments = m_.block(body).arguments;
      nested_ = nested_ || has_nested(body);
      if (!arguments.empty() && arguments.size() != in.size())
        fail(index, "the arguments of its partitions are not understood");
      for (std::size_t k = 0; k < arguments.size(); ++k) define(arguments[k], in[k]);
      threads_.push_back({{{body, 0, kNone, kBefore}}});
      in_partition_.push_back(true);
    }
    threads_[static_cast<std::size_t>(t)].frames.push_back({block_of(index, 0), 0, kNone, kBefore});
  }

  bool has_nested(int block) const {
    const auto& ops = m_.block(block).ops;
    return std::any_of(ops.begin(), ops.end(), [&](int op) {
      return m_.op(op).name == "scf.for" && count_under(op, "scf.for") > 0;
    });
  }

  /// One op of a thread. False where it waits.
  bool step(int t) {
    if (++steps_ > kMaxReplayed) fail(loop_, "it takes too many steps to replay");
    const Frame frame = threads_[static_cast<std::size_t>(t)].frames.back();
    const auto& ops = m_.block(frame.block).ops;
    if (frame.at >= ops.size()) {
      leave(t, kNone);
      return true;
    }
    const int index = ops[frame.at];
    const Operation& op = m_.op(index);
    const OpClass c = class_of(op);
    if (c == OpClass::terminator) {
      leave(t, index);
      return true;
    }
    std::vector<Datum> in;
    for (const int value : op.operands) in.push_back(read(value, index));
    const bool arrives = c == OpClass::mma || c == OpClass::copy;
    if (c == OpClass::synchronise && !synchronise(index, in)) return false;
    ++threads_[static_cast<std::size_t>(t)].frames.back().at;
    if (c == OpClass::synchronise) return true;
    if (op.name == "scf.for") {
      enter_loop(index, t, in);
      return true;
    }
    if (op.name == "scf.while" && is_under(loop_, index)) {
      enter_while(index, t, in);
      return true;
    }
    if (op.name == "ttg.warp_specialize") {
      specialise(index, t, in);
      return true;
    }
    if (op.name == "scf.if" && !in.empty() && is_constant(in[0].number)) {
      const std::size_t branch = in[0].number->constant != 0 ? 0 : 1;
      if (branch < op.regions.size())
        threads_[static_cast<std::size_t>(t)].frames.push_back(
            {block_of(index, branch), 0, index, kBefore});
      return true;
    }
    if (c == OpClass::transparent && op.results.size() == in.size()) {
      for (std::size_t k = 0; k < in.size(); ++k) define(op.results[k], in[k]);
      return true;
    }
    if (!operands_of(op, true).empty() && !arrives && c != OpClass::view)
      fail(index, "what it does to a barrier is not known");
    if (arrives && !executes(index, in)) return true;
    const int execution =
        op.regions.empty() || c == OpClass::reduction ? record(index, t, in) : opaque(index, t, in);
    if (c != OpClass::view && c != OpClass::control && c != OpClass::transparent)
      touch_buffers(execution);
    results(index, execution, in);
    if (arrives) signal(index, in);
    return true;
  }

  /// A product or a copy with a flag that is not set does nothing.
  bool executes(int index, const std::vector<Datum>& in) {
    const Operation& op = m_.op(index);
    const auto flags = flags_of(op);
    if (is_tensor_memory_mma(op)) return flags.size() < 2 || flag(index, in[flags[1]]);
    if (op.name == "ttng.async_tma_copy_global_to_local")
      return flags.empty() || flag(index, in[flags.back()]);
    return true;
  }

  void signal(int index, const std::vector<Datum>& in) {
    const Operation& op = m_.op(index);
    const auto barriers = operands_of(op, true);
    if (barriers.empty()) return;
    const auto flags = flags_of(op);
    if (is_tensor_memory_mma(op)) {
      for (std::size_t k = 0; k < barriers.size(); ++k)
        if (flags.size() <= 2 + k || flag(index, in[flags[2 + k]]))
          arrive(index, in[barriers[k]], 1);
      return;
    }
    const auto tiles = operands_of(op, false);
    const Type* tile = tiles.empty() ? nullptr : type(op.operands[tiles[0]]);
    if (tile == nullptr || tile->bits <= 0 || barriers.size() != 1)
      fail(index, "what it does to a barrier is not known");
    Barrier& b = barrier(index, in[barriers[0]]);
    b.bytes -= tile->elements() * tile->bits / 8;
    complete(b);
  }

  void results(int index, int execution, const std::vector<Datum>& in) {
    const Operation& op = m_.op(index);
    for (const int value : op.results) {
      Datum datum;
      datum.made = execution;
      datum.value = value;
      if (is_kind(value, TypeKind::memdesc)) {
        if (class_of(op) == OpClass::view && !in.empty()) {
          datum = view(index, in);
          datum.made = execution;
          datum.value = value;
          if (datum.slot >= 0 && datum.buffer != kNone) {
            const auto found = writers_.find({datum.buffer, datum.slot});
            out_.executions[static_cast<std::size_t>(execution)].buffers.push_back(
                {0, datum.buffer, datum.slot, found == writers_.end() ? kNone : found->second,
                 false, false});
          }
        } else if (class_of(op) == OpClass::local_alloc || class_of(op) == OpClass::tmem_alloc) {
          datum.buffer = execution;
          const bool filled = std::any_of(op.operands.begin(), op.operands.end(),
                                          [&](int v) { return is_kind(v, TypeKind::tensor); });
          if (filled) writers_[{execution, 0}] = execution;
        } else {
          fail(index, "where its buffer comes from is not known");
        }
      }
      if (is_integer(value)) datum.number = evaluate(index, in);
      if (is_integer(value) && !datum.number) datum.number = fresh();
      define(value, datum);
    }
  }

  const Module& m_;
  const int loop_;
  const Pace pace_;
  int specialised_ = 0;
  bool nested_ = false;             ///< partitions have loops in loops
  std::vector<bool> in_partition_;  ///< of the threads, once there are partitions
  std::vector<Thread> threads_;
  std::unordered_map<int, Datum> environment_;
  std::map<Place, Barrier> barriers_;
  std::map<Place, int> writers_;
  std::vector<std::pair<int, Linear>> assumptions_;
  int unknowns_ = 0;
  std::size_t steps_ = 0;
  Replay out_;
};

}  // namespace

bool is_barrier_buffer(const Module& module, int value) {
  const Type* type = module.type_of(value);
  return type != nullptr && type->kind == TypeKind::memdesc && type->element == "i64";
}

Replay replay(const Module& module, int loop, const Pace& pace) {
  return Replayer(module, loop, pace).run();
}

}  // namespace twill::ttgir
