#include "graph/ttgir/counted_while.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

/// What counts: which of the operands, up to which value, by which one.
struct Count {
  std::size_t operand = 0;
  int end = kNone, step = kNone;
};

class WhileReader {
 public:
  explicit WhileReader(const Module& module) : m_(module) {}

  std::optional<std::string> text() {
    std::vector<TextEdit> edits;
    for (const Operation& op : m_.ops)
      if (op.name == "scf.while" && op.properties.empty() && m_.gaps.empty())
        if (auto edit = edit_of(op)) {
          edits.push_back(std::move(*edit));
          // (Of the generic form its types stand behind it.)
          const std::size_t body = m_.regions[static_cast<std::size_t>(op.regions[1])].end + 1;
          if (op.generic) {
            edits.push_back(without(body, op.end));
          } else if (const std::size_t word = m_.text->find("attributes", body);
                     op.has_dict && word < op.attribute_offset) {
            // (What scf.for has stands behind its body without a word.)
            edits.push_back({word, std::string_view("attributes").size(), ""});
          }
        }
    if (edits.empty()) return std::nullopt;
    return edited(*m_.text, std::move(edits));
  }

 private:
  int index_of(const Operation& op) const { return static_cast<int>(&op - m_.ops.data()); }

  const Block* only_block(const Operation& op, std::size_t region) const {
    const auto& blocks = m_.regions[static_cast<std::size_t>(op.regions[region])].blocks;
    return blocks.size() == 1 ? &m_.block(blocks[0]) : nullptr;
  }

  std::optional<Count> count(const Operation& loop, const Block& asks, const Block& does) const {
    const std::size_t carried = loop.operands.size();
    if (asks.ops.size() != 2 || does.ops.empty() || asks.arguments.size() != carried ||
        does.arguments.size() != carried || loop.results.size() != carried)
      return std::nullopt;
    const Operation &compares = m_.op(asks.ops[0]), &condition = m_.op(asks.ops[1]),
                    &yield = m_.op(does.ops.back());
    if (compares.name != "arith.cmpi" || compares.operands.size() != 2 ||
        compares.results.size() != 1 || condition.name != "scf.condition" ||
        yield.name != "scf.yield" || yield.operands.size() != carried ||
        condition.operands.size() != carried + 1 || condition.operands[0] != compares.results[0] ||
        !std::equal(asks.arguments.begin(), asks.arguments.end(), condition.operands.begin() + 1))
      return std::nullopt;
    const auto how = predicate(m_, compares);
    if (how != kSignedLess && how != kSignedMore) return std::nullopt;
    const std::size_t first = how == kSignedLess ? 0 : 1;
    const auto counts =
        std::find(asks.arguments.begin(), asks.arguments.end(), compares.operands[first]);
    Count made;
    made.end = compares.operands[1 - first];
    if (counts == asks.arguments.end() || !is_there_before(m_, made.end, index_of(loop)))
      return std::nullopt;
    made.operand = static_cast<std::size_t>(counts - asks.arguments.begin());
    const Type *type = m_.type_of(*counts), *end = m_.type_of(made.end);
    const int next = m_.value(yield.operands[made.operand]).op;
    if (type == nullptr || end == nullptr || end->text != type->text ||
        (type->text != "i32" && type->text != "i64") || next == kNone ||
        m_.op(next).name != "arith.addi" || m_.op(next).operands.size() != 2)
      return std::nullopt;
    const auto& added = m_.op(next).operands;
    const std::size_t mine = added[0] == does.arguments[made.operand] ? 0 : 1;
    if (added[mine] != does.arguments[made.operand]) return std::nullopt;
    made.step = added[1 - mine];
    const auto step = constant_integer(m_, made.step);
    if (!step || *step < 1 || !is_there_before(m_, made.step, index_of(loop))) return std::nullopt;
    return made;
  }

  /// Behind the label of the second region, whose arguments it names; npos = there is none.
  std::size_t behind_label(std::size_t from, std::size_t until) const {
    const std::string& text = *m_.text;
    std::size_t at = text.find('^', from);
    if (at == std::string::npos || at >= until) return std::string::npos;
    int open = 0;
    bool quoted = false;
    for (; at < until; ++at) {
      const char c = text[at];
      if (c == '"') quoted = !quoted;
      if (quoted && c == '\\') ++at;
      if (quoted) continue;
      if (c == '(') ++open;
      if (c == ')') --open;
      if (c == ':' && open == 0) return at + 1;
    }
    return std::string::npos;
  }

  std::optional<TextEdit> edit_of(const Operation& loop) const {
    if (loop.regions.size() != 2) return std::nullopt;
    const Block *asks = only_block(loop, 0), *does = only_block(loop, 1);
    if (asks == nullptr || does == nullptr) return std::nullopt;
    const auto counted = count(loop, *asks, *does);
    if (!counted) return std::nullopt;
    const std::size_t from = m_.regions[static_cast<std::size_t>(loop.regions[0])].end;
    const std::size_t end = behind_label(from, m_.op(does->ops[0]).begin);
    if (end == std::string::npos || end <= loop.begin) return std::nullopt;
    const std::string type(m_.type_of(loop.operands[counted->operand])->text);
    std::string carried, types;
    for (std::size_t k = 0; k < loop.operands.size(); ++k) {
      const Type* of = m_.type_of(loop.operands[k]);
      if (of == nullptr) return std::nullopt;
      carried += (k == 0 ? "" : ", ") + written_name(m_, does->arguments[k]) + " = " +
                 written_name(m_, loop.operands[k]);
      types += (k == 0 ? "" : ", ") + std::string(of->text);
    }
    // (A name that no printer makes.)
    const std::string counter = "%counted.of." + std::to_string(index_of(loop));
    std::string text = "scf.for " + counter + " = " +
                       written_name(m_, loop.operands[counted->operand]) + " to " +
                       written_name(m_, counted->end) + " step " + written_name(m_, counted->step) +
                       " iter_args(" + carried + ") -> (" + types + ")  : " + type + " {";
    TextEdit edit = without(loop.begin, end);
    edit.text.insert(0, text);
    return edit;
  }

  /// No text but its ends of lines.
  TextEdit without(std::size_t from, std::size_t end) const {
    const auto gone = std::string_view(*m_.text).substr(from, end - from);
    return {
        from, end - from,
        std::string(static_cast<std::size_t>(std::count(gone.begin(), gone.end(), '\n')), '\n')};
  }

  const Module& m_;
};

}  // namespace

std::optional<std::string> with_counted_loops(const Module& module) {
  return WhileReader(module).text();
}

}  // namespace twill::ttgir
