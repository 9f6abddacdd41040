#include "graph/ttgir/sums_kept.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parsed_edits.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kBounds = 3;  // operands of an scf.for before what its variables begin with
constexpr std::string_view kTokenType = "!ttg.async.token";

/// A sum that a loop carries: which of its variables, and the ops that move it.
struct CarriedSum {
  std::size_t which = 0;
  int alloc = kNone, store = kNone, load = kNone;
  std::vector<int> products;
};

class SumKeeper {
 public:
  explicit SumKeeper(const Module& module) : m_(module) {
    for (std::size_t op = 0; op < m_.ops.size(); ++op)
      for (const int value : m_.ops[op].operands) users_[value].push_back(static_cast<int>(op));
  }

  std::optional<Module> run() {
    if (!m_.gaps.empty()) return std::nullopt;
    for (std::size_t op = 0; op < m_.ops.size(); ++op) {
      if (m_.ops[op].name != "scf.for" || m_.ops[op].generic) continue;
      const auto sums = sums_of(static_cast<int>(op));
      if (!sums.empty() && can_be_edited(static_cast<int>(op), sums))
        edit(static_cast<int>(op), sums);
    }
    if (edits_.empty()) return std::nullopt;
    return parsed_edits(m_, std::move(edits_));
  }

 private:
  // ---- Which sums.

  const Block& body_of(int loop) const {
    return m_.block(m_.regions[at(m_.op(loop).regions[0])].blocks[0]);
  }

  const std::vector<int>& users(int value) const {
    static const std::vector<int> kNobody;
    const auto found = users_.find(value);
    return found == users_.end() ? kNobody : found->second;
  }

  bool is_only_used_by(int value, int op) const {
    return users(value).size() == 1 && users(value)[0] == op;
  }

  std::vector<CarriedSum> sums_of(int loop) const {
    const Operation& op = m_.op(loop);
    std::vector<CarriedSum> all;
    if (op.regions.size() != 1 || m_.regions[at(op.regions[0])].blocks.size() != 1) return all;
    const Block& body = body_of(loop);
    if (body.ops.empty() || m_.op(body.ops.back()).name != "scf.yield" ||
        m_.op(body.ops.back()).operands.size() != op.results.size() ||
        body.arguments.size() != op.results.size() + 1 ||
        op.operands.size() != op.results.size() + kBounds)
      return all;
    for (std::size_t k = 0; k < op.results.size(); ++k)
      if (const auto sum = sum_of(loop, body, k)) all.push_back(*sum);
    return all;
  }

  std::optional<CarriedSum> sum_of(int loop, const Block& body, std::size_t k) const {
    CarriedSum sum;
    sum.which = k;
    const int yield = body.ops.back(), carried = body.arguments[k + 1],
              handed = m_.op(yield).operands[k];
    if (users(carried).size() != 1 || !is_only_used_by(handed, yield)) return std::nullopt;
    sum.store = users(carried)[0];
    sum.load = m_.value(handed).op;
    if (!is_in(sum.store, "ttng.tmem_store", body, 4) ||
        !is_in(sum.load, "ttng.tmem_load", body, 2))
      return std::nullopt;
    const Operation &store = m_.op(sum.store), &load = m_.op(sum.load);
    const int buffer = store.operands[1];
    sum.alloc = m_.value(buffer).op;
    if (!is_in(sum.alloc, "ttng.tmem_alloc", body, 0) || m_.op(sum.alloc).results.size() != 2 ||
        store.operands[0] != carried || store.operands[2] != m_.op(sum.alloc).results[1] ||
        store.results.size() != 1 || constant_integer(m_, store.operands[3]) != 1 ||
        !is_there_before(m_, store.operands[3], loop) || load.operands[0] != buffer ||
        load.results.size() != 2 || load.results[0] != handed || !users(load.results[1]).empty() ||
        !is_only_used_by(m_.op(sum.alloc).results[1], sum.store))
      return std::nullopt;
    // One product after the other, from the store to the load, each with the token of the last.
    int token = store.results[0];
    while (token != load.operands[1]) {
      if (users(token).size() != 1) return std::nullopt;
      const int next = users(token)[0];
      if (!is_in(next, "ttng.tc_gen5_mma", body, 6) || m_.op(next).operands[2] != buffer ||
          m_.op(next).operands[3] != token || m_.op(next).results.size() != 1)
        return std::nullopt;
      sum.products.push_back(next);
      token = m_.op(next).results[0];
    }
    if (sum.products.empty() || !is_only_used_by(token, sum.load) ||
        users(buffer).size() != sum.products.size() + 2)
      return std::nullopt;
    return sum;
  }

  bool is_in(int index, std::string_view name, const Block& body, std::size_t operands) const {
    if (index == kNone) return false;
    const Operation& op = m_.op(index);
    return op.name == name && !op.generic && op.operands.size() == operands &&
           std::find(body.ops.begin(), body.ops.end(), index) != body.ops.end();
  }

  // ---- The text.

  /// Has each op a line for itself, and does all that reads a sum behind the loop have one text?
  bool can_be_edited(int loop, const std::vector<CarriedSum>& sums) const {
    const Operation& op = m_.op(loop);
    const Block& body = body_of(loop);
    const std::size_t line = m_.text->find('\n', op.end);
    if (!line_begin(m_, loop) || line == std::string::npos ||
        !std::string_view(*m_.text).substr(op.begin).starts_with("scf.for %") ||
        line_around(*m_.text, m_.op(body.ops[0]).begin) <= op.begin)
      return false;
    // (Behind the loop its attributes or location, and nothing else.)
    const std::string_view rest = std::string_view(*m_.text).substr(op.end, line - op.end);
    if (rest.find('%') != std::string_view::npos || rest.find('}') != std::string_view::npos)
      return false;
    for (const CarriedSum& sum : sums) {
      for (const int moved : {sum.alloc, sum.store, sum.load})
        if (!line_begin(m_, moved)) return false;
      for (const int user : users(op.results[sum.which]))
        if (!m_.op(user).regions.empty()) return false;
    }
    return true;
  }

  std::string listed(const std::vector<std::string>& all) const {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
    return text;
  }

  void edit(int loop, const std::vector<CarriedSum>& sums) {
    const Operation& op = m_.op(loop);
    const Block& body = body_of(loop);
    const Operation& yield = m_.op(body.ops.back());
    std::vector<std::string> carried, types, handed;
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      carried.push_back(written_name(m_, body.arguments[k + 1]) + " = " +
                        written_name(m_, op.operands[kBounds + k]));
      types.emplace_back(m_.type_of(op.results[k])->text);
      handed.push_back(written_name(m_, yield.operands[k]));
    }
    std::string before, behind;
    std::map<int, std::map<int, std::string>> renamed;  // by op, what it reads
    for (const CarriedSum& sum : sums) {
      // (Names that no printer makes.)
      const std::string mine =
          "%kept." + std::to_string(loop) + "." + std::to_string(sum.which) + ".";
      const Operation &alloc = m_.op(sum.alloc), &store = m_.op(sum.store), &load = m_.op(sum.load);
      const int buffer = alloc.results[0], result = op.results[sum.which];
      before += mine + "buffer, " + mine + "free = " + op_text(m_, sum.alloc, {}) + "\n" + mine +
                "begun = " +
                op_text(m_, sum.store,
                        {{store.operands[0], written_name(m_, op.operands[kBounds + sum.which])},
                         {buffer, mine + "buffer"},
                         {alloc.results[1], mine + "free"}}) +
                "\n";
      carried[sum.which] = mine + "at = " + mine + "begun";
      types[sum.which] = kTokenType;
      handed[sum.which] = written_name(m_, load.operands[1]);
      for (const int product : sum.products) renamed[product][buffer] = mine + "buffer";
      renamed[sum.products[0]][store.results[0]] = mine + "at";
      for (const int moved : {sum.alloc, sum.store, sum.load}) {
        const std::size_t begin = *line_begin(m_, moved);
        edits_.push_back({begin, m_.op(moved).end - begin, ""});
      }
      if (users(result).empty()) continue;
      behind += mine + "sum, " + mine + "read = " +
                op_text(m_, sum.load,
                        {{buffer, mine + "buffer"}, {load.operands[1], written_name(m_, result)}}) +
                "\n";
      for (const int user : users(result)) renamed[user][result] = mine + "sum";
    }
    edits_.push_back({*line_begin(m_, loop), 0, before});
    edits_.push_back({op.begin, line_around(*m_.text, m_.op(body.ops[0]).begin) - op.begin,
                      "scf.for " + written_name(m_, body.arguments[0]) + " = " +
                          written_name(m_, op.operands[0]) + " to " +
                          written_name(m_, op.operands[1]) + " step " +
                          written_name(m_, op.operands[2]) + " iter_args(" + listed(carried) +
                          ") -> (" + listed(types) +
                          ")  : " + std::string(m_.type_of(body.arguments[0])->text) + " {\n"});
    edits_.push_back({yield.begin, yield.end - yield.begin,
                      "scf.yield " + listed(handed) + " : " + listed(types)});
    edits_.push_back({m_.text->find('\n', op.end) + 1, 0, behind});
    for (const auto& [user, names] : renamed)
      edits_.push_back(
          {m_.op(user).begin, m_.op(user).end - m_.op(user).begin, op_text(m_, user, names)});
  }

  const Module& m_;
  std::map<int, std::vector<int>> users_;  ///< by value
  std::vector<TextEdit> edits_;
};

}  // namespace

std::optional<Module> with_sums_kept(const Module& module) {
  return SumKeeper(module).run();
}

}  // namespace twill::ttgir
