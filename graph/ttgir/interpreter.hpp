// Private to interpret*.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ttgir/interpret.hpp"

namespace twill::ttgir {

/// What a value is while the function runs.
struct Held {
  std::vector<std::int64_t> shape;  ///< {} = one number
  std::vector<double> real;         ///< of real types
  std::vector<std::int64_t> whole;  ///< of integers; of pointers and places elements behind `base`
  int base = -1;                    ///< the argument that pointers and descriptors lead to
  /// Of a buffer: its numbers, and how this view of them lies.
  std::shared_ptr<std::vector<double>> buffer;
  std::vector<std::int64_t> stride;
  std::int64_t offset = 0;
};

class Interpreter {
 public:
  Interpreter(const Module& module, int loop, const meaning::Launch& launch, double real,
              std::uint64_t seed);
  Interpretation run();

 private:
  [[noreturn]] void refuse(int op, const std::string& why) const;
  const Held& get(int op, int value) const;
  const Held& operand(int op, std::size_t k) const;
  void set(int op, Held held, std::size_t result = 0);
  const Type& type(int op, int value) const;
  std::int64_t integer(int op, int value) const;
  static std::int64_t count(const std::vector<std::int64_t>& shape);
  std::int64_t attribute(int op, std::string_view name) const;
  /// The text of an op behind its name.
  std::string_view text_behind_name(int op) const;

  // interpret.cpp: control and memory.
  void function();
  int successor(int op) const;
  void block(int index);
  void execute(int op);
  void loop(int op);
  void branch(int op);
  void note_buffers();
  void note_skipped(int block);
  std::vector<Held> yielded(int block) const;
  int block_of(int op, std::size_t region) const;
  void load(int op);
  void store(int op);
  bool meets_stored(const Held& from, const Held* mask) const;
  double element(int base, const std::string& type, std::int64_t a, std::int64_t b) const;
  std::int64_t whole_element(int base, std::int64_t place, int bits, bool any) const;
  bool is_of_bits(int op);
  bool is_of_scales(int op);
  void note(int op, const Held& tile);
  void made(int op, Held held, std::size_t result);  ///< by a loop or a branch
  Held descriptor_tile(int op, int descriptor, const std::vector<std::int64_t>& begin,
                       const std::vector<std::int64_t>& shape) const;

  // interpret_buffers.cpp
  bool buffers(int op);
  Held read(const Held& view) const;
  Held loaded_from(int op, const Held& view) const;
  void write(int op, const Held& view, const Held& tile);
  Held allocated(int op, int result) const;

  // interpret_tiles.cpp
  bool tiles(int op);
  bool elementwise(int op);
  void constant(int op);
  void reduce(int op);
  void bits(int op);
  void reduce_together(int op);
  Held multiplied(int op, const Held& a, const Held& b, const Held* sum) const;
  Held multiplied_by_scales(int op, Held a, const Held& scales) const;
  static std::vector<double> numbers(const Held& tile);
  std::string predicate(int op) const;
  static Held transposed(const Held& tile);
  Held permuted(int op) const;
  void beside_each_other(int op);

  const Module& m_;
  int loop_, function_ = kNone;
  const meaning::Launch& launch_;
  double real_;
  std::uint64_t seed_;
  std::map<int, Held> values_;
  std::set<int> stored_;                             ///< arguments, through descriptors
  std::map<int, std::set<std::int64_t>> stored_at_;  ///< through pointers: per argument, places
  Interpretation out_;
  std::map<int, bool> of_bits_, of_scales_;  ///< by op
  std::int64_t steps_ = 0;
};

}  // namespace twill::ttgir
