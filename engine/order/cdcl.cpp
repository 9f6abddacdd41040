#include "engine/order/cdcl.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/order/luby.hpp"
#include "graph/log.hpp"

namespace twill {
namespace {

constexpr double kActivityLimit = 1e100;
constexpr double kActivityGrowth = 1 / 0.95;
constexpr std::size_t kVariables = 1 << 15, kClauses = 1 << 16;  // room at first: not touched yet
constexpr std::size_t kDepth = 50;  // of the search for redundant literals

}  // namespace

Cdcl::Cdcl(Budget& budget, std::uint64_t seed, Pace pace)
    : budget_(budget), pace_(pace), shuffled_(seed != 0), random_(seed) {
  for (int literal = 0; literal < 2; ++literal) watches_.add_list();  // of no variable
  formula_.reserve(kClauses, 4 * kClauses);
  arena_.reserve(4 * kClauses);
  store_.reserve(kClauses);
  watches_.reserve(2 * kVariables);
  truth_.reserve(2 * kVariables);
  const auto reserve = [](auto&... of_variables) { (of_variables.reserve(kVariables), ...); };
  reserve(values_, trail_, level_of_, reason_, phase_, activity_, heap_, heap_at_, seen_, met_);
}

int Cdcl::new_variable() {
  const int v = formula_.new_variable();
  values_.push_back(0);
  truth_.insert(truth_.end(), {0, 0});
  watches_.add_list();
  watches_.add_list();
  level_of_.push_back(0);
  reason_.emplace_back();
  phase_.push_back(-1);  // early stages and undecided orders first
  // Seed 0 leaves the order of creation; others disturb it a little.
  activity_.push_back(shuffled_ ? static_cast<double>(random_.next() >> 11) * 1e-16 : 0.0);
  heap_at_.push_back(-1);
  seen_.push_back(0);
  met_.push_back(0);
  heap_insert(static_cast<std::size_t>(v));
  return v;
}

void Cdcl::add_clause(std::span<const int> literals) {
  if (formula_.clauses() % 4096 == 4095 && budget_.spent()) throw Budget::Spent{};
  const int origin = static_cast<int>(formula_.clauses());
  formula_.add_clause(literals);
  entry_.push_back(kStored);
  insert(literals, origin);
}

void Cdcl::poll() {
  if (budget_.spent()) throw Budget::Spent{};
}

void Cdcl::expect(double variables, double clauses, double bytes) {
  expect_within(budget_, variables, clauses, bytes);
}

void Cdcl::add_lemma(std::span<const int> literals, std::string reason) {
  record_lemma(literals, std::move(reason));
  insert(literals, kLemma);
}

bool Cdcl::keep_within(SearchBound& bound) {
  backtrack(0);
  bound_ = &bound;
  theory_stale_ = true;
  return true;
}

void Cdcl::insert(std::span<const int> literals, int origin) {
  backtrack(0);
  buffer_.resize(literals.size());
  std::size_t size = 0;
  for (const int l : literals) {
    const signed char known = truth(l);
    if (known > 0) return;
    if (known < 0) continue;
    std::size_t i = 0;
    while (i < size && buffer_[i] != l && buffer_[i] != -l) ++i;
    if (i < size && buffer_[i] == -l) return;
    if (i == size) buffer_[size++] = l;
  }
  if (origin >= 0)
    entry_.back() = size < literals.size() || size <= 1 ? kShortened
                    : size == 2                         ? kBinary
                                                        : kStored;
  if (size == 0) {
    conflict_by_ = {Reason::formula, origin};
    consistent_ = false;
    note_refuted();
  } else if (size == 1) {
    note_root(buffer_.front(), {Reason::formula, origin});
    assign(buffer_.front(), {});
  } else {
    if (size == 2 && size < literals.size() && origin >= 0) note_shortened(origin);
    attach({buffer_.data(), size}, origin, 0);
  }
}

std::vector<char> Cdcl::needed() {
  assert(!consistent_);
  for (const int l : trail_) {  // at the root, where nobody asked for reasons
    const Reason& reason = reason_[variable(l)];
    if (reason.kind == Reason::clause) use(reason.index);
    if (reason.kind == Reason::binary) use_binary(l, reason.index);
  }
  std::vector<char> needed(entry_.size());
  for (std::size_t i = 0; i < needed.size(); ++i)
    needed[i] = entry_[i] == kShortened ||
                (entry_[i] == kBinary && met_[variable(formula_.clause(i)[0])] != 0 &&
                 met_[variable(formula_.clause(i)[1])] != 0);
  for (const Clause& c : store_)
    if (c.origin >= 0 && (arena_[static_cast<std::size_t>(c.place)] & kUsed) != 0)
      needed[static_cast<std::size_t>(c.origin)] = 1;
  return needed;
}

void Cdcl::take(const Differences& differences) {
  if (!theory_) {
    theory_ = std::make_unique<DifferenceTheory>(differences.nodes(), values_, &budget_);
    if (steps_ != nullptr) theory_->note_steps(*steps_);
  }
  for (; facts_taken_ < differences.facts().size(); ++facts_taken_)
    theory_->add_fact(differences.facts()[facts_taken_]);
  for (; atoms_taken_ < differences.atoms().size(); ++atoms_taken_)
    theory_->add_atom(differences.atoms()[atoms_taken_]);
  for (; sums_taken_ < differences.sums().size(); ++sums_taken_)
    theory_->add_sum(differences.sums()[sums_taken_]);
  theory_stale_ = true;
}

void Cdcl::set_parameters(Cycle ii, Cycle deadline) {
  ii_ = ii;
  deadline_ = deadline;
  theory_stale_ = true;
}

void Cdcl::restart_theory() {
  assert(theory_ != nullptr);  // take() comes before solve()
  backtrack(0);
  std::vector<int> decided;
  theory_stale_ = false;
  if (!theory_->reset(ii_, deadline_, decided)) {
    record_cycle({});
    refute_by_lemma();
    return;
  }
  for (const int literal : decided) {
    if (truth(literal) > 0) continue;
    if (steps_ != nullptr) steps_->add_literal(literal);
    record_cycle({&literal, 1});
    if (truth(literal) < 0) return refute_by_lemma();
    note_root(literal, newest_lemma());
    assign(literal, {});
  }
  clause_head_ = theory_head_ = bound_head_ = 0;
  if (bound_ != nullptr && !bound_->reset(ii_, deadline_)) {
    refute_by_bound();
    consistent_ = false;
  }
}

bool Cdcl::value(Lit literal) const {
  return literal.is_constant() ? literal.is_true() : truth(literal.dimacs()) > 0;
}

Cdcl::Reason Cdcl::attach(std::span<const int> clause, int origin, std::uint32_t glue) {
  assert(clause.size() >= 2);
  const bool binary = clause.size() == 2;
  const int place = binary ? Watch::kBinary : static_cast<int>(arena_.size());
  watches_.push(slot(clause[0]), {clause[1], place});
  watches_.push(slot(clause[1]), {clause[0], place});
  if (binary) return {Reason::binary, clause[1]};
  store_.push_back({place, glue, origin, origin == kLearned ? step_ : -1});
  arena_.push_back(static_cast<int>(clause.size()));
  arena_.insert(arena_.end(), clause.begin(), clause.end());
  if (origin == kLearned) {
    ++learned_clauses_;
    learned_literals_ += static_cast<std::int64_t>(clause.size());
  }
  return {Reason::clause, place};
}

void Cdcl::assign(int literal, Reason reason) {
  const std::size_t v = variable(literal);
  assert(values_[v] == 0 && truth(literal) == 0);
  assert(reason.kind != Reason::binary || truth(reason.index) < 0);
  assert(reason.kind != Reason::clause ||
         (literals(reason.index)[0] == literal && all_false(literals(reason.index).subspan(1))));
  values_[v] = literal > 0 ? 1 : -1;
  truth_[slot(literal)] = 1;
  truth_[slot(-literal)] = -1;
  level_of_[v] = level();
  reason_[v] = reason;
  trail_.push_back(literal);
}

bool Cdcl::propagate() {
  for (;;) {
    if (!propagate_clauses()) return false;
    if (theory_head_ < trail_.size() || theory_->sums_pending()) {
      if (!propagate_theory()) return false;
      continue;
    }
    if (bound_ == nullptr) return true;
    if (!propagate_bound()) return false;
    if (clause_head_ == trail_.size()) return true;
  }
}

bool Cdcl::propagate_clauses() {
  while (clause_head_ < trail_.size()) {
    const int falsified = -trail_[clause_head_++];
    const std::size_t list = slot(falsified);
    const std::span<Watch> watches = watches_[list];
    const Watch* next = watches.data();
    const Watch* const end = next + watches.size();
    Watch* kept = watches.data();
    bool consistent = true;
    while (next != end) {
      const Watch watch = *next++;
      const signed char known = truth(watch.blocker);
      if (known > 0) {
        *kept++ = watch;
        continue;
      }
      if (watch.clause == Watch::kBinary) {
        *kept++ = watch;
        if (known < 0) {
          conflict_ = {watch.blocker, falsified};
          conflict_by_ = {Reason::binary, falsified};
          use_binary(watch.blocker, falsified);
          consistent = false;
          break;
        }
        assign(watch.blocker, {Reason::binary, falsified});
        continue;
      }
      const int place = watch.clause;
      const std::span<int> c = literals(place);  // a reason begins with what it implies
      if (c[0] == falsified) std::swap(c[0], c[1]);
      const signed char first = truth(c[0]);
      if (first > 0) {
        *kept++ = {c[0], place};
        continue;
      }
      std::size_t other = 2;
      while (other < c.size() && truth(c[other]) < 0) ++other;
      if (other < c.size()) {
        std::swap(c[1], c[other]);
        watches_.push(slot(c[1]), {c[0], place});
        continue;
      }
      *kept++ = {c[0], place};
      if (first < 0) {
        conflict_.assign(c.begin(), c.end());
        conflict_by_ = {Reason::clause, place};
        use(place);
        consistent = false;
        break;
      }
      assign(c[0], {Reason::clause, place});
    }
    kept = std::copy(next, end, kept);
    watches_.shorten(list, static_cast<std::size_t>(kept - watches.data()));
    if (!consistent) return false;
  }
  return true;
}

// One literal, or when there is none what sums have become, then the clauses have their turn.
bool Cdcl::propagate_theory() {
  const int literal = theory_head_ < trail_.size() ? trail_[theory_head_++] : 0;
  if (literal < 0) return true;
  decided_.clear();
  if (!(literal > 0 ? theory_->assert_atom(literal, decided_) : theory_->assert_sums(decided_))) {
    conflict_.clear();
    for (const int v : theory_->conflict()) conflict_.push_back(-v);
    record_cycle(conflict_);
    conflict_by_ = newest_lemma();
    return false;
  }
  for (const DifferenceTheory::Decided& d : decided_) {
    if (truth(d.literal) != 0) continue;  // reported twice
    assign(d.literal, {Reason::record, d.record});
    if (level() == 0) reason_literals(d.literal);  // recorded now: nobody asks at the root
  }
  return true;
}

// The false literals that implied `literal`; a theory's reason becomes a lemma when it is needed.
std::span<const int> Cdcl::reason_literals(int literal) {
  Reason& reason = reason_[variable(literal)];
  if (reason.kind == Reason::record) {
    std::vector<int> atoms;
    if (steps_ != nullptr) steps_->add_literal(literal);
    theory_->explain(reason.index, atoms);
    for (int& v : atoms) v = -v;
    atoms.insert(atoms.begin(), literal);
    reason = {Reason::lemma, static_cast<int>(lemmas().clauses())};
    record_cycle(atoms);
  }
  if (reason.kind == Reason::bound && bound_->is_noted()) {
    const std::span<const int> why = bound_->explain(reason.index);
    std::vector<int> lemma{literal};
    lemma.insert(lemma.end(), why.begin(), why.end());
    reason = {Reason::lemma, static_cast<int>(lemmas().clauses())};
    record_lemma(lemma, bound_->reason());
  }
  std::span<const int> others;
  switch (reason.kind) {
    case Reason::binary:
      use_binary(literal, reason.index);
      others = {&reason.index, 1};
      break;
    case Reason::clause:
      use(reason.index);
      others = std::as_const(*this).literals(reason.index).subspan(1);
      break;
    case Reason::lemma:
      others = lemmas().clause(static_cast<std::size_t>(reason.index)).subspan(1);
      break;
    case Reason::bound: others = bound_->explain(reason.index); break;
    default: break;
  }
  assert(explains(others, literal));
  return others;
}

void Cdcl::backtrack(int to) {
  if (level() <= to) return;
  const Level& target = levels_[static_cast<std::size_t>(to)];
  while (trail_.size() > target.trail) {
    const std::size_t v = variable(trail_.back());
    phase_[v] = values_[v];
    values_[v] = truth_[2 * v] = truth_[2 * v + 1] = 0;
    heap_insert(v);
    trail_.pop_back();
  }
  clause_head_ = target.trail;
  theory_head_ = std::min(target.asserted, target.trail);
  theory_->undo(target.theory);
  if (bound_ != nullptr) {
    bound_head_ = std::min(target.bounded, target.trail);
    bound_->undo(static_cast<std::size_t>(to));
  }
  levels_.resize(static_cast<std::size_t>(to));
  assert(clause_head_ <= trail_.size() && theory_head_ <= trail_.size());
  assert(theory_ == nullptr || !theory_->sums_pending());
}

// First unique implication point, with recursive minimisation (Sorensson and Biere 2009).
void Cdcl::analyze() {
  assert(all_false(conflict_));
  for (const std::size_t v : touched_) seen_[v] = 0;
  touched_.clear();
  resolved_.clear();
  redundant_.clear();
  learned_.assign(1, 0);
  int open = 0;
  std::size_t at = trail_.size();
  std::span<const int> reason = conflict_;
  for (;;) {
    for (const int l : reason) {
      const std::size_t v = variable(l);
      if (seen_[v] || level_of_[v] == 0) continue;
      seen_[v] = 1;
      touched_.push_back(v);
      bump(v);
      if (level_of_[v] == level())
        ++open;
      else
        learned_.push_back(l);
    }
    do --at;
    while (!seen_[variable(trail_[at])]);
    if (--open == 0) break;
    reason = reason_literals(trail_[at]);
    resolved_.push_back(variable(trail_[at]));
  }
  learned_[0] = -trail_[at];
  std::size_t kept = 1;
  for (std::size_t i = 1; i < learned_.size(); ++i)
    if (reason_[variable(learned_[i])].kind == Reason::none || !redundant(learned_[i]))
      learned_[kept++] = learned_[i];
  learned_.resize(kept);
  back_level_ = 0;
  ++stamp_;
  glue_ = 1;
  for (std::size_t i = 1; i < learned_.size(); ++i) {
    const int l = level_of_[variable(learned_[i])];
    if (l > back_level_) {
      back_level_ = l;
      std::swap(learned_[1], learned_[i]);
    }
    if (level_stamp_.size() <= static_cast<std::size_t>(l))
      level_stamp_.resize(static_cast<std::size_t>(l) + 1, 0);
    if (level_stamp_[static_cast<std::size_t>(l)] != stamp_) {
      level_stamp_[static_cast<std::size_t>(l)] = stamp_;
      ++glue_;
    }
  }
  assert(learned_is_asserting());
}

// Do literals of the clause imply this one, through reasons? What was found on the way is kept for
// the rest of the clause: 1 = in it or implied by it, 2 = not.
bool Cdcl::redundant(int literal) {
  struct Step {
    int literal;
    std::size_t next;
  };
  std::vector<Step> path{{literal, 0}};
  while (!path.empty()) {
    Step& step = path.back();
    const std::span<const int> reason = reason_literals(-step.literal);
    bool failed = false;
    int deeper = 0;
    while (step.next < reason.size() && deeper == 0 && !failed) {
      const int l = reason[step.next++];
      const std::size_t v = variable(l);
      if (seen_[v] == 1 || level_of_[v] == 0) continue;
      if (seen_[v] == 2 || reason_[v].kind == Reason::none || path.size() > kDepth)
        failed = true;
      else
        deeper = l;
    }
    if (failed) {
      for (std::size_t i = 1; i < path.size(); ++i) mark(variable(path[i].literal), 2);
      return false;
    }
    if (deeper != 0) {
      path.push_back({deeper, 0});
      continue;
    }
    mark(variable(step.literal), 1);
    redundant_.push_back(variable(step.literal));
    path.pop_back();
  }
  return true;
}

void Cdcl::mark(std::size_t v, char state) {
  if (seen_[v] == 0) touched_.push_back(v);
  if (seen_[v] != 1) seen_[v] = state;
}

Verdict Cdcl::solve(std::int64_t conflict_limit) {
  const Verdict answer = search(conflict_limit);
  if (!assumptions_.empty() && answer != Verdict::sat)
    backtrack(0);  // what follows is without them
  assumptions_.clear();
  return answer;
}

Verdict Cdcl::search(std::int64_t conflict_limit) {
  if (!assumptions_.empty()) backtrack(0);
  if (level() == 0) forget();
  const std::int64_t begin = conflicts_;
  if (theory_stale_) restart_theory();
  std::int64_t restarts = 0, next_restart = conflicts_ + pace_.restart;
  while (consistent_) {
    if (propagate()) {
      assert(clause_head_ == trail_.size() && theory_head_ == trail_.size());
      assert(!seldom_.now() || (trail_is_consistent() && watches_are_consistent()));
      // Assumptions are decided first, in their order.
      std::size_t assumed = levels_.empty() ? 0 : levels_.back().assumed;
      while (assumed < assumptions_.size() && truth(assumptions_[assumed]) > 0) ++assumed;
      const bool assuming = assumed < assumptions_.size();
      if (assuming && truth(assumptions_[assumed]) < 0) return Verdict::unknown;
      const int literal = assuming ? assumptions_[assumed] : next_decision();
      if (literal == 0) {
        assert(is_model());
        best_phase_ = values_;
        return Verdict::sat;
      }
      levels_.push_back({trail_.size(), theory_head_, bound_head_, theory_->mark(), assumed});
      if (bound_ != nullptr) bound_->mark();
      assign(literal, {});
      continue;
    }
    ++conflicts_;
    budget_.count_conflict();
    int highest = 0;  // a theory conflict may lie below the current level
    for (const int l : conflict_) highest = std::max(highest, level_of_[variable(l)]);
    assert(all_false(conflict_) && highest <= level());
    backtrack(highest);
    if (highest == 0) {
      consistent_ = false;
      note_refuted();
      break;
    }
    analyze();
    note_learned();
    backtrack(back_level_);
    if (learned_.size() == 1)
      assign(learned_[0], {});
    else
      assign(learned_[0], attach(learned_, kLearned, glue_));
    if (tires_ && conflicts_ == kMany) pace_ = kPatient;
    increment_ *= kActivityGrowth;
    if (learned_clauses_ > keep_) {
      reduce(false);
      keep_ += pace_.more_kept;
    }
    if (learned_literals_ > most_learned_) reduce(true);
    if (conflicts_ >= next_restart || has_many_lemmas()) {
      next_restart = conflicts_ + pace_.restart * luby(++restarts);
      backtrack(0);
      forget();
      assert(trail_is_consistent() && watches_are_consistent());
      TWILL_LOG("restart ", restarts, ": ", conflicts_, " conflicts, ", learned_clauses_,
                " learned clauses, ", lemmas().clauses(), " lemmas, ", trail_.size(), " of ",
                values_.size() - 1, " variables known");
      if (!best_phase_.empty()) std::copy(best_phase_.begin(), best_phase_.end(), phase_.begin());
    }
    if ((conflicts_ - begin) % 64 == 0 && budget_.spent()) return Verdict::unknown;
    if (conflict_limit > 0 && conflicts_ - begin >= conflict_limit) return Verdict::unknown;
  }
  return Verdict::unsat;
}

int Cdcl::next_decision() {
  while (!heap_.empty()) {
    const std::uint32_t v = heap_.front(), last = heap_.back();
    heap_at_[v] = -1;
    heap_.pop_back();
    if (!heap_.empty()) {
      heap_[0] = last;
      heap_at_[last] = 0;
      heap_down(0);
    }
    if (values_[v] == 0) return phase_[v] > 0 ? static_cast<int>(v) : -static_cast<int>(v);
  }
  return 0;
}

void Cdcl::bump(std::size_t v) {
  activity_[v] += increment_;
  if (activity_[v] > kActivityLimit) {
    for (double& a : activity_) a /= kActivityLimit;
    increment_ /= kActivityLimit;
  }
  if (heap_at_[v] >= 0) heap_up(static_cast<std::size_t>(heap_at_[v]));
}

void Cdcl::heap_insert(std::size_t v) {
  if (heap_at_[v] >= 0) return;
  heap_at_[v] = static_cast<int>(heap_.size());
  heap_.push_back(static_cast<std::uint32_t>(v));
  heap_up(heap_.size() - 1);
}

void Cdcl::heap_up(std::size_t at) {
  const std::uint32_t v = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (activity_[heap_[parent]] >= activity_[v]) break;
    heap_[at] = heap_[parent];
    heap_at_[heap_[at]] = static_cast<int>(at);
    at = parent;
  }
  heap_[at] = v;
  heap_at_[v] = static_cast<int>(at);
}

void Cdcl::heap_down(std::size_t at) {
  const std::uint32_t v = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && activity_[heap_[child + 1]] > activity_[heap_[child]]) ++child;
    if (activity_[heap_[child]] <= activity_[v]) break;
    heap_[at] = heap_[child];
    heap_at_[heap_[at]] = static_cast<int>(at);
    at = child;
  }
  heap_[at] = v;
  heap_at_[v] = static_cast<int>(at);
}

}  // namespace twill
