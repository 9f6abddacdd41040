#include "engine/certificate/proof_files.hpp"

#include <charconv>
#include <stdexcept>

namespace twill {
namespace {

// The number that the text begins with and the blank after it, cut off; nullopt when it is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() != ' ') return std::nullopt;
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

// The clause that a cycle says: nullopt where a number is none.
std::optional<std::vector<int>> denied_by(std::string_view cycle) {
  std::vector<int> literals;
  while (!cycle.empty()) {
    const char kind = cycle.front();
    cycle.remove_prefix(1);
    const auto number = take_number(cycle);
    if (!number || *number < 0 || *number > 2147483647) return std::nullopt;
    if (kind == 'a') literals.push_back(-static_cast<int>(*number));
    if (kind == 'n') literals.push_back(static_cast<int>(*number));
  }
  return literals;
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

void write_lemmas(TextWriter& text, const TheoryLemmas& lemmas, const DifferenceRows& rows) {
  CycleFinder finder(rows);
  for (std::size_t i = 0; i < lemmas.clauses.clauses(); ++i) {
    const std::span<const int> lemma = lemmas.clauses.clause(i);
    if (const auto reason = lemmas.reasons.find(i); reason != lemmas.reasons.end()) {
      text.numbers(lemma);
      text.put("0 ");
      text.put(reason->second);
    } else if (!finder.write(lemma, lemmas.steps.of(i), text)) {
      throw std::logic_error("a lemma of the order engine has no positive cycle");
    }
    text.put('\n');
  }
}

std::optional<LemmaLine> parse_lemma(std::string_view line) {
  LemmaLine lemma;
  if (!line.empty() && std::string_view("afns").find(line.front()) != std::string_view::npos) {
    auto literals = denied_by(line);
    if (!literals) return std::nullopt;
    return LemmaLine{*std::move(literals), line};
  }
  for (;;) {
    const auto number = take_number(line);
    if (!number || *number < -2147483647 || *number > 2147483647) return std::nullopt;
    if (*number == 0) break;
    lemma.literals.push_back(static_cast<int>(*number));
  }
  lemma.cycle = line;
  return lemma;
}

void write_refinements(TextWriter& text, std::span<const Schedule> models) {
  for (const Schedule& model : models) {
    text.number(model.initiation_interval);
    for (std::size_t v = 0; v < model.start.size(); ++v) {
      text.put(' ');
      text.number(model.start[v]);
      text.put(' ');
      text.number(model.warp[v]);
    }
    text.put('\n');
  }
}

std::optional<Schedule> parse_refinement(const Problem& problem, std::string_view line) {
  Schedule model;
  const auto ii = take_number(line);
  if (!ii || *ii < 1 || *ii > kMaxStart) return std::nullopt;
  model.initiation_interval = *ii;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    const auto start = take_number(line), slot = take_number(line);
    if (!start || !slot || *start < 0 || *start > kMaxStart || *slot < 0 ||
        *slot >= static_cast<std::int64_t>(problem.warps.size()))
      return std::nullopt;
    model.start.push_back(*start);
    model.warp.push_back(static_cast<int>(*slot));
  }
  if (!line.empty()) return std::nullopt;
  model.length = schedule_length(problem, model.start);
  return model;
}

}  // namespace twill
