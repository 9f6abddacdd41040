// A TTGIR module as read from text: operations, blocks, regions, values and types, with places in
// the text. Only what a loop's problem and the way back need; MLIR is not used. Private model.
//
// Everything lives in flat vectors of Module and is named by index. string_views point into
// Module::text, which is why a Module is not copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace twill::ttgir {

inline constexpr int kNone = -1;

enum class TypeKind {
  other,       ///< function types, none, and what this reader does not know
  scalar,      ///< i32, f32, index, a pointer to global memory
  tensor,      ///< tensor<128x64xf32, #layout>
  memdesc,     ///< !ttg.memdesc<...>: a buffer in shared or tensor memory
  descriptor,  ///< !tt.tensordesc<...>
  token,       ///< !ttg.async.token
};

struct Type {
  TypeKind kind = TypeKind::other;
  std::string_view text;            ///< as written
  std::vector<std::int64_t> shape;  ///< extents; empty for scalars
  std::string element;              ///< "f32", "bf16", "f8", "i1", "ptr", ...
  int bits = 0;                     ///< of an element; 64 for pointers, 0 when not known
  std::string_view encoding;        ///< the layout, aliases resolved at the top; "" = none
  bool tensor_memory = false;       ///< of a memdesc: lies in tensor memory, else in shared
  bool is_pointer() const { return element == "ptr"; }
  /// Of the elements as arithmetic has it (meaning::number_type()), with the form of 8-bit types
  /// where that is known; "" = no arithmetic.
  std::string number() const;
  std::int64_t elements() const;
};

struct Value {
  std::string_view name;  ///< without the %; results of one op share it
  int type = kNone;       ///< index into Module::types; kNone = the text does not say
  int op = kNone;         ///< the op whose result it is, or kNone
  int block = kNone;      ///< the block whose argument it is, or kNone
  int index = 0;          ///< which result or argument
};

struct Attribute {
  std::string_view name, value;  ///< value as written, "" = unit attribute
};

struct Operation {
  std::string_view name;     ///< "tt.descriptor_load"
  int op_class = -1;         ///< OpClass, once it is known (class_of)
  bool generic = false;      ///< printed as "name"(...), with all that it has in dictionaries
  std::string_view symbol;   ///< of a function: @name without the @
  std::string_view literal;  ///< of arith.constant: its value without the type, in either form
  std::uint32_t line = 0, column = 0;
  std::size_t begin = 0, end = 0;  ///< of the text, from the name on
  int block = kNone;               ///< the block that it stands in
  std::vector<int> operands, results, regions;
  std::vector<Attribute> attributes, properties;
  std::vector<int> clause;  ///< types before the arrow of the type clause, as written
  // Where attributes go: an offset into the text; has_dict = just behind an opening brace.
  std::size_t attribute_offset = 0;
  bool has_dict = false;
};

struct Block {
  int region = kNone;
  std::string_view label;  ///< ^bb1; "" = it has none
  std::vector<int> arguments, ops;
};

struct Region {
  int op = kNone;
  std::vector<int> blocks;
  std::size_t end = 0;  ///< offset of the brace that closes it
};

struct Module {
  std::string source;                       ///< file name for messages
  std::unique_ptr<const std::string> text;  ///< of the file; of one with several modules, see gaps
  /// Blanks in the text for what is another module's (modules.hpp): from, to; ascending.
  std::vector<std::pair<std::size_t, std::size_t>> gaps;
  std::vector<Type> types;
  std::vector<Value> values;
  std::vector<Operation> ops;
  std::vector<Block> blocks;
  std::vector<Region> regions;
  std::unordered_map<std::string_view, std::string_view> aliases;  ///< "#blocked" -> its definition
  std::unordered_set<std::string> made;  ///< type texts that the file leaves out
  int root = kNone;                      ///< the module op

  const Type* type_of(int value) const {
    const int t = values[static_cast<std::size_t>(value)].type;
    return t == kNone ? nullptr : &types[static_cast<std::size_t>(t)];
  }
  const Operation& op(int index) const { return ops[static_cast<std::size_t>(index)]; }
  const Value& value(int index) const { return values[static_cast<std::size_t>(index)]; }
  const Block& block(int index) const { return blocks[static_cast<std::size_t>(index)]; }
  /// The op around an op, kNone for the module.
  int parent(int op_index) const;
  /// Text of an attribute or property, "" when absent or of unit type; `found` tells which.
  std::string_view attribute(const Operation& op, std::string_view name,
                             bool* found = nullptr) const;
  /// The attribute of the nearest op around an op, itself included, that has it; else "", kNone.
  std::pair<std::string_view, int> inherited(int op_index, std::string_view name) const;
  /// "line 12, column 7".
  static std::string place(const Operation& op);
};

}  // namespace twill::ttgir
