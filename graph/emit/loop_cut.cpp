#include "graph/emit/loop_cut.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "graph/emit/cut_code.hpp"
#include "graph/emit/in_flight.hpp"
#include "graph/emit/register_pressure.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

/// Registers a thread that a slot holds beside its products before ptxas lacks some for a factor
/// that is held over the loop's end, too. (13.4: at 164 it ended each product before the next one,
/// C7512; a loop that begins elsewhere compiles. bench/results/emission.md.)
constexpr Amount kManyHeld = 144;

class LoopCut {
 public:
  LoopCut(const Plan& plan, int slot) : plan_(plan), legal_(plan.legal.program), slot_(slot) {}

  CutCode find() const {
    const int cut = place();
    CutCode found = code(cut);
    if (plan_.legal.target != Target::hopper || offences(found).empty()) return found;
    const std::vector<Item> items = code(0).items;
    const std::vector<bool> light = light_cuts(plan_, slot_);
    auto least = std::tuple(true, items.size() * items.size(), true, 0);
    for (int other = 0; other < static_cast<int>(items.size()); ++other) {
      if (cuts_group(items, other)) continue;
      const std::optional<std::vector<EarlierWait>> earlier = mended(other);
      if (!earlier) continue;
      const CutCode one = code(other, *earlier);
      const auto here =
          std::tuple(in_doubt(one), passed(other, *earlier), !light[at(other)], one.code.depth);
      if (here >= least) continue;
      least = here;
      found = one;
    }
    return found;
  }

 private:
  int place() const {
    const int wanted = cut_of_slot(plan_, slot_);
    if (plan_.legal.target != Target::hopper) return wanted;
    const CutCode first = code(wanted);
    const std::size_t flights = moved_flights(first);
    const bool doubt = in_doubt(first), factor = lacks_registers(first);
    if (flights == 0 && !doubt && !factor) return wanted;
    const std::vector<Item> items = code(0).items;
    const std::vector<bool> light = light_cuts(plan_, slot_);
    int best = wanted;
    auto least = std::tuple(doubt, flights + (factor ? 1 : 0), first.code.depth);
    for (int cut = 0; cut < static_cast<int>(items.size()); ++cut) {
      if (cuts_group(items, cut)) continue;
      const CutCode one = code(cut);
      const auto here = std::tuple(in_doubt(one), moved_flights(one), one.code.depth);
      if (here >= least) continue;
      // (Where nothing is in doubt it must end all, and cost neither registers nor a stage of
      // code; but a first stage, to hold no factor.)
      if (factor && (std::get<1>(here) > 0 || factor_in_flight(one) ||
                     one.code.depth > std::max(1, first.code.depth)))
        continue;
      if (!factor && !doubt &&
          (std::get<1>(here) > 0 || !light[at(cut)] || one.code.depth > first.code.depth))
        continue;
      best = cut;
      least = here;
    }
    return best;
  }

  CutCode code(int cut, const std::vector<EarlierWait>& earlier = {}) const {
    return cut_code(legal_, slot_, cut, plan_.tiles(), earlier);
  }

  /// The waits that make the code one of which ptxas ends no product early; nullopt = none are
  /// known.
  std::optional<std::vector<EarlierWait>> mended(int cut) const {
    std::vector<EarlierWait> all;
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<EarlierWait> more = offences(code(cut, all));
      if (more.empty()) return all;
      for (const EarlierWait& one : more) {
        if (!can_stand(code(cut, all).items, one)) return std::nullopt;
        all.push_back(one);
      }
    }
    return std::nullopt;
  }

  /// How many ops of the slot the waits pass on their way to their places.
  std::size_t passed(int cut, const std::vector<EarlierWait>& earlier) const {
    std::size_t sum = 0;
    std::vector<EarlierWait> before;
    for (const EarlierWait& one : earlier) {
      const std::vector<Item> items = code(cut, before).items;
      const auto to = one.before < 0 ? items.begin() : op_in(items, one.before);
      sum += static_cast<std::size_t>(std::count_if(
          to, wait_in(items, one.wait), [](const Item& item) { return !item.is_wait; }));
      before.push_back(one);
    }
    return sum;
  }

  using Place = std::vector<Item>::const_iterator;
  static Place wait_in(const std::vector<Item>& items, int wait) {
    return std::find_if(items.begin(), items.end(),
                        [&](const Item& item) { return item.is_wait && item.index == wait; });
  }
  static Place op_in(const std::vector<Item>& items, int op) {
    return std::find_if(items.begin(), items.end(),
                        [&](const Item& item) { return !item.is_wait && item.index == op; });
  }

  /// Is the new place before the old one, and what is waited for issued before it?
  bool can_stand(const std::vector<Item>& items, const EarlierWait& earlier) const {
    const Place from = wait_in(items, earlier.wait);
    const program::Wait& wait = legal_.waits[at(earlier.wait)];
    const Place product = op_in(items, legal_.events[at(wait.event)].op);
    // Periods from the issue to the wait.
    const int periods = from->lag + wait.offset - product->lag;
    if (earlier.before < 0) return periods >= 1;
    const Place to = op_in(items, earlier.before);
    return to < from && (periods >= 1 || product < to);
  }

  /// Do threads read the product's result in the loop? (What adds to it is a product.)
  bool read_by_threads(int op) const {
    const int v = plan_.links.result[at(plan_.legal.source[at(op)])];
    for (std::size_t w = 0; w < plan_.links.values.size(); ++w)
      for (const int user : plan_.links.values[w]) {
        const meaning::Value& value = plan_.meaning->values[at(user)];
        const bool product = value.function == meaning::Function::product;
        for (std::size_t k = 0; k < value.operands.size(); ++k)
          if (value.operands[k].value == v && !(product && k == 2)) return true;
      }
    return false;
  }

  /// Is the left factor in the slot's registers?
  bool left_in_registers(int op) const {
    const int given = plan_.legal.source[at(op)];
    const meaning::Operand& left =
        plan_.meaning->values[at(plan_.links.result[at(given)])].operands[0];
    if (left.value < 0 || !plan_.meaning->in_loop(left.value)) return false;
    const int from = plan_.op_of(left.value);
    if (from < 0) return false;
    const auto storages = program::storages_read(*plan_.given, given, from, left.distance);
    return std::any_of(storages.begin(), storages.end(),
                       [&](int s) { return plan_.in_registers(s); });
  }

  /// The waits that would have to stand earlier, and where.
  std::vector<EarlierWait> offences(const CutCode& code) const {
    std::vector<EarlierWait> all;
    std::vector<Product> flights = in_flight(code);
    std::vector<int> overwritten(flights.size(), -1);  // what writes their factor again
    std::size_t older = flights.size();                // the first so many are of iterations before
    for (const Step& step : code.code.steady) {
      if (!step.is_wait) {
        if (!is_product(step.index)) continue;
        if (left_in_registers(step.index))
          for (std::size_t k = 0; k < flights.size(); ++k)
            if (flights[k].op == step.index && overwritten[k] < 0) overwritten[k] = step.index;
        flights.push_back({step.index, step.iteration.offset});
        overwritten.push_back(-1);
        continue;
      }
      const std::size_t last = waited_for(step, flights);
      if (last == flights.size()) continue;
      const bool some_left = end_of_flights(flights, last).left > 0;
      for (std::size_t k = 0; k <= last; ++k) {
        EarlierWait one{step.index, overwritten[k]};
        if (one.before < 0 && !(k < older && some_left && read_by_threads(flights[k].op))) continue;
        if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
      }
      const auto ended = static_cast<std::ptrdiff_t>(last + 1);
      flights.erase(flights.begin(), flights.begin() + ended);
      overwritten.erase(overwritten.begin(), overwritten.begin() + ended);
      older -= std::min(older, last + 1);
    }
    return all;
  }

  bool is_product(int op) const {
    const int source = plan_.legal.source[at(op)];
    if (source < 0 || plan_.legal.release_of[at(op)] >= 0 || plan_.legal.by_warps[at(source)])
      return false;
    return plan_.meaning->values[at(plan_.links.result[at(source)])].function ==
           meaning::Function::product;
  }

  /// Does a group of ops that is written as one go on behind the cut?
  bool cuts_group(const std::vector<Item>& items, int cut) const {
    if (cut == 0 || items[at(cut)].is_wait || items[at(cut - 1)].is_wait) return false;
    return std::any_of(plan_.legal.fused.begin(), plan_.legal.fused.end(), [&](const auto& ops) {
      return std::count(ops.begin(), ops.end(), items[at(cut)].index) > 0 &&
             std::count(ops.begin(), ops.end(), items[at(cut - 1)].index) > 0;
    });
  }

  struct Product {
    int op = 0, iteration = 0;  ///< seen from the loop's variable
    bool certain = true;        ///< false: of an iteration before the first
    bool operator==(const Product&) const = default;
  };

  /// Which of those in flight the step waits for; their number = for none.
  std::size_t waited_for(const Step& step, const std::vector<Product>& all) const {
    const program::Event& event = legal_.events[at(legal_.waits[at(step.index)].event)];
    if (!event.pending) return all.size();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Product& one) {
      return one.op == event.op && one.iteration == step.iteration.offset;
    });
    return static_cast<std::size_t>(found - all.begin());
  }

  /// One iteration of the loop, each wait ending no more than it has to; is there a wait that ends
  /// more than it would if all were certain?
  bool run(const CutCode& code, std::vector<Product>& all) const {
    bool more = false;
    for (const Step& step : code.code.steady) {
      if (!step.is_wait) {
        if (is_product(step.index)) all.push_back({step.index, step.iteration.offset});
        continue;
      }
      const std::size_t last = waited_for(step, all);
      if (last == all.size()) continue;
      more |= end_of_flights(all, last).left < all.size() - last - 1;
      all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(last + 1));
    }
    for (Product& one : all) one.certain = --one.iteration >= 0;
    return more;
  }

  /// Products in flight where the loop begins again.
  std::vector<Product> in_flight(const CutCode& code) const {
    std::vector<Product> all, before;
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      before = all;
      run(code, all);
      if (all == before) break;
    }
    return all;
  }

  /// How many of them have a result that is made anew in every iteration: where the loop begins
  /// again it may be moved into other registers. (What only adds to itself stays where it is.)
  std::size_t moved_flights(const CutCode& code) const {
    const std::vector<Product> all = in_flight(code);
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const Product& one) {
      const int v = plan_.links.result[at(plan_.legal.source[at(one.op)])];
      const auto& operands = plan_.meaning->values[at(v)].operands;
      return operands.size() < 3 || operands[2].value != v;
    }));
  }

  /// Does a product read its left factor in registers where the loop begins again?
  bool factor_in_flight(const CutCode& code) const {
    const std::vector<Product> all = in_flight(code);
    return std::any_of(all.begin(), all.end(),
                       [&](const Product& one) { return left_in_registers(one.op); });
  }

  /// The same in a slot that holds much beside. (Of a user's function alone: its numbers lie in
  /// registers, those of kernel files are constants, and none of these lacks registers.)
  bool lacks_registers(const CutCode& code) const {
    return plan_.user != nullptr && factor_in_flight(code) &&
           pressure_of_products(plan_, slot_).held >= kManyHeld;
  }

  bool in_doubt(const CutCode& code) const {
    std::vector<Product> all = in_flight(code);
    return run(code, all);
  }

  const Plan& plan_;
  const program::Program& legal_;
  int slot_;
};

}  // namespace

CutCode loop_code(const Plan& plan, int slot) {
  return LoopCut(plan, slot).find();
}

}  // namespace twill::emit
