// The tile functions with rounding, as the device would do them: operands have the values of their
// types, products of a matrix product are exact and summed in f32 in the order of K, every other
// function is rounded to f32 (f64 where the result is), and then to the type of the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

/// A tile with its numbers, row by row.
struct Numbers {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
  bool operator==(const Numbers&) const = default;
};

/// What a function sees of an operand: some columns of a matrix, transposed.
Numbers seen(const Operand& operand, const Numbers& value);

/// The result of `value` in iteration `i`, of its operands as seen(). A load has one operand, the
/// tensor's tile. NaN goes through every function.
Numbers evaluate(const Value& value, std::span<const Numbers> operands, std::int64_t i);

/// Every number as the type has it.
void round_all(const std::string& type, Numbers& numbers);

}  // namespace twill::meaning
