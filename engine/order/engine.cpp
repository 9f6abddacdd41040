#include "engine/order/order.hpp"

namespace twill {
namespace {

class OrderEngine : public Engine {
 public:
  explicit OrderEngine(bool cadical) : cadical_(cadical) {}
  const char* name() const override { return cadical_ ? "order-cadical" : "order"; }
  Answer ask(const Search& search, Cycle ii, Cycle&) const override {
    return order::ask_complete(search, ii);
  }
  Interval smallest_interval(const Search& search, Cycle low) const override {
    return order::smallest_interval(search, low);
  }
  LengthResult shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high,
                               const std::function<void(const Schedule&)>& found) const override {
    return order::shortest_within(search, ii, low, high, found);
  }
  void shorten(const Search& search, Schedule& best, Cycle low) const override {
    order::shorten(search, best, low);
  }

 private:
  bool cadical_;
};

}  // namespace

const Engine& order_engine() {
  static const OrderEngine engine(false);
  return engine;
}

const Engine& order_cadical_engine() {
  static const OrderEngine engine(true);
  return engine;
}

bool order::through_cadical(const Engine& engine) {
  return &engine == &order_cadical_engine();
}

}  // namespace twill
