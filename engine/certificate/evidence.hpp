// What a search keeps so that its refutations can be checked by others: which formula was refuted,
// the lemmas that were added to it, and CaDiCaL's proof.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "encoders/goals.hpp"
#include "encoders/modulo.hpp"
#include "encoders/order.hpp"
#include "encoders/sinks.hpp"
#include "engine/certificate/split_cover.hpp"

namespace twill {

/// A temporary file without a name, for a proof that is being written.
class ProofFile {
 public:
  /// Throws InputError when there is no room for temporary files.
  ProofFile();
  /// Null after to_memory().
  std::FILE* file() const { return content_->file.get(); }
  /// All that was written.
  std::string bytes() const;
  /// Reads it back for good and closes the file: a process may have few of them open. Call when all
  /// is written.
  void to_memory() const;

 private:
  struct Content {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file;
    std::string bytes;
  };
  std::shared_ptr<Content> content_;
};

/// One formula that has no model, and why.
struct Refutation {
  RegisterCounts counts;  ///< about the problem with these counts (problem_at()); empty = as it is
  GoalLimits limits;      ///< secondary goals within these limits are meant, else all schedules
  bool serial = false;    ///< about the serial problem (graph/serial.hpp), not the problem itself
  Cycle ii = 1;           ///< no schedule has this initiation interval ...
  Cycle deadline = -1;    ///< ... and a length of at most this; -1 = any length
  std::string encoding;   ///< encoding_text()
  std::variant<ModuloRequest, OrderRequest> request;  ///< the formula, by engine
  std::vector<Schedule> refinements;  ///< order: the overflowing models, see OrderEncoding::refine
  MemoryCnf lemmas;                   ///< order: of difference logic, see OrderSearcher::lemmas()
  /// Of the lemmas that are no cycles, by number: see lifetime_lemma.hpp.
  std::map<std::size_t, std::string> lemma_reasons;
  std::optional<ProofFile> proof;  ///< binary DRAT, of the formula and the lemmas

  bool by_order() const { return std::holds_alternative<OrderRequest>(request); }
};

/// The refutations of one search that can matter for its result.
class Evidence {
 public:
  /// `monotone` = monotone_from(problem): from there on the largest refuted I stands for the
  /// smaller ones.
  explicit Evidence(std::optional<Cycle> monotone) : monotone_(monotone) {}

  /// Takes a refutation and drops those that it makes superfluous.
  void keep(Refutation refutation);
  const std::vector<Refutation>& refutations() const { return refutations_; }
  std::vector<Refutation> release() { return std::move(refutations_); }
  /// None yet, under the same rule.
  Evidence none() const { return Evidence(monotone_); }

  /// Where the register split was a choice: what it was chosen from, and the cover of all splits
  /// that the refutations with counts are for.
  const std::optional<RegisterSplit>& split() const { return split_; }
  void set_split(RegisterSplit split) { split_ = std::move(split); }

 private:
  std::optional<Cycle> monotone_;
  std::vector<Refutation> refutations_;
  std::optional<RegisterSplit> split_;
};

}  // namespace twill
