// What a search keeps so that its refutations can be checked by others: which formula was refuted,
// the lemmas that were added to it, and CaDiCaL's proof.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "encoders/goals.hpp"
#include "encoders/order/order.hpp"
#include "encoders/sinks.hpp"
#include "encoders/time_indexed/modulo.hpp"
#include "engine/certificate/encoded_formula.hpp"
#include "engine/certificate/split_cover.hpp"
#include "engine/certificate/theory_lemmas.hpp"
#include "graph/bounds/bounds.hpp"

namespace twill {

/// A file in memory, for a proof that is being written.
class ProofFile {
 public:
  /// Throws InputError when there is no memory for one.
  ProofFile();
  std::FILE* file() const { return content_->file.get(); }
  /// All that was written, until more is.
  std::string_view bytes() const;

 private:
  struct Content {
    char* data = nullptr;
    std::size_t size = 0;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{nullptr, std::fclose};
    Content() = default;
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content();
  };
  std::shared_ptr<Content> content_;
};

/// What a question is about: the problem, or one that is made from it.
enum class About {
  problem,
  serial,  ///< graph/bounds/serial.hpp
  alone,   ///< one iteration alone: graph/bounds/whole_time.hpp
};
/// The problem that is meant by it.
Problem problem_about(const Problem& problem, About about);

/// One formula that has no model, and why.
struct Refutation {
  RegisterCounts counts;  ///< about the problem with these counts (problem_at()); empty = as it is
  GoalLimits limits;      ///< secondary goals within these limits are meant, else all schedules
  About about = About::problem;
  Cycle ii = 1;          ///< no schedule has this initiation interval ...
  Cycle deadline = -1;   ///< ... and a length of at most this; -1 = any length
  std::string encoding;  ///< encoding_text()
  std::variant<ModuloRequest, OrderRequest> request;  ///< the formula, by engine
  std::vector<Schedule> refinements;  ///< order: the overflowing models, see OrderEncoding::refine
  /// Order: the formula as it was refuted. Null: what regenerate() gives, which is the same.
  std::shared_ptr<const EncodedFormula> formula;
  std::shared_ptr<const TheoryLemmas> lemmas;  ///< order, see OrderSearcher::lemmas()
  std::shared_ptr<const std::string> proof;    ///< binary DRAT, of the formula and the lemmas

  bool by_order() const { return std::holds_alternative<OrderRequest>(request); }
};

/// What a search found out about its problem before it searched, for whoever certifies the same.
struct KnownProblem {
  Problem problem;
  std::string text;            ///< problem_text()
  std::string sha256;          ///< of it
  std::optional<Bound> bound;  ///< the first of lower_bounds(), where it was asked for
};

/// The refutations of one search that can matter for its result.
class Evidence {
 public:
  /// `monotone` = monotone_from(problem): from there on the largest refuted I stands for the
  /// smaller ones.
  explicit Evidence(std::optional<Cycle> monotone) : monotone_(monotone) {}

  /// Takes a refutation and drops those that it makes superfluous, and the formulas of all but the
  /// latest few: they take memory.
  void keep(Refutation refutation);
  /// Drops what can be made again: formulas, and what is known of problems.
  void drop_derived();
  const std::vector<Refutation>& refutations() const { return refutations_; }
  std::vector<Refutation> release() { return std::move(refutations_); }
  /// None yet, under the same rule.
  Evidence none() const { return Evidence(monotone_); }

  /// Where the register split was a choice: what it was chosen from, and the cover of all splits
  /// that the refutations with counts are for.
  const std::optional<RegisterSplit>& split() const { return split_; }
  void set_split(RegisterSplit split) { split_ = std::move(split); }

  /// What is known of `problem` already, or null.
  const KnownProblem* known(const Problem& problem) const {
    for (const auto& known : known_)
      if (known->problem == problem) return known.get();
    return nullptr;
  }
  /// What is known of `problem` with more pins (Options::pins), or null.
  const KnownProblem* known_with_pins(Problem problem) const {
    for (const auto& known : known_) {
      const std::size_t pins = problem.pins.size();
      if (known->problem.pins.size() <= pins ||
          !std::equal(problem.pins.begin(), problem.pins.end(), known->problem.pins.begin()))
        continue;
      problem.pins = known->problem.pins;
      if (known->problem == problem) return known.get();
      problem.pins.resize(pins);
    }
    return nullptr;
  }
  void add_known(KnownProblem known) {
    known_.push_back(std::make_shared<const KnownProblem>(std::move(known)));
  }
  /// All that `other` knows of problems.
  void add_known(const Evidence& other) {
    known_.insert(known_.end(), other.known_.begin(), other.known_.end());
  }

 private:
  std::optional<Cycle> monotone_;
  std::vector<Refutation> refutations_;
  std::optional<RegisterSplit> split_;
  std::vector<std::shared_ptr<const KnownProblem>> known_;
};

}  // namespace twill
