// Waits that count what may be left in flight, at every trip count, beside a queue: what is waited
// for has ended.
#include "graph/emit/in_flight.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "graph/emit/cut_code.hpp"
#include "graph/index.hpp"
#include "tests/support/random_loop.hpp"

namespace in_flight_test {

using namespace twill;
using emit::CutCode;
using emit::Iteration;
using emit::Step;
using test::pick;
using test::Random;

namespace {

/// One slot whose ops all go on after their issue, and waits for what was issued before.
program::Program random_program(Random& random) {
  program::Program p;
  p.slots.resize(1);
  const int ops = pick(random, 2, 5);
  for (int v = 0; v < ops; ++v) {
    program::Op op;
    op.stage = pick(random, 0, 3);
    p.ops.push_back(op);
    p.events.push_back({v, {}, true, false, 0, 0, 0});
  }
  for (int v = 0; v < ops; ++v)
    for (int k = pick(random, 0, 2); k > 0; --k) {
      const int of = pick(random, 0, ops - 1);
      const int after = p.ops[at(v)].stage - p.ops[at(of)].stage;  // periods, of one iteration
      p.waits.push_back({v, of, std::max(0, (of < v ? 0 : 1) - after) + pick(random, 0, 1),
                         program::Need::raw, -1});
    }
  return p;
}

struct Flight {
  int op = 0, iteration = 0;
  bool certain = true;
  bool operator==(const Flight&) const = default;
};

std::vector<Flight> moved(std::vector<Flight> all, int by) {
  for (Flight& one : all) one.iteration -= by;
  return all;
}

/// How many each wait of the steps leaves, -1 = it is not written; `all` goes on.
std::vector<int> counts(const program::Program& p, const std::vector<Step>& steps,
                        std::vector<Flight>& all) {
  std::vector<int> left;
  for (const Step& step : steps) {
    if (!step.is_wait) {
      all.push_back({step.index, step.iteration.offset});
      continue;
    }
    const int op = p.events[at(p.waits[at(step.index)].event)].op;
    const auto found = std::find_if(all.begin(), all.end(), [&](const Flight& one) {
      return one.op == op && one.iteration == step.iteration.offset;
    });
    left.push_back(-1);
    if (found == all.end()) continue;
    const emit::EndOfFlights end =
        emit::end_of_flights(all, static_cast<std::size_t>(found - all.begin()));
    left.back() = static_cast<int>(end.left);
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(end.ended));
  }
  return left;
}

/// The queue of the machine: what is in flight, and whether all waits have ended what they name.
class Machine {
 public:
  explicit Machine(const program::Program& p) : p_(p) {}

  void leave(std::size_t count) {
    if (queue_.size() > count)
      queue_.erase(queue_.begin(), queue_.end() - static_cast<std::ptrdiff_t>(count));
  }

  bool run(const std::vector<Step>& steps, const std::vector<int>& left, int base) {
    std::size_t wait = 0;
    for (const Step& step : steps) {
      const int iteration = step.iteration.offset + base;
      if (!step.is_wait) {
        queue_.push_back({step.index, iteration});
        continue;
      }
      const int count = left[wait++];
      if (count >= 0) leave(static_cast<std::size_t>(count));
      const int op = p_.events[at(p_.waits[at(step.index)].event)].op;
      if (std::find(queue_.begin(), queue_.end(), Flight{op, iteration}) != queue_.end())
        return false;
    }
    return true;
  }

 private:
  const program::Program& p_;
  std::vector<Flight> queue_;
};

}  // namespace

TEST_CASE("a wait that counts ends what it is for in every iteration, the first one too") {
  Random random(4);
  int doubtful = 0, ends = 0;
  for (int k = 0; k < 4000; ++k) {
    const program::Program p = random_program(random);
    int items = static_cast<int>(p.ops.size() + p.waits.size());
    const CutCode cut = emit::cut_code(p, 0, pick(random, 0, items - 1));
    std::vector<Flight> entry;
    const std::vector<int> before = counts(p, cut.code.prologue, entry);
    std::vector<Flight> begin = entry;
    std::vector<int> steady;
    bool same = false;
    for (int round = 0; round < 8 && !same; ++round) {
      std::vector<Flight> all = begin;
      steady = counts(p, cut.code.steady, all);
      all = moved(all, 1);
      emit::mark_certain(all, entry);
      same = all == begin;
      begin = all;
    }
    // (What nobody waits for does not settle: the printers refuse it.)
    if (!same) continue;
    for (const Flight& one : begin) doubtful += one.certain ? 0 : 1;
    const auto ended = emit::last_of_first_alone(entry, begin);
    const std::size_t kept = ended ? emit::end_of_flights(entry, *ended).left : entry.size();
    ends += ended ? 1 : 0;
    std::vector<Flight> after = moved(begin, cut.code.depth);
    const std::vector<int> last = counts(p, cut.code.epilogue, after);
    for (int n = cut.code.depth; n <= cut.code.depth + 5; ++n) {
      Machine machine(p);
      REQUIRE(machine.run(cut.code.prologue, before, 0));
      machine.leave(kept);
      for (int i = 0; i < n - cut.code.depth; ++i) REQUIRE(machine.run(cut.code.steady, steady, i));
      REQUIRE(machine.run(cut.code.epilogue, last, n));
    }
  }
  CHECK(doubtful > 300);
  CHECK(ends > 100);
}

}  // namespace in_flight_test
