#include "gpu/emulator/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "gpu/emulator/core.hpp"
#include "gpu/emulator/tensor_state.hpp"

namespace twill::gpu::emulator {

void TensorMemory::end_thread() {
  const ThreadState& t = state();
  if (!t.loads.empty()) core::fail("ends with tcgen05.ld in flight");
  if (!t.stores.empty()) core::fail("ends with tcgen05.st in flight");
}

std::string TensorMemory::end_block() {
  for (const Issuer& one : issuers_) {
    if (!one.commits.empty()) return "ends before a tcgen05.commit has arrived";
    if (!one.products.empty()) return "ends with tcgen05.mma in flight";
  }
  if (!allocated_.empty()) return "ends without giving back tensor memory";
  return "";
}

void TensorMemory::allocate(std::uint32_t to, std::uint32_t columns) {
  collective(1, to, columns);
  if (core::thread() % 32 == 0) {
    if (!std::has_single_bit(columns) || columns < 32 || columns > kColumns)
      core::fail("tcgen05.alloc of " + std::to_string(columns) +
                 " columns: must be a power of two of 32 to 512");
    if (relinquished_) core::fail("tcgen05.alloc after the permit was given up");
    core::wait_until([&] { return place(columns) >= 0; });
    // Anywhere: a kernel must not count on 0.
    std::vector<std::uint32_t> places;
    for (std::uint32_t at = 0; at + columns <= kColumns; at += columns)
      if (free(at, columns)) places.push_back(at);
    const std::uint32_t at = places[core::chance() % places.size()];
    allocated_[at] = {columns, core::thread() / 32};
    core::write(rank_, to, at);
    const Access access{agent(), ++numbers_[agent()]};
    for (std::uint32_t c = at; c < at + columns; ++c)
      for (std::uint32_t q = 0; q < 4; ++q) cells_[q * kColumns + c] = {access, {}};
  }
  core::meet_warp();
}

void TensorMemory::relinquish() {
  collective(2, 0, 0);
  relinquished_ = true;
  core::meet_warp();
}

void TensorMemory::free_columns(std::uint32_t at, std::uint32_t columns) {
  collective(3, at, columns);
  if (core::thread() % 32 == 0) {
    const auto found = allocated_.find(at);
    if (found == allocated_.end() || found->second.first != columns)
      core::fail("tcgen05.dealloc of what was not allocated so");
    if (found->second.second != core::thread() / 32)
      core::fail("tcgen05.dealloc by another warp than allocated");
    const Access access{agent(), ++numbers_[agent()]};
    for (std::uint32_t c = at; c < at + columns; ++c)
      for (std::uint32_t q = 0; q < 4; ++q) write_cell(q, c, access, "tcgen05.dealloc");
    allocated_.erase(found);
    core::progress();
  }
  core::meet_warp();
}

void TensorMemory::fence_before() {
  Known& known = core::known();
  auto& fenced = warp().fenced;
  fenced[static_cast<std::size_t>(core::thread() % 32)] = ended(agent());
  known[agent()] = std::max(known[agent()], *std::min_element(fenced.begin(), fenced.end()));
}

void TensorMemory::fence_after() {
  learn(state().seen, core::known());
  state().fenced = core::waits();
}

bool TensorMemory::free(std::uint32_t at, std::uint32_t columns) const {
  return std::none_of(allocated_.begin(), allocated_.end(), [&](const auto& one) {
    return one.first < at + columns && at < one.first + one.second.first;
  });
}

int TensorMemory::place(std::uint32_t columns) const {
  for (std::uint32_t at = 0; at + columns <= kColumns; at += columns)
    if (free(at, columns)) return static_cast<int>(at);
  return -1;
}

void TensorMemory::collective(std::uint32_t kind, std::uint32_t at, std::uint32_t count) {
  WarpStep& asked = warp().asked;
  if (asked.lanes == 0) asked = {kind, at, count, 0};
  if (asked.kind != kind || asked.at != at || asked.count != count)
    core::fail("a tcgen05 instruction of a warp that differs between its lanes");
  if (++asked.lanes == 32) asked.lanes = 0;
  core::meet_warp();
}

namespace {

TensorMemory& memory() {
  std::unique_ptr<Part>& part = core::part(core::rank());
  if (part == nullptr) part = std::make_unique<TensorMemory>(core::rank());
  return static_cast<TensorMemory&>(*part);
}

}  // namespace

void tensor_allocate(std::uint32_t to, std::uint32_t columns) {
  memory().allocate(to, columns);
}
void tensor_relinquish() {
  memory().relinquish();
}
void tensor_free(std::uint32_t at, std::uint32_t columns) {
  memory().free_columns(at, columns);
}
void tensor_fence_before() {
  memory().fence_before();
}
void tensor_fence_after() {
  memory().fence_after();
}
void tensor_wait_loads() {
  memory().wait_loads();
}
void tensor_wait_stores() {
  memory().wait_stores();
}
void tensor_commit(std::uint32_t barrier) {
  memory().commit(barrier);
}
void tensor_multiply(const TensorProduct& product) {
  memory().multiply(product);
}
void tensor_load(std::uint32_t* registers, std::uint32_t count, std::uint32_t at) {
  memory().load(registers, count, at);
}
void tensor_load_half(std::uint32_t* registers, std::uint32_t count, std::uint32_t at) {
  memory().load(registers, count, at, true);
}
void tensor_store(std::uint32_t at, const std::uint32_t* registers, std::uint32_t count) {
  memory().store(at, registers, count);
}

}  // namespace twill::gpu::emulator
