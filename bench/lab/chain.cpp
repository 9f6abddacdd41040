// twill bench chain: the lengths of a loop at one I from some length down to the smallest, by one
// formula under assumptions or by a new formula a question. What incremental solving is worth.

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "bench/lab/cpu_watch.hpp"
#include "bench/lab/lab.hpp"
#include "bench/lab/question.hpp"
#include "encoders/time_indexed/modulo.hpp"
#include "engine/cadical.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/search_options.hpp"
#include "graph/error.hpp"
#include "graph/io/json_text.hpp"
#include "graph/loop.hpp"
#include "graph/problem_io.hpp"
#include "graph/verify.hpp"

namespace twill::bench {
namespace {

struct ChainFlags {
  std::string problem, encoding, memory;
  Cycle ii = 1, length = 1;
  std::uint64_t seed = 0;
  double seconds = 0;
  std::int64_t conflicts = 0;
  bool afresh = false;
};

class Chain {
 public:
  Chain(const ChainFlags& flags, Budget& budget)
      : flags_(flags),
        problem_(read_problem(flags.problem)),
        choice_(parse_encoding(flags.encoding)),
        budget_(budget) {
    if (choice_.form != Form::modulo)
      throw InputError("command line", "--encoding", quote(flags.encoding),
                       "must be of form=modulo");
    low_ = 1;
    if (const auto starts = earliest_starts(problem_, flags.ii, forced_delays(problem_)))
      low_ = std::max<Cycle>(1, schedule_length(problem_, *starts));
  }

  /// Each next question is one shorter than the last schedule. Down to a refutation or the bound.
  int run() {
    const bool whole = budget_.complete([&] {
      for (Cycle length = flags_.length;;) {
        const Verdict verdict = ask(length);
        if (verdict == Verdict::unknown) return;
        if (verdict == Verdict::unsat) {
          proved_ = true;
          return;
        }
        if (best_->length <= low_) {
          proved_ = true;
          return;
        }
        length = best_->length - 1;
      }
    });
    nlohmann::ordered_json row;
    row["problem"] = problem_.name;
    row["I"] = flags_.ii;
    row["L"] = flags_.length;
    row["encoding"] = encoding_text(choice_);
    row["incremental"] = !flags_.afresh;
    row["status"] = whole && proved_ ? (best_ ? "optimal" : "infeasible") : "unknown";
    if (best_) row["length"] = best_->length;
    row["questions"] = questions_;
    row["conflicts"] = budget_.conflicts();
    row["encode_cpu_s"] = encoding_seconds_;
    row["cpu_s"] = cpu_seconds();
    std::cout << row.dump() << "\n";
    if (!proved_) return cli::kStopped;
    return best_ ? cli::kDone : cli::kNo;
  }

 private:
  void encode(Cycle high) {
    const double begin = cpu_seconds();
    solver_.emplace(budget_, flags_.seed);
    formula_.emplace(*solver_);
    ModuloRequest request;
    request.ii = flags_.ii;
    request.stages = high / flags_.ii + 1;
    request.length_high = high;
    request.length_low = flags_.afresh ? high : std::min(low_, high);
    request.detail = 30;  // every copy of every value
    encoding_ = encode_modulo(*formula_, problem_, request, choice_);
    encoding_seconds_ += cpu_seconds() - begin;
  }

  Verdict ask(Cycle length) {
    ++questions_;
    if (!solver_ || flags_.afresh) encode(length);
    const Lit bound = encoding_.at_most_length(length);
    const Verdict verdict = solver_->solve(std::span(&bound, 1));
    if (verdict != Verdict::sat) return verdict;
    best_ = encoding_.decode(problem_, [&](Lit l) { return solver_->value(l); });
    if (const auto violation = verify(problem_, *best_); violation || best_->length > length)
      throw std::logic_error("the formula has a model that verify() refuses");
    return verdict;
  }

  const ChainFlags& flags_;
  Problem problem_;
  EncodingChoice choice_;
  Budget& budget_;
  Cycle low_ = 1;
  std::optional<SatSolver> solver_;
  std::optional<Formula> formula_;
  ModuloEncoding encoding_;
  std::optional<Schedule> best_;
  bool proved_ = false;
  int questions_ = 0;
  double encoding_seconds_ = 0;
};

}  // namespace

cli::Command chain_command(CLI::App& bench) {
  auto flags = std::make_shared<ChainFlags>();
  CLI::App* app = bench.add_subcommand(
      "chain", "The smallest length at an I, by one formula or by one a question");
  app->add_option("PROBLEM", flags->problem, "Problem file")->required();
  app->add_option("--ii", flags->ii, "The initiation interval I")
      ->required()
      ->check(CLI::Range(Cycle{1}, kMaxCycles));
  app->add_option("--length", flags->length, "The first length that is asked for")
      ->required()
      ->check(CLI::Range(Cycle{1}, kMaxCycles));
  app->add_option("--encoding", flags->encoding,
                  "Encodings, as key=value,... of " + encoding_keys());
  app->add_option("--seed", flags->seed, "Seed of the solver");
  app->add_option(cli::kCpuLimit, flags->seconds, "CPU seconds (0 = none)");
  app->add_option(cli::kConflictLimit, flags->conflicts, "Conflicts (0 = none)");
  app->add_option(cli::kMemoryLimit, flags->memory, "Memory, as 500M or 2G");
  app->add_flag("--afresh", flags->afresh, "A new formula and solver for each length");
  app->footer(
      "Each question asks for one less than the schedule before. Exit codes: 0 the smallest length "
      "is\nproved, 1 there is none up to --length, 3 stopped at a limit.");
  return {app, [flags] {
            cli::Interrupt interrupt;
            CpuWatch watch(flags->seconds, interrupt.token());
            Budget budget(watch.token(), 0, flags->conflicts,
                          flags->memory.empty() ? 0 : cli::parse_bytes(flags->memory));
            return Chain(*flags, budget).run();
          }};
}

}  // namespace twill::bench
