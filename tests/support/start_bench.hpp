// A modulo model with nothing but start literals, to which a test adds one constraint family.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encoders/sinks.hpp"
#include "encoders/time_indexed/modulo.hpp"

namespace twill::test {

/// `count` ops of no cycles and nothing else.
inline Problem ops(int count) {
  Problem p;
  for (int v = 0; v < count; ++v) {
    Op op;
    op.id = "op" + std::to_string(v);
    p.ops.push_back(op);
  }
  return p;
}

/// Start literals of `problem`; full detail of lifetimes.
struct Bench {
  Problem problem;
  EncodingChoice choice;
  ModuloRequest request;
  MemoryCnf cnf;
  Formula f{cnf};
  std::unique_ptr<ModuloModel> m;

  Bench(const Problem& p, Cycle ii, Cycle stages, StartEncoding start, StartWindows window = {})
      : problem(p) {
    request.ii = ii;
    request.stages = stages;
    request.detail = 30;
    if (window.earliest.empty()) {
      window.earliest.assign(p.ops.size(), 0);
      window.latest.assign(p.ops.size(), ii * stages - 1);
    }
    choice.start = start;
    Starts starts = encode_starts(f, ii, stages, window, choice);
    m = std::make_unique<ModuloModel>(problem, f, choice, request, window, std::move(starts));
  }
  const Starts& starts() const { return m->starts; }

  /// row(v) in [low, high].
  void rows(std::vector<Lit>& assumed, int v, Cycle low, Cycle high) const {
    assumed.push_back(starts().row_at_least(v, low));
    assumed.push_back(~starts().row_at_least(v, high + 1));
  }
  void stages(std::vector<Lit>& assumed, int v, Cycle low, Cycle high) const {
    assumed.push_back(starts().stage_at_least(v, low));
    assumed.push_back(~starts().stage_at_least(v, high + 1));
  }
  void start(std::vector<Lit>& assumed, int v, Cycle t) const {
    rows(assumed, v, t % request.ii, t % request.ii);
    stages(assumed, v, t / request.ii, t / request.ii);
  }
};

}  // namespace twill::test
