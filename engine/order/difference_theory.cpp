#include "engine/order/difference_theory.hpp"

#include <algorithm>

namespace twill {
namespace {

constexpr Cycle kNoPath = -4'000'000'000'000'000'000;  // less than any sum of weights
constexpr bool reachable(Cycle distance) {
  return distance > kNoPath / 2;
}

}  // namespace

DifferenceTheory::DifferenceTheory(int nodes, const std::vector<signed char>& values)
    : nodes_(static_cast<std::size_t>(nodes)),
      values_(values),
      distance_(nodes_ * nodes_, kNoPath),
      newest_(nodes_ * nodes_, -1),
      atoms_of_(2 * nodes_ * nodes_ + 1, 0) {}

void DifferenceTheory::add_atom(const DifferenceAtom& atom) {
  const auto variable = static_cast<std::size_t>(atom.variable);
  if (atom_of_.size() <= variable) atom_of_.resize(variable + 1, -1);
  atom_of_[variable] = static_cast<int>(atoms_.size());
  atoms_.push_back(atom);
}

bool DifferenceTheory::reset(Cycle ii, Cycle deadline, std::vector<int>& decided) {
  changes_.clear();
  asserted_.clear();
  records_.clear();
  sums_.reset(ii, deadline);
  std::fill(distance_.begin(), distance_.end(), kNoPath);
  std::fill(newest_.begin(), newest_.end(), -1);
  const int n = static_cast<int>(nodes_);
  for (int v = 0; v < n; ++v) distance_[index(v, v)] = 0;
  std::vector<Decided> none;
  arcs_.clear();
  std::fill(atoms_of_.begin(), atoms_of_.end(), 0);
  for (const Difference& fact : facts_)
    if (!insert({fact.from, fact.to, fact.at(ii, deadline), 0}, none)) return false;
  // What the facts imply needs no explanation: it is the ground on which all else is built.
  changes_.clear();
  asserted_.clear();
  std::fill(newest_.begin(), newest_.end(), -1);
  std::vector<std::pair<std::size_t, Watched>> watched;  // by part of an entry
  for (const DifferenceAtom& atom : atoms_) {
    const Difference& d = atom.difference;
    arcs_.push_back({d.from, d.to, d.at(ii, deadline), atom.variable});
    const Arc& arc = arcs_.back();
    const Cycle back = distance_[index(d.to, d.from)];
    if (reachable(back) && back + arc.weight > 0) {
      decided.push_back(-atom.variable);
      continue;
    }
    watched.push_back({2 * index(d.to, d.from), {arc.weight, atom.variable}});
    if (d.turns != 0 || d.deadlines != 0) continue;
    if (distance_[index(d.from, d.to)] >= arc.weight)
      decided.push_back(atom.variable);
    else
      watched.push_back({2 * index(d.from, d.to) + 1, {arc.weight, atom.variable}});
  }
  watch_atoms(std::move(watched));
  return true;
}

void DifferenceTheory::watch_atoms(std::vector<std::pair<std::size_t, Watched>> atoms) {
  std::stable_sort(atoms.begin(), atoms.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return a.first % 2 == 0 ? a.second.weight > b.second.weight : a.second.weight < b.second.weight;
  });
  watched_.clear();
  for (const auto& [part, atom] : atoms) {
    ++atoms_of_[part + 1];
    watched_.push_back(atom);
  }
  for (std::size_t part = 1; part < atoms_of_.size(); ++part)
    atoms_of_[part] += atoms_of_[part - 1];
}

bool DifferenceTheory::assert_atom(int variable, std::vector<Decided>& decided) {
  const auto v = static_cast<std::size_t>(variable);
  if (v < atom_of_.size() && atom_of_[v] >= 0 &&
      !insert(arcs_[static_cast<std::size_t>(atom_of_[v])], decided))
    return false;
  std::size_t entry = sums_.entries();
  sums_.assert_variable(variable);
  for (; entry < sums_.entries(); ++entry) {
    const DifferenceSums::Arc arc = sums_.arc(entry);
    if (!insert({arc.from, arc.to, arc.weight, -1 - static_cast<int>(entry)}, decided))
      return false;
  }
  return true;
}

bool DifferenceTheory::insert(const Arc& arc, std::vector<Decided>& decided) {
  if (distance_[index(arc.from, arc.to)] >= arc.weight) return true;
  const int time = static_cast<int>(asserted_.size());
  const Cycle back = distance_[index(arc.to, arc.from)];
  if (reachable(back) && back + arc.weight > 0) {
    conflict_.clear();
    Cycle slack = back + arc.weight - 1;
    explain_arc(arc, slack, conflict_);
    explain_path(arc.to, arc.from, time, slack, conflict_);
    return false;
  }
  asserted_.push_back(arc);
  const int n = static_cast<int>(nodes_);
  targets_.clear();
  const Cycle* const from_head = &distance_[index(arc.to, 0)];
  const Cycle* const from_tail = &distance_[index(arc.from, 0)];
  for (int y = 0; y < n; ++y)
    if (reachable(from_head[y]) && arc.weight + from_head[y] > from_tail[y]) targets_.push_back(y);
  for (int x = 0; x < n; ++x) {
    const Cycle to_tail = distance_[index(x, arc.from)];
    if (!reachable(to_tail)) continue;
    const Cycle through = to_tail + arc.weight;
    if (through <= distance_[index(x, arc.to)]) continue;
    for (const int y : targets_) {
      const std::size_t entry = index(x, y);
      const Cycle path = through + from_head[y];
      if (path <= distance_[entry]) continue;
      changes_.push_back({entry, distance_[entry], newest_[entry], time});
      newest_[entry] = static_cast<int>(changes_.size()) - 1;
      distance_[entry] = path;
      if (atoms_of_[2 * entry] != atoms_of_[2 * entry + 2])
        decide(entry, changes_.back().distance, {x, y, time + 1, 0}, decided);
    }
  }
  return true;
}

// The entry grew from `before`: what follows for the atoms along it and against it. Those that the
// old value decided have been reported then.
void DifferenceTheory::decide(std::size_t entry, Cycle before, const Record& record,
                              std::vector<Decided>& decided) {
  const Cycle now = distance_[entry];
  const auto report = [&](int variable, int sign, Cycle slack) {
    if (values_[static_cast<std::size_t>(variable)] != 0) return;
    decided.push_back({sign * variable, static_cast<int>(records_.size())});
    records_.push_back(record);
    records_.back().slack = slack;
  };
  const Watched* const against = watched_.data() + atoms_of_[2 * entry];
  const Watched* const implied = watched_.data() + atoms_of_[2 * entry + 1];
  const Watched* const end = watched_.data() + atoms_of_[2 * entry + 2];
  const Watched* atom = std::partition_point(
      against, implied, [&](const Watched& a) { return a.weight + before > 0; });
  for (; atom != implied && atom->weight + now > 0; ++atom)
    report(atom->variable, -1, atom->weight + now - 1);
  atom = std::partition_point(implied, end, [&](const Watched& a) { return a.weight <= before; });
  for (; atom != end && atom->weight <= now; ++atom) report(atom->variable, 1, now - atom->weight);
}

void DifferenceTheory::explain_arc(const Arc& arc, Cycle& slack,
                                   std::vector<int>& variables) const {
  if (arc.variable < 0)
    sums_.explain(static_cast<std::size_t>(-1 - arc.variable), slack, variables);
  else if (std::find(variables.begin(), variables.end(), arc.variable) == variables.end())
    variables.push_back(arc.variable);
}

void DifferenceTheory::explain_path(int from, int to, int before, Cycle& slack,
                                    std::vector<int>& variables) const {
  int newest = newest_[index(from, to)];
  while (newest >= 0 && changes_[static_cast<std::size_t>(newest)].time >= before)
    newest = changes_[static_cast<std::size_t>(newest)].newest;
  if (newest < 0) return;  // a path of facts
  const int time = changes_[static_cast<std::size_t>(newest)].time;
  const Arc& arc = asserted_[static_cast<std::size_t>(time)];
  explain_path(from, arc.from, time, slack, variables);
  explain_arc(arc, slack, variables);
  explain_path(arc.to, to, time, slack, variables);
}

void DifferenceTheory::explain(int record, std::vector<int>& variables) const {
  const Record& r = records_[static_cast<std::size_t>(record)];
  Cycle slack = r.slack;
  explain_path(r.from, r.to, r.time, slack, variables);
}

void DifferenceTheory::undo(const Mark& mark) {
  while (changes_.size() > mark.changes) {
    const Change& change = changes_.back();
    distance_[change.entry] = change.distance;
    newest_[change.entry] = change.newest;
    changes_.pop_back();
  }
  sums_.undo(mark.sums);
  asserted_.resize(mark.asserted);
  records_.resize(mark.records);
}

}  // namespace twill
