// Results that an op of its own stores: the kernel is the one whose file says so, computes the
// same, and becomes a program that is right.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/program.hpp"
#include "graph/io/builtin.hpp"
#include "graph/lower.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/problem_io.hpp"
#include "graph/program/execute.hpp"
#include "graph/program/judge.hpp"

namespace stored_results_test {

using namespace twill;
using Json = nlohmann::ordered_json;

namespace {

std::string refusal(const std::string& kernel, const std::vector<std::string>& names) {
  LowerOptions options;
  options.stored = names;
  try {
    lower(kernel, "k", builtin_machine("hopper"), "hopper", options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// What a person would write into the file of two sub-tiles for P of both to be stored.
std::string by_hand(const std::string& kernel) {
  Json file = Json::parse(builtin_kernel(kernel));
  for (const std::string s : {"s0", "s1"}) {
    for (Json& op : file["ops"]) {
      if (op["id"] != s + "_pv") continue;
      for (Json& operand : op["computes"])
        if (operand == s + "_trunc_p") operand = s + "_trunc_p_stored";
      op["traffic"]["SMEM"] = op["traffic"]["SMEM"].get<int>() + 128 * 128 * 2;
    }
    file["ops"].push_back({{"id", s + "_trunc_p_stored"},
                           {"kind", "local_alloc"},
                           {"shape", {128, 128}},
                           {"type", "f16"},
                           {"computes", {"copy", s + "_trunc_p"}}});
    for (Json& edge : file["edges"])
      if (edge["from"] == s + "_trunc_p") {
        edge["from"] = s + "_trunc_p_stored";
        edge["blocking"] = true;
      }
    file["edges"].push_back({{"from", s + "_trunc_p"}, {"to", s + "_trunc_p_stored"}});
  }
  return file.dump();
}

}  // namespace

TEST_CASE("the problem is that of the kernel file that stores the result itself") {
  const std::string kernel = "hopper-fwd-sub2-m128", machine = builtin_machine("hopper");
  LowerOptions stored;
  stored.stored = {"s0_trunc_p", "s1_trunc_p"};
  const auto ours = lower(builtin_kernel(kernel), kernel, machine, "hopper", stored);
  const auto theirs = lower(by_hand(kernel), kernel, machine, "hopper");
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t k = 0; k < ours.size(); ++k)
    CHECK(problem_text(ours[k].problem) == problem_text(theirs[k].problem));
  CHECK(*meaning_of_kernel(builtin_kernel(kernel), kernel, {}, stored.stored) ==
        *meaning_of_kernel(by_hand(kernel), kernel, {}));
  // The answer's file says what it is of.
  const auto& options = ours.front().made_by->options;
  CHECK(std::find(options.begin(), options.end(),
                  std::pair<std::string, std::string>("store", "s0_trunc_p,s1_trunc_p")) !=
        options.end());
}

TEST_CASE("every result that can be stored: the loop computes the same") {
  int accepted = 0;
  for (const BuiltinFile& file : builtin_files()) {
    if (file.folder != "kernels") continue;
    const std::string text(file.text), name(file.name);
    const auto plain = meaning_of_kernel(text, name, {});
    if (!plain) continue;
    const auto inputs = meaning::seeded_inputs(*plain, 2, 5);
    std::vector<std::vector<meaning::Bounded>> want;
    for (int v = plain->loop_begin; v < plain->after_begin; ++v) {
      const meaning::Value& op = plain->values[static_cast<std::size_t>(v)];
      std::optional<meaning::Meaning> stored;
      try {
        stored = meaning_of_kernel(text, name, {}, {op.id});
      } catch (const InputError&) {
        continue;
      }
      CAPTURE(name);
      CAPTURE(op.id);
      ++accepted;
      CHECK(stored->values.size() == plain->values.size() + 1);
      CHECK(!meaning::loop_order(*stored).empty());
      if (accepted % 4 != 1) continue;  // (a reference takes a while)
      if (want.empty()) want = meaning::reference(*plain, 2, inputs);
      const auto got = meaning::reference(*stored, 2, inputs);
      REQUIRE(got.size() == want.size());
      for (std::size_t t = 0; t < want.size(); ++t) {
        REQUIRE(got[t].size() == want[t].size());
        for (std::size_t i = 0; i < want[t].size(); ++i)
          CHECK(got[t][i].value.data == want[t][i].value.data);
      }
    }
  }
  CHECK(accepted >= 20);
}

TEST_CASE("a schedule of it is a program that is judged and gives the right numbers") {
  const std::string kernel = "hopper-fwd-plain";
  LowerOptions options;
  options.stored = {"trunc_p"};
  const auto layouts =
      lower(builtin_kernel(kernel), kernel, builtin_machine("hopper"), "hopper", options);
  const LayoutsSolution best = solve_layouts(layouts, {});
  REQUIRE(best.solution().schedule);
  auto made = solve_program(best.layout().problem, best.solution());
  REQUIRE(std::holds_alternative<program::Program>(made.program));
  program::Program& p = std::get<program::Program>(made.program);
  CHECK(!program::add_meaning(p, builtin_kernel(kernel), kernel, {}, options.stored));
  CHECK(!program::judge(p));
  const auto inputs = meaning::seeded_inputs(*p.meaning, 2, 3);
  const auto right = meaning::reference(*p.meaning, 2, inputs);
  const program::Execution run = program::execute(p, 2, inputs, {});
  CHECK(run.fault.empty());
  CHECK(meaning::all_right(meaning::compare_with(*p.meaning, right, run.outputs)));
  // Of the kernel as it is it is no program.
  program::Program other = p;
  CHECK(program::add_meaning(other, builtin_kernel(kernel), kernel).has_value());
}

TEST_CASE("what cannot be stored is refused with the reason") {
  const std::string kernel = builtin_kernel("hopper-fwd-plain");
  for (const auto& [op, why] : std::vector<std::pair<std::string, std::string>>{
           {"nothing", "must be an op of the kernel"},
           {"row_max", "must be a matrix"},
           {"exp_p", "no matrix product reads it as a factor"},
           {"mul_acc", "no matrix product reads it as a factor"},  // it is added to
           {"alloc_v", "lies in memory already"},
           {"ld_k", "lies in memory already"}}) {
    CAPTURE(op);
    CHECK(refusal(kernel, {op}).find(why) != std::string::npos);
  }
  CHECK(refusal(kernel, {"trunc_p", "trunc_p"}).find("already") != std::string::npos);
  Json silent = Json::parse(kernel);
  silent.erase("meaning");
  for (Json& op : silent["ops"]) op.erase("computes");
  CHECK(refusal(silent.dump(), {"trunc_p"}).find("does not say") != std::string::npos);
  CHECK(refusal(by_hand("hopper-fwd-sub2-m128"), {"s0_trunc_p"}).find("already") !=
        std::string::npos);
}

}  // namespace stored_results_test
