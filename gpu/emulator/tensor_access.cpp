// Loads and stores of tensor memory, and what orders the accesses of its columns.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "gpu/emulator/core.hpp"
#include "gpu/emulator/registers.hpp"
#include "gpu/emulator/tensor_state.hpp"

namespace twill::gpu::emulator {

namespace {

/// Where register `r` of a load comes from: lane and column.
std::pair<std::uint32_t, std::uint32_t> source_of(const PendingLoad& one, std::uint32_t r) {
  if (!one.half) return {one.lane, one.column + r};
  // PTX ISA, "Matrix fragment for shape .16x256b": eight columns of 16 lanes are four registers;
  // four threads share a lane, and the last two registers are eight lanes on.
  const std::uint32_t thread = one.lane % 32, quarter = one.lane - thread;
  const std::uint32_t within = r % 4;
  return {quarter + thread / 4 + (within >= 2 ? 8 : 0),
          one.column + r / 4 * 8 + thread % 4 * 2 + within % 2};
}

}  // namespace

void TensorMemory::load(std::uint32_t* registers, std::uint32_t count, std::uint32_t at,
                        bool half) {
  const std::uint32_t number = step(half ? 2 : 0, at, count), columns = half ? 2 * count : count;
  const std::uint32_t lane = lane_of(at), column = column_of(at, columns);
  const Access access{agent(), number};
  for (std::uint32_t c = column; c < column + columns; ++c)
    read_cell(lane / 32, c, access, "tcgen05.ld");
  PendingLoad one{registers, count, lane, column, half, {}};
  for (std::uint32_t r = 0; r < count && !core::late(); ++r) {
    const auto [from, place] = source_of(one, r);
    one.kept.push_back(word(from, place));
  }
  for (std::uint32_t c = 0; c < count; ++c)
    std::memcpy(registers + c, &kLentMark, sizeof kLentMark);
  state().loads.push_back(std::move(one));
}

void TensorMemory::store(std::uint32_t at, const std::uint32_t* registers, std::uint32_t count) {
  const std::uint32_t number = step(1, at, count);
  const std::uint32_t lane = lane_of(at), column = column_of(at, count);
  const Access access{agent(), number};
  for (std::uint32_t c = column; c < column + count; ++c)
    write_cell(lane / 32, c, access, "tcgen05.st");
  PendingStore one{std::vector<std::uint32_t>(count), lane, column};
  std::memcpy(one.words.data(), registers, count * sizeof(std::uint32_t));
  if (!core::late()) apply(one);
  state().stores.push_back(std::move(one));
}

void TensorMemory::wait_loads() {
  collective(4, 0, 0);
  for (const PendingLoad& one : state().loads)
    for (std::uint32_t c = 0; c < one.count; ++c) {
      std::uint32_t mark;
      std::memcpy(&mark, one.registers + c, sizeof mark);
      if (mark != kLentMark) core::fail("registers of a tcgen05.ld in flight are written");
      const auto [from, place] = source_of(one, c);
      const std::uint32_t got = core::late() ? word(from, place) : one.kept[c];
      std::memcpy(one.registers + c, &got, sizeof got);
    }
  state().loads.clear();
  end_pending(false);
  core::meet_warp();
}

void TensorMemory::wait_stores() {
  collective(5, 0, 0);
  for (const PendingStore& one : state().stores)
    if (core::late()) apply(one);
  state().stores.clear();
  end_pending(true);
  core::meet_warp();
}

std::uint32_t TensorMemory::step(std::uint32_t kind, std::uint32_t at, std::uint32_t count) {
  Warp& w = warp();
  const auto lane = static_cast<std::size_t>(core::thread() % 32);
  const std::uint32_t index = w.issued[lane]++ - w.first;
  if (w.steps.size() <= index) {
    w.steps.push_back({kind, at, count, 0});
    w.pending.emplace_back(++numbers_[agent()], kind == 1);
    w.numbers.push_back(numbers_[agent()]);
  }
  WarpStep& s = w.steps[index];
  if (s.kind != kind || s.at != at || s.count != count)
    core::fail("a tcgen05 load or store of a warp that differs between its lanes");
  const std::uint32_t number = w.numbers[index];
  if (++s.lanes == 32) {
    w.steps.pop_front();
    w.numbers.pop_front();
    ++w.first;
  }
  return number;
}

void TensorMemory::end_pending(bool stores) {
  std::erase_if(warp().pending, [&](const auto& one) { return one.second == stores; });
}

std::uint32_t TensorMemory::lane_of(std::uint32_t at) const {
  const std::uint32_t first = static_cast<std::uint32_t>(core::thread() / 32 % 4 * 32);
  if (at >> 16 != first)
    core::fail("a warp reaches lanes " + std::to_string(first) + " to " +
               std::to_string(first + 31) + " of tensor memory, not " + std::to_string(at >> 16));
  return first + static_cast<std::uint32_t>(core::thread() % 32);
}

std::uint32_t TensorMemory::column_of(std::uint32_t at, std::uint32_t count) const {
  const std::uint32_t column = at & 0xFFFF;
  for (const auto& [begin, one] : allocated_)
    if (column >= begin && column + count <= begin + one.first) return column;
  core::fail("columns of tensor memory that are not allocated");
}

void TensorMemory::apply(const PendingStore& one) {
  for (std::uint32_t c = 0; c < one.words.size(); ++c)
    word(one.lane, one.column + c) = one.words[c];
}

bool TensorMemory::own_ended(std::uint32_t number) {
  const auto& pending = warp().pending;
  return std::none_of(pending.begin(), pending.end(),
                      [&](const auto& one) { return one.first == number; });
}

std::uint32_t TensorMemory::ended(Agent of) const {
  std::uint32_t last = numbers_[of];
  for (const auto& [number, store] : warps_[of].pending) last = std::min(last, number - 1);
  return last;
}

void TensorMemory::check_after(const Access& before, const Access& now, const char* what) {
  if (before.number == 0 || before.agent == now.agent) {
    // A step of the same warp is one access of all its lanes.
    if (before.number == 0 || now.agent >= kWarps || before.number == now.number ||
        own_ended(before.number))
      return;
    core::fail(std::string(what) + " before the warp's wait for its own access of the columns");
  }
  const Known& seen = state().seen;
  if (before.agent < seen.size() && seen[before.agent] >= before.number) return;
  core::fail(std::string(what) + " of columns that " +
             (before.agent >= kWarps ? "a tcgen05.mma of warp " : "an access of warp ") +
             std::to_string(before.agent % kWarps) +
             " has: nothing orders them (wait or commit, fence::before_thread_sync, arrival, "
             "wait, fence::after_thread_sync)");
}

void TensorMemory::read_cell(std::uint32_t quarter, std::uint32_t column, const Access& access,
                             const char* what) {
  Cell& cell = cells_[quarter * kColumns + column];
  check_after(cell.written, access, what);
  for (Access& one : cell.read)
    if (one.agent == access.agent) {
      one.number = std::max(one.number, access.number);
      return;
    }
  cell.read.push_back(access);
}

void TensorMemory::write_cell(std::uint32_t quarter, std::uint32_t column, const Access& access,
                              const char* what) {
  Cell& cell = cells_[quarter * kColumns + column];
  check_after(cell.written, access, what);
  for (const Access& one : cell.read) check_after(one, access, what);
  cell.written = access;
  cell.read.clear();
}

}  // namespace twill::gpu::emulator
