// A machine: units, memories, channels, layouts of slots in gross registers and cost rules
// (twill.machine; version 2 has channels, ranges of costs, and names its reading; version 3 what
// units do to each other). A new GPU is a
// new file. Private model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/barrier_costs.hpp"
#include "graph/contention.hpp"
#include "graph/lower.hpp"
#include "graph/lowering/cost_rule.hpp"
#include "graph/problem.hpp"
#include "graph/register_pool.hpp"

namespace twill {

inline constexpr int kThreadsPerWarp = 32;

/// How a memory counts what a result takes of it.
enum class Footprints {
  bytes,    ///< elements * bits / 8
  columns,  ///< of 128 lanes x 32 bits: ceil(N * bits / 32) for each 128 rows
};

struct MachineMemory {
  std::string name;
  Amount capacity = 0;
  Footprints measure = Footprints::bytes;
};

/// Something that all ops share without reserving it (rule 9).
struct MachineChannel {
  std::string name;
  Fraction rate;          ///< of what it counts, a cycle
  bool estimate = false;  ///< its source says so
  /// What passes is divided by how many blocks share a loaded tile (KernelOp::reuse): memory behind
  /// a cache.
  bool shared = false;
};

/// The register file that the warpgroups of a layout share.
struct RegisterFile {
  Amount registers = 65536;         ///< of the whole SM
  int threads_per_warpgroup = 128;  ///< the granularity of counts: four warps
  Amount granule = 8;               ///< counts are multiples of this ...
  Amount min = 24, max = 240;       ///< ... in this range
};

/// Cost of handing a register result to another slot: base + per_line * ceil(bytes / line_bytes).
/// A result that lies in a memory costs its signal only.
struct SpillRule {
  Cycle base = 0, per_line = 0;
  std::int64_t line_bytes = 128;
  Cycle signal = 0;
};

struct Layout {
  std::string name;
  std::vector<WarpSlot> slots;  ///< registers are gross: before the kernel's resident ones
};

struct Machine {
  std::string source;  ///< file name for messages
  std::string name;
  std::string sha256;                          ///< of the text, before anything is set
  std::map<std::string, std::string> aliases;  ///< kernel names this machine resolves
  std::vector<Unit> units;
  /// What `bandwidth` of version 1 says of a unit is a channel of its name.
  std::vector<MachineChannel> channels;
  Reading reading = Reading::of_file;  ///< the file's; of_file where it names none (version 1)
  std::vector<MachineMemory> memories;
  std::optional<RegisterFile> register_file;
  std::int64_t vector_copies = 1;  ///< threads that hold each element of a row vector
  SpillRule spill;
  std::optional<BarrierCosts> barriers;  ///< none where the file does not say
  Contention contention;
  std::vector<Layout> layouts;
  std::map<std::string, CostRule> rules;  ///< by kind
  /// What the file gives as ranges; the costs above are each at one place of its range.
  std::vector<CostRange> ranges;
};

/// Overrides of a machine file: dotted path -> JSON value.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Strict reading after applying `set`, with every range at its end; every layout is checked
/// against the register file. Throws InputError with the JSON pointer (or the override), the value
/// and the rule.
Machine parse_machine(std::string_view text, const std::string& source, const Overrides& set = {},
                      const RangeEnds& ends = {});

/// Does a layout fit? Sum over warpgroups of threads * gross registers at most the file; counts are
/// multiples of the granule in range; slots narrower than a warpgroup are packed, in their order,
/// four warps to a warpgroup and share its count. `place` is the layout's JSON pointer.
void check_register_file(const RegisterFile& file, const Layout& layout, const std::string& source,
                         const std::string& place);

/// What the warpgroups of a layout share, packed as above. Launched with the largest multiple of
/// the granule that the file has for every thread. Precondition: check_register_file() accepts it.
RegisterPool register_pool(const RegisterFile& file, const Layout& layout, Amount resident);

}  // namespace twill
