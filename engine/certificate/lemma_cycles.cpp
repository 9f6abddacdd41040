#include "engine/certificate/lemma_cycles.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace twill {

DifferenceRows::DifferenceRows(int nodes, std::span<const Difference> facts,
                               std::span<const DifferenceAtom> atoms,
                               std::span<const DifferenceSum> sums, Cycle ii, Cycle deadline)
    : nodes_(nodes), ii_(ii), deadline_(deadline), sums_(sums) {
  facts_.reserve(facts.size());
  for (const Difference& d : facts) facts_.push_back(arc(d));
  int last = -1;
  for (const DifferenceAtom& a : atoms) last = std::max(last, a.variable);
  atoms_.assign(static_cast<std::size_t>(last) + 1, {-1, -1, 0});
  for (const DifferenceAtom& a : atoms)
    atoms_[static_cast<std::size_t>(a.variable)] = arc(a.difference);
}

std::optional<DifferenceRows::Arc> DifferenceRows::sum(std::size_t index,
                                                       std::span<const int> lemma) const {
  if (index >= sums_.size()) return std::nullopt;
  Arc all = arc(sums_[index].difference);
  for (const DifferenceSum::Term& term : sums_[index].terms)
    if (std::find(lemma.begin(), lemma.end(), -term.variable) != lemma.end())
      all.weight += term.amount;
  return all;
}

std::vector<std::size_t> DifferenceRows::sums_within(std::span<const int> lemma) const {
  std::vector<std::size_t> found;
  for (std::size_t s = 0; s < sums_.size(); ++s)
    if (std::any_of(sums_[s].terms.begin(), sums_[s].terms.end(), [&](const auto& term) {
          return std::find(lemma.begin(), lemma.end(), -term.variable) != lemma.end();
        }))
      found.push_back(s);
  return found;
}

CycleFinder::CycleFinder(const DifferenceRows& rows)
    : rows_(rows),
      contradiction_(cycle_of_facts()),
      paths_(static_cast<std::size_t>(rows.nodes())) {}

// Plain Bellman-Ford; no cycle of facts is positive.
const CycleFinder::Paths& CycleFinder::paths_from(int node) {
  Paths& paths = paths_[static_cast<std::size_t>(node)];
  if (!paths.empty()) return paths;
  paths.resize(paths_.size());
  paths[static_cast<std::size_t>(node)].reached = true;
  const std::span<const DifferenceRows::Arc> facts = rows_.facts();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t f = 0; f < facts.size(); ++f) {
      const Path& before = paths[static_cast<std::size_t>(facts[f].from)];
      if (!before.reached) continue;
      const Cycle weight = before.weight + facts[f].weight;
      Path& path = paths[static_cast<std::size_t>(facts[f].to)];
      if (path.reached && weight <= path.weight) continue;
      path = {weight, static_cast<int>(f), true};
      changed = true;
    }
  }
  return paths;
}

// " f3 f12", the facts on the way.
void CycleFinder::write_path(int from, int to, TextWriter& text) {
  const Paths& paths = paths_from(from);
  facts_.clear();
  while (from != to) {
    facts_.push_back(paths[static_cast<std::size_t>(to)].last);
    to = rows_.facts()[static_cast<std::size_t>(facts_.back())].from;
  }
  for (auto f = facts_.rbegin(); f != facts_.rend(); ++f) {
    text.put(' ');
    text.number('f', *f);
  }
}

// Facts that contradict each other: plain Bellman-Ford, since this ends the search.
std::optional<std::string> CycleFinder::cycle_of_facts() const {
  const auto nodes = static_cast<std::size_t>(rows_.nodes());
  const std::span<const DifferenceRows::Arc> facts = rows_.facts();
  std::vector<Cycle> distance(nodes, 0);
  std::vector<int> by(nodes, -1);
  int last = 0;
  for (std::size_t round = 0; round <= nodes && last >= 0; ++round) {
    last = -1;
    for (std::size_t f = 0; f < facts.size(); ++f) {
      const Cycle weight = distance[static_cast<std::size_t>(facts[f].from)] + facts[f].weight;
      const auto to = static_cast<std::size_t>(facts[f].to);
      if (weight <= distance[to]) continue;
      distance[to] = weight;
      by[to] = static_cast<int>(f);
      last = facts[f].to;
    }
  }
  if (last < 0) return std::nullopt;
  const auto fact_to = [&](int node) { return by[static_cast<std::size_t>(node)]; };
  const auto before = [&](int node) { return facts[static_cast<std::size_t>(fact_to(node))].from; };
  for (std::size_t i = 0; i < nodes; ++i) last = before(last);
  std::string text;
  int node = last;
  do {
    text.insert(0, " f" + std::to_string(fact_to(node)));
    node = before(node);
  } while (node != last);
  return text.substr(1);
}

// Are the arcs of all steps, in this order, and facts between them a positive cycle?
bool CycleFinder::take(std::span<const int> lemma, std::span<const LemmaStep> steps) {
  arcs_.resize(steps.size());
  Cycle weight = 0;
  const auto join = [&](int here, int next) {
    if (here == next) return true;
    const Path& between = paths_from(here)[static_cast<std::size_t>(next)];
    weight += between.weight;
    return between.reached;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto arc = arc_of(lemma, steps[i]);
    if (!arc || (i > 0 && !join(arcs_[i - 1].to, arc->from))) return false;
    arcs_[i] = *arc;
    weight += arc->weight;
  }
  return !steps.empty() && join(arcs_.back().to, arcs_.front().from) && weight > 0;
}

// The steps taken, with the facts between them.
void CycleFinder::write_taken(std::span<const LemmaStep> steps, TextWriter& text) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) text.put(' ');
    const auto [literal, sum] = steps[i];
    text.number(literal == 0  ? 's'
                : literal < 0 ? 'a'
                              : 'n',
                literal == 0  ? sum
                : literal < 0 ? -literal
                              : literal);
    const int here = arcs_[i].to, next = arcs_[i + 1 < arcs_.size() ? i + 1 : 0].from;
    if (here != next) write_path(here, next, text);
  }
}

namespace {

// Is the lemma what its steps assert, denied, in their order?
bool denied_in_order(std::span<const int> lemma, std::span<const LemmaStep> steps) {
  return std::equal(lemma.begin(), lemma.end(), steps.begin(), steps.end(),
                    [](int literal, const LemmaStep& step) { return literal == step.literal; });
}

}  // namespace

bool CycleFinder::write(std::span<const int> lemma, std::span<const LemmaStep> steps,
                        TextWriter& text) {
  const bool taken = !contradiction_ && take(lemma, steps);
  const auto found = taken ? std::nullopt : cycle(lemma);
  if (!taken && !found) return false;
  if (!taken || !denied_in_order(lemma, steps)) {
    text.numbers(lemma);
    text.put("0 ");
  }
  if (taken)
    write_taken(steps, text);
  else
    text.put(*found);
  return true;
}

std::optional<std::string> CycleFinder::cycle(std::span<const int> lemma) {
  if (contradiction_ || lemma.empty()) return contradiction_;
  std::vector<Step> steps;
  const auto add = [&](const LemmaStep& what) {
    if (const auto arc = arc_of(lemma, what)) steps.push_back({*arc, what, 0, 0});
  };
  for (const int l : lemma) add({l, -1});
  for (const std::size_t s : rows_.sums_within(lemma)) add({0, static_cast<int>(s)});
  const std::vector<LemmaStep> found = find_cycle(steps);
  if (!take(lemma, found)) return std::nullopt;
  return all_text([&](TextWriter& text) { write_taken(found, text); });
}

// Longest paths over the steps, joined by paths of facts. The predecessors form a cycle once one is
// positive, and then it is (Cherkassky and Goldberg 1999). No steps = there is none.
std::vector<LemmaStep> CycleFinder::find_cycle(std::vector<Step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].distance = 0;
    steps[i].before = i;
  }
  struct Join {
    std::size_t from, to;
    Cycle weight;
  };
  std::vector<Join> joins;
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (std::size_t j = 0; j < steps.size(); ++j)
      if (const Path& between =
              paths_from(steps[i].arc.to)[static_cast<std::size_t>(steps[j].arc.from)];
          between.reached)
        joins.push_back({i, j, steps[i].arc.weight + between.weight});
  std::vector<std::size_t> seen(steps.size());
  std::optional<std::size_t> improved;
  for (;;) {
    bool any = false;
    for (const Join& join : joins) {
      const Cycle weight = steps[join.from].distance + join.weight;
      Step& to = steps[join.to];
      if (weight <= to.distance) continue;
      to.distance = weight;
      to.before = join.from;
      any = true;
    }
    if (!any) return {};
    // A step without a distance has no predecessor yet: it is its own.
    std::fill(seen.begin(), seen.end(), steps.size());
    for (std::size_t start = 0; start < steps.size() && !improved; ++start) {
      std::size_t at = start;
      while (seen[at] == steps.size() && steps[at].distance > 0) {
        seen[at] = start;
        at = steps[at].before;
      }
      if (seen[at] == start && steps[at].distance > 0) improved = at;
    }
    if (improved) break;
  }
  std::vector<LemmaStep> order;
  for (std::size_t at = *improved; order.empty() || at != *improved; at = steps[at].before)
    order.push_back(steps[at].what);
  std::reverse(order.begin(), order.end());
  return order;
}

std::string cycle_fault(const DifferenceRows& rows, std::span<const int> lemma,
                        std::string_view cycle) {
  Cycle sum = 0;
  int first = -1, here = -1;
  while (!cycle.empty()) {
    const std::size_t space = cycle.find(' ');
    const std::string_view token = cycle.substr(0, space);
    cycle = space == std::string_view::npos ? std::string_view() : cycle.substr(space + 1);
    int number = 0;
    const auto [end, error] =
        token.size() < 2 ? std::from_chars_result{token.data(), std::errc::invalid_argument}
                         : std::from_chars(token.data() + 1, token.data() + token.size(), number);
    if (error != std::errc{} || end != token.data() + token.size() || number < 0)
      return "a step is no f, a, n or s with a number";
    std::optional<DifferenceRows::Arc> arc;
    if (token[0] == 'f') {
      arc = rows.fact(static_cast<std::size_t>(number));
    } else if (token[0] == 's') {
      arc = rows.sum(static_cast<std::size_t>(number), lemma);
    } else if (token[0] == 'a' || token[0] == 'n') {
      const int literal = token[0] == 'a' ? number : -number;
      if (std::find(lemma.begin(), lemma.end(), -literal) != lemma.end())
        arc = rows.asserted(literal);
    }
    if (!arc) return "a step is neither a fact nor asserted by the lemma's negation";
    if (here >= 0 && arc->from != here) return "a step does not begin where the last one ended";
    if (first < 0) first = arc->from;
    here = arc->to;
    if (__builtin_add_overflow(sum, arc->weight, &sum)) return "the sum is out of range";
  }
  if (first < 0 || here != first) return "the steps do not close a cycle";
  return sum > 0 ? "" : "the weights sum to " + std::to_string(sum) + ", not more than 0";
}

}  // namespace twill
