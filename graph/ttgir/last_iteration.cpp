// The last iteration of what a pipeliner executes behind others, which stands in a branch behind
// the loop: "if there is an iteration at all". An op there is an execution of a node where it has
// its text, and reads what the node reads: of the branch, of what the loop leaves, or of what is
// before.
#include <algorithm>
#include <optional>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/open_loop.hpp"
#include "graph/ttgir/peeled.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostLinks = 1'000;  // that a value has, one behind the other

/// What a value behind the loop is: of a node, so many iterations before the one that the loop does
/// not come to.
struct Left {
  int node = kNone, result = 0;
  std::int64_t back = 0;
  bool operator==(const Left&) const = default;
};

/// Does an op order others, and nothing else?
bool only_orders(const Module& m, const Operation& op) {
  const OpClass c = class_of(op);
  return c == OpClass::synchronise || c == OpClass::terminator || c == OpClass::transparent ||
         (!op.results.empty() && is_barrier_buffer(m, op.results[0]));
}

class LastMatcher {
 public:
  explicit LastMatcher(const FoldedLoop& loop) : l_(loop), m_(loop.module()) {}

  LastIteration run() {
    for (const int op : l_.behind())
      if (m_.op(op).name == "scf.if" && !branch(op)) branch_of_body(op);
    if (out_.branches.empty()) straight();
    return std::move(out_);
  }

 private:
  const std::vector<int>& block_of(const Operation& op, std::size_t region) const {
    return m_.block(m_.regions[twill::at(op.regions[region])].blocks[0]).ops;
  }

  bool branch(int index) {
    const Operation& op = m_.op(index);
    if (op.regions.empty() || m_.regions[twill::at(op.regions[0])].blocks.size() != 1) return false;
    std::map<int, Left> known = known_;
    std::set<int> nodes = out_.nodes;
    for (const int inner : block_of(op, 0)) {
      if (only_orders(m_, m_.op(inner))) continue;
      const int node = node_of(inner, known, nodes);
      if (node == kNone) return false;  // it is another branch, or it is not understood
      nodes.insert(node);
      for (std::size_t r = 0; r < m_.op(inner).results.size(); ++r)
        known[m_.op(inner).results[r]] = {node, static_cast<int>(r), 0};
    }
    if (nodes == out_.nodes) return false;
    const auto& yield = m_.op(block_of(op, 0).back()).operands;
    std::map<std::pair<int, int>, std::tuple<int, int, std::int64_t>> results = out_.results;
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      const auto left = k < yield.size() ? left_by(yield[k], known) : std::nullopt;
      if (!left) return false;
      results[{index, static_cast<int>(k)}] = {left->node, left->result, left->back};
    }
    known_ = std::move(known);
    take(index, std::move(nodes), std::move(results));
    return true;
  }

  using Results = std::map<std::pair<int, int>, std::tuple<int, int, std::int64_t>>;

  void take(int index, std::set<int> nodes, Results results) {
    out_.nodes = std::move(nodes);
    out_.results = std::move(results);
    out_.branches.insert(index);
    out_.conditions.push_back(m_.op(index).operands.at(0));
  }

  /// The same by the ops of the loop's body, places in rings and all: an op of the branch is one of
  /// them where it reads what that would read in the next iteration. What is made for nobody but
  /// barriers need not be one.
  void branch_of_body(int index) {
    const Operation& op = m_.op(index);
    if (op.regions.empty() || m_.regions[twill::at(op.regions[0])].blocks.size() != 1) return;
    std::map<int, int> same;
    std::set<int> nodes = out_.nodes, ops;
    if (!match_body(block_of(op, 0), same, nodes, ops)) return;
    if (nodes == out_.nodes) return;
    const auto& yield = m_.op(block_of(op, 0).back()).operands;
    Results results = out_.results;
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      const auto known = k < yield.size() ? same.find(yield[k]) : same.end();
      std::optional<Left> left;
      if (known != same.end()) {
        const Value& v = m_.value(known->second);
        if (l_.has_node(v.op)) left = Left{l_.node_index(v.op), v.index, 0};
      } else if (k < yield.size()) {
        left = left_by(yield[k], known_);
      }
      if (!left) return;
      results[{index, static_cast<int>(k)}] = {left->node, left->result, left->back};
    }
    take(index, std::move(nodes), std::move(results));
  }

  /// Which ops are the body's in its next iteration: of values, which of the body they are. What
  /// works on memory comes in the body's order. False where something that acts is none of them; up
  /// to there all is known.
  bool match_body(const std::vector<int>& list, std::map<int, int>& same, std::set<int>& nodes,
                  std::set<int>& ops) const {
    const auto& body =
        m_.block(m_.regions[twill::at(m_.op(l_.first_loop()).regions[0])].blocks[0]).ops;
    std::set<int> taken;
    std::size_t last = 0;  // of what works on memory
    for (const int inner : list) {
      const Operation& one = m_.op(inner);
      if (only_orders(m_, one)) continue;
      const bool memory = !computes(class_of(one));
      std::size_t found = body.size();
      for (std::size_t k = memory ? last : 0; k < body.size() && found == body.size(); ++k)
        if (taken.count(body[k]) == 0 && is_next(inner, body[k], same)) found = k;
      if (found == body.size()) {
        if (!memory) continue;
        return false;
      }
      if (memory) last = found + 1;
      taken.insert(body[found]);
      ops.insert(inner);
      if (l_.has_node(body[found])) nodes.insert(l_.node_index(body[found]));
      for (std::size_t r = 0; r < one.results.size(); ++r)
        same[one.results[r]] = m_.op(body[found]).results.at(r);
    }
    return true;
  }

  /// Of a loop of a fixed number of iterations (open_loop.hpp) the last one stands in no branch.
  void straight() {
    const int bound = m_.value(m_.op(l_.first_loop()).operands.at(1)).op;
    if (bound == kNone || m_.op(bound).name != kLengthOp) return;
    std::vector<int> list;
    for (const int op : l_.behind())
      if (m_.op(op).block == m_.op(l_.first_loop()).block) list.push_back(op);
    std::map<int, int> same;
    std::set<int> nodes = out_.nodes, ops;
    match_body(list, same, nodes, ops);
    const auto acts = [&](int v) {
      const OpClass c = class_of(m_.op(l_.node(v).op));
      return c == OpClass::mma || c == OpClass::store || c == OpClass::tmem_store;
    };
    if (std::none_of(nodes.begin(), nodes.end(), acts)) return;
    for (const int op : ops)
      for (std::size_t r = 0; r < m_.op(op).results.size(); ++r) {
        const Value& v = m_.value(same.at(m_.op(op).results[r]));
        if (l_.has_node(v.op))
          out_.results[{op, static_cast<int>(r)}] = {l_.node_index(v.op), v.index, 0};
      }
    out_.nodes = std::move(nodes);
    out_.straight = std::move(ops);
  }

  static bool computes(OpClass c) {
    return c == OpClass::replicated || c == OpClass::elementwise || c == OpClass::view;
  }

  /// Would an op of the body read in the next iteration what one of the branch reads?
  bool is_next(int inner, int candidate, const std::map<int, int>& same) const {
    const Operation &one = m_.op(inner), &of = m_.op(candidate);
    if (one.name != of.name || one.operands.size() != of.operands.size() ||
        one.results.size() != of.results.size() ||
        shape_of(m_, inner, one.operands) != shape_of(m_, candidate, of.operands))
      return false;
    for (std::size_t k = 0; k < one.operands.size(); ++k)
      if (!l_.drops(one.operands[k]) && !corresponds(one.operands[k], of.operands[k], same))
        return false;
    return true;
  }

  bool corresponds(int value, int of_body, const std::map<int, int>& same) const {
    const int loop = l_.first_loop();
    const int body = m_.regions[twill::at(m_.op(loop).regions[0])].blocks[0];
    if (const auto known = same.find(value); known != same.end()) return known->second == of_body;
    const Value& v = m_.value(of_body);
    if (v.op == kNone && v.block == body)
      return v.index == 0 ? is_last_index(value)
                          : m_.value(value).op == loop && m_.value(value).index == v.index - 1;
    if (const auto number = constant_integer(m_, of_body))
      return constant_integer(m_, value) == number;
    return value == of_body;
  }

  /// The node that an op is an execution of.
  int node_of(int index, const std::map<int, Left>& known, const std::set<int>& taken) const {
    const Operation& op = m_.op(index);
    for (std::size_t v = 0; v < l_.nodes().size(); ++v) {
      const FoldedLoop::Node& node = l_.nodes()[v];
      const Execution& steady = l_.at(l_.execution(node.op, kFirstSeen));
      if (taken.count(static_cast<int>(v)) != 0 || m_.op(node.op).name != op.name ||
          steady.names.size() != op.operands.size() ||
          shape_of(m_, index, op.operands) != shape_of(m_, node.op, steady.names))
        continue;
      std::vector<int> operands = op.operands;
      if (reads(static_cast<int>(v), operands, known)) return static_cast<int>(v);
      if (operands.size() != 2 || !commutes(op.name)) continue;
      std::swap(operands[0], operands[1]);
      if (reads(static_cast<int>(v), operands, known)) return static_cast<int>(v);
    }
    return kNone;
  }

  /// Are these values what node v reads in the iteration that the loop does not come to?
  bool reads(int v, const std::vector<int>& operands, const std::map<int, Left>& known) const {
    const FoldedLoop::Node& node = l_.node(v);
    const Execution& steady = l_.at(l_.execution(node.op, kFirstSeen));
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const FoldedSource& s = node.reads[k];
      if (l_.drops(steady.names[k])) continue;
      switch (s.kind) {
        case FoldedSource::node: {
          const auto left = left_by(operands[k], known);
          if (!left || *left != Left{l_.node_index(s.op), s.result, s.iteration}) return false;
          break;
        }
        case FoldedSource::before:
          if (operands[k] != steady.reads[k].value) return false;
          break;
        case FoldedSource::buffer:
          if (!reads_buffer(steady, k, operands[k])) return false;
          break;
        case FoldedSource::variable:
          if (!is_last_index(operands[k])) return false;
          break;
        case FoldedSource::number:
          if (constant_integer(m_, operands[k]) != s.iteration) return false;
          break;
      }
    }
    return true;
  }

  /// The loop's variable in the one iteration that the loop does not come to: of loops from 0 to a
  /// bound less a step, (bound - 1) / step x step.
  bool is_last_index(int value) const {
    const Operation& loop = m_.op(l_.first_loop());
    const auto step = constant_integer(m_, loop.operands.at(2));
    const int bound = m_.value(loop.operands.at(1)).op;
    if (bound != kNone && m_.op(bound).name == kLengthOp)  // where the loop ends
      return value == m_.op(bound).operands.at(0) ||
             (constant_integer(m_, value) &&
              constant_integer(m_, value) == constant_integer(m_, m_.op(bound).operands.at(0)));
    if (constant_integer(m_, loop.operands.at(0)) != 0 || !step || *step < 1) return false;
    const auto by_step = [&](int of, std::string_view name) {  // x of "name x, step"
      const int made = m_.value(of).op;
      if (made == kNone || m_.op(made).name != name || m_.op(made).operands.size() != 2 ||
          constant_integer(m_, m_.op(made).operands[1]) != step)
        return static_cast<int>(kNone);
      return m_.op(made).operands[0];
    };
    int before = value;
    if (*step != 1) {
      const int quotient = by_step(value, "arith.muli");
      before = quotient == kNone ? kNone : by_step(quotient, "arith.divsi");
    }
    if (before == kNone) return false;
    const WithConstant end = with_constant(m_, loop.operands.at(1)),
                       last = with_constant(m_, before);
    return end.value != kNone && end.value == last.value && end.added == -*step && last.added == -1;
  }

  /// Tensor memory that the loop has written in its last iteration, one buffer.
  bool reads_buffer(const Execution& steady, std::size_t k, int value) const {
    int root = value;
    while (m_.value(root).op != kNone && class_of(m_.op(m_.value(root).op)) == OpClass::view &&
           !m_.op(m_.value(root).op).operands.empty())
      root = m_.op(m_.value(root).op).operands[0];
    if (class_of(m_.op(steady.op)) != OpClass::tmem_load) return false;
    for (const BufferUse& use : steady.buffers) {
      if (use.read != k || !use.reads || use.before == kNone || !of_loop(l_.at(use.before)))
        continue;
      const Type* ring = l_.type(root);
      const Type* own = l_.type(value);
      return m_.value(root).op == l_.at(use.buffer).op && ring != nullptr && own != nullptr &&
             (ring->shape.size() == own->shape.size() || ring->shape[0] == 1) &&
             steady.iteration - l_.at(use.before).iteration == 1;
    }
    return false;
  }

  int yielded(int block, std::size_t k) const {
    return m_.op(m_.block(block).ops.back()).operands.at(k);
  }

  /// What a value is of what the loop or the branch leaves.
  std::optional<Left> left_by(int value, const std::map<int, Left>& known) const {
    int loop = kNone, body = kNone;
    std::int64_t back = 0;
    for (int steps = 0; steps < kMostLinks; ++steps) {
      if (const auto found = known.find(value); found != known.end() && back == 0)
        return found->second;
      if (back == 0) value = l_.through(value);
      const Value& v = m_.value(value);
      if (loop == kNone && l_.loop_left_by(value) != kNone) {
        loop = v.op;
        body = m_.regions[twill::at(m_.op(loop).regions[0])].blocks[0];
        ++back;
        value = yielded(body, twill::at(v.index));
      } else if (v.op == kNone && v.block == body && v.index > 0 && back > 0) {
        ++back;
        value = yielded(body, twill::at(v.index) - 1);
      } else if (v.op != kNone && class_of(m_.op(v.op)) == OpClass::transparent &&
                 m_.op(v.op).operands.size() == m_.op(v.op).results.size()) {
        value = m_.op(v.op).operands[twill::at(v.index)];
      } else if (v.op != kNone && back > 0 && l_.has_node(v.op)) {
        return Left{l_.node_index(v.op), v.index, back};
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  const FoldedLoop& l_;
  const Module& m_;
  LastIteration out_;
  std::map<int, Left> known_;
};

}  // namespace

bool only_waits(const Module& m, int branch) {
  const Operation& op = m.op(branch);
  if (op.name != "scf.if" || !op.results.empty()) return false;
  for (const int region : op.regions)
    for (const int block : m.regions[twill::at(region)].blocks)
      for (const int inner : m.block(block).ops)
        if (!only_orders(m, m.op(inner))) return false;
  return true;
}

LastIteration find_last_iteration(const FoldedLoop& loop) {
  return LastMatcher(loop).run();
}

}  // namespace twill::ttgir
