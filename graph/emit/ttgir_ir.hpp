// Statements of TTGIR as data: types, values, ops, regions. Printed by ttgir_print.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace twill::emit::ws {

/// A layout attribute. Equal texts are equal layouts.
struct Layout {
  enum Kind { registers, slice, dot, shared, plain_shared, tensor_memory } kind = registers;
  std::string text;  ///< as the file has it: an alias ("#tile"), or an attribute
  std::shared_ptr<const Layout> parent;          ///< of a slice and of an operand
  int dimension = 0;                             ///< of a slice: the one that it lacks
  std::vector<std::int64_t> warps, instruction;  ///< of the result of a wgmma
  // Of `shared`:
  int swizzle = 0, bits = 0;
  bool transposed = false;
};
using LayoutRef = std::shared_ptr<const Layout>;

struct Type {
  enum Kind {
    scalar,         ///< `element` alone: i1, i32, f32, !tt.ptr<f32>, ...
    tensor,         ///< in registers
    shared,         ///< a place in shared memory
    tensor_memory,  ///< a place in tensor memory
    descriptor,     ///< of a tensor in global memory
  } kind = scalar;
  std::string element;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> whole;  ///< of a place: the shape of what it is a part of
  LayoutRef layout;
  bool without_sign = false;  ///< of integers, whose `element` does not say

  bool floating() const { return element == "f32" || element == "f16" || element == "bf16"; }
  bool pointer() const { return element.starts_with("!tt.ptr"); }
  std::string text() const;
};

struct Value {
  Type type;
  std::string hint;  ///< a name that reads well; not yet unique
  std::optional<std::string>
      constant;              ///< of a constant: its number, of a tensor that of each element
  std::int64_t divisor = 1;  ///< of an argument of the function: what divides it
  int base = -1;             ///< of an integer: this value plus `offset`
  std::int64_t offset = 0;
  int multiplied = -1;  ///< of an integer: this value times `factor`
  std::int64_t factor = 1;
  std::pair<int, int> sum_of{-1, -1};  ///< of an integer: the two values that it is the sum of
};

struct Block;

struct Op {
  enum Kind { plain, remark, loop, branch, partitions } kind = plain;
  /// What it does: of what is neither, nobody misses it when its results are not used.
  enum Effect { none, reads, acts } effect = none;
  /// "$0", "$1", ... are its operands, "$$" is a dollar; of a remark the remark.
  std::string text;
  std::vector<int> operands;  ///< of a loop: begin, end, step, then what is carried into it
  std::vector<int> results;
  std::vector<std::unique_ptr<Block>> blocks;
  // Of partitions, all but the first:
  std::vector<int> warps, registers;
  std::vector<std::vector<int>> passed;  ///< which operands each one is called with
  std::string comment;
};

struct Block {
  Block* parent = nullptr;
  bool isolated = false;       ///< sees nothing of its parent: a function, a partition
  std::vector<int> arguments;  ///< of a loop: its variable, then what is carried
  std::vector<std::unique_ptr<Op>> ops;
  std::vector<int> yields;
  std::map<std::string, int> known;      ///< ops without effect, by text and operands
  std::map<std::string, int> read;       ///< those that read, since something acted
  std::map<std::string, int> loaded;     ///< those that load, since something was stored
  bool stores = false;                   ///< does something in it write global memory?
  std::map<std::string, int> constants;  ///< of an isolated one, by type and number
  std::vector<int> constant_order;
};

/// One kernel.
class Module {
 public:
  Module() { root_.isolated = true; }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() = default;

  Block& root() { return root_; }
  const Value& operator[](int value) const { return values_[static_cast<std::size_t>(value)]; }
  Value& operator[](int value) { return values_[static_cast<std::size_t>(value)]; }
  int value(Type type, std::string hint = "") {
    Value one;
    one.type = std::move(type);
    one.hint = std::move(hint);
    values_.push_back(std::move(one));
    return static_cast<int>(values_.size()) - 1;
  }
  int constant(Block& where, const Type& type, std::string number);
  /// "#name" for an attribute; the same text gets the same name.
  std::string alias(const std::string& attribute, const std::string& wish);

  /// Per value, whether something that acts uses it.
  std::vector<bool> needed();
  /// The file from its first attribute on. `attributes`: of the module.
  std::string print(const std::string& name, const std::string& attributes);

 private:
  friend class Printer;
  Block root_;
  std::vector<Value> values_;
  std::vector<std::pair<std::string, std::string>> aliases_;  ///< name and attribute
};

std::string shape_text(const std::vector<std::int64_t>& shape, const char* between);

}  // namespace twill::emit::ws
