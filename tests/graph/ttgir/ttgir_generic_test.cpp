// What MLIR's two ways of printing say differently: types that the custom syntax cuts short,
// results without a name, partitions (in the generic syntax regions of an op of their own), tokens
// among the operands. One module, one problem. tests/data/generic has what MLIR itself printed.
#include <doctest/doctest.h>

#include "graph/error.hpp"
#include "graph/problem_io.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_generic_test {

namespace {

using namespace twill;
using namespace twill::ttgir;

/// The problem on the first layout, ops named by their place.
std::string problem_of(const std::string& text, const std::string& machine,
                       std::optional<int> number = std::nullopt) {
  LoopOptions options;
  options.loop = number;
  Problem problem = lower_module(text, "t", builtin_machine(machine), machine, options, {})
                        .problems.front()
                        .problem;
  problem.name = "loop";
  for (std::size_t v = 0; v < problem.ops.size(); ++v) problem.ops[v].id = "op" + std::to_string(v);
  return problem_text(problem);
}

std::string refusal(const std::string& text, const std::string& machine) {
  try {
    problem_of(text, machine);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// A product over a descriptor that the function makes.
std::string with_descriptor(const std::string& types) {
  return R"(#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func @f(%p: !tt.ptr<f16>, %out: !tt.ptr<f16>, %n: i32, %s: i64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1 : i64
    scf.for %t = %c0 to %n step %c1 : i32 {
      %d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %one] : )" +
         types + R"(
      scf.for %i = %c0 to %n step %c1 : i32 {
        %x = tt.descriptor_load %d[%i, %c0] : !tt.tensordesc<128x64xf16, #s> -> tensor<128x64xf16, #b>
        %y = arith.addf %x, %x : tensor<128x64xf16, #b>
        tt.descriptor_store %d[%i, %c0], %y : !tt.tensordesc<128x64xf16, #s>, tensor<128x64xf16, #b>
      }
    }
    tt.return
  }
}
)";
}

std::string with_inner_loop(const std::string& results) {
  return R"(#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func @f(%p: tensor<128x64x!tt.ptr<f32>, #b>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #b>
    scf.for %t = %c0 to %n step %c1 : i32 {
      )" +
         results +
         R"(scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %zero) -> (tensor<128x64xf32, #b>) : i32 {
        %x = tt.load %p : tensor<128x64x!tt.ptr<f32>, #b>
        %y = arith.addf %x, %a : tensor<128x64xf32, #b>
        scf.yield %y : tensor<128x64xf32, #b>
      }
      )" +
         (results.empty() ? "" : "%u = ") +
         R"(arith.mulf %zero, %zero : tensor<128x64xf32, #b>
    }
    tt.return
  }
}
)";
}

}  // namespace

TEST_CASE("a descriptor is none of a buffer, also where its type is cut short") {
  const std::string cut = with_descriptor("<f16>, <128x64xf16, #s>");
  const std::string whole = with_descriptor("!tt.ptr<f16>, !tt.tensordesc<128x64xf16, #s>");
  for (const int loop : {0, 1})
    CHECK(problem_of(cut, "hopper", loop) == problem_of(whole, "hopper", loop));
  CHECK(problem_of(cut, "hopper", 1).find("\"capacity\": 232448") != std::string::npos);
}

TEST_CASE("results have no need of a name") {
  const std::string unnamed = problem_of(with_inner_loop(""), "hopper", 0);
  CHECK(unnamed == problem_of(with_inner_loop("%r = "), "hopper", 0));
  CHECK(unnamed.find("\"registers\": 64") != std::string::npos);  // of the inner loop's sum
}

TEST_CASE("partitions in generic syntax are undone as in the custom one") {
  const std::string custom = read_file(TWILL_TEST_DATA "/lowered/blackwell-gemm-persistent.ttgir");
  const std::string generic = read_file(TWILL_TEST_DATA "/generic/blackwell-gemm-persistent.ttgir");
  for (const int loop : {1, 2, 3, 4}) {
    CAPTURE(loop);
    CHECK(problem_of(custom, "blackwell", loop) == problem_of(generic, "blackwell", loop));
  }
}

TEST_CASE("numbers of warps are those of the partitions, not of a comment's") {
  const std::string text = read_file(TWILL_TEST_DATA "/lowered/blackwell-gemm-persistent.ttgir");
  std::string noted = text;
  for (std::size_t at = 0; (at = noted.find(" num_warps(", at)) != std::string::npos;) {
    const std::size_t line = noted.rfind('\n', at) + 1;
    const std::string note = "    // CHECK: num_warps(7)\n";
    noted.insert(line, note);
    at += note.size() + 1;
  }
  CHECK(noted != text);
  CHECK(problem_of(noted, "blackwell", 1) == problem_of(text, "blackwell", 1));
}

TEST_CASE("a barrier's count behind other blanks") {
  std::string text = read_file(TWILL_TEST_DATA "/lowered/blackwell-gemm-persistent.ttgir");
  const std::string before = problem_of(text, "blackwell", 1);
  for (std::size_t at = 0; (at = text.find("init_barrier", at)) != std::string::npos; ++at)
    text.replace(text.find(", ", at), 2, ",\t\n   ");
  CHECK(problem_of(text, "blackwell", 1) == before);
}

TEST_CASE("tokens taken out of an op's text") {
  CHECK(without_token("ttg.local_load %720 token %72 : !m -> T", "72") ==
        "ttg.local_load %720 : !m -> T");
  CHECK(without_token("ttng.tmem_load %720[%72] : !m -> T", "72") ==
        "ttng.tmem_load %720 : !m -> T");
  const std::string generic = R"("ttg.local_load"(%720, %72) <{a = "(,"}> : (!m<1, 2>, !t) -> T)";
  CHECK(without_token(generic, "72") == R"("ttg.local_load"(%720) <{a = "(,"}> : (!m<1, 2>) -> T)");
  CHECK(without_token(generic, "720") == R"("ttg.local_load"( %72) <{a = "(,"}> : ( !t) -> T)");
  CHECK(without_token(generic, "7") == generic);
  CHECK(without_token(R"("x"(%1))", "1") == R"("x"(%1))");
  CHECK(without_token(R"("x"(%1) : (A, B) -> ())", "1") == R"("x"(%1) : (A, B) -> ())");
}

TEST_CASE("a product with one scale is refused in both syntaxes") {
  const std::string head =
      "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
      "  tt.func @f(%a: tensor<64x64xf8E4M3FN>, %s: tensor<64x2xi8>, %c: tensor<64x64xf32>, %n: "
      "i32) "
      "{\n    %c0 = arith.constant 0 : i32\n    scf.for %i = %c0 to %n step %n : i32 {\n      %d "
      "= ";
  const std::string tail = "\n    }\n    tt.return\n  }\n}\n";
  const std::string rule = "must have a scale for both of its operands or for none";
  CHECK(refusal(head +
                    "tt.dot_scaled %a, %a scale %s, %c lhs = e4m3 rhs = e4m3 {fastMath = false} : "
                    "tensor<64x64xf8E4M3FN> * tensor<64x64xf8E4M3FN>, tensor<64x2xi8> -> "
                    "tensor<64x64xf32>" +
                    tail,
                "hopper")
            .find(rule) != std::string::npos);
  CHECK(refusal(head +
                    "\"tt.dot_scaled\"(%a, %a, %c, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, "
                    "0, 1>}> : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>, "
                    "tensor<64x2xi8>) -> tensor<64x64xf32>" +
                    tail,
                "hopper")
            .find(rule) != std::string::npos);
}

TEST_CASE("a module whose only loop is an scf.while says so, with its place") {
  const std::string text =
      "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
      "  tt.func @f(%n: i32, %b: i1) {\n"
      "    %r = scf.while (%i = %n) : (i32) -> i32 {\n      scf.condition(%b) %i : i32\n    } do "
      "{\n"
      "    ^bb0(%j: i32):\n      scf.yield %j : i32\n    }\n    tt.return\n  }\n}\n";
  const std::string said = refusal(text, "hopper");
  CHECK(said.find("line 3") != std::string::npos);
  CHECK(said.find("scf.while and no scf.for") != std::string::npos);
}

}  // namespace ttgir_generic_test
