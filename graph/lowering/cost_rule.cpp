#include "graph/lowering/cost_rule.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "graph/io/json_text.hpp"

namespace twill {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape, std::size_t count) {
  return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count),
                         std::int64_t{1}, std::multiplies<>());
}

/// Elements of the tile; of a matrix product those of its result.
std::int64_t elements(const Tile& tile) {
  return product(tile.shape, tile.shape.size() == 3 ? 2 : tile.shape.size());
}

[[noreturn]] void fail(const CostContext& context, const char* key, const std::string& value,
                       const std::string& rule) {
  throw InputError(context.kernel_source, "/ops/" + std::to_string(context.op) + "/" + key, value,
                   rule);
}

/// extents^3 * factor can leave 64 bits, so every further product is checked.
std::int64_t times(std::int64_t a, std::int64_t b, const CostContext& context) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    fail(context, "shape", "", "the tile's work must fit 64 bits");
  return result;
}

std::int64_t measure(const CostTerm& term, const Tile& tile, int width,
                     const CostContext& context) {
  const std::int64_t count = elements(tile);
  const auto bytes = [&] { return (times(count, element_bits(tile.type), context) + 7) / 8; };
  switch (term.measure) {
    case Measure::constant: return 1;
    case Measure::macs:
      if (tile.shape.size() != 3)
        fail(context, "shape", std::to_string(tile.shape.size()) + " dimensions",
             "a matrix product has the shape [M, N, K]");
      return product(tile.shape, 3);
    case Measure::elements: return count;
    case Measure::values:
      return tile.shape.size() == 1 ? held_values(tile.shape, context.vector_copies) : count;
    case Measure::rows: return tile.shape[0];
    case Measure::bytes: return bytes();
    case Measure::warp_bytes: return times(bytes(), width, context);
    case Measure::row_bytes: {
      const std::int64_t columns = tile.shape.size() < 2 ? count : tile.shape[1];
      return (times(columns, element_bits(tile.type), context) + 7) / 8;
    }
    case Measure::depth:
    case Measure::warp_depth:
      if (tile.shape.size() != 3)
        fail(context, "shape", std::to_string(tile.shape.size()) + " dimensions",
             "a matrix product has the shape [M, N, K]");
      return tile.shape[2] * (term.measure == Measure::depth ? 1 : width);
    case Measure::warps: return width;
  }
  return 0;
}

std::int64_t rate_of(const CostTerm& term, const Tile& tile, const CostContext& context) {
  if (term.rates.empty()) return term.rate;
  const auto found = term.rates.find(tile.operand_type);
  if (found != term.rates.end()) return found->second;
  std::string known;
  for (const auto& [type, rate] : term.rates) known += (known.empty() ? "" : ", ") + type;
  fail(context, tile.operand_type == tile.type ? "type" : "operand_type", quote(tile.operand_type),
       "the machine's rule has rates for " + known);
}

const char* const kMeasures[] = {"constant", "macs",  "elements",   "values",
                                 "rows",     "bytes", "warp_bytes", "row_bytes",
                                 "depth",    "warps", "warp_depth"};

/// "16384 elements * 3 / 16", with what clamps it.
std::string arithmetic(const CostTerm& term, std::int64_t count, std::int64_t rate) {
  std::string text = std::to_string(count);
  if (term.measure == Measure::constant)
    text = std::to_string(term.factor);
  else
    text += std::string(" ") + kMeasures[static_cast<std::size_t>(term.measure)] +
            (term.factor == 1 ? "" : " * " + std::to_string(term.factor));
  if (rate != 1) text += " / " + std::to_string(rate);
  if (term.less != 0) text = "(" + text + " - " + std::to_string(term.less) + ")";
  if (term.at_least > 0) text = "max(" + std::to_string(term.at_least) + ", " + text + ")";
  if (term.at_most < kMaxCycles) text = "min(" + std::to_string(term.at_most) + ", " + text + ")";
  if (term.times != 1) text = std::to_string(term.times) + " * " + text;
  return text;
}

}  // namespace

std::int64_t counted(const CostTerm& term, const Tile& tile, int width,
                     const CostContext& context) {
  return measure(term, tile, width, context);
}

Cycle sum_terms(const std::vector<CostTerm>& terms, const Tile& tile, int width,
                const CostContext& context, std::string* text) {
  Cycle cycles = 0;
  for (const CostTerm& term : terms) {
    const std::int64_t count = measure(term, tile, width, context);
    const std::int64_t work = times(count, term.factor, context);
    const std::int64_t rate = rate_of(term, tile, context);
    if (text != nullptr) *text += (text->empty() ? "" : " + ") + arithmetic(term, count, rate);
    const Cycle steps = work / rate + (work % rate != 0 ? 1 : 0) - term.less;
    Cycle length = std::max(steps, term.at_least);
    if (term.at_most < kMaxCycles) length = std::min(length, term.at_most);  // kMaxCycles: no limit
    length = times(length, term.times, context);
    if (length > kMaxCycles - cycles)
      fail(context, "shape", std::to_string(length) + " cycles",
           "must take at most " + std::to_string(kMaxCycles) + " cycles");
    cycles += length;
  }
  return cycles;
}

OpCost evaluate(const CostRule& rule, const Tile& tile, int width, const CostContext& context) {
  OpCost cost;
  if (rule.unit.empty() || tile.shape.empty()) return cost;
  const auto sum = [&](const std::vector<CostTerm>& terms) {
    return sum_terms(terms, tile, width, context);
  };
  cost.cycles = sum(rule.cycles);
  cost.occupancy = rule.occupancy.empty() ? cost.cycles : sum(rule.occupancy);
  cost.latency = rule.latency.empty() ? cost.cycles : sum(rule.latency);
  if (cost.occupancy > cost.cycles)
    fail(context, "kind", std::to_string(cost.occupancy) + " cycles of " + rule.unit,
         "the rule's occupancy must not exceed its cycles, " + std::to_string(cost.cycles));
  return cost;
}

std::vector<std::int64_t> result_shape(const CostRule& rule, const Tile& tile) {
  std::vector<std::int64_t> shape = tile.shape;
  if (!shape.empty() && (rule.reduces || shape.size() == 3)) shape.pop_back();
  return shape;
}

std::int64_t held_values(const std::vector<std::int64_t>& shape, std::int64_t vector_copies) {
  return product(shape, shape.size()) * (shape.size() == 1 ? vector_copies : 1);
}

}  // namespace twill
