// A slot's code for every trip count, with the loop beginning where one likes. Knows no target
// language.
#pragma once

#include <vector>

#include "graph/emit/slot_code.hpp"

namespace twill::emit {

/// A wait or an op of the slot, for iteration t - lag in period t.
struct Item {
  bool is_wait = false;
  int index = 0;  ///< of the wait or of the op
  int lag = 0;
};

struct CutCode {
  std::vector<Item> items;  ///< of a period, in their order
  SlotCode code;
  int position(int op) const;  ///< among the items; -1 = not of this slot
  int lag(int op) const;       ///< of an op of this slot
};

/// A wait that is to stand earlier than the program says, which is right where it is for something
/// that its own slot has issued before that place.
struct EarlierWait {
  int wait = 0;
  int before = -1;  ///< the op that it stands before now; -1 = at the end of the period before
  bool operator==(const EarlierWait&) const = default;
};

/// The code of a slot with at least one op, its waits and ops in the program's order, where a
/// period begins with the item number `cut`: what is before it belongs to the period before. The
/// order of all instances is the program's whatever the cut, but for waits that are to stand
/// earlier. `tiles`: the code is run once a tile, and waits for iterations of tiles before are
/// among it.
CutCode cut_code(const program::Program& program, int slot, int cut, bool tiles = false,
                 const std::vector<EarlierWait>& earlier = {});

/// The same order of all instances as guarded code.
void guard(CutCode& code, const program::Program& program);

}  // namespace twill::emit
