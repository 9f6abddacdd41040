#include "graph/program/orders.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/program/placement.hpp"

namespace twill::program {
namespace {

class Collector {
 public:
  explicit Collector(const Draft& draft) : draft_(draft) {}

  std::vector<Order> run() {
    const auto& storages = draft_.program.storages;
    for (int s = 0; s < static_cast<int>(storages.size()); ++s) {
      const int w = draft_.writer[at(s)];
      const std::int64_t depth = storages[at(s)].depth;
      for (const Reader& r : draft_.readers[at(s)]) {
        add(w, r.op, r.distance, Need::raw, s);
        add(r.op, w, depth - r.distance, Need::war, s);
      }
      add(w, w, depth, Need::waw, s);
      for (const int t : storages[at(s)].shares) overlay(s, t);
    }
    if (draft_.turns) turns();
    const auto key = [](const Order& o) { return std::tuple(o.then, o.first, o.offset, o.need); };
    std::stable_sort(orders_.begin(), orders_.end(),
                     [&](const Order& a, const Order& b) { return key(a) < key(b); });
    const auto same = [](const Order& a, const Order& b) {
      return std::tie(a.then, a.first, a.offset) == std::tie(b.then, b.first, b.offset);
    };
    orders_.erase(std::unique(orders_.begin(), orders_.end(), same), orders_.end());
    return std::move(orders_);
  }

 private:
  /// What uses a copy of s before what writes the next copy of t at its place.
  void overlay(int s, int t) {
    const Storage &a = draft_.program.storages[at(s)], &b = draft_.program.storages[at(t)];
    const bool same = a.base == b.base && a.size == b.size && a.depth == b.depth;
    const auto sharing = can_share(draft_, s, t, same);
    if (!sharing) return;  // place() shares nothing else
    const int w = draft_.writer[at(t)];
    // In the loop's middle the next copy of t is enough: the ones after it come after the copies of
    // s and t in between. Where both ends of the loop are near, these may all be missing: s[0] and
    // t[0] are then neighbours, however many lie between them by the schedule.
    const std::int64_t depth = a.depth;
    for (std::int64_t later = 0; later <= std::abs(sharing->offset) + 2 * depth; later += depth) {
      const std::int64_t offset = sharing->offset + later;
      add(draft_.writer[at(s)], w, offset, Need::overlay, s);
      for (const Reader& r : draft_.readers[at(s)])
        add(r.op, w, offset - r.distance, Need::overlay, s);
      if (sharing->offset == 0 || sharing->offset == depth) break;  // s and t take turns from 0 on
    }
  }

  /// Who follows whom on a unit, round a period; where the schedule has the end of the one before
  /// the issue of the other.
  void turns() {
    const Problem& problem = *draft_.loop.problem;
    const Cycle ii = draft_.program.initiation_interval;
    for (int unit = 0; unit < static_cast<int>(problem.units.size()); ++unit) {
      if (problem.units[at(unit)].capacity != 1) continue;
      std::vector<std::tuple<Cycle, int, Cycle>> segments;  // row, op of the program, start
      for (int v = 0; v < static_cast<int>(draft_.source.size()); ++v) {
        const int u = draft_.source[at(v)];
        for (const Reservation& r : problem.ops[at(u)].reservations) {
          const Cycle begin = draft_.loop.start(u) + r.offset;
          if (r.unit == unit) segments.emplace_back(begin % ii, v, begin);
        }
      }
      std::sort(segments.begin(), segments.end());
      for (std::size_t k = 0; k < segments.size(); ++k) {
        const auto& [row, first, begin] = segments[k];
        const auto& [next_row, then, next] = segments[(k + 1) % segments.size()];
        if (first == then || draft_.needless_turns.contains({first, then})) continue;
        const std::int64_t offset = ceil_divide(begin - next, ii);
        if (draft_.order_offset(first, then) <= offset) add(first, then, offset, Need::turn, -1);
      }
    }
  }

  void add(int first, int then, std::int64_t offset, Need need, int storage) {
    if (first == then && offset <= 0) return;  // an accumulator reads and writes at once
    const LoopView& loop = draft_.loop;
    if (draft_.ordered_by_slot(first, then) &&
        loop.issue_offset(draft_.source[at(first)], draft_.source[at(then)]) <= offset)
      return;
    orders_.push_back({first, then, offset, need, storage});
  }

  const Draft& draft_;
  std::vector<Order> orders_;
};

}  // namespace

std::vector<Order> orders_of(const Draft& draft) {
  return Collector(draft).run();
}

}  // namespace twill::program
