// Schedule files: every refusal with its place, value and rule, and round trips.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "graph/io/json_writer.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule_io.hpp"
#include "tests/support/file_samples.hpp"

namespace schedule_file_test {

using namespace twill;
using test::kScheduleText;
using test::refusal;
using Json = nlohmann::ordered_json;

namespace {

struct Case {
  std::string pointer;  ///< of the member of the sample to set; "-POINTER" removes it
  std::string json;     ///< its new value
  std::string place, value, rule;
};

constexpr const char* kPlain = "must be an integer without fraction or exponent";
constexpr const char* kLength = "must be an integer from 0 to 100000001000000000";
constexpr const char* kStages = "must be \"complete\", \"paper\" or a positive number as a string";

const Case kCases[] = {
    {"/format", "\"twill.problem\"", "/format", "\"twill.problem\"", "must be \"twill.schedule\""},
    {"/version", "3", "/version", "3",
     "a newer version of the format; this program reads version 1 to 2"},
    {"-/version", "", "", "", "required key \"version\" is missing"},
    {"-/problem", "", "", "", "required key \"problem\" is missing"},
    {"-/problem_sha256", "", "", "", "required key \"problem_sha256\" is missing"},
    {"-/status", "", "", "", "required key \"status\" is missing"},
    {"-/search", "", "", "", "required key \"search\" is missing"},
    {"-/solver", "", "", "", "required key \"solver\" is missing"},
    {"-/initiation_interval", "", "", "", "required key \"initiation_interval\" is missing"},
    {"-/length", "", "", "", "required key \"length\" is missing"},
    {"-/lower_bound", "", "", "", "required key \"lower_bound\" is missing"},
    {"-/ops", "", "", "", "required key \"ops\" is missing"},
    {"/extra", "1", "/extra", "1",
     "unknown key; known here: format, version, problem, problem_sha256, status, search, solver, "
     "initiation_interval, length, lower_bound, ops, conflict, ring_depths, goals, whole_time, "
     "length_slack, made_by, engine, options"},
    {"/problem_sha256", "\"0123\"", "/problem_sha256", "\"0123\"",
     "must be 64 lower-case hexadecimal digits"},
    {"/problem_sha256", '"' + std::string(64, 'A') + '"', "/problem_sha256",
     '"' + std::string(64, 'A') + '"', "must be 64 lower-case hexadecimal digits"},
    {"/status", "\"best\"", "/status", "\"best\"",
     "must be one of: optimal, feasible, infeasible, unknown"},
    {"/status", "\"infeasible\"", "/initiation_interval", "8",
     "must be absent with status infeasible"},
    {"/initiation_interval", "0", "/initiation_interval", "0",
     "must be an integer from 1 to 10000000000000"},
    {"/initiation_interval", "8.0", "/initiation_interval", "8.0", kPlain},
    {"/length", "-1", "/length", "-1", kLength},
    {"/lower_bound", "7", "/lower_bound", "7", "must be an object"},
    {"-/lower_bound/initiation_interval", "", "/lower_bound", "",
     "required key \"initiation_interval\" is missing"},
    {"/lower_bound/initiation_interval", "-1", "/lower_bound/initiation_interval", "-1",
     "must be an integer from 0 to 10000000000000"},
    {"/lower_bound/length", "-1", "/lower_bound/length", "-1", kLength},
    {"/lower_bound/ii", "1", "/lower_bound/ii", "1",
     "unknown key; known here: initiation_interval, length"},
    {"/search/stages", "3", "/search/stages", "3", "must be a string"},
    {"/search/stages", "\"all\"", "/search/stages", "\"all\"", kStages},
    {"/search/stages", "\"0\"", "/search/stages", "\"0\"", kStages},
    {"/search/stages", "\"\"", "/search/stages", "\"\"", kStages},
    {"-/search/stages", "", "/search", "", "required key \"stages\" is missing"},
    {"-/search/max_stages", "", "/search", "", "required key \"max_stages\" is missing"},
    {"/search/max_stages", "-1", "/search/max_stages", "-1",
     "must be an integer from 0 to 9223372036854775807"},
    {"/ops", "{}", "/ops", "an object", "must be an array"},
    {"-/ops/2", "", "/ops", "an array of 3 values", "op \"P\" is missing"},
    {"/ops/2/id", "\"S\"", "/ops/2/id", "\"S\"", "each op must be listed once"},
    {"/ops/2/id", "\"T\"", "/ops/2/id", "\"T\"", "must be the id of an op of the problem"},
    {"/ops/2/warp", "\"wg9\"", "/ops/2/warp", "\"wg9\"",
     "must be the name of a warp slot of the problem"},
    {"/ops/2/warp", "1", "/ops/2/warp", "1", "must be a string"},
    {"/ops/2/start", "-1", "/ops/2/start", "-1", "must be an integer from 0 to 100000000000000000"},
    {"/ops/2/start", "100000000000000001", "/ops/2/start", "100000000000000001",
     "must be an integer from 0 to 100000000000000000"},
    {"-/ops/2/start", "", "/ops/2", "", "required key \"start\" is missing"},
    {"/ops/2/stage", "0", "/ops/2/stage", "0", "unknown key; known here: id, start, warp"},
    {"/conflict", "\"x\"", "/conflict", "\"x\"", "must be an array"},
    {"/conflict", "[\"x\", 1]", "/conflict/1", "1", "must be a string"},
    {"/ring_depths/T", "1", "/ring_depths/T", "1",
     "the key must be the id of an op of the problem"},
    {"/ring_depths/ld", "-1", "/ring_depths/ld", "-1",
     "must be an integer from 0 to 9223372036854775807"},
    {"-/goals/0/name", "", "/goals/0", "", "required key \"name\" is missing"},
    {"-/goals/0/lower_bound", "", "/goals/0", "", "required key \"lower_bound\" is missing"},
    {"/goals/0/value", "1.5", "/goals/0/value", "1.5", kPlain},
    {"/goals/0/unit", "1", "/goals/0/unit", "1",
     "unknown key; known here: name, value, lower_bound"},
    {"/engine", "[]", "/engine", "an array of 0 values", "must be a string"},
    {"/options/seed", "7", "/options/seed", "7", "must be a string"},
    {"/solver/seconds", "-0.5", "/solver/seconds", "-0.5", "must not be negative"},
    {"/solver/seconds", "\"1\"", "/solver/seconds", "\"1\"", "must be a number"},
    {"/solver/conflicts", "-1", "/solver/conflicts", "-1",
     "must be an integer from 0 to 9223372036854775807"},
    {"/solver/memory", "1", "/solver/memory", "1", "unknown key; known here: seconds, conflicts"},
};

/// The sample with one member set or removed, the value spliced in as written.
std::string edited(const Case& c, Json file = Json::parse(kScheduleText)) {
  if (c.pointer[0] == '-') {
    const Json::json_pointer place(c.pointer.substr(1));
    Json& parent = file[place.parent_pointer()];
    if (parent.is_array())
      parent.erase(static_cast<std::size_t>(std::stoul(place.back())));
    else
      parent.erase(place.back());
    return file.dump();
  }
  file[Json::json_pointer(c.pointer)] = "@HERE@";
  std::string text = file.dump();
  return text.replace(text.find("\"@HERE@\""), 8, c.json);
}

const Problem& problem() {
  static const Problem parsed = parse_problem(test::kProblemText);
  return parsed;
}

}  // namespace

TEST_CASE("schedule files: every refusal names the place, the value and the rule") {
  static_assert(std::size(kCases) >= 50);
  for (const Case& c : kCases) {
    CAPTURE(c.pointer);
    CAPTURE(c.json);
    const InputError error = refusal([&] { parse_schedule(problem(), edited(c), "s.json"); });
    CHECK(error.file() == "s.json");
    CHECK(error.place() == c.place);
    CHECK(error.value() == c.value);
    CHECK(error.rule() == c.rule);
  }
}

TEST_CASE("schedule files: what is at a limit is accepted") {
  const std::pair<const char*, const char*> accepted[] = {
      {"/initiation_interval", "10000000000000"},
      {"/length", "0"},
      {"/length", "100000001000000000"},
      {"/ops/2/start", "100000000000000000"},
      {"/search/stages", "\"paper\""},
      {"/search/stages", "\"10\""},
      {"/search/max_stages", "9223372036854775807"},
      {"/lower_bound", "{\"initiation_interval\": 0, \"length\": 0}"},
      {"/status", "\"optimal\""},
      {"/conflict", "[]"},
      {"/solver/seconds", "3"},
      {"-/goals", ""},
      {"-/ring_depths", ""},
      {"-/engine", ""},
      {"-/options", ""},
  };
  for (const auto& [pointer, json] : accepted) {
    CAPTURE(pointer);
    CAPTURE(json);
    CHECK_NOTHROW(parse_schedule(problem(), edited({pointer, json, "", "", ""})));
  }
}

TEST_CASE("schedule files: fields") {
  const Solution solution = parse_schedule(problem(), kScheduleText);
  CHECK(solution.problem == "sample");
  CHECK(solution.problem_sha256.substr(0, 17) == "0123456789abcdef0");
  CHECK(solution.status == Status::feasible);
  REQUIRE(solution.schedule);
  CHECK(*solution.schedule == Schedule{8, 9, {0, 2, 6, 9}, {0, 1, 1, 1}});
  CHECK(solution.ii_lower_bound == 7);
  CHECK(solution.length_lower_bound == 5);
  CHECK(solution.stages == "complete");
  CHECK(solution.max_stages == 41);
  CHECK(solution.conflict.empty());
  CHECK(solution.ring_depths == std::map<std::string, std::int64_t>{{"ld", 2}});
  REQUIRE(solution.goals.size() == 1);
  CHECK(solution.goals[0].name == "registers");
  CHECK(solution.goals[0].value == -3);
  CHECK(solution.goals[0].lower_bound == -4);
  CHECK(solution.engine == "sat");
  CHECK(solution.options ==
        std::vector<std::pair<std::string, std::string>>{{"seed", "7"}, {"encoding", ""}});
  CHECK(solution.seconds == 0.25);
  CHECK(solution.conflicts == 12);
}

TEST_CASE("schedule files: the order of the ops in the file does not matter") {
  Json file = Json::parse(kScheduleText);
  std::swap(file["ops"][0], file["ops"][3]);
  const Solution solution = parse_schedule(problem(), file.dump());
  CHECK(schedule_text(problem(), solution) == kScheduleText);
}

TEST_CASE("schedule files: the canonical text") {
  Solution solution = parse_schedule(problem(), kScheduleText);
  CHECK(schedule_text(problem(), solution) == kScheduleText);

  // Without the optional parts, and with a bound on the length that is not there.
  solution.length_lower_bound = 0;
  solution.ring_depths.clear();
  solution.goals.clear();
  solution.engine.clear();
  solution.options.clear();
  solution.seconds = std::numeric_limits<double>::infinity();
  const std::string least = schedule_text(problem(), solution);
  const Json json = Json::parse(least);
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  CHECK(keys ==
        "format version problem problem_sha256 status initiation_interval length lower_bound "
        "search ops solver ");
  CHECK(json["lower_bound"].dump() == "{\"initiation_interval\":7}");
  CHECK(json["solver"]["seconds"] == 0.0);
  CHECK(schedule_text(problem(), parse_schedule(problem(), least)) == least);

  solution.engine = "\xff";
  CHECK(refusal([&] { schedule_text(problem(), solution); }).rule() ==
        "names and texts must be valid UTF-8");
}

TEST_CASE("schedule files: no schedule") {
  for (const Status status : {Status::infeasible, Status::unknown}) {
    Solution solution;
    solution.problem = "sample";
    solution.problem_sha256 = std::string(64, 'a');
    solution.status = status;
    solution.stages = "paper";
    solution.max_stages = 3;
    solution.conflict = {"registers of wg0", "dependence S -> P"};
    const std::string text = schedule_text(problem(), solution);
    CHECK(text.find("\"lower_bound\"") == text.npos);
    Solution again = parse_schedule(problem(), text);
    CHECK(again.status == status);
    CHECK(!again.schedule);
    CHECK(again.conflict == solution.conflict);
    CHECK(schedule_text(problem(), again) == text);

    solution.ii_lower_bound = 9;
    again = parse_schedule(problem(), schedule_text(problem(), solution));
    CHECK(again.ii_lower_bound == 9);
    CHECK(again.length_lower_bound == 0);

    for (const char* key : {"initiation_interval", "length", "ops"}) {
      Json with = Json::parse(text);
      with[key] = Json::parse(kScheduleText)[key];
      const InputError error = refusal([&] { parse_schedule(problem(), with.dump()); });
      CHECK(error.place() == std::string("/") + key);
      CHECK(error.rule() == std::string("must be absent with status ") + to_string(status));
    }
  }
}

namespace {

/// The sample with what version 2 adds.
Solution second_version() {
  Solution solution = parse_schedule(problem(), kScheduleText);
  solution.length_slack = LengthSlack{5, 10};
  solution.made_by = MadeBy{"1.0.0",
                            "hopper",
                            std::string(64, 'b'),
                            "2x4",
                            {"units.SFU=2", "name=\"x\""},
                            {{"reading", "machine"}, {"normalize", "300"}}};
  return solution;
}

}  // namespace

TEST_CASE("schedule files of version 2: what made it, and what goals might cost") {
  const Solution solution = second_version();
  const std::string text = schedule_text(problem(), solution);
  CHECK(text.find("\"version\": 2") != text.npos);
  const Solution again = parse_schedule(problem(), text);
  CHECK(again.made_by == solution.made_by);
  CHECK(again.length_slack == solution.length_slack);
  CHECK(schedule_text(problem(), again) == text);
  // Each of the two alone makes it version 2; without both it is the old file to the byte.
  for (const bool slack : {false, true}) {
    Solution one = solution;
    if (slack)
      one.made_by.reset();
    else
      one.length_slack.reset();
    CHECK(Json::parse(schedule_text(problem(), one))["version"] == 2);
    one.made_by.reset();
    one.length_slack.reset();
    CHECK(schedule_text(problem(), one) == kScheduleText);
  }
  Json old = Json::parse(text);
  old["version"] = 1;
  CHECK(refusal([&] { parse_schedule(problem(), old.dump()); }).rule() == "needs version 2");
  old.erase("length_slack");
  CHECK(refusal([&] { parse_schedule(problem(), old.dump()); }).place() == "/made_by");
}

TEST_CASE("schedule files of version 2: every refusal") {
  const Case cases[] = {
      {"-/made_by/twill", "", "/made_by", "", "required key \"twill\" is missing"},
      {"/made_by/twill", "\"\"", "/made_by/twill", "\"\"", "must not be empty"},
      {"/made_by/machine", "\"\"", "/made_by/machine", "\"\"", "must not be empty"},
      {"/made_by/layout", "7", "/made_by/layout", "7", "must be a string"},
      {"/made_by/machine_sha256", "\"0\"", "/made_by/machine_sha256", "\"0\"",
       "must be 64 lower-case hexadecimal digits"},
      {"/made_by/settings", "{}", "/made_by/settings", "an object", "must be an array"},
      {"/made_by/settings/0", "\"units.SFU\"", "/made_by/settings/0", "\"units.SFU\"",
       "must be PATH=VALUE"},
      {"/made_by/settings/0", "\"=2\"", "/made_by/settings/0", "\"=2\"", "must be PATH=VALUE"},
      {"/made_by/options/reading", "1", "/made_by/options/reading", "1", "must be a string"},
      {"/made_by/when", "\"now\"", "/made_by/when", "\"now\"",
       "unknown key; known here: twill, machine, machine_sha256, layout, settings, options"},
      {"-/length_slack/at_most", "", "/length_slack", "", "required key \"at_most\" is missing"},
      {"/length_slack/cycles", "-1", "/length_slack/cycles", "-1",
       "must be an integer from 0 to 1000000000"},
      {"/length_slack/at_most", "1.0", "/length_slack/at_most", "1.0", kPlain},
  };
  const Json file = Json::parse(schedule_text(problem(), second_version()));
  for (const Case& c : cases) {
    CAPTURE(c.pointer);
    const InputError error = refusal([&] { parse_schedule(problem(), edited(c, file), "s.json"); });
    CHECK(error.place() == c.place);
    CHECK(error.value() == c.value);
    CHECK(error.rule() == c.rule);
  }
  Json none = file;
  for (const char* key : {"initiation_interval", "length", "ops"}) none.erase(key);
  none["status"] = "unknown";
  CHECK(refusal([&] { parse_schedule(problem(), none.dump()); }).rule() ==
        "must be absent without a schedule");
}

TEST_CASE("JSON that is written while it is said is what the library writes of the value") {
  const std::vector<std::string> texts = {
      "", "plain", "a \"quote\" and \\", "\n\t\x01\x7f", "\xc3\xa9 \xe2\x82\xac", "/"};
  JsonWriter written;
  Json value = {{"format", "x"}, {"none", Json::object()}, {"nothing", Json::array()}};
  written.begin_object();
  written.member("format", "x");
  written.key("none");
  written.begin_object();
  written.end_object();
  written.member("nothing", std::vector<int>{});
  for (const std::string& text : texts) {
    written.member(text + "!", text);
    value[text + "!"] = text;
  }
  written.member("texts", texts);
  value["texts"] = texts;
  const std::vector<std::vector<std::int64_t>> nested = {{1, -2}, {}, {INT64_MIN, INT64_MAX}};
  written.member("nested", nested);
  value["nested"] = nested;
  const std::vector<double> numbers = {0.0, -1.5, 1e-7, 1e300, 3.0};
  written.member("numbers", numbers);
  value["numbers"] = numbers;
  written.member("yes", true);
  written.member("no", false);
  value["yes"] = true;
  value["no"] = false;
  written.key("rows");
  written.begin_array();
  for (int i = 0; i < 2; ++i) {
    written.begin_object();
    written.member("i", i);
    written.end_object();
    value["rows"].push_back({{"i", i}});
  }
  written.end_array();
  written.end_object();
  CHECK(std::move(written).file_text("file") == value.dump(2) + "\n");

  JsonWriter invalid;
  invalid.value("\xff");
  CHECK_THROWS_AS(std::move(invalid).file_text("file"), InputError);
}

}  // namespace schedule_file_test
