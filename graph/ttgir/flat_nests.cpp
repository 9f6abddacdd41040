#include "graph/ttgir/flat_nests.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parsed_edits.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {
namespace {

constexpr std::size_t kBoundsOfFor = 3;  // operands of scf.for before what it carries

struct FlatNest {
  int outer = kNone, inner = kNone;
  std::int64_t outer_step = 0, inner_step = 0;
};

class FlatNestReader {
 public:
  explicit FlatNestReader(const Module& module) : m_(module) {
    users_.assign(m_.values.size(), 0);
    for (const Operation& op : m_.ops)
      for (const int operand : op.operands) ++users_[static_cast<std::size_t>(operand)];
  }

  std::optional<Module> run() {
    if (!m_.gaps.empty()) return std::nullopt;
    std::vector<FlatNest> nests;
    std::size_t loops = 0;
    for (std::size_t op = 0; op < m_.ops.size(); ++op) {
      loops += m_.ops[op].name == "scf.for" || m_.ops[op].name == "scf.while" ? 1 : 0;
      if (const auto nest = nest_at(static_cast<int>(op))) nests.push_back(*nest);
    }
    // (A nest before another loop is repeated as it is, by each slot that needs what it makes.)
    if (nests.empty() || loops != 2 * nests.size()) return std::nullopt;
    std::vector<TextEdit> edits;
    for (const FlatNest& nest : nests) add(nest, edits);
    if (edits.empty()) return std::nullopt;
    return parsed_edits(m_, std::move(edits));
  }

 private:
  const Block* body_of(const Operation& op) const {
    if (op.name != "scf.for" || op.generic || !op.properties.empty() || op.regions.size() != 1 ||
        op.results.empty() || op.operands.size() != kBoundsOfFor + op.results.size())
      return nullptr;
    const auto& blocks = m_.regions[static_cast<std::size_t>(op.regions[0])].blocks;
    if (blocks.size() != 1) return nullptr;
    const Block& body = m_.block(blocks[0]);
    if (body.arguments.size() != 1 + op.results.size() || body.ops.size() < 2) return nullptr;
    const Operation& yield = m_.op(body.ops.back());
    if (yield.name != "scf.yield" || yield.operands.size() != op.results.size()) return nullptr;
    const Type* counts = m_.type_of(body.arguments[0]);
    return counts != nullptr && counts->text == "i32" ? &body : nullptr;
  }

  /// Does it compute a place, a mask or a number, or load some, and nothing else?
  bool computes(const Operation& op, bool may_load) const {
    static constexpr std::string_view kComputesPlaces[] = {
        "tt.splat",  "tt.broadcast",      "tt.expand_dims",    "tt.make_range",
        "tt.addptr", "tt.get_program_id", "ttg.convert_layout"};
    if (!op.regions.empty() || op.results.size() != 1) return false;
    if (op.name.starts_with("arith.") ||
        std::find(std::begin(kComputesPlaces), std::end(kComputesPlaces), op.name) !=
            std::end(kComputesPlaces))
      return true;
    const Type* const type = m_.type_of(op.results[0]);
    return may_load && op.name == "tt.load" && type != nullptr && type->shape.size() < 2;
  }

  struct Inside {
    bool loop = false, stores = false;
  };
  /// What there is in a loop; no further than to the first loop.
  Inside inside(const Operation& loop) const {
    Inside found;
    std::vector<int> open = {loop.regions[0]};
    while (!open.empty() && !found.loop) {
      const Region& region = m_.regions[static_cast<std::size_t>(open.back())];
      open.pop_back();
      for (const int block : region.blocks)
        for (const int index : m_.block(block).ops) {
          const Operation& op = m_.op(index);
          found.loop |= op.name == "scf.for" || op.name == "scf.while";
          found.stores |= op.name.find("store") != std::string_view::npos ||
                          op.name.find("atomic") != std::string_view::npos ||
                          op.name.find("descriptor_reduce") != std::string_view::npos ||
                          op.name == "tt.call";
          open.insert(open.end(), op.regions.begin(), op.regions.end());
        }
    }
    return found;
  }

  std::optional<FlatNest> nest_at(int index) const {
    const Operation& outer = m_.op(index);
    const Block* const around = body_of(outer);
    if (around == nullptr) return std::nullopt;
    FlatNest nest{index, around->ops[around->ops.size() - 2], 0, 0};
    const Operation& inner = m_.op(nest.inner);
    const Block* const body = body_of(inner);
    if (body == nullptr || inner.results.size() != outer.results.size()) return std::nullopt;
    const Operation& yield = m_.op(around->ops.back());
    for (std::size_t k = 0; k < outer.results.size(); ++k)
      if (inner.operands[kBoundsOfFor + k] != around->arguments[1 + k] ||
          users_[static_cast<std::size_t>(around->arguments[1 + k])] != 1 ||
          yield.operands[k] != inner.results[k] ||
          users_[static_cast<std::size_t>(inner.results[k])] != 1)
        return std::nullopt;
    for (std::size_t k = 0; k < kBoundsOfFor; ++k)
      if (!is_there_before(m_, inner.operands[k], index)) return std::nullopt;
    const auto outer_step = constant_integer(m_, outer.operands[2]);
    const auto inner_step = constant_integer(m_, inner.operands[2]);
    if (!outer_step || !inner_step || *outer_step < 1 || *inner_step < 1) return std::nullopt;
    nest.outer_step = *outer_step;
    nest.inner_step = *inner_step;
    const Inside found = inside(inner);
    if (found.loop) return std::nullopt;
    const bool places = std::all_of(around->ops.begin(), around->ops.end() - 2,
                                    [&](int op) { return computes(m_.op(op), !found.stores); });
    return places ? std::optional(nest) : std::nullopt;
  }

  // ---- The text.

  void add(const FlatNest& nest, std::vector<TextEdit>& edits) const {
    const Operation &outer = m_.op(nest.outer), &inner = m_.op(nest.inner);
    const Block &around = *body_of(outer), &body = *body_of(inner);
    // Where bodies begin: the lines of their first ops, which are not those of the loops.
    const std::size_t outer_body = line_around(*m_.text, m_.op(around.ops[0]).begin);
    const std::size_t inner_body = line_around(*m_.text, m_.op(body.ops[0]).begin);
    const std::size_t outer_line = line_around(*m_.text, outer.begin),
                      inner_line = line_around(*m_.text, inner.begin);
    const std::size_t inner_end = m_.regions[static_cast<std::size_t>(inner.regions[0])].end;
    const std::size_t outer_end = m_.regions[static_cast<std::size_t>(outer.regions[0])].end;
    if (outer_body <= outer.begin || inner_body <= inner.begin || inner_line < outer_body ||
        line_around(*m_.text, m_.op(body.ops.back()).begin) >= line_around(*m_.text, inner_end) ||
        line_around(*m_.text, inner_end) >= line_around(*m_.text, outer_end))
      return;
    // (Names that no printer makes.)
    const std::string mine = "%flat." + std::to_string(nest.outer) + ".";
    const auto number = [&](const std::string& name, std::int64_t x) {
      return mine + name + " = arith.constant " + std::to_string(x) + " : i32\n";
    };
    const auto binary = [&](const std::string& name, const std::string& op, const std::string& a,
                            const std::string& b) {
      return mine + name + " = arith." + op + " " + a + ", " + b + " : i32\n";
    };
    const auto steps = [&](const std::string& name, const Operation& loop, std::int64_t step) {
      return binary(name + ".span", "subi", written_name(m_, loop.operands[1]),
                    written_name(m_, loop.operands[0])) +
             number(name + ".less", step - 1) +
             binary(name + ".up", "addi", mine + name + ".span", mine + name + ".less") +
             binary(name + ".full", "divsi", mine + name + ".up",
                    written_name(m_, loop.operands[2])) +
             binary(name, "maxsi", mine + name + ".full", mine + "zero");
    };
    edits.push_back({outer_line, 0,
                     number("zero", 0) + number("one", 1) +
                         steps("rounds", outer, nest.outer_step) +
                         steps("steps", inner, nest.inner_step) +
                         binary("all", "muli", mine + "rounds", mine + "steps")});
    std::string carried, types;
    for (std::size_t k = 0; k < outer.results.size(); ++k) {
      carried += (k == 0 ? "" : ", ") + written_name(m_, body.arguments[1 + k]) + " = " +
                 written_name(m_, outer.operands[kBoundsOfFor + k]);
      types += (k == 0 ? "" : ", ") + std::string(m_.type_of(outer.results[k])->text);
    }
    const auto counter = [&](const std::string& name, int of, const Operation& loop) {
      std::string text =
          binary(name + ".far", "muli", mine + name, written_name(m_, loop.operands[2]));
      return text + written_name(m_, of) + " = arith.addi " + written_name(m_, loop.operands[0]) +
             ", " + mine + name + ".far : i32\n";
    };
    edits.push_back({outer.begin, outer_body - outer.begin,
                     "scf.for " + mine + "t = " + mine + "zero to " + mine + "all step " + mine +
                         "one iter_args(" + carried + ") -> (" + types + ")  : i32 {\n" +
                         binary("round", "divsi", mine + "t", mine + "steps") +
                         binary("step", "remsi", mine + "t", mine + "steps") +
                         counter("round", around.arguments[0], outer)});
    edits.push_back(
        {inner_line, inner_body - inner_line, counter("step", body.arguments[0], inner)});
    edits.push_back({inner_end, outer_end - inner_end, ""});
  }

  const Module& m_;
  std::vector<int> users_;  ///< of each value, counted
};

}  // namespace

std::optional<Module> with_flat_nests(const Module& module) {
  return FlatNestReader(module).run();
}

}  // namespace twill::ttgir
