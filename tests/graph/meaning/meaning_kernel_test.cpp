// The meaning of the built-in kernels: it changes no problem, and what a file says wrongly is
// refused with its place.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/include/twill.hpp"
#include "graph/io/builtin.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/io/json_writer.hpp"
#include "graph/lower.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/meaning_io.hpp"
#include "graph/problem_io.hpp"

namespace meaning_kernel_test {

using namespace twill;
using Json = nlohmann::ordered_json;

namespace {

std::string refusal(const Json& kernel) {
  try {
    parse_kernel(kernel.dump(), "f");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void refused(const Json& kernel, const std::string& place, const std::string& rule) {
  const std::string message = refusal(kernel);
  CAPTURE(message);
  CHECK(message.starts_with("f: " + place + ":"));
  CHECK(message.find(rule) != std::string::npos);
}

/// The file without what version 4 adds.
Json without_meaning(Json kernel) {
  kernel["version"] = kernel.contains("parameters") ? 3 : kernel.contains("pins") ? 2 : 1;
  kernel.erase("meaning");
  const auto bare = [&](Json& op) {
    if (op.contains("reuse")) kernel["version"] = 3;
    op.erase("computes");
  };
  for (Json& op : kernel["ops"]) {
    bare(op);
    if (op.contains("for_each"))
      for (Json& inner : op["ops"]) bare(inner);
  }
  for (Json& edge : kernel["edges"]) edge.erase("order");
  return kernel;
}

const char* const kSmall = R"({
  "format": "twill.kernel", "version": 4, "name": "k",
  "meaning": {
    "doc": "d", "constants": {"half": 0.5, "low": "-inf"},
    "tensors": [{"name": "A", "shape": [8, 4], "type": "f16", "range": [-1, 1], "doc": "d"},
                {"name": "W", "shape": [4, 8], "type": "f16"},
                {"name": "S", "shape": [8], "type": "f32"},
                {"name": "C", "shape": [8, 8], "type": "f32"}],
    "before": [{"id": "w", "shape": [4, 8], "type": "f16", "computes": ["load", "W"], "doc": "d"}],
    "initial": {"acc": 0, "top": "low"},
    "after": [{"id": "c", "shape": [8, 8], "type": "f32", "computes": ["store", "C", "acc"]},
              {"id": "s", "shape": [8], "type": "f32", "computes": ["store", "S", "top"]}]},
  "ops": [
    {"id": "a", "kind": "tma_load", "shape": [8, 4], "type": "f16", "computes": ["load", "A"]},
    {"id": "p", "kind": "gemm", "shape": [8, 8, 4], "type": "f32", "operand_type": "f16",
     "computes": ["product", "a", "w"]},
    {"id": "most", "kind": "reduce_max", "shape": [8, 8], "type": "f32", "computes": ["row_max", "p"]},
    {"id": "top", "kind": "max", "shape": [8], "type": "f32",
     "computes": ["max", {"of": "top", "distance": 1}, "most"]},
    {"id": "half_p", "kind": "mul", "shape": [8, 8], "type": "f32", "computes": ["mul", "p", "half"]},
    {"id": "less", "kind": "sub", "shape": [8, 8], "type": "f32",
     "computes": ["sub", "half_p", {"of": "top", "along": "columns"}]},
    {"id": "acc", "kind": "add", "shape": [8, 8], "type": "f32",
     "computes": ["add", {"of": "acc", "distance": 1}, {"of": "less", "transposed": true, "columns": [0, 8]}]}],
  "edges": [
    {"from": "a", "to": "p"}, {"from": "p", "to": "most"}, {"from": "most", "to": "top"},
    {"from": "top", "to": "top", "distance": 1}, {"from": "p", "to": "half_p"},
    {"from": "half_p", "to": "less"}, {"from": "top", "to": "less"},
    {"from": "acc", "to": "acc", "distance": 1}, {"from": "less", "to": "acc"},
    {"from": "a", "to": "acc", "order": true}]})";

}  // namespace

TEST_CASE("meaning changes no problem, to the byte") {
  int kernels = 0, problems = 0;
  for (const BuiltinFile& file : builtin_files()) {
    if (file.folder != "kernels") continue;
    const std::string name(file.name);
    const Json kernel = Json::parse(file.text);
    if (!kernel.contains("meaning")) continue;
    ++kernels;
    const std::string bare = without_meaning(kernel).dump();
    for (const std::string& machine : builtin_machines()) {
      std::vector<Lowered> with, without;
      std::string message, other;
      try {
        with = lower(builtin_kernel(name), "f", builtin_machine(machine), "m", {});
      } catch (const InputError& error) {
        message = error.what();
      }
      try {
        without = lower(bare, "f", builtin_machine(machine), "m", {});
      } catch (const InputError& error) {
        other = error.what();
      }
      CAPTURE(name);
      CAPTURE(machine);
      CHECK(message == other);
      REQUIRE(with.size() == without.size());
      for (std::size_t k = 0; k < with.size(); ++k, ++problems)
        CHECK(problem_text(with[k].problem) == problem_text(without[k].problem));
    }
  }
  CHECK(kernels >= 31);
  CHECK(problems >= 90);
}

TEST_CASE("meaning is written as it is read") {
  for (const BuiltinFile& file_read : builtin_files()) {
    if (file_read.folder != "kernels") continue;
    const std::string name(file_read.name);
    const auto meaning = meaning_of_kernel(std::string(file_read.text), name, {});
    if (!meaning) continue;
    CAPTURE(name);
    JsonWriter file;
    meaning::write_meaning(*meaning, file);
    const std::string text = std::move(file).file_text("f");
    const JsonDocument document = JsonDocument::parse(text, "f");
    meaning::check_meaning_keys(document.root(), true);
    const auto ops = document.root().at("ops").elements();
    meaning::Meaning again = meaning::read_meaning(document.root(), ops);
    for (std::size_t v = 0; v < ops.size(); ++v)
      again.values[static_cast<std::size_t>(again.loop_begin) + v].part_of =
          ops[v].text_or("part_of", "");
    CHECK(again == *meaning);
  }
}

TEST_CASE("what a meaning says wrongly is refused at its place") {
  const Json small = Json::parse(kSmall);
  REQUIRE(refusal(small) == "");
  Json k = small;
  const auto op = [&](int index, const std::string& computes) {
    k = small;
    k["ops"][static_cast<std::size_t>(index)]["computes"] = Json::parse(computes);
  };
  // Names.
  op(1, R"(["product", "a", "nobody"])");
  refused(k, "/ops/1/computes/2", "name of a constant or value");
  op(1, R"(["multiply", "a", "w"])");
  refused(k, "/ops/1/computes/0", "must be one of: load, store");
  op(1, R"(["product", "a", "A"])");
  refused(k, "/ops/1/computes/2", "must be loaded first");
  op(0, R"(["load", "w"])");
  refused(k, "/ops/0/computes/1", "must be a tensor");
  op(1, R"(["product", "a", "c"])");
  refused(k, "/ops/1/computes/2", "computed after the loop");
  op(1, R"(["product", "a"])");
  refused(k, "/ops/1/computes", "has 2 or 3 operands");
  op(1, "[]");
  refused(k, "/ops/1/computes", "must begin with the name");
  k = small;
  k["meaning"]["tensors"][0]["name"] = "p";
  refused(k, "/ops/1/id", "must be unique");
  k = small;
  k["meaning"]["constants"]["inf"] = 3;
  refused(k, "/meaning/constants/inf", "must not be the name of a number");
  // Distances against edges.
  op(4, R"(["mul", {"of": "p", "distance": 1}, "half"])");
  refused(k, "/meaning", "initial has no value for p");
  k["meaning"]["initial"]["p"] = 0;
  refused(k, "/ops/4/computes", "no edge from p to half_p of distance 1");
  k = small;
  k["edges"].erase(1);
  refused(k, "/ops/2/computes", "no edge from p to most of distance 0");
  k = small;
  k["edges"][9].erase("order");
  refused(k, "/edges/9", "must be an operand of acc, or of \"order\" alone");
  k = small;
  k["edges"][0]["order"] = true;
  refused(k, "/ops/1/computes", "no edge from a to p");
  // Shapes and types.
  op(1, R"(["product", "w", "a"])");
  k["ops"][1]["shape"] = {8, 8, 4};
  refused(k, "/ops/1/shape", "must be [4, 4, 8]");
  op(1, R"(["product", "a", "a"])");
  refused(k, "/ops/1/computes", "product of [8, 4], [8, 4]: must be M x K and K x N");
  k = small;
  k["ops"][1]["operand_type"] = "bf16";
  refused(k, "/ops/1/operand_type", "type of the operands");
  k = small;
  k["ops"][4]["shape"] = {8, 4};
  refused(k, "/ops/4/shape", "must be [8, 8]");
  op(4, R"(["mul", "p", "a"])");
  refused(k, "/ops/4/computes", "do not agree");
  k = small;
  k["ops"][4]["type"] = "f4";
  refused(k, "/ops/4/type", "type with arithmetic");
  k = small;
  k["ops"][0]["type"] = "bf16";
  refused(k, "/ops/0/type", "must be the tensor's type");
  k = small;
  k["meaning"]["tensors"][3]["shape"] = {8, 4};
  refused(k, "/meaning/after/0/computes", "store of [8, 8]");
  op(6, R"(["add", {"of": "acc", "distance": 1}, {"of": "less", "columns": [1, 9]}])");
  refused(k, "/ops/6/computes", "less has 8 columns");
  op(6, R"(["add", {"of": "acc", "distance": 1}, {"of": 1, "transposed": true}])");
  refused(k, "/ops/6/computes/2/of", "a number has no");
  // What is carried.
  k = small;
  k["meaning"]["initial"].erase("acc");
  refused(k, "/meaning", "initial has no value for acc");
  k = small;
  k["meaning"]["initial"]["half_p"] = 0;
  refused(k, "/meaning/initial/half_p", "only a result that is carried");
  k = small;
  k["meaning"]["initial"]["acc"] = "p";
  refused(k, "/meaning/initial/acc", "must be a number or from before the loop");
  k = small;
  k["meaning"]["after"][0]["computes"][2] = "half_p";
  refused(k, "/meaning/after", "which is not carried");
  op(4, R"(["mul", "less", "half"])");
  refused(k, "/meaning", "in a circle within an iteration");
  k = small;
  k["meaning"]["after"][1]["computes"] = Json::parse(R"(["store", "C", "acc"])");
  refused(k, "/meaning/after/1/computes", "tensor C is used elsewhere");
  // All or nothing, and from version 4 on.
  k = small;
  k["ops"][4].erase("computes");
  refused(k, "/ops/4", "\"computes\" is missing");
  k = small;
  k.erase("meaning");
  refused(k, "/ops/0/computes", "needs \"meaning\" in the file");
  k = small;
  k["version"] = 3;
  CHECK(refusal(k).find("meaning") != std::string::npos);
  CHECK(refusal(without_meaning(small)) == "");
}

TEST_CASE("only the last result of a chunk is there for others") {
  Json k = Json::parse(builtin_kernel("blackwell-fwd-sub2-chunked"));
  REQUIRE(refusal(k) == "");
  for (Json& op : k["ops"])
    if (op["id"] == "s0_pv") op["computes"][3] = "s0_mul_acc";
  for (Json& edge : k["edges"])
    if (edge["from"] == "s0_tst_acc") edge["from"] = "s0_mul_acc";
  const std::string message = refusal(k);
  CAPTURE(message);
  CHECK(message.find("only the last result of the chunk s0_rescale") != std::string::npos);
}

TEST_CASE("a kernel with parameters means what it is at their values") {
  Json gemm = Json::parse(builtin_kernel("gemm"));
  Json open = gemm;
  open["parameters"] = Json::parse(
      R"({"k": {"values": [32, 64], "default": 32}, "T": {"types": ["f16", "bf16"], "default": "f16"}})");
  open["work"] = "k";
  open["work_unit"] = "MACs";
  for (const std::size_t op : {1U, 2U, 3U, 4U}) {
    open["ops"][op]["shape"][1] = "k";
    open["ops"][op]["type"] = "T";
  }
  open["ops"][5]["shape"][0] = "k";
  open["ops"][5]["type"] = "T";
  open["ops"][6]["shape"][2] = "k";
  open["ops"][6]["operand_type"] = "T";
  open["ops"][6]["computes"][1] = "alloc_{\"a\"}";
  CHECK_THROWS_AS(meaning_of_kernel(open.dump(), "f", {}), InputError);  // no expression
  open["ops"][6]["computes"][1] = "alloc_a";
  for (const std::size_t tensor : {0U, 1U}) {
    open["meaning"]["tensors"][tensor]["shape"][1] = "k";
    open["meaning"]["tensors"][tensor]["type"] = "T";
  }
  CHECK(meaning_of_kernel(open.dump(), "f", {{"k", "64"}}) ==
        meaning_of_kernel(gemm.dump(), "f", {}));
  const auto half = meaning_of_kernel(open.dump(), "f", {{"T", "bf16"}});
  REQUIRE(half);
  CHECK(half->tensors[0].shape == std::vector<std::int64_t>{128, 32});
  CHECK(half->tensors[1].type == "bf16");
  CHECK(!meaning_of_kernel(builtin_kernel("figure-1"), "f", {}));
}

TEST_CASE("an op computes in steps, of parts of its operands") {
  Json k = Json::parse(kSmall);
  const auto op = [&](int index, const std::string& computes) {
    k = Json::parse(kSmall);
    k["ops"][static_cast<std::size_t>(index)]["computes"] = Json::parse(computes);
  };
  op(4, R"(["mul", ["lower", ["sub", "p", 1], "-inf"], ["max", "half", 2]])");
  REQUIRE(refusal(k) == "");
  const auto made = *parse_kernel(k.dump(), "f").meaning;
  // Steps are values of their own, behind the ops: the innermost first.
  REQUIRE(made.after_begin == made.loop_begin + 7 + 3);
  CHECK(made.values[8].id == "half_p.1");
  CHECK(made.values[8].function == meaning::Function::sub);
  CHECK(made.values[8].part_of == "half_p");
  CHECK(made.values[8].type == "f32");
  CHECK(made.values[9].function == meaning::Function::lower);
  CHECK(made.values[9].shape == std::vector<std::int64_t>{8, 8});
  CHECK(made.values[10].function == meaning::Function::max);
  CHECK(made.values[10].shape.empty());
  CHECK(made.values[11].id == "c");
  CHECK(made.values[11].operands[0].value == 7);  // acc, as without steps

  op(4, R"(["mul", ["load", "A"], "half"])");
  refused(k, "/ops/4/computes/1", "a step moves no tile");
  op(4, R"(["mul", {"of": ["sub", "p", 1], "distance": 1}, "half"])");
  refused(k, "/ops/4/computes/1/distance", "of this iteration");
  op(4, R"(["mul", "p", ["row_max", "a"]])");
  refused(k, "/ops/4/computes", "no edge from a to half_p");
  op(4, R"(["mul", ["sub", "p", "half_p.1"], "half"])");
  refused(k, "/ops/4/computes/1/2", "constant or value");
  op(4, R"(["mul", ["sub", "p", 1], "half"])");
  k["ops"][5]["computes"][1] = "half_p.1";
  refused(k, "/ops/5/computes/1", "is a step of an op");
  op(4, R"(["mul", ["sub", "p", 1], "half"])");
  k["meaning"]["constants"]["half_p.1"] = 1;
  refused(k, "/ops/4/computes/1", "must be unique");
  k = Json::parse(kSmall);
  k["meaning"]["before"][0]["computes"] = Json::parse(R"(["copy", ["copy", 1]])");
  refused(k, "/meaning/before/0/computes/1", "only an op of the loop computes in steps");

  op(4, R"(["mul", {"of": "p", "row": 2}, "half"])");
  refused(k, "/ops/4/shape", "must be [8]");
  k["ops"][4]["shape"] = {8};
  CHECK(refusal(k) == "");  // a row less the columns' vector is a matrix
  op(4, R"(["mul", "p", {"of": "p", "row": 2, "column": 7}])");
  CHECK(refusal(k) == "");
  op(4, R"(["mul", "p", {"of": "p", "row": 8, "column": 7}])");
  refused(k, "/ops/4/computes", "p has 8 rows");
  op(4, R"(["mul", "p", {"of": "p", "column": 8}])");
  refused(k, "/ops/4/computes", "p has 8 columns");
  op(4, R"(["mul", "p", {"of": "p", "row": 1, "transposed": true}])");
  refused(k, "/ops/4/computes/2", "one row or column is no matrix");
  op(4, R"(["mul", "p", {"of": "top", "row": 1}])");
  refused(k, "/ops/4/computes", "top is no matrix");
  op(4, R"(["mul", {"of": "p", "rows": [0, 4]}, "half"])");
  refused(k, "/ops/4/shape", "must be [4, 8]");
  op(4, R"(["beside", {"of": "p", "row": 0}, {"of": "p", "column": 0}])");
  refused(k, "/ops/4/shape", "must be [8, 2]");
  op(4, R"(["beside", "p", 1])");
  refused(k, "/ops/4/computes", "vectors of one length");
  op(4, R"(["lower", "p", {"of": "p", "row": 0}])");
  refused(k, "/ops/4/computes", "what else is must be a number");
}

TEST_CASE("bounds and places are whole numbers, four each") {
  Json k = Json::parse(kSmall);
  const auto op = [&](int index, const std::string& computes) {
    k = Json::parse(kSmall);
    k["ops"][static_cast<std::size_t>(index)]["computes"] = Json::parse(computes);
  };
  op(4, R"(["within", "p", "-inf", 0, 1, -8, 20])");
  REQUIRE(refusal(k) == "");
  const auto made = *parse_kernel(k.dump(), "f").meaning;
  const std::vector<meaning::Bound> bounds = meaning::bounds_of(made.values[5]);
  REQUIRE(bounds.size() == 1);
  CHECK(bounds[0].columns == 1);
  // Column + 20 - 8 i is at least 0: all of iteration 2, from 4 on in iteration 3.
  CHECK(meaning::is_inside(bounds, 7, 0, 2));
  CHECK(!meaning::is_inside(bounds, 7, 3, 3));
  CHECK(meaning::is_inside(bounds, 0, 4, 3));
  op(0, R"(["load", "A", 0, -1, 0, 0, 5, 0, -1, 0, 2])");
  CHECK(refusal(k) == "");
  op(4, R"(["within", "p", 0])");
  refused(k, "/ops/4/computes", "operands");
  op(4, R"(["within", "p", 0, 1, 0, 0])");
  refused(k, "/ops/4/computes", "operands");
  op(0, R"(["load", "A", 0])");
  refused(k, "/ops/0/computes", "operands");
  op(4, R"(["within", "p", 0, 1, 0, 0, "half"])");
  refused(k, "/ops/4/computes", "integers up to 10^12");
  op(4, R"(["within", "p", 0, 1, 0, "p", 1])");
  refused(k, "/ops/4/computes", "as numbers");
  op(4, R"(["places", 1e13, 0, 0, 0])");
  refused(k, "/ops/4/computes", "integers up to 10^12");
  k = Json::parse(kSmall);
  k["meaning"]["after"][0]["computes"] = Json::parse(R"(["store", "C", "acc", 0, 1, 1, 0])");
  refused(k, "/meaning/after/0/computes", "does not change by iteration");
}

TEST_CASE("groups, constants by a parameter, and what they say wrongly") {
  const Json tiles = Json::parse(builtin_kernel("hopper-forward-tiles"));
  const auto at = [](const Json& kernel, const ParameterValues& values) -> std::string {
    try {
      meaning_of_kernel(kernel.dump(), "f", values);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  REQUIRE(at(tiles, {{"subtiles", "3"}, {"rows", "192"}}) == "");
  Json k = tiles;
  k["meaning"]["constants"]["scale"]["hdim"].erase("128");
  CHECK(at(k, {}).starts_with("f: /meaning/constants/scale/hdim: "));
  CHECK(at(k, {}).find("has no number for 128") != std::string::npos);
  k["meaning"]["constants"]["scale"] = {{"cols", {{"128", 1}}}};
  CHECK(at(k, {}).find("a parameter with a number for each value") != std::string::npos);
  k = tiles;
  k["meaning"]["initial"][0]["s0_pv"] = 0;
  CHECK(at(k, {}).find("is there twice") != std::string::npos);
  // An error of a copy has its place in the file and the values.
  k = tiles;
  k["meaning"]["tensors"][2]["tensors"][0]["shape"][1] = "hdim / 3";
  CHECK(at(k, {}).starts_with("f: /meaning/tensors/2/tensors/0/shape/1: "));
  k = tiles;
  k["meaning"]["after"][0]["after"][3]["type"] = "f32";
  CHECK(at(k, {}).starts_with("f: /meaning/after/0/after/3/type: "));
  CHECK(at(k, {}).find("rows = 128") != std::string::npos);
}

}  // namespace meaning_kernel_test
