// Stores and additions of TMA out of shared memory, in bulk groups that their thread waits for.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "gpu/emulator/box.hpp"
#include "gpu/emulator/counters.hpp"
#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/shared_memory.hpp"
#include "gpu/emulator/state.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

namespace {

/// The group's source is read, if it is not yet.
void read_source(Bulk& group) {
  if (group.read) group.write = group.read();
  group.read = nullptr;
}
void write_result(Bulk& group) {
  read_source(group);
  if (group.write) group.write();
  group.write = nullptr;
}
/// The thread has waited for that: others may have the source.
void end_reading(Bulk& group) {
  read_source(group);
  count_lines(self().block->reading, group.from, group.bytes, -1);
  for_lines(group.from, group.bytes,
            [](std::uint32_t line) { self().block->order.end_reading(line, now()); });
  group.bytes = 0;
}

/// Of TMA, to global memory: a part of the write that the thread starts next.
void start_write(const void* to, std::uint32_t bytes, bool adds) {
  Fiber& me = self();
  if (me.writer == 0) me.writer = machine->writers++;
  check(machine->written.start(to, bytes, me.writer, me.writes + 1, adds,
                               machine->launch->ordered_sums, me.known));
}

void start_bulk(std::uint32_t from, std::uint32_t bytes,
                std::function<std::function<void()>()> read) {
  check_acquired();
  shared(*self().block, from, bytes);
  for_lines(from, bytes, [](std::uint32_t line) {
    check(self().block->order.start_reading(line, self().known));
  });
  count_lines(self().block->reading, from, bytes, 1);
  ++self().writes;
  self().bulk.push_back({from, bytes, std::move(read), {}});
  if (machine->launch->when == When::at_once && !machine->launch->late_stores)
    write_result(self().bulk.back());
}

/// The same of a box: 16 bytes are 8 elements.
void start_box(const Map& map, const int (&at)[5], bool adds) {
  int number = 0;
  for_box(0, map, coordinates(at), [&](std::uint32_t, const std::uint16_t* to) {
    if (number++ % 8 == 0 && to != nullptr) start_write(to, 16, adds);
  });
}

}  // namespace

void tma_store(const Map& map, std::uint32_t from, const int (&at)[5]) {
  if (from % 1024 != 0) fail("a swizzled tile that is not 1024-byte aligned");
  Block* const block = self().block;
  start_box(map, at, false);
  start_bulk(from, box_bytes(map), [=, map = map, place = coordinates(at)] {
    std::vector<std::pair<std::uint16_t*, std::uint16_t>> elements;
    for_box(from, map, place, [&](std::uint32_t address, std::uint16_t* to) {
      if (to != nullptr) elements.emplace_back(to, async_read(*block, address));
    });
    return [=] {
      for (const auto& [to, bits] : elements) *to = bits;
    };
  });
}
void tma_add(const Map& map, std::uint32_t from, const int (&at)[5]) {
  if (from % 1024 != 0) fail("a swizzled tile that is not 1024-byte aligned");
  Block* const block = self().block;
  start_box(map, at, true);
  start_bulk(from, box_bytes(map), [=, map = map, place = coordinates(at)] {
    std::vector<std::pair<float*, float>> elements;
    std::uint32_t word = 0;
    bool high = false;  // halves come in the order of their columns
    for_box(from, map, place, [&](std::uint32_t address, std::uint16_t* to) {
      const std::uint32_t half = to == nullptr ? 0 : async_read(*block, address);
      word = high ? word | half << 16 : half;
      if (high && to != nullptr)
        elements.emplace_back(reinterpret_cast<float*>(to - 1), std::bit_cast<float>(word));
      high = !high;
    });
    return [=] {
      for (const auto& [to, x] : elements) *to += x;
    };
  });
}
void bulk_add(float* to, std::uint32_t from, std::uint32_t bytes) {
  if (from % 16 != 0 || bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(to) % 16 != 0)
    fail("a bulk addition that is not 16-byte aligned");
  Block* const block = self().block;
  start_write(to, bytes, true);
  start_bulk(from, bytes, [=] {
    for (std::uint32_t i = 0; i < bytes; i += 16) async_read(*block, from + i);
    std::vector<float> x(bytes / 4);
    std::memcpy(x.data(), shared(*block, from, bytes), bytes);
    return [=] {
      for (std::size_t i = 0; i < x.size(); ++i) to[i] += x[i];
    };
  });
}

void bulk_wait_read(int pending) {
  auto& groups = self().bulk;
  if (machine->launch->late_stores && groups.size() > static_cast<std::size_t>(pending)) {
    self().stopped = true;
    yield();
  }
  for (std::size_t i = 0; i + static_cast<std::size_t>(pending) < groups.size(); ++i)
    end_reading(groups[i]);
  ++machine->progress;
}
void bulk_wait_done() {
  for (Bulk& group : self().bulk) {
    end_reading(group);
    write_result(group);
  }
  if (self().writer != 0) {
    std::vector<std::uint32_t>& known = self().known.launch;
    if (known.size() <= self().writer) known.resize(self().writer + 1);
    known[self().writer] = self().writes;
  }
  if (!self().bulk.empty()) self().bulk_written = true;
  self().bulk.clear();
  ++machine->progress;
}

}  // namespace twill::gpu::emulator
