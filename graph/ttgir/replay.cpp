#include "graph/ttgir/replay.hpp"

#include <algorithm>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/replayer.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kMaxReplayed = 500'000;  // a tenth of a second; attention takes 20,000

bool has_partitions(const Operation& op) {
  return op.name == "ttg.warp_specialize" || op.name == "nvws.warp_group";
}

bool is_loop(const Operation& op) {
  return op.name == "scf.for" || op.name == "scf.while";
}

}  // namespace

Replay Replayer::run() {
  int function = loop_;
  for (int at = m_.parent(loop_); at != kNone; at = m_.parent(at))
    if (m_.op(at).name.ends_with(".func")) function = at;
  if (function == loop_) fail(loop_, "the loop is in no function");
  choose_region(function);
  const auto& blocks = m_.regions[static_cast<std::size_t>(m_.op(function).regions.at(0))].blocks;
  if (blocks.empty()) fail(function, "it has no body");
  const int body = blocks.front();
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
    if (!moved && pace_.thread != kNone && static_cast<std::size_t>(pace_.thread) < threads_.size())
      moved = go(static_cast<std::size_t>(pace_.thread), false);
  }
  out_.threads = static_cast<int>(threads_.size());
  for (const ReplayedLoop& loop : out_.loops) {
    if (!loop.bounds[0].number || !loop.bounds[1].number) continue;
    const Linear span = sum_of(*loop.bounds[1].number, *loop.bounds[0].number, -1);
    if (span.terms.empty() && is_constant(loop.bounds[2].number) &&
        span.constant < kLastSeen * loop.bounds[2].number->constant)
      fail(loop.op, "it runs a fixed number of times, too few for what repeats to be seen");
  }
  for (const Thread& thread : threads_)
    if (thread.replays && !thread.done && thread.frames.back().iteration < kLastSeen)
      fail(thread.frames.back().op == kNone ? loop_ : thread.frames.back().op,
           "its barriers wait for ever after " + std::to_string(thread.frames.back().iteration) +
               " iterations, in " + waiting());
  if (out_.loops.empty()) fail(loop_, "no partition comes to a loop");
  check_assumptions();
  return std::move(out_);
}

/// Where the threads are that have not come to their end.
std::string Replayer::waiting() const {
  std::string lines;
  for (const Thread& thread : threads_) {
    if (thread.done || thread.frames.empty()) continue;
    const Frame& frame = thread.frames.back();
    const std::vector<int>& ops = m_.block(frame.block).ops;
    if (frame.at >= ops.size() || has_partitions(m_.op(ops[frame.at]))) continue;
    lines += (lines.empty() ? "line " : ", line ") + std::to_string(m_.op(ops[frame.at]).line);
  }
  return lines;
}

/// The partitions that are replayed, and which of their loops: of several regions with partitions
/// the one that has the loop; loops that follow each other are the same one by their order.
void Replayer::choose_region(int function) {
  std::vector<int> regions;
  each_under(function, [&](int inner) {
    if (has_partitions(m_.op(inner))) regions.push_back(inner);
  });
  for (const int op : regions)
    if (regions.size() == 1 || is_under(loop_, op)) region_ = op;
  if (region_ != kNone && !is_under(loop_, region_)) {
    // The loop is beside it, or it is in the loop.
    const bool beside = !is_under(region_, loop_);
    if (beside) region_ = kNone;
  }
  for (int op = loop_; op != region_ && op != function && op != kNone; op = m_.parent(op)) {
    if (!is_loop(m_.op(op))) continue;
    const std::vector<int> siblings = loops_in(m_.op(op).block);
    const auto found = std::find(siblings.begin(), siblings.end(), op);
    path_.insert(path_.begin(),
                 {static_cast<std::size_t>(found - siblings.begin()), siblings.size()});
  }
  each_under(function, [&](int inner) {
    if (m_.op(inner).name == "scf.for") candidates_.push_back(inner);
  });
}

std::vector<int> Replayer::loops_in(int block) const {
  std::vector<int> loops;
  for (const int op : m_.block(block).ops)
    if (is_loop(m_.op(op))) loops.push_back(op);
  return loops;
}

/// Is this the loop of a thread that is replayed, or one around it?
bool Replayer::is_wanted(int index, int t) const {
  if (region_ == kNone) return is_under(loop_, index);
  if (static_cast<std::size_t>(t) >= in_partition_.size() ||
      !in_partition_[static_cast<std::size_t>(t)])
    return false;
  std::size_t depth = 0;
  for (const Frame& frame : threads_[static_cast<std::size_t>(t)].frames)
    depth += frame.op != kNone && is_loop(m_.op(frame.op)) && is_under(frame.op, region_) ? 1 : 0;
  const std::vector<int> siblings = loops_in(m_.op(index).block);
  if (depth >= path_.size() || siblings.size() != path_[depth].second)
    return depth >= path_.size() || siblings.size() == 1;
  return siblings[path_[depth].first] == index;
}

/// One op of a thread, or all that it can do. Did it do one?
bool Replayer::go(std::size_t t, bool all) {
  bool moved = false;
  while (!threads_[t].done && step(static_cast<int>(t))) {
    moved = true;
    if (!all) break;
  }
  return moved;
}

int Replayer::block_of(int op, std::size_t region) const {
  const Operation& around = m_.op(op);
  if (region >= around.regions.size()) fail(op, "it has no body");
  const auto& blocks = m_.regions[static_cast<std::size_t>(around.regions[region])].blocks;
  if (blocks.size() != 1) fail(op, "its body has several blocks");
  return blocks[0];
}

Datum& Replayer::read(int value, int op) {
  const auto found = environment_.find(value);
  if (found == environment_.end())
    fail(op, "%" + std::string(m_.value(value).name) + " is not known");
  return found->second;
}

int Replayer::record(int index, int t, const std::vector<Datum>& in) {
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

void Replayer::define(int value, Datum datum) {
  if (datum.value == kNone) datum.value = value;
  environment_[value] = std::move(datum);
}

/// What is not replayed: nothing is known of what it comes to.
void Replayer::pass(int index, int t, const std::vector<Datum>& in) {
  const int execution = opaque(index, t, in);
  if (m_.op(index).name == "scf.for" && in.size() > 2)
    passed_.push_back({index, {in[0], in[1], in[2]}});
  for (const int value : m_.op(index).results) {
    Datum datum = unknown(value);
    datum.made = execution;
    define(value, datum);
  }
}

bool Replayer::is_executed(int index) const {
  bool executed = false;
  each_under(index, [&](int inner) {
    for (const int value : m_.op(inner).operands) {
      const int made = m_.value(value).op;
      const bool outside =
          is_kind(value, TypeKind::memdesc) &&
          (made == kNone
               ? !is_under(
                     m_.regions[static_cast<std::size_t>(m_.block(m_.value(value).block).region)]
                         .op,
                     index)
               : !is_under(made, index));
      executed = executed || (outside && use_within(index, value) != Use::reads);
    }
  });
  return executed;
}

void Replayer::enter_passed(int index, int t, const std::vector<Datum>& in) {
  const int body = block_of(index, 0);
  const auto& arguments = m_.block(body).arguments;
  passed_.push_back({index, {in[0], in[1], in[2]}});
  Datum variable = in[0];
  variable.made = variable.buffer = kNone;
  variable.value = arguments[0];
  define(arguments[0], variable);
  for (std::size_t k = 1; k < arguments.size(); ++k) define(arguments[k], in[k + 2]);
  threads_[static_cast<std::size_t>(t)].frames.push_back({body, 0, index, kBefore, 0});
}

void Replayer::go_on(int t, const std::vector<Datum>& out) {
  Thread& thread = threads_[static_cast<std::size_t>(t)];
  Frame& frame = thread.frames.back();
  const int index = frame.op;
  const auto& arguments = m_.block(frame.block).arguments;
  if (out.size() + 1 != arguments.size()) fail(index, "its yield is not understood");
  if (++frame.passed < kPassed) {
    frame.at = 0;
    Datum variable = read(arguments[0], index);
    const Datum step = read(m_.op(index).operands[2], index);
    if (!step.number || !variable.number) fail(index, "its step is not known");
    variable.number = sum_of(*variable.number, *step.number, 1);
    define(arguments[0], variable);
    for (std::size_t k = 0; k < out.size(); ++k) define(arguments[k + 1], out[k]);
    return;
  }
  thread.frames.pop_back();
  define_passed(index, t, out);
}

/// The results of what was executed on the way: numbers as they came out, tiles that nobody knows.
void Replayer::define_passed(int index, int t, const std::vector<Datum>& out) {
  const int execution = record(index, t, {});
  out_.executions.back().names.clear();
  if (out.size() != m_.op(index).results.size()) fail(index, "its results are not understood");
  for (std::size_t k = 0; k < out.size(); ++k) {
    const int value = m_.op(index).results[k];
    Datum datum = out[k];
    if (is_kind(value, TypeKind::tensor) || is_kind(value, TypeKind::scalar)) {
      datum.made = execution;
      datum.value = value;
    }
    define(value, datum);
  }
}

void Replayer::enter_loop(int index, int t, const std::vector<Datum>& in) {
  Thread& thread = threads_[static_cast<std::size_t>(t)];
  const bool inner = count_under(index, "scf.for") + count_under(index, "scf.while") > 0;
  if (!is_wanted(index, t)) {
    if (is_executed(index) && in.size() == m_.block(block_of(index, 0)).arguments.size() + 2)
      enter_passed(index, t, in);
    else
      pass(index, t, in);
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
  } else if (!is_under(loop_, index) && region_ == kNone) {
    fail(index, "the loop has a loop in it");
  }
  thread.frames.push_back(frame);
  if (any_tile_ && !replays) {
    for (const int argument : arguments) define(argument, unknown(argument));
    return;
  }
  Datum variable = in[0];
  variable.made = variable.buffer = kNone;
  variable.value = arguments[0];
  define(arguments[0], variable);
  for (std::size_t k = 1; k < arguments.size(); ++k) define(arguments[k], in[k + 2]);
}

/// A while loop around the one replayed: its condition holds.
void Replayer::enter_while(int index, int t, const std::vector<Datum>& in) {
  const auto& arguments = m_.block(block_of(index, 0)).arguments;
  if (arguments.size() != in.size()) fail(index, "its variables are not understood");
  for (std::size_t k = 0; k < in.size(); ++k) define(arguments[k], in[k]);
  threads_[static_cast<std::size_t>(t)].frames.push_back({block_of(index, 0), 0, index, kBefore});
}

/// The end of a function's block that is not its last: on to the one that has the loop.
void Replayer::jump(int t, int terminator) {
  Frame& frame = threads_[static_cast<std::size_t>(t)].frames.back();
  int at = loop_;
  while (at != kNone && m_.block(m_.op(at).block).region != m_.block(frame.block).region)
    at = m_.parent(at);
  if (frame.op != kNone || at == kNone || m_.op(at).block == frame.block ||
      !m_.block(m_.op(at).block).arguments.empty())
    fail(terminator, "where it goes is not known");
  frame = {m_.op(at).block, 0, kNone, kBefore};
}

/// The end of a block.
void Replayer::leave(int t, int terminator) {
  Thread& thread = threads_[static_cast<std::size_t>(t)];
  const Frame frame = thread.frames.back();
  if (frame.op == kNone) {
    thread.done = true;
    return;
  }
  std::vector<Datum> out;
  if (terminator != kNone)
    for (const int value : m_.op(terminator).operands) out.push_back(read(value, terminator));
  if (has_partitions(m_.op(frame.op))) {
    thread.frames.pop_back();
    define_passed(frame.op, t, out);
    return;
  }
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
  if (frame.passed >= 0) {
    go_on(t, out);
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
  variable.number = sum_of(*variable.number, *loop.bounds[2].number, 1);
  define(arguments[0], variable);
  for (std::size_t k = 0; k < out.size(); ++k) define(arguments[k + 1], out[k]);
}

void Replayer::specialise(int index, int t, const std::vector<Datum>& in) {
  const Operation& op = m_.op(index);
  const bool replayed = index == region_;
  if (replayed) {
    in_partition_.assign(threads_.size(), false);
    in_partition_[static_cast<std::size_t>(t)] = true;
    nested_ = has_nested(block_of(index, 0));
  }
  for (std::size_t r = 1; r < op.regions.size(); ++r) {
    const auto& region = m_.regions[static_cast<std::size_t>(op.regions[r])];
    for (const int block : region.blocks)
      for (const int inner : m_.block(block).ops)
        if (m_.op(inner).name == "ttg.warp_specialize.partitions")
          fail(inner, "its generic form is not undone");
    const int body = block_of(index, r);
    const auto& arguments = m_.block(body).arguments;
    nested_ = nested_ || (replayed && has_nested(body));
    if (!arguments.empty() && arguments.size() != in.size())
      fail(index, "the arguments of its partitions are not understood");
    for (std::size_t k = 0; k < arguments.size(); ++k) define(arguments[k], in[k]);
    if (!replayed) passed_threads_[index].push_back(threads_.size());
    threads_.push_back({{{body, 0, kNone, kBefore}}});
    if (replayed) in_partition_.push_back(true);
  }
  threads_[static_cast<std::size_t>(t)].frames.push_back(
      {block_of(index, 0), 0, replayed ? kNone : index, kBefore});
}

bool Replayer::has_nested(int block) const {
  const auto& ops = m_.block(block).ops;
  return std::any_of(ops.begin(), ops.end(), [&](int op) {
    return m_.op(op).name == "scf.for" && count_under(op, "scf.for") > 0;
  });
}

bool Replayer::assumes(int index, const std::vector<Datum>& in) const {
  if (std::any_of(in.begin(), in.end(), [](const Datum& one) { return one.assumed; })) return true;
  return m_.op(index).name == "arith.cmpi" && in.size() == 2 && in[0].number && in[1].number &&
         !sum_of(*in[0].number, *in[1].number, -1).terms.empty();
}

/// A branch that makes values and does nothing else: both of its sides can be part of the loop.
bool Replayer::only_computes(int index) const {
  if (m_.op(index).results.empty()) return false;
  bool only = true;
  each_under(index, [&](int inner) {
    const OpClass c = class_of(m_.op(inner));
    only =
        only && (c == OpClass::elementwise || c == OpClass::reduction || c == OpClass::layout ||
                 c == OpClass::replicated || c == OpClass::terminator ||
                 (c == OpClass::view && !is_kind(m_.op(inner).results.at(0), TypeKind::memdesc)));
  });
  return only;
}

/// One op of a thread. False where it waits.
bool Replayer::step(int t) {
  if (++steps_ > kMaxReplayed) fail(loop_, "it takes too many steps to replay");
  now_ = static_cast<std::size_t>(t);
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
    // The end of partitions that are executed on the way is the end of them all.
    if (const auto passed = passed_threads_.find(frame.op); passed != passed_threads_.end())
      for (const std::size_t other : passed->second)
        if (!threads_[other].done) return false;
    if (op.name.starts_with("cf."))
      jump(t, index);
    else
      leave(t, index);
    return true;
  }
  std::vector<Datum> in;
  for (const int value : op.operands) in.push_back(read(value, index));
  const bool arrives = c == OpClass::mma || c == OpClass::copy;
  const bool reference = op.name.starts_with("nvws.aref.");
  if (c == OpClass::synchronise && !reference && !synchronise(index, in)) return false;
  if (reference && !refer(index, t, in)) return false;
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
  if (has_partitions(op)) {
    specialise(index, t, in);
    return true;
  }
  if (op.name == "scf.if" && !in.empty() && is_constant(in[0].number) &&
      !(in[0].assumed && only_computes(index))) {
    if (in[0].assumed) out_.assumed_branches.push_back(index);
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

bool is_barrier_buffer(const Module& module, int value) {
  const Type* type = module.type_of(value);
  return type != nullptr && type->kind == TypeKind::memdesc && type->element == "i64";
}

Replay replay(const Module& module, int loop, const Pace& pace, bool any_tile) {
  return Replayer(module, loop, pace, any_tile).run();
}

}  // namespace twill::ttgir
