#include "tests/support/shrink.hpp"

#include <type_traits>
#include <vector>

#include "graph/check.hpp"

namespace twill::test {
namespace {

template <class T>
void erase_at(std::vector<T>& items, std::size_t i) {
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
}

/// After element `removed` went, later indices move down. False: this index pointed to it.
bool renumber(int& index, int removed) {
  if (index == removed) return false;
  if (index > removed) --index;
  return true;
}

class Shrinker {
 public:
  Shrinker(Problem problem, const std::function<bool(const Problem&)>& still_fails)
      : best_(std::move(problem)), still_fails_(still_fails) {}

  Problem run() {
    do {
      progress_ = false;
      drop_ops();
      drop_parts();
      drop_machine();
      simplify();
    } while (progress_);
    return best_;
  }

 private:
  bool accept(const Problem& candidate) {
    try {
      check(candidate);
    } catch (const InputError&) {
      return false;
    }
    if (!still_fails_(candidate)) return false;
    best_ = candidate;
    progress_ = true;
    return true;
  }

  /// Tries change(candidate, i) for all i below size(best_), from the last: dropping i then leaves
  /// the numbers of those that are still to be tried.
  template <class Size, class Change>
  void each(Size size, Change change) {
    for (std::size_t i = size(best_); i-- > 0;) {
      if (i >= size(best_)) continue;
      Problem candidate = best_;
      if (change(candidate, i)) accept(candidate);
    }
  }

  void drop_ops() {
    each([](const Problem& p) { return p.ops.size(); },
         [](Problem& p, std::size_t v) {
           erase_at(p.ops, v);
           std::erase_if(p.edges, [&](Edge& edge) {
             return !renumber(edge.from, static_cast<int>(v)) ||
                    !renumber(edge.to, static_cast<int>(v));
           });
           for (InnerLoop& loop : p.inner_loops)
             std::erase_if(loop.parts, [&](InnerPart& part) {
               return !renumber(part.op, static_cast<int>(v));
             });
           std::erase_if(p.inner_loops, [](const InnerLoop& loop) { return loop.parts.empty(); });
           std::erase_if(p.pins, [&](Pin& pin) {
             return !renumber(pin.op, static_cast<int>(v)) ||
                    (pin.other >= 0 && !renumber(pin.other, static_cast<int>(v)));
           });
           return true;
         });
  }

  void drop_parts() {
    each([](const Problem& p) { return p.edges.size(); },
         [](Problem& p, std::size_t i) { return erase_at(p.edges, i), true; });
    each([](const Problem& p) { return p.inner_loops.size(); },
         [](Problem& p, std::size_t i) { return erase_at(p.inner_loops, i), true; });
    for (std::size_t k = 0; k < best_.inner_loops.size(); ++k)
      each([&](const Problem& p) { return p.inner_loops[k].parts.size(); },
           [&](Problem& p, std::size_t i) { return erase_at(p.inner_loops[k].parts, i), true; });
    each([](const Problem& p) { return p.pins.size(); },
         [](Problem& p, std::size_t i) { return erase_at(p.pins, i), true; });
    for (std::size_t v = 0; v < best_.ops.size(); ++v) {
      each([v](const Problem& p) { return p.ops[v].traffic.size(); },
           [v](Problem& p, std::size_t i) { return erase_at(p.ops[v].traffic, i), true; });
      each([v](const Problem& p) { return p.ops[v].reservations.size(); },
           [v](Problem& p, std::size_t i) { return erase_at(p.ops[v].reservations, i), true; });
      each([v](const Problem& p) { return p.ops[v].footprints.size(); },
           [v](Problem& p, std::size_t i) { return erase_at(p.ops[v].footprints, i), true; });
    }
  }

  void drop_machine() {
    each([](const Problem& p) { return p.units.size(); },
         [](Problem& p, std::size_t f) {
           erase_at(p.units, f);
           for (Op& op : p.ops)
             for (Reservation& r : op.reservations)
               if (!renumber(r.unit, static_cast<int>(f))) return false;
           return true;
         });
    each([](const Problem& p) { return p.memories.size(); },
         [](Problem& p, std::size_t m) {
           erase_at(p.memories, m);
           for (Op& op : p.ops)
             for (Footprint& footprint : op.footprints)
               if (!renumber(footprint.memory, static_cast<int>(m))) return false;
           return true;
         });
    each([](const Problem& p) { return p.channels.size(); },
         [](Problem& p, std::size_t c) {
           erase_at(p.channels, c);
           for (Op& op : p.ops)
             std::erase_if(op.traffic,
                           [&](Traffic& t) { return !renumber(t.channel, static_cast<int>(c)); });
           return true;
         });
    each([](const Problem& p) { return p.warps.size(); },
         [](Problem& p, std::size_t w) {
           erase_at(p.warps, w);
           std::erase_if(p.pins, [&](Pin& pin) {
             return (pin.kind == Pin::on_slot || pin.kind == Pin::not_on_slot) &&
                    !renumber(pin.slot, static_cast<int>(w));
           });
           return true;
         });
  }

  /// The next smaller values to try for a number or flag: the least, half, one less.
  template <class T>
  static std::vector<T> smaller(T value, T least) {
    std::vector<T> values;
    if constexpr (std::is_same_v<T, bool>) {
      if (value) values.push_back(false);
    } else {
      if (value > least) values.push_back(least);
      if (value / 2 > least) values.push_back(value / 2);
      if (value - 1 > least && value - 1 != value / 2) values.push_back(value - 1);
    }
    return values;
  }

  /// `field(problem)` is a reference to a number or flag of a problem.
  template <class Field>
  void lower(Field field,
             std::remove_reference_t<std::invoke_result_t<Field, Problem&>> least = {}) {
    for (bool lowered = true; lowered;) {
      lowered = false;
      for (const auto value : smaller(field(best_), least)) {
        Problem candidate = best_;
        field(candidate) = value;
        lowered = accept(candidate);
        if (lowered) break;
      }
    }
  }

  template <class Field>
  void lower_fraction(Field field, Amount least) {
    lower([&](Problem& p) -> Amount& { return field(p).numerator; }, least);
    lower([&](Problem& p) -> Amount& { return field(p).denominator; }, 1);
  }

  void simplify() {
    for (std::size_t v = 0; v < best_.ops.size(); ++v) {
      const auto op = [v](Problem& p) -> Op& { return p.ops[v]; };
      lower([&](Problem& p) -> bool& { return op(p).streaming; });
      lower([&](Problem& p) -> bool& { return op(p).in_flight; });
      lower([&](Problem& p) -> bool& { return op(p).variable_latency; });
      lower([&](Problem& p) -> int& { return op(p).width; }, 1);
      lower([&](Problem& p) -> Cycle& { return op(p).spill; });
      lower([&](Problem& p) -> Amount& { return op(p).registers; });
      for (std::size_t i = 0; i < best_.ops[v].footprints.size(); ++i)
        lower([&](Problem& p) -> Amount& { return op(p).footprints[i].amount; });
      for (std::size_t i = 0; i < best_.ops[v].reservations.size(); ++i) {
        const auto r = [&, i](Problem& p) -> Reservation& { return op(p).reservations[i]; };
        lower([&](Problem& p) -> Cycle& { return r(p).offset; });
        lower([&](Problem& p) -> Cycle& { return r(p).length; }, 1);
        lower([&](Problem& p) -> Amount& { return r(p).amount; }, 1);
      }
      for (std::size_t i = 0; i < best_.ops[v].traffic.size(); ++i)
        lower_fraction([&, i](Problem& p) -> Fraction& { return op(p).traffic[i].amount; }, 0);
      lower([&](Problem& p) -> Cycle& { return op(p).cycles; });
      if (best_.ops[v].kind.empty()) continue;
      Problem candidate = best_;
      candidate.ops[v].kind.clear();
      accept(candidate);
    }
    for (std::size_t i = 0; i < best_.edges.size(); ++i) {
      const auto edge = [i](Problem& p) -> Edge& { return p.edges[i]; };
      lower([&](Problem& p) -> bool& { return edge(p).blocking; });
      lower([&](Problem& p) -> Cycle& { return edge(p).delay; });
      lower([&](Problem& p) -> int& { return edge(p).distance; });
      lower([&](Problem& p) -> Cycle& { return edge(p).hold; });
      if (!best_.edges[i].spill) continue;
      Problem candidate = best_;
      candidate.edges[i].spill.reset();
      if (!accept(candidate)) lower([&](Problem& p) -> Cycle& { return *edge(p).spill; });
    }
    for (std::size_t i = 0; i < best_.pins.size(); ++i)
      if (best_.pins[i].kind == Pin::at_stage)
        lower([i](Problem& p) -> Cycle& { return p.pins[i].stage; });
    for (const IntervalRange& range :
         {IntervalRange{}, {best_.interval.least, kMaxInterval}, {1, best_.interval.most}}) {
      if (range == best_.interval) continue;
      Problem candidate = best_;
      candidate.interval = range;
      accept(candidate);
    }
    for (std::size_t i = 0; i < best_.units.size(); ++i)
      lower([i](Problem& p) -> Amount& { return p.units[i].capacity; }, 1);
    for (std::size_t i = 0; i < best_.memories.size(); ++i)
      lower([i](Problem& p) -> Amount& { return p.memories[i].capacity; });
    for (std::size_t i = 0; i < best_.channels.size(); ++i)
      lower_fraction([i](Problem& p) -> Fraction& { return p.channels[i].rate; }, 1);
    for (std::size_t i = 0; i < best_.warps.size(); ++i) {
      lower([i](Problem& p) -> bool& { return p.warps[i].variable_latency; });
      lower([i](Problem& p) -> int& { return p.warps[i].width; }, 1);
      lower([i](Problem& p) -> Amount& { return p.warps[i].registers; });
    }
  }

  Problem best_;
  const std::function<bool(const Problem&)>& still_fails_;
  bool progress_ = false;
};

}  // namespace

Problem shrink(Problem problem, const std::function<bool(const Problem&)>& still_fails) {
  return Shrinker(std::move(problem), still_fails).run();
}

}  // namespace twill::test
