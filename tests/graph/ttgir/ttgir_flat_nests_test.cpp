// Two loops in each other that only add up become one; others stay. (What the one computes is
// shown by tests/emit/emit_library_test.py: module heads-added beside a formula.)
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/io/builtin.hpp"
#include "graph/ttgir/flat_nests.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_flat_nests_test {

using namespace twill;

namespace {

/// A nest: what is in front of the inner loop, what the outer one begins and ends with.
struct Parts {
  std::string places = "      %base = arith.muli %g, %n : i32\n";
  std::string end = "%n", step = "%c2";    // of the inner loop
  std::string inits = "%a = %x, %b = %y";  // of the outer one
  std::string inner_inits = "%c = %a, %d = %b";
  std::string body = "        %e = arith.addf %c, %d : f32\n";
  std::string behind = "";
  std::string yields = "%r#0, %r#1";
  std::string type = "i32";
};

std::string nest(const Parts& p) {
  return "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
         "  tt.func public @f(%p: !tt.ptr<f32>, %n: " +
         p.type +
         ", %x: f32, %y: f32) {\n"
         "    %c0 = arith.constant 0 : " +
         p.type + "\n    %c2 = arith.constant 2 : " + p.type +
         "\n    %r2:2 = scf.for %g = %c0 to %n step %c2 iter_args(" + p.inits +
         ") -> (f32, f32)  : " + p.type + " {\n" + p.places + "      %r:2 = scf.for %i = %c0 to " +
         p.end + " step " + p.step + " iter_args(" + p.inner_inits +
         ") -> (f32, f32)  : " + p.type + " {\n" + p.body +
         "        scf.yield %e, %c : f32, f32\n      } {tt.num_stages = 3 : i32}\n" + p.behind +
         "      scf.yield " + p.yields +
         " : f32, f32\n    }\n"
         "    tt.store %p, %r2#0 : !tt.ptr<f32>\n    tt.return\n  }\n}\n";
}

int loops_of(const ttgir::Module& module) {
  return static_cast<int>(std::count_if(module.ops.begin(), module.ops.end(),
                                        [](const auto& op) { return op.name == "scf.for"; }));
}

bool is_flat(const Parts& parts) {
  const ttgir::Module module = ttgir::parse_module(nest(parts), "module");
  REQUIRE(loops_of(module) == 2);
  const auto made = ttgir::with_flat_nests(module);
  if (made) CHECK(loops_of(*made) == 1);
  return made.has_value();
}

}  // namespace

TEST_CASE("a nest that only adds up is one loop") {
  CHECK(is_flat({}));
  Parts loads;  // of what nothing is stored to
  loads.places +=
      "      %w = tt.addptr %p, %g : !tt.ptr<f32>, i32\n"
      "      %v = tt.load %w : !tt.ptr<f32>\n";
  loads.body = "        %e = arith.addf %c, %v : f32\n";
  CHECK(is_flat(loads));
}

TEST_CASE("other nests stay two loops") {
  const auto stays = [](auto change) {
    Parts parts;
    change(parts);
    CAPTURE(nest(parts));
    CHECK_FALSE(is_flat(parts));
  };
  // The outer loop has what it carries done to it, or done with.
  stays([](Parts& p) {
    p.behind = "      %s = arith.addf %r#0, %x : f32\n";
    p.yields = "%s, %r#1";
  });
  stays([](Parts& p) {
    p.places += "      %s = arith.addf %a, %x : f32\n";
    p.inner_inits = "%c = %s, %d = %b";
  });
  stays([](Parts& p) { p.places += "      %s = arith.addf %a, %x : f32\n"; });
  stays([](Parts& p) { p.behind = "      tt.store %p, %r#0 : !tt.ptr<f32>\n"; });
  // It hands on in another order, or what comes from elsewhere.
  stays([](Parts& p) { p.inner_inits = "%c = %b, %d = %a"; });
  stays([](Parts& p) { p.yields = "%r#1, %r#0"; });
  stays([](Parts& p) { p.inner_inits = "%c = %a, %d = %y"; });
  stays([](Parts& p) { p.yields = "%r#0, %x"; });
  // How many steps there are is another number in each round.
  stays([](Parts& p) { p.end = "%base"; });
  stays([](Parts& p) { p.end = "%g"; });
  // Steps that are no constants from 1 on.
  stays([](Parts& p) { p.step = "%n"; });
  stays([](Parts& p) { p.step = "%c0"; });
  // It stores, or loads what the inner loop may store, or loads a tile again and again.
  stays([](Parts& p) { p.places += "      tt.store %p, %x : !tt.ptr<f32>\n"; });
  stays([](Parts& p) {
    p.places += "      %v = tt.load %p : !tt.ptr<f32>\n";
    p.body += "        tt.store %p, %v : !tt.ptr<f32>\n";
  });
  stays([](Parts& p) {
    p.places +=
        "      %q = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>\n"
        "      %v = tt.load %q : tensor<16x16x!tt.ptr<f32>>\n";
  });
  // There is another loop: who needs the nest before it repeats that as it is.
  std::string more = nest({});
  more.insert(more.find("    tt.store %p, %r2#0"),
              "    %o = scf.for %j = %c0 to %n step %c2 iter_args(%q = %x) -> (f32)  : i32 {\n"
              "      scf.yield %q : f32\n    }\n");
  CHECK_FALSE(ttgir::with_flat_nests(ttgir::parse_module(more, "module")));
  // Counters of 64 bits; a name that is taken.
  stays([](Parts& p) {
    p.type = "i64";
    p.places = "      %base = arith.muli %g, %n : i64\n";
  });
  const ttgir::Module module = ttgir::parse_module(nest({}), "module");
  const auto outer = std::find_if(module.ops.begin(), module.ops.end(),
                                  [](const auto& op) { return op.name == "scf.for"; });
  const std::string taken = "%flat." + std::to_string(outer - module.ops.begin()) + ".t";
  Parts parts;
  parts.body += "        " + taken + " = arith.addf %c, %d : f32\n";
  CHECK_FALSE(is_flat(parts));
}

TEST_CASE(
    "the one loop of a nest is what is read where a module is written, op by op in its place") {
  for (const std::string machine : {"hopper", "blackwell"}) {
    const std::string name = "heads-added-" + machine;
    CAPTURE(name);
    const std::string text = read_file(std::string(TWILL_TEST_DATA) + "/ttgir/" + name + ".ttgir");
    const auto loads = [](const ttgir::Module& module) {
      std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
      for (const auto& op : module.ops)
        if (op.name == "tt.load" || op.name == "tt.store") places.emplace_back(op.line, op.column);
      return places;
    };
    const ttgir::Module before = ttgir::parse_module(text, name);
    for (const bool writes : {false, true}) {
      ttgir::LoopOptions options;
      options.undo_rings = writes;
      const ttgir::LoweredModule lowered =
          ttgir::lower_module(text, name, builtin_machine(machine), machine, options, {});
      CHECK(loops_of(lowered.module) == (writes ? 1 : 2));
      CHECK(loads(lowered.module) == loads(before));
    }
  }
}

}  // namespace ttgir_flat_nests_test
