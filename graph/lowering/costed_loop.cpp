#include "graph/lowering/costed_loop.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "graph/divide.hpp"
#include "graph/io/json_text.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

constexpr std::int64_t kBitsPerRegister = 32;
constexpr std::int64_t kTensorLanes = 128;  // lanes of a tensor memory column

/// Costs one op; the members are what every step needs.
class OpCoster {
 public:
  OpCoster(const Kernel& kernel, const Machine& machine, std::size_t v, std::int64_t columns)
      : kernel_(kernel), machine_(machine), op_(kernel.ops[v]), v_(v), tile_(op_.tile) {
    if (columns > 0) tile_->shape[1] = columns;
  }

  CostedOp run() {
    if (op_.cost) {
      rule_.unit = op_.cost->unit;
      rule_.result = "none";
      rule_.variable_latency = op_.cost->variable_latency;
    } else {
      rule_ = find_rule();
    }
    const bool scalar = tile_ && tile_->shape.empty();
    costed_.op.id = op_.id;
    costed_.op.kind = op_.kind;
    costed_.op.width = op_.width.value_or(scalar ? 1 : rule_.width);
    costed_.op.variable_latency = rule_.variable_latency;
    set_cycles();
    set_result(scalar);
    costed_.estimate = rule_.estimate;
    set_traffic(scalar);
    return std::move(costed_);
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& value,
                         const std::string& rule) const {
    throw InputError(kernel_.source, "/ops/" + std::to_string(v_) + "/" + key, value, rule);
  }

  const CostRule& find_rule() const {
    const auto found = machine_.rules.find(op_.kind);
    if (found != machine_.rules.end()) return found->second;
    std::string known;
    for (const auto& [kind, rule] : machine_.rules) known += (known.empty() ? "" : ", ") + kind;
    fail("kind", quote(op_.kind),
         "machine " + quote(machine_.name) + " has no cost rule for it; it has: " + known);
  }

  int unit_index(const std::string& name, const std::string& key) const {
    for (std::size_t u = 0; u < machine_.units.size(); ++u)
      if (machine_.units[u].name == name) return static_cast<int>(u);
    fail(key, quote(name), "machine " + quote(machine_.name) + " has no such unit");
  }

  void set_cycles() {
    OpCost cost;
    if (op_.cost)
      cost = {op_.cost->cycles, op_.cost->occupancy, op_.cost->latency};
    else
      cost =
          evaluate(rule_, *tile_, costed_.op.width, {kernel_.source, v_, machine_.vector_copies});
    costed_.op.cycles = cost.cycles;
    costed_.occupancy = cost.occupancy;
    costed_.latency = cost.latency;
    if (op_.cost && !op_.cost->uses.empty()) {
      for (const auto& [unit, length] : op_.cost->uses)
        if (length > 0)
          costed_.op.reservations.push_back({unit_index(unit, "cost/uses"), 0, length, 1});
    } else if (cost.occupancy > 0)
      costed_.op.reservations.push_back(
          {unit_index(rule_.unit, op_.cost ? "cost/unit" : "kind"), 0, cost.occupancy, 1});
    if (op_.alias_of && cost.cycles > 0)
      fail("alias_of", std::to_string(cost.cycles) + " cycles", "a view must take no time");
  }

  /// What the kernel says of the op, else what the rule says of its tile; and of a unit that has a
  /// channel of its name, all for as long as it is reserved.
  void set_traffic(bool scalar) {
    for (const auto& [name, bytes] : op_.traffic)
      if (!is_channel(name))
        unit_index(name, "traffic");  // of a unit without a rate nothing can be said
    for (std::size_t c = 0; c < machine_.channels.size(); ++c) {
      const MachineChannel& channel = machine_.channels[c];
      const auto ruled = std::find_if(rule_.traffic.begin(), rule_.traffic.end(),
                                      [&](const auto& one) { return one.first == channel.name; });
      const bool has_rule = ruled != rule_.traffic.end() && !scalar;
      Fraction amount{0, 1};
      bool stated = false;
      for (const auto& [name, moved] : op_.traffic)
        if (name == channel.name) {
          amount = sum_of(amount, {moved, 1}, kernel_.source);
          stated = true;
        }
      if (!stated && has_rule)
        amount = {sum_terms(ruled->second, *tile_, costed_.op.width,
                            {kernel_.source, v_, machine_.vector_copies}),
                  1};
      if (channel.shared && amount.numerator > 0 && !stated) {
        if (!op_.reuse) {
          costed_.unknown.push_back(static_cast<int>(c));
          continue;
        }
        const std::int64_t common = std::gcd(amount.numerator, *op_.reuse);
        amount = {amount.numerator / common, *op_.reuse / common};
      }
      if (!has_rule)
        for (const Reservation& use : costed_.op.reservations)
          if (machine_.units[static_cast<std::size_t>(use.unit)].name == channel.name)
            costed_.reserved.push_back({static_cast<int>(c), product(channel.rate, use.length)});
      if (op_.cost)
        for (const auto& [name, moved] : op_.cost->traffic)
          if (name == channel.name) amount = sum_of(amount, moved, kernel_.source);
      if (amount.numerator > 0) costed_.traffic.push_back({static_cast<int>(c), amount});
    }
    if (!op_.cost) return;
    for (const auto& [name, moved] : op_.cost->traffic)
      for (std::size_t u = 0; u < machine_.units.size(); ++u)
        if (machine_.units[u].name == name && !is_channel(name))
          costed_.in_units.push_back({static_cast<int>(u), moved});
  }

  bool is_channel(const std::string& name) const {
    return std::any_of(machine_.channels.begin(), machine_.channels.end(),
                       [&](const MachineChannel& c) { return c.name == name; });
  }

  Fraction product(const Fraction& rate, Cycle cycles) const {
    const Cycle common = std::gcd(rate.denominator, cycles);
    Amount numerator = 0;
    if (__builtin_mul_overflow(rate.numerator, cycles / common, &numerator) ||
        numerator > kMaxAmount)
      fail("kind", std::to_string(cycles) + " cycles", "moves too much to count");
    return {numerator, rate.denominator / common};
  }

  /// Where the result lies and what it takes there. A view with alias_of holds nothing.
  void set_result(bool scalar) {
    const std::string place = op_.result.value_or(scalar || op_.alias_of ? "none" : rule_.result);
    if (op_.alias_of && (place != "none" || op_.registers.value_or(0) != 0))
      fail("alias_of", "", "a view must hold nothing: neither registers nor a result");
    if (place != "none" && !tile_ && !(place == "registers" && op_.registers))
      fail("result", quote(place), "a result needs a shape and a type");
    if (place == "registers") {
      costed_.op.registers = op_.registers ? *op_.registers : registers();
      costed_.op.spill = costed_.op.registers == 0 ? 0 : spill();
      return;
    }
    costed_.op.registers = op_.registers.value_or(0);
    if (place == "none") return;
    set_footprint(place);
    if (!costed_.op.variable_latency) costed_.op.spill = machine_.spill.signal;
  }

  Amount registers() const {
    const std::int64_t values = held_values(result_shape(rule_, *tile_), machine_.vector_copies);
    return ceil_divide(values * element_bits(tile_->type),
                       kBitsPerRegister * kThreadsPerWarp * costed_.op.width);
  }

  /// The hand-over moves all registers of all threads that hold the result.
  Cycle spill() const {
    const SpillRule& rule = machine_.spill;
    const std::int64_t threads = std::int64_t{kThreadsPerWarp} * costed_.op.width;
    std::int64_t bytes = 0, cycles = 0;
    if (__builtin_mul_overflow(costed_.op.registers, threads * kBitsPerRegister / 8, &bytes) ||
        __builtin_mul_overflow(ceil_divide(bytes, rule.line_bytes), rule.per_line, &cycles) ||
        cycles > kMaxCycles - rule.base)
      fail("registers", std::to_string(costed_.op.registers),
           "handing the result over must take at most " + std::to_string(kMaxCycles) + " cycles");
    return rule.base + cycles;
  }

  void set_footprint(const std::string& place) {
    const auto& memories = machine_.memories;
    const auto memory = std::find_if(memories.begin(), memories.end(),
                                     [&](const MachineMemory& m) { return m.name == place; });
    if (memory == memories.end())
      fail("result", quote(place), "machine " + quote(machine_.name) + " has no such memory");
    const std::vector<std::int64_t> shape = result_shape(rule_, *tile_);
    const std::int64_t bits = element_bits(tile_->type);
    Amount amount = 0;
    if (memory->measure == Footprints::bytes) {
      amount = ceil_divide(held_values(shape, 1) * bits, 8);
    } else {
      const std::int64_t columns = shape.empty() ? 1 : shape.back();
      const std::int64_t rows = held_values(shape, 1) / columns;
      amount = ceil_divide(columns * bits, kBitsPerRegister) * ceil_divide(rows, kTensorLanes);
    }
    costed_.op.footprints.push_back({static_cast<int>(memory - memories.begin()), amount});
  }

  const Kernel& kernel_;
  const Machine& machine_;
  const KernelOp& op_;
  const std::size_t v_;
  std::optional<Tile> tile_;
  CostRule rule_;
  CostedOp costed_;
};

// How long the consumer of an edge reads what it is given: the cycles of an asynchronous op. Not an
// accumulator, which it overwrites in place: the edge says so, or the value has the type of the
// result, which is not that of the operands.
// `from`: the op that holds the value, the edge's own or the one behind a view.
Cycle read_for(const Kernel& kernel, const Machine& machine, const CostedLoop& loop,
               const KernelEdge& edge, std::size_t holder) {
  const KernelOp& from = kernel.ops[holder];
  const KernelOp& to = kernel.ops[edge.to];
  const auto rule = machine.rules.find(to.kind);
  if (rule == machine.rules.end() || !rule->second.asynchronous || edge.accumulate) return 0;
  const CostedOp& source = loop.ops[holder];
  if (source.op.registers == 0 && source.op.footprints.empty()) return 0;  // nothing to hold
  if (from.tile && to.tile && to.tile->operand_type != to.tile->type &&
      from.tile->type == to.tile->type && !rule->second.variable_latency)
    return 0;
  return loop.ops[edge.to].op.cycles;
}

// Of every op: what it describes. A descriptor of a buffer, as the transpose of K in shared memory,
// takes no time, holds nothing, and shows what one op holds in a memory.
std::vector<std::optional<std::size_t>> described(const Kernel& kernel, const CostedLoop& loop) {
  std::vector<std::optional<std::size_t>> sources(kernel.ops.size());
  std::vector<bool> not_one(kernel.ops.size());
  for (std::size_t v = 0; v < kernel.ops.size(); ++v) {
    const Op& op = loop.ops[v].op;
    not_one[v] =
        op.cycles > 0 || op.registers > 0 || !op.footprints.empty() || kernel.ops[v].alias_of;
  }
  for (const KernelEdge& edge : kernel.edges) {
    if (sources[edge.to] || edge.distance > 0 || loop.ops[edge.from].op.footprints.empty())
      not_one[edge.to] = true;
    sources[edge.to] = edge.from;
  }
  for (std::size_t v = 0; v < kernel.ops.size(); ++v)
    if (not_one[v]) sources[v].reset();
  return sources;
}

}  // namespace

Fraction sum_of(const Fraction& a, const Fraction& b, const std::string& source) {
  if (a.numerator == 0) return b;
  if (b.numerator == 0) return a;
  Wide numerator = Wide{a.numerator} * b.denominator + Wide{b.numerator} * a.denominator;
  Wide denominator = Wide{a.denominator} * b.denominator, common = numerator;
  for (Wide rest = denominator; rest != 0;) common = std::exchange(rest, common % rest);
  numerator /= common;
  denominator /= common;
  if (numerator > kMaxAmount || denominator > kMaxAmount)
    throw InputError(source, "/ops", fraction_text(a) + " + " + fraction_text(b),
                     "a sum of traffic must have numbers of at most " + std::to_string(kMaxAmount));
  return {static_cast<Amount>(numerator), static_cast<Amount>(denominator)};
}

std::vector<Traffic> all_traffic(const CostedOp& op, const std::string& source) {
  std::map<int, Fraction> sums;
  for (const std::vector<Traffic>* list : {&op.traffic, &op.reserved})
    for (const auto& [channel, amount] : *list)
      sums[channel] = sum_of(sums[channel], amount, source);
  std::vector<Traffic> all;
  for (const auto& [channel, amount] : sums) all.push_back({channel, amount});
  return all;
}

CostedOp cost_op(const Kernel& kernel, const Machine& machine, std::size_t v,
                 std::int64_t columns) {
  return OpCoster(kernel, machine, v, columns).run();
}

CostedLoop cost_kernel(const Kernel& kernel, const Machine& machine, bool holds) {
  CostedLoop loop;
  loop.ops.reserve(kernel.ops.size());
  loop.edges.reserve(kernel.edges.size());
  for (std::size_t v = 0; v < kernel.ops.size(); ++v)
    loop.ops.push_back(cost_op(kernel, machine, v));
  for (const KernelEdge& edge : kernel.edges) {
    const CostedOp& from = loop.ops[edge.from];
    const Cycle delay =
        edge.delay ? *edge.delay : (edge.accumulate ? from.occupancy : from.latency);
    loop.edges.push_back(
        {static_cast<int>(edge.from), static_cast<int>(edge.to), delay, edge.distance,
         edge.blocking,
         holds ? std::max(edge.hold, read_for(kernel, machine, loop, edge, edge.from))
               : edge.hold});
  }
  add_alias_edges(kernel, loop, [&](const KernelEdge& use, std::size_t holder) {
    return holds ? std::max(use.hold, read_for(kernel, machine, loop, use, holder)) : use.hold;
  });
  const auto shown =
      holds ? described(kernel, loop) : std::vector<std::optional<std::size_t>>(kernel.ops.size());
  for (const KernelEdge& use : kernel.edges) {
    const auto& holder = shown[use.from];
    if (!holder) continue;
    if (const Cycle hold = read_for(kernel, machine, loop, use, *holder); hold > 0)
      loop.edges.push_back(
          {static_cast<int>(*holder), static_cast<int>(use.to), 0, use.distance, false, hold});
  }
  return kernel.chunks.empty() ? loop : fuse_chunks(kernel, machine, std::move(loop));
}

}  // namespace twill
