#include "engine/certificate/regenerate.hpp"

#include "engine/certificate/number_text.hpp"

namespace twill {
namespace {

void append_clauses(std::string& text, const MemoryCnf& cnf) {
  for (std::size_t i = 0; i < cnf.clauses(); ++i) {
    for (const int l : cnf.clause(i)) {
      append(text, l);
      text += ' ';
    }
    text += "0\n";
  }
}

std::string difference_text(const Problem& problem, const Difference& d) {
  const auto value = [&](int node) {
    if (node == 0) return std::string("0");
    const auto place = static_cast<std::size_t>(node - 1);
    const std::size_t ops = problem.ops.size();
    return (place < ops ? "row(" : "stage(") + problem.ops[place % ops].id + ")";
  };
  std::string text = value(d.to) + " - " + value(d.from) + " >= " + std::to_string(d.weight);
  const auto multiple = [&](Cycle factor, const char* name) {
    if (factor == 0) return;
    text += factor < 0 ? " - " : " + ";
    text += std::to_string(factor < 0 ? -factor : factor) + " " + name;
  };
  multiple(d.turns, "I");
  multiple(-Cycle{d.deadlines}, "D");
  multiple(-Cycle{d.halves}, "floor(I / 2)");
  return text + "\n";
}

}  // namespace

RegeneratedFormula regenerate(const Problem& problem, const Refutation& refutation) {
  RegeneratedFormula result;
  const EncodingChoice choice = parse_encoding(refutation.encoding);
  const LimitedProblem within = limited(problem, refutation.limits);
  Formula formula(result.cnf);
  formula.mark_groups(result.groups);
  if (const auto* order = std::get_if<OrderRequest>(&refutation.request)) {
    OrderRequest request = *order;
    request.limits = within.placement;
    OrderEncoding encoding(formula, within.problem, request, choice);
    for (const Schedule& model : refutation.refinements) encoding.refine(model);
    result.nodes = encoding.rows().nodes();
    result.facts = encoding.rows().facts();
    result.atoms = encoding.rows().atoms();
  } else {
    ModuloRequest request = std::get<ModuloRequest>(refutation.request);
    request.limits = within.placement;
    const ModuloEncoding encoding = encode_modulo(formula, within.problem, request, choice);
    if (refutation.deadline >= 0) {
      const auto group = Formula::Guarded(formula, kTrueLit, "the length asked for");
      formula.unit(encoding.at_most_length(refutation.deadline));
    }
  }
  return result;
}

std::string dimacs_text(const MemoryCnf& cnf, const MemoryCnf& lemmas) {
  std::string text = "p cnf " + std::to_string(cnf.variables()) + " " +
                     std::to_string(cnf.clauses() + lemmas.clauses()) + "\n";
  append_clauses(text, cnf);
  append_clauses(text, lemmas);
  return text;
}

std::string groups_text(const RegeneratedFormula& formula, const MemoryCnf& lemmas) {
  std::string text;
  const auto line = [&](std::size_t begin, std::size_t end, const std::string& description) {
    if (begin == end) return;
    append(text, static_cast<std::int64_t>(begin) + 1);
    text += '-';
    append(text, static_cast<std::int64_t>(end));
    text += " " + (description.empty() ? "slots, stages and what they mean" : description) + "\n";
  };
  std::size_t begin = 0;
  std::string description;
  for (const GroupMark& mark : formula.groups) {
    const auto at = static_cast<std::size_t>(mark.clause);
    if (mark.description == description) continue;
    line(begin, at, description);
    begin = at;
    description = mark.description;
  }
  const std::size_t clauses = formula.cnf.clauses();
  line(begin, clauses, description);
  line(clauses, clauses + lemmas.clauses(), "lemmas of difference logic");
  return text;
}

std::string rows_text(const Problem& problem, const RegeneratedFormula& formula) {
  std::string text;
  for (std::size_t i = 0; i < formula.facts.size(); ++i)
    text += "f" + std::to_string(i) + " " + difference_text(problem, formula.facts[i]);
  for (const DifferenceAtom& atom : formula.atoms)
    text += "a" + std::to_string(atom.variable) + " " + difference_text(problem, atom.difference);
  return text;
}

}  // namespace twill
