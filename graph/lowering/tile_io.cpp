#include "graph/lowering/tile_io.hpp"

#include <array>
#include <utility>

namespace twill {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 12> kTypes = {{{"f64", 64},
                                                                      {"f32", 32},
                                                                      {"tf32", 32},
                                                                      {"f16", 16},
                                                                      {"bf16", 16},
                                                                      {"f8", 8},
                                                                      {"f4", 4},
                                                                      {"i64", 64},
                                                                      {"i32", 32},
                                                                      {"i16", 16},
                                                                      {"i8", 8},
                                                                      {"i1", 1}}};

}  // namespace

int element_bits(std::string_view type) {
  for (const auto& [name, bits] : kTypes)
    if (name == type) return bits;
  return 0;
}

std::string read_element_type(const JsonValue& value) {
  if (element_bits(value.text()) != 0) return value.text();
  std::string known;
  for (const auto& [name, bits] : kTypes) known += (known.empty() ? "" : ", ") + std::string(name);
  value.fail("must be one of: " + known);
}

Tile read_tile(const JsonValue& op) {
  Tile tile;
  const auto shape = op.at("shape").elements();
  if (shape.size() > kMaxRank)
    op.at("shape").fail("must have at most " + std::to_string(kMaxRank) + " dimensions");
  for (const JsonValue& extent : shape) tile.shape.push_back(extent.integer(1, kMaxExtent));
  tile.type = read_element_type(op.at("type"));
  const auto operands = op.find("operand_type");
  tile.operand_type = operands ? read_element_type(*operands) : tile.type;
  return tile;
}

}  // namespace twill
