// Functions of several loops one behind the other through the C++ interface.
// tests/emit/emit_loops_test.py executes and compiles the text.
#include <doctest/doctest.h>

#include <string>
#include <variant>
#include <vector>

#include "engine/include/twill_emit.hpp"
#include "engine/include/twill_triton.hpp"
#include "graph/io/file.hpp"
#include "graph/ttgir/meaning.hpp"

namespace several_loops_test {

using namespace twill;

namespace {

std::string module_text() {
  return read_file(TWILL_TEST_DATA "/ttgir/attention-causal-two-loops-hopper.ttgir");
}

EmittedKernel emitted(const std::string& text, const KernelOptions& how = {}) {
  const TritonLoop chosen = read_triton(text, "module");
  ProgramSource source = program_source(chosen);
  for (const int loop : chosen.sequence()) {
    TritonOptions options;
    options.loop = loop;
    options.sequence = true;
    source.sequence.push_back(program_source(read_triton(text, "module", "", options)));
  }
  return emit_kernel(source, how);
}

/// The text with a line before the first one that has `mark`.
std::string with_line(const std::string& mark, const std::string& line) {
  std::string text = module_text();
  const std::size_t found = text.find(mark);
  REQUIRE(found != std::string::npos);
  return text.insert(text.rfind('\n', found) + 1, line);
}

constexpr const char* kStore =
    "    %half = arith.truncf %acc_7#2 : tensor<128x128xf32, #mma1> to tensor<128x128xf16, #mma1>\n"
    "    %early = ttg.convert_layout %half : tensor<128x128xf16, #mma1> -> tensor<128x128xf16, "
    "#blocked>\n"
    "    tt.descriptor_store %o_desc[%q, %c0_i32], %early : !tt.tensordesc<128x128xf16, #shared>, "
    "tensor<128x128xf16, #blocked>\n";

}  // namespace

TEST_CASE("causal attention in two loops is one kernel of two programs") {
  CHECK(read_triton(module_text(), "module").sequence() == std::vector{0, 1});
  const EmittedKernel made = emitted(module_text());
  REQUIRE_MESSAGE(!made.text.empty(), made.result.why);
  REQUIRE(made.loops.size() == 2);
  for (const MadeProgram& loop : made.loops) {
    CHECK(loop.program.status == "optimal");
    CHECK(!program::judge(loop.program));
    CHECK(loop.module_meaning->kernel.parts == 2);
    // Alone it is not the function.
    const auto alone = emit_program(loop);
    const auto* no = std::get_if<program::Refusal>(&alone);
    REQUIRE(no != nullptr);
    CHECK(no->text.find("one of several loops") != std::string::npos);
  }
  for (const char* const part : {"Loop 1 of 2", "Loop 2 of 2", "def kernel(", "def loop_2(",
                                 "acc_7_2_handed.store(", "acc_7_2_handed.load("})
    CHECK_MESSAGE(made.text.find(part) != std::string::npos, part);
}

TEST_CASE("a loop that was asked for is not written without the others") {
  TritonOptions options;
  for (const int loop : {0, 1}) {
    options.loop = loop;
    const EmittedKernel one =
        emit_kernel(program_source(read_triton(module_text(), "module", "", options)));
    CHECK(one.text.empty());
    CHECK(one.result.why.find("function: ") != std::string::npos);
  }
}

TEST_CASE("what is not written of functions of several loops is refused") {
  for (const char* const to : {"cuda", "tilelang"})
    CHECK(emitted(module_text(), {.to = to}).result.why.find("only Gluon and TTGIR are written") !=
          std::string::npos);
  CHECK(emitted(module_text(), {.to = "ttgir-ws", .for_trips = 0}).result.why.find("trips: ") !=
        std::string::npos);
  const auto why = [](const std::string& text) {
    const EmittedKernel none = emitted(text);
    CHECK(none.text.empty());
    return none.result.why;
  };
  const std::string second = "%acc_13:3 = scf.for", end = "tt.return";
  // Both loops store to one argument: in which order they arrive nobody says.
  CHECK(why(with_line(second, kStore)).find("stored to by one of its loops and used by another") !=
        std::string::npos);
  // A store in a branch behind them is the last loop's, with the condition as a bound; a descriptor
  // has none.
  CHECK(why(with_line(end,
                      "    %some = arith.cmpi sgt, %length, %c0_i32 : i32\n    scf.if %some {\n" +
                          std::string(kStore) + "    }\n"))
            .find("descriptor_store.2 has bounds") != std::string::npos);
  // Of a branch whose condition nobody knows before it runs none is.
  CHECK(
      why(with_line(end, "    %some = arith.cmpf ogt, %scale, %scale : f32\n    scf.if %some {\n" +
                             std::string(kStore) + "    }\n"))
          .find("is in a branch that is not read") != std::string::npos);
  // A loop that slots repeat loads what the first one has stored.
  const std::string sums = "tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>";
  const std::string pointers = "tensor<128x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>";
  const std::string places = "tensor<128xi32, #ttg.slice<{dim = 1, parent = #mma}>>";
  const std::string at_rows = " = tt.splat %x_ptr : !tt.ptr<f32> -> " + pointers;
  std::string repeated = with_line(
      second,
      "    %xs" + at_rows + "\n    %at = tt.addptr %xs, %rows_4 : " + pointers + ", " + places +
          "\n    tt.store %at, %acc_7#0 : " + pointers +
          "\n    %more = scf.for %j = %c0_i32 to %length step %c64_i32 iter_args(%sum = %l) -> (" +
          sums + ")  : i32 {\n      %x = tt.load %at : " + pointers +
          "\n      %next = arith.addf %sum, %x : " + sums + "\n      scf.yield %next : " + sums +
          "\n    }\n");
  const std::string last = "    %1 = tt.expand_dims %acc_13#1", argument = "%scale: f32";
  REQUIRE(repeated.find(last) != std::string::npos);
  repeated.replace(
      repeated.find(last), last.size(),
      "    %both = arith.addf %acc_13#1, %more : " + sums + "\n    %1 = tt.expand_dims %both");
  REQUIRE(repeated.find(argument) != std::string::npos);
  repeated.insert(repeated.find(argument), "%x_ptr: !tt.ptr<f32>, ");
  CHECK(why(repeated).find("argument x_ptr is stored to by one of its loops and used by another") !=
        std::string::npos);
  // A branch makes what the second loop begins with: no loop hands it on.
  std::string text = module_text();
  const std::string vector = "tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>";
  text.insert(text.find("    " + second),
              "    %some = arith.cmpi sgt, %length, %c0_i32 : i32\n    %begin = scf.if %some -> (" +
                  vector + ") {\n      scf.yield %acc_7#1 : " + vector +
                  "\n    } else {\n      scf.yield %l : " + vector + "\n    }\n");
  const std::string from = "%l_15 = %acc_7#1";
  REQUIRE(text.rfind(from) != std::string::npos);
  text.replace(text.rfind(from), from.size(), "%l_15 = %begin");
  CHECK(why(text).find("scf.if") != std::string::npos);
}

TEST_CASE("a loop that loads what the next one stores has a schedule of its own") {
  std::string text = read_file(TWILL_TEST_DATA "/ttgir/taken-and-cleared-hopper.ttgir");
  CHECK(read_triton(text, "module").sequence() == std::vector{0, 1});
  const EmittedKernel made = emitted(text);
  CHECK_MESSAGE(!made.text.empty(), made.result.why);
  // Stored elsewhere, it would be repeated where its results are used.
  const std::string from = "%8 = tt.addptr %x_ptr_2", to = "%8 = tt.addptr %y_ptr";
  REQUIRE(text.find(from) != std::string::npos);
  text.replace(text.find(from), from.size(), to);
  CHECK(read_triton(text, "module").sequence().empty());
}

TEST_CASE("a loop loads what the one before it has stored, and nothing older") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/residual-normed-hopper.ttgir");
  const EmittedKernel made = emitted(text);
  CHECK_MESSAGE(!made.text.empty(), made.result.why);
  const std::string tile = "tensor<2048xf32, #blocked>",
                    pointers = "tensor<2048x!tt.ptr<f32>, #blocked>";
  const auto changed = [&](const std::string& mark, const std::string& line) {
    std::string other = text;
    const std::size_t found = other.find(mark);
    REQUIRE(found != std::string::npos);
    return other.insert(other.rfind('\n', found) + 1, line);
  };
  const auto why = [&](std::string other, const std::string& from, const std::string& to) {
    const std::size_t found = other.rfind(from);
    REQUIRE(found != std::string::npos);
    const EmittedKernel none = emitted(other.replace(found, from.size(), to));
    CHECK(none.text.empty());
    return none.result.why;
  };
  const std::string load =
      "    %all = tt.splat %r_ptr_4 : !tt.ptr<f32> -> " + pointers +
      "\n    %places = tt.addptr %all, %d : " + pointers +
      ", tensor<2048xi32, #blocked>\n    %old = tt.load %places : " + pointers + "\n";
  const std::string refusal = "argument r_ptr is stored to by one of its loops and used by another";
  // What was there before the loops is used by the second one, whose slots would load it.
  const std::string mul = "arith.mulf %4, %w_22", old = "arith.mulf %4, %old";
  CHECK(why(changed("%square = scf.for", load), mul, old).find(refusal) != std::string::npos);
  // Both loops store there.
  CHECK(why(text, "tt.store %3, %5", "tt.store %r_18, %5").find(refusal) != std::string::npos);
  // The second loop stores what the first one has loaded and stored.
  const std::string both =
      changed("tt.store %3, %5", "      tt.store %r_18, %5, %r_15 : " + pointers + "\n");
  CHECK(why(both, "tt.store %3, %5", "tt.store %3, %4").find(refusal) != std::string::npos);
}

TEST_CASE("a store of what was loaded where a loop stores is done before that loop") {
  std::string text = read_file(TWILL_TEST_DATA "/ttgir/loss-and-gradient-hopper.ttgir");
  const EmittedKernel made = emitted(text);
  CHECK_MESSAGE(!made.text.empty(), made.result.why);
  // What is loaded behind that loop has been stored by it.
  const std::size_t loaded = text.find("tt.load %own ");
  REQUIRE(loaded != std::string::npos);
  const std::size_t load = text.rfind('\n', loaded) + 1;
  const std::string line = text.substr(load, text.find('\n', load) + 1 - load);
  text.erase(load, line.size());
  text.insert(text.rfind('\n', text.rfind("arith.subf")) + 1, line);
  const EmittedKernel none = emitted(text);
  CHECK(none.text.empty());
  CHECK_MESSAGE(none.result.why.find("it loads behind the loop, where something has been stored") !=
                    std::string::npos,
                none.result.why);
}

}  // namespace several_loops_test
