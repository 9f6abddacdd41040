// Lowering: the cost rules reproduce the published graphs' numbers; layouts, register file,
// overrides, built-in names.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "graph/check.hpp"
#include "graph/lowering/costed_loop.hpp"
#include "graph/problem_io.hpp"
#include "tests/support/lowering.hpp"
#include "tests/support/streaming.hpp"

namespace lower_test {

using namespace twill;
using namespace twill::test;
using Json = nlohmann::ordered_json;

namespace {

const std::vector<std::string> kGraphs = {
    "blackwell-bwd",      "blackwell-bwd-sub2", "blackwell-fwd-plain",
    "blackwell-fwd-sub2", "hopper-bwd",         "hopper-bwd-sub2",
    "hopper-fwd-plain",   "hopper-fwd-sub2",    "hopper-fwd-sub2-m128"};

std::string machine_of(const std::string& kernel) {
  return kernel.substr(0, kernel.find('-'));
}

Json expected(const std::string& kernel) {
  std::ifstream file(std::string(TWILL_TEST_DATA) + "/kernels/" + kernel + ".json");
  return Json::parse(file);
}

std::vector<std::string> layouts(const std::vector<Lowered>& lowered) {
  std::vector<std::string> names;
  for (const Lowered& one : lowered) names.push_back(one.layout);
  return names;
}

}  // namespace

TEST_CASE("cost rules times tiles give every number of the nine attention graphs") {
  for (const std::string& name : kGraphs) {
    CAPTURE(name);
    const Json graph = expected(name);
    const std::string machine_name = machine_of(name);
    const Machine machine = parse_machine(builtin_machine(machine_name), machine_name);
    const CostedLoop loop = cost_kernel(parse_kernel(builtin_kernel(name), name), machine);
    REQUIRE(loop.ops.size() == graph["ops"].size());
    Json units = Json::object();
    for (const Unit& unit : machine.units) units[unit.name] = unit.capacity;
    CHECK(units == graph["units"]);
    for (std::size_t v = 0; v < loop.ops.size(); ++v) {
      const CostedOp& costed = loop.ops[v];
      const Op& op = costed.op;
      CAPTURE(op.id);
      Json memory = {{"smem", 0}, {"tmem", 0}};
      for (const Footprint& footprint : op.footprints)
        memory[machine.memories[static_cast<std::size_t>(footprint.memory)].name] =
            footprint.amount;
      Json traffic = Json::object();
      for (const auto& [channel, amount] : costed.traffic) {
        if (machine.channels[static_cast<std::size_t>(channel)].name != "SMEM") continue;
        REQUIRE(amount.denominator == 1);
        REQUIRE(amount.numerator % 128 == 0);
        // The graphs do not count the few bytes of bulk copies.
        if (op.kind != "load") traffic["SMEM"] = amount.numerator / 128;
      }
      std::string unit = "NONE";
      if (!op.reservations.empty()) {
        REQUIRE(op.reservations.size() == 1);
        unit = machine.units[static_cast<std::size_t>(op.reservations[0].unit)].name;
        CHECK(op.reservations[0] == Reservation{op.reservations[0].unit, 0, op.cycles, 1});
      }
      const Json found = {op.id,        op.kind,        unit,           op.cycles,
                          op.registers, memory["smem"], memory["tmem"], op.variable_latency,
                          op.width,     op.spill,       traffic};
      CHECK(found.dump() == graph["ops"][v].dump());
    }
    REQUIRE(loop.edges.size() == graph["edges"].size());
    for (std::size_t e = 0; e < loop.edges.size(); ++e) {
      const Edge& found = loop.edges[e];
      const Json text = {loop.ops[static_cast<std::size_t>(found.from)].op.id,
                         loop.ops[static_cast<std::size_t>(found.to)].op.id, found.delay,
                         found.distance, found.blocking};
      CHECK(text.dump() == graph["edges"][e].dump());
      CHECK(found.hold == 0);
    }
  }
}

TEST_CASE("the problem of a graph: names, memories, streaming, bandwidth, net registers") {
  for (const std::string& name : kGraphs) {
    CAPTURE(name);
    const Json graph = expected(name);
    const std::vector<Lowered> all = lower_builtin(name, machine_of(name), streaming_loads());
    const Problem& problem = all.front().problem;
    CHECK(problem.name == name);
    CHECK(problem.cycle_unit == 1.0);
    for (const Memory& memory : problem.memories)
      CHECK(memory.capacity == graph["free"][memory.name].get<Amount>());
    REQUIRE(all.front().bandwidth.size() >= 1);
    CHECK(all.front().bandwidth[0].unit == "SMEM");
    Cycle bulk = 0;  // small copies, which the graphs do not count
    for (const Op& op : problem.ops)
      if (op.kind == "load") bulk += op.footprints[0].amount / 128;
    CHECK(all.front().bandwidth[0].cycles == graph["smem_bandwidth_cycles"].get<Cycle>() + bulk);
    CHECK(all.front().normalized.empty());
    std::set<std::string> targets;
    for (const auto& edge : graph["edges"]) targets.insert(edge[1].get<std::string>());
    std::size_t streaming = 0;
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      const Op& op = problem.ops[v];
      const bool is_load = graph["ops"][v][7].get<bool>() && targets.count(op.id) == 0;
      CHECK(op.streaming == is_load);
      CHECK(op.cycles == (is_load ? 0 : graph["ops"][v][3].get<Cycle>()));
      CHECK(op.reservations.empty() == (op.cycles == 0));
      streaming += is_load;
    }
    CHECK(streaming >= 2);
    for (const Edge& edge : problem.edges)
      if (problem.ops[static_cast<std::size_t>(edge.from)].streaming) CHECK(edge.delay == 0);
    CHECK(monotone_in_ii(problem));
    CHECK(parse_problem(problem_text(problem)) == problem);
  }
}

TEST_CASE("layouts: in the file's order, only those that can hold the kernel") {
  using Names = std::vector<std::string>;
  CHECK(layouts(lower_builtin("hopper-fwd-sub2", "hopper")) == Names{"2x4", "3x4", "1x8", "8+4"});
  CHECK(layouts(lower_builtin("hopper-fwd-plain", "hopper")) == Names{"1x8", "8+4"});
  CHECK(layouts(lower_builtin("hopper-bwd", "hopper")) == Names{"1x8", "8+4"});
  CHECK(layouts(lower_builtin("hopper-fwd-plain", "hopper-paper")) == Names{"8+4"});
  const Names four = layouts(lower_builtin("blackwell-fwd-sub2", "blackwell"));
  REQUIRE_FALSE(four.empty());
  CHECK(four.front() == "softmax-correction");
  const Names eight = layouts(lower_builtin("blackwell-bwd", "blackwell"));
  CHECK(eight == Names{"8+4", "8+4-wide", "compute-reduce"});
  CHECK(layouts(lower_builtin("gemm", "hopper")).front() == "2x4");
  CHECK(layouts(lower_builtin("gemm", "blackwell")).front() == "softmax-correction");

  LowerOptions options;
  options.layout = "8+4";
  const std::vector<Lowered> one = lower_builtin("hopper-bwd", "hopper", options);
  REQUIRE(one.size() == 1);
  const std::vector<WarpSlot> slots = {{"load", 1, 24 - 12, true},
                                       {"aux", 1, 24 - 12, false},
                                       {"wg01", 8, 160 - 12, false},
                                       {"wg2", 4, 168 - 12, false}};
  CHECK(one[0].problem.warps == slots);
  // Net registers do not go below 0.
  options.layout = "2x4";
  CHECK(lower_builtin("hopper-fwd-sub2", "hopper", options)[0].problem.warps[1].registers == 0);
  CHECK(lower_builtin("blackwell-fwd-sub2", "blackwell")[0].problem.warps.back() ==
        WarpSlot{"correction", 4, 96 - 24, false});

  options.layout = "3x4";
  CHECK(contains(refusal_text([&] { lower_builtin("hopper-fwd-plain", "hopper", options); }),
                 "layout 3x4: op \"qk\" needs 8 warps"));
  options.layout = "nope";
  CHECK(contains(refusal_text([&] { lower_builtin("gemm", "hopper", options); }),
                 "the machine has: 2x4, 3x4, 1x8, 8+4"));
  // Registers: 128 for a 128 x 128 tile on four warps, 100 - 24 left.
  options = {};
  options.layout = "2x4";
  options.set = {{"layouts.2x4.slots.wg0.registers", "96"},
                 {"layouts.2x4.slots.wg1.registers", "104"}};
  CHECK(contains(refusal_text([&] { lower_builtin("hopper-fwd-sub2-m128", "hopper", options); }),
                 "op \"s0_qk\" holds 128 registers per thread, the slots it may use have at most "
                 "80"));
}

TEST_CASE("every built-in kernel lowers onto every layout of its machine to a sound problem") {
  std::size_t problems = 0;
  for (const std::string& kernel : builtin_kernels())
    for (const std::string& machine : builtin_machines()) {
      CAPTURE(kernel);
      CAPTURE(machine);
      const bool fits = contains(machine, machine_of(kernel)) || kernel == "figure-1" ||
                        (kernel == "gemm" && machine != "figure-1" && machine != "ampere") ||
                        (contains(kernel, "fmha") &&
                         (contains(machine, "hopper") || contains(machine, "blackwell")));
      if (!fits) continue;
      const std::vector<Lowered> all = lower_builtin(kernel, machine);
      for (const Lowered& one : all) {
        CHECK_NOTHROW(check(one.problem));
        ++problems;
      }
    }
  CHECK(problems > 40);
}

TEST_CASE("every layout of the built-in machines fits and every count is a what-if") {
  for (const char* name : {"hopper", "blackwell"}) {
    const Machine machine = parse_machine(builtin_machine(name), name);
    REQUIRE(machine.register_file);
    for (const Layout& layout : machine.layouts) {
      // One step more on any slot: either still in the file, or refused.
      for (const WarpSlot& slot : layout.slots) {
        Layout more = layout;
        Amount used = 0, narrow = 0;
        for (WarpSlot& other : more.slots) {
          if (other.name == slot.name) other.registers += 8;
          if (other.width < 4)
            narrow = std::max(narrow, other.registers);
          else
            used += Amount{other.width / 4} * 128 * other.registers;
        }
        used += 128 * narrow;
        const std::string answer =
            refusal_text([&] { check_register_file(*machine.register_file, more, "m", "/l"); });
        CAPTURE(layout.name);
        CAPTURE(slot.name);
        const bool legal = used <= 65536 && slot.width >= 4 && slot.registers < 240;
        CHECK((answer == "accepted") == legal);
      }
    }
  }
  for (const char* name : {"hopper-paper", "blackwell-paper"}) {
    const Machine machine = parse_machine(builtin_machine(name), name);
    CHECK_FALSE(machine.register_file);
    for (const Layout& layout : machine.layouts)
      for (const WarpSlot& slot : layout.slots) CHECK(slot.registers == 255);
  }
}

TEST_CASE("register file: refusals with the arithmetic") {
  const auto with = [](const std::string& slot, const std::string& registers) {
    return refusal_text([&] {
      parse_machine(builtin_machine("hopper"), "hopper",
                    {{"layouts.3x4.slots." + slot + ".registers", registers}});
    });
  };
  CHECK(with("wg0", "152") == "accepted");
  CHECK(contains(with("wg0", "168"),
                 "hopper: /layouts/1: found \"3x4\": needs 128 x (32 + 168 + 160 + 160) = 66560 "
                 "registers, the register file has 65536"));
  CHECK(contains(with("wg0", "161"), "must be a multiple of 8 from 24 to 240"));
  CHECK(contains(with("wg0", "16"), "must be a multiple of 8 from 24 to 240"));
  CHECK(contains(with("wg0", "248"), "must be a multiple of 8 from 24 to 240"));
  CHECK(contains(with("aux", "24"),
                 "must be 32 as slot \"load\": they are packed into one warpgroup"));
  // Five one-warp slots make two warpgroups, which need not agree.
  const RegisterFile file;
  Layout layout{"l", {}};
  for (int i = 0; i < 5; ++i) layout.slots.push_back({"s" + std::to_string(i), 1, 24, false});
  layout.slots.back().registers = 40;
  layout.slots.push_back({"big", 8, 224, false});
  CHECK(refusal_text([&] { check_register_file(file, layout, "m", "/l"); }) == "accepted");
  layout.slots.back().registers = 232;  // 24 + 40 + 2 x 232 = 528 > 512
  CHECK(contains(refusal_text([&] { check_register_file(file, layout, "m", "/l"); }), "= 67584 "));
  layout.slots.back() = {"odd", 6, 24, false};
  CHECK(contains(refusal_text([&] { check_register_file(file, layout, "m", "/l"); }),
                 "a slot must be whole warpgroups of 4 warps"));
}

TEST_CASE("overrides: paths, types, and what they change") {
  LowerOptions options;
  options.set = {{"units.SFU", "2"}, {"rules.exp2.cycles.0.rate", "32"}};
  const Problem problem = lower_builtin("blackwell-fwd-sub2", "blackwell", options)[0].problem;
  for (const Unit& unit : problem.units) CHECK(unit.capacity == (unit.name == "SFU" ? 2 : 1));
  CHECK(find_op(problem, "s0_exp_p").cycles == 512);
  options.set = {{"layouts.0.slots.3.registers", "184"}, {"memories.smem.capacity", "65536"}};
  const Problem other = lower_builtin("blackwell-fwd-sub2", "blackwell", options)[0].problem;
  CHECK(other.warps[3].registers == 184 - 24);
  CHECK(other.memories[0].capacity == 0);

  const auto answer = [](const std::string& path, const std::string& value) {
    return refusal_text([&] {
      parse_machine(builtin_machine("hopper"), "hopper", {{path, value}});
    });
  };
  CHECK(contains(answer("units.FPU", "2"),
                 "hopper: --set units.FPU=2: no such value in units; known: TMA, TC, SFU"));
  CHECK(contains(answer("unit", "2"), "no such value; known: format, version"));
  CHECK(contains(answer("units.SFU.x", "2"), "no such value in units.SFU"));
  CHECK(contains(answer("layouts.9.name", "2"), "known: 2x4, 3x4, 1x8, 8+4"));
  CHECK(
      contains(answer("units.SFU", "\"2\""), "must stay a JSON number, not become a JSON string"));
  CHECK(contains(answer("units", "2"), "must stay a JSON object"));
  CHECK(contains(answer("name", "h100"), "must be a JSON value (a text needs its quotes)"));
  CHECK(answer("name", "\"h100\"") == "accepted");
  // What is set is checked as the file would be.
  CHECK(contains(answer("units.SFU", "0"), "hopper: /units/SFU: found 0"));
  CHECK(contains(answer("units.SFU", "1.5"), "must be an integer"));
}

TEST_CASE("resident data that the machine cannot hold is refused") {
  const auto answer = [](const std::string& resident) {
    return refusal_text([&] {
      lower_text(
          small_kernel(tile_op("x", "calc"), "", R"(, "resident": {"memory": )" + resident + "}"),
          kSmallMachine);
    });
  };
  CHECK(answer(R"({"mem": 1000})") == "accepted");
  CHECK(contains(answer(R"({"mem": 1001})"),
                 "/resident/memory/mem: found 1001: machine \"small\" has 1000"));
  CHECK(contains(answer(R"({"smem": 1})"), "has no such memory"));
}

TEST_CASE("figure-1 lowers to the example problem") {
  const Problem wanted =
      read_problem(std::string(TWILL_TEST_DATA) + "/examples/figure-1.problem.json");
  CHECK(lower_builtin("figure-1", "figure-1")[0].problem == wanted);
}

TEST_CASE("built-in names: sorted, aliases by machine, unknown ones list the known") {
  const std::vector<std::string> kernels = builtin_kernels(), machines = builtin_machines();
  for (const std::string& kernel : kernels) CHECK(is_builtin_kernel(kernel));
  for (const char* none : {"", "nonsense", "hopper", "fmha"}) CHECK_FALSE(is_builtin_kernel(none));
  CHECK(std::is_sorted(kernels.begin(), kernels.end()));
  CHECK(std::is_sorted(machines.begin(), machines.end()));
  CHECK(machines == std::vector<std::string>{"ampere", "b200-latency", "blackwell",
                                             "blackwell-paper", "figure-1", "hopper",
                                             "hopper-paper"});
  for (const std::string& name : kGraphs)
    CHECK(std::count(kernels.begin(), kernels.end(), name) == 1);
  for (const char* name : {"blackwell-fwd-sub2-chunked", "hopper-bwd-q64", "hopper-bwd-q80",
                           "figure-1", "gemm", "fmha-forward", "fmha-backward"})
    CHECK(std::count(kernels.begin(), kernels.end(), name) == 1);
  const std::vector<std::string> more = {"hopper-gqa", "hopper-mla",        "hopper-retnet",
                                         "hopper-gla", "hopper-deltanet",   "hopper-mlstm",
                                         "hopper-mlp", "hopper-layer-norm", "hopper-grouped-gemm"};
  for (const std::string& name : more) CHECK(std::count(kernels.begin(), kernels.end(), name) == 1);
  const std::vector<std::string> tiles = {
      "blackwell-backward-tiles",  "blackwell-forward-tiles", "blackwell-gemm-tiles",
      "hopper-backward-tiles",     "hopper-forward-tiles",    "hopper-gemm-tiles",
      "hopper-grouped-gemm-tiles", "hopper-mlp-tiles",        "hopper-retnet-tiles",
      "fmha-forward-tiles",        "fmha-backward-tiles",     "gemm-tiles"};
  for (const std::string& name : tiles)
    CHECK(std::count(kernels.begin(), kernels.end(), name) == 1);
  CHECK(kernels.size() == kGraphs.size() + more.size() + tiles.size() + 7);
  for (const std::string& name : machines)
    CHECK(parse_machine(builtin_machine(name), name).name == name);

  CHECK(builtin_kernel("fmha-forward", "hopper") == builtin_kernel("hopper-fwd-sub2"));
  CHECK(builtin_kernel("fmha-backward", "hopper") == builtin_kernel("hopper-bwd-q64"));
  CHECK(builtin_kernel("fmha-forward", "blackwell") ==
        builtin_kernel("blackwell-fwd-sub2-chunked"));
  CHECK(builtin_kernel("fmha-backward", "blackwell") == builtin_kernel("blackwell-bwd-sub2"));
  CHECK(builtin_kernel("fmha-forward", "blackwell-paper") == builtin_kernel("blackwell-fwd-sub2"));
  CHECK(kernel_on_machine("fmha-forward", builtin_machine("hopper-paper"), "m") ==
        "hopper-fwd-sub2");
  CHECK(kernel_on_machine("fmha-backward", builtin_machine("hopper-paper"), "m") ==
        "hopper-bwd-sub2");
  CHECK(kernel_on_machine("gemm", builtin_machine("hopper"), "m") == "gemm");

  CHECK(contains(refusal_text([] { builtin_kernel("fmha-forward"); }),
                 "name the machine, one of blackwell, blackwell-paper, hopper, hopper-paper"));
  CHECK(contains(refusal_text([] { builtin_kernel("fmha-forward", "figure-1"); }),
                 "has no such graph"));
  CHECK(contains(refusal_text([] { builtin_kernel("fmha-forward", "rubin"); }), "no such machine"));
  CHECK(contains(refusal_text([] { builtin_kernel("fmha"); }),
                 "no such kernel; built in: blackwell-backward-tiles, blackwell-bwd"));
  CHECK(contains(refusal_text([] { builtin_machine("rubin"); }),
                 "no such machine; built in: ampere, b200-latency, blackwell, blackwell-paper"));
}

TEST_CASE("normalised lowering hands every problem to cost normalisation") {
  LowerOptions options;
  options.normalize = 300;
  const std::vector<Lowered> lowered = lower_builtin("hopper-fwd-sub2", "hopper", options);
  const std::vector<Lowered> raw = lower_builtin("hopper-fwd-sub2", "hopper");
  REQUIRE(lowered.size() == raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    std::vector<NormalizedCost> costs;
    CHECK(lowered[i].problem == normalize_problem(raw[i].problem, 300, false, &costs));
    REQUIRE_FALSE(lowered[i].normalized.empty());
    CHECK(lowered[i].normalized.size() == costs.size());
    CHECK(lowered[i].normalized.front().before == 512);
  }
  options.normalize = -1;
  CHECK(contains(refusal_text([&] { lower_builtin("gemm", "hopper", options); }), "normalize"));
}

}  // namespace lower_test
