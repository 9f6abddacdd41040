// manifest.json of a certificate: hashes of its files, what each refutation refuted, and what
// the whole proves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/certificate/claims.hpp"
#include "engine/certificate/evidence.hpp"

namespace twill {

struct Manifest {
  std::vector<std::pair<std::string, std::string>> files;  ///< name in the directory, SHA-256
  std::vector<std::string> names;                          ///< of the refutations
  std::vector<Refutation> refutations;  ///< requests only: no lemmas, refinements or proofs
  std::vector<Claim> claims;
  std::optional<RegisterSplit> split;  ///< where it was a choice

  /// "" when the manifest does not list the file.
  std::string hash_of(const std::string& file) const;
};

/// The files of a refutation that the manifest lists. The formula, .cnf, follows from the
/// problem and these, and is compared with what does.
inline constexpr const char* kProofEndings[] = {".drat", ".lemmas", ".refinements"};

/// What refutations are called, from what they are about: "interval-2063", "length-4293-at-2180",
/// "goal-1", "serial", and "split-2-interval-2063" of the second corner of a register split.
std::vector<std::string> refutation_names(std::span<const Refutation> refutations);

/// The canonical text.
std::string manifest_text(const Problem& problem, const Manifest& manifest);
/// Strict reading; throws InputError.
Manifest parse_manifest(const Problem& problem, std::string_view text, const std::string& source);
/// The SHA-256 of problem.json alone, which is read before the rest can be.
std::string problem_hash_of_manifest(std::string_view text, const std::string& source);

}  // namespace twill
