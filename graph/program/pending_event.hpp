// The event by which an op's own slot waits for its end.
#pragma once

#include "graph/index.hpp"
#include "graph/program/program.hpp"

namespace twill::program {

/// Index of the pending event of an op; it is added, of use to those alone who write over what the
/// op has read, where there is none. `op`: valid in `program`, which it changes.
inline int pending_event(Program& program, int op) {
  for (int e = 0; e < static_cast<int>(program.events.size()); ++e)
    if (program.events[at(e)].pending && program.events[at(e)].op == op) return e;
  Event event;
  event.op = op;
  event.pending = true;
  event.consumed = true;
  program.events.push_back(event);
  return static_cast<int>(program.events.size()) - 1;
}

}  // namespace twill::program
