// The JSON Schemas of problem and schedule files say what the reader and the writer do: the same
// keys, the same required ones, the same defaults and limits.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule_io.hpp"
#include "tests/support/file_samples.hpp"

namespace schema_test {

using namespace twill;
using test::refusal;
using Json = nlohmann::ordered_json;

namespace {

Json schema(const std::string& name) {
  return Json::parse(read_file(TWILL_TEST_DATA "/../../graph/schema/" + name + ".schema.json"));
}

std::set<std::string> keys(const Json& object) {
  std::set<std::string> names;
  for (const auto& [key, value] : object.items()) names.insert(key);
  return names;
}

std::set<std::string> names(const Json& array) {
  return std::set<std::string>(array.begin(), array.end());
}

/// Where an object of the format is in a sample and in its schema.
struct Place {
  std::string sample, schema;
};

using Reader = std::function<void(const std::string&)>;

/// The object in the sample has exactly the schema's properties; the reader refuses any other key;
/// without a key it refuses exactly when the schema requires the key.
void compare(const Json& sample, const Json& schema_file, const Place& place, const Reader& read) {
  CAPTURE(place.sample);
  const Json::json_pointer here(place.sample);
  const Json& rules = schema_file.at(Json::json_pointer(place.schema));
  CHECK(rules.at("additionalProperties") == false);
  CHECK(keys(sample.at(here)) == keys(rules.at("properties")));
  const std::set<std::string> required = names(rules.value("required", Json::array()));
  for (const std::string& key : keys(sample.at(here))) {
    CAPTURE(key);
    Json without = sample;
    without.at(here).erase(key);
    if (required.count(key) != 0)
      CHECK(refusal([&] { read(without.dump()); }).rule() ==
            "required key \"" + key + "\" is missing");
    else
      CHECK_NOTHROW(read(without.dump()));
  }
  Json more = sample;
  more.at(here)["surplus"] = 1;
  CHECK(refusal([&] { read(more.dump()); }).rule().find("unknown key") == 0);
}

}  // namespace

TEST_CASE("problem schema: keys") {
  const Json file = schema("problem");
  Json sample = Json::parse(test::kProblemText);
  // Op "S" of the sample with variable_latency written out on its slot, too.
  sample["warps"][1]["variable_latency"] = false;
  sample["version"] = 5;
  sample["inner_loops"] = Json::array();
  sample["initiation_interval"] = {{"least", 2}, {"most", 900}};
  sample["edges"][1]["spill"] = 3;
  sample["channels"] = {{"L2", 64}};
  sample["ops"][1]["in_flight"] = false;
  sample["ops"][1]["traffic"] = Json::object();  // of no channel: any key can be left out
  sample["memories"]["smem"] = {{"capacity", 1000}, {"rings", true}};
  sample["pins"] = Json::array({{{"op", "S"}, {"cycle", 0}}});
  const Reader read = [](const std::string& text) { parse_problem(text); };
  for (const Place& place :
       {Place{"", ""}, Place{"/warps/1", "/$defs/slot"}, Place{"/ops/1", "/$defs/op"},
        Place{"/edges/1", "/$defs/edge"}, Place{"/memories/smem", "/$defs/memory"},
        Place{"/initiation_interval", "/properties/initiation_interval"}})
    compare(sample, file, place, read);
  CHECK(file.at("properties").at("format").at("const") == sample["format"]);
  CHECK(file.at("properties").at("version").at("enum") == Json::array({1, 2, 3, 4, 5}));

  // A pin has an op and one decision.
  const Json& pin = file.at("$defs").at("pin");
  CHECK(pin.at("additionalProperties") == false);
  CHECK(pin.at("minProperties") == 2);
  CHECK(pin.at("maxProperties") == 2);
  CHECK(names(pin.at("required")) == std::set<std::string>{"op"});
  const Json decisions = {{"warp", "wg0"},       {"not_warp", "load"}, {"cycle", 3},
                          {"same_warp_as", "S"}, {"stage", 1},         {"other_warp_than", "P"}};
  std::set<std::string> known = {"op"};
  for (const auto& [key, value] : decisions.items()) {
    known.insert(key);
    sample["pins"][0] = {{"op", "S"}, {key, value}};
    CHECK_NOTHROW(read(sample.dump()));
    sample["pins"][0].erase("op");
    CHECK_THROWS_AS(read(sample.dump()), InputError);
    sample["pins"][0] = {{"op", "S"}, {key, value}, {"surplus", 1}};
    CHECK_THROWS_AS(read(sample.dump()), InputError);
  }
  CHECK(keys(pin.at("properties")) == known);
}

TEST_CASE("problem schema: the defaults are the reader's") {
  const Json file = schema("problem");
  const Problem least = parse_problem(
      R"({"format": "twill.problem", "version": 1, "name": "", "units": {}, "memories": {},
          "warps": [{"name": "w", "width": 1, "registers": 0}], "ops": [{"id": "a", "cycles": 1}],
          "edges": [{"from": "a", "to": "a", "delay": 0, "distance": 1}]})");
  const Json written = Json::parse(problem_text(least));
  const std::set<std::string> later = {"channels", "in_flight", "traffic", "least", "most"};
  int count = 0;
  const auto same = [&](const Json& properties, const Json& object) {
    for (const auto& [key, rules] : properties.items()) {
      if (!rules.contains("default") || later.count(key) != 0) continue;
      CAPTURE(key);
      CHECK(object.at(key) == rules.at("default"));
      ++count;
    }
  };
  same(file.at("properties"), written);
  same(file.at("$defs").at("op").at("properties"), written.at("ops").at(0));
  same(file.at("$defs").at("edge").at("properties"), written.at("edges").at(0));
  CHECK(count == 11);
  CHECK(file["$defs"]["slot"]["properties"]["variable_latency"]["default"] == false);
  CHECK(!least.warps[0].variable_latency);
  CHECK(file["$defs"]["memory"]["properties"]["rings"]["default"] == false);
  CHECK(!Memory{}.rings);
  // Not written where they have nothing to say, so that older files stay as they are.
  const Json& op = file["$defs"]["op"]["properties"];
  CHECK(op["in_flight"]["default"] == false);
  CHECK(op["traffic"]["default"] == Json::object());
  CHECK(file["properties"]["channels"]["default"] == Json::object());
  CHECK((!least.ops[0].in_flight && least.ops[0].traffic.empty() && least.channels.empty()));
}

TEST_CASE("problem schema: the limits are the library's") {
  const Json file = schema("problem");
  const Json& defs = file.at("$defs");
  CHECK(defs.at("cycles").at("maximum") == kMaxCycles);
  CHECK(defs.at("amount").at("maximum") == kMaxAmount);
  CHECK(defs.at("width").at("maximum") == std::numeric_limits<int>::max());
  CHECK(defs.at("edge").at("properties").at("distance").at("maximum") == kMaxDistance);
  CHECK(file.at("properties").at("ops").at("maxItems") == kMaxOps);
  CHECK(file.at("properties").at("units").at("additionalProperties").at("maximum") == kMaxAmount);
  CHECK(file.at("properties").at("channels").at("maxProperties") == kMaxChannels);
  const std::pair<const char*, Amount> fractions[] = {{"rate", 1}, {"traffic", 0}};
  for (const auto& [name, least] : fractions) {
    const Json& forms = defs.at(name).at("anyOf");
    const Json& terms = forms.at(1).at("prefixItems");
    CHECK((forms.at(0).at("minimum") == least && forms.at(0).at("maximum") == kMaxAmount));
    CHECK((terms.at(0).at("minimum") == least && terms.at(0).at("maximum") == kMaxAmount));
    CHECK((terms.at(1).at("minimum") == 1 && terms.at(1).at("maximum") == kMaxAmount));
    CHECK((forms.at(1).at("minItems") == 2 && forms.at(1).at("maxItems") == 2));
  }
}

TEST_CASE("schedule schema: keys") {
  const Problem problem = parse_problem(test::kProblemText);
  const Json file = schema("schedule");
  Json sample = Json::parse(test::kScheduleText);
  sample["conflict"] = Json::array();
  sample["version"] = 2;
  sample["whole_time"] = {{"iterations", 1}, {"cycles", sample["length"]}, {"lower_bound", 1}};
  sample["length_slack"] = {{"cycles", 1}, {"at_most", 9}};
  sample["made_by"] = {
      {"twill", "1.0.0"}, {"machine", "hopper"},         {"machine_sha256", std::string(64, 'c')},
      {"layout", "2x4"},  {"settings", {"units.SFU=2"}}, {"options", {{"reading", "paper"}}}};
  const Reader read = [&](const std::string& text) { parse_schedule(problem, text); };
  // What only a found schedule requires is in the schema's conditional part.
  Json merged = file;
  for (const Json& key : file.at("then").at("required")) merged["required"].push_back(key);
  for (const Place& place :
       {Place{"", ""}, Place{"/lower_bound", "/properties/lower_bound"},
        Place{"/search", "/properties/search"}, Place{"/ops/0", "/properties/ops/items"},
        Place{"/goals/0", "/properties/goals/items"}, Place{"/solver", "/properties/solver"},
        Place{"/length_slack", "/properties/length_slack"},
        Place{"/made_by", "/properties/made_by"}})
    compare(sample, merged, place, read);
  // `cycles` is there where there is a schedule.
  Json timed = merged;
  timed["properties"]["whole_time"]["required"].push_back("cycles");
  compare(sample, timed, {"/whole_time", "/properties/whole_time"}, read);
  CHECK(keys(file.at("else").at("properties")) ==
        std::set<std::string>{"initiation_interval", "length", "ops"});
  for (const Status status :
       {Status::optimal, Status::feasible, Status::infeasible, Status::unknown})
    CHECK(names(file.at("properties").at("status").at("enum")).count(to_string(status)) == 1);
  CHECK(file.at("properties").at("format").at("const") == sample["format"]);
  CHECK(file.at("properties").at("version").at("enum") == Json({1, 2}));
}

TEST_CASE("schedule schema: the writer writes no other key than the schema's") {
  const Problem problem = parse_problem(test::kProblemText);
  Solution solution = parse_schedule(problem, test::kScheduleText);
  solution.conflict = {"a"};
  solution.whole_time = WholeTime{3, 0, 0};
  solution.length_slack = LengthSlack{1, 9};
  solution.made_by = MadeBy{"1", "m", std::string(64, 'c'), "l", {}, {}};
  CHECK(keys(Json::parse(schedule_text(problem, solution))) ==
        keys(schema("schedule").at("properties")));
}

}  // namespace schema_test
