#include "engine/certificate/drat.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace twill {
namespace {

constexpr int kNone = -1;

// A literal here is 2 v + sign with variables renumbered densely, so that a proof may use any.
using Literal = std::uint32_t;
Literal negated(Literal l) {
  return l ^ 1U;
}

struct Clause {
  std::size_t begin = 0;
  std::uint32_t size = 0;
  Literal pivot = 0;
  bool active = false;
  bool core = false;       // the refutation needs it
  unsigned char life = 0;  // 1 after a deletion was undone: watches of life 0 are stale then
};

// One step of the proof that has an effect, for the way back.
struct Event {
  int clause;
  bool deletion;
  std::size_t place;
};

class Checker {
 public:
  explicit Checker(const DratProof& proof) : proof_(proof) {}

  DratVerdict run(std::span<const int> formula) {
    DratVerdict verdict;
    if (!add_formula(formula)) {
      verdict.reason = "the formula does not end with 0";
      return verdict;
    }
    for (std::size_t i = 0; i < proof_.steps.size() && conflict_ == kNone; ++i) {
      const DratProof::Step& step = proof_.steps[i];
      verdict.steps = i + 1;
      read(proof_.clause(step));
      if (step.deletes) {
        if (!forget(step.place)) {
          verdict.place = step.place;
          verdict.reason = "deletes a clause that is not there";
          return verdict;
        }
      } else {
        const int c = add();
        events_.push_back({c, false, step.place});
        enter(c);
      }
    }
    if (conflict_ == kNone) {
      verdict.place = proof_.steps.empty() ? 0 : proof_.steps.back().place;
      verdict.reason = "the proof ends without a refutation";
      return verdict;
    }
    need(conflict_);
    for (; !events_.empty(); events_.pop_back()) {
      const Event event = events_.back();
      if (event.deletion) {
        restore(event.clause);
        continue;
      }
      leave(event.clause);
      if (!clause(event.clause).core) continue;
      ++verdict.checked;
      if (!implied(clause(event.clause)) && !asymmetric_tautology(clause(event.clause))) {
        verdict.place = event.place;
        verdict.reason = "a clause of " + std::to_string(clause(event.clause).size) +
                         " literals is neither RUP nor RAT on its first";
        return verdict;
      }
      undo(root_);
    }
    verdict.accepted = true;
    return verdict;
  }

 private:
  struct Watch {
    std::uint32_t clause_and_life;
    Literal blocker;
  };

  Clause& clause(int c) { return clauses_[static_cast<std::size_t>(c)]; }
  std::span<Literal> literals(const Clause& c) { return {arena_.data() + c.begin, c.size}; }
  // 1 true, -1 false, 0 open.
  int value(Literal l) const { return values_[l]; }
  std::size_t position(Literal l) const { return position_[l / 2]; }

  // ---- clauses ----

  Literal literal(int dimacs) {
    const auto [place, fresh] = variable_.emplace(dimacs < 0 ? -dimacs : dimacs,
                                                  static_cast<std::uint32_t>(reason_.size()));
    if (fresh) {
      reason_.push_back(kNone);
      position_.push_back(0);
      closed_.push_back(0);
      seen_.push_back(0);
      for (int sign = 0; sign < 2; ++sign) {
        values_.push_back(0);
        core_watches_.emplace_back();
        other_watches_.emplace_back();
      }
    }
    return 2 * place->second + (dimacs < 0 ? 1U : 0U);
  }

  // The clause as a set, sorted, in buffer_; pivot_ is its first literal.
  void read(std::span<const int> dimacs) {
    buffer_.clear();
    for (const int l : dimacs) buffer_.push_back(literal(l));
    pivot_ = buffer_.empty() ? 0 : buffer_.front();
    std::sort(buffer_.begin(), buffer_.end());
    buffer_.erase(std::unique(buffer_.begin(), buffer_.end()), buffer_.end());
  }

  std::uint64_t hash() const {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const Literal l : buffer_) {
      h ^= l;
      h *= 0xff51afd7ed558ccdULL;
      h ^= h >> 32;
    }
    return h;
  }

  int add() {
    const int c = static_cast<int>(clauses_.size());
    clauses_.push_back(
        {arena_.size(), static_cast<std::uint32_t>(buffer_.size()), pivot_, true, false, 0});
    arena_.insert(arena_.end(), buffer_.begin(), buffer_.end());
    known_.emplace(hash(), c);
    return c;
  }

  bool add_formula(std::span<const int> formula) {
    std::vector<int> dimacs;
    std::vector<int> added;
    for (const int l : formula) {
      if (l != 0) {
        dimacs.push_back(l);
        continue;
      }
      read(dimacs);
      dimacs.clear();
      added.push_back(add());
    }
    if (!dimacs.empty()) return false;
    for (const int c : added) {
      if (conflict_ == kNone) enter(c);
    }
    return true;
  }

  // Deletes the clause in buffer_. The literals of a clause move about in the arena (watches come
  // first), so sets are compared.
  bool forget(std::size_t place) {
    const auto [first, last] = known_.equal_range(hash());
    for (auto at = first; at != last; ++at) {
      const Clause& c = clause(at->second);
      if (c.size != buffer_.size()) continue;
      sorted_.assign(arena_.begin() + static_cast<std::ptrdiff_t>(c.begin),
                     arena_.begin() + static_cast<std::ptrdiff_t>(c.begin + c.size));
      std::sort(sorted_.begin(), sorted_.end());
      if (sorted_ != buffer_) continue;
      const int found = at->second;
      for (const Literal l : buffer_)
        if (value(l) > 0 && reason_[l / 2] == found) return true;  // stays, see the header
      clause(found).active = false;
      known_.erase(at);
      events_.push_back({found, true, place});
      return true;
    }
    return false;
  }

  // ---- trail ----

  void assign(Literal l, int reason) {
    values_[l] = 1;
    values_[negated(l)] = -1;
    reason_[l / 2] = reason;
    position_[l / 2] = trail_.size();
    trail_.push_back(l);
  }

  void undo(std::size_t size) {
    while (trail_.size() > size) {
      const Literal l = trail_.back();
      values_[l] = values_[negated(l)] = 0;
      reason_[l / 2] = kNone;
      closed_[l / 2] = 0;
      trail_.pop_back();
    }
    core_head_ = other_head_ = size;
  }

  void watch(int c, Literal at, Literal blocker) {
    const Clause& k = clause(c);
    auto& lists = k.core ? core_watches_ : other_watches_;
    lists[at].push_back({static_cast<std::uint32_t>(c) * 2 + k.life, blocker});
  }

  // Brings the two literals to the front that are open, true, or false last: at the root this order
  // keeps watches right however far the trail is taken back.
  void watch_best(int c) {
    const std::span<Literal> k = literals(clause(c));
    const auto rank = [&](Literal l) {
      if (value(l) == 0) return std::size_t{0};
      if (value(l) > 0) return 1 + position(l);
      return 1 + 2 * trail_.size() - position(l);
    };
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = i + 1; j < k.size(); ++j)
        if (rank(k[j]) < rank(k[i])) std::swap(k[i], k[j]);
    watch(c, k[0], k[1]);
    watch(c, k[1], k[0]);
  }

  // A clause joins at the root: what it implies is propagated.
  void enter(int c) {
    if (clause(c).size >= 2) watch_best(c);
    Literal open = 0;
    int count = 0;
    for (const Literal l : literals(clause(c))) {
      if (value(l) > 0) return;
      if (value(l) == 0) {
        open = l;
        ++count;
      }
    }
    if (count >= 2) return;
    if (count == 0) {
      conflict_ = c;
      return;
    }
    assign(open, c);
    conflict_ = propagate();
    root_ = trail_.size();
  }

  // Undoes enter(): the root is as it was before, because what the clause implied comes after it.
  void leave(int c) {
    Clause& gone = clause(c);
    gone.active = false;
    for (const Literal l : literals(gone))
      if (value(l) > 0 && reason_[l / 2] == c) root_ = position(l);
    undo(root_);
  }

  void restore(int c) {
    clause(c).active = true;
    clause(c).life = 1;
    if (clause(c).size >= 2) watch_best(c);
  }

  // Needed clauses first. Returns the clause that is false, or kNone at the fixpoint.
  int propagate() {
    for (;;) {
      while (core_head_ < trail_.size())
        if (const int c = visit(negated(trail_[core_head_++]), true); c != kNone) return c;
      if (other_head_ == trail_.size()) return kNone;
      if (const int c = visit(negated(trail_[other_head_++]), false); c != kNone) return c;
    }
  }

  // Clauses of one kind that watch a literal which has become false.
  int visit(Literal falsified, bool core) {
    std::vector<Watch>& list = (core ? core_watches_ : other_watches_)[falsified];
    std::size_t kept = 0;
    int conflict = kNone;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Watch w = list[i];
      if (conflict != kNone) {
        list[kept++] = w;
        continue;
      }
      const int c = static_cast<int>(w.clause_and_life / 2);
      const Clause& k = clause(c);
      if (!k.active || k.life != w.clause_and_life % 2) continue;  // stale: forgotten
      const bool moves = k.core && !core;  // became needed since it was watched
      const auto keep = [&](Literal blocker) {
        const Watch same{w.clause_and_life, blocker};
        if (moves)
          core_watches_[falsified].push_back(same);
        else
          list[kept++] = same;
      };
      if (value(w.blocker) > 0) {
        keep(w.blocker);
        continue;
      }
      const std::span<Literal> l = literals(k);
      if (l[0] == falsified) std::swap(l[0], l[1]);
      if (value(l[0]) > 0) {
        keep(l[0]);
        continue;
      }
      std::size_t other = 2;
      while (other < l.size() && value(l[other]) < 0) ++other;
      if (other < l.size()) {
        std::swap(l[1], l[other]);
        watch(c, l[1], l[0]);
        continue;
      }
      keep(l[0]);
      if (value(l[0]) < 0)
        conflict = c;
      else
        assign(l[0], c);
    }
    list.resize(kept);
    return conflict;
  }

  // ---- what a conflict needs ----

  void need(int c) {
    pending_.clear();
    take(c);
    while (!pending_.empty()) {
      const std::uint32_t v = pending_.back();
      pending_.pop_back();
      take(reason_[v]);
    }
    for (const std::uint32_t v : visited_) seen_[v] = 0;
    visited_.clear();
  }
  void need_reason_of(Literal l) {
    if (reason_[l / 2] != kNone) need(reason_[l / 2]);
  }
  // Marks a clause and queues the literals that made it false or unit. What a root literal needs is
  // marked once for all, until it is taken back.
  void take(int c) {
    clause(c).core = true;
    for (const Literal l : literals(clause(c))) {
      const std::uint32_t v = l / 2;
      if (seen_[v] || closed_[v] || reason_[v] == kNone) continue;
      seen_[v] = 1;
      visited_.push_back(v);
      if (position_[v] < root_) closed_[v] = 1;
      pending_.push_back(v);
    }
  }

  // ---- the two rules ----

  // Assumes the negation of the literals (without `skip`) on top of the trail; true when that leads
  // to a conflict, whose clauses are marked. The trail is left as it is then.
  bool refuted(std::span<const Literal> clause_literals, std::optional<Literal> skip) {
    for (const Literal l : clause_literals) {
      if (skip && l == *skip) continue;
      if (value(l) > 0) {
        need_reason_of(l);
        return true;
      }
      if (value(l) == 0) assign(negated(l), kNone);
    }
    const int c = propagate();
    if (c == kNone) return false;
    need(c);
    return true;
  }

  bool implied(const Clause& c) {
    copy_.assign(literals(c).begin(), literals(c).end());
    return refuted(copy_, std::nullopt);
  }

  // With the negation of `c` propagated on the trail: every resolvent on the pivot has RUP.
  bool asymmetric_tautology(const Clause& c) {
    if (c.size == 0) return false;
    const std::size_t base = trail_.size();
    const Literal opposite = negated(c.pivot);
    std::vector<Literal> other;
    for (std::size_t i = 0; i < clauses_.size(); ++i) {
      if (!clauses_[i].active) continue;
      const std::span<Literal> l = literals(clauses_[i]);
      if (std::find(l.begin(), l.end(), opposite) == l.end()) continue;
      other.assign(l.begin(), l.end());  // propagation moves literals
      const bool good = refuted(other, opposite);
      undo(base);
      if (!good) return false;
    }
    return true;
  }

  const DratProof& proof_;
  std::unordered_map<int, std::uint32_t> variable_;  // of DIMACS variables
  std::vector<Literal> arena_;
  std::vector<Clause> clauses_;
  std::unordered_multimap<std::uint64_t, int> known_;  // active clauses by hash
  std::vector<Event> events_;

  std::vector<signed char> values_;  // per literal
  std::vector<int> reason_;          // per variable: clause, or kNone
  std::vector<std::size_t> position_;
  std::vector<char> closed_, seen_;
  std::vector<Literal> trail_;
  std::size_t root_ = 0;  // trail literals that the active clauses imply
  std::size_t core_head_ = 0, other_head_ = 0;
  std::vector<std::vector<Watch>> core_watches_, other_watches_;
  int conflict_ = kNone;

  std::vector<Literal> buffer_, sorted_, copy_;
  Literal pivot_ = 0;
  std::vector<std::uint32_t> pending_, visited_;
};

}  // namespace

DratVerdict check_drat(std::span<const int> formula, std::string_view proof, ProofFormat format) {
  std::optional<ProofError> error;
  const DratProof steps = parse_drat(proof, format, error);
  if (error) {
    DratVerdict verdict;
    verdict.place = error->place;
    verdict.reason = error->reason;
    return verdict;
  }
  return Checker(steps).run(formula);
}

}  // namespace twill
