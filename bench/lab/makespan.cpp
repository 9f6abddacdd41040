#include "bench/lab/makespan.hpp"

#include <algorithm>
#include <vector>

#include "bench/lab/first_schedule.hpp"
#include "bench/lab/project_search.hpp"
#include "engine/decide.hpp"
#include "engine/limits_left.hpp"
#include "engine/options.hpp"
#include "engine/search.hpp"
#include "graph/index.hpp"
#include "graph/loop.hpp"
#include "graph/schedule.hpp"
#include "graph/wide.hpp"

namespace twill::bench {
namespace {

constexpr int kLists = 400;
constexpr std::size_t kMostPlaced = 300, kMostUses = 2'000;  // that serial_length() places

/// Longest path from each op's issue to the end. Distances are 0, so the edges have no cycle.
std::vector<Cycle> tails_of(const Problem& p) {
  std::vector<Cycle> tail(p.ops.size());
  for (std::size_t v = 0; v < p.ops.size(); ++v) tail[v] = p.ops[v].cycles;
  std::vector<std::vector<const Edge*>> into(p.ops.size());
  for (const Edge& e : p.edges) into[at(e.to)].push_back(&e);
  std::vector<int> order = topological_order(p);
  for (auto v = order.rbegin(); v != order.rend(); ++v)
    for (const Edge* e : into[at(*v)])
      tail[at(e->from)] = std::max(tail[at(e->from)], e->delay + tail[at(*v)]);
  return tail;
}

}  // namespace

Cycle longest_makespan(const Project& project) {
  std::vector<Cycle> longest;
  for (const Op& op : project.problem.ops) longest.push_back(op.cycles);
  for (const Edge& e : project.problem.edges)
    longest[at(e.from)] = std::max(longest[at(e.from)], e.delay);
  Cycle sum = 0;  // (lags above 0 are on circles that no schedule keeps)
  for (const Cycle cycles : longest) sum += cycles;
  return std::max<Cycle>(1, sum);
}

std::optional<Cycle> makespan_bound(const Project& project) {
  const Problem& p = project.problem;
  Cycle bound = 1;
  for (const Cycle tail : tails_of(p)) bound = std::max(bound, tail);
  std::vector<Wide> work(p.units.size(), 0);
  for (const Op& op : p.ops)
    for (const Reservation& r : op.reservations) work[at(r.unit)] += Wide{r.amount} * r.length;
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    const Amount capacity = p.units[unit].capacity;
    bound = std::max(bound, static_cast<Cycle>((work[unit] + capacity - 1) / capacity));
  }
  if (project.lags.empty()) return bound;
  const Cycle longest = longest_makespan(project);
  const auto starts = earliest_starts(at_makespan(project, longest), longest);
  if (!starts) return std::nullopt;
  return std::max(bound, schedule_length(p, *starts));
}

Cycle serial_length(const Problem& p) {
  const std::size_t ops = p.ops.size();
  std::size_t uses = 0;
  for (const Op& op : p.ops) uses += op.reservations.size();
  if (ops > kMostPlaced || uses > kMostUses) {  // one after the other: too many to try all places
    Cycle sum = 1;
    for (const Op& op : p.ops) sum += op.cycles;
    return sum;
  }
  const std::vector<Cycle> tail = tails_of(p);
  std::vector<int> waiting(ops, 0);
  for (const Edge& e : p.edges) ++waiting[static_cast<std::size_t>(e.to)];
  std::vector<Cycle> earliest(ops, 0);
  struct Placed {
    Cycle start, end;
    Amount amount;
  };
  std::vector<std::vector<Placed>> busy(p.units.size());
  std::vector<Cycle> ends;  // of all that is placed
  std::vector<bool> taken(ops, false);
  Cycle length = 1;
  while (ends.size() < ops) {
    std::size_t next = ops;
    for (std::size_t v = 0; v < ops; ++v)
      if (!taken[v] && waiting[v] == 0 && (next == ops || tail[v] > tail[next])) next = v;
    taken[next] = true;
    const Op& op = p.ops[next];
    // Does it fit from `start` on? What is busy grows only where something begins.
    const auto fits = [&](Cycle start) {
      return std::all_of(op.reservations.begin(), op.reservations.end(), [&](const Reservation& r) {
        std::vector<std::pair<Cycle, Amount>> changes;
        for (const Placed& other : busy[at(r.unit)])
          if (other.start < start + r.length && other.end > start) {
            changes.emplace_back(std::max(other.start, start), other.amount);
            changes.emplace_back(other.end, -other.amount);
          }
        std::sort(changes.begin(), changes.end());  // at one cycle what ends comes first
        Amount sum = r.amount;
        return std::all_of(changes.begin(), changes.end(), [&](const auto& change) {
          sum += change.second;
          return sum <= p.units[at(r.unit)].capacity;
        });
      });
    };
    // It fits first at its earliest start or where something ends.
    Cycle start = -1;
    std::vector<Cycle> times = {earliest[next]};
    for (const Cycle end : ends) times.push_back(std::max(earliest[next], end));
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    for (const Cycle t : times)
      if (start < 0 && fits(t)) start = t;
    ends.push_back(start + op.cycles);
    for (const Reservation& r : op.reservations)
      busy[at(r.unit)].push_back({start, start + r.length, r.amount});
    length = std::max(length, start + op.cycles);
    for (const Edge& e : p.edges) {
      if (e.from != static_cast<int>(next)) continue;
      const auto to = static_cast<std::size_t>(e.to);
      --waiting[to];
      earliest[to] = std::max(earliest[to], start + e.delay);
    }
  }
  return length;
}

Makespan smallest_makespan(const Project& project, const Options& options,
                           const std::stop_token& stop, bool confirm) {
  LimitsLeft limits(options, stop);
  Makespan found;
  const auto low = makespan_bound(project);
  found.none = !low;
  if (found.none) return found;
  found.low = *low;
  const auto ask = [&](Cycle makespan) {
    const Decided decided =
        decide(at_makespan(project, makespan), makespan, makespan, limits.of(options), stop);
    found.conflicts += decided.conflicts;
    limits.took(decided.conflicts);
    if (decided.verdict == Verdict::sat) found.high = std::max<Cycle>(1, decided.schedule->length);
    if (decided.verdict == Verdict::unsat) found.low = makespan + 1;
    return decided.verdict;
  };
  if (project.lags.empty()) {
    found.high = serial_length(project.problem);
    if (const auto listed = first_schedule(project.problem, found.low, kLists, options.seed))
      found.high =
          std::min(found.high, std::max<Cycle>(1, schedule_length(project.problem, *listed)));
  }
  const Cycle longest = std::max(found.low, longest_makespan(project));
  const Engine& engine = chosen_engine(project.problem, options, parse_encoding(options.encoding));
  if (options.engine == "auto" && !options.search_engine && &engine == &time_indexed_engine() &&
      few_starts(project, found.high > 0 ? found.high : longest)) {
    search_makespan(project, options, stop, longest, confirm, found);
    return found;
  }
  if (!project.lags.empty()) {
    const Verdict verdict = ask(longest);
    found.none = verdict == Verdict::unsat;
    if (verdict != Verdict::sat) return found;
  }
  while (found.low < found.high && !limits.spent())
    if (ask(found.low + (found.high - found.low) / 2) == Verdict::unknown) break;
  return found;
}

}  // namespace twill::bench
