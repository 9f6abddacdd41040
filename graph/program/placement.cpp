#include "graph/program/placement.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "graph/divide.hpp"
#include "graph/index.hpp"

namespace twill::program {
namespace {

constexpr std::int64_t kMaxSteps = 20'000'000;  // of a search: storages looked at
constexpr std::int64_t kExactSteps = 200'000;   // of the exact one: places tried

Amount stride(const Storage& s) {
  return ceil_divide(s.size, s.alignment) * s.alignment;
}
/// "a, b, c and 4 more".
std::string first_few(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t k = 0; k < std::min(most, names.size()); ++k)
    text += (k > 0 ? ", " : "") + names[k];
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more"
                             : text;
}
int carried(const Draft& draft, int s) {
  int distance = 0;
  for (const Reader& r : draft.readers[at(s)]) distance = std::max(distance, r.distance);
  return distance;
}

/// Max over the accesses of s of how many iterations back its copy must be when t's is written.
std::int64_t uses_before(const Draft& draft, int s, int t, bool same_place) {
  const int w = draft.writer[at(t)];
  std::int64_t most = draft.order_offset(draft.writer[at(s)], w);
  for (const Reader& r : draft.readers[at(s)]) {
    const bool over = same_place && r.op == w && r.accumulates;
    most = std::max(most, (over ? 0 : draft.order_offset(r.op, w)) + r.distance);
  }
  return most;
}

bool in_one_slot(const Draft& draft, int s, int t) {
  const auto ordered = [&](int from, int to) {
    const int w = draft.writer[at(to)];
    const auto& readers = draft.readers[at(from)];
    return draft.ordered_by_slot(draft.writer[at(from)], w) &&
           std::all_of(readers.begin(), readers.end(), [&](const Reader& r) {
             return r.op == w || draft.ordered_by_slot(r.op, w);
           });
  };
  return ordered(s, t) && ordered(t, s);
}

/// The larger rings first.
std::vector<int> storages_in(const Draft& draft, int memory) {
  const auto& storages = draft.program.storages;
  std::vector<int> here;
  for (int s = 0; s < static_cast<int>(storages.size()); ++s)
    if (storages[at(s)].kind == Storage::in_memory && storages[at(s)].memory == memory)
      here.push_back(s);
  std::stable_sort(here.begin(), here.end(), [&](int a, int b) {
    return std::tuple(-ring_extent(storages[at(a)]), storages[at(a)].name) <
           std::tuple(-ring_extent(storages[at(b)]), storages[at(b)].name);
  });
  return here;
}

class Placer {
 public:
  Placer(Draft& draft, int memory, Amount kept) : draft_(draft), memory_(memory) {
    items_ = storages_in(draft, memory);
    capacity_ = draft.program.memories[at(memory)].capacity;
    if (capacity_ >= 0) capacity_ = std::max<Amount>(capacity_ - kept, 0);
    // What two storages cost beside each other, at one place and overlapping otherwise.
    const std::size_t n = items_.size();
    same_.assign(n * n, kNever);
    other_.assign(n * n, kNever);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < a; ++b) {
        if (const auto same = can_share(draft, items_[a], items_[b], true))
          same_[a * n + b] = sharing_cost(draft, *same);
        if (must_share(draft, items_[a], items_[b]) || must_share(draft, items_[b], items_[a])) {
          // Nowhere else, and there at no cost.
          same_[a * n + b] = same_[a * n + b] == kNever ? kNever : -1;
          apart_.emplace_back(a, b);
          continue;
        }
        if (const auto other = can_share(draft, items_[a], items_[b], false))
          other_[a * n + b] = std::max(sharing_cost(draft, *other), 1);
      }
  }

  std::optional<Refusal> run() {
    if (auto no = accumulators()) return no;
    for (const int level : {-1, 0, 1, 2, 3}) {
      level_ = level;
      steps_ = 0;
      bases_.clear();
      if (search()) {
        for (std::size_t k = 0; k < items_.size(); ++k)
          draft_.program.storages[at(items_[k])].base = bases_[k];
        return std::nullopt;
      }
    }
    const MemoryBlocks all = memory_blocks(draft_, memory_);
    const Fit exact = fit(all.blocks, all.meet, capacity_, kExactSteps, bases_);
    if (exact != Fit::found) return refusal(exact == Fit::none);
    for (std::size_t k = 0; k < items_.size(); ++k)
      draft_.program.storages[at(all.storages[k])].base = bases_[k];
    return std::nullopt;
  }

 private:
  static constexpr int kNever = 9;
  const Storage& item(std::size_t k) const { return draft_.program.storages[at(items_[k])]; }

  /// What an MMA adds to in tensor memory is where its result will be.
  std::optional<Refusal> accumulators() const {
    for (const auto& [a, b] : apart_)
      if (same_[a * items_.size() + b] == kNever) {
        const Storage &one = item(a), &other = item(b);
        return Refusal{"accumulator",
                       "an MMA adds to " + (one.name < other.name ? one.name : other.name) +
                           " in the place of its result, which cannot share it with " +
                           (one.name < other.name ? other.name : one.name) + " in this schedule",
                       at(memory_) < draft_.loop.problem->memories.size() ? memory_ : -1};
      }
    return std::nullopt;
  }

  /// The dearest sharing that item k has at `base`; -1 = none.
  int cost(std::size_t k, Amount base) const {
    int most = -1;
    for (const auto& [a, b] : apart_)
      if (a == k && base != bases_[b]) return kNever;  // (b < a)
    for (std::size_t p = 0; p < k; ++p) {
      if (base >= bases_[p] + ring_extent(item(p)) || bases_[p] >= base + ring_extent(item(k)))
        continue;
      const bool same =
          base == bases_[p] && item(k).size == item(p).size && item(k).depth == item(p).depth;
      most = std::max(most, (same ? same_ : other_)[k * items_.size() + p]);
    }
    return most;
  }

  bool search() {
    const std::size_t k = bases_.size();
    if (k == items_.size()) return true;
    if (steps_ > kMaxSteps) return false;
    const Amount align = item(k).alignment;
    std::vector<std::pair<int, Amount>> choices;
    const auto offer = [&](Amount base) {
      base = ceil_divide(base, align) * align;
      if (capacity_ >= 0 && base + ring_extent(item(k)) > capacity_) return;
      steps_ += static_cast<std::int64_t>(k) + 1;
      const int price = cost(k, base);
      if (price <= level_) choices.emplace_back(price, base);
    };
    offer(0);
    for (std::size_t p = 0; p < k; ++p) {
      offer(bases_[p]);
      offer(bases_[p] + ring_extent(item(p)));
    }
    std::sort(choices.begin(), choices.end());
    choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
    for (const auto& [price, base] : choices) {
      bases_.push_back(base);
      if (search()) return true;
      bases_.pop_back();
    }
    return false;
  }

  Refusal refusal(bool proved) const {
    const Memory& memory = draft_.program.memories[at(memory_)];
    std::string text = (proved ? "this schedule has no placement of this class in "
                               : "no placement of this class was found in ") +
                       memory.name + " of " + std::to_string(capacity_) + ": ";
    std::vector<std::string> buffers;  // (the largest first)
    for (std::size_t k = 0; k < items_.size(); ++k) {
      std::vector<std::string> beside;
      for (std::size_t p = 0; p < items_.size(); ++p) {
        const std::size_t pair = std::max(k, p) * items_.size() + std::min(k, p);
        if (p != k && std::min(same_[pair], other_[pair]) < kNever) beside.push_back(item(p).name);
      }
      buffers.push_back(item(k).name + " " + std::to_string(item(k).depth) + " x " +
                        std::to_string(stride(item(k))) +
                        (beside.empty() ? "" : " (could share with " + first_few(beside, 3) + ")"));
    }
    text += first_few(buffers, 8);
    Refusal refusal{"placement", text, -1, 0, -capacity_, proved};
    if (at(memory_) < draft_.loop.problem->memories.size()) refusal.memory = memory_;
    for (const int s : items_) {
      const Amount all = ring_extent(draft_.program.storages[at(s)]);
      refusal.lacking += all;
      const std::vector<Amount>& counted =
          draft_.loop.takes[at(draft_.source[at(draft_.writer[at(s)])])];
      if (at(memory_) >= counted.size() || counted[at(memory_)] == 0) refusal.hand_over += all;
    }
    return refusal;
  }

  Draft& draft_;
  int memory_, level_ = -1;
  std::int64_t steps_ = 0;
  Amount capacity_ = 0;
  std::vector<int> items_;
  std::vector<int> same_, other_;
  std::vector<std::pair<std::size_t, std::size_t>> apart_;  ///< never but at one place
  std::vector<Amount> bases_;
};

}  // namespace

bool must_share(const Draft& draft, int s, int t) {
  const Storage &from = draft.program.storages[at(s)], &to = draft.program.storages[at(t)];
  if (s == t || from.kind != Storage::in_memory || to.kind != Storage::in_memory ||
      from.memory != to.memory || from.size != to.size ||
      draft.program.memories[at(from.memory)].name != kTensorMemory)
    return false;
  return draft.accumulator_of(t) == s;
}

Amount ring_extent(const Storage& storage) {
  return stride(storage) * (storage.depth - 1) + storage.size;
}

MemoryBlocks memory_blocks(const Draft& draft, int memory) {
  MemoryBlocks all;
  all.storages = storages_in(draft, memory);
  const std::size_t n = all.storages.size();
  all.meet.assign(n * n, Meet::any);
  for (std::size_t a = 0; a < n; ++a) {
    const Storage& one = draft.program.storages[at(all.storages[a])];
    all.blocks.push_back({ring_extent(one), one.alignment});
    for (std::size_t b = 0; b < a; ++b) {
      const int s = all.storages[a], t = all.storages[b];
      Meet how = can_share(draft, s, t, false)  ? Meet::any
                 : can_share(draft, s, t, true) ? Meet::same
                                                : Meet::never;
      if (must_share(draft, s, t) || must_share(draft, t, s)) how = Meet::must;
      all.meet[a * n + b] = all.meet[b * n + a] = how;
    }
  }
  return all;
}

std::optional<Sharing> can_share(const Draft& draft, int s, int t, bool same_place) {
  const auto& storages = draft.program.storages;
  const std::int64_t depth = storages[at(s)].depth;
  if (storages[at(t)].depth != depth) return std::nullopt;
  if (same_place && storages[at(s)].size != storages[at(t)].size) return std::nullopt;
  if (depth > 1 && !same_place) return std::nullopt;
  // A carried result is there before the loop and after it: two of them would be there together.
  const int before = carried(draft, s), after = carried(draft, t);
  if (before > 0 && after > 0) return std::nullopt;
  const std::int64_t offset = ceil_divide(uses_before(draft, s, t, same_place), depth) * depth;
  if (offset + uses_before(draft, t, s, same_place) > depth) return std::nullopt;
  // The copies from before the loop have been used when t's first is written, and no copy of t
  // comes after the last ones of s; likewise with s and t exchanged.
  if (before > 0 && (offset > depth || offset < before)) return std::nullopt;
  if (after > 0 && (offset < 0 || depth - offset < after)) return std::nullopt;
  return Sharing{s, t, offset};
}

int sharing_cost(const Draft& draft, const Sharing& sharing) {
  const int s = sharing.earlier, t = sharing.later;
  if (sharing.offset != 0 && sharing.offset != draft.program.storages[at(s)].depth) return 3;
  const auto over = [&](int from, int to) {
    const auto& readers = draft.readers[at(from)];
    return std::any_of(readers.begin(), readers.end(), [&](const Reader& r) {
      return r.op == draft.writer[at(to)] && r.accumulates;
    });
  };
  if (over(s, t) || over(t, s)) return 0;
  return in_one_slot(draft, s, t) ? 1 : 2;
}

std::optional<Refusal> place(Draft& draft, Amount barriers) {
  Program& program = draft.program;
  for (int m = 0; m < static_cast<int>(program.memories.size()); ++m) {
    const bool here = program.memories[at(m)].name == kBarrierMemory;
    if (auto refusal = Placer(draft, m, here ? barriers : 0).run()) return refusal;
  }
  const int count = static_cast<int>(program.storages.size());
  for (int s = 0; s < count; ++s)
    for (int t = 0; t < count; ++t) {
      Storage &a = program.storages[at(s)], &b = program.storages[at(t)];
      if (s == t || a.kind != Storage::in_memory || b.kind != Storage::in_memory ||
          a.memory != b.memory || a.base >= b.base + ring_extent(b) ||
          b.base >= a.base + ring_extent(a))
        continue;
      a.shares.push_back(t);
      const bool same = a.base == b.base && a.size == b.size && a.depth == b.depth;
      // An accumulator: s is read by the writer of t, which writes over it.
      for (const Reader& r : draft.readers[at(s)])
        if (same && r.accumulates && r.op == draft.writer[at(t)]) {
          std::vector<int>& in_place = program.ops[at(r.op)].in_place;
          if (std::find(in_place.begin(), in_place.end(), s) == in_place.end())
            in_place.push_back(s);
        }
    }
  for (int t = 0; t < count; ++t) {
    const int s = draft.accumulator_of(t);
    if (s < 0) continue;
    const Storage &from = program.storages[at(s)], &to = program.storages[at(t)];
    for (const Reader& r : draft.readers[at(s)])
      if (r.op == draft.writer[at(t)] &&
          (from.base != to.base || from.depth != to.depth || r.distance % to.depth != 0))
        return Refusal{"accumulator", "an MMA, " + program.ops[at(r.op)].id + ", would add to " +
                                          from.name + " elsewhere than its result lies"};
  }
  for (Op& op : program.ops) std::sort(op.in_place.begin(), op.in_place.end());
  return std::nullopt;
}

}  // namespace twill::program
