// A module's loop with its inner loop's ops: the inner part is what the inner loop alone is, and
// the whole is a nest of rule 12.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "engine/include/twill_nested.hpp"
#include "graph/index.hpp"
#include "graph/verify.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_nest_test {

using namespace twill;
using test::replaced;

namespace {

struct Case {
  std::string file, machine;
  int outer = 0, inner = 1;
};

const std::vector<Case>& cases() {
  static const std::string nested = TWILL_TEST_DATA "/nested/";
  static const std::vector<Case> all = {
      {test::kTritonFolder + "hopper-gemm-persistent.ttgir", "hopper"},
      {test::kTritonFolder + "blackwell-gemm-persistent.ttgir", "blackwell"},
      {nested + "hopper-attention-persistent.ttgir", "hopper"},
      {nested + "blackwell-attention-persistent.ttgir", "blackwell"}};
  return all;
}

ttgir::LoweredModule lowered(const std::string& text, const std::string& machine, int loop,
                             bool nest) {
  ttgir::LoopOptions options;
  options.loop = loop;
  options.nest = nest;
  return ttgir::lower_module(text, "m", builtin_machine(machine), machine, options, {});
}

/// Everything of an op and its edges but names of layouts, by its id.
std::map<std::string, std::string> described(const Problem& p) {
  std::map<std::string, std::string> all;
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    const Op& op = p.ops[v];
    if (op.id == "(outside)") continue;
    std::string text = std::to_string(op.cycles) + " " + std::to_string(op.registers) + " " +
                       std::to_string(op.spill) + " " + std::to_string(op.width) + " " +
                       std::to_string(op.variable_latency) + std::to_string(op.streaming) +
                       std::to_string(op.in_flight);
    for (const Reservation& r : op.reservations)
      text += "; unit " + std::to_string(r.unit) + " " + std::to_string(r.offset) + " " +
              std::to_string(r.length) + " " + std::to_string(r.amount);
    for (const Footprint& f : op.footprints)
      text += "; memory " + std::to_string(f.memory) + " " + std::to_string(f.amount);
    for (const Traffic& t : op.traffic)
      text += "; channel " + std::to_string(t.channel) + " " + std::to_string(t.amount.numerator);
    std::multiset<std::string> edges;
    for (const Edge& e : p.edges)
      if (at(e.to) == v && p.ops[at(e.from)].id != "(outside)")
        edges.insert("; " + p.ops[at(e.from)].id + " " + std::to_string(e.delay) + " " +
                     std::to_string(e.distance) + " " + std::to_string(e.blocking) + " " +
                     std::to_string(e.hold));
    for (const std::string& edge : edges) text += edge;
    all[op.id] = text;
  }
  return all;
}

std::string refusal(const std::string& text, const std::string& machine, int loop) {
  try {
    lowered(text, machine, loop, true);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the inner loop of a nest is the inner loop alone") {
  for (const Case& c : cases()) {
    CAPTURE(c.file);
    const std::string text = read_file(c.file);
    const auto nest = lowered(text, c.machine, c.outer, true);
    const auto alone = lowered(text, c.machine, c.inner, false);
    CHECK(nest.loop.inner != ttgir::kNone);
    CHECK(nest.loop.inner_trips == 16);  // no constant: --trips
    REQUIRE(!nest.problems.empty());
    int compared = 0;
    for (const Lowered& one : nest.problems) {
      const NestedLoop loop{one.problem, ttgir::inner_ops(nest.loop, one.problem), 3, "k"};
      CAPTURE(one.layout);
      CHECK_NOTHROW(check(loop));
      const Problem inner = inner_problem(loop);
      for (const Lowered& other : alone.problems) {
        if (other.layout != one.layout) continue;
        ++compared;
        CHECK(described(inner) == described(other.problem));
        // What lies there while it runs: tiles of the outer loop, as if from before it.
        for (std::size_t m = 0; m < inner.memories.size(); ++m)
          CHECK(inner.memories[m].capacity == other.problem.memories[m].capacity);
      }
    }
    CHECK(compared > 0);
  }
}

TEST_CASE("a module's nest: parts beside the loop unrolled") {
  for (const Case& c : cases()) {
    if (c.file.find("gemm") == std::string::npos) continue;
    CAPTURE(c.file);
    const auto nest = lowered(read_file(c.file), c.machine, c.outer, true);
    for (const std::int64_t trips : {1, 2, 3}) {
      CAPTURE(trips);
      std::vector<NestedLoop> loops;
      std::vector<Lowered> flat;
      std::vector<std::string> names;
      for (const Lowered& one : nest.problems) {
        loops.push_back({one.problem, ttgir::inner_ops(nest.loop, one.problem), trips, "k"});
        names.push_back(one.layout);
        flat.push_back({one.layout, flat_problem(loops.back()), {}, {}, {}, {}, {}});
      }
      const NestedSolution parts = solve_nested(loops, names, {});
      const LayoutsSolution whole = solve_layouts(flat, {});
      REQUIRE(parts.outer.has_value());
      REQUIRE(parts.outer->solution().status == Status::optimal);
      REQUIRE(whole.solution().status == Status::optimal);
      const Schedule& found = *parts.outer->solution().schedule;
      CHECK(found.initiation_interval >= whole.solution().schedule->initiation_interval);
      // It is one of the unrolled loop, and below a run and its epilogue one after the other.
      const std::size_t k = parts.layout_of[parts.outer->chosen];
      const Schedule all =
          flat_schedule(loops[k], *parts.chosen().inner.schedule, *parts.chosen().nested, found);
      const auto broken = verify(flat[k].problem, all);
      CHECK_MESSAGE(!broken, (broken ? broken->text : ""));
      CHECK(found.initiation_interval < all.length);
    }
  }
}

TEST_CASE("what is no nest is refused with its place") {
  const std::string gemm = read_file(cases()[0].file), blackwell = read_file(cases()[1].file);
  CHECK(refusal(gemm, "hopper", 1).find("without an inner one") != std::string::npos);
  // The accumulator of a tile goes on in the next: a run reads what the run before left.
  std::string carried =
      replaced(gemm, "scf.for %tile = %0 to %tiles_4 step %c132_i32  : i32 {",
               "%last = scf.for %tile = %0 to %tiles_4 step %c132_i32 iter_args(%old = %cst) -> "
               "(tensor<128x256xf32, #mma>) : i32 {");
  carried = replaced(carried, "%acc_7 = %cst", "%acc_7 = %old");
  const std::size_t store = carried.find("tt.descriptor_store");
  const std::size_t line = carried.find('\n', store);
  carried.insert(line + 1, "scf.yield %acc : tensor<128x256xf32, #mma>\n");
  const std::string why = refusal(carried, "hopper", 0);
  CAPTURE(why);
  CHECK(why.find("of an earlier run") != std::string::npos);
  // Nothing between two runs reads the accumulator or writes it.
  std::string kept = blackwell;
  const std::size_t begin = kept.find("%acc, %acc_7 = ttng.tmem_alloc");
  const std::size_t end = kept.find('\n', begin);
  const std::string allocation = kept.substr(begin, end - begin + 1);
  kept.erase(begin, allocation.size());
  kept.insert(kept.find("scf.for %tile"), allocation);
  const auto erase_line = [&](const std::string& what) {
    const std::size_t at = kept.find(what);
    REQUIRE(at != std::string::npos);
    const std::size_t from = kept.rfind('\n', at) + 1;
    kept.erase(from, kept.find('\n', at) + 1 - from);
  };
  erase_line("ttng.tmem_store");
  kept = replaced(kept, "%acc_13 = %acc_8", "%acc_13 = %acc_7");
  kept = replaced(kept, "%acc_12 = %false", "%acc_12 = %true_0");
  kept.insert(kept.find("scf.for %tile"), "%true_0 = arith.constant true\n");
  for (const char* rest :
       {"ttng.tmem_load", "arith.truncf", "ttg.convert_layout", "tt.descriptor_store"})
    erase_line(rest);
  CHECK(refusal(kept, "blackwell", 0).find("keeps from run to run") != std::string::npos);
}

}  // namespace ttgir_nest_test
