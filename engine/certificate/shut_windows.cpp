// In one iteration two segments of a unit that take more than half of it each do not overlap. So:
//
// Let some of them lie in [from, to), `work` cycles of them. Another one is the last of all where
// it could not be elsewhere: some other one would be the last, which ends by `to`, and all would
// lie between the least begin and that. Behind those it begins at from + work, for each `from`.
//
// One that cannot end before another one must begin comes after it, and so behind all such ones.
//
// The same is asked of the schedule turned round, until nothing moves any more. (Whatever the order
// in which they are applied, that is where these rules end; any earlier end says less.)
#include "engine/certificate/shut_windows.hpp"

#include <algorithm>
#include <set>

#include "engine/certificate/packed.hpp"
#include "engine/certificate/window_area.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

constexpr int kMostTurns = 100;  // more than the bound's own
// Of a unit: as many as the bound looks at. (The work is the cube of these, and the square of all.)
constexpr std::size_t kMostLonely = 500, kMostPieces = 2'000;

// First begins of segments that exclude each other (areas are their lengths), as they have to be at
// the least.
std::vector<Wide> latest_begins(const std::vector<Inside>& all) {
  std::vector<Wide> begins;
  std::set<Wide> froms, tos;
  for (const Inside& one : all) {
    begins.push_back(one.from);
    froms.insert(one.from);
    tos.insert(one.to);
  }
  for (const Wide to : tos) {
    Wide behind = 0;  // for the froms so far
    for (auto from = froms.rbegin(); from != froms.rend(); ++from) {
      Wide work = 0;
      for (const Inside& one : all)
        if (one.from >= *from && one.to <= to) work += one.area;
      if (work == 0) continue;
      behind = std::max(behind, *from + work);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool inside = all[i].from >= *from && all[i].to <= to;
        if (!inside && std::min(*from, all[i].from) + work + all[i].area > to)
          begins[i] = std::max(begins[i], behind);
      }
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Wide from : froms) {
      Wide work = 0;
      for (std::size_t j = 0; j < all.size(); ++j)
        if (j != i && all[j].from >= from && all[i].from + all[i].area > all[j].to - all[j].area)
          work += all[j].area;
      if (work > 0) begins[i] = std::max(begins[i], from + work);
    }
  return begins;
}

}  // namespace

bool windows_shut(const Problem& problem, const Forced& forced, Cycle ii, std::vector<Wide> heads,
                  std::vector<Wide> tails, Cycle length) {
  struct Piece {
    std::size_t op;
    Wide offset, cycles;
  };
  std::vector<std::vector<Piece>> pieces(problem.units.size());
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    for (const Reservation& r : problem.ops[v].reservations)
      if (2 * Wide{r.amount} > problem.units[at(r.unit)].capacity)
        pieces[at(r.unit)].push_back({v, r.offset, r.length});
  const auto raised = [](Wide& value, Wide to) {
    if (to <= value) return false;
    value = to;
    return true;
  };
  bool moves = true;
  for (int turn = 0; moves && turn < kMostTurns; ++turn) {
    moves = false;
    for (const std::vector<Piece>& unit : pieces) {
      if (unit.size() > kMostLonely) continue;
      for (const bool turned : {false, true}) {
        std::vector<Inside> all;
        for (const auto& [v, offset, cycles] : unit) {
          const Wide first = heads[v] + offset, last = length - tails[v] + offset + cycles;
          all.push_back(turned ? Inside{length - last, length - first, cycles}
                               : Inside{first, last, cycles});
        }
        if (window_exceeded(all, 1)) return true;
        const std::vector<Wide> begins = latest_begins(all);
        for (std::size_t i = 0; i < unit.size(); ++i) {
          const auto& [v, offset, cycles] = unit[i];
          const bool raises = turned ? raised(tails[v], begins[i] + offset + cycles)
                                     : raised(heads[v], begins[i] - offset);
          moves = raises || moves;
        }
      }
    }
    bool goes_on = moves;
    for (std::size_t pass = 0; goes_on && pass < heads.size(); ++pass) {
      goes_on = false;
      for (std::size_t e = 0; e < problem.edges.size(); ++e) {
        const Edge& edge = problem.edges[e];
        const Wide apart = Wide{forced.delay[e]} - Wide{edge.distance} * ii;
        const bool head = raised(heads[at(edge.to)], heads[at(edge.from)] + apart);
        const bool tail = raised(tails[at(edge.from)], tails[at(edge.to)] + apart);
        goes_on = goes_on || head || tail;
      }
    }
    for (std::size_t v = 0; v < heads.size(); ++v)
      if (heads[v] + tails[v] > length) return true;
  }
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
    std::vector<Inside> all;
    std::vector<Amount> amounts;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      for (const Reservation& r : problem.ops[v].reservations)
        if (r.unit == f) {
          all.push_back({heads[v] + r.offset, length - tails[v] + r.offset + r.length, r.length});
          amounts.push_back(r.amount);
        }
    if (all.size() > kMostPieces) continue;
    for (const BinWeights& weights : weights_in(amounts, problem.units[at(f)].capacity)) {
      std::vector<Inside> weighed = all;
      for (std::size_t i = 0; i < all.size(); ++i) weighed[i].area *= weights.of[i];
      if (window_exceeded(weighed, weights.most)) return true;
    }
  }
  return false;
}

}  // namespace twill
