// The function that a loop's meaning was read from: its parameters, and where tiles lie in them.
// Plain data. A meaning says what is done with "tile i of a tensor" and with named constants; this
// says which argument and which place that is, so that the function can be written anew.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

/// An integer that every program of the grid computes for itself.
struct Index {
  enum Kind {
    number,     ///< `value`
    argument,   ///< parameter `value` of the function
    program,    ///< the program's place along axis `value` of the grid
    programs,   ///< their number along axis `value`
    iteration,  ///< of the loop, from 0
    add,        ///< of both
    sub,
    mul,
    quotient,   ///< towards zero
    remainder,  ///< with the sign of the first
    least,
    largest,
    tile,    ///< the variable of the loop around the loop
    loaded,  ///< number `value` of those that the function loads; of each tile anew: `of` has tile
    // Of an element of a tile that is moved by pointers:
    row,     ///< its place along the tile's first dimension
    column,  ///< along its second one
    wide,    ///< of one: in 64 bits from here on, where the function computes in 32 before
    narrow,  ///< of one: the lower 32 bits, with the sign that they have
    /// The integer behind parameter `value`, as many elements as all of `of` are together, where
    /// the function stores nothing: a table of rows.
    gathered,
    compared,     ///< 1 where IndexComparison::How `value` holds of both, else 0
    chosen,       ///< the first, where all behind the second are not 0, else the second
    bit_and,      ///< of the bits of both
    shift_right,  ///< by as many bits as the second says, a number; rounded down
  } kind = number;
  std::int64_t value = 0;
  std::vector<Index> of;  ///< two, for what has operands; of `wide` and `narrow` one; of `gathered`
                          ///< and `chosen` some

  static Index make(Kind kind, std::int64_t value = 0) { return {kind, value, {}}; }
  static Index make(Kind kind, Index a, Index b) { return {kind, 0, {std::move(a), std::move(b)}}; }
  static Index make(Kind kind, std::vector<Index> of) { return {kind, 0, std::move(of)}; }
  static Index whole(std::int64_t x) { return {number, x, {}}; }
  bool operator==(const Index&) const = default;
};

/// What arguments and places are: all that an Index depends on.
struct Launch {
  std::vector<std::int64_t> arguments;  ///< per parameter; of others than integers 0
  std::int64_t program[3] = {0, 0, 0};
  std::int64_t programs[3] = {1, 1, 1};
  std::int64_t tile = 0;             ///< of the loop around the loop
  std::int64_t row = 0, column = 0;  ///< of an element of a tile
  std::vector<std::int64_t> loaded;  ///< per number of UserKernel::loaded
  /// The same where they lie, by parameter and elements behind it (place_loaded()); and what is
  /// gathered (Index::gathered).
  std::map<std::pair<int, std::int64_t>, std::int64_t> memory;
};

/// Throws std::domain_error for a division by zero, and for a gathered number that launch.memory
/// does not have; sums wrap around at 64 bits.
std::int64_t value_of(const Index& index, const Launch& launch, std::int64_t iteration);

/// Does it contain an index of this kind (of this value, if that is not negative)?
bool depends_on(const Index& index, Index::Kind kind, std::int64_t value = -1);

/// The index of one iteration.
Index at_iteration(Index index, std::int64_t iteration);

/// What is added to an index from each iteration to the next, where that is the same; nullopt = it
/// is not, or not by the index's form.
std::optional<Index> step_of(const Index& index);

/// The index of an element elsewhere in a tile: rows and columns become other indices.
Index replaced(Index index, const Index& row, const Index& column);

/// A sum of products with known factors, where that is known of it: equal texts are equal sums.
struct Sum {
  std::vector<std::pair<std::string, std::int64_t>> terms;  ///< by name, factors not 0
  std::int64_t rest = 0;
  /// The factor of the loop's iteration; nullopt = it is in other terms, too.
  std::optional<std::int64_t> per_iteration() const;
  bool operator==(const Sum&) const = default;
};
Sum sum_of(const Index& index);
/// a - b.
Sum difference(const Sum& a, const Sum& b);

struct Parameter {
  enum Kind { integer, real, pointer, descriptor, other } kind = other;
  std::string name;                 ///< as the function has it
  std::string type;                 ///< of a number, or of the elements that it leads to
  std::string pointed;              ///< of a pointer: what it leads to, as the function has it
  std::vector<std::int64_t> block;  ///< of a descriptor
  /// A whole number that divides it, of a pointer in bytes, as the function is told
  /// (tt.divisibility).
  std::int64_t divisor = 1;
};

/// Where an element of a tile that is moved by pointers lies: elements behind a pointer argument,
/// the sum of `added` in 64 bits.
struct Elements {
  int parameter = -1;
  std::vector<Index> added;
};

/// A result of one loop of a sequence, or a part of it, as it and the loops behind it name it.
struct HandedTile {
  int op = 0, result = 0;  ///< of the module
  int copy = 0, copies = 1, dimension = -1;
  std::string name;  ///< for a reader
  auto operator<=>(const HandedTile&) const = default;
};

/// Of two integers.
struct IndexComparison {
  Index a;
  enum How { less, at_most, more, at_least, equal, unequal } how = less;
  Index b;
  bool operator==(const IndexComparison&) const = default;
};

/// The comparison as an index (Index::compared).
Index compared(const IndexComparison& one);

/// Throws std::domain_error as value_of().
bool holds(const IndexComparison& one, const Launch& launch, std::int64_t iteration = 0);

/// Where tile i of a tensor begins.
struct Place {
  int parameter = -1;  ///< a descriptor or a pointer; -1 = nothing is known
  /// Of a descriptor one a dimension; of a pointer one, elements behind it, and the tile is a
  /// vector of neighbours.
  std::vector<Index> begin;
  /// Of a tile by pointers whose elements are no neighbours in a vector: where each lies behind the
  /// parameter (Elements::added). `begin` is empty then.
  std::optional<std::vector<Index>> added;
  /// Likewise which elements are moved: those of which all of these hold. The meaning's tile is
  /// then what a load brings, mask and all, and what a store is given. (Where a mask is a rule of
  /// places it has bounds instead, and this is empty.)
  std::vector<IndexComparison> mask;
  double outside = 0;  ///< what a load under such a mask brings elsewhere
  /// Of a store: the tile is added to what is there.
  bool adds = false;
  /// Not in memory: result `result` of loop `earlier` of UserKernel::earlier; -1 = it is in memory.
  int earlier = -1, result = -1;
  /// Not in memory either: what one loop of a sequence hands to those behind it; nullopt = it is.
  std::optional<HandedTile> handed = std::nullopt;
};

/// An integer that the function loads once, before its loops, or before the loop for each tile of
/// the one around it, from behind a pointer: the length of a sequence.
struct LoadedNumber {
  int parameter = -1;
  Index place;    ///< elements behind it, of arguments, places and numbers before this
  int bits = 32;  ///< of the integer
  bool operator==(const LoadedNumber&) const = default;
};

/// A loop over tiles around the loop, which carries nothing from one to the next: for tile = first,
/// first + step, ... below end.
struct TileLoop {
  Index first, end, step;
};

struct EarlierLoop;

struct UserKernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<LoadedNumber> loaded;
  Index trips;       ///< of the loop; below 0 is 0
  int unrolled = 1;  ///< so many of them are one of the meaning's; `trips` is a multiple
  std::optional<TileLoop> around;
  /// The function returns at once where one of them holds.
  std::vector<IndexComparison> returns;
  std::vector<Place> places;  ///< per tensor of the meaning
  std::vector<Index>
      numbers;  ///< per constant of the meaning: an argument of any kind, or an index
  /// Loops before the loop that store nothing: what is used of their results is computed where it
  /// is needed.
  std::vector<EarlierLoop> earlier;
  /// The function is so many loops one behind the other, each with its program, and this is number
  /// `part` of them, from 0: Place::handed says what it hands on and is given.
  int part = 0, parts = 1;
  /// The function does nothing that the meaning does not say; else why not.
  std::string incomplete;
};

/// A loop in the block of another, before it.
struct EarlierLoop {
  int id = 0;         ///< the same for each reading of one loop, which are the same
  int line = 0;       ///< of the text that it was read from
  Meaning meaning;    ///< what is after the loop stands for its results
  UserKernel kernel;  ///< its trip count, and where its tiles lie
  /// Per result what it is, seen from after the loop; nullopt = nobody uses it, or it is not read.
  std::vector<std::optional<Operand>> results;
};

/// Lays the numbers of launch.loaded where the function loads them. Of two that lie in one place
/// the first is both.
void place_loaded(const UserKernel& kernel, Launch& launch);

}  // namespace twill::meaning
