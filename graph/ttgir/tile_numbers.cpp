#include "graph/ttgir/tile_numbers.hpp"

#include <charconv>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/op_text.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostDepth = 2'000;  // of ops, one behind the other

/// The number of dense<N>, in each element.
std::optional<std::int64_t> dense(std::string_view literal) {
  if (literal.starts_with("dense<")) literal.remove_prefix(6);
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(literal.data(), literal.data() + literal.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(literal.data() + literal.size() - end));
  if (error != std::errc() || !(rest.empty() || rest.starts_with('>') || rest.starts_with(' ')))
    return std::nullopt;
  return number;
}

}  // namespace

bool is_integer_or_tile(const Module& module, int value) {
  const Type* t = module.type_of(value);
  return t != nullptr && (t->kind == TypeKind::scalar || t->kind == TypeKind::tensor) &&
         !t->is_pointer() && t->bits != 1 && t->element.starts_with("i");
}

std::optional<Linear> TileNumbers::of(const Datum& datum) {
  if (datum.number) return datum.number;
  if (datum.made == kNone || datum.buffer != kNone) return std::nullopt;
  const Type* t = m_.type_of(datum.value);
  if (t == nullptr || t->kind != TypeKind::tensor || !is_integer_or_tile(m_, datum.value))
    return std::nullopt;
  const std::pair key{datum.made, datum.value};
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (depth_ > kMostDepth) return std::nullopt;
  ++depth_;
  std::optional<Linear> result = of_tile(datum.made, datum.value);
  --depth_;
  return known_[key] = result;
}

int TileNumbers::named(const std::string& how) {
  return names_.try_emplace(how, kFirstTile + static_cast<int>(names_.size())).first->second;
}

Linear TileNumbers::formed(const Linear& in, int op) {
  Linear result;
  result.constant = in.constant;
  const Operation& o = m_.op(op);
  const std::string how = op_text(m_, op, {{o.operands.at(0), "%"}});
  for (const auto& [term, factor] : in.terms)
    result.terms[term < kFirstTile ? term : named(std::to_string(term) + " " + how)] += factor;
  return result;
}

std::optional<Linear> TileNumbers::of_tile(int execution, int value) {
  const Execution& x = r_.executions[static_cast<std::size_t>(execution)];
  const Operation& op = m_.op(x.op);
  const auto itself = [&]() -> std::optional<Linear> {
    // What is made in the loop is another tile in each iteration.
    Linear own;
    own.terms[named("execution " + std::to_string(execution) + " " + std::to_string(value))] = 1;
    return own;
  };
  if (op.name == "tt.make_range") {
    Linear range;
    range.terms[named(op_text(m_, x.op, {}))] = 1;
    return range;
  }
  if (op.name == "arith.constant") {
    const auto number = dense(op.literal);
    if (!number) return itself();
    Linear constant;
    constant.constant = *number;
    return constant;
  }
  if (x.reads.empty()) return itself();
  std::optional<Linear> first = of(x.reads[0]);
  if (!first) return itself();
  if (op.name == "tt.splat") return first;
  if (op.name == "tt.expand_dims" || op.name == "tt.broadcast" || op.name == "ttg.convert_layout")
    return formed(*first, x.op);
  if (x.reads.size() != 2) return itself();
  const std::optional<Linear> second = of(x.reads[1]);
  if (!second) return itself();
  if (op.name == "arith.addi") return sum_of(*first, *second, 1);
  if (op.name == "arith.subi") return sum_of(*first, *second, -1);
  if (op.name == "arith.muli" && second->terms.empty())
    return sum_of(Linear(), *first, second->constant);
  return itself();
}

}  // namespace twill::ttgir
