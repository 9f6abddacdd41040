// A replayed loop as one: which ops stay, what they read, and in what order (see undo.hpp).
#include "graph/ttgir/folded_loop.hpp"

#include <algorithm>
#include <variant>

#include "graph/index.hpp"
#include "graph/ttgir/other_warps.hpp"
#include "graph/ttgir/peeled.hpp"
#include "graph/ttgir/successors.hpp"
#include "graph/ttgir/warp_counts.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kMaxUndoneOps = 1'000;  // of the loop that is written

}  // namespace

FoldedLoop::FoldedLoop(const Module& module, int loop, bool any_tile)
    : m_(module), loop_(loop), any_tile_(any_tile), r_(replay(module, loop, {}, any_tile)) {
  check_loops();
  read_warps();
  read_around();
  collect();
  check_order();
  classify_buffers();
  connect();
  const auto shifts = retime(static_cast<int>(nodes_.size()), edges_);
  if (!shifts) cannot_undo(first_loop(), "its partitions' orders contradict each other");
  shift_ = *shifts;
  arrange({});
  check_buffers();
}

void FoldedLoop::take(const Peeled& peeled) {
  shift_ = peeled.ahead;
  std::set<int> numbers;
  for (const auto& [v, by] : peeled.even) numbers.insert(v);
  arrange(numbers);
  check_buffers();
}

void FoldedLoop::check_loops() const {
  const auto same = [](const std::optional<Linear>& a, const std::optional<Linear>& b) {
    return a && b && equal(*a, *b);
  };
  const ReplayedLoop& first = r_.loops.front();
  for (const ReplayedLoop& loop : r_.loops)
    for (std::size_t k = 0; k < 3; ++k)
      if (!same(loop.bounds[k].number, first.bounds[k].number))
        cannot_undo(loop.op,
                    "its bounds or its step are others than those of the partition at line " +
                        std::to_string(m_.op(first.op).line));
  if (std::none_of(r_.loops.begin(), r_.loops.end(), [&](const ReplayedLoop& loop) {
        for (int op = loop.op; op != kNone; op = m_.parent(op))
          if (op == loop_) return true;
        return false;
      }))
    cannot_undo(loop_, "another loop comes before it");
}

void FoldedLoop::collect() {
  for (std::size_t e = 0; e < r_.executions.size(); ++e) {
    const Execution& x = r_.executions[e];
    if (!of_loop(x)) continue;
    auto& list = by_op_[x.op];
    if (list.empty()) list.assign(static_cast<std::size_t>(kReplayed), kNone);
    int& there = list[static_cast<std::size_t>(x.iteration)];
    if (there != kNone) cannot_undo(x.op, "it is executed several times an iteration");
    there = static_cast<int>(e);
  }
  for (auto& [op, list] : by_op_) {
    const auto begin = list.begin() + kFirstSeen, end = list.begin() + kLastSeen;
    const auto count = std::count_if(begin, end, [](int e) { return e != kNone; });
    if (count != 0 && count != kLastSeen - kFirstSeen)
      cannot_undo(op, "it is not executed in every iteration");
  }
}

void FoldedLoop::read_around() {
  const int inner = specialised_ == kNone ? first_loop() : specialised_;
  int op = m_.parent(inner);
  for (; op != kNone && m_.op(op).name == "scf.for"; op = m_.parent(op))
    around_.insert(around_.begin(), op);
  const int outermost = around_.empty() ? inner : around_.front();
  stands_in_loops_ =
      op != kNone && m_.op(op).name.ends_with(".func") && reaches(op, m_.op(outermost).block);
}

bool FoldedLoop::reaches(int function, int block) {
  const auto returns = [&](int one) {
    const auto& ops = m_.block(one).ops;
    return ops.size() == 1 && m_.op(ops[0]).name == "tt.return";
  };
  const auto& blocks = m_.regions[twill::at(m_.op(function).regions.at(0))].blocks;
  int now = blocks.at(0);
  for (std::size_t steps = 0; steps < blocks.size() && !m_.block(now).ops.empty(); ++steps) {
    const int last = m_.block(now).ops.back();
    const auto next = successors(m_, last);
    const auto* to = std::get_if<std::vector<int>>(&next);
    if (to == nullptr) return false;
    if (now == block) return to->empty() || (to->size() == 1 && returns(to->front()));
    if (to->size() != 2 || returns((*to)[0]) == returns((*to)[1])) return false;
    const bool where_true = returns((*to)[0]);
    early_returns_.emplace_back(last, where_true);
    now = (*to)[where_true ? 1 : 0];
  }
  return false;
}

std::size_t FoldedLoop::level_of(int op) const {
  std::size_t level = 0;
  for (; op != kNone; op = m_.parent(op))
    level += std::find(around_.begin(), around_.end(), m_.parent(op)) != around_.end() ? 1 : 0;
  return level;
}

int FoldedLoop::loop_left_by(int value) const {
  const int op = m_.value(value).op;
  if (op == kNone) return kNone;
  const auto is_it = [&](const ReplayedLoop& loop) { return loop.op == op; };
  return std::any_of(r_.loops.begin(), r_.loops.end(), is_it) ? op : kNone;
}

std::vector<int> FoldedLoop::behind() const {
  std::vector<int> ops;
  const auto rest_of = [&](int block, int from) {
    const auto& all = m_.block(block).ops;
    const auto at = std::find(all.begin(), all.end(), from);
    if (at != all.end()) ops.insert(ops.end(), at + 1, all.end());
  };
  if (specialised_ == kNone) {
    rest_of(m_.op(first_loop()).block, first_loop());
    for (auto loop = around_.rbegin(); loop != around_.rend(); ++loop)
      rest_of(m_.op(*loop).block, *loop);
    return ops;
  }
  const auto& regions = m_.op(specialised_).regions;
  for (std::size_t r = regions.size(); r-- > 0;) {  // the default one, the first, comes last
    const auto& blocks = m_.regions[twill::at(regions[r])].blocks;
    for (const ReplayedLoop& loop : r_.loops)
      if (!blocks.empty() && m_.op(loop.op).block == blocks[0]) rest_of(blocks[0], loop.op);
  }
  rest_of(m_.op(specialised_).block, specialised_);
  return ops;
}

int FoldedLoop::through(int value) const {
  if (specialised_ == kNone) return value;
  const Operation& around = m_.op(specialised_);
  const Value& v = m_.value(value);
  if (v.op == specialised_) {
    const auto& blocks = m_.regions[twill::at(around.regions.at(0))].blocks;
    const Operation& yield = m_.op(m_.block(blocks.at(0)).ops.back());
    if (twill::at(v.index) >= yield.operands.size())
      cannot_undo(specialised_, "what its default region yields is not understood");
    return yield.operands[twill::at(v.index)];
  }
  if (v.op != kNone || v.block == kNone) return value;
  for (const int region : around.regions)
    if (m_.block(v.block).region == region && twill::at(v.index) < around.operands.size())
      return around.operands[twill::at(v.index)];
  return value;
}

FoldedLoop::Written FoldedLoop::written(const Replay& replay, std::int64_t from, std::int64_t to) {
  Written result;
  for (const Execution& x : replay.executions) {
    if (x.iteration < from || x.iteration >= to) continue;
    for (const BufferUse& use : x.buffers) {
      if (!use.reads) continue;
      const Execution* w =
          use.before == kNone ? nullptr : &replay.executions[twill::at(use.before)];
      result[{x.op, x.iteration, use.read}] = {w == nullptr ? kNone : w->op,
                                               w == nullptr ? 0 : w->iteration};
    }
  }
  return result;
}

std::optional<CannotUndo> FoldedLoop::differs(const Written& one, const Written& other,
                                              bool faster) const {
  const auto iteration = [](std::int64_t i) {
    return i == kBefore ? std::string("before the loop") : "in iteration " + std::to_string(i);
  };
  const auto known = [&](const std::pair<int, std::int64_t>& w) {
    return w.first == kNone
               ? std::string("nobody")
               : "line " + std::to_string(m_.op(w.first).line) + " " + iteration(w.second);
  };
  for (const auto& [use, writer] : one) {
    const auto found = other.find(use);
    if (found == other.end() || found->second == writer) continue;
    return CannotUndo{std::get<0>(use),
                      "no barrier orders what it reads: " + iteration(std::get<1>(use)) +
                          " that was written by " + known(writer) + ", or by " +
                          known(found->second) + " where another partition is " +
                          (faster ? "faster" : "slower")};
  }
  return std::nullopt;
}

void FoldedLoop::check_order() {
  if (r_.threads < 2) return;
  const Written one = written(r_, kFirstSeen, kLastSeen);
  const Written first = written(r_, kBefore, kFirstSeen);
  for (int t = 0; t < r_.threads; ++t)
    for (const bool faster : {false, true}) {
      const Replay other = replay(m_, loop_, {t, faster}, any_tile_);
      if (const auto why = differs(one, written(other, kFirstSeen, kLastSeen), faster)) throw *why;
      if (!unordered_first_)
        unordered_first_ = differs(first, written(other, kBefore, kFirstSeen), faster);
    }
}

bool FoldedLoop::stays(int index) const {
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
      if (const Ring* ring = ring_of(use.buffer); ring != nullptr && ring->forwarded) return false;
  return std::any_of(op.results.begin(), op.results.end(), [&](int v) { return is_tile(v); }) ||
         std::any_of(op.operands.begin(), op.operands.end(), [&](int v) { return is_tile(v); });
}

int FoldedLoop::node_of(int op) {
  const auto [found, fresh] = index_.try_emplace(op, static_cast<int>(nodes_.size()));
  if (fresh) {
    nodes_.push_back({op, {}});
    if (nodes_.size() > kMaxUndoneOps) cannot_undo(op, "the loop has too many ops");
  }
  return found->second;
}

void FoldedLoop::connect() {
  for (const auto& [op, list] : by_op_)
    if (runs(op) && stays(op)) node_of(op);
  if (nodes_.empty()) cannot_undo(first_loop(), "it has no tile operations");
  for (std::size_t v = 0; v < nodes_.size(); ++v) read_all(static_cast<int>(v));
  order_accesses();
  for (std::size_t v = 0; v < nodes_.size(); ++v) check_reads(static_cast<int>(v));
}

void FoldedLoop::read_warps() {
  for (int op = first_loop(); op != kNone; op = m_.parent(op))
    if (m_.op(op).name == "ttg.warp_specialize") specialised_ = op;
  if (specialised_ == kNone) return;
  warps_ = region_warps(m_, specialised_);
}

std::string FoldedLoop::on_module_warps(const std::string& text, int execution) const {
  const auto thread = static_cast<std::size_t>(at(execution).thread);
  if (warps_.empty() || thread == 0) return text;  // the function's and the default region's
  const int own = thread < warps_.size() ? warps_[thread] : 0;
  if (own == warps_[0] && own > 0) return text;
  if (text.find("tensor<") == std::string::npos) return text;
  const auto placed = on_other_warps(text, own, warps_[0], m_);
  if (!placed)
    cannot_undo(at(execution).op, "its partition has " + std::to_string(own) +
                                      " warps and the module " + std::to_string(warps_[0]) +
                                      ", and a layout of its tiles cannot be put on those");
  return *placed;
}

void FoldedLoop::read_all(int v) {
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
        cannot_undo(op, "what it reads is not the same in every iteration");
    first.push_back(*same);
  }
  nodes_[static_cast<std::size_t>(v)].reads = first;
  for (const Source& s : first)
    if (s.kind == Source::node) edge(node_of(s.op), v, s.iteration, true);
}

FoldedSource FoldedLoop::source_at(int op, std::int64_t i, std::size_t k, bool numbers) const {
  const int now = execution(op, i);
  if (now == kNone) cannot_undo(op, "it is not executed in every iteration");
  const Execution& x = at(now);
  if (k >= x.reads.size()) cannot_undo(op, "what it reads is not the same in every iteration");
  if (drops(x.names[k])) return {Source::number, kNone, 0, 0};
  Source s = source(x, k, numbers);
  if (s.kind == Source::node) s.iteration = i - s.iteration;
  return s;
}

void FoldedLoop::arrange(const std::set<int>& early) {
  order_.clear();
  const std::int64_t most = *std::max_element(shift_.begin(), shift_.end());
  if (most > 7) cannot_undo(first_loop(), "its partitions are too many iterations apart");
  for (std::size_t v = 0; v < nodes_.size(); ++v) order_.push_back(static_cast<int>(v));
  const std::int64_t iteration = kFirstSeen + 8;
  std::vector<std::int64_t> time;
  for (const int v : order_) {
    const Node& node = nodes_[static_cast<std::size_t>(v)];
    const int now = execution(node.op, iteration - shift_[static_cast<std::size_t>(v)]);
    if (now == kNone) cannot_undo(node.op, "it is not executed in every iteration");
    time.push_back(2 * std::int64_t{now});
  }
  for (const int v : order_) {  // a view comes behind what fills its buffer
    const Node& node = nodes_[static_cast<std::size_t>(v)];
    if (class_of(m_.op(node.op)) != OpClass::view) continue;
    for (const Source& s : node.reads)
      if (s.kind == Source::node && distance(v, s) == 0)
        time[static_cast<std::size_t>(v)] = std::max(
            time[static_cast<std::size_t>(v)], time[static_cast<std::size_t>(index_.at(s.op))] + 1);
  }
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    return std::tuple(early.count(a) == 0, time[static_cast<std::size_t>(a)], a) <
           std::tuple(early.count(b) == 0, time[static_cast<std::size_t>(b)], b);
  });
}

}  // namespace twill::ttgir
