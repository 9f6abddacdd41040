// Writes one slot's function in CUDA C++. Private to graph/emit/: cuda_slot.cpp (the loop,
// registers over iterations), cuda_waits.cpp (waits, arrivals, products in flight), cuda_ops.cpp
// (ops), cuda_copies.cpp (bulk copies), cuda_tensor.cpp (tensor memory and its products),
// cuda_finish.cpp (what follows the loop).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/emit/cuda_plan.hpp"
#include "graph/emit/cuda_slot.hpp"
#include "graph/emit/cut_code.hpp"
#include "graph/emit/gluon_values.hpp"
#include "graph/index.hpp"

namespace twill::emit {

/// A product that has been issued and not been waited for; iterations are counted from the block's
/// own base.
struct CudaFlight {
  int op = 0;  ///< of the given program
  int iteration = 0;
  std::string result;   ///< registers that it writes
  std::string left;     ///< registers that it reads; "" = none
  bool certain = true;  ///< false: where the loop has just begun it may not have been issued
  bool operator==(const CudaFlight&) const = default;
};

/// An expression of C++ and its shape; a sum by lanes is one per lane (registers.cuh).
struct CudaExpression {
  std::string text;
  bool by_lanes = false;
};

/// Fences of tcgen05 and meetings that are due: none of them is written before something needs it.
struct CudaFences {
  bool before = false;   ///< it has accessed tensor memory since its last fence::before_thread_sync
  bool after = false;    ///< it has waited since its last fence::after_thread_sync
  bool apart = false;    ///< its warps have accessed memory since they last met
  bool loaded = false;   ///< it has read what a bulk copy wrote, and not fenced since
  std::set<int> stores;  ///< storages in tensor memory whose stores were not waited for
  /// Storages in shared memory that the slot's warps have written, and of which their products
  /// (of Hopper) have read, since they last met.
  std::set<int> written, multiplied;
  /// Storages in shared memory of which its warps have read with ordinary loads since they last
  /// met, on Hopper.
  std::set<int> read;
  bool operator==(const CudaFences&) const = default;
};

class CudaSlotPrinter {
 public:
  using Function = meaning::Function;
  using Operand = meaning::Operand;
  using Value = meaning::Value;

  CudaSlotPrinter(const CudaPlan& c, int slot)
      : c_(c),
        plan_(c.plan),
        p_(*c.plan.given),
        m_(*c.plan.meaning),
        legal_(c.plan.legal),
        slot_(slot),
        values_(c.plan, slot, needs_) {}
  std::string run();

 private:
  // Text.
  void line(int depth, const std::string& text, const std::string& comment = "");
  [[noreturn]] static void refuse(const std::string& rule, const std::string& text) {
    throw program::Refusal{rule, text};
  }
  void declare(const std::string& name, const std::string& type) { declared_[name] = type; }
  bool narrow() const { return c_.narrow(slot_); }
  const std::string& variable(int op) const {
    return plan_.variable[at(plan_.links.result[at(op)])];
  }
  static std::string shared(const std::string& constant) { return "shared + " + constant; }

  // Types.
  int blocks_of(const Value& value) const;
  std::string type_of(int value) const;

  // Registers over iterations.
  int legal_op(int op) const;
  int position(int op) const { return code_.position(legal_op(op)); }
  int lag(int op) const { return code_.lag(legal_op(op)); }
  int writer(int storage) const;
  void history();
  std::string aged(int op, int age) const;
  /// The name of what `op` made `distance` iterations before `it`, where `reader` stands.
  std::string held(int op, int reader, Iteration it, int distance) const;
  void age_variables(int depth, int op);

  // The function: cuda_slot.cpp.
  void body();
  void before();
  bool uses_resident(int op) const;
  /// Vectors from before the loop, in registers for the whole loop.
  void vectors_before();
  void loop();
  void steady(int in);
  void print(int depth, const Step& step);
  /// The cut of the loop after which no product is in flight.
  int find_cut();

  // Waits and arrivals: cuda_waits.cpp.
  std::string reason(const program::Wait& wait) const;
  std::string op_name(int legal_index) const;
  void wait(int depth, const Step& step);
  /// Until flight number `last` has ended, with all before it.
  void end_flights(int depth, std::size_t last, const std::string& comment);
  /// Until no product uses these registers.
  void touch(int depth, const std::string& name, const char* need);
  void drain(int depth);
  void arrive(int depth, int legal_index, Iteration it, const char* how);
  std::string barrier_at(int event, Iteration it) const;

  // Ops: cuda_ops.cpp.
  std::string copy_at(int storage, Iteration it) const;
  void op(int depth, int op, Iteration it);
  void load(int depth, int op, const Value& value, Iteration it);
  /// A bulk store of what a slot has in registers, through a buffer of its own.
  void store_registers(int depth, int op, const Value& value, Iteration it);
  /// Registers to the buffer, and from there to global memory: the slot's warpgroups meet twice.
  void send(int depth, const Value& value, const std::string& buffer, const std::string& what,
            const CudaCoordinates& where, bool last);
  /// A bulk store.
  void store(int depth, int op, const Value& value, Iteration it);
  void product(int depth, int op, const Value& value, Iteration it);
  /// Storages in shared memory of which a product reads.
  std::set<int> multiplied_by(int op) const;
  /// The slot's warpgroups meet; products in flight read on.
  void meet(int depth, const std::string& comment);
  bool overlap(int storage, const std::set<int>& others) const;
  /// Which thread has which bytes of what a storage in shared memory holds: of equal ones a warp
  /// has read alone what it writes.
  std::string sharing_out(int storage) const;
  /// Before a slot writes to shared memory: no other warp of it reads there any more.
  void end_reading(int depth, int storage);
  /// A row of a tile in registers, as a vector in those of all warps.
  CudaExpression row_of_tile(int depth, int op, const Operand& one, Iteration it, int user);
  /// A matrix in shared memory as a product takes it; "" = it is not there.
  std::string memory_operand(int op, const Operand& one, Iteration it, bool left);
  void compute(int depth, int op, Iteration it);
  /// `user`: the value that takes it.
  CudaExpression operand(int depth, int op, const Operand& one, Iteration it, int user);
  /// Is it what a bulk store reads?
  bool stored_in_bulk(int storage) const;
  /// The variable for a copy in memory; an op that reads two of one ring has two.
  std::string read_name(int op, const std::string& place);
  CudaExpression number(const Operand& operand) const;
  CudaExpression evaluate(int value, const std::vector<CudaExpression>& in,
                          const std::string& iteration) const;
  void keep(int depth, int op, Iteration it, const CudaExpression& result);
  /// Of keep(): the variable of the result may be written; and it goes to memory, too.
  void claim(int depth, int op);
  void hand_over(int depth, int op, Iteration it, const CudaExpression& result);
  /// An op that copies a tile of shared memory to registers, and changes nothing.
  bool copies_operand(int depth, int op, Iteration it);
  /// A tile that another slot or TMA wrote to shared memory, to registers.
  void load_shared_tile(int depth, const std::string& name, const Source& source,
                        const std::string& place);
  /// A tile of fp32 from before the loop to registers.
  CudaExpression resident_tile(int depth, int value);
  /// Where a slot's warpgroup has its part of a tile of fp32 in panels: block of 64 rows, column.
  std::string panel_place(const Value& value) const;
  /// A tile of fp32 that TMA adds, on Hopper.
  void panels(int depth, const Value& value, const std::string& to, const std::string& what);

  // Tensor memory: cuda_tensor.cpp.
  bool blackwell() const { return c_.blackwell(); }
  bool on_tmem(const Source& source) const {
    return source.kind == Source::memory && plan_.on_tmem(p_.storages[at(source.storage)]);
  }
  void fence_before(int depth);
  void fence_after(int depth);
  /// Until the slot's stores to tensor memory have ended, before it accesses this storage; -1 =
  /// any.
  void end_stores(int depth, int storage);
  /// `at` is in this storage.
  void load_lanes(int depth, const std::string& name, int storage, const std::string& at);
  void store_lanes(int depth, int storage, const std::string& to, const std::string& name);
  void tensor_product(int depth, int op, const Value& value, Iteration it, const std::string& a,
                      const std::string& b, std::int64_t k);
  /// An op that copies a tile of tensor memory to registers.
  bool copies_lanes(int depth, int op, Iteration it);
  bool in_parts(int op) const;
  const std::vector<int>* fused_with(int legal_index) const;
  /// What one thread of the slot does after all that its warps have done.
  void issue(int depth, const std::vector<std::pair<std::string, std::string>>& lines);
  /// Of a tile in tensor memory, the columns of this warpgroup; `columns` of 32 bits in all.
  std::string own_part(std::int64_t columns) const;
  /// Ops of the legal program on a tile in tensor memory, some columns at a time.
  void parts(int depth, const std::vector<int>& ops, Iteration it);
  std::vector<int> tile_chain(int store) const;
  void final_parts(const std::vector<int>& chain, const std::string& buffer,
                   std::set<int>& written);

  // After the loop: cuda_finish.cpp.
  void after();
  /// Address of the buffer of a store, where its tile is on its way out.
  std::string staged(int store) const;
  void bulk_store(const Value& value, const std::string& buffer);
  /// Slots whose end a slot must know before what it does after the loop.
  std::set<int> awaited(int slot) const;
  void wait_for_others();
  CudaExpression final_operand(int v, const Operand& one, std::set<int>& written);
  void final_value(int v, std::set<int>& written);

  const CudaPlan& c_;
  const Plan& plan_;
  const program::Program& p_;
  const meaning::Meaning& m_;
  const LegalProgram& legal_;
  int slot_;
  ModuleNeeds needs_;
  ValuePrinter values_;  ///< for resolve() alone
  CutCode code_;
  std::string text_;
  std::map<std::string, std::string> declared_;  ///< type of every register variable
  std::vector<int> history_;  ///< per op, the age of the oldest copy that is read
  int trips_ = -1;            ///< of the short run that is written; -1 = it is none
  std::vector<CudaFlight> flights_;
  CudaFences fences_;
  std::set<std::string> defined_;
  std::map<int, std::string> chain_;         ///< values of the op that is written
  std::map<std::string, std::string> read_;  ///< what the op that is written has read, from where
  std::vector<int> empty_after_;             ///< steps of the steady loop with none in flight
  std::set<std::string> reduced_;            ///< sums by lanes that are the rows' by now
};

}  // namespace twill::emit
