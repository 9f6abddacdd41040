// The tensor memory of a block on the emulated multiprocessor: what is kept of its columns, and of
// the loads, stores and products of its warps. tensor_memory.hpp says what is checked.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/emulator/core.hpp"
#include "gpu/emulator/tensor_descriptors.hpp"
#include "gpu/emulator/tensor_memory.hpp"

namespace twill::gpu::emulator {

inline constexpr std::uint32_t kColumns = 512, kWarps = 32;
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
  bool half;                        ///< 16x256b, else 32x32b
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

class TensorMemory : public Part {
 public:
  explicit TensorMemory(int rank)
      : rank_(rank),
        words_(std::size_t{kLanes} * kColumns, 0xFFFFFFFF),
        cells_(std::size_t{4} * kColumns) {}

  void end_thread() override;
  std::string end_block() override;

  void allocate(std::uint32_t to, std::uint32_t columns);
  void relinquish();
  void free_columns(std::uint32_t at, std::uint32_t columns);

  /// The accesses are the whole warp's: they are known once all its lanes have fenced.
  void fence_before();
  void fence_after();

  void load(std::uint32_t* registers, std::uint32_t count, std::uint32_t at, bool half = false);
  void store(std::uint32_t at, const std::uint32_t* registers, std::uint32_t count);
  void wait_loads();
  void wait_stores();

  void multiply(const TensorProduct& product);
  void commit(std::uint32_t barrier);

 private:
  Warp& warp() { return warps_[agent()]; }
  ThreadState& state() { return states_[static_cast<std::size_t>(core::thread())]; }
  static Agent agent() { return static_cast<Agent>(core::thread() / 32); }
  bool free(std::uint32_t at, std::uint32_t columns) const;
  int place(std::uint32_t columns) const;

  /// All lanes of the warp ask for the same; the first that comes says what.
  void collective(std::uint32_t kind, std::uint32_t at, std::uint32_t count);

  /// The number of a load or store; lanes must agree on it.
  std::uint32_t step(std::uint32_t kind, std::uint32_t at, std::uint32_t count);
  void end_pending(bool stores);
  std::uint32_t lane_of(std::uint32_t at) const;
  std::uint32_t column_of(std::uint32_t at, std::uint32_t count) const;
  std::uint32_t& word(std::uint32_t lane, std::uint32_t column) {
    return words_[std::size_t{lane} * kColumns + column];
  }
  void apply(const PendingStore& one);

  /// Has this access of the running thread's own warp ended?
  bool own_ended(std::uint32_t number);
  /// All accesses of a warp up to this one have ended.
  std::uint32_t ended(Agent of) const;
  void check_after(const Access& before, const Access& now, const char* what);
  void read_cell(std::uint32_t quarter, std::uint32_t column, const Access& access,
                 const char* what);
  void write_cell(std::uint32_t quarter, std::uint32_t column, const Access& access,
                  const char* what);

  void execute_until(Issuer& issuer, std::uint32_t count);
  void execute(const Product& product);

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

}  // namespace twill::gpu::emulator
