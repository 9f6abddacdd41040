// Reading TTGIR text: custom and generic syntax, what is refused and where, bounded work.
#include <doctest/doctest.h>

#include <random>

#include "graph/error.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/type.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_parser_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

const std::string kFolder = TWILL_TEST_DATA "/ttgir/";

Module wrapped(const std::string& body, const std::string& arguments = "%a: i32") {
  return parse_module(
      "module {\n  tt.func public @f(" + arguments + ") {\n" + body + "    tt.return\n  }\n}\n",
      "test");
}

const Operation& only(const Module& m, std::string_view name) {
  const Operation* found = nullptr;
  for (const Operation& op : m.ops)
    if (op.name == name) {
      CHECK(found == nullptr);
      found = &op;
    }
  REQUIRE(found != nullptr);
  return *found;
}

std::string refusal(const std::string& text) {
  try {
    parse_module(text, "test");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("every shipped module is read, every value has a type, no op is unknown") {
  const auto names = test::shipped_modules();
  CHECK(names.size() >= 20);
  for (const std::string& name : names) {
    CAPTURE(name);
    const Module m = parse_module(test::module_text(name), name);
    CHECK(m.root != kNone);
    for (const Operation& op : m.ops) {
      CAPTURE(op.name);
      CAPTURE(op.line);
      if (op.name != "module" && op.name != "tt.func") CHECK(class_of(op) != OpClass::unknown);
    }
    for (const Value& value : m.values) {
      CAPTURE(value.name);
      REQUIRE(value.type != kNone);
      CHECK(m.types[static_cast<std::size_t>(value.type)].kind != TypeKind::other);
    }
  }
}

TEST_CASE("generic syntax gives what custom syntax gives") {
  const Module m = parse_module(read_file(kFolder + "generic.ttgir"), "generic");
  const Operation& loop = only(m, "scf.for");
  CHECK(loop.operands.size() == 4);
  CHECK(loop.results.size() == 1);
  REQUIRE(loop.regions.size() == 1);
  const Operation& mma = only(m, "ttng.tc_gen5_mma");
  CHECK(mma.operands.size() == 6);
  CHECK(m.type_of(mma.results[0])->kind == TypeKind::token);
  CHECK(m.attribute(mma, "operandSegmentSizes") == "array<i32: 1, 1, 1, 1, 1, 1, 0, 0>");
  const Operation& twist = only(m, "acme.twist");
  CHECK(class_of(twist) == OpClass::unknown);
  CHECK(m.attribute(twist, "angle") == "3 : i32");
  CHECK(m.attribute(twist, "nested") == "{a = [1, 2], b = \"x{\"}");
  const Type* type = m.type_of(twist.results[0]);  // by the alias !tile
  CHECK(type->kind == TypeKind::tensor);
  CHECK(type->shape == std::vector<std::int64_t>{128, 128});
  CHECK(type->element == "f16");
  bool found = false;
  CHECK(m.attribute(m.op(m.root), "ttg.target", &found) == "\"cuda:100\"");
  CHECK(found);
}

TEST_CASE("results, regions and block arguments of custom syntax") {
  const Module m = wrapped(
      R"(    %0:2 = scf.for %i = %a to %a step %a iter_args(%x = %a, %y = %a) -> (i32, i32)  : i32 {
      %c = arith.cmpi slt, %x, %y : i32
      %r = scf.if %c -> (i32) {
        scf.yield %x : i32
      } else {
        %z = arith.addi %y, %i : i32
        scf.yield %z : i32
      }
      scf.yield %r, %x : i32, i32
    } {tt.num_stages = 3 : i32}
    %w = scf.while (%k = %0#1) : (i32) -> i32 {
      %t = arith.cmpi slt, %k, %a : i32
      scf.condition(%t) %k : i32
    } do {
    ^bb0(%k: i32):
      %n = arith.addi %k, %0#0 : i32
      scf.yield %n : i32
    }
)");
  const Operation& loop = only(m, "scf.for");
  CHECK(loop.operands.size() == 5);
  CHECK(m.attribute(loop, "tt.num_stages") == "3 : i32");
  const Block& body = m.block(m.regions[static_cast<std::size_t>(loop.regions[0])].blocks[0]);
  REQUIRE(body.arguments.size() == 3);
  CHECK(m.value(body.arguments[1]).name == "x");
  CHECK(m.type_of(body.arguments[2])->element == "i32");
  CHECK(only(m, "scf.if").regions.size() == 2);
  CHECK(m.type_of(only(m, "scf.if").results[0])->element == "i32");
  CHECK(m.type_of(only(m, "scf.if").operands[0])->element == "i1");
  const Operation& loop2 = only(m, "scf.while");
  CHECK(loop2.regions.size() == 2);
  CHECK(loop2.operands == std::vector<int>{loop.results[1]});
}

TEST_CASE("types and layouts") {
  const Module m = wrapped("");
  const auto type = [&](std::string_view text) { return parse_type(text, m); };
  const Type pointers = type(
      "tensor<128x!tt.ptr<f16>, #ttg.blocked<{sizePerThread = [1], "
      "threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>");
  CHECK(pointers.is_pointer());
  CHECK(pointers.shape == std::vector<std::int64_t>{128});
  CHECK(elements_per_thread(pointers, m) == 1);
  CHECK(registers_per_thread(pointers, 4, m) == 2);  // 64 bits each
  const std::string mma =
      "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = "
      "[16, "
      "128, 16]}>";
  CHECK(registers_per_thread(type("tensor<128x128xf32, " + mma + ">"), 4, m) == 128);
  CHECK(registers_per_thread(type("tensor<128x128xf16, " + mma + ">"), 4, m) == 64);
  // A row vector of the accumulator: 2 rows of each 16 a warp; a column vector: 2 of each 8.
  CHECK(registers_per_thread(type("tensor<128xf32, #ttg.slice<{dim = 1, parent = " + mma + "}>>"),
                             4, m) == 4);
  CHECK(registers_per_thread(type("tensor<128xf32, #ttg.slice<{dim = 0, parent = " + mma + "}>>"),
                             4, m) == 32);
  CHECK(registers_per_thread(type("tensor<128x128xi1, " + mma + ">"), 4, m) == 1);
  CHECK(registers_per_thread(type("tensor<64x64xf32>"), 4, m) == 32);
  const Type tmem = type(
      "!ttg.memdesc<256x128xf32, #ttng.tensor_memory_encoding<blockM = 128>, "
      "#ttng.tensor_memory, mutable>");
  CHECK(tmem.tensor_memory);
  CHECK(buffer_columns(tmem) == 256);
  CHECK(buffer_bytes(type("!ttg.memdesc<3x64x32xbf16, #s, #ttg.shared_memory>")) == 12288);
  CHECK(type("!tt.tensordesc<tensor<64x32xf8E4M3FN>>").element == "f8");
  CHECK(type("tensor<0x4xf32>").kind == TypeKind::other);
  CHECK(type("tensor<99999999999x99999999999xf32>").kind == TypeKind::other);
}

TEST_CASE("malformed fixtures are refused with line and column") {
  const auto check = [](const std::string& name, const std::string& place) {
    CAPTURE(name);
    const std::string what = refusal(read_file(kFolder + name + ".ttgir.bad"));
    CHECK_MESSAGE(what.find(place) != std::string::npos, what);
  };
  check("undefined-value", "line 3, column 25");
  check("truncated", "line 4, column 1");
  check("brackets", "line 2, column");
  check("json", "line 1, column 1");
  check("llvm", "line 1, column 1");
  check("result-number", "line 4, column 21");
  check("redefined", "line 3, column 5");
  check("string", "line 3, column 14");
  check("deep", "column");
  CHECK(refusal(read_file(kFolder + "deep.ttgir.bad")).find("64 deep") != std::string::npos);
  CHECK(refusal("").find("line 1, column 1") != std::string::npos);
  CHECK(refusal("module {\n  tt.func @f() {\n    \"tt.x\"(" + std::string(400, '[')).find("deep") !=
        std::string::npos);
  CHECK(refusal("\x7f"
                "ELF")
            .find("not TTGIR") != std::string::npos);
}

TEST_CASE("a module that is cut or garbled is read or refused, never worse") {
  const std::string text = test::module_text("blackwell-attention-forward");
  for (std::size_t length = 0; length < text.size(); length += 97) {
    const std::string what = refusal(text.substr(0, length));
    // What is cut inside the module cannot be read.
    if (length < text.rfind("tt.return")) CHECK(what != "accepted");
  }
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string garbled = text;
    for (int k = 0; k < 3; ++k)
      garbled[random() % garbled.size()] = "{}()<>[]%,:=#\"x0 \n"[random() % 18];
    refused += refusal(garbled) != "accepted" ? 1 : 0;
  }
  CHECK(refused > 50);
}

TEST_CASE("looks_like_mlir") {
  CHECK(looks_like_mlir("// a comment\n#loc = loc(unknown)\nmodule {\n}"));
  CHECK(looks_like_mlir("module attributes {} {"));
  CHECK(!looks_like_mlir("{\"format\": \"twill.kernel\"}"));
  CHECK(!looks_like_mlir(""));
}

}  // namespace ttgir_parser_test
