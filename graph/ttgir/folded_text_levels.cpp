// Loops around one that is undone (see folded_text.hpp): tiles one after the other, say. They stay
// as they are, but for the variables that stood for barriers and buffers alone.
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/folded_text.hpp"

namespace twill::ttgir {

void FoldedText::write_early_returns() {
  for (const auto& [branch, where_true] : l_.early_returns()) {
    const std::string condition = before_text(m_.op(branch).operands.at(0), branch);
    const std::string number = std::to_string(++blocks_);
    const std::string leaves = "^bb" + number + "r", stays = "^bb" + number;
    line(Where::before,
         "    cf.cond_br " + condition + ", " + (where_true ? leaves : stays) + ", " +
             (where_true ? stays : leaves) + "\n  " + leaves + ":\n    tt.return\n  " + stays + ":",
         branch);
  }
}

std::optional<std::string> FoldedText::outer_variable(int value) {
  const Value& v = m_.value(value);
  if (v.op != kNone || v.block == kNone) return std::nullopt;
  for (std::size_t k = 0; k < outers_.size(); ++k) {
    const Operation& loop = m_.op(l_.around()[k]);
    if (m_.regions[twill::at(loop.regions.at(0))].blocks.at(0) != v.block) continue;
    std::string& name = v.index == 0 ? outers_[k].variable : outers_[k].arguments[v.index - 1];
    if (name.empty()) name = "%" + unique(name_of(value));
    return name;
  }
  return std::nullopt;
}

std::optional<std::string> FoldedText::outer_result(int value) {
  const Value& v = m_.value(value);
  for (std::size_t k = 0; k < outers_.size(); ++k) {
    if (v.op == kNone || l_.around()[k] != v.op) continue;
    const int block = m_.regions[twill::at(m_.op(v.op).regions.at(0))].blocks.at(0);
    outer_variable(m_.block(block).arguments.at(twill::at(v.index) + 1));
    std::string& name = outers_[k].results[v.index];
    if (name.empty()) name = "%" + unique(name_of(value));
    return name;
  }
  return std::nullopt;
}

void FoldedText::write_yields() {
  // Each may ask for further ones, of any of the loops.
  const auto kept = [&] {
    std::size_t count = 0;
    for (const Outer& outer : outers_) count += outer.arguments.size();
    return count;
  };
  std::size_t before = 0;
  do {
    before = kept();
    for (std::size_t k = outers_.size(); k-- > 0;) {
      const int index = l_.around()[k];
      const Operation& loop = m_.op(index);
      const int block = m_.regions[twill::at(loop.regions.at(0))].blocks.at(0);
      const int yield = m_.block(block).ops.back();
      for (std::size_t bound = 0; bound < kBounds; ++bound)
        before_text(loop.operands.at(bound), index);
      for (const auto& [carried, name] : std::map(outers_[k].arguments)) {
        if (outers_[k].yields.count(carried) != 0) continue;
        held_.clear();  // (what a buffer has there is that of some tile)
        brought_.clear();
        outers_[k].yields[carried] =
            after_text(m_.op(yield).operands.at(twill::at(carried)), yield);
        before_text(loop.operands.at(kBounds + twill::at(carried)), index);
      }
    }
  } while (before != kept());
}

void FoldedText::begin_outer(Undone& result, std::string& text, std::size_t outer) {
  const int index = l_.around()[outer];
  const Operation& loop = m_.op(index);
  Outer& names = outers_[outer];
  const int block = m_.regions[twill::at(loop.regions.at(0))].blocks.at(0);
  outer_variable(m_.block(block).arguments.at(0));  // it has one, whether it is used or not
  std::vector<std::string> bounds;
  for (std::size_t k = 0; k < kBounds; ++k)
    bounds.push_back(before_text(loop.operands.at(k), index));
  std::string results, begins, types;
  const auto add = [](std::string& list, const std::string& one) {
    list += (list.empty() ? "" : ", ") + one;
  };
  for (const auto& [k, argument] : names.arguments) {
    const int begin = loop.operands.at(kBounds + twill::at(k));
    std::string& name = names.results[k];
    if (name.empty()) name = "%" + unique(name_of(loop.results.at(twill::at(k))));
    add(results, name);
    add(begins, argument + " = " + before_text(begin, index));
    add(types, std::string(l_.type(begin)->text));
  }
  // (What is asked for here was written before, so that the text is complete.)
  Level& level = levels_[outer];
  text += level.before;
  result.places.insert(result.places.end(), level.before_places.begin(), level.before_places.end());
  text += "    " + (results.empty() ? "" : results + " = ") + "scf.for " + names.variable + " = " +
          bounds[0] + " to " + bounds[1] + " step " + bounds[2];
  if (!types.empty()) text += " iter_args(" + begins + ") -> (" + types + ")";
  text += " : " + std::string(l_.type(loop.operands.at(0))->text) + " {\n";
  result.places.emplace_back(loop.line, loop.column);
}

void FoldedText::end_outer(Undone& result, std::string& text, std::size_t outer) {
  const Operation& loop = m_.op(l_.around()[outer]);
  std::string yields, types;
  for (const auto& [k, name] : outers_[outer].yields) {
    const bool first = yields.empty();
    yields += (first ? " " : ", ") + name;
    types += (first ? " : " : ", ") + std::string(l_.type(loop.results.at(twill::at(k)))->text);
  }
  text += "    scf.yield" + with_left_names(yields) + types + "\n    }\n" +
          with_left_names(levels_[outer].after);
  for (int lines = 0; lines < 2; ++lines) result.places.emplace_back(loop.line, loop.column);
  const Places& after = levels_[outer].after_places;
  result.places.insert(result.places.end(), after.begin(), after.end());
}

}  // namespace twill::ttgir
