#include "graph/meaning/tile_functions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/integers.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/meaning/rearranged.hpp"

namespace twill::meaning {
namespace {

std::size_t extent(const Numbers& numbers, std::size_t dimension) {
  return static_cast<std::size_t>(numbers.shape[dimension]);
}

Numbers rounded_product(const Value& value, std::span<const Numbers> in) {
  const Numbers &a = in[0], &b = in[1];
  const std::size_t m = extent(a, 0), depth = extent(a, 1), n = extent(b, 1);
  Numbers result{value.shape, std::vector<double>(m * n, 0.0)};
  const std::vector<float> right(b.data.begin(), b.data.end());
  std::vector<float> row(n);
  const bool half = value.type == "f16";  // it adds in that
  for (std::size_t r = 0; r < m; ++r) {
    for (std::size_t c = 0; c < n; ++c)
      row[c] = in.size() == 3 ? static_cast<float>(in[2].data[r * n + c]) : 0.0F;
    for (std::size_t k = 0; k < depth; ++k) {
      const auto left = static_cast<float>(a.data[r * depth + k]);
      for (std::size_t c = 0; c < n; ++c) row[c] += left * right[k * n + c];
      if (half)
        for (float& x : row) x = static_cast<float>(rounded(*number_type("f16"), x));
    }
    for (std::size_t c = 0; c < n; ++c) result.data[r * n + c] = row[c];
  }
  return result;
}

/// Of integers: nothing is rounded.
Numbers whole_product(const Value& value, std::span<const Numbers> in) {
  const Numbers &a = in[0], &b = in[1];
  const std::size_t m = extent(a, 0), depth = extent(a, 1), n = extent(b, 1);
  Numbers result{value.shape, std::vector<double>(m * n, 0.0)};
  if (in.size() == 3) result.data = in[2].data;
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t c = 0; c < n; ++c)
        result.data[r * n + c] += a.data[r * depth + k] * b.data[k * n + c];
  return result;
}

Numbers reduced_rows(const Value& value, const Numbers& in) {
  const std::size_t n = extent(in, in.shape.size() - 1), m = in.data.size() / n;
  Numbers result{value.shape, std::vector<double>(m)};
  for (std::size_t r = 0; r < m; ++r) {
    auto sum = static_cast<float>(in.data[r * n]);
    for (std::size_t c = 1; c < n; ++c) {
      const auto next = static_cast<float>(in.data[r * n + c]);
      const bool further = value.function == Function::row_min ? next < sum : next > sum;
      if (value.function == Function::row_sum)
        sum += next;
      else if (value.function == Function::row_product)
        sum *= next;
      else if (further || std::isnan(next))
        sum = next;  // (a NaN stays: nothing is larger or smaller)
    }
    result.data[r] = sum;
  }
  return result;
}

/// Of integers: modulo 2 to the power of their bits.
Numbers reduced_whole_rows(const Value& value, const Numbers& in) {
  const std::size_t n = extent(in, in.shape.size() - 1);
  const int bits = 8 * number_type(value.type)->bytes;
  Numbers result{value.shape, {}};
  for (std::size_t row = 0; row < in.data.size(); row += n) {
    auto all = static_cast<std::int64_t>(in.data[row]);
    for (std::size_t c = 1; c < n; ++c) {
      const auto next = static_cast<std::int64_t>(in.data[row + c]);
      if (value.function == Function::row_sum)
        all = wrapped(all + next, bits);
      else
        all = value.function == Function::row_max ? std::max(all, next) : std::min(all, next);
    }
    result.data.push_back(static_cast<double>(all));
  }
  return result;
}

/// Of each row its largest (or smallest) number and the first column where that is, or that alone.
Numbers extreme_of_rows(const Value& value, const Numbers& in) {
  const bool least =
      value.function == Function::smallest || value.function == Function::place_of_min;
  const std::size_t n = extent(in, in.shape.size() - 1);
  Numbers result{value.shape, {}};
  for (std::size_t row = 0; row < in.data.size(); row += n) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < n; ++c) {
      const double now = in.data[row + best], next = in.data[row + c];
      // (A NaN stays.)
      const bool further = least ? next < now : next > now;
      if (further || (std::isnan(next) && !std::isnan(now))) best = c;
    }
    if (!gives_place(value.function)) result.data.push_back(in.data[row + best]);
    result.data.push_back(static_cast<double>(best));
  }
  return result;
}

Numbers scaled_rows(const Value& value, const Numbers& in, const Numbers& scales) {
  const std::size_t columns = extent(in, 1), wide = columns / extent(scales, 1);
  Numbers result{value.shape, in.data};
  for (std::size_t k = 0; k < in.data.size(); ++k)
    result.data[k] *= scale_of(scales.data[k / wide]);
  return result;
}

Numbers running(const Value& value, const Numbers& in) {
  const bool of_columns = runs_along_rows(value), back = runs_from_end(value);
  const bool whole = number_type(value.type)->precision == 0;
  const std::size_t width = in.shape.size() == 1 ? 1 : extent(in, 1);
  const std::size_t step = of_columns ? 1 : width, all = in.data.size();
  Numbers result = in;
  for (std::size_t n = 0; n < all; ++n) {
    const std::size_t k = back ? all - 1 - n : n;
    const bool first = of_columns ? n % width == 0 : n < width;
    if (first) continue;
    const double before = result.data[back ? k + step : k - step], next = in.data[k];
    if (value.function == Function::running_sum && whole) {
      result.data[k] = static_cast<double>(
          wrapped(static_cast<std::int64_t>(before) + static_cast<std::int64_t>(next),
                  8 * number_type(value.type)->bytes));
    } else if (value.function == Function::running_sum) {
      result.data[k] = static_cast<float>(before) + static_cast<float>(next);
    } else if (value.function == Function::running_product) {
      result.data[k] = static_cast<float>(before) * static_cast<float>(next);
    } else {  // (a NaN stays: nothing is larger or smaller)
      const bool further = value.function == Function::running_max ? next > before : next < before;
      result.data[k] = further || std::isnan(next) ? next : before;
    }
  }
  return result;
}

Numbers masked(const Value& value, const Numbers& in, std::int64_t i) {
  const std::size_t m = extent(in, 0), n = extent(in, 1);
  Numbers result = in;
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t c = 0; c < n; ++c) {
      double& x = result.data[r * n + c];
      if (value.function == Function::lower) {
        if (c > r) x = value.operands.size() == 2 ? value.operands[1].number : 0;
        continue;
      }
      const double first = value.operands[1].number, group = value.operands[2].number;
      const double key = static_cast<double>(i) * static_cast<double>(n) + static_cast<double>(c);
      if (key > first + std::floor(static_cast<double>(r) / group))
        x = -std::numeric_limits<double>::infinity();
    }
  return result;
}

double element(const Value& value, const double* x, std::size_t operands) {
  const Function function = value.function;
  if (is_comparison(function)) return compared(function, x[0], x[1]) ? 1 : 0;
  if (is_of_integers(function))
    return static_cast<double>(of_integers(function, static_cast<std::int64_t>(x[0]),
                                           static_cast<std::int64_t>(x[1]),
                                           8 * number_type(value.type)->bytes)
                                   .value_or(0));
  switch (function) {
    case Function::store: return operands == 1 || x[1] > 0 ? x[0] : 0;
    case Function::load:
    case Function::copy: return x[0];
    case Function::add: return x[0] + x[1];
    case Function::sub: return x[0] - x[1];
    case Function::mul: return x[0] * x[1];
    case Function::div: return x[0] / x[1];
    case Function::mul_add: return x[0] * x[1] + x[2];
    case Function::mul_sub: return x[0] * x[1] - x[2];
    case Function::max: return std::isnan(x[0]) || x[0] >= x[1] ? x[0] : x[1];
    case Function::exp2: return std::exp2(operands == 2 ? x[0] * x[1] : x[0]);
    case Function::log2: return std::log2(x[0]);
    case Function::reciprocal: return 1 / x[0];
    case Function::select: return std::isnan(x[0]) ? x[0] : x[0] > 0 ? x[1] : x[2];
    case Function::min: return std::isnan(x[0]) || x[0] <= x[1] ? x[0] : x[1];
    case Function::abs: return std::abs(x[0]);
    case Function::sqrt: return std::sqrt(x[0]);
    case Function::rsqrt: return 1 / std::sqrt(x[0]);
    case Function::log: return std::log(x[0]);
    case Function::sin: return std::sin(x[0]);
    case Function::cos: return std::cos(x[0]);
    case Function::erf: return std::erf(x[0]);
    case Function::floor: return std::floor(x[0]);
    case Function::ceil: return std::ceil(x[0]);
    case Function::toward_zero: return std::trunc(x[0]);
    case Function::bits: return value.type == "f32" ? number_of_bits(x[0]) : bits_of_number(x[0]);
    default: std::abort();  // is_elementwise() has no others
  }
}

Numbers by_elements(const Value& value, std::span<const Numbers> in) {
  const std::int64_t count = elements(value.shape);
  const std::int64_t columns = value.shape.size() == 2 ? value.shape[1] : 1;
  Numbers result{value.shape, std::vector<double>(static_cast<std::size_t>(count))};
  // Per operand the step from row to row and from column to column.
  std::int64_t row[3] = {0, 0, 0}, column[3] = {0, 0, 0};
  for (std::size_t k = 0; k < in.size(); ++k) {
    const bool along = !value.operands.empty() && value.operands[k].along_columns;
    if (in[k].shape.size() == 2) row[k] = columns;
    if (in[k].shape.size() == 1) row[k] = along ? 0 : 1;
    if (in[k].shape.size() == 2 || along) column[k] = 1;
  }
  double x[3] = {0, 0, 0};
  for (std::int64_t e = 0; e < count; ++e) {
    for (std::size_t k = 0; k < in.size(); ++k)
      x[k] = in[k].data[static_cast<std::size_t>(e / columns * row[k] + e % columns * column[k])];
    result.data[static_cast<std::size_t>(e)] = element(value, x, in.size());
  }
  return result;
}

/// An element of an operand: of a tile, or of a vector or number that is repeated.
double repeated(const Value& value, std::span<const Numbers> in, std::size_t k, std::int64_t row,
                std::int64_t column) {
  const Numbers& from = in[k];
  if (from.shape.empty()) return from.data[0];
  if (from.shape.size() == value.shape.size())
    return from.data[static_cast<std::size_t>(from.shape.size() == 2 ? row * from.shape[1] + column
                                                                     : row)];
  return from.data[static_cast<std::size_t>(value.operands[k].along_columns ? column : row)];
}

Numbers within_bounds(const Value& value, std::span<const Numbers> in, std::int64_t i) {
  const std::vector<Bound> bounds = bounds_of(value);
  const std::int64_t columns = value.shape.size() == 2 ? value.shape[1] : 1;
  Numbers result{value.shape, {}};
  for (std::int64_t e = 0; e < elements(value.shape); ++e) {
    const std::int64_t r = e / columns, c = e % columns;
    const bool inside = is_inside(bounds, r, c, i);
    // (What is loaded or stored comes first; what is not stored is 0.)
    if (value.function == Function::store)
      result.data.push_back(inside ? in[0].data[static_cast<std::size_t>(e)] : 0);
    else if (value.function == Function::load)
      result.data.push_back(inside ? in[0].data[static_cast<std::size_t>(e)] : in[1].data[0]);
    else
      result.data.push_back(repeated(value, in, inside ? 0 : 1, r, c));
  }
  return result;
}

Numbers placed(const Value& value, std::int64_t i) {
  const std::vector<Operand>& x = value.operands;
  const std::int64_t columns = value.shape.size() == 2 ? value.shape[1] : 1;
  Numbers result{value.shape, {}};
  for (std::int64_t e = 0; e < elements(value.shape); ++e) {
    const std::int64_t row = e / columns, column = e % columns;
    const double place = x[0].number * static_cast<double>(row) +
                         x[1].number * static_cast<double>(column) +
                         x[2].number * static_cast<double>(i) + x[3].number;
    // (As GPUs add and multiply: what a hash multiplies its places by is more than 32 bits have.)
    result.data.push_back(static_cast<double>(wrapped(static_cast<std::int64_t>(place), 32)));
  }
  return result;
}

Numbers two_columns(const Value& value, std::span<const Numbers> in) {
  const auto rows = static_cast<std::size_t>(value.shape[0]);
  Numbers result{value.shape, {}};
  for (std::size_t r = 0; r < rows; ++r)
    for (const Numbers& one : in) result.data.push_back(one.data[one.shape.empty() ? 0 : r]);
  return result;
}

Numbers counted(const Value& value, const Numbers& in) {
  Numbers result{value.shape, std::vector<double>(extent(Numbers{value.shape, {}}, 0), 0.0)};
  for (const double x : in.data)
    if (x >= 0 && x < static_cast<double>(result.data.size()))
      result.data[static_cast<std::size_t>(x)] += 1;
  return result;
}

Numbers in_other_order(const Value& value, std::span<const Numbers> in) {
  const Rearrangement how = rearrangement_of(value);
  const std::size_t each = in[0].data.size();
  Numbers result{value.shape, {}};
  for (std::int64_t e = 0; e < elements(value.shape); ++e) {
    const auto from = static_cast<std::size_t>(how.place(e));
    result.data.push_back(in[from / each].data[from % each]);
  }
  return result;
}

Numbers turned(const Numbers& in) {
  const std::size_t m = extent(in, 0), n = extent(in, 1);
  Numbers result{{in.shape[1], in.shape[0]}, std::vector<double>(in.data.size())};
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t c = 0; c < n; ++c) result.data[c * m + r] = in.data[r * n + c];
  return result;
}

}  // namespace

void round_all(const std::string& type, Numbers& numbers) {
  const NumberType& as = *number_type(type);
  for (double& x : numbers.data) x = rounded(as, x);
}

Numbers seen(const Operand& operand, const Numbers& value) {
  if (!operand.is_part()) return operand.transposed ? turned(value) : value;
  // The rows and columns that are taken; a dimension of which one is named is gone.
  std::int64_t first_row = operand.first_row, first_column = operand.first_column;
  std::int64_t rows = operand.rows > 0 ? operand.rows : value.shape[0];
  std::int64_t columns = operand.columns > 0 ? operand.columns : value.shape[1];
  if (operand.row >= 0) std::tie(first_row, rows) = std::pair(operand.row, std::int64_t{1});
  if (operand.column >= 0)
    std::tie(first_column, columns) = std::pair(operand.column, std::int64_t{1});
  Numbers part;
  for (std::int64_t r = first_row; r < first_row + rows; ++r)
    for (std::int64_t c = first_column; c < first_column + columns; ++c)
      part.data.push_back(value.data[static_cast<std::size_t>(r * value.shape[1] + c)]);
  if (operand.row < 0) part.shape.push_back(rows);
  if (operand.column < 0) part.shape.push_back(columns);
  return operand.transposed ? turned(part) : part;
}

Numbers evaluate(const Value& value, std::span<const Numbers> operands, std::int64_t i) {
  Numbers result;
  switch (value.function) {
    case Function::product:
      result =
          value.type == "i32" ? whole_product(value, operands) : rounded_product(value, operands);
      break;
    case Function::row_max:
    case Function::row_min:
    case Function::row_product:
    case Function::row_sum:
      result = number_type(value.type)->precision == 0 ? reduced_whole_rows(value, operands[0])
                                                       : reduced_rows(value, operands[0]);
      break;
    case Function::running_max:
    case Function::running_min:
    case Function::running_product:
    case Function::running_sum: result = running(value, operands[0]); break;
    case Function::lower:
    case Function::causal: result = masked(value, operands[0], i); break;
    case Function::transpose: result = turned(operands[0]); break;
    case Function::beside: result = two_columns(value, operands); break;
    case Function::within: result = within_bounds(value, operands, i); break;
    case Function::places: result = placed(value, i); break;
    case Function::rearranged: result = in_other_order(value, operands); break;
    case Function::histogram: result = counted(value, operands[0]); break;
    case Function::scaled: result = scaled_rows(value, operands[0], operands[1]); break;
    case Function::place_of_max:
    case Function::place_of_min:
    case Function::smallest:
    case Function::largest: result = extreme_of_rows(value, operands[0]); break;
    default:
      result = bounds_of(value).empty() ? by_elements(value, operands)
                                        : within_bounds(value, operands, i);
  }
  if (value.type != "f64" && value.type != "i32") round_all("f32", result);
  round_all(value.type, result);
  return result;
}

}  // namespace twill::meaning
