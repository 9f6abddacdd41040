#include "engine/statement_order.hpp"

#include <algorithm>
#include <utility>

#include "graph/index.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/time.hpp"

namespace twill {
namespace {

using program::Program;

constexpr int kMostMoves = 8;    // of a program
constexpr int kFarthest = 4;     // ops that one passes
constexpr Amount kTile = 32;     // registers a thread of a small one
constexpr int kIterations = 24;  // of the run that is timed

/// Do the slot's threads execute it, so that it has ended when the next statement begins?
bool by_threads(const program::Op& op) {
  return op.ending == program::Ending::at_once && op.queue.empty() && !op.async_proxy;
}

/// The program with op `from` moved to the place of op `to` of the same slot.
Program moved(const Program& given, int from, int to) {
  const int count = static_cast<int>(given.ops.size());
  std::vector<int> order;  // by new place
  for (int v = 0; v < count; ++v)
    if (v != from) order.push_back(v);
  order.insert(order.begin() + to, from);
  std::vector<int> place(at(count));
  for (int v = 0; v < count; ++v) place[at(order[at(v)])] = v;
  Program p = given;
  for (int v = 0; v < count; ++v) p.ops[at(v)] = given.ops[at(order[at(v)])];
  for (program::Event& event : p.events) {
    event.op = place[at(event.op)];
    for (int& other : event.with) other = place[at(other)];
    std::sort(event.with.begin(), event.with.end());
  }
  for (program::Wait& wait : p.waits) wait.before = place[at(wait.before)];
  std::stable_sort(
      p.waits.begin(), p.waits.end(),
      [](const program::Wait& a, const program::Wait& b) { return a.before < b.before; });
  return p;
}

std::pair<Amount, Amount> lacking_first(const emit::RegisterLack& lack) {
  return {lack.registers, lack.held};
}
/// What lacks is an estimate, and of one place: what is held elsewhere counts, too, where it is a
/// tile's.
bool is_better(const emit::RegisterLack& now, const emit::RegisterLack& before) {
  return now.registers < before.registers ||
         (now.registers == before.registers && now.held + kTile <= before.held);
}

class OrderSearch {
 public:
  OrderSearch(const MadeProgram& made, const LackOf& lack_of)
      : made_(made), lack_of_(lack_of), longest_(total(made.program)) {}

  std::optional<StatementOrder> run() {
    auto lack = lack_of_(made_.program);
    if (!lack) return std::nullopt;
    StatementOrder best{made_.program, {}, std::move(*lack)};
    while (static_cast<int>(best.moves.size()) < kMostMoves && best.lack.registers > 0)
      if (!improve(best)) break;
    if (best.moves.empty()) return std::nullopt;
    return best;
  }

 private:
  struct Candidate {
    Program program;
    std::string move;
    emit::RegisterLack lack;
  };

  /// The move that leaves the least lacking.
  bool improve(StatementOrder& best) const {
    std::vector<Candidate> candidates;
    for (int from = 0; from < static_cast<int>(best.program.ops.size()); ++from) {
      const int slot = best.program.ops[at(from)].slot;
      const auto& slots = best.lack.slots;
      if (std::find(slots.begin(), slots.end(), slot) == slots.end()) continue;
      if (!by_threads(best.program.ops[at(from)])) continue;
      for (const int step : {-1, 1})
        for (int to = from + step;
             may_pass(best.program, slot, to) && std::abs(to - from) <= kFarthest; to += step)
          if (step < 0 || to > from + 1)  // (one place on is the next one's place back)
            try_move(best, from, to, candidates);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return lacking_first(a.lack) < lacking_first(b.lack);
                     });
    for (Candidate& one : candidates) {
      if (program::judge(one.program) || total(one.program) > longest_) continue;
      best.program = std::move(one.program);
      best.moves.push_back(std::move(one.move));
      best.lack = std::move(one.lack);
      return true;
    }
    return false;
  }

  static bool may_pass(const Program& p, int slot, int op) {
    return op >= 0 && op < static_cast<int>(p.ops.size()) && p.ops[at(op)].slot == slot &&
           by_threads(p.ops[at(op)]);
  }

  void try_move(const StatementOrder& best, int from, int to, std::vector<Candidate>& all) const {
    Candidate one{moved(best.program, from, to), "", {}};
    auto lack = lack_of_(one.program);
    if (!lack || !is_better(*lack, best.lack)) return;
    one.lack = std::move(*lack);
    const auto& ops = best.program.ops;
    one.move = from > to ? ops[at(from)].id + " before " + ops[at(to)].id
                         : ops[at(from)].id + " behind " + ops[at(to)].id;
    all.push_back(std::move(one));
  }

  /// Cycles of a run.
  Cycle total(const Program& p) const {
    const program::Clock clock(p, made_.problem, *made_.solution.schedule, kIterations,
                               program::UnitOrder::arrival);
    return clock.run(made_.barriers.value_or(BarrierCosts{})).total;
  }

  const MadeProgram& made_;
  const LackOf& lack_of_;
  Cycle longest_;
};

}  // namespace

std::optional<StatementOrder> ordered_for_registers(const MadeProgram& made,
                                                    const LackOf& lack_of) {
  return OrderSearch(made, lack_of).run();
}

}  // namespace twill
