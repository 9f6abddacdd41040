#include "graph/emit/slot_code.hpp"

namespace twill::emit {

RingPlace ring_place(int iteration, int depth) {
  const int copy = (iteration % depth + depth) % depth;
  return {copy, ((iteration - copy) / depth) & 1};
}

}  // namespace twill::emit
