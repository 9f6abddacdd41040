// Sums, maxima and bits of integers, running maxima and products, products that add in f16: beside
// loops that are written here, and what an execution may be off by beside executions in other
// orders.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "graph/meaning/meaning.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/meaning/tile_functions.hpp"
#include "tests/support/meaning_operand.hpp"

namespace whole_functions_test {

using namespace twill;
using meaning::Function;
using meaning::Numbers;
using test::of_value;

namespace {

/// X is loaded, f of it is stored. How running functions go: 1 = along rows, 2 = from the end on, 3
/// = both.
meaning::Meaning of_one(Function function, const std::vector<std::int64_t>& from,
                        const std::string& from_type, const std::vector<std::int64_t>& to,
                        const std::string& to_type, int how = 0) {
  meaning::Meaning m;
  m.tensors = {{"X", from, from_type, -2, 2}, {"Y", to, to_type, -2, 2}};
  meaning::Value load, made, store;
  load.id = "x";
  load.tile = load.shape = from;
  load.type = from_type;
  load.function = Function::load;
  load.tensor = 0;
  made.id = "y";
  made.tile = from;
  made.shape = to;
  made.type = to_type;
  made.function = function;
  made.operands = {of_value(0)};
  if (how > 0) {
    made.operands.emplace_back();
    made.operands[1].number = how;
  }
  store.id = "st";
  store.tile = store.shape = to;
  store.type = to_type;
  store.function = Function::store;
  store.operands = {of_value(1)};
  store.tensor = 1;
  m.values = {load, made, store};
  m.after_begin = 3;
  return m;
}

/// As a program executes it, and as the reference has it.
void both_are(const meaning::Meaning& m, const Numbers& x, const std::vector<double>& right) {
  std::vector<Numbers> of = {x};
  if (m.values[1].operands.size() == 2) of.push_back({{}, {1}});
  CHECK(meaning::evaluate(m.values[1], of, 0).data == right);
  const auto all = meaning::reference(m, 1, {{x}, {}});
  CHECK(all[1][0].value.data == right);
  for (const double e : all[1][0].error.data) CHECK(e == 0);
}

}  // namespace

TEST_CASE("integers of rows: sums modulo 2^32 or 2^8, the largest, the smallest, sums so far") {
  std::mt19937_64 random(7);
  for (const std::string type : {"i32", "i8"}) {
    const int bits = type == "i32" ? 32 : 8;
    Numbers x{{5, 9}, {}};
    for (int k = 0; k < 45; ++k) {
      const auto word = static_cast<std::int32_t>(random());
      x.data.push_back(bits == 32 ? word : static_cast<std::int8_t>(word));
    }
    const auto wrapped = [&](std::int64_t a) {
      return bits == 32 ? static_cast<double>(static_cast<std::int32_t>(a))
                        : static_cast<double>(static_cast<std::int8_t>(a));
    };
    std::vector<double> sum, most, least, far, down(45);
    std::vector<double> most_far;
    bool wraps = false;
    for (int r = 0; r < 5; ++r) {
      std::int64_t all = 0;
      for (int c = 0; c < 9; ++c) {
        all += static_cast<std::int64_t>(x.data[r * 9 + c]);
        far.push_back(wrapped(all));
        most_far.push_back(
            *std::max_element(x.data.begin() + r * 9, x.data.begin() + r * 9 + c + 1));
      }
      sum.push_back(wrapped(all));
      wraps = wraps || sum.back() != static_cast<double>(all);
      most.push_back(*std::max_element(x.data.begin() + r * 9, x.data.begin() + r * 9 + 9));
      least.push_back(*std::min_element(x.data.begin() + r * 9, x.data.begin() + r * 9 + 9));
    }
    for (int c = 0; c < 9; ++c) {
      std::int64_t all = 0;
      for (int r = 0; r < 5; ++r) {
        all += static_cast<std::int64_t>(x.data[r * 9 + c]);
        down[r * 9 + c] = wrapped(all);
      }
    }
    CHECK(wraps);
    both_are(of_one(Function::row_sum, {5, 9}, type, {5}, type), x, sum);
    both_are(of_one(Function::row_max, {5, 9}, type, {5}, type), x, most);
    both_are(of_one(Function::row_min, {5, 9}, type, {5}, type), x, least);
    both_are(of_one(Function::running_sum, {5, 9}, type, {5, 9}, type, 1), x, far);
    both_are(of_one(Function::running_sum, {5, 9}, type, {5, 9}, type), x, down);
    both_are(of_one(Function::running_max, {5, 9}, type, {5, 9}, type, 1), x, most_far);
  }
}

TEST_CASE("running maxima and minima: of a vector, down columns, along rows; a NaN stays") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Numbers x{{2, 3}, {1, -2, 3, 4, -5, 2}};
  both_are(of_one(Function::running_max, {2, 3}, "f32", {2, 3}, "f32"), x, {1, -2, 3, 4, -2, 3});
  both_are(of_one(Function::running_min, {2, 3}, "f32", {2, 3}, "f32"), x, {1, -2, 3, 1, -5, 2});
  both_are(of_one(Function::running_max, {2, 3}, "f32", {2, 3}, "f32", 1), x, {1, 1, 3, 4, 4, 4});
  both_are(of_one(Function::running_min, {2, 3}, "f32", {2, 3}, "f32", 1), x,
           {1, -2, -2, 4, -5, -5});
  both_are(of_one(Function::running_max, {4}, "f32", {4}, "f32"), {{4}, {-3, -1, -2, 0}},
           {-3, -1, -1, 0});
  both_are(of_one(Function::running_max, {2, 3}, "f32", {2, 3}, "f32", 2), x, {4, -2, 3, 4, -5, 2});
  both_are(of_one(Function::running_min, {2, 3}, "f32", {2, 3}, "f32", 3), x,
           {-2, -2, 3, -5, -5, 2});
  both_are(of_one(Function::running_sum, {2, 3}, "i32", {2, 3}, "i32", 2), x, {5, -7, 5, 4, -5, 2});
  both_are(of_one(Function::running_sum, {2, 3}, "i32", {2, 3}, "i32", 3), x, {2, 1, 3, 1, -3, 2});
  both_are(of_one(Function::running_sum, {4}, "i32", {4}, "i32", 2), {{4}, {-3, -1, -2, 5}},
           {-1, 2, 3, 5});
  const auto m = of_one(Function::running_max, {3}, "f32", {3}, "f32");
  const auto made = meaning::evaluate(m.values[1], std::vector{Numbers{{3}, {1, none, 2}}}, 0).data;
  CHECK(made[0] == 1);
  CHECK(std::isnan(made[1]));
  CHECK(std::isnan(made[2]));
}

TEST_CASE("products: of rows, of a vector, running ones, and what order may do to them") {
  // (Small whole numbers are exact in any order; the reference does not say so.)
  const auto both_near = [](const meaning::Meaning& m, const Numbers& x,
                            const std::vector<double>& expected) {
    std::vector<Numbers> operands{x};
    if (m.values[1].operands.size() == 2)
      operands.push_back({{}, {m.values[1].operands[1].number}});
    CHECK(meaning::evaluate(m.values[1], operands, 0).data == expected);
    const auto made = meaning::reference(m, 1, {{x}, {}})[1][0];
    CHECK(made.value.data == expected);
    for (const double e : made.error.data) CHECK(e < 1e-4);
  };
  const Numbers x{{2, 3}, {1, -2, 3, 4, -5, 2}};
  both_near(of_one(Function::row_product, {2, 3}, "f32", {2}, "f32"), x, {-6, -40});
  both_near(of_one(Function::row_product, {3}, "f32", {}, "f32"), {{3}, {0.5, -4, 3}}, {-6});
  both_near(of_one(Function::running_product, {2, 3}, "f32", {2, 3}, "f32"), x,
            {1, -2, 3, 4, 10, 6});
  both_near(of_one(Function::running_product, {2, 3}, "f32", {2, 3}, "f32", 1), x,
            {1, -2, -6, 4, -20, -40});
  both_near(of_one(Function::running_product, {2, 3}, "f32", {2, 3}, "f32", 2), x,
            {4, 10, 6, 4, -5, 2});
  both_near(of_one(Function::running_product, {2, 3}, "f32", {2, 3}, "f32", 3), x,
            {-6, -6, 3, -40, -10, 2});
  std::mt19937 random(12);
  const auto m = of_one(Function::row_product, {32}, "f32", {}, "f32");
  int open = 0;
  for (int run = 0; run < 200; ++run) {
    // Some of them leave f32 in one order and not in another, below and above.
    const float wide = run % 4 == 0 ? 60.0F : 2.0F;
    Numbers in{{32}, {}};
    for (int k = 0; k < 32; ++k)
      in.data.push_back(std::exp2(std::uniform_real_distribution<float>(-wide, wide)(random)));
    const meaning::TensorTiles tiles{{in}, {}};
    const auto made = meaning::reference(m, 1, tiles)[1][0];
    const double error = made.error.data[0], value = made.value.data[0];
    if (!std::isfinite(error)) {
      ++open;
      continue;
    }
    CHECK(error < 1e-5 * value + 1e-30);
    for (int order = 0; order < 20; ++order) {
      std::vector<float> left(in.data.begin(), in.data.end());
      while (left.size() > 1) {
        std::shuffle(left.begin(), left.end(), random);
        const float a = left.back();
        left.pop_back();
        left.back() *= a;
      }
      CHECK(std::abs(left[0] - value) <= error);
    }
  }
  CHECK(open > 0);
  CHECK(open <= 50);
}

TEST_CASE("bits: as memory has them, of what is exact") {
  std::mt19937 random(11);
  Numbers x{{64}, {}}, w{{64}, {}};
  std::vector<double> bits, numbers;
  for (int k = 0; k < 64; ++k) {
    const float one = std::uniform_real_distribution<float>(-100, 100)(random);
    std::int32_t word = 0;
    std::memcpy(&word, &one, 4);
    x.data.push_back(one);
    bits.push_back(word);
    w.data.push_back(word ^ 0x1234);
    const std::int32_t other = word ^ 0x1234;
    float back = 0;
    std::memcpy(&back, &other, 4);
    numbers.push_back(back);
  }
  both_are(of_one(Function::bits, {64}, "f32", {64}, "i32"), x, bits);
  both_are(of_one(Function::bits, {64}, "i32", {64}, "f32"), w, numbers);
  // A 0 that is loaded has a sign; one that has been computed may have either.
  auto m = of_one(Function::bits, {1}, "f32", {1}, "i32");
  CHECK(meaning::reference(m, 1, {{Numbers{{1}, {-0.0}}}, {}})[1][0].value.data[0] ==
        -2147483648.0);
  CHECK(meaning::reference(m, 1, {{Numbers{{1}, {-0.0}}}, {}})[1][0].error.data[0] == 0);
  meaning::Value larger = m.values[0];
  larger.id = "larger";
  larger.function = Function::max;
  larger.tensor = -1;
  larger.operands = {of_value(0), meaning::Operand{}};
  m.values.insert(m.values.begin() + 1, larger);
  m.values[2].operands = {of_value(1)};
  m.values[3].operands = {of_value(2)};
  m.after_begin = 4;
  CHECK(std::isinf(meaning::reference(m, 1, {{Numbers{{1}, {-3}}}, {}})[1][0].error.data[0]));
  CHECK(meaning::reference(m, 1, {{Numbers{{1}, {3}}}, {}})[1][0].error.data[0] == 0);
  // Of what has an error nothing is known.
  m.values[1].function = Function::sqrt;
  m.values[1].operands = {of_value(0)};
  CHECK(std::isinf(meaning::reference(m, 1, {{Numbers{{1}, {3}}}, {}})[1][0].error.data[0]));
}

TEST_CASE(
    "a product that adds in f16: no order of additions, rounded or cut off, leaves the bound") {
  constexpr std::int64_t kRows = 4, kDepth = 64, kColumns = 5;
  meaning::Meaning m;
  m.tensors = {{"A", {kRows, kDepth}, "f16", -2, 2},
               {"B", {kDepth, kColumns}, "f16", -2, 2},
               {"C", {kRows, kColumns}, "f16", -2, 2}};
  const auto value = [&](const std::string& id, Function f, std::vector<std::int64_t> shape,
                         int tensor, std::vector<meaning::Operand> of) {
    meaning::Value one;
    one.id = id;
    one.tile = one.shape = std::move(shape);
    one.type = "f16";
    one.function = f;
    one.tensor = tensor;
    one.operands = std::move(of);
    m.values.push_back(one);
  };
  value("a", Function::load, {kRows, kDepth}, 0, {});
  value("b", Function::load, {kDepth, kColumns}, 1, {});
  value("p", Function::product, {kRows, kColumns}, -1, {of_value(0), of_value(1)});
  value("c", Function::store, {kRows, kColumns}, 2, {of_value(2)});
  m.after_begin = 4;
  const meaning::NumberType& half = *meaning::number_type("f16");
  const auto cut = [&](double x) {  // towards 0
    const double near = meaning::rounded(half, x);
    if (std::abs(near) <= std::abs(x)) return near;
    return meaning::rounded(half, x - (near - x) * 1.5);
  };
  std::mt19937 random(3);
  double worst = 0, beyond_single = 0;
  for (int run = 0; run < 200; ++run) {
    auto inputs = meaning::seeded_inputs(m, 1, static_cast<std::uint64_t>(run));
    const auto all = meaning::reference(m, 1, inputs);
    const Numbers &a = inputs[0][0], &b = inputs[1][0];
    std::vector<int> order(kDepth);
    for (int k = 0; k < kDepth; ++k) order[k] = k;
    if (run > 0) std::shuffle(order.begin(), order.end(), random);
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t c = 0; c < kColumns; ++c) {
        double sum = 0, exact = 0;
        for (const int k : order) {
          const double term = a.data[r * kDepth + k] * b.data[k * kColumns + c];
          exact += term;
          sum = run % 2 == 0 ? meaning::rounded(half, sum + term) : cut(sum + term);
        }
        const auto at = static_cast<std::size_t>(r * kColumns + c);
        CHECK(std::abs(all[2][0].value.data[at] - exact) < 1e-9);
        const double off = std::abs(sum - exact), bound = all[2][0].error.data[at];
        CHECK(off <= bound);
        worst = std::max(worst, off / bound);
        beyond_single = std::max(beyond_single, off / (half.unit() * std::abs(exact) + 1e-4));
      }
    const Numbers made = meaning::evaluate(m.values[2], std::vector{a, b}, 0);
    for (std::size_t k = 0; k < made.data.size(); ++k)
      CHECK(std::abs(made.data[k] - all[2][0].value.data[k]) <= all[2][0].error.data[k]);
  }
  CHECK(worst > 0.02);       // it is no bound of nothing
  CHECK(beyond_single > 4);  // and that of a sum in f32 would not do
  // A sum that may leave f16 on its way has none.
  Numbers large{{kRows, kDepth}, std::vector<double>(kRows * kDepth, 60.0)},
      other{{kDepth, kColumns}, std::vector<double>(kDepth * kColumns, 60.0)};
  for (std::size_t k = 0; k < large.data.size(); k += 2) large.data[k] = -60;
  CHECK(std::isinf(meaning::reference(m, 1, {{large}, {other}, {}})[2][0].error.data[0]));
}

}  // namespace whole_functions_test
