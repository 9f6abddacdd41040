#include "engine/order/difference_theory.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <limits>
#include <new>
#include <numeric>
#include <type_traits>

#include "graph/log.hpp"

namespace twill {
namespace {

constexpr Cycle kNever = 4'000'000'000'000'000'000;  // more than any
constexpr std::size_t kPoll = 1 << 22;               // pairs between two looks at the budget
constexpr std::size_t kRoom = 1 << 16;               // for changes, at first: not touched yet

}  // namespace

DifferenceTheory::Changes::~Changes() {
  std::free(was);
  std::free(entry);
}

// Beyond the first room addresses for all there can be are taken at once: memory comes to them as
// it is touched. A list that moves as it grows would leave holes of its size behind.
void DifferenceTheory::Changes::grow(std::size_t room, std::size_t most) {
  assert(room_ <= room && room <= most);
  if (room <= reserved_) {
    room_ = room;
    return;
  }
  const std::size_t reserve = room <= kRoom ? std::min(kRoom, most) : most;
  const auto resize = [&](auto*& place) {
    void* const more = std::realloc(place, reserve * sizeof *place);
    if (more == nullptr) throw std::bad_alloc();
    place = static_cast<std::remove_reference_t<decltype(place)>>(more);
  };
  resize(was);
  resize(entry);
  room_ = room;
  reserved_ = reserve;
}

DifferenceTheory::DifferenceTheory(int nodes, const std::vector<signed char>& values,
                                   Budget* budget, std::size_t log)
    : nodes_(static_cast<std::size_t>(nodes)), values_(values), budget_(budget) {
  log_ = log == 0 ? log_for(nodes_) : std::max(log, 4 * pairs());
  ask_for(pairs() * (sizeof(Entry) + 2 * sizeof(int)));
  matrix_.resize(pairs());
  atoms_of_.assign(2 * pairs() + 1, 0);
}

void DifferenceTheory::ask_for(std::size_t bytes) {
  if (budget_ != nullptr && !budget_->room_for(static_cast<std::int64_t>(bytes)))
    throw Budget::Spent{};
}

void DifferenceTheory::add_atom(const DifferenceAtom& atom) {
  assert(atom.variable > 0);
  const auto variable = static_cast<std::size_t>(atom.variable);
  if (atom_of_.size() <= variable) atom_of_.resize(variable + 1, -1);
  atom_of_[variable] = static_cast<int>(atoms_.size());
  atoms_.push_back(atom);
}

bool DifferenceTheory::reset(Cycle ii, Cycle deadline, std::vector<int>& decided) {
  changes_made_ = dropped_ = 0;
  snapshots_.clear();
  repeating_ = false;
  triggered_.clear();
  asserted_.clear();
  begins_.clear();
  records_.clear();
  sums_.reset(ii, deadline);
  sums_asserted_ = 0;
  std::fill(matrix_.begin(), matrix_.end(), Entry{kNoPath, kNever, -1, -1});
  const int n = static_cast<int>(nodes_);
  for (int v = 0; v < n; ++v) matrix_[index(v, v)].distance = 0;
  std::vector<Decided> none;
  arcs_.clear();
  for (const Difference& fact : facts_) {
    if (!insert({fact.from, fact.to, fact.at(ii, deadline), 0}, none)) return false;
    // What facts imply needs no explanation: it is the ground on which all else is built.
    for (std::size_t i = 0; i < changes_made_; ++i) {
      Entry& entry = matrix_[changes_.entry[i]];
      entry.time = entry.before = -1;
    }
    assert(dropped_ == 0);  // one arc changes each pair once
    changes_made_ = 0;
    asserted_.clear();
    begins_.clear();
  }
  std::vector<std::pair<std::size_t, Watched>> watched;  // by part of an entry
  arcs_.reserve(atoms_.size());
  watched.reserve(2 * atoms_.size());
  for (const DifferenceAtom& atom : atoms_) {
    const Difference& d = atom.difference;
    arcs_.push_back({d.from, d.to, d.at(ii, deadline), atom.variable});
    const Arc& arc = arcs_.back();
    const Cycle back = matrix_[index(d.to, d.from)].distance;
    if (reachable(back) && back + arc.weight > 0) {
      decided.push_back(-atom.variable);
      continue;
    }
    watched.push_back({2 * index(d.to, d.from), {arc.weight, atom.variable}});
    if (d.turns != 0 || d.deadlines != 0) continue;
    if (matrix_[index(d.from, d.to)].distance >= arc.weight)
      decided.push_back(atom.variable);
    else
      watched.push_back({2 * index(d.from, d.to) + 1, {arc.weight, atom.variable}});
  }
  watch_atoms(watched);
  assert(!seldom_.now() || is_closed());
  return true;
}

void DifferenceTheory::watch_atoms(const std::vector<std::pair<std::size_t, Watched>>& atoms) {
  // Counted by part, put at the part's end, which moves to its begin, and sorted there: most parts
  // are short.
  std::fill(atoms_of_.begin(), atoms_of_.end(), 0);
  for (const auto& [part, atom] : atoms) ++atoms_of_[part];
  std::partial_sum(atoms_of_.begin(), atoms_of_.end(), atoms_of_.begin());
  watched_.resize(atoms.size());
  for (const auto& [part, atom] : atoms)
    watched_[static_cast<std::size_t>(--atoms_of_[part])] = atom;
  for (std::size_t part = 0; part + 1 < atoms_of_.size(); ++part) {
    Watched* const begin = watched_.data() + atoms_of_[part];
    Watched* const end = watched_.data() + atoms_of_[part + 1];
    if (end - begin < 2) continue;
    const bool against = part % 2 == 0;
    std::sort(begin, end, [&](const Watched& x, const Watched& y) {
      if (x.weight != y.weight) return against == (x.weight > y.weight);
      return x.variable < y.variable;
    });
  }
  for (std::size_t entry = 0; entry < matrix_.size(); ++entry)
    matrix_[entry].trigger = trigger(undecided(entry, matrix_[entry].distance));
}

bool DifferenceTheory::assert_atom(int variable, std::vector<Decided>& decided) {
  const auto v = static_cast<std::size_t>(variable);
  if (v < atom_of_.size() && atom_of_[v] >= 0 &&
      !insert(arcs_[static_cast<std::size_t>(atom_of_[v])], decided))
    return false;
  sums_.assert_variable(variable);
  return true;
}

bool DifferenceTheory::assert_sums(std::vector<Decided>& decided) {
  const std::size_t before = decided.size();
  while (sums_asserted_ < sums_.entries() && decided.size() == before) {
    const std::size_t entry = sums_asserted_++;
    if (!sums_.newest(entry)) continue;  // a heavier one follows
    const DifferenceSums::Arc arc = sums_.arc(entry);
    if (!insert({arc.from, arc.to, arc.weight, -1 - static_cast<int>(entry)}, decided))
      return false;
  }
  return true;
}

bool DifferenceTheory::insert(const Arc& arc, std::vector<Decided>& decided) {
  if (matrix_[index(arc.from, arc.to)].distance >= arc.weight) return true;
  const int time = static_cast<int>(asserted_.size());
  const Cycle back = matrix_[index(arc.to, arc.from)].distance;
  if (reachable(back) && back + arc.weight > 0) {
    conflict_.clear();
    Cycle slack = back + arc.weight - 1;
    explain_arc(arc, slack, conflict_);
    explain_path(arc.to, arc.from, time, slack, conflict_);
    assert(slack >= 0);
    return false;
  }
  if (looked_ += pairs(); looked_ > kPoll) {
    looked_ = 0;
    if (budget_ != nullptr && budget_->spent()) throw Budget::Spent{};
  }
  asserted_.push_back(arc);
  begins_.push_back(changes_made_);
  const int n = static_cast<int>(nodes_);
  targets_.clear();
  const Entry* const from_head = &matrix_[index(arc.to, 0)];
  const Entry* const from_tail = &matrix_[index(arc.from, 0)];
  for (int y = 0; y < n; ++y)
    if (reachable(from_head[y].distance) &&
        arc.weight + from_head[y].distance > from_tail[y].distance)
      targets_.push_back({y, from_head[y].distance});
  for (int x = 0; x < n; ++x) {
    Entry* const row = &matrix_[index(x, 0)];
    const Cycle to_tail = row[arc.from].distance;
    if (!reachable(to_tail)) continue;
    const Cycle through = to_tail + arc.weight;
    if (through <= row[arc.to].distance) continue;
    if (logged() + targets_.size() > changes_.room()) make_room(targets_.size());
    // Most of the time is spent here.
    std::size_t change = logged();
    const std::size_t dropped = dropped_;
    for (const Target& y : targets_) {
      Entry& entry = row[y.node];
      const Cycle path = through + y.distance;
      if (path <= entry.distance) continue;
      changes_.was[change] = {entry.distance, entry.time, entry.before};
      changes_.entry[change] = static_cast<std::uint32_t>(&entry - matrix_.data());
      entry.distance = path;
      entry.time = time;
      entry.before = static_cast<int>(dropped + change++);
      if (path >= entry.trigger) decide(x, y.node, decided);
    }
    changes_made_ = dropped + change;
  }
  assert(matrix_[index(arc.from, arc.to)].distance == arc.weight);
  assert(!seldom_.now() || is_closed());
  return true;
}

// Asked for before it is taken, as far as it is more; changes are named by an int.
void DifferenceTheory::make_room(std::size_t more) {
  if (changes_made_ + more > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw std::bad_alloc();
  if (logged() + more > log_) cut_log();
  const std::size_t need = logged() + more;
  assert(need <= log_);
  if (need <= changes_.room()) return;
  const std::size_t room = std::min(std::max(need + need / 2, kRoom), log_);
  ask_for((room - changes_.room()) * Changes::kBytes);
  changes_.grow(room, log_);
  TWILL_LOG("difference logic: room for ", room, " changes of ", pairs(), " pairs");
}

// The entry grew, to its trigger or beyond: what follows for the atoms along it and against it.
// Those that the old value decided have been reported then.
void DifferenceTheory::decide(int from, int to, std::vector<Decided>& decided) {
  const std::size_t at = index(from, to);
  Entry& entry = matrix_[at];
  const Cycle now = entry.distance;
  const auto report = [&](int variable, int sign, Cycle slack) {
    if (repeating_ || values_[static_cast<std::size_t>(variable)] != 0) return;
    decided.push_back({sign * variable, static_cast<int>(records_.size())});
    records_.push_back({from, to, entry.time + 1, slack});
  };
  Undecided open = undecided(at, was(entry.before).distance);
  for (; open.against != open.against_end && open.against->weight + now > 0; ++open.against)
    report(open.against->variable, -1, open.against->weight + now - 1);
  for (; open.implied != open.implied_end && open.implied->weight <= now; ++open.implied)
    report(open.implied->variable, 1, now - open.implied->weight);
  triggered_.push_back({static_cast<std::size_t>(entry.before), entry.trigger});
  entry.trigger = trigger(open);
}

DifferenceTheory::Undecided DifferenceTheory::undecided(std::size_t entry, Cycle distance) const {
  const Watched* const against = watched_.data() + atoms_of_[2 * entry];
  const Watched* const implied = watched_.data() + atoms_of_[2 * entry + 1];
  const Watched* const end = watched_.data() + atoms_of_[2 * entry + 2];
  return {
      std::partition_point(against, implied,
                           [&](const Watched& a) { return a.weight + distance > 0; }),
      implied,
      std::partition_point(implied, end, [&](const Watched& a) { return a.weight <= distance; }),
      end};
}

Cycle DifferenceTheory::trigger(const Undecided& open) {
  return std::min(open.against == open.against_end ? kNever : 1 - open.against->weight,
                  open.implied == open.implied_end ? kNever : open.implied->weight);
}

void DifferenceTheory::explain_arc(const Arc& arc, Cycle& slack,
                                   std::vector<int>& variables) const {
  if (arc.variable < 0) {
    const auto entry = static_cast<std::size_t>(-1 - arc.variable);
    if (steps_ != nullptr) steps_->add_sum(sums_.sum(entry));
    sums_.explain(entry, slack, variables);
    return;
  }
  if (steps_ != nullptr) steps_->add_literal(-arc.variable);
  if (std::find(variables.begin(), variables.end(), arc.variable) == variables.end())
    variables.push_back(arc.variable);
}

void DifferenceTheory::explain_path(int from, int to, int before, Cycle& slack,
                                    std::vector<int>& variables) const {
  const Entry& entry = matrix_[index(from, to)];
  int time = entry.time;
  for (int change = entry.before; time >= before;) {
    if (static_cast<std::size_t>(change) < dropped_)
      return search_path(from, to, before, slack, variables);
    const Was& one = was(change);
    time = one.time;
    change = one.before;
  }
  if (time < 0) return;  // a path of facts
  assert(static_cast<std::size_t>(time) < asserted_.size());
  const Arc& arc = asserted_[static_cast<std::size_t>(time)];
  explain_path(from, arc.from, time, slack, variables);
  explain_arc(arc, slack, variables);
  explain_path(arc.to, to, time, slack, variables);
}

void DifferenceTheory::explain(int record, std::vector<int>& variables) const {
  assert(record >= 0 && static_cast<std::size_t>(record) < records_.size());
  const Record& r = records_[static_cast<std::size_t>(record)];
  Cycle slack = r.slack;
  explain_path(r.from, r.to, r.time, slack, variables);
  assert(slack >= 0);
}

// Is every entry the longest path there is, over what has been asserted too, and no cycle positive?
bool DifferenceTheory::is_closed() const {
  for (std::size_t x = 0; x < nodes_; ++x) {
    const Entry* const row = matrix_.data() + x * nodes_;
    if (row[x].distance != 0) return false;
    for (std::size_t y = 0; y < nodes_; ++y) {
      if (!reachable(row[y].distance)) continue;
      const Entry* const on = matrix_.data() + y * nodes_;
      for (std::size_t z = 0; z < nodes_; ++z)
        if (reachable(on[z].distance) && row[y].distance + on[z].distance > row[z].distance)
          return false;
    }
  }
  const auto count = static_cast<int>(asserted_.size());
  return std::all_of(
             asserted_.begin(), asserted_.end(),
             [&](const Arc& a) { return matrix_[index(a.from, a.to)].distance >= a.weight; }) &&
         std::all_of(matrix_.begin(), matrix_.end(), [&](const Entry& e) {
           return e.time < count && e.before < static_cast<int>(changes_made_);
         });
}

void DifferenceTheory::undo(const Mark& mark) {
  assert(mark.changes <= changes_made_ && mark.asserted <= asserted_.size() &&
         mark.records <= records_.size());
  if (mark.changes < dropped_) return repeat_to(mark);
  while (!triggered_.empty() && triggered_.back().change >= mark.changes) {
    const Triggered& one = triggered_.back();
    matrix_[changed_entry(one.change)].trigger = one.trigger;
    triggered_.pop_back();
  }
  while (changes_made_ > mark.changes) {
    const std::size_t change = --changes_made_;
    const Was& one = was(static_cast<int>(change));
    Entry& entry = matrix_[changed_entry(change)];
    entry.distance = one.distance;
    entry.time = one.time;
    entry.before = one.before;
  }
  sums_.undo(mark.sums);
  sums_asserted_ = mark.sums;
  asserted_.resize(mark.asserted);
  begins_.resize(mark.asserted);
  records_.resize(mark.records);
}

}  // namespace twill
