// Branches that only compute become choices: the module stores what it stored, by the interpreter,
// which executes branches as they are; others stay.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "graph/io/builtin.hpp"
#include "graph/ttgir/chosen_branches.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/module_run.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_chosen_branches_test {

using namespace twill;

namespace {

/// A function with a branch of results by these lines.
std::string branch(const std::string& results, const std::string& then,
                   const std::string& otherwise) {
  return "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
         "  tt.func public @f(%p: !tt.ptr<f32>, %n: i32, %b: i1, %x: tensor<128xf32>, %i: i32) {\n"
         "    %c7 = arith.constant 7 : i32\n" +
         results + " = scf.if %b -> (tensor<128xf32>, i32) {\n" + then + "    } else {\n" +
         otherwise + "    }\n    tt.return\n  }\n}\n";
}

int count_of(const ttgir::Module& module, std::string_view name) {
  return static_cast<int>(std::count_if(module.ops.begin(), module.ops.end(),
                                        [&](const auto& op) { return op.name == name; }));
}

bool is_chosen(const std::string& text) {
  const auto made = ttgir::with_chosen_branches(ttgir::parse_module(text, "module"));
  return made && count_of(*made, "scf.if") == 0;
}

}  // namespace

TEST_CASE("branches that only compute are choices, others stay") {
  const std::string y = "      %y = arith.addf %x, %x : tensor<128xf32>\n";
  const std::string j = "      %j = arith.addi %i, %n : i32\n";
  const std::string end = "      scf.yield %y, %j : tensor<128xf32>, i32\n";
  CHECK(is_chosen(branch("    %r:2", y + j + end, y + j + end)));
  CHECK(is_chosen(branch("    %r, %s", y + j + end, y + j + end)));
  CHECK(is_chosen(branch("    %r:2", "      %j = arith.divsi %i, %c7 : i32\n" + y + end,
                         "      %j = arith.remui %i, %c7 : i32\n" + y + end)));
  for (const std::string& other :
       {"      %j = arith.divsi %i, %n : i32\n" + y, "      %j = arith.remui %c7, %i : i32\n" + y,
        "      %j = tt.load %p : !tt.ptr<i32>\n" + y,
        "      tt.store %p, %x : !tt.ptr<f32>\n" + y + j,
        "      %j = tt.call @g(%i) : (i32) -> i32\n" + y,
        "      %j = tt.elementwise_inline_asm \"a\" {pure = false} %i : i32 -> i32\n" + y}) {
    CAPTURE(other);
    CHECK_FALSE(is_chosen(branch("    %r:2", other + end, y + j + end)));
    CHECK_FALSE(is_chosen(branch("    %r:2", y + j + end, other + end)));
  }
  // A name that is taken: the module stays as it is.
  std::string taken = branch("    %r:2", y + j + end, y + j + end);
  taken.insert(taken.find("    tt.return"), "    %chosen.0.3.0.0 = arith.constant 1 : i32\n");
  const auto index = [&] {
    const ttgir::Module module = ttgir::parse_module(taken, "module");
    for (std::size_t op = 0; op < module.ops.size(); ++op)
      if (module.ops[op].name == "scf.if") return op;
    return std::size_t{0};
  }();
  REQUIRE(index == 3);
  CHECK_FALSE(is_chosen(taken));
}

TEST_CASE("products are computed on either side, in tensor memory of their own alone") {
  const std::string y = "      %y = arith.addf %x, %x : tensor<128xf32>\n";
  const std::string end = "      scf.yield %y, %i : tensor<128xf32>, i32\n";
  const std::string none = "      scf.yield %x, %i : tensor<128xf32>, i32\n";
  const std::string type = "!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>";
  const std::string made = " = ttng.tmem_alloc : () -> (" + type + ", !ttg.async.token)\n";
  const std::string used =
      "      %u = ttng.tmem_store %z, %m[%t], %true : tensor<128x128xf32> -> " + type +
      "\n      %l, %k = ttng.tmem_load %m[%u] : " + type + " -> tensor<128x128xf32>\n";
  const std::string before =
      "    %true = arith.constant true\n    %z = arith.constant dense<0.000000e+00> : "
      "tensor<128x128xf32>\n";
  const auto with_lines = [&](const std::string& outside, const std::string& inside) {
    std::string text = branch("    %r:2", inside + y + end, none);
    return text.insert(text.find("    %r:2"), before + outside);
  };
  CHECK(is_chosen(with_lines("", "      %m, %t" + made + used)));
  CHECK_FALSE(is_chosen(with_lines("    %m, %t" + made, used)));
  // A barrier, a copy that nobody waits for.
  CHECK_FALSE(is_chosen(with_lines("", "      ttng.arrive_barrier %p, 1 : !tt.ptr<f32>\n")));
  CHECK_FALSE(
      is_chosen(with_lines("", "      %e = ttng.fence_async_shared {bCluster = false} : i32\n")));
}

TEST_CASE("branches in branches, more than are gone into") {
  std::string then = "%v = arith.addf %x, %x : tensor<128xf32>\n", text;
  constexpr int kDeep = 40;
  for (int k = 0; k < kDeep; ++k)
    text += "%a" + std::to_string(k) + ":2 = scf.if %b -> (tensor<128xf32>, i32) {\n";
  text += then + "scf.yield %v, %i : tensor<128xf32>, i32\n} else {\n" + then +
          "scf.yield %v, %n : tensor<128xf32>, i32\n}\n";
  for (int k = kDeep - 1; k > 0; --k) {
    const std::string a = "%a" + std::to_string(k);
    text += "scf.yield " + a + "#0, " + a + "#1 : tensor<128xf32>, i32\n} else {\n" + then +
            "scf.yield %v, %n : tensor<128xf32>, i32\n}\n";
  }
  const std::string whole =
      "module attributes {\"ttg.num-warps\" = 4 : i32} {\ntt.func public @f(%n: i32, %b: i1, %x: "
      "tensor<128xf32>, %i: i32) {\n" +
      text + "tt.return\n}\n}\n";
  const auto made = ttgir::with_chosen_branches(ttgir::parse_module(whole, "module"));
  REQUIRE(made);
  CHECK(count_of(*made, "scf.if") == kDeep - 8);
  CHECK(count_of(*made, "arith.select") == 16);
}

// Beside the module as it was, op by op, by the interpreter, which knows branches.
TEST_CASE("a module whose branches are choices stores what it did, at the lines where it did") {
  for (const char* const name : {"both-chosen-hopper", "both-chosen-blackwell"}) {
    CAPTURE(name);
    const std::string text = read_file(std::string(TWILL_TEST_DATA) + "/ttgir/" + name + ".ttgir");
    const ttgir::Module before = ttgir::parse_module(text, name);
    ttgir::LoopOptions options;
    options.undo_rings = true;
    const std::string machine = std::string(name).ends_with("hopper") ? "hopper" : "blackwell";
    const ttgir::LoweredModule lowered =
        ttgir::lower_module(text, name, builtin_machine(machine), machine, options, {});
    const ttgir::Module& after = lowered.module;
    CHECK(count_of(before, "scf.if") == 3);
    CHECK(count_of(after, "scf.if") == 0);
    const auto meaning = ttgir::meaning_of_loop(lowered);
    REQUIRE(std::holds_alternative<ttgir::ModuleMeaning>(meaning));
    const auto& kernel = std::get<ttgir::ModuleMeaning>(meaning).kernel;
    CHECK(kernel.incomplete.empty());
    const auto stored = [](const ttgir::Module& module, const ttgir::Interpretation& run) {
      std::map<unsigned, std::vector<std::vector<double>>> all;  // by line
      for (const auto& [op, tiles] : run.moved)
        if (module.op(op).name == "tt.store")
          for (const auto& tile : tiles) all[module.op(op).line].push_back(tile.data);
      return all;
    };
    for (const int n : {0, 1, 2, 5, 8}) {
      CAPTURE(n);
      const auto launch = ttgir::launch_of(kernel, n);
      REQUIRE(launch);
      const int loop = ttgir::list_loops(before).front().op;
      const auto a = ttgir::interpret(before, loop, *launch, 0.125, 5);
      const auto b = ttgir::interpret(after, lowered.loop.loop, *launch, 0.125, 5);
      REQUIRE(std::holds_alternative<ttgir::Interpretation>(a));
      REQUIRE(std::holds_alternative<ttgir::Interpretation>(b));
      const auto is = stored(before, std::get<ttgir::Interpretation>(a));
      CHECK(is.size() == (n > 0 ? 4 : 3));
      CHECK(is == stored(after, std::get<ttgir::Interpretation>(b)));
    }
  }
}

TEST_CASE("attention to chosen blocks stores what it did") {
  for (const std::string machine : {"hopper", "blackwell"}) {
    CAPTURE(machine);
    const std::string text =
        read_file(TWILL_TEST_DATA "/ttgir/blocks-attended-" + machine + ".ttgir");
    const ttgir::Module before = ttgir::parse_module(text, "m");
    ttgir::LoopOptions options;
    options.undo_rings = true;
    const ttgir::LoweredModule lowered =
        ttgir::lower_module(text, "m", builtin_machine(machine), machine, options, {});
    CHECK(count_of(before, "scf.if") == 1);
    CHECK(count_of(lowered.module, "scf.if") == 0);
    CHECK(count_of(lowered.module, "arith.select") == count_of(before, "arith.select") + 3);
    const auto meaning = ttgir::meaning_of_loop(lowered);
    REQUIRE(std::holds_alternative<ttgir::ModuleMeaning>(meaning));
    const auto& kernel = std::get<ttgir::ModuleMeaning>(meaning).kernel;
    CHECK(kernel.incomplete.empty());
    for (const int n : {0, 1, 2, 5}) {
      CAPTURE(n);
      const auto launch = ttgir::launch_of(kernel, n);
      REQUIRE(launch);
      const auto stored = [&](const ttgir::Module& module, int loop) {
        const auto run = ttgir::interpret(module, loop, *launch, 0.125, 5);
        REQUIRE(std::holds_alternative<ttgir::Interpretation>(run));
        std::vector<double> all;
        for (const auto& [op, tiles] : std::get<ttgir::Interpretation>(run).moved)
          if (module.op(op).name == "tt.store")
            for (const auto& tile : tiles)
              all.insert(all.end(), tile.data.begin(), tile.data.end());
        return all;
      };
      const std::vector<double> is = stored(before, ttgir::list_loops(before).front().op);
      CHECK(is.size() == 64 * 64);
      CHECK(is == stored(lowered.module, lowered.loop.loop));
    }
  }
}

}  // namespace ttgir_chosen_branches_test
