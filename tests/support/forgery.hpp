// Checking certificates, and changing them as a forger would.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "engine/certificate/certificate.hpp"
#include "engine/certificate/manifest.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"

namespace twill::test {

/// Without drat-trim.
inline CertificateReport check(const std::string& directory) {
  CertificateOptions options;
  options.drat_trim = false;
  return check_certificate(directory, options);
}

/// "accepted", or why not: unreadable files are refused too.
inline std::string verdict(const std::string& directory) {
  try {
    const CertificateReport report = check(directory);
    return report.accepted ? "accepted" : report.refusal;
  } catch (const InputError& error) {
    return error.what();
  }
}

/// Makes the hashes of the manifest those of the files, as a forger would.
inline void mend_hashes(const std::string& directory) {
  const std::string path = directory + "/manifest.json";
  const std::string problem_bytes = read_file(directory + "/problem.json");
  const Problem problem = parse_problem(problem_bytes);
  Manifest manifest = parse_manifest(problem, read_file(path), path);
  for (auto& [name, hash] : manifest.files) hash = sha256(read_file(directory + "/" + name));
  write_file(path, manifest_text(problem, manifest));
}

/// Gives the refutations of a changed manifest the names that are theirs, with their files, as a
/// forger would.
inline void mend_names(const std::string& directory, Manifest& manifest) {
  namespace fs = std::filesystem;
  const std::vector<std::string> names = refutation_names(manifest.refutations);
  const auto move = [&](const std::string& from, const std::string& to) {
    for (const char* ending : {".cnf", ".drat", ".lemmas", ".refinements"}) {
      const std::string old = "proofs/" + from + ending, renamed = "proofs/" + to + ending;
      std::error_code absent;
      fs::rename(directory + "/" + old, directory + "/" + renamed, absent);
      for (auto& [name, hash] : manifest.files)
        if (name == old) name = renamed;
    }
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    move(manifest.names[i], "moved-" + std::to_string(i));
  for (std::size_t i = 0; i < names.size(); ++i) move("moved-" + std::to_string(i), names[i]);
  manifest.names = names;
}

inline void edit(const std::string& path, const std::function<void(std::string&)>& change) {
  std::string text = read_file(path);
  change(text);
  write_file(path, text);
}

inline void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  text.replace(at, from.size(), to);
}

}  // namespace twill::test
