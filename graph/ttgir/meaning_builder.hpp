// Builds a ModuleMeaning. Private to graph/ttgir/. meaning.cpp: the loop's nodes;
// meaning_sources.cpp: what an operand is; meaning_buffers.cpp: who wrote what is read from a
// buffer; meaning_around.cpp: before and after the loop; meaning_masks.cpp: triangles;
// meaning_bounds.cpp: other masks that compare places, and places; meaning_handed.cpp: what other
// loops and branches make and use; meaning_earlier.cpp: loops before the loop; meaning_scalars.cpp:
// numbers; meaning_integers.cpp: integers and flags that are data;
// meaning_branches.cpp: branches; meaning_shapes.cpp: reshaped tiles, those of three dimensions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/meaning/rearranged.hpp"
#include "graph/ttgir/absorbed_numbers.hpp"
#include "graph/ttgir/index_values.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/split.hpp"

namespace twill::ttgir {

class MeaningBuilder {
 public:
  /// through: of a loop in a loop that only hands on what it carries, the variables of the outer
  /// one and what each begins with.
  MeaningBuilder(const Module& module, const Machine& machine, const LoopOptions& options,
                 const LoopKernel& loop, std::map<int, int> through = {});
  ModuleMeaning run();
  /// As one that is repeated where its results are needed (meaning_earlier.cpp). Throws NoMeaning.
  meaning::EarlierLoop run_earlier(int& readings);

 private:
  /// An operand, and how it lies: a vector goes along dimension `axis` of a tile of two.
  struct Seen {
    meaning::Operand operand;
    bool vector = false;
    int axis = 0;
  };
  /// Where a value is read: in the loop, before it, or after it.
  enum class Where { before, loop, after };

  /// Columns of a factor that have one scale (OCP Microscaling Formats, 5.1).
  static constexpr std::int64_t kScaledTogether = 32;

  // Values are numbered in four lists until all are known; kScalar: scalars_.
  static constexpr int kLoop = 1 << 24, kAfter = 1 << 25, kScalar = 1 << 26;

  [[noreturn]] void refuse(int op, const std::string& why) const;
  const Type& type(int value) const;
  bool is_tile(int value, TypeKind kind) const {
    const Type* t = m_.type_of(value);
    return t != nullptr && t->kind == kind;
  }
  std::string type_name(int op, int value) const;
  std::string unique(const std::string& wish);
  int copies_of(int op) const;
  /// The node that an op's copy ends in; kNone where it has none.
  int node(int op, int copy) const;
  bool is_node(int op) const { return node_.contains({op, 0, ""}); }
  /// Extents that are not 1, of one part.
  std::vector<std::int64_t> shape(int op, int value, int dimension) const;
  bool keeps_matrix(const Operation& op) const;
  bool in_loop(int op) const;

  // meaning.cpp
  void loop_node(std::size_t v);
  void load(std::size_t v);
  void store(std::size_t v);
  meaning::Value computed(int op, const std::string& id, Where where, int copy, int dimension);
  void product(int op, Where where, int copy, int dimension, meaning::Value& value);
  void product_or_sum(int op, int flag, Where where, int copy, int dimension,
                      meaning::Value& value);
  bool factors_are_cut(int op, const std::string& a, const std::string& b,
                       const std::string& sum) const;
  meaning::Operand cut_factor(int op, const std::string& product, int tile,
                              const meaning::Operand& factor);
  meaning::Operand scaled_factor(int op, const std::string& product, bool right, int scales,
                                 meaning::Operand factor, Where where);
  void reduction(int op, meaning::Value& value, Where where, int copy, int dimension);
  void running(int op, meaning::Value& value, Where where, int copy, int dimension);
  void largest(int op, meaning::Value& value, Where where, int copy, int dimension);
  meaning::Operand in_rows(int op, int tile, meaning::Value& value, Where where, int copy,
                           int dimension);
  bool keeps_first(const Operation& op, std::int64_t further) const;
  bool place_alone(int op) const;
  bool are_places(const Operation& op, bool of_vector) const;
  void first_place_of(int op, meaning::Value& value, Where where, int copy, int dimension);
  Seen largest_or_place(int user, int value, int distance);
  void elementwise(int op, meaning::Value& value, Where where, int copy, int dimension);
  /// The operand of an op whose result is elementwise of `value.shape`.
  meaning::Operand beside(int op, const meaning::Value& value, const Seen& seen) const;
  std::optional<bool> flag(int op, int value) const;
  bool starts_at_zero(int op, int value) const;
  void finish_tile(const meaning::Meaning& meaning, meaning::Value& value) const;
  void check_shapes(const meaning::Meaning& meaning, const meaning::Value& value) const;
  void keep_last();
  ModuleMeaning joined();

  // meaning_sources.cpp
  Seen source(int user, int value, Where where, int copy, int dimension, int distance = 0);
  /// `kept`: of what is kept in another form than its type's, that (meaning_shapes.cpp).
  Seen of_op(int user, int value, Where where, int copy, int dimension, int distance,
             bool kept = false);
  Seen carried(int user, int value, int copy, int dimension, int distance);
  Seen result_of_loop(int user, int value, int copy);
  Seen number(int op, double x) const;
  Seen constant(int op, int value) const;
  Seen view(const Operation& op, Seen seen) const;
  void note_initial(int user, const Seen& last, const Seen& first, int op);
  int argument_constant(int op, const std::string& wish, const meaning::Index& index, double x);
  meaning::Operand first_place(int op, const meaning::Index& index);
  int dimension_before_view(int op, int dimension) const;
  Seen in_its_buffer(Seen seen) const;
  int dimension_of(int value) const { return split_.of(value); }

  // meaning_scalars.cpp
  Seen scalar(int user, int value, Where where, int distance);
  Seen number_of_loop(int user, int op, int distance);
  void find_absorbed();
  void absorbing_node(std::size_t v);
  void refuse_unkept_numbers(const meaning::Meaning& meaning, int first) const;
  bool tried(const std::function<void()>& read);

  // meaning_conversions.cpp
  bool converts(int op, meaning::Value& value, Where where, int copy, int dimension);
  meaning::Operand step_to(int op, const meaning::Value& of, Where where,
                           meaning::Function function, const std::string& type,
                           std::vector<meaning::Operand> operands);

  // meaning_bits.cpp
  bool takes_bits(int op) const;
  bool bits(int op, meaning::Value& value, Where where, int copy, int dimension);
  Seen bits_for(int user, int op, Where where, int copy, int dimension, int distance);

  // meaning_shapes.cpp
  /// A tile: per dimension of its type the digits of where an element comes from, in the tiles that
  /// are kept, behind each other.
  struct Form {
    std::vector<Seen> tiles;
    std::vector<std::int64_t> shape;  ///< of one of them
    std::int64_t elements = 0;        ///< likewise
    std::int64_t first = 0;
    std::vector<std::vector<meaning::Digit>> dimensions;
  };
  int forms_left_ = 0;
  bool reshapes(const Operation& op) const;
  bool reduces_to_vector(int value) const;
  Form form_of_made(int user, int value, Where where, int copy, int distance);
  Form form(int user, int value, Where where, int copy, int distance, int depth);
  void reshape(int op, Form& of) const;
  Seen seen_in_form(int user, int value, const Form& form, Where where, int copy);
  Form form_of_seen(int user, int value, const Form& form, Where where, int copy);
  std::vector<std::int64_t> form_shape(int value) const;
  int place_of_step(int user, int value, meaning::Value step, Where where, int copy);
  Seen reshaped(int user, int value, Where where, int copy, int distance);
  meaning::Operand in_rows_of_form(int index, int tile, meaning::Value& value, Where where,
                                   int copy);

  // meaning_integers.cpp
  bool is_flags(int value) const;
  bool is_integer(int value) const;
  bool integers(int op, meaning::Value& value, Where where, int copy, int dimension);
  std::optional<std::int64_t> known_integer(int value, int depth = 0);
  void choice(int op, meaning::Value& value, Where where, int copy, int dimension);
  void histogram(int op, meaning::Value& value, Where where, int copy, int dimension);
  Seen place_number(int user, int value, const meaning::Index& index, Where where, int distance);
  static void set_ranges(meaning::Meaning& meaning);

  // meaning_unsigned.cpp
  bool without_sign(int op, meaning::Value& value, Where where, int copy, int dimension);
  meaning::Operand in_signed_order(int op, const meaning::Value& value, Where where,
                                   const meaning::Operand& of);
  void reduce_without_sign(int op, int tile, meaning::Value& value, Where where, int copy,
                           int dimension);

  // meaning_branches.cpp
  void branch(int op, const std::string& id, meaning::Value& value);
  void storing_branch(int op, const std::string& id, meaning::Value& value);
  void branch_op(int op);
  bool chooses_numbers(int op) const;
  int number_branch_of(int op) const;
  Seen number_of_branch(int user, int value, int distance);
  void choose_number(int value, meaning::Value& chosen);
  int branch_buffer(int user, int value) const;
  Seen held_in_branch(int user, int value) const;

  // meaning_buffers.cpp
  struct Write {
    int op = kNone;
    int tile = kNone;  ///< the value that is written; kNone = the op's own result (a product)
  };
  int buffer(int user, int value) const;
  std::optional<Write> write_by(int op, int buffer) const;
  /// Does an op in an op's regions write into a buffer?
  bool written_within(int op, int buffer) const;
  /// Is a buffer written into by another loop, or a branch, behind the loop and before a user?
  bool written_behind(int user, int buffer) const;
  Seen shown(int user, int buffer, Where where, int copy, int dimension);
  Seen contents(int user, int buffer, Where where, int copy, int dimension, int distance);
  Seen written(int user, const Write& write, Where where, int copy, int dimension, int distance);
  Seen at_entry(int user, int buffer, int copy, int dimension);

  // meaning_around.cpp
  int before(int op, int copy, int dimension);
  int after(int op, int copy, int dimension);
  bool stored_before(int load) const;
  std::optional<int> root_moved(int op) const;
  void stores_after();
  void store_made_here(int index);
  void stores_in_branch(int index);
  int branch_behind(int op) const;
  void add_conditions(int op, meaning::Value& value, Where where);
  void store_after(int op);
  bool stored_later(int op) const;
  int root_of(int pointer) const;
  void repeat_after(meaning::Value& store);
  void store_number(int op);
  void stores_of_numbers();
  void flagged_number(int op, meaning::Value& value, Where where);
  int number_stored(const Operation& op) const;
  int maker_of(int value) const;
  int op_that_computes() const;
  int dimension_after(int value, int depth = 0) const;
  /// Is it one loop of a sequence, each of which does a part of what the function does?
  bool in_sequence() const { return !sequence_.empty(); }
  int tensor(int op, int copy, int copies, int dimension, const std::string& type,
             const std::vector<std::int64_t>& shape, bool plain = true);
  meaning::Place place(int op, int copy, int copies, int dimension,
                       const std::vector<std::int64_t>& shape) const;
  meaning::Place place_by_elements(int tile, int copy, int dimension,
                                   const std::vector<std::int64_t>& shape, meaning::Place where,
                                   int mask = kNone) const;
  bool adds(int op) const;
  meaning::Place masked_place(int op, int copy, int dimension,
                              const std::vector<std::int64_t>& shape) const;
  std::pair<int, int> mask_of(const Operation& op) const;
  std::optional<std::pair<int, meaning::Index>> pointer(int value, int depth) const;
  bool may_do_more(const Operation& op) const;
  void check_function();

  // meaning_handed.cpp
  int handed(int user, int value, int copy, int dimension);
  int carried_around(int value) const;
  int handed_around(int user, int value, int copy, int dimension);
  int handed_memory(int user, int root, int copy, int dimension);
  bool worked_on_here(int op) const;
  void hand_on();
  void hand_on_value(int op, int k, int result, int copy, int copies, int dimension);
  void hand_on_part(int k, int result, int copy, int copies, int dimension);
  int tile_of_result(int op, int result, int copy, int copies, int dimension,
                     const meaning::Value& value);

  // meaning_earlier.cpp
  std::string repeat_earlier(int op, int result);
  std::string read_earlier(int op);
  std::optional<int> nest_handing_on(int op, std::map<int, int>& through,
                                     std::vector<int>& results) const;

  // meaning_bounds.cpp
  /// A half-plane of a tile of two dimensions: row r + column c + rest >= 0.
  struct HalfPlane {
    std::int64_t row = 0, column = 0;
    meaning::Index rest;
  };
  std::optional<std::vector<HalfPlane>> half_planes(int value, int depth = 0) const;
  std::optional<std::vector<HalfPlane>> conditions_behind(int op) const;
  std::optional<std::vector<HalfPlane>> comparison(const Operation& op) const;
  std::optional<IndexValues::Affine> real_places(int value) const;
  bool add_bounds(int op, int mask, meaning::Value& value, Where where, int copy, int dimension);
  void add_places(int op, HalfPlane of, const Type& type, meaning::Value& value, Where where,
                  int copy, int dimension);
  static void wrap_places(meaning::Value& places);
  bool selection(int op, meaning::Value& value, Where where, int copy, int dimension);
  bool places(int op, meaning::Value& value, Where where, int copy, int dimension);
  bool masked_move(int op, meaning::Value& value, Where where, int copy, int dimension);
  bool flagged_move(int op, meaning::Value& value, Where where, int copy, int dimension);

  // meaning_masks.cpp
  bool mask(int op, meaning::Value& value, Where where, int copy, int dimension);
  bool masked_branch(int op, meaning::Value& value, int copy, int dimension);
  /// c <= r + the index, of a tile of booleans.
  std::optional<meaning::Index> triangle(int value, int copy, int dimension) const;
  bool apply_triangle(int op, int select, meaning::Value& value, Where where, int copy,
                      int dimension, const meaning::Index* least);

  const Module& m_;
  const Machine& machine_;
  const LoopOptions& options_;
  const LoopKernel& k_;
  const int loop_;
  int body_ = kNone;
  Split split_;
  IndexValues indices_;
  std::map<std::tuple<int, int, std::string>, int> node_;  ///< op, copy, part
  std::set<int> under_;                                    ///< ops under the loop
  std::map<int, int> order_;                               ///< ops of the body, their place
  std::set<std::string> names_;
  meaning::Meaning out_;  ///< constants and tensors; the rest is put together at the end
  std::vector<meaning::Value> before_, loop_values_, after_;
  /// Of the loop, what no node makes: numbers that every slot computes, steps of nodes.
  std::vector<meaning::Value> scalars_;
  std::map<int, int> scalar_at_;  ///< by op
  std::map<int, int> chosen_at_;  ///< by value: of scalars_, numbers that a branch makes
  std::map<std::tuple<int, int, int>, int> bits_at_;  ///< by user, copy and op: of scalars_
  std::map<int, std::optional<std::int64_t>> known_integers_;  ///< by value
  std::map<int, int> place_at_;  ///< by value: of scalars_, integers that the iteration decides
  AbsorbedNumbers absorbed_;
  std::set<int> in_branch_;           ///< ops of branches that are read
  std::map<int, Seen> branch_at_;     ///< by value: what a branch makes
  std::map<int, Seen> branch_holds_;  ///< by buffer of a branch: what has been written into it
  std::vector<int> loop_value_;       ///< per node, its value in loop_values_; -1 = it is a view
  std::map<std::tuple<int, int, int>, int> before_at_, after_at_;  ///< op, copy, dimension
  std::map<std::tuple<int, int, int>, int> handed_at_;             ///< value, copy, dimension
  struct First {
    meaning::Operand what;
    int op = kNone;
  };
  std::map<int, First> initial_;  ///< by value (kLoop + node)
  std::vector<TileOp> tiles_;
  std::vector<meaning::Index> numbers_;
  meaning::UserKernel kernel_;
  std::map<int, int> earlier_at_;          ///< by op: of kernel_.earlier
  std::map<int, std::string> no_earlier_;  ///< by op: why it is not repeated
  std::map<int, int> through_;
  std::vector<int> sequence_;  ///< of the function's loops that have schedules, this one among them
  int own_readings_ = 0, *readings_ = &own_readings_;  ///< of earlier loops, by all builders
  std::string not_read_;                               ///< why what was tried last is not read
  int steps_ = 0;
  bool zero_at_entry_ = false;  ///< what a product adds to in the first iteration is 0
};

/// The name of a value for what an op makes or stores; not yet unique, and never a number.
std::string wished_name(const Module& module, const Operation& op);

}  // namespace twill::ttgir
