// Kernel and machine files: strict reading, and schemas that say what the readers accept.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "graph/io/builtin.hpp"
#include "graph/lower.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/lowering/machine.hpp"

namespace kernel_machine_files_test {

using namespace twill;
using Json = nlohmann::ordered_json;
using Keys = std::set<std::string>;

namespace {

// Every key of the two formats occurs in these.
const char* const kKernel = R"({
  "format": "twill.kernel", "version": 3, "name": "k", "doc": "d",
  "resident": {"doc": "d", "registers": 8, "memory": {"smem": 16}},
  "ops": [
    {"id": "a", "doc": "d", "kind": "mul", "shape": [128, 64], "type": "f32", "operand_type": "f16",
     "width": 4, "registers": 64, "result": "registers", "traffic": {"SMEM": 128}, "reuse": 3},
    {"id": "b", "cost": {"unit": "ALU", "cycles": 4, "occupancy": 2, "latency": 9, "variable_latency": false}},
    {"id": "v", "kind": "view", "shape": [128, 64], "type": "f32", "alias_of": "b"},
    {"id": "c", "kind": "mul", "shape": [128, 64], "type": "f32"},
    {"id": "e", "kind": "mul", "shape": [128, 64], "type": "f32"},
    {"id": "f", "kind": "mul", "shape": [128, 64], "type": "f32"}],
  "edges": [
    {"from": "a", "to": "c", "doc": "d", "distance": 0, "blocking": true, "delay": 3, "hold": 1},
    {"from": "b", "to": "v", "distance": 1, "accumulate": true},
    {"from": "e", "to": "f"}],
  "chunks": [{"id": "x", "doc": "d", "ops": ["a", "c"], "columns": 32},
             {"id": "y", "ops": ["e", "f"], "count": 4}],
  "pins": [{"op": "x", "warp": "w", "doc": "d"}, {"op": "b", "not_warp": "z"},
           {"op": "y", "cycle": 7}, {"op": "b", "same_warp_as": "x"}]})";

const char* const kMachine = R"({
  "format": "twill.machine", "version": 3, "name": "m", "reading": "paper", "doc": "d", "aliases": {"x": "k"},
  "units": {"ALU": 1, "TC": 1},
  "channels": {"bus": {"rate": [64, 3], "shared": true, "source": "s"}},
  "memories": {"smem": {"capacity": 1024, "measure": "bytes"}},
  "register_file": {"registers": 65536, "threads_per_warpgroup": 128, "granule": 8, "min": 24, "max": 240},
  "vector_copies": 4, "spill": {"base": 64, "per_line": 2, "line_bytes": 128, "signal": 9},
  "barriers": {"wait": 30, "arrive": 41},
  "contention": [{"unit": "ALU", "while": "TC", "thousandths": 1390}],
  "layouts": [{"name": "l", "doc": "d", "slots": [
    {"name": "w", "width": 4, "registers": 240, "variable_latency": true},
    {"name": "z", "width": 4, "registers": 40}]}],
  "rules": {"mul": {"unit": "ALU",
    "cycles": [{"measure": "values", "factor": 2, "rate": 128, "less": 1, "at_least": 1,
                "at_most": 400, "times": 3}, {"measure": "macs", "rates": {"f16": 128}}],
    "occupancy": [{"measure": "constant"}], "latency": [{"measure": "rows"}],
    "width": 4, "result": "registers", "reduces": false, "variable_latency": false,
    "asynchronous": false, "traffic": {"bus": [{"measure": "warps"}]}, "source": "s"}},
  "sources": {"units.ALU": "s", "layouts.l.slots.w": "s"}})";

/// The refusal of a text by its reader, "" when it is accepted.
std::string refusal(const std::string& format, const std::string& text) {
  try {
    if (format == "kernel")
      parse_kernel(text, "f");
    else
      parse_machine(text, "f");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The keys that a reader says it knows when it meets an unknown one.
Keys known_keys(const std::string& message) {
  const std::string mark = "known here: ";
  const auto at = message.find(mark);
  if (at == std::string::npos) return {};
  Keys keys;
  // (Of a kernel with parameters the values follow.)
  std::istringstream list(
      message.substr(at + mark.size(), message.find(" (at ") - at - mark.size()));
  for (std::string key; std::getline(list >> std::ws, key, ',');) keys.insert(key);
  return keys;
}

struct Place {
  const char* object;  ///< JSON pointer into the sample
  const char* schema;  ///< JSON pointer into the schema
};

void compare_keys(const std::string& format, const Json& sample, const std::vector<Place>& places) {
  REQUIRE(refusal(format, sample.dump()) == "");
  const Json schema = Json::parse(builtin_schema(format));
  Keys covered{"/bandwidth"};  // of version 1 alone
  // In a sample of their own, where all ops have a meaning.
  covered.insert({"/meaning", "/$defs/op/computes", "/$defs/edge/order"});
  for (const Place& place : places) {
    CAPTURE(place.object);
    const Json& rules = schema.at(Json::json_pointer(place.schema));
    CHECK(rules.at("additionalProperties") == false);
    const Json::json_pointer object(place.object);
    Json changed = sample;
    changed.at(object)["zzz"] = 1;
    Keys wanted;
    for (const auto& [key, value] : rules.at("properties").items()) wanted.insert(key);
    CHECK(known_keys(refusal(format, changed.dump())) == wanted);
    for (const auto& [key, value] : sample.at(object).items())
      covered.insert(std::string(place.schema) + "/" + key);
    if (!rules.contains("required")) continue;
    for (const auto& key : rules["required"]) {
      if (key == "for_each") continue;  // without it, it is no group
      changed = sample;
      changed.at(object).erase(key.get<std::string>());
      CHECK(contains(refusal(format, changed.dump()),
                     "required key \"" + key.get<std::string>() + "\" is missing"));
    }
  }
  // The accepted sample has every key of the schema, so the reader knows at least those.
  for (const Place& place : places)
    for (const auto& [key, value] :
         schema.at(Json::json_pointer(std::string(place.schema) + "/properties")).items())
      CHECK_MESSAGE(covered.count(std::string(place.schema) + "/" + key) == 1, key);
}

/// Refused with `rule` after `pointer` of the sample is set to `value`.
void refused(const std::string& format, const char* sample, const char* pointer,
             const std::string& value, const std::string& rule) {
  Json changed = Json::parse(sample);
  changed[Json::json_pointer(pointer)] = Json::parse(value);
  const std::string message = refusal(format, changed.dump());
  CAPTURE(pointer);
  CAPTURE(message);
  CHECK(contains(message, std::string("f: ") + pointer));
  CHECK(contains(message, rule));
}

}  // namespace

TEST_CASE("kernel schema and reader know the same keys") {
  Json sample = Json::parse(kKernel);
  sample["version"] = 4;
  sample.merge_patch(Json::parse(R"({
    "parameters": {"n": {"values": [64, 128], "default": 64, "given": true, "doc": "d"},
                   "T": {"types": ["f16"], "default": "f16"}},
    "where": ["n > 1"], "work": "n", "work_unit": "elements"})"));
  const auto group = [&](const char* key, const std::string& element) {
    sample[key].push_back(Json::parse(R"({"for_each": {"s": "n / 32"}, "doc": "d", ")" +
                                      std::string(key) + "\": [" + element + "]}"));
  };
  group("ops", R"({"id": "g{s}", "kind": "mul", "shape": ["n", 32], "type": "T"},
                  {"id": "h{s}", "kind": "mul", "shape": ["n", 32], "type": "T"})");
  group("edges", R"({"from": "g{s}", "to": "h{s}"})");
  group("chunks", R"({"id": "k{s}", "ops": ["g{s}", "h{s}"], "columns": "n / 4"})");
  group("pins", R"({"op": "k{s}", "warp": "w"})");
  compare_keys("kernel", sample,
               {{"", ""},
                {"/parameters/n", "/$defs/parameter"},
                {"/parameters/T", "/$defs/parameter"},
                {"/ops/6", "/$defs/op_group"},
                {"/edges/3", "/$defs/edge_group"},
                {"/chunks/2", "/$defs/chunk_group"},
                {"/pins/4", "/$defs/pin_group"},
                {"/resident", "/$defs/resident"},
                {"/ops/0", "/$defs/op"},
                {"/ops/1", "/$defs/op"},
                {"/ops/2", "/$defs/op"},
                {"/ops/1/cost", "/$defs/cost"},
                {"/edges/0", "/$defs/edge"},
                {"/edges/1", "/$defs/edge"},
                {"/chunks/0", "/$defs/chunk"},
                {"/chunks/1", "/$defs/chunk"},
                {"/pins/0", "/$defs/pin"},
                {"/pins/1", "/$defs/pin"},
                {"/pins/2", "/$defs/pin"},
                {"/pins/3", "/$defs/pin"}});
}

TEST_CASE("kernel schema and reader know the same keys of a meaning") {
  const Json sample = Json::parse(R"({
    "format": "twill.kernel", "version": 4, "name": "k",
    "meaning": {
      "doc": "d", "constants": {"half": 0.5},
      "tensors": [{"name": "A", "shape": [8, 4], "type": "f16", "range": [-1, 1], "doc": "d"}],
      "before": [{"id": "w", "shape": [], "type": "f32", "computes": ["copy", "half"], "doc": "d"}],
      "initial": {"x": "w"},
      "after": []},
    "ops": [{"id": "a", "kind": "load", "shape": [8, 4], "type": "f16", "computes": ["load", "A"]},
            {"id": "x", "kind": "add", "shape": [], "type": "f32",
             "computes": ["add", {"of": "x", "distance": 1, "along": "rows", "transposed": false}, "w"]},
            {"id": "y", "kind": "mul", "shape": [8, 2], "type": "f32",
             "computes": ["mul", {"of": "a", "columns": [0, 2], "rows": [0, 8]}, 2]},
            {"id": "z", "kind": "mul", "shape": [], "type": "f32",
             "computes": ["mul", {"of": "a", "row": 7, "column": 3}, 2]}],
    "edges": [{"from": "x", "to": "x", "distance": 1}, {"from": "a", "to": "x", "order": true},
              {"from": "a", "to": "y"}, {"from": "a", "to": "z"}]})");
  Json op = sample;
  op["ops"][0]["surplus"] = 1;
  CHECK(known_keys(refusal("kernel", op.dump())).count("computes") == 1);
  Json edge = sample;
  edge["edges"][0]["surplus"] = 1;
  CHECK(known_keys(refusal("kernel", edge.dump())).count("order") == 1);
  Keys covered;
  const Json schema = Json::parse(builtin_schema("kernel"));
  for (const auto& [place, rules] :
       std::vector<std::pair<std::string, std::string>>{{"/meaning", "meaning"},
                                                        {"/meaning/tensors/0", "tensor"},
                                                        {"/meaning/before/0", "value"},
                                                        {"/ops/1/computes/1", "operand"},
                                                        {"/ops/2/computes/1", "operand"},
                                                        {"/ops/3/computes/1", "operand"}}) {
    CAPTURE(place);
    const Json& known = schema["$defs"][rules];
    CHECK(known["additionalProperties"] == false);
    Json more = sample;
    more[Json::json_pointer(place)]["surplus"] = 1;
    Keys wanted;
    for (const auto& [key, value] : known["properties"].items()) wanted.insert(key);
    CHECK(known_keys(refusal("kernel", more.dump())) == wanted);
    for (const auto& [key, value] : sample.at(Json::json_pointer(place)).items())
      covered.insert(rules + "/" + key);
    if (known.contains("required"))
      for (const auto& key : known["required"]) {
        Json less = sample;
        less[Json::json_pointer(place)].erase(key.get<std::string>());
        CHECK(contains(refusal("kernel", less.dump()), "is missing"));
      }
  }
  CHECK(refusal("kernel", sample.dump()) == "");
  for (const char* const rules : {"meaning", "tensor", "value", "operand"})
    for (const auto& [key, value] : schema["$defs"][rules]["properties"].items())
      CHECK_MESSAGE(covered.count(std::string(rules) + "/" + key) == 1, key);
  // The functions that the schema names are those of the reader.
  Json wrong = sample;
  wrong["ops"][0]["computes"][0] = "sine";
  std::string names;
  for (const auto& name : schema["$defs"]["computes"]["prefixItems"][0]["enum"])
    names += (names.empty() ? "" : ", ") + name.get<std::string>();
  CHECK(contains(refusal("kernel", wrong.dump()), "must be one of: " + names));
}

TEST_CASE("machine schema and reader know the same keys") {
  compare_keys("machine", Json::parse(kMachine),
               {{"", ""},
                {"/memories/smem", "/$defs/memory"},
                {"/channels/bus", "/$defs/channel"},
                {"/register_file", "/$defs/register_file"},
                {"/spill", "/$defs/spill"},
                {"/barriers", "/$defs/barriers"},
                {"/contention/0", "/$defs/slowdown"},
                {"/layouts/0", "/$defs/layout"},
                {"/layouts/0/slots/0", "/$defs/slot"},
                {"/rules/mul", "/$defs/rule"},
                {"/rules/mul/cycles/0", "/$defs/term"},
                {"/rules/mul/cycles/1", "/$defs/term"}});
}

TEST_CASE("schema enumerations are what the readers take") {
  const Json kernel = Json::parse(builtin_schema("kernel"));
  const Json machine = Json::parse(builtin_schema("machine"));
  for (const auto& type : kernel["$defs"]["element_type"]["enum"])
    CHECK(element_bits(type.get<std::string>()) > 0);
  CHECK(machine["$defs"]["term"]["properties"]["rates"]["propertyNames"]["enum"] ==
        kernel["$defs"]["element_type"]["enum"]);
  for (const auto& measure : machine["$defs"]["term"]["properties"]["measure"]["enum"]) {
    Json changed = Json::parse(kMachine);
    changed["rules"]["mul"]["cycles"][0]["measure"] = measure;
    CHECK(refusal("machine", changed.dump()) == "");
  }
  refused("machine", kMachine, "/rules/mul/cycles/0/measure", "\"flops\"",
          "must be one of: constant");
  refused("kernel", kKernel, "/ops/0/type", "\"f31\"", "must be one of: f64, f32");
}

TEST_CASE("all schemas are embedded") {
  const std::pair<std::string, std::string> newest[] = {{"problem", "5"},      {"schedule", "2"},
                                                        {"kernel", "4"},       {"machine", "3"},
                                                        {"measurements", "1"}, {"program", "1"}};
  for (const auto& [name, version] : newest)
    CHECK(Json::parse(builtin_schema(name))["$id"] == "urn:twill:" + name + ":" + version);
  CHECK_THROWS_AS(builtin_schema("nothing"), InputError);
}

TEST_CASE("kernel files: what is refused") {
  refused("kernel", kKernel, "/format", "\"twill.problem\"", "must be \"twill.kernel\"");
  refused("kernel", kKernel, "/version", "5", "reads version 1 to 4");
  Json first = Json::parse(kKernel);
  first["version"] = 2;
  CHECK(contains(refusal("kernel", first.dump()), "f: /ops/0/reuse"));
  first["ops"][0].erase("reuse");
  CHECK(refusal("kernel", first.dump()) == "");
  first["version"] = 1;
  CHECK(contains(refusal("kernel", first.dump()), "f: /pins: found an array of 4 values"));
  first.erase("pins");
  CHECK(refusal("kernel", first.dump()) == "");
  refused("kernel", kKernel, "/pins/0/op", "\"nobody\"", "must be the id of an op");
  refused("kernel", kKernel, "/pins/0/op", "\"a\"", "must be the chunk that the op is part of");
  refused("kernel", kKernel, "/pins/3/same_warp_as", "\"c\"", "must be the chunk");
  refused("kernel", kKernel, "/pins/0/warp", "\"\"", "must not be empty");
  refused("kernel", kKernel, "/pins/2/cycle", "-1", "found -1");
  refused("kernel", kKernel, "/pins/0", R"({"op": "x"})", "must have one of warp, not_warp");
  refused("kernel", kKernel, "/pins/0", R"({"op": "x", "warp": "w", "cycle": 1})",
          "must have one of warp, not_warp");
  refused("kernel", kKernel, "/name", "\"\"", "must not be empty");
  refused("kernel", kKernel, "/ops", "[]", "must have 1 to 10000 ops");
  refused("kernel", kKernel, "/ops/1/id", "\"a\"", "ids must be unique");
  refused("kernel", kKernel, "/ops/0/shape", "[1, 2, 3, 4]", "at most 3 dimensions");
  refused("kernel", kKernel, "/ops/0/shape/1", "0", "must be an integer from 1 to 16384");
  refused("kernel", kKernel, "/ops/0/shape/1", "16385", "must be an integer from 1 to 16384");
  refused("kernel", kKernel, "/ops/0/shape/1", "64.0", "without fraction");
  refused("kernel", kKernel, "/ops/0/width", "65", "must be an integer from 1 to 64");
  refused("kernel", kKernel, "/ops/0/registers", "-1", "must be an integer from 0");
  refused("kernel", kKernel, "/ops/0/kind", "\"\"", "must not be empty");
  refused("kernel", kKernel, "/ops/0/traffic/SMEM", "\"1\"", "must be an integer");
  refused("kernel", kKernel, "/ops/1/cost/cycles", "0", "must be an integer from 1");
  refused("kernel", kKernel, "/ops/1/cost/occupancy", "5", "must be an integer from 1 to 4");
  refused("kernel", kKernel, "/ops/2/alias_of", "\"zzz\"", "must be the id of an op");
  refused("kernel", kKernel, "/ops/2/alias_of", "\"a\"", "exactly one edge to the view, found 0");
  refused("kernel", kKernel, "/edges/0/from", "\"x\"", "must be the id of an op");
  refused("kernel", kKernel, "/edges/0/distance", "10001", "must be an integer from 0 to 10000");
  refused("kernel", kKernel, "/chunks/0/id", "\"a\"", "ids must be unique");
  refused("kernel", kKernel, "/chunks/1/ops/0", "\"y\"", "not of a chunk");
  refused("kernel", kKernel, "/chunks/1/ops/0", "\"v\"", "neither be a view nor have one");
  refused("kernel", kKernel, "/chunks/1/ops/0", "\"b\"", "neither be a view nor have one");
  refused("kernel", kKernel, "/chunks/1/ops/0", "\"c\"", "an op is in at most one chunk");
  refused("kernel", kKernel, "/chunks/0/columns", "48", "must divide the tile's 64 columns");
  // Refusals that stand at another place than the change.
  Json changed = Json::parse(kKernel);
  changed["ops"][1]["shape"] = {1};
  CHECK(refusal("kernel", changed.dump()) == "f: /ops/1: required key \"type\" is missing");
  changed = Json::parse(kKernel);
  changed["edges"][0]["accumulate"] = true;
  CHECK(
      refusal("kernel", changed.dump()) ==
      "f: /edges/0/delay: found 3: an accumulate edge must not state a delay: it is the occupancy");
  // A view of itself through another one.
  Json cycle = Json::parse(kKernel);
  cycle["ops"][1] = {
      {"id", "b"}, {"kind", "view"}, {"shape", {1}}, {"type", "f32"}, {"alias_of", "v"}};
  cycle["edges"].push_back({{"from", "v"}, {"to", "b"}});
  CHECK(contains(refusal("kernel", cycle.dump()), "must not alias each other in a cycle"));
  CHECK(
      contains(refusal("kernel", R"({"format": "twill.kernel", "format": "twill.kernel"})"), "f:"));
}

TEST_CASE("machine files: what is refused") {
  refused("machine", kMachine, "/units/ALU", "0", "must be an integer from 1");
  refused("machine", kMachine, "/bandwidth", R"({"ALU": 64})", "version 2 has channels instead");
  refused("machine", kMachine, "/reading", "\"both\"", "must be one of: machine, paper");
  refused("machine", kMachine, "/channels/bus/rate", "0", "must be an integer from 1");
  refused("machine", kMachine, "/channels/bus/rate", "[1, 2, 3]", "");
  refused("machine", kMachine, "/rules/mul/traffic/road", R"([{"measure": "rows"}])",
          "must name a channel of the machine: bus");
  Json first = Json::parse(kMachine);
  first["version"] = 1;
  for (const char* key :
       {"/reading", "/channels", "/barriers", "/contention", "/rules/mul/traffic"}) {
    CHECK(contains(refusal("machine", first.dump()), std::string("f: ") + key));
    const Json::json_pointer place(key);
    first.at(place.parent_pointer()).erase(place.back());
  }
  CHECK(refusal("machine", first.dump()) == "");
  first["rules"]["mul"]["cycles"][0]["measure"] = "warp_depth";
  CHECK(contains(refusal("machine", first.dump()), "must be one of: constant"));
  first["bandwidth"]["FPU"] = 1;
  CHECK(contains(refusal("machine", first.dump()), "must name a unit of the machine: ALU"));
  refused("machine", kMachine, "/barriers/wait", "-1", "must be an integer from 0 to 1000000");
  refused("machine", kMachine, "/contention/0/thousandths", "999", "from 1000 to 100000");
  refused("machine", kMachine, "/contention/0/while", "\"road\"", "must name a unit");
  refused("machine", kMachine, "/contention/0/while", "\"ALU\"", "must be another unit");
  refused("machine", kMachine, "/contention/1",
          R"({"unit": "ALU", "while": "TC", "thousandths": 1100})", "second for these two units");
  Json second = Json::parse(kMachine);
  second["version"] = 2;
  CHECK(contains(refusal("machine", second.dump()), "f: /contention"));
  CHECK(contains(refusal("machine", second.dump()), "needs a file of version 3"));
  second.erase("contention");
  CHECK(refusal("machine", second.dump()) == "");
  refused("machine", kMachine, "/barriers", R"({"wait": 1})", "\"arrive\" is missing");
  refused("machine", kMachine, "/memories/smem/measure", "\"words\"",
          "must be one of: bytes, columns");
  refused("machine", kMachine, "/memories/none", R"({"capacity": 1, "measure": "bytes"})",
          "are no memories");
  refused("machine", kMachine, "/register_file/threads_per_warpgroup", "100", "multiple of 32");
  refused("machine", kMachine, "/register_file/max", "16", "must be an integer from 24");
  refused("machine", kMachine, "/layouts", "[]", "at least one layout");
  refused("machine", kMachine, "/layouts/0/slots", "[]", "at least one slot");
  refused("machine", kMachine, "/layouts/0/slots/1/name", "\"w\"", "slot names must be unique");
  refused("machine", kMachine, "/layouts/0/slots/1/variable_latency", "true", "at most one slot");
  refused("machine", kMachine, "/layouts/0/slots/1/registers", "44",
          "multiple of 8 from 24 to 240");
  refused("machine", kMachine, "/rules/mul/unit", "\"FPU\"",
          "must name a unit of the machine: ALU");
  refused("machine", kMachine, "/rules/mul/result", "\"tmem\"",
          "must be one of: registers, none, smem");
  refused("machine", kMachine, "/rules/mul/cycles", "[]", "at least one term");
  refused("machine", kMachine, "/rules/mul/cycles/0/rate", "0", "must be an integer from 1");
  refused("machine", kMachine, "/rules/mul/cycles/0/rates", R"({"f16": 1})",
          "must not stand beside rate");
  refused("machine", kMachine, "/rules/mul/cycles/1/rates", "{}", "at least one rate");
  refused("machine", kMachine, "/rules/mul/cycles/1/rates/f31", "1", "keyed by an element type");
  refused("machine", kMachine, "/sources/units.FPU", "\"s\"",
          "dotted path of a value in this file");
  Json twice = Json::parse(kMachine);
  twice["layouts"].push_back(twice["layouts"][0]);
  CHECK(contains(refusal("machine", twice.dump()), "layout names must be unique"));
  Json timeless = Json::parse(kMachine);
  timeless["rules"]["mul"].erase("unit");
  CHECK(contains(refusal("machine", timeless.dump()),
                 "/rules/mul/cycles: found an array of 2 values: needs a unit"));
  timeless["rules"]["mul"]["unit"] = "ALU";
  timeless["rules"]["mul"].erase("cycles");
  CHECK(contains(refusal("machine", timeless.dump()), "required key \"cycles\" is missing"));
}

TEST_CASE("built-in files use no key and no type that their schema lacks") {
  // The readers are strict and agree with the schemas on keys (above), so reading is the check.
  for (const BuiltinFile& file : builtin_files()) {
    CAPTURE(file.name);
    if (file.folder == "kernels") CHECK(refusal("kernel", std::string(file.text)) == "");
    if (file.folder == "machines") CHECK(refusal("machine", std::string(file.text)) == "");
    if (file.folder == "kernels") CHECK(parse_kernel(file.text, "f").name == file.name);
  }
  // Every rule and every built-in machine says where its numbers come from.
  for (const std::string& name : builtin_machines()) {
    const Json machine = Json::parse(builtin_machine(name));
    CHECK(machine.contains("sources"));
    for (const auto& [kind, rule] : machine["rules"].items()) CHECK(rule.contains("source"));
  }
}

TEST_CASE("a rule's terms: every measure, factors, rounding up, overflow") {
  const auto cycles = [](Measure measure, std::int64_t factor, std::int64_t rate,
                         std::vector<std::int64_t> shape, const std::string& type, int width) {
    CostRule rule;
    rule.unit = "U";
    rule.cycles = {{measure, factor, rate, {}}};
    const Tile tile{std::move(shape), type, type};
    return evaluate(rule, tile, width, {"f", 0, 4}).cycles;
  };
  CHECK(cycles(Measure::constant, 7, 2, {8, 8}, "f32", 1) == 4);
  CHECK(cycles(Measure::macs, 1, 100, {8, 5, 3}, "f16", 1) == 2);
  CHECK(cycles(Measure::elements, 3, 1, {8, 5, 3}, "f16", 1) == 120);
  CHECK(cycles(Measure::elements, 1, 1, {8}, "f16", 1) == 8);
  CHECK(cycles(Measure::values, 1, 1, {8}, "f16", 1) == 32);
  CHECK(cycles(Measure::values, 1, 1, {8, 2}, "f16", 1) == 16);
  CHECK(cycles(Measure::rows, 1, 1, {8, 2}, "f16", 1) == 8);
  CHECK(cycles(Measure::bytes, 1, 1, {3, 3}, "f4", 1) == 5);
  CHECK(cycles(Measure::bytes, 1, 1, {8, 2}, "f64", 1) == 128);
  CHECK(cycles(Measure::warp_bytes, 1, 10, {8, 2}, "f16", 4) == 13);
  CHECK(cycles(Measure::elements, 1, 1, {}, "f16", 4) == 0);
  CHECK(cycles(Measure::row_bytes, 1, 1, {8, 2}, "f16", 1) == 4);
  CHECK(cycles(Measure::depth, 1, 1, {8, 5, 3}, "f16", 1) == 3);
  CHECK_THROWS_AS(cycles(Measure::macs, 1, 1, {8, 5}, "f16", 1), InputError);
  CHECK_THROWS_AS(cycles(Measure::elements, 100, 1, {16384, 16384}, "f16", 1), InputError);
  CHECK_THROWS_AS(cycles(Measure::macs, 1'000'000'000, 1, {16384, 16384, 16384}, "f16", 1),
                  InputError);
  CostRule rule;
  rule.unit = "U";
  rule.cycles = {{Measure::macs, 1, 1, {{"f16", 4}, {"f8", 8}}}};
  CHECK(evaluate(rule, {{4, 4, 4}, "f32", "f16"}, 1, {"f", 0, 1}).cycles == 16);
  CHECK(evaluate(rule, {{4, 4, 4}, "f32", "f8"}, 1, {"f", 0, 1}).cycles == 8);
  CHECK_THROWS_AS(evaluate(rule, {{4, 4, 4}, "f32", "f32"}, 1, {"f", 0, 1}), InputError);
}

}  // namespace kernel_machine_files_test
