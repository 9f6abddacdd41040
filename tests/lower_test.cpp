// Lowering: the cost rules reproduce the published graphs' numbers; layouts, register file,
// overrides, streaming, aliases and chunked chains.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "graph/check.hpp"
#include "graph/costed_loop.hpp"
#include "graph/lower.hpp"
#include "graph/problem_io.hpp"

using namespace twill;
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

std::vector<Lowered> lower_builtin(const std::string& kernel, const std::string& machine,
                                   const LowerOptions& options = {}) {
  return lower(builtin_kernel(kernel, machine), kernel, builtin_machine(machine), machine, options);
}

std::vector<std::string> layouts(const std::vector<Lowered>& lowered) {
  std::vector<std::string> names;
  for (const Lowered& one : lowered) names.push_back(one.layout);
  return names;
}

Lowered lower_text(const std::string& kernel, const std::string& machine) {
  return lower(kernel, "k", machine, "m").front();
}

const Op& find_op(const Problem& problem, const std::string& id) {
  for (const Op& op : problem.ops)
    if (op.id == id) return op;
  FAIL("no op ", id);
  return problem.ops.front();
}

/// "from>to delay distance blocking hold", sorted: edges up to their order.
std::vector<std::string> edge_texts(const Problem& problem) {
  std::vector<std::string> texts;
  for (const Edge& edge : problem.edges) {
    std::ostringstream text;
    text << problem.ops[static_cast<std::size_t>(edge.from)].id << '>'
         << problem.ops[static_cast<std::size_t>(edge.to)].id << ' ' << edge.delay << ' '
         << edge.distance << ' ' << edge.blocking << ' ' << edge.hold;
    texts.push_back(text.str());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string refusal(const auto& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A small machine: one unit of each of two kinds, a slot for loads and two warpgroups.
const char* const kSmallMachine = R"({
  "format": "twill.machine", "version": 1, "name": "small",
  "units": {"A": 1, "B": 1}, "bandwidth": {"B": 100},
  "memories": {"mem": {"capacity": 1000, "measure": "columns"}},
  "spill": {"base": 10, "per_line": 2, "line_bytes": 128},
  "layouts": [{"name": "l", "slots": [
    {"name": "load", "width": 1, "registers": 255, "variable_latency": true},
    {"name": "w0", "width": 4, "registers": 255}, {"name": "w1", "width": 4, "registers": 255}]}],
  "rules": {
    "read": {"unit": "A", "cycles": [{"measure": "elements", "rate": 100}], "width": 4, "result": "registers"},
    "calc": {"unit": "B", "cycles": [{"measure": "elements", "rate": 50}, {"measure": "constant", "factor": 3}], "width": 4, "result": "registers"},
    "write": {"unit": "A", "cycles": [{"measure": "elements", "rate": 200}], "width": 4, "result": "mem"},
    "slow": {"unit": "A", "cycles": [{"measure": "elements", "rate": 100}], "occupancy": [{"measure": "constant", "factor": 5}], "latency": [{"measure": "constant", "factor": 900}], "width": 4, "result": "registers"},
    "load": {"unit": "A", "cycles": [{"measure": "bytes", "rate": 7}], "width": 1, "result": "none", "variable_latency": true},
    "view": {"width": 4, "result": "registers"}
  }})";

std::string small_kernel(const std::string& ops, const std::string& edges,
                         const std::string& more = "") {
  return R"({"format": "twill.kernel", "version": 1, "name": "k", "ops": [)" + ops +
         R"(], "edges": [)" + edges + "]" + more + "}";
}

std::string tile_op(const std::string& id, const std::string& kind, const std::string& more = "",
                    const std::string& shape = "[128, 100]") {
  return R"({"id": ")" + id + R"(", "kind": ")" + kind + R"(", "shape": )" + shape +
         R"(, "type": "f32")" + more + "}";
}

std::string edge(const std::string& from, const std::string& to, const std::string& more = "") {
  return R"({"from": ")" + from + R"(", "to": ")" + to + "\"" + more + "}";
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
      for (const auto& [unit, bytes] : costed.traffic) {
        REQUIRE(bytes % 128 == 0);
        traffic[machine.units[static_cast<std::size_t>(unit)].name] = bytes / 128;
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
    const std::vector<Lowered> all = lower_builtin(name, machine_of(name));
    const Problem& problem = all.front().problem;
    CHECK(problem.name == name);
    CHECK(problem.cycle_unit == 1.0);
    for (const Memory& memory : problem.memories)
      CHECK(memory.capacity == graph["free"][memory.name].get<Amount>());
    REQUIRE(all.front().bandwidth.size() == 1);
    CHECK(all.front().bandwidth[0].unit == "SMEM");
    CHECK(all.front().bandwidth[0].cycles == graph["smem_bandwidth_cycles"].get<Cycle>());
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
  CHECK(contains(refusal([&] { lower_builtin("hopper-fwd-plain", "hopper", options); }),
                 "layout 3x4: op \"qk\" needs 8 warps"));
  options.layout = "nope";
  CHECK(contains(refusal([&] { lower_builtin("gemm", "hopper", options); }),
                 "the machine has: 2x4, 3x4, 1x8, 8+4"));
  // Registers: 128 for a 128 x 128 tile on four warps, 100 - 24 left.
  options = {};
  options.layout = "2x4";
  options.set = {{"layouts.2x4.slots.wg0.registers", "96"},
                 {"layouts.2x4.slots.wg1.registers", "104"}};
  CHECK(contains(refusal([&] { lower_builtin("hopper-fwd-sub2-m128", "hopper", options); }),
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
            used += other.width / 4 * 128 * other.registers;
        }
        used += 128 * narrow;
        const std::string answer =
            refusal([&] { check_register_file(*machine.register_file, more, "m", "/l"); });
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
    return refusal([&] {
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
  CHECK(refusal([&] { check_register_file(file, layout, "m", "/l"); }) == "accepted");
  layout.slots.back().registers = 232;  // 24 + 40 + 2 x 232 = 528 > 512
  CHECK(contains(refusal([&] { check_register_file(file, layout, "m", "/l"); }), "= 67584 "));
  layout.slots.back() = {"odd", 6, 24, false};
  CHECK(contains(refusal([&] { check_register_file(file, layout, "m", "/l"); }),
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
    return refusal([&] { parse_machine(builtin_machine("hopper"), "hopper", {{path, value}}); });
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

TEST_CASE("chunked chain: one op, one segment per unit from issue, the chunk's registers") {
  const Problem plain = lower_builtin("blackwell-fwd-sub2", "blackwell")[0].problem;
  const Problem problem = lower_builtin("blackwell-fwd-sub2-chunked", "blackwell")[0].problem;
  CHECK(problem.ops.size() == plain.ops.size() - 4);
  const Op& op = find_op(problem, "s0_rescale");
  CHECK(op.kind == "tmem_load+mul+tmem_store");
  // Four chunks of 128 x 32: load 32, multiply 32, store 32; TMEM does 64 for each.
  CHECK(op.cycles == 96 + 3 * 64);
  REQUIRE(op.reservations.size() == 2);
  for (const Reservation& use : op.reservations) {
    const std::string& unit = problem.units[static_cast<std::size_t>(use.unit)].name;
    CHECK((unit == "TMEM" || unit == "ALU"));
    CHECK(use == Reservation{use.unit, 0, unit == "TMEM" ? 256 : 128, 1});
  }
  CHECK(op.registers == 32);
  CHECK(op.spill == 0);
  CHECK(op.width == 4);
  REQUIRE(op.footprints.size() == 1);
  CHECK(problem.memories[static_cast<std::size_t>(op.footprints[0].memory)].name == "tmem");
  CHECK(op.footprints[0].amount == 128);
  CHECK(monotone_in_ii(problem));
  // Edges: the plain graph's, redirected; the two inside each chain are gone.
  std::vector<std::string> wanted;
  for (std::string text : edge_texts(plain)) {
    for (const std::string s : {"s0_", "s1_"}) {
      for (const std::string part : {"tld_acc", "mul_acc", "tst_acc"}) {
        const std::string name = s + part;
        for (std::size_t at; (at = text.find(name)) != std::string::npos;)
          text.replace(at, name.size(), s + "rescale");
      }
      if (text.starts_with(s + "rescale>" + s + "pv")) text = s + "rescale>" + s + "pv 288 0 1 0";
    }
    if (!contains(text, "rescale>s0_rescale") && !contains(text, "rescale>s1_rescale"))
      wanted.push_back(text);
  }
  std::sort(wanted.begin(), wanted.end());
  CHECK(edge_texts(problem) == wanted);
}

TEST_CASE("chunked chain: arithmetic, loop-carried edges, stated delays, chains in registers") {
  const std::string ops = tile_op("r", "read", R"(, "traffic": {"B": 250})") + "," +
                          tile_op("c", "calc") + "," + tile_op("w", "write") + "," +
                          tile_op("x", "calc");
  const std::string edges = edge("r", "c") + "," + edge("c", "w") + "," + edge("w", "x") + "," +
                            edge("x", "r", R"(, "distance": 1)") + "," +
                            edge("w", "r", R"(, "distance": 2)") + "," +
                            edge("c", "x", R"(, "delay": 7, "hold": 3)");
  const auto chunked = [&](const std::string& list, const std::string& size) {
    return lower_text(
        small_kernel(ops, edges, R"(, "chunks": [{"id": "f", "ops": )" + list + size + "}]"),
        kSmallMachine);
  };
  const Lowered lowered = chunked(R"(["r", "c", "w"])", R"(, "columns": 25)");
  const Op& op = lowered.problem.ops[0];
  // 128 x 25 = 3200 elements a chunk: read 32, calc 64 + 3, write 16; A 48, B 67 a chunk.
  CHECK(op.id == "f");
  CHECK(op.cycles == 32 + 67 + 16 + 3 * 67);
  CHECK(op.reservations == std::vector<Reservation>{{0, 0, 4 * 48, 1}, {1, 0, 4 * 67, 1}});
  CHECK(op.registers == 25);
  CHECK(op.footprints == std::vector<Footprint>{{0, 100}});
  // B: 4 * 67 of the chain, 259 of x, and 250 bytes at 100 a cycle.
  REQUIRE(lowered.bandwidth.size() == 1);
  CHECK(lowered.bandwidth[0].cycles == 4 * 67 + 259 + 3);
  CHECK(edge_texts(lowered.problem) ==
        std::vector<std::string>{"f>f 316 2 0 0", "f>x 316 0 0 0", "f>x 7 0 0 3", "x>f 259 1 0 0"});
  CHECK(chunked(R"(["r", "c", "w"])", R"(, "count": 4)").problem == lowered.problem);

  // A chain that ends in registers holds its whole result there, with its spill.
  const Op held = chunked(R"(["r", "c"])", R"(, "columns": 10)").problem.ops[0];
  CHECK(held.registers == 100);
  CHECK(held.spill == 10 + 2 * 400);
  CHECK(held.footprints.empty());

  const auto answer = [&](const std::string& list, const std::string& size) {
    return refusal([&] { chunked(list, size); });
  };
  CHECK(contains(answer(R"(["r", "w"])", R"(, "count": 4)"), "must use the op before it"));
  CHECK(contains(answer(R"(["r"])", R"(, "count": 4)"), "at least two ops"));
  CHECK(contains(answer(R"(["r", "c", "r"])", R"(, "count": 4)"), "at most one chunk"));
  CHECK(contains(answer(R"(["r", "c"])", R"(, "count": 3)"), "must divide the tile's 100 columns"));
  CHECK(contains(answer(R"(["r", "c"])", R"(, "count": 4, "columns": 25)"), "exactly one of"));
  CHECK(contains(answer(R"(["r", "c"])", ""), "exactly one of"));
}

TEST_CASE("aliases: a view holds nothing and its consumers keep the source live") {
  const auto problem_of = [](const std::string& first, const std::string& second) {
    const std::string ops = tile_op("s", "read") + "," + tile_op("v", "view", first) + "," +
                            tile_op("u", "view", second) + "," + tile_op("c", "calc");
    const std::string edges = edge("s", "v") + "," + edge("v", "u", R"(, "distance": 1)") + "," +
                              edge("u", "c", R"(, "distance": 2, "hold": 5, "blocking": true)") +
                              "," + edge("v", "c");
    return lower_text(small_kernel(ops, edges), kSmallMachine).problem;
  };
  const std::vector<std::string> own = {"s>v 128 0 0 0", "u>c 0 2 1 5", "v>c 0 0 0 0",
                                        "v>u 0 1 0 0"};
  const Problem repeated = problem_of("", "");
  CHECK(edge_texts(repeated) == own);
  CHECK(find_op(repeated, "v").registers == 100);
  CHECK(find_op(repeated, "v").spill == 10 + 2 * 400);

  // v of s, u of v: both consumers' edges go to s, the distance to u and on to c added.
  const Problem chain = problem_of(R"(, "alias_of": "s")", R"(, "alias_of": "v")");
  std::vector<std::string> wanted = own;
  wanted.insert(wanted.end(), {"s>c 0 0 0 0", "s>c 0 3 0 5"});
  std::sort(wanted.begin(), wanted.end());
  CHECK(edge_texts(chain) == wanted);
  for (const char* id : {"v", "u"}) {
    CHECK(find_op(chain, id).registers == 0);
    CHECK(find_op(chain, id).spill == 0);
    CHECK(find_op(chain, id).cycles == 0);
  }
  CHECK(find_op(chain, "s").registers == 100);

  // Only u is a view: of v, which holds its own copy.
  const Problem half = problem_of("", R"(, "alias_of": "v")");
  wanted = own;
  wanted.push_back("v>c 0 3 0 5");
  std::sort(wanted.begin(), wanted.end());
  CHECK(edge_texts(half) == wanted);

  const auto answer = [&](const std::string& first, const std::string& second) {
    return refusal([&] { problem_of(first, second); });
  };
  CHECK(contains(answer(R"(, "alias_of": "c")", ""), "exactly one edge to the view, found 0"));
  CHECK(contains(answer(R"(, "alias_of": "s", "registers": 3)", ""), "a view must hold nothing"));
  CHECK(contains(answer("", R"(, "alias_of": "nobody")"), "must be the id of an op"));
  const std::string timed =
      tile_op("s", "read") + "," + tile_op("v", "calc", R"(, "alias_of": "s")");
  CHECK(contains(refusal([&] { lower_text(small_kernel(timed, edge("s", "v")), kSmallMachine); }),
                 "a view must take no time"));
}

TEST_CASE("rules: occupancy, latency, accumulate, rounding, given costs, streaming") {
  const std::string ops =
      tile_op("l", "load", "", "[3]") + "," + tile_op("a", "slow") + "," +
      R"({"id": "g", "cost": {"unit": "B", "cycles": 9, "occupancy": 2, "latency": 40}})" + "," +
      tile_op("r", "load", "", "[3]");
  const std::string edges = edge("l", "a") + "," +
                            edge("a", "a", R"(, "distance": 1, "accumulate": true)") + "," +
                            edge("a", "g", R"(, "distance": 1)") + "," + edge("g", "r");
  const Problem problem = lower_text(small_kernel(ops, edges), kSmallMachine).problem;
  CHECK(edge_texts(problem) ==
        std::vector<std::string>{"a>a 5 1 0 0", "a>g 900 1 0 0", "g>r 40 0 0 0", "l>a 0 0 0 0"});
  CHECK(find_op(problem, "a").cycles == 128);
  CHECK(find_op(problem, "a").reservations == std::vector<Reservation>{{0, 0, 5, 1}});
  CHECK(find_op(problem, "g").cycles == 9);
  CHECK(find_op(problem, "g").reservations == std::vector<Reservation>{{1, 0, 2, 1}});
  CHECK(find_op(problem, "g").kind.empty());
  CHECK(find_op(problem, "l").streaming);
  CHECK(find_op(problem, "l").cycles == 0);
  // r has an input: variable latency, not streaming; 12 bytes at 7 a cycle are 2 cycles.
  CHECK_FALSE(find_op(problem, "r").streaming);
  CHECK(find_op(problem, "r").variable_latency);
  CHECK(find_op(problem, "r").cycles == 2);

  const auto answer = [](const std::string& op) {
    return refusal([&] { lower_text(small_kernel(op, ""), kSmallMachine); });
  };
  CHECK(contains(answer(tile_op("x", "exp3")),
                 "k: /ops/0/kind: found \"exp3\": machine \"small\" has no cost rule for it; it "
                 "has: calc, load, read, slow, view, write"));
  CHECK(contains(answer(tile_op("x", "calc", R"(, "result": "tmem")")), "has no such memory"));
  CHECK(contains(answer(R"({"id": "x", "cost": {"unit": "C", "cycles": 1}})"), "has no such unit"));
  CHECK(contains(answer(tile_op("x", "slow", "", "[1, 100]")), "occupancy must not exceed"));
  CHECK(contains(answer(R"({"id": "x", "cost": {"unit": "A", "cycles": 1}, "result": "mem"})"),
                 "a result needs a shape and a type"));
}

TEST_CASE("resident data that the machine cannot hold is refused") {
  const auto answer = [](const std::string& resident) {
    return refusal([&] {
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
  CHECK(std::is_sorted(kernels.begin(), kernels.end()));
  CHECK(std::is_sorted(machines.begin(), machines.end()));
  CHECK(machines == std::vector<std::string>{"ampere", "b200-latency", "blackwell",
                                             "blackwell-paper", "figure-1", "hopper",
                                             "hopper-paper"});
  for (const std::string& name : kGraphs)
    CHECK(std::count(kernels.begin(), kernels.end(), name) == 1);
  for (const char* name :
       {"blackwell-fwd-sub2-chunked", "figure-1", "gemm", "fmha-forward", "fmha-backward"})
    CHECK(std::count(kernels.begin(), kernels.end(), name) == 1);
  const std::vector<std::string> more = {"hopper-gqa", "hopper-mla",        "hopper-retnet",
                                         "hopper-gla", "hopper-deltanet",   "hopper-mlstm",
                                         "hopper-mlp", "hopper-layer-norm", "hopper-grouped-gemm"};
  for (const std::string& name : more) CHECK(std::count(kernels.begin(), kernels.end(), name) == 1);
  CHECK(kernels.size() == kGraphs.size() + more.size() + 5);
  for (const std::string& name : machines)
    CHECK(parse_machine(builtin_machine(name), name).name == name);

  CHECK(builtin_kernel("fmha-forward", "hopper") == builtin_kernel("hopper-fwd-sub2"));
  CHECK(builtin_kernel("fmha-backward", "hopper") == builtin_kernel("hopper-bwd-sub2"));
  CHECK(builtin_kernel("fmha-forward", "blackwell") ==
        builtin_kernel("blackwell-fwd-sub2-chunked"));
  CHECK(builtin_kernel("fmha-backward", "blackwell") == builtin_kernel("blackwell-bwd-sub2"));
  CHECK(builtin_kernel("fmha-forward", "blackwell-paper") == builtin_kernel("blackwell-fwd-sub2"));
  CHECK(kernel_on_machine("fmha-forward", builtin_machine("hopper-paper"), "m") ==
        "hopper-fwd-sub2");
  CHECK(kernel_on_machine("gemm", builtin_machine("hopper"), "m") == "gemm");

  CHECK(contains(refusal([] { builtin_kernel("fmha-forward"); }),
                 "name the machine, one of blackwell, blackwell-paper, hopper, hopper-paper"));
  CHECK(contains(refusal([] { builtin_kernel("fmha-forward", "figure-1"); }), "has no such graph"));
  CHECK(contains(refusal([] { builtin_kernel("fmha-forward", "rubin"); }), "no such machine"));
  CHECK(contains(refusal([] { builtin_kernel("fmha"); }),
                 "no such kernel; built in: blackwell-bwd, blackwell-bwd-sub2"));
  CHECK(contains(refusal([] { builtin_machine("rubin"); }),
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
  CHECK(contains(refusal([&] { lower_builtin("gemm", "hopper", options); }), "normalize"));
}

TEST_CASE("holds: an MMA keeps what it reads until it ends, but for its accumulator") {
  const auto hold = [](const std::string& kernel, const std::string& machine, bool on,
                       const std::string& from, const std::string& to) {
    LowerOptions options;
    options.holds = on;
    const Problem p =
        lower(builtin_kernel(kernel), kernel, builtin_machine(machine), machine, options)
            .front()
            .problem;
    const auto is = [&](int v, const std::string& id) {
      return p.ops[static_cast<std::size_t>(v)].id == id;
    };
    Cycle found = -1;
    for (const Edge& e : p.edges)
      if (is(e.from, from) && is(e.to, to)) found = std::max(found, e.hold);
    return found;
  };
  // P in registers, 512 cycles of wgmma; the accumulator is overwritten in place.
  CHECK(hold("hopper-fwd-sub2", "hopper", true, "s0_trunc_p", "s0_pv") == 512);
  CHECK(hold("hopper-fwd-sub2", "hopper", true, "s0_mul_acc", "s0_pv") == 0);
  CHECK(hold("hopper-fwd-sub2", "hopper", true, "s0_exp_p", "s0_trunc_p") == 0);
  CHECK(hold("hopper-fwd-sub2", "hopper", false, "s0_trunc_p", "s0_pv") == 0);
  CHECK(hold("hopper-bwd", "hopper", true, "trunc_p", "dv") == 512);
  CHECK(hold("hopper-bwd", "hopper", true, "trunc_ds", "dk") == 512);
  CHECK(hold("hopper-bwd", "hopper", true, "dv", "dv") == 0);
  CHECK(hold("hopper-bwd", "hopper", true, "st_dq", "red_dq") == 2048);
  // P and the accumulator in tensor memory.
  CHECK(hold("blackwell-fwd-plain", "blackwell", true, "tst_p", "pv") == 512);
  CHECK(hold("blackwell-fwd-plain", "blackwell", true, "tst_acc", "pv") == 0);
  CHECK(hold("blackwell-fwd-plain", "blackwell", true, "alloc_v", "pv") == 512);
}
