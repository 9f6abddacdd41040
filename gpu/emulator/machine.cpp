#include "gpu/emulator/machine.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gpu/emulator/core.hpp"
#include "gpu/emulator/grid.hpp"
#include "gpu/emulator/order.hpp"
#include "gpu/emulator/registers.hpp"

namespace twill::gpu::emulator {

namespace {

/// Registers of a multiprocessor; what setmaxnreg and a launch may give a thread.
constexpr int kRegisterFile = 65536, kMostRegisters = 248;

constexpr std::size_t kStack = std::size_t{1} << 17;

struct Mbarrier {
  int arrivals = 0, pending = 0;
  std::int64_t transfers = 0;
  std::uint32_t phase = 0;
  int owner = 0;  ///< thread that initialised it
  /// Since then the owner has fenced the initialisation; after that the block, the cluster has met.
  bool fenced = false, met = false, cluster_met = false;
  Known telling, told;  ///< by the arrivals of the phase that runs, of those that have ended
  Event ended;          ///< of its own: phases that have ended
};

/// A store or addition of TMA: `read` takes its source out of shared memory and gives what is left
/// to do, the write to global memory.
struct Bulk {
  std::uint32_t from = 0, bytes = 0;            ///< 0 bytes: the thread knows that they are read
  std::function<std::function<void()>()> read;  ///< empty: has been read
  std::function<void()> write;                  ///< empty: not read yet, or has been written
};

struct Named {
  int arrived = 0, threads = 0;
  unsigned generation = 0;
  Known telling, told;
  std::map<int, int> warps;  ///< threads of each that have come since it was last full
};

/// A meeting of a fixed number of threads, with a word of each.
struct Meeting {
  int arrived = 0;
  unsigned generation = 0;
  std::array<std::array<std::uint32_t, 32>, 2> words{};
  Known telling, told;
};

/// An aligned instruction of a warp, and how many of its lanes have executed it.
struct Aligned {
  const char* what;
  int operand, lanes;
  std::string text() const { return what + (operand < 0 ? "" : " " + std::to_string(operand)); }
};

/// One wgmma of a warpgroup, from all its threads; the contents of its registers.
struct Wgmma {
  Multiply of;
  std::vector<std::uint32_t> lines;  ///< of 16 bytes in shared memory that it reads
  int threads = 0;
  std::array<std::uint32_t*, 128> d{};
  std::array<const std::uint32_t*, 128> a{};
};

struct Warpgroup {
  std::deque<Wgmma> ops;      ///< not yet executed
  std::int64_t executed = 0;  ///< number of the first in `ops`
  std::array<std::int64_t, 128> issued{}, wanted{};
  std::array<std::vector<std::int64_t>, 128> groups;  ///< ops issued up to each commit
  int registers = 0, asked = 0;                       ///< of a thread: it has, setmaxnreg asks for
  unsigned changes = 0;
  Meeting change;
};

struct Cluster;

struct Block {
  Cluster* cluster = nullptr;
  int index = 0, rank = 0;
  bool sleeps = false;  ///< lets other blocks run first
  std::vector<std::uint8_t> shared;
  Order order;                  ///< of the accesses of each 16 bytes
  std::vector<int> reading;     ///< per 16 bytes: wgmmas and bulk groups in flight that read them
  std::vector<int> arriving;    ///< per 16 bytes: TMA loads in flight that write them
  std::vector<int> unreleased;  ///< per 16 bytes: thread + 1 that wrote them since the cluster met
  std::map<std::uint32_t, Mbarrier> mbarriers;
  std::array<Named, 16> named;
  std::vector<Meeting> warps;
  std::vector<Warpgroup> warpgroups;
  int registers_left = 0;
  Meeting all;
  std::vector<Meeting> collective;  ///< of each warp
  std::vector<std::deque<Aligned>>
      aligned;  ///< of each warp, those that not all lanes have executed
  std::unique_ptr<Part> part;

  explicit Block(std::size_t bytes) : shared(bytes, 0xFF), order(bytes / 16 + 1) {}  // NaN
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Block* block = nullptr;
  int thread = 0;
  bool done = false;
  bool stopped = false;  ///< until no other thread can go on
  std::string waits;     ///< for which barrier
  Registers registers;
  std::size_t aligned = 0;             ///< instructions of the warp's list that it has executed
  std::vector<std::uint32_t> touched;  ///< 16-byte lines, not fenced
  std::deque<Bulk> bulk;               ///< groups that this thread has not waited for in full
  bool bulk_written = false;           ///< waited for, and no fence.proxy.async since
  bool acquired = false;               ///< a counter, and no fence.proxy.async since
  Known known;
  std::uint64_t waited = 0;  ///< at barriers and for the block
  std::uint32_t writer = 0;  ///< agent of the launch, 0: none yet
  std::uint32_t writes = 0;  ///< of TMA to global memory, so far
};

/// Blocks that run together and reach each other's shared memory.
struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Fiber>> fibers;
  Meeting all;
  std::uint32_t agents = 0;  ///< of Known, so far
};

/// A load of TMA in flight, to a shared address.
struct Load {
  Cluster* cluster = nullptr;
  std::uint32_t to = 0;
  std::function<void()> effect;
};

struct Machine {
  const Launch* launch = nullptr;
  const std::function<void()>* body = nullptr;
  std::vector<std::unique_ptr<Cluster>> clusters;  ///< that run
  Cluster* current = nullptr;                      ///< of the thread or the load that runs
  GridOrder written;
  std::uint32_t writers = 1;
  std::map<const void*, Counter> counters;
  std::vector<Load> loads;                       ///< in flight
  std::vector<std::function<void()>> unwritten;  ///< bulk writes that no thread has waited for
  LentPlaces lent;
  ucontext_t scheduler;
  Fiber* running = nullptr;
  std::string error;
  std::uint64_t progress = 0;
  Dim thread, block, grid;
  std::mt19937 random;
};

Machine* machine = nullptr;

Fiber& self() {
  return *machine->running;
}

void yield() {
  swapcontext(&self().context, &machine->scheduler);
}

[[noreturn]] void fail(const std::string& what) {
  if (machine->running == nullptr) throw Error(what);  // in a load, which no thread waits in
  if (machine->error.empty())
    machine->error = what + " (block " + std::to_string(self().block->index) + ", thread " +
                     std::to_string(self().thread) + ")";
  for (;;) yield();  // the scheduler does not come back
}

template <class Condition>
void wait_until(const Condition& condition) {
  while (!condition()) yield();
  ++machine->progress;
}

/// A warpgroup that is kept back goes no further than it must after it has told others something.
void step_back() {
  if (self().thread / 128 == machine->launch->held) yield();
}

/// Behind an arrival. More often for lane 0, which in the kernels issues alone.
void switch_by_chance() {
  const unsigned seldom = self().thread % 32 == 0 ? 4 : 64;
  const Launch& launch = *machine->launch;
  if (!launch.switches || launch.late_stores || machine->random() % seldom != 0) return;
  self().stopped = true;
  yield();
}

std::size_t size(int n) {
  return static_cast<std::size_t>(n);
}
Fiber& fiber_of(const Block& block, int thread) {
  return *block.cluster->fibers[size(block.rank * machine->launch->threads + thread)];
}

/// Where a thread is: it goes on to its next event whenever it has told others something.
Event now(const Fiber& fiber) {
  const int before = fiber.block->rank * machine->launch->threads;
  const auto agent = kTensorAgents + static_cast<std::uint32_t>(before + fiber.thread);
  return {agent, fiber.known[agent]};
}
Event now() {
  return now(self());
}
void tell(Known& telling) {
  learn(telling, self().known);
  ++self().known[now().agent];
}
void check(const std::string& wrong) {
  if (!wrong.empty()) fail(wrong);
}

/// All lanes of a warp execute the same aligned instructions in the same order. (That they come
/// together again behind a branch is ptxas's work, and not looked at.)
void aligned(const char* what, int operand = -1) {
  const int warp = self().thread / 32;
  auto& list = self().block->aligned[size(warp)];
  if (self().aligned == list.size()) list.push_back({what, operand, 0});
  Aligned& next = list[self().aligned++];
  if (std::strcmp(next.what, what) != 0 || next.operand != operand)
    fail("lanes of a warp have diverged: one is at " + Aligned{what, operand, 0}.text() +
         ", another at " + next.text());
  if (++next.lanes < 32) return;
  list.pop_front();
  for (int lane = 0; lane < 32; ++lane) --fiber_of(*self().block, warp * 32 + lane).aligned;
}

std::uint32_t swizzle(std::uint32_t address) {
  return address ^ (((address >> 7) & 7) << 4);
}

void settle(Mbarrier& b) {
  if (b.pending != 0 || b.transfers != 0) return;
  ++b.ended.count;
  if (b.telling.size() <= b.ended.agent) b.telling.resize(b.ended.agent + 1);
  b.telling[b.ended.agent] = b.ended.count;
  learn(b.told, b.telling);
  b.telling.clear();
  b.phase ^= 1;
  b.pending = b.arrivals;
}

Mbarrier& mbarrier(Block& block, std::uint32_t address) {
  const auto found = block.mbarriers.find(address);
  if (found == block.mbarriers.end()) fail("no mbarrier there");
  return found->second;
}

/// The same for use by the running thread (TMA: by the async proxy), which must see the
/// initialisation.
Mbarrier& visible_mbarrier(Block& block, std::uint32_t address, bool tma = false) {
  Mbarrier& b = mbarrier(block, address);
  const bool own = &block == self().block && b.owner == self().thread;
  if ((tma || !own) && !b.fenced) fail("an mbarrier is used without fence.mbarrier_init");
  if (&block != self().block && !b.cluster_met)
    fail("an mbarrier of another block is used before the cluster has met");
  if (!own && !b.met) fail("an mbarrier of another thread is used before the block has met");
  return b;
}

void arrive(Mbarrier& b) {
  if (--b.pending < 0) fail("more arrivals than a phase has");
  settle(b);
  ++machine->progress;
}

std::uint8_t* shared(Block& block, std::uint32_t address, std::uint32_t bytes) {
  if (std::size_t{address} + bytes > block.shared.size()) fail("beyond shared memory");
  return block.shared.data() + address;
}

/// A 16-bit element that TMA or wgmma reads.
std::uint16_t async_read(Block& block, std::uint32_t address) {
  shared(block, address, 2);
  if (block.arriving[address / 16] != 0) fail("read by TMA or wgmma while TMA writes it");
  std::uint16_t bits;
  std::memcpy(&bits, shared(block, address, 2), 2);
  return bits;
}

void ordinary(std::uint32_t line, bool writes) {
  Fiber& me = self();
  check(me.block->order.ordinary(line, me.thread, now(), me.known, writes, me.touched));
}
void written(std::uint32_t address, std::uint32_t bytes) {
  for (std::uint32_t line = address / 16; line <= (address + bytes - 1) / 16; ++line) {
    if (self().block->reading[line] != 0) fail("written while TMA or wgmma may still read it");
    if (self().block->arriving[line] != 0) fail("written while TMA writes it");
    ordinary(line, true);
    self().block->unreleased[line] = self().thread + 1;
  }
}

const std::vector<float>& table(Element element) {
  static const auto make = [](Element e) {
    std::vector<float> t(65536);
    for (unsigned i = 0; i < 65536; ++i)
      t[i] = e == Element::f16
                 ? __half2float(__ushort_as_half(static_cast<unsigned short>(i)))
                 : __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(i)));
    return t;
  };
  static const std::vector<float> f16 = make(Element::f16), bf16 = make(Element::bf16);
  return element == Element::f16 ? f16 : bf16;
}

/// Address of element (row or column i, depth k) of an operand in shared memory, by descriptor.
std::uint32_t operand_at(std::uint64_t tile, bool transposed, int i, int k) {
  const auto start = static_cast<std::uint32_t>(tile & 0x3FFF) << 4;
  const auto leading = static_cast<std::uint32_t>(tile >> 16 & 0x3FFF) << 4;
  const auto stride = static_cast<std::uint32_t>(tile >> 32 & 0x3FFF) << 4;
  if (tile >> 62 != 1) fail("a descriptor that is not 128-byte swizzled");
  if ((tile >> 49 & 7) != (start >> 7 & 7))
    fail("a descriptor without the base offset of its address, which is not a multiple of 1024");
  const auto r = static_cast<std::uint32_t>(i), c = static_cast<std::uint32_t>(k);
  const std::uint32_t at =
      transposed ? start + r / 64 * leading + r % 64 * 2 + c % 8 * 128 + c / 8 * stride
                 : start + r % 8 * 128 + r / 8 * stride + c * 2;
  return swizzle(at);
}
std::uint16_t operand(Block& block, std::uint64_t tile, bool transposed, int i, int k) {
  return async_read(block, operand_at(tile, transposed, i, k));
}

/// The 16 bytes that hold 8 elements each of an operand of `count` rows or columns.
void add_lines(std::vector<std::uint32_t>& lines, std::uint64_t tile, bool transposed, int count) {
  for (int i = 0; i < count; i += transposed ? 8 : 1)
    for (int k = 0; k < 16; k += transposed ? 1 : 8)
      lines.push_back(operand_at(tile, transposed, i, k) / 16);
}
/// A wgmma is in flight from here, and reads these lines.
void find_lines(Block& block, Wgmma& op) {
  const Multiply& m = op.of;
  if (m.a == nullptr) add_lines(op.lines, m.a_tile, m.a_transposed, 64);
  add_lines(op.lines, m.b_tile, m.b_transposed, m.n);
  for (const std::uint32_t line : op.lines) {
    shared(block, line * 16, 16);
    ++block.reading[line];
  }
}

void execute(Block& block, const Wgmma& op) {
  const Multiply& m = op.of;
  const std::vector<float>& value = table(m.element);
  std::vector<float> a(std::size_t{64} * 16), b(static_cast<std::size_t>(m.n) * 16);
  if (m.a == nullptr) {
    for (int r = 0; r < 64; ++r)
      for (int k = 0; k < 16; ++k)
        a[size(r * 16 + k)] = value[operand(block, m.a_tile, m.a_transposed, r, k)];
  } else {
    for (int t = 0; t < 128; ++t)
      for (int reg = 0; reg < 4; ++reg)
        for (int h = 0; h < 2; ++h) {
          const int r = t / 32 * 16 + t % 32 / 4 + 8 * (reg % 2), k = t % 4 * 2 + h + 8 * (reg / 2);
          a[size(r * 16 + k)] = value[op.a[static_cast<std::size_t>(t)][reg] >> (16 * h) & 0xFFFF];
        }
  }
  for (int n = 0; n < m.n; ++n)
    for (int k = 0; k < 16; ++k)
      b[size(n * 16 + k)] = value[operand(block, m.b_tile, m.b_transposed, n, k)];
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < m.n / 2; ++i) {
      const int r = t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2), n = i / 4 * 8 + t % 4 * 2 + i % 2;
      std::uint32_t& d = op.d[static_cast<std::size_t>(t)][i];
      float sum = m.accumulate ? std::bit_cast<float>(d) : 0.F;
      for (int k = 0; k < 16; ++k) sum += a[size(r * 16 + k)] * b[size(n * 16 + k)];
      d = std::bit_cast<std::uint32_t>(sum);
    }
}

Warpgroup& warpgroup() {
  return self().block->warpgroups[static_cast<std::size_t>(self().thread / 128)];
}

void execute_until(Warpgroup& w, std::int64_t count) {
  while (w.executed < count) {
    execute(*self().block, w.ops.front());
    for (const std::uint32_t line : w.ops.front().lines) {
      --self().block->reading[line];
      // A warp's lanes meet when they have waited: the first stands for all.
      for (int warp = 0; warp < 4; ++warp)
        self().block->order.end_reading(
            line, now(fiber_of(*self().block, self().thread / 128 * 128 + warp * 32)));
    }
    w.ops.pop_front();
    ++w.executed;
    ++machine->progress;
  }
}

/// `orders`: as __syncwarp and bar.sync, what was before it is known after it.
void meet(Meeting& meeting, int threads, bool orders = false) {
  const unsigned generation = meeting.generation;
  if (orders) tell(meeting.telling);
  if (++meeting.arrived == threads) {
    meeting.arrived = 0;
    ++meeting.generation;
    ++machine->progress;
    learn(meeting.told, meeting.telling);
    meeting.telling.clear();
  } else {
    wait_until([&] { return meeting.generation != generation; });
  }
  if (orders) learn(self().known, meeting.told);
}

/// Calls what(address in shared memory, element in global memory or null beyond the tensor).
template <class What>
void for_box(std::uint32_t address, const Map& map, const std::array<int, 5>& at,
             const What& what) {
  const int rows = map.box[1];
  for (int p = 0; p < map.box[2]; ++p)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < 64; ++c) {
        const std::array<int, 5> place = {c, at[1] + r, at[2] + p, at[3], at[4]};
        bool inside = true;
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < 5; ++i) {
          inside = inside && place[i] >= 0 && place[i] < map.dims[i];
          offset += place[i] * map.strides[i];
        }
        what(swizzle(address + static_cast<std::uint32_t>((p * rows + r) * 128 + c * 2)),
             inside ? map.data + offset : nullptr);
      }
}

std::uint32_t box_bytes(const Map& map) {
  return static_cast<std::uint32_t>(map.box[1] * map.box[2] * 128);
}

/// Each line of [address, address + bytes).
template <class What>
void for_lines(std::uint32_t address, std::uint32_t bytes, const What& what) {
  for (std::uint32_t line = address / 16; line * 16 < address + bytes; ++line) what(line);
}
void count_lines(std::vector<int>& lines, std::uint32_t address, std::uint32_t bytes, int add) {
  for_lines(address, bytes, [&](std::uint32_t line) { lines[line] += add; });
}

void check_free(const Block& block, std::uint32_t address, std::uint32_t bytes) {
  for (std::uint32_t line = address / 16; line <= (address + bytes - 1) / 16; ++line) {
    if (block.reading[line] != 0) fail("TMA overwrites what TMA or wgmma may still read");
    if (block.arriving[line] != 0) fail("TMA overwrites what another load of TMA writes");
  }
}

/// Before anything that the thread lets TMA do.
void check_acquired() {
  if (self().acquired) fail("TMA after an acquired counter without fence.proxy.async");
}

/// Starts a load into shared memory, signalled on the barrier there.
void start_load(Block& block, std::uint32_t to, std::uint32_t bytes, std::uint32_t barrier,
                std::function<void()> copy) {
  check_acquired();
  shared(block, to, bytes);
  check_free(block, to, bytes);
  const Event ended = visible_mbarrier(block, barrier, true).ended;
  const Known* const known = &block == self().block ? &self().known : nullptr;
  for_lines(to, bytes, [&](std::uint32_t line) {
    check(block.order.start_writing(line, known, {ended.agent, ended.count + 1}));
  });
  count_lines(block.arriving, to, bytes, 1);
  Block* const at = &block;
  const auto load = [=, copy = std::move(copy)] {
    copy();
    count_lines(at->arriving, to, bytes, -1);
    Mbarrier& b = mbarrier(*at, barrier);
    b.transfers -= bytes;
    settle(b);
  };
  if (machine->launch->when == When::at_once)
    load();
  else
    machine->loads.push_back({machine->current, to, load});
  ++machine->progress;
}

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

Place place() {
  const int block = self().block->index;
  return {block, block / machine->launch->cluster};
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

std::array<int, 5> coordinates(const int (&at)[5]) {
  return {at[0], at[1], at[2], at[3], at[4]};
}

/// The same of a box: 16 bytes are 8 elements.
void start_box(const Map& map, const int (&at)[5], bool adds) {
  int number = 0;
  for_box(0, map, coordinates(at), [&](std::uint32_t, const std::uint16_t* to) {
    if (number++ % 8 == 0 && to != nullptr) start_write(to, 16, adds);
  });
}

/// Another block's TMA is about to write here. It was told so by an mbarrier whose scope is the
/// block, which does not order this block's ordinary writes before it.
void check_handed_over(const Block& block, std::uint32_t address, std::int64_t bytes) {
  for (std::uint32_t line = address / 16; std::int64_t{line} * 16 < address + bytes; ++line)
    if (block.unreleased[line] != 0)
      fail("another block's TMA overwrites what thread " +
           std::to_string(block.unreleased[line] - 1) +
           " wrote, and no meeting of the cluster lies between");
}

void enter() {
  Fiber& fiber = self();
  (*machine->body)();
  for (Bulk& group : fiber.bulk) {
    if (group.bytes != 0) fail("ends while TMA may read shared memory");
    if (group.write) machine->unwritten.push_back(std::move(group.write));
  }
  if (fiber.thread % 128 == 0 && !warpgroup().ops.empty()) fail("ends with wgmma in flight");
  if (fiber.block->part != nullptr) fiber.block->part->end_thread();
  fiber.done = true;
  ++machine->progress;
  for (;;) yield();
}

std::unique_ptr<Fiber> make_fiber(Block* block, int thread) {
  auto fiber = std::make_unique<Fiber>();
  fiber->block = block;
  fiber->thread = thread;
  fiber->stack = std::make_unique<char[]>(kStack);
  fiber->registers.start(fiber->stack.get(), kStack, &machine->lent);
  fiber->known.resize(block->cluster->agents);
  fiber->known[kTensorAgents +
               static_cast<std::uint32_t>(block->rank * machine->launch->threads + thread)] = 1;
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = kStack;
  fiber->context.uc_link = nullptr;
  makecontext(&fiber->context, enter, 0);
  return fiber;
}

/// Who waits for which barrier, the first thread of each.
std::string waiting(const std::vector<Fiber*>& fibers) {
  std::map<std::string, int> first;
  for (const Fiber* fiber : fibers)
    if (!fiber->waits.empty()) {
      const auto [found, is_new] = first.emplace(fiber->waits, fiber->thread);
      if (!is_new) found->second = std::min(found->second, fiber->thread);
    }
  std::string text;
  for (const auto& [barrier, thread] : first)
    text += (text.empty() ? ": thread " : ", thread ") + std::to_string(thread) + " waits for " +
            barrier;
  return text;
}

void start_cluster(Machine& m, int first) {
  const Launch& launch = *m.launch;
  Cluster& cluster = *m.clusters.emplace_back(std::make_unique<Cluster>());
  cluster.agents = kTensorAgents + static_cast<std::uint32_t>(launch.cluster * launch.threads);
  for (int rank = 0; rank < launch.cluster; ++rank) {
    auto block = std::make_unique<Block>(static_cast<std::size_t>(launch.shared_bytes));
    block->cluster = &cluster;
    block->index = first + rank;
    block->rank = rank;
    const std::size_t lines = block->shared.size() / 16 + 1;
    block->reading.assign(lines, 0);
    block->arriving.assign(lines, 0);
    block->unreleased.assign(lines, 0);
    block->warps.resize(static_cast<std::size_t>(launch.threads / 32));
    block->collective.resize(block->warps.size());
    block->aligned.resize(block->warps.size());
    block->warpgroups.resize(static_cast<std::size_t>((launch.threads + 127) / 128));
    const int registers = std::min(kRegisterFile / launch.threads / 8 * 8, kMostRegisters);
    for (Warpgroup& w : block->warpgroups) w.registers = registers;
    block->registers_left = kRegisterFile - launch.threads * registers;
    for (int t = 0; t < launch.threads; ++t) cluster.fibers.push_back(make_fiber(block.get(), t));
    cluster.blocks.push_back(std::move(block));
  }
}

/// All threads of the cluster have ended.
void end_cluster(const Machine& m, const Cluster& cluster) {
  for (const auto& block : cluster.blocks)
    if (const std::string wrong = block->part == nullptr ? "" : block->part->end_block();
        !wrong.empty())
      throw Error(wrong);
  for (const Load& load : m.loads)
    if (load.cluster == &cluster) throw Error("ends while TMA writes shared memory");
  for (const auto& block : cluster.blocks)
    for (const auto& list : block->aligned)
      if (!list.empty()) throw Error("only a part of a warp has executed " + list.front().text());
  for (const auto& block : cluster.blocks)
    for (const Named& named : block->named)
      if (named.arrived != 0) throw Error("a named barrier is left half full");
}

/// One turn of every thread that may go on.
void run_fibers(Machine& m, const std::vector<Fiber*>& order, bool kept_back) {
  for (Fiber* fiber : order) {
    if (fiber->stopped || fiber->block->sleeps) continue;
    if ((fiber->thread / 128 == m.launch->held) != kept_back) continue;
    m.running = fiber;
    m.current = fiber->block->cluster;
    m.thread.x = static_cast<unsigned>(fiber->thread);
    m.block.x = static_cast<unsigned>(fiber->block->index);
    swapcontext(&m.scheduler, &fiber->context);
    m.running = nullptr;
    if (!m.error.empty()) throw Error(m.error);
  }
}

/// Blocks that run at once go on unevenly: some sleep a while.
void put_to_sleep(Machine& m) {
  if (m.clusters.size() < 2 || m.random() % 64 != 0) return;
  for (const auto& cluster : m.clusters) {
    const bool sleeps = m.random() % 2 == 0;
    for (const auto& block : cluster->blocks) block->sleeps = sleeps;
  }
}
bool wake(Machine& m) {
  bool slept = false;
  for (const auto& cluster : m.clusters)
    for (const auto& block : cluster->blocks) slept = std::exchange(block->sleeps, false) || slept;
  return slept;
}

/// Where no thread can go on: a thread that has stopped does, or a load takes effect.
void let_go_on(Machine& m, const std::vector<Fiber*>& order) {
  const Launch& launch = *m.launch;
  std::vector<Fiber*> stopped;
  std::copy_if(order.begin(), order.end(), std::back_inserter(stopped),
               [](const Fiber* f) { return f->stopped; });
  std::vector<std::size_t> ready;
  for (std::size_t k = 0; k < m.loads.size(); ++k)
    if (m.loads[k].to < launch.held_from || m.loads[k].to >= launch.held_to) ready.push_back(k);
  if (!stopped.empty() && (ready.empty() || (!launch.late_stores && m.random() % 2 == 0))) {
    stopped[m.random() % stopped.size()]->stopped = false;
    return;
  }
  if (m.loads.empty())
    throw Error("deadlock in block " + std::to_string(order.front()->block->index) +
                waiting(order));
  const std::size_t which =
      ready.empty() ? m.random() % m.loads.size() : ready[m.random() % ready.size()];
  const Load load = m.loads[which];
  m.loads.erase(m.loads.begin() + static_cast<std::ptrdiff_t>(which));
  m.current = load.cluster;
  load.effect();
}

/// As many clusters at once as the launch says; the next one starts where one ends.
void run_grid(Machine& m) {
  const Launch& launch = *m.launch;
  std::vector<Fiber*> order;
  for (int next = 0;;) {
    std::erase_if(order, [](const Fiber* f) { return f->done; });
    std::erase_if(m.clusters, [&](const auto& cluster) {
      const auto of_it = [&](const Fiber* f) { return f->block->cluster == cluster.get(); };
      if (std::any_of(order.begin(), order.end(), of_it)) return false;
      end_cluster(m, *cluster);
      return true;
    });
    while (next < launch.blocks && m.clusters.size() < size(launch.at_once)) {
      start_cluster(m, next);
      next += launch.cluster;
      for (const auto& fiber : m.clusters.back()->fibers) order.push_back(fiber.get());
    }
    if (order.empty()) return;
    // Another warp first every time; threads of a warp stay together, which is quicker.
    const std::uint64_t before = m.progress;
    const auto shift = static_cast<std::ptrdiff_t>(m.random() % order.size());
    std::rotate(order.begin(), order.begin() + shift, order.end());
    put_to_sleep(m);
    run_fibers(m, order, false);
    if (m.progress != before || wake(m)) continue;
    if (m.loads.empty() && launch.held >= 0) run_fibers(m, order, true);
    if (m.progress == before) let_go_on(m, order);
  }
}

}  // namespace

void run(const Launch& launch, const std::function<void()>& thread) {
  Machine m;
  m.launch = &launch;
  m.body = &thread;
  m.random.seed(launch.seed);
  m.grid.x = static_cast<unsigned>(launch.blocks);
  machine = &m;
  struct Reset {
    ~Reset() { machine = nullptr; }
  } reset;
  run_grid(m);
  for (const auto& write : m.unwritten) write();
}

const Dim& thread_index() {
  return machine->thread;
}
const Dim& block_index() {
  return machine->block;
}
const Dim& grid_size() {
  return machine->grid;
}

void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  if (barrier % 8 != 0) fail("an mbarrier that is not 8-byte aligned");
  shared(*self().block, barrier, 8);
  const auto count = static_cast<int>(arrivals);
  Mbarrier b;
  b.arrivals = b.pending = count;
  b.owner = self().thread;
  b.ended.agent = machine->current->agents++;
  self().block->mbarriers[barrier] = b;
}
void barrier_init_fence() {
  for (auto& [address, b] : self().block->mbarriers)
    if (b.owner == self().thread) b.fenced = true;
}
void barrier_arrive(std::uint32_t barrier, int rank) {
  Block& block =
      rank < 0 ? *self().block : *machine->current->blocks[static_cast<std::size_t>(rank)];
  Mbarrier& b = visible_mbarrier(block, barrier);
  if (&block == self().block) tell(b.telling);
  arrive(b);
  step_back();
  switch_by_chance();
}
void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  Mbarrier& b = visible_mbarrier(*self().block, barrier);
  b.transfers += bytes;
  tell(b.telling);
  arrive(b);
}
void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  const Mbarrier& b = visible_mbarrier(*self().block, barrier);
  self().waits = std::to_string(barrier) + " with parity " + std::to_string(parity);
  wait_until([&] { return b.phase != parity; });
  self().waits.clear();
  ++self().waited;
  learn(self().known, b.told);
}

void named(int id, int threads, bool wait) {
  aligned(wait ? "bar.sync" : "bar.arrive", id);
  Named& b = self().block->named[static_cast<std::size_t>(id)];
  if (b.arrived > 0 && b.threads != threads) fail("a named barrier of two sizes");
  b.threads = threads;
  const unsigned generation = b.generation;
  ++b.warps[self().thread / 32];
  tell(b.telling);
  if (++b.arrived == threads) {
    learn(b.told, b.telling);
    b.telling.clear();
    for (const auto& [warp, count] : b.warps)
      if (count % 32 != 0) fail("a named barrier by a part of a warp");
    b.warps.clear();
    b.arrived = 0;
    ++b.generation;
  }
  ++machine->progress;
  if (!wait) {
    switch_by_chance();
    return;
  }
  wait_until([&] { return b.generation != generation; });
  ++self().waited;
  learn(self().known, b.told);
}

void sync_threads() {
  aligned("__syncthreads");
  if (self().block->all.arrived + 1 == machine->launch->threads)
    for (auto& [address, b] : self().block->mbarriers) b.met = b.met || b.fenced;
  meet(self().block->all, machine->launch->threads, true);
  ++self().waited;
}
void sync_cluster() {
  const int threads = machine->launch->threads * machine->launch->cluster;
  if (machine->current->all.arrived + 1 == threads)
    for (const auto& block : machine->current->blocks) {
      std::fill(block->unreleased.begin(), block->unreleased.end(), 0);
      for (auto& [address, b] : block->mbarriers) b.met = b.cluster_met = b.cluster_met || b.fenced;
    }
  meet(machine->current->all, threads, true);
}
bool elect() {
  aligned("elect.sync");
  return self().thread % 32 == 0;
}
void sync_warp() {
  aligned("__syncwarp");
  meet(self().block->warps[static_cast<std::size_t>(self().thread / 32)], 32, true);
  step_back();
}
std::uint32_t shuffle(std::uint32_t value, int lane) {
  aligned("a shuffle");
  Meeting& warp = self().block->warps[static_cast<std::size_t>(self().thread / 32)];
  auto& words = warp.words[warp.generation % 2];
  words[static_cast<std::size_t>(self().thread % 32)] = value;
  meet(warp, 32);
  return words[static_cast<std::size_t>(lane)];
}

void tma_load(std::uint32_t to, const Map& map, const int (&at)[5], std::uint32_t barrier,
              unsigned blocks) {
  if (to % 1024 != 0) fail("a swizzled tile that is not 1024-byte aligned");
  for (const auto& other : machine->current->blocks) {
    Block* const block = other.get();
    if (blocks == 0 ? block != self().block : (blocks >> block->rank & 1) == 0) continue;
    if (block != self().block) check_handed_over(*block, to, box_bytes(map));
    start_load(*block, to, box_bytes(map), barrier, [=, map = map, place = coordinates(at)] {
      for_box(to, map, place, [&](std::uint32_t address, const std::uint16_t* from) {
        const std::uint16_t bits = from != nullptr ? *from : std::uint16_t{0};
        std::memcpy(shared(*block, address, 2), &bits, 2);
      });
    });
  }
}
void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes, std::uint32_t barrier) {
  if (to % 16 != 0 || bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    fail("a bulk copy that is not 16-byte aligned");
  Block* const block = self().block;
  start_load(*block, to, bytes, barrier,
             [=] { std::memcpy(shared(*block, to, bytes), from, bytes); });
}
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
void fence_async_global() {
  self().bulk_written = self().acquired = false;
}
unsigned load_acquire(const unsigned* counter, Scope scope) {
  self().acquired = true;
  check(machine->counters[counter].acquire(place(), scope, self().known));
  return *counter;
}
void add_release(unsigned* counter, unsigned value, Scope scope) {
  if (!self().bulk.empty())
    fail("a counter is released before the thread's bulk writes have taken effect");
  if (self().bulk_written)
    fail("a counter is released after bulk writes without fence.proxy.async");
  machine->counters[counter].release(place(), scope, self().known);
  *counter += value;
  ++machine->progress;
}
unsigned fetch_add(unsigned* counter, unsigned value) {
  const unsigned before = *counter;
  *counter += value;
  ++machine->progress;
  return before;
}

void fence_async() {
  self().block->order.fence(self().thread, now(), self().touched);
}
void store_shared(std::uint32_t address, const void* from, std::uint32_t bytes) {
  if (address % bytes != 0) fail("a misaligned store");
  std::uint8_t* const to = shared(*self().block, address, bytes);
  written(address, bytes);
  std::memcpy(to, from, bytes);
}
void load_shared(void* to, std::uint32_t address, std::uint32_t bytes) {
  if (address % bytes != 0) fail("a misaligned load");
  shared(*self().block, address, bytes);
  if (self().block->arriving[address / 16] != 0) fail("read while TMA writes it");
  ordinary(address / 16, false);
  std::memcpy(to, shared(*self().block, address, bytes), bytes);
}

void store_matrices(std::uint32_t address, const std::uint32_t (&tiles)[4], bool transposed) {
  // Lane l gives the address of row l % 8 of tile l / 8, and of each tile's row l / 4 (transposed:
  // column) the elements 2 (l % 4) and the next.
  aligned("stmatrix");
  if (address % 16 != 0) fail("a row of stmatrix that is not 16-byte aligned");
  const auto lane = static_cast<std::uint32_t>(self().thread % 32);
  Meeting& warp = self().block->warps[static_cast<std::size_t>(self().thread / 32)];
  auto& words = warp.words[warp.generation % 2];
  words[lane] = address;
  meet(warp, 32);
  for (std::uint32_t i = 0; i < 4; ++i)
    for (std::uint32_t h = 0; h < 2; ++h) {
      const std::uint32_t across = lane / 4, along = lane % 4 * 2 + h;
      const auto bits = static_cast<std::uint16_t>(tiles[i] >> (16 * h));
      const std::uint32_t row = words[8 * i + (transposed ? along : across)];
      store_shared(row + 2 * (transposed ? across : along), &bits, 2);
    }
}

void pause() {
  yield();
}

void multiply(const Multiply& m) {
  aligned("wgmma.mma_async");
  Warpgroup& w = warpgroup();
  const auto t = static_cast<std::size_t>(self().thread % 128);
  const std::int64_t number = w.issued[t]++;
  if (number < w.executed) fail("a wgmma that the others have not issued");
  const auto at = static_cast<std::size_t>(number - w.executed);
  if (w.ops.size() <= at) {
    w.ops.emplace_back().of = m;
    find_lines(*self().block, w.ops.back());
  }
  Wgmma& op = w.ops[at];
  if (t % 32 == 0)
    for (const std::uint32_t line : op.lines)
      check(self().block->order.start_reading(line, self().known));
  if (op.of.a_tile != m.a_tile || op.of.b_tile != m.b_tile || op.of.n != m.n ||
      op.of.accumulate != m.accumulate || (op.of.a == nullptr) != (m.a == nullptr))
    fail("a wgmma that differs between the threads of a warpgroup");
  const auto lend = [&](const void* registers, std::size_t words) {
    std::uint32_t* kept = nullptr;
    auto* const words_at = static_cast<std::uint32_t*>(const_cast<void*>(registers));
    const std::string wrong = self().registers.lend(words_at, words, number + 1, kept);
    if (!wrong.empty()) fail(wrong);
    return kept;
  };
  op.d[t] = lend(m.d, size(m.n / 2));
  op.a[t] = m.a == nullptr ? nullptr : lend(m.a, 4);
  if (++op.threads == 128 && machine->launch->when == When::at_once) execute_until(w, number + 1);
}
void set_registers(int count, bool raise) {
  aligned("setmaxnreg");
  Block& block = *self().block;
  if (machine->launch->threads % 128 != 0) fail("setmaxnreg in a block of no whole warpgroups");
  if (count % 8 != 0 || count < 24 || count > 256)
    fail("setmaxnreg of a number that is not allowed");
  Warpgroup& w = warpgroup();
  if (w.change.arrived == 0) w.asked = count;
  if (w.asked != count) fail("setmaxnreg of different numbers in a warpgroup");
  const unsigned changes = w.changes;
  meet(w.change, 128);
  if (self().thread % 128 != 0) {
    wait_until([&] { return w.changes != changes; });
    return;
  }
  const int more = 128 * (count - w.registers);
  if (raise != (more >= 0) && more != 0) fail("setmaxnreg in the wrong direction");
  wait_until([&] { return block.registers_left >= more; });
  block.registers_left -= more;
  w.registers = count;
  ++w.changes;
}

void multiply_fence() {
  aligned("wgmma.fence");
  self().registers.fence();
}
void multiply_commit() {
  aligned("wgmma.commit_group");
  Warpgroup& w = warpgroup();
  const auto t = static_cast<std::size_t>(self().thread % 128);
  w.groups[t].push_back(w.issued[t]);
}
void multiply_wait(int pending) {
  aligned("wgmma.wait_group", pending);
  Warpgroup& w = warpgroup();
  const auto t = static_cast<std::size_t>(self().thread % 128);
  auto& groups = w.groups[t];
  if (groups.size() > static_cast<std::size_t>(pending)) {
    const std::size_t ended = groups.size() - static_cast<std::size_t>(pending);
    w.wanted[t] = groups[ended - 1];
    groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(ended));
  }
  // As late as may be: when the last thread waits.
  const std::int64_t want = w.wanted[t];
  execute_until(w, *std::min_element(w.wanted.begin(), w.wanted.end()));
  wait_until([&] { return w.executed >= want; });
  check(self().registers.give_back(want));
  // What a warp's lanes have done before, all of them have when the warp goes on.
  meet(self().block->collective[size(self().thread / 32)], 32, true);
}
void use(std::uint32_t bits) {
  if (is_lent(bits)) fail("registers of a wgmma or a tcgen05.ld are read while it is in flight");
}

float to_float(std::uint16_t bits, Element element) {
  return table(element)[bits];
}
std::uint16_t from_float(float value, Element element) {
  return element == Element::f16 ? __half_as_ushort(__float2half_rn(value))
                                 : __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

// --- For other parts -----------------------------------------------------------------------------

namespace core {

namespace {
Block& block_of(int rank) {
  return *machine->current->blocks[static_cast<std::size_t>(rank)];
}
}  // namespace

void fail(const std::string& what) {
  emulator::fail(what);
}
int thread() {
  return self().thread;
}
int threads() {
  return machine->launch->threads;
}
int rank() {
  return self().block->rank;
}
bool late() {
  return machine->launch->when == When::late;
}
unsigned chance() {
  return static_cast<unsigned>(machine->random());
}
std::unique_ptr<Part>& part(int rank) {
  return block_of(rank).part;
}
Known& known() {
  return self().known;
}
Known known_of_others() {
  Known known = self().known;
  known[now().agent] = 0;
  return known;
}
std::uint64_t waits() {
  return self().waited;
}
void progress() {
  ++machine->progress;
}
void wait_until(const std::function<bool()>& condition) {
  emulator::wait_until(condition);
}
void meet_warp() {
  meet(self().block->collective[static_cast<std::size_t>(self().thread / 32)], 32);
}
void check_async_read(int rank, std::uint32_t line) {
  Block& block = block_of(rank);
  shared(block, line * 16, 16);
  if (block.arriving[line] != 0) fail("read by tcgen05.mma while TMA writes it");
  check(block.order.start_reading(line, self().known));
}
void check_written(int rank, std::uint32_t line) {
  if (block_of(rank).arriving[line] != 0) fail("read by tcgen05.mma while TMA writes it");
}
void start_reading(int rank, std::uint32_t line) {
  ++block_of(rank).reading[line];
}
void end_reading(int rank, std::uint32_t line, std::uint32_t agent, std::uint32_t count) {
  --block_of(rank).reading[line];
  block_of(rank).order.end_reading(line, {agent, count});
}
std::uint16_t read(int rank, std::uint32_t address) {
  std::uint16_t bits;
  std::memcpy(&bits, shared(block_of(rank), address, 2), 2);
  return bits;
}
void write(int rank, std::uint32_t address, std::uint32_t word) {
  std::memcpy(shared(block_of(rank), address, 4), &word, 4);
}
void check_barrier(std::uint32_t barrier) {
  visible_mbarrier(*self().block, barrier, true);
}
void arrive(int rank, std::uint32_t barrier, const Known& what) {
  Mbarrier& b = mbarrier(block_of(rank), barrier);
  learn(b.telling, what);
  emulator::arrive(b);
}
void in_flight(std::function<void()> effect) {
  if (late())
    machine->loads.push_back({machine->current, ~std::uint32_t{0}, std::move(effect)});
  else
    effect();
  ++machine->progress;
}

}  // namespace core

}  // namespace twill::gpu::emulator
