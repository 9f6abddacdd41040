// What the ops of a loop compute: tile functions with their operands, what is carried from
// iteration to iteration and with what it begins, what is done before the loop and after it. Plain
// data; kernel files of version 4 and programs have it.
//
// The loop is a sequence of iterations 0 .. n-1. An operand of distance d is the result of
// iteration i - d; below iteration 0 it is the initial value. What is before the loop is computed
// once, what is after it once, from the results of iteration n - 1 (with n = 0: initial values).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twill::meaning {

/// r, c: row and column of an element. A vector has one value a row (of the tile beside it).
enum class Function {
  load,       ///< tile i of a tensor; before the loop its one tile. With bounds (bounds.hpp): the
              ///< first operand outside them
  store,      ///< the operand is tile i of a tensor; after the loop its one tile. With bounds: only
              ///< inside them; the tile has 0 outside. With a second operand, a number: only where
              ///< that is over 0; else nothing is written, and the tile has 0
  copy,       ///< the operand, in the type of the result
  transpose,  ///< of a matrix
  product,  ///< A B of M x K and K x N; with a third operand C + A B; products exact, sums in f32;
            ///< where the result is f16 or i32, in that
  add,      ///< a + b
  sub,      ///< a - b
  mul,      ///< a b
  div,      ///< a / b
  mul_add,  ///< a b + c, rounded once
  mul_sub,  ///< a b - c, rounded once
  max,      ///< the larger of a and b
  exp2,     ///< 2 to the power of a
  log2,     ///< binary logarithm
  reciprocal,   ///< 1 / a
  select,       ///< b where a > 0, else c
  row_max,      ///< of a matrix, a vector; of a vector, a number
  row_sum,      ///< of a matrix, a vector; of a vector, a number
  lower,        ///< a where c <= r, else 0, or what the second operand says
  causal,       ///< a where i columns + c <= first + r / group (rounded down), else -inf
  beside,       ///< two vectors as the columns of a matrix; a number is repeated
  within,       ///< a inside the bounds, b outside; both may be vectors or numbers
  places,       ///< a r + b c + s i + first, of an element in iteration i: four numbers
  min,          ///< the smaller of a and b
  abs,          ///< a without its sign
  sqrt,         ///< square root
  rsqrt,        ///< 1 / square root
  log,          ///< natural logarithm
  sin,          ///< of an angle in radians
  cos,          ///< of an angle in radians
  erf,          ///< error function
  floor,        ///< the largest whole number that is not larger
  ceil,         ///< the smallest whole number that is not smaller
  running_sum,  ///< a of rows 0 to r, added: of a vector, or down each column of a matrix; with a
                ///< second operand, 1, of columns 0 to c; 2, of rows r to the last; 3, of columns
                ///< c to the last
  // Of integers; operands and result are taken modulo 2 to the power of the bits of the result's
  // type, as two's complement. Division by 0 and shifts by as many bits or more mean nothing.
  int_add,              ///< a + b
  int_sub,              ///< a - b
  int_mul,              ///< a b
  int_div,              ///< a / b, towards 0
  int_rem,              ///< a - b (a / b), with the sign of a
  mul_high,             ///< the upper half of the bits of a b, both without sign
  bit_and,              ///< a and b, bit by bit
  bit_or,               ///< a or b, bit by bit
  bit_xor,              ///< bits that differ
  shift_left,           ///< a 2^b
  shift_right,          ///< a / 2^b, rounded down
  shift_right_logical,  ///< likewise, of a without sign
  // 1 where it is so, else 0; of what is no number nothing is so, but that it is not equal.
  greater,    ///< a > b
  at_least,   ///< a >= b
  equal,      ///< a = b
  not_equal,  ///< a is not b
  histogram,  ///< of a vector of integers: how many are c, for each place c of the result
  largest,    ///< of an M x N matrix M x 2: the largest of a row and the first column where it is;
              ///< of a vector 1 x 2
  scaled,   ///< a 2^(s - 127) of an M x K matrix a and bytes s without sign (e8m0), M x K / g: each
            ///< scales g neighbours of a row; 255 makes what is no number
  row_min,  ///< of a matrix, a vector; of a vector, a number
  smallest,      ///< as largest: the smallest of a row and the first column where it is
  toward_zero,   ///< a without what is behind its point
  place_of_max,  ///< of a matrix, a vector of i32: the first column where the largest of a row is;
                 ///< of a vector, a number
  place_of_min,  ///< likewise, of the smallest
  running_max,   ///< as running_sum: the largest of those
  running_min,   ///< the smallest of those
  bits,          ///< of an i32 the f32 that has its bits, of an f32 the i32
  rearranged,    ///< elements of a tile, or of two, in another order (rearranged.hpp)
  row_product,   ///< of a matrix, a vector; of a vector, a number; of f32
  running_product,  ///< as running_sum: those multiplied, of f32
};
inline constexpr int kFunctions = 64;

std::string_view name_of(Function function);
/// Least and largest number of operands, without the tensor and bounds.
std::pair<int, int> arity(Function function);
/// Element by element, with operands of lower rank repeated.
bool is_elementwise(Function function);
/// Are operands and result integers, the result exact?
bool is_of_integers(Function function);
/// Does it make a vector of a matrix, a number of a vector?
bool reduces_rows(Function function);
/// The place of one of a row, alone?
bool gives_place(Function function);
/// One of a row with its place?
bool finds_place(Function function);
/// A sum, a product, or the largest or smallest, of what comes before each element?
bool runs(Function function);
/// A product of f32, of rows or a running one?
bool multiplies(Function function);
/// Is the result 1 or 0?
bool is_comparison(Function function);
bool has_tensor(Function function);

struct Operand {
  int value = -1;                              ///< index into Meaning::values; -1 = a number
  int distance = 0;                            ///< of a result of the loop, in the loop
  bool along_columns = false;                  ///< a vector with one value a column, not a row
  bool transposed = false;                     ///< of a matrix
  std::int64_t first_row = 0, rows = 0;        ///< a part of a matrix, taken first; 0 = all rows
  std::int64_t first_column = 0, columns = 0;  ///< likewise; 0 = all columns
  /// One row or one column of a matrix, as a vector; with both a number. -1 = all.
  std::int64_t row = -1, column = -1;
  double number = 0;     ///< where value is -1; may be infinite
  std::string constant;  ///< its name, "" = none
  bool operator==(const Operand&) const = default;

  /// Is it seen as it is, whole?
  bool is_part() const { return rows > 0 || columns > 0 || row >= 0 || column >= 0; }
};

struct Value {
  std::string id;
  /// As the op's cost counts it: [M, N, K] of a product, of a reduction the shape before reducing,
  /// of a copy it may be a part, of two columns one.
  std::vector<std::int64_t> tile;
  std::vector<std::int64_t> shape;  ///< of the result: [] a number, [M] a vector, [M, N] a matrix
  std::string type;                 ///< of the result's elements
  Function function = Function::copy;
  int tensor = -1;
  std::vector<Operand> operands;
  std::string part_of;  ///< the op or chunk that runs it, with others; "" = that of its name
  bool operator==(const Value&) const = default;
};

/// In global memory: a tile an iteration, or the one tile that is used before or after the loop.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< of a tile
  std::string type;
  double low = -2, high = 2;  ///< seeded inputs lie between them
  bool operator==(const Tensor&) const = default;
};

/// What iterations -1, -2, ... are said to have made.
struct Initial {
  int value = 0;  ///< of the loop
  Operand what;   ///< a number, or a value from before the loop
  bool operator==(const Initial&) const = default;
};

struct Meaning {
  std::vector<std::pair<std::string, double>> constants;
  std::vector<Tensor> tensors;
  std::vector<Value> values;  ///< before the loop, of the loop, after it
  int loop_begin = 0;         ///< the first value of the loop
  int after_begin = 0;        ///< the first value after it
  std::vector<Initial> initial;
  bool operator==(const Meaning&) const = default;

  bool in_loop(int value) const { return value >= loop_begin && value < after_begin; }
  /// nullptr = it is not carried.
  const Initial* initial_of(int value) const;
  /// Is a tile of it used in every iteration?
  bool streams(int tensor) const;
  /// Is it stored to?
  bool is_output(int tensor) const;
};

/// Of a value that runs(): along each row, or down each column? From its end on?
bool runs_along_rows(const Value& value);
bool runs_from_end(const Value& value);

/// The values of the loop, each after its operands of distance 0. Empty where there is a circle.
std::vector<int> loop_order(const Meaning& meaning);

std::int64_t elements(const std::vector<std::int64_t>& shape);

}  // namespace twill::meaning
