#include "graph/lowering/machine.hpp"

#include <algorithm>
#include <set>

#include "graph/io/fraction_io.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/lowering/overrides.hpp"
#include "graph/problem_io.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

constexpr std::int64_t kMaxRate = 1'000'000'000;
constexpr std::size_t kMaxLayouts = 1'000;
constexpr std::size_t kMaxRules = 10'000;
constexpr std::size_t kMaxTerms = 100;
constexpr std::size_t kMaxSources = 10'000;
constexpr Cycle kMaxBarrierCost = 1'000'000;
constexpr std::size_t kMaxRanges = 1'000;

class MachineReader {
 public:
  MachineReader(const JsonDocument& document, const RangeEnds& ends)
      : ends_(ends), document_(document) {
    machine_.source = document.source();
  }

  Machine run() {
    const JsonValue root = document_.root();
    version_ = root.check_format("twill.machine", 1, 3);
    if (version_ == 1)
      root.check_keys(
          {"format", "version", "name", "units", "memories", "layouts", "rules"},
          {"doc", "aliases", "bandwidth", "register_file", "vector_copies", "spill", "sources"});
    else
      root.check_keys(
          {"format", "version", "name", "reading", "units", "memories", "layouts", "rules"},
          {"doc", "aliases", "bandwidth", "barriers", "channels", "contention", "register_file",
           "vector_copies", "spill", "sources"});
    if (version_ > 1 && root.has("bandwidth"))
      root.at("bandwidth").fail("version 2 has channels instead");
    if (version_ < 3 && root.has("contention"))
      root.at("contention").fail("needs a file of version 3");
    machine_.name = name(root.at("name"));
    root.text_or("doc", "");
    if (const auto aliases = root.find("aliases"))
      for (const auto& [alias, kernel] : aliases->members()) machine_.aliases[alias] = name(kernel);
    for (const auto& [unit, capacity] : root.at("units").members_up_to(kMaxUnits))
      machine_.units.push_back({unit, capacity.integer(1, kMaxAmount)});
    if (const auto bandwidth = root.find("bandwidth")) read_bandwidth(*bandwidth);
    if (version_ > 1)
      machine_.reading =
          root.at("reading").choice({"machine", "paper"}) == 0 ? Reading::machine : Reading::paper;
    if (const auto channels = root.find("channels"))
      for (const auto& [channel, value] : channels->members_up_to(kMaxChannels))
        read_channel(channel, value);
    for (const auto& [memory, value] : root.at("memories").members_up_to(kMaxMemories))
      read_memory(memory, value);
    if (const auto file = root.find("register_file")) read_register_file(*file);
    machine_.vector_copies = root.integer_or("vector_copies", 1, 1, 128);
    if (const auto spill = root.find("spill")) read_spill(*spill);
    if (const auto barriers = root.find("barriers")) read_barriers(*barriers);
    if (const auto contention = root.find("contention"))
      for (const JsonValue& slowdown :
           contention->elements_up_to(std::size_t{kMaxUnits} * kMaxUnits))
        read_slowdown(slowdown);
    const JsonValue layouts = root.at("layouts");
    for (const JsonValue& layout : layouts.elements_up_to(kMaxLayouts)) read_layout(layout);
    if (machine_.layouts.empty()) layouts.fail("must have at least one layout");
    for (const auto& [kind, rule] : root.at("rules").members_up_to(kMaxRules))
      machine_.rules[kind] = read_rule(kind, rule);
    if (const auto sources = root.find("sources")) read_sources(*sources);
    return std::move(machine_);
  }

 private:
  static std::string name(const JsonValue& value) {
    if (value.text().empty()) value.fail("must not be empty");
    return value.text();
  }

  std::string unit(const JsonValue& value) const {
    check_unit(value, value.text());
    return value.text();
  }

  void check_unit(const JsonValue& value, const std::string& unit) const {
    std::string known;
    for (const Unit& candidate : machine_.units) {
      if (candidate.name == unit) return;
      known += (known.empty() ? "" : ", ") + candidate.name;
    }
    value.fail("must name a unit of the machine: " + known);
  }

  void check_channel(const JsonValue& value, const std::string& channel) const {
    std::string known;
    for (const MachineChannel& candidate : machine_.channels) {
      if (candidate.name == channel) return;
      known += (known.empty() ? "" : ", ") + candidate.name;
    }
    value.fail("must name a channel of the machine: " + known);
  }

  void read_bandwidth(const JsonValue& value) {
    for (const auto& [unit, rate] : value.members()) {
      check_unit(rate, unit);
      machine_.channels.push_back({unit, {rate.integer(1, kMaxRate), 1}});
    }
  }

  void read_channel(const std::string& channel, const JsonValue& value) {
    value.check_keys({"rate", "source"}, {"shared"});
    if (channel.empty()) value.fail("the names of channels must not be empty");
    machine_.channels.push_back({channel,
                                 cost(value.at("rate"), "channels." + channel + ".rate", true,
                                      [](const JsonValue& rate) { return read_fraction(rate, 1); }),
                                 is_estimate(value.at("source").text()),
                                 value.boolean_or("shared", false)});
  }

  static bool is_estimate(const std::string& source) {
    return source.find("estimate") != std::string::npos;
  }

  void read_memory(const std::string& memory, const JsonValue& value) {
    value.check_keys({"capacity", "measure"}, {});
    if (memory == "registers" || memory == "none")
      value.fail("\"registers\" and \"none\" are no memories");
    machine_.memories.push_back(
        {memory, value.at("capacity").integer(0, kMaxAmount),
         static_cast<Footprints>(value.at("measure").choice({"bytes", "columns"}))});
  }

  void read_register_file(const JsonValue& value) {
    value.check_keys({"registers", "threads_per_warpgroup", "granule", "min", "max"}, {});
    RegisterFile file;
    file.registers = value.at("registers").integer(1, kMaxAmount);
    const JsonValue threads = value.at("threads_per_warpgroup");
    file.threads_per_warpgroup = threads.small(32, 32 * kMaxSlotWidth);
    if (file.threads_per_warpgroup % 32 != 0) threads.fail("must be a multiple of 32");
    file.granule = value.at("granule").integer(1, kMaxAmount);
    file.min = value.at("min").integer(0, kMaxAmount);
    file.max = value.at("max").integer(file.min, kMaxAmount);
    machine_.register_file = file;
  }

  void read_spill(const JsonValue& value) {
    value.check_keys({"base", "per_line", "line_bytes"}, {"signal"});
    machine_.spill = {whole_cost(value.at("base"), "spill.base", 0, kMaxCycles),
                      whole_cost(value.at("per_line"), "spill.per_line", 0, 1'000'000),
                      value.at("line_bytes").integer(1, kMaxAmount), 0};
    if (const auto signal = value.find("signal"))
      machine_.spill.signal = whole_cost(*signal, "spill.signal", 0, kMaxCycles);
  }

  /// Plain numbers: they are in no problem, so no range of them can be searched.
  void read_barriers(const JsonValue& value) {
    value.check_keys({"wait", "arrive"}, {});
    machine_.barriers = {value.at("wait").integer(0, kMaxBarrierCost),
                         value.at("arrive").integer(0, kMaxBarrierCost)};
  }

  /// Plain numbers, as those of barriers.
  void read_slowdown(const JsonValue& value) {
    value.check_keys({"unit", "while", "thousandths"}, {});
    Slowdown slowdown{
        place_of(unit(value.at("unit"))), place_of(unit(value.at("while"))),
        static_cast<int>(value.at("thousandths").integer(kLeastSlowdown, kMostSlowdown))};
    if (slowdown.unit == slowdown.by)
      value.at("while").fail("must be another unit: ops of one unit take turns");
    for (const Slowdown& other : machine_.contention)
      if (other.unit == slowdown.unit && other.by == slowdown.by)
        value.fail("is the second for these two units");
    machine_.contention.push_back(slowdown);
  }

  int place_of(const std::string& wanted) const {
    const auto found = std::find_if(machine_.units.begin(), machine_.units.end(),
                                    [&](const Unit& u) { return u.name == wanted; });
    return static_cast<int>(found - machine_.units.begin());
  }

  void read_layout(const JsonValue& value) {
    value.check_keys({"name", "slots"}, {"doc"});
    value.text_or("doc", "");
    Layout layout;
    layout.name = name(value.at("name"));
    if (!layout_names_.insert(layout.name).second)
      value.at("name").fail("layout names must be unique");
    std::set<std::string> slots;
    bool marked = false;
    for (const JsonValue& entry : value.at("slots").elements_up_to(kMaxSlots)) {
      entry.check_keys({"name", "width", "registers"}, {"variable_latency"});
      WarpSlot slot;
      slot.name = name(entry.at("name"));
      if (!slots.insert(slot.name).second) entry.at("name").fail("slot names must be unique");
      slot.width = entry.at("width").small(1, kMaxSlotWidth);
      slot.registers = entry.at("registers").integer(0, kMaxAmount);
      slot.variable_latency = entry.boolean_or("variable_latency", false);
      if (slot.variable_latency && std::exchange(marked, true))
        entry.at("variable_latency").fail("at most one slot may be variable_latency");
      layout.slots.push_back(std::move(slot));
    }
    if (layout.slots.empty()) value.at("slots").fail("must have at least one slot");
    if (machine_.register_file)
      check_register_file(*machine_.register_file, layout, machine_.source, value.pointer());
    machine_.layouts.push_back(std::move(layout));
  }

  /// A cost: a number, or a range of which one place is taken. Every rule grows with each of its
  /// costs but a rate, with which it falls.
  template <class Read>
  Fraction cost(const JsonValue& value, const std::string& place, bool rate, const Read& read) {
    if (version_ == 1 || !value.is_object()) return read(value);
    value.check_keys({"nominal", "low", "high"});
    const Fraction nominal = read(value.at("nominal"));
    const Fraction low = read(value.at("low")), high = read(value.at("high"));
    if (less(nominal, low)) value.at("low").fail("must be at most nominal");
    if (less(high, nominal)) value.at("high").fail("must be at least nominal");
    const std::size_t index = machine_.ranges.size();
    if (index == kMaxRanges)
      value.fail("a machine has at most " + std::to_string(kMaxRanges) + " ranges");
    machine_.ranges.push_back({place, nominal, low, high, rate});
    const RangeEnd end = ends_.one == index ? ends_.of_one : ends_.all;
    if (end == RangeEnd::nominal) return nominal;
    return (end == RangeEnd::worst) == rate ? low : high;
  }

  static bool less(const Fraction& a, const Fraction& b) {
    return Wide{a.numerator} * b.denominator < Wide{b.numerator} * a.denominator;
  }

  std::int64_t whole_cost(const JsonValue& value, const std::string& place, std::int64_t low,
                          std::int64_t high, bool rate = false) {
    return cost(value, place, rate,
                [&](const JsonValue& one) {
                  return Fraction{one.integer(low, high), 1};
                })
        .numerator;
  }

  std::vector<CostTerm> read_terms(const JsonValue& rule, const std::string& place,
                                   const char* key) {
    const auto list = rule.find(key);
    return list ? read_terms(*list, place + "." + key) : std::vector<CostTerm>();
  }

  std::vector<CostTerm> read_terms(const JsonValue& list, const std::string& place) {
    std::vector<CostTerm> terms;
    const auto number = [&](const JsonValue& term, const char* key) -> std::int64_t {
      const auto value = term.find(key);
      if (!value) return 1;
      return whole_cost(*value, place + "." + std::to_string(terms.size()) + "." + key, 1, kMaxRate,
                        std::string_view(key) == "rate");
    };
    for (const JsonValue& value : list.elements_up_to(kMaxTerms)) {
      value.check_keys({"measure"},
                       {"factor", "rate", "rates", "less", "at_least", "at_most", "times"});
      CostTerm term;
      const JsonValue measure = value.at("measure");
      term.measure = static_cast<Measure>(
          version_ == 1
              ? measure.choice({"constant", "macs", "elements", "values", "rows", "bytes",
                                "warp_bytes", "row_bytes", "depth"})
              : measure.choice({"constant", "macs", "elements", "values", "rows", "bytes",
                                "warp_bytes", "row_bytes", "depth", "warps", "warp_depth"}));
      term.factor = number(value, "factor");
      term.rate = number(value, "rate");
      term.less = value.integer_or("less", 0, 0, kMaxRate);
      term.at_least = value.integer_or("at_least", 0, 0, kMaxCycles);
      term.at_most = value.integer_or("at_most", kMaxCycles, term.at_least, kMaxCycles);
      term.times = number(value, "times");
      if (const auto rates = value.find("rates")) {
        if (value.has("rate")) rates->fail("must not stand beside rate");
        for (const auto& [type, rate] : rates->members()) {
          if (element_bits(type) == 0) rate.fail("must be keyed by an element type");
          term.rates[type] =
              whole_cost(rate, place + "." + std::to_string(terms.size()) + ".rates." + type, 1,
                         kMaxRate, true);
        }
        if (term.rates.empty()) rates->fail("must have at least one rate");
      }
      terms.push_back(std::move(term));
    }
    if (terms.empty()) list.fail("must have at least one term");
    return terms;
  }

  CostRule read_rule(const std::string& kind, const JsonValue& value) {
    const std::string place = "rules." + kind;
    if (version_ == 1)
      value.check_keys({"width", "result"}, {"unit", "cycles", "occupancy", "latency", "reduces",
                                             "variable_latency", "asynchronous", "source"});
    else
      value.check_keys({"width", "result"},
                       {"unit", "cycles", "occupancy", "latency", "reduces", "variable_latency",
                        "asynchronous", "traffic", "source"});
    CostRule rule;
    rule.estimate = is_estimate(value.text_or("source", ""));
    if (const auto found = value.find("unit")) rule.unit = unit(*found);
    rule.cycles = read_terms(value, place, "cycles");
    rule.occupancy = read_terms(value, place, "occupancy");
    rule.latency = read_terms(value, place, "latency");
    // A rule without a unit takes no time; one with a unit says how long.
    if (!rule.unit.empty()) value.at("cycles");
    for (const char* key : {"cycles", "occupancy", "latency"})
      if (rule.unit.empty() && value.has(key)) value.at(key).fail("needs a unit");
    rule.width = value.at("width").small(1, kMaxSlotWidth);
    rule.result = result(value.at("result"));
    rule.reduces = value.boolean_or("reduces", false);
    rule.variable_latency = value.boolean_or("variable_latency", false);
    rule.asynchronous = value.boolean_or("asynchronous", false);
    if (const auto traffic = value.find("traffic"))
      for (const auto& [channel, terms] : traffic->members()) {
        check_channel(terms, channel);
        rule.traffic.emplace_back(channel, read_terms(terms, place + ".traffic." + channel));
      }
    return rule;
  }

  std::string result(const JsonValue& value) const {
    const std::string& place = value.text();
    std::string known = "registers, none";
    if (place == "registers" || place == "none") return place;
    for (const MachineMemory& memory : machine_.memories) {
      if (memory.name == place) return place;
      known += ", " + memory.name;
    }
    value.fail("must be one of: " + known);
  }

  /// Every source speaks of something that is in the file.
  void read_sources(const JsonValue& value) const {
    nlohmann::ordered_json root = document_.json();
    for (const auto& [path, text] : value.members_up_to(kMaxSources)) {
      text.text();
      if (find_path(root, path) == nullptr)
        text.fail("must be keyed by the dotted path of a value in this file");
    }
  }

  int version_ = 1;
  const RangeEnds ends_;
  const JsonDocument& document_;
  Machine machine_;
  std::set<std::string> layout_names_;
};

}  // namespace

Machine parse_machine(std::string_view text, const std::string& source, const Overrides& set,
                      const RangeEnds& ends) {
  const JsonDocument file = JsonDocument::parse(text, source);
  Machine machine;
  if (set.empty()) {
    machine = MachineReader(file, ends).run();
  } else {
    nlohmann::ordered_json json = file.json();
    apply_overrides(json, source, set);
    machine = MachineReader(JsonDocument(std::move(json), source), ends).run();
  }
  machine.sha256 = sha256(text);
  return machine;
}

std::vector<CostRange> machine_ranges(std::string_view machine_text,
                                      const std::string& machine_source,
                                      const std::vector<std::pair<std::string, std::string>>& set) {
  return parse_machine(machine_text, machine_source, set).ranges;
}

}  // namespace twill
