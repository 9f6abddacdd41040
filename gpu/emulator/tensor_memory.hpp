// Tensor memory and the instructions of tcgen05 on the emulated multiprocessor (PTX ISA 9.0,
// "TensorCore 5th Generation Family Instructions"), one block alone (cta_group::1), products of
// 128 or 64 rows of 16-bit operands with fp32 sums. Descriptors are decoded here as PTX ISA lays
// them out; nothing is shared with gpu/blackwell, which makes them.
//
// Asynchronous work takes effect at once or as late as it may, by choice: a load or a store at the
// warp's wait for it, products when the commit after them arrives, which is when no thread can go
// on without it. Registers of a load in flight hold a mark that arithmetic refuses.
//
// Order: every access of a column by a quarter of the lanes is kept, and a later one that conflicts
// with it must come after it by what PTX says: products of one thread are in their order; a warp's
// own loads and stores by its wait; those of another warp by its wait, fence::before_thread_sync,
// an arrival or a meeting, a wait there, fence::after_thread_sync; products by commit in the place
// of the first two. That is checked where an access is issued, so it does not depend on which of
// two threads happened to be first. Operands in shared memory, too, are read after what the thread
// has waited for only if fence::after_thread_sync stands between.
//
// Errors beside those: lanes of another quarter; columns that are not allocated; allocation,
// freeing, loads, stores and waits by lanes that differ or are not all there; a second allocation
// after the permit was given up; memory that is not given back, or by another warp; products by two
// threads of a warp; fields of descriptors that PTX does not allow, or that are not emulated here;
// operands in shared memory as wgmma's; a thread that ends with loads, stores or products in
// flight. Trusted: that products of one thread on different columns are in their order, too (PTX
// promises it for equal shapes on one accumulator).
#pragma once

#include <cstdint>

namespace twill::gpu::emulator {

void tensor_allocate(std::uint32_t to, std::uint32_t columns);
void tensor_relinquish();
void tensor_free(std::uint32_t at, std::uint32_t columns);
void tensor_fence_before();
void tensor_fence_after();
void tensor_wait_loads();
void tensor_wait_stores();
void tensor_commit(std::uint32_t barrier);

struct TensorProduct {
  std::uint32_t d;
  bool a_in_lanes;  ///< `a` is an address in tensor memory; else a descriptor
  std::uint64_t a, b;
  std::uint32_t how;
  bool accumulate;
};
void tensor_multiply(const TensorProduct& product);
/// 32x32b: `count` registers, a column each.
void tensor_load(std::uint32_t* registers, std::uint32_t count, std::uint32_t at);
/// 16x256b: `count` registers, of 16 lanes two columns a register.
void tensor_load_half(std::uint32_t* registers, std::uint32_t count, std::uint32_t at);
void tensor_store(std::uint32_t at, const std::uint32_t* registers, std::uint32_t count);

}  // namespace twill::gpu::emulator
