// Program files: what is written is read again, what is wrong is refused with its place, and the
// schema says what the reader does.
#include "graph/program/program_io.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "graph/io/file.hpp"
#include "graph/program/judge.hpp"
#include "tests/support/file_samples.hpp"

namespace program_io_test {

using namespace twill;
using program::parse_program;
using program::program_text;
using Json = nlohmann::ordered_json;
using test::refusal;

namespace {

// A load on one slot, a consumer on another: every key of the format is in it.
const char* const kText = R"({
  "format": "twill.program",
  "version": 1,
  "problem": "small",
  "problem_sha256": "0000000000000000000000000000000000000000000000000000000000000000",
  "status": "optimal",
  "initiation_interval": 4,
  "lower_bound": 4,
  "memories": [
    {
      "name": "smem",
      "capacity": 256
    }
  ],
  "slots": [
    {
      "name": "load",
      "width": 1,
      "registers": 0,
      "ops": [
        {
          "id": "ld",
          "stage": 0,
          "ends": "transaction",
          "waits": [
            {
              "for": "use",
              "offset": 2,
              "need": "WAR",
              "storage": "ld"
            }
          ],
          "writes": [
            "ld"
          ]
        }
      ]
    },
    {
      "name": "wg0",
      "width": 4,
      "registers": 64,
      "ops": [
        {
          "id": "use",
          "stage": 1,
          "ends": "pending",
          "queue": "TC",
          "waits": [
            {
              "for": "ld",
              "need": "RAW",
              "storage": "ld"
            }
          ],
          "reads": [
            {
              "storage": "ld"
            },
            {
              "storage": "use",
              "distance": 1
            }
          ],
          "writes": [
            "use"
          ],
          "in_place": [
            "use"
          ]
        },
        {
          "id": "last",
          "stage": 1,
          "ends": "at once",
          "waits": [
            {
              "for": "use",
              "pending": true,
              "need": "RAW",
              "storage": "use"
            }
          ],
          "reads": [
            {
              "storage": "use"
            }
          ],
          "writes": [
            "last"
          ]
        }
      ]
    }
  ],
  "storages": [
    {
      "name": "ld",
      "memory": "smem",
      "size": 128,
      "depth": 2,
      "base": 0,
      "alignment": 128
    },
    {
      "name": "use",
      "registers": 32,
      "depth": 1
    },
    {
      "name": "last",
      "depth": 1
    }
  ],
  "events": [
    {
      "op": "ld",
      "kind": "completion",
      "barrier": {
        "phases": 2,
        "arrivals": 1,
        "bytes": 128
      }
    },
    {
      "op": "use",
      "kind": "consumed",
      "barrier": {
        "phases": 2,
        "arrivals": 1
      }
    },
    {
      "op": "use",
      "kind": "completion"
    }
  ]
}
)";

Json sample() {
  return Json::parse(kText);
}

std::set<std::string> keys(const Json& object) {
  std::set<std::string> names;
  for (const auto& [key, value] : object.items()) names.insert(key);
  return names;
}

}  // namespace

TEST_CASE("what is written is what was read") {
  const program::Program program = parse_program(kText);
  CHECK(program_text(program) == kText);
  CHECK(parse_program(program_text(program)) == program);
  const auto fault = program::judge(program);
  if (fault) FAIL_CHECK(fault->rule << ": " << fault->text);
}

TEST_CASE("which schedules status and bounds are about is version 3") {
  program::Program program = parse_program(kText);
  program.searched_only = "of at most 16 stages";
  const Json file = Json::parse(program_text(program));
  CHECK(file.at("version") == 3);
  CHECK(file.at("searched_only") == "of at most 16 stages");
  CHECK(parse_program(file.dump()) == program);
  program.placed = program::PlacedBounds{program.initiation_interval, 9, true};
  program.status = "feasible";
  CHECK(parse_program(program_text(program)) == program);
  Json other = file;
  other["searched_only"] = "";
  CHECK(refusal([&] { parse_program(other.dump()); }).place() == "/searched_only");
  other["searched_only"] = 16;
  CHECK(refusal([&] { parse_program(other.dump()); }).place() == "/searched_only");
  other = file;
  other["version"] = 2;
  CHECK(refusal([&] { parse_program(other.dump()); }).place() == "/searched_only");
}

TEST_CASE("what is proved of schedules with a placement is version 2") {
  program::Program program = parse_program(kText);
  program.status = "feasible";
  program.ii_lower_bound = 3;
  for (const bool reached : {true, false}) {
    program.placed = program::PlacedBounds{reached ? 4 : 3, 9, reached};
    const std::string text = program_text(program);
    CHECK(Json::parse(text).at("version") == 2);
    CHECK(parse_program(text) == program);
  }
  program.placed = program::PlacedBounds{4, 9, true};
  const Json file = Json::parse(program_text(program));
  struct Wrong {
    const char* place;
    Json value;
  };
  const Wrong all[] = {{"/placement/class", "another"},
                       {"/placement/status", "infeasible"},
                       {"/placement/status", nullptr},
                       {"/placement/lower_bound/initiation_interval", 5},
                       {"/placement/lower_bound/initiation_interval", -1},
                       {"/placement/lower_bound/length", -1},
                       {"/placement/more", 1}};
  for (const Wrong& wrong : all) {
    CAPTURE(wrong.place);
    Json other = file;
    other[Json::json_pointer(wrong.place)] = wrong.value;
    CHECK(refusal([&] { parse_program(other.dump()); }).place().find("/placement") == 0);
  }
  // It says that it is optimal, below its I.
  Json low = file;
  low["placement"]["lower_bound"]["initiation_interval"] = 3;
  CHECK(refusal([&] { parse_program(low.dump()); }).place() == "/placement/status");
  // Version 1 has no such key.
  Json old = file;
  old["version"] = 1;
  CHECK_THROWS_AS(parse_program(old.dump()), InputError);
}

TEST_CASE("faults of the sample are found, in words") {
  struct Fault {
    const char *place, *rule;
    Json value;
  };
  const Fault faults[] = {
      {"/slots/0/ops/0/waits", "phase", Json::array()},
      {"/slots/1/ops/0/waits", "race", Json::array()},
      {"/slots/1/ops/1/waits", "race", Json::array()},
      {"/slots/0/ops/0/waits/0/offset", "phase", 3},
      {"/slots/0/ops/0/waits/0/offset", "window", 0},  // of every n; at one it is a deadlock
      {"/slots/1/ops/0/waits/0/offset", "race", 1},
      {"/storages/0/depth", "race", 1},
      {"/storages/0/depth", "memory", 3},
      {"/storages/0/base", "memory", 64},
      {"/events/0/barrier/bytes", "bytes", 64},
      {"/events/0/barrier/arrivals", "arrivals", 2},
      {"/events/0/barrier/phases", "phase", 1},
      {"/slots/1/ops/0/in_place", "in place", Json::array()},
      {"/slots/1/ops/1/reads/0/storage", "race", "ld"},
      {"/slots/0/ops/0/writes", "shape", Json::array()},
  };
  for (const Fault& f : faults) {
    CAPTURE(f.place);
    CAPTURE(f.value.dump());
    Json file = sample();
    file[Json::json_pointer(f.place)] = f.value;
    const auto fault = program::judge(parse_program(file.dump()));
    REQUIRE(fault);
    CHECK(fault->rule == f.rule);
    CHECK(!fault->text.empty());
  }
  Json file = sample();
  file["slots"][0]["ops"][0]["waits"][0]["offset"] = 0;
  const auto fault = program::judge(parse_program(file.dump()), 1);
  REQUIRE(fault);
  CHECK(fault->rule == "deadlock");
  CHECK(std::set<std::string>(fault->witness.begin(), fault->witness.end()) ==
        std::set<std::string>{"ld[0]", "use[0]"});
  CHECK(fault->text == "n = 1: " + fault->witness[0] + " before " + fault->witness[1] + " before " +
                           fault->witness[0]);
}

TEST_CASE("what is no program is refused with its place") {
  struct Wrong {
    const char *place, *rule;
    Json value;
  };
  const Wrong all[] = {
      {"/version", "", 4},
      {"/status", "", "infeasible"},
      {"/problem_sha256", "must be 64 lower-case hexadecimal digits", "0"},
      {"/initiation_interval", "", 0},
      {"/memories/0/capacity", "", -1},
      {"/slots/1/name", "names of slots must be unique", "load"},
      {"/slots/1/width", "", 0},
      {"/slots/1/ops/0/id", "names of ops must be unique", "ld"},
      {"/slots/1/ops/0/stage", "", -1},
      {"/slots/1/ops/0/ends", "", "soon"},
      {"/slots/1/ops/0/queue", "must not be empty", ""},
      {"/slots/1/ops/0/waits/0/for", "must be one of the ops", "nobody"},
      {"/slots/1/ops/0/waits/0/for", "must be an op whose end has such an event", "last"},
      {"/slots/1/ops/1/waits/0/pending", "", 1},
      {"/slots/1/ops/0/waits/0/need", "", "RAR"},
      {"/slots/1/ops/0/waits/0/storage", "must be one of the storages", "none"},
      {"/slots/1/ops/0/reads/0/storage", "must be one of the storages", "none"},
      {"/slots/1/ops/0/reads/1/distance", "", -1},
      {"/slots/1/ops/0/writes", "storages must be listed once, in the order of the file's storages",
       Json::array({"use", "ld"})},
      {"/storages/0/memory", "must be one of the memories", "tmem"},
      {"/storages/0/size", "", 0},
      {"/storages/0/depth", "", 0},
      {"/storages/0/alignment", "", 0},
      {"/storages/1/name", "names of storages must be unique", "ld"},
      {"/events/1/op", "an op has at most one event on a barrier and one without", "ld"},
      {"/events/0/kind", "", "end"},
      {"/events/0/barrier/phases", "", 0},
  };
  for (const Wrong& wrong : all) {
    CAPTURE(wrong.place);
    CAPTURE(wrong.value.dump());
    Json file = sample();
    file[Json::json_pointer(wrong.place)] = wrong.value;
    const InputError error = refusal([&] { parse_program(file.dump(), "x.json"); });
    CHECK(error.file() == "x.json");
    const std::string place = error.place();
    CHECK(place.find(wrong.place) == 0);
    if (*wrong.rule != '\0') CHECK(error.rule() == wrong.rule);
  }
  Json far = sample();
  far["storages"][1]["base"] = 0;
  CHECK_THROWS_AS(parse_program(far.dump()), InputError);
}

TEST_CASE("program schema: keys") {
  const Json file =
      Json::parse(read_file(TWILL_TEST_DATA "/../../graph/schema/program.schema.json"));
  Json full = sample();
  full["slots"][1]["ops"][0]["waits"][0]["offset"] = 0;
  full["slots"][1]["ops"][0]["waits"][0]["pending"] = false;
  full["slots"][1]["ops"][0]["reads"][0]["distance"] = 0;
  full["slots"][1]["ops"][0]["proxy"] = "generic";
  full["slots"][1]["ops"][0]["fence"] = false;
  full["events"][0]["barrier"]["address"] = 0;
  full["storages"][0]["shares"] = Json::array();
  full["version"] = 3;
  full["searched_only"] = "of at most 3 stages";
  full["placement"] = Json{{"class", program::kPlacementClass},
                           {"status", "optimal"},
                           {"lower_bound", Json{{"initiation_interval", 4}, {"length", 9}}}};
  full["meaning"] = Json::parse(R"({
    "doc": "d", "constants": {"two": 2.0},
    "tensors": [{"name": "A", "shape": [8], "type": "f16", "range": [-1, 1], "doc": "d"}],
    "before": [{"id": "w", "shape": [], "type": "f32", "computes": ["copy", "two"], "doc": "d"}],
    "ops": [{"id": "ld", "shape": [8], "type": "f16", "computes": ["load", "A"]},
            {"id": "use", "shape": [8], "type": "f32", "part_of": "use",
             "computes": ["add", "ld", {"of": "use", "distance": 1}]},
            {"id": "last", "shape": [8], "type": "f32", "computes": ["mul", "use", "w"]}],
    "initial": {"use": 0},
    "after": []})");
  struct Place {
    const char *sample, *schema;
  };
  const Place places[] = {
      {"", ""},
      {"/placement", "/properties/placement"},
      {"/placement/lower_bound", "/properties/placement/properties/lower_bound"},
      {"/memories/0", "/$defs/memory"},
      {"/slots/1", "/$defs/slot"},
      {"/slots/1/ops/0", "/$defs/op"},
      {"/slots/1/ops/0/reads/0", "/$defs/read"},
      {"/slots/1/ops/0/waits/0", "/$defs/wait"},
      {"/storages/0", "/$defs/in_memory"},
      {"/storages/1", "/$defs/in_registers"},
      {"/storages/2", "/$defs/order"},
      {"/events/0", "/$defs/event"},
      {"/events/0/barrier", "/$defs/barrier"},
      {"/meaning", "/$defs/meaning"},
      {"/meaning/tensors/0", "/$defs/tensor"},
      {"/meaning/before/0", "/$defs/value"},
      {"/meaning/ops/1", "/$defs/loop_value"}};
  for (const Place& place : places) {
    CAPTURE(place.sample);
    const Json& rules = file.at(Json::json_pointer(place.schema));
    const Json::json_pointer here(place.sample);
    CHECK(rules.at("additionalProperties") == false);
    CHECK(keys(full.at(here)) == keys(rules.at("properties")));
    const auto& list = rules.at("required");
    const std::set<std::string> required(list.begin(), list.end());
    for (const std::string& key : keys(full.at(here))) {
      CAPTURE(key);
      Json without = full;
      without.at(here).erase(key);
      // Without its memory or its registers a storage is one of another kind, and without its
      // barrier an event is one that may be there already.
      // A meaning needs what its parts name, and the storages that its ops read.
      const bool meant = key == "constants" || key == "tensors" || key == "before" ||
                         key == "initial" || key == "reads" || key == "writes";
      const bool other = key == "memory" || key == "registers" || key == "barrier" || meant;
      if (required.count(key) != 0 && !other)
        CHECK_THROWS_AS(parse_program(without.dump()), InputError);
      else if (!other)
        CHECK_NOTHROW(parse_program(without.dump()));
    }
    Json more = full;
    more.at(here)["surplus"] = 1;
    CHECK(refusal([&] { parse_program(more.dump()); }).rule().find("unknown key") == 0);
  }
  CHECK(file["$defs"]["depth"]["maximum"] == program::kMaxDepth);
  CHECK(file["$defs"]["op"]["properties"]["stage"]["maximum"] == program::kMaxStage);
  CHECK(file["$defs"]["amount"]["maximum"] == kMaxAmount);
  CHECK(file["properties"]["storages"]["maxItems"] == kMaxOps);
  CHECK(file["$defs"]["read"]["properties"]["distance"]["maximum"] == kMaxDistance);
  CHECK(file["properties"]["initiation_interval"]["maximum"] == kMaxInterval);
}

}  // namespace program_io_test
