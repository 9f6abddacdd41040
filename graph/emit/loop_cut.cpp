#include "graph/emit/loop_cut.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "graph/emit/cut_code.hpp"
#include "graph/emit/register_pressure.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

class LoopCut {
 public:
  LoopCut(const Plan& plan, int slot) : plan_(plan), legal_(plan.legal.program), slot_(slot) {}

  int find() const {
    const int wanted = cut_of_slot(plan_, slot_);
    if (plan_.legal.target != Target::hopper || in_flight(code(wanted)).empty()) return wanted;
    const std::vector<Item> items = code(0).items;
    const auto cost = [&](int cut) {
      const CutCode one = code(cut);
      return std::tuple(in_doubt(one), in_flight(one).size(), one.code.depth);
    };
    int best = wanted;
    auto least = cost(wanted);
    for (int cut = 0; cut < static_cast<int>(items.size()); ++cut) {
      if (cuts_group(items, cut)) continue;
      const auto here = cost(cut);
      if (here >= least) continue;
      best = cut;
      least = here;
    }
    return best;
  }

 private:
  CutCode code(int cut) const { return cut_code(legal_, slot_, cut, plan_.tiles()); }

  bool is_product(int op) const {
    const int source = plan_.legal.source[at(op)];
    if (source < 0 || plan_.legal.release_of[at(op)] >= 0) return false;
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
    bool operator==(const Product&) const = default;
  };

  /// Products in flight where the loop begins again, each wait ending no more than it has to.
  std::vector<Product> in_flight(const CutCode& code) const {
    std::vector<Product> all, before;
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      before = all;
      for (const Step& step : code.code.steady) {
        const int op =
            step.is_wait ? legal_.events[at(legal_.waits[at(step.index)].event)].op : step.index;
        if (!step.is_wait && is_product(op)) all.push_back({op, step.iteration.offset});
        if (!step.is_wait || !legal_.events[at(legal_.waits[at(step.index)].event)].pending)
          continue;
        const auto ended = std::find(all.begin(), all.end(), Product{op, step.iteration.offset});
        if (ended != all.end()) all.erase(all.begin(), ended + 1);
      }
      for (Product& one : all) --one.iteration;
      if (all == before) break;
    }
    return all;
  }

  /// Is there one among them of an iteration before the first?
  bool in_doubt(const CutCode& code) const {
    const std::vector<Product> all = in_flight(code);
    return std::any_of(all.begin(), all.end(),
                       [](const Product& one) { return one.iteration < 0; });
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
