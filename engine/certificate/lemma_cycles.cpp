#include "engine/certificate/lemma_cycles.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace twill {

DifferenceRows::DifferenceRows(int nodes, std::span<const Difference> facts,
                               std::span<const DifferenceAtom> atoms,
                               std::span<const DifferenceSum> sums, Cycle ii, Cycle deadline)
    : nodes_(nodes) {
  const auto arc = [&](const Difference& d) { return Arc{d.from, d.to, d.at(ii, deadline)}; };
  for (const Difference& d : facts) facts_.push_back(arc(d));
  for (const DifferenceAtom& a : atoms) {
    const auto v = static_cast<std::size_t>(a.variable);
    if (atoms_.size() <= v) atoms_.resize(v + 1);
    atoms_[v] = arc(a.difference);
  }
  for (const DifferenceSum& s : sums) {
    for (const DifferenceSum::Term& term : s.terms) {
      const auto v = static_cast<std::size_t>(term.variable);
      if (sums_of_.size() <= v) sums_of_.resize(v + 1);
      sums_of_[v].push_back(sums_.size());
    }
    sums_.push_back({arc(s.difference), s.terms});
  }
}

std::optional<DifferenceRows::Arc> DifferenceRows::fact(std::size_t index) const {
  if (index >= facts_.size()) return std::nullopt;
  return facts_[index];
}

std::optional<DifferenceRows::Arc> DifferenceRows::asserted(int literal) const {
  const auto v = static_cast<std::size_t>(literal < 0 ? -literal : literal);
  if (v >= atoms_.size() || !atoms_[v]) return std::nullopt;
  const Arc& a = *atoms_[v];
  return literal > 0 ? a : Arc{a.to, a.from, 1 - a.weight};
}

std::optional<DifferenceRows::Arc> DifferenceRows::sum(std::size_t index,
                                                       std::span<const int> lemma) const {
  if (index >= sums_.size()) return std::nullopt;
  Arc arc = sums_[index].arc;
  for (const DifferenceSum::Term& term : sums_[index].terms)
    if (std::find(lemma.begin(), lemma.end(), -term.variable) != lemma.end())
      arc.weight += term.amount;
  return arc;
}

std::vector<std::size_t> DifferenceRows::sums_within(std::span<const int> lemma) const {
  std::vector<std::size_t> found = uses_of_sums(lemma);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<std::size_t> DifferenceRows::sum_with_most(std::span<const int> lemma) const {
  const std::vector<std::size_t> uses = uses_of_sums(lemma);
  std::optional<std::size_t> most;
  std::ptrdiff_t count = 1;
  for (auto it = uses.begin(); it != uses.end();) {
    const auto end = std::upper_bound(it, uses.end(), *it);
    if (end - it > count) {
      count = end - it;
      most = *it;
    }
    it = end;
  }
  return most;
}

bool DifferenceRows::in_sum(int variable, std::size_t index) const {
  const auto v = static_cast<std::size_t>(variable);
  return v < sums_of_.size() &&
         std::find(sums_of_[v].begin(), sums_of_[v].end(), index) != sums_of_[v].end();
}

// A sum for each of its variables in the lemma, in rising order.
std::vector<std::size_t> DifferenceRows::uses_of_sums(std::span<const int> lemma) const {
  std::vector<std::size_t> found;
  for (const int l : lemma)
    if (l < 0 && static_cast<std::size_t>(-l) < sums_of_.size()) {
      const auto& sums = sums_of_[static_cast<std::size_t>(-l)];
      found.insert(found.end(), sums.begin(), sums.end());
    }
  std::sort(found.begin(), found.end());
  return found;
}

namespace {

// The constraint that holds where the literal of a lemma does not.
std::string step_name(int literal) {
  return (literal < 0 ? "a" : "n") + std::to_string(literal < 0 ? -literal : literal);
}

std::string sum_name(std::size_t index) {
  return "s" + std::to_string(index);
}

}  // namespace

CycleFinder::CycleFinder(const DifferenceRows& rows)
    : rows_(rows),
      contradiction_(cycle_of_facts()),
      paths_(static_cast<std::size_t>(rows.nodes()) * static_cast<std::size_t>(rows.nodes())) {
  if (contradiction_) return;  // nothing is a longest path
  for (int v = 0; v < rows.nodes(); ++v) entry(v, v).reached = true;
  for (std::size_t f = 0; f < rows.facts(); ++f) {
    const DifferenceRows::Arc arc = *rows.fact(f);
    Entry& e = entry(arc.from, arc.to);
    if (!e.reached || arc.weight > e.weight) e = {arc.weight, static_cast<int>(f), true};
  }
  for (int via = 0; via < rows.nodes(); ++via)
    for (int from = 0; from < rows.nodes(); ++from) {
      const Entry head = entry(from, via);
      if (!head.reached || from == via) continue;
      for (int to = 0; to < rows.nodes(); ++to) {
        const Entry& tail = entry(via, to);
        if (!tail.reached) continue;
        Entry& e = entry(from, to);
        const Cycle weight = head.weight + tail.weight;
        if (!e.reached || weight > e.weight) e = {weight, head.first, true};
      }
    }
}

void CycleFinder::append_path(int from, int to, std::string& text) const {
  while (from != to) {
    const int f = entry(from, to).first;
    text += " f" + std::to_string(f);
    from = rows_.fact(static_cast<std::size_t>(f))->to;
  }
}

// Facts that contradict each other: plain Bellman-Ford, since this ends the search.
std::optional<std::string> CycleFinder::cycle_of_facts() const {
  const auto nodes = static_cast<std::size_t>(rows_.nodes());
  std::vector<Cycle> distance(nodes, 0);
  std::vector<int> by(nodes, -1);
  int last = -1;
  for (std::size_t round = 0; round <= nodes; ++round) {
    last = -1;
    for (std::size_t f = 0; f < rows_.facts(); ++f) {
      const DifferenceRows::Arc arc = *rows_.fact(f);
      const Cycle weight = distance[static_cast<std::size_t>(arc.from)] + arc.weight;
      if (weight <= distance[static_cast<std::size_t>(arc.to)]) continue;
      distance[static_cast<std::size_t>(arc.to)] = weight;
      by[static_cast<std::size_t>(arc.to)] = static_cast<int>(f);
      last = arc.to;
    }
  }
  if (last < 0) return std::nullopt;
  const auto before = [&](int node) {
    return rows_.fact(static_cast<std::size_t>(by[static_cast<std::size_t>(node)]))->from;
  };
  for (std::size_t i = 0; i < nodes; ++i) last = before(last);
  std::string text;
  int node = last;
  do {
    text.insert(0, " f" + std::to_string(by[static_cast<std::size_t>(node)]));
    node = before(node);
  } while (node != last);
  return text.substr(1);
}

// All steps, in this order.
std::optional<std::string> CycleFinder::cycle_in_order(std::span<const Step> steps) const {
  const auto next = [&](std::size_t i) { return steps[(i + 1) % steps.size()].arc.from; };
  Cycle weight = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Entry& between = entry(steps[i].arc.to, next(i));
    if (!between.reached) return std::nullopt;
    weight += steps[i].arc.weight + between.weight;
  }
  if (weight <= 0) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    text += (i > 0 ? " " : "") + steps[i].name;
    append_path(steps[i].arc.to, next(i), text);
  }
  return text;
}

// Lemmas have their literals in the order of the cycle that they were learned from, and those of a
// sum together: the sum that has most of them is the likely one.
std::optional<std::string> CycleFinder::cycle_as_learned(std::span<const int> lemma) const {
  std::vector<int> literals(lemma.begin(), lemma.end());  // 0 = a sum's step
  std::vector<Step> steps;
  for (const int l : lemma) {
    const auto arc = rows_.asserted(-l);
    steps.push_back(arc ? Step{*arc, step_name(l), 0, 0} : Step{});
  }
  for (;;) {
    const bool whole =
        std::none_of(steps.begin(), steps.end(), [](const Step& s) { return s.name.empty(); });
    if (whole)
      if (auto found = cycle_in_order(steps)) return found;
    const std::optional<std::size_t> sum = rows_.sum_with_most(literals);
    if (!sum) return std::nullopt;
    std::size_t kept = 0;
    bool placed = false;  // where its first literal was
    for (std::size_t i = 0; i < literals.size(); ++i) {
      const bool within = literals[i] < 0 && rows_.in_sum(-literals[i], *sum);
      if (within && placed) continue;
      literals[kept] = within ? 0 : literals[i];
      steps[kept] = within ? Step{*rows_.sum(*sum, lemma), sum_name(*sum), 0, 0} : steps[i];
      placed = placed || within;
      ++kept;
    }
    literals.resize(kept);
    steps.resize(kept);
  }
}

std::optional<std::string> CycleFinder::cycle(std::span<const int> lemma) const {
  if (contradiction_ || lemma.empty()) return contradiction_;
  if (auto found = cycle_as_learned(lemma)) return found;
  std::vector<Step> steps;
  for (const int l : lemma)
    if (const auto arc = rows_.asserted(-l)) steps.push_back({*arc, step_name(l), 0, 0});
  for (const std::size_t s : rows_.sums_within(lemma))
    steps.push_back({*rows_.sum(s, lemma), sum_name(s), 0, 0});
  return cycle_of(steps);
}

// Longest paths over the steps, joined by paths of facts. The predecessors form a cycle once one is
// positive, and then it is (Cherkassky and Goldberg 1999).
std::optional<std::string> CycleFinder::cycle_of(std::vector<Step>& steps) const {
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
      if (const Entry& between = entry(steps[i].arc.to, steps[j].arc.from); between.reached)
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
    if (!any) return std::nullopt;
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
  std::vector<std::size_t> order;
  for (std::size_t at = *improved; order.empty() || at != *improved; at = steps[at].before)
    order.push_back(at);
  std::reverse(order.begin(), order.end());
  std::string text;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Step& step = steps[order[k]];
    const Step& next = steps[order[(k + 1) % order.size()]];
    text += " " + step.name;
    append_path(step.arc.to, next.arc.from, text);
  }
  return text.substr(1);
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
