#include "tests/support/program_search.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace twill::test {
namespace {

using program::Ending;
using program::Program;
using program::Storage;

struct Searcher {
  const Program& p;
  int n;
  std::size_t most;
  std::vector<int> tiles;  // empty = one run

  int first_of(int iteration) const {  // of its run
    int first = 0;
    for (const int count : tiles) {
      if (iteration < first + count) return first;
      first += count;
    }
    return tiles.empty() ? -1'000 : first;
  }
  int end_of(int iteration) const {
    int end = 0;
    for (const int count : tiles) {
      end += count;
      if (iteration < end) return end;
    }
    return n;
  }

  struct Step {
    int op, iteration;
  };
  struct State {
    std::vector<std::uint8_t> at;      // per slot, the step it is at
    std::vector<std::uint8_t> waited;  // per slot, the waits it has passed before that step
    std::vector<std::uint8_t> status;  // per instance: 0 not issued, 1 issued, 2 begun, 3 ended
    std::vector<std::uint8_t> cells;   // tags
    std::string key() const {
      std::string k;
      for (const auto* part : {&at, &waited, &status, &cells})
        k.append(reinterpret_cast<const char*>(part->data()), part->size());
      return k;
    }
  };

  std::vector<std::vector<Step>> code;  // per slot
  std::vector<std::vector<int>> ahead;  // [op][iteration]: instance before it in its queue
  std::vector<std::vector<std::vector<int>>> cells_of;  // [storage][copy]
  std::vector<int> carried, writer;
  int cells = 0;

  std::size_t who(int op, int i) const {
    return static_cast<std::size_t>(op) * static_cast<std::size_t>(n) + static_cast<std::size_t>(i);
  }
  static std::uint8_t tag(int storage, int iteration) {
    return static_cast<std::uint8_t>(1 + storage * 16 + iteration + 6);
  }
  const std::vector<int>& range(int s, int iteration) const {
    const int depth = p.storages[static_cast<std::size_t>(s)].depth;
    return cells_of[static_cast<std::size_t>(s)]
                   [static_cast<std::size_t>(((iteration % depth) + depth) % depth)];
  }

  void prepare() {
    int stages = 0;
    for (const auto& op : p.ops) stages = std::max(stages, op.stage + 1);
    code.resize(p.slots.size());
    ahead.assign(p.ops.size(), std::vector<int>(static_cast<std::size_t>(std::max(n, 1)), -1));
    for (std::size_t s = 0; s < p.slots.size(); ++s) {
      std::map<std::string, int> queue;
      const std::vector<int> runs = tiles.empty() ? std::vector<int>{n} : tiles;
      int first = 0, tile = 0;
      for (int t = 0; tile < static_cast<int>(runs.size()); ++t) {
        const int count = runs[static_cast<std::size_t>(tile)];
        if (t >= count + stages - 1) {
          first += count;
          ++tile;
          t = -1;
          continue;
        }
        for (std::size_t v = 0; v < p.ops.size(); ++v) {
          const int k = t - p.ops[v].stage, i = first + k;
          if (p.ops[v].slot != static_cast<int>(s) || k < 0 || k >= count) continue;
          code[s].push_back({static_cast<int>(v), i});
          if (p.ops[v].queue.empty()) continue;
          const auto known = queue.find(p.ops[v].queue);
          if (known != queue.end()) ahead[v][static_cast<std::size_t>(i)] = known->second;
          queue[p.ops[v].queue] = static_cast<int>(who(static_cast<int>(v), i));
        }
      }
    }
    std::map<std::pair<int, Amount>, int> number;
    for (std::size_t s = 0; s < p.storages.size(); ++s) {
      const Storage& storage = p.storages[s];
      const Amount step =
          (storage.size + storage.alignment - 1) / storage.alignment * storage.alignment;
      cells_of.emplace_back();
      for (int c = 0; c < storage.depth; ++c) {
        std::vector<int> here;
        if (storage.kind != Storage::in_memory) {
          here.push_back(cells++);
        } else {
          for (Amount a = 0; a < storage.size; ++a) {
            const auto [cell, fresh] =
                number.try_emplace({storage.memory, storage.base + c * step + a}, cells);
            if (fresh) ++cells;
            here.push_back(cell->second);
          }
        }
        cells_of.back().push_back(here);
      }
    }
    carried.assign(p.storages.size(), 0);
    for (const auto& op : p.ops)
      for (const auto& r : op.reads)
        carried[static_cast<std::size_t>(r.storage)] =
            std::max(carried[static_cast<std::size_t>(r.storage)], r.distance);
    writer = program::writers(p);
  }

  State initial() const {
    State state;
    state.at.assign(p.slots.size(), 0);
    state.waited = state.at;
    state.status.assign(p.ops.size() * static_cast<std::size_t>(n), 0);
    state.cells.assign(static_cast<std::size_t>(cells), 0);
    for (std::size_t s = 0; s < p.storages.size(); ++s)
      for (int i = 1; i <= carried[s]; ++i)
        for (const int c : range(static_cast<int>(s), -i))
          state.cells[static_cast<std::size_t>(c)] = tag(static_cast<int>(s), -i);
    return state;
  }

  bool common(int s, int i, int t, int j) const {
    for (const int a : range(s, i))
      for (const int b : range(t, j))
        if (a == b) return true;
    return false;
  }

  struct Use {
    int storage, iteration;
    bool writes;
  };
  std::vector<Use> uses(int op, int i) const {
    std::vector<Use> all;
    const auto& o = p.ops[static_cast<std::size_t>(op)];
    for (const auto& r : o.reads)
      if (i - r.distance >= first_of(i)) all.push_back({r.storage, i - r.distance, false});
    for (const int s : o.writes) all.push_back({s, i, true});
    return all;
  }
  std::string name(int op, int i) const {
    return p.ops[static_cast<std::size_t>(op)].id + "[" + std::to_string(i) + "]";
  }

  std::optional<std::string> begin(State& state, int op, int i) const {
    const auto& o = p.ops[static_cast<std::size_t>(op)];
    const auto mine = uses(op, i);
    for (const Use& r : mine) {
      if (r.writes) continue;
      for (const int c : range(r.storage, r.iteration))
        if (state.cells[static_cast<std::size_t>(c)] != tag(r.storage, r.iteration))
          return name(op, i) + " reads a wrong version";
      for (const Use& w : mine) {
        if (!w.writes || !common(r.storage, r.iteration, w.storage, w.iteration)) continue;
        const bool listed =
            std::find(o.in_place.begin(), o.in_place.end(), r.storage) != o.in_place.end();
        if (!listed || range(r.storage, r.iteration) != range(w.storage, w.iteration))
          return name(op, i) + " writes over what it reads";
      }
    }
    for (std::size_t a = 0; a < mine.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (mine[a].writes && mine[b].writes && common(mine[a].storage, i, mine[b].storage, i))
          return name(op, i) + " writes two results to one place";
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
      for (int j = 0; j < n; ++j) {
        if (state.status[who(v, j)] != 2) continue;
        for (const Use& other : uses(v, j))
          for (const Use& use : mine)
            if ((use.writes || other.writes) &&
                common(use.storage, use.iteration, other.storage, other.iteration))
              return name(op, i) + " and " + name(v, j) + " race";
      }
    state.status[who(op, i)] = 2;
    return std::nullopt;
  }

  // Phases that are complete by the arrivals so far.
  int ended_on(const State& state, const program::Event& event, int barrier) const {
    int count = 0;
    for (int i = barrier; i < n; i += event.phases)
      for (const int op : program::ops_of(event))
        if (state.status[who(op, i)] == 3) ++count;
    return count / (1 + static_cast<int>(event.with.size()));
  }
  bool all_ended(const State& state, const program::Event& event, int i) const {
    for (const int op : program::ops_of(event))
      if (state.status[who(op, i)] != 3) return false;
    return true;
  }
  // An arrival of iteration i is counted for the phase before if that has not come whole.
  std::optional<std::string> arrival(const State& state, int op, int i) const {
    for (const auto& event : p.events)
      if (!event.pending && program::ends(event, op) && i >= event.phases)
        for (const int other : program::ops_of(event))
          if (!event.with.empty() && state.status[who(other, i - event.phases)] != 3)
            return name(op, i) + " arrives a phase before " + name(other, i - event.phases);
    return std::nullopt;
  }

  // The waits of a step that are for iterations that exist.
  std::vector<const program::Wait*> waits(const Step& step) const {
    std::vector<const program::Wait*> all;
    for (const auto& w : p.waits)
      if (w.before == step.op && step.iteration - w.offset >= 0 &&
          step.iteration - w.offset < end_of(step.iteration))
        all.push_back(&w);
    return all;
  }

  SearchResult run() {
    prepare();
    SearchResult result;
    std::unordered_set<std::string> seen;
    std::vector<State> next = {initial()};
    seen.insert(next.front().key());
    while (!next.empty()) {
      const State now = std::move(next.back());
      next.pop_back();
      if (++result.states > most) return result;
      bool moved = false, done = true;
      std::optional<std::string> fault;
      const auto go = [&](State state) {
        moved = true;
        if (seen.insert(state.key()).second) next.push_back(std::move(state));
      };
      for (std::size_t s = 0; s < code.size() && !fault; ++s) {
        if (now.at[s] >= code[s].size()) continue;
        done = false;
        const Step step = code[s][now.at[s]];
        const auto& op = p.ops[static_cast<std::size_t>(step.op)];
        const std::size_t x = who(step.op, step.iteration);
        const auto list = waits(step);
        if (now.status[x] == 0 && now.waited[s] < list.size()) {
          const auto& wait = *list[now.waited[s]];
          const auto& event = p.events[static_cast<std::size_t>(wait.event)];
          const int i = step.iteration - wait.offset;
          bool pass = false;
          if (event.pending) {
            const auto status = now.status[who(event.op, i)];
            if (status == 0) fault = name(step.op, step.iteration) + " counts what is not issued";
            pass = status == 3;
          } else {
            const int phase = i / event.phases, ended = ended_on(now, event, i % event.phases);
            // All that ended must be the right ones: an arrival has no name.
            if (ended < phase)
              fault = name(step.op, step.iteration) + " waits a phase too early";
            else if (ended > phase + 1)
              fault = name(step.op, step.iteration) + " is overrun";
            else if (ended == phase + 1 && !all_ended(now, event, i))
              fault = name(step.op, step.iteration) + " passes by another iteration's arrival";
            else if (ended == phase && all_ended(now, event, i))
              fault =
                  name(step.op, step.iteration) + " waits for an arrival that was counted before";
            pass = ended == phase + 1;
          }
          if (fault || !pass) continue;
          State after = now;
          ++after.waited[s];
          go(std::move(after));
          continue;
        }
        if (now.status[x] != 0) continue;  // at once: its end moves the slot
        State after = now;
        after.status[x] = 1;
        after.waited[s] = 0;
        if (op.ending != Ending::at_once) ++after.at[s];
        go(std::move(after));
      }
      for (int v = 0; v < static_cast<int>(p.ops.size()) && !fault; ++v)
        for (int i = 0; i < n && !fault; ++i) {
          const std::size_t x = who(v, i);
          if (now.status[x] != 3) done = false;
          if (now.status[x] == 1) {
            const int before = ahead[static_cast<std::size_t>(v)][static_cast<std::size_t>(i)];
            if (before >= 0 && now.status[static_cast<std::size_t>(before)] != 3) continue;
            State after = now;
            fault = begin(after, v, i);
            if (!fault) go(std::move(after));
          } else if (now.status[x] == 2) {
            fault = arrival(now, v, i);
            if (fault) break;
            State after = now;
            after.status[x] = 3;
            for (const int s : p.ops[static_cast<std::size_t>(v)].writes)
              for (const int c : range(s, i)) after.cells[static_cast<std::size_t>(c)] = tag(s, i);
            if (p.ops[static_cast<std::size_t>(v)].ending == Ending::at_once)
              ++after.at[static_cast<std::size_t>(p.ops[static_cast<std::size_t>(v)].slot)];
            go(std::move(after));
          }
        }
      if (!fault && done && tiles.empty())
        for (std::size_t s = 0; s < p.storages.size() && !fault; ++s)
          for (int i = n - carried[s]; i < n; ++i)
            for (const int c : range(static_cast<int>(s), i))
              if (now.cells[static_cast<std::size_t>(c)] != tag(static_cast<int>(s), i))
                fault = p.storages[s].name + " is gone in the end";
      if (!fault && !done && !moved) fault = "nothing can go on";
      if (fault) {
        result.fault = fault;
        return result;
      }
    }
    result.complete = true;
    return result;
  }
};

}  // namespace

SearchResult search_program(const Program& program, int n, std::size_t most_states) {
  Searcher searcher{program, n, most_states, {}, {}, {}, {}, {}, {}, 0};
  return searcher.run();
}

SearchResult search_tiles(const Program& program, const std::vector<int>& tiles,
                          std::size_t most_states) {
  int n = 0;
  for (const int count : tiles) n += count;
  Searcher searcher{program, n, most_states, tiles, {}, {}, {}, {}, {}, 0};
  return searcher.run();
}

}  // namespace twill::test
