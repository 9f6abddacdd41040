// Words of 32 bits that are taken out of numbers of 64 bits, as tl.rand takes its key out of the
// seed. Private to graph/ttgir/.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// What an arith.trunci leaves of a number of 64 bits.
struct Word {
  int value = kNone;        ///< an integer of 32 bits; kNone = a number
  std::int64_t number = 0;  ///< that
  bool sign = false;        ///< not the value: its sign, in all bits
};

/// Of an op that cuts 64 bits down to 32: the word that is left, where the 64 bits are a constant,
/// or an integer of 32 bits made longer; shifts by a word and masks of words are followed. Nothing
/// where it is another.
std::optional<Word> word_left(const Module& module, int op);

}  // namespace twill::ttgir
