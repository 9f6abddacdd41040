#include "graph/meaning/reference.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/integers.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/meaning/rearranged.hpp"

namespace twill::meaning {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kOfOne = 0x1p-21;      // what a function with results up to 1 may be off in f32
constexpr double kWholeInF32 = 0x1p24;  // up to here f32 has every whole number
constexpr double kSlack = 1 + 0x1p-20;

/// A number and what it may be wrong by.
struct Near {
  double x = 0, e = 0;
  double least = -kEndless;  ///< no execution has less, where that is known beside x and e
  double size() const { return std::abs(x) + e; }
  /// No execution has less.
  double lowest() const { return std::isfinite(e) ? std::max(least, x - e) : least; }
};

class Interpreter {
 public:
  Interpreter(const Meaning& meaning, int n, const TensorTiles& inputs)
      : m_(meaning), n_(n), inputs_(inputs), outputs_(meaning.tensors.size()) {}

  std::vector<std::vector<Bounded>> run() {
    const int all = static_cast<int>(m_.values.size());
    fixed_.resize(m_.values.size());
    for (int v = 0; v < m_.loop_begin; ++v) fixed_[at(v)] = compute(v, -1);
    const std::vector<int> order = loop_order(m_);
    for (int i = 0; i < n_; ++i) {
      for (const int v : order) now_[{v, i}] = compute(v, i);
      forget(i);
    }
    for (int v = m_.after_begin; v < all; ++v) fixed_[at(v)] = compute(v, -1);
    return std::move(outputs_);
  }

 private:
  /// Results that no later iteration reads.
  void forget(int i) {
    int reach = 1;
    for (const Value& value : m_.values)
      for (const Operand& operand : value.operands) reach = std::max(reach, operand.distance);
    for (auto one = now_.begin(); one != now_.end();)
      one = one->first.second + reach <= i ? now_.erase(one) : std::next(one);
  }

  static Bounded number(double x) { return {{{}, {x}}, {{}, {0.0}}}; }

  Bounded initial(int v) const {
    const Operand& what = m_.initial_of(v)->what;
    if (what.value >= 0) return fixed_[at(what.value)];
    const std::vector<std::int64_t>& shape = m_.values[at(v)].shape;
    const auto count = static_cast<std::size_t>(elements(shape));
    const NumberType& type = *number_type(m_.values[at(v)].type);
    return {{shape, std::vector<double>(count, rounded(type, what.number))},
            {shape, std::vector<double>(count, 0.0)}};
  }

  Bounded operand(const Operand& one, int i) const {
    if (one.value < 0) return number(one.number);
    if (!m_.in_loop(one.value)) return view(one, fixed_[at(one.value)]);
    // After the loop, the last iteration's.
    const int from = i < 0 ? n_ - 1 : i - one.distance;
    return view(one, from < 0 ? initial(one.value) : now_.at({one.value, from}));
  }

  static Bounded view(const Operand& one, const Bounded& all) {
    if (!one.is_part() && !one.transposed) return all;
    const std::int64_t width = all.value.shape[1];
    Bounded part;
    if (one.row >= 0 || one.column >= 0) return line(one, all, width);
    const std::int64_t rows = one.rows > 0 ? one.rows : all.value.shape[0];
    const std::int64_t columns = one.columns > 0 ? one.columns : width;
    part.value.shape = one.transposed ? std::vector{columns, rows} : std::vector{rows, columns};
    part.error.shape = part.value.shape;
    for (std::int64_t a = 0; a < part.value.shape[0]; ++a)
      for (std::int64_t b = 0; b < part.value.shape[1]; ++b) {
        const std::int64_t r = one.transposed ? b : a, c = one.transposed ? a : b;
        const auto from =
            static_cast<std::size_t>((one.first_row + r) * width + one.first_column + c);
        part.value.data.push_back(all.value.data[from]);
        part.error.data.push_back(all.error.data[from]);
        if (!all.least.empty()) part.least.push_back(all.least[from]);
      }
    return part;
  }

  /// A row, a column or an element of a matrix.
  static Bounded line(const Operand& one, const Bounded& all, std::int64_t width) {
    Bounded part;
    for (std::int64_t r = 0; r < all.value.shape[0]; ++r)
      for (std::int64_t c = 0; c < width; ++c) {
        if ((one.row >= 0 && one.row != r) || (one.column >= 0 && one.column != c)) continue;
        const auto from = static_cast<std::size_t>(r * width + c);
        part.value.data.push_back(all.value.data[from]);
        part.error.data.push_back(all.error.data[from]);
        if (!all.least.empty()) part.least.push_back(all.least[from]);
      }
    if (one.row < 0 || one.column < 0)
      part.value.shape.push_back(static_cast<std::int64_t>(part.value.data.size()));
    part.error.shape = part.value.shape;
    return part;
  }

  Bounded compute(int v, int i) {
    const Value& value = m_.values[at(v)];
    std::vector<Bounded> in;
    for (const Operand& one : value.operands) in.push_back(operand(one, i));
    Bounded result;
    result.value.shape = result.error.shape = value.shape;
    const auto count = static_cast<std::size_t>(elements(value.shape));
    result.value.data.resize(count);
    result.error.data.resize(count);
    if (value.function == Function::load) {
      result.value = inputs_[at(value.tensor)][at(std::max(i, 0))];
      // (What another loop has handed on is given in double precision, and is of this type here.)
      const NumberType& type = *number_type(value.type);
      for (std::size_t k = 0; k < count && type.precision > 0; ++k)
        if (const double x = result.value.data[k]; std::isfinite(x))
          result.error.data[k] = std::abs(x - rounded(type, x));
      // As it is in memory, or what stands in for it.
      each_outside(value, i, [&](std::size_t k) {
        result.value.data[k] = value.operands[0].number;
        result.error.data[k] = 0;
      });
      return result;
    }
    if (value.function == Function::product)
      product(in, result, value.type);
    else
      for (std::size_t k = 0; k < count; ++k) {
        const Near one = element(value, in, k, i);
        result.value.data[k] = one.x;
        result.error.data[k] = one.e;
        // (Kept where it says more than the two.)
        if (std::isfinite(one.e) || !(one.least > -kEndless)) continue;
        result.least.resize(count, -kEndless);
        result.least[k] = one.least;
      }
    if (value.function == Function::product && value.type == "i32")
      no_overflow(result);
    else if (!is_exact(value) && !is_whole_in_f32(value, result))
      round(value.type, result);
    if (value.function == Function::store)
      each_outside(value, i,
                   [&](std::size_t k) { result.value.data[k] = result.error.data[k] = 0; });
    if (value.function == Function::store) outputs_[at(value.tensor)].push_back(result);
    return result;
  }

  /// Does something with every element that is outside the bounds.
  template <class Do>
  static void each_outside(const Value& value, int i, const Do& act) {
    const std::vector<Bound> bounds = bounds_of(value);
    const std::int64_t width = value.shape.size() == 2 ? value.shape[1] : 1;
    for (std::int64_t k = 0; k < elements(value.shape) && !bounds.empty(); ++k)
      if (!is_inside(bounds, k / width, k % width, i)) act(static_cast<std::size_t>(k));
  }

  /// What has nothing behind its point is no less exact in f32, up to 2^24.
  static bool is_whole_in_f32(const Value& value, const Bounded& result) {
    constexpr Function kSteps[] = {Function::toward_zero, Function::floor, Function::ceil};
    if (std::find(std::begin(kSteps), std::end(kSteps), value.function) == std::end(kSteps) ||
        value.type != "f32")
      return false;
    for (std::size_t k = 0; k < result.value.data.size(); ++k) {
      const double e = result.error.data[k];
      if (!(std::abs(result.value.data[k]) + (std::isfinite(e) ? e : 0) <= kWholeInF32))
        return false;
    }
    return true;
  }

  /// Is the result one of the operands, in a type that has all of theirs? Then nothing is rounded.
  bool is_exact(const Value& value) const {
    if (is_of_integers(value.function) || is_comparison(value.function) ||
        gives_place(value.function) || value.function == Function::bits ||
        value.function == Function::rearranged)  // (of one type)
      return true;
    if (sums_integers(value)) return true;
    constexpr Function kMoves[] = {
        Function::copy,        Function::store,   Function::transpose, Function::select,
        Function::max,         Function::min,     Function::row_max,   Function::causal,
        Function::lower,       Function::beside,  Function::within,    Function::places,
        Function::largest,     Function::row_min, Function::smallest,  Function::running_max,
        Function::running_min, Function::abs};
    if (std::find(std::begin(kMoves), std::end(kMoves), value.function) == std::end(kMoves))
      return false;
    const NumberType& type = *number_type(value.type);
    for (std::size_t k = 0; k < value.operands.size(); ++k) {
      const Operand& one = value.operands[k];
      // The sign of a selection and the place of a mask are no part of the result.
      if (value.function == Function::select && k == 0) continue;
      if (value.function == Function::store && k > 0) continue;
      if (value.function == Function::causal && k > 0) continue;
      if (value.function == Function::places) continue;
      if (first_bound(value.function) >= 0 && static_cast<int>(k) >= first_bound(value.function))
        continue;
      if (one.value < 0) {
        if (rounded(type, one.number) != one.number) return false;
        continue;
      }
      const NumberType& from = *number_type(m_.values[at(one.value)].type);
      if (from.precision > type.precision ||
          from.least_power - from.precision < type.least_power - type.precision ||
          from.largest > type.largest || (from.precision == 0) != (type.precision == 0))
        return false;
    }
    return true;
  }

  static bool sums_integers(const Value& value) {
    return (value.function == Function::row_sum || value.function == Function::running_sum) &&
           number_type(value.type)->precision == 0;
  }

  /// Sums of integers are exact as long as they fit.
  static void no_overflow(Bounded& result) {
    for (std::size_t k = 0; k < result.value.data.size(); ++k)
      if (!(std::abs(result.value.data[k]) + result.error.data[k] <= number_type("i32")->largest))
        result.error.data[k] = kEndless;
  }

  /// One rounding to f32 (of what is computed), one to the type of the result.
  static void round(const std::string& name, Bounded& result) {
    const NumberType &type = *number_type(name), &single = *number_type("f32");
    const double wide = type.name == "f64" ? type.unit() : single.unit();
    for (double& least : result.least) {
      if (!(least >= 0) || type.precision == 0) {
        least = -kEndless;
        continue;
      }
      least = std::min({least, type.largest, single.largest});
      least -= (2 * (wide + type.unit()) + (kSlack - 1)) * least + single.tiny() + type.tiny();
      least = std::max(least, 0.0);
    }
    for (std::size_t k = 0; k < result.value.data.size(); ++k) {
      const double x = result.value.data[k];
      double& e = result.error.data[k];
      if (std::isinf(x)) e = 0;
      if (!std::isfinite(x)) continue;
      if (x == 0 && e == 0) continue;
      // (What lies between two whole numbers becomes an integer between them.)
      if (type.precision == 0 && e == std::floor(e) && x == std::floor(x) &&
          std::abs(x) + e <= std::min(kWholeInF32, type.largest))
        continue;
      double size = std::abs(x) + e;
      e += wide * size + single.tiny();
      size = std::abs(x) + e;
      // (A Tensor Core may cut off what tf32 has not, instead of rounding it.)
      const double times = type.name == "tf32" ? 2 : 1;
      if (type.name != "f32" && type.name != "f64") e += times * (type.unit() * size + type.tiny());
      e *= kSlack;
      if (std::abs(x) + e <= type.largest) continue;
      // What is too large for a real number of 8 bits becomes the largest.
      if (type.bytes == 1 && type.precision > 0 && std::isfinite(e)) {
        e = std::max(e, std::abs(x) - type.largest);
        continue;
      }
      if (std::isfinite(e) && x - e > 0) {  // (It may be infinite, but not small.)
        result.least.resize(result.value.data.size(), -kEndless);
        result.least[k] = std::min(x - e, type.largest);
      }
      e = kEndless;
    }
  }

  /// The terms are exact (or rounded once, in f32), the sum is of f32, or of f16, in any order;
  /// where nothing is rounded, exact. A Tensor Core that adds in f16 may cut off what does not fit.
  static void product(const std::vector<Bounded>& in, Bounded& result, const std::string& type) {
    const bool rounds = type != "i32", half = type == "f16";
    const NumberType& adds_in = *number_type(half ? "f16" : "f32");
    const auto m = static_cast<std::size_t>(in[0].value.shape[0]);
    const auto depth = static_cast<std::size_t>(in[0].value.shape[1]);
    const auto n = static_cast<std::size_t>(in[1].value.shape[1]);
    const double u = rounds ? (half ? 2 : 1) * adds_in.unit() : 0;
    const double terms = static_cast<double>(depth + 2);
    const double tiny = rounds ? (half ? 2 : 1) * terms * adds_in.tiny() : 0;
    const double gamma = terms * u < 1 ? terms * u / (1 - terms * u) : kEndless;
    std::vector<double> right(in[1].value.data.size());
    for (std::size_t k = 0; k < right.size(); ++k)
      right[k] = std::abs(in[1].value.data[k]) + in[1].error.data[k];
    std::vector<double> sure(n), wide(n);
    for (std::size_t r = 0; r < m; ++r) {
      double* const x = &result.value.data[r * n];
      std::fill(sure.begin(), sure.end(), 0.0);
      std::fill(wide.begin(), wide.end(), 0.0);
      for (std::size_t c = 0; c < n; ++c) x[c] = in.size() == 3 ? in[2].value.data[r * n + c] : 0;
      for (std::size_t k = 0; k < depth; ++k) {
        const double a = in[0].value.data[r * depth + k];
        const double size = std::abs(a), most = size + in[0].error.data[r * depth + k];
        const double* const b = &in[1].value.data[k * n];
        const double* const w = &right[k * n];
        for (std::size_t c = 0; c < n; ++c) {
          x[c] += a * b[c];
          sure[c] += size * std::abs(b[c]);
          wide[c] += most * w[c];
        }
      }
      for (std::size_t c = 0; c < n; ++c) {
        const double added = in.size() == 3 ? in[2].error.data[r * n + c] : 0;
        const double start = in.size() == 3 ? std::abs(in[2].value.data[r * n + c]) + added : 0;
        // (What double precision loses in the difference of two sums is far below gamma.)
        double& e = result.error.data[r * n + c];
        e = std::max(wide[c] - sure[c], 0.0) + added + tiny;
        if (wide[c] + start > 0) e += gamma * (wide[c] + start);
        // (A sum on the way may leave f16.)
        if (half && !(wide[c] + start <= adds_in.largest)) e = kEndless;
      }
    }
  }

  static Near pick(const Bounded& from, std::size_t k) {
    return {from.value.data[k], from.error.data[k], from.least.empty() ? -kEndless : from.least[k]};
  }

  Near element(const Value& value, const std::vector<Bounded>& in, std::size_t k, int i) const {
    const std::size_t columns =
        value.shape.size() == 2 ? static_cast<std::size_t>(value.shape[1]) : 1;
    const std::size_t row = k / columns, column = k % columns;
    const auto x = [&](std::size_t o) {
      const std::size_t rank = in[o].value.shape.size();
      if (rank == 0) return pick(in[o], 0);
      if (rank == value.shape.size()) return pick(in[o], k);
      return pick(in[o], value.operands[o].along_columns ? column : row);
    };
    // (A number is always itself.)
    const bool itself = value.operands.size() == 2 && value.operands[0] == value.operands[1];
    if (is_comparison(value.function) && itself && !std::isnan(x(0).x))
      return {compared(value.function, x(0).x, x(0).x) ? 1.0 : 0.0, 0};
    if (is_comparison(value.function)) return decided(value.function, x(0), x(1));
    if (value.function == Function::histogram) return counted(in[0], k);
    if (is_of_integers(value.function)) return whole(value, x(0), x(1));
    switch (value.function) {
      case Function::store:
        if (in.size() != 2) return x(0);
        if (std::abs(x(1).x) <= x(1).e && x(1).e > 0) return {x(0).x, kEndless};
        return x(1).x > 0 ? x(0) : Near{};
      case Function::copy: return x(0);
      case Function::transpose:
        return pick(in[0], column * static_cast<std::size_t>(value.shape[0]) + row);
      case Function::add: return sum(x(0), x(1));
      case Function::sub: return sum(x(0), negative(x(1)));
      case Function::mul: return times(x(0), x(1));
      case Function::div: return quotient(x(0), x(1));
      case Function::mul_add: return sum(times(x(0), x(1)), x(2));
      case Function::mul_sub: return sum(times(x(0), x(1)), negative(x(2)));
      case Function::max: return larger(x(0), x(1));
      case Function::exp2: return power(in.size() == 2 ? times(x(0), x(1)) : x(0));
      case Function::log2: return logarithm(x(0));
      case Function::reciprocal: return inverse(x(0));
      case Function::min: return negative(larger(negative(x(0)), negative(x(1))));
      case Function::abs: return {std::abs(x(0).x), x(0).e};
      case Function::sqrt: return root(x(0));
      case Function::rsqrt: return inverse(root(x(0)));
      case Function::log: return times(logarithm(x(0)), {std::log(2.0), 0x1p-24});
      // Of these the slope is at most 1, of the last one 2 / sqrt(pi).
      case Function::sin: return {std::sin(x(0).x), x(0).e + kOfOne};
      case Function::cos: return {std::cos(x(0).x), x(0).e + kOfOne};
      case Function::erf: return {std::erf(x(0).x), 1.1284 * x(0).e + kOfOne};
      case Function::floor: return stepped(x(0), [](double a) { return std::floor(a); });
      case Function::ceil: return stepped(x(0), [](double a) { return std::ceil(a); });
      case Function::toward_zero: return stepped(x(0), [](double a) { return std::trunc(a); });
      case Function::select: {
        const Near sign = x(0);
        if (std::abs(sign.x) <= sign.e && sign.e > 0) return either(x(1), x(2), sign.x > 0);
        return sign.x > 0 ? x(1) : x(2);
      }
      case Function::row_max:
      case Function::row_min:
      case Function::row_product:
      case Function::row_sum:
        if (sums_integers(value)) {
          const auto n = static_cast<std::size_t>(in[0].value.shape.back());
          return added_up(value, in[0], k * n, 1, n);
        }
        return reduced(value.function, in[0], k);
      case Function::bits: return of_bits(value, x(0));
      case Function::rearranged: {
        const std::size_t each = in[0].value.data.size();
        const auto from =
            static_cast<std::size_t>(rearrangement_of(value).place(static_cast<std::int64_t>(k)));
        return pick(in[from / each], from % each);
      }
      case Function::scaled: {
        const std::size_t wide = columns / static_cast<std::size_t>(in[1].value.shape[1]);
        const Near scale = pick(in[1], k / wide);
        const double by = scale_of(scale.x);
        return {x(0).x * by, scale.e > 0 || std::isnan(by) ? kEndless : x(0).e * by};
      }
      case Function::place_of_max: return largest(in[0], k, true, 1);
      case Function::place_of_min: return largest(in[0], k, true, -1);
      case Function::largest: return largest(in[0], row, column == 1, 1);
      case Function::smallest: return largest(in[0], row, column == 1, -1);
      case Function::running_max:
      case Function::running_min:
      case Function::running_product:
      case Function::running_sum: return summed_to(value, in[0], row, column);
      case Function::lower:
        if (column <= row) return x(0);
        return {in.size() == 2 ? in[1].value.data[0] : 0, 0};
      case Function::beside: {
        const Bounded& of = in[column];
        return pick(of, of.value.shape.empty() ? 0 : row);
      }
      case Function::causal: {
        const double key =
            static_cast<double>(i) * static_cast<double>(columns) + static_cast<double>(column);
        const double last = value.operands[1].number +
                            std::floor(static_cast<double>(row) / value.operands[2].number);
        return key > last ? Near{-kEndless, 0} : x(0);
      }
      case Function::within: {
        const auto r = static_cast<std::int64_t>(row), c = static_cast<std::int64_t>(column);
        return is_inside(bounds_of(value), r, c, i) ? x(0) : x(1);
      }
      case Function::places: {
        const std::vector<Operand>& by = value.operands;
        const double place = by[0].number * static_cast<double>(row) +
                             by[1].number * static_cast<double>(column) +
                             by[2].number * static_cast<double>(i) + by[3].number;
        return {static_cast<double>(wrapped(static_cast<std::int64_t>(place), 32)), 0};
      }
      default: return {std::numeric_limits<double>::quiet_NaN(), kEndless};
    }
  }

  /// Where errors decide, it may be either.
  static Near decided(Function function, const Near& a, const Near& b) {
    const double e = a.e + b.e;
    const bool open = std::isnan(a.x) || std::isnan(b.x) || (e > 0 && !(std::abs(a.x - b.x) > e));
    return {compared(function, a.x, b.x) ? 1.0 : 0.0, open ? kEndless : 0};
  }
  /// An integer that is not known for sure makes one that may be any.
  static Near whole(const Value& value, const Near& a, const Near& b) {
    if (a.e > 0 || b.e > 0 || std::isnan(a.x) || std::isnan(b.x)) return {0, kEndless};
    const auto result =
        of_integers(value.function, static_cast<std::int64_t>(a.x), static_cast<std::int64_t>(b.x),
                    8 * number_type(value.type)->bytes);
    return result ? Near{static_cast<double>(*result), 0} : Near{0, kEndless};
  }
  static Near counted(const Bounded& in, std::size_t place) {
    Near all;
    for (std::size_t k = 0; k < in.value.data.size(); ++k) {
      all.x += in.value.data[k] == static_cast<double>(place) ? 1 : 0;
      all.e += in.error.data[k] > 0 ? kEndless : 0;
    }
    return all;
  }

  static Near negative(const Near& a) { return {-a.x, a.e}; }
  static Near sum(const Near& a, const Near& b) {
    return {a.x + b.x, a.e + b.e, a.lowest() + b.lowest()};
  }
  /// The larger of the two may be no less than either at its least.
  static Near larger(const Near& a, const Near& b) {
    if (std::isnan(a.x) || std::isnan(b.x)) return {std::isnan(a.x) ? a.x : b.x, kEndless};
    const double x = std::max(a.x, b.x);
    if (std::isinf(x)) return {x, a.x == b.x ? std::max(a.e, b.e) : a.x > b.x ? a.e : b.e};
    const double least = std::max(a.x - a.e, b.x - b.e), most = std::max(a.x + a.e, b.x + b.e);
    return {x, std::max(x - least, most - x)};
  }
  static Near times(const Near& a, const Near& b) {
    // 0 times infinite errors are none: an exact 0 stays 0.
    const auto part = [](double size, double e) { return size == 0 || e == 0 ? 0 : size * e; };
    const double x = a.lowest(), y = b.lowest();
    return {a.x * b.x, part(std::abs(a.x), b.e) + part(std::abs(b.x), a.e) + part(a.e, b.e),
            x >= 0 && y >= 0 ? (x == 0 || y == 0 ? 0 : x * y) : -kEndless};
  }
  /// Three ulps of f32 are granted to the function itself.
  static Near power(const Near& a) {
    const double x = std::exp2(a.x);
    const double least = std::isnan(a.lowest()) ? 0 : std::exp2(a.lowest()) * (1 - 0x1p-21);
    // (What is 0 far below 1 stays so, with whatever error of a number that stands for -infinity.)
    const double wrong = x == 0 ? std::exp2(a.x + a.e) : x * std::expm1(a.e * std::log(2.0));
    return {x, wrong + 0x1p-22 * x, least};
  }
  static Near logarithm(const Near& a) {
    if (a.x == 0 && a.e == 0) return {-kEndless, 0};
    const double x = std::log2(a.x);
    if (!(a.x > a.e)) return {x, kEndless};
    return {x, x - std::log2(a.x - a.e) + 0x1p-22 * std::abs(x) + 0x1p-22};
  }
  static Near root(const Near& a) {
    const double x = std::sqrt(a.x);
    if (a.e == 0) return {x, 0x1p-22 * x};
    if (!(a.x > a.e)) return {x, kEndless};
    return {x, x - std::sqrt(a.x - a.e) + 0x1p-22 * x};
  }
  /// A function that jumps, and never falls where its operand rises.
  template <class Step>
  static Near stepped(const Near& a, const Step& step) {
    const double x = step(a.x);
    if (a.e == 0) return {x, 0};
    if (!std::isfinite(x)) return {x, std::isinf(x) && std::isfinite(a.e) ? 0 : kEndless};
    return {x, std::max(x - step(a.x - a.e), step(a.x + a.e) - x)};
  }
  /// One of two, of which errors decide which it is.
  static Near either(const Near& a, const Near& b, bool first) {
    const Near &one = first ? a : b, &other = first ? b : a;
    if (std::isnan(a.x) || std::isnan(b.x)) return {one.x, kEndless};
    if (one.x == other.x) return {one.x, std::max(a.e, b.e)};
    return {one.x, std::max(one.e, std::abs(one.x - other.x) + other.e)};
  }
  static Near inverse(const Near& a) {
    const double x = 1 / a.x;
    if (a.e == 0) return {x, 0x1p-22 * std::abs(x)};
    // (A number of at least L > 0, which may have become infinite, gives 0 to 1 / L.)
    const double least = a.lowest();
    const double between =
        least > 0 && x >= 0 ? std::max(1 / least - x, x) + 0x1p-22 / least : kEndless;
    if (std::abs(a.x) <= a.e) return {x, between, least > 0 ? 0 : -kEndless};
    return {
        x, std::min(between, a.e / (std::abs(a.x) * (std::abs(a.x) - a.e)) + 0x1p-22 * std::abs(x)),
        least > 0 ? 0 : -kEndless};
  }

  /// (The product of the two bounds; the value is that of one division.)
  static Near quotient(const Near& a, const Near& b) {
    const double x = a.x / b.x;
    if (a.x == 0 && a.e == 0 && std::abs(b.x) > b.e) return {x, 0};
    const Near result = times(a, inverse(b));
    return {x, result.e, result.least};
  }

  /// In whatever order the terms are added.
  static Near summed_to(const Value& value, const Bounded& in, std::size_t row,
                        std::size_t column) {
    const bool of_columns = runs_along_rows(value), vector = in.value.shape.size() == 1;
    const std::size_t width = vector ? 1 : static_cast<std::size_t>(in.value.shape[1]);
    const std::size_t step = of_columns ? 1 : width, here = of_columns ? column : row;
    std::size_t last = here, first = of_columns ? row * width : (vector ? 0 : column);
    if (runs_from_end(value)) {
      const std::size_t extent = of_columns ? width : static_cast<std::size_t>(in.value.shape[0]);
      first += here * step;
      last = extent - 1 - here;
    }
    if (sums_integers(value)) return added_up(value, in, first, step, last + 1);
    if (value.function == Function::running_product) return multiplied(in, first, step, last + 1);
    Near all = pick(in, first);
    double size = all.size();
    for (std::size_t k = 1; k <= last; ++k) {
      const Near next = pick(in, first + k * step);
      if (value.function == Function::running_max) {
        all = larger(all, next);
        continue;
      }
      if (value.function == Function::running_min) {
        all = negative(larger(negative(all), negative(next)));
        continue;
      }
      all = sum(all, next);
      size += next.size();
    }
    if (value.function != Function::running_sum) return all;
    const double u = number_type("f32")->unit(), terms = static_cast<double>(last + 1);
    all.e += terms * u / (1 - terms * u) * size;
    return all;
  }

  /// `count` numbers, `step` apart, in whatever order they are multiplied. (Where those of 1 and
  /// more alone may leave f32, an order may; what is lost below its least number they may enlarge.)
  static Near multiplied(const Bounded& in, std::size_t first, std::size_t step,
                         std::size_t count) {
    Near all = pick(in, first);
    double size = all.size(), grown = std::max(1.0, size);
    for (std::size_t k = 1; k < count; ++k) {
      const Near next = pick(in, first + k * step);
      all = times(all, next);
      size *= next.size();
      grown *= std::max(1.0, next.size());
    }
    const NumberType& single = *number_type("f32");
    const double u = single.unit(), terms = static_cast<double>(count);
    const bool inside = grown * (1 + terms * u) < single.largest;
    all.e = inside ? all.e + terms * (u / (1 - terms * u) * size + 0x1p-149 * grown) : kEndless;
    return all;
  }

  /// `count` integers, `step` apart, modulo 2 to the power of their bits.
  static Near added_up(const Value& value, const Bounded& in, std::size_t first, std::size_t step,
                       std::size_t count) {
    std::int64_t all = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const Near next = pick(in, first + k * step);
      if (next.e > 0 || std::isnan(next.x)) return {0, kEndless};
      all = wrapped(all + static_cast<std::int64_t>(next.x), 8 * number_type(value.type)->bytes);
    }
    return {static_cast<double>(all), 0};
  }

  /// Nothing is known of bits that an error may change. A 0 that has been computed may have either
  /// sign.
  Near of_bits(const Value& value, const Near& a) const {
    if (a.e > 0 || std::isnan(a.x)) return {0, kEndless};
    if (value.type == "f32") {
      const double x = number_of_bits(a.x);
      return {x, std::isnan(x) ? kEndless : 0};
    }
    if (a.x == 0 && !sign_of_zero_known(value.operands[0].value)) return {0, kEndless};
    return {bits_of_number(a.x), 0};
  }
  bool sign_of_zero_known(int v) const {
    constexpr int kMostSteps = 1000;
    for (int step = 0; v >= 0 && step < kMostSteps; ++step) {
      const Value& value = m_.values[at(v)];
      if (value.function == Function::load || value.function == Function::bits ||
          value.function == Function::abs)
        return true;
      if (value.function != Function::copy || number_type(value.type)->precision == 0) return false;
      v = value.operands[0].value;
    }
    return false;
  }

  static Near reduced(Function function, const Bounded& in, std::size_t row) {
    const auto n = static_cast<std::size_t>(in.value.shape.back());
    if (function == Function::row_product) return multiplied(in, row * n, 1, n);
    Near all = pick(in, row * n);
    double size = all.size();
    for (std::size_t c = 1; c < n; ++c) {
      const Near next = pick(in, row * n + c);
      if (function == Function::row_sum) {
        all = sum(all, next);
        size += next.size();
      } else if (function == Function::row_min) {
        all = negative(larger(negative(all), negative(next)));
      } else {
        all = larger(all, next);
      }
    }
    const double u = number_type("f32")->unit(), terms = static_cast<double>(n);
    if (function == Function::row_sum) all.e += terms * u / (1 - terms * u) * size;
    return all;
  }

  /// The largest of a row (sign 1) or the smallest (-1), or its first place: none where errors
  /// decide which one it is.
  static Near largest(const Bounded& in, std::size_t row, bool place, double sign) {
    const auto n = static_cast<std::size_t>(in.value.shape.back());
    if (!place) return reduced(sign > 0 ? Function::row_max : Function::row_min, in, row);
    std::size_t best = 0;
    bool open = false;
    for (std::size_t c = 1; c < n; ++c)
      if (sign * in.value.data[row * n + c] > sign * in.value.data[row * n + best]) best = c;
    const Near top = pick(in, row * n + best);
    for (std::size_t c = 0; c < n; ++c) {
      const Near one = pick(in, row * n + c);
      const double e = one.e + top.e;
      open = open || std::isnan(one.x) || (c != best && e > 0 && !(sign * (top.x - one.x) > e));
    }
    return {static_cast<double>(best), open ? kEndless : 0};
  }

  const Meaning& m_;
  int n_;
  const TensorTiles& inputs_;
  std::vector<std::vector<Bounded>> outputs_;
  std::vector<Bounded> fixed_;                  ///< before and after the loop
  std::map<std::pair<int, int>, Bounded> now_;  ///< value, iteration
};

}  // namespace

std::vector<std::vector<Bounded>> reference(const Meaning& meaning, int n,
                                            const TensorTiles& inputs) {
  return Interpreter(meaning, n, inputs).run();
}

}  // namespace twill::meaning
