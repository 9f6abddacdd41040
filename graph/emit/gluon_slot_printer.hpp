// Writes one slot's function in Gluon. Private to graph/emit/: gluon_slot.cpp (the loop, registers
// over iterations), gluon_waits.cpp (waits, arrivals, products in flight), gluon_ops.cpp (ops),
// gluon_mma.cpp (products of the loop), gluon_copies.cpp (between global and shared memory),
// gluon_finish.cpp (what follows the loop), gluon_earlier.cpp (loops before the loop),
// gluon_products.cpp (products outside the loop), gluon_initial.cpp (what is carried in
// memory and computed before the slots begin).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_slot.hpp"
#include "graph/emit/gluon_values.hpp"
#include "graph/emit/in_flight.hpp"
#include "graph/index.hpp"

namespace twill::emit {

/// A product that has been issued and has not been waited for.
struct ProductInFlight {
  int op = 0;  ///< of the given program
  int iteration = 0;
  bool taken = false;   ///< another product adds to its registers: they have that one's name
  std::string left;     ///< registers that it reads, to be kept until it has ended; "" = none
  bool certain = true;  ///< false: where the loop has just begun it may not have been issued
  bool operator==(const ProductInFlight&) const = default;
};

struct StoreInFlight {
  int op = 0, iteration = 0;  ///< likewise
  bool certain = true;
  bool operator==(const StoreInFlight&) const = default;
};

/// What is known where the text has come to; iterations are counted from the block's own base.
struct SlotState {
  std::vector<ProductInFlight> flights;
  std::vector<StoreInFlight> stores;  ///< bulk ones
  std::map<int, bool> token;  ///< per op whose result is a product in registers: not waited for yet
  std::set<std::string> defined;
  /// Of this block, loads of a place in tensor memory since the slot last wrote there.
  std::map<std::string, int> reads;
  bool operator==(const SlotState&) const = default;
};

class SlotPrinter {
 public:
  using Function = meaning::Function;
  using Operand = meaning::Operand;
  using Value = meaning::Value;
  using Program = program::Program;

  SlotPrinter(const Plan& plan, int slot, ModuleNeeds& needs)
      : plan_(plan),
        p_(*plan.given),
        m_(*plan.meaning),
        legal_(plan.legal),
        slot_(slot),
        warps_(plan.warps(slot)),
        needs_(needs),
        values_(plan, slot, needs) {}
  SlotText run();
  /// As initial_tiles() (gluon_initial.cpp).
  std::string initial_tiles();

 private:
  // Text.
  void line(int depth, const std::string& text) {
    text_ += text.empty() ? "\n" : std::string(4 * at(depth), ' ') + text + "\n";
  }
  const std::string& use(const std::string& name);
  [[noreturn]] static void refuse(const std::string& rule, const std::string& text) {
    throw program::Refusal{rule, text};
  }
  const std::string& host(int tensor) const {
    return plan_.host_name[at(plan_.axes.tensor_of[at(tensor)])];
  }
  bool hopper() const { return legal_.target == Target::hopper; }
  int lag(int op) const { return cut_->lag(legal_op(op)); }
  /// Does op `a` stand behind op `b` in a period, or is it the same?
  bool behind(int a, int b) const {
    return cut_->position(legal_op(a)) >= cut_->position(legal_op(b));
  }
  int legal_op(int op) const;
  /// (Not one that the slot's own warps compute.)
  bool is_product(int op) const {
    return !legal_.by_warps[at(op)] &&
           m_.values[at(plan_.links.result[at(op)])].function == Function::product;
  }
  bool is_store(int op) const {
    return m_.values[at(plan_.links.result[at(op)])].function == Function::store;
  }
  bool wgmma(int op) const { return hopper() && is_product(op); }

  // Registers over iterations.
  /// How many definitions of `writer` come, in the steady state, between the one of its iteration
  /// i - distance and `reader` of iteration i (both ops of the given program).
  int steady_age(int writer, int reader, int distance) const;
  void history();
  int writer(int storage) const;
  const std::string& variable(int op) const {
    return plan_.variable[at(plan_.links.result[at(op)])];
  }
  std::string aged(int op, int age) const;
  /// The latest iteration of `op` (given) that is defined where op `reader` of iteration `it` is.
  int latest(int op, int reader, Iteration it) const;
  std::string held(int op, int reader, Iteration it, int distance) const {
    return aged(op, age(op, reader, it, distance));
  }
  /// How many definitions of `op` are newer than that of iteration it - distance where `reader` of
  /// iteration `it` stands.
  int age(int op, int reader, Iteration it, int distance) const;
  /// The name for a new result; older ones are renamed where they are used again.
  void age_variables(int depth, int op);

  // Before the loop.
  /// A value that the kernel itself computes before its slots begin.
  Expression first_of_all(int value);
  void before();
  /// Must the compiler not know what the product `op` begins with?
  bool begins_unseen(int op) const;
  /// A tile of f32, moved by an instruction that the compiler does not look into.
  static std::string unseen(const std::string& text);
  void carried_in(int op);
  std::string of_its_own(int op) const;

  // What each slot computes for itself: gluon_around.cpp.
  /// A value from before the loop, in the slot's registers or where it lies; the first time its
  /// line is written, and those of what it is made of.
  Expression early(int value);
  /// What a loop before this one in the sequence has left in a buffer.
  Expression handed_in(int value, const Layout& layout);
  Expression early_operand(int user, const Operand& one);
  /// Those that the slot's ops use.
  void values_before();
  // Loops before the loop, where their results are used: gluon_earlier.cpp.
  /// A result of one; the first time its text is written, in a printer of its own.
  Expression from_earlier(int value);
  /// Of that printer: the loop, with what it uses of before it.
  void repeat();
  Expression repeated_operand(int user, const Operand& one);
  /// The value, or what it was in the iteration before.
  std::string repeated_name(int value, bool before) const;
  std::string earlier_pointer(const Value& value, const std::string& iteration);
  /// A number of iteration `it` that no op runs; its line is written before the op that uses it.
  Expression computed(int op, int value, Iteration it);
  /// Where a number, or the first element of a vector, lies; `iteration` "" = outside the loop.
  std::string pointer_of(const Value& value, const std::string& iteration);

  // The loop.
  void loop();
  /// Of code with guards (SlotCode::guarded).
  void guarded_loop();
  /// Where the loop begins again: i stands for one iteration more.
  static SlotState moved(SlotState state, int by);
  static bool taken(const SlotState& state, int op);
  void steady(int in);
  void print(int depth, const Step& step);
  void print_at_end(int depth, const Step& step);
  const std::vector<int>* fused_with(int legal_index) const;

  // Waits and arrivals: gluon_waits.cpp.
  std::string reason(const program::Wait& wait) const;
  std::string op_name(int legal_index) const;
  void wait(int depth, const Step& step);
  /// An iteration, counted through tiles.
  std::string through_tiles(Iteration iteration) const;
  std::string ring(Iteration iteration, int depth) const;
  std::string barrier_index(Iteration iteration, int phases) const {
    return phases == 1 ? ".index(0)" : ring(iteration, phases);
  }
  std::string parity(Iteration iteration, int phases) const;
  /// Of a barrier that has a phase a tile.
  std::string turn_parity() { return plan_.tiles() ? "turn & 1" : "0"; }
  void wait_turn_before(const std::string& barrier, const std::string& comment);
  /// Until the product of this iteration has ended, with all before it.
  void wait_flight(int depth, int op, int iteration, const std::string& comment);
  void add_name(std::vector<std::string>& names, const ProductInFlight& flight);
  void drain(int depth);
  void arrive(int depth, int legal_index, Iteration it);
  std::string barriers_of(int legal_index, Iteration it);

  // Copies between global and shared memory: gluon_copies.cpp.
  void load(int depth, int op, const Value& value, Iteration it);
  void load_vector(int depth, const Value& value, Iteration it, const std::string& to,
                   const std::string& barrier);
  void store(int depth, int op, const Value& value, Iteration it);
  // Tiles by pointers: gluon_elements.cpp.
  int index_of(const Value& value) const;
  /// Makes the parameters that a text names arguments of the slot.
  void use_arguments(const std::string& text);
  /// Writes the names of rows and columns in a register layout; returns "pointers, mask=...".
  /// Of a part of the value that begins at `first` ("" = all of it): in rows, or in columns where
  /// it has all rows.
  std::string elements(int depth, const Value& value, const std::string& layout,
                       const std::string& iteration, const std::string& first = "");
  /// Writes those of the value's names of rows and columns that a text mentions.
  void write_places(int depth, const Value& value, const std::string& layout,
                    const std::string& text, const std::string& more_rows = "",
                    const std::string& more_columns = "");
  std::vector<std::string> gather_lines(const Value& value, const std::string& layout,
                                        ElementNames& names);
  void gather_before();
  std::int64_t most_elements() const;
  bool few_elements(const Value& value) const;
  void load_in_parts(int depth, const Value& value, const ElementCopy& copy,
                     const std::string& iteration, const std::string& to);
  bool only_in_registers(const Value& value) const;
  /// What a load has copied, with its number outside its bounds, where that is another one than 0.
  Expression filled_outside(int value, const Expression& copied, Iteration it);
  /// A mask of the value's bounds; writes the names that it needs.
  std::string masked(int depth, const Value& value, const std::string& layout,
                     const std::string& iteration);
  void load_elements(int depth, const Value& value, const std::string& iteration,
                     const std::string& to, const std::string& barrier);
  /// gl.load() of what elements() returned.
  std::string loaded_elements(const Value& value, const std::string& from) const;
  /// A tile, or the part of it from a column on, in an iteration ("" = behind the loop).
  /// `layout`: of `what`, where that is not as its Expression says. `flag`: which elements, beside
  /// its bounds ("" = all).
  void store_elements(int depth, const Value& value, const Expression& what,
                      const std::string& first_column, const std::string& iteration = "",
                      const std::string& layout = "", const std::string& flag = "");
  /// The flags of a store as a mask in the layout of what is stored.
  std::string flag_of(const Value& value, const Expression& what, const Expression& flag) const;
  /// A tile that is read to be stored, and in which layout.
  struct ReadAcross {
    std::string text, layout;
  };
  std::optional<ReadAcross> read_for_store(int op, const Value& value,
                                           const Expression& what) const;
  /// From registers, in every iteration: it has ended where its text stands.
  void store_in_loop(int depth, int op, const Value& value, Iteration it);
  /// A step of an op: one number, by a pointer.
  void store_number(int depth, int op, int v, Iteration it);
  void write_number(int depth, const Value& value, const std::string& number,
                    const std::string& iteration, const std::string& flag);
  std::string flag_of_number(const Value& value, const Expression& flag) const;
  /// Do products of this slot read what the op (of the legal program) copied by threads?
  bool needs_fence(int legal_event_op) const;
  /// Does a product of this slot read a tile from before the loop that threads copied, and nothing
  /// in the loop whose wait has such a fence?
  bool fence_for_resident() const;
  /// Behind all waits before an op, one fence for them.
  void fence_if_due(int depth);
  /// Does a product read what threads copied without a wait of its slot for that, which would be
  /// followed by a fence? (That it is there follows from another wait.)
  bool unfenced(int op, const Operand& one) const;
  /// From registers, through a buffer that its slot alone uses.
  void store_registers(int depth, int op, const Value& value, Iteration it);
  void issue_store(int depth, int op, const Value& value, Iteration it, const std::string& from);
  /// Until the bulk store of this iteration has read its tile, with all before it.
  void wait_store(int depth, int op, int iteration, const std::string& comment);

  // Ops: gluon_ops.cpp.
  std::string copy_of(int storage, Iteration it);
  /// A copy in tensor memory, or a part of it, to load from. Triton's waits for barriers say
  /// nothing of tensor memory, so its common-subexpression pass takes a second load of a place for
  /// the first one, though a product has written there between. A part that is the whole is another
  /// place to it, and to nothing else.
  std::string to_load(int storage, Iteration it, const std::string& cut, std::int64_t columns);
  std::string coordinates(int tensor, const std::string& tile);
  void op(int depth, int op, Iteration it);
  /// A matrix in memory as a product takes it.
  std::string memory_operand(int op, const Operand& one, Iteration it);
  /// Behind the name of such a place that is the same in every iteration: the place, computed in
  /// the iteration (descriptors.hpp); "" = it may be known before.
  std::string place_anew(const Source& source, Iteration it);
  void product(int depth, int op, const Value& value, Iteration it);
  void wgmma(int depth, int op, const Value& value, Iteration it, const std::string& b);
  /// gluon_warp_products.cpp
  void product_by_warps(int depth, int op, const Value& value, Iteration it);
  /// Does the op read this tile from memory as the right factor of products by warps?
  bool read_as_factor(int op, const Value& tile) const;
  static bool read_first(const std::string& lines, const std::string& name);
  std::string no_left(int op) const;
  /// Numbers of the type in one register, as a factor of a product has them: "2".
  static std::string in_a_register(const std::string& type);
  void keep_left(int depth, int op, const std::string& left);
  void end_before(int depth, int op);
  void tcgen05(int depth, int op, const Value& value, Iteration it, const std::string& b);
  /// Its size as a comment: M x N x K.
  std::string size_of(const Value& value) const;
  /// Products whose registers an op reads have ended.
  void ensure_ended(int depth, int op, const Value& value, Iteration it) {
    for (const Operand& one : value.operands) ended_for(depth, op, one, it);
  }
  void ended_for(int depth, int op, const Operand& one, Iteration it);
  Expression operand(int op, const Operand& one, Iteration it);
  /// The same of the tile that it is, or that it is a row of.
  Expression tile_operand(int op, const Operand& one, Iteration it);
  void compute(int depth, int op, Iteration it);
  /// The result to where the program has it.
  void keep(int depth, int op, Iteration it, const Expression& result);
  bool read_by_products(int storage) const;
  /// Do only stores by pointers read it, by ordinary loads?
  bool stored_by_threads(int storage) const;
  /// A chain from tensor memory to tensor memory, element by element: in parts of its columns.
  bool in_chunks(int op) const;
  /// Begins a loop over parts of `each` columns, if there are several: what takes a part, for the
  /// lines that follow, which are a step deeper then.
  std::string for_parts(int depth, std::int64_t columns, std::int64_t each);
  /// Ops (of the legal program) that follow each other, executed where the last of them stands.
  void chunks(int depth, const std::vector<int>& ops, int here, Iteration it);

  // Products outside the loop: gluon_products.cpp.
  /// Writes the product's lines; its result has its name. `factors`: without transposition.
  void outside_product(int value, const std::vector<Expression>& operands);
  /// Factor k as the product takes it, in memory or in registers.
  std::string outside_factor(int value, std::size_t k, const Expression& one,
                             const std::string& layout);
  /// Of a kernel's other products, that is, on Hopper; throws Refusal.
  void of_16_bits();
  /// Has op `op` products among its steps, in a branch?
  bool multiplies_within(int op) const;
  /// Step v of op `op`, a product, ended where it stands.
  Expression product_within(int depth, int op, int v, Iteration it);
  void tcgen05_within(int depth, int op, int v, const std::string& right, Iteration it);
  void outside_wgmma(int value, const std::string& a, const std::string& b, const Expression* sum);
  void outside_tcgen05(int value, const std::string& a, const std::string& b,
                       const Expression* sum);
  /// Tiles from before the loop that what follows it uses are there.
  void wait_for_resident(const std::vector<int>& stores);

  // After the loop: gluon_finish.cpp.
  void after();
  void end_of_tile();
  bool runs_ahead() const;
  void tell(const std::string& barrier, const std::string& comment);
  void wait_for_others(const std::vector<int>& stores);
  Expression final_operand(int v, const Operand& one, std::set<int>& written);
  /// Part by part, so that the tile is never in registers as a whole.
  void final_chunks(const std::vector<int>& chain, const std::string& buffer,
                    std::set<int>& written);
  /// The buffer of a store, where its tile is on its way out.
  std::string staged(int store);
  void bulk_store(const Value& value, const std::string& buffer);
  void final_value(int v, std::set<int>& written);

  const Plan& plan_;
  const Program& p_;
  const meaning::Meaning& m_;
  const LegalProgram& legal_;
  int slot_, warps_;
  bool anew_ = false;  ///< descriptors_are_made_anew()
  ModuleNeeds& needs_;
  ValuePrinter values_;
  const CutCode* cut_ = nullptr;
  const SlotCode* code_ = nullptr;
  std::string text_;
  std::set<std::string> used_;
  std::vector<int> history_;   ///< per op, the age of the oldest copy that is read
  bool fence_is_due_ = false;  ///< since the waits just written
  int trips_ = -1;             ///< of the short run that is written; -1 = it is none
  SlotState state_;
  std::map<int, Expression> chain_;
  /// By value and register layout: what is gathered before the loop, and its names.
  std::map<std::pair<int, std::string>, std::vector<std::pair<meaning::Index, std::string>>>
      gathered_;
  std::set<int> early_;  ///< values from before the loop whose lines are written
  struct Repeated {
    std::map<int, std::unique_ptr<SlotPrinter>> loops;  ///< by EarlierLoop::id
  };
  std::unique_ptr<Repeated> own_ = std::make_unique<Repeated>();
  Repeated* repeated_ = own_.get();  ///< of all in the slot: its own, or that of who repeats it
  std::set<int> kept_;     ///< of an earlier loop: values read when they have been made anew
  std::set<int> numbers_;  ///< and numbers that no op runs, since the op began
  int depth_ = 1;          ///< of the op
};

}  // namespace twill::emit
