// Numbers, vectors and matrices in double precision: what an emitted kernel is checked against.
// Slow and plain; shares nothing with the kernel.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace twill::gpu::reference {

struct Array {
  int rank = 0;  ///< 0 a number, 1 a vector of `rows`, 2 a matrix
  int rows = 1, columns = 1;
  std::vector<double> x = {0};

  Array() = default;
  Array(double number) : x{number} {}
  Array(int rank_, int rows_, int columns_, double number)
      : rank(rank_),
        rows(rows_),
        columns(columns_),
        x(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_), number) {}

  double& at(int r, int c) {
    return x[static_cast<std::size_t>(r) * static_cast<std::size_t>(columns) +
             static_cast<std::size_t>(c)];
  }
  double at(int r, int c) const { return const_cast<Array*>(this)->at(r, c); }
  /// Numbers and vectors are repeated.
  double wide(int r, int c) const { return at(rank == 0 ? 0 : r, rank == 2 ? c : 0); }
};

inline Array elementwise(const std::function<double(double, double, double)>& f, const Array& a,
                         const Array& b = {}, const Array& c = {}) {
  const Array& shape = a.rank >= b.rank && a.rank >= c.rank ? a : b.rank >= c.rank ? b : c;
  Array d = shape;
  for (int i = 0; i < d.rows; ++i)
    for (int j = 0; j < d.columns; ++j) d.at(i, j) = f(a.wide(i, j), b.wide(i, j), c.wide(i, j));
  return d;
}
/// A row of a matrix, as a vector.
inline Array picked_row(const Array& a, int row) {
  Array d(1, a.columns, 1, 0);
  for (int c = 0; c < a.columns; ++c) d.at(c, 0) = a.at(row, c);
  return d;
}
/// A vector along the columns of a tile of `rows` rows.
inline Array across(const Array& a, int rows) {
  Array d(2, rows, a.rows, 0);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < a.rows; ++c) d.at(r, c) = a.at(c, 0);
  return d;
}
inline Array operator+(const Array& a, const Array& b) {
  return elementwise([](double x, double y, double) { return x + y; }, a, b);
}
inline Array operator-(const Array& a, const Array& b) {
  return elementwise([](double x, double y, double) { return x - y; }, a, b);
}
inline Array operator*(const Array& a, const Array& b) {
  return elementwise([](double x, double y, double) { return x * y; }, a, b);
}
inline Array operator/(const Array& a, const Array& b) {
  return elementwise([](double x, double y, double) { return x / y; }, a, b);
}
inline Array larger(const Array& a, const Array& b) {
  return elementwise([](double x, double y, double) { return x > y ? x : y; }, a, b);
}
inline Array power_of_2(const Array& a) {
  return elementwise([](double x, double, double) { return std::exp2(x); }, a);
}
inline Array binary_logarithm(const Array& a) {
  return elementwise([](double x, double, double) { return std::log2(x); }, a);
}
inline Array smaller(const Array& a, const Array& b) {
  return elementwise([](double x, double y, double) { return x < y ? x : y; }, a, b);
}
inline Array magnitude(const Array& a) {
  return elementwise([](double x, double, double) { return std::abs(x); }, a);
}
inline Array square_root(const Array& a) {
  return elementwise([](double x, double, double) { return std::sqrt(x); }, a);
}
inline Array inverse_square_root(const Array& a) {
  return elementwise([](double x, double, double) { return 1 / std::sqrt(x); }, a);
}
inline Array natural_logarithm(const Array& a) {
  return elementwise([](double x, double, double) { return std::log(x); }, a);
}
inline Array sine(const Array& a) {
  return elementwise([](double x, double, double) { return std::sin(x); }, a);
}
inline Array cosine(const Array& a) {
  return elementwise([](double x, double, double) { return std::cos(x); }, a);
}
inline Array error_function(const Array& a) {
  return elementwise([](double x, double, double) { return std::erf(x); }, a);
}
inline Array whole_below(const Array& a) {
  return elementwise([](double x, double, double) { return std::floor(x); }, a);
}
inline Array whole_above(const Array& a) {
  return elementwise([](double x, double, double) { return std::ceil(x); }, a);
}
inline Array whole_part(const Array& a) {
  return elementwise([](double x, double, double) { return std::trunc(x); }, a);
}
inline Array where_positive(const Array& a, const Array& b, const Array& c) {
  return elementwise([](double x, double y, double z) { return x > 0 ? y : z; }, a, b, c);
}
inline Array transposed(const Array& a) {
  Array d(2, a.columns, a.rows, 0);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) d.at(j, i) = a.at(i, j);
  return d;
}
inline Array columns(const Array& a, int first, int count) {
  Array d(2, a.rows, count, 0);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < count; ++j) d.at(i, j) = a.at(i, first + j);
  return d;
}
inline Array product(const Array& a, const Array& b) {
  Array d(2, a.rows, b.columns, 0);
  for (int i = 0; i < a.rows; ++i)
    for (int k = 0; k < a.columns; ++k)
      for (int j = 0; j < b.columns; ++j) d.at(i, j) += a.at(i, k) * b.at(k, j);
  return d;
}
inline Array max_of_rows(const Array& a) {
  Array d(1, a.rows, 1, -std::numeric_limits<double>::infinity());
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j)
      if (a.at(i, j) > d.at(i, 0)) d.at(i, 0) = a.at(i, j);
  return d;
}
inline Array min_of_rows(const Array& a) {
  Array d(1, a.rows, 1, std::numeric_limits<double>::infinity());
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j)
      if (a.at(i, j) < d.at(i, 0)) d.at(i, 0) = a.at(i, j);
  return d;
}
inline Array sum_of_rows(const Array& a) {
  Array d(1, a.rows, 1, 0);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) d.at(i, 0) += a.at(i, j);
  return d;
}
/// Elements of columns up to first + row / share, `column` columns on, remain; others are `other`.
inline Array masked(Array a, int column, int first, int share, double other) {
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j)
      if (column + j > first + i / share) a.at(i, j) = other;
  return a;
}

/// A tile of a host tensor: (tensor, part of its rows, iteration).
using Load = std::function<Array(int, int, int)>;
using Store = std::function<void(int, int, int, const Array&)>;

}  // namespace twill::gpu::reference
