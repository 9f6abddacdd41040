#include "graph/ttgir/named_ops.hpp"

#include <set>
#include <string_view>

#include "graph/index.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

bool is_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-';
}

void add_words(std::string_view text, std::set<std::string, std::less<>>& words) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    if (end > at) words.emplace(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
}

}  // namespace

std::int64_t repetition(const Module& module, const Operation& op, int warps) {
  if (op.results.empty()) return 1;
  const Type* type = module.type_of(op.results[0]);
  if (type == nullptr || type->elements() < 1) return 1;
  const auto held = elements_per_thread(*type, module);
  return held ? std::max<std::int64_t>(1, *held * 32 * warps / type->elements()) : 1;
}

std::string named_ops(const LoopKernel& loop, const Module& module,
                      const std::vector<std::string>& texts) {
  std::set<std::string, std::less<>> words;
  for (const std::string& text : texts) add_words(text, words);
  std::string all;
  for (std::size_t v = 0; v < loop.nodes.size(); ++v) {
    const std::string& id = loop.kernel.ops[v].id;
    if (words.count(id) == 0) continue;
    const Operation& op = module.op(loop.nodes[v].op);
    all += (all.empty() ? "" : "; ") + id + " is " + std::string(op.name) + " of line " +
           std::to_string(op.line);
    const std::int64_t threads = repetition(module, op, loop.warps);
    if (threads > 1 && loop.kernel.ops[v].registers.value_or(0) > 0)
      all += ", whose layout has each value in " + std::to_string(threads) + " threads";
  }
  return all;
}

}  // namespace twill::ttgir
