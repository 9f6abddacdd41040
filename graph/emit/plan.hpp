// What is decided before a line of a kernel is written: names, buffers, where the results after the
// loop are computed, partitions.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "graph/emit/axes.hpp"
#include "graph/emit/cut_code.hpp"
#include "graph/emit/gluon.hpp"
#include "graph/emit/legal.hpp"
#include "graph/emit/names.hpp"

namespace twill::emit {

/// The warps of a warpgroup.
inline constexpr int kWarpgroup = 4;
/// On Blackwell a slot that asks for so many registers holds tiles, which ptxas wants more for.
inline constexpr int kHoldsTiles = 96;

/// A buffer in shared memory that no storage of the loop has: a tile that is loaded before it, one
/// on its way out, or a vector that another slot needs after it.
struct ExtraBuffer {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string type;
  bool swizzled = false;  ///< for bulk copies and products; else plain rows
  /// It lies in a buffer that another tile had: of a ring the first copy, of a wider tile these
  /// columns.
  bool of_ring = false;
  std::int64_t first_column = 0, whole_columns = 0;  ///< of the wider tile; 0 = it is not wider

  bool part() const { return whole_columns > 0; }
};

/// What a product that stands before the loop or behind it has of its own (plan_products.hpp).
struct ProductOutside {
  bool in_kernel = false;  ///< issued before the slots begin
  std::array<std::optional<ExtraBuffer>, 2>
      factor;  ///< none: from registers, or where it lies already
  // Of Blackwell:
  std::string sum;    ///< its place in tensor memory
  Amount base = 0;    ///< the first column of that
  std::string ended;  ///< barrier
};

struct Plan {
  const program::Program* given = nullptr;
  const meaning::Meaning* meaning = nullptr;
  const meaning::UserKernel* user = nullptr;  ///< EmitOptions::user
  bool persistent = false;                    ///< EmitOptions::persistent
  program::Links links;
  LegalProgram legal;
  Axes axes;
  std::vector<CutCode> code;  ///< per slot; empty where it has no ops
  int depth = 0;              ///< the largest of them

  std::vector<std::string> variable;  ///< per value
  std::vector<std::string> constant;  ///< per constant of the meaning
  /// What places of elements have in common (by_elements()), as numbers with names.
  std::vector<std::pair<std::string, meaning::Index>> places;
  std::vector<std::string> buffer;  ///< per storage in memory
  std::vector<int> same_place;      ///< per storage, one whose buffer it has; itself
  std::vector<int> view_of;  ///< per storage, one whose buffer it is another view of; -1 = none
  std::vector<std::string> barrier;      ///< per event of the legal program
  std::vector<std::string> slot_name;    ///< per slot; the function
  std::vector<std::string> host_name;    ///< per host tensor
  std::vector<std::string> tensor_name;  ///< per tensor of the meaning: its part
  std::string function;                  ///< the host's
  /// Of a user's function: per parameter its name, "" where it is a part of a descriptor's.
  std::vector<std::string> parameter_name;

  /// Slots of the kernel: those of the program with ops, and perhaps one more for what comes after
  /// the loop (index slots.size()). The default partition comes first.
  std::vector<int> partitions;
  /// Per store after the loop, the slot that executes it with all that it needs; else -1.
  std::vector<int> after_slot;
  int older_copies = 0;                 ///< EmitOptions::older_copies
  std::vector<bool> done_needed;        ///< per slot: others wait for its end
  std::map<int, ExtraBuffer> resident;  ///< per value before the loop that loads a matrix
  std::map<int, ExtraBuffer> staging;   ///< per store of a matrix from registers
  /// Per store whose buffer another tile had: slots that used that one.
  std::map<int, std::set<int>> staging_users;
  std::map<int, ExtraBuffer> final_hand_over;  ///< per value of the loop
  std::map<int, ProductOutside> outside;       ///< per value that is a product outside the loop
  std::map<int, ExtraBuffer> made;             ///< per value that is a made_factor()
  std::vector<std::string> done;               ///< per slot, its barrier's name
  std::string resident_barrier;
  // Where there are tiles:
  std::string resident_free;  ///< barrier: all have read what was loaded before the loop
  std::string tile_free;      ///< barrier: what follows the loop has read what the loop made
  /// Barrier: all finishers but the first have read what the loop made, and the first may write
  /// initial values there. "" = there is one finisher, or no such value.
  std::string tile_read;
  std::vector<int> restored;  ///< storages whose initial values the first finisher writes anew
  int resident_slot = -1;     ///< that loads the tiles from before the loop
  Launch launch;
  /// Registers a thread that slots have less than registers_needed(), all slots together.
  Amount registers_short = 0;
  std::vector<int> slots_short;  ///< which

  // Of one loop of several that make up a function (UserKernel::parts):
  /// Buffers of what it hands on and is given.
  std::map<meaning::HandedTile, ExtraBuffer> handed;
  /// Workers without work, so that all loops have as many.
  std::vector<Partition> idle;

  /// Of each of UserKernel::earlier names alone (earlier.hpp), and of those that it uses.
  std::vector<Plan> earlier;
  // Of such a loop:
  std::string counter;           ///< the variable of its text; "" = this is the kernel's own loop
  int line = 0;                  ///< of its module's text
  std::vector<int> other_warps;  ///< per slot, of the kernel's own plan

  /// "_ptr" or "_desc" of a host tensor.
  const char* suffix(int host) const {
    const HostTensor& one = axes.tensors[static_cast<std::size_t>(host)];
    return one.pointer || one.axes.size() == 1 ? "_ptr" : "_desc";
  }
  /// Does the kernel ask itself whether there are fewer iterations than stages? Only where programs
  /// of one grid have different trip counts; else the host does, as the compiler then sees one
  /// loop.
  bool branches_on_trips() const {
    return user != nullptr &&
           (user->parts > 1 || depends_on(user->trips, meaning::Index::program) ||
            depends_on(user->trips, meaning::Index::loaded) ||
            depends_on(user->trips, meaning::Index::programs) ||
            depends_on(user->trips, meaning::Index::tile));
  }
  /// Are the elements of a tensor of the meaning moved by pointers, each by its own?
  bool by_elements(int tensor) const {
    return user != nullptr && tensor >= 0 &&
           user->places[static_cast<std::size_t>(tensor)].added.has_value();
  }
  bool by_elements() const {
    for (std::size_t t = 0; user != nullptr && t < user->places.size(); ++t)
      if (user->places[t].added) return true;
    return user != nullptr && !user->earlier.empty();
  }
  /// Is it what a loop before the loop makes?
  bool from_earlier(const meaning::Value& value) const {
    return user != nullptr && value.tensor >= 0 &&
           user->places[static_cast<std::size_t>(value.tensor)].earlier >= 0;
  }
  /// Is it what another loop of the sequence has handed on, or is it handed on? Its buffer, else
  /// nullptr.
  const ExtraBuffer* handed_tile(const meaning::Value& value) const {
    if (user == nullptr || value.tensor < 0) return nullptr;
    const auto& tile = user->places[static_cast<std::size_t>(value.tensor)].handed;
    return tile ? &handed.at(*tile) : nullptr;
  }
  /// The buffer of what a value from before the loop is a copy of, or is; else nullptr.
  const ExtraBuffer* handed_in(int value) const;
  /// Is it such a value, and used for nothing but what a result is carried in with?
  bool carried_in_alone(int value) const;
  /// The name of the pointer behind which tiles of a tensor of the meaning lie.
  std::string pointer_name(int tensor) const;
  /// Is a value a load by pointers that cp.async copies (element_text.hpp)?
  bool copied_by_threads(const meaning::Value& value) const;
  /// Do columns of the value follow each other in the buffer that it is loaded to?
  bool columns_first(const meaning::Value& value) const;
  /// Is what is stored to a tensor of the meaning added to what is there?
  bool adds(int tensor) const {
    const auto t = static_cast<std::size_t>(tensor);
    return user != nullptr ? user->places[t].adds
                           : axes.tensors[static_cast<std::size_t>(axes.tensor_of[t])].added;
  }
  /// Does it run once for each tile of a loop around it, with `first` iterations and `turn` tiles
  /// before?
  bool tiles() const { return persistent || (user != nullptr && user->around.has_value()); }
  int finish_slot() const { return static_cast<int>(given->slots.size()); }
  int warps(int slot) const;
  /// Does it load tiles by pointers?
  bool loads_by_elements(int slot) const;
  /// Does it issue products of Blackwell, whose end its own code does not wait for?
  bool commits_products(int slot) const;
  bool on_tmem(const program::Storage& storage) const;
  const meaning::Value& value_of(int storage) const;  ///< what it holds
  /// Largest distance at which it is read.
  int carried(int storage) const;
  /// Does nobody but itself use a value of the loop?
  bool unused(int value) const;
  /// Op of the given program that computes a value of the loop.
  int op_of(int value) const { return links.runner[static_cast<std::size_t>(value)]; }
  /// Is a storage in registers of its writer's slot? (A number takes none, and is there, too.)
  bool in_registers(int storage) const;
  /// Of op `op`, the storage in registers; -1 = none.
  int registers_of(int op) const;
  /// Of op `op`, a storage in memory whose last copy is there after the loop; -1 = none.
  int kept_in_memory(int op) const;
  /// Slots that do what follows the loop, ascending.
  std::set<int> finishers() const;
  /// Values from before the loop that an op uses, through views and numbers that no op runs, with
  /// those that they are made of.
  std::set<int> used_before(int op) const;
  /// Is its result carried in memory alone, and begins with a tile from before the loop, which no
  /// slot has then? The kernel writes it there before its slots begin.
  bool begins_in_kernel(int op) const;
  /// Of factor k of the product that op `op` runs: the value from before the loop that it is, where
  /// that is computed and the product takes it from memory alone. The kernel writes it there before
  /// its slots begin. -1 = it is another one.
  int made_factor(int op, std::size_t k) const;
  /// Operand k of a product outside the loop, through copies that change nothing but its layout.
  meaning::Operand factor(int product, std::size_t k) const;
  /// Values from before the loop that one behind it uses, through others.
  std::set<int> used_behind(int value) const;
  /// Slots with an op that reads a tile from before the loop.
  std::set<int> resident_readers() const;
  /// Those, and the slots whose results leave through the buffers of such tiles. When all of them
  /// have said that they are done, the next tile's are loaded.
  std::set<int> resident_users() const;
  /// Values of the loop that a value after it uses, through others after it.
  void final_values(int value, std::set<int>& all) const;
  /// Storages of the loop that a value after it reads.
  std::set<int> final_storages() const;
  /// Slots whose end a value after the loop needs.
  void awaited_by(int v, std::set<int>& slots) const;
  /// The storage in tensor memory that op `op` writes, and nothing else that anybody reads; -1 =
  /// none.
  int tile_written(int op) const;
  /// The values by which a tile in tensor memory becomes what `store` writes, one after the other,
  /// if slot `slot` can take it `columns` columns at a time; else empty.
  std::vector<int> final_chain(int store, int slot, std::int64_t columns) const;
};

Amount bytes_of(const ExtraBuffer& buffer);

/// The name of its buffer in all loops of the sequence.
std::string handed_name(const meaning::HandedTile& tile);

/// Where the launch has too few registers: how many beside its tiles a slot gets instead, one after
/// the other.
std::vector<int> fewer_resident(const EmitOptions& options);

/// Rule as emit_gluon() says.
std::variant<Plan, program::Refusal> make_plan(const program::Program& program,
                                               const EmitOptions& options);

}  // namespace twill::emit
