#include "graph/ttgir/peeled.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "graph/index.hpp"
#include "graph/ttgir/op_text.hpp"

namespace twill::ttgir {
namespace {

constexpr std::int64_t kMostAhead = 8;  // iterations; pipeliners have as many stages as buffers

Linear sum(const Linear& a, const Linear& b, std::int64_t factor) {
  Linear result = a;
  result.constant += factor * b.constant;
  for (const auto& [term, f] : b.terms)
    if ((result.terms[term] += factor * f) == 0) result.terms.erase(term);
  return result;
}

bool equal(const Linear& a, const Linear& b) {
  return a.constant == b.constant && a.terms == b.terms;
}

/// An op's text with its operands numbered.
std::string shape_of(const Module& m, int op, const std::vector<int>& names) {
  std::map<int, std::string> numbers;
  for (const int name : names) numbers.try_emplace(name, "%" + std::to_string(numbers.size()));
  return op_text(m, op, numbers);
}

}  // namespace

class Peeler {
 public:
  explicit Peeler(const FoldedLoop& loop) : l_(loop), m_(loop.module()), r_(loop.replayed()) {}

  Peeled run() {
    check_function();
    read_bounds();
    find_even();
    for (std::size_t v = 0; v < l_.nodes().size(); ++v)
      for (std::int64_t i = 0; i < kFirstSeen; ++i) {
        const int now = l_.execution(l_.nodes()[v].op, i);
        if (now == kNone)
          cannot_undo(l_.nodes()[v].op, "it is not executed in the first iterations");
        check_reads(static_cast<int>(v), now, i);
      }
    while (!queue_.empty()) {
      const auto [u, j, execution] = queue_.front();
      queue_.pop_front();
      match(u, j, execution);
    }
    count();
    check_guards();
    return std::move(out_);
  }

 private:
  const Execution& at(int execution) const { return l_.at(execution); }

  void check_function() const {
    const int loop = l_.first_loop(), function = m_.parent(loop);
    if (r_.threads != 1 || function == kNone || !m_.op(function).name.ends_with(".func") ||
        m_.regions[twill::at(m_.op(function).regions.at(0))].blocks.size() != 1)
      cannot_undo(loop, "the loop is in partitions, in a loop, or behind a branch");
    for (const Execution& x : r_.executions)
      if (!of_loop(x) && class_of(m_.op(x.op)) == OpClass::store)
        cannot_undo(x.op, "it stores before the loop");
  }

  void read_bounds() {
    for (const Datum& bound : r_.loops.front().bounds)
      if (!bound.number) cannot_undo(l_.first_loop(), "its bounds are not known");
    const auto& bounds = r_.loops.front().bounds;
    lower_ = *bounds[0].number;
    span_ = sum(lower_, *bounds[1].number, -1);
    step_ = *bounds[2].number;
  }

  /// Is it a number that an index is made of? (A flag is not.)
  bool is_integer(int value) const {
    const Type* t = l_.type(value);
    return t != nullptr && t->kind == TypeKind::scalar && !t->is_pointer() && t->bits != 1 &&
           (t->element.starts_with("i"));
  }
  bool is_flag(int value) const {
    const Type* t = l_.type(value);
    return t != nullptr && t->kind == TypeKind::scalar && t->element == "i1";
  }

  /// Numbers of a sequence that grows evenly from its first: by how much.
  static std::optional<Linear> increase(const std::vector<std::optional<Linear>>& numbers) {
    if (numbers.size() < 2) return std::nullopt;
    for (const auto& number : numbers)
      if (!number) return std::nullopt;
    const Linear by = sum(*numbers[1], *numbers[0], -1);
    for (std::size_t i = 2; i < numbers.size(); ++i)
      if (!equal(sum(*numbers[i], *numbers[i - 1], -1), by)) return std::nullopt;
    return by;
  }

  /// Which nodes are numbers that change evenly.
  void find_even() {
    std::map<int, std::vector<std::optional<Linear>>> seen;  // op -> per iteration
    for (const Execution& x : r_.executions) {
      if (!of_loop(x)) continue;
      for (const Datum& d : x.reads) {
        if (d.made == kNone || !of_loop(at(d.made)) || !d.number) continue;
        const Execution& made = at(d.made);
        if (m_.op(made.op).results.size() != 1 || !is_integer(d.value)) continue;
        auto& numbers = seen[made.op];
        numbers.resize(static_cast<std::size_t>(kFirstSeen));
        if (made.iteration < kFirstSeen)
          numbers[static_cast<std::size_t>(made.iteration)] = d.number;
      }
    }
    for (std::size_t v = 0; v < l_.nodes().size(); ++v)
      if (const auto found = seen.find(l_.nodes()[v].op); found != seen.end())
        if (const auto by = increase(found->second)) out_.even[static_cast<int>(v)] = *by;
  }

  /// The execution behind what an execution reads: of who filled the buffer, or of a view of it.
  int origin(const Execution& x, std::size_t k) const {
    const Datum& d = x.reads[k];
    if (d.buffer == kNone || l_.is_value(d.buffer) || d.made == kNone) return d.made;
    const Operation& made = m_.op(at(d.made).op);
    if (class_of(made) == OpClass::view && !FoldedLoop::names_buffer(made)) return d.made;
    if (class_of(m_.op(x.op)) == OpClass::view)
      return l_.filled_for(static_cast<int>(&x - r_.executions.data()));
    for (const BufferUse& use : x.buffers)
      if (use.read == k && use.buffer == d.buffer) return use.before;
    return kNone;
  }

  /// An operand of node v that is a number which changes evenly: its first value and its increase.
  const std::optional<std::pair<Linear, Linear>>& operand(int v, std::size_t k) {
    const auto [found, fresh] = operands_.try_emplace({v, k});
    if (fresh) {
      std::vector<std::optional<Linear>> numbers;
      for (std::int64_t i = 0; i < kFirstSeen; ++i)
        numbers.push_back(at(l_.execution(l_.node(v).op, i)).reads[k].number);
      if (const auto by = increase(numbers)) found->second.emplace(*numbers[0], *by);
    }
    return found->second;
  }

  /// Does the execution that stands for node v in iteration j of the loop read what the node does?
  void check_reads(int v, int execution, std::int64_t j) {
    const Execution& x = at(execution);
    const FoldedLoop::Node& node = l_.node(v);
    for (std::size_t k = 0; k < x.reads.size(); ++k) {
      const FoldedSource& s = node.reads[k];
      if (l_.drops(x.names[k])) continue;
      if (s.kind == FoldedSource::buffer) {
        check_buffer(v, x, k, j);
        continue;
      }
      if (s.kind == FoldedSource::node && out_.even.count(v) != 0 && x.iteration != kBefore) {
        // An integer that is made of integers of iterations before.
        if (j < s.iteration) stand(s, j, x, k);
        continue;
      }
      if (is_integer(x.names[k]))
        if (const auto& number = operand(v, k)) {
          const auto& own = x.reads[k].number;
          if (!own || !equal(*own, sum(number->first, number->second, j)))
            cannot_undo(x.op, "what it reads is not the same in the first iterations");
          continue;
        }
      if (is_flag(x.names[k]) && check_flag(v, x, k, j)) continue;
      if (s.kind == FoldedSource::node) {
        stand(s, j, x, k);
        continue;
      }
      if (s.kind == FoldedSource::before && x.reads[k].made == later(v, k).made &&
          x.reads[k].value == later(v, k).value)
        continue;
      if (j != 0 || x.iteration != 0 || s.kind == FoldedSource::variable ||
          x.reads[k].buffer != kNone || (x.reads[k].made != kNone && of_loop(at(x.reads[k].made))))
        cannot_undo(x.op, "what it reads is not the same in the first iterations");
      out_.once[{v, k}] = x.reads[k];
    }
  }

  const Datum& later(int v, std::size_t k) const {
    return at(l_.execution(l_.node(v).op, kFirstSeen)).reads[k];
  }

  /// What node v reads of the node of `s` in iteration j: an execution of that iteration, or what
  /// stands for it before the loop.
  void stand(const FoldedSource& s, std::int64_t j, const Execution& x, std::size_t k) {
    const std::int64_t wanted = j - s.iteration;
    const int from = origin(x, k);
    const bool inside = from != kNone && of_loop(at(from));
    if (wanted >= 0) {
      if (!inside || at(from).op != s.op || at(from).iteration != wanted)
        cannot_undo(x.op, "what it reads is not the same in the first iterations");
      return;
    }
    if (inside || wanted < -2 * kMostAhead)
      cannot_undo(x.op, "what it reads is not the same in the first iterations");
    const int u = l_.node_index(s.op);
    Datum datum = x.reads[k];
    if (datum.buffer != kNone && from != datum.made) {  // what the buffer has stands for it
      datum = Datum();
      datum.made = from;
      datum.value = kNone;
      if (from == kNone) cannot_undo(x.op, "it reads a buffer that nothing fills");
    }
    const auto [found, fresh] = out_.first.try_emplace({u, s.result, wanted}, datum);
    if (!fresh && (found->second.made != datum.made || found->second.value != datum.value))
      cannot_undo(x.op, "several values stand for what it reads in the first iterations");
    if (fresh && out_.even.count(u) == 0 && from != kNone) queue_.emplace_back(u, wanted, from);
  }

  /// A flag: known to be set where it asks for an iteration that there is.
  bool check_flag(int v, const Execution& x, std::size_t k, std::int64_t j) {
    const FoldedSource& s = l_.node(v).reads[k];
    if (s.kind != FoldedSource::number) return false;
    const Datum& d = x.reads[k];
    if (!d.number || !d.number->terms.empty()) return false;
    if (d.number->constant != s.iteration) return false;
    if (d.made == kNone) cannot_undo(x.op, "a flag that it reads is not known");
    const Execution& made = at(d.made);
    const Operation& op = m_.op(made.op);
    if (op.name == "arith.constant") return true;
    if (op.name != "arith.cmpi" || made.reads.size() != 2 || !made.reads[0].number ||
        !made.reads[1].number)
      cannot_undo(made.op, "a flag of the loop is made in another way than by a comparison");
    const Linear difference = sum(*made.reads[0].number, *made.reads[1].number, -1);
    if (difference.terms.empty()) return true;  // of numbers that are known
    const std::string text = op_text(m_, made.op, {});
    Linear left = difference;  // of a < b: a - b
    if (text.find(" sgt,") != std::string::npos)
      left = sum(Linear(), difference, -1);
    else if (text.find(" slt,") == std::string::npos)
      cannot_undo(made.op, "it is not known which iterations its comparison is about");
    if (s.iteration != 1) cannot_undo(made.op, "it is a flag for iterations that there are not");
    // lower + (j + p) step - upper, for a p that is the same in all iterations.
    const Linear rest = sum(left, span_, -1);
    const auto p = multiple_of_step(rest);
    if (!p || (guards_.count(v) != 0 && guards_[v] != *p - j))
      cannot_undo(made.op, "it is not known which iterations its comparison is about");
    guards_[v] = *p - j;
    return true;
  }

  std::optional<std::int64_t> multiple_of_step(const Linear& n) const {
    for (std::int64_t k = -kMostAhead; k <= 2 * kFirstSeen; ++k)
      if (equal(n, sum(Linear(), step_, k))) return k;
    return std::nullopt;
  }

  /// Tensor memory, where one buffer takes the place of a ring: each iteration reads what the one
  /// before has left there, the first one what stood there before.
  void check_buffer(int v, const Execution& x, std::size_t k, std::int64_t j) {
    for (const BufferUse& use : x.buffers) {
      if (use.read != k || !use.reads) continue;
      in_tensor_memory_.insert(v);
      const Execution& steady = at(l_.execution(l_.node(v).op, kFirstSeen));
      for (const BufferUse& later : steady.buffers) {
        if (later.read != k || !later.reads || later.before == kNone) continue;
        const Execution& writer = at(later.before);
        const std::int64_t wanted = j - (steady.iteration - writer.iteration);
        const bool inside = use.before != kNone && of_loop(at(use.before));
        if (wanted >= 0
                ? !inside || at(use.before).op != writer.op || at(use.before).iteration != wanted
                : inside)
          cannot_undo(x.op, "what it reads is not the same in the first iterations");
      }
    }
    for (const BufferUse& use : x.buffers)
      if (use.read == k && use.writes && l_.type(m_.op(at(use.buffer).op).results[0]) != nullptr &&
          l_.type(m_.op(at(use.buffer).op).results[0])->tensor_memory)
        in_tensor_memory_.insert(v);
  }

  /// Is it an execution of node u, for an iteration before the loop's first?
  void match(int u, std::int64_t j, int execution) {
    const Execution& x = at(execution);
    const FoldedLoop::Node& node = l_.node(u);
    const Execution& steady = at(l_.execution(node.op, kFirstSeen));
    if (m_.op(x.op).name != m_.op(node.op).name || x.names.size() != steady.names.size() ||
        shape_of(m_, x.op, x.names) != shape_of(m_, node.op, steady.names))
      return;
    for (std::size_t k = 0; k < x.reads.size(); ++k) {  // what cannot stand for something else
      const FoldedSource& s = node.reads[k];
      if (l_.drops(x.names[k]) || s.kind == FoldedSource::buffer) continue;
      if (is_integer(x.names[k])) {
        if (const auto& number = operand(u, k)) {
          const auto& own = x.reads[k].number;
          if (!own || !equal(*own, sum(number->first, number->second, j))) return;
        }
      } else if (s.kind == FoldedSource::before) {
        if (x.reads[k].made != s.op || x.reads[k].value != steady.reads[k].value) return;
      } else if (s.kind == FoldedSource::number) {
        if (!x.reads[k].number || !x.reads[k].number->terms.empty() ||
            x.reads[k].number->constant != s.iteration)
          return;
      }
    }
    check_reads(u, execution, j);
    matched_.insert({u, j});
  }

  void count() {
    for (std::size_t u = 0; u < l_.nodes().size(); ++u) {
      std::int64_t p = 0;
      while (matched_.count({static_cast<int>(u), -1 - p}) != 0) ++p;
      if (p > kMostAhead) cannot_undo(l_.nodes()[u].op, "it is too many iterations ahead");
      if (p > 0 && in_tensor_memory_.count(static_cast<int>(u)) != 0)
        cannot_undo(l_.nodes()[u].op, "it works on tensor memory before the loop");
      out_.ahead.push_back(p);
    }
    std::erase_if(out_.first, [&](const auto& one) {
      const auto& [u, result, j] = one.first;
      return j >= -out_.ahead[twill::at(u)];
    });
    for (const auto& [key, datum] : out_.first)
      if (datum.value == kNone)
        cannot_undo(at(datum.made).op, "a buffer is filled before the loop in another way");
    for (const auto& [key, datum] : out_.once)
      if (out_.ahead[twill::at(key.first)] != 0)
        cannot_undo(l_.node(key.first).op, "it is executed before the loop in another way");
    for (std::size_t v = 0; v < l_.nodes().size(); ++v) {
      if (out_.even.count(static_cast<int>(v)) != 0) continue;
      for (const FoldedSource& s : l_.nodes()[v].reads) {
        if (s.kind != FoldedSource::node) continue;
        const int u = l_.node_index(s.op);
        if (out_.even.count(u) == 0 && s.iteration + out_.ahead[v] < out_.ahead[twill::at(u)])
          cannot_undo(l_.nodes()[v].op, "it reads what is made for a later iteration");
      }
    }
  }

  void check_guards() const {
    for (const auto& [v, p] : guards_)
      if (out_.ahead[twill::at(v)] != p)
        cannot_undo(l_.node(v).op, "its guard is about another iteration than it is");
    // Who is ahead and has no guard reads beyond the last tile; what that brings nobody needs.
  }

  const FoldedLoop& l_;
  const Module& m_;
  const Replay& r_;
  Linear lower_, span_, step_;  // span: lower bound - upper bound
  Peeled out_;
  std::map<std::pair<int, std::size_t>, std::optional<std::pair<Linear, Linear>>> operands_;
  std::deque<std::tuple<int, std::int64_t, int>> queue_;
  std::set<std::pair<int, std::int64_t>> matched_;
  std::map<int, std::int64_t> guards_;
  std::set<int> in_tensor_memory_;
};

Peeled find_peeled(const FoldedLoop& loop) {
  return Peeler(loop).run();
}

}  // namespace twill::ttgir
