#include "graph/program/window.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/index.hpp"

namespace twill::program {

void Window::join(std::vector<Word>& to, std::size_t row, const std::vector<Word>& from,
                  std::size_t other) const {
  const std::size_t used = (2 * other + 2 + 63) / 64;  // nothing behind it is before it
  Word* const into = to.data() + row * words_;
  const Word* const added = from.data() + other * words_;
  for (std::size_t k = 0; k < used; ++k) into[k] |= added[k];
}

Window::Window(const Draft& draft, const std::vector<Order>& waits, int most)
    : draft_(draft), ops_(draft.program.ops.size()), waits_of_(ops_) {
  for (const Order& wait : waits) waits_of_[at(wait.then)].push_back(wait);
  const std::size_t count = static_cast<std::size_t>(most) * ops_;
  for (std::vector<Word>* rows : {&before_, &issue_, &end_})
    rows->reserve(count * ((2 * count + 63) / 64));
  // The order of the schedule's issues goes before all that is looked at here.
  for (int v = 0; v < static_cast<int>(ops_); ++v)
    for (int i = 0; i < most; ++i) {
      const int u = draft.source[at(v)];
      line_.emplace_back(draft.loop.start(u) + i * draft.loop.schedule->initiation_interval,
                         draft.loop.rank[at(u)], v, i);
    }
  std::sort(line_.begin(), line_.end());
}

void Window::run(int n) {
  n_ = n;
  const std::size_t count = static_cast<std::size_t>(n) * ops_;
  words_ = (2 * count + 63) / 64;
  for (std::vector<Word>* rows : {&before_, &issue_, &end_}) rows->assign(count * words_, 0);

  place_.resize(count);
  std::size_t next = 0;
  for (const auto& [time, rank, v, i] : line_)
    if (i < n) place_[static_cast<std::size_t>(i) * ops_ + at(v)] = next++;
  const auto& ops = draft_.program.ops;
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last(draft_.program.slots.size(), kNone);
  std::vector<bool> at_once(draft_.program.slots.size(), false);
  std::map<std::pair<int, std::string>, std::size_t> queued;
  for (const auto& [time, rank, v, i] : line_) {
    if (i >= n) continue;
    const Op& op = ops[at(v)];
    const std::size_t x = instance(v, i);
    if (last[at(op.slot)] != kNone)
      join(before_, x, at_once[at(op.slot)] ? end_ : issue_, last[at(op.slot)]);
    join(issue_, x, before_, x);
    for (const Order& wait : waits_of_[at(v)])
      if (exists(i - wait.offset)) join(issue_, x, end_, instance(wait.first, i - wait.offset));
    issue_[x * words_ + 2 * x / 64] |= Word{1} << (2 * x % 64);
    join(end_, x, issue_, x);
    if (!op.queue.empty()) {
      const auto [previous, first] = queued.try_emplace({op.slot, op.queue}, x);
      if (!first) join(end_, x, end_, previous->second);
      previous->second = x;
    }
    end_[x * words_ + (2 * x + 1) / 64] |= Word{1} << ((2 * x + 1) % 64);
    last[at(op.slot)] = x;
    at_once[at(op.slot)] = op.ending == Ending::at_once;
  }
}

bool Window::ended_otherwise(int op, std::int64_t i, int then, std::int64_t j) const {
  const std::size_t x = 2 * instance(op, i) + 1;
  if (bit(before_, instance(then, j), x)) return true;
  return std::any_of(waits_of_[at(then)].begin(), waits_of_[at(then)].end(), [&](const Order& w) {
    const std::int64_t k = j - w.offset;
    return (w.first != op || k != i) && exists(k) && bit(end_, instance(w.first, k), x);
  });
}

bool Window::ended_before_waits(int op, std::int64_t i, int then, std::int64_t j) const {
  return bit(before_, instance(then, j), 2 * instance(op, i) + 1);
}

bool Window::ended_with(int first, std::int64_t i, int op, std::int64_t j) const {
  return bit(end_, instance(first, i), 2 * instance(op, j) + 1);
}

bool Window::issued(int op, std::int64_t i, int then, std::int64_t j) const {
  return bit(end_, instance(then, j), 2 * instance(op, i));
}

}  // namespace twill::program
