// Modules as Triton 3.9 leaves them, pipelined and partitioned (tests/data/lowered: what it
// made of graph/kernels/triton/*.ttgir), are read as the modules that they were made of. A module
// with a barrier less is refused or the same: never another problem.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "graph/problem_io.hpp"
#include "graph/ttgir/other_warps.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/replay.hpp"
#include "graph/ttgir/retime.hpp"
#include "graph/ttgir/undo.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_undo_test {

namespace {

using namespace twill;
using namespace twill::ttgir;
using test::replaced;

std::string lowered_text(const std::string& name) {
  return read_file(TWILL_TEST_DATA "/lowered/" + name + ".ttgir");
}

LoweredModule module_of(const std::string& text, const std::string& name,
                        std::optional<int> loop = std::nullopt) {
  const std::string machine = name.substr(0, name.find('-'));
  LoopOptions options;
  options.loop = loop;
  return lower_module(text, name, builtin_machine(machine), machine, options, LowerOptions());
}

/// A problem without names and orders: each op by what it takes, each edge by its ends.
std::multiset<std::string> anonymous(const Problem& problem, bool memories) {
  std::vector<std::string> ops;
  std::multiset<std::string> all;
  for (const Op& op : problem.ops) {
    std::string text = std::to_string(op.cycles) + " w" + std::to_string(op.width) + " r" +
                       std::to_string(op.registers) + " s" + std::to_string(op.spill) +
                       (op.variable_latency ? " v" : "") + (op.in_flight ? " f" : "");
    for (const Reservation& r : op.reservations)
      text += " u" + std::to_string(r.unit) + ":" + std::to_string(r.offset) + "+" +
              std::to_string(r.length);
    for (const Footprint& f : op.footprints)
      text += " m" + std::to_string(f.memory) + ":" + std::to_string(f.amount);
    for (const Traffic& t : op.traffic)
      text += " c" + std::to_string(t.channel) + ":" + std::to_string(t.amount.numerator);
    ops.push_back(text);
    all.insert("op " + text);
  }

  for (const Edge& edge : problem.edges)
    all.insert("edge " + ops[static_cast<std::size_t>(edge.from)] + " -> " +
               ops[static_cast<std::size_t>(edge.to)] + " " + std::to_string(edge.delay) + " " +
               std::to_string(edge.distance) + (edge.blocking ? " b" : "") + " " +
               std::to_string(edge.hold));
  if (memories)
    for (const Memory& memory : problem.memories)
      all.insert("memory " + memory.name + " " + std::to_string(memory.capacity));
  return all;
}

std::string refusal(const std::string& text, const std::string& name) {
  try {
    module_of(text, name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what Triton made of a module is undone to the same problem") {
  struct Pair {
    std::string name;
    std::optional<int> loop;
    bool memories;
  };
  // A persistent product: the inner loop; lowered, it shows the buffer of the tile that is stored
  // after it, which the module from before has not got yet.
  for (const Pair& pair :
       {Pair{"blackwell-attention-forward", std::nullopt, true},
        Pair{"hopper-attention-forward", std::nullopt, true}, Pair{"hopper-gemm-grouped", 1, false},
        Pair{"blackwell-gemm-persistent", 1, false}}) {
    CAPTURE(pair.name);
    const LoweredModule before = module_of(test::module_text(pair.name), pair.name, pair.loop);
    const LoweredModule after = module_of(lowered_text(pair.name), pair.name);
    CHECK_FALSE(before.undone);
    CHECK(after.undone);
    REQUIRE(!after.loop.warnings.empty());
    CHECK(has(after.loop.warnings.front(), "has been pipelined or partitioned already"));
    REQUIRE(before.problems.size() == after.problems.size());
    for (std::size_t k = 0; k < before.problems.size(); ++k)
      CHECK(anonymous(before.problems[k].problem, pair.memories) ==
            anonymous(after.problems[k].problem, pair.memories));
    // Ops are named by their lines in the file that was given.
    for (const NodeInfo& node : after.loop.nodes) {
      const Operation& op = after.module.op(node.op);
      CHECK(op.line > 1);
      CHECK(op.line < 500);
    }
    // The same problem every time.
    const LoweredModule again = module_of(lowered_text(pair.name), pair.name);
    for (std::size_t k = 0; k < after.problems.size(); ++k)
      CHECK(problem_text(after.problems[k].problem) == problem_text(again.problems[k].problem));
  }
}

namespace {

/// The lowered attention with the partition that rescales on other warps, its tiles in `layout`.
std::string rescaled_by(int warps, const std::string& layout) {
  std::string text = lowered_text("blackwell-attention-forward");
  const std::size_t begin = text.find("    partition0(");
  const std::size_t end = text.find("    partition1(");
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  std::string part = replaced(text.substr(begin, end - begin), "num_warps(4)",
                              "num_warps(" + std::to_string(warps) + ")");
  for (std::size_t at = part.find("#linear"); at != std::string::npos;
       at = part.find("#linear", at + 1))
    part.replace(at, 7, "#other");
  text.replace(begin, end - begin, part);
  return "#other = " + layout + "\n" + text;
}

TEST_CASE("a bound that is made of a comparison with it is not asked for for ever") {
  // (The second loop begins where the first one, of steps chosen by a comparison, has ended.)
  const std::string why = refusal(lowered_text("steps-chosen-hopper"), "hopper-steps-chosen");
  CHECK_MESSAGE(has(why, "its outcome depends on a number that is not known"), why);
}

}  // namespace

TEST_CASE("a partition on other warps than the module's gives the same problem") {
  const std::string name = "blackwell-attention-forward";
  const auto whole = anonymous(module_of(lowered_text(name), name).problems.front().problem, true);
  const std::string lanes = "lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]";
  const std::string columns = "[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]";
  const std::pair<int, std::string> others[] = {
      {8, "#ttg.linear<{register = [" + columns + "], " + lanes +
              ", warp = [[32, 0], [64, 0], [0, 64]], block = []}>"},
      {2, "#ttg.linear<{register = [" + columns + ", [0, 64], [64, 0]], " + lanes +
              ", warp = [[32, 0]], block = []}>"},
      {1, "#ttg.linear<{register = [" + columns + ", [0, 64], [32, 0], [64, 0]], " + lanes +
              ", warp = [], block = []}>"}};
  for (const auto& [warps, layout] : others) {
    CAPTURE(warps);
    const LoweredModule module = module_of(rescaled_by(warps, layout), name);
    CHECK(anonymous(module.problems.front().problem, true) == whole);
  }
  // Of a layout that is not of as many warps nothing is guessed.
  const std::string four = "#ttg.linear<{register = [" + columns + ", [0, 64]], " + lanes +
                           ", warp = [[32, 0], [64, 0]], block = []}>";
  CHECK(has(refusal(rescaled_by(8, four), name), "is no tile of an op that 8 warps execute"));
  CHECK(has(refusal(rescaled_by(6, four), name), "is no tile of an op that 6 warps execute"));
}

TEST_CASE("layouts on other warps") {
  const Module module = parse_module(
      "#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], "
      "order = [1, 0]}>\nmodule {\n  tt.func @f() {\n    tt.return\n  }\n}\n",
      "text");
  const auto on = [&](const std::string& text, int from, int to) {
    return on_other_warps(text, from, to, module).value_or("none");
  };
  const std::string blocked =
      "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], "
      "warpsPerCTA = [";
  CHECK(on("tensor<64x64xf16, #b>", 2, 4) ==
        "tensor<64x64xf16, " + blocked + "4, 1], order = [1, 0]}>>");
  CHECK(on("tensor<64x64xf16, #b>", 2, 1) ==
        "tensor<64x64xf16, " + blocked + "1, 1], order = [1, 0]}>>");
  CHECK(on("op %a : tensor<64x!tt.ptr<f16>, #ttg.slice<{dim = 1, parent = #b}>> -> i32", 2, 8) ==
        "op %a : tensor<64x!tt.ptr<f16>, #ttg.slice<{dim = 1, parent = " + blocked +
            "8, 1], order = [1, 0]}>}>> -> i32");
  // Rows have no room for more warps, columns have; where neither has, there are copies.
  CHECK(on("tensor<8x512xf16, #b>", 2, 8) ==
        "tensor<8x512xf16, " + blocked + "2, 4], order = [1, 0]}>>");
  CHECK(on("tensor<8x64xf16, #b>", 2, 4) ==
        "tensor<8x64xf16, " + blocked + "4, 1], order = [1, 0]}>>");
  CHECK(on("tensor<32xf32, #ttg.linear<{register = [[16]], lane = [[1], [2], [4], [8], [0]], "
           "warp = [[0]], block = []}>>",
           2, 8) ==
        "tensor<32xf32, #ttg.linear<{register = [], lane = [[1], [2], [4], [8], [0]], "
        "warp = [[0], [16], [0]], block = []}>>");
  CHECK(on("tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, "
           "warpsPerCTA = [2, 2], instrShape = [16, 8]}>, kWidth = 2}>>",
           4, 8) ==
        "tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, "
        "warpsPerCTA = [4, 2], instrShape = [16, 8]}>, kWidth = 2}>>");
  // What has no layout over warps stays: descriptors, buffers, tiles on their way.
  for (const std::string text :
       {"%x : !tt.tensordesc<tensor<64x64xf16, #shared>> -> tensor<64x64xf16>",
        "!ttg.memdesc<64x64xf16, #shared, #smem>", "i32"})
    CHECK(on(text, 2, 4) == text);
  CHECK(on("tensor<64x64xf16, #b>", 4, 8) == "none");  // it is of 2 warps
  CHECK(on("tensor<64x64xf16, #b>", 2, 6) == "none");  // not by halves
  CHECK(on("tensor<64x64xf16, #b>", 0, 4) == "none");
  CHECK(on("tensor<64x64xf16, #unknown>", 2, 4) == "none");
  CHECK(on("tensor<64x64xf16, #b", 2, 4) == "none");
}

TEST_CASE("a read that no barrier orders is refused: Triton's own output has one") {
  const std::string why = refusal(lowered_text("blackwell-linear-attention"), "blackwell-linear");
  CHECK(has(why, "ttng.tc_gen5_mma of line 279: no barrier orders what it reads"));
  CHECK(has(why, "line 363"));
  CHECK(has(why, "MLIR_ENABLE_DUMP=1"));
}

TEST_CASE("a line less: refused, or the same problem") {
  for (const std::string name : {"blackwell-attention-forward", "hopper-attention-forward"}) {
    const std::string text = lowered_text(name);
    const auto whole = anonymous(module_of(text, name).problems.front().problem, true);
    int refused = 0, same = 0;
    for (const std::string op :
         {"ttng.wait_barrier", "ttng.arrive_barrier", "ttng.barrier_expect", "ttng.init_barrier",
          "ttng.tc_gen5_commit", "ttng.async_tma_copy_global_to_local", "ttg.local_store"})
      for (std::size_t at = 0; at != std::string::npos;) {
        const std::size_t begin = text.find(op + " ", at);
        if (begin == std::string::npos) break;
        const std::size_t end = text.find('\n', begin);
        at = end;
        try {
          const LoweredModule module = module_of(text.substr(0, begin) + text.substr(end), name);
          // (A store or a copy less, and what it fills is from before the loop or never there.)
          CHECK(module.undone);
          CHECK_MESSAGE(anonymous(module.problems.front().problem, true) == whole,
                        text.substr(begin, end - begin));
          ++same;
        } catch (const InputError& error) {
          CHECK(has(error.what(), "has been pipelined or partitioned already"));
          ++refused;
        }
      }
    CAPTURE(name);
    CHECK(refused > 5);
    MESSAGE(name, ": ", refused, " refused, ", same, " the same");
  }
}

TEST_CASE("numbers of rings that do not fit are refused") {
  const std::string name = "hopper-attention-forward";
  const std::string text = lowered_text(name);
  REQUIRE(refusal(text, name) == "accepted");
  // A barrier that counts one more never completes; bytes that never come; another parity.
  CHECK(refusal(replaced(text, ", 1 : !ttg.memdesc<1xi64", ", 2 : !ttg.memdesc<1xi64"), name) !=
        "accepted");
  const std::string while_true = replaced(text, "ttng.barrier_expect", "ttng.unheard_of");
  CHECK(has(refusal(while_true, name), "what it does to a barrier is not known"));
}

TEST_CASE("retiming: the least sum, by trying all") {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int feasible = 0, infeasible = 0;
  for (int round = 0; round < 4000 / test::kShare; ++round) {
    const int ops = 1 + pick(5);
    std::vector<Distance> edges;
    for (int e = pick(9); e > 0; --e)
      edges.push_back({pick(ops), pick(ops), pick(4) - 1 - (pick(4) == 0 ? 1 : 0), pick(4) != 0});
    const auto cost = [&](const std::vector<std::int64_t>& s) -> std::int64_t {
      std::int64_t sum = 0;
      for (const Distance& edge : edges) {
        const std::int64_t d = edge.iterations + s[static_cast<std::size_t>(edge.to)] -
                               s[static_cast<std::size_t>(edge.from)];
        if (d < 0) return -1;
        if (edge.carries) sum += d;
      }
      return sum;
    };
    // Distances are -2 to 2 over at most 4 edges in a row: no shift beyond 8 can matter.
    constexpr std::int64_t kMost = 9;
    std::int64_t best = -1;
    std::vector<std::int64_t> s(static_cast<std::size_t>(ops), 0);
    for (bool more = true; more;) {
      const std::int64_t c = cost(s);
      if (c >= 0 && (best < 0 || c < best)) best = c;
      std::size_t k = 0;
      while (k < s.size() && ++s[k] > kMost) s[k++] = 0;
      more = k < s.size();
    }
    const auto found = retime(ops, edges);
    if (best < 0) {
      // Nothing within kMost: only a cycle of negative sum forbids all.
      CHECK_FALSE(found.has_value());
      ++infeasible;
      continue;
    }
    REQUIRE(found.has_value());
    CHECK(cost(*found) == best);
    ++feasible;
  }
  CHECK(feasible > 500 / test::kShare);
  CHECK(infeasible > 500 / test::kShare);
}

TEST_CASE("hostile modules take bounded time") {
  const std::string head =
      "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
      "  tt.func @f(%a: i32, %n: i32, %d: !tt.tensordesc<64x64xf16>) {\n"
      "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
      "    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #s, #smem, mutable>\n"
      "    ttng.init_barrier %b, 1 : !ttg.memdesc<1xi64, #s, #smem, mutable>\n"
      "    %r = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>\n";
  const std::string tail = "      scf.yield\n    }\n    tt.return\n  }\n}\n";
  const std::string wait =
      "      ttng.wait_barrier %b, %c1 : !ttg.memdesc<1xi64, #s, #smem, mutable>\n";
  // Long sums of unknown numbers, long chains before the loop, many ops in it.
  std::string sums = head, chain = head, many = head;
  for (int k = 0; k < 20'000; ++k) {
    const std::string before = k == 0 ? "%a" : "%x" + std::to_string(k - 1);
    sums += "    %x" + std::to_string(k) + " = tt.load %a : i32\n";
    chain += "    %x" + std::to_string(k) + " = arith.muli " + before + ", %n : i32\n";
  }
  const std::string loop = "    scf.for %i = %c0 to %n step %c1 : i32 {\n" + wait;
  sums += loop;
  for (int k = 1; k < 20'000; ++k)
    sums += "      %y" + std::to_string(k) + " = arith.addi " +
            (k == 1 ? "%x0" : "%y" + std::to_string(k - 1)) + ", %x" + std::to_string(k) +
            " : i32\n";
  chain += loop +
           "      %t = tt.descriptor_load %d[%x19999, %c0] : !tt.tensordesc<64x64xf16> -> "
           "tensor<64x64xf16>\n";
  many += loop;
  for (int k = 0; k < 5'000; ++k)
    many += "      %t" + std::to_string(k) +
            " = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<64x64xf16> -> "
            "tensor<64x64xf16>\n";
  for (const std::string& text : {sums, chain, many})
    CHECK(has(refusal(text + tail, "hopper-hostile"), "is not undone"));
  // The same, small: it is read.
  const std::string small = head + loop +
                            "      %t = tt.descriptor_load %d[%i, %c0] : !tt.tensordesc<64x64xf16> "
                            "-> tensor<64x64xf16, #l>\n"
                            "      %u = arith.addf %t, %t : tensor<64x64xf16, #l>\n";
  CHECK(refusal(small + tail, "hopper-small") == "accepted");
}

}  // namespace ttgir_undo_test
