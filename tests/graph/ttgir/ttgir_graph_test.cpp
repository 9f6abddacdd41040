// The loop graph of a module: nodes, edges, memory, what is resident, costs; sub-tiling, reduction.
#include <doctest/doctest.h>

#include <algorithm>

#include <nlohmann/json.hpp>
#include <set>

#include "graph/bounds/bounds.hpp"
#include "graph/lowering/costed_loop.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/profile.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_graph_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

/// How modules begin whose products write tensor memory.
const std::string kTensorMemoryModule =
    R"(#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
!s = !ttg.memdesc<128x128xf16, #shared, #ttg.shared_memory>
!d = !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
)";

struct Graph {
  LoweredModule lowered;
  const Kernel& kernel = lowered.loop.kernel;

  explicit Graph(const std::string& name, int subtile = 1, const std::string& machine = "")
      : lowered(test::lowered(name, subtile, machine)) {}

  std::size_t at(const std::string& id) const {
    for (std::size_t v = 0; v < kernel.ops.size(); ++v)
      if (kernel.ops[v].id == id) return v;
    FAIL("no op " << id);
    return 0;
  }
  const KernelEdge* edge(const std::string& from, const std::string& to, int distance = 0) const {
    for (const KernelEdge& e : kernel.edges)
      if (e.from == at(from) && e.to == at(to) && e.distance == distance) return &e;
    return nullptr;
  }
  const Op& op(const std::string& id) const {
    for (const Op& o : lowered.problems.front().problem.ops)
      if (o.id == id) return o;
    FAIL("no op " << id);
    return lowered.problems.front().problem.ops.front();
  }
};

}  // namespace

TEST_CASE("attention on Blackwell: the graph of the compiler's own module") {
  const Graph g("blackwell-attention-forward");
  // Streaming loads that fill shared memory; their local_alloc and transposition are views.
  CHECK(g.op("k_12").streaming);
  CHECK(g.op("v").streaming);
  CHECK(g.op("k_12").footprints == std::vector<Footprint>{{0, 32768}});
  CHECK(g.kernel.ops[g.at("s_13")].alias_of == g.at("k_12"));
  CHECK(g.kernel.ops[g.at("s_14")].alias_of == g.at("s_13"));
  CHECK(g.op("s_14").cycles == 0);
  // S is written anew in every iteration: no write-after-read edge, 128 columns while it is live.
  REQUIRE(g.edge("s_15", "s_16") != nullptr);
  CHECK(g.edge("s_15", "s_16")->blocking);
  CHECK(g.edge("s_16", "s_15", 1) == nullptr);
  CHECK(g.op("s_15").footprints == std::vector<Footprint>{{1, 128}});
  // tmem_load carries its own wait.
  CHECK(!g.edge("s_16", "m_new_18")->blocking);
  // Carried values, and views that hold nothing.
  REQUIRE(g.edge("m_new_20", "alpha", 1) != nullptr);
  REQUIRE(g.edge("m_new_20", "alpha", 0) != nullptr);
  CHECK(g.edge("l_29", "l_27", 1) != nullptr);
  CHECK(g.kernel.ops[g.at("p_23")].alias_of == g.at("p_22"));
  CHECK(g.op("p_23").registers == 0);
  CHECK(g.op("p_25").registers == 128);
  CHECK(g.op("m_new_20").registers == 1);
  // The accumulator: product -> load of the next iteration, store -> product, and the load waits.
  REQUIRE(g.edge("acc_39", "acc_32", 1) != nullptr);
  CHECK(g.edge("acc_39", "acc_32", 1)->blocking);
  CHECK(g.edge("acc_38", "acc_39")->blocking);
  CHECK(g.edge("acc_37", "acc_39")->blocking);
  CHECK(g.edge("acc_37", "acc_39")->hold == 512);
  CHECK(g.op("acc_39").footprints.empty());  // resident
  // Load, scale and store of the accumulator are one chunked op.
  REQUIRE(g.kernel.chunks.size() == 1);
  CHECK(g.op("acc_34.chunks").registers == 32);
  // Q and the accumulator are there for the whole loop; index arithmetic is no node.
  const std::vector<std::pair<std::string, Amount>> resident = {{"smem", 32768}, {"tmem", 128}};
  CHECK(g.kernel.resident_memory == resident);
  CHECK(g.lowered.loop.replicated.size() == 1);
  CHECK(g.lowered.loop.warnings.empty());
  CHECK(lower_bounds(g.lowered.problems.front().problem).front().value == 1032);
}

TEST_CASE("sub-tiled by the tool and by hand give the same graph") {
  const Graph tool("blackwell-attention-forward-m256", 2), hand("blackwell-attention-forward-sub2");
  const auto census = [](const Graph& g) {
    std::multiset<std::tuple<std::string, Cycle, Amount, int>> ops;
    for (const Op& op : g.lowered.problems.front().problem.ops)
      ops.emplace(op.kind, op.cycles, op.registers, op.width);
    return ops;
  };
  CHECK(census(tool) == census(hand));
  CHECK(tool.lowered.problems.front().problem.edges.size() ==
        hand.lowered.problems.front().problem.edges.size());
  CHECK(tool.kernel.resident_memory == hand.kernel.resident_memory);
  // Shared: the loads and their views. Duplicated: the rest, with edges from the shared.
  CHECK(tool.edge("s_15", "s0_s_16") != nullptr);
  CHECK(tool.edge("s_15", "s1_s_16") != nullptr);
  CHECK(tool.edge("s0_s_16", "s1_s_17") == nullptr);
  CHECK(tool.edge("s1_m_new_21", "s1_alpha", 1) != nullptr);
  CHECK(tool.edge("s0_m_new_21", "s1_alpha", 1) == nullptr);
  // Undivided, no layout of four-warp slots can hold it.
  const Graph whole("blackwell-attention-forward-m256");
  for (const Lowered& lowered : whole.lowered.problems)
    CHECK(lower_bounds(lowered.problem).front().value > 2064);
}

TEST_CASE("sub-tiling is refused where rows are summed") {
  try {
    test::lowered("blackwell-attention-backward", 2);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("sums over the split dimension") != std::string::npos);
    CHECK(error.place().find("line ") == 0);
  }
  CHECK_THROWS_AS(test::lowered("hopper-linear-attention", 2), InputError);  // 32 rows
  CHECK_THROWS_AS(test::lowered("blackwell-layer-norm", 2), InputError);     // no product
}

TEST_CASE("Hopper: products on the computing warps, accumulators in registers") {
  const Graph g("hopper-attention-forward");
  CHECK(g.op("s_7").width == 8);
  CHECK(g.op("s_7").registers == 64);
  CHECK(g.kernel.ops[g.at("acc_25")].alias_of == g.at("acc_24"));  // fragments as they are
  CHECK(g.edge("acc_26", "acc_22", 1)->blocking);
  const Graph gemm("hopper-gemm-persistent");
  REQUIRE(gemm.edge("acc_11", "acc_11", 1) != nullptr);
  CHECK(gemm.edge("acc_11", "acc_11", 1)->accumulate);
  CHECK(!gemm.edge("acc_11", "acc_11", 1)->blocking);
}

TEST_CASE("a factor in registers is with all warps that have a part of its rows or columns") {
  // dS^T, 64 x 128 in f16, for eight warps of which two have the same rows: twice the registers of
  // a tile that is shared out, and it is written once and read twice.
  const Graph g("hopper-attention-backward");
  CHECK(g.op("dst_31").registers == 16);
  CHECK(g.op("dq_34").registers == 32);
  CHECK(g.op("dq_34").kind == "local_alloc");
  CHECK(g.op("dq_34").cycles == 3 * 64 * 128 * 2 / 128);  // bytes, at 128 a cycle
  // P and dS, whose warps have whole rows, are fragments as they are.
  CHECK(g.kernel.ops[g.at("dv_23")].alias_of == g.at("dv_22"));
  CHECK(g.op("dv_23").registers == 0);
  // Ampere's mma.sync, 128 x 128 in sums of 32, 2 x 2 warps: each has half of the rows of the left
  // factor, 64 x 32 / 32 threads in halves of a register, and half of the columns of the right one.
  const Graph ampere("ampere-gemm-pointers");
  for (const char* id : {"acc_38", "acc_39"}) {
    CHECK(ampere.op(id).registers == 32);
    CHECK(ampere.op(id).cycles == 2 * 128 * 32 * 2 / 128);
  }
}

TEST_CASE("Ampere: loads by cp.async, and a module that Triton has pipelined already") {
  const Graph g("ampere-gemm-pointers");
  CHECK(g.op("acc_36").streaming);  // its pointers are index arithmetic
  CHECK(g.edge("acc_36", "acc_38")->blocking);
  CHECK(g.op("acc_40").registers == 128);
  const Graph p("ampere-gemm-pipelined");
  // Tokens of the copies reach their readers through the loop's variables: 2 and 3 iterations.
  CHECK(p.edge("acc_108", "acc_122", 2) != nullptr);
  CHECK(p.edge("acc_108", "acc_97", 3) != nullptr);
  // A copy overwrites what was read an iteration ago.
  CHECK(p.edge("acc_97", "acc_108", 1) == nullptr);
  CHECK(p.edge("acc_97.release", "acc_108", 1) != nullptr);
  CHECK(!p.op("acc_108").streaming);
}

TEST_CASE("backward: vectors of global memory, reductions into it") {
  const Graph g("blackwell-attention-backward");
  CHECK(g.op("lse_29").streaming);
  CHECK(g.edge("lse_29", "lse_29.read")->blocking);
  CHECK(g.op("descriptor_reduce").variable_latency);
  CHECK(!g.op("descriptor_reduce").streaming);
  CHECK(g.edge("dv_42", "dv_42", 1)->accumulate);
  CHECK(g.edge("dst_53", "dq_56") != nullptr);
}

TEST_CASE("an inner loop and a branch become one op") {
  const Graph g("blackwell-gemm-persistent");
  const KernelOp& inner = g.kernel.ops[g.at("acc_9")];
  REQUIRE(inner.cost.has_value());
  CHECK(inner.kind == "scf.for");
  // 16 iterations assumed, 512 cycles of the Tensor Core each: 128 x 256 x 64 / 4096.
  Cycle tensor = 0;
  for (const auto& [unit, cycles] : inner.cost->uses)
    if (unit == "TC") tensor = cycles;
  CHECK(tensor == 16 * 512);
  CHECK(inner.cost->cycles >= tensor);
  CHECK(g.edge("acc_8", "acc_9") != nullptr);
  CHECK(g.edge("acc_9", "acc_10") != nullptr);
  bool said = false;
  for (const std::string& text : g.lowered.loop.warnings)
    said = said || text.find("16 assumed") != std::string::npos;
  CHECK(said);

  const Graph branch("blackwell-attention-causal");
  const KernelOp& mask = branch.kernel.ops[branch.at("if_8")];
  REQUIRE(mask.cost.has_value());
  CHECK(mask.cost->cycles ==
        2 * 128 + 1);  // compare, select, a vector of columns; the other is empty
  CHECK(mask.registers == 128);
}

TEST_CASE("another target is lowered with a warning") {
  const Graph g("hopper-gemm-persistent", 1, "blackwell");
  REQUIRE(!g.lowered.loop.warnings.empty());
  CHECK(g.lowered.loop.warnings.front().find("made for cuda:90") != std::string::npos);
}

TEST_CASE("an unknown op is read, reported and priced") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/generic.ttgir");
  const LoweredModule lowered =
      lower_module(text, "generic", builtin_machine("blackwell"), "blackwell", {}, {});
  REQUIRE(lowered.loop.warnings.size() == 1);
  CHECK(lowered.loop.warnings.front().find("acme.twist (line 20") != std::string::npos);
  CHECK(lowered.problems.front().problem.ops.size() == 5);
}

TEST_CASE("a vector that is repeated over a tile before the loop is held as a vector") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/dq-rows-hopper.ttgir");
  const LoweredModule lowered =
      lower_module(text, "dq-rows", builtin_machine("hopper"), "hopper", {}, {});
  // Two vectors of 128 rows on 128 threads, in a layout that has each number in four of them.
  CHECK(lowered.loop.kernel.resident_registers == LoopOptions{}.resident_registers + 2 * 4);
  REQUIRE(lowered.loop.warnings.size() == 2);
  for (const std::string& warning : lowered.loop.warnings)
    CHECK(warning.find("from before the loop is held in 4 registers") != std::string::npos);
}

namespace {

/// A shipped module with one text in the place of another.
LoweredModule changed(const std::string& name, const std::string& from, const std::string& to,
                      std::optional<int> loop = std::nullopt) {
  std::string text = test::module_text(name);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const std::string machine = name.substr(0, name.find('-'));
  LoopOptions options;
  options.loop = loop;
  return lower_module(text, name, builtin_machine(machine), machine, options, {});
}

Cycle cycles_of(const LoweredModule& lowered, const std::string& op) {
  for (std::size_t v = 0; v < lowered.loop.nodes.size(); ++v)
    if (lowered.module.op(lowered.loop.nodes[v].op).name == op)
      return lowered.problems.front().problem.ops[v].cycles;
  FAIL("no op " << op);
  return 0;
}

}  // namespace

TEST_CASE("a vector in shared memory costs what it costs in a load, and is written once") {
  const std::string name = "blackwell-attention-backward";
  const std::string vector = "tensor<64xf32, #ttg.slice<{dim = 0, parent = #linear1}>>";
  const std::string buffer =
      "!ttg.memdesc<64xf32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, "
      "order = [0]}>, #smem, mutable>";
  const std::string load =
      "%lse_29 = tt.load %lse_28 : tensor<64x!tt.ptr<f32>, "
      "#ttg.slice<{dim = 0, parent = #linear1}>> loc(#loc95)\n";
  const Cycle read = Graph(name).op("lse_29.read").cycles;
  const LoweredModule loaded = changed(
      name, load,
      "%mine = tt.load %lse_28 : tensor<64x!tt.ptr<f32>, "
      "#ttg.slice<{dim = 0, parent = #linear1}>>\n      %buffer = ttg.local_alloc %mine : (" +
          vector + ") -> " + buffer + "\n      %lse_29 = ttg.local_load %buffer : " + buffer +
          " -> " + vector + "\n");
  CHECK(cycles_of(loaded, "ttg.local_load") == read);
  CHECK(read == 16);  // 256 bytes by each of 8 warps, at 128 a cycle
  const std::string queries = "tensor<64xi32, #ttg.slice<{dim = 0, parent = #linear1}>>";
  const std::string rows = "!ttg.memdesc<64xi32, #shared, #smem, mutable>";
  const LoweredModule stored =
      changed(name, load,
              load + "      %rows = ttg.local_alloc : () -> " + rows +
                  "\n      ttg.local_store %queries_27, %rows : " + queries + " -> " + rows + "\n");
  CHECK(cycles_of(stored, "ttg.local_store") == 2);
}

TEST_CASE(
    "a vector that is shared out over the threads is read once, one with copies by each warp") {
  // A row of layer norm, 8 elements a thread and no copies.
  const Graph norm("blackwell-layer-norm");
  const Op& read = norm.op("x_19.read");
  const Type& row = *norm.lowered.module.type_of(
      norm.lowered.module.op(norm.lowered.loop.nodes[norm.at("x_19.read")].op).results[0]);
  REQUIRE(row.shape.size() == 1);
  CHECK(read.cycles == row.shape[0] * row.bits / 8 / 128);
  // 64 elements from one layout to another: written once, read by each of 8 warps.
  const std::string load =
      "%lse_29 = tt.load %lse_28 : tensor<64x!tt.ptr<f32>, "
      "#ttg.slice<{dim = 0, parent = #linear1}>> loc(#loc95)\n";
  const std::string from = "tensor<64xi32, #ttg.slice<{dim = 0, parent = #linear1}>>";
  const LoweredModule turned =
      changed("blackwell-attention-backward", load,
              load + "      %rows = ttg.convert_layout %queries_27 : " + from +
                  " -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #linear1}>>\n"
                  "      %used = acme.use %rows : tensor<64xi32, #ttg.slice<{dim = 1, parent = "
                  "#linear1}>>\n");
  CHECK(cycles_of(turned, "ttg.convert_layout") == 18);  // 256 bytes, 1 + 8 times, at 128 a cycle
}

TEST_CASE("a loaded tile is read through a view that was made before it was stored there") {
  const std::string vector = "tensor<64xf32, #ttg.slice<{dim = 0, parent = #linear1}>>";
  const std::string load =
      "%lse_29 = tt.load %lse_28 : tensor<64x!tt.ptr<f32>, "
      "#ttg.slice<{dim = 0, parent = #linear1}>> loc(#loc95)\n";
  const std::string ring = "!ttg.memdesc<1x64xf32, #shared, #smem, mutable>";
  const std::string buffer = "!ttg.memdesc<64xf32, #shared, #smem, mutable>";
  const LoweredModule lowered = changed(
      "blackwell-attention-backward", load,
      "%ring = ttg.local_alloc : () -> " + ring +
          "\n      %view = ttg.memdesc_index %ring[%c0_i32] : " + ring + " -> " + buffer +
          "\n      %mine = tt.load %lse_28 : tensor<64x!tt.ptr<f32>, "
          "#ttg.slice<{dim = 0, parent = #linear1}>>\n      ttg.local_store %mine, %view : " +
          vector + " -> " + buffer + "\n      %lse_29 = ttg.local_load %view : " + buffer + " -> " +
          vector + "\n");
  const auto named = [&](std::size_t node) {
    return lowered.module.op(lowered.loop.nodes[node].op).name;
  };
  const auto& edges = lowered.loop.kernel.edges;
  CHECK(std::any_of(edges.begin(), edges.end(), [&](const KernelEdge& edge) {
    return named(edge.from) == "ttg.local_store" && named(edge.to) == "ttg.local_load" &&
           edge.distance == 0;
  }));
}

TEST_CASE("a product has the columns of its accumulator") {
  // Two SMs share the right operand, each has half of its columns and all of the product's.
  const std::string name = "blackwell-gemm-persistent";
  const Cycle whole = cycles_of(changed(name, "module", "module", 1), "ttng.tc_gen5_mma");
  const LoweredModule halved = changed(name, "-> !ttg.memdesc<64x256xf16, #shared1, #smem>",
                                       "-> !ttg.memdesc<64x128xf16, #shared1, #smem>", 1);
  CHECK(cycles_of(halved, "ttng.tc_gen5_mma") == whole);
}

TEST_CASE("a module for clusters is refused: its tiles are not one SM's") {
  for (const std::string number : {"2 : i32", "0 : i32", "two"}) try {
      changed("hopper-attention-forward", "\"ttg.num-ctas\" = 1 : i32",
              "\"ttg.num-ctas\" = " + number);
      FAIL("accepted: " << number);
    } catch (const InputError& error) {
      CHECK(error.value().starts_with("ttg.num-ctas = "));
      CHECK(error.rule().starts_with(number == "2 : i32" ? "must be 1: the tiles of a cluster"
                                                         : "must be a number from 1 to"));
    }
}

TEST_CASE("a write waits for who read the buffer, and keeps nothing in registers for that") {
  // Load, scale, store back: the chain of values orders the store after the load. An edge between
  // the two would keep the loaded tile in registers until the store.
  const Graph g("blackwell-attention-forward");
  CHECK(g.edge("acc_32", "acc_34") != nullptr);
  CHECK(g.edge("acc_34", "acc_38") != nullptr);
  CHECK(g.edge("acc_32", "acc_38") == nullptr);
  CHECK(g.edge("acc_39", "acc_38", 1) == nullptr);  // by way of the load
  // Nothing orders a product after the load of what the one before it left there: the load's
  // release does.
  const std::string text =
      kTensorMemoryModule + R"(  tt.func public @f(%a: i32, %x: !s, %true: i1) {
    %d, %t0 = ttng.tmem_alloc : () -> (!d, !ttg.async.token)
    %r = scf.for %i = %a to %a step %a iter_args(%t = %t0) -> (!ttg.async.token)  : i32 {
      %t1 = ttng.tc_gen5_mma %x, %x, %d[%t], %true, %true : !s, !s, !d
      %v, %t2 = ttng.tmem_load %d[%t1] : !d -> tensor<128x128xf32>
      %w = math.exp2 %v : tensor<128x128xf32>
      %u = math.exp2 %w : tensor<128x128xf32>
      scf.yield %t2 : !ttg.async.token
    }
    tt.return
  }
}
)";
  const LoweredModule lowered =
      lower_module(text, "t", builtin_machine("blackwell"), "blackwell", {}, {});
  const Kernel& kernel = lowered.loop.kernel;
  REQUIRE(kernel.ops.size() == 5);
  CHECK(kernel.ops[4].id == "v.release");
  const Problem& problem = lowered.problems.front().problem;
  CHECK(problem.ops[4].cycles == 0);
  CHECK(problem.ops[4].registers == 0);
  int to_product = 0;
  for (const Edge& e : problem.edges) {
    CHECK_FALSE((e.from == 1 && e.to == 0));  // load -> product of the next iteration
    if (e.from == 4 && e.to == 0 && e.distance == 1) ++to_product;
    if (e.to == 4) CHECK((e.from == 1 && e.delay == 128 && e.distance == 0));
  }
  CHECK(to_product == 1);
}

TEST_CASE("tt.disallow_acc_multi_buffer: one buffer for an accumulator of tensor memory") {
  // A product that begins anew may have a second buffer: with the attribute it waits until the one
  // before has been read, however far the loop that says so is outside.
  const auto lowered = [](const std::string& inner, const std::string& outer) {
    const std::string text = kTensorMemoryModule +
                             R"(  tt.func public @f(%a: i32, %x: !s, %true: i1) {
    %false = arith.constant false
    %d, %t0 = ttng.tmem_alloc : () -> (!d, !ttg.async.token)
    scf.for %j = %a to %a step %a  : i32 {
      %r = scf.for %i = %a to %a step %a iter_args(%t = %t0) -> (!ttg.async.token)  : i32 {
        %t1 = ttng.tc_gen5_mma %x, %x, %d[%t], %false, %true : !s, !s, !d
        %v, %t2 = ttng.tmem_load %d[%t1] : !d -> tensor<128x128xf32>
        %w = math.exp2 %v : tensor<128x128xf32>
        scf.yield %t2 : !ttg.async.token
      })" + inner + "\n    }" +
                             outer + "\n    tt.return\n  }\n}\n";
    LoopOptions options;
    options.loop = 1;
    return lower_module(text, "t", builtin_machine("blackwell"), "blackwell", options, {});
  };
  const auto waits = [&](const std::string& inner, const std::string& outer) {
    const LoweredModule l = lowered(inner, outer);
    const Problem& problem = l.problems.front().problem;
    CHECK(l.loop.kernel.ops[0].result == "tmem");  // it is charged while it is in use
    return std::count_if(problem.edges.begin(), problem.edges.end(),
                         [](const Edge& e) { return e.to == 0 && e.distance == 1 && e.from != 0; });
  };
  const std::string attribute = " {tt.disallow_acc_multi_buffer}";
  CHECK(waits("", "") == 0);
  CHECK(waits(attribute, "") == 1);
  CHECK(waits("", attribute) == 1);
}

TEST_CASE("loops: the default choice, by number, the listing") {
  const Module grouped = parse_module(test::module_text("blackwell-gemm-grouped"), "g");
  const auto loops = list_loops(grouped);
  REQUIRE(loops.size() == 2);
  CHECK(choose_loop(grouped, loops, std::nullopt) == 1);
  CHECK(choose_loop(grouped, loops, 0) == 0);
  CHECK_THROWS_AS(choose_loop(grouped, loops, 2), InputError);
  CHECK(loops[1].macs == 128 * 128 * 64);
  const Module persistent = parse_module(test::module_text("blackwell-gemm-persistent"), "p");
  CHECK(choose_loop(persistent, list_loops(persistent), std::nullopt) == 0);  // tt.warp_specialize
  CHECK(loop_listing(persistent).find("* 0  gemm_persistent") == 0);
}

TEST_CASE("every cost can be traced; a profile replaces it") {
  const Graph g("blackwell-attention-forward");
  const std::string text = explain(g.lowered);
  CHECK(text.find("SFU: cycles 16384 values / 16 = 1024") != std::string::npos);
  CHECK(text.find("TC: cycles 2097152 macs / 4096 = 512") != std::string::npos);
  LoopOptions options;
  options.profile = parse_profile(
      R"({"format": "twill.profile", "version": 1,
          "ops": {"math.exp2": {"cycles": 900, "latency": 950}, "p_21": 77, "gemm": 600}})",
      "profile");
  const LoweredModule measured =
      lower_module(test::module_text("blackwell-attention-forward"), "m",
                   builtin_machine("blackwell"), "blackwell", options, {});
  const auto op = [&](const std::string& id) {
    for (const Op& o : measured.problems.front().problem.ops)
      if (o.id == id) return o;
    return Op();
  };
  CHECK(op("p_25").cycles == 900);
  CHECK(op("p_25").registers == 128);
  CHECK(op("p_25").width == 4);
  CHECK(op("p_21").cycles == 77);
  CHECK(op("s_15").cycles == 600);
  CHECK(op("s_15").footprints.size() == 1);
  CHECK(explain(measured).find("measured: profile entry math.exp2") != std::string::npos);
  CHECK_THROWS_AS(
      parse_profile(R"({"format": "twill.profile", "version": 1, "ops": {"a": 0}})", "p"),
      InputError);
}

TEST_CASE("b200-latency: the measured table") {
  const Graph g("blackwell-attention-forward", 1, "b200-latency");
  const auto costed = [&](const std::string& id) {
    return cost_op(g.kernel, g.lowered.machine, g.at(id));
  };
  CHECK(costed("s_15").occupancy == 512);
  CHECK(costed("s_15").latency == 900);  // K = 128
  // 32 KiB in rows of 256 bytes: one instruction of inner bytes.
  CHECK(costed("k_12").latency == 460 + 6 * 32);
  CHECK(costed("k_12").occupancy == 6 * 32);
  CHECK(costed("s_16").latency == 532);
  CHECK(costed("s_16").occupancy == 256);
  CHECK(costed("m_new_18").latency == 461);
  CHECK(costed("m_new_18").occupancy == 304);
  CHECK(costed("l_28").latency == 1691);
  CHECK(costed("p_25").occupancy == 1024);
  CHECK(costed("p_25").latency == 1140);
  CHECK(costed("acc_36").occupancy == 64);
  CHECK(costed("p_25").op.spill == 153 + 2 * 512);  // 64 KiB in lines of 128 bytes
  CHECK(costed("s_15").op.spill == 92);
  const Graph mlp("blackwell-gemm-grouped", 1, "b200-latency");
  CHECK(cost_op(mlp.kernel, mlp.lowered.machine, 5).latency == 559);  // K = 64
}

TEST_CASE("every shipped module becomes problems on its machine") {
  for (const std::string& name : test::shipped_modules()) {
    CAPTURE(name);
    const LoweredModule lowered = test::lowered(name);
    CHECK(!lowered.problems.empty());
    CHECK(explain(lowered).size() > 100);
    for (const std::string& warning : lowered.loop.warnings)
      CHECK(warning.find("unknown op") == std::string::npos);
  }
}

}  // namespace ttgir_graph_test
