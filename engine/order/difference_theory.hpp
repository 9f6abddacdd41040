// Difference logic for the order engine: a conjunction of difference constraints kept closed under
// transitivity, with undo, complete propagation of atoms that have become false, and explanations.
//
// Source: Cotton and Maler, "Fast and Flexible Difference Constraint Propagation for DPLL(T)", SAT
// 2006, for the idea; the closure is dense here, because loops have tens of ops: one insertion
// costs O(nodes^2) at worst and mostly far less, and every entry is exact.
//
// What it keeps to go back is bounded by the nodes alone (most_bytes()): once the log of changes is
// full, its older half is dropped, and the matrix as it was there is kept instead. To go back
// beyond the log is to take such a matrix and to insert again what came after it, which makes the
// same changes with the same numbers (difference_history.cpp).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "encoders/order/difference.hpp"
#include "engine/budget.hpp"
#include "engine/certificate/theory_lemmas.hpp"
#include "engine/order/difference_sums.hpp"
#include "graph/seldom.hpp"

namespace twill {

class DifferenceTheory {
 public:
  /// `values` (per variable: 1 true, -1 false, 0 open) must outlive the theory: only open atoms are
  /// reported as refuted.
  /// `budget`, which must outlive it too, is asked before much memory is taken, and now and then:
  /// few conflicts come where there are many nodes. Where it is spent, Budget::Spent is thrown.
  /// `log`: changes that are kept at most, 0 = as many as pay; at least four a pair of nodes.
  DifferenceTheory(int nodes, const std::vector<signed char>& values, Budget* budget = nullptr,
                   std::size_t log = 0);

  /// The most that the closure and the way back take, whatever is asserted, in bytes; beside it are
  /// only lists that have one item an atom, sum or assertion.
  static std::size_t most_bytes(std::size_t nodes);

  void add_fact(const Difference& fact) { facts_.push_back(fact); }
  void add_atom(const DifferenceAtom& atom);
  void add_sum(const DifferenceSum& sum) { sums_.add(sum); }
  /// From now on conflict() and explain() come with the steps of the cycle, or of the path, for the
  /// lemma that they end in: they go into `steps`, which must outlive the theory.
  void note_steps(LemmaSteps& steps) { steps_ = &steps; }

  /// Forgets everything asserted and evaluates all constraints at I and D. False when the facts
  /// alone are contradictory. `decided` receives the literals that the facts imply.
  bool reset(Cycle ii, Cycle deadline, std::vector<int>& decided);

  /// An atom that the asserted ones exclude (a negative literal) or imply (a positive one). Its
  /// reason is explain(record), until undo() passes it.
  struct Decided {
    int literal = 0;
    int record = 0;
  };

  /// Asserts the atom of `variable`; the sums that it is a term of wait for assert_sums(). (Nothing
  /// happens for variables without either.) False when that closes a positive cycle: then
  /// conflict() holds the asserted variables on it, in the cycle's order. Open atoms that it
  /// decides are appended to `decided`: all that become false, and those that become true if they
  /// have no turns and deadlines. (For the others that might be wrong when I or D falls.)
  bool assert_atom(int variable, std::vector<Decided>& decided);
  /// The same for the sums that have grown, one after the other until something is decided. All
  /// terms of a sum that have become true are one constraint: this had better come when no atom is
  /// left to assert. Precondition of mark(): none is pending.
  bool assert_sums(std::vector<Decided>& decided);
  bool sums_pending() const { return sums_asserted_ < sums_.entries(); }
  std::span<const int> conflict() const { return conflict_; }

  /// The asserted variables that, with the facts, decide the atom of the record, in the order of
  /// the path that does (those of a sum together).
  void explain(int record, std::vector<int>& variables) const;

  /// A point to come back to.
  struct Mark {
    std::size_t changes = 0, asserted = 0, records = 0, sums = 0;
  };
  Mark mark() const {
    assert(!sums_pending());
    return {changes_made_, asserted_.size(), records_.size(), sums_.entries()};
  }
  void undo(const Mark& mark);

  /// The least difference x(to) - x(from) that the constraints allow, very negative if any. From
  /// the origin it is the smallest value of a row.
  Cycle least(int from, int to) const { return matrix_[index(from, to)].distance; }

  /// How often the log was cut, and how often it was too short to go back.
  int cuts() const { return cuts_; }
  int repeats() const { return repeats_; }

 private:
  static constexpr Cycle kNoPath = -4'000'000'000'000'000'000;  // less than any sum of weights
  static constexpr bool reachable(Cycle distance) { return distance > kNoPath / 2; }

  struct Arc {
    int from = 0, to = 0;
    Cycle weight = 0;
    int variable = 0;  // of its atom; of a sum, -1 - its entry
  };
  struct Entry {     // of the matrix
    Cycle distance;  // of the longest path, kNoPath = none
    Cycle trigger;   // the least distance at which more of the entry's atoms are decided
    int time;        // index of the asserted arc that made it so long, -1 = facts
    int before;      // the change to this, -1 = none
  };
  struct Was {  // of an entry, before a change; its trigger changes seldom and has a log of its own
    Cycle distance;
    int time;
    int before;
  };
  struct Triggered {
    std::size_t change;  // the entry's change with which its trigger rose
    Cycle trigger;       // before it
  };
  /// What every change has replaced, and in which entry: 20 bytes a change, never there twice.
  class Changes {
   public:
    Changes() = default;
    Changes(const Changes&) = delete;
    Changes& operator=(const Changes&) = delete;
    ~Changes();
    std::size_t room() const { return room_; }
    /// Without the first `count` of `size`.
    void drop(std::size_t count, std::size_t size) const;
    /// Room for so many, and never for more than `most`. Throws std::bad_alloc.
    void grow(std::size_t room, std::size_t most);
    static constexpr std::size_t kBytes = sizeof(Was) + sizeof(std::uint32_t);
    Was* was = nullptr;
    std::uint32_t* entry = nullptr;  // index in the matrix

   private:
    std::size_t room_ = 0, reserved_ = 0;
  };
  struct Record {
    int from, to, time;
    Cycle slack = 0;  // what the path could weigh less
  };
  struct Watched {
    Cycle weight;
    int variable;
  };
  /// The matrix as it was when so much had been asserted.
  struct Snapshot {
    std::size_t changes = 0, asserted = 0;
    std::vector<Entry> matrix;
  };
  static constexpr std::size_t kSnapshots = 6;
  static std::size_t log_for(std::size_t nodes);
  struct Undecided {  // what is left of an entry's two parts of watched_
    const Watched *against, *against_end, *implied, *implied_end;
  };

  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * nodes_ + static_cast<std::size_t>(to);
  }
  void watch_atoms(const std::vector<std::pair<std::size_t, Watched>>& atoms);
  bool insert(const Arc& arc, std::vector<Decided>& decided);
  void decide(int from, int to, std::vector<Decided>& decided);
  void make_room(std::size_t more);
  std::size_t logged() const { return changes_made_ - dropped_; }
  const Was& was(int change) const {
    return changes_.was[static_cast<std::size_t>(change) - dropped_];
  }
  std::uint32_t changed_entry(std::size_t change) const {
    return changes_.entry[change - dropped_];
  }
  // difference_history.cpp
  void cut_log();
  Snapshot matrix_at(std::size_t asserted) const;
  void repeat_to(const Mark& mark);
  void search_path(int from, int to, int before, Cycle& slack, std::vector<int>& variables) const;
  void ask_for(std::size_t bytes);
  std::size_t pairs() const { return nodes_ * nodes_; }
  // For asserts.
  bool is_closed() const;
  Undecided undecided(std::size_t entry, Cycle distance) const;
  static Cycle trigger(const Undecided& open);
  void explain_arc(const Arc& arc, Cycle& slack, std::vector<int>& variables) const;
  void explain_path(int from, int to, int before, Cycle& slack, std::vector<int>& variables) const;

  std::size_t nodes_;
  const std::vector<signed char>& values_;
  Budget* budget_;
  std::size_t looked_ = 0;  // pairs since the budget was asked
  std::vector<Difference> facts_;
  std::vector<DifferenceAtom> atoms_;
  std::vector<int> atom_of_;  // variable -> index in atoms_, or -1
  std::vector<Arc> arcs_;     // atoms_ at the current I and D
  DifferenceSums sums_;
  std::size_t sums_asserted_ = 0;  // entries of sums_
  std::vector<Entry> matrix_;
  // Atoms by entry (a, b), flat: those of b -> a, heaviest first, and then those of a -> b that may
  // be reported as implied, lightest first. An entry's part is [atoms_of_[2 e], atoms_of_[2 e + 1])
  // and [atoms_of_[2 e + 1], atoms_of_[2 e + 2]).
  std::vector<Watched> watched_;
  std::vector<int> atoms_of_;
  Changes changes_;               // the newest ones
  std::size_t changes_made_ = 0;  // numbered from 0 on,
  std::size_t dropped_ = 0;       // of which so many are in the log no more
  std::size_t log_;               // and at most so many are
  std::vector<Snapshot>
      snapshots_;           // oldest first; once something is dropped, of facts alone first
  bool repeating_ = false;  // what is inserted has been reported before
  int cuts_ = 0, repeats_ = 0;
  std::vector<Triggered> triggered_;
  std::vector<Arc> asserted_;
  std::vector<std::size_t> begins_;  // of the changes of each of them
  std::vector<Record> records_;
  std::vector<int> conflict_;
  struct Target {
    int node;
    Cycle distance;  // from the head of the arc
  };
  std::vector<Target> targets_;  // scratch
  LemmaSteps* steps_ = nullptr;
  Seldom seldom_;
};

}  // namespace twill
