// Kernel x machine -> one problem per slot layout that can hold it (see lower.hpp).
#include "graph/lower.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "graph/check.hpp"
#include "graph/index.hpp"
#include "graph/io/json_text.hpp"
#include "graph/lowering/costed_loop.hpp"
#include "graph/lowering/explain_costs.hpp"
#include "graph/lowering/instantiate.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/lowering/kernel_reader.hpp"
#include "graph/lowering/lower_kernel.hpp"
#include "graph/lowering/machine.hpp"
#include "graph/lowering/stored_results.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

/// Ops and edges of all problems that a kernel is lowered to, one a layout.
constexpr std::size_t kMaxLowered = 5'000'000;

void add_footprint(Op& op, const Footprint& more) {
  for (Footprint& held : op.footprints)
    if (held.memory == more.memory) {
      held.amount += more.amount;
      return;
    }
  op.footprints.push_back(more);
}

/// The ops that hold the buffer of a load, and of no other, hold nothing of it themselves (rule
/// 10): what they had in a memory is the load's, and whoever uses them keeps it.
void own_buffers(const std::string& source, Problem& problem) {
  std::vector<int> owners(problem.ops.size(), 0);
  for (int u = 0; u < static_cast<int>(problem.ops.size()); ++u)
    if (problem.ops[at(u)].in_flight)
      for (const BufferHolder& holder : buffer_holders(problem, u)) ++owners[at(holder.op)];
  std::vector<Edge> uses;
  for (int u = 0; u < static_cast<int>(problem.ops.size()); ++u) {
    if (!problem.ops[at(u)].in_flight) continue;
    for (const BufferHolder& holder : buffer_holders(problem, u)) {
      if (holder.op == u || owners[at(holder.op)] != 1) continue;
      for (const Footprint& held : std::exchange(problem.ops[at(holder.op)].footprints, {}))
        add_footprint(problem.ops[at(u)], held);
    }
    if (problem.ops[at(u)].footprints.empty()) continue;
    Cycle latency = kMaxCycles;  // whichever way its buffer takes, nobody has it before
    for (const Edge& edge : problem.edges)
      if (edge.from == u) latency = std::min(latency, edge.delay);
    for (const BufferUse& use : buffer_uses(problem, u)) {
      const Edge& edge = problem.edges[at(use.edge)];
      if (edge.from == u) continue;  // its own edges do that
      uses.push_back({u, use.op, latency, use.iterations, false, edge.hold});
    }
    if (problem.edges.size() + uses.size() > static_cast<std::size_t>(kMaxEdges))
      throw InputError(source, "/edges", std::to_string(problem.edges.size()) + " edges",
                       "with one from every load to each use of its buffer they must be at most " +
                           std::to_string(kMaxEdges));
  }
  problem.edges.insert(problem.edges.end(), uses.begin(), uses.end());
}

/// The paper's Section 5.3: what has no incoming edge and a variable latency runs ahead as far as
/// its ring allows, so its cycles and delays do not constrain the loop.
void apply_streaming(Problem& problem) {
  std::vector<bool> has_input(problem.ops.size(), false);
  for (const Edge& edge : problem.edges) has_input[static_cast<std::size_t>(edge.to)] = true;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    Op& op = problem.ops[v];
    if (!op.variable_latency || has_input[v]) continue;
    op.streaming = true;
    op.cycles = 0;
    op.reservations.clear();
  }
  for (Edge& edge : problem.edges)
    if (problem.ops[static_cast<std::size_t>(edge.from)].streaming) edge.delay = 0;
}

/// The parts of a reading, and the options' own say.
struct Parts {
  bool holds = true, rings = false;
  bool flight = false;    ///< loads have a latency; else they stream
  bool channels = false;  ///< channels bound I; else they are told beside it
};

Parts parts_of(const Machine& machine, const LowerOptions& options) {
  Reading reading = options.reading;
  if (reading == Reading::of_file) reading = machine.reading;
  const bool all = reading == Reading::machine;
  Parts parts{reading != Reading::paper, all, all, all};
  if (options.holds) parts.holds = *options.holds;
  if (options.rings) parts.rings = *options.rings;
  return parts;
}

/// The machine's channels in a problem of the machine reading; what ops move through them is there.
void add_channels(const Kernel& kernel, const Machine& machine, const CostedLoop& loop,
                  Problem& problem) {
  for (const MachineChannel& channel : machine.channels)
    problem.channels.push_back({channel.name, channel.rate});
  for (std::size_t v = 0; v < loop.ops.size(); ++v)
    problem.ops[v].traffic = all_traffic(loop.ops[v], kernel.source);
}

/// What has no incoming edge and a variable latency is in flight: it reserves nothing, its buffer
/// is its own, and whoever uses that waits for it and keeps it. Units that it would have reserved
/// become channels, through which all pass that use them.
void apply_flight(const std::string& source, const CostedLoop& loop, Problem& problem) {
  std::vector<bool> has_input(problem.ops.size(), false);
  for (const Edge& edge : problem.edges) has_input[at(edge.to)] = true;
  std::vector<Reservation> freed;  // what the loads reserve no more, and ...
  std::vector<int> freed_by;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    Op& op = problem.ops[v];
    if (!op.variable_latency || has_input[v]) continue;
    op.in_flight = true;
    op.cycles = 0;
    for (const Reservation& use : op.reservations) {
      freed.push_back(use);
      freed_by.push_back(static_cast<int>(v));
    }
    op.reservations.clear();
  }
  own_buffers(source, problem);
  for (int f = 0; f < static_cast<int>(problem.units.size()); ++f) {
    const Unit& unit = problem.units[at(f)];
    const auto of_unit = [&](const Reservation& use) { return use.unit == f; };
    const bool known = std::any_of(problem.channels.begin(), problem.channels.end(),
                                   [&](const Channel& c) { return c.name == unit.name; });
    const bool within = std::any_of(loop.ops.begin(), loop.ops.end(), [&](const CostedOp& op) {
      return std::any_of(op.in_units.begin(), op.in_units.end(),
                         [&](const Traffic& moved) { return moved.channel == f; });
    });
    if (known || (!within && std::none_of(freed.begin(), freed.end(), of_unit))) continue;
    const int channel = static_cast<int>(problem.channels.size());
    problem.channels.push_back({unit.name, {unit.capacity, 1}});
    const auto pass = [&](int v, const Reservation& use) {
      if (use.unit != f) return;
      std::vector<Traffic>& traffic = problem.ops[at(v)].traffic;
      if (traffic.empty() || traffic.back().channel != channel)
        traffic.push_back({channel, {0, 1}});
      traffic.back().amount.numerator += use.length * use.amount;
    };
    for (std::size_t i = 0; i < freed.size(); ++i) pass(freed_by[i], freed[i]);
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
      for (const Reservation& use : problem.ops[at(v)].reservations) pass(v, use);
      for (const Traffic& moved : loop.ops[at(v)].in_units) {
        if (moved.channel != f) continue;
        std::vector<Traffic>& traffic = problem.ops[at(v)].traffic;
        if (traffic.empty() || traffic.back().channel != channel)
          traffic.push_back({channel, {0, 1}});
        traffic.back().amount = sum_of(traffic.back().amount, moved.amount, source);
      }
    }
  }
}

/// Channels that nothing passes through are left out.
void drop_idle_channels(Problem& problem) {
  std::vector<int> place(problem.channels.size(), -1);
  for (const Op& op : problem.ops)
    for (const Traffic& t : op.traffic) place[at(t.channel)] = 0;
  std::vector<Channel> used;
  for (std::size_t c = 0; c < place.size(); ++c)
    if (place[c] == 0) {
      place[c] = static_cast<int>(used.size());
      used.push_back(problem.channels[c]);
    }
  for (Op& op : problem.ops)
    for (Traffic& t : op.traffic) t.channel = place[at(t.channel)];
  problem.channels = std::move(used);
}

std::vector<Memory> free_memory(const Kernel& kernel, const Machine& machine) {
  std::vector<Memory> memories;
  for (const MachineMemory& memory : machine.memories)
    memories.push_back({memory.name, memory.capacity});
  for (const auto& [name, amount] : kernel.resident_memory) {
    const auto fail = [&, &resident = name, &bytes = amount](const std::string& rule) {
      throw InputError(kernel.source, "/resident/memory" + pointer_token(resident),
                       std::to_string(bytes), rule);
    };
    const auto memory =
        std::find_if(memories.begin(), memories.end(),
                     [&, &wanted = name](const Memory& m) { return m.name == wanted; });
    if (memory == memories.end()) fail("machine " + quote(machine.name) + " has no such memory");
    if (amount > memory->capacity)
      fail("machine " + quote(machine.name) + " has " + std::to_string(memory->capacity));
    memory->capacity -= amount;
  }
  return memories;
}

std::vector<BandwidthSum> bandwidth_sums(const Kernel& kernel, const Machine& machine,
                                         const CostedLoop& loop) {
  std::vector<BandwidthSum> sums;
  for (std::size_t c = 0; c < machine.channels.size(); ++c) {
    const auto& [name, rate, estimate, shared] = machine.channels[c];
    BandwidthSum sum{name, 0};
    for (const CostedOp& op : loop.ops)
      for (const Traffic& t : all_traffic(op, kernel.source)) {
        if (static_cast<std::size_t>(t.channel) != c) continue;
        const Wide amount = Wide{t.amount.numerator} * rate.denominator;
        const Wide per_cycle = Wide{t.amount.denominator} * rate.numerator;
        const Wide cycles = (amount + per_cycle - 1) / per_cycle;
        sum.cycles = static_cast<Cycle>(std::min<Wide>(sum.cycles + cycles, kMaxInterval));
      }
    if (sum.cycles > 0) sums.push_back(sum);
  }
  return sums;
}

/// Channels of which some number is an estimate: the rate, or what an op moves.
std::vector<std::string> estimated(const Machine& machine, const CostedLoop& loop,
                                   const Problem& problem) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < problem.channels.size(); ++c) {
    const std::string& name = problem.channels[c].name;
    bool guess = false, of_unit = true;
    for (const MachineChannel& channel : machine.channels)
      if (channel.name == name) {
        guess = channel.estimate;
        of_unit = false;
      }
    // A unit's rate is what the rules make of it.
    for (std::size_t v = 0; of_unit && v < problem.ops.size(); ++v)
      for (const Traffic& t : problem.ops[v].traffic)
        if (static_cast<std::size_t>(t.channel) == c) guess = guess || loop.ops[v].estimate;
    if (guess) names.push_back(name);
  }
  return names;
}

std::vector<std::string> unknown(const Machine& machine, const CostedLoop& loop) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < machine.channels.size(); ++c)
    if (std::any_of(loop.ops.begin(), loop.ops.end(), [&](const CostedOp& op) {
          return std::find(op.unknown.begin(), op.unknown.end(), static_cast<int>(c)) !=
                 op.unknown.end();
        }))
      names.push_back(machine.channels[c].name);
  return names;
}

/// Why the problem's slots cannot hold its ops, or nothing. Each op needs a slot that is wide
/// enough, of its latency class and with registers for its result.
std::optional<std::string> misfit(const Problem& problem) {
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const Op& op = problem.ops[v];
    Amount most = -1;  // of the slots that may hold it
    for (std::size_t w = 0; w < problem.warps.size(); ++w)
      if (problem.warps[w].registers > most &&
          slot_allowed(problem, static_cast<int>(v), static_cast<int>(w)))
        most = problem.warps[w].registers;
    if (most < 0)
      return "op " + quote(op.id) + " needs " + std::to_string(op.width) +
             (op.width == 1 ? " warp" : " warps") +
             (variable_latency_slot(problem) < 0
                  ? ", no slot is so wide"
                  : (op.variable_latency ? " on the variable-latency slot, which is narrower"
                                         : ", no slot for ops of fixed latency is so wide"));
    if (op.registers > most)
      return "op " + quote(op.id) + " holds " + std::to_string(op.registers) +
             " registers per thread, the slots it may use have at most " + std::to_string(most) +
             " beside the resident ones";
  }
  return std::nullopt;
}

/// Layouts to try: the one asked for, or all.
std::vector<const Layout*> choose_layouts(const Machine& machine, const std::string& name) {
  std::vector<const Layout*> layouts;
  std::string known;
  for (const Layout& layout : machine.layouts) {
    if (name.empty() || layout.name == name) layouts.push_back(&layout);
    known += (known.empty() ? "" : ", ") + layout.name;
  }
  if (layouts.empty())
    throw InputError(machine.source, "/layouts", quote(name),
                     "no such layout; the machine has: " + known);
  return layouts;
}

Problem without_slots(const Kernel& kernel, const Machine& machine, const CostedLoop& loop,
                      const Parts& parts) {
  Problem problem;
  problem.name = kernel.name;
  problem.units = machine.units;
  problem.memories = free_memory(kernel, machine);
  problem.ops.reserve(loop.ops.size());
  for (const CostedOp& op : loop.ops) problem.ops.push_back(op.op);
  problem.edges = loop.edges;
  if (parts.channels) add_channels(kernel, machine, loop, problem);
  if (parts.flight)
    apply_flight(kernel.source, loop, problem);
  else
    apply_streaming(problem);
  if (parts.rings) charge_rings(problem);
  drop_idle_channels(problem);
  return problem;
}

std::vector<WarpSlot> net_slots(const Layout& layout, Amount resident) {
  std::vector<WarpSlot> slots = layout.slots;
  for (WarpSlot& slot : slots) slot.registers = std::max<Amount>(0, slot.registers - resident);
  return slots;
}

/// Puts the kernel's pins on the problem; why its layout cannot have them, where a slot that an op
/// is pinned to is not there or not for it. (An op is never on a slot that is not there.)
std::optional<std::string> add_pins(const Kernel& kernel, Problem& problem) {
  if (kernel.pins.empty()) return std::nullopt;
  std::unordered_map<std::string_view, int> index;
  for (const Op& o : problem.ops) index.emplace(o.id, static_cast<int>(index.size()));
  const auto op = [&](const std::string& id) { return index.at(id); };
  for (const KernelPin& pin : kernel.pins) {
    Pin placed{pin.kind, op(pin.op), -1, pin.cycle, -1};
    if (pin.kind == Pin::same_slot) placed.other = op(pin.other);
    if (pin.kind == Pin::on_slot || pin.kind == Pin::not_on_slot) {
      const auto slot = std::find_if(problem.warps.begin(), problem.warps.end(),
                                     [&](const WarpSlot& w) { return w.name == pin.slot; });
      const bool there = slot != problem.warps.end();
      if (!there && pin.kind == Pin::not_on_slot) continue;
      placed.slot = static_cast<int>(slot - problem.warps.begin());
      if (!there || (pin.kind == Pin::on_slot && !slot_fits(problem, placed.op, placed.slot)))
        return "op " + quote(pin.op) + " is pinned to " + quote(pin.slot) +
               (there ? ", which is too narrow or of another latency class" : ", which it has not");
    }
    problem.pins.push_back(placed);
  }
  return std::nullopt;
}

/// Every slot with the most registers that it could have in any split.
Problem with_most(const Problem& problem, const RegisterPool& pool) {
  RegisterCounts counts;
  for (std::size_t share = 0; share < pool.shares.size(); ++share)
    counts.push_back(most_of(pool, share));
  return with_counts(problem, pool, counts);
}

/// The problem with one of its ops. Layouts differ in their slots: once one has been checked, ops
/// and edges need not be checked again.
Problem slots_alone(const Problem& problem) {
  Problem alone;
  alone.name = problem.name;
  alone.units = problem.units;
  alone.channels = problem.channels;
  alone.memories = problem.memories;
  alone.warps = problem.warps;
  alone.ops = {problem.ops.front()};
  return alone;
}

/// Reads the kernel, puts values in its parameters and calls `use` with it; what `use` throws is
/// placed in the kernel's file.
template <typename Use>
auto with_kernel(std::string_view text, const std::string& source, const LowerOptions& options,
                 const Use& use) {
  JsonDocument document = JsonDocument::parse(text, source);
  if (!has_parameters(document)) {
    if (!options.values.empty())
      throw InputError(source, "/parameters", quote(options.values.front().first),
                       "the kernel has no parameters");
    Kernel kernel = read_kernel(std::move(document));
    store_results(kernel, options.stored);
    return use(kernel);
  }
  const KernelTemplate kernel(std::move(document));
  const ParameterIndices indices = kernel.indices(options.values);
  if (!kernel.allowed(indices))
    throw InputError(source, "/where", "a condition that is not met",
                     "the values must meet the kernel's conditions");
  KernelInstance instance = kernel.instantiate(indices);
  store_results(instance.kernel, options.stored);
  try {
    return use(instance.kernel);
  } catch (const InputError& error) {
    throw instance.placed(error);
  }
}

}  // namespace

std::vector<Lowered> lower(std::string_view kernel_text, const std::string& kernel_source,
                           std::string_view machine_text, const std::string& machine_source,
                           const LowerOptions& options) {
  const Machine machine = parse_machine(machine_text, machine_source, options.set, options.ends);
  return with_kernel(kernel_text, kernel_source, options,
                     [&](const Kernel& kernel) { return lower(kernel, machine, options); });
}

std::string explain_costs(std::string_view kernel_text, const std::string& kernel_source,
                          std::string_view machine_text, const std::string& machine_source,
                          const LowerOptions& options) {
  const Machine machine = parse_machine(machine_text, machine_source, options.set, options.ends);
  return with_kernel(kernel_text, kernel_source, options,
                     [&](const Kernel& kernel) { return explain_costs(kernel, machine, {}); });
}

Problem lower_without_slots(const Kernel& kernel, const Machine& machine,
                            const LowerOptions& options) {
  const Parts parts = parts_of(machine, options);
  return without_slots(kernel, machine, cost_kernel(kernel, machine, parts.holds), parts);
}

namespace {

const char* end_text(RangeEnd end) {
  return end == RangeEnd::worst ? "worst" : end == RangeEnd::nominal ? "nominal" : "best";
}

/// What the problems are made of, but for the layout.
MadeBy made_by(const Machine& machine, const LowerOptions& options) {
  MadeBy made;
  made.machine = machine.name;
  made.machine_sha256 = machine.sha256;
  for (const auto& [path, value] : options.set) made.settings.push_back(path + "=" + value);
  Reading reading = options.reading;
  if (reading == Reading::of_file) reading = machine.reading;
  const auto say = [&](const char* name, const std::string& value) {
    made.options.emplace_back(name, value);
  };
  if (reading != Reading::of_file)
    say("reading", reading == Reading::machine ? "machine" : "paper");
  if (options.holds) say("holds", *options.holds ? "on" : "off");
  if (options.rings) say("rings", *options.rings ? "charged" : "live");
  if (options.normalize > 0) say("normalize", std::to_string(options.normalize));
  if (options.normalize > 0 && options.normalize_relative) say("normalize-relative", "yes");
  if (!options.stored.empty()) {
    std::string names;
    for (const std::string& name : options.stored) names += (names.empty() ? "" : ",") + name;
    say("store", names);
  }
  if (!machine.ranges.empty()) say("ranges", end_text(options.ends.all));
  if (!machine.ranges.empty() && options.ends.one)
    say("range", machine.ranges[*options.ends.one].place + "=" + end_text(options.ends.of_one));
  return made;
}

/// What the machine says of units that ops of the problem reserve.
Contention contention_of(const Machine& machine, const Problem& problem) {
  std::vector<bool> used(machine.units.size());
  for (const Op& op : problem.ops)
    for (const Reservation& r : op.reservations) used[static_cast<std::size_t>(r.unit)] = true;
  Contention found;
  for (const Slowdown& s : machine.contention)
    if (used[static_cast<std::size_t>(s.unit)] && used[static_cast<std::size_t>(s.by)])
      found.push_back(s);
  return found;
}

}  // namespace

std::vector<OnLayout> lower_each(const Kernel& kernel, const Machine& machine,
                                 const LowerOptions& options) {
  if (options.normalize < 0)
    throw InputError("options", "normalize", std::to_string(options.normalize),
                     "must be 0 (raw cycles) or a positive budget");
  if (options.choose_registers && !machine.register_file)
    throw InputError(machine.source, "/register_file", "nothing",
                     "a register split can only be chosen where slots share a register file");
  const std::vector<const Layout*> layouts = choose_layouts(machine, options.layout);
  const Parts parts = parts_of(machine, options);
  const CostedLoop loop = cost_kernel(kernel, machine, parts.holds);
  const Problem base = without_slots(kernel, machine, loop, parts);
  std::vector<BandwidthSum> bandwidth;
  std::vector<std::string> guesses, unsaid;
  if (parts.channels) {
    guesses = estimated(machine, loop, base);
    unsaid = unknown(machine, loop);
  } else {
    bandwidth = bandwidth_sums(kernel, machine, loop);
  }
  if (layouts.size() * (base.ops.size() + base.edges.size()) > kMaxLowered)
    throw InputError(machine.source, "/layouts", std::to_string(layouts.size()) + " layouts",
                     "ops and edges of the kernel, once a layout, must be at most " +
                         std::to_string(kMaxLowered) + "; name one layout");

  const MadeBy made = made_by(machine, options);
  const Contention contention = contention_of(machine, base);
  std::vector<OnLayout> result;
  bool checked = false;
  for (const Layout* layout : layouts) {
    Lowered lowered{layout->name, base,   bandwidth,        {},         {},
                    guesses,      unsaid, machine.barriers, contention, made};
    lowered.made_by->layout = layout->name;
    lowered.problem.warps = net_slots(*layout, kernel.resident_registers);
    if (options.choose_registers) {
      lowered.pool = register_pool(*machine.register_file, *layout, kernel.resident_registers);
      lowered.problem = with_most(lowered.problem, *lowered.pool);
    }
    auto reason = misfit(lowered.problem);
    if (!reason) reason = add_pins(kernel, lowered.problem);
    if (reason) {
      result.push_back({layout->name, std::nullopt, *std::move(reason)});
      continue;
    }
    check(checked ? slots_alone(lowered.problem) : lowered.problem, kernel.source);
    checked = true;
    if (options.normalize > 0)
      lowered.problem = normalize_problem(lowered.problem, options.normalize,
                                          options.normalize_relative, &lowered.normalized);
    if (lowered.barriers) {
      const auto scaled = [&](Cycle clocks) {
        return static_cast<Cycle>(
            std::llround(static_cast<double>(clocks) / lowered.problem.cycle_unit));
      };
      lowered.barriers = {scaled(lowered.barriers->wait), scaled(lowered.barriers->arrive)};
    }
    result.push_back({layout->name, std::move(lowered), ""});
  }
  return result;
}

std::vector<Lowered> lower(const Kernel& kernel, const Machine& machine,
                           const LowerOptions& options) {
  std::vector<Lowered> result;
  std::string reasons;
  for (OnLayout& on : lower_each(kernel, machine, options))
    if (on.lowered)
      result.push_back(*std::move(on.lowered));
    else
      reasons +=
          (reasons.empty() ? "" : "; ") + std::string("layout ") + on.layout + ": " + on.misfit;
  if (result.empty())
    throw InputError(
        machine.source, "/layouts", "",
        (options.layout.empty() ? "no layout can hold kernel " : "the layout cannot hold kernel ") +
            quote(kernel.name) + ": " + reasons);
  return result;
}

}  // namespace twill
