#include "graph/emit/loop_cut.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "graph/emit/cut_code.hpp"
#include "graph/emit/in_flight.hpp"
#include "graph/emit/register_pressure.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

class LoopCut {
 public:
  LoopCut(const Plan& plan, int slot) : plan_(plan), legal_(plan.legal.program), slot_(slot) {}

  int find() const {
    const int wanted = cut_of_slot(plan_, slot_);
    if (plan_.legal.target != Target::hopper) return wanted;
    const CutCode first = code(wanted);
    const std::size_t flights = moved_flights(first);
    const bool doubt = in_doubt(first);
    if (flights == 0 && !doubt) return wanted;
    const std::vector<Item> items = code(0).items;
    const std::vector<bool> light = light_cuts(plan_, slot_);
    int best = wanted;
    auto least = std::tuple(doubt, flights, first.code.depth);
    for (int cut = 0; cut < static_cast<int>(items.size()); ++cut) {
      if (cuts_group(items, cut)) continue;
      const CutCode one = code(cut);
      const auto here = std::tuple(in_doubt(one), moved_flights(one), one.code.depth);
      if (here >= least) continue;
      // (Where nothing is in doubt it must end all, and cost neither registers nor a stage of
      // code.)
      if (!doubt && (std::get<1>(here) > 0 || !light[at(cut)] || one.code.depth > first.code.depth))
        continue;
      best = cut;
      least = here;
    }
    return best;
  }

 private:
  CutCode code(int cut) const { return cut_code(legal_, slot_, cut, plan_.tiles()); }

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

  /// One iteration of the loop, each wait ending no more than it has to; is there a wait that ends
  /// more than it would if all were certain?
  bool run(const CutCode& code, std::vector<Product>& all) const {
    bool more = false;
    for (const Step& step : code.code.steady) {
      if (!step.is_wait) {
        if (is_product(step.index)) all.push_back({step.index, step.iteration.offset});
        continue;
      }
      const program::Event& event = legal_.events[at(legal_.waits[at(step.index)].event)];
      const auto found = std::find_if(all.begin(), all.end(), [&](const Product& one) {
        return one.op == event.op && one.iteration == step.iteration.offset;
      });
      if (!event.pending || found == all.end()) continue;
      const auto last = static_cast<std::size_t>(found - all.begin());
      more |= end_of_flights(all, last).left < all.size() - last - 1;
      all.erase(all.begin(), found + 1);
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

  bool in_doubt(const CutCode& code) const {
    std::vector<Product> all = in_flight(code);
    return run(code, all);
  }

  const Plan& plan_;
  const program::Program& legal_;
  int slot_;
};

}  // namespace

int loop_cut(const Plan& plan, int slot) {
  return LoopCut(plan, slot).find();
}

}  // namespace twill::emit
