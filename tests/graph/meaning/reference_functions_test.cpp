// What single functions give, and how far an execution may be from it: the interpreter of loops,
// and the tile functions that programs execute.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/meaning/integers.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/meaning/tile_functions.hpp"

namespace reference_functions_test {

using namespace twill;
using meaning::Numbers;
using meaning::TensorTiles;

namespace {

/// All values of a meaning without a past, step by step in their types.
std::vector<Numbers> executed(const meaning::Meaning& m, const TensorTiles& inputs) {
  std::vector<Numbers> made;
  for (const meaning::Value& value : m.values) {
    std::vector<Numbers> of;
    for (const meaning::Operand& one : value.operands)
      of.push_back(one.value < 0 ? Numbers{{}, {one.number}}
                                 : made[static_cast<std::size_t>(one.value)]);
    made.push_back(value.function == meaning::Function::load
                       ? inputs[static_cast<std::size_t>(value.tensor)][0]
                       : meaning::evaluate(value, of, 0));
  }
  return made;
}

}  // namespace

TEST_CASE("running sums: of a vector, down columns, along rows") {
  const Numbers matrix{{2, 3}, {1, 2, 3, 4, 5, 6}};
  meaning::Value value;
  value.type = "f32";
  value.function = meaning::Function::running_sum;
  value.shape = {2, 3};
  value.operands.resize(1);
  CHECK(meaning::evaluate(value, std::vector{matrix}, 0).data ==
        std::vector<double>{1, 2, 3, 5, 7, 9});
  value.operands.resize(2);
  value.operands[1].number = 1;
  CHECK(meaning::evaluate(value, std::vector{matrix, Numbers{{}, {1}}}, 0).data ==
        std::vector<double>{1, 3, 6, 4, 9, 15});
  value.operands.resize(1);
  value.shape = {3};
  CHECK(meaning::evaluate(value, std::vector{Numbers{{3}, {0.5, 2, -4}}}, 0).data ==
        std::vector<double>{0.5, 2.5, -1.5});
}

TEST_CASE("integers: as two's complement has them, and nothing where nothing is said") {
  using meaning::Function;
  const auto of = [](Function f, std::int64_t a, std::int64_t b, int bits = 32) {
    return meaning::of_integers(f, a, b, bits);
  };
  constexpr std::int64_t kLeast = -2147483648LL;
  CHECK(of(Function::int_add, 2147483647, 1) == kLeast);
  CHECK(of(Function::int_sub, kLeast, 1) == 2147483647);
  CHECK(of(Function::int_mul, 65537, 65537) == 131073);
  CHECK(of(Function::int_div, -7, 2) == -3);
  CHECK(of(Function::int_rem, -7, 2) == -1);
  CHECK(!of(Function::int_div, 7, 0));
  CHECK(!of(Function::int_rem, kLeast, -1));
  CHECK(of(Function::mul_high, -1, -1) == -2);  // (2^32 - 1)^2 is 2^64 - 2^33 + 1
  CHECK(of(Function::mul_high, -766435501, 12345) == 10142);
  CHECK(of(Function::bit_xor, -1, 5) == -6);
  CHECK(of(Function::bit_and, -1, 255) == 255);
  CHECK(of(Function::shift_left, 1, 31) == kLeast);
  CHECK(!of(Function::shift_left, 1, 32));
  CHECK(!of(Function::shift_right, 1, -1));
  CHECK(of(Function::shift_right, -9, 1) == -5);
  CHECK(of(Function::shift_right_logical, -1, 28) == 15);
  CHECK(of(Function::shift_right_logical, -1, 4, 8) == 15);
  CHECK(of(Function::shift_right, 0x98, 4, 8) == -7);
  CHECK(of(Function::bit_and, 0x1ff, -1, 8) == -1);
}

TEST_CASE("comparisons, and what they choose, where an error may decide") {
  // A flag of a > b, b made with an error (its square root), and a choice by it.
  meaning::Meaning m;
  m.tensors = {{"A", {4}, "f32", -2, 2}, {"B", {4}, "f32", -2, 2}, {"C", {4}, "f32", -2, 2}};
  const auto operand = [](int v) {
    meaning::Operand one;
    one.value = v;
    return one;
  };
  const auto add = [&](const std::string& id, meaning::Function f, const std::string& type,
                       std::vector<meaning::Operand> operands, int tensor = -1) {
    meaning::Value one;
    one.id = id;
    one.tile = one.shape = {4};
    one.type = type;
    one.function = f;
    one.operands = std::move(operands);
    one.tensor = tensor;
    m.values.push_back(one);
  };
  using meaning::Function;
  add("a", Function::load, "f32", {}, 0);
  add("b", Function::load, "f32", {}, 1);
  add("root", Function::sqrt, "f32", {operand(1)});
  add("flag", Function::greater, "i32", {operand(0), operand(2)});
  add("c", Function::select, "f32", {operand(3), operand(0), operand(1)});
  add("out", Function::store, "f32", {operand(4)}, 2);
  m.after_begin = 6;
  const meaning::TensorTiles inputs = {{{{4}, {3, 2, 1, -1}}}, {{{4}, {4, 4, 4, 4}}}, {}};
  const auto all = meaning::reference(m, 1, inputs);
  CHECK(all[2][0].value.data == std::vector<double>{3, 4, 4, 4});
  CHECK(all[2][0].error.data[0] == 0);
  CHECK(all[2][0].error.data[1] == 2);  // 2 > 2, which an error decides: 2 or 4
  CHECK(all[2][0].error.data[2] == 0);
  m.values[2].function = Function::copy;  // no error: 2 > 4
  CHECK(meaning::reference(m, 1, inputs)[2][0].error.data[1] == 0);
}

TEST_CASE("steps and choices: an execution is as near as is said, and somewhere an error decides") {
  using meaning::Function;
  constexpr std::int64_t kCount = 4096;
  // h is a in f16 times 3 in f16; steps of it, as bytes, too; h or c, by the sign of h - b.
  meaning::Meaning m;
  for (const char* const name : {"A", "B", "C", "floor", "ceil", "zero", "byte", "choice"})
    m.tensors.push_back({name, {kCount}, "f32", -8, 8});
  m.tensors[6].type = "i8";
  const auto operand = [](int v, double number = 0) {
    meaning::Operand one;
    one.value = v;
    one.number = number;
    return one;
  };
  const auto add = [&](Function f, const std::string& type, std::vector<meaning::Operand> operands,
                       int tensor = -1) {
    meaning::Value one;
    one.id = "v" + std::to_string(m.values.size());
    one.tile = one.shape = {kCount};
    one.type = type;
    one.function = f;
    one.operands = std::move(operands);
    one.tensor = tensor;
    m.values.push_back(one);
    return operand(static_cast<int>(m.values.size()) - 1);
  };
  const auto a = add(Function::load, "f32", {}, 0), b = add(Function::load, "f32", {}, 1),
             c = add(Function::load, "f32", {}, 2);
  const auto half = add(Function::copy, "f16", {a});
  const auto h = add(Function::mul, "f16", {half, operand(-1, 3)});
  const auto low = add(Function::floor, "f32", {h}), high = add(Function::ceil, "f32", {h}),
             cut = add(Function::toward_zero, "f32", {h});
  const auto byte = add(Function::copy, "i8", {low});
  const auto sign = add(Function::sub, "f32", {h, b});
  const auto choice = add(Function::select, "f32", {sign, h, c});
  int tensor = 3;
  for (const auto& one : {low, high, cut, byte, choice})
    add(Function::store, m.tensors[static_cast<std::size_t>(tensor)].type, {one}, tensor), ++tensor;
  m.after_begin = static_cast<int>(m.values.size());
  TensorTiles inputs = meaning::seeded_inputs(m, 1, 1);
  // Near a step, and near where the other one is chosen.
  for (std::size_t k = 0; k < kCount; ++k) {
    double& x = inputs[0][0].data[k];
    if (k % 2 == 0) x = static_cast<float>(std::round(3 * x) / 3 + (k % 4 == 0 ? 1e-4 : -1e-4));
    if (k % 8 < 2) inputs[1][0].data[k] = static_cast<float>(3 * x + (k % 4 == 0 ? 1e-4 : -1e-4));
  }
  const auto all = meaning::reference(m, 1, inputs);
  const std::vector<Numbers> made = executed(m, inputs);
  for (std::size_t t = 3; t < 8; ++t) {
    int off = 0, sure = 0;
    for (std::size_t k = 0; k < kCount; ++k) {
      const double bound = all[t][0].error.data[k];
      const double wrong = std::abs(made[made.size() - 8 + t].data[k] - all[t][0].value.data[k]);
      CHECK(std::isfinite(bound));
      CHECK(wrong <= bound);
      off += wrong > 0.5 ? 1 : 0;
      sure += bound < 0.5 ? 1 : 0;
    }
    CAPTURE(t);
    CHECK(off > 20);
    CHECK(sure > kCount / 3);
  }
}

TEST_CASE("what is too large for its type: its inverse is near 0, and in eight bits the largest") {
  using meaning::Function;
  constexpr std::int64_t kCount = 512;
  // 2^(a a) is beyond f32 for many a; the gate is a / (1 + 2^(a a)).
  meaning::Meaning m;
  for (const char* const name : {"A", "gate", "inverse", "open", "bytes"})
    m.tensors.push_back({name, {kCount}, "f32", -2, 2});
  m.tensors.back().type = "f8";
  const auto operand = [](int v, double number = 0) {
    meaning::Operand one;
    one.value = v;
    one.number = number;
    return one;
  };
  const auto add = [&](Function f, std::vector<meaning::Operand> operands, int tensor = -1) {
    meaning::Value one;
    one.id = "v" + std::to_string(m.values.size());
    one.tile = one.shape = {kCount};
    one.type = tensor < 0 ? "f32" : m.tensors[static_cast<std::size_t>(tensor)].type;
    one.function = f;
    one.operands = std::move(operands);
    one.tensor = tensor;
    m.values.push_back(one);
    return static_cast<int>(m.values.size()) - 1;
  };
  const int a = add(Function::load, {}, 0);
  const int square = add(Function::mul, {operand(a), operand(a)});
  const int power = add(Function::exp2, {operand(square)});
  const int more = add(Function::add, {operand(power), operand(-1, 1)});
  const int gate = add(Function::div, {operand(a), operand(more)});
  const int inverse = add(Function::reciprocal, {operand(more)});
  // Of either sign: nothing is known of its inverse.
  const int less = add(Function::sub, {operand(-1, 1), operand(power)});
  const int open = add(Function::reciprocal, {operand(less)});
  const int large = add(Function::mul, {operand(a), operand(-1, 30)});
  add(Function::store, {operand(gate)}, 1);
  add(Function::store, {operand(inverse)}, 2);
  add(Function::store, {operand(open)}, 3);
  add(Function::store, {operand(large)}, 4);
  m.after_begin = static_cast<int>(m.values.size());
  Numbers in{{kCount}, {}};
  for (std::int64_t k = 0; k < kCount; ++k)
    in.data.push_back(static_cast<float>(static_cast<double>(k) / 12 - 20.03));
  const TensorTiles inputs = {{in}, {}, {}, {}, {}};
  const auto all = meaning::reference(m, 1, inputs);
  const std::vector<Numbers> made = executed(m, inputs);
  int beyond = 0, clamped = 0;
  for (std::size_t k = 0; k < kCount; ++k) {
    for (const std::size_t t : {1, 2, 4}) {
      const double bound = all[t][0].error.data[k], right = all[t][0].value.data[k];
      CHECK(std::isfinite(bound));
      CHECK(std::abs(made[made.size() - 5 + t].data[k] - right) <= bound);
    }
    if (!std::isinf(made[static_cast<std::size_t>(power)].data[k])) continue;
    ++beyond;
    CHECK(all[2][0].error.data[k] < 0x1p-120);
    CHECK(std::isinf(all[3][0].error.data[k]));
    clamped += std::abs(made.back().data[k]) == 448 ? 1 : 0;
  }
  CHECK(beyond > 100);
  CHECK(clamped > 50);
}

TEST_CASE("what is given with more digits than its type has is as far off as it is rounded") {
  // (A vector that another loop of a module hands on is known in double precision.)
  meaning::Meaning m;
  m.tensors = {{"x", {2}, "f32"}, {"y", {2}, "f32"}};
  meaning::Value load, store;
  load.id = "load", store.id = "store";
  load.function = meaning::Function::load, store.function = meaning::Function::store;
  load.type = store.type = "f32";
  load.shape = store.shape = {2};
  load.tensor = 0, store.tensor = 1;
  store.operands.resize(1);
  store.operands[0].value = 0;
  m.values = {load, store};
  m.loop_begin = m.after_begin = 1;
  const double x = 0.1, whole = 0.5;
  const TensorTiles inputs = {{Numbers{{2}, {x, whole}}}, {}};
  const auto right = meaning::reference(m, 0, inputs);
  REQUIRE(right.at(1).size() == 1);
  CHECK(right[1][0].error.data[0] == std::abs(x - double(float(x))));
  CHECK(right[1][0].error.data[1] == 0);
  const TensorTiles stored = {{}, {Numbers{{2}, {double(float(x)), whole}}}};
  CHECK(meaning::all_right(meaning::compare_with(m, right, stored)));
  const TensorTiles other = {{}, {Numbers{{2}, {std::nextafterf(float(x), 1.0F), whole}}}};
  CHECK_FALSE(meaning::all_right(meaning::compare_with(m, right, other)));
}

TEST_CASE("a histogram counts what is one of its places") {
  meaning::Value value;
  value.type = "i32";
  value.function = meaning::Function::histogram;
  value.shape = {3};
  value.operands.resize(1);
  CHECK(meaning::evaluate(value, std::vector{Numbers{{6}, {0, 2, 2, -1, 3, 2}}}, 0).data ==
        std::vector<double>{1, 0, 3});
}

TEST_CASE("the largest and its first place, where an error may decide") {
  using meaning::Function;
  meaning::Meaning m;
  m.tensors = {{"A", {2, 3}, "f32", -2, 2}, {"C", {2, 2}, "f32", -2, 2}};
  const auto add = [&](std::vector<std::int64_t> shape, Function f, int operand, int tensor = -1) {
    meaning::Value one;
    one.tile = one.shape = std::move(shape);
    one.type = "f32";
    one.function = f;
    one.tensor = tensor;
    if (operand >= 0) one.operands.resize(1);
    if (operand >= 0) one.operands[0].value = operand;
    m.values.push_back(one);
  };
  add({2, 3}, Function::load, -1, 0);
  add({2, 3}, Function::copy, 0);
  add({2, 2}, Function::largest, 1);
  add({2, 2}, Function::store, 2, 1);
  m.after_begin = 4;
  const Numbers tile{{2, 3}, {1, 4, 4, 9, -1, 0}};
  const std::vector<double> right = {4, 1, 9, 0};
  CHECK(meaning::evaluate(m.values[2], std::vector{tile}, 0).data == right);
  const auto all = meaning::reference(m, 1, {{tile}, {}});
  CHECK(all[1][0].value.data == right);
  CHECK(all[1][0].error.data == std::vector<double>{0, 0, 0, 0});  // (two equal ones are no doubt)
  m.values[1].function = Function::sqrt;
  m.values[1].operands[0].value = 0;
  const auto rooted = meaning::reference(m, 1, {{{{2, 3}, {1, 4, 4, 9, 1, 0}}}, {}});
  CHECK(std::isinf(rooted[1][0].error.data[1]));  // 2 or 2, with errors
  CHECK(rooted[1][0].error.data[3] == 0);
}

TEST_CASE("bytes without sign scale neighbours by powers of two; 255 by what is no number") {
  meaning::Value value;
  value.type = "f32";
  value.function = meaning::Function::scaled;
  value.shape = {2, 4};
  value.operands.resize(2);
  const Numbers a{{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}};
  CHECK(meaning::evaluate(value, std::vector{a, Numbers{{2, 2}, {127, 126, -128, -127}}}, 0).data ==
        std::vector<double>{1, 2, 1.5, 2, 10, 12, 28, 32});
  const Numbers none =
      meaning::evaluate(value, std::vector{a, Numbers{{2, 2}, {127, -1, 127, 127}}}, 0);
  CHECK(std::isnan(none.data[2]));
  CHECK(none.data[4] == 5);
}

}  // namespace reference_functions_test
