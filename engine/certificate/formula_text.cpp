#include "engine/certificate/formula_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "graph/index.hpp"
#include "graph/io/json_text.hpp"

namespace twill {
namespace {

void write_clauses(TextWriter& text, const MemoryCnf& cnf) {
  for (std::size_t i = 0; i < cnf.clauses(); ++i) {
    text.numbers(cnf.clause(i));
    text.put('0');
    text.put('\n');
  }
}

// A name or a description so that it does not end the comment that it is in.
std::string in_line(std::string_view words) {
  const bool ends =
      std::any_of(words.begin(), words.end(), [](char c) { return c == '\n' || c == '\r'; });
  return ends ? one_line(words) : std::string(words);
}

void write_difference(TextWriter& text, const std::vector<std::string>& names,
                      const Difference& d) {
  text.put(names[at(d.to)]);
  text.put(" - ");
  text.put(names[at(d.from)]);
  text.put(" >= ");
  text.number(d.weight);
  const auto multiple = [&](Cycle factor, const char* name) {
    if (factor == 0) return;
    text.put(factor < 0 ? " - " : " + ");
    text.number(factor < 0 ? -factor : factor);
    text.put(name);
  };
  multiple(d.turns, " I");
  multiple(-Cycle{d.deadlines}, " D");
  multiple(-Cycle{d.halves}, " floor(I / 2)");
}

// Which constraint each clause belongs to.
void write_groups(TextWriter& text, const EncodedFormula& formula, const MemoryCnf& lemmas) {
  const auto line = [&](std::size_t begin, std::size_t end, std::string_view description) {
    if (begin == end) return;
    text.put('c');
    text.number(' ', static_cast<std::int64_t>(begin) + 1);
    text.number('-', static_cast<std::int64_t>(end));
    text.put(' ');
    text.put(description.empty() ? "slots, stages and what they mean" : in_line(description));
    text.put('\n');
  };
  std::size_t begin = 0;
  std::string_view description;
  for (const ClauseGroups::Mark& mark : formula.groups.marks()) {
    const std::string_view next = formula.groups.description(mark);
    if (next == description) continue;
    line(begin, static_cast<std::size_t>(mark.clause), description);
    begin = static_cast<std::size_t>(mark.clause);
    description = next;
  }
  const std::size_t clauses = formula.cnf.clauses();
  line(begin, clauses, description);
  line(clauses, clauses + lemmas.clauses(), "lemmas of difference logic");
}

// What facts, stages, sums and the atoms of lemmas say.
void write_rows(TextWriter& text, const EncodedFormula& formula, const MemoryCnf& lemmas) {
  std::vector<std::string> names;
  for (const std::string& node : formula.nodes) names.push_back(in_line(node));
  const auto line = [&](char kind, std::size_t number, const Difference& difference) {
    text.put("c ");
    text.number(kind, static_cast<std::int64_t>(number));
    text.put(' ');
    write_difference(text, names, difference);
  };
  for (std::size_t i = 0; i < formula.facts.size(); ++i) {
    line('f', i, formula.facts[i]);
    text.put('\n');
  }
  std::vector<char> asked(at(formula.cnf.variables()) + 1, 0);
  for (std::size_t i = 0; i < lemmas.clauses(); ++i)
    for (const int l : lemmas.clause(i)) asked[at(l < 0 ? -l : l)] = 1;
  for (const DifferenceAtom& atom : formula.atoms) {
    if (asked[at(atom.variable)] == 0) continue;
    line('a', static_cast<std::size_t>(atom.variable), atom.difference);
    text.put('\n');
  }
  for (const StageLiteral& s : formula.stages) {
    text.put("c ");
    text.number('t', s.variable);
    text.put(" stage of ");
    text.put(names[at(s.row)]);
    text.put(" >= ");
    text.number(s.at_least);
    text.put('\n');
  }
  for (std::size_t i = 0; i < formula.sums.size(); ++i) {
    line('s', i, formula.sums[i].difference);
    for (const DifferenceSum::Term& term : formula.sums[i].terms) {
      text.put(" + ");
      text.number(term.amount);
      text.put(" a");
      text.number(term.variable);
    }
    text.put('\n');
  }
}

}  // namespace

void write_formula(TextWriter& text, const EncodedFormula& formula, const MemoryCnf& lemmas) {
  write_groups(text, formula, lemmas);
  write_rows(text, formula, lemmas);
  text.put("p cnf");
  text.number(' ', formula.cnf.variables());
  text.number(' ', static_cast<std::int64_t>(formula.cnf.clauses() + lemmas.clauses()));
  text.put('\n');
  write_clauses(text, formula.cnf);
  write_clauses(text, lemmas);
}

}  // namespace twill
