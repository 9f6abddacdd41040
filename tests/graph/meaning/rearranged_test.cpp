// Tiles in another form, beside loops over their places; what is no rearrangement is none.
#include "graph/meaning/rearranged.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/meaning/meaning.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/meaning/tile_functions.hpp"
#include "tests/support/meaning_operand.hpp"

namespace rearranged_test {

using namespace twill;
using meaning::Digit;
using meaning::Function;
using meaning::Numbers;
using meaning::Rearrangement;
using test::of_value;

namespace {

/// X of 4 x 8 (and itself once more, less by a 100, as a second tile) rearranged into `to`.
meaning::Meaning of_form(const Rearrangement& how, const std::vector<std::int64_t>& to) {
  meaning::Meaning m;
  m.tensors = {{"X", {4, 8}, "f32", -2, 2}, {"Y", to, "f32", -2, 2}};
  meaning::Value load, less, made, store;
  load.id = "x";
  load.tile = load.shape = {4, 8};
  load.type = "f32";
  load.function = Function::load;
  load.tensor = 0;
  less = load;
  less.id = "less";
  less.tensor = -1;
  less.function = Function::sub;
  less.operands = {of_value(0), meaning::Operand{}};
  less.operands[1].number = 100;
  made.id = "y";
  made.tile = made.shape = to;
  made.type = "f32";
  made.function = Function::rearranged;
  made.operands = {of_value(0)};
  if (how.tiles == 2) made.operands.push_back(of_value(1));
  append(how, made.operands);
  store.id = "st";
  store.tile = store.shape = to;
  store.type = "f32";
  store.function = Function::store;
  store.tensor = 1;
  store.operands = {of_value(2)};
  m.values = {load, less, made, store};
  m.after_begin = 4;
  return m;
}

Numbers counted() {
  Numbers x{{4, 8}, {}};
  for (int k = 0; k < 32; ++k) x.data.push_back(k);
  return x;
}

void is(const Rearrangement& how, const std::vector<std::int64_t>& to,
        const std::vector<double>& right) {
  const meaning::Meaning m = of_form(how, to);
  REQUIRE(is_rearrangement(m.values[2]));
  const Rearrangement again = rearrangement_of(m.values[2]);
  CHECK(again.tiles == how.tiles);
  CHECK(again.first == how.first);
  CHECK(again.digits == how.digits);
  const Numbers x = counted();
  Numbers less = x;
  for (double& one : less.data) one -= 100;
  std::vector<Numbers> in = {x};
  if (how.tiles == 2) in.push_back(less);
  CHECK(meaning::evaluate(m.values[2], in, 0).data == right);
  const auto all = meaning::reference(m, 1, {{x}, {}});
  CHECK(all[1][0].value.data == right);
  for (const double e : all[1][0].error.data) CHECK(e <= 1e-4);
}

}  // namespace

TEST_CASE("odd columns, the transpose, rows that are repeated, two tiles in turns") {
  std::vector<double> odd, turned, repeated, turns;
  for (int r = 0; r < 4; ++r)
    for (int c = 1; c < 8; c += 2) odd.push_back(8 * r + c);
  for (int c = 0; c < 8; ++c)
    for (int r = 0; r < 4; ++r) turned.push_back(8 * r + c);
  for (int r = 0; r < 4; ++r)
    for (int times = 0; times < 2; ++times)
      for (int c = 0; c < 8; ++c) repeated.push_back(8 * r + c);
  for (int k = 0; k < 32; ++k) {
    turns.push_back(k);
    turns.push_back(k - 100);
  }
  is({1, 1, {{16, 2}}}, {4, 4}, odd);
  is({1, 0, {{8, 1}, {4, 8}}}, {8, 4}, turned);
  is({1, 0, {{4, 8}, {2, 0}, {8, 1}}}, {8, 8}, repeated);
  is({2, 0, {{32, 1}, {2, 32}}}, {4, 16}, turns);
}

TEST_CASE("what is no rearrangement") {
  const Rearrangement good{1, 0, {{32, 1}}};
  meaning::Value value = of_form(good, {32}).values[2];
  CHECK(is_rearrangement(value));
  const auto with = [&](std::size_t k, double x) {
    meaning::Value other = value;
    other.operands[k].number = x;
    return is_rearrangement(other);
  };
  CHECK_FALSE(with(1, -1));
  CHECK_FALSE(with(1, 0.5));
  CHECK_FALSE(with(2, 0));
  CHECK_FALSE(with(3, -1));
  CHECK_FALSE(with(2, 1e12));
  meaning::Value cut = value;
  cut.operands.pop_back();
  CHECK_FALSE(is_rearrangement(cut));
  cut = value;
  cut.operands.erase(cut.operands.begin());
  CHECK_FALSE(is_rearrangement(cut));
  CHECK(good.last() == 31);
  CHECK(good.elements() == 32);
}

}  // namespace rearranged_test
