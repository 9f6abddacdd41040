#include "engine/certificate/slot_gaps.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "graph/index.hpp"

namespace twill {
namespace {

constexpr long kSteps = 200'000;
constexpr std::size_t kFew = 6;

// An op between two waits, or the one that begins the gap: its part of one unit begins at least
// `head` and ends at least `tail` from the ends of the gap, the cycle of the wait apart.
struct Part {
  int unit = 0;
  Wide head = 0, area = 0, tail = 0;
  auto tie() const { return std::tie(unit, head, area, tail); }
  bool operator==(const Part& other) const { return tie() == other.tie(); }
  bool operator<(const Part& other) const { return tie() < other.tie(); }
};

struct Guest {
  Cycle cycles = 0;
  std::vector<Part> parts;
};

struct Gap {
  Wide least = 0;  // by the wait that begins it and the guests' own cycles
  std::vector<Part> parts;
};

std::vector<Part> parts_of(const Op& op, bool begins) {
  std::vector<Part> parts;
  for (const Reservation& r : op.reservations) {
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const Part& one) { return one.unit == r.unit; });
    const Wide head = r.offset - (begins ? 1 : 0), tail = op.cycles - r.offset - r.length;
    if (part == parts.end()) part = parts.insert(part, {r.unit, head, 0, tail});
    part->head = std::min(part->head, head);
    part->tail = std::min(part->tail, tail);
    part->area += Wide{r.amount} * r.length;
  }
  return parts;
}

class Slot {
 public:
  Slot(const Problem& problem, std::vector<Gap> gaps, Cycle ii)
      : p_(problem), gaps_(std::move(gaps)), ii_(ii) {}

  /// Is there no way for the guests to lie in the gaps? False, too, where that was not found out.
  bool exceeded(std::vector<Guest> guests) {
    std::stable_sort(guests.begin(), guests.end(),
                     [](const Guest& a, const Guest& b) { return a.cycles > b.cycles; });
    steps_ = 0;
    const bool none = none_fits(guests, 0);
    return none && steps_ <= kSteps;
  }
  bool spent() const { return steps_ > kSteps; }

 private:
  Wide length(const Gap& gap) const {
    Wide length = gap.least;
    for (const Part& a : gap.parts)
      for (const Part& b : gap.parts) {
        if (a.unit != b.unit) continue;
        Wide area = 0;
        for (const Part& c : gap.parts)
          if (c.unit == a.unit && c.head >= a.head && c.tail >= b.tail) area += c.area;
        const Wide capacity = p_.units[at(a.unit)].capacity;
        if (area > 0)
          length = std::max(length, 1 + a.head + (area + capacity - 1) / capacity + b.tail);
      }
    return length;
  }
  Gap with(Gap gap, const Guest& guest) const {
    gap.least = std::max(gap.least, Wide{1} + guest.cycles);
    gap.parts.insert(gap.parts.end(), guest.parts.begin(), guest.parts.end());
    std::sort(gap.parts.begin(), gap.parts.end());
    return gap;
  }
  Wide sum() const {
    Wide sum = 0;
    for (const Gap& gap : gaps_) sum += length(gap);
    return sum;
  }
  // A guest for which there is no gap any more, whatever becomes of the others.
  bool homeless(const std::vector<Guest>& guests, std::size_t next, Wide sum) const {
    return std::any_of(guests.begin() + static_cast<std::ptrdiff_t>(next), guests.end(),
                       [&](const Guest& guest) {
                         return std::all_of(gaps_.begin(), gaps_.end(), [&](const Gap& gap) {
                           return sum - length(gap) + length(with(gap, guest)) > ii_;
                         });
                       });
  }
  bool none_fits(const std::vector<Guest>& guests, std::size_t next) {
    if (++steps_ > kSteps) return false;
    const Wide all = sum();
    if (all > ii_) return true;
    if (next == guests.size()) return false;
    if (homeless(guests, next, all)) return true;
    std::set<std::pair<Wide, std::vector<Part>>> tried;  // gaps that are alike
    for (std::size_t g = 0; g < gaps_.size(); ++g) {
      if (!tried.emplace(gaps_[g].least, gaps_[g].parts).second) continue;
      Gap full = with(gaps_[g], guests[next]);
      std::swap(gaps_[g], full);
      const bool none = none_fits(guests, next + 1);
      std::swap(gaps_[g], full);
      if (!none) return false;
    }
    return true;
  }

  const Problem& p_;
  std::vector<Gap> gaps_;
  Cycle ii_;
  long steps_ = 0;
};

// The least of unit f, in instances x cycles, that the gaps and the guests take. A gap that has
// guests which use it takes the cycle of the wait, in which only who waits may use it, and what is
// used in other cycles; a gap that has none takes all of it as long as the wait itself. No more
// gaps have guests than there are guests. (A wait that meets only itself has no length.)
Wide asked_of_unit(const Problem& p, int f, const std::vector<const Op*>& waiters, bool instant,
                   const std::vector<Guest>& guests) {
  const Wide capacity = p.units[at(f)].capacity;
  Wide asked = 0;
  std::size_t users = 0;
  for (const Guest& guest : guests) {
    const Wide before = asked;
    for (const Part& part : guest.parts)
      if (part.unit == f) asked += part.area;
    if (asked > before) ++users;
  }
  if (users == 0) return 0;
  const bool several = waiters.size() + (instant ? 1 : 0) > 1;
  std::vector<Wide> least{0};  // of the gaps so far, by how many of them have guests
  const auto add = [&](Wide shared, Wide alone) {
    least.push_back(least.back() + shared);
    for (std::size_t k = least.size() - 2; k > 0; --k)
      least[k] = std::min(least[k] + alone, least[k - 1] + shared);
    least[0] += alone;
  };
  for (const Op* op : waiters) {
    Wide shared = capacity;
    for (const Reservation& r : op->reservations)
      if (several && r.unit == f) shared += Wide{r.amount} * (r.length - (r.offset > 0 ? 0 : 1));
    add(shared, several ? std::max(shared, capacity * op->cycles) : shared);
  }
  if (instant) add(capacity, capacity);
  least.resize(std::min(least.size(), users + 1));
  return asked + *std::min_element(least.begin(), least.end());
}

bool slot_exceeded(const Problem& p, const Forced& forced, int w, Cycle ii) {
  std::vector<const Op*> waiters;
  std::vector<Guest> guests;
  bool instant = false;  // an op of no cycles waits
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    const Op& op = p.ops[v];
    if (forced.slots[v] != std::vector{w}) continue;
    if (op.cycles == 0)
      instant = instant || forced.waits[v] != 0;
    else if (forced.waits[v] != 0)
      waiters.push_back(&op);
    else
      guests.push_back({op.cycles, parts_of(op, false)});
  }
  const std::size_t points = waiters.size() + (instant ? 1 : 0);
  if (points == 0) return false;
  // One that waits alone may meet itself: then its gap is the period, and says nothing of it.
  const bool several = points > 1;
  std::vector<Gap> gaps;
  for (const Op* op : waiters) {
    gaps.emplace_back();
    if (!several) continue;
    gaps.back() = {op->cycles, parts_of(*op, true)};
    std::sort(gaps.back().parts.begin(), gaps.back().parts.end());
  }
  if (instant) gaps.push_back({several ? 1 : 0, {}});
  for (int f = 0; f < static_cast<int>(p.units.size()); ++f)
    if (asked_of_unit(p, f, waiters, instant, guests) > Wide{p.units[at(f)].capacity} * ii)
      return true;
  Slot slot(p, std::move(gaps), ii);
  if (slot.exceeded(guests)) return true;
  if (!slot.spent()) return false;
  // Fewer guests ask for less: those of one unit, the longest few.
  const auto few = [&](std::vector<Guest> some) {
    if (slot.exceeded(some)) return true;
    std::stable_sort(some.begin(), some.end(),
                     [](const Guest& a, const Guest& b) { return a.cycles > b.cycles; });
    some.resize(std::min(some.size(), kFew));
    return slot.exceeded(std::move(some));
  };
  for (int f = 0; f < static_cast<int>(p.units.size()); ++f) {
    std::vector<Guest> some;
    for (const Guest& guest : guests)
      if (std::any_of(guest.parts.begin(), guest.parts.end(),
                      [&](const Part& part) { return part.unit == f; }))
        some.push_back(guest);
    if (few(std::move(some))) return true;
  }
  return few(std::move(guests));
}

}  // namespace

bool gaps_exceeded(const Problem& problem, const Forced& forced, Cycle ii) {
  for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w)
    if (!problem.warps[at(w)].variable_latency && slot_exceeded(problem, forced, w, ii))
      return true;
  return false;
}

}  // namespace twill
