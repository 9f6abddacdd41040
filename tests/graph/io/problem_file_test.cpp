// Problem files: every refusal with its place, value and rule; round trips; check() on problems
// made in memory.
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "graph/check.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"
#include "tests/support/file_samples.hpp"

namespace problem_file_test {

using namespace twill;
using test::kChannelText;
using test::kProblemText;
using test::refusal;
using Json = nlohmann::ordered_json;

namespace {

struct Case {
  std::string pointer;  ///< of the member of the sample to set; "-POINTER" removes it
  std::string json;     ///< its new value
  std::string place, value, rule;
};

constexpr const char* kCycles = "must be an integer from 0 to 1000000000";
constexpr const char* kAmount = "must be an integer from 0 to 1000000000000";
constexpr const char* kWidth = "must be an integer from 1 to 2147483647";
constexpr const char* kPlain = "must be an integer without fraction or exponent";
constexpr const char* kRootKeys =
    "unknown key; known here: format, version, name, units, memories, warps, ops, edges, "
    "cycle_unit";
constexpr const char* kRootKeys2 =
    "unknown key; known here: format, version, name, units, memories, warps, ops, edges, "
    "cycle_unit, pins";
constexpr const char* kOpKeys =
    "unknown key; known here: id, cycles, kind, reservation, registers, memory, spill, width, "
    "variable_latency, streaming";
constexpr const char* kNotAnOp = "must be the id of an op";
constexpr const char* kCycle = "some distance along a dependence cycle must be positive";

const Case kCases[] = {
    // The file as a whole.
    {"/format", "\"twill.schedule\"", "/format", "\"twill.schedule\"", "must be \"twill.problem\""},
    {"-/format", "", "", "", "required key \"format\" is missing"},
    {"/version", "6", "/version", "6",
     "a newer version of the format; this program reads version 1 to 5"},
    {"/version", "0", "/version", "0", "must be 1 to 5"},
    {"/version", "1.0", "/version", "1.0", kPlain},
    {"/version", "\"1\"", "/version", "\"1\"", "must be an integer"},
    {"/extra", "[1, 2]", "/extra", "an array of 2 values", kRootKeys},
    {"-/name", "", "", "", "required key \"name\" is missing"},
    {"-/units", "", "", "", "required key \"units\" is missing"},
    {"-/memories", "", "", "", "required key \"memories\" is missing"},
    {"-/warps", "", "", "", "required key \"warps\" is missing"},
    {"-/ops", "", "", "", "required key \"ops\" is missing"},
    {"-/edges", "", "", "", "required key \"edges\" is missing"},
    {"/name", "null", "/name", "null", "must be a string"},
    {"/name", "\"a\\u0000b\"", "/name", "\"a\\u0000b\"", "must be UTF-8 text without NUL"},
    {"/cycle_unit", "0", "/cycle_unit", "0.000000", "must be finite and positive"},
    {"/cycle_unit", "-1.5", "/cycle_unit", "-1.500000", "must be finite and positive"},
    {"/cycle_unit", "true", "/cycle_unit", "true", "must be a number"},
    // Units and memories.
    {"/units", "[]", "/units", "an array of 0 values", "must be an object"},
    {"/units/TC", "0", "/units/TC", "0", "must be an integer from 1 to 1000000000000"},
    {"/units/TC", "1e3", "/units/TC", "1e3", kPlain},
    {"/units/TC", "1000000000001", "/units/TC", "1000000000001",
     "must be an integer from 1 to 1000000000000"},
    {"/units/", "1", "/units/", "\"\"", "unit names must not be empty"},
    {"/memories/smem", "-1", "/memories/smem", "-1", kAmount},
    {"/memories/a~1b~0c", "\"x\"", "/memories/a~1b~0c", "\"x\"", "must be an integer"},
    {"/memories/", "1", "/memories/", "\"\"", "memory names must not be empty"},
    {"/memories/smem", "9223372036854775808", "/memories/smem", "9223372036854775808", kAmount},
    {"/memories/smem", "18446744073709551616", "/memories/smem", "18446744073709551616", kPlain},
    // Slots.
    {"/warps", "[]", "/warps", "an empty array", "must have at least one slot"},
    {"/warps", "{}", "/warps", "an object", "must be an array"},
    {"/warps/0", "7", "/warps/0", "7", "must be an object"},
    {"-/warps/0/width", "", "/warps/0", "", "required key \"width\" is missing"},
    {"-/warps/0/registers", "", "/warps/0", "", "required key \"registers\" is missing"},
    {"-/warps/1/name", "", "/warps/1", "", "required key \"name\" is missing"},
    {"/warps/1/name", "\"load\"", "/warps/1/name", "\"load\"", "slot names must be unique"},
    {"/warps/1/name", "\"\"", "/warps/1/name", "\"\"", "slot names must not be empty"},
    {"/warps/1/width", "0", "/warps/1/width", "0", kWidth},
    {"/warps/1/width", "2147483648", "/warps/1/width", "2147483648", kWidth},
    {"/warps/1/registers", "-8", "/warps/1/registers", "-8", kAmount},
    {"/warps/1/regs", "8", "/warps/1/regs", "8",
     "unknown key; known here: name, width, registers, variable_latency"},
    {"/warps/1/variable_latency", "1", "/warps/1/variable_latency", "1", "must be true or false"},
    {"/warps/1/variable_latency", "true", "/warps/1/variable_latency", "true",
     "at most one slot may be variable_latency, and \"load\" is"},
    // Ops.
    {"-/ops/1/cycles", "", "/ops/1", "", "required key \"cycles\" is missing"},
    {"-/ops/1/id", "", "/ops/1", "", "required key \"id\" is missing"},
    {"/ops/1/doc", "{}", "/ops/1/doc", "an object", kOpKeys},
    {"/ops/2/id", "\"S\"", "/ops/2/id", "\"S\"", "op ids must be unique"},
    {"/ops/3/id", "3", "/ops/3/id", "3", "must be a string"},
    {"/ops/1/kind", "false", "/ops/1/kind", "false", "must be a string"},
    {"/ops/1/cycles", "-1", "/ops/1/cycles", "-1", kCycles},
    {"/ops/1/cycles", "1000000001", "/ops/1/cycles", "1000000001", kCycles},
    {"/ops/1/cycles", "4.0", "/ops/1/cycles", "4.0", kPlain},
    {"/ops/1/cycles", "4E0", "/ops/1/cycles", "4E0", kPlain},
    {"/ops/1/registers", "-1", "/ops/1/registers", "-1", kAmount},
    {"/ops/1/spill", "1000000001", "/ops/1/spill", "1000000001", kCycles},
    {"/ops/1/spill", "-1", "/ops/1/spill", "-1", kCycles},
    {"/ops/1/width", "0", "/ops/1/width", "0", kWidth},
    {"/ops/1/variable_latency", "\"no\"", "/ops/1/variable_latency", "\"no\"",
     "must be true or false"},
    {"/ops/1/memory", "{\"tmem\": 1}", "/ops/1/memory/tmem", "1",
     "the key must name a memory of this problem"},
    {"/ops/1/memory", "{\"smem\": -1}", "/ops/1/memory/smem", "-1", kAmount},
    {"/ops/1/memory", "[]", "/ops/1/memory", "an array of 0 values", "must be an object"},
    // Reservations.
    {"/ops/1/reservation", "{\"ALU\": []}", "/ops/1/reservation/ALU", "an array of 0 values",
     "the key must name a unit of this problem"},
    {"/ops/1/reservation/TC", "[[0, 1]]", "/ops/1/reservation/TC/0", "an array of 2 values",
     "must be an array of 3 values"},
    {"/ops/1/reservation/TC", "[[0, 1, 1, 1]]", "/ops/1/reservation/TC/0", "an array of 4 values",
     "must be an array of 3 values"},
    {"/ops/1/reservation/TC", "[3]", "/ops/1/reservation/TC/0", "3",
     "must be an array of 3 values"},
    {"/ops/1/reservation/TC", "{}", "/ops/1/reservation/TC", "an object", "must be an array"},
    {"/ops/1/reservation/TC/1/0", "-1", "/ops/1/reservation/TC/1/0", "-1", kCycles},
    {"/ops/1/reservation/TC/1/1", "0", "/ops/1/reservation/TC/1/1", "0",
     "must be an integer from 1 to 1000000000"},
    {"/ops/1/reservation/TC/1/2", "0", "/ops/1/reservation/TC/1/2", "0",
     "must be an integer from 1 to 1000000000000"},
    {"/ops/1/reservation/TC/1/2", "3", "/ops/1/reservation/TC/1/2", "3",
     "must be an integer from 1 to 2"},
    {"/ops/1/reservation/TC/1", "[2, 3, 1]", "/ops/1/reservation/TC/1", "[2, 3, 1]",
     "offset + length must be at most the op's cycles, 4"},
    {"/ops/1/reservation/TC/1", "[1000000000, 1000000000, 1]", "/ops/1/reservation/TC/1",
     "[1000000000, 1000000000, 1]", "offset + length must be at most the op's cycles, 4"},
    {"/ops/3/reservation", "{\"TC\": [[0, 1, 1]]}", "/ops/3/reservation/TC/0", "[0, 1, 1]",
     "a zero-cycle op must have no reservation"},
    {"/ops/1/reservation/TC/0/2", "2", "/ops/1/reservation/TC", "3",
     "the op's segments that overlap at offset 1 must sum to at most the capacity, 2"},
    // Streaming ops.
    {"/ops/0/variable_latency", "false", "/ops/0/streaming", "true",
     "a streaming op must be variable_latency"},
    {"/ops/0/cycles", "1", "/ops/0/cycles", "1", "a streaming op must have 0 cycles"},
    {"/ops/0/reservation", "{\"TC\": [[0, 1, 1]]}", "/ops/0/reservation/TC/0", "[0, 1, 1]",
     "a zero-cycle op must have no reservation"},
    {"/edges/3/to", "\"ld\"", "/edges/3/to", "\"ld\"", "a streaming op must have no incoming edge"},
    {"/edges/0/delay", "5", "/edges/0/delay", "5",
     "the outgoing delays of a streaming op must be 0"},
    // Edges.
    {"/edges", "null", "/edges", "null", "must be an array"},
    {"-/edges/1/from", "", "/edges/1", "", "required key \"from\" is missing"},
    {"-/edges/1/to", "", "/edges/1", "", "required key \"to\" is missing"},
    {"-/edges/1/delay", "", "/edges/1", "", "required key \"delay\" is missing"},
    {"-/edges/1/distance", "", "/edges/1", "", "required key \"distance\" is missing"},
    {"/edges/1/weight", "0", "/edges/1/weight", "0",
     "unknown key; known here: from, to, delay, distance, blocking, hold"},
    {"/edges/1/from", "\"T\"", "/edges/1/from", "\"T\"", kNotAnOp},
    {"/edges/1/to", "\"\"", "/edges/1/to", "\"\"", kNotAnOp},
    {"/edges/1/to", "2", "/edges/1/to", "2", "must be a string"},
    {"/edges/1/delay", "-1", "/edges/1/delay", "-1", kCycles},
    {"/edges/1/delay", "1000000001", "/edges/1/delay", "1000000001", kCycles},
    {"/edges/1/distance", "-1", "/edges/1/distance", "-1", "must be an integer from 0 to 10000"},
    {"/edges/1/distance", "10001", "/edges/1/distance", "10001",
     "must be an integer from 0 to 10000"},
    {"/edges/1/hold", "-1", "/edges/1/hold", "-1", kCycles},
    {"/edges/1/blocking", "0", "/edges/1/blocking", "0", "must be true or false"},
    // Cycles whose distances are all 0.
    {"/edges/2/distance", "0", "/edges/2/distance", "0 around S -> P -> S", kCycle},
    {"/edges/1/to", "\"S\"", "/edges/1/distance", "0 around S -> S", kCycle},
};

constexpr const char* kRate = "must be an integer from 1 to 1000000000000";
constexpr const char* kFraction = "must be an integer, or [numerator, denominator] for a fraction";
constexpr const char* kOpKeys4 =
    "unknown key; known here: id, cycles, kind, reservation, registers, memory, spill, width, "
    "variable_latency, streaming, in_flight, traffic";

// Rules 9 and 10, on kChannelText. Its ops: 0 in flight, 1 streaming, 2 neither.
const Case kChannelCases[] = {
    // Channels.
    {"/channels", "[]", "/channels", "an array of 0 values", "must be an object"},
    {"/channels/L2", "0", "/channels/L2", "0", kRate},
    {"/channels/L2", "-1", "/channels/L2", "-1", kRate},
    {"/channels/L2", "1000000000001", "/channels/L2", "1000000000001", kRate},
    {"/channels/L2", "3.5", "/channels/L2", "3.5", kFraction},
    {"/channels/L2", "\"64\"", "/channels/L2", "\"64\"", kFraction},
    {"/channels/L2", "{}", "/channels/L2", "an object", kFraction},
    {"/channels/L2", "[]", "/channels/L2", "an array of 0 values", "must be an array of 2 values"},
    {"/channels/L2", "[64]", "/channels/L2", "an array of 1 values",
     "must be an array of 2 values"},
    {"/channels/L2", "[1, 2, 3]", "/channels/L2", "an array of 3 values",
     "must be an array of 2 values"},
    {"/channels/L2", "[1, 0]", "/channels/L2/1", "0", kRate},
    {"/channels/L2", "[0, 1]", "/channels/L2/0", "0", kRate},
    {"/channels/L2", "[-7, -2]", "/channels/L2/0", "-7", kRate},
    {"/channels/L2", "[1, 1000000000001]", "/channels/L2/1", "1000000000001", kRate},
    {"/channels/L2", "[1, 2.0]", "/channels/L2/1", "2.0", kPlain},
    {"/channels/", "1", "/channels/", "\"\"", "channel names must not be empty"},
    {"-/channels", "", "/ops/0/traffic/L2", "128", "the key must name a channel of this problem"},
    {"-/channels/L2", "", "/ops/0/traffic/L2", "128",
     "the key must name a channel of this problem"},
    // Traffic.
    {"/ops/2/traffic", "{\"L3\": 1}", "/ops/2/traffic/L3", "1",
     "the key must name a channel of this problem"},
    {"/ops/2/traffic", "{\"TC\": 1}", "/ops/2/traffic/TC", "1",
     "the key must name a channel of this problem"},
    {"/ops/2/traffic", "[]", "/ops/2/traffic", "an array of 0 values", "must be an object"},
    {"/ops/2/traffic/L2", "-1", "/ops/2/traffic/L2", "-1", kAmount},
    {"/ops/2/traffic/L2", "[-1, 2]", "/ops/2/traffic/L2/0", "-1", kAmount},
    {"/ops/2/traffic/L2", "[1, 0]", "/ops/2/traffic/L2/1", "0", kRate},
    {"/ops/2/traffic/L2", "[1, 2, 3]", "/ops/2/traffic/L2", "an array of 3 values",
     "must be an array of 2 values"},
    {"/ops/2/traffic/L2", "true", "/ops/2/traffic/L2", "true", kFraction},
    {"/ops/2/traffic/L2", "64000000001", "/ops/2/traffic/L2", "64000000001",
     "must take at most 1000000000 cycles at 64 a cycle"},
    {"/ops/2/traffic/a~1b~0c", "[7000000001, 2]", "/ops/2/traffic/a~1b~0c", "7000000001/2",
     "must take at most 1000000000 cycles at 7/2 a cycle"},
    {"/ops/2/traffic/a~1b~0c", "1000000000000", "/ops/2/traffic/a~1b~0c", "1000000000000",
     "must take at most 1000000000 cycles at 7/2 a cycle"},
    {"/ops/2/bytes", "1", "/ops/2/bytes", "1", kOpKeys4},
    // Loads in flight.
    {"/ops/0/in_flight", "1", "/ops/0/in_flight", "1", "must be true or false"},
    {"/ops/0/streaming", "true", "/ops/0/in_flight", "true",
     "an op in flight must not be streaming as well"},
    {"/ops/0/variable_latency", "false", "/ops/0/in_flight", "true",
     "an op in flight must be variable_latency"},
    {"/ops/2/in_flight", "true", "/ops/2/in_flight", "true",
     "an op in flight must be variable_latency"},
    {"/ops/0/cycles", "1", "/ops/0/cycles", "1", "an op in flight must have 0 cycles"},
    {"/ops/0/reservation", "{\"TC\": [[0, 1, 1]]}", "/ops/0/reservation/TC/0", "[0, 1, 1]",
     "a zero-cycle op must have no reservation"},
    {"/edges/1/to", "\"ld\"", "/edges/1/to", "\"ld\"",
     "an op in flight must have no incoming edge"},
    // Keys that older versions do not have.
    {"/version", "3", "/channels", "an object", kRootKeys2},
    {"/version", "1", "/channels", "an object", kRootKeys},
};

/// The sample with one member set or removed. The value is spliced in as text, so that what the
/// JSON library would rewrite (1e3, 4.0) reaches the reader as written.
std::string edited(const Case& c, const std::string& sample = kProblemText) {
  Json file = Json::parse(sample);
  if (c.pointer[0] == '-') {
    const Json::json_pointer place(c.pointer.substr(1));
    file[place.parent_pointer()].erase(place.back());
    return file.dump();
  }
  file[Json::json_pointer(c.pointer)] = "@HERE@";
  std::string text = file.dump();
  return text.replace(text.find("\"@HERE@\""), 8, c.json);
}

Problem sample() {
  return parse_problem(kProblemText);
}

}  // namespace

TEST_CASE("problem files: every refusal names the place, the value and the rule") {
  static_assert(std::size(kCases) >= 50);
  for (const Case& c : kCases) {
    CAPTURE(c.pointer);
    CAPTURE(c.json);
    const InputError error = refusal([&] { parse_problem(edited(c), "p.json"); });
    CHECK(error.file() == "p.json");
    CHECK(error.place() == c.place);
    CHECK(error.value() == c.value);
    CHECK(error.rule() == c.rule);
  }
  const InputError error = refusal([] {
    parse_problem(edited({"/edges/1/delay", "-1", "", "", ""}), "p.json");
  });
  CHECK(error.what() ==
        std::string("p.json: /edges/1/delay: found -1: must be an integer from 0 to 1000000000"));
}

TEST_CASE("problem files: channels, traffic and flight are refused with place, value and rule") {
  for (const Case& c : kChannelCases) {
    CAPTURE(c.pointer);
    CAPTURE(c.json);
    const InputError error = refusal([&] { parse_problem(edited(c, kChannelText), "p.json"); });
    CHECK(error.file() == "p.json");
    CHECK(error.place() == c.place);
    CHECK(error.value() == c.value);
    CHECK(error.rule() == c.rule);
  }
  // Of an op alone, too: below version 4 its keys are unknown.
  for (const char* key : {"in_flight", "traffic"}) {
    Json file = Json::parse(kProblemText);
    file["ops"][0][key] = true;
    for (const int version : {1, 2, 3}) {
      file["version"] = version;
      const InputError error = refusal([&] { parse_problem(file.dump(), "p.json"); });
      CHECK(error.place() == std::string("/ops/0/") + key);
      CHECK(error.rule() == kOpKeys);
    }
  }
  // A name twice is not one name with two values.
  std::string twice = kChannelText;
  twice.replace(twice.find("\"L2\": 64"), 8, "\"L2\": 64, \"L2\": 64");
  CHECK(refusal([&] { parse_problem(twice, "p.json"); }).place() == "/channels/L2");
  std::string more = kChannelText;
  std::string many = "\"c\": 1";
  for (int c = 0; c < kMaxChannels; ++c) many += ", \"c" + std::to_string(c) + "\": 1";
  more.replace(more.find("\"L2\": 64"), 8, many + ", \"L2\": 64");
  CHECK(refusal([&] { parse_problem(more, "p.json"); }).place() == "/channels");
}

TEST_CASE("problem files: channels, traffic and flight") {
  const Problem problem = parse_problem(kChannelText);
  CHECK(problem.channels == std::vector<Channel>{{"L2", {64, 1}}, {"a/b~c", {7, 2}}});
  CHECK(problem.ops[0].in_flight);
  CHECK(problem.ops[0].fills_ring());
  CHECK_FALSE(problem.ops[1].in_flight);
  CHECK(problem.ops[1].fills_ring());
  CHECK_FALSE(problem.ops[2].fills_ring());
  CHECK(problem.ops[0].traffic == std::vector<Traffic>{{0, {128, 1}}});
  CHECK(problem.ops[1].traffic == std::vector<Traffic>{{0, {1, 3}}, {1, {0, 1}}});
  CHECK(problem.ops[2].traffic == std::vector<Traffic>{{1, {21, 2}}});
  CHECK(problem.edges[0].delay == 500);
  CHECK(problem_text(problem) == kChannelText);

  // Fractions are read in lowest terms, whatever the file has.
  for (const auto& [json, rate] : {std::pair{"[14, 4]", Fraction{7, 2}},
                                   {"[6, 3]", Fraction{2, 1}},
                                   {"[1000000000000, 1000000000000]", Fraction{1, 1}},
                                   {"[1, 1000000000000]", Fraction{1, 1'000'000'000'000}}}) {
    Json file = Json::parse(kChannelText);
    file["ops"][2].erase("traffic");
    file["ops"][1].erase("traffic");
    file["channels"]["a/b~c"] = Json::parse(json);
    CHECK(parse_problem(file.dump()).channels[1].rate == rate);
  }
  // What is at a limit.
  for (const auto& [pointer, json] : {std::pair{"/ops/2/traffic/L2", "64000000000"},
                                      {"/ops/2/traffic/a~1b~0c", "[7000000000, 2]"},
                                      {"/ops/2/traffic/L2", "0"},
                                      {"/ops/2/traffic/L2", "[1, 1000000000000]"},
                                      {"/channels/L2", "1000000000000"},
                                      {"/ops/2/in_flight", "false"},
                                      {"/ops/2/traffic", "{}"},
                                      {"/edges/0/delay", "1000000000"}}) {
    CAPTURE(pointer);
    CHECK_NOTHROW(parse_problem(edited({pointer, json, "", "", ""}, kChannelText)));
  }
}

TEST_CASE("problem files: inner loops, and how they are refused") {
  Json file = Json::parse(kProblemText);
  const auto part = [&](const char* id) {
    return std::ranges::find_if(file["ops"], [&](const Json& op) { return op["id"] == id; });
  };
  REQUIRE(part("S") != file["ops"].end());
  REQUIRE(part("P") != file["ops"].end());
  file["version"] = 5;
  const std::string slot = file["warps"][1]["name"];
  file["pins"] = Json::array({{{"op", "S"}, {"warp", slot}}});
  (*part("P"))["cycles"] = 0;
  (*part("P"))["reservation"] = Json::object();
  const Json loop = {{"name", "k"}, {"parts", {{"S", 0}, {"P", 7}}}};
  file["inner_loops"] = Json::array({loop});
  const Problem problem = parse_problem(file.dump());
  REQUIRE(problem.inner_loops.size() == 1);
  CHECK(problem.inner_loops[0].name == "k");
  REQUIRE(problem.inner_loops[0].parts.size() == 2);
  CHECK(problem.inner_loops[0].parts[1].offset == 7);
  CHECK(parse_problem(problem_text(problem)) == problem);
  CHECK(Json::parse(problem_text(problem)).at("version") == 5);

  const auto refused = [&](const Json& loops, const std::string& place, const std::string& rule) {
    Json wrong = file;
    wrong["inner_loops"] = loops;
    const InputError error = refusal([&] { parse_problem(wrong.dump(), "p.json"); });
    CHECK(error.place() == place);
    CHECK(error.rule() == rule);
  };
  const auto with = [&](const char* key, const Json& value) {
    Json changed = loop;
    changed[key] = value;
    return Json::array({changed});
  };
  refused(with("name", ""), "/inner_loops/0/name", "inner loops must not be empty");
  refused(with("parts", Json::object()), "/inner_loops/0/parts", "must have at least one part");
  refused(with("parts", {{"S", 1}, {"P", 7}}), "/inner_loops/0/parts",
          "the smallest offset must be 0");
  refused(with("parts", {{"T", 0}}), "/inner_loops/0/parts/T",
          "the key must name an op of this problem");
  refused(with("parts", {{"S", -1}}), "/inner_loops/0/parts/S", kCycles);
  refused(with("surplus", 1), "/inner_loops/0/surplus", "unknown key; known here: name, parts");
  refused(Json::array({loop, loop}), "/inner_loops/1/name", "inner loops must be unique");
  refused(Json::array({loop, {{"name", "j"}, {"parts", {{"P", 0}}}}}), "/inner_loops/1/parts/P",
          "an op may be part of one inner loop");
  Json loose = file;
  loose["pins"] = Json::array();
  CHECK(refusal([&] { parse_problem(loose.dump()); }).rule() ==
        "a part with cycles must be pinned to a slot");
  loose["pins"] = {{{"op", "S"}, {"warp", slot}}, {{"op", "P"}, {"cycle", 3}}};
  CHECK(refusal([&] { parse_problem(loose.dump()); }).rule() ==
        "must not stand beside a pin to a cycle or a stage: remove one of the two");
  loose = file;
  loose["version"] = 4;
  CHECK(refusal([&] { parse_problem(loose.dump()); }).place() == "/inner_loops");
}

TEST_CASE("problem files: stages, other slots, spills of edges, a range of I") {
  Json file = Json::parse(kProblemText);
  file["version"] = 5;
  file["pins"] = {{{"op", "S"}, {"stage", 1}}, {{"op", "S"}, {"other_warp_than", "P"}}};
  file["edges"][0]["spill"] = 7;
  file["initiation_interval"] = {{"least", 3}, {"most", 12}};
  const Problem problem = parse_problem(file.dump());
  REQUIRE(problem.pins.size() == 2);
  CHECK(pin_text(problem, problem.pins[0]) == "S in stage 1");
  CHECK(pin_text(problem, problem.pins[1]) == "S not on the slot of P");
  CHECK(problem.edges[0].spill == 7);
  CHECK(spill_of(problem, problem.edges[0]) == 7);
  CHECK_FALSE(problem.edges[1].spill.has_value());
  CHECK(spill_of(problem, problem.edges[1]) ==
        problem.ops[static_cast<std::size_t>(problem.edges[1].from)].spill);
  CHECK(problem.interval == IntervalRange{3, 12});
  CHECK(parse_problem(problem_text(problem)) == problem);

  // Each alone is written as version 5, and refused before.
  const auto alone = [&](const Json& pins, bool spill, const Json& range) {
    Json one = Json::parse(kProblemText);
    one["version"] = 5;
    if (!pins.empty()) one["pins"] = pins;
    if (spill) one["edges"][0]["spill"] = 0;
    if (!range.empty()) one["initiation_interval"] = range;
    const Problem read = parse_problem(one.dump());
    CHECK(Json::parse(problem_text(read)).at("version") == 5);
    CHECK(parse_problem(problem_text(read)) == read);
    one["version"] = 4;
    return refusal([&] { parse_problem(one.dump()); }).place();
  };
  CHECK(alone(Json::array({file["pins"][0]}), false, {}) == "/pins/0/stage");
  CHECK(alone(Json::array({file["pins"][1]}), false, {}) == "/pins/0/other_warp_than");
  CHECK(alone({}, true, {}) == "/edges/0/spill");
  CHECK(alone({}, false, {{"least", 2}}) == "/initiation_interval");
  CHECK(alone({}, false, {{"most", 2}}) == "/initiation_interval");

  const auto refused = [&](const char* pointer, const Json& value, const std::string& place,
                           const std::string& rule) {
    Json wrong = file;
    wrong[Json::json_pointer(pointer)] = value;
    const InputError error = refusal([&] { parse_problem(wrong.dump(), "p.json"); });
    CHECK(error.place() == place);
    CHECK(error.rule() == rule);
  };
  refused("/pins/0/stage", 10'001, "/pins/0/stage", "must be an integer from 0 to 10000");
  refused("/pins/1/other_warp_than", "S", "/pins/1/other_warp_than", "must be another op");
  refused("/pins/1", {{"op", "S"}, {"stage", 0}}, "/pins/1/op", "an op may be pinned to one stage");
  refused("/edges/0/spill", -1, "/edges/0/spill", kCycles);
  refused("/initiation_interval/most", 2, "/initiation_interval/most",
          "must be an integer from 3 to 10000000000000");
  refused("/initiation_interval/least", 0, "/initiation_interval/least",
          "must be an integer from 1 to 10000000000000");
}

TEST_CASE("problem files: the oldest version that can say it is written") {
  const auto version = [](const Problem& problem) {
    return Json::parse(problem_text(problem)).at("version").get<int>();
  };
  Problem problem = sample();
  CHECK(version(problem) == 1);
  problem.pins.push_back({Pin::on_slot, 1, 1, -1, -1});
  CHECK(version(problem) == 2);
  problem.memories[0].rings = true;
  CHECK(version(problem) == 3);
  problem.channels.push_back({"L2", {1, 1}});
  CHECK(version(problem) == 4);
  problem.channels.clear();
  problem.ops[0].streaming = false;
  problem.ops[0].in_flight = true;
  CHECK(version(problem) == 4);
  CHECK(parse_problem(problem_text(problem)) == problem);
  // Without pins and rings as well: 4 does not need what 2 and 3 added.
  problem.pins.clear();
  problem.memories[0].rings = false;
  CHECK(version(problem) == 4);
  CHECK(parse_problem(problem_text(problem)) == problem);
  // A file of version 4 that says nothing new is written as version 1, to the byte.
  std::string newer = kProblemText;
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 4");
  CHECK(problem_text(parse_problem(newer)) == kProblemText);
  newer.replace(newer.find("\"warps\""), 7, "\"channels\": {}, \"warps\"");
  CHECK(problem_text(parse_problem(newer)) == kProblemText);
}

TEST_CASE("problem files: what is at a limit is accepted") {
  const std::pair<const char*, const char*> accepted[] = {
      {"/name", "\"\""},
      {"/cycle_unit", "1"},
      {"/cycle_unit", "1e-300"},
      {"/units/TC", "1000000000000"},
      {"/memories/smem", "0"},
      {"/warps/1/width", "2147483647"},
      {"/warps/1/registers", "0"},
      {"/warps/1/variable_latency", "false"},
      {"/ops/1/cycles", "1000000000"},
      {"/ops/1/spill", "1000000000"},
      {"/ops/1/registers", "1000000000000"},
      {"/ops/1/reservation/TC", "[[0, 4, 2]]"},
      {"/ops/1/reservation/TC", "[[0, 2, 2], [2, 2, 2]]"},
      {"/ops/3/reservation", "{\"TC\": []}"},
      {"/edges/1/delay", "1000000000"},
      {"/edges/1/delay", "-0"},
      {"/edges/1/distance", "10000"},
      {"/edges", "[]"},
  };
  for (const auto& [pointer, json] : accepted) {
    CAPTURE(pointer);
    CAPTURE(json);
    CHECK_NOTHROW(parse_problem(edited({pointer, json, "", "", ""})));
  }
}

TEST_CASE("problem files: fields, defaults and optional keys") {
  const Problem full = sample();
  CHECK(full.name == "sample");
  CHECK(full.cycle_unit == 2.5);
  CHECK(full.units == std::vector<Unit>{{"TC", 2}, {"SFU", 1}});
  CHECK(full.memories == std::vector<Memory>{{"smem", 1000}, {"a/b~c", 0}});
  CHECK(full.warps == std::vector<WarpSlot>{{"load", 1, 24, true}, {"wg0", 4, 216, false}});
  REQUIRE(full.ops.size() == 4);
  CHECK(full.ops[0] == Op{"ld", "tma_load", 0, {}, 0, {{0, 128}, {1, 0}}, 0, 1, true, true});
  CHECK(full.ops[1] ==
        Op{"S", "mma", 4, {{0, 0, 2, 1}, {0, 1, 3, 1}, {1, 3, 1, 1}}, 64, {}, 7, 4, false, false});
  REQUIRE(full.edges.size() == 4);
  CHECK(full.edges[0] == Edge{0, 1, 0, 0, true, 4});
  CHECK(full.edges[2] == Edge{2, 1, 3, 1, false, 0});

  const Problem least = parse_problem(
      R"({"ops": [{"cycles": 3, "id": "a"}], "edges": [{"to": "a", "from": "a", "distance": 1,
          "delay": 2}], "warps": [{"name": "w", "registers": 5, "width": 1}], "memories": {},
          "units": {}, "name": "least", "version": 1, "format": "twill.problem"})");
  Problem expected;
  expected.name = "least";
  expected.warps = {{"w", 1, 5, false}};
  expected.ops = {{"a", "", 3, {}, 0, {}, 0, 1, false, false}};
  expected.edges = {{0, 0, 2, 1, false, 0}};
  CHECK(least == expected);
  CHECK(least.cycle_unit == 1.0);
}

TEST_CASE("problem files: the canonical text") {
  CHECK(problem_text(sample()) == kProblemText);
  CHECK(parse_problem(problem_text(sample())) == sample());
  // Segments that are not grouped by unit are written grouped.
  Problem mixed = sample();
  std::swap(mixed.ops[1].reservations[1], mixed.ops[1].reservations[2]);
  CHECK(problem_text(mixed) == kProblemText);
  for (const double unit : {0.1, 1.0 / 3, 5e-324, 1e300, 123456789.0}) {
    Problem other = sample();
    other.cycle_unit = unit;
    CHECK(parse_problem(problem_text(other)) == other);
  }
  Problem broken = sample();
  broken.name = "\xff";
  CHECK(refusal([&] { problem_text(broken); }).rule() == "names and texts must be valid UTF-8");
}

TEST_CASE("problem files: the examples are read and written as they are") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TWILL_TEST_DATA "/examples")) {
    const std::string path = entry.path().string();
    if (path.find(".problem.json") == path.npos) continue;
    CAPTURE(path);
    ++count;
    const Problem problem = read_problem(path);
    const std::string text = problem_text(problem);
    CHECK(parse_problem(text) == problem);
    // Same keys and values; the layout of the examples is another one (indent 1, no last newline).
    CHECK(nlohmann::json::parse(text) == nlohmann::json::parse(read_file(path)));
    // Same key order too, but for one example, whose ops have another.
    if (problem.name != "gap") CHECK(Json::parse(text).dump(1) == read_file(path));
  }
  CHECK(count == 7);
}

TEST_CASE("check: problems made in memory") {
  const auto refused = [](auto&& edit) {
    Problem problem = sample();
    edit(problem);
    return refusal([&] { check(problem, "memory"); });
  };
  struct {
    InputError error;
    std::string place, value, rule;
  } const cases[] = {
      {refused([](Problem& p) { p.cycle_unit = std::numeric_limits<double>::quiet_NaN(); }),
       "/cycle_unit", "nan", "must be finite and positive"},
      {refused([](Problem& p) { p.cycle_unit = std::numeric_limits<double>::infinity(); }),
       "/cycle_unit", "inf", "must be finite and positive"},
      {refused([](Problem& p) { p.units[1].name = "TC"; }), "/units/TC", "\"TC\"",
       "unit names must be unique"},
      {refused([](Problem& p) { p.units[1].capacity = 0; }), "/units/SFU", "0",
       "must be an integer from 1 to 1000000000000"},
      {refused([](Problem& p) { p.memories[1].name = "smem"; }), "/memories/smem", "\"smem\"",
       "memory names must be unique"},
      {refused([](Problem& p) { p.memories[0].capacity = -1; }), "/memories/smem", "-1", kAmount},
      {refused([](Problem& p) { p.warps[0].width = -4; }), "/warps/0/width", "-4", kWidth},
      {refused([](Problem& p) { p.warps[0].registers = kMaxAmount + 1; }), "/warps/0/registers",
       "1000000000001", kAmount},
      {refused([](Problem& p) { p.ops.clear(); }), "/ops", "an empty array",
       "must have at least one op"},
      {refused([](Problem& p) { p.ops[1].id = "\xc0\x80"; }), "/ops/1/id", "\"??\"",
       "must be UTF-8 text without NUL"},
      {refused([](Problem& p) { p.ops[1].kind = "\xff"; }), "/ops/1/kind", "\"?\"",
       "must be UTF-8 text without NUL"},
      {refused([](Problem& p) { p.ops[1].cycles = kMaxCycles + 1; }), "/ops/1/cycles", "1000000001",
       kCycles},
      {refused([](Problem& p) { p.ops[1].registers = -1; }), "/ops/1/registers", "-1", kAmount},
      {refused([](Problem& p) { p.ops[1].spill = -1; }), "/ops/1/spill", "-1", kCycles},
      {refused([](Problem& p) { p.ops[1].width = 0; }), "/ops/1/width", "0", kWidth},
      {refused([](Problem& p) { p.ops[1].reservations[0].unit = 2; }), "/ops/1/reservation", "2",
       "must be the index of a unit"},
      {refused([](Problem& p) { p.ops[1].reservations[0].unit = -1; }), "/ops/1/reservation", "-1",
       "must be the index of a unit"},
      {refused([](Problem& p) { p.ops[1].reservations[2].offset = -1; }),
       "/ops/1/reservation/SFU/0/0", "-1", kCycles},
      {refused(
           [](Problem& p) { p.ops[1].reservations[2].length = std::numeric_limits<Cycle>::max(); }),
       "/ops/1/reservation/SFU/0/1", "9223372036854775807",
       "must be an integer from 1 to 1000000000"},
      {refused([](Problem& p) { p.ops[0].footprints[0].memory = 2; }), "/ops/0/memory", "2",
       "must be the index of a memory"},
      {refused([](Problem& p) { p.ops[0].footprints[1].memory = 0; }), "/ops/0/memory/smem", "0",
       "one footprint per memory"},
      {refused([](Problem& p) { p.ops[0].footprints[0].amount = -1; }), "/ops/0/memory/smem", "-1",
       kAmount},
      {refused([](Problem& p) { p.edges[0].from = -1; }), "/edges/0/from", "-1",
       "must be the index of an op"},
      {refused([](Problem& p) { p.edges[3].to = 4; }), "/edges/3/to", "4",
       "must be the index of an op"},
      {refused([](Problem& p) { p.edges[1].distance = kMaxDistance + 1; }), "/edges/1/distance",
       "10001", "must be an integer from 0 to 10000"},
      {refused([](Problem& p) { p.edges[1].hold = kMaxCycles + 1; }), "/edges/1/hold", "1000000001",
       kCycles},
  };
  for (const auto& c : cases) {
    CAPTURE(c.place);
    CHECK(c.error.file() == "memory");
    CHECK(c.error.place() == c.place);
    CHECK(c.error.value() == c.value);
    CHECK(c.error.rule() == c.rule);
  }
  CHECK_NOTHROW(check(sample()));
}

TEST_CASE("check: channels and flight made in memory") {
  const auto refused = [](auto&& edit) {
    Problem problem = parse_problem(kChannelText);
    edit(problem);
    return refusal([&] { check(problem, "memory"); });
  };
  struct {
    InputError error;
    std::string place, value, rule;
  } const cases[] = {
      {refused([](Problem& p) { p.channels[1].name = "L2"; }), "/channels/L2", "\"L2\"",
       "channel names must be unique"},
      {refused([](Problem& p) { p.channels[1].name = "\xff"; }), "/channels/?", "\"?\"",
       "must be UTF-8 text without NUL"},
      {refused([](Problem& p) {
         p.channels[0].rate = {0, 1};
       }),
       "/channels/L2", "0", kRate},
      {refused([](Problem& p) {
         p.channels[0].rate = {0, 2};
       }),
       "/channels/L2/0", "0", kRate},
      {refused([](Problem& p) {
         p.channels[0].rate = {1, 0};
       }),
       "/channels/L2/1", "0", kRate},
      {refused([](Problem& p) {
         p.channels[0].rate = {1, -3};
       }),
       "/channels/L2/1", "-3", kRate},
      {refused([](Problem& p) { p.ops[0].traffic[0].channel = 2; }), "/ops/0/traffic", "2",
       "must be the index of a channel"},
      {refused([](Problem& p) { p.ops[0].traffic[0].channel = -1; }), "/ops/0/traffic", "-1",
       "must be the index of a channel"},
      {refused([](Problem& p) { p.ops[1].traffic[1].channel = 0; }), "/ops/1/traffic/L2", "0",
       "one amount per channel"},
      {refused([](Problem& p) {
         p.ops[0].traffic[0].amount = {-1, 1};
       }),
       "/ops/0/traffic/L2", "-1", kAmount},
      {refused([](Problem& p) {
         p.ops[0].traffic[0].amount = {1, 0};
       }),
       "/ops/0/traffic/L2/1", "0", kRate},
      {refused([](Problem& p) { p.ops[0].traffic[0].amount.numerator = kMaxAmount + 1; }),
       "/ops/0/traffic/L2", "1000000000001", kAmount},
      {refused([](Problem& p) { p.channels.resize(kMaxChannels + 1); }), "/channels",
       "1001 channels", "must have at most 1000 channels"},
      {refused([](Problem& p) {
         p.edges.push_back({2, 0, 1, 1, false, 0});
       }),
       "/edges/2/to", "\"ld\"", "an op in flight must have no incoming edge"},
      {refused([](Problem& p) { p.ops[2].in_flight = p.ops[2].variable_latency = true; }),
       "/ops/2/cycles", "4", "an op in flight must have 0 cycles"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.place);
    CHECK(c.error.file() == "memory");
    CHECK(c.error.place() == c.place);
    CHECK(c.error.value() == c.value);
    CHECK(c.error.rule() == c.rule);
  }
}

TEST_CASE("check: the number of ops, and a dependence cycle through all of them") {
  Problem problem;
  problem.warps = {{"w", 1, 0, false}};
  for (int v = 0; v < kMaxOps; ++v) {
    Op op;
    op.id = "o" + std::to_string(v);
    problem.ops.push_back(op);
    problem.edges.push_back({v, (v + 1) % kMaxOps, 1, v + 1 == kMaxOps ? 1 : 0, false, 0});
  }
  CHECK_NOTHROW(check(problem));
  Problem cyclic = problem;
  cyclic.edges.back().distance = 0;
  const InputError error = refusal([&] { check(cyclic); });
  CHECK(error.rule() == kCycle);
  CHECK(error.value().find("o4711 -> o4712") != std::string::npos);
  problem.ops.emplace_back().id = "one more";
  CHECK(refusal([&] { check(problem); }).value() == "10001 ops");
}

TEST_CASE("check: the reported cycle is one, and not what merely hangs on it") {
  Problem problem;
  problem.warps = {{"w", 1, 0, false}};
  for (const char* id : {"before", "a", "b", "c", "after", "later"})
    problem.ops.push_back({id, "", 1, {}, 0, {}, 0, 1, false, false});
  problem.edges = {{0, 1, 1, 0, false, 0}, {1, 2, 1, 0, false, 0}, {2, 3, 1, 0, false, 0},
                   {3, 1, 1, 0, false, 0}, {3, 4, 1, 0, false, 0}, {4, 5, 1, 0, false, 0},
                   {5, 0, 1, 1, false, 0}};
  const InputError error = refusal([&] { check(problem); });
  CHECK(error.place() == "/edges/3/distance");
  CHECK(error.value() == "0 around a -> b -> c -> a");
}

}  // namespace problem_file_test
