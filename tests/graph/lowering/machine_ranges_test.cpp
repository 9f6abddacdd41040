// Costs of a machine file as ranges: reading at their ends, refusals, and what lowering makes of
// them between their ends.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "graph/relaxation.hpp"
#include "tests/support/lowering.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace machine_ranges_test {

using namespace twill;
using namespace twill::test;
using Json = nlohmann::ordered_json;

namespace {

const std::string kRanges = R"({
  "format": "twill.machine", "version": 2, "name": "m", "reading": "machine",
  "units": {"A": 1, "C": 1},
  "channels": {"bus": {"rate": {"nominal": [64, 3], "low": 20, "high": [43, 2]}, "source": "s"}},
  "memories": {"mem": {"capacity": 100000, "measure": "bytes"}},
  "spill": {"base": {"nominal": 5, "low": 4, "high": 9}, "per_line": 2, "line_bytes": 128,
            "signal": {"nominal": 1, "low": 0, "high": 3}},
  "layouts": [{"name": "l", "slots": [{"name": "w", "width": 4, "registers": 200}]}],
  "rules": {
    "x": {"unit": "A", "cycles": [
        {"measure": "elements", "factor": {"nominal": 2, "low": 1, "high": 3}, "rate": 8},
        {"measure": "rows", "less": 1, "times": {"nominal": 7, "low": 7, "high": 8}}],
      "latency": [{"measure": "elements", "rates": {"f16": {"nominal": 4, "low": 2, "high": 5},
                                                    "f8": 9}}],
      "width": 4, "result": "registers",
      "traffic": {"bus": [{"measure": "bytes", "rate": {"nominal": 2, "low": 1, "high": 4}}]}}
  }
})";

Machine read(const std::string& text, RangeEnd end, std::optional<std::size_t> one = {},
             RangeEnd of_one = RangeEnd::worst) {
  RangeEnds ends;
  ends.all = end;
  ends.one = one;
  ends.of_one = of_one;
  return parse_machine(text, "m", {}, ends);
}

/// Refused with `rule` at `pointer` once the value at `place` is `value`.
void refused(const std::string& place, const std::string& value, const std::string& pointer,
             const std::string& rule) {
  Json changed = Json::parse(kRanges);
  changed[Json::json_pointer(place)] = Json::parse(value);
  const std::string message = refusal_text([&] { parse_machine(changed.dump(), "m"); });
  CAPTURE(message);
  CHECK(contains(message, "m: " + pointer + ": "));
  CHECK(contains(message, rule));
}

/// A number of a built-in machine, as a range around it with what it was in it.
void widen(Json& number, Random& random) {
  const auto value = number.get<std::int64_t>();
  const std::int64_t low =
      std::max<std::int64_t>(value > 0 ? 1 : 0, value - random.range(0, value / 3));
  number = {{"nominal", value}, {"low", low}, {"high", value + random.range(0, value / 2 + 1)}};
}

/// Some costs of the machine as ranges.
Json with_ranges(Json machine, Random& random) {
  if (machine.contains("spill"))
    for (const char* key : {"base", "per_line", "signal"})
      if (machine["spill"].contains(key) && random.percent(50))
        widen(machine["spill"][key], random);
  if (machine.contains("channels"))
    for (auto& [name, channel] : machine["channels"].items())
      if (channel["rate"].is_number() && random.percent(50)) widen(channel["rate"], random);
  const auto widen_terms = [&](Json& terms) {
    for (Json& term : terms) {
      for (const char* key : {"factor", "rate", "times"})
        if (term.contains(key) && random.percent(40)) widen(term[key], random);
      if (term.contains("rates"))
        for (auto& [type, rate] : term["rates"].items())
          if (random.percent(40)) widen(rate, random);
    }
  };
  for (auto& [kind, rule] : machine["rules"].items())
    for (const char* part : {"cycles", "latency"})
      if (rule.contains(part)) widen_terms(rule[part]);
  return machine;
}

/// A number in the range.
std::string inside(const CostRange& range, Random& random) {
  return std::to_string(random.range(range.low.numerator, range.high.numerator));
}

}  // namespace

TEST_CASE("ranges are read at their ends: the low one of a rate costs most") {
  const Machine worst = parse_machine(kRanges, "m");
  const auto costs = [](const Machine& m) {
    const CostRule& x = m.rules.at("x");
    return std::vector<std::int64_t>{m.channels[0].rate.numerator,
                                     m.channels[0].rate.denominator,
                                     m.spill.base,
                                     m.spill.per_line,
                                     m.spill.signal,
                                     x.cycles[0].factor,
                                     x.cycles[0].rate,
                                     x.cycles[1].times,
                                     x.latency[0].rates.at("f16"),
                                     x.latency[0].rates.at("f8"),
                                     x.traffic[0].second[0].rate};
  };
  using Costs = std::vector<std::int64_t>;
  CHECK(costs(worst) == Costs{20, 1, 9, 2, 3, 3, 8, 8, 2, 9, 1});
  CHECK(costs(read(kRanges, RangeEnd::nominal)) == Costs{64, 3, 5, 2, 1, 2, 8, 7, 4, 9, 2});
  CHECK(costs(read(kRanges, RangeEnd::best)) == Costs{43, 2, 4, 2, 0, 1, 8, 7, 5, 9, 4});
  CHECK(costs(read(kRanges, RangeEnd::worst, 5, RangeEnd::best)) ==
        Costs{20, 1, 9, 2, 3, 3, 8, 8, 5, 9, 1});
  CHECK(costs(read(kRanges, RangeEnd::best, 0, RangeEnd::nominal)) ==
        Costs{64, 3, 4, 2, 0, 1, 8, 7, 5, 9, 4});

  const std::vector<CostRange> ranges = machine_ranges(kRanges, "m");
  std::vector<std::string> places;
  std::string rates;
  for (const CostRange& range : ranges) {
    places.push_back(range.place);
    rates += range.rate ? 'r' : '.';
  }
  CHECK(places == std::vector<std::string>{"channels.bus.rate", "spill.base", "spill.signal",
                                           "rules.x.cycles.0.factor", "rules.x.cycles.1.times",
                                           "rules.x.latency.0.rates.f16",
                                           "rules.x.traffic.bus.0.rate"});
  CHECK(rates == "r....rr");
  CHECK(fraction_text(ranges[0].nominal) == "64/3");
  CHECK(machine_ranges(builtin_machine("hopper"), "hopper").empty());
}

TEST_CASE("a plain number takes the place of a range, and nothing else does") {
  const Overrides set = {{"rules.x.cycles.0.factor", "2"}, {"channels.bus.rate", "[7, 2]"}};
  const Machine machine = parse_machine(kRanges, "m", set);
  CHECK(machine.ranges.size() == 5);
  CHECK(machine.rules.at("x").cycles[0].factor == 2);
  CHECK(fraction_text(machine.channels[0].rate) == "7/2");
  CHECK(machine_ranges(kRanges, "m", {{"spill.base.high", "6"}})[1].high.numerator == 6);
  const auto of = [](const std::string& path, const std::string& value) {
    return refusal_text([&] { parse_machine(kRanges, "m", {{path, value}}); });
  };
  CHECK(contains(of("spill.base", "\"9\""), "must stay a JSON object, not become a JSON string"));
  CHECK(contains(of("spill.base", "[9, 1]"), "/spill/base: found an array of 2 values"));
  CHECK(contains(of("spill.per_line", R"({"nominal": 1})"), "must stay a JSON number"));
  CHECK(contains(of("rules.x", "1"), "must stay a JSON object"));
}

TEST_CASE("ranges: what is refused") {
  const std::string base = "/spill/base";
  refused(base, R"({"nominal": 5, "low": 6, "high": 9})", base + "/low", "must be at most nominal");
  refused(base, R"({"nominal": 5, "low": 4, "high": 3})", base + "/high",
          "must be at least nominal");
  refused(base, R"({"nominal": 5, "low": -1, "high": 9})", base + "/low", "from 0 to 1000000000");
  refused(base, R"({"nominal": 5, "low": 4})", base, "required key \"high\" is missing");
  refused(base, R"({"nominal": 5, "low": 4, "high": 9, "unit": 1})", base + "/unit", "unknown key");
  refused(base, R"({"nominal": 5.5, "low": 4, "high": 9})", base + "/nominal", "without fraction");
  refused("/spill/line_bytes", R"({"nominal": 5, "low": 4, "high": 9})", "/spill/line_bytes",
          "must be an integer");
  refused("/channels/bus/rate", R"({"nominal": [1, 2], "low": [2, 3], "high": 9})",
          "/channels/bus/rate/low", "must be at most nominal");
  refused("/rules/x/cycles/1/less", R"({"nominal": 1, "low": 1, "high": 1})",
          "/rules/x/cycles/1/less", "must be an integer");
  refused("/rules/x/cycles/0/factor", R"({"nominal": 1, "low": 0, "high": 1})",
          "/rules/x/cycles/0/factor/low", "from 1 to");
  Json first = Json::parse(kSmallMachine);
  first["spill"]["base"] = {{"nominal", 1}, {"low", 1}, {"high", 1}};
  CHECK(contains(refusal_text([&] { parse_machine(first.dump(), "m"); }),
                 "m: /spill/base: found an object: must be an integer"));
  Json many = Json::parse(kRanges);
  for (int k = 0; k < 1001; ++k)
    many["rules"]["r" + std::to_string(k)] = {
        {"unit", "A"},
        {"cycles", {{{"measure", "rows"}, {"rate", {{"nominal", 1}, {"low", 1}, {"high", 1}}}}}},
        {"width", 1},
        {"result", "none"}};
  CHECK(contains(refusal_text([&] { parse_machine(many.dump(), "m"); }), "at most 1000 ranges"));
}

TEST_CASE("a range of one number is that number") {
  Json plain = Json::parse(builtin_machine("hopper")), ranged = plain;
  for (auto& [kind, rule] : ranged["rules"].items())
    if (rule.contains("cycles"))
      for (Json& term : rule["cycles"])
        if (term.contains("rate"))
          term["rate"] = {{"nominal", term["rate"]}, {"low", term["rate"]}, {"high", term["rate"]}};
  const std::string kernel = builtin_kernel("hopper-fwd-sub2");
  for (const RangeEnd end : {RangeEnd::worst, RangeEnd::nominal, RangeEnd::best}) {
    LowerOptions options;
    options.ends.all = end;
    CHECK(lower(kernel, "k", ranged.dump(), "m", options).front().problem ==
          lower(kernel, "k", plain.dump(), "m").front().problem);
  }
}

TEST_CASE("every place in the ranges of a machine relaxes its worst ends, chunked chains too") {
  struct Case {
    const char *kernel, *machine;
  };
  int points = 0;
  for (const auto& [kernel, machine] :
       {Case{"hopper-fwd-sub2", "hopper"}, Case{"hopper-bwd-q64", "hopper"},
        Case{"hopper-gla", "hopper"}, Case{"hopper-layer-norm", "hopper"},
        Case{"blackwell-fwd-sub2-chunked", "blackwell"}, Case{"blackwell-bwd", "blackwell"},
        Case{"blackwell-fwd-sub2-chunked", "b200-latency"}, Case{"gemm", "blackwell"},
        Case{"blackwell-fwd-sub2-chunked", "blackwell-paper"}}) {
    const std::string text = builtin_kernel(kernel);
    const Json base = Json::parse(builtin_machine(machine));
    if (base["version"] == 1) continue;
    for (std::uint64_t seed = 1; seed <= 60 / kShare; ++seed) {
      CAPTURE(kernel);
      CAPTURE(machine);
      CAPTURE(seed);
      Random random(seed);
      const std::string ranged = with_ranges(base, random).dump();
      LowerOptions options;
      options.reading = seed % 4 == 0 ? Reading::paper : Reading::machine;
      const Problem worst = lower(text, "k", ranged, "m", options).front().problem;
      for (int n = 0; n < 4; ++n) {
        for (const CostRange& range : machine_ranges(ranged, "m"))
          options.set.emplace_back(range.place, inside(range, random));
        if (n == 0) {
          options.set.clear();
          options.ends.all = RangeEnd::best;
        }
        const Problem point = lower(text, "k", ranged, "m", options).front().problem;
        CHECK(no_relaxation(worst, point) == std::nullopt);
        options.set.clear();
        options.ends = {};
        ++points;
      }
    }
  }
  CHECK(points >= 1000 / kShare);
}

}  // namespace machine_ranges_test
