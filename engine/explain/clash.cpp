#include "engine/explain/clash.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "encoders/order/order.hpp"
#include "engine/explain/broken_part.hpp"
#include "engine/order/cdcl.hpp"
#include "engine/order/incremental_solver.hpp"

namespace twill::order {
namespace {

using Parts = std::vector<ConstraintPart>;

OrderRequest parts_request(const Search& search, Cycle ii) {
  OrderRequest request;
  request.parts = true;
  request.handover = search.placement.handover;
  request.share = OrderRequest::kNone;
  request.ii_low = request.ii_high = ii;
  request.stages = search.stage_limit;
  // Rotation keeps every part but pins to cycles, and can add a stage.
  if (search.stage_limit == 0) request.pinned = rotation_pivot(search.problem);
  return request;
}

// One question: do these parts, or all that there are, leave a schedule?
class PartQuestion {
 public:
  struct Answer {
    Verdict verdict = Verdict::unknown;
    Parts core;  // unsat: enough of the parts
    std::optional<Schedule> schedule;
  };

  // `only` null = all parts.
  PartQuestion(const Search& search, const OrderRequest& request, const Parts* only)
      : search_(search),
        request_(request),
        only_(only),
        solver_(search.budget, search.seed),
        formula_(solver_),
        encoding_(formula_, search.problem, request_, search.choice) {
    for (std::size_t i = 0; only_ != nullptr && i < only_->size(); ++i)
      if (const ConstraintPart& part = (*only_)[i];
          part.kind == ConstraintPart::registers || part.kind == ConstraintPart::memory)
        encoding_.forbid(part);
  }

  Answer ask(std::int64_t conflict_limit) {
    const std::int64_t before = solver_.conflicts();
    solver_.set_parameters(request_.ii_low, 0);
    for (;;) {
      select();
      solver_.take(encoding_.rows());
      const std::int64_t left =
          conflict_limit > 0 ? conflict_limit - (solver_.conflicts() - before) : 0;
      if (conflict_limit > 0 && left <= 0) return {};
      const Verdict found = solver_.solve(left);
      if (found == Verdict::unknown) return {};
      if (found == Verdict::unsat) return refuted();
      Schedule schedule = decoded();
      if (only_ != nullptr || encoding_.refine(schedule) == 0)
        return {Verdict::sat, {}, std::move(schedule)};
    }
  }

  std::int64_t conflicts() const { return solver_.conflicts(); }

 private:
  // Parts that are asked about hold, the others need not.
  void select() {
    for (const auto& [part, selector] : encoding_.parts()) {
      if (!selected_.emplace(selector.dimacs(), part).second) continue;
      const bool on =
          only_ == nullptr || std::find(only_->begin(), only_->end(), part) != only_->end();
      const int literal = on ? selector.dimacs() : -selector.dimacs();
      chosen_.insert(solver_.clauses().clauses());
      solver_.add_clause({&literal, 1});
    }
  }

  Schedule decoded() const {
    const Differences& rows = encoding_.rows();
    const int ops = static_cast<int>(search_.problem.ops.size());
    return encoding_.decode(
        request_.ii_low, [&](Lit l) { return solver_.value(l); }, least_rows(solver_, rows, ops),
        request_.stages == 0 ? least_stages(solver_, rows, ops) : std::vector<Cycle>{});
  }

  // The parts that CaDiCaL needs to refute the clauses and lemmas.
  Answer refuted() {
    SatSolver judge(search_.budget, search_.seed);
    judge.no_inprocessing();
    for (int v = 0; v < solver_.clauses().variables(); ++v) judge.new_variable();
    for (std::size_t i = 0; i < solver_.clauses().clauses(); ++i)
      if (!chosen_.contains(i)) judge.add_clause(solver_.clauses().clause(i));
    for (std::size_t i = 0; i < solver_.lemmas().clauses(); ++i)
      judge.add_clause(solver_.lemmas().clause(i));
    std::vector<Lit> assumed;
    for (const auto& [part, selector] : encoding_.parts())
      if (only_ == nullptr || std::find(only_->begin(), only_->end(), part) != only_->end())
        assumed.push_back(selector);
    // Again with what failed, while that is less.
    for (std::size_t before = assumed.size() + 1; assumed.size() < before;) {
      before = assumed.size();
      const Verdict answer = judge.solve(assumed);
      if (answer == Verdict::sat) throw std::logic_error("CaDiCaL does not confirm a clash");
      if (answer == Verdict::unknown) return {};
      std::erase_if(assumed, [&](Lit l) { return !judge.failed(l); });
    }
    Answer result{Verdict::unsat, {}, std::nullopt};
    for (const Lit l : assumed) result.core.push_back(selected_.at(l.dimacs()));
    return result;
  }

  const Search& search_;
  OrderRequest request_;
  const Parts* only_;
  Cdcl solver_;
  Formula formula_;
  OrderEncoding encoding_;
  std::map<int, ConstraintPart> selected_;  // by the selector's variable
  std::set<std::size_t> chosen_;            // clauses that say which parts hold
};

class Deletion {
 public:
  Deletion(const Search& search, OrderRequest request, std::int64_t conflicts,
           std::int64_t question_conflicts)
      : search_(search),
        request_(std::move(request)),
        limited_(conflicts > 0),
        left_(conflicts),
        question_conflicts_(question_conflicts) {}

  std::vector<Clashing> run() {
    PartQuestion all(search_, request_, nullptr);
    PartQuestion::Answer answer = all.ask(limited_ ? left_ : 0);
    if (answer.verdict != Verdict::unsat) return {};
    left_ -= all.conflicts();
    open_ = std::move(answer.core);
    std::sort(open_.begin(), open_.end());
    search_.budget.complete([&] {
      for (std::size_t chunk = 1; !open_.empty();) chunk = leave_out(std::min(chunk, open_.size()));
    });
    for (ConstraintPart& part : open_) needed_.push_back({std::move(part), std::nullopt});
    std::sort(needed_.begin(), needed_.end(),
              [](const Clashing& a, const Clashing& b) { return a.part < b.part; });
    return std::move(needed_);
  }

 private:
  Parts without(std::size_t chunk) const {
    Parts rest(open_.begin(), open_.end() - static_cast<std::ptrdiff_t>(chunk));
    for (const Clashing& c : needed_) rest.push_back(c.part);
    return rest;
  }

  // Asks without the last `chunk` open parts; how many to leave out next.
  std::size_t leave_out(std::size_t chunk) {
    if (search_.budget.spent()) throw Budget::Spent{};
    const Parts rest = without(chunk);
    PartQuestion::Answer answer;
    if (!limited_ || left_ > 0) {
      PartQuestion question(search_, request_, &rest);
      answer = question.ask(limit());
      left_ -= question.conflicts();
    }
    if (answer.verdict == Verdict::unsat) {
      const auto unused = [&](const ConstraintPart& part) {
        return std::find(answer.core.begin(), answer.core.end(), part) == answer.core.end();
      };
      std::erase_if(open_, unused);
      std::erase_if(needed_, [&](const Clashing& c) { return unused(c.part); });
      return 2 * chunk;
    }
    if (answer.verdict == Verdict::sat) {
      // Only parts that the model breaks can be needed because of it. (Of a value that is held and
      // a sum that it is in, either may be.)
      Parts all = rest;
      all.insert(all.end(), open_.end() - static_cast<std::ptrdiff_t>(chunk), open_.end());
      const auto first = open_.end() - static_cast<std::ptrdiff_t>(chunk);
      const auto kept = std::stable_partition(first, open_.end(), [&](const ConstraintPart& part) {
        return !breaks(search_.problem, *answer.schedule, part, all);
      });
      const auto broken = static_cast<std::size_t>(open_.end() - kept);
      if (broken > 1) return std::min(broken, chunk / 2);
      if (broken == 0) throw std::logic_error("a model of less breaks no part of the clash");
    } else if (chunk > 1) {
      return chunk / 2;
    }
    needed_.push_back({std::move(open_.back()), std::move(answer.schedule)});
    open_.pop_back();
    return chunk;
  }

  std::int64_t limit() const {
    if (!limited_) return question_conflicts_;
    return question_conflicts_ > 0 ? std::min(question_conflicts_, left_) : left_;
  }

  const Search& search_;
  OrderRequest request_;
  bool limited_;
  std::int64_t left_, question_conflicts_;
  Parts open_;  // not decided yet
  std::vector<Clashing> needed_;
};

}  // namespace

std::vector<Clashing> minimal_clash(const Search& search, Cycle ii, std::int64_t conflicts,
                                    std::int64_t question_conflicts) {
  std::vector<Clashing> clash;
  search.budget.complete([&] {
    clash = Deletion(search, parts_request(search, ii), conflicts, question_conflicts).run();
  });
  return clash;
}

}  // namespace twill::order
