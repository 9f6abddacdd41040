#include "gpu/emulator/tensor_memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gpu/emulator/core.hpp"
#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/registers.hpp"

namespace twill::gpu::emulator {

namespace {

constexpr std::uint32_t kLanes = 128, kColumns = 512, kWarps = 32, kDepth = 16;
static_assert(kTensorAgents == 2 * kWarps);

// Who accesses tensor memory: agents 0 .. 31 are the warps' loads and stores, 32 + w the products
// of warp w's one thread that issues some. An agent's accesses are numbered from 1.
using Agent = std::uint32_t;

struct Access {
  Agent agent = 0;
  std::uint32_t number = 0;  ///< 0: none
};

/// A quarter of the lanes of a column.
struct Cell {
  Access written;
  std::vector<Access> read;  ///< since then, the last of each agent
};

/// A load or a store of a warp, as the lanes that have come say.
struct WarpStep {
  std::uint32_t kind = 0, at = 0, count = 0;
  int lanes = 0;
};

struct Warp {
  std::array<std::uint32_t, 32> issued{};               ///< per lane, loads and stores
  std::deque<WarpStep> steps;                           ///< those that not all lanes have come to
  std::deque<std::uint32_t> numbers;                    ///< of their accesses
  std::uint32_t first = 0;                              ///< how many were before them
  std::vector<std::pair<std::uint32_t, bool>> pending;  ///< number, is it a store
  std::array<std::uint32_t, 32> fenced{};  ///< per lane, accesses before its last fence::before
  int issuer = -1;                         ///< thread that issues products
  WarpStep asked;                          ///< a collective instruction
};

struct PendingLoad {
  std::uint32_t* registers;
  std::uint32_t count, lane, column;
  std::vector<std::uint32_t> kept;  ///< read already
};
struct PendingStore {
  std::vector<std::uint32_t> words;
  std::uint32_t lane, column;
};

struct ThreadState {
  Known seen;                ///< what its accesses come after
  std::uint64_t fenced = 0;  ///< how often it had waited at its last fence::after
  std::vector<PendingLoad> loads;
  std::vector<PendingStore> stores;
};

/// A product that has been issued.
struct Product {
  TensorProduct of;
  std::vector<std::uint32_t> lines;
};

/// Arrives when the products up to number `count` have been executed.
struct Commit {
  std::uint32_t count, barrier;
  Known told;
};

struct Issuer {
  std::deque<Product> products;  ///< not yet executed
  std::deque<Commit> commits;    ///< not yet arrived, which they do in their order
  std::uint32_t issued = 0, executed = 0;
  Known seen;  ///< by its thread at the last of them
};

// --- Descriptors, as PTX ISA 9.0 lays them out ---------------------------------------------------

struct How {
  Element element = Element::f16;
  std::uint32_t n = 0;
  bool a_rows = false, b_rows = false;  ///< the operand is MN-major
};

std::uint64_t field(std::uint64_t word, int low, int high) {
  return word >> low & ((std::uint64_t{1} << (high - low + 1)) - 1);
}

/// "Instruction descriptor", the column of kind::f16.
How decode(std::uint32_t word) {
  if (field(word, 0, 2) != 0) core::fail("an instruction descriptor for sparse operands");
  if (field(word, 3, 3) != 0) core::fail("an instruction descriptor that saturates");
  if (field(word, 4, 5) != 1) core::fail("an instruction descriptor with results other than fp32");
  const std::uint64_t a = field(word, 7, 9), b = field(word, 10, 12);
  if (a > 1 || a != b)
    core::fail("an instruction descriptor with operands of types other than two f16 or two bf16");
  if (field(word, 13, 14) != 0) core::fail("an instruction descriptor that negates");
  if (field(word, 6, 6) != 0 || field(word, 23, 23) != 0 || field(word, 29, 29) != 0)
    core::fail("an instruction descriptor with reserved bits");
  if (field(word, 30, 31) != 0) core::fail("an instruction descriptor with a shift");
  How how;
  how.element = a == 1 ? Element::bf16 : Element::f16;
  how.a_rows = field(word, 15, 15) != 0;
  how.b_rows = field(word, 16, 16) != 0;
  how.n = static_cast<std::uint32_t>(field(word, 17, 22) * 8);
  if (field(word, 24, 28) * 16 != kLanes)
    core::fail("a tcgen05.mma of other than 128 rows is not emulated");
  if (how.n < 16 || how.n > 256 || how.n % 16 != 0)
    core::fail("a tcgen05.mma of 128 rows has 16 to 256 columns by 16");
  return how;
}

/// "Shared Memory Descriptor": where elements of a 128-byte swizzled operand lie.
class Operand {
 public:
  Operand(std::uint64_t word, bool rows) : rows_(rows) {
    start_ = static_cast<std::uint32_t>(field(word, 0, 13) * 16);
    leading_ = static_cast<std::uint32_t>(field(word, 16, 29) * 16);
    stride_ = static_cast<std::uint32_t>(field(word, 32, 45) * 16);
    if (field(word, 46, 48) != 1)
      core::fail("a shared memory descriptor without 0b001 in bits 46 to 48");
    if (field(word, 14, 15) != 0 || field(word, 30, 31) != 0 || field(word, 53, 60) != 0)
      core::fail("a shared memory descriptor with reserved bits");
    if (field(word, 52, 52) != 0)
      core::fail("a shared memory descriptor of absolute strides is sm_103a's");
    if (field(word, 49, 51) != 0)
      core::fail("a shared memory descriptor with a base offset is not emulated");
    if (field(word, 61, 63) != 2)
      core::fail("a shared memory descriptor that is not 128-byte swizzled");
    if (!rows && start_ % 128 > 128 - 2 * kDepth)
      core::fail("an operand that leaves its row of 128 bytes");
  }
  /// Of row or column `i`, `k` deep: the canonical layouts Swizzle<3,4,3> of 16-bit elements,
  /// K-major
  /// ((8, m), (8, 2)) : ((64, stride), (1, 8)), MN-major ((8, 8, m), (8, k)) : ((1, 8, leading),
  /// (64, stride)); the swizzle is one of addresses.
  std::uint32_t at(std::uint32_t i, std::uint32_t k) const {
    const std::uint32_t offset =
        rows_ ? i % 64 * 2 + i / 64 * leading_ + k % 8 * 128 + k / 8 * stride_
              : i % 8 * 128 + i / 8 * stride_ + k * 2;
    const std::uint32_t plain = start_ + offset;
    const std::uint32_t bits = field32(plain, 7, 9);
    return plain ^ bits << 4;
  }
  void lines(std::uint32_t count, std::vector<std::uint32_t>& all) const {
    for (std::uint32_t i = 0; i < count; i += rows_ ? 8 : 1)
      for (std::uint32_t k = 0; k < kDepth; k += rows_ ? 1 : 8) all.push_back(at(i, k) / 16);
  }

 private:
  static std::uint32_t field32(std::uint32_t word, int low, int high) {
    return static_cast<std::uint32_t>(field(word, low, high));
  }
  std::uint32_t start_, leading_, stride_;
  bool rows_;
};

// --- A block's tensor memory ---------------------------------------------------------------------

class TensorMemory : public Part {
 public:
  explicit TensorMemory(int rank)
      : rank_(rank),
        words_(std::size_t{kLanes} * kColumns, 0xFFFFFFFF),
        cells_(std::size_t{4} * kColumns) {}

  void end_thread() override {
    const ThreadState& t = state();
    if (!t.loads.empty()) core::fail("ends with tcgen05.ld in flight");
    if (!t.stores.empty()) core::fail("ends with tcgen05.st in flight");
  }
  std::string end_block() override {
    for (const Issuer& one : issuers_) {
      if (!one.commits.empty()) return "ends before a tcgen05.commit has arrived";
      if (!one.products.empty()) return "ends with tcgen05.mma in flight";
    }
    if (!allocated_.empty()) return "ends without giving back tensor memory";
    return "";
  }

  // Allocation.

  void allocate(std::uint32_t to, std::uint32_t columns) {
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
  void relinquish() {
    collective(2, 0, 0);
    relinquished_ = true;
    core::meet_warp();
  }
  void free_columns(std::uint32_t at, std::uint32_t columns) {
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

  // Fences.

  /// The accesses are the whole warp's: they are known once all its lanes have fenced.
  void fence_before() {
    Known& known = core::known();
    auto& fenced = warp().fenced;
    fenced[static_cast<std::size_t>(core::thread() % 32)] = ended(agent());
    known[agent()] = std::max(known[agent()], *std::min_element(fenced.begin(), fenced.end()));
  }
  void fence_after() {
    learn(state().seen, core::known());
    state().fenced = core::waits();
  }

  // Loads and stores.

  void load(std::uint32_t* registers, std::uint32_t count, std::uint32_t at) {
    const std::uint32_t number = step(0, at, count);
    const std::uint32_t lane = lane_of(at), column = column_of(at, count);
    const Access access{agent(), number};
    for (std::uint32_t c = column; c < column + count; ++c)
      read_cell(lane / 32, c, access, "tcgen05.ld");
    PendingLoad one{registers, count, lane, column, {}};
    if (!core::late())
      for (std::uint32_t c = 0; c < count; ++c) one.kept.push_back(word(lane, column + c));
    for (std::uint32_t c = 0; c < count; ++c)
      std::memcpy(registers + c, &kLentMark, sizeof kLentMark);
    state().loads.push_back(std::move(one));
  }
  void store(std::uint32_t at, const std::uint32_t* registers, std::uint32_t count) {
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
  void wait_loads() {
    collective(4, 0, 0);
    for (const PendingLoad& one : state().loads)
      for (std::uint32_t c = 0; c < one.count; ++c) {
        std::uint32_t mark;
        std::memcpy(&mark, one.registers + c, sizeof mark);
        if (mark != kLentMark) core::fail("registers of a tcgen05.ld in flight are written");
        const std::uint32_t got = core::late() ? word(one.lane, one.column + c) : one.kept[c];
        std::memcpy(one.registers + c, &got, sizeof got);
      }
    state().loads.clear();
    end_pending(false);
    core::meet_warp();
  }
  void wait_stores() {
    collective(5, 0, 0);
    for (const PendingStore& one : state().stores)
      if (core::late()) apply(one);
    state().stores.clear();
    end_pending(true);
    core::meet_warp();
  }

  // Products.

  void multiply(const TensorProduct& product) {
    const auto w = static_cast<std::size_t>(core::thread() / 32);
    if (warps_[w].issuer >= 0 && warps_[w].issuer != core::thread())
      core::fail("tcgen05.mma by two threads of a warp: one thread issues a product");
    warps_[w].issuer = core::thread();
    Issuer& issuer = issuers_[w];
    const How how = decode(product.how);
    Product one{product, {}};
    const Access access{static_cast<Agent>(kWarps + w), ++issuer.issued};
    const auto each = [&](std::uint32_t at, std::uint32_t columns, const auto& what) {
      if (at >> 16 != 0) core::fail("a tcgen05.mma whose address has a lane");
      const std::uint32_t column = column_of(at, columns);
      for (std::uint32_t c = column; c < column + columns; ++c)
        for (std::uint32_t q = 0; q < 4; ++q) what(q, c);
    };
    if (product.a_in_lanes) {
      if (how.a_rows) core::fail("an operand in tensor memory that is MN-major");
      each(static_cast<std::uint32_t>(product.a), kDepth / 2,
           [&](std::uint32_t q, std::uint32_t c) { read_cell(q, c, access, "tcgen05.mma"); });
    } else {
      Operand(product.a, how.a_rows).lines(kLanes, one.lines);
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
  void commit(std::uint32_t barrier) {
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

 private:
  Warp& warp() { return warps_[agent()]; }
  ThreadState& state() { return states_[static_cast<std::size_t>(core::thread())]; }
  static Agent agent() { return static_cast<Agent>(core::thread() / 32); }

  bool free(std::uint32_t at, std::uint32_t columns) const {
    return std::none_of(allocated_.begin(), allocated_.end(), [&](const auto& one) {
      return one.first < at + columns && at < one.first + one.second.first;
    });
  }
  int place(std::uint32_t columns) const {
    for (std::uint32_t at = 0; at + columns <= kColumns; at += columns)
      if (free(at, columns)) return static_cast<int>(at);
    return -1;
  }

  /// All lanes of the warp ask for the same; the first that comes says what.
  void collective(std::uint32_t kind, std::uint32_t at, std::uint32_t count) {
    WarpStep& asked = warp().asked;
    if (asked.lanes == 0) asked = {kind, at, count, 0};
    if (asked.kind != kind || asked.at != at || asked.count != count)
      core::fail("a tcgen05 instruction of a warp that differs between its lanes");
    if (++asked.lanes == 32) asked.lanes = 0;
    core::meet_warp();
  }

  /// The number of a load or store; lanes must agree on it.
  std::uint32_t step(std::uint32_t kind, std::uint32_t at, std::uint32_t count) {
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
  void end_pending(bool stores) {
    std::erase_if(warp().pending, [&](const auto& one) { return one.second == stores; });
  }

  std::uint32_t lane_of(std::uint32_t at) const {
    const std::uint32_t first = static_cast<std::uint32_t>(core::thread() / 32 % 4 * 32);
    if (at >> 16 != first)
      core::fail("a warp reaches lanes " + std::to_string(first) + " to " +
                 std::to_string(first + 31) + " of tensor memory, not " + std::to_string(at >> 16));
    return first + static_cast<std::uint32_t>(core::thread() % 32);
  }
  std::uint32_t column_of(std::uint32_t at, std::uint32_t count) const {
    const std::uint32_t column = at & 0xFFFF;
    for (const auto& [begin, one] : allocated_)
      if (column >= begin && column + count <= begin + one.first) return column;
    core::fail("columns of tensor memory that are not allocated");
  }
  std::uint32_t& word(std::uint32_t lane, std::uint32_t column) {
    return words_[std::size_t{lane} * kColumns + column];
  }
  void apply(const PendingStore& one) {
    for (std::uint32_t c = 0; c < one.words.size(); ++c)
      word(one.lane, one.column + c) = one.words[c];
  }

  // Order.

  /// Has this access of the running thread's own warp ended?
  bool own_ended(std::uint32_t number) {
    const auto& pending = warp().pending;
    return std::none_of(pending.begin(), pending.end(),
                        [&](const auto& one) { return one.first == number; });
  }
  /// All accesses of a warp up to this one have ended.
  std::uint32_t ended(Agent of) const {
    std::uint32_t last = numbers_[of];
    for (const auto& [number, store] : warps_[of].pending) last = std::min(last, number - 1);
    return last;
  }
  void check_after(const Access& before, const Access& now, const char* what) {
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
  void read_cell(std::uint32_t quarter, std::uint32_t column, const Access& access,
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
  void write_cell(std::uint32_t quarter, std::uint32_t column, const Access& access,
                  const char* what) {
    Cell& cell = cells_[quarter * kColumns + column];
    check_after(cell.written, access, what);
    for (const Access& one : cell.read) check_after(one, access, what);
    cell.written = access;
    cell.read.clear();
  }

  // Products.

  void execute_until(Issuer& issuer, std::uint32_t count) {
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
  void execute(const Product& product) {
    const How how = decode(product.of.how);
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
      for (std::uint32_t r = 0; r < kLanes; ++r)
        for (std::uint32_t k = 0; k < kDepth; ++k)
          a[r * kDepth + k] = to_float(core::read(rank_, operand.at(r, k)), how.element);
    }
    const Operand operand(product.of.b, how.b_rows);
    for (std::uint32_t n = 0; n < how.n; ++n)
      for (std::uint32_t k = 0; k < kDepth; ++k)
        b[n * kDepth + k] = to_float(core::read(rank_, operand.at(n, k)), how.element);
    for (std::uint32_t r = 0; r < kLanes; ++r)
      for (std::uint32_t n = 0; n < how.n; ++n) {
        std::uint32_t& d = word(r, (product.of.d & 0xFFFF) + n);
        float sum = product.of.accumulate ? std::bit_cast<float>(d) : 0.F;
        for (std::uint32_t k = 0; k < kDepth; ++k) sum += a[r * kDepth + k] * b[n * kDepth + k];
        d = std::bit_cast<std::uint32_t>(sum);
      }
  }

  int rank_;
  std::vector<std::uint32_t> words_;
  std::vector<Cell> cells_;
  std::map<std::uint32_t, std::pair<std::uint32_t, int>> allocated_;  ///< columns, warp
  bool relinquished_ = false;
  std::array<Warp, kWarps> warps_;
  std::array<std::uint32_t, kWarps> numbers_{};
  std::array<Issuer, kWarps> issuers_;
  std::array<ThreadState, std::size_t{kWarps} * 32> states_;
};

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
void tensor_store(std::uint32_t at, const std::uint32_t* registers, std::uint32_t count) {
  memory().store(at, registers, count);
}

}  // namespace twill::gpu::emulator
