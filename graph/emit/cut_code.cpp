#include "graph/emit/cut_code.hpp"

#include <algorithm>
#include <limits>

#include "graph/index.hpp"

namespace twill::emit {
namespace {

class Cutter {
 public:
  Cutter(const program::Program& program, CutCode& to, bool tiles)
      : p_(program), items_(to.items), depth_(to.code.depth), tiles_(tiles) {}

  /// Of a run of n >= depth iterations.
  void period(Iteration t, std::vector<Step>& steps) const {
    for (const Item& item : items_) {
      const Iteration i = t + -item.lag;
      if (i.from == Iteration::begin && i.offset < 0) continue;
      if (i.from == Iteration::end && i.offset >= 0) continue;
      if (!item.is_wait) {
        steps.push_back({false, item.index, i, false, false, 0});
        continue;
      }
      const Iteration j = i + -p_.waits[at(item.index)].offset;
      Step step{true, item.index, j, false, false, 0};
      switch (j.from) {
        case Iteration::begin:
          if (j.offset < 0 && !tiles_) continue;
          step.if_begun = j.offset < 0;
          step.if_exists = j.offset >= depth_;
          break;
        case Iteration::loop:  // of i = 0 .. n - depth - 1
          step.if_begun = j.offset < 0;
          step.if_exists = j.offset > depth_;
          break;
        case Iteration::end:
          if (j.offset >= 0) continue;
          step.if_begun = -j.offset > depth_;
          break;
      }
      steps.push_back(step);
    }
  }

  void fixed_period(int t, int n, std::vector<Step>& steps) const {
    for (const Item& item : items_) {
      const int i = t - item.lag;
      if (i < 0 || i >= n) continue;
      const int j = item.is_wait ? i - p_.waits[at(item.index)].offset : i;
      if (item.is_wait && ((j < 0 && !tiles_) || j >= n)) continue;
      steps.push_back({item.is_wait, item.index, {Iteration::begin, j}, j < 0, false, 0});
    }
  }

 private:
  const program::Program& p_;
  const std::vector<Item>& items_;
  int depth_;
  bool tiles_;
};

/// Waits in their new places.
void move_waits(std::vector<Item>& items, const std::vector<EarlierWait>& earlier) {
  for (const EarlierWait& one : earlier) {
    const auto from = std::find_if(items.begin(), items.end(), [&](const Item& item) {
      return item.is_wait && item.index == one.wait;
    });
    Item moved = *from;
    items.erase(from);
    if (one.before < 0) {
      --moved.lag;
      items.push_back(moved);
      continue;
    }
    const auto to = std::find_if(items.begin(), items.end(), [&](const Item& item) {
      return !item.is_wait && item.index == one.before;
    });
    items.insert(to, moved);
  }
}

/// Does an op take nothing of others, and do they take nothing of it? (Places and masks, which are
/// computed where they are used.)
bool is_loose(const program::Program& program, int op) {
  const program::Op& one = program.ops[at(op)];
  const auto waits = [&](const program::Wait& wait) { return wait.before == op; };
  const auto tells = [&](const program::Event& event) { return event.op == op; };
  if (one.ending != program::Ending::at_once || one.writes.empty() || !one.reads.empty() ||
      std::any_of(program.waits.begin(), program.waits.end(), waits) ||
      std::any_of(program.events.begin(), program.events.end(), tells))
    return false;
  const auto written = [&](int storage) {
    return std::find(one.writes.begin(), one.writes.end(), storage) != one.writes.end();
  };
  if (std::any_of(one.writes.begin(), one.writes.end(), [&](int s) {
        return program.storages[at(s)].kind == program::Storage::in_memory;
      }))
    return false;
  for (const program::Op& other : program.ops)
    for (const program::Read& read : other.reads)
      if (written(read.storage)) return false;
  return true;
}

/// Loose ops move among the others: alone they make the code no deeper.
void hold_loose(std::vector<Item>& items, const program::Program& program) {
  std::vector<Item*> loose;
  int least = std::numeric_limits<int>::max(), most = std::numeric_limits<int>::min();
  for (Item& item : items) {
    if (!item.is_wait && is_loose(program, item.index)) {
      loose.push_back(&item);
      continue;
    }
    least = std::min(least, item.lag);
    most = std::max(most, item.lag);
  }
  if (least <= most)
    for (Item* const one : loose) one->lag = std::clamp(one->lag, least, most);
}

}  // namespace

int CutCode::position(int op) const {
  for (std::size_t k = 0; k < items.size(); ++k)
    if (!items[k].is_wait && items[k].index == op) return static_cast<int>(k);
  return -1;
}

int CutCode::lag(int op) const {
  return items[at(position(op))].lag;
}

CutCode cut_code(const program::Program& program, int slot, int cut, bool tiles,
                 const std::vector<EarlierWait>& earlier) {
  CutCode cut_code;
  std::vector<Item>& items = cut_code.items;
  for (int v = 0; v < static_cast<int>(program.ops.size()); ++v) {
    const program::Op& op = program.ops[at(v)];
    if (op.slot != slot) continue;
    for (int w = 0; w < static_cast<int>(program.waits.size()); ++w)
      if (program.waits[at(w)].before == v) items.push_back({true, w, op.stage});
    items.push_back({false, v, op.stage});
  }
  // What is before the cut is done a period earlier.
  for (int k = 0; k < cut; ++k) --items[at(k)].lag;
  std::rotate(items.begin(), items.begin() + cut, items.end());
  move_waits(items, earlier);
  hold_loose(items, program);
  const auto by_lag = [](const Item& a, const Item& b) { return a.lag < b.lag; };
  const int first = std::min_element(items.begin(), items.end(), by_lag)->lag;
  for (Item& item : items) item.lag -= first;
  SlotCode& code = cut_code.code;
  code.slot = slot;
  code.depth = std::max_element(items.begin(), items.end(), by_lag)->lag;
  const Cutter cutter(program, cut_code, tiles);
  for (int t = 0; t < code.depth; ++t) cutter.period({Iteration::begin, t}, code.prologue);
  cutter.period({Iteration::loop, code.depth}, code.steady);
  for (int t = 0; t < code.depth; ++t) cutter.period({Iteration::end, t}, code.epilogue);
  for (int n = 0; n < code.depth; ++n) {
    code.short_runs.emplace_back();
    for (int t = 0; t < n + code.depth; ++t) cutter.fixed_period(t, n, code.short_runs.back());
  }
  return cut_code;
}

void guard(CutCode& cut, const program::Program& program) {
  SlotCode guarded;
  guarded.slot = cut.code.slot;
  guarded.guarded = cut.code.depth;
  for (const Item& item : cut.items) {
    const int offset = item.is_wait ? program.waits[at(item.index)].offset : 0;
    guarded.steady.push_back({item.is_wait,
                              item.index,
                              {Iteration::loop, -item.lag - offset},
                              offset > 0,
                              offset < 0,
                              item.lag});
  }
  cut.code = std::move(guarded);
}

}  // namespace twill::emit
