// The branch and bound over orders: which branches a node has. The head of modulo_schedule.cpp says
// why these are enough.
#include <algorithm>
#include <numeric>

#include "graph/branch_and_bound/modulo_node.hpp"

namespace twill::modulo {

std::vector<Decision> Node::branches() const {
  std::vector<Decision> result = pair_branches();
  for (const int f : instance_.shared_units())
    if (result.empty()) result = copy_branches(f);
  return result;
}

std::vector<Decision> Node::pair_branches() const {
  Cycle worst = 0, second = 0;
  std::vector<Decision> result;
  for (int x = 0; x < instance_.size(); ++x) {
    for (int y = x + 1; y < instance_.size(); ++y) {
      if (!instance_.constrained(x, y)) continue;
      const Cycle difference = start(y) - start(x);
      const Cycle above = instance_.round_up(x, y, difference);
      if (above == difference) continue;
      const Cycle below = -instance_.round_up(y, x, -difference);
      const Cycle up = above - difference, down = difference - below;
      const Cycle cheap = std::min(up, down), dear = std::max(up, down);
      if (cheap < worst || (cheap == worst && dear <= second)) continue;
      worst = cheap;
      second = dear;
      result = {{x, y, above}, {y, x, -below}};
      if (down < up) std::swap(result[0], result[1]);
    }
  }
  return result;
}

std::vector<Node::Copy> Node::copies_at(int unit, Cycle instant) const {
  std::vector<Copy> copies;
  const Cycle ii = instance_.ii();
  for (int x = 0; x < instance_.size(); ++x) {
    for (const Reservation& r : instance_.problem().ops[at(instance_.op(x))].reservations) {
      if (r.unit != unit) continue;
      const Cycle begin = start(x) + r.offset;
      // The last iteration that has begun by the instant, and those before it still running.
      Cycle shift =
          instant - begin >= 0 ? (instant - begin) / ii : -((begin - instant + ii - 1) / ii);
      for (; begin + shift * ii + r.length > instant; --shift)
        copies.push_back({x, r.offset + shift * ii, r.offset + shift * ii + r.length, r.amount});
    }
  }
  return copies;
}

std::vector<Decision> Node::copy_branches(int unit) const {
  const Amount capacity = instance_.problem().units[at(unit)].capacity;
  const auto total = [](const std::vector<Copy>& copies) {
    return std::accumulate(copies.begin(), copies.end(), Amount{0},
                           [](Amount sum, const Copy& c) { return sum + c.amount; });
  };
  for (int x = 0; x < instance_.size(); ++x) {
    for (const Reservation& r : instance_.problem().ops[at(instance_.op(x))].reservations) {
      if (r.unit != unit) continue;
      // Usage is largest where some segment begins.
      std::vector<Copy> copies = copies_at(unit, start(x) + r.offset);
      Amount used = total(copies);
      if (used <= capacity) continue;
      std::stable_sort(copies.begin(), copies.end(),
                       [](const Copy& a, const Copy& b) { return a.amount < b.amount; });
      for (std::size_t i = 0; i < copies.size();) {  // leave out what is not needed
        if (used - copies[i].amount > capacity) {
          used -= copies[i].amount;
          copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          ++i;
        }
      }
      return order_copies(copies);
    }
  }
  return {};
}

std::vector<Decision> Node::order_copies(const std::vector<Copy>& copies) const {
  std::vector<std::pair<Cycle, Decision>> ranked;
  for (const Copy& a : copies) {
    for (const Copy& b : copies) {
      if (a.x == b.x) continue;
      // M(b.x) + b.begin >= M(a.x) + a.end
      const Decision d{a.x, b.x, a.end - b.begin};
      ranked.emplace_back(d.gap - (start(b.x) - start(a.x)), d);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Decision> result;
  for (const auto& [cost, d] : ranked) result.push_back(d);
  return result;
}

}  // namespace twill::modulo
