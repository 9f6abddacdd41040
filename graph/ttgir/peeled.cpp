#include "graph/ttgir/peeled.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/tile_numbers.hpp"

namespace twill::ttgir {
namespace {

constexpr std::int64_t kMostAhead = 8;  // iterations; pipeliners have as many stages as buffers

}  // namespace

class Peeler {
 public:
  explicit Peeler(const FoldedLoop& loop)
      : l_(loop), m_(loop.module()), r_(loop.replayed()), numbers_(m_, r_) {}

  Peeled run() {
    out_.stores = check_around(l_);
    read_bounds();
    for (const FoldedLoop::Node& node : l_.nodes())
      for (std::int64_t i = 0; i < kFirstSeen; ++i)
        if (const int now = l_.execution(node.op, i);
            now == kNone || at(now).reads.size() != node.reads.size())
          cannot_undo(node.op, "it is not executed in the first iterations as it is later");
    find_even();
    for (std::size_t v = 0; v < l_.nodes().size(); ++v)
      for (std::int64_t i = 0; i < kFirstSeen; ++i)
        check_reads(static_cast<int>(v), l_.execution(l_.nodes()[v].op, i), i);
    while (!queue_.empty()) {
      const auto [u, j, execution] = queue_.front();
      queue_.pop_front();
      match(u, j, execution);
    }
    count();
    out_.last = find_last_iteration(l_);
    check_ends();
    return std::move(out_);
  }

 private:
  const Execution& at(int execution) const { return l_.at(execution); }

  void read_bounds() {
    for (const Datum& bound : r_.loops.front().bounds)
      if (!bound.number || bound.assumed) cannot_undo(l_.first_loop(), "its bounds are not known");
    const auto& bounds = r_.loops.front().bounds;
    lower_ = *bounds[0].number;
    span_ = sum_of(lower_, *bounds[1].number, -1);
    step_ = *bounds[2].number;
  }

  /// Is it a number that an index is made of, or a tile of them? (A flag is not.)
  bool is_integer(int value) const { return is_integer_or_tile(m_, value); }
  bool is_flag(int value) const {
    const Type* t = l_.type(value);
    return t != nullptr && t->kind == TypeKind::scalar && t->element == "i1";
  }

  /// Numbers of a sequence that grows evenly from its first: by how much.
  static std::optional<Linear> increase(const std::vector<std::optional<Linear>>& numbers) {
    if (numbers.size() < 2) return std::nullopt;
    for (const auto& number : numbers)
      if (!number) return std::nullopt;
    const Linear by = sum_of(*numbers[1], *numbers[0], -1);
    for (std::size_t i = 2; i < numbers.size(); ++i)
      if (!equal(sum_of(*numbers[i], *numbers[i - 1], -1), by)) return std::nullopt;
    return by;
  }

  /// Which nodes are numbers that change evenly.
  void find_even() {
    std::map<int, std::vector<std::optional<Linear>>> seen;  // op -> per iteration
    for (const Execution& x : r_.executions) {
      if (!of_loop(x)) continue;
      for (const Datum& d : x.reads) {
        if (d.made == kNone || !of_loop(at(d.made)) || !is_integer(d.value)) continue;
        const Execution& made = at(d.made);
        if (m_.op(made.op).results.size() != 1) continue;
        auto& numbers = seen[made.op];
        numbers.resize(static_cast<std::size_t>(kFirstSeen));
        if (made.iteration < kFirstSeen)
          numbers[static_cast<std::size_t>(made.iteration)] = numbers_.of(d);
      }
    }
    for (std::size_t v = 0; v < l_.nodes().size(); ++v)
      if (const auto found = seen.find(l_.nodes()[v].op); found != seen.end())
        if (const auto by = increase(found->second)) out_.even[static_cast<int>(v)] = *by;
  }

  /// The execution behind the k-th of what an execution reads, of who filled the buffer, or of a
  /// view of it. `x` is the execution, perhaps with its operands exchanged.
  int origin(int execution, const Execution& x, std::size_t k) const {
    const Datum& d = x.reads[k];
    if (d.buffer == kNone || l_.is_value(d.buffer) || d.made == kNone) return d.made;
    const Operation& made = m_.op(at(d.made).op);
    if (class_of(made) == OpClass::view && !FoldedLoop::names_buffer(made)) return d.made;
    if (class_of(m_.op(x.op)) == OpClass::view) return l_.filled_for(execution);
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
        numbers.push_back(numbers_.of(at(l_.execution(l_.node(v).op, i)).reads[k]));
      if (const auto by = increase(numbers)) found->second.emplace(*numbers[0], *by);
    }
    return found->second;
  }

  /// Does the execution that stands for node v in iteration j of the loop read what the node does?
  void check_reads(int v, int execution, std::int64_t j) {
    check_reads(v, execution, l_.with_stored(at(execution)), j);
  }
  void check_reads(int v, int execution, const Execution& x, std::int64_t j) {
    const FoldedLoop::Node& node = l_.node(v);
    if (x.reads.size() != node.reads.size())
      cannot_undo(x.op, "what it reads is not the same in the first iterations");
    for (std::size_t k = 0; k < x.reads.size(); ++k) {
      const FoldedSource& s = node.reads[k];
      if (l_.drops(x.names[k])) continue;
      if (s.kind == FoldedSource::buffer) {
        check_buffer(v, x, k, j);
        continue;
      }
      if (is_integer(x.names[k]) && x.reads[k].assumed)
        cannot_undo(x.op, "a number that it reads depends on how long the loop is");
      if (s.kind == FoldedSource::node && out_.even.count(v) != 0 && x.iteration != kBefore) {
        // An integer that is made of integers of iterations before.
        if (s.iteration > 0 && !operand(v, k))
          cannot_undo(x.op, "the numbers that it is made of do not change evenly");
        if (j < s.iteration) stand(s, j, execution, x, k);
        continue;
      }
      if (is_integer(x.names[k]))
        if (const auto& number = operand(v, k)) {
          const auto own = numbers_.of(x.reads[k]);
          if (!own || !equal(*own, sum_of(number->first, number->second, j)))
            cannot_undo(x.op, "what it reads is not the same in the first iterations");
          continue;
        }
      if (is_flag(x.names[k]) && check_flag(v, x, k, j)) continue;
      if (s.kind == FoldedSource::node) {
        stand(s, j, execution, x, k);
        continue;
      }
      if (s.kind == FoldedSource::before && x.reads[k].made == later(v, k).made &&
          x.reads[k].value == later(v, k).value)
        continue;
      const auto [found, fresh] = once_at_.try_emplace({v, k}, j);
      if ((!fresh && found->second != j) || s.kind == FoldedSource::variable ||
          x.reads[k].buffer != kNone || (x.reads[k].made != kNone && of_loop(at(x.reads[k].made))))
        cannot_undo(x.op, "what it reads is not the same in the first iterations");
      out_.once[{v, k}] = x.reads[k];
    }
  }

  Datum later(int v, std::size_t k) const {
    return l_.with_stored(at(l_.execution(l_.node(v).op, kFirstSeen))).reads[k];
  }

  /// What node v reads of the node of `s` in iteration j: an execution of that iteration, or what
  /// stands for it before the loop.
  void stand(const FoldedSource& s, std::int64_t j, int execution, const Execution& x,
             std::size_t k) {
    const std::int64_t wanted = j - s.iteration;
    int from = origin(execution, x, k);
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
    if (datum.buffer == kNone && from == datum.made) {
      datum = kept(datum, u, wanted);
      from = datum.made;
    }
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
    const Linear difference = sum_of(*made.reads[0].number, *made.reads[1].number, -1);
    if (difference.terms.empty()) return true;  // of numbers that are known
    if (s.iteration != 1) cannot_undo(made.op, "it is a flag for iterations that there are not");
    note_guard(v, d.made, j);
    return true;
  }

  /// p of lower + p x step < upper.
  std::optional<std::int64_t> iterations_asked(int comparison) const {
    const Execution& made = at(comparison);
    const std::string text = op_text(m_, made.op, {});
    Linear left = sum_of(*made.reads[0].number, *made.reads[1].number, -1);  // of a < b: a - b
    if (text.find(" sgt,") != std::string::npos)
      left = sum_of(Linear(), left, -1);
    else if (text.find(" slt,") == std::string::npos)
      return std::nullopt;
    return multiple_of_step(sum_of(left, span_, -1));
  }

  /// A comparison that holds in loops that run for long asks for an iteration of node v.
  void note_guard(int v, int comparison, std::int64_t j) {
    const Execution& made = at(comparison);
    const auto p = iterations_asked(comparison);  // j + p, for a p that stays the same
    if (!p || (guards_.count(v) != 0 && guards_[v] != *p - j))
      cannot_undo(made.op, "it is not known which iterations its comparison is about");
    guards_[v] = *p - j;
  }

  /// What is kept of an iteration before the loop where there is that iteration: what it makes.
  /// (Else what was there before, with which the loop begins.)
  Datum kept(Datum datum, int u, std::int64_t j) {
    for (int steps = 0; steps < 16 && datum.made != kNone && !of_loop(at(datum.made)); ++steps) {
      const Execution& x = at(datum.made);
      if (m_.op(x.op).name != "arith.select" || x.reads.size() != 3 || !is_flag(x.names[0])) break;
      const Datum& flag = x.reads[0];
      if (!flag.number || !flag.number->terms.empty() || flag.number->constant != 1 ||
          flag.made == kNone || m_.op(at(flag.made).op).name != "arith.cmpi" ||
          !at(flag.made).reads[0].number || !at(flag.made).reads[1].number)
        break;
      note_guard(u, flag.made, j);
      datum = x.reads[1];
    }
    return datum;
  }

  std::optional<std::int64_t> multiple_of_step(const Linear& n) const {
    for (std::int64_t k = -kMostAhead; k <= 2 * kFirstSeen; ++k)
      if (equal(n, sum_of(Linear(), step_, k))) return k;
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
        const bool right = wanted < 0 ? !inside
                                      : inside && at(use.before).op == writer.op &&
                                            at(use.before).iteration == wanted;
        if (!right) cannot_undo(x.op, "what it reads is not the same in the first iterations");
        if (wanted >= 0 || use.before == kNone) continue;
        const int u = l_.node_index(writer.op);
        const auto [found, fresh] = in_memory_.try_emplace({u, wanted}, use.before);
        if (found->second != use.before)
          cannot_undo(x.op, "several values stand for what it reads in the first iterations");
        if (fresh) queue_.emplace_back(u, wanted, use.before);
      }
    }
    for (const BufferUse& use : x.buffers)
      if (use.read == k && use.writes && l_.type(m_.op(at(use.buffer).op).results[0]) != nullptr &&
          l_.type(m_.op(at(use.buffer).op).results[0])->tensor_memory)
        in_tensor_memory_.insert(v);
  }

  /// The comparison that all of a load's mask is, where it holds in loops that run for long.
  std::optional<int> guard_of_load(const Execution& x) const {
    if (m_.op(x.op).name != "tt.load" || x.reads.size() != 2 || x.reads[1].made == kNone)
      return std::nullopt;
    const Execution& splat = at(x.reads[1].made);
    if (m_.op(splat.op).name != "tt.splat" || splat.reads.size() != 1 || !is_flag(splat.names[0]))
      return std::nullopt;
    const Datum& flag = splat.reads[0];
    if (flag.made == kNone || !flag.number || !flag.number->terms.empty() ||
        flag.number->constant != 1)
      return std::nullopt;
    const Execution& made = at(flag.made);
    if (m_.op(made.op).name != "arith.cmpi" || !made.reads.at(0).number || !made.reads.at(1).number)
      return std::nullopt;
    return flag.made;
  }

  /// How many operands of an execution come from ops like those that the node's come from.
  int likeness(int u, int execution, const Execution& x) const {
    int count = 0;
    for (std::size_t k = 0; k < x.reads.size(); ++k) {
      const FoldedSource& s = l_.node(u).reads[k];
      const int from = origin(execution, x, k);
      count += from != kNone && s.kind != FoldedSource::number && s.op != kNone &&
                       m_.op(at(from).op).name ==
                           m_.op(s.kind == FoldedSource::node ? s.op : at(s.op).op).name
                   ? 1
                   : 0;
    }
    return count;
  }

  /// Is one of the masks that are joined there a guard?
  bool has_guard(const Execution& x) const {
    return std::any_of(x.reads.begin(), x.reads.end(), [&](const Datum& datum) {
      if (datum.made == kNone) return false;
      const Operation& made = m_.op(at(datum.made).op);
      return is_set_mask(at(datum.made).op) ||
             (made.name == "tt.splat" && is_flag(made.operands.at(0)));
    });
  }

  /// A mask and a guard, before the loop the mask alone: there is that iteration.
  void match_without_guard(int u, std::int64_t j, int execution) {
    const FoldedLoop::Node& node = l_.node(u);
    const Operation& made = m_.op(at(execution).op);
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const FoldedSource &guard = node.reads.at(k), &mask = node.reads.at(1 - k);
      if (guard.kind != FoldedSource::node || m_.op(guard.op).name != "tt.splat" ||
          !is_flag(m_.op(guard.op).operands.at(0)) || made.results.size() != 1)
        continue;
      if (mask.kind == FoldedSource::before && later(u, 1 - k).made != execution) continue;
      if (mask.kind != FoldedSource::before && mask.kind != FoldedSource::node) continue;
      matched_[{u, j}] = execution;
      matched_[{l_.node_index(guard.op), j - guard.iteration}] = execution;
      if (mask.kind == FoldedSource::before) return;
      Datum datum;
      datum.made = execution;
      datum.value = made.results[0];
      const int w = l_.node_index(mask.op);
      const auto [found, fresh] =
          out_.first.try_emplace({w, mask.result, j - mask.iteration}, datum);
      if (found->second.made != execution)
        cannot_undo(at(execution).op,
                    "several values stand for what it reads in the first iterations");
      if (fresh) queue_.emplace_back(w, j - mask.iteration, execution);
      return;
    }
  }

  /// Is it a mask that keeps all?
  bool is_set_mask(int op) const {
    return m_.op(op).name == "arith.constant" && m_.op(op).literal == "dense<true>";
  }

  /// Is it an execution of node u, for an iteration before the loop's first?
  void match(int u, std::int64_t j, int execution) {
    const FoldedLoop::Node& node = l_.node(u);
    const Execution steady = l_.with_stored(at(l_.execution(node.op, kFirstSeen)));
    Execution x = l_.with_stored(at(execution));
    if (is_set_mask(x.op) && m_.op(node.op).name == "tt.splat" && is_flag(steady.names.at(0))) {
      matched_[{u, j}] = execution;  // a guard for an iteration that there is
      return;
    }
    if (m_.op(node.op).name == "arith.andi" &&
        (m_.op(x.op).name != "arith.andi" || (has_guard(steady) && !has_guard(x)))) {
      match_without_guard(u, j, execution);
      return;
    }
    if (m_.op(x.op).name != m_.op(node.op).name) return;
    std::string shape = shape_of(m_, x.op, x.names);
    if (const auto guard = guard_of_load(x); guard && steady.names.size() == 1) {
      // Before the loop a load has a guard that it does not need in it.
      const std::size_t mask = shape.find(", %");
      if (mask == std::string::npos) return;
      shape.erase(mask, 3);
      if (shape != shape_of(m_, node.op, steady.names)) return;
      note_guard(u, *guard, j);
      x.reads.pop_back();
      x.names.pop_back();
    }
    if (x.names.size() != steady.names.size() || shape != shape_of(m_, node.op, steady.names))
      return;
    if (x.reads.size() == 2 && commutes(m_.op(x.op).name)) {
      // Where an operand is a constant before the loop, it stands behind the other.
      Execution other = x;
      std::swap(other.reads[0], other.reads[1]);
      std::swap(other.names[0], other.names[1]);
      if (likeness(u, execution, other) > likeness(u, execution, x)) x = other;
    }
    for (std::size_t k = 0; k < x.reads.size(); ++k) {  // what cannot stand for something else
      const FoldedSource& s = node.reads[k];
      if (l_.drops(x.names[k]) || s.kind == FoldedSource::buffer) continue;
      if (is_integer(x.names[k])) {
        if (const auto& number = operand(u, k)) {
          const auto own = numbers_.of(x.reads[k]);
          if (!own || !equal(*own, sum_of(number->first, number->second, j))) return;
        }
      } else if (s.kind == FoldedSource::before) {
        if (x.reads[k].made != s.op || x.reads[k].value != steady.reads[k].value) return;
      } else if (s.kind == FoldedSource::number && !is_flag(x.names[k])) {
        if (!x.reads[k].number || !x.reads[k].number->terms.empty() ||
            x.reads[k].number->constant != s.iteration)
          return;
      }
    }
    check_reads(u, execution, x, j);
    matched_[{u, j}] = execution;
  }

  void count() {
    for (std::size_t u = 0; u < l_.nodes().size(); ++u) {
      std::int64_t p = 0;
      for (;; ++p) {
        const auto found = matched_.find({static_cast<int>(u), -1 - p});
        if (found == matched_.end()) break;
        if (is_set_mask(at(found->second).op)) continue;
        out_.executions.insert(found->second);
        if (l_.level_of(at(found->second).op) != l_.around().size())
          cannot_undo(at(found->second).op, "a first iteration stands before the loop around it");
      }
      if (p > kMostAhead) cannot_undo(l_.nodes()[u].op, "it is too many iterations ahead");
      out_.ahead.push_back(p);
    }
    std::erase_if(out_.first, [&](const auto& one) {
      const auto& [u, result, j] = one.first;
      return j >= -out_.ahead[twill::at(u)];
    });
    for (const auto& [key, datum] : out_.first)
      if (datum.value == kNone)
        cannot_undo(at(datum.made).op, "a buffer is filled before the loop in another way");
    for (const auto& [key, j] : once_at_)
      if (j != -out_.ahead[twill::at(key.first)])
        cannot_undo(l_.node(key.first).op, "what it reads is not the same in the first iterations");
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

  /// A branch behind the loop asks whether there is an iteration.
  template <typename Ask>
  void ask_condition(int condition, const Ask& ask) {
    const int made = m_.value(condition).op;
    for (std::size_t e = 0; e < r_.executions.size(); ++e) {
      const Execution& x = r_.executions[e];
      if (x.op != made || x.iteration != kBefore || m_.op(x.op).name != "arith.cmpi" ||
          !x.reads.at(0).number || !x.reads.at(1).number)
        continue;
      if (const auto p = iterations_asked(static_cast<int>(e)))
        return ask(*out_.last.nodes.begin(), -*p);
    }
    cannot_undo(l_.first_loop(), "the last iteration stands behind it under another condition");
  }

  /// Whose executions count must be executed as often as the loop from before has iterations. (Who
  /// is ahead of that without a guard reads beyond the last tile, and nobody needs what it brings.)
  void check_ends() {
    std::optional<std::int64_t> more;
    const auto ask = [&](int v, std::int64_t number) {
      if (more && *more != number)
        cannot_undo(l_.node(v).op, "it is executed more or less often than others are");
      more = number;
    };
    for (const auto& [v, p] : guards_) ask(v, out_.ahead[twill::at(v)] - p);
    for (std::size_t v = 0; v < l_.nodes().size(); ++v)
      if (guards_.count(static_cast<int>(v)) == 0 &&
          (in_tensor_memory_.count(static_cast<int>(v)) != 0 ||
           class_of(m_.op(l_.nodes()[v].op)) == OpClass::store))
        ask(static_cast<int>(v),
            out_.ahead[v] + (out_.last.nodes.count(static_cast<int>(v)) != 0 ? 1 : 0));
    for (const int v : out_.last.nodes) ask(v, out_.ahead[static_cast<std::size_t>(v)] + 1);
    for (const int condition : out_.last.conditions) ask_condition(condition, ask);
    out_.more = more.value_or(0);
    if (out_.more < 0) cannot_undo(l_.first_loop(), "its last iterations are not all of the same");
  }

  const FoldedLoop& l_;
  const Module& m_;
  const Replay& r_;
  Linear lower_, span_, step_;  // span: lower bound - upper bound
  Peeled out_;
  std::map<std::pair<int, std::size_t>, std::optional<std::pair<Linear, Linear>>> operands_;
  std::deque<std::tuple<int, std::int64_t, int>> queue_;
  std::map<std::pair<int, std::int64_t>, int> matched_, in_memory_;  // to executions
  std::map<std::pair<int, std::size_t>, std::int64_t> once_at_;
  TileNumbers numbers_;
  std::map<int, std::int64_t> guards_;
  std::set<int> in_tensor_memory_;
};

Peeled find_peeled(const FoldedLoop& loop) {
  return Peeler(loop).run();
}

}  // namespace twill::ttgir
