#include "engine/certificate/regenerate.hpp"

#include "engine/certificate/number_text.hpp"
#include "graph/index.hpp"

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

// "0" for the origin, then the rows of ops, their stages, if there are any, and first rows of
// sequences by number.
std::vector<std::string> node_names(const Problem& problem, const Differences& rows) {
  std::vector<std::string> names = {"0"};
  const int ops = static_cast<int>(problem.ops.size());
  for (int node = 1, sequences = 0; node < rows.nodes(); ++node)
    if (node <= ops)
      names.push_back("row(" + problem.ops[at(node - 1)].id + ")");
    else if (rows.is_stage(node))
      names.push_back("stage(" + problem.ops[at(node - 1 - ops)].id + ")");
    else
      names.push_back("first(" + std::to_string(++sequences) + ")");
  return names;
}

std::string difference_text(const std::vector<std::string>& names, const Difference& d) {
  std::string text =
      names[at(d.to)] + " - " + names[at(d.from)] + " >= " + std::to_string(d.weight);
  const auto multiple = [&](Cycle factor, const char* name) {
    if (factor == 0) return;
    text += factor < 0 ? " - " : " + ";
    text += std::to_string(factor < 0 ? -factor : factor) + " " + name;
  };
  multiple(d.turns, "I");
  multiple(-Cycle{d.deadlines}, "D");
  multiple(-Cycle{d.halves}, "floor(I / 2)");
  return text;
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
    result.nodes = node_names(within.problem, encoding.rows());
    result.facts = encoding.rows().facts();
    result.atoms = encoding.rows().atoms();
    result.sums = encoding.rows().sums();
    if (within.placement.lifetime >= 0)
      for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
        for (Cycle a = 1; a < request.stages; ++a)
          result.stages.push_back({encoding.stage_at_least(v, a).dimacs(), v, a});
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

std::string rows_text(const RegeneratedFormula& formula) {
  std::string text;
  const auto line = [&](char kind, std::size_t number, const Difference& difference) {
    text += kind + std::to_string(number) + " " + difference_text(formula.nodes, difference);
  };
  for (std::size_t i = 0; i < formula.facts.size(); ++i) {
    line('f', i, formula.facts[i]);
    text += '\n';
  }
  for (const DifferenceAtom& atom : formula.atoms) {
    line('a', static_cast<std::size_t>(atom.variable), atom.difference);
    text += '\n';
  }
  for (const StageLiteral& s : formula.stages)
    text += "t" + std::to_string(s.variable) + " stage of " +
            formula.nodes[at(Differences::node(s.op))] + " >= " + std::to_string(s.at_least) + "\n";
  for (std::size_t i = 0; i < formula.sums.size(); ++i) {
    line('s', i, formula.sums[i].difference);
    for (const DifferenceSum::Term& term : formula.sums[i].terms)
      text += " + " + std::to_string(term.amount) + " a" + std::to_string(term.variable);
    text += '\n';
  }
  return text;
}

}  // namespace twill
