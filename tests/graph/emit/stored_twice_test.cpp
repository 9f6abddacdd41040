// Two stores of one argument: whether they may go to memory in any order, beside all their elements
// in all iterations, one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/emit/stored_twice.hpp"

namespace stored_twice_test {

using namespace twill;
using meaning::Index;

namespace {

constexpr int kTrips = 5;

struct Store {
  bool looped = false;
  std::vector<std::int64_t> shape;
  std::int64_t first = 0, row = 0, column = 0, iteration = 0;
};

struct Function {
  meaning::Meaning meaning;
  meaning::UserKernel user;
};

Index sum(const std::vector<Index>& parts) {
  Index all = Index::whole(0);
  for (const Index& one : parts) all = Index::make(Index::add, all, one);
  return all;
}

Index times(Index a, std::int64_t b) {
  return Index::make(Index::mul, std::move(a), Index::whole(b));
}

meaning::Value value(const std::string& id, meaning::Function f, std::vector<std::int64_t> shape,
                     int tensor) {
  meaning::Value one;
  one.id = id;
  one.tile = one.shape = std::move(shape);
  one.type = "f32";
  one.function = f;
  one.tensor = tensor;
  if (f == meaning::Function::store) one.operands.resize(1);
  return one;
}

/// In the loop first, what is behind it last.
Function function_of(std::vector<Store> stores, Index trips) {
  std::stable_sort(stores.begin(), stores.end(),
                   [](const Store& a, const Store& b) { return a.looped && !b.looped; });
  Function all;
  all.user.parameters.resize(1);
  all.user.parameters[0].kind = meaning::Parameter::pointer;
  all.user.trips = std::move(trips);
  for (const Store& one : stores) {
    const int t = static_cast<int>(all.meaning.tensors.size());
    all.meaning.tensors.push_back({"y" + std::to_string(t), one.shape, "f32", -2, 2});
    all.meaning.values.push_back(
        value("st" + std::to_string(t), meaning::Function::store, one.shape, t));
    if (one.looped) all.meaning.after_begin = t + 1;
    meaning::Place place;
    place.parameter = 0;
    place.added = {sum({Index::whole(one.first), times(Index::make(Index::row), one.row),
                        times(Index::make(Index::column), one.column),
                        times(Index::make(Index::iteration), one.iteration)})};
    all.user.places.push_back(std::move(place));
  }
  return all;
}

/// The places of all elements, in all iterations.
std::vector<std::set<std::int64_t>> places(const Store& one) {
  std::vector<std::set<std::int64_t>> all;
  for (int i = 0; i < (one.looped ? kTrips : 1); ++i) {
    all.emplace_back();
    for (std::int64_t r = 0; r < one.shape[0]; ++r)
      for (std::int64_t c = 0; c < (one.shape.size() > 1 ? one.shape[1] : 1); ++c)
        all.back().insert(one.first + r * one.row + c * one.column + i * one.iteration);
  }
  return all;
}

bool meet(const Store& a, const Store& b) {
  for (const auto& one : places(a))
    for (const auto& other : places(b))
      for (const std::int64_t x : one)
        if (other.contains(x)) return true;
  return false;
}

}  // namespace

TEST_CASE("of numbers: what is said to lie apart never meets") {
  std::mt19937 random(5);
  const auto number = [&](int least, int most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int apart = 0, together = 0, refused_apart = 0;
  for (int run = 0; run < 5'000; ++run) {
    std::vector<Store> stores(2);
    for (Store& one : stores) {
      one.looped = number(0, 1) == 1;
      one.shape = {number(2, 4)};
      if (number(0, 1) == 1) one.shape.push_back(number(2, 4));
      one.row = number(0, 2) == 0 ? 8 : 1;
      one.column = one.shape.size() > 1 ? number(1, 2) : 0;
      one.iteration = one.looped ? number(-1, 3) * 8 : 0;
      one.first = number(-20, 40);
    }
    std::stable_sort(stores.begin(), stores.end(),
                     [](const Store& a, const Store& b) { return a.looped && !b.looped; });
    const Function f = function_of(stores, Index::whole(kTrips));
    const bool said = emit::stored_apart(f.meaning, f.user, 0, 1);
    const bool met = meet(stores[0], stores[1]);
    CAPTURE(run);
    if (said) CHECK(!met);
    apart += said ? 1 : 0;
    together += met ? 1 : 0;
    refused_apart += !said && !met ? 1 : 0;
    // Behind the loop, and where nothing moves, it is known exactly.
    if (!stores[0].looped || !stores[1].looped) CHECK(said == !met);
    // Of any number of iterations it is known, too: these go on for ever.
    if (stores[0].looped && !stores[1].looped) {
      const Function endless = function_of(stores, Index::make(Index::argument, 0));
      std::vector<Store> longer = stores;
      bool ever = met;
      for (int i = kTrips; i < 40; ++i) {
        longer[0].first = stores[0].first + i * stores[0].iteration;
        longer[0].iteration = 0;
        ever = ever || meet(longer[0], longer[1]);
      }
      CHECK(emit::stored_apart(endless.meaning, endless.user, 0, 1) == !ever);
    }
    // Additions may come in any order.
    Function adds = f;
    for (auto& place : adds.user.places) place.adds = true;
    CHECK(emit::stored_apart(adds.meaning, adds.user, 0, 1));
    adds.user.places[1].adds = false;
    CHECK(emit::stored_apart(adds.meaning, adds.user, 0, 1) == said);
  }
  CHECK(apart > 500);
  CHECK(together > 500);
  CHECK(refused_apart < 1'000);
}

TEST_CASE("places that jump: the same ones meet, and parts of them, but for masks") {
  const Index jump =
      meaning::compared({Index::make(Index::iteration), meaning::IndexComparison::less,
                         Index::make(Index::argument, 0)});
  const Index tile = sum({Index::make(Index::mul, Index(jump), Index::make(Index::argument, 1)),
                          times(Index::make(Index::row), 100), Index::make(Index::column)});
  const auto apart = [&](std::int64_t by, bool masked) {
    Function f = function_of({{true, {4, 8}}, {true, {4, 8}}}, Index::make(Index::argument, 0));
    f.user.places[0].added = {tile};
    f.user.places[1].added = {sum({Index(tile), Index::whole(by)})};
    if (masked)
      f.user.places[0].mask = {{Index::make(Index::row), meaning::IndexComparison::less,
                                Index::make(Index::argument, 0)}};
    return emit::stored_apart(f.meaning, f.user, 0, 1);
  };
  for (const std::int64_t by : {0, 3, -7, 100, -300}) {
    CAPTURE(by);
    CHECK_FALSE(apart(by, false));
    CHECK(apart(by, true));
  }
  for (const std::int64_t by : {8, -8, 50, 400}) CHECK(apart(by, false));
}

TEST_CASE("of unknown numbers: parts of rows, and whole rows; the loop and what is behind it") {
  const Index stride = Index::make(Index::argument, 0), half = Index::make(Index::argument, 1);
  const auto with = [&](bool first_looped, bool second_looped, const Index& a, const Index& b) {
    Function f = function_of({{first_looped, {4, 8}}, {second_looped, {4, 8}}}, stride);
    f.user.places[0].added = {a};
    f.user.places[1].added = {b};
    return emit::stored_apart(f.meaning, f.user, 0, 1);
  };
  const Index tile = sum({Index::make(Index::mul, Index::make(Index::row), Index(stride)),
                          Index::make(Index::column)});
  const auto further = [&](const Index& by) { return sum({tile, by}); };
  const auto moved = [&](const Index& one) {
    return sum(
        {one, Index::make(Index::mul, Index::make(Index::iteration), times(Index(stride), 4))});
  };
  for (const bool looped : {false, true}) {
    CHECK(!with(looped, looped, tile, tile));
    CHECK(!with(looped, looped, tile, further(Index::whole(7))));
    CHECK(with(looped, looped, tile, further(Index::whole(8))));
    CHECK(!with(looped, looped, tile, further(times(Index(stride), 3))));
    CHECK(with(looped, looped, tile, further(times(Index(stride), 4))));
    CHECK(with(looped, looped, tile, further(half)));  // (as of two arguments)
  }
  CHECK(!with(true, false, moved(tile), tile));
  CHECK(!with(true, false, tile, further(half)));
  CHECK(with(true, false, tile, further(Index::whole(8))));
  CHECK(with(true, true, moved(tile), moved(further(Index::whole(8)))));
  CHECK(!with(true, true, moved(tile), moved(tile)));
}

TEST_CASE("two sides of one condition are never both stored") {
  Function f = function_of({{false, {4}, 0, 1}, {false, {4}, 0, 1}}, Index::whole(3));
  CHECK(!emit::stored_apart(f.meaning, f.user, 0, 1));
  const auto bound = [&](int t, double rows, const std::string& constant, const Index& index) {
    f.meaning.constants.emplace_back(constant, 0);
    f.user.numbers.push_back(index);
    auto& operands = f.meaning.values[static_cast<std::size_t>(t)].operands;
    operands.resize(1);
    for (int k = 0; k < 4; ++k) operands.emplace_back();
    operands[1].number = rows;
    operands[4].constant = constant;
  };
  const Index x = Index::make(Index::argument, 0);
  bound(0, 0, "a", Index::make(Index::sub, Index(x), Index::whole(1)));  // x > 0
  bound(1, 0, "b", Index::make(Index::sub, Index::whole(0), Index(x)));  // x <= 0
  CHECK(emit::stored_apart(f.meaning, f.user, 0, 1));
  bound(1, 0, "c", Index::make(Index::sub, Index::whole(1), Index(x)));  // x <= 1
  CHECK(!emit::stored_apart(f.meaning, f.user, 0, 1));
  bound(1, -1, "d", Index::make(Index::sub, Index::whole(0), Index(x)));  // x <= -row
  CHECK(!emit::stored_apart(f.meaning, f.user, 0, 1));
}

TEST_CASE("a tile that is loaded for its store alone") {
  using meaning::Function;
  // y = load p; z = y + y; store p + `further`, z; behind the loop.
  const auto with = [](std::int64_t further, Function f, bool again, bool in_loop) {
    meaning::Meaning m;
    m.tensors = {{"y", {8}, "f32", -2, 2}, {"z", {8}, "f32", -2, 2}, {"w", {8}, "f32", -2, 2}};
    m.values = {value("y", Function::load, {8}, 0), value("z", f, {8}, -1),
                value("st", Function::store, {8}, 1)};
    m.values[1].operands.resize(2);
    m.values[1].operands[0].value = 0;
    m.values[1].operands[1].value = 0;
    m.values[2].operands[0].value = 1;
    if (again) {
      m.values.push_back(value("st2", Function::store, {8}, 2));
      m.values[3].operands[0].value = 0;
    }
    m.loop_begin = 1;
    m.after_begin = in_loop ? 2 : 1;
    meaning::UserKernel user;
    user.parameters.resize(2);
    user.trips = Index::whole(3);
    for (const std::int64_t at : {std::int64_t{0}, further, std::int64_t{0}}) {
      meaning::Place place;
      place.parameter = user.places.size() == 2 ? 1 : 0;
      place.added = {sum({Index::whole(at), Index::make(Index::row)})};
      user.places.push_back(place);
    }
    return emit::loaded_for_its_store(m, user, 0, 1);
  };
  CHECK(with(0, Function::add, false, false));
  CHECK(!with(1, Function::add, false, false));          // another element
  CHECK(!with(0, Function::running_sum, false, false));  // of other elements
  CHECK(!with(0, Function::add, true, false));           // somebody else needs it, perhaps later
  CHECK(!with(0, Function::add, false, true));           // the loop needs it
}

}  // namespace stored_twice_test
