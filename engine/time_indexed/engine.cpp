#include "engine/time_indexed/time_indexed.hpp"

namespace twill {
namespace {

class TimeIndexedEngine : public Engine {
 public:
  const char* name() const override { return "time_indexed"; }
  Answer ask(const Search& search, Cycle ii, Cycle& max_stages) const override {
    return time_indexed::ask_complete(search, ii, max_stages);
  }
  Interval smallest_interval(const Search& search, Cycle low) const override {
    return time_indexed::smallest_interval(search, low);
  }
  LengthResult shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high,
                               const std::function<void(const Schedule&)>& found) const override {
    return time_indexed::shortest_within(search, ii, low, high, 0, found);
  }
  void shorten(const Search& search, Schedule& best, Cycle low) const override {
    time_indexed::shorten_by_coarse(search, best, low);
  }
};

}  // namespace

const Engine& time_indexed_engine() {
  static const TimeIndexedEngine engine;
  return engine;
}

}  // namespace twill
