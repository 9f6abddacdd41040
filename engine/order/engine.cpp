#include "engine/order/order.hpp"

namespace twill {
namespace {

class OrderEngine : public Engine {
 public:
  const char* name() const override { return "order"; }
  Answer ask(const Search& search, Cycle ii, Cycle stage_limit, Cycle&) const override {
    return order::ask_complete(search, ii, stage_limit);
  }
  Interval smallest_interval(const Search& search, Cycle low, Cycle stage_limit) const override {
    return order::smallest_interval(search, low, stage_limit);
  }
  Shortest shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high, Cycle stage_limit,
                           const std::function<void(const Schedule&)>& found) const override {
    return order::shortest_within(search, ii, low, high, stage_limit, found);
  }
  void shorten(const Search&, Schedule&, Cycle, Cycle) const override {}
};

}  // namespace

const Engine& order_engine() {
  static const OrderEngine engine;
  return engine;
}

}  // namespace twill
