// Products of tcgen05: issued, committed, executed.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "gpu/emulator/core.hpp"
#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/tensor_state.hpp"

namespace twill::gpu::emulator {

namespace {

/// Where a row of the result lies (PTX ISA, tcgen05.mma, "Data path layout organization"): of 128
/// rows in the lane of its number, of 64 rows each 16 in the lower half of another quarter.
std::uint32_t lane_of_row(std::uint32_t row, std::uint32_t rows) {
  constexpr std::uint32_t kHalfQuarter = 16;
  return rows == kLanes ? row : row + row / kHalfQuarter * kHalfQuarter;
}

}  // namespace

void TensorMemory::multiply(const TensorProduct& product) {
  const auto w = static_cast<std::size_t>(core::thread() / 32);
  if (warps_[w].issuer >= 0 && warps_[w].issuer != core::thread())
    core::fail("tcgen05.mma by two threads of a warp: one thread issues a product");
  warps_[w].issuer = core::thread();
  Issuer& issuer = issuers_[w];
  const Instruction how = decode(product.how);
  Product one{product, {}};
  const Access access{static_cast<Agent>(kWarps + w), ++issuer.issued};
  const auto each = [&](std::uint32_t at, std::uint32_t columns, const auto& what) {
    if (at >> 16 != 0) core::fail("a tcgen05.mma whose address has a lane");
    const std::uint32_t column = column_of(at, columns);
    for (std::uint32_t c = column; c < column + columns; ++c)
      for (std::uint32_t q = 0; q < 4; ++q) what(q, c);
  };
  if (product.a_in_lanes) {
    if (how.m != kLanes) core::fail("an operand of 64 rows in tensor memory is not emulated");
    if (how.a_rows) core::fail("an operand in tensor memory that is MN-major");
    each(static_cast<std::uint32_t>(product.a), kDepth / 2,
         [&](std::uint32_t q, std::uint32_t c) { read_cell(q, c, access, "tcgen05.mma"); });
  } else {
    Operand(product.a, how.a_rows).lines(how.m, one.lines);
  }
  Operand(product.b, how.b_rows).lines(how.n, one.lines);
  each(product.d, how.n, [&](std::uint32_t q, std::uint32_t c) {
    if (product.accumulate) read_cell(q, c, access, "tcgen05.mma");
    write_cell(q, c, access, "tcgen05.mma");
  });
  if (state().fenced != core::waits())
    core::fail(
        "tcgen05.mma reads shared memory after a wait without tcgen05.fence::after_thread_sync");
  for (const std::uint32_t line : one.lines) core::check_async_read(rank_, line);
  for (const std::uint32_t line : one.lines) core::start_reading(rank_, line);
  issuer.seen = state().seen;
  issuer.products.push_back(std::move(one));
  if (!core::late()) execute_until(issuer, issuer.issued);
  core::progress();
}

void TensorMemory::commit(std::uint32_t barrier) {
  core::check_barrier(barrier);
  const auto w = static_cast<std::size_t>(core::thread() / 32);
  const bool mine = warps_[w].issuer == core::thread();
  const std::uint32_t count = mine ? issuers_[w].issued : 0;
  // What the thread has waited for is over when it commits, so it is for who waits for the
  // commit.
  Known told = core::known_of_others();
  const Known none;
  const Known& seen = mine ? issuers_[w].seen : none;
  for (std::size_t k = 0; k < kTensorAgents; ++k) told[k] = k < seen.size() ? seen[k] : 0;
  told[kWarps + w] = std::max(told[kWarps + w], count);
  issuers_[w].commits.push_back({count, barrier, std::move(told)});
  core::in_flight([this, w] {
    const Commit one = std::move(issuers_[w].commits.front());
    issuers_[w].commits.pop_front();
    execute_until(issuers_[w], one.count);
    core::arrive(rank_, one.barrier, one.told);
  });
}

void TensorMemory::execute_until(Issuer& issuer, std::uint32_t count) {
  while (issuer.executed < count) {
    execute(issuer.products.front());
    ++issuer.executed;
    const auto agent = static_cast<Agent>(kWarps + (&issuer - issuers_.data()));
    for (const std::uint32_t line : issuer.products.front().lines)
      core::end_reading(rank_, line, agent, issuer.executed);
    issuer.products.pop_front();
    core::progress();
  }
}

void TensorMemory::execute(const Product& product) {
  const Instruction how = decode(product.of.how);
  for (const std::uint32_t line : product.lines) core::check_written(rank_, line);
  std::vector<float> a(std::size_t{kLanes} * kDepth), b(std::size_t{how.n} * kDepth);
  if (product.of.a_in_lanes) {
    const auto column = static_cast<std::uint32_t>(product.of.a);
    for (std::uint32_t r = 0; r < kLanes; ++r)
      for (std::uint32_t k = 0; k < kDepth; ++k)
        a[r * kDepth + k] = to_float(
            static_cast<std::uint16_t>(word(r, column + k / 2) >> (k % 2 * 16)), how.element);
  } else {
    const Operand operand(product.of.a, how.a_rows);
    for (std::uint32_t r = 0; r < how.m; ++r)
      for (std::uint32_t k = 0; k < kDepth; ++k)
        a[r * kDepth + k] = to_float(core::read(rank_, operand.at(r, k)), how.element);
  }
  const Operand operand(product.of.b, how.b_rows);
  for (std::uint32_t n = 0; n < how.n; ++n)
    for (std::uint32_t k = 0; k < kDepth; ++k)
      b[n * kDepth + k] = to_float(core::read(rank_, operand.at(n, k)), how.element);
  for (std::uint32_t r = 0; r < how.m; ++r)
    for (std::uint32_t n = 0; n < how.n; ++n) {
      std::uint32_t& d = word(lane_of_row(r, how.m), (product.of.d & 0xFFFF) + n);
      float sum = product.of.accumulate ? std::bit_cast<float>(d) : 0.F;
      for (std::uint32_t k = 0; k < kDepth; ++k) sum += a[r * kDepth + k] * b[n * kDepth + k];
      d = std::bit_cast<std::uint32_t>(sum);
    }
}

}  // namespace twill::gpu::emulator
