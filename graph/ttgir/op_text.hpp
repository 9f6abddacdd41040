// The text of one op, changed. Private to graph/ttgir/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The text of an op with other names, with their %, for values that it reads; without locations.
std::string op_text(const Module& module, int op, const std::map<int, std::string>& names);

/// A value as the text has it: %x, or %x#1 where results share the name.
std::string written_name(const Module& module, int value);

/// Is a value there before an op begins: neither its result nor made in its regions?
bool is_there_before(const Module& module, int value, int op);

/// May a character be within the name of a value?
bool in_name(char c);

/// An op's text without "[%NAME]" or "token %NAME"; in generic syntax without the operand and its
/// type.
std::string without_token(std::string text, const std::string& name);

/// tensor<128xf32, #blocked> of tensor<128x!tt.ptr<f32>, #blocked>; "" of anything else.
std::string loaded_type(const std::string& pointers);

/// The type of the mask of what lies behind pointers: tensor<128xi1, #blocked> of
/// tensor<128x!tt.ptr<f32>, #blocked>, i1 of one pointer; "" of anything else.
std::string mask_type(const Type& pointers);

/// Where the line of an op begins; nullopt = there is more before it than the names of its results.
std::optional<std::size_t> line_begin(const Module& module, int op);

/// What the function is told to divide an argument: its tt.divisibility, where the text has it
/// behind the argument's name; else 1.
std::int64_t divisor_of(const Module& module, std::string_view name);

/// An op's text but for what its operands are, and what names are within it.
std::string shape_of(const Module& module, int op, const std::vector<int>& operands);

/// Are an op's two operands the same in either order?
bool commutes(std::string_view op);

}  // namespace twill::ttgir
