// Kernels with parameters: the built-in ones are today's kernels at the values that say so, what a
// group becomes, the space of all combinations, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "graph/io/builtin.hpp"
#include "graph/lower.hpp"
#include "graph/lowering/instantiate.hpp"
#include "graph/problem_io.hpp"
#include "graph/tiles.hpp"

namespace instantiate_test {

using namespace twill;
using Json = nlohmann::ordered_json;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const char* const kKernel = R"json({
  "format": "twill.kernel", "version": 3, "name": "k",
  "parameters": {
    "m": {"values": [64, 128, 192], "default": 128},
    "parts": {"values": [1, 2, 3], "default": 2},
    "depth": {"values": [7, 8], "default": 8, "given": true},
    "T": {"types": ["f16", "f8"], "default": "f16"}},
  "where": ["m == 64 * parts"],
  "work": "m * depth", "work_unit": "elements",
  "resident": {"registers": "depth", "memory": {"smem": "m * bytes(T)"
}
}
,
  "ops": [
    {"id": "ld", "kind": "tma_load", "shape": ["m", 64], "type": "T", "traffic": {"SMEM": "64 * m"}},
    {"for_each": {"i": "parts"}, "ops": [
      {"id": "p{i}_a", "kind": "mul", "shape": ["m / parts", 64], "type": "f32"},
      {"id": "p{i}_b", "kind": "add", "shape": ["m / parts", 64], "type": "f32", "registers": "i + 1"}]},
    {"id": "end", "cost": {"unit": "ALU", "cycles": "max(depth, 8) * 2", "occupancy": "depth"}}],
  "edges": [
    {"for_each": {"i": "parts"}, "edges": [
      {"from": "ld", "to": "p{i}_a"},
      {"from": "p{i}_a", "to": "p{i}_b", "delay": "depth + i"}]},
    {"from": "p{parts - 1}_b", "to": "end", "distance": "parts - 1"}],
  "chunks": [{"for_each": {"i": "parts"}, "chunks": [
    {"id": "c{i}", "ops": ["p{i}_a", "p{i}_b"], "columns": "depth * 2"}]}],
  "pins": [{"for_each": {"i": "parts"}, "pins": [{"op": "c{i}", "warp": "wg0"}]}]
})json";

KernelTemplate template_of(const std::string& text) {
  return KernelTemplate(JsonDocument::parse(text, "f"));
}

std::string refusal(const std::string& text) {
  try {
    parse_kernel(text, "f");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// Refused with `rule` at `place` after `pointer` of the sample is set to `value`.
void refused(const char* pointer, const std::string& value, const char* place,
             const std::string& rule) {
  Json changed = Json::parse(kKernel);
  changed[Json::json_pointer(pointer)] = Json::parse(value);
  const std::string message = refusal(changed.dump());
  CAPTURE(std::string(pointer));
  CAPTURE(value);
  CAPTURE(message);
  CHECK(contains(message, std::string("f: ") + place + ": "));
  CHECK(contains(message, rule));
}

/// Problems of a kernel on its machine, with what differs by name alone taken out.
std::vector<std::string> problems(const std::string& kernel, const std::string& machine,
                                  const ParameterValues& values, Reading reading,
                                  const std::string& prefix) {
  LowerOptions options;
  options.values = values;
  options.reading = reading;
  std::vector<std::string> texts;
  for (Lowered& lowered :
       lower(builtin_kernel(kernel), kernel, builtin_machine(machine), machine, options)) {
    lowered.problem.name = "x";
    for (Op& op : lowered.problem.ops)
      if (!prefix.empty() && op.id.starts_with(prefix)) op.id = op.id.substr(prefix.size());
    texts.push_back(lowered.layout + "\n" + problem_text(lowered.problem));
  }
  return texts;
}

}  // namespace

TEST_CASE("at the values that say so, kernels with parameters are today's to the byte") {
  struct Same {
    const char *tiles, *kernel, *machine;
    ParameterValues values;
    const char* prefix = "";
  };
  const Same all[] = {
      {"hopper-forward-tiles", "hopper-fwd-sub2", "hopper", {}},
      {"hopper-forward-tiles", "hopper-fwd-sub2", "hopper", {{"rows", "128"}, {"keys", "128"}}},
      {"blackwell-forward-tiles", "blackwell-fwd-sub2-chunked", "blackwell", {}},
      {"hopper-backward-tiles", "hopper-bwd", "hopper", {}},
      {"hopper-backward-tiles", "hopper-bwd-q64", "hopper", {{"aside", "32"}}},
      {"hopper-backward-tiles", "hopper-bwd-q80", "hopper", {{"q", "80"}}},
      {"blackwell-backward-tiles", "blackwell-bwd-sub2", "blackwell", {}},
      {"blackwell-backward-tiles",
       "blackwell-bwd",
       "blackwell",
       {{"subtiles", "1"}, {"warps", "8"}},
       "s0_"},
      {"blackwell-gemm-tiles", "gemm", "blackwell", {}, "s0_"},
      {"hopper-mlp-tiles", "hopper-mlp", "hopper", {}},
      {"hopper-retnet-tiles", "hopper-retnet", "hopper", {}},
      {"hopper-grouped-gemm-tiles", "hopper-grouped-gemm", "hopper", {}},
  };
  for (const Same& same : all)
    for (const Reading reading : {Reading::machine, Reading::paper}) {
      CAPTURE(same.tiles);
      CAPTURE(same.kernel);
      const auto found = problems(same.tiles, same.machine, same.values, reading, same.prefix);
      CHECK(!found.empty());
      CHECK(found == problems(same.kernel, same.machine, {}, reading, ""));
    }
}

TEST_CASE("every built-in space: published tiles are in it, all of it can be lowered") {
  const auto has = [](const char* kernel, const char* machine, const ParameterValues& wanted) {
    const auto all = lower_tiles(builtin_kernel(kernel), kernel, builtin_machine(machine), machine);
    return std::any_of(all.begin(), all.end(), [&](const TileChoice& choice) {
      return choice.lowered && std::all_of(wanted.begin(), wanted.end(), [&](const auto& value) {
               return std::count(choice.values.begin(), choice.values.end(), value) == 1;
             });
    });
  };
  // FlashAttention-3 forward, both masks, and backward; FlashAttention-4; CUTLASS's cooperative.
  CHECK(has("hopper-forward-tiles", "hopper",
            {{"rows", "128"}, {"subtiles", "2"}, {"keys", "176"}, {"hdim", "128"}}));
  CHECK(has("hopper-forward-tiles", "hopper", {{"rows", "128"}, {"keys", "128"}}));
  CHECK(has("hopper-backward-tiles", "hopper", {{"kv", "128"}, {"q", "80"}}));
  CHECK(has("hopper-backward-tiles", "hopper", {{"kv", "128"}, {"q", "64"}}));
  CHECK(has("blackwell-forward-tiles", "blackwell",
            {{"rows", "256"}, {"subtiles", "2"}, {"keys", "128"}, {"hdim", "128"}}));
  CHECK(has("blackwell-backward-tiles", "blackwell",
            {{"q", "128"}, {"subtiles", "1"}, {"warps", "8"}}));
  CHECK(has("hopper-gemm-tiles", "hopper",
            {{"m", "128"}, {"subtiles", "2"}, {"n", "256"}, {"k", "64"}}));
  std::size_t kernels = 0;
  for (const BuiltinFile& file : builtin_files()) {
    const std::string name(file.name);
    if (file.folder != "kernels" || !name.ends_with("-tiles")) continue;
    ++kernels;
    const KernelTemplate kernel(JsonDocument::parse(file.text, name));
    // Types and other given values: each is read where all else is as the file has it.
    for (const KernelParameter& parameter : kernel.parameters().all)
      for (std::size_t i = 0; parameter.given && i < parameter.size(); ++i) {
        const ParameterIndices indices = kernel.indices({{parameter.name, parameter.text(i)}});
        CHECK(kernel.instantiate(indices).kernel.name == name);
        CHECK(kernel.work(indices) > 0);
      }
  }
  CHECK(kernels == 9);
}

TEST_CASE("groups, expressions, types: the kernel that comes out") {
  const KernelTemplate kernel = template_of(kKernel);
  CHECK(kernel.parameters().work_unit == "elements");
  const ParameterIndices at =
      kernel.indices({{"m", "192"}, {"parts", "3"}, {"depth", "7"}, {"T", "f8"}});
  CHECK(kernel.allowed(at));
  CHECK_FALSE(kernel.allowed(kernel.indices({{"m", "192"}})));
  CHECK(kernel.work(at) == 192 * 7);
  Json changed = Json::parse(kKernel);
  changed.erase("chunks");
  changed.erase("pins");
  const Kernel plain = template_of(changed.dump()).instantiate(at).kernel;
  CHECK(plain.resident_registers == 7);
  CHECK(plain.resident_memory == std::vector<std::pair<std::string, Amount>>{{"smem", 192}});
  std::vector<std::string> ids;
  for (const KernelOp& op : plain.ops) ids.push_back(op.id);
  CHECK(ids ==
        std::vector<std::string>{"ld", "p0_a", "p0_b", "p1_a", "p1_b", "p2_a", "p2_b", "end"});
  CHECK(plain.ops[0].tile->type == "f8");
  CHECK(plain.ops[0].tile->shape == std::vector<std::int64_t>{192, 64});
  CHECK(plain.ops[0].traffic.front().second == 64 * 192);
  CHECK(plain.ops[6].registers == 3);
  CHECK(plain.ops[6].tile->shape == std::vector<std::int64_t>{64, 64});
  CHECK(plain.ops[7].cost->cycles == 16);
  CHECK(plain.ops[7].cost->occupancy == 7);
  REQUIRE(plain.edges.size() == 7);
  CHECK(plain.edges[5].delay == 9);
  CHECK(plain.edges[6].from == 6);
  CHECK(plain.edges[6].distance == 2);
  const Kernel whole = kernel.instantiate(kernel.indices({})).kernel;  // parts = 2, depth = 8
  REQUIRE(whole.chunks.size() == 2);
  CHECK(whole.chunks[1].id == "c1");
  CHECK(whole.chunks[1].columns == 16);
  CHECK(whole.pins[1].op == "c1");
  CHECK(parse_kernel(kKernel, "f").ops.size() == whole.ops.size());  // the defaults
}

TEST_CASE("the space: in the file's order, conditions, given values, misfits") {
  const std::string machine = builtin_machine("hopper");
  Json changed = Json::parse(kKernel);
  changed.erase("pins");
  LowerOptions options;
  const auto all = lower_tiles(changed.dump(), "f", machine, "hopper", options);
  std::vector<std::string> seen;
  for (const TileChoice& choice : all)
    if (seen.empty() || seen.back() != choice.values[0].second) {
      seen.push_back(choice.values[0].second);
      CHECK(choice.values[2].second == "8");  // given: the default
      CHECK(choice.values[3].second == "f16");
      CHECK(choice.work == std::stoll(choice.values[0].second) * 8);
    }
  CHECK(seen == std::vector<std::string>{"64", "128", "192"});
  REQUIRE(all.size() % 3 == 0);
  std::set<std::string> layouts;
  for (const TileChoice& choice : all) layouts.insert(choice.layout);
  CHECK(layouts.size() == all.size() / 3);
  options.values = {{"m", "128"}, {"T", "f8"}};
  const auto fixed = lower_tiles(changed.dump(), "f", machine, "hopper", options);
  CHECK(fixed.size() == all.size() / 3);
  CHECK(fixed.front().values[1].second == "2");
  CHECK(fixed.front().lowered->problem ==
        lower(changed.dump(), "f", machine, "hopper", options).front().problem);
  // What is resident does not fit: said of every layout.
  changed["resident"]["memory"]["smem"] = "m * 2000";
  for (const TileChoice& choice : lower_tiles(changed.dump(), "f", machine, "hopper", {}))
    CHECK(choice.lowered.has_value() == (choice.values[0].second == "64"));
  changed["ops"][2]["registers"] = "max(m - 64, 0) * 3";
  for (const TileChoice& choice : lower_tiles(changed.dump(), "f", machine, "hopper", {})) {
    CHECK(choice.lowered.has_value() == choice.misfit.empty());
    if (choice.values[0].second == "128") CHECK(contains(choice.misfit, "256000 of smem"));
  }
  const auto refuses = [&](const LowerOptions& these, const std::string& text) {
    try {
      lower_tiles(text, "f", machine, "hopper", these);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  LowerOptions normal;
  normal.normalize = 300;
  CHECK(contains(refuses(normal, kKernel), "tiles are compared in clocks"));
  CHECK(contains(refuses({}, builtin_kernel("gemm")), "has no parameters to choose"));
  LowerOptions broken;
  broken.values = {{"m", "64"}, {"parts", "3"}};
  CHECK(contains(refuses(broken, kKernel), "must meet the kernel's conditions"));
  Json many = Json::parse(kKernel);
  many["where"] = {"m == 64 * parts"};
  for (const char* const name : {"x", "y", "z"}) {
    many["parameters"][name] = {{"values", Json::array()}, {"default", 0}};
    for (int i = 0; i < 20; ++i) many["parameters"][name]["values"].push_back(i);
  }
  CHECK(contains(refuses({}, many.dump()), "at most 10000 combinations"));
  broken.values = {{"n", "64"}};
  CHECK(contains(refuses(broken, kKernel), "no such parameter; the kernel has: m, parts, depth"));
  broken.values = {{"m", "65"}};
  CHECK(contains(refuses(broken, kKernel), "must be one of: 64, 128, 192"));
  broken.values = {{"m", "64"}, {"m", "64"}};
  CHECK(contains(refuses(broken, kKernel), "must be said once"));
  CHECK_THROWS_AS(lower(builtin_kernel("gemm"), "gemm", machine, "hopper", broken), InputError);
}

TEST_CASE("what is refused: the place in the file, the value, the values it was evaluated at") {
  CHECK(refusal(kKernel) == "");
  const std::string at = "(at m = 128, parts = 2, depth = 8, T = f16)";
  refused("/ops/1/ops/0/shape/0", "\"m / 3\"", "/ops/1/ops/0/shape/0",
          "128 / 3 leaves a rest: divisions are exact " + at);
  refused("/ops/0/shape/0", "\"m * m + 1\"", "/ops/0/shape/0",
          "must be an integer from 1 to 16384 " + at);
  refused("/ops/1/ops/1/shape/0", "\"m - 128\"", "/ops/1/ops/1/shape/0", "found 0");
  refused("/ops/2/cost/cycles", "\"depth - 8\"", "/ops/2/cost/cycles", at);
  refused("/ops/0/traffic/SMEM", "\"nobody\"", "/ops/0/traffic/SMEM",
          "\"nobody\" is no parameter that is a number");
  refused("/ops/0/type", "\"V\"", "/ops/0/type", "must be one of: f64");
  refused("/ops/0/zzz", "1", "/ops/0/zzz", "unknown key");
  refused("/ops/1/ops/0/zzz", "1", "/ops/1/ops/0/zzz", "unknown key");
  refused("/ops/1/ops/0/id", "\"same\"", "/ops/1/ops/0/id", "ids must be unique");
  refused("/ops/1/ops/0/id", "\"p{i\"", "/ops/1/ops/0/id", "braces must be pairs");
  refused("/ops/1/zzz", "1", "/ops/1/zzz", "unknown key");
  refused("/ops/1/for_each", "{}", "/ops/1/for_each", "must have one member");
  refused("/ops/1/for_each", R"({"i": 1, "j": 2})", "/ops/1/for_each", "must have one member");
  refused("/ops/1/for_each", R"({"m": 1})", "/ops/1/for_each", "a name that nothing else has");
  refused("/ops/1/for_each/i", "\"parts - 2\"", "/ops/1/for_each/i", "from 1 to 1000 " + at);
  refused("/ops/1/for_each/i", "1001", "/ops/1/for_each/i", "from 1 to 1000");
  refused("/ops/1/ops", "[]", "/ops/1/ops", "must not be empty");
  refused("/edges/0/edges/1/from", "\"p{i + 1}_a\"", "/edges/0/edges/1/from",
          "must be the id of an op");
  refused("/edges/1/distance", "\"parts - 3\"", "/edges/1/distance", "found -1");
  refused("/chunks/0/chunks/0/columns", "\"depth * 3\"", "/chunks/0/chunks/0/columns",
          "must divide the tile's 64 columns");
  refused("/pins/0/pins/0/op", "\"c{i + 1}\"", "/pins/0/pins/0/op", "must be the id of an op");
  refused("/resident/registers", "\"0 - depth\"", "/resident/registers", "found -8");
  refused("/resident/memory/smem", "\"bytes(m)\"", "/resident/memory/smem",
          "is no element type and no type parameter");
  refused("/parameters", "{}", "/parameters", "must not be empty");
  refused("/parameters/max", R"({"values": [1], "default": 1})", "/parameters/max", "its name");
  refused("/parameters/m/values", "[]", "/parameters/m/values", "must not be empty");
  refused("/parameters/m/values/0", "128", "/parameters/m/values/1", "must be unique");
  refused("/parameters/m/values/0", "-1", "/parameters/m/values/0", "must be an integer from 0");
  refused("/parameters/m/default", "65", "/parameters/m/default", "must be one of the values");
  refused("/parameters/m/types", "[\"f16\"]", "/parameters/m", "either values or types");
  refused("/parameters/T/given", "false", "/parameters/T/given", "always given");
  refused("/parameters/T/types/0", "\"f31\"", "/parameters/T/types/0", "must be one of");
  refused("/parameters/m/default", "64", "/where", "the defaults must meet it");
  refused("/where/0", "\"m\"", "/where/0", "must be ==, <=, >=, < or >");
  refused("/where/0", "1", "/where/0", "must be a string");
  refused("/work", "\"m - 128\"", "/work", "must be an integer from 1");
  refused("/work", "0", "/work", "must be an integer from 1");
  refused("/work_unit", "\"\"", "/work_unit", "must not be empty");
  for (const char* const key : {"work", "work_unit"}) {
    Json changed = Json::parse(kKernel);
    changed.erase(key);
    CHECK(contains(refusal(changed.dump()), "is missing"));
    changed = Json::parse(builtin_kernel("gemm"));
    changed["version"] = 4;
    changed[key] = "1";
    CHECK(contains(refusal(changed.dump()), "needs parameters beside it"));
  }
  Json old = Json::parse(kKernel);
  old["version"] = 2;
  CHECK(contains(refusal(old.dump()), "f: /parameters: found an object: unknown key"));
  // What a machine says of a kernel has the file's place too.
  Json kind = Json::parse(kKernel);
  kind["ops"][1]["ops"][1]["kind"] = "nothing";
  kind.erase("pins");
  try {
    lower(kind.dump(), "f", builtin_machine("hopper"), "hopper", {});
    CHECK(false);
  } catch (const InputError& error) {
    CHECK(error.place() == "/ops/1/ops/1/kind");
    CHECK(contains(error.rule(), at));
  }
}

}  // namespace instantiate_test
