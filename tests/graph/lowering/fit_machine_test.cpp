// Machines fitted to measurements: known costs come back from noisy cycles, wrong ones do not, what
// was not measured stays, and what contradicts is refused.
#include "graph/lowering/fit_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/gpu/measurements.hpp"
#include "graph/io/builtin.hpp"
#include "graph/lowering/fit_line.hpp"
#include "tests/support/lowering.hpp"
#include "tests/support/random_loop.hpp"

namespace fit_machine_test {

using namespace twill;
using namespace twill::test;
using Json = nlohmann::ordered_json;
using gpu::bench::MeasurementFile;

namespace {

MeasurementFile new_file() {
  return {"a \"device\"", 1830, "CUDA 13.0", "2026-11-23"};
}

FittedMachine fit(const std::string& measurements, const std::string& base) {
  return fit_machine(parse_measurements(measurements, "f"), base, "b");
}

double unit_interval(Random& random) {
  return static_cast<double>(random.range(0, 1'000'000)) / 1e6;
}

/// `cycles`, each repetition up to 4 % more or less.
std::vector<double> noisy(double cycles, Random& random) {
  std::vector<double> all;
  const auto count = random.range(20, 60);
  for (std::int64_t r = 0; r < count; ++r)
    all.push_back(cycles * (0.96 + 0.08 * unit_interval(random)));
  return all;
}

struct KnownRule {
  const char *rule, *part;
  std::vector<std::vector<std::int64_t>> shapes;
  const char *type, *operands;
};

/// Rules of hopper, with their costs doubled or halved in the base that is fitted to them.
const std::vector<KnownRule>& known_rules() {
  static const std::vector<KnownRule> all = {
      {"exp2", "cycles", {{64, 128}, {128, 128}, {64, 256}}, "f32", "f32"},
      {"gemm", "cycles", {{64, 128, 128}, {128, 128, 128}}, "f32", "f16"},
      {"gemm", "cycles", {{64, 128, 128}, {128, 128, 128}}, "f32", "f8"},
      {"fma", "cycles", {{256, 128}, {512, 128}}, "f32", "f32"},
      {"tma_load", "latency", {{32, 64}, {64, 64}, {128, 64}, {256, 64}}, "f16", "f16"},
      {"tma_load", "cycles", {{64, 64}, {128, 64}}, "f16", "f16"},
      {"load", "latency", {{128}, {256}}, "f32", "f32"}};
  return all;
}

double true_cycles(const Machine& machine, const KnownRule& known,
                   const std::vector<std::int64_t>& shape) {
  const CostRule& rule = machine.rules.at(known.rule);
  const std::string source = "t";
  return static_cast<double>(sum_terms(
      known.part == std::string("latency") ? rule.latency : rule.cycles,
      {shape, known.type, known.operands}, rule.width, {source, 0, machine.vector_copies}));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return text;
}

/// hopper with wrong costs: what a fit has to find.
std::string wrong_base() {
  Json base = Json::parse(builtin_machine("hopper"));
  base["rules"]["exp2"]["cycles"][0]["rate"] = 7;
  base["rules"]["gemm"]["cycles"][0]["rates"]["f16"] = 900;
  base["rules"]["gemm"]["cycles"][0]["rates"]["f8"] = 9000;
  base["rules"]["fma"]["cycles"][0]["rate"] = 64;
  base["rules"]["tma_load"]["latency"][0]["factor"] = 300;
  base["rules"]["tma_load"]["latency"][1]["rate"] = 128;
  base["rules"]["tma_load"]["cycles"][0]["rate"] = 32;
  base["rules"]["load"]["latency"][0]["factor"] = 1200;
  base["spill"]["base"] = 1;
  base["spill"]["per_line"] = 9;
  base["channels"]["SMEM"]["rate"] = 1;
  return base.dump();
}

/// Measurements of all that is known of hopper; `factor` on those of one rule, the channel ("SMEM")
/// or the hand-over ("spill").
std::string synthetic(std::uint64_t seed, const std::string& wrong = "", double factor = 1) {
  const Machine hopper = parse_machine(builtin_machine("hopper"), "hopper");
  Random random(seed);
  MeasurementFile file = new_file();
  const auto scale = [&](const std::string& name) { return name == wrong ? factor : 1.0; };
  for (const KnownRule& known : known_rules())
    for (const auto& shape : known.shapes)
      file.rule(known.rule, known.part, shape_text(shape), known.type,
                noisy(true_cycles(hopper, known, shape) * scale(known.rule), random),
                known.operands);
  for (const std::int64_t bytes : {65536, 131072})
    file.channel("SMEM", bytes, noisy(static_cast<double>(bytes) / 128 * scale("SMEM"), random));
  for (const std::int64_t bytes : {4096, 8192, 32768, 65536})
    file.handover(bytes,
                  noisy((64 + 2 * static_cast<double>(bytes) / 128) * scale("spill"), random));
  return file.text();
}

/// Is the known cost in the range that was fitted? Of a rate: with the factors of both files.
bool holds(const Machine& known, const FittedMachine& fitted, const FittedCost& cost) {
  const Json file = Json::parse(fitted.text), hopper = Json::parse(builtin_machine("hopper"));
  std::string pointer = "/";
  for (const char c : cost.range.place) pointer += c == '.' ? '/' : c;
  const Json& before = hopper.at(Json::json_pointer(pointer));
  double value = before.get<double>();
  if (cost.range.place.starts_with("rules.") && cost.range.rate) {
    const std::size_t term = pointer.find("/rate");
    value *= file.at(Json::json_pointer(pointer.substr(0, term))).value("factor", 1.0);
  }
  const auto number = [](const Fraction& f) {
    return static_cast<double>(f.numerator) / static_cast<double>(f.denominator);
  };
  CHECK(known.name == "hopper");
  return number(cost.range.low) <= value && value <= number(cost.range.high);
}

std::string refused(const std::string& sample,
                    const std::string& base = builtin_machine("hopper")) {
  return refusal_text([&] {
    fit(R"({"format": "twill.measurements", "version": 1, "device": "d", "clock_mhz": 1,
            "toolkit": "t", "date": "2026-01-31", "samples": [)" +
            sample + "]}",
        base);
  });
}

}  // namespace

TEST_CASE("known costs lie in the ranges fitted to noisy measurements of them") {
  const Machine hopper = parse_machine(builtin_machine("hopper"), "hopper");
  const std::string base = wrong_base();
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    const FittedMachine fitted = fit(synthetic(seed), base);
    CHECK(fitted.costs.size() == 11);
    for (const FittedCost& cost : fitted.costs) {
      CAPTURE(cost.range.place);
      CHECK(holds(hopper, fitted, cost));
    }
    // The file holds what was measured: with the costs at their ends, by the rules of the file.
    const Measurements measured = parse_measurements(synthetic(seed), "f");
    RangeEnds ends;
    const Machine worst = parse_machine(fitted.text, "w", {}, ends);
    ends.all = RangeEnd::best;
    const Machine best = parse_machine(fitted.text, "b", {}, ends);
    for (const Sample& sample : measured.samples) {
      if (sample.kind != Sample::rule) continue;
      const KnownRule rule{sample.name.c_str(),
                           sample.part.c_str(),
                           {},
                           sample.tile.type.c_str(),
                           sample.tile.operand_type.c_str()};
      const double middle = sample.cycles[sample.cycles.size() / 2];
      CHECK(true_cycles(best, rule, sample.tile.shape) <= std::ceil(middle));
      CHECK(true_cycles(worst, rule, sample.tile.shape) >= middle);
    }
  }
}

TEST_CASE("a wrong factor in the measurements moves the range away from the known cost") {
  const Machine hopper = parse_machine(builtin_machine("hopper"), "hopper");
  const std::string base = wrong_base();
  for (const char* wrong : {"exp2", "gemm", "fma", "load", "SMEM", "spill", "tma_load"})
    for (const double factor : {0.8, 1.25, 2.0}) {
      // Cycles a line are whole numbers: 2.5 may be 2 or 3.
      if (wrong == std::string("spill") && factor < 2) continue;
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        CAPTURE(std::string(wrong));
        CAPTURE(factor);
        const FittedMachine fitted = fit(synthetic(seed, wrong, factor), base);
        int outside = 0;
        for (const FittedCost& cost : fitted.costs) {
          const bool is_wrong = contains(cost.range.place, std::string(wrong) + ".");
          if (!is_wrong) CHECK(holds(hopper, fitted, cost));
          outside += is_wrong && !holds(hopper, fitted, cost);
        }
        CHECK(outside > 0);
      }
    }
}

TEST_CASE("what was not measured stays, and sources say what was") {
  const Json base = Json::parse(builtin_machine("hopper"));
  MeasurementFile file = new_file();
  file.rule("exp2", "cycles", "64, 128", "f32", {500, 520, 510});
  file.rule("tma_load", "latency", "64, 64", "f16", {700, 720});
  file.rule("tma_load", "latency", "128, 64", "f16", {830, 850});
  Json fitted = Json::parse(fit(file.text(), base.dump()).text);
  CHECK(fitted["name"] == "hopper-measured");
  CHECK(
      fitted["rules"]["exp2"]["cycles"].dump() ==
      R"([{"measure":"values","rate":{"nominal":16063,"low":15753,"high":16385},"factor":1000}])");
  const std::string on = "measured on a  device  (1830 MHz, CUDA 13.0), 2026-11-23: ";
  CHECK(fitted["rules"]["exp2"]["source"].get<std::string>().starts_with(
      on + "cycles, 1 sample, 3 repetitions; else: CUDA C++"));
  CHECK(fitted["rules"]["tma_load"]["source"].get<std::string>().starts_with(
      on + "latency, 2 samples, 4 repetitions; else: 64 bytes a cycle"));
  // Everything else is the base's, in its order.
  fitted["name"] = base["name"];
  fitted["doc"] = base["doc"];
  for (const char* kind : {"exp2", "tma_load"}) {
    CHECK(fitted["rules"][kind]["traffic"] == base["rules"][kind]["traffic"]);
    fitted["rules"][kind] = base["rules"][kind];
  }
  CHECK(fitted.dump() == base.dump());

  // Rates of types that were not measured are the same number, more precisely written.
  MeasurementFile half = new_file();
  half.rule("gemm", "cycles", "64, 128, 128", "f32", {520, 515}, "f16");
  const Machine machine = parse_machine(fit(half.text(), base.dump()).text, "m");
  const CostTerm& term = machine.rules.at("gemm").cycles[0];
  CHECK(term.rates.at("bf16") == 2048 * term.factor);
  CHECK(term.rates.at("f16") < 2048 * term.factor);
  // Fitted once more, to its own measurements: factors do not grow, the ranges are those again.
  const std::string once = fit(half.text(), base.dump()).text;
  CHECK(parse_machine(fit(half.text(), once).text, "m").rules.at("gemm").cycles[0].rates ==
        term.rates);
}

TEST_CASE("measurements that the base contradicts are refused") {
  const auto rule = [](const std::string& name, const std::string& part, const std::string& shape,
                       const std::string& cycles, const std::string& more = "") {
    return R"({"rule": ")" + name + R"(", "part": ")" + part + R"(", "shape": )" + shape +
           R"(, "type": "f16", "cycles": )" + cycles + more + "}";
  };
  CHECK(contains(refused(rule("exp3", "cycles", "[64]", "[1]")),
                 "f: /samples/0/rule: found \"exp3\": must be a rule of the base: add, alloc"));
  CHECK(contains(refused(rule("exp2", "latency", "[64]", "[1]")),
                 "f: /samples/0/part: found \"latency\": the base's rule \"exp2\" has none"));
  CHECK(contains(refused(rule("alloc", "cycles", "[64]", "[1]")), "has none of its own"));
  CHECK(contains(refused(rule("gemm", "cycles", "[64, 64]", "[9]")),
                 "f: /samples/0/shape: found 2 dimensions: a matrix product has the shape"));
  CHECK(
      contains(refused(rule("gemm", "cycles", "[64, 64, 64]", "[9]", R"(, "operand_type": "f64")")),
               "/samples/0/operand_type: found \"f64\": the base's rule has no rate for it"));
  CHECK(contains(refused(rule("tma_load", "latency", "[64, 64]", "[700]")),
                 "/samples/0: found 1 of one size: a base and a slope, two unknowns"));
  CHECK(contains(refused(rule("tma_load", "latency", "[64, 64]", "[900]") + "," +
                         rule("tma_load", "latency", "[128, 64]", "[700]")),
                 "the cycles must grow with the work"));
  CHECK(contains(refused(rule("tma_load", "latency", "[64, 64]", "[700, 990]") + "," +
                         rule("tma_load", "latency", "[128, 64]", "[800, 1000]")),
                 "the repetitions differ by more than the work makes"));
  CHECK(contains(refused(rule("tma_load", "latency", "[64, 64]", "[100]") + "," +
                         rule("tma_load", "latency", "[128, 64]", "[300]")),
                 "rules.tma_load.latency.0.factor must be from 1 to 1000000000"));
  CHECK(contains(refused(rule("reduce_max", "cycles", "[64, 64]", "[16]")),
                 "must be more than what the terms that are not fitted take, 16"));
  CHECK(contains(
      refused(rule("tma_load", "cycles", "[64, 64]", "[30]"), builtin_machine("b200-latency")),
      "no number of its cycles can be fitted"));
  CHECK(contains(refused(R"({"channel": "L3", "amount": 1, "cycles": [1]})"),
                 "/samples/0/channel: found \"L3\": must name a channel of the base: SMEM, L2"));
  CHECK(contains(refused(R"({"channel": "L2", "amount": 1, "cycles": [1001]})"),
                 "the rate must be from 1 in 1000 cycles"));
  CHECK(contains(refused(R"({"handover": "registers", "bytes": 128, "cycles": [70]})"),
                 "two unknowns, need samples of two sizes"));
  Json bare = Json::parse(builtin_machine("hopper"));
  bare.erase("spill");
  bare["sources"].erase("spill");
  CHECK(contains(refused(R"({"handover": "memory", "cycles": [70]})", bare.dump()),
                 "/samples/0/handover: the base has no cost of a hand-over"));
  CHECK(contains(refused(rule("read", "cycles", "[64]", "[1]"), kSmallMachine),
                 "b: /version: found 1: ranges need a machine file of version 2"));
}

TEST_CASE("a signal is an arrival at a barrier and the wait for it") {
  const auto fitted = [](const std::vector<double>& cycles, const std::string& base) {
    MeasurementFile file = new_file();
    file.signal(cycles);
    return Json::parse(fit(file.text(), base).text);
  };
  const Json hopper = Json::parse(builtin_machine("hopper"));
  const Json made = fitted({98, 100, 101}, hopper.dump());
  CHECK(made["spill"]["signal"]["nominal"] == 100);
  CHECK(made["barriers"]["wait"] == hopper["barriers"]["wait"]);
  CHECK(made["barriers"]["arrive"] == 70);
  CHECK(contains(made["sources"]["barriers"].get<std::string>(), "without the wait's 30"));
  CHECK(fitted({20}, hopper.dump())["barriers"]["arrive"] == 0);
  Json bare = hopper;
  bare.erase("barriers");
  bare["sources"].erase("barriers");
  CHECK_FALSE(fitted({100}, bare.dump()).contains("barriers"));
}

TEST_CASE("measurement files: what is refused") {
  const Json sample = Json::parse(synthetic(1));
  const auto refused_at = [&](const char* place, const std::string& value,
                              const std::string& rule) {
    Json changed = sample;
    changed[Json::json_pointer(place)] = Json::parse(value);
    const std::string message = refusal_text([&] { parse_measurements(changed.dump(), "f"); });
    CAPTURE(message);
    CHECK(contains(message, std::string("f: ") + place));
    CHECK(contains(message, rule));
  };
  CHECK_NOTHROW(parse_measurements(sample.dump(), "f"));
  refused_at("/format", "\"twill.profile\"", "must be \"twill.measurements\"");
  refused_at("/version", "2", "version 1");
  refused_at("/device", "\"\"", "must not be empty");
  refused_at("/clock_mhz", "0", "from 1 to 1000000");
  for (const char* date : {"\"2026-13-01\"", "\"2026-1-01\"", "\"23.11.2026\"", "\"2026-11-00\""})
    refused_at("/date", date, "must be a date as 2026-11-23");
  refused_at("/samples", "[]", "at least one sample");
  refused_at("/samples/0/cycles", "[]", "at least one repetition");
  refused_at("/samples/0/cycles/0", "0", "must be more than 0");
  refused_at("/samples/0/cycles/0", "-3.5", "must be more than 0");
  refused_at("/samples/0/cycles/0", "1e10", "at most 1000000000");
  refused_at("/samples/0/cycles/0", "\"5\"", "must be a number");
  refused_at("/samples/0/part", "\"width\"", "must be one of: cycles, occupancy, latency");
  refused_at("/samples/0/shape", "[]", "a scalar takes no time");
  refused_at("/samples/0/type", "\"f31\"", "must be one of: f64");
  refused_at("/samples/0/width", "65", "from 1 to 64");
  refused_at("/samples/0/bytes", "1", "unknown key");
}

TEST_CASE("measurements schema and reader know the same keys") {
  const Json schema = Json::parse(builtin_schema("measurements"));
  const std::pair<const char*, Json> samples[] = {
      {"rule",
       {{"rule", "a"},
        {"part", "cycles"},
        {"shape", {1}},
        {"type", "f32"},
        {"operand_type", "f16"},
        {"width", 4},
        {"cycles", {1}},
        {"doc", "d"}}},
      {"channel", {{"channel", "a"}, {"amount", 1}, {"cycles", {1}}, {"doc", "d"}}},
      {"handover", {{"handover", "registers"}, {"bytes", 1}, {"cycles", {1}}, {"doc", "d"}}},
      {"signal", {{"handover", "memory"}, {"cycles", {1}}, {"doc", "d"}}}};
  const Json head = {{"format", "twill.measurements"},
                     {"version", 1},
                     {"doc", "d"},
                     {"device", "d"},
                     {"clock_mhz", 1},
                     {"toolkit", "t"},
                     {"date", "2026-11-23"},
                     {"samples", Json::array()}};
  const auto read = [&](const Json& file) {
    return refusal_text([&] { parse_measurements(file.dump(), "f"); });
  };
  const auto compare = [&](const Json& rules, const Json& file, const std::string& place) {
    CAPTURE(place);
    const Json::json_pointer here(place);
    CHECK(read(file) == "accepted");
    CHECK(rules["additionalProperties"] == false);
    CHECK(rules["properties"].size() == file.at(here).size());
    for (const auto& [key, value] : file.at(here).items()) {
      CHECK(rules["properties"].contains(key));
      Json without = file;
      without.at(here).erase(key);
      const bool required = std::find(rules["required"].begin(), rules["required"].end(), key) !=
                            rules["required"].end();
      CHECK((read(without) == "accepted") == !required);
    }
    Json more = file;
    more.at(here)["surplus"] = 1;
    CHECK(contains(read(more), "unknown key"));
  };
  for (const auto& [name, sample] : samples) {
    Json file = head;
    file["samples"].push_back(sample);
    compare(schema["$defs"][name], file, "/samples/0");
    compare(schema, file, "");
  }
}

TEST_CASE("lines through points: the ends hold every point, an exact line comes back") {
  for (std::uint64_t seed = 1; seed <= 5'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const double base = static_cast<double>(random.range(0, 500));
    const double slope = 0.01 * static_cast<double>(random.range(1, 500));
    const bool exact = seed % 3 == 0;
    std::vector<FitPoint> points;
    const auto count = random.range(2, 8);
    for (std::int64_t k = 0; k < count; ++k) {
      const double x = static_cast<double>(random.range(1, 1000));
      const double y = base + slope * x;
      const auto off = [&] { return exact ? 0 : unit_interval(random) * 0.3 * y; };
      points.push_back({x, y - off(), y, y + off()});
    }
    const bool one_size = std::all_of(points.begin(), points.end(),
                                      [&](const FitPoint& p) { return p.x == points[0].x; });
    const auto line = fit_line(points);
    CHECK(line.has_value() == !one_size);
    if (!line) continue;
    const auto ordered = [](const Estimate& e) {
      return e.low <= e.nominal && e.nominal <= e.high;
    };
    CHECK(ordered(line->base));
    CHECK(ordered(line->slope));
    const double epsilon = 1e-6;
    CHECK(line->slope.low <= slope + epsilon);
    CHECK(line->slope.high >= slope - epsilon);
    CHECK(line->base.low <= base + epsilon);
    CHECK(line->base.high >= base - epsilon);
    for (const FitPoint& p : points) {
      CHECK(line->base.low + line->slope.low * p.x <= p.low + epsilon);
      CHECK(line->base.high + line->slope.high * p.x >= p.high - epsilon);
    }
    if (!exact) continue;
    CHECK(line->base.nominal == doctest::Approx(base).epsilon(1e-6));
    CHECK(line->slope.high - line->slope.low < 1e-6);
  }
  const FitPoint few = fit_point(1, {3, 5, 9}), odd = fit_point(1, {1});
  CHECK((few.low == 3 && few.middle == 5 && few.high == 9));
  CHECK((odd.low == 1 && odd.high == 1));
  std::vector<double> hundred;
  for (int k = 1; k <= 100; ++k) hundred.push_back(k);
  const FitPoint many = fit_point(1, hundred);
  CHECK((many.low == 5 && many.middle == 50.5 && many.high == 96));
}

}  // namespace fit_machine_test
