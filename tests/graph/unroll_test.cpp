// Loops unrolled: the same iterations, the same numbers.
#include "graph/unroll.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/include/twill_program.hpp"
#include "graph/check.hpp"
#include "graph/io/builtin.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/meaning/unroll.hpp"
#include "graph/problem_io.hpp"
#include "graph/program/judge.hpp"
#include "tests/support/file_samples.hpp"
#include "tests/support/number_from.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace unroll_test {

using namespace twill;

namespace {

/// Start and slot of op v of iteration j of the loop that was unrolled.
struct Instances {
  const Problem& loop;
  const Schedule& schedule;  // of the unrolled one
  int copies;

  std::size_t copy(int v, std::int64_t j) const {
    return static_cast<std::size_t>(v) + static_cast<std::size_t>(j % copies) * loop.ops.size();
  }
  Cycle start(int v, std::int64_t j) const {
    return schedule.start[copy(v, j)] + j / copies * schedule.initiation_interval;
  }
  int slot(int v, std::int64_t j) const { return schedule.warp[copy(v, j)]; }
};

/// The rules, iteration by iteration and cycle by cycle, of a run long enough to be full. "" =
/// kept.
std::string broken(const Problem& p, const Schedule& schedule, int copies) {
  const Instances at{p, schedule, copies};
  const int n = 40 * copies;
  std::map<std::pair<int, Cycle>, Amount> units, files, memories;
  for (int j = 0; j < n; ++j)
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      const Op& op = p.ops[static_cast<std::size_t>(v)];
      for (const Reservation& r : op.reservations)
        for (Cycle t = 0; t < r.length; ++t)
          units[{r.unit, at.start(v, j) + r.offset + t}] += r.amount;
      Cycle end = at.start(v, j);
      for (const Edge& e : p.edges) {
        if (e.from != v) continue;
        if (j + e.distance >= n) {
          end = at.start(v, j);
          break;
        }
        const Cycle use = at.start(e.to, j + e.distance);
        const Cycle delay =
            e.delay + (at.slot(v, j) != at.slot(e.to, j + e.distance) ? spill_of(p, e) : 0);
        if (use < at.start(v, j) + delay) return "dependence";
        end = std::max(end, use + e.hold);
      }
      for (Cycle t = at.start(v, j); t < end; ++t) {
        files[{at.slot(v, j), t}] += op.registers;
        for (const Footprint& f : op.footprints) memories[{f.memory, t}] += f.amount;
      }
    }
  for (const auto& [key, amount] : units)
    if (amount > p.units[static_cast<std::size_t>(key.first)].capacity) return "capacity";
  for (const auto& [key, amount] : files)
    if (amount > p.warps[static_cast<std::size_t>(key.first)].registers) return "registers";
  for (const auto& [key, amount] : memories)
    if (amount > p.memories[static_cast<std::size_t>(key.first)].capacity) return "memory";
  return "";
}

/// The schedule of the loop as one of the unrolled loop.
Schedule repeated(const Schedule& old, int copies) {
  Schedule s;
  s.initiation_interval = old.initiation_interval * copies;
  for (int k = 0; k < copies; ++k) {
    for (const Cycle start : old.start) s.start.push_back(start + k * old.initiation_interval);
    s.warp.insert(s.warp.end(), old.warp.begin(), old.warp.end());
  }
  s.length = old.length + (copies - 1) * old.initiation_interval;
  return s;
}

test::LoopKnobs small() {
  test::LoopKnobs knobs;
  knobs.max_ops = 4;
  knobs.max_distance = 4;
  knobs.charged_rings = false;  // (A ring a copy is more than one for all.)
  return knobs;
}

}  // namespace

TEST_CASE("schedules of a loop are those of its unrolled loop, and the other way round") {
  int feasible = 0, better = 0, opened = 0;
  const auto seeds = test::number_from("TWILL_UNROLL_SEEDS", 1'500 / test::kShare);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const Problem p = test::random_loop(seed, small());
    const int copies = 2 + static_cast<int>(seed % 3);
    const Problem u = unrolled(p, copies);
    check(u, "unrolled");
    Options some;
    some.conflict_limit = 2'000;
    const Solution once = solve(p), many = solve(u, some);
    // (Rule 8 does not see an op and itself, but it does see two copies of one.)
    const bool meets_itself =
        once.schedule && std::any_of(p.ops.begin(), p.ops.end(), [&](const Op& op) {
          return op.cycles > once.schedule->initiation_interval;
        });
    if (once.status == Status::optimal && !meets_itself) {
      ++feasible;
      const Schedule same = repeated(*once.schedule, copies);
      const auto violation = verify(u, same);
      if (violation) FAIL_CHECK(violation->rule << ": " << violation->text);
      CHECK(many.ii_lower_bound <= same.initiation_interval);
      if (many.status != Status::feasible && many.status != Status::unknown) {
        REQUIRE(many.schedule);
        CHECK(many.schedule->initiation_interval <= same.initiation_interval);
        if (many.schedule->initiation_interval < same.initiation_interval) ++better;
      }
    } else if (once.status == Status::infeasible && many.schedule) {
      ++opened;
    }
    if (!many.schedule) continue;
    CHECK(broken(p, *many.schedule, copies) == "");
  }
  MESSAGE(feasible << " loops with a schedule, " << better << " with a smaller interval unrolled, "
                   << opened << " with a schedule only then");
  CHECK(feasible > 500 / test::kShare);
  CHECK(better > 50 / test::kShare);
}

TEST_CASE("an unrolled loop computes what the loop does") {
  int kernels = 0;
  for (const BuiltinFile& file : builtin_files()) {
    if (file.folder != "kernels") continue;
    const std::string kernel(file.name);
    CAPTURE(kernel);
    auto old = meaning_of_kernel(std::string(file.text), kernel, {});
    if (!old) continue;
    if (kernels++ % test::kShare != 0) continue;
    for (auto& tensor : old->tensors)
      for (auto& extent : tensor.shape) extent = extent < 8 ? extent : extent / 8;
    for (auto& value : old->values) {
      for (auto* shape : {&value.tile, &value.shape})
        for (auto& extent : *shape) extent = extent < 8 ? extent : extent / 8;
      for (auto& operand : value.operands) {
        operand.first_column /= 8, operand.columns /= 8;
        operand.first_row /= 8, operand.rows /= 8;
        operand.row = operand.row < 0 ? -1 : operand.row / 8;
      }
    }
    for (const int copies : {2, 3}) {
      const meaning::Meaning next = meaning::unrolled(*old, copies);
      REQUIRE(!meaning::loop_order(next).empty());
      for (const int n : {0, 1, 2}) {
        CAPTURE(copies);
        CAPTURE(n);
        // Tile i of part k is tile copies i + k.
        const auto inputs = meaning::seeded_inputs(next, n, 7);
        meaning::TensorTiles whole;
        std::vector<int> first;
        int next_tensor = 0;
        for (int t = 0; t < static_cast<int>(old->tensors.size()); ++t) {
          first.push_back(next_tensor);
          whole.emplace_back();
          const bool streams = old->streams(t);
          if (!old->is_output(t)) {
            const auto part = [&](int k) {
              return inputs[static_cast<std::size_t>(next_tensor + k)];
            };
            if (!streams)
              whole.back() = part(0);
            else
              for (int i = 0; i < n * copies; ++i)
                whole.back().push_back(part(i % copies)[static_cast<std::size_t>(i / copies)]);
          }
          next_tensor += streams ? copies : 1;
        }
        const auto right = meaning::reference(*old, n * copies, whole);
        const auto mine = meaning::reference(next, n, inputs);
        for (int t = 0; t < static_cast<int>(old->tensors.size()); ++t) {
          if (!old->is_output(t)) continue;
          const auto& tiles = right[static_cast<std::size_t>(t)];
          const int parts = old->streams(t) ? copies : 1;
          REQUIRE(tiles.size() == static_cast<std::size_t>(old->streams(t) ? n * copies : 1));
          for (std::size_t i = 0; i < tiles.size(); ++i) {
            const auto& tile = mine[static_cast<std::size_t>(first[static_cast<std::size_t>(t)] +
                                                             static_cast<int>(i) % parts)]
                                   [i / static_cast<std::size_t>(parts)];
            bool same = tile.value.data.size() == tiles[i].value.data.size();
            for (std::size_t e = 0; same && e < tile.value.data.size(); ++e)
              same = tile.value.data[e] == tiles[i].value.data[e] ||
                     (tile.value.data[e] != tile.value.data[e] &&
                      tiles[i].value.data[e] != tiles[i].value.data[e]);
            CHECK(same);
          }
        }
      }
    }
  }
  CHECK(kernels > 20);
}

TEST_CASE("attention in turns: iterations on two softmax groups") {
  const std::string kernel = "blackwell-fwd-plain";
  const std::string text = builtin_kernel(kernel);
  auto layouts = lower(text, kernel, builtin_machine("blackwell"), "blackwell", {});
  const LayoutsSolution once = solve_layouts(layouts);
  for (Lowered& layout : layouts) unroll(layout, 2);
  const LayoutsSolution twice = solve_layouts(layouts);
  REQUIRE(once.status == Status::optimal);
  REQUIRE(twice.status == Status::optimal);
  CHECK(once.solution().schedule->initiation_interval == 1'728);
  CHECK(twice.solution().schedule->initiation_interval == 2'560);
  const Problem& problem = twice.layout().problem;
  const auto made = solve_program(problem, twice.solution());
  REQUIRE(std::holds_alternative<program::Program>(made.program));
  auto program = std::get<program::Program>(made.program);
  CHECK(!program::judge(program));
  program.meaning = meaning::unrolled(*meaning_of_kernel(text, kernel, {}), 2);
  const auto slot_of = [&](const std::string& id) {
    return std::find_if(program.ops.begin(), program.ops.end(),
                        [&](const program::Op& op) { return op.id == id; })
        ->slot;
  };
  CHECK(slot_of("i0_exp_p") != slot_of("i1_exp_p"));
}

TEST_CASE("what cannot be unrolled is refused by name") {
  Problem p = test::random_loop(3, small());
  CHECK(unrolled(p, 1) == p);
  CHECK(test::refusal([&] { unrolled(p, 0); }).place() == "unroll");
  CHECK(test::refusal([&] { unrolled(p, kMostCopies + 1); }).place() == "unroll");
  Problem pinned = p;
  pinned.pins.push_back({Pin::at_cycle, 0, -1, 3, -1, -1});
  CHECK(test::refusal([&] { unrolled(pinned, 2); }).place() == "pins");
  pinned.pins = {{Pin::on_slot, 0, 0, -1, -1, -1}};
  const Problem both = unrolled(pinned, 2);
  REQUIRE(both.pins.size() == 2);
  CHECK(both.pins[1].op == static_cast<int>(p.ops.size()));
  Problem ranged = p;
  ranged.interval = {3, 9};
  CHECK(unrolled(ranged, 2).interval == IntervalRange{6, 18});
  ranged.interval = {};
  CHECK(unrolled(ranged, 2).interval == IntervalRange{});
  Problem named = p;
  named.ops[0].id = std::string(kMaxNameBytes - 1, 'x');
  CHECK(test::refusal([&] { unrolled(named, 2); }).place() == "ops");
}

}  // namespace unroll_test
