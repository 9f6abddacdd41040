// Kernels through the C++ interface: which schedule is taken, and what is not emitted.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/include/twill_emit.hpp"
#include "engine/include/twill_triton.hpp"
#include "graph/emit/gluon.hpp"
#include "graph/io/file.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/unroll.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/ttgir_files.hpp"

namespace kernel_emit_test {

using namespace twill;

TEST_CASE("a kernel is emitted, and its program alone gives the same code") {
  const ProgramSource source = program_source("gemm", "hopper");
  const EmittedKernel kernel = emit_kernel(source, {.to = "cuda", .machine = "hopper"});
  REQUIRE(!kernel.text.empty());
  REQUIRE(kernel.result.made);
  const MadeProgram& made = *kernel.result.made;
  CHECK(kernel.result.missing == Missing::nothing);
  CHECK(made.program.status == "optimal");
  CHECK(!program::judge(made.program));
  const auto alone = emit_program(made.program, {.to = "cuda", .machine = "hopper"});
  REQUIRE(std::holds_alternative<std::string>(alone));
  CHECK(std::get<std::string>(alone) == kernel.text);
}

TEST_CASE("of a schedule that is given, no other is tried") {
  const ProgramSource source = program_source("gemm", "hopper");
  const LayoutsSolution all = solve_layouts(source.layouts, {});
  REQUIRE(all.solution().schedule);
  const ProgramResult given = program_of(source, all.chosen, all.solution());
  REQUIRE(given.made);
  CHECK(given.made->program.problem_sha256 == sha256(problem_text(all.layout().problem)));
  CHECK(std::holds_alternative<std::string>(emit_program(*given.made)));
  CHECK_THROWS_AS(program_of(source, source.layouts.size(), all.solution()), InputError);
  CHECK_THROWS_AS(program_of(source, 0, Solution{}), InputError);
}

// A program of a module knows where results lie, and asks for orders that the problem need not
// have. Those of data are the same: a tile that a product reads in memory was once taken for its
// copy in registers, so that the best schedule of two modules was refused (2026-11-29).
TEST_CASE("the best schedule of a module keeps all orders of data that its program has") {
  std::vector<std::string> files;
  for (const char* folder :
       {TWILL_TEST_DATA "/ttgir", TWILL_TEST_DATA "/../../graph/kernels/triton"})
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".ttgir") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  Options few;
  few.conflict_limit = 500;
  int looked_at = 0;
  for (std::size_t k = 0; k < files.size(); k += test::kSanitized ? 9 : 1) {
    CAPTURE(files[k]);
    const ProgramSource source = program_source(read_triton(read_file(files[k]), files[k], {}));
    const LayoutsSolution all = solve_layouts(source.layouts, few);
    if (!all.solution().schedule) continue;
    const ProgramResult made = program_of(source, all.chosen, all.solution());
    CHECK(!made.why.starts_with("schedule"));
    ++looked_at;
  }
  CHECK(looked_at > (test::kSanitized ? 20 : 110));
}

namespace {

/// The text of a program whose slots get no fewer than `least` registers beside their tiles.
std::variant<emit::GluonKernel, program::Refusal> with_least(const MadeProgram& made, int least) {
  emit::EmitOptions options;
  options.machine = "the machine of its program";
  options.version = version();
  options.least_resident = least;
  options.user = &made.module_meaning->kernel;
  return emit::emit_gluon(made.program, options);
}

/// Registers that the warpgroups of a launch have together: warps of workers are padded to whole
/// warpgroups, each of which has the most that one of its partitions asks for.
int registers_of(const emit::Launch& launch) {
  const emit::LaunchFacts facts = emit::launch_facts(launch);
  std::map<int, int> of_group;
  const std::vector<int> groups = emit::warpgroups(launch);
  for (std::size_t k = 0; k < groups.size(); ++k)
    of_group[groups[k]] = std::max(of_group[groups[k]], facts.workers[k]);
  int all = launch.first.warps * 32 * facts.first_registers;
  for (const auto& [group, registers] : of_group) all += 128 * registers;
  return all;
}

}  // namespace

// The slots of alibi-forward on Blackwell want more registers than a launch has on its best
// schedule, and where goals are asked for no other one is tried: the text comes from the last way
// alone.
TEST_CASE("where no schedule has registers for all slots, each gets fewer beside its tiles") {
  const std::string file = TWILL_TEST_DATA "/ttgir/alibi-forward-blackwell.ttgir";
  const ProgramSource source = program_source(read_triton(read_file(file), file, {}));
  ProgramOptions few;
  few.search.conflict_limit = 300;
  few.search.goals = {"registers"};
  const EmittedKernel kernel = emit_kernel(source, {.to = "gluon"}, few);
  REQUIRE_MESSAGE(!kernel.text.empty(), kernel.result.why);
  REQUIRE(kernel.result.made);
  const MadeProgram& made = *kernel.result.made;
  // As other programs are written it is refused, and not for memory.
  const auto plain = emit_program(made, {.to = "gluon"});
  const auto* no = std::get_if<program::Refusal>(&plain);
  REQUIRE(no != nullptr);
  CHECK(no->rule == "limits");
  CHECK(!no->needs_shared);
  CHECK(std::holds_alternative<program::Refusal>(with_least(made, emit::kLeastResident)));
  // The first number that does is taken: fewer ones would give the same text.
  for (const int least : {8, 4}) {
    const auto text = with_least(made, least);
    REQUIRE(std::holds_alternative<emit::GluonKernel>(text));
    const auto& written = std::get<emit::GluonKernel>(text);
    CHECK(written.text == kernel.text);
    CHECK(registers_of(written.launch) <= 65'536);
  }
}

TEST_CASE("fewer registers beside tiles change no text that is written without them") {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TWILL_TEST_DATA "/ttgir"))
    if (entry.path().extension() == ".ttgir") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  ProgramOptions few;
  few.search.conflict_limit = 200;
  int written = 0, last_way = 0;
  for (std::size_t k = 0; k < files.size(); k += test::kSanitized ? 9 : 1) {
    CAPTURE(files[k]);
    const ProgramSource source = program_source(read_triton(read_file(files[k]), files[k], {}));
    const ProgramResult best = best_program(source, few);
    if (!best.made || !best.made->module_meaning) continue;
    const auto enough = with_least(*best.made, emit::kLeastResident);
    const auto fewer = with_least(*best.made, 4);
    const auto* text = std::get_if<emit::GluonKernel>(&fewer);
    if (const auto* first = std::get_if<emit::GluonKernel>(&enough)) {
      ++written;
      REQUIRE(text != nullptr);
      CHECK(text->text == first->text);
    } else {
      // It helps where registers are lacking, and nowhere else.
      const auto& no = std::get<program::Refusal>(enough);
      if (text != nullptr) CHECK(no.rule == "limits");
      if (text != nullptr) CHECK(!no.needs_shared);
      last_way += text != nullptr;
    }
  }
  CHECK(written > (test::kSanitized ? 12 : 60));
  if (!test::kSanitized) CHECK(last_way >= 1);
}

TEST_CASE("what is kept back is no part of the problem that the program is of") {
  const ProgramSource source = program_source("gemm", "hopper");
  ProgramOptions less;
  less.kept_back = 4'096;
  const ProgramResult whole = best_program(source), kept = best_program(source, less);
  REQUIRE(whole.made);
  REQUIRE(kept.made);
  CHECK(whole.made->program.problem_sha256 == kept.made->program.problem_sha256);
}

TEST_CASE("where addresses cost something, the best of all layouts is proved with them") {
  LowerOptions paper;
  paper.reading = Reading::paper;
  const ProgramSource source = program_source("blackwell-bwd", "blackwell", paper);
  REQUIRE(source.layouts.size() > 1);
  const ProgramResult best = best_program(source);
  REQUIRE(best.made);
  const program::Program& program = best.made->program;
  REQUIRE(program.placed);
  CHECK(program.placed->reached);
  CHECK(program.status == "feasible");
  CHECK(program.initiation_interval == 4'608);
  CHECK(program.ii_lower_bound == 4'096);
  // Layout by layout.
  std::pair<Cycle, Cycle> least{kMaxInterval, 0};
  for (const Lowered& layout : source.layouts) {
    const Solution found = solve(layout.problem);
    if (!found.schedule) continue;
    const ProgramSolution one = solve_program(layout.problem, found);
    if (!std::holds_alternative<program::Program>(one.program)) continue;
    CHECK((one.solution.status == Status::optimal || (one.placed && one.placed->reached)));
    const Schedule& schedule = *one.solution.schedule;
    least = std::min(least, std::pair(schedule.initiation_interval, schedule.length));
  }
  CHECK(least == std::pair(program.initiation_interval, program.placed->length));
  // With memory kept back it is another problem, of which nothing is said.
  ProgramOptions less;
  less.kept_back = 4'096;
  const ProgramResult kept = best_program(source, less);
  REQUIRE(kept.made);
  CHECK(!kept.made->program.placed);
}

TEST_CASE("where no schedule of the best layout has a program, another layout's is taken") {
  int none = 0;
  for (std::uint64_t seed = 0; none < 4; ++seed) {
    CAPTURE(seed);
    REQUIRE(seed < 2'000);
    const Problem p = test::scarce_loop(seed);
    const Solution found = solve(p);
    if (found.status != Status::optimal || !solve_program(p, found).none_placed) continue;
    ++none;
    Lowered tight, slow;
    tight.problem = slow.problem = p;
    tight.layout = "tight";
    slow.layout = "slow";
    for (Memory& memory : slow.problem.memories) memory.capacity *= 64;
    const Cycle later = 4 * found.schedule->initiation_interval + 1;
    const int last = static_cast<int>(p.ops.size()) - 1;
    slow.problem.edges.push_back({last, last, later, 1, false, 0});
    ProgramSource source;
    source.layouts = {tight};
    const ProgramResult alone = best_program(source);
    CHECK(!alone.made);
    CHECK(alone.missing == Missing::program);
    CHECK(alone.why.find("it is proved that no program of a schedule fits in memory") !=
          std::string::npos);
    source.layouts = {tight, slow};
    const ProgramResult both = best_program(source);
    REQUIRE_MESSAGE(both.made, both.why);
    const program::Program& program = both.made->program;
    CHECK(program.initiation_interval >= later);
    CHECK(program.status == "feasible");
    CHECK(program.ii_lower_bound == found.schedule->initiation_interval);
    CHECK(both.made->problem == slow.problem);
    CHECK(both.remarks.front() == "best: layout slow");
    // Of the first layout no schedule counts, so that the other's best is the best of all.
    REQUIRE(program.placed);
    CHECK(program.placed->reached);
    CHECK(program.placed->initiation_interval == program.initiation_interval);
  }
}

TEST_CASE("a schedule with too many stages gives way to the best of fewer") {
  // Two loads of 5,000 cycles, an op of 16: more than three hundred iterations are under way.
  Problem p;
  p.name = "deep";
  p.units = {{"U", 1}};
  p.memories = {{"smem", 1'000'000}};
  p.warps = {{"load", 1, 0, true}, {"wg", 4, 200, false}};
  for (const char* id : {"a", "b", "sum"}) {
    Op op;
    op.id = id;
    op.kind = "load";
    op.variable_latency = op.in_flight = true;
    op.footprints = {{0, 16}};
    p.ops.push_back(op);
  }
  p.ops[2] = {};
  p.ops[2].id = "sum";
  p.ops[2].kind = "add";
  p.ops[2].cycles = 16;
  p.ops[2].width = 4;
  p.ops[2].registers = 1;
  p.ops[2].reservations = {{0, 0, 16, 1}};
  p.edges = {{0, 2, 5'000, 0, true, 0}, {1, 2, 4'900, 0, true, 0}, {2, 2, 16, 1, false, 0}};
  ProgramSource source;
  source.layouts.resize(1);
  source.layouts[0].problem = p;
  source.layouts[0].layout = "deep";
  const ProgramResult best = best_program(source);
  REQUIRE_MESSAGE(best.made, best.why);
  CHECK(best.made->program.searched_only == "of at most 32 stages");
  CHECK(best.made->program.status == "optimal");
  CHECK(best.made->program.initiation_interval >= 5'000 / 32);
  CHECK(best.remarks.back().find("too many for a program") != std::string::npos);
  // As asked for.
  ProgramOptions some;
  some.search.search_stages = StageChoice{StageChoice::limited, 32};
  const ProgramResult asked = best_program(source, some);
  REQUIRE(asked.made);
  CHECK(program::program_text(asked.made->program) == program::program_text(best.made->program));
  CHECK(asked.remarks.size() + 1 == best.remarks.size());
  // A schedule that is given keeps its stages.
  const Solution deepest = solve(p);
  REQUIRE(deepest.schedule);
  CHECK(stage_count(*deepest.schedule) > 100);
  CHECK(program_of(source, 0, deepest).missing == Missing::program);
}

TEST_CASE("a module's loop is its function; where its best schedule is refused another is taken") {
  const std::string text = test::module_text("hopper-attention-forward");
  TritonOptions two;
  two.subtile = 2;
  const ProgramSource source = program_source(read_triton(text, "module", "", two));
  const ProgramResult best = best_program(source);
  REQUIRE(best.made);
  REQUIRE(best.made->module_meaning);
  const auto first = emit_program(*best.made);
  const EmittedKernel kernel = emit_kernel(source);
  REQUIRE_MESSAGE(!kernel.text.empty(), kernel.result.why);
  CHECK(kernel.result.made->program.ii_lower_bound == best.made->program.ii_lower_bound);
  CHECK(kernel.text.find("attention_forward = UserKernel()") != std::string::npos);
  const auto* as_asked = std::get_if<std::string>(&first);
  CHECK((as_asked == nullptr || *as_asked != kernel.text));
}

TEST_CASE("a module's loop with two iterations in one") {
  ProgramSource source =
      program_source(read_triton(test::module_text("hopper-attention-forward"), "module"));
  for (Lowered& layout : source.layouts) unroll(layout, 2);
  source.unroll = 2;
  const EmittedKernel kernel = emit_kernel(source);
  REQUIRE_MESSAGE(!kernel.text.empty(), kernel.result.why);
  CHECK(kernel.result.made->module_meaning->kernel.unrolled == 2);
  CHECK(kernel.text.find("must be a multiple of 2") != std::string::npos);
  CHECK(kernel.text.find("One iteration here is 2 of the function's") != std::string::npos);
  // Blocks of rows with a causal mask have other numbers of iterations.
  source = program_source(read_triton(test::module_text("blackwell-attention-causal"), "module"));
  for (Lowered& layout : source.layouts) unroll(layout, 2);
  source.unroll = 2;
  const EmittedKernel none = emit_kernel(source);
  CHECK(none.result.made);
  CHECK(none.result.missing == Missing::text);
  CHECK(none.result.why.find("not the same for all programs of the grid") != std::string::npos);
}

TEST_CASE("all texts of a module's kernel are of one schedule") {
  const ProgramSource source =
      program_source(read_triton(test::module_text("blackwell-attention-forward-sub2"), "module"));
  KernelOptions options;
  options.to = "ttgir-ws";
  const EmittedKernel most = emit_kernel(source, options);
  REQUIRE_MESSAGE(!most.text.empty(), most.result.why);
  REQUIRE(most.text.find("For n >= 1 iterations") != std::string::npos);
  for (const int trips : {0, 1}) {
    options.for_trips = trips;
    const EmittedKernel one = emit_kernel(source, options);
    REQUIRE(one.result.made);
    CHECK(program::program_text(one.result.made->program) ==
          program::program_text(most.result.made->program));
    // With one iteration it is the text for all others: another schedule would have one of its own.
    CHECK(one.text.empty() == (trips == 1));
  }
}

TEST_CASE("what is missing is named") {
  const EmittedKernel bare = emit_kernel(program_source("figure-1", "figure-1"));
  CHECK(bare.text.empty());
  CHECK(bare.result.missing == Missing::text);
  CHECK(bare.result.why.find("meaning: ") == 0);
  CHECK(bare.result.made);
  // Of a module whose meaning is not read: why, once, for callers who print the reason alone.
  const EmittedKernel part = emit_kernel(
      program_source(read_triton(test::module_text("ampere-gemm-pipelined"), "module")));
  CHECK(part.text.empty());
  CHECK(part.result.why.find("; what the loop computes is not known: ttg.async_copy") !=
        std::string::npos);
  for (const std::string& remark : part.result.remarks)
    CHECK(remark.find("is not known") == std::string::npos);
  ProgramOptions fast;
  fast.search.ii = 1;
  const EmittedKernel none = emit_kernel(program_source("gemm", "hopper"), {}, fast);
  CHECK(none.result.missing == Missing::schedule);
  CHECK(none.result.status == Status::infeasible);
  CHECK(!none.result.made);
}

TEST_CASE("options that a language does not have, sources that are none") {
  const ProgramSource source = program_source("gemm", "hopper");
  CHECK_THROWS_AS(emit_kernel(source, {.to = "ptx"}), InputError);
  CHECK_THROWS_AS(emit_kernel(source, {.to = "cuda", .for_trips = 1}), InputError);
  CHECK_THROWS_AS(emit_kernel(source, {.to = "gluon", .triton = "3.9.0"}), InputError);
  CHECK_THROWS_AS(emit_kernel(source, {.to = "ttgir-ws", .triton = "3.8.0"}), InputError);
  check_options({.to = "ttgir-ws", .triton = "3.9.0"});
  CHECK_THROWS_AS(best_program({}), InputError);
  ProgramSource wrong = source;
  wrong.hashes = {"a", "b", "c", "d", "e", "f", "g"};
  CHECK_THROWS_AS(best_program(wrong), InputError);
  CHECK_THROWS_AS(program_source("no-such-kernel", "hopper"), InputError);
}

TEST_CASE("a function that may return before its loop is not written as one that never does") {
  std::string text = test::module_text("hopper-gemm-persistent");
  const std::size_t function = text.find("tt.func"), line = text.find("{\n", function);
  REQUIRE(function != std::string::npos);
  REQUIRE(line != std::string::npos);
  TritonOptions options;
  options.loop = 1;
  const EmittedKernel whole = emit_kernel(program_source(read_triton(text, "module", "", options)));
  CHECK_MESSAGE(!whole.text.empty(), whole.result.why);
  text.insert(line + 2, R"(    %early_id = tt.get_program_id x : i32
    %early_end = arith.constant 100 : i32
    %early = arith.cmpi sge, %early_id, %early_end : i32
    cf.cond_br %early, ^bb1, ^bb2
  ^bb1:  // pred: ^bb0
    tt.return
  ^bb2:  // pred: ^bb0
)");
  const EmittedKernel none = emit_kernel(program_source(read_triton(text, "module", "", options)));
  CHECK(none.text.empty());
  CHECK(none.result.why.find("the function branches from block to block") != std::string::npos);
  // No schedule changes that, and no other one is searched for.
  REQUIRE(none.result.made);
  const auto text_of_best = emit_program(*none.result.made);
  REQUIRE(std::holds_alternative<program::Refusal>(text_of_best));
  CHECK(std::get<program::Refusal>(text_of_best).of_loop);
}

// (The refusal comes from where places are made texts, before there is a plan.)
TEST_CASE("places that an argument moves on from iteration to iteration are refused, not thrown") {
  std::string text = read_file(TWILL_TEST_DATA "/ttgir/ragged.ttgir");
  const auto replace = [&](const std::string& from, const std::string& to) {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  replace("%width: i32) {", "%width: i32, %step: i32) {");
  replace("    %step = arith.constant 16 : i32\n", "");
  const EmittedKernel none = emit_kernel(program_source(read_triton(text, "module")));
  CHECK(none.text.empty());
  CHECK(none.result.why.find("the launch alone knows") != std::string::npos);
}

TEST_CASE("a loop that each slot repeats has no ops: of a copy in it no op is asked") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/welford-hopper.ttgir");
  const EmittedKernel kernel = emit_kernel(program_source(read_triton(text, "module")), {});
  CHECK_MESSAGE(!kernel.text.empty(), kernel.result.why);
}

TEST_CASE("what one store behind the loop needs is on one slot, where it has to be") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/swiglu-hopper.ttgir");
  TritonOptions halves;
  halves.subtile = 2;
  const auto slots = [](const program::Program& program) {
    std::map<std::string, int> found;
    for (const program::Op& op : program.ops)
      for (const std::string part : {"s0_one", "s0_two", "s1_one", "s1_two"})
        if (op.id.starts_with(part)) found[part] = op.slot;
    return found;
  };
  const ProgramSource source = program_source(read_triton(text, "module", "", halves));
  const EmittedKernel kernel = emit_kernel(source, {});
  REQUIRE_MESSAGE(!kernel.text.empty(), kernel.result.why);
  auto made = slots(kernel.result.made->program);
  REQUIRE(made.size() == 4);
  CHECK(made["s0_one"] == made["s0_two"]);
  CHECK(made["s1_one"] == made["s1_two"]);
  // Both tiles whole take more registers than a thread has: one is handed on behind the loop, at
  // the least I.
  const ProgramSource undivided = program_source(read_triton(text, "module"));
  const EmittedKernel whole = emit_kernel(undivided, {});
  REQUIRE_MESSAGE(!whole.text.empty(), whole.result.why);
  CHECK(whole.result.made->program.initiation_interval == 1'024);
  CHECK(whole.text.find("_last = gl.allocate_shared_memory(gl.float32, [128, ") !=
        std::string::npos);
  // What is written of a program alone has no such leeway.
  const auto alone = emit_program(*whole.result.made);
  REQUIRE(std::holds_alternative<program::Refusal>(alone));
  CHECK(std::get<program::Refusal>(alone).rule == "storage");
}

TEST_CASE("products of Hopper are on the slots of who uses them, where the text needs that") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/attention-latent-hopper.ttgir");
  const ProgramSource source = program_source(read_triton(text, "module"));
  const ProgramResult best = best_program(source);
  REQUIRE(best.made);
  const auto alone = emit_program(*best.made);
  REQUIRE(std::holds_alternative<program::Refusal>(alone));
  CHECK(std::get<program::Refusal>(alone).rule == "handed product");
  const EmittedKernel kernel = emit_kernel(source, {});
  REQUIRE_MESSAGE(!kernel.text.empty(), kernel.result.why);
  CHECK(kernel.result.made->program.initiation_interval >= best.made->program.initiation_interval);
}

TEST_CASE("ops that are to be on one slot are, and the problem is the one without that") {
  const ProgramSource source = program_source("blackwell-fwd-plain", "blackwell");
  const ProgramResult free = best_program(source);
  REQUIRE(free.made);
  const program::Program& program = free.made->program;
  ProgramOptions together;
  for (const program::Op& one : program.ops)
    for (const program::Op& other : program.ops)
      if (together.together.empty() && one.slot != other.slot && one.id == "mul_l" &&
          other.id == "add_l")
        together.together.emplace_back(one.id, other.id);
  REQUIRE(!together.together.empty());
  together.together.emplace_back("no such op", program.ops[0].id);  // left out
  const ProgramResult pinned = best_program(source, together);
  REQUIRE(pinned.made);
  const auto slot = [&](const std::string& id) {
    for (const program::Op& op : pinned.made->program.ops)
      if (op.id == id) return op.slot;
    return -1;
  };
  CHECK(slot(together.together[0].first) == slot(together.together[0].second));
  CHECK(pinned.made->program.problem_sha256 == program.problem_sha256);
}

}  // namespace kernel_emit_test
