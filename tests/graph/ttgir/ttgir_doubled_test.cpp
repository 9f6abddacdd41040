// Results that are used twice, forty times in a row: 2^40 ways lead through them. Whoever walks
// through a function goes to each result once, or says that it is too much.
#include <doctest/doctest.h>

#include <string>

#include "engine/include/twill_emit.hpp"
#include "engine/include/twill_triton.hpp"

namespace ttgir_doubled_test {

using namespace twill;

namespace {

constexpr int kTwice = 40;

/// begin, then steps x <- x * x + x; what they are called last is `end`.
std::string chain(const std::string& begin, const std::string& end, const std::string& kind,
                  const std::string& type) {
  std::string text, from = begin;
  for (int k = 0; k < kTwice; ++k) {
    const std::string square = end + "_s" + std::to_string(k);
    const std::string next = k + 1 == kTwice ? end : end + "_" + std::to_string(k);
    text += "    " + square + " = arith.mul" + kind + " " + from + ", " + from + " : " + type +
            "\n    " + next + " = arith.add" + kind + " " + square + ", " + from + " : " + type +
            "\n";
    from = next;
  }
  return text;
}

/// begin, then steps x <- one half of x joined with itself.
std::string joins(const std::string& begin, const std::string& end) {
  std::string text, from = begin;
  for (int k = 0; k < kTwice; ++k) {
    const std::string step = std::to_string(k), next = k + 1 == kTwice ? end : end + "_" + step;
    text += "    " + end + "_j" + step + " = tt.join " + from + ", " + from +
            " : tensor<256xf32, #b> -> tensor<256x2xf32, #b2>\n    " + next + ", " + end + "_r" +
            step + " = tt.split " + end + "_j" + step +
            " : tensor<256x2xf32, #b2> -> tensor<256xf32, #b>\n";
    from = next;
  }
  return text;
}

/// The sum of a vector over n iterations, with a chain in one place ("" = none).
std::string sum_with(const std::string& place) {
  const std::string vector = "tensor<256xf32, #b>", places = "tensor<256xi32, #b>";
  const std::string pointers = "tensor<256x!tt.ptr<f32>, #b>";
  const auto at = [&](const std::string& here, const std::string& text) {
    return place == here ? text : std::string();
  };
  const std::string bound = place == "bound" ? "%many" : "%n";
  const std::string index = place == "address" ? "%far" : "%i";
  const std::string added = place == "loop" || place == "joins" ? "%more" : "%x";
  const std::string result = place == "behind" ? "%end" : "%sum";
  return R"(#b = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b2 = #ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @sum(%a: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c256 = arith.constant 256 : i32
    %zero = arith.constant dense<0.000000e+00> : )" +
         vector + "\n    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : " + places +
         "\n    %s = tt.splat %a : !tt.ptr<f32> -> " + pointers +
         "\n    %p = tt.addptr %s, %r : " + pointers + ", " + places + "\n" +
         at("bound", chain("%n", "%many", "i", "i32")) + "    %sum = scf.for %i = %c0 to " + bound +
         " step %c1 iter_args(%t = %zero) -> (" + vector + ")  : i32 {\n" +
         at("address", chain("%i", "%far", "i", "i32")) + "    %m = arith.muli " + index +
         ", %c256 : i32\n    %ms = tt.splat %m : i32 -> " + places +
         "\n    %q = tt.addptr %p, %ms : " + pointers + ", " + places +
         "\n    %x = tt.load %q : " + pointers + "\n" +
         at("loop", chain("%x", "%more", "f", vector)) + at("joins", joins("%x", "%more")) +
         "    %u = arith.addf %t, " + added + " : " + vector + "\n    scf.yield %u : " + vector +
         "\n    }\n" + at("behind", chain("%sum", "%end", "f", vector)) +
         "    %so = tt.splat %o : !tt.ptr<f32> -> " + pointers +
         "\n    %po = tt.addptr %so, %r : " + pointers + ", " + places + "\n    tt.store %po, " +
         result + " : " + pointers + "\n    tt.return\n  }\n}\n";
}

}  // namespace

TEST_CASE("results that are used twice, forty times in a row") {
  for (const char* place : {"", "bound", "address", "loop", "joins", "behind"}) {
    CAPTURE(place);
    ProgramOptions few;
    few.search.conflict_limit = 1'000;
    const EmittedKernel kernel =
        emit_kernel(program_source(read_triton(sum_with(place), "module")), {}, few);
    const std::string where = place;
    // An index, and how a tile is seen, is written as a formula: of 2^40 parts it is none, and the
    // reason is given.
    const bool formula = where == "bound" || where == "address" || where == "joins";
    CHECK(kernel.text.empty() == formula);
    if (formula) CHECK_FALSE(kernel.result.why.empty());
  }
}

}  // namespace ttgir_doubled_test
