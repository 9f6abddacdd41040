#include "graph/problem_io.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "graph/check.hpp"
#include "graph/io/file.hpp"
#include "graph/io/fraction_io.hpp"
#include "graph/io/json_reader.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;
using Index = std::unordered_map<std::string, int>;  // name -> position in its list

constexpr const char* kProblemFormat = "twill.problem";
// Inner loops, pins to stages and to another op's other slot, spills of edges, a range of I; 4,
// where there is none of these; 3, where there are no channels and no loads in flight; 2, where no
// memory charges rings either; 1, where nothing is pinned.
constexpr int kProblemVersion = 5;

int lookup(const Index& index, const std::string& name, const JsonValue& where, const char* rule) {
  const auto found = index.find(name);
  if (found == index.end()) where.fail(rule);
  return found->second;
}

// Ranges that depend on other values (an amount and its unit's capacity, ...) are check()'s.

WarpSlot read_slot(const JsonValue& value) {
  value.check_keys({"name", "width", "registers"}, {"variable_latency"});
  WarpSlot slot;
  slot.name = value.at("name").text();
  slot.width = value.at("width").small(1, kMaxWidth);
  slot.registers = value.at("registers").integer(0, kMaxAmount);
  slot.variable_latency = value.boolean_or("variable_latency", false);
  return slot;
}

// "smem": 232448, or from version 3 on "smem": {"capacity": 232448, "rings": true}.
Memory read_memory(const std::string& name, const JsonValue& value, int version) {
  if (version < 3 || !value.is_object()) return {name, value.integer(0, kMaxAmount)};
  value.check_keys({"capacity"}, {"rings"});
  return {name, value.at("capacity").integer(0, kMaxAmount), value.boolean_or("rings", false)};
}

Json memory_json(const Memory& memory) {
  if (!memory.rings) return memory.capacity;
  return {{"capacity", memory.capacity}, {"rings", true}};
}

// The oldest version that can say it.
int version_of(const Problem& problem) {
  if (!problem.inner_loops.empty() || problem.interval != IntervalRange{} ||
      std::any_of(problem.pins.begin(), problem.pins.end(),
                  [](const Pin& pin) {
                    return pin.kind == Pin::at_stage || pin.kind == Pin::other_slot;
                  }) ||
      std::any_of(problem.edges.begin(), problem.edges.end(),
                  [](const Edge& edge) { return edge.spill.has_value(); }))
    return kProblemVersion;
  if (!problem.channels.empty() || std::any_of(problem.ops.begin(), problem.ops.end(),
                                               [](const Op& op) { return op.in_flight; }))
    return 4;
  if (std::any_of(problem.memories.begin(), problem.memories.end(),
                  [](const Memory& memory) { return memory.rings; }))
    return 3;
  return problem.pins.empty() ? 1 : 2;
}

void read_reservations(const JsonValue& value, const Index& units, Op& op) {
  for (const auto& [name, segments] : value.members()) {
    const int unit = lookup(units, name, segments, "the key must name a unit of this problem");
    for (const JsonValue& segment : segments.elements()) {
      const std::vector<JsonValue> numbers = segment.elements(3);
      op.reservations.push_back({unit, numbers[0].integer(0, kMaxCycles),
                                 numbers[1].integer(1, kMaxCycles),
                                 numbers[2].integer(1, kMaxAmount)});
    }
  }
}

Op read_op(const JsonValue& value, const Index& units, const Index& memories, const Index& channels,
           int version) {
  if (version < 4)
    value.check_keys({"id", "cycles"}, {"kind", "reservation", "registers", "memory", "spill",
                                        "width", "variable_latency", "streaming"});
  else
    value.check_keys({"id", "cycles"},
                     {"kind", "reservation", "registers", "memory", "spill", "width",
                      "variable_latency", "streaming", "in_flight", "traffic"});
  Op op;
  op.id = value.at("id").text();
  op.kind = value.text_or("kind", "");
  op.cycles = value.at("cycles").integer(0, kMaxCycles);
  if (const auto reservation = value.find("reservation"))
    read_reservations(*reservation, units, op);
  op.registers = value.integer_or("registers", 0, 0, kMaxAmount);
  if (const auto memory = value.find("memory"))
    for (const auto& [name, amount] : memory->members())
      op.footprints.push_back(
          {lookup(memories, name, amount, "the key must name a memory of this problem"),
           amount.integer(0, kMaxAmount)});
  op.spill = value.integer_or("spill", 0, 0, kMaxCycles);
  op.width = value.small_or("width", 1, 1, kMaxWidth);
  op.variable_latency = value.boolean_or("variable_latency", false);
  op.streaming = value.boolean_or("streaming", false);
  op.in_flight = value.boolean_or("in_flight", false);
  if (const auto traffic = value.find("traffic"))
    for (const auto& [name, amount] : traffic->members())
      op.traffic.push_back(
          {lookup(channels, name, amount, "the key must name a channel of this problem"),
           read_fraction(amount, 0)});
  return op;
}

Edge read_edge(const JsonValue& value, const Index& ops, int version) {
  if (version < 5)
    value.check_keys({"from", "to", "delay", "distance"}, {"blocking", "hold"});
  else
    value.check_keys({"from", "to", "delay", "distance"}, {"blocking", "hold", "spill"});
  const auto end = [&](const char* key) {
    const JsonValue id = value.at(key);
    return lookup(ops, id.text(), id, "must be the id of an op");
  };
  Edge edge;
  edge.from = end("from");
  edge.to = end("to");
  edge.delay = value.at("delay").integer(0, kMaxCycles);
  edge.distance = value.at("distance").small(0, kMaxDistance);
  edge.blocking = value.boolean_or("blocking", false);
  edge.hold = value.integer_or("hold", 0, 0, kMaxCycles);
  if (const auto spill = value.find("spill")) edge.spill = spill->integer(0, kMaxCycles);
  return edge;
}

Pin read_pin(const JsonValue& value, const Index& ops, const Index& slots, int version) {
  if (version < 5)
    value.check_keys({"op"}, {"warp", "not_warp", "cycle", "same_warp_as"});
  else
    value.check_keys({"op"},
                     {"warp", "not_warp", "cycle", "same_warp_as", "stage", "other_warp_than"});
  const auto named = [&](const Index& index, const char* key, const char* rule) {
    const JsonValue name = value.at(key);
    return lookup(index, name.text(), name, rule);
  };
  constexpr const char* kOpRule = "must be the id of an op";
  constexpr const char* kSlotRule = "must be the name of a warp slot";
  Pin pin;
  pin.op = named(ops, "op", kOpRule);
  if (value.members().size() != 2)
    value.fail(version < 5 ? "must have one of warp, not_warp, cycle and same_warp_as"
                           : "must have one of warp, not_warp, cycle, same_warp_as, stage and "
                             "other_warp_than");
  if (value.has("warp")) {
    pin.kind = Pin::on_slot;
    pin.slot = named(slots, "warp", kSlotRule);
  } else if (value.has("not_warp")) {
    pin.kind = Pin::not_on_slot;
    pin.slot = named(slots, "not_warp", kSlotRule);
  } else if (value.has("cycle")) {
    pin.kind = Pin::at_cycle;
    pin.cycle = value.at("cycle").integer(0, kMaxCycles);
  } else if (value.has("stage")) {
    pin.kind = Pin::at_stage;
    pin.stage = value.at("stage").integer(0, kMaxDistance);
  } else if (value.has("other_warp_than")) {
    pin.kind = Pin::other_slot;
    pin.other = named(ops, "other_warp_than", kOpRule);
  } else {
    pin.kind = Pin::same_slot;
    pin.other = named(ops, "same_warp_as", kOpRule);
  }
  return pin;
}

Json pin_json(const Problem& problem, const Pin& pin) {
  const auto op = [&](int v) { return problem.ops[static_cast<std::size_t>(v)].id; };
  Json json = {{"op", op(pin.op)}};
  switch (pin.kind) {
    case Pin::on_slot:
    case Pin::not_on_slot:
      append(json, pin.kind == Pin::on_slot ? "warp" : "not_warp",
             problem.warps[static_cast<std::size_t>(pin.slot)].name);
      break;
    case Pin::at_cycle: append(json, "cycle", pin.cycle); break;
    case Pin::same_slot: append(json, "same_warp_as", op(pin.other)); break;
    case Pin::other_slot: append(json, "other_warp_than", op(pin.other)); break;
    case Pin::at_stage: append(json, "stage", pin.stage); break;
  }
  return json;
}

Json edge_json(const Problem& problem, const Edge& edge) {
  Json json = {{"from", problem.ops[static_cast<std::size_t>(edge.from)].id},
               {"to", problem.ops[static_cast<std::size_t>(edge.to)].id},
               {"delay", edge.delay},
               {"distance", edge.distance},
               {"blocking", edge.blocking},
               {"hold", edge.hold}};
  if (edge.spill) append(json, "spill", *edge.spill);
  return json;
}

Json range_json(const IntervalRange& range) {
  Json json = Json::object();
  if (range.least > 1) append(json, "least", range.least);
  if (range.most < kMaxInterval) append(json, "most", range.most);
  return json;
}

Json op_json(const Problem& problem, const Op& op) {
  Json reservation = Json::object();
  std::unordered_map<int, std::ptrdiff_t> position;  // of a unit's list among the members
  for (const Reservation& segment : op.reservations) {
    const auto [found, first] = position.try_emplace(segment.unit, std::ssize(position));
    if (first)
      append(reservation, problem.units[static_cast<std::size_t>(segment.unit)].name,
             Json::array());
    auto& lists = reservation.get_ref<Json::object_t&>();
    std::next(lists.begin(), found->second)
        ->second.push_back(Json::array({segment.offset, segment.length, segment.amount}));
  }
  Json memory = Json::object();
  for (const Footprint& footprint : op.footprints)
    append(memory, problem.memories[static_cast<std::size_t>(footprint.memory)].name,
           footprint.amount);
  Json json = {{"id", op.id},
               {"kind", op.kind},
               {"cycles", op.cycles},
               {"reservation", std::move(reservation)},
               {"registers", op.registers},
               {"memory", std::move(memory)},
               {"spill", op.spill},
               {"width", op.width},
               {"variable_latency", op.variable_latency},
               {"streaming", op.streaming}};
  if (op.in_flight) append(json, "in_flight", true);
  if (!op.traffic.empty()) {
    Json traffic = Json::object();
    for (const Traffic& moved : op.traffic)
      append(traffic, problem.channels[static_cast<std::size_t>(moved.channel)].name,
             fraction_json(moved.amount));
    append(json, "traffic", std::move(traffic));
  }
  return json;
}

InnerLoop read_inner_loop(const JsonValue& value, const Index& ops) {
  value.check_keys({"name", "parts"}, {});
  InnerLoop loop{value.at("name").text(), {}};
  for (const auto& [id, offset] : value.at("parts").members_up_to(kMaxOps))
    loop.parts.push_back({lookup(ops, id, offset, "the key must name an op of this problem"),
                          offset.integer(0, kMaxCycles)});
  return loop;
}

}  // namespace

Problem parse_problem(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  const int version = root.check_format(kProblemFormat, 1, kProblemVersion);
  const auto keys = {std::string_view("format"),   std::string_view("version"),
                     std::string_view("name"),     std::string_view("units"),
                     std::string_view("memories"), std::string_view("warps"),
                     std::string_view("ops"),      std::string_view("edges")};
  if (version == 1)
    root.check_keys(keys, {"cycle_unit"});
  else if (version < 4)
    root.check_keys(keys, {"cycle_unit", "pins"});
  else if (version < 5)
    root.check_keys(keys, {"cycle_unit", "pins", "channels"});
  else
    root.check_keys(keys, {"cycle_unit", "initiation_interval", "pins", "channels", "inner_loops"});
  Problem problem;
  problem.name = root.at("name").text();
  problem.cycle_unit = root.number_or("cycle_unit", 1.0);
  if (const auto range = root.find("initiation_interval")) {
    range->check_keys({}, {"least", "most"});
    problem.interval = {range->integer_or("least", 1, 1, kMaxInterval),
                        range->integer_or("most", kMaxInterval, 1, kMaxInterval)};
  }
  Index units, memories, channels, slots, ops;
  for (const auto& [name, capacity] : root.at("units").members()) {
    units.emplace(name, static_cast<int>(units.size()));
    problem.units.push_back({name, capacity.integer(1, kMaxAmount)});
  }
  for (const auto& [name, capacity] : root.at("memories").members()) {
    memories.emplace(name, static_cast<int>(memories.size()));
    problem.memories.push_back(read_memory(name, capacity, version));
  }
  if (const auto list = root.find("channels"))
    for (const auto& [name, rate] : list->members_up_to(kMaxChannels)) {
      channels.emplace(name, static_cast<int>(channels.size()));
      problem.channels.push_back({name, read_fraction(rate, 1)});
    }
  for (const JsonValue& slot : root.at("warps").elements()) {
    problem.warps.push_back(read_slot(slot));
    slots.emplace(problem.warps.back().name, static_cast<int>(slots.size()));
  }
  for (const JsonValue& op : root.at("ops").elements()) {
    problem.ops.push_back(read_op(op, units, memories, channels, version));
    // Before the edges are read: one of the two might be the op that an edge does not find.
    if (!ops.emplace(problem.ops.back().id, static_cast<int>(ops.size())).second)
      op.at("id").fail("op ids must be unique");
  }
  for (const JsonValue& edge : root.at("edges").elements())
    problem.edges.push_back(read_edge(edge, ops, version));
  if (const auto pins = root.find("pins"))
    for (const JsonValue& pin : pins->elements())
      problem.pins.push_back(read_pin(pin, ops, slots, version));
  if (const auto loops = root.find("inner_loops"))
    for (const JsonValue& loop : loops->elements())
      problem.inner_loops.push_back(read_inner_loop(loop, ops));
  check(problem, source);
  return problem;
}

Problem read_problem(const std::string& path) {
  return parse_problem(read_file(path), path);
}

std::string problem_text(const Problem& problem) {
  Json units = Json::object(), memories = Json::object();
  for (const Unit& unit : problem.units) append(units, unit.name, unit.capacity);
  for (const Memory& memory : problem.memories) append(memories, memory.name, memory_json(memory));
  Json slots = Json::array(), ops = Json::array(), edges = Json::array();
  for (const WarpSlot& slot : problem.warps) {
    slots.push_back({{"name", slot.name}, {"width", slot.width}, {"registers", slot.registers}});
    if (slot.variable_latency) append(slots.back(), "variable_latency", true);
  }
  for (const Op& op : problem.ops) ops.push_back(op_json(problem, op));
  for (const Edge& edge : problem.edges) edges.push_back(edge_json(problem, edge));
  Json file = {{"format", kProblemFormat},
               {"version", version_of(problem)},
               {"name", problem.name},
               {"cycle_unit", problem.cycle_unit}};
  if (problem.interval != IntervalRange{})
    append(file, "initiation_interval", range_json(problem.interval));
  append(file, "units", std::move(units));
  append(file, "memories", std::move(memories));
  if (!problem.channels.empty()) {
    Json channels = Json::object();
    for (const Channel& channel : problem.channels)
      append(channels, channel.name, fraction_json(channel.rate));
    append(file, "channels", std::move(channels));
  }
  append(file, "warps", std::move(slots));
  append(file, "ops", std::move(ops));
  append(file, "edges", std::move(edges));
  if (!problem.pins.empty()) {
    Json pins = Json::array();
    for (const Pin& pin : problem.pins) pins.push_back(pin_json(problem, pin));
    append(file, "pins", std::move(pins));
  }
  if (!problem.inner_loops.empty()) {
    Json loops = Json::array();
    for (const InnerLoop& loop : problem.inner_loops) {
      Json parts = Json::object();
      for (const InnerPart& part : loop.parts)
        append(parts, problem.ops[static_cast<std::size_t>(part.op)].id, part.offset);
      loops.push_back({{"name", loop.name}, {"parts", std::move(parts)}});
    }
    append(file, "inner_loops", std::move(loops));
  }
  return json_file_text(file, problem.name);
}

}  // namespace twill
