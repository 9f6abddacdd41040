#include "engine/certificate/lifetime_lemma.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "graph/index.hpp"

namespace twill {
namespace {

bool denied(std::span<const int> lemma, int literal) {
  return std::find(lemma.begin(), lemma.end(), -literal) != lemma.end();
}

struct LifetimeStep {
  char kind = 0;
  std::size_t number = 0;
  std::int64_t times = 1;
};

// The next of "u3 f12*2 ...", taken off; nullopt = it is none.
std::optional<LifetimeStep> take_step(std::string_view& text) {
  const std::size_t space = text.find(' ');
  const std::string_view token = text.substr(0, space);
  text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  if (token.size() < 2) return std::nullopt;
  LifetimeStep step{token[0], 0};
  const char* const last = token.data() + token.size();
  auto [end, error] = std::from_chars(token.data() + 1, last, step.number);
  if (error != std::errc{} || step.number > 2147483647) return std::nullopt;
  if (end != last && *end == '*') {
    const auto times = std::from_chars(end + 1, last, step.times);
    if (times.ec != std::errc{} || step.times < 1) return std::nullopt;
    end = times.ptr;
  }
  if (end != last) return std::nullopt;
  return step;
}

// sum + factor * value; false when that is out of range.
bool add_product(std::int64_t& sum, std::int64_t factor, std::int64_t value) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(factor, value, &product) &&
         !__builtin_add_overflow(sum, product, &sum);
}

}  // namespace

bool is_lifetime_reason(std::string_view reason) {
  return reason.starts_with("L ");
}

std::string lifetime_fault(const LifetimeQuestion& question, const EncodedFormula& formula,
                           const DifferenceRows& rows, std::span<const int> lemma,
                           std::string_view reason) {
  constexpr const char* kRange = "the sum is out of range";
  const Problem& p = question.problem;
  if (question.stages < 1) return "the formula does not bound the stages";
  std::vector<std::int64_t> left(formula.nodes.size(), 0);  // of the rows, to be cancelled
  std::vector<std::int64_t> stages(p.ops.size(), 0);
  std::vector<char> used(p.ops.size(), 0);
  std::int64_t sum = 0;
  reason.remove_prefix(2);
  while (!reason.empty()) {
    const auto step = take_step(reason);
    if (!step) return "a step is no u, d, l, f or a with a number";
    // What a start is counted for, its row and its stage are.
    const auto add_start = [&](std::size_t op, std::int64_t times) {
      return add_product(left[op + 1], 1, times) && add_product(stages[op], 1, times);
    };
    if (step->kind == 'd') {
      if (step->number >= p.edges.size()) return "a delay is no edge's";
      const Edge& e = p.edges[step->number];
      std::int64_t weight = e.delay;
      if (!add_product(weight, -e.distance, question.ii) || !add_start(at(e.from), step->times) ||
          !add_start(at(e.to), -step->times) || !add_product(sum, step->times, weight))
        return kRange;
      continue;
    }
    if (step->kind == 'l') {
      if (step->number >= p.ops.size() || question.deadline < 0) return "a length is no op's";
      if (!add_start(step->number, step->times) ||
          !add_product(sum, step->times, p.ops[step->number].cycles - question.deadline))
        return kRange;
      continue;
    }
    if (step->kind == 'u') {
      if (step->number >= p.edges.size()) return "a use is no edge";
      const Edge& e = p.edges[step->number];
      if (used[at(e.from)] || step->times > 1) return "an op's lifetime is counted twice";
      used[at(e.from)] = 1;
      if (!add_start(at(e.to), 1) || !add_start(at(e.from), -1) ||
          !add_product(sum, e.distance, question.ii) || !add_product(sum, 1, e.hold))
        return kRange;
      continue;
    }
    std::optional<DifferenceRows::Arc> arc;
    if (step->kind == 'f') arc = rows.fact(step->number);
    if (step->kind == 'a' && denied(lemma, static_cast<int>(step->number)))
      arc = rows.asserted(static_cast<int>(step->number));
    if (!arc) return "a step is neither a use, a fact nor denied by the lemma";
    if (!add_product(left[at(arc->to)], -1, step->times) ||
        !add_product(left[at(arc->from)], 1, step->times) ||
        !add_product(sum, step->times, arc->weight))
      return kRange;
  }
  left[0] = 0;  // the origin's row is 0
  if (std::any_of(left.begin(), left.end(), [](std::int64_t n) { return n != 0; }))
    return "the rows do not cancel";
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    if (stages[v] == 0) continue;
    Cycle low = 0, high = question.stages - 1;
    for (const StageLiteral& s : formula.stages) {
      if (at(s.op) != v) continue;
      if (denied(lemma, s.variable)) low = std::max(low, s.at_least);
      if (denied(lemma, -s.variable)) high = std::min(high, s.at_least - 1);
    }
    Cycle cycles = 0;
    if (!add_product(cycles, stages[v] > 0 ? low : high, question.ii) ||
        !add_product(sum, stages[v], cycles))
      return kRange;
  }
  return sum > question.most
             ? ""
             : "the lifetimes sum to " + std::to_string(sum) + " or more, which is allowed";
}

}  // namespace twill
