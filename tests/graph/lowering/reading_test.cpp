// The two readings of a machine: what lowering makes of loads, operands, rings and channels.
#include <doctest/doctest.h>

#include "graph/bounds/bounds.hpp"
#include "graph/io/file.hpp"
#include "graph/memory_charges.hpp"
#include "graph/problem_io.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "tests/support/lowering.hpp"
#include "tests/support/streaming.hpp"

namespace reading_test {

using namespace twill;
using namespace twill::test;

namespace {

LowerOptions read_as(Reading reading) {
  LowerOptions options;
  options.reading = reading;
  return options;
}

const std::string kMachine = R"({
  "format": "twill.machine", "version": 2, "name": "m", "reading": "machine",
  "units": {"COPY": 2, "A": 1, "BANK": 1},
  "channels": {
    "PORT": {"rate": [7, 2], "source": "an estimate"},
    "BANK": {"rate": 16, "source": "counted"},
    "DEEP": {"rate": 1, "shared": true, "source": "counted"},
    "IDLE": {"rate": 1, "source": "counted"}
  },
  "memories": {"mem": {"capacity": 100000, "measure": "bytes"}},
  "layouts": [{"name": "l", "slots": [
    {"name": "load", "width": 1, "registers": 32, "variable_latency": true},
    {"name": "w", "width": 4, "registers": 200}]}],
  "rules": {
    "copy": {"unit": "COPY", "cycles": [{"measure": "bytes", "rate": 64}],
      "latency": [{"measure": "constant", "factor": 500}], "width": 1, "result": "none",
      "variable_latency": true,
      "traffic": {"PORT": [{"measure": "bytes"}], "DEEP": [{"measure": "bytes"}]}},
    "put": {"unit": "COPY", "cycles": [{"measure": "bytes", "rate": 32}], "width": 1,
      "result": "none"},
    "alloc": {"width": 1, "result": "mem"},
    "work": {"unit": "A", "cycles": [{"measure": "elements", "rate": 8}], "width": 4,
      "result": "registers", "asynchronous": true,
      "traffic": {"PORT": [{"measure": "warps"}]}},
    "bank": {"unit": "BANK", "cycles": [{"measure": "elements", "rate": 4}], "width": 4,
      "result": "registers"}
  }
})";

const std::string kKernel = R"({
  "format": "twill.kernel", "version": 3, "name": "k",
  "ops": [
    {"id": "ld", "kind": "copy", "shape": [64], "type": "f32", "reuse": 6},
    {"id": "buf", "kind": "alloc", "shape": [64], "type": "f32"},
    {"id": "x", "kind": "work", "shape": [64], "type": "f32", "traffic": {"BANK": 100}},
    {"id": "y", "kind": "bank", "shape": [64], "type": "f32"},
    {"id": "z", "kind": "put", "shape": [64], "type": "f32"}
  ],
  "edges": [{"from": "ld", "to": "buf"}, {"from": "buf", "to": "x", "blocking": true},
            {"from": "x", "to": "y"}, {"from": "y", "to": "z"}]
})";

std::string with(std::string text, const std::string& part, const std::string& other) {
  const std::size_t place = text.find(part);
  REQUIRE(place != std::string::npos);
  return text.replace(place, part.size(), other);
}

std::string bound_of(const Problem& problem, const std::string& channel) {
  for (const Bound& bound : lower_bounds(problem))
    if (bound.name == "channel" && bound.text.starts_with(channel + ": ")) return bound.text;
  return "none";
}

}  // namespace

TEST_CASE("machine reading: what passes through each channel, by rule, by kernel, by reservation") {
  const Lowered lowered = lower_text(kKernel, kMachine);
  const Problem& p = lowered.problem;
  // A load's 256 bytes and the one instruction a warp of x, at 7/2 a cycle.
  CHECK(bound_of(p, "PORT") == "PORT: 256 + 4 = 260 at 7/2 a cycle: at least 75 cycles");
  // What the kernel says of x, and 16 cycles of the unit at 16 a cycle of y.
  CHECK(bound_of(p, "BANK") == "BANK: 256 + 100 = 356 at 16 a cycle: at least 23 cycles");
  // Six blocks share what is loaded.
  CHECK(bound_of(p, "DEEP") == "DEEP: 128/3 at 1 a cycle: at least 43 cycles");
  // The unit of a load in flight: its 4 cycles, and 8 of the op that still reserves it.
  CHECK(bound_of(p, "COPY") == "COPY: 8 + 4 = 12 at 2 a cycle: at least 6 cycles");
  CHECK(p.channels.size() == 4);  // nothing passes through IDLE
  CHECK(lowered.estimated == std::vector<std::string>{"PORT"});
  CHECK(lowered.unknown.empty());
  CHECK(lowered.bandwidth.empty());
  CHECK(lower_bounds(p).front().value == 75);
  CHECK(parse_problem(problem_text(p)) == p);

  const Lowered unsaid = lower_text(with(kKernel, R"(, "reuse": 6)", ""), kMachine);
  CHECK(bound_of(unsaid.problem, "DEEP") == "none");
  CHECK(unsaid.unknown == std::vector<std::string>{"DEEP"});
}

TEST_CASE("machine reading: a load is in flight, and its buffer is its own") {
  const Problem p = lower_text(kKernel, kMachine).problem;
  const Op& load = find_op(p, "ld");
  CHECK(load.in_flight);
  CHECK_FALSE(load.streaming);
  CHECK(load.cycles == 0);
  CHECK(load.reservations.empty());
  REQUIRE(load.footprints.size() == 1);
  CHECK(load.footprints[0].amount == 256);
  CHECK(find_op(p, "buf").footprints.empty());
  CHECK(p.memories[0].rings);
  CHECK(charged_loads(p) == std::vector<int>{0});
  // From its issue until x, which reads in place, has ended.
  bool kept = false;
  for (const Edge& e : p.edges)
    if (e.from == 0 && p.ops[static_cast<std::size_t>(e.to)].id == "x") {
      kept = true;
      CHECK(e.delay == 500);
      CHECK(e.hold == 8);
      CHECK_FALSE(e.blocking);
    }
  CHECK(kept);
}

TEST_CASE("machine reading: nobody has a buffer before the kernel says") {
  const std::string edge = R"({"from": "ld", "to": "buf"})";
  const Problem p =
      lower_text(with(kKernel, edge, R"({"from": "ld", "to": "buf", "delay": 7})"), kMachine)
          .problem;
  for (const Edge& e : p.edges)
    if (e.from == 0) CHECK(e.delay == 7);
}

TEST_CASE("numbers at the ends of their range, and loads that share all uses") {
  const std::string slow = with(kMachine, R"("rate": [7, 2])", R"("rate": [1, 1000000000000])");
  const Lowered paper = lower(kKernel, "k", slow, "m", read_as(Reading::paper))[0];
  CHECK(paper.bandwidth[0].cycles == kMaxInterval);
  CHECK(contains(refusal_text([&] { lower_text(kKernel, slow); }), "must take at most"));
  // 1,100 loads into one view with 1,000 readers: more edges than a problem may have.
  std::string ops, edges;
  for (int k = 0; k < 1100; ++k) {
    ops += tile_op("ld" + std::to_string(k), "copy", R"(, "result": "mem")", "[64]") + ",";
    edges += edge("ld" + std::to_string(k), "v") + ",";
  }
  ops += tile_op("v", "alloc", R"(, "result": "none")", "[64]");
  for (int k = 0; k < 1000; ++k) {
    ops += "," + tile_op("x" + std::to_string(k), "work", "", "[64]");
    edges += (k == 0 ? "" : ",") + edge("v", "x" + std::to_string(k));
  }
  CHECK(contains(refusal_text([&] { lower_text(small_kernel(ops, edges), kMachine); }),
                 "to each use of its buffer they must be at most 1000000"));
}

TEST_CASE("paper's reading: loads stream, channels are told beside the problem") {
  const std::vector<Lowered> all = lower(kKernel, "k", kMachine, "m", read_as(Reading::paper));
  const Problem& p = all.front().problem;
  CHECK(p.channels.empty());
  CHECK(find_op(p, "ld").streaming);
  CHECK(find_op(p, "buf").footprints.size() == 1);
  CHECK_FALSE(p.memories[0].rings);
  for (const Edge& e : p.edges) CHECK(e.hold == 0);
  CHECK(problem_text(p).find("\"version\": 1,") != std::string::npos);
  REQUIRE(all.front().bandwidth.size() == 3);
  CHECK(all.front().bandwidth[0].unit == "PORT");
  CHECK(all.front().bandwidth[0].cycles == 74 + 2);  // 256 and 4 at 7/2, each rounded up
}

TEST_CASE("one part of a reading can be another's") {
  LowerOptions options = read_as(Reading::paper);
  options.rings = true;
  CHECK(lower(kKernel, "k", kMachine, "m", options)[0].problem.memories[0].rings);
  options = read_as(Reading::machine);
  options.holds = false;
  const Problem free = lower(kKernel, "k", kMachine, "m", options)[0].problem;
  CHECK(find_op(free, "ld").in_flight);
  for (const Edge& e : free.edges) CHECK(e.hold == 0);
}

TEST_CASE("a machine file names its reading; of version 1 it is the paper's, with holds") {
  for (const std::string name : {"hopper", "blackwell", "b200-latency"}) {
    CAPTURE(name);
    const Problem p = lower_builtin("gemm", name)[0].problem;
    CHECK(p == lower_builtin("gemm", name, read_as(Reading::machine))[0].problem);
    CHECK_FALSE(p.channels.empty());
  }
  for (const std::string name : {"hopper-paper", "blackwell-paper"}) {
    CAPTURE(name);
    const Problem p = lower_builtin("fmha-forward", name)[0].problem;
    CHECK(p == lower_builtin("fmha-forward", name, read_as(Reading::paper))[0].problem);
    CHECK(p.channels.empty());
  }
  std::string old = with(kMachine, R"("version": 2, "name": "m", "reading": "machine",)",
                         R"("version": 1, "name": "m",)");
  const std::size_t channels = old.find("\"channels\""), memories = old.find("\"memories\"");
  old.replace(channels, memories - channels, R"("bandwidth": {"BANK": 16}, )");
  for (const std::string part : {R"(,
      "traffic": {"PORT": [{"measure": "bytes"}], "DEEP": [{"measure": "bytes"}]})",
                                 R"(,
      "traffic": {"PORT": [{"measure": "warps"}]})"})
    old = with(old, part, "");
  const Lowered before = lower_text(kKernel, old);
  CHECK(before.problem == lower(kKernel, "k", kMachine, "m", streaming_loads())[0].problem);
  REQUIRE(before.bandwidth.size() == 1);
  CHECK(before.bandwidth[0].cycles == 7 + 16);
  // In the machine reading what it says of bandwidth is a channel.
  const Problem more = lower(kKernel, "k", old, "m", read_as(Reading::machine))[0].problem;
  CHECK(bound_of(more, "BANK") == "BANK: 256 + 100 = 356 at 16 a cycle: at least 23 cycles");
}

TEST_CASE("built-in loops: what binds them is in the model") {
  LowerOptions slow;
  slow.set = {{"rules.tma_load.cycles.0.rate", "1"}};
  CHECK(lower_bounds(lower_builtin("gemm", "hopper", slow)[0].problem).front().value == 32768);
  const Problem norm = lower_builtin("hopper-layer-norm", "hopper")[0].problem;
  CHECK(lower_bounds(norm).front().value == 512);
  CHECK(bound_of(norm, "SMEM") == "SMEM: 2 x 32768 = 65536 at 128 a cycle: at least 512 cycles");
  const std::string path =
      TWILL_TEST_DATA "/../../graph/kernels/triton/blackwell-linear-attention.ttgir";
  const auto module =
      ttgir::lower_module(read_file(path), path, builtin_machine("blackwell"), "blackwell", {}, {});
  const Problem& linear = module.problems.front().problem;
  CHECK(lower_bounds(linear).front().value == 1792);
  CHECK(bound_of(linear, "SMEM").find("= 229376 at 128 a cycle: at least 1792 cycles") !=
        std::string::npos);
}

TEST_CASE("normalised loops keep their channels' share of I") {
  LowerOptions options;
  options.normalize = 30;
  options.set = {{"channels.L2.rate", "3"}};
  const Problem raw = lower_builtin("gemm", "hopper",
                                    [&] {
                                      LowerOptions same = options;
                                      same.normalize = 0;
                                      return same;
                                    }())[0]
                          .problem;
  const Problem scaled = lower_builtin("gemm", "hopper", options)[0].problem;
  const double before = static_cast<double>(lower_bounds(raw).front().value);
  const double after = static_cast<double>(lower_bounds(scaled).front().value) * scaled.cycle_unit;
  CHECK(after >= before * 0.999);
  CHECK(after <= before + scaled.cycle_unit);
}

TEST_CASE("machine files of version 2: refusals with their place") {
  const auto answer = [](const std::string& part, const std::string& other) {
    return refusal_text([&] { lower_text(kKernel, with(kMachine, part, other)); });
  };
  CHECK(contains(answer(R"( "reading": "machine",)", ""), "required key \"reading\" is missing"));
  CHECK(contains(answer(R"("reading": "machine")", R"("reading": "mine")"), "/reading"));
  CHECK(
      contains(answer(R"("channels": {)", R"("bandwidth": {"A": 1}, "channels": {)"), "bandwidth"));
  CHECK(contains(answer(R"("rate": [7, 2])", R"("rate": [7, 0])"), "/channels/PORT/rate/1"));
  CHECK(contains(answer(R"("rate": 16)", R"("rate": 0)"), "/channels/BANK/rate"));
  CHECK(contains(answer(R"("rate": 16, "source": "counted")", R"("rate": 16)"),
                 "required key \"source\" is missing"));
  CHECK(
      contains(answer(R"({"PORT": [{"measure": "warps"}]})", R"({"SHIP": [{"measure": "warps"}]})"),
               "must name a channel of the machine: PORT, BANK, DEEP, IDLE"));
  CHECK(contains(answer(R"("version": 2)", R"("version": 1)"), "/reading"));
  const auto kernel = [](const std::string& part, const std::string& other) {
    return refusal_text([&] { lower_text(with(kKernel, part, other), kMachine); });
  };
  CHECK(contains(kernel(R"("reuse": 6)", R"("reuse": 0)"), "/ops/0/reuse"));
  CHECK(contains(kernel(R"("version": 3)", R"("version": 2)"), "reuse"));
  CHECK(contains(kernel(R"("BANK": 100)", R"("RIVER": 100)"), "has no such unit"));
}

}  // namespace reading_test
