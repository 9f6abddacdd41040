// Modules that no compiler prints: what the fuzzer found or keeps, and shapes that would take a
// careless reader hours. Each is lowered or refused, and what is lowered is written back with a
// schedule as a module again; ctest's time limit is the judge.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <variant>
#include <vector>

#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/ttgir/emit.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "tests/support/serial_schedule.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_hostile_test {

using namespace twill;

namespace {

/// What became of a module on a machine: "" = lowered.
std::string outcome(const std::string& text, int subtile = 1,
                    const std::string& machine = "blackwell") {
  ttgir::LoopOptions options;
  options.subtile = subtile;
  try {
    const auto lowered =
        ttgir::lower_module(text, "hostile", builtin_machine(machine), machine, options, {});
    CHECK(!ttgir::explain(lowered).empty());
    if (subtile > 1) return "";
    Problem problem = lowered.problems.front().problem;
    problem.pins = ttgir::partition_pins(lowered, problem);
    CHECK_NOTHROW(check(problem, "pinned"));
    const std::string written = ttgir::emit_ttgir(lowered, problem, test::serial_schedule(problem));
    CHECK_NOTHROW(ttgir::parse_module(written, "written"));
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// A loop over `body`, which may use %t (a tile), %m (a mask), %a (a number) and the loop's %i.
std::string loop_of(const std::string& body, const std::string& before = "") {
  return "!t = tensor<128x128xf32>\nmodule attributes {\"ttg.num-warps\" = 4 : i32} {\n"
         "  tt.func public @f(%a: i32, %t: !t, %m: i1) {\n" +
         before + "    scf.for %i = %a to %a step %a  : i32 {\n" + body +
         "      scf.yield\n    } {tt.warp_specialize}\n    tt.return\n  }\n}\n";
}

std::string number(int k) {
  return std::to_string(k);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the fuzzer's corpus and the malformed fixtures are lowered or refused") {
  int files = 0;
  for (const std::string folder : {TWILL_TEST_DATA "/ttgir", TWILL_TEST_DATA "/../fuzz/ttgir"})
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      CAPTURE(entry.path().string());
      const std::string text = read_file(entry.path().string());
      const bool bad = entry.path().extension() == ".bad";
      for (const std::string machine : {"blackwell", "hopper"})
        for (const int subtile : {1, 2}) {
          const std::string refusal = outcome(text, subtile, machine);
          if (bad) CHECK(has(refusal, "line "));
        }
      ++files;
    }
  CHECK(files > 10);
}

TEST_CASE("the frame of these tests is a module") {
  CHECK(outcome(loop_of("      %x = arith.addf %t, %t : !t\n")) == "");
}

TEST_CASE("many inner loops and branches are refused") {
  std::string loops, branches;
  for (int k = 0; k < 20'000; ++k) {
    loops += "      scf.for %j = %a to %a step %a  : i32 {\n        %y" + number(k) +
             " = arith.addf %t, %t : !t\n        scf.yield\n      }\n";
    branches +=
        "      %b" + number(k) +
        " = scf.if %m -> (!t) {\n        %y = arith.addf %t, %t : "
        "!t\n        scf.yield %y : !t\n      } else {\n        scf.yield %t : !t\n      }\n";
  }
  CHECK(has(outcome(loop_of(loops)), "inner loops and branches"));
  CHECK(has(outcome(loop_of(branches)), "inner loops and branches"));
}

TEST_CASE("branches inside branches take no time of their own when sub-tiled") {
  std::string inner = "        %p = tt.dot %t, %t, %t : !t * !t -> !t\n        scf.yield %p : !t\n";
  for (int k = 0; k < 40; ++k) {
    const std::string name = "%v" + number(k);
    inner = name + " = scf.if %m -> (!t) {\n" + inner + "} else {\n scf.yield %t : !t\n}\n" +
            (k == 39 ? "" : "scf.yield " + name + " : !t\n");
  }
  outcome(loop_of(inner), 2);
}

TEST_CASE("long chains of index arithmetic are refused, long rings of loop variables are not") {
  std::string chain = "      %x0 = arith.addi %i, %a : i32\n";
  for (int k = 1; k < 20'000; ++k)
    chain += "      %x" + number(k) + " = arith.addi %x" + number(k - 1) + ", %a : i32\n";
  for (int k = 0; k < 5'000; ++k)
    chain += "      %s" + number(k) + " = \"acme.use\"(%t, %x" + number(19'999 - k) +
             ") : (!t, i32) -> !t\n";
  CHECK(has(outcome(loop_of(chain)), "are too long"));

  const int count = 100'000;
  std::string arguments, yields, types, results;
  for (int k = 0; k < count; ++k) {
    arguments += (k == 0 ? "" : ", ") + ("%r" + number(k)) + " = %a";
    yields += (k == 0 ? "%r" : ", %r") + number((k + 1) % count);
    types += k == 0 ? "i32" : ", i32";
  }
  const std::string text =
      "!t = tensor<128x128xf32>\nmodule {\n  tt.func public @f(%a: i32, %t: !t) {\n"
      "    %0:10000 = scf.for %i = %a to %a step %a iter_args(" +
      arguments + ") -> (" + types +
      ")  : i32 {\n      %x = \"acme.use\"(%t, %r0) : (!t, i32) -> !t\n      scf.yield " + yields +
      " : " + types + "\n    }\n    tt.return\n  }\n}\n";
  CHECK(outcome(text) == "");
  CHECK(has(outcome(loop_of("      scf.for %j = %a to %a step %a\n")), "a loop needs a body"));
}

TEST_CASE("operands by the thousand, eight levels deep, before the loop") {
  std::string before = "    %c0 = arith.constant dense<0.0> : !t\n";
  for (int k = 1; k <= 10; ++k) {
    before += "    %c" + number(k) + " = arith.addf ";
    for (int use = 0; use < 1000; ++use) before += (use == 0 ? "%c" : ", %c") + number(k - 1);
    before += " : !t\n";
  }
  CHECK(outcome(loop_of("      %x = arith.addf %t, %c8 : !t\n", before)) == "");
}

TEST_CASE("types by the thousand") {
  std::string body;
  for (int k = 1; k <= 5'000; ++k)
    body += "      %q" + number(k) + " = \"acme.make\"() : () -> tensor<" + number(k) +
            "xf32>\n      %c" + number(k) + " = arith.cmpf olt, %q" + number(k) + ", %q" +
            number(k) + " : tensor<" + number(k) + "xf32>\n";
  outcome(loop_of(body));
}

TEST_CASE("numbers at the ends of their range") {
  for (const std::string bounds :
       {"9223372036854775807", "-9223372036854775808", "1000000000000", "0"})
    for (const std::string step : {"1", "9223372036854775807"}) {
      const std::string before =
          "    %lo = arith.constant -9223372036854775808 : i64\n"
          "    %hi = arith.constant " +
          bounds + " : i64\n    %st = arith.constant " + step + " : i64\n";
      outcome(
          loop_of("      scf.for %j = %lo to %hi step %st  : i64 {\n        %x = math.exp2 %t "
                  ": !t\n        scf.yield\n      }\n",
                  before));
    }
  const std::string before =
      "    %z = arith.constant 0 : i64\n    %n = arith.constant "
      "1000000000 : i64\n    %one = arith.constant 1 : i64\n";
  CHECK(has(outcome(loop_of("      scf.for %j = %z to %n step %one  : i64 {\n        %x = "
                            "math.exp2 %t : !t\n        scf.yield\n      }\n",
                            before)),
            "must take at most"));
}

TEST_CASE("ops without the types or results that they have") {
  CHECK(has(outcome(loop_of("      %x = tt.load %t\n      %y = arith.addf %x, %t : !t\n")),
            "a load needs the type of its tile"));
  CHECK(has(outcome(loop_of("      ttg.local_alloc %t : (!t) -> !t\n")),
            "an allocation needs the type of its buffer"));
  // (A result that nothing uses has no need of a name.)
  CHECK(outcome(loop_of("      ttg.local_alloc %t : (!t) -> !ttg.memdesc<128x128xf32, #s, "
                        "#ttg.shared_memory>\n")) == "");
  outcome(loop_of("      %x = tt.dot %t, %t, %t\n      %y = arith.addf %x, %t : !t\n"));
  // (What a product is added to has no extents: found by reading, an element of an empty list.)
  outcome(
      loop_of("      %s = arith.constant dense<0.0> : tensor<f32>\n"
              "      %x = tt.dot %t, %t, %s : !t * !t -> tensor<f32>\n"));
}

// (A step that is missing was read beyond the loop's operands until 2026-11-30.)
TEST_CASE("a loop has two bounds, a step, and what its variables begin with") {
  const std::string whole = loop_of("      %y = arith.addf %t, %t : !t\n");
  CHECK(outcome(whole) == "");
  for (const std::string& left : {std::string(" to %a"), std::string(" step %a"),
                                  std::string(" to %a step %a"), std::string(" = %a")}) {
    CAPTURE(left);
    std::string text = whole;
    const std::size_t place = text.find(left, text.find("scf.for"));
    REQUIRE(place != std::string::npos);
    const std::size_t end = left == " = %a" ? place + 2 : place;
    text.erase(end, left.size() - (end - place));
    CHECK(has(outcome(text), "must have two bounds, a step"));
  }
  std::string carries = whole;
  const std::string header = "%a step %a  : i32 {";
  carries.replace(carries.find(header), header.size(),
                  "%a iter_args(%x = %t) -> (!t)  : i32 {");  // (its step is the tile)
  CHECK(has(outcome(carries), "must have two bounds, a step"));
}

TEST_CASE("nothing follows what ends a block") {
  CHECK(has(outcome(loop_of("      %x = tt.reduce.return %t : !t\n"
                            "      %y = arith.addf %x, %t : !t\n")),
            "tt.reduce.return before it ends the block"));
}

TEST_CASE("inner loops with products: rings of loop variables, a loop without a body") {
  std::string begins, yields, types;
  const int count = 9'000;
  for (int k = 0; k < count; ++k) {
    begins += ", %r" + number(k) + " = %a";
    yields += ", %r" + number((k + count - 1) % count);
    types += ", i32";
  }
  const std::string body =
      "      %x = arith.addf %t, %t : !t\n"
      "      %0:" +
      number(count + 1) + " = scf.for %k = %a to %a step %a iter_args(%m2 = %m" + begins +
      ") -> (i1" + types +
      ") : i32 {\n"
      "        ttng.tc_gen5_mma %p, %p, %d, %m2, %m : !s, !s, !d\n"
      "        \"acme.use\"(%r0) : (i32) -> ()\n"
      "        scf.yield %m2" +
      yields + " : i1" + types + "\n      }\n";
  const std::string text =
      "!t = tensor<128x128xf32>\n!s = !ttg.memdesc<128x128xf16, #shared, #smem>\n"
      "!d = !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>\n"
      "#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128}>\n#smem = #ttg.shared_memory\n"
      "#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>\n"
      "module attributes {\"ttg.num-warps\" = 4 : i32} {\n"
      "  tt.func public @f(%a: i32, %t: !t, %m: i1, %p: !s, %d: !d) {\n"
      "    scf.for %i = %a to %a step %a  : i32 {\n" +
      body + "      scf.yield\n    } {tt.warp_specialize}\n    tt.return\n  }\n}\n";
  CHECK(outcome(text) == "");
  CHECK(has(outcome(loop_of("      scf.for %j = %a to %a step %a\n")), "a loop needs a body"));
}

/// A line with an operand less or more, or one of its numbers another one.
std::vector<std::string> changed(const std::string& line) {
  std::vector<std::string> all;
  static const std::regex kOperand(R"(= tt\.\w+ (%[\w#]+)(, )?)");
  std::smatch found;
  if (std::regex_search(line, found, kOperand)) {
    const auto at = static_cast<std::size_t>(found.position(1));
    const std::string rest = line.substr(at + static_cast<std::size_t>(found.length(1)));
    all.push_back(line.substr(0, at) + (has(rest.substr(0, 2), ",") ? rest.substr(2) : rest));
    all.push_back(line.substr(0, at) + found.str(1) + ", " + found.str(1) + rest);
  }
  static const std::regex kNumber(R"([0-9]+(?=[x,\]> :]))");
  for (auto one = std::sregex_iterator(line.begin(), line.end(), kNumber);
       one != std::sregex_iterator(); ++one)
    for (const std::string& by : {std::string("1"), std::string("3"), "2x" + one->str()}) {
      std::string text = line;
      all.push_back(text.replace(static_cast<std::size_t>(one->position()),
                                 static_cast<std::size_t>(one->length()), by));
    }
  return all;
}

/// Modules for Hopper with one line changed in each way, where a line shows `lines`: how many are
/// read, and how many refused.
struct Answers {
  int read = 0, refused = 0;
};
Answers answers(const std::vector<std::string>& names, const std::regex& lines,
                std::vector<std::string> (*ways)(const std::string& line)) {
  Answers all;
  for (const std::string& name : names) {
    std::istringstream in(read_file(TWILL_TEST_DATA "/ttgir/" + name + "-hopper.ttgir"));
    std::vector<std::string> text;
    for (std::string line; std::getline(in, line);) text.push_back(line);
    for (std::size_t k = 0; k < text.size(); ++k) {
      if (!std::regex_search(text[k], lines)) continue;
      for (const std::string& other : ways(text[k])) {
        CAPTURE(other);
        std::string mutant;
        for (std::size_t l = 0; l < text.size(); ++l) mutant += (l == k ? other : text[l]) + "\n";
        try {
          ttgir::LoopOptions options;
          options.undo_rings = true;  // (as of what is to be written)
          const auto lowered = ttgir::lower_module(mutant, "hostile", builtin_machine("hopper"),
                                                   "hopper", options, {});
          const auto meaning = ttgir::meaning_of_loop(lowered);
          ++(std::holds_alternative<ttgir::ModuleMeaning>(meaning) ? all.read : all.refused);
        } catch (const InputError&) {
          ++all.refused;
        }
      }
    }
  }
  MESSAGE(all.read << " read, " << all.refused << " refused");
  return all;
}

// (A join of one tile was read beyond its operands until 2026-11-30.)
TEST_CASE("lines that show tiles in another form, changed: read, or refused") {
  static const std::regex kShows(
      R"(tt\.(join|split|reshape|trans|expand_dims|broadcast|reduce).*tensor)");
  CHECK(answers({"halves", "pairs-turned", "groups-scaled", "between-groups"}, kShows, changed)
            .refused > 200);
}

/// A line with each of its operands left out, doubled, or another one's.
std::vector<std::string> with_other_operands(const std::string& line) {
  std::vector<std::string> all;
  static const std::regex kOperand(R"((%[\w#]+)(, )?)");
  std::string first;
  for (auto one = std::sregex_iterator(line.begin(), line.end(), kOperand);
       one != std::sregex_iterator(); ++one) {
    const auto place = static_cast<std::size_t>(one->position());
    const auto length = static_cast<std::size_t>(one->length());
    if (first.empty()) first = one->str(1);
    for (const std::string& by : {std::string(), one->str(1) + ", " + one->str(), first}) {
      std::string text = line;
      all.push_back(text.replace(place, length, by));
    }
  }
  return all;
}

// (A pointer with one operand crashed until 2026-11-30.)
TEST_CASE("loops of while, masks of data and index arithmetic, changed: read, or refused") {
  static const std::regex kLines(
      R"(scf\.(while|condition|yield|for)|\^bb0|arith\.(cmpi|cmpf|andi|addi|shrsi)|tt\.(store|atomic_rmw|addptr))");
  CHECK(answers({"while-counted", "peaks-stored", "rows-chosen", "rows-in-turn"}, kLines,
                with_other_operands)
            .refused > 100);
}

TEST_CASE("branches of several results and words without a sign, changed: read, or refused") {
  static const std::regex kLines(
      R"(scf\.(if|yield|for)|arith\.(cmpi|maxui|minui|divui|remui|select|xori|muli|addf)|tt\.(reduce|splat|atomic_rmw))");
  CHECK(answers({"both-chosen", "without-sign", "words-carried"}, kLines, with_other_operands)
            .refused > 50);
}

/// A loop of while by these lines, and what it becomes.
std::string counted(const std::string& asks, const std::string& adds, const std::string& argument) {
  return "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
         "  tt.func public @f(%p: !tt.ptr<f32>, %n: i32) {\n"
         "    %c1 = arith.constant 1 : i32\n    %c0 = arith.constant 0 : i32\n"
         "    %m = arith.constant -1 : i32\n"
         "    %z = arith.constant dense<0.0> : tensor<128xf32>\n"
         "    %r:2 = scf.while (%i = %c0, %x = %z) : (i32, tensor<128xf32>) -> (i32, "
         "tensor<128xf32>) {\n" +
         asks + "      scf.condition(%b) %i, %x : i32, tensor<128xf32>\n    } do {\n    ^bb0(" +
         argument + ", %x: tensor<128xf32>):\n      %y = arith.addf %x, %x : tensor<128xf32>\n" +
         adds + "      scf.yield %j, %y : i32, tensor<128xf32>\n    }\n    tt.return\n  }\n}\n";
}

TEST_CASE("of loops of while those that count are read as scf.for") {
  const std::string less = "      %b = arith.cmpi slt, %i, %n : i32\n";
  const std::string on = "      %j = arith.addi %i, %c1 : i32\n";
  const auto loops = [](const std::string& text) {
    try {
      return ttgir::loop_listing(text, "module", std::nullopt);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  CHECK(has(loops(counted(less, on, "%i: i32")), "MACs"));
  CHECK(has(loops(counted("      %b = arith.cmpi sgt, %n, %i : i32\n", on, "%i: i32")), "MACs"));
  CHECK(has(loops(counted(less, on, "%i: i32 loc(\"a) : (b\"(#loc))")), "MACs"));
  for (const std::string& text :
       {counted("      %b = arith.cmpi sle, %i, %n : i32\n", on, "%i: i32"),
        counted("      %b = arith.cmpi ult, %i, %n : i32\n", on, "%i: i32"),
        counted("      %b = arith.cmpi slt, %n, %i : i32\n", on, "%i: i32"),
        counted(less, "      %j = arith.addi %i, %m : i32\n", "%i: i32"),
        counted(less, "      %j = arith.addi %i, %n : i32\n", "%i: i32"),
        counted(less, "      %j = arith.addi %i, %i : i32\n", "%i: i32"),
        counted(less, "      %j = arith.subi %i, %m : i32\n", "%i: i32"),
        counted("      %q = arith.addi %i, %c1 : i32\n" + less, on, "%i: i32")}) {
    CAPTURE(text);
    CHECK_FALSE(has(loops(text), "MACs"));
  }
}

}  // namespace ttgir_hostile_test
