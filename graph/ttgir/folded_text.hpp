// The text of a folded loop as a module with one function (undo.hpp). Private to graph/ttgir/.
// undo.cpp: the loop and what it needs from before it; folded_products.cpp: products that have been
// cut; folded_text_around.cpp: the function around it, where its first iterations are known
// (peeled.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/ttgir/folded_loop.hpp"
#include "graph/ttgir/peeled.hpp"
#include "graph/ttgir/undo.hpp"

namespace twill::ttgir {

class FoldedText {
 public:
  /// `peeled`: null = the loop alone, whose variables begin with unknown values.
  FoldedText(const FoldedLoop& loop, int written, const Peeled* peeled)
      : l_(loop), m_(loop.module()), r_(loop.replayed()), loop_(written), peeled_(peeled) {}

  Undone write();

 private:
  using Carried = std::tuple<int, int, std::int64_t>;  // node, result, iterations back
  using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  /// Where a line goes: before the loop or behind it, beside the ops of its op's block; the body.
  enum class Where { before, body, after };
  /// What stands in one of the loops around it, or in the function.
  struct Level {
    std::string before, after;
    Places before_places, after_places;
  };

  std::string unique(std::string name);
  std::string name_of(int value) const { return std::string(m_.value(value).name); }
  void line(Where where, const std::string& content, int op);
  /// A line of an op with its results, which may be none.
  void statement(Where where, const std::string& results, const std::string& text, int op) {
    line(where, "    " + (results.empty() ? text : results + " = " + text), op);
  }
  void line_in_body(const std::string& text, int op);

  // Before the loop.
  std::string header();
  /// A constant, defined before the loop.
  std::string constant(std::int64_t number, int bits);
  std::string text_of(const Datum& datum, int name, int op);
  /// A value from before the loop, by name; the op that makes it is written.
  std::string before(int execution, int value);
  /// A buffer in the place of a ring of tensor memory.
  std::string collapsed(int buffer, int name);
  std::string named_memory(int buffer, int name);
  /// Buffers from before the loop that nothing in it uses and something after it does.
  std::int64_t resident() const;
  /// Is a buffer, under any name, used by an op that was not executed up to the loop or in it?
  bool used_later(int buffer, const std::set<int>& executed) const;

  // The loop.
  void write_node(int v);
  void write_op(int v);
  void write_filler(int v, const std::map<int, std::string>& names);
  std::string read_text(int v, std::size_t k, int name);
  std::string read_plain(int v, std::size_t k, int name);
  std::string carried(int node, int result, std::int64_t distance);
  /// A node's text of types, on the module's warps.
  std::string on_warps(const std::string& text, int v) const {
    return l_.on_module_warps(text, l_.execution(l_.node(v).op, kFirstSeen));
  }
  /// The value of the module that a node's result has the type of.
  int result_value(int node, int result) const;
  /// An op whose buffer stands for its result: a copy, a store into a ring.
  bool is_filler(const Operation& op) const;
  int filled(const Operation& op) const;
  /// What a copy into a buffer brings, written as a tile: its name and its type.
  std::pair<std::string, std::string> loaded(Where where, int index, const std::string& base,
                                             const std::map<int, std::string>& names,
                                             int execution);
  std::string product(const Operation& op, const std::map<int, std::string>& names) const;
  std::string scaled_types(const Operation& op) const;
  int op_index(const Operation& op) const { return static_cast<int>(&op - m_.ops.data()); }

  // Products that have been cut along what is summed: folded_products.cpp.
  /// A part of a buffer that a product loads.
  struct Part {
    int load = kNone, view = kNone, buffer = kNone;  ///< nodes
    std::vector<std::int64_t> offsets, shape, whole;
  };
  std::optional<Part> part_of(int v, std::size_t k) const;
  void find_cut_products();
  void write_whole_product(int v, const std::vector<int>& chain);

  // Numbers that a loop loads: folded_scalars.cpp.
  std::optional<int> read_of(int v, std::size_t k, std::string_view name) const;
  void find_scalars();
  void write_scalar(int v, int pointers);

  // The function around it.
  /// What a carried value begins with, so many iterations back.
  std::string first(int node, int result, std::int64_t distance, const std::string& type);
  /// An integer that node v reads, where that is another one for its own iteration.
  std::optional<std::string> number_ahead(int v, std::size_t k, int name, std::int64_t ahead);
  std::optional<std::string> without_addition(int u, std::int64_t before);
  void write_number(int u, std::int64_t before);
  void find_recurring();
  /// A number so many iterations before.
  std::string earlier(const std::string& number, const Linear& by, std::int64_t iterations,
                      int name, int op);
  /// What node v reads: `later`, but perhaps for the first iteration.
  std::string once(int v, std::size_t k, int name, const std::string& later);
  int operand_tile(const Operation& op) const;
  /// A buffer of before the loop with what it has been filled with.
  std::string filled_before(int execution, int value);
  std::map<int, std::string> names_before(int execution);
  // What stands in tensor memory before it: folded_text_memory.cpp.
  /// The loop before ours that an execution is in, the outermost; kNone where it is in none.
  int passed_loop(int execution) const;
  void fill_tensor_memory(int buffer, const std::string& name, int value);
  /// What is written into tensor memory before an op before the loop reads it there.
  void write_before_reading(int execution);
  /// All that is written into some buffers up to an execution.
  void write_memory(int until, std::set<int> buffers);
  void write_to_memory(int execution);
  void find_befores();
  std::set<int> needed_behind() const;
  void write_after();
  void write_after_op(int index);
  std::string descriptor_store(int index, const std::map<int, std::string>& names,
                               const std::string& tile, const std::string& type) const;
  static bool is_tile_store(const Operation& op);
  /// Is it a mask that keeps all: of a guard for iterations that there are?
  bool is_set(int v) const;
  bool reads_set(int v, std::size_t k) const {
    const FoldedSource& s = l_.node(v).reads[k];
    return s.kind == FoldedSource::node && is_set(l_.node_index(s.op));
  }
  /// The mask that is left of one and such a guard.
  std::optional<std::string> without_guard(int v);
  /// Is what a node reads there a buffer that has no name?
  bool passes_through(int v, std::size_t k) const {
    const FoldedSource& s = l_.node(v).reads[k];
    return s.kind == FoldedSource::node && staging_.count(l_.node_index(s.op)) != 0;
  }
  void find_staging();
  void store_staged(int v, const std::map<int, std::string>& names);
  void store_after(int index);
  void hold(int buffer);
  void last_iteration(int index);
  void left_in_last(int index, int k);
  std::string after_text(int value, int user);
  /// What a replayed loop leaves in its k-th variable.
  std::string left(int loop, std::size_t k, int user);
  std::string before_text(int value, int user);
  /// The upper bound, with the iterations that stand before the loop.
  std::string end(const Datum& bound, int name);
  /// A text behind the loop, with the names of the loop's results.
  std::string with_left_names(std::string text) const;
  // Other loops of the function: folded_text_loops.cpp.
  /// What an op, and ops in it, read from around it.
  std::vector<int> read_by(int index) const;
  /// Names within other loops are no names for anything else.
  void reserve_names();
  /// The buffer that a value is a view of.
  int root_of(int value) const;
  /// Buffers made behind the loop that other loops there use.
  void find_kept(const std::vector<int>& behind);
  /// Is an op behind the loop written as it stands?
  bool is_kept(int index) const;
  void write_kept(int index);
  void write_loop_before(int execution);
  void write_early_returns();
  /// What is stored before the loop, and in between what is loaded there, in that order.
  void write_stores_before();

  // Loops around it: folded_text_levels.cpp.
  Level& level_of(int op) { return levels_[l_.level_of(op)]; }
  /// A variable of a loop around it, by name; it is kept.
  std::optional<std::string> outer_variable(int value);
  /// Likewise what such a loop leaves.
  std::optional<std::string> outer_result(int value);
  /// What is needed for the variables that are kept is written behind the loop.
  void write_yields();
  void begin_outer(Undone& result, std::string& text, std::size_t outer);
  void end_outer(Undone& result, std::string& text, std::size_t outer);

  const FoldedLoop& l_;
  const Module& m_;
  const Replay& r_;
  const int loop_;
  const Peeled* peeled_;
  int chain_ = 0;
  std::set<std::string> used_;
  std::string body_, variable_;
  Places body_places_;
  std::vector<Level> levels_;  ///< the function, and then the loops around it
  /// Of a loop around it: its variable, what it carries by index, and what is yielded for that.
  struct Outer {
    std::string variable;
    std::map<int, std::string> arguments, results, yields;
  };
  std::vector<Outer> outers_;
  std::set<int> behind_;         ///< ops
  std::set<int> kept_;           ///< buffers
  std::set<int> loops_written_;  ///< executions
  int blocks_ = 0;               ///< of the function, but the first
  std::map<std::pair<std::int64_t, int>, std::string> constants_;
  std::map<int, std::string> arguments_, outer_, collapsed_;
  std::map<std::pair<int, int>, std::string> made_, results_;
  std::map<std::string, int> written_;
  /// Names in earlier iterations, the last one first, by node and result.
  std::map<std::pair<int, int>, std::vector<std::string>> carried_;
  /// Variables that have one value in the first iteration and another one from then on: name, type,
  /// first and later.
  struct Once {
    std::string name, type, first, later;
  };
  std::vector<Once> once_;
  std::map<std::pair<std::string, std::int64_t>, std::string> earlier_;
  std::map<std::pair<int, std::int64_t>, std::string> numbers_;  ///< node, iterations before
  std::set<int> recurs_;                                         ///< nodes
  std::set<int> filled_;                                         ///< buffers of tensor memory
  std::set<int> memory_written_;                                 ///< executions before the loop
  std::set<int> staging_;                                        ///< nodes
  std::map<int, std::vector<int>> whole_products_;  ///< last product of a chain -> the chain
  std::map<int, int> scalars_;  ///< a number that is loaded -> the splat of its pointer
  std::set<int> joined_;        ///< nodes of chains that are not written
  // Behind the loop.
  std::map<int, int> executed_;      ///< op before the loop -> execution
  std::map<int, std::string> left_;  ///< values behind the loop
  std::map<int, int> same_;          ///< value behind the loop -> the one that it is
  std::map<int, int> held_;          ///< buffer behind the loop -> the tile in it
  std::map<int, std::pair<std::string, std::string>> brought_;  ///< likewise: the tile, its type
  std::map<int, Carried> lasts_;                                ///< values behind the loop
  std::map<Carried, std::string> left_names_;                   ///< results of the loop
  std::map<Carried, std::string> first_of_left_;                ///< what it begins with
};

}  // namespace twill::ttgir
