#include "graph/ttgir/chosen_branches.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/ttgir/lexer.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/parsed_edits.hpp"
#include "graph/ttgir/pure_ops.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostBranchesDeep = 8;  // of branches in branches; what is around these stays

/// Of a name, from one offset on up to another: what stands in its place.
struct Renamed {
  std::size_t begin = 0, end = 0;
  std::string name;
  bool numbered = false;  ///< results of a branch: each gets a name of its own
};

class BranchChooser {
 public:
  BranchChooser(const Module& module, int round) : m_(module), round_(round) {}

  std::optional<Module> run() {
    if (!m_.gaps.empty()) return std::nullopt;
    std::vector<int> found;
    for (const auto& value : m_.values) ++named_[value.name];
    note_loops();
    for (std::size_t op = 0; op < m_.ops.size(); ++op)
      if (m_.ops[op].name == "scf.if" && computes_alone(static_cast<int>(op)))
        found.push_back(static_cast<int>(op));
    if (found.empty()) return std::nullopt;
    read_tokens();
    // (A name of one of several results that looks like ours would lose its number.)
    for (std::size_t v = 0; v < m_.values.size(); ++v)
      if (numbers_[v].second && m_.values[v].name.starts_with("chosen.")) return std::nullopt;
    std::vector<int> taken;
    for (const int op : found)
      if (note(op)) taken.push_back(op);
    if (taken.empty()) return std::nullopt;
    for (auto& [name, all] : renamed_)
      std::sort(all.begin(), all.end(),
                [](const Renamed& a, const Renamed& b) { return a.begin < b.begin; });
    for (const int op : taken) replace(op);
    rename();
    return parsed_edits(m_, std::move(edits_));
  }

 private:
  // ---- Which branches.

  void note_loops() {
    has_loop_.assign(m_.ops.size(), false);
    for (std::size_t op = 0; op < m_.ops.size(); ++op) {
      if (!is_loop(m_.ops[op])) continue;
      // (Up to the first that is known to have one.)
      int around = m_.parent(static_cast<int>(op));
      for (; around != kNone && !has_loop_[at(around)]; around = m_.parent(around))
        has_loop_[at(around)] = true;
    }
  }

  static bool is_loop(const Operation& op) {
    return op.name == "scf.for" || op.name == "scf.while";
  }

  const Block* only_block_of(int region) const {
    const auto& blocks = m_.regions[at(region)].blocks;
    return blocks.size() == 1 ? &m_.block(blocks[0]) : nullptr;
  }

  /// Is it one of those that are wanted, in a place where its one result would not be read?
  bool is_wanted(int index) const {
    const Operation& op = m_.op(index);
    if (op.results.size() != 1) return !op.results.empty();
    const int around = m_.parent(index);
    return around == kNone || !is_loop(m_.op(around)) || has_loop_[at(around)] ||
           spreads_numbers(op);
  }

  /// Does it make a tile of real numbers that its sides make? (These would be no steps of its op.)
  bool spreads_numbers(const Operation& op) const {
    return std::any_of(op.regions.begin(), op.regions.end(), [&](int region) {
      const Block* const block = only_block_of(region);
      return block != nullptr && std::any_of(block->ops.begin(), block->ops.end(), [&](int inner) {
               const Operation& one = m_.op(inner);
               if (one.name != "tt.splat" || one.operands.size() != 1) return false;
               const Type* const type = m_.type_of(one.operands[0]);
               const int made = m_.value(one.operands[0]).op;
               return type != nullptr && type->element.starts_with('f') && made != kNone &&
                      m_.op(made).block == one.block && m_.op(made).name != "arith.constant";
             });
    });
  }

  bool computes_alone(int index) const {
    const Operation& op = m_.op(index);
    if (op.generic || op.operands.size() != 1 || op.regions.size() != 2 || !is_wanted(index))
      return false;
    const Type* const flag = m_.type_of(op.operands[0]);
    if (flag == nullptr || flag->kind != TypeKind::scalar || flag->element != "i1") return false;
    for (const int result : op.results) {
      const Type* const type = m_.type_of(result);
      if (type == nullptr || type->is_pointer() ||
          (type->kind != TypeKind::tensor && type->kind != TypeKind::scalar))
        return false;
    }
    return std::all_of(op.regions.begin(), op.regions.end(), [&](int region) {
      const Block* const block = only_block_of(region);
      if (block == nullptr || !block->label.empty() || block->ops.empty()) return false;
      const Operation& yield = m_.op(block->ops.back());
      return yield.name == "scf.yield" && !yield.generic &&
             yield.operands.size() == op.results.size() &&
             std::all_of(block->ops.begin(), block->ops.end() - 1,
                         [&](int inner) { return can_be_computed(m_.op(inner)); });
    });
  }

  /// Does it nothing but make its results, whatever its operands are?
  bool can_be_computed(const Operation& op) const {
    static constexpr std::string_view kMakes[] = {
        "arith.constant",      "tt.make_range",  "tt.splat",   "tt.unsplat", "tt.get_program_id",
        "tt.get_num_programs", "tt.reduce",      "tt.scan",    "tt.trans",   "tt.expand_dims",
        "ttg.convert_layout",  "tt.broadcast",   "tt.reshape", "tt.join",    "tt.split",
        "tt.bitcast",          "arith.bitcast",  "tt.clampf",  "tt.mulhiui", "tt.fp_to_fp",
        "tt.precise_sqrt",     "tt.precise_divf"};
    if (op.results.empty()) return false;
    if (op.name == "ttg.local_alloc") return op.operands.size() == 1 && op.results.size() == 1;
    if (op.name.starts_with("ttng.tmem_") || op.name == "ttng.tc_gen5_mma")
      return is_in_own_tensor_memory(op);
    for (const int result : op.results) {
      const Type* const type = m_.type_of(result);
      if (type == nullptr || (type->kind != TypeKind::tensor && type->kind != TypeKind::scalar))
        return false;
    }
    if (divides_integers(op)) return op.operands.size() == 2 && is_over_zero(m_, op.operands[1]);
    if (op.name.starts_with("math.") || op.name.starts_with("arith.")) return op.regions.empty();
    return class_of(op) == OpClass::mma ||
           std::find(std::begin(kMakes), std::end(kMakes), op.name) != std::end(kMakes);
  }

  /// Does it, with tensor memory, nothing but with what its own side has allocated?
  bool is_in_own_tensor_memory(const Operation& op) const {
    if (op.name == "ttng.tmem_alloc") return op.operands.size() < 2;
    // (With more operands a product tells a barrier of its end.)
    constexpr std::size_t kAlone = 6;
    if (op.name != "ttng.tmem_store" && op.name != "ttng.tmem_load" &&
        (op.name != "ttng.tc_gen5_mma" || op.operands.size() > kAlone))
      return false;
    return std::all_of(op.operands.begin(), op.operands.end(), [&](int operand) {
      const Type* const type = m_.type_of(operand);
      if (type == nullptr || type->kind != TypeKind::memdesc || !type->tensor_memory) return true;
      const int made = m_.value(operand).op;
      return made != kNone && m_.op(made).name == "ttng.tmem_alloc" &&
             m_.op(made).block == op.block;
    });
  }

  // ---- The text.

  void read_tokens() {
    numbers_.resize(m_.values.size());
    for (const Operation& op : m_.ops)
      for (std::size_t k = 1; k < op.results.size(); ++k) {
        const int before = op.results[k - 1], now = op.results[k];
        if (m_.value(before).name != m_.value(now).name) continue;
        numbers_[at(now)] = {numbers_[at(before)].first + 1, true};
        numbers_[at(before)].second = true;
      }
    Lexer lexer(*m_.text, m_.source);
    while (lexer.peek().kind != Tok::end) tokens_.push_back(lexer.take());
  }

  std::size_t token_at(std::size_t offset) const {
    return static_cast<std::size_t>(
        std::lower_bound(tokens_.begin(), tokens_.end(), offset,
                         [](const Token& t, std::size_t o) { return t.offset < o; }) -
        tokens_.begin());
  }

  /// Where the text of a branch is.
  struct Parts {
    std::size_t begin = 0;   ///< with the names of its results
    std::size_t first = 0;   ///< behind the brace that opens its first side
    std::size_t second = 0;  ///< likewise of its second one
  };

  /// The offset of its first result's name, if nothing else is in front of it on its line.
  std::optional<std::size_t> begin_of(std::size_t token) const {
    while (token > 0 && !tokens_[token].first_on_line) {
      const Token& before = tokens_[--token];
      if (before.kind != Tok::percent && before.kind != Tok::word && !before.is(':') &&
          !before.is(',') && !before.is('='))
        return std::nullopt;
    }
    if (token >= tokens_.size() || tokens_[token].kind != Tok::percent) return std::nullopt;
    return tokens_[token].offset;
  }

  std::optional<Parts> parts_of(const Operation& op) const {
    std::size_t t = token_at(op.begin);
    const auto begin = begin_of(t);
    if (!begin) return std::nullopt;
    int open = 0;
    for (; t < tokens_.size() && !(open == 0 && tokens_[t].is('{')); ++t) {
      if (tokens_[t].is('(') || tokens_[t].is('<') || tokens_[t].is('[') || tokens_[t].is('{'))
        ++open;
      if (tokens_[t].is(')') || tokens_[t].is('>') || tokens_[t].is(']') || tokens_[t].is('}'))
        --open;
    }
    const std::size_t closes = token_at(m_.regions[at(op.regions[0])].end);
    if (t >= closes || closes + 2 >= tokens_.size() || !tokens_[closes + 1].is_word("else") ||
        !tokens_[closes + 2].is('{'))
      return std::nullopt;
    return Parts{*begin, tokens_[t].offset + 1, tokens_[closes + 2].offset + 1};
  }

  /// Notes what names become. false = it is written in another way than is known.
  bool note(int index) {
    const Operation& op = m_.op(index);
    const auto parts = parts_of(op);
    if (!parts) return false;
    const std::string mine = std::to_string(round_) + "." + std::to_string(index);
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      const std::string_view name = m_.value(op.results[k]).name;
      if (k > 0 && name == m_.value(op.results[k - 1]).name) continue;
      const std::size_t end = m_.regions[at(m_.block(op.block).region)].end;
      renamed_[name].push_back({op.end, end, "chosen." + mine + "." + std::to_string(k), true});
    }
    for (std::size_t side = 0; side < 2; ++side) {
      const Block& block = *only_block_of(op.regions[side]);
      for (const int inner : block.ops)
        for (std::size_t k = 0; k < m_.op(inner).results.size(); ++k) {
          const std::string_view name = m_.value(m_.op(inner).results[k]).name;
          if (k > 0 && name == m_.value(m_.op(inner).results[k - 1]).name) continue;
          if (named_.at(name) == 1) continue;  // (nothing else has it, in any region)
          renamed_[name].push_back(
              {side == 0 ? parts->first : parts->second, m_.regions[at(op.regions[side])].end,
               std::string(name) + (side == 0 ? ".then." : ".else.") + mine, false});
        }
    }
    parts_[index] = *parts;
    return true;
  }

  /// What a name, with the number of a result, is at an offset of the text.
  std::optional<std::string> name_at(std::string_view name, int number, std::size_t offset) const {
    const auto found = renamed_.find(name);
    if (found == renamed_.end()) return std::nullopt;
    auto one = std::upper_bound(found->second.begin(), found->second.end(), offset,
                                [](std::size_t o, const Renamed& r) { return o < r.begin; });
    if (one == found->second.begin() || (--one)->end <= offset) return std::nullopt;
    return one->name + (one->numbered ? "." + std::to_string(number) : "");
  }

  /// A value as it is named at an offset.
  std::string named(int value, std::size_t offset) const {
    const Value& v = m_.value(value);
    const auto [number, several] = numbers_[at(value)];
    const std::string tail = several ? "#" + std::to_string(number) : "";
    const auto other = name_at(v.name, number, offset);
    if (!other) return "%" + std::string(v.name) + tail;
    return "%" + *other + (other->starts_with("chosen.") ? "" : tail);
  }

  void cut(std::size_t begin, std::size_t end, std::string text) {
    edits_.push_back({begin, end - begin, std::move(text)});
    gone_.emplace_back(begin, end);
  }

  void replace(int index) {
    const Operation& op = m_.op(index);
    const Parts& parts = parts_.at(index);
    const Operation& one = m_.op(only_block_of(op.regions[0])->ops.back());
    const Operation& other = m_.op(only_block_of(op.regions[1])->ops.back());
    const std::string mine = std::to_string(round_) + "." + std::to_string(index);
    const std::string flag = named(op.operands[0], op.begin);
    std::string choices;
    std::size_t group = 0;
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      if (k > 0 && m_.value(op.results[k]).name != m_.value(op.results[k - 1]).name) group = k;
      choices += "%chosen." + mine + "." + std::to_string(group) + "." + std::to_string(k - group) +
                 " = arith.select " + flag + ", " + named(one.operands[k], one.begin) + ", " +
                 named(other.operands[k], other.begin) + " : " +
                 std::string(m_.type_of(op.results[k])->text) + "\n";
    }
    cut(parts.begin, parts.first, "\n");
    cut(one.begin, parts.second, "\n");
    cut(other.begin, op.end, choices);
  }

  void rename() {
    std::sort(gone_.begin(), gone_.end());
    std::size_t next = 0;
    for (const Token& t : tokens_) {
      while (next < gone_.size() && gone_[next].second <= t.offset) ++next;
      if (next < gone_.size() && gone_[next].first <= t.offset) continue;
      if (t.kind != Tok::percent) continue;
      const auto name = name_at(t.text, t.number, t.offset);
      if (!name) continue;
      std::size_t end = t.offset + 1 + t.text.size();
      const std::string& text = *m_.text;
      if (name->starts_with("chosen.") && end < text.size() && text[end] == '#')
        end = std::min(text.find_first_not_of("0123456789", end + 1), text.size());
      edits_.push_back({t.offset + 1, end - t.offset - 1, *name});
    }
  }

  const Module& m_;
  const int round_;
  std::vector<bool> has_loop_;  ///< by op: is there a loop in it?
  std::vector<Token> tokens_;
  /// By value: which it is of those that share its name, and whether there are others.
  std::vector<std::pair<int, bool>> numbers_;
  std::map<std::string_view, int> named_;  ///< values by name
  std::map<std::string_view, std::vector<Renamed>> renamed_;
  std::map<int, Parts> parts_;
  std::vector<TextEdit> edits_;
  std::vector<std::pair<std::size_t, std::size_t>> gone_;
};

}  // namespace

std::optional<Module> with_chosen_branches(const Module& module) {
  std::optional<Module> made;
  for (int round = 0; round < kMostBranchesDeep; ++round) {
    auto next = BranchChooser(made ? *made : module, round).run();
    if (!next) break;
    made = std::move(next);
  }
  return made;
}

}  // namespace twill::ttgir
