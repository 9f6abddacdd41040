#include "engine/output/steady_state.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

#include "graph/bounds/channel_bounds.hpp"
#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
namespace {

Amount saturated_product(Amount a, Amount b) {
  Amount product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<Amount>::max() : product;
}

Amount saturated_sum(Amount a, Amount b) {
  Amount sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<Amount>::max() : sum;
}

/// Cuts work [begin, begin + length) of iteration 0 at the multiples of I. In the period that is
/// drawn, what was issued s periods ago belongs to iteration i + stages - 1 - s.
void cut(const SteadyState& state, int op, Cycle begin, Cycle length, Amount amount, Lanes& out) {
  const Cycle ii = state.ii;
  const Cycle end = begin + length;
  const Cycle newest = state.stages - 1;
  const Cycle first = begin / ii;
  const Cycle last = (end - 1) / ii;
  if (first == last) {
    out.pieces.push_back(
        {op, begin % ii, (end - 1) % ii + 1, newest - first, 1, amount, true, true, 0});
    return;
  }
  out.pieces.push_back({op, begin % ii, ii, newest - first, 1, amount, true, false, 0});
  if (last - first > 1) {
    out.pieces.push_back(
        {op, 0, ii, newest - first - 1, last - first - 1, amount, false, false, 0});
  }
  out.pieces.push_back({op, 0, (end - 1) % ii + 1, newest - last, 1, amount, false, true, 0});
}

/// First fit by begin, which is optimal for intervals: as many lanes as the largest overlap. Work
/// cut at the period's end goes on in the lane where it left off when that lane is free.
void assign_lanes(Lanes& lanes) {
  std::stable_sort(lanes.pieces.begin(), lanes.pieces.end(),
                   [](const BusyPiece& a, const BusyPiece& b) {
                     return std::tuple(a.begin, b.end, a.op) < std::tuple(b.begin, a.end, b.op);
                   });
  std::vector<Cycle> free_from;
  std::map<int, int> tail_lane;  // op -> lane of its part from the period before
  for (BusyPiece& piece : lanes.pieces) {
    int lane = -1;
    if (piece.first && !piece.last) {
      const auto tail = tail_lane.find(piece.op);
      if (tail != tail_lane.end() && free_from[at(tail->second)] <= piece.begin)
        lane = tail->second;
    }
    for (int k = 0; lane < 0; ++k) {
      if (at(k) == free_from.size()) free_from.push_back(0);
      if (free_from[at(k)] <= piece.begin) lane = k;
    }
    piece.lane = lane;
    free_from[at(lane)] = piece.end;
    if (!piece.first && piece.last) tail_lane[piece.op] = lane;
  }
  lanes.count = std::max(1, static_cast<int>(free_from.size()));
  std::stable_sort(lanes.pieces.begin(), lanes.pieces.end(),
                   [](const BusyPiece& a, const BusyPiece& b) {
                     return std::tuple(a.begin, a.lane) < std::tuple(b.begin, b.lane);
                   });
}

/// Issue order of one period. An edge whose consumer issues in the very cycle of its producer
/// (delay 0) orders two ops of one row; such edges form no cycle, as their distances would sum to
/// 0.
std::vector<int> issue_order(const Problem& problem, const Schedule& schedule,
                             const SteadyState& state) {
  const std::size_t count = problem.ops.size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> next(count);
  for (const Edge& edge : problem.edges) {
    if (schedule.start[at(edge.from)] == schedule.start[at(edge.to)] + edge.distance * state.ii &&
        edge.from != edge.to) {
      ++waiting[at(edge.to)];
      next[at(edge.from)].push_back(edge.to);
    }
  }
  using Key = std::tuple<Cycle, int, Cycle, int>;  // row, slot, younger iteration first, op
  const auto key = [&](int v) {
    return Key(state.row[at(v)], schedule.warp[at(v)], state.stage[at(v)], v);
  };
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  std::vector<char> taken(count, 0);
  for (std::size_t v = 0; v < count; ++v) {
    if (waiting[v] == 0) ready.push(key(static_cast<int>(v)));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int v = std::get<3>(ready.top());
    ready.pop();
    taken[at(v)] = 1;
    order.push_back(v);
    for (int to : next[at(v)]) {
      if (--waiting[at(to)] == 0) ready.push(key(to));
    }
  }
  for (std::size_t v = 0; v < count; ++v) {  // only a rejected schedule has any left
    if (!taken[v]) order.push_back(static_cast<int>(v));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return state.row[at(a)] < state.row[at(b)]; });
  return order;
}

/// Sweep over the residues at which something changes. `held` is (op, amount a copy), `base` what
/// is held at every residue beside it.
Pressure pressure(const SteadyState& state, Amount capacity,
                  const std::vector<std::pair<int, Amount>>& held, Amount base = 0) {
  Pressure result;
  result.capacity = capacity;
  std::map<Cycle, Amount> change;  // residue -> change of the sum
  change[0] = 0;
  for (const auto& [op, amount] : held) {
    const Cycle life = state.lifetime[at(op)];
    base = saturated_sum(base, saturated_product(life / state.ii, amount));
    const Cycle part = life % state.ii;
    if (part == 0) continue;
    const Cycle begin = state.row[at(op)];
    const Cycle end = (begin + part) % state.ii;
    change[begin] += amount;
    change[end] -= amount;
    if (begin + part >= state.ii) change[0] += amount;
  }
  Amount sum = base;
  for (const auto& [residue, delta] : change) {
    sum = saturated_sum(sum, delta);
    if (result.steps.empty() || result.steps.back().second != sum) {
      result.steps.emplace_back(residue, sum);
    }
    if (sum > result.peak) {
      result.peak = sum;
      result.peak_cycle = residue;
    }
  }
  for (const auto& [op, amount] : held) {
    const Cycle life = state.lifetime[at(op)];
    const Cycle age = (result.peak_cycle - state.row[at(op)] + state.ii) % state.ii;
    const Cycle copies = life / state.ii + (age < life % state.ii ? 1 : 0);
    if (copies > 0) result.live.emplace_back(op, copies);
  }
  return result;
}

void fill_units(const Problem& problem, const Schedule& schedule, SteadyState& state) {
  state.units.resize(problem.units.size());
  state.busy.assign(problem.units.size(), 0.0);
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    for (const Reservation& r : problem.ops[v].reservations) {
      const Amount capacity = problem.units[at(r.unit)].capacity;
      const Cycle begin = schedule.start[v] + r.offset;
      const bool lane_each = capacity <= kMaxLanesByAmount;
      for (Amount k = 0; k < (lane_each ? r.amount : 1); ++k) {
        cut(state, static_cast<int>(v), begin, r.length, lane_each ? 1 : r.amount,
            state.units[at(r.unit)]);
      }
      state.busy[at(r.unit)] += static_cast<double>(r.length) * static_cast<double>(r.amount) /
                                (static_cast<double>(capacity) * static_cast<double>(state.ii));
    }
  }
  for (Lanes& lanes : state.units) assign_lanes(lanes);
}

void fill_slots(const Problem& problem, const Schedule& schedule, SteadyState& state) {
  state.slots.resize(problem.warps.size());
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const Cycle cycles = problem.ops[v].cycles;
    if (cycles > 0) {
      cut(state, static_cast<int>(v), schedule.start[v], cycles, 1,
          state.slots[at(schedule.warp[v])]);
    }
  }
  for (Lanes& lanes : state.slots) assign_lanes(lanes);
}

void fill_pressure(const Problem& problem, const Schedule& schedule, SteadyState& state) {
  state.lifetime.assign(problem.ops.size(), 0);
  for (const Edge& edge : problem.edges) {
    const Cycle end = schedule.start[at(edge.to)] + edge.distance * state.ii + edge.hold;
    Cycle& life = state.lifetime[at(edge.from)];
    life = std::max(life, end - schedule.start[at(edge.from)]);
  }
  for (Cycle life : state.lifetime) state.copies.push_back((life + state.ii - 1) / state.ii);

  std::vector<std::vector<std::pair<int, Amount>>> in_slot(problem.warps.size());
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const int op = static_cast<int>(v);
    if (problem.ops[v].registers > 0) {
      in_slot[at(schedule.warp[v])].emplace_back(op, problem.ops[v].registers);
    }
  }
  for (std::size_t w = 0; w < in_slot.size(); ++w) {
    state.registers.push_back(pressure(state, problem.warps[w].registers, in_slot[w]));
  }
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const MemoryCharges charges = memory_charges(problem, static_cast<int>(m));
    std::vector<std::pair<int, Amount>> live;
    std::vector<ChargedRing> rings;
    Amount taken = 0;
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
      if (charges.live[at(v)] > 0) live.emplace_back(v, charges.live[at(v)]);
      if (charges.ring[at(v)] == 0) continue;
      rings.push_back({v, ring_depth(problem, schedule, v), charges.ring[at(v)]});
      taken = saturated_sum(taken, saturated_product(rings.back().buffers, rings.back().each));
    }
    state.memories.push_back(pressure(state, problem.memories[m].capacity, live, taken));
    state.memories.back().rings = std::move(rings);
  }
}

}  // namespace

SteadyState steady_state(const Problem& problem, const Schedule& schedule) {
  SteadyState state;
  state.ii = schedule.initiation_interval;
  state.stages = stage_count(schedule);
  for (Cycle start : schedule.start) {
    state.row.push_back(start % state.ii);
    state.stage.push_back(start / state.ii);
  }
  state.order = issue_order(problem, schedule, state);
  fill_units(problem, schedule, state);
  for (ChannelUse& use : channel_uses(problem))
    state.channels.push_back({use.channel, channel_load(problem, use.channel, state.ii), use.least,
                              std::move(use.sum), use.least >= state.ii});
  for (const ChannelLoad& load : state.channels)
    for (std::size_t f = 0; f < problem.units.size(); ++f)
      if (problem.units[f].name == problem.channels[at(load.channel)].name)
        state.busy[f] = std::max(state.busy[f], load.busy);
  fill_slots(problem, schedule, state);
  fill_pressure(problem, schedule, state);
  return state;
}

}  // namespace twill
