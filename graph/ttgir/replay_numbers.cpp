// Integers of a replayed loop: sums of unknown numbers (see replayer.hpp).
#include <algorithm>

#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/replayer.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kMaxTerms = 16;  // of a sum; more is a number that is not known

}  // namespace

Linear sum_of(const Linear& a, const Linear& b, std::int64_t factor) {
  Linear result = a;
  result.constant += factor * b.constant;
  for (const auto& [term, f] : b.terms) {
    std::int64_t& both = result.terms[term];
    both += factor * f;
    if (both == 0) result.terms.erase(term);
  }
  return result;
}

bool equal(const Linear& a, const Linear& b) {
  return a.constant == b.constant && a.terms == b.terms;
}

Datum Replayer::unknown(int value) {
  Datum datum;
  datum.value = value;
  if (is_integer(value)) datum.number = fresh();
  return datum;
}

Linear Replayer::fresh() {
  Linear number;
  number.terms[unknowns_++] = 1;
  return number;
}

bool Replayer::too_large(const Linear& n) {
  const auto large = [](std::int64_t x) { return x > kMaxFactor || x < -kMaxFactor; };
  return n.terms.size() > kMaxTerms || large(n.constant) ||
         std::any_of(n.terms.begin(), n.terms.end(),
                     [&](const auto& t) { return large(t.second); });
}

/// The sign of a difference in loops that run for long, which is noted to be looked at at the
/// end.
std::optional<int> Replayer::sign(const Linear& n, int op) {
  if (n.terms.empty()) return n.constant == 0 ? 0 : n.constant > 0 ? 1 : -1;
  if (const auto known = sign_in_passed(n)) return known;
  const bool up = n.terms.begin()->second > 0;
  for (const auto& [term, factor] : n.terms)
    if (n.terms.size() == 1 && (factor > 0) == up) {
      assumptions_.emplace_back(op, n);
      return up ? 1 : -1;
    }
  return sign_by_length(n, op);
}

std::optional<int> Replayer::sign_by_length(const Linear& n, int op) {
  for (const ReplayedLoop& loop : out_.loops)
    if (const auto k = multiple(n, loop.bounds)) return *k > 0 ? 1 : -1;
  // Before a loop is come to: if it turns out to be another one, that is looked at at the end.
  // (A bound that is itself made of such a comparison is not known before.)
  if (foreseeing_) return std::nullopt;
  foreseeing_ = true;
  const auto known = sign_by_candidates(n, op);
  foreseeing_ = false;
  return known;
}

std::optional<int> Replayer::sign_by_candidates(const Linear& n, int op) {
  for (const int loop : candidates_) {
    std::vector<Datum> bounds;
    for (std::size_t k = 0; k < 3 && k < m_.op(loop).operands.size(); ++k)
      if (auto bound = foresee(m_.op(loop).operands[k])) bounds.push_back(*bound);
    if (bounds.size() != 3) continue;
    if (const auto k = multiple(n, bounds)) {
      assumptions_.emplace_back(op, n);
      return *k > 0 ? 1 : -1;
    }
  }
  return std::nullopt;
}

std::optional<int> Replayer::sign_in_passed(const Linear& n) const {
  for (const Frame& frame : threads_[now_].frames) {
    if (frame.passed < 0) continue;
    for (const ReplayedLoop& loop : passed_) {
      if (loop.op != frame.op || !is_constant(loop.bounds[2].number)) continue;
      const auto k = multiple(n, loop.bounds);
      if (!k) continue;
      const Linear span = sum_of(*loop.bounds[1].number, *loop.bounds[0].number, -1);
      const std::int64_t value =
          n.constant + *k * (kPassed * loop.bounds[2].number->constant - span.constant);
      return value == 0 ? 0 : value > 0 ? 1 : -1;
    }
  }
  return std::nullopt;
}

std::optional<Datum> Replayer::foresee(int value, int depth) {
  constexpr int kDeepest = 16;
  if (const auto found = environment_.find(value); found != environment_.end())
    return found->second;
  const int made = m_.value(value).op;
  if (made == kNone || depth > kDeepest || !m_.op(made).name.starts_with("arith."))
    return std::nullopt;
  std::vector<Datum> in;
  for (const int operand : m_.op(made).operands) {
    const auto one = foresee(operand, depth + 1);
    if (!one) return std::nullopt;
    in.push_back(*one);
  }
  const int before = unknowns_;
  Datum datum;
  datum.value = value;
  datum.number = evaluate(made, in);
  return unknowns_ == before && datum.number ? std::optional(datum) : std::nullopt;
}

/// k where the terms are those of k x (upper - lower bound) of a loop, but for a few of its steps:
/// a loop that runs for long has more of them.
std::optional<std::int64_t> Replayer::multiple(const Linear& n, const std::vector<Datum>& bounds) {
  constexpr std::int64_t kSteps = 64;
  if (!bounds[0].number || !bounds[1].number) return std::nullopt;
  const Linear span = sum_of(*bounds[1].number, *bounds[0].number, -1);
  const Linear step = bounds.size() > 2 && bounds[2].number ? *bounds[2].number : Linear();
  std::optional<std::int64_t> k, steps;
  const auto same = [](std::optional<std::int64_t>& known, std::int64_t a, std::int64_t b) {
    if (a % b != 0 || (known && *known != a / b)) return false;
    known = a / b;
    return true;
  };
  for (const auto& [term, factor] : span.terms) {
    if (step.terms.count(term) != 0) continue;
    const auto found = n.terms.find(term);
    if (found == n.terms.end() || !same(k, found->second, factor)) return std::nullopt;
  }
  if (!k) return std::nullopt;
  const Linear rest = sum_of(n, span, -*k);
  if (rest.terms.empty()) return k;
  if (rest.terms.size() != step.terms.size()) return std::nullopt;
  for (const auto& [term, factor] : step.terms) {
    const auto found = rest.terms.find(term);
    if (found == rest.terms.end() || !same(steps, found->second, factor)) return std::nullopt;
  }
  return *steps <= kSteps && *steps >= -kSteps ? k : std::nullopt;
}

void Replayer::check_assumptions() const {
  for (const auto& [op, number] : assumptions_) {
    const auto about = [&, &n = number](const ReplayedLoop& loop) {
      return multiple(n, loop.bounds).has_value();
    };
    const bool about_a_loop = std::any_of(out_.loops.begin(), out_.loops.end(), about) ||
                              std::any_of(passed_.begin(), passed_.end(), about);
    if (!about_a_loop) fail(op, "its outcome depends on a number that is not known");
  }
}

std::optional<Linear> Replayer::compare(int op, std::string_view how, const Linear& a,
                                        const Linear& b) {
  const std::optional<int> s = sign(sum_of(a, b, -1), op);
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
std::string_view Replayer::predicate(const Operation& op) const {
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

std::optional<Linear> Replayer::evaluate(int index, const std::vector<Datum>& in) {
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
      result = sum_of(*in[0].number, *in[1].number, 1);
    else if (op.name == "arith.subi")
      result = sum_of(*in[0].number, *in[1].number, -1);
    else if (op.name == "arith.cmpi")
      result = compare(index, predicate(op), *in[0].number, *in[1].number);
    else if (op.name == "arith.muli" && (known(0) || known(1)))
      result = sum_of(Linear(), *in[known(0) ? 1 : 0].number, at(known(0) ? 0 : 1));
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

}  // namespace twill::ttgir
