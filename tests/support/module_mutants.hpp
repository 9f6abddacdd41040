// Modules with one fault each, for what reads and rewrites them: it may refuse, and do no harm.
#pragma once

#include <string>
#include <vector>

#include "graph/error.hpp"
#include "graph/ttgir/parser.hpp"

namespace twill::test {

/// `rewrite` (a function of a ttgir::Module) on mutants of a module's text: at each operand one
/// without it, one without its line, and one with another operand in its place. Those that are no
/// modules are left out; an InputError is an answer.
template <class Rewrite>
void on_mutants(const std::string& text, Rewrite rewrite) {
  std::vector<std::size_t> operands;
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1))
    operands.push_back(at);
  const auto end_of = [&](std::size_t begin) { return text.find_first_of(" ,)]:[", begin); };
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::size_t end = end_of(operands[k]);
    std::vector<std::string> all(3, text);
    all[0].erase(operands[k], end - operands[k] + (text[end] == ',' ? 2 : 0));
    const std::size_t line = text.rfind('\n', operands[k]) + 1;
    all[1].erase(line, text.find('\n', line) + 1 - line);
    const std::size_t from = operands[(k * 7 + 3) % operands.size()];
    all[2].replace(operands[k], end - operands[k], text.substr(from, end_of(from) - from));
    for (const std::string& one : all) {
      try {
        rewrite(ttgir::parse_module(one, "module"));
      } catch (const InputError&) {
      }
    }
  }
}

}  // namespace twill::test
