// The way back of the difference logic where its log of changes is full.
//
// A dive of 1,000 ops changes the closure more than 200 million times, and 20 bytes for each are
// GiBs. So the log has a greatest length. When it is full, all but about half of it is dropped, and
// the matrix as it was before the oldest change that is left is kept, a snapshot: six at most, and
// of three in a row the middle one goes where the fewest changes lie between the others. Most ways
// back are short, and the log has them. A longer one begins at the last snapshot before the mark,
// or at the one of facts alone, and the arcs asserted from there on are inserted again: they make
// the same changes in the same order, so that times, numbers of changes and marks mean what they
// did. (Checkpoints and repeated work instead of a whole history: Griewank, Optimization Methods
// and Software 1, 1992.)
//
// An explanation older than the log is searched for: the longest path over the arcs up to its time
// and the facts, by Bellman and Ford. It is as long as the one that was forgotten, though it may be
// another one.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "engine/order/difference_theory.hpp"
#include "graph/log.hpp"

namespace twill {

// 64 changes a pair, of which loops of 200 ops use 40, but 320 MiB at most; and four a pair, so
// that there is an arc to cut at: one arc changes a pair once.
std::size_t DifferenceTheory::log_for(std::size_t nodes) {
  constexpr std::size_t kPair = 64, kMost = std::size_t{1} << 24;
  return std::max(4 * nodes * nodes, std::min(kPair * nodes * nodes, kMost));
}

std::size_t DifferenceTheory::most_bytes(std::size_t nodes) {
  const std::size_t pairs = nodes * nodes;
  return pairs * (sizeof(Entry) + 2 * sizeof(int)) + log_for(nodes) * Changes::kBytes +
         (kSnapshots + 1) * pairs * sizeof(Entry);
}

void DifferenceTheory::Changes::drop(std::size_t count, std::size_t size) const {
  assert(count <= size && size <= room_);
  std::memmove(was, was + count, (size - count) * sizeof *was);
  std::memmove(entry, entry + count, (size - count) * sizeof *entry);
}

// Before the arc `asserted`, whose changes and those after it are in the log.
DifferenceTheory::Snapshot DifferenceTheory::matrix_at(std::size_t asserted) const {
  const std::size_t begin = begins_[asserted];
  assert(begin >= dropped_);
  Snapshot snapshot{begin, asserted, matrix_};
  for (auto one = triggered_.rbegin(); one != triggered_.rend() && one->change >= begin; ++one)
    snapshot.matrix[changed_entry(one->change)].trigger = one->trigger;
  for (std::size_t change = changes_made_; change-- > begin;) {
    const Was& before = was(static_cast<int>(change));
    Entry& entry = snapshot.matrix[changed_entry(change)];
    entry.distance = before.distance;
    entry.time = before.time;
    entry.before = before.before;
  }
  return snapshot;
}

void DifferenceTheory::cut_log() {
  assert(!begins_.empty());
  ++cuts_;
  ask_for((snapshots_.empty() ? 2 : 1) * pairs() * sizeof(Entry));
  if (snapshots_.empty()) snapshots_.push_back(matrix_at(0));
  const auto at = std::lower_bound(begins_.begin(), begins_.end(), changes_made_ - logged() / 2);
  // (The arc that is being inserted has changed no pair twice, so that it alone is less than half.)
  assert(at != begins_.end());
  snapshots_.push_back(matrix_at(static_cast<std::size_t>(at - begins_.begin())));
  const std::size_t begin = snapshots_.back().changes;
  changes_.drop(begin - dropped_, logged());
  dropped_ = begin;
  TWILL_LOG("difference logic: log cut, ", dropped_, " of ", changes_made_, " changes gone");
  if (snapshots_.size() <= kSnapshots) return;
  std::size_t least = 1;
  const auto gap = [&](std::size_t i) {
    return snapshots_[i + 1].changes - snapshots_[i - 1].changes;
  };
  for (std::size_t i = 2; i + 1 < snapshots_.size(); ++i)
    if (gap(i) < gap(least)) least = i;
  snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(least));
}

void DifferenceTheory::repeat_to(const Mark& mark) {
  ++repeats_;
  TWILL_LOG("difference logic: back to ", mark.asserted, " of ", asserted_.size(), " arcs");
  while (snapshots_.back().changes > mark.changes) snapshots_.pop_back();
  const Snapshot& from = snapshots_.back();
  assert(from.asserted <= mark.asserted);
  std::copy(from.matrix.begin(), from.matrix.end(), matrix_.begin());
  const std::vector<Arc> again(asserted_.begin() + static_cast<std::ptrdiff_t>(from.asserted),
                               asserted_.begin() + static_cast<std::ptrdiff_t>(mark.asserted));
  changes_made_ = dropped_ = from.changes;
  asserted_.resize(from.asserted);
  begins_.resize(from.asserted);
  while (!triggered_.empty() && triggered_.back().change >= changes_made_) triggered_.pop_back();
  std::vector<Decided> none;
  repeating_ = true;
  for (const Arc& arc : again) {
    const bool consistent = insert(arc, none);
    assert(consistent);
    static_cast<void>(consistent);
  }
  repeating_ = false;
  assert(changes_made_ == mark.changes && asserted_.size() == mark.asserted && none.empty());
  sums_.undo(mark.sums);
  sums_asserted_ = mark.sums;
  records_.resize(mark.records);
}

void DifferenceTheory::search_path(int from, int to, int before, Cycle& slack,
                                   std::vector<int>& variables) const {
  assert(before >= 0 && static_cast<std::size_t>(before) <= asserted_.size());
  const std::vector<Entry>& facts = snapshots_.front().matrix;
  std::vector<Cycle> longest(nodes_);
  std::vector<int> last(nodes_, -1);  // arc of the path to each node; facts follow it
  for (std::size_t y = 0; y < nodes_; ++y)
    longest[y] = facts[index(from, static_cast<int>(y))].distance;
  for (bool longer = true; longer;) {
    longer = false;
    for (int a = 0; a < before; ++a) {
      const Arc& arc = asserted_[static_cast<std::size_t>(a)];
      const Cycle tail = longest[static_cast<std::size_t>(arc.from)];
      if (!reachable(tail)) continue;
      const Cycle head = tail + arc.weight;
      if (head <= longest[static_cast<std::size_t>(arc.to)]) continue;
      longer = true;
      const Entry* const on = &facts[index(arc.to, 0)];
      for (std::size_t y = 0; y < nodes_; ++y) {
        if (!reachable(on[y].distance) || head + on[y].distance <= longest[y]) continue;
        longest[y] = head + on[y].distance;
        last[y] = a;
      }
    }
  }
  std::vector<int> path;
  for (int node = to; last[static_cast<std::size_t>(node)] >= 0;) {
    path.push_back(last[static_cast<std::size_t>(node)]);
    node = asserted_[static_cast<std::size_t>(path.back())].from;
    assert(path.size() <= nodes_);
  }
  for (auto arc = path.rbegin(); arc != path.rend(); ++arc)
    explain_arc(asserted_[static_cast<std::size_t>(*arc)], slack, variables);
}

}  // namespace twill
