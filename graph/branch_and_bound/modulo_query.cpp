#include "graph/branch_and_bound/modulo_query.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <utility>

#include "graph/log.hpp"
#include "graph/threads.hpp"

namespace twill::modulo {

Answer Query::run() {
  if (!root_.propagate_all()) return {};
  std::vector<Subtree> subtrees = cut();
  std::atomic<std::size_t> next = 0, winner = subtrees.size();
  const auto work = [&](int) {
    // In order, so that with one thread nothing behind the first schedule is searched.
    for (std::size_t i; (i = next.fetch_add(1)) < subtrees.size();) {
      if (i > winner.load()) continue;
      subtrees[i].answer = search(subtrees[i], i, winner);
      if (subtrees[i].answer.outcome != Outcome::found) continue;
      std::size_t best = winner.load();
      while (i < best && !winner.compare_exchange_weak(best, i)) {
      }
    }
  };
  const int workers = threads_for(options_.threads);
  if (workers == 1 || subtrees.size() == 1) {
    work(0);
  } else {
    oneapi::tbb::task_arena arena(workers);
    arena.execute([&] { oneapi::tbb::parallel_for(0, workers, work); });
  }
  if (winner < subtrees.size()) return subtrees[winner].answer;
  for (const Subtree& subtree : subtrees)
    if (subtree.answer.outcome == Outcome::stopped) return {Outcome::stopped, {}};
  return {};
}

std::vector<Cycle> Query::starts(const Node& node) const {
  std::vector<Cycle> start;
  for (int x = 0; x < instance_.size(); ++x) start.push_back(node.start(x));
  return start;
}

std::vector<Query::Subtree> Query::cut() const {
  constexpr std::size_t kSubtrees = 32;
  constexpr int kLevels = 12;
  std::vector<Subtree> level(1);
  for (int depth = 0; depth < kLevels && level.size() < kSubtrees; ++depth) {
    std::vector<Subtree> deeper;
    for (Subtree& subtree : level) {
      Node node = root_;
      bool alive = true;
      for (const Decision& d : subtree.decisions) alive = alive && node.decide(d);
      if (!alive) continue;
      const std::vector<Decision> branches =
          subtree.open ? node.branches() : std::vector<Decision>{};
      if (branches.empty()) {  // a schedule: search() finds it at once
        subtree.open = false;
        deeper.push_back(std::move(subtree));
        break;  // and nothing to the right of it can win
      }
      for (const Decision& d : branches) {
        deeper.push_back({subtree.decisions, {}, true});
        deeper.back().decisions.push_back(d);
      }
    }
    level = std::move(deeper);
    if (level.empty() || (level.size() == 1 && !level[0].open)) break;
  }
  return level;
}

Answer Query::search(const Subtree& subtree, std::size_t index,
                     const std::atomic<std::size_t>& winner) {
  Node node = root_;
  for (const Decision& d : subtree.decisions)
    if (!node.decide(d)) return {};
  struct Frame {
    std::size_t mark;
    std::vector<Decision> branches;
    std::size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&] {
    stack.push_back({node.mark(), node.branches(), 0});
    return stack.back().branches.empty();
  };
  std::int64_t count = 1;
  Answer answer;
  if (enter()) answer = {Outcome::found, starts(node)};
  while (answer.outcome == Outcome::refuted && !stack.empty()) {
    Frame& frame = stack.back();
    node.undo(frame.mark);
    if (frame.next == frame.branches.size()) {
      stack.pop_back();
      continue;
    }
    if (count >= options_.node_limit || options_.stop.stop_requested()) {
      answer.outcome = Outcome::stopped;
    } else if (index > winner.load(std::memory_order_relaxed)) {
      break;
    } else {
      ++count;
      TWILL_LOG("subtree ", index, ", node ", count, ": depth ", stack.size(), ", branch ",
                frame.next + 1, " of ", frame.branches.size());
      if (node.decide(frame.branches[frame.next++]) && enter())
        answer = {Outcome::found, starts(node)};
    }
  }
  TWILL_LOG("subtree ", index, ": ", count, " nodes, ",
            answer.outcome == Outcome::found     ? "a schedule"
            : answer.outcome == Outcome::refuted ? "none"
                                                 : "stopped");
  nodes_ += count;
  return answer;
}

}  // namespace twill::modulo
