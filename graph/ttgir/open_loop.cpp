#include "graph/ttgir/open_loop.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/replay.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

const std::string kLength = "\"" + std::string(kLengthOp) + "\"(";
constexpr std::int64_t kMostGuardSteps = 8;  // that a guard is ahead of the end

/// a - b, where both are constants, or sums of the same value and constants.
std::optional<std::int64_t> difference(const Module& m, int a, int b) {
  const WithConstant left = with_constant(m, a), right = with_constant(m, b);
  if (left.value != right.value) return std::nullopt;
  return left.added - right.added;
}

/// Where the value's name stands last before `end`, from `begin` on: the offset and the length.
std::optional<std::pair<std::size_t, std::size_t>> last_name(const Module& m, int value,
                                                             std::size_t begin, std::size_t end) {
  const std::string name = "%" + std::string(m.value(value).name);
  std::size_t at = std::string_view(*m.text).substr(0, end).rfind(name);
  if (at == std::string::npos || at < begin) return std::nullopt;
  const char next = (*m.text)[at + name.size()];
  if (in_name(next) || next == '#') return std::nullopt;
  return std::pair{at, name.size()};
}

}  // namespace

std::optional<OpenLoop> open_loop(const Module& m, int index) {
  const Operation& loop = m.op(index);
  if (loop.generic || loop.operands.size() < 3 || loop.regions.empty()) return std::nullopt;
  const int lower = loop.operands[0], upper = loop.operands[1];
  const auto span = difference(m, upper, lower), step = constant_integer(m, loop.operands[2]);
  if (!span || !step || *step < 1 || *span < 1 || *span >= kLastSeen * *step) return std::nullopt;
  const Type* type = m.type_of(upper);
  const int block = m.regions[at(loop.regions[0])].blocks.at(0);
  const int variable = m.block(block).arguments.at(0);
  const std::string& text = *m.text;
  const std::size_t line = text.rfind('\n', loop.begin) + 1;
  const std::size_t open = text.find('{', loop.begin);
  const std::size_t until = std::min(text.find(" step ", loop.begin), open);
  if (type == nullptr || open == std::string::npos) return std::nullopt;
  std::string length = "%length";
  while (text.find(length) != std::string::npos) length += "_";
  const std::string types(type->text);
  std::string before = length + " = " + std::string(kLength) + "%" +
                       std::string(m.value(upper).name) + ") : (" + types + ") -> " + types + "\n";
  std::vector<TextEdit> edits;
  const auto bound = last_name(m, upper, loop.begin, until);
  if (!bound) return std::nullopt;
  edits.push_back({bound->first, bound->second, length});
  for (const int inner : m.block(block).ops) {
    const Operation& op = m.op(inner);
    if (op.name != "arith.cmpi" || op.generic || op.operands.size() != 2 ||
        op.operands[0] != variable)
      continue;
    const auto less = difference(m, upper, op.operands[1]);
    if (!less || *less < *step || *less % *step != 0 || *less / *step > kMostGuardSteps) continue;
    const auto name = last_name(m, op.operands[1], op.begin, op.end);
    if (!name) continue;
    const std::string stem = length + ".less" + std::to_string(*less);
    if (before.find(stem + " ") == std::string::npos)
      before += stem + "c = arith.constant " + std::to_string(*less) + " : " + types + "\n" + stem +
                " = arith.subi " + length + ", " + stem + "c : " + types + "\n";
    edits.push_back({name->first, name->second, stem});
  }
  edits.push_back({line, 0, before});
  OpenLoop result{parse_module(edited(text, std::move(edits)), m.source), kNone, loop.line, 0,
                  (*span + *step - 1) / *step};
  result.more = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  for (std::size_t k = 0; k < result.module.ops.size(); ++k)
    if (result.module.ops[k].name == "scf.for" &&
        result.module.ops[k].line == loop.line + result.more)
      result.loop = static_cast<int>(k);
  if (result.loop == kNone) return std::nullopt;
  return result;
}

int closed_op(const Module& m, int loop, const OpenLoop& open, int op) {
  if (op == kNone) return kNone;
  const Operation& of = open.module.op(op);
  const std::uint32_t line = of.line < open.line ? of.line : of.line - open.more;
  for (std::size_t k = 0; k < m.ops.size(); ++k)
    if (m.ops[k].line == line && m.ops[k].column == of.column && m.ops[k].name == of.name)
      return static_cast<int>(k);
  return loop;
}

void close_loop(Undone& undone, const OpenLoop& open, const Operation& loop) {
  std::string& text = undone.text;
  for (auto& [line, column] : undone.places) {
    if (line >= open.line + open.more)
      line -= open.more;
    else if (line >= open.line)
      std::tie(line, column) = std::pair(loop.line, loop.column);
  }
  for (std::size_t at = text.find(kLength); at != std::string::npos; at = text.find(kLength)) {
    const std::size_t line = text.rfind('\n', at) + 1, end = text.find('\n', at);
    const std::size_t name = text.find('%', line), bound = at + kLength.size();
    if (name >= at || end == std::string::npos)
      throw CannotUndo{open.loop, "how often it runs is not had back"};
    const std::string length = text.substr(name, text.find(' ', name) - name);
    const std::string known = text.substr(bound, text.find(')', bound) - bound);
    text.erase(line, end - line);  // (The line stays, for the places of others.)
    for (std::size_t from = text.find(length, line); from != std::string::npos;
         from = text.find(length, from + 1))
      if (from + length.size() >= text.size() || !in_name(text[from + length.size()]))
        text.replace(from, length.size(), known);
  }
}

}  // namespace twill::ttgir
