#include "bench/lab/question_text.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "bench/lab/linear_sink.hpp"
#include "bench/smtlib.hpp"
#include "encoders/time_indexed/modulo.hpp"
#include "engine/include/twill.hpp"
#include "graph/error.hpp"
#include "graph/io/json_text.hpp"
#include "graph/loop.hpp"
#include "graph/problem_io.hpp"

namespace twill::bench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> provenance(const Instance& i, const std::string& encoding,
                                    const Scramble& scramble) {
  return {std::string("twill ") + version() + ", question " + one_line(i.name),
          "problem " + fs::path(i.file).filename().string() + " sha256 " + i.sha256,
          "is there a schedule with I = " + std::to_string(i.ii) +
              " and L <= " + std::to_string(i.length) + "? expected " +
              (i.expected.empty() ? "unknown" : i.expected),
          "encoding " + encoding,
          "scramble " + std::to_string(scramble.seed) + " " + to_string(scramble)};
}

void add_map(std::vector<std::string>& comments, const VariableMap& map) {
  for (const std::string& line : map.lines()) comments.push_back("map " + line);
}

void require_modulo(const EncodingChoice& choice, const std::string& encoding) {
  if (choice.form != Form::modulo)
    throw InputError("command line", "--encodings", quote(encoding), "must be of form=modulo");
}

VariableMap map_of(const ModuloEncoding& encoded) {
  VariableMap map;
  map.ii = encoded.ii;
  map.rows = encoded.rows;
  map.stages = encoded.stage_literals;
  map.slots = encoded.slot;
  return map;
}

QuestionText cnf_text(const Instance& i, const Problem& problem, const std::string& encoding,
                      const Scramble& scramble, Budget& budget) {
  EncodedQuestion question =
      encode_question(problem, i.ii, i.length, parse_encoding(encoding), budget);
  const ScrambledCnf formula = scrambled(question.cnf, scramble);
  for (auto* table :
       {&question.map.rows, &question.map.stages, &question.map.issue, &question.map.slots})
    for (auto& row : *table)
      for (Lit& l : row)
        if (!l.is_constant()) l = Lit::of(formula.of(l.dimacs()));
  std::vector<std::string> comments = provenance(i, encoding, scramble);
  add_map(comments, question.map);
  std::ostringstream text;
  formula.cnf.write_dimacs(text, comments);
  return {text.str(),
          question.cnf.variables(),
          static_cast<std::int64_t>(question.cnf.clauses()),
          question.literals,
          std::move(question.sizes),
          question.cpu_seconds};
}

QuestionText linear_text(QuestionFormat format, const Instance& i, const Problem& problem,
                         const std::string& encoding, Budget& budget) {
  const double begin = cpu_seconds();
  const EncodingChoice choice = parse_encoding(encoding);
  require_modulo(choice, encoding);
  LinearSink sink(budget);
  Formula f(sink);
  ModuloRequest request;
  request.ii = i.ii;
  request.stages = i.length / i.ii + 1;
  request.length_low = request.length_high = i.length;
  request.detail = 30;  // every copy of every value
  const ModuloEncoding encoded = encode_modulo(f, problem, request, choice);
  QuestionText question;
  question.cpu_seconds = cpu_seconds() - begin;
  std::vector<std::string> comments = provenance(i, encoding, {});
  add_map(comments, map_of(encoded));
  question.text = format == QuestionFormat::opb ? sink.opb(comments) : sink.ilp(comments);
  question.variables = sink.variables();
  question.constraints = sink.constraints();
  question.literals = f.literals();
  question.sizes = encoded.sizes;
  return question;
}

}  // namespace

std::string to_string(QuestionFormat format) {
  switch (format) {
    case QuestionFormat::cnf: return "cnf";
    case QuestionFormat::opb: return "opb";
    case QuestionFormat::ilp: return "ilp";
    case QuestionFormat::problem: return "problem";
    case QuestionFormat::smtlib: break;
  }
  return "smtlib";
}

QuestionFormat question_format(std::string_view text) {
  for (const auto format : {QuestionFormat::cnf, QuestionFormat::opb, QuestionFormat::ilp})
    if (text == to_string(format)) return format;
  return text == "problem" ? QuestionFormat::problem : QuestionFormat::smtlib;
}

bool takes_encoding(QuestionFormat format) {
  return format != QuestionFormat::smtlib && format != QuestionFormat::problem;
}

std::string ending_of(QuestionFormat format) {
  if (format == QuestionFormat::problem) return "problem.json";
  if (format == QuestionFormat::smtlib) return "smt2";
  return format == QuestionFormat::ilp ? "lp" : to_string(format);
}

QuestionText question_text(QuestionFormat format, const Instance& instance, const Problem& problem,
                           const std::string& encoding, const Scramble& scramble, Budget& budget) {
  if (format == QuestionFormat::cnf) return cnf_text(instance, problem, encoding, scramble, budget);
  if (takes_encoding(format)) return linear_text(format, instance, problem, encoding, budget);
  const double begin = cpu_seconds();
  QuestionText question;
  if (format == QuestionFormat::problem)
    question.text = problem_text(problem);
  else
    question.text = annotated_smtlib(smtlib(problem, instance.ii, instance.length, false),
                                     instance.expected, true);
  question.cpu_seconds = cpu_seconds() - begin;
  return question;
}

// One formula for all lengths up to the question's, asked from the longest down (iCNF: Wieringa,
// Niemenmaa and Heljanko, PDMC 2009).
std::string incremental_text(const Instance& i, const Problem& problem,
                             const std::string& encoding) {
  MemoryCnf cnf;
  Formula f(cnf);
  const EncodingChoice choice = parse_encoding(encoding);
  require_modulo(choice, encoding);
  const auto earliest = earliest_starts(problem, i.ii, forced_delays(problem));
  ModuloRequest request;
  request.ii = i.ii;
  request.stages = i.length / i.ii + 1;
  request.length_high = i.length;
  request.length_low = i.length;
  if (earliest) request.length_low = std::min(i.length, schedule_length(problem, *earliest));
  request.detail = 30;
  const ModuloEncoding encoded = encode_modulo(f, problem, request, choice);
  std::ostringstream text;
  std::vector<std::string> comments = provenance(i, encoding, {});
  add_map(comments, map_of(encoded));
  for (const std::string& line : comments) text << "c " << line << "\n";
  text << "c assumptions: L <= " << i.length << ", " << i.length - 1 << ", ... , "
       << request.length_low << "\np inccnf\n";
  for (std::size_t c = 0; c < cnf.clauses(); ++c) {
    for (const int l : cnf.clause(c)) text << l << " ";
    text << "0\n";
  }
  for (Cycle l = i.length; l >= request.length_low; --l) {
    const Lit bound = encoded.at_most_length(l);
    text << "a ";
    if (!bound.is_constant()) text << bound.dimacs() << " ";
    text << "0\n";
  }
  return text.str();
}

std::string annotated_smtlib(const std::string& text, std::string_view expected, bool values) {
  const std::string logic = "(set-logic QF_LIA)\n";
  const std::size_t at = text.find("\n" + logic) + 1;
  std::string out = text.substr(0, at);
  if (values) out += "(set-option :produce-models true)\n";
  out += logic;
  if (!expected.empty())
    out += "(set-info :status " + std::string(expected == "SAT" ? "sat" : "unsat") + ")\n";
  out.append(text, at + logic.size());
  if (!values) return out;
  out += "(get-value (";
  const std::string declare = "\n(declare-fun ";
  for (std::size_t d = text.find(declare); d != std::string::npos; d = text.find(declare, d + 1)) {
    const std::size_t begin = d + declare.size();
    const std::string name = text.substr(begin, text.find(' ', begin) - begin);
    // Copy 0 says it all: CONSISTENCY lets the others follow.
    const bool issue = name.starts_with("op_") && name.compare(name.find('_', 3), 3, "_0_") == 0;
    if (issue || name.starts_with("opw_")) out += " " + name;
  }
  return out + "))\n";
}

}  // namespace twill::bench
