#include "graph/lowering/measurements.hpp"

#include <algorithm>

#include "graph/lowering/cost_rule.hpp"
#include "graph/lowering/tile_io.hpp"

namespace twill {
namespace {

constexpr std::size_t kMaxSamples = 1'000;
constexpr std::size_t kMaxRepetitions = 100'000;
constexpr std::int64_t kMaxClock = 1'000'000;  // MHz

std::string name(const JsonValue& value) {
  if (value.text().empty()) value.fail("must not be empty");
  return value.text();
}

/// "2026-11-23": the month and the day are in range, no calendar is asked.
std::string date(const JsonValue& value) {
  const std::string& text = value.text();
  const auto number = [&](std::size_t begin, std::size_t count) {
    int n = 0;
    for (std::size_t i = begin; i < begin + count; ++i) {
      if (text[i] < '0' || text[i] > '9') return -1;
      n = 10 * n + (text[i] - '0');
    }
    return n;
  };
  const bool right = text.size() == 10 && text[4] == '-' && text[7] == '-' && number(0, 4) >= 0 &&
                     number(5, 2) >= 1 && number(5, 2) <= 12 && number(8, 2) >= 1 &&
                     number(8, 2) <= 31;
  if (!right) value.fail("must be a date as 2026-11-23");
  return text;
}

std::vector<double> repetitions(const JsonValue& value) {
  std::vector<double> cycles;
  for (const JsonValue& one : value.elements_up_to(kMaxRepetitions)) {
    const double measured = one.number();
    if (!(measured > 0) || measured > static_cast<double>(kMaxCycles))
      one.fail("must be more than 0 and at most " + std::to_string(kMaxCycles));
    cycles.push_back(measured);
  }
  if (cycles.empty()) value.fail("must have at least one repetition");
  std::sort(cycles.begin(), cycles.end());
  return cycles;
}

Sample read_sample(const JsonValue& value) {
  Sample sample;
  if (value.is_object() && value.has("channel")) {
    value.check_keys({"channel", "amount", "cycles"}, {"doc"});
    sample.kind = Sample::channel;
    sample.name = name(value.at("channel"));
    sample.amount = value.at("amount").integer(1, kMaxAmount);
  } else if (value.is_object() && value.has("handover")) {
    const bool registers = value.at("handover").choice({"registers", "memory"}) == 0;
    if (registers)
      value.check_keys({"handover", "bytes", "cycles"}, {"doc"});
    else
      value.check_keys({"handover", "cycles"}, {"doc"});
    sample.kind = registers ? Sample::handover : Sample::signal;
    if (registers) sample.amount = value.at("bytes").integer(1, kMaxAmount);
  } else {
    value.check_keys({"rule", "part", "shape", "type", "cycles"}, {"operand_type", "width", "doc"});
    sample.name = name(value.at("rule"));
    value.at("part").choice({"cycles", "occupancy", "latency"});
    sample.part = value.at("part").text();
    sample.tile = read_tile(value);
    if (sample.tile.shape.empty()) value.at("shape").fail("a scalar takes no time");
    if (const auto width = value.find("width")) sample.width = width->small(1, kMaxSlotWidth);
  }
  value.text_or("doc", "");
  sample.cycles = repetitions(value.at("cycles"));
  return sample;
}

}  // namespace

Measurements parse_measurements(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  root.check_format("twill.measurements", 1);
  root.check_keys({"format", "version", "device", "clock_mhz", "toolkit", "date", "samples"},
                  {"doc"});
  Measurements all;
  all.source = source;
  all.device = name(root.at("device"));
  all.clock_mhz = root.at("clock_mhz").integer(1, kMaxClock);
  all.toolkit = name(root.at("toolkit"));
  all.date = date(root.at("date"));
  root.text_or("doc", "");
  const JsonValue samples = root.at("samples");
  for (const JsonValue& sample : samples.elements_up_to(kMaxSamples))
    all.samples.push_back(read_sample(sample));
  if (all.samples.empty()) samples.fail("must have at least one sample");
  return all;
}

}  // namespace twill
