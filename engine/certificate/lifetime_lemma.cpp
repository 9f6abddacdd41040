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
};

// The next of "u3 f12 ...", taken off; nullopt = it is none.
std::optional<LifetimeStep> take_step(std::string_view& text) {
  const std::size_t space = text.find(' ');
  const std::string_view token = text.substr(0, space);
  text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  if (token.size() < 2) return std::nullopt;
  LifetimeStep step{token[0], 0};
  const char* const last = token.data() + token.size();
  const auto [end, error] = std::from_chars(token.data() + 1, last, step.number);
  if (error != std::errc{} || end != last || step.number > 2147483647) return std::nullopt;
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

std::string lifetime_fault(const LifetimeQuestion& question, const RegeneratedFormula& formula,
                           const DifferenceRows& rows, std::span<const int> lemma,
                           std::string_view reason) {
  constexpr const char* kRange = "the sum is out of range";
  const Problem& p = question.problem;
  std::vector<std::int64_t> left(formula.nodes.size(), 0);  // of the uses' rows, to be cancelled
  std::vector<std::int64_t> stages(p.ops.size(), 0);
  std::vector<char> used(p.ops.size(), 0);
  std::int64_t sum = 0;
  reason.remove_prefix(2);
  while (!reason.empty()) {
    const auto step = take_step(reason);
    if (!step) return "a step is no u, f or a with a number";
    if (step->kind == 'u') {
      if (step->number >= p.edges.size()) return "a use is no edge";
      const Edge& e = p.edges[step->number];
      if (used[at(e.from)]) return "an op's lifetime is counted twice";
      used[at(e.from)] = 1;
      ++left[at(Differences::node(e.to))];
      --left[at(Differences::node(e.from))];
      ++stages[at(e.to)];
      --stages[at(e.from)];
      if (!add_product(sum, e.distance, question.ii) || !add_product(sum, 1, e.hold)) return kRange;
      continue;
    }
    std::optional<DifferenceRows::Arc> arc;
    if (step->kind == 'f') arc = rows.fact(step->number);
    if (step->kind == 'a' && denied(lemma, static_cast<int>(step->number)))
      arc = rows.asserted(static_cast<int>(step->number));
    if (!arc) return "a step is neither a use, a fact nor denied by the lemma";
    --left[at(arc->to)];
    ++left[at(arc->from)];
    if (!add_product(sum, 1, arc->weight)) return kRange;
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
