// A window of a unit is [from, to). What has to lie in it asks for area; the window has capacity x
// (to - from). A unit of one instance ends what it does one after another, so that only so many of
// the segments that wait for its own, one each, can have begun before `from`. The others have not.
#include "engine/certificate/fed_units.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/index.hpp"

namespace twill {
namespace {

// In larger loops nothing rests on this.
constexpr std::size_t kMostFedOps = 200;
constexpr int kSharpenings = 16;  // more than the bound's own

struct Use {
  int op = 0;
  Wide begin = 0, end = 0, area = 0;  // from the op's start
};

struct FedLine {
  std::vector<std::vector<std::optional<Wide>>> after;  // [u][v]: v starts so long after u
  std::vector<Wide> heads, tails;
  std::vector<std::vector<Use>> uses;  // of each unit
};

// From the start of `source` to all others that it leads to.
std::vector<std::optional<Wide>> leads_to(const Problem& p, const Forced& forced, Cycle ii,
                                          int source) {
  std::vector<std::optional<Wide>> least(p.ops.size());
  least[at(source)] = 0;
  for (std::size_t round = 0; round <= p.ops.size(); ++round) {
    bool changed = false;
    for (std::size_t e = 0; e < p.edges.size(); ++e) {
      const Edge& edge = p.edges[e];
      if (!least[at(edge.from)]) continue;
      const Wide to = *least[at(edge.from)] + forced.delay[e] - Wide{edge.distance} * ii;
      if (least[at(edge.to)] && *least[at(edge.to)] >= to) continue;
      least[at(edge.to)] = to;
      changed = true;
    }
    if (!changed) break;
  }
  return least;
}

// The largest of: all that begins at `from` or later and has `rest` or more behind it.
struct Piece {
  Wide from = 0, rest = 0, area = 0;
};
Wide latest_end(const std::vector<Piece>& pieces, Amount capacity) {
  Wide latest = 0;
  std::set<Wide> froms, rests;
  for (const Piece& piece : pieces) {
    froms.insert(piece.from);
    rests.insert(piece.rest);
  }
  for (const Wide from : froms) {
    std::map<Wide, Wide> by_rest;
    for (const Piece& piece : pieces)
      if (piece.from >= from) by_rest[piece.rest] += piece.area;
    Wide area = 0;
    for (auto it = by_rest.rbegin(); it != by_rest.rend(); ++it) {
      area += it->second;
      latest = std::max(latest, from + (area + capacity - 1) / capacity + it->first);
    }
  }
  return latest;
}

// Heads and tails by all that leads to an op, and all that it leads to, mostly until none is
// raised. (Where no schedule exists they might rise for ever.)
void sharpen(const Problem& p, FedLine& line) {
  const std::size_t ops = p.ops.size();
  bool raised = true;
  for (int round = 0; round < kSharpenings && raised; ++round) {
    raised = false;
    const auto raise = [&](Wide& value, Wide to) {
      if (to <= value) return;
      value = to;
      raised = true;
    };
    for (std::size_t v = 0; v < ops; ++v) {
      for (std::size_t f = 0; f < line.uses.size(); ++f) {
        std::vector<Piece> before, behind;
        for (const Use& use : line.uses[f]) {
          const std::size_t u = at(use.op);
          if (u == v) continue;
          if (line.after[u][v])
            before.push_back({line.heads[u] + use.begin, *line.after[u][v] - use.end, use.area});
          if (line.after[v][u])
            behind.push_back({*line.after[v][u] + use.begin, line.tails[u] - use.end, use.area});
        }
        raise(line.heads[v], latest_end(before, p.units[f].capacity));
        raise(line.tails[v], latest_end(behind, p.units[f].capacity));
      }
      for (std::size_t u = 0; u < ops; ++u) {
        if (line.after[u][v]) raise(line.heads[v], line.heads[u] + *line.after[u][v]);
        if (line.after[v][u]) raise(line.tails[v], line.tails[u] + *line.after[v][u]);
      }
    }
  }
}

// The same iteration seen from its end.
FedLine backwards(const FedLine& line) {
  FedLine seen{line.after, line.tails, line.heads, line.uses};
  for (std::size_t u = 0; u < line.heads.size(); ++u)
    for (std::size_t v = 0; v < line.heads.size(); ++v) seen.after[u][v] = line.after[v][u];
  for (auto& uses : seen.uses)
    for (Use& use : uses) use = {use.op, -use.end, -use.begin, use.area};
  return seen;
}

// Unit g waits for unit f, which has one instance.
bool waits_too_long(const FedLine& line, std::size_t f, std::size_t g, Amount capacity,
                    Cycle length) {
  const std::vector<Use>& waiting = line.uses[g];
  std::vector<char> waits(waiting.size(), 0);
  std::optional<Wide> lag, begin;
  std::vector<Wide> cycles;
  for (const Use& own : line.uses[f]) {
    // It is waited for by the one that may follow soonest, of those that wait for no other.
    std::optional<std::pair<Wide, std::size_t>> next;
    for (std::size_t j = 0; j < waiting.size(); ++j) {
      const auto& after = line.after[at(own.op)][at(waiting[j].op)];
      if (waits[j] || own.op == waiting[j].op || !after) continue;
      const std::pair<Wide, std::size_t> one{*after + waiting[j].begin - own.end, j};
      if (!next || one < *next) next = one;
    }
    if (!next) continue;
    waits[next->second] = 1;
    cycles.push_back(own.end - own.begin);
    const Wide head = line.heads[at(own.op)] + own.begin;
    lag = std::min(lag.value_or(next->first), next->first);
    begin = std::min(begin.value_or(head), head);
  }
  if (cycles.size() < 2) return false;
  std::sort(cycles.begin(), cycles.end());
  std::vector<Wide> freed;  // the k-th that waits begins no sooner
  Wide now = *begin;
  for (const Wide c : cycles) freed.push_back((now += c) + *lag);
  const auto head = [&](std::size_t j) { return line.heads[at(waiting[j].op)] + waiting[j].begin; };
  const auto tail = [&](std::size_t j) { return line.tails[at(waiting[j].op)] - waiting[j].end; };
  std::set<Wide> froms(freed.begin(), freed.end()), rests;
  for (std::size_t j = 0; j < waiting.size(); ++j) {
    froms.insert(head(j));
    rests.insert(tail(j));
  }
  for (const Wide from : froms) {
    std::size_t ahead = 0;
    while (ahead < freed.size() && freed[ahead] < from) ++ahead;
    for (const Wide rest : rests) {
      Wide area = 0;
      std::vector<Wide> perhaps;
      for (std::size_t j = 0; j < waiting.size(); ++j) {
        if (tail(j) < rest) continue;
        if (head(j) >= from)
          area += waiting[j].area;
        else if (waits[j])
          perhaps.push_back(waiting[j].area);
      }
      std::sort(perhaps.begin(), perhaps.end());
      for (std::size_t k = 0; k + ahead < perhaps.size(); ++k) area += perhaps[k];
      if (area > 0 && area > Wide{capacity} * (length - rest - from)) return true;
    }
  }
  return false;
}

}  // namespace

bool fed_units_exceed(const Problem& problem, const Forced& forced, Cycle ii,
                      std::vector<Wide> heads, std::vector<Wide> tails, Cycle length) {
  if (problem.ops.size() > kMostFedOps) return false;
  FedLine line;
  line.heads = std::move(heads);
  line.tails = std::move(tails);
  line.uses.resize(problem.units.size());
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
    line.after.push_back(leads_to(problem, forced, ii, v));
    for (const Reservation& r : problem.ops[at(v)].reservations)
      if (r.amount < kMaxAmount / (r.length + 1))  // as the bound, so that pairs are the same
        line.uses[at(r.unit)].push_back(
            {v, r.offset, r.offset + r.length, Wide{r.amount} * r.length});
  }
  sharpen(problem, line);
  for (std::size_t v = 0; v < line.heads.size(); ++v)
    if (line.heads[v] + line.tails[v] > length) return true;
  const FedLine seen = backwards(line);
  for (std::size_t f = 0; f < line.uses.size(); ++f)
    for (std::size_t g = 0; g < line.uses.size(); ++g) {
      if (f == g || problem.units[f].capacity != 1) continue;
      const Amount capacity = problem.units[g].capacity;
      if (waits_too_long(line, f, g, capacity, length) ||
          waits_too_long(seen, f, g, capacity, length))
        return true;
    }
  return false;
}

}  // namespace twill
