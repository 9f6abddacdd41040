// A program run with numbers: slots as threads of control, mbarriers with one bit of parity, one
// array of bytes a memory in which what overlaps overwrites, asynchronous work that is done when
// somebody has to wait for it or at a random moment. Shares no code with the judge (judge.hpp):
// this is one run, not all, and what it shows is a number, a hang or an overrun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/meaning/reference.hpp"
#include "graph/meaning/tile_functions.hpp"
#include "graph/program/program.hpp"

namespace twill::program {

/// In which order things happen that may happen in any order.
enum class Pace {
  late,    ///< slots go as far ahead as they can, the first as far as possible before the next;
           ///< asynchronous work only when no slot can go on. What an op in flight is to write is
           ///< garbage from its beginning on
  eager,   ///< asynchronous work at once
  random,  ///< anything at any time
};

/// An op instance that is kept back as long as anything else can go on, until another has ended.
struct Hold {
  enum Where { waits, reads, writes, end } where = waits;  ///< before what it is kept back
  int op = 0, iteration = 0;
  int until_op = 0, until_iteration = 0;
};

struct Course {
  Pace pace = Pace::late;
  std::uint64_t seed = 0;  ///< of the order of slots, and of what is random
  std::optional<Hold> hold;
};

struct Execution {
  /// "" = it came to its end; "hang" = it did not; "overrun" = a wait passed, or did not pass, by
  /// the parity of another phase; "pending" = by a count of what was not issued; "copies" = two
  /// storages that are to hold one result differ.
  std::string fault;
  std::string text;
  meaning::TensorTiles outputs;  ///< what was stored, as far as it went
};

/// n iterations on `inputs` (meaning::seeded_inputs()). `program` must link() and must have valid
/// indices; it need not be right.
Execution execute(const Program& program, int n, const meaning::TensorTiles& inputs,
                  const Course& course);

}  // namespace twill::program
