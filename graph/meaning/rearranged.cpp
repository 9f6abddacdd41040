#include "graph/meaning/rearranged.hpp"

#include <algorithm>
#include <cmath>

#include "graph/index.hpp"

namespace twill::meaning {
namespace {

constexpr double kMostPlaces = 1 << 24;

std::size_t tiles_of(const Value& value) {
  std::size_t tiles = 0;
  while (tiles < value.operands.size() && value.operands[tiles].value >= 0) ++tiles;
  return tiles;
}

Operand whole(std::int64_t x) {
  Operand one;
  one.number = static_cast<double>(x);
  return one;
}

}  // namespace

std::int64_t Rearrangement::elements() const {
  std::int64_t all = 1;
  for (const Digit& digit : digits) all *= digit.extent;
  return all;
}

std::int64_t Rearrangement::last() const {
  std::int64_t place = first;
  for (const Digit& digit : digits) place += (digit.extent - 1) * digit.step;
  return place;
}

std::int64_t Rearrangement::place(std::int64_t element) const {
  std::int64_t from = first;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    from += element % digit->extent * digit->step;
    element /= digit->extent;
  }
  return from;
}

Rearrangement rearrangement_of(const Value& value) {
  Rearrangement how;
  how.tiles = tiles_of(value);
  const auto number = [&](std::size_t k) {
    return static_cast<std::int64_t>(value.operands[k].number);
  };
  how.first = number(how.tiles);
  for (std::size_t k = how.tiles + 1; k + 1 < value.operands.size(); k += 2)
    how.digits.push_back({number(k), number(k + 1)});
  return how;
}

void append(const Rearrangement& how, std::vector<Operand>& operands) {
  operands.push_back(whole(how.first));
  for (const Digit& digit : how.digits) {
    operands.push_back(whole(digit.extent));
    operands.push_back(whole(digit.step));
  }
}

bool is_rearrangement(const Value& value) {
  const std::size_t tiles = tiles_of(value);
  if (tiles < 1 || tiles > 2 || value.operands.size() < tiles + 1 ||
      (value.operands.size() - tiles) % 2 != 1 ||
      value.operands.size() > tiles + 1 + std::size_t{2} * kMostDigits)
    return false;
  double elements = 1, last = value.operands[tiles].number;
  for (std::size_t k = tiles; k < value.operands.size(); ++k) {
    const Operand& one = value.operands[k];
    const bool extent = k > tiles && (k - tiles) % 2 == 1;
    if (one.value >= 0 || !one.constant.empty() || one.number != std::floor(one.number) ||
        one.number < (extent ? 1 : 0) || one.number > kMostPlaces)
      return false;
    if (!extent) continue;
    elements *= one.number;
    last += (one.number - 1) * value.operands[k + 1].number;
  }
  return elements <= kMostPlaces && last <= kMostPlaces;
}

}  // namespace twill::meaning
