// The C interface to any input: what-ifs, modules, nests, pins, and why. Each beside the command.

#include <doctest/doctest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine/include/twill.h"
#include "graph/lower.hpp"
#include "tests/support/c_api_handles.hpp"
#include "tests/support/ttgir_files.hpp"

namespace c_api_workload_test {

using Json = nlohmann::json;
using twill::test::Handles;
using twill::test::workload;

namespace {

bool has(const char* text, const char* part) {
  return std::string(text).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a what-if changes the answer, and a wrong one is refused with its place") {
  twill_workload w = workload("fmha-forward", "blackwell");
  Handles plain, twice, bad;
  REQUIRE(twill_workload_solve(&w, nullptr, &plain.problem, &plain.solution) == TWILL_OK);
  w.set = "units.SFU=2";
  REQUIRE(twill_workload_solve(&w, nullptr, &twice.problem, &twice.solution) == TWILL_OK);
  CHECK(twill_solution_ii(twice.solution) < twill_solution_ii(plain.solution));
  w.set = "units.SFX=2";
  CHECK(twill_workload_solve(&w, nullptr, &bad.problem, &bad.solution) == TWILL_BAD_INPUT);
  CHECK(has(twill_problem_error(bad.problem), "units.SFX"));
  CHECK(bad.solution == nullptr);
}

TEST_CASE("what a workload must be") {
  const auto refused = [](const twill_workload& w, const char* part) {
    Handles h;
    CHECK(twill_workload_lower(&w, &h.problem) == TWILL_BAD_INPUT);
    CHECK_MESSAGE(has(twill_problem_error(h.problem), part), twill_problem_error(h.problem));
  };
  refused(workload(nullptr, "hopper"), "input");
  refused(workload("fmha-forward", nullptr), "machine");
  refused(workload("no-such-kernel", "hopper"), "no-such-kernel");
  twill_workload w = workload("fmha-forward", "hopper");
  w.set = "SFU";
  refused(w, "path=value");
  w = workload("fmha-forward", "hopper");
  w.normalize = -1;
  refused(w, "normalize");
  w = workload("fmha-forward", "hopper");
  w.reading = "guess";
  refused(w, "reading");
  w = workload("fmha-forward", "hopper");
  w.size = 1;
  refused(w, "size");
  Handles h;
  CHECK(twill_workload_lower(nullptr, &h.problem) == TWILL_BAD_INPUT);
  twill_workload_init(nullptr);
}

TEST_CASE("an older caller's shorter struct has the rest by default") {
  twill_workload w = workload("fmha-forward", "hopper");
  w.size = offsetof(twill_workload, layout);
  w.normalize = -1;  // beyond its end: not read
  Handles h;
  CHECK(twill_workload_lower(&w, &h.problem) == TWILL_OK);
}

TEST_CASE("a Triton module is solved, handed back and read") {
  const std::string text = twill::test::module_text("hopper-attention-forward");
  twill_workload w = workload(text.c_str(), nullptr);
  w.for_triton = 1;
  Handles h;
  REQUIRE(twill_workload_solve(&w, nullptr, &h.problem, &h.solution) == TWILL_OK);
  REQUIRE(twill_solution_status(h.solution) == TWILL_OPTIMAL);
  CHECK(twill_verify(h.problem, h.solution) == TWILL_OK);
  REQUIRE(twill_ttgir_emit(&w, h.problem, h.solution, "ttgir", &h.report) == TWILL_OK);
  CHECK(has(twill_report_text(h.report), "loop.stage"));
  Handles again;
  REQUIRE(twill_ttgir_emit(&w, h.problem, h.solution, "pipelined", &again.report) == TWILL_OK);
  CHECK(has(twill_report_text(again.report), "prologue"));
  Handles bad, other;
  CHECK(twill_ttgir_emit(&w, h.problem, h.solution, "ptx", &bad.report) == TWILL_BAD_INPUT);
  CHECK(has(twill_report_error(bad.report), "ttgir or pipelined"));
  const twill_workload kernel = workload("gemm", "hopper");
  REQUIRE(twill_workload_solve(&kernel, nullptr, &other.problem, &other.solution) == TWILL_OK);
  CHECK(twill_ttgir_emit(&w, other.problem, other.solution, "ttgir", &other.report) ==
        TWILL_BAD_INPUT);

  Handles loops, costs;
  REQUIRE(twill_ttgir_loops(text.data(), text.size(), &loops.report) == TWILL_OK);
  CHECK(has(twill_report_text(loops.report), "line"));
  REQUIRE(twill_workload_costs(&w, &costs.report) == TWILL_OK);
  CHECK(has(twill_report_text(costs.report), "dot"));
  w.subtile = 3;
  Handles three;
  CHECK(twill_workload_lower(&w, &three.problem) == TWILL_BAD_INPUT);
  CHECK(has(twill_problem_error(three.problem), "subtile"));
}

TEST_CASE("a nest: an inner loop by its ops, and one that a module names") {
  const std::string text = twill::test::module_text("hopper-gemm-persistent");
  twill_workload w = workload(text.c_str(), nullptr);
  Handles h;
  REQUIRE(twill_workload_nest(&w, nullptr, nullptr, &h.problem, &h.solution, &h.inner) == TWILL_OK);
  CHECK(twill_solution_ii(h.inner) > 0);
  CHECK(twill_solution_ii(h.solution) > twill_solution_ii(h.inner));
  CHECK(twill_verify(h.problem, h.solution) == TWILL_OK);
  Handles named;
  CHECK(twill_workload_nest(&w, "a", nullptr, &named.problem, &named.solution, &named.inner) ==
        TWILL_BAD_INPUT);
  w = workload("gemm", "hopper");
  Handles none, unknown;
  CHECK(twill_workload_nest(&w, nullptr, nullptr, &none.problem, &none.solution, &none.inner) ==
        TWILL_BAD_INPUT);
  CHECK(twill_workload_nest(&w, "no_op", nullptr, &unknown.problem, &unknown.solution,
                            &unknown.inner) == TWILL_BAD_INPUT);
}

TEST_CASE("pins of every kind, and what none may be") {
  Handles h;
  REQUIRE(twill_problem_lower("hopper-fwd-sub2", "hopper", nullptr, 0, &h.problem) == TWILL_OK);
  const std::string op = twill_problem_op_id(h.problem, 0);
  const std::string other = twill_problem_op_id(h.problem, 1);
  const std::string slot = twill_problem_slot_name(h.problem, 0);
  const auto pinned = [&](const char* kind, const std::string& value) {
    twill_problem* made = nullptr;
    const twill_result result =
        twill_problem_pin(h.problem, kind, op.c_str(), value.c_str(), &made);
    if (result == TWILL_OK) {
      CHECK(std::string(twill_problem_json(made)) != twill_problem_json(h.problem));
    }
    twill_problem_free(made);
    return result;
  };
  CHECK(pinned("not_slot", slot) == TWILL_OK);
  CHECK(pinned("cycle", "12") == TWILL_OK);
  CHECK(pinned("stage", "1") == TWILL_OK);
  CHECK(pinned("same_slot", other) == TWILL_OK);
  CHECK(pinned("other_slot", other) == TWILL_OK);
  CHECK(pinned("least_ii", "3000") == TWILL_OK);
  CHECK(pinned("most_ii", "9000") == TWILL_OK);
  CHECK(pinned("slot", "nowhere") == TWILL_BAD_INPUT);
  CHECK(pinned("cycle", "-1") == TWILL_BAD_INPUT);
  CHECK(pinned("cycle", "1e3") == TWILL_BAD_INPUT);
  CHECK(pinned("same_slot", "nobody") == TWILL_BAD_INPUT);
  CHECK(pinned("colour", "red") == TWILL_BAD_INPUT);
  CHECK(pinned(nullptr, "1") == TWILL_BAD_INPUT);
  Handles solved;
  REQUIRE(twill_problem_pin(h.problem, "least_ii", nullptr, "3000", &solved.problem) == TWILL_OK);
  REQUIRE(twill_solve(solved.problem, nullptr, &solved.solution) == TWILL_OK);
  CHECK(twill_solution_ii(solved.solution) >= 3000);
}

TEST_CASE("why, what binds, how sensitive, what differs") {
  Handles h;
  REQUIRE(twill_problem_lower("hopper-fwd-plain", "hopper", nullptr, 300, &h.problem) == TWILL_OK);
  REQUIRE(twill_solve(h.problem, nullptr, &h.solution) == TWILL_OK);
  {
    Handles r;
    REQUIRE(twill_evaluate(h.problem, h.solution, &r.report) == TWILL_OK);
    const Json json = Json::parse(twill_report_text(r.report));
    CHECK(json["initiation_interval"] == twill_solution_ii(h.solution));
    CHECK(json["slots"].size() == twill_problem_slot_count(h.problem));
    CHECK_FALSE(json.contains("violations"));
    CHECK(json["bounds"][0]["value"] <= twill_solution_ii(h.solution));
  }
  {
    Handles r;
    REQUIRE(twill_explain(h.problem, 0, nullptr, &r.report) == TWILL_OK);
    const Json json = Json::parse(twill_report_text(r.report));
    CHECK(json["initiation_interval"] == twill_solution_ii(h.solution) - 1);
    CHECK(json["verdict"] == "unsat");
    CHECK_FALSE((json["clash"].empty() && json["forced_by"].empty()));
    Handles reached, bad;
    CHECK(twill_explain(h.problem, twill_solution_ii(h.solution), nullptr, &reached.report) ==
          TWILL_REFUSED);
    CHECK(has(twill_report_error(reached.report), "can be reached"));
    CHECK(twill_explain(h.problem, -1, nullptr, &bad.report) == TWILL_BAD_INPUT);
  }
  {
    Handles r;
    REQUIRE(twill_sensitivity(h.problem, h.solution, nullptr, &r.report) == TWILL_OK);
    const Json json = Json::parse(twill_report_text(r.report));
    REQUIRE(json.is_array());
    for (const Json& range : json) CHECK(range["least"] <= range["cycles"]);
  }
  // A schedule that breaks a rule: the last op a cycle later, and L not.
  Json later = Json::parse(twill_solution_json(h.solution));
  Json* last = &later["ops"][0];
  for (Json& op : later["ops"])
    if (op["start"] > (*last)["start"]) last = &op;
  (*last)["start"] = (*last)["start"].get<int>() + 1;
  const std::string text = later.dump();
  Handles moved, r, evaluated;
  REQUIRE(twill_solution_parse(h.problem, text.data(), text.size(), &moved.solution) == TWILL_OK);
  CHECK(twill_diff(h.problem, h.solution, moved.solution, &r.report) == TWILL_BAD_INPUT);
  REQUIRE(twill_evaluate(h.problem, moved.solution, &evaluated.report) == TWILL_OK);
  CHECK(Json::parse(twill_report_text(evaluated.report))["accepted"] == false);
  CHECK(twill_sensitivity(h.problem, moved.solution, nullptr, nullptr) == TWILL_BAD_INPUT);
}

TEST_CASE("two schedules of a problem") {
  Handles h, pinned, r;
  REQUIRE(twill_solve_kernel("hopper-fwd-sub2", "hopper", 300, 0, nullptr, &h.problem,
                             &h.solution) == TWILL_OK);
  // An op on another slot, where there is such a schedule: it is one of this problem.
  std::string moved;
  const Json schedule = Json::parse(twill_solution_json(h.solution));
  for (const Json& op : schedule["ops"]) {
    Handles one;
    REQUIRE(twill_problem_pin(h.problem, "not_slot", op["id"].get<std::string>().c_str(),
                              op["warp"].get<std::string>().c_str(), &one.problem) == TWILL_OK);
    REQUIRE(twill_solve(one.problem, nullptr, &one.solution) == TWILL_OK);
    if (twill_solution_ii(one.solution) == 0) continue;
    moved = op["id"];
    std::swap(one.problem, pinned.problem);
    std::swap(one.solution, pinned.solution);
    break;
  }
  REQUIRE_FALSE(moved.empty());
  REQUIRE(twill_diff(h.problem, h.solution, pinned.solution, &r.report) == TWILL_OK);
  const Json json = Json::parse(twill_report_text(r.report));
  CHECK(json["numbers"][0]["a"] == twill_solution_ii(h.solution));
  CHECK(json["numbers"][0]["b"] == twill_solution_ii(pinned.solution));
  bool differs = false;
  for (const Json& op : json["ops"]) differs = differs || op["id"] == moved;
  CHECK(differs);
}

TEST_CASE("one more slot, pins on every layout, parts of a reading") {
  twill_workload w = workload("hopper-fwd-sub2", "hopper");
  w.layout = "2x4";
  w.more = "wg0,wg1";
  Handles more;
  REQUIRE(twill_workload_lower(&w, &more.problem) == TWILL_OK);
  CHECK(twill_problem_slot_count(more.problem) == 6);
  CHECK(std::string(twill_problem_slot_name(more.problem, 4)) == "wg0-more");
  const auto refused = [](const twill_workload& bad, const char* part) {
    Handles h;
    CHECK(twill_workload_lower(&bad, &h.problem) == TWILL_BAD_INPUT);
    CHECK_MESSAGE(has(twill_problem_error(h.problem), part), twill_problem_error(h.problem));
  };
  w.more = "wg9";
  refused(w, "workload.more: found wg9");
  w.more = "load";
  refused(w, "one slot for ops of variable latency");
  w.more = nullptr;
  w.pins = "slot s0_qk wg1\nother_slot s0_qk s1_qk\nleast_ii 2049";
  Handles pinned;
  REQUIRE(twill_workload_solve(&w, nullptr, &pinned.problem, &pinned.solution) == TWILL_OK);
  CHECK(twill_solution_ii(pinned.solution) == 2049);
  const auto slot_of = [&](const char* id) {
    for (std::size_t v = 0; v < twill_problem_op_count(pinned.problem); ++v)
      if (std::string(twill_problem_op_id(pinned.problem, v)) == id)
        return std::string(twill_problem_slot_name(
            pinned.problem, static_cast<std::size_t>(twill_solution_slot(pinned.solution, v))));
    return std::string();
  };
  CHECK(slot_of("s0_qk") == "wg1");
  CHECK(slot_of("s1_qk") != "wg1");
  for (const auto& [pins, part] :
       {std::pair{"slot s0_qk wg9", "must be a slot"}, std::pair{"slot", "kind op value"},
        std::pair{"slot wg0", "op: found NULL"}, std::pair{"colour s0_qk red", "must be slot,"}}) {
    w.pins = pins;
    refused(w, part);
  }
  w.pins = nullptr;
  Handles charged, live;
  REQUIRE(twill_workload_lower(&w, &charged.problem) == TWILL_OK);
  w.rings = "live";
  w.holds = "off";
  REQUIRE(twill_workload_lower(&w, &live.problem) == TWILL_OK);
  CHECK(std::string(twill_problem_json(live.problem)) != twill_problem_json(charged.problem));
  w.holds = "charged";
  refused(w, "workload.holds: found charged: must be on or off");
  w.holds = nullptr;
  w.profile = "{}";
  refused(w, "only a TTGIR module");
}

TEST_CASE("several iterations in one: iterations take turns on two slots") {
  twill_workload w = workload("blackwell-fwd-plain", "blackwell");
  w.unroll = 2;
  w.layout = "softmax-correction";
  w.pins = "slot i1_exp_p softmax1";
  Handles h;
  REQUIRE(twill_workload_solve(&w, nullptr, &h.problem, &h.solution) == TWILL_OK);
  CHECK(twill_solution_ii(h.solution) == 2'560);
  twill_program* program = nullptr;
  REQUIRE(twill_workload_program(&w, nullptr, nullptr, 0, nullptr, nullptr, &program) == TWILL_OK);
  CHECK(twill_program_executable(program) == 1);
  double share = 0;
  CHECK(twill_program_run(program, 2, 1, &share) == TWILL_OK);
  CHECK(share <= 1);
  twill_program_free(program);
  // A module's loop, too.
  const std::string text = twill::test::module_text("hopper-attention-forward");
  twill_workload m = workload(text.c_str(), nullptr);
  m.unroll = 2;
  REQUIRE(twill_workload_program(&m, nullptr, nullptr, 0, nullptr, nullptr, &program) == TWILL_OK);
  CHECK(twill_program_executable(program) == 1);
  CHECK(twill_program_run(program, 2, 1, &share) == TWILL_OK);
  CHECK(share <= 1);
  twill_program_free(program);
  Handles written;
  REQUIRE(twill_workload_emit(&m, nullptr, "gluon", -1, &written.program, &written.report) ==
          TWILL_OK);
  CHECK(has(twill_report_text(written.report), "must be a multiple of 2"));
  Handles bad;
  w.unroll = 65;
  CHECK(twill_workload_lower(&w, &bad.problem) == TWILL_BAD_INPUT);
  CHECK(has(twill_problem_error(bad.problem), "unroll"));
}

TEST_CASE("a nest unrolled, slack, a page of two schedules, proofs of why") {
  twill_workload w = workload("figure-1", "figure-1");
  w.trips = 2;
  Handles flat, loop, best, slow;
  REQUIRE(twill_workload_nest_flat(&w, "P", nullptr, &flat.problem, &flat.solution) == TWILL_OK);
  CHECK(twill_problem_op_count(flat.problem) == 4);
  REQUIRE(twill_workload_lower(&w, &loop.problem) == TWILL_OK);
  REQUIRE(twill_problem_slack(loop.problem, 2, &flat.inner_problem) == TWILL_OK);
  CHECK(has(twill_problem_json(flat.inner_problem), "with slack 2"));
  twill_options options;
  twill_options_init(&options);
  REQUIRE(twill_solve(loop.problem, &options, &best.solution) == TWILL_OK);
  options.ii = 3;
  REQUIRE(twill_solve(loop.problem, &options, &slow.solution) == TWILL_OK);
  REQUIRE(twill_diff_page(loop.problem, best.solution, slow.solution, "best", "<slow>",
                          &loop.report) == TWILL_OK);
  CHECK(has(twill_report_text(loop.report), "<svg"));
  CHECK(has(twill_report_text(loop.report), "&lt;slow&gt;"));
  CHECK(twill_diff_page(loop.problem, best.solution, nullptr, "a", "b", &slow.report) ==
        TWILL_BAD_INPUT);
}

TEST_CASE("what is built in") {
  for (const auto& [kind, name] :
       {std::pair{"kernels", "hopper-fwd-sub2"}, std::pair{"machines", "blackwell"}}) {
    Handles h;
    REQUIRE(twill_list(kind, &h.report) == TWILL_OK);
    bool found = false;
    for (const Json& entry : Json::parse(twill_report_text(h.report)))
      found = found || (entry["name"] == name && entry["doc"] != "");
    CHECK(found);
  }
  Handles encodings, kernel, machine, none, bad;
  REQUIRE(twill_list("encodings", &encodings.report) == TWILL_OK);
  CHECK(Json::parse(twill_report_text(encodings.report)).size() > 20);
  CHECK(twill_list("planets", &none.report) == TWILL_BAD_INPUT);
  REQUIRE(twill_builtin("kernel", "fmha-forward", "hopper", &kernel.report) == TWILL_OK);
  CHECK(twill_report_text(kernel.report) == twill::builtin_kernel("fmha-forward", "hopper"));
  REQUIRE(twill_builtin("machine", "hopper", nullptr, &machine.report) == TWILL_OK);
  CHECK(twill_report_text(machine.report) == twill::builtin_machine("hopper"));
  CHECK(twill_builtin("machine", "hoper", nullptr, &bad.report) == TWILL_BAD_INPUT);
}

}  // namespace c_api_workload_test
