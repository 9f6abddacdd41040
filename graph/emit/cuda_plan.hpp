// What is decided before a line of a CUDA kernel is written: names of C++, shared and tensor
// memory, warpgroups and registers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "graph/emit/plan.hpp"
#include "graph/index.hpp"

namespace twill::emit {

/// A group of four warps: one slot's, or some of narrow slots, of which one thread each works.
struct Warpgroup {
  std::vector<int> slots;
  int part = 0;       ///< which of its slot's warpgroups
  int registers = 0;  ///< setmaxnreg; 0 = it keeps what the launch gives it
};

/// A buffer or a ring of barriers in shared memory, or a tile in tensor memory.
struct SharedPlace {
  std::string name;  ///< of the constant that is its offset
  Amount offset = 0;
  Amount bytes = 0;  ///< of a copy; in tensor memory columns
  int copies = 1;
  std::string comment;
  int arrivals = 0;  ///< of a barrier, a phase
};

struct CudaPlan {
  Plan plan;  ///< with names of C++ in the place of Python's
  std::vector<Warpgroup> groups;
  std::vector<SharedPlace> buffers, barriers;
  std::vector<SharedPlace> tensors;  ///< tiles in tensor memory, offsets and sizes in columns
  /// Where the address of tensor memory lies in shared memory; no name: there is none.
  SharedPlace tensor_address;
  Amount shared_bytes = 0;  ///< with what alignment may cost
  bool splits_registers = false;
  /// Per value of the meaning: a vector of which each lane holds its part of the sum
  /// (registers.cuh, lane_sum).
  std::vector<bool> by_lanes;

  /// Per value that takes a row of a tile in registers: the buffer by which its slot's warps get
  /// it, two copies, for iterations by turns.
  std::map<int, std::string> row_buffer;

  /// Per slot, and of the one that follows the loop: one thread does all that it does.
  std::vector<bool> one_thread;

  bool blackwell() const { return plan.legal.target == Target::blackwell; }
  int threads() const { return static_cast<int>(groups.size()) * 128; }
  int warpgroups(int slot) const { return plan.warps(slot) / 4; }
  bool narrow(int slot) const { return one_thread[at(slot)]; }
  /// Does one thread execute the op: a bulk copy, or a product of Blackwell?
  bool issued(int op) const;
  /// Warpgroups among which a slot shares out a tile's columns; on Hopper they share out its rows.
  int shares(int slot) const { return blackwell() && !narrow(slot) ? warpgroups(slot) : 1; }
  /// The same for one tile: those of Hopper do where it has not 64 rows for each of them.
  int shares(int slot, const meaning::Value& tile) const {
    if (blackwell() || narrow(slot) || tile.shape.size() != 2) return shares(slot);
    const auto rows = static_cast<std::int64_t>(warpgroups(slot)) * 64;
    return tile.shape[0] < rows && rows % tile.shape[0] == 0
               ? static_cast<int>(rows / tile.shape[0])
               : 1;
  }
  /// Of the kernel. On Blackwell one thread's slot gets one warp, how many its program has or not.
  int warps(int slot) const { return narrow(slot) && blackwell() ? 1 : plan.warps(slot); }
  const SharedPlace& place(const std::string& name) const;
};

/// Rules as of make_plan(), and what this back end does not carry.
std::variant<CudaPlan, program::Refusal> make_cuda_plan(const program::Program& program,
                                                        const EmitOptions& options);

/// "f16" -> "Element::f16"; "" = not of 16 bits.
std::string element_type(const std::string& type);
/// The same, and of 8 bits on Hopper; "" = no operand of a product.
std::string product_element(const std::string& type, bool blackwell);
/// A number as C++ reads it, of type float.
std::string float_text(double x);

}  // namespace twill::emit
