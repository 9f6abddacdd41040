// The line formats of a certificate's proofs/ that are neither DIMACS nor DRAT.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/certificate/lemma_cycles.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Lines of a text, without their ends; a last line without an end counts.
std::vector<std::string_view> lines_of(std::string_view text);

/// .lemmas: "-12 -9 7 0 a12 f3 s4 n7", a line for each clause with the cycle of its negation
/// (lemma_cycles.hpp) or another reason. Where the clause is what the cycle's atoms deny, in its
/// order, as most are, the line has only the cycle: "a12 f3 n7" is "-12 7 0 a12 f3 n7". `rows` are
/// those of the formula that they belong to.
void write_lemmas(TextWriter& text, const TheoryLemmas& lemmas, const DifferenceRows& rows);
struct LemmaLine {
  std::vector<int> literals;
  std::string_view cycle;
};
/// nullopt when the line is not of that form.
std::optional<LemmaLine> parse_lemma(std::string_view line);

/// .refinements: a model a line, "I start slot start slot ...", in the order of the ops.
void write_refinements(TextWriter& text, std::span<const Schedule> models);
/// nullopt when the line is not a model of `problem`.
std::optional<Schedule> parse_refinement(const Problem& problem, std::string_view line);

}  // namespace twill
