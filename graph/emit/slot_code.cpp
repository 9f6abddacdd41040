#include "graph/emit/slot_code.hpp"

#include <algorithm>

#include "graph/index.hpp"

namespace twill::emit {
namespace {

class Expander {
 public:
  Expander(const program::Program& program, int slot, bool tiles) : p_(program), tiles_(tiles) {
    code_.slot = slot;
    int first = program::kMaxStage, last = 0;
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
      const program::Op& op = p_.ops[at(v)];
      if (op.slot != slot) continue;
      ops_.push_back(v);
      first = std::min(first, op.stage);
      last = std::max(last, op.stage);
    }
    code_.first_stage = first;
    code_.depth = last - first;
    waits_.resize(p_.ops.size());
    for (int w = 0; w < static_cast<int>(p_.waits.size()); ++w)
      waits_[at(p_.waits[at(w)].before)].push_back(w);
  }

  SlotCode run() {
    const int depth = code_.depth;
    for (int t = 0; t < depth; ++t) period({Iteration::begin, t}, depth, code_.prologue);
    period({Iteration::loop, depth}, depth, code_.steady);
    for (int t = 0; t < depth; ++t) period({Iteration::end, t}, depth, code_.epilogue);
    for (int n = 0; n < depth; ++n) {
      code_.short_runs.emplace_back();
      for (int t = 0; t < n + depth; ++t) fixed_period(t, n, code_.short_runs.back());
    }
    return std::move(code_);
  }

 private:
  int lag(int op) const { return p_.ops[at(op)].stage - code_.first_stage; }

  /// Of a run of n >= depth iterations.
  void period(Iteration t, int depth, std::vector<Step>& steps) {
    for (const int v : ops_) {
      const Iteration i = t + -lag(v);
      if (i.from == Iteration::begin && i.offset < 0) continue;
      if (i.from == Iteration::end && i.offset >= 0) continue;
      for (const int w : waits_[at(v)]) {
        const Iteration j = i + -p_.waits[at(w)].offset;
        Step step{true, w, j, false, false};
        switch (j.from) {
          case Iteration::begin:
            if (j.offset < 0 && !tiles_) continue;
            step.if_begun = j.offset < 0;
            step.if_exists = j.offset >= depth;
            break;
          case Iteration::loop:  // i is 0 .. n - depth - 1
            step.if_begun = j.offset < 0;
            step.if_exists = j.offset > depth;
            break;
          case Iteration::end:
            if (j.offset >= 0) continue;
            step.if_begun = -j.offset > depth;
            break;
        }
        steps.push_back(step);
      }
      steps.push_back({false, v, i, false, false});
    }
  }

  void fixed_period(int t, int n, std::vector<Step>& steps) {
    for (const int v : ops_) {
      const int i = t - lag(v);
      if (i < 0 || i >= n) continue;
      for (const int w : waits_[at(v)]) {
        const int j = i - p_.waits[at(w)].offset;
        if ((j >= 0 || tiles_) && j < n)
          steps.push_back({true, w, {Iteration::begin, j}, j < 0, false});
      }
      steps.push_back({false, v, {Iteration::begin, i}, false, false});
    }
  }

  const program::Program& p_;
  bool tiles_;
  SlotCode code_;
  std::vector<int> ops_;                 ///< of the slot, in their order
  std::vector<std::vector<int>> waits_;  ///< per op
};

}  // namespace

SlotCode slot_code(const program::Program& program, int slot, bool tiles) {
  return Expander(program, slot, tiles).run();
}

RingPlace ring_place(int iteration, int depth) {
  const int copy = (iteration % depth + depth) % depth;
  return {copy, ((iteration - copy) / depth) & 1};
}

}  // namespace twill::emit
