#include "graph/ttgir/successors.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/comparison.hpp"

namespace twill::ttgir {
namespace {

using meaning::IndexComparison;

constexpr int kMostJoined = 20;  // comparisons joined in one condition, one in another

std::vector<std::string_view> labels_of(const Module& module, const Operation& op,
                                        std::string& why) {
  std::vector<std::string_view> labels;
  std::string_view text = std::string_view(*module.text).substr(op.begin, op.end - op.begin);
  for (std::size_t k = text.find('^'); k != std::string_view::npos; k = text.find('^')) {
    text.remove_prefix(k);
    const std::size_t end = std::min(text.find_first_of(" ,(])\n\r\t{"), text.size());
    if (end < text.size() && text[end] == '(') why = "it hands values to a block";
    labels.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return labels;
}

/// Does a block do nothing but return?
bool only_returns(const Module& module, int block) {
  const Block& one = module.block(block);
  return one.ops.size() == 1 && module.op(one.ops[0]).name == "tt.return";
}

/// Comparisons of which one at least holds where a condition is `truth`.
bool add_where(const Module& module, const IndexValues& indices, int condition, bool truth,
               std::vector<IndexComparison>& all, int depth = 0) {
  const int made = module.value(condition).op;
  if (made == kNone || depth > kMostJoined) return false;
  const Operation& op = module.op(made);
  if (op.operands.size() != 2) return false;
  if (op.name == (truth ? "arith.ori" : "arith.andi"))
    return add_where(module, indices, op.operands[0], truth, all, depth + 1) &&
           add_where(module, indices, op.operands[1], truth, all, depth + 1);
  if (op.name != "arith.cmpi") return false;
  const auto asked = predicate(module, op);
  const auto how = asked ? how_of(*asked, truth) : std::nullopt;
  const auto a = indices.of(op.operands[0]), b = indices.of(op.operands[1]);
  if (!how || !a || !b) return false;
  all.push_back({*a, *how, *b});
  return true;
}

}  // namespace

std::variant<std::vector<int>, std::string> successors(const Module& module, int op) {
  const Operation& o = module.op(op);
  const bool chooses = o.name == "cf.cond_br";
  if (!chooses && o.name != "cf.br") return std::vector<int>{};
  std::string why;
  const std::vector<std::string_view> labels = labels_of(module, o, why);
  if (!why.empty()) return why;
  if (labels.size() != (chooses ? 2U : 1U)) return std::string("it is not known where it goes on");
  std::vector<int> found;
  for (const std::string_view label : labels) {
    int to = kNone;
    for (const int one : module.regions[at(module.block(o.block).region)].blocks)
      if (module.block(one).label == label) to = one;
    if (to == kNone) return std::string("it goes on to no block");
    if (!module.block(to).arguments.empty()) return std::string("it hands values to a block");
    found.push_back(to);
  }
  return found;
}

std::optional<std::vector<IndexComparison>> early_returns(const Module& module,
                                                          const IndexValues& indices, int function,
                                                          int block) {
  const std::vector<int>& blocks = module.regions[at(module.op(function).regions[0])].blocks;
  std::vector<IndexComparison> all;
  std::vector<int> met;
  int now = blocks.front();
  while (std::find(met.begin(), met.end(), now) == met.end()) {
    met.push_back(now);
    if (module.block(now).ops.empty()) return std::nullopt;
    const int last = module.block(now).ops.back();
    const auto next = successors(module, last);
    const auto* to = std::get_if<std::vector<int>>(&next);
    if (to == nullptr) return std::nullopt;
    if (now == block) {
      // Behind the loop it returns, perhaps in a block of its own.
      if (to->empty() && module.op(last).name == "tt.return") return all;
      if (to->size() == 1 && only_returns(module, (*to)[0])) return all;
      return std::nullopt;
    }
    if (to->size() == 2) {
      const bool first = only_returns(module, (*to)[0]);
      if (first == only_returns(module, (*to)[1])) return std::nullopt;
      if (!add_where(module, indices, module.op(last).operands.at(0), first, all))
        return std::nullopt;
      now = (*to)[first ? 1 : 0];
    } else if (to->size() == 1) {
      now = (*to)[0];
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace twill::ttgir
