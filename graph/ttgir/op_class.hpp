// What an op of TTGIR is to a loop graph, and which cost rule of a machine prices it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Operands of an scf.for before its first values: from, to, step.
inline constexpr std::size_t kBounds = 3;

enum class OpClass {
  elementwise,  ///< arith, math, conversions, selections: on the registers of a tile
  reduction,    ///< tt.reduce, tt.scan
  layout,       ///< ttg.convert_layout: moves registers between threads
  view,         ///< no instruction: aliases its operand's registers or memory
  mma,          ///< tensor core product
  load,         ///< global memory -> a tile (registers or shared memory): variable latency
  copy,         ///< asynchronous copy into a buffer that it names
  store,        ///< a tile -> global memory: variable latency, never streaming
  tmem_load,    ///< tensor memory -> registers
  tmem_store,   ///< registers -> tensor memory, in place
  tmem_alloc,   ///< a buffer in tensor memory, with a value or without
  local_load,   ///< shared memory -> registers
  local_store,  ///< registers -> shared memory, in place
  local_alloc,  ///< a buffer in shared memory, with a value or without
  transparent,  ///< hands on what it is given: waits and commits of groups
  replicated,   ///< index arithmetic, constants, splats: every slot computes its own
  synchronise,  ///< barriers, fences, deallocations: what a schedule puts in anew
  control,      ///< scf.for, scf.while, scf.if: reduced to one op
  terminator,   ///< scf.yield
  unknown,      ///< read, reported, priced as an elementwise op if it has a tile
};

/// By name alone; whether integer arithmetic is index arithmetic depends on its uses (see
/// index_ops.hpp).
OpClass class_of(const Operation& op);

/// Products only: the op takes its operands from memory and runs on its own (tcgen05, wgmma).
bool is_async_mma(const Operation& op);
/// Are products of this op accumulated in tensor memory?
bool is_tensor_memory_mma(const Operation& op);

/// Kinds of cost rules for an op, the most specific first: the first that the machine has counts.
/// `outer_axis` for a reduction over another axis than the last.
std::vector<std::string> kinds_of(const Module& module, const Operation& op, bool outer_axis);

}  // namespace twill::ttgir
