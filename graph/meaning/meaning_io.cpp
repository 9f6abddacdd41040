#include "graph/meaning/meaning_io.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/meaning/rearranged.hpp"
#include "graph/problem.hpp"

namespace twill::meaning {
namespace {

constexpr std::size_t kMostTensors = 1'000;
constexpr std::int64_t kMostExtent = 16'384;
constexpr std::int64_t kMostElements = 1 << 24;  // of a tile

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t k = 0; k < shape.size(); ++k)
    text += (k > 0 ? ", " : "") + std::to_string(shape[k]);
  return text + "]";
}

std::vector<std::int64_t> read_shape(const JsonValue& value, std::size_t most_rank) {
  std::vector<std::int64_t> shape;
  for (const JsonValue& extent : value.elements()) shape.push_back(extent.integer(1, kMostExtent));
  if (shape.size() > most_rank)
    value.fail("must have at most " + std::to_string(most_rank) + " dimensions");
  if (elements(shape) > kMostElements)
    value.fail("a tile has at most " + std::to_string(kMostElements) + " elements");
  return shape;
}

std::string read_type(const JsonValue& value) {
  if (number_type(value.text()) == nullptr)
    value.fail("must be a type with arithmetic: f64, f32, tf32, f16, bf16, f8, f8e5m2, i32, i8");
  return value.text();
}

class MeaningReader {
 public:
  MeaningReader(const JsonValue& root, const std::vector<JsonValue>& ops)
      : root_(root), ops_(ops) {}

  Meaning run() {
    root_.text_or("doc", "");
    if (const auto all = root_.find("constants"))
      for (const auto& [name, value] : all->members_up_to(kMostTensors)) {
        declare(name, value, {Named::constant, static_cast<int>(m_.constants.size())});
        m_.constants.emplace_back(name, number_of(value));
      }
    if (const auto all = root_.find("tensors"))
      for (const JsonValue& value : all->elements_up_to(kMostTensors)) tensor(value);
    std::vector<JsonValue> places;
    const auto add = [&](const std::vector<JsonValue>& values) {
      for (const JsonValue& value : values) {
        declare(value.at("id").text(), value.at("id"),
                {Named::value, static_cast<int>(places.size())});
        places.push_back(value);
      }
    };
    for (const char* const key : {"before", "after"}) {
      const auto list = root_.find(key);
      if (std::string_view(key) == "after") {
        m_.loop_begin = static_cast<int>(places.size());
        add(ops_);
        m_.after_begin = static_cast<int>(places.size());
      }
      if (!list) continue;
      for (const JsonValue& value : list->elements_up_to(kMaxOps))
        value.check_keys({"id", "shape", "type", "computes"}, {"doc"});
      add(list->elements());
    }
    for (int v = 0; v < static_cast<int>(places.size()); ++v) value(places[at(v)], v);
    insert_steps(places);
    tensors_used(places);
    initial();
    shapes(places);
    return std::move(m_);
  }

 private:
  struct Named {
    enum Kind { constant, tensor, value, step } kind = value;
    int index = 0;
  };

  void declare(const std::string& name, const JsonValue& place, Named what) {
    if (name.empty()) place.fail("a name must not be empty");
    if (name == "inf" || name == "-inf") place.fail("must not be the name of a number");
    if (!names_.emplace(name, what).second)
      place.fail("names of constants, tensors and values must be unique");
  }

  static double number_of(const JsonValue& value) {
    if (value.is_number()) return value.number();
    if (value.is_string() && value.text() == "inf") return std::numeric_limits<double>::infinity();
    if (value.is_string() && value.text() == "-inf")
      return -std::numeric_limits<double>::infinity();
    value.fail("must be a number, \"inf\" or \"-inf\"");
  }

  void tensor(const JsonValue& value) {
    value.check_keys({"name", "shape", "type"}, {"range", "doc"});
    value.text_or("doc", "");
    Tensor one;
    one.name = value.at("name").text();
    declare(one.name, value.at("name"), {Named::tensor, static_cast<int>(m_.tensors.size())});
    one.shape = read_shape(value.at("shape"), 2);
    one.type = read_type(value.at("type"));
    if (const auto range = value.find("range")) {
      const auto ends = range->elements(2);
      one.low = ends[0].number();
      one.high = ends[1].number();
      if (one.low > one.high) range->fail("must be [low, high]");
    }
    m_.tensors.push_back(std::move(one));
  }

  Function function_of(const JsonValue& value) const {
    std::string known;
    for (int f = 0; f < kFunctions; ++f) {
      const std::string_view name = name_of(static_cast<Function>(f));
      if (value.text() == name) return static_cast<Function>(f);
      known += (f > 0 ? ", " : "") + std::string(name);
    }
    value.fail("must be one of: " + known);
  }

  void value(const JsonValue& place, int v) {
    Value one;
    one.id = place.at("id").text();
    one.tile = read_shape(place.at("shape"), 3);
    one.type = read_type(place.at("type"));
    steps_of_ = 0;
    computation(place.at("computes"), v, one);
    m_.values.push_back(std::move(one));
  }

  void computation(const JsonValue& computes, int v, Value& one) {
    const auto parts =
        computes.elements_up_to(4 + std::max(kBoundNumbers * kMostBounds, 2 * kMostDigits));
    if (parts.empty()) computes.fail("must begin with the name of a function");
    one.function = function_of(parts[0]);
    const std::size_t first = has_tensor(one.function) ? 2 : 1;
    const auto [least, most] = arity(one.function);
    const auto given = static_cast<int>(parts.size()) - static_cast<int>(first);
    const bool bounded = is_bounded(one.function, given);
    const bool unbounded = given >= least && given <= most && one.function != Function::within;
    if (!unbounded && !bounded)
      computes.fail(std::string(name_of(one.function)) + " has " + std::to_string(least) +
                    (most > least ? " or " + std::to_string(most) : "") + " operands" +
                    (first == 2 ? " after its tensor" : ""));
    if (first == 2) {
      const auto found = names_.find(parts[1].text());
      if (found == names_.end() || found->second.kind != Named::tensor)
        parts[1].fail("must be a tensor");
      one.tensor = found->second.index;
    }
    for (std::size_t k = first; k < parts.size(); ++k)
      one.operands.push_back(operand(parts[k], v, one));
    if (bounded || one.function == Function::places) whole_numbers(computes, v, one);
  }

  /// Are these operands followed by bounds? `within` has some always.
  static bool is_bounded(Function function, int operands) {
    const int first = first_bound(function);
    return first >= 0 && operands > first && (operands - first) % kBoundNumbers == 0 &&
           operands <= first + kBoundNumbers * kMostBounds;
  }

  /// Bounds and places are of integers, and outside the loop nothing changes by iteration.
  void whole_numbers(const JsonValue& computes, int v, const Value& one) const {
    const int first = std::max(first_bound(one.function), 0);
    for (int k = one.function == Function::load ? 0 : first;
         k < static_cast<int>(one.operands.size()); ++k) {
      const Operand& operand = one.operands[at(k)];
      if (operand.value >= 0)
        computes.fail(std::string(name_of(one.function)) +
                      " has bounds, places and what stands in for masked elements as numbers");
      if (k < first) continue;
      if (!(std::abs(operand.number) <= kLargestBound) ||
          operand.number != std::floor(operand.number))
        computes.fail("bounds and places are integers up to 10^12");
      if ((k - first) % kBoundNumbers == 2 && operand.number != 0 && !m_.in_loop(v))
        computes.fail("outside the loop a bound does not change by iteration");
    }
  }

  /// A function in the place of an operand: a step of the same op, a value by itself, in f32.
  Operand step(const JsonValue& place, int user, const Value& of) {
    if (!m_.in_loop(user)) place.fail("only an op of the loop computes in steps");
    Value one;
    const std::string& owner = of.part_of.empty() ? of.id : of.part_of;
    one.part_of = owner;
    one.type = of.type == "f64" || of.type == "i32" ? of.type : "f32";
    computation(place, user, one);
    if (is_of_integers(one.function) || is_comparison(one.function)) one.type = "i32";
    if (one.tensor >= 0) place.fail("a step moves no tile");
    one.id = owner + "." + std::to_string(++steps_of_);
    declare(one.id, place, {Named::step, 0});
    steps_.emplace_back(std::move(one), user);
    Operand operand;
    operand.value = kFirstStep + static_cast<int>(steps_.size()) - 1;
    return operand;
  }

  /// Steps stand after the ops of the loop.
  void insert_steps(std::vector<JsonValue>& places) {
    const int first = m_.after_begin, count = static_cast<int>(steps_.size());
    if (count > kMaxOps) root_.fail("more than " + std::to_string(kMaxOps) + " steps");
    std::vector<Value> values;
    std::vector<JsonValue> all;
    const auto add = [&](int begin, int end) {
      for (int v = begin; v < end; ++v) {
        values.push_back(std::move(m_.values[at(v)]));
        all.push_back(places[at(v)]);
      }
    };
    add(0, first);
    for (auto& [one, user] : steps_) {
      values.push_back(std::move(one));
      all.push_back(places[at(user)]);
    }
    add(first, static_cast<int>(places.size()));
    for (Value& one : values)
      for (Operand& operand : one.operands) {
        if (operand.value >= kFirstStep)
          operand.value += first - kFirstStep;
        else if (operand.value >= first)
          operand.value += count;
      }
    m_.values = std::move(values);
    places = std::move(all);
    first_step_ = first;
    m_.after_begin = first + count;
  }

  Operand operand(const JsonValue& place, int user, const Value& of) {
    if (place.is_array()) return step(place, user, of);
    if (!place.is_object()) return plain_operand(place, user, 0);
    place.check_keys({"of"},
                     {"distance", "along", "transposed", "rows", "columns", "row", "column"});
    const int distance = place.small_or("distance", 0, 0, kMaxDistance);
    Operand one = place.at("of").is_array() ? step(place.at("of"), user, of)
                                            : plain_operand(place.at("of"), user, distance);
    if (place.at("of").is_array() && distance > 0)
      place.at("distance").fail("a step is of this iteration");
    if (place.has("along")) one.along_columns = place.at("along").choice({"rows", "columns"}) == 1;
    one.transposed = place.boolean_or("transposed", false);
    const auto part = [&](const char* key, std::int64_t& begin, std::int64_t& count) {
      const auto found = place.find(key);
      if (!found) return;
      const auto ends = found->elements(2);
      begin = ends[0].integer(0, kMostExtent - 1);
      count = ends[1].integer(begin + 1, kMostExtent) - begin;
    };
    part("rows", one.first_row, one.rows);
    part("columns", one.first_column, one.columns);
    if (const auto row = place.find("row")) one.row = row->integer(0, kMostExtent - 1);
    if (const auto column = place.find("column")) one.column = column->integer(0, kMostExtent - 1);
    if ((one.row >= 0 || one.column >= 0) &&
        (one.rows > 0 || one.columns > 0 || one.transposed ||
         (one.row >= 0 && one.column >= 0 && one.along_columns)))
      place.fail("one row or column is no matrix: it has no parts, and a number no direction");
    if (one.value < 0 && place.members().size() > 1)
      place.at("of").fail("a number has no distance, direction or columns");
    return one;
  }

  Operand plain_operand(const JsonValue& place, int user, int distance) const {
    Operand one;
    one.distance = distance;
    const bool literal = place.is_number() ||
                         (place.is_string() && (place.text() == "inf" || place.text() == "-inf"));
    if (literal) {
      one.number = number_of(place);
      return one;
    }
    const auto found = names_.find(place.text());
    if (found == names_.end()) place.fail("must be a number or the name of a constant or value");
    const Named what = found->second;
    if (what.kind == Named::tensor) place.fail("a tensor must be loaded first");
    if (what.kind == Named::step) place.fail("is a step of an op");
    if (what.kind == Named::constant) {
      one.constant = place.text();
      one.number = m_.constants[at(what.index)].second;
      return one;
    }
    one.value = what.index;
    const bool before = user < m_.loop_begin, loop = m_.in_loop(user);
    if (before && one.value >= user) place.fail("must be computed before, and before the loop");
    if (loop && one.value >= m_.after_begin) place.fail("is computed after the loop");
    if (!before && !loop && one.value >= user) place.fail("must be computed before");
    if (distance > 0 && !(loop && m_.in_loop(one.value)))
      place.fail("only a result of the loop has a distance, in the loop");
    return one;
  }

  /// A tensor is read or written, in the loop or outside, at one place.
  void tensors_used(const std::vector<JsonValue>& places) const {
    std::vector<int> user(m_.tensors.size(), -1);
    for (int v = 0; v < static_cast<int>(m_.values.size()); ++v) {
      const Value& one = m_.values[at(v)];
      if (one.tensor < 0) continue;
      const JsonValue place = places[at(v)].at("computes");
      int& known = user[at(one.tensor)];
      const bool load = one.function == Function::load;
      if (known >= 0 && (!load || m_.values[at(known)].function != Function::load ||
                         m_.in_loop(known) != m_.in_loop(v)))
        place.fail("tensor " + m_.tensors[at(one.tensor)].name +
                   " is used elsewhere: stored once, or loaded in the loop, or outside");
      known = v;
    }
  }

  void initial() {
    std::vector<bool> carried(m_.values.size(), false);
    for (const Value& one : m_.values)
      for (const Operand& operand : one.operands)
        if (operand.distance > 0) carried[at(operand.value)] = true;
    for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
      for (const Operand& operand : m_.values[at(v)].operands)
        if (operand.value >= 0 && m_.in_loop(operand.value) && !carried[at(operand.value)])
          root_.at("after").fail(m_.values[at(v)].id + " uses " + m_.values[at(operand.value)].id +
                                 ", which is not carried: it is not kept, and without iterations "
                                 "it is nothing");
    std::vector<bool> given(m_.values.size(), false);
    if (const auto all = root_.find("initial"))
      for (const auto& [name, place] : all->members_up_to(kMaxOps)) {
        const auto found = names_.find(name);
        const bool value = found != names_.end() && found->second.kind == Named::value &&
                           m_.in_loop(found->second.index);
        if (!value || !carried[at(found->second.index)])
          place.fail("only a result that is carried has an initial value, not " + name);
        Initial one{found->second.index, plain_operand(place, m_.loop_begin, 0)};
        if (one.what.value >= m_.loop_begin) place.fail("must be a number or from before the loop");
        given[at(one.value)] = true;
        m_.initial.push_back(std::move(one));
      }
    for (std::size_t v = 0; v < carried.size(); ++v)
      if (carried[v] && !given[v])
        root_.fail("initial has no value for " + m_.values[v].id + ", which is carried");
  }

  void shapes(const std::vector<JsonValue>& places) {
    for (int v = 0; v < m_.loop_begin; ++v) infer(v, places[at(v)]);
    const std::vector<int> order = loop_order(m_);
    if (m_.after_begin > m_.loop_begin && order.empty())
      root_.fail("the ops of the loop need each other in a circle within an iteration");
    // A carried operand may be known only later: its tile says its shape until then.
    for (const int v : order)
      if (!is_step(v)) m_.values[at(v)].shape = stated_shape(m_.values[at(v)]);
    for (const int v : order) infer(v, places[at(v)]);
    for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
      infer(v, places[at(v)]);
    // Now all are known; those that used a stated shape look again.
    for (const int v : order) infer(v, places[at(v)]);
    for (const Initial& one : m_.initial)
      if (one.what.value >= 0 &&
          m_.values[at(one.what.value)].shape != m_.values[at(one.value)].shape)
        root_.at("initial").fail("of " + m_.values[at(one.value)].id + ": shapes must agree");
  }

  static std::vector<std::int64_t> stated_shape(const Value& value) {
    std::vector<std::int64_t> shape = value.tile;
    const Function f = value.function;
    const bool reduces = reduces_rows(f);
    if (f == Function::product && shape.size() == 3) shape.pop_back();
    if (reduces && shape.size() == 2) shape.pop_back();
    if (finds_place(f)) shape = {shape.size() == 2 ? shape[0] : 1, 2};
    return shape;
  }

  /// Of what the function sees.
  std::vector<std::int64_t> shape_of(const Operand& operand, const JsonValue& place) const {
    if (operand.value < 0) return {};
    std::vector<std::int64_t> shape = m_.values[at(operand.value)].shape;
    if (!operand.transposed && !operand.is_part()) return shape;
    const auto refuse = [&](const std::string& what) {
      place.at("computes").fail(m_.values[at(operand.value)].id + what);
    };
    if (shape.size() != 2)
      refuse(" is no matrix: it is not transposed, and has no rows or columns");
    if (std::max(operand.first_row + operand.rows, operand.row + 1) > shape[0])
      refuse(" has " + std::to_string(shape[0]) + " rows");
    if (std::max(operand.first_column + operand.columns, operand.column + 1) > shape[1])
      refuse(" has " + std::to_string(shape[1]) + " columns");
    if (operand.rows > 0) shape[0] = operand.rows;
    if (operand.columns > 0) shape[1] = operand.columns;
    if (operand.transposed) std::swap(shape[0], shape[1]);
    if (operand.column >= 0) shape.pop_back();
    if (operand.row >= 0) shape.erase(shape.begin());
    return shape;
  }

  void infer(int v, const JsonValue& place) {
    Value& one = m_.values[at(v)];
    const JsonValue computes = place.at("computes"), tile = place.at("shape");
    std::vector<std::vector<std::int64_t>> in;
    for (const Operand& operand : one.operands) in.push_back(shape_of(operand, place));
    const auto disagree = [&](const std::string& what) {
      std::string text = std::string(name_of(one.function)) + " of ";
      for (std::size_t k = 0; k < in.size(); ++k) text += (k > 0 ? ", " : "") + shape_text(in[k]);
      computes.fail(text + ": " + what);
    };
    std::vector<std::int64_t> expected;
    if (one.tensor >= 0) {
      one.shape = expected = m_.tensors[at(one.tensor)].shape;
      if (one.function == Function::store && in[0] != one.shape)
        disagree("the tensor has tiles of " + shape_text(one.shape));
      if (one.function == Function::store && in.size() == 2) {
        const std::size_t along = one.operands[1].along_columns ? 1 : 0;
        const bool vector =
            in[1].size() == 1 && one.shape.size() == 2 && in[1][0] == one.shape[along];
        if (!in[1].empty() && in[1] != one.shape && !vector)
          disagree("whether it stores is a number, or one for each element");
      }
      if (one.type != m_.tensors[at(one.tensor)].type)
        place.at("type").fail("must be the tensor's type, " + m_.tensors[at(one.tensor)].type);
    } else if (is_elementwise(one.function)) {
      of_integers(one, place, disagree);
      if (one.function == Function::bits) {
        const int from = one.operands[0].value;
        const std::string_view type = from < 0 ? "" : std::string_view(m_.values[at(from)].type);
        if ((one.type != "f32" || type != "i32") && (one.type != "i32" || type != "f32"))
          place.at("type").fail("bits makes an i32 of an f32, or an f32 of an i32");
      }
      one.shape = expected = broadcast(one, in, disagree);
      if (one.function == Function::copy && is_part(one.tile, expected)) expected = one.tile;
      // Two columns (beside) may be counted as one.
      if (expected.size() == 2 && expected[1] == 2 && one.tile.size() == 1 &&
          one.tile[0] == expected[0])
        expected = one.tile;
    } else if (one.function == Function::within || one.function == Function::places) {
      one.shape = expected = one.tile;
      if (expected.size() > 2) disagree("must make a number, a vector or a matrix");
      check_repeated(one, in, expected, disagree);
    } else if (one.function == Function::histogram) {
      of_integers(one, place, disagree);
      one.shape = expected = one.tile;
      if (in[0].size() != 1 || expected.size() != 1) disagree("must make a vector of a vector");
    } else if (finds_place(one.function)) {
      if (in[0].empty()) disagree("must be a matrix or a vector");
      if (one.type != "f32")
        place.at("type").fail(std::string(name_of(one.function)) + " makes f32");
      one.shape = {in[0].size() == 2 ? in[0][0] : 1, 2};
      expected = in[0];
    } else if (one.function == Function::rearranged) {
      one.shape = expected = one.tile;
      check_rearranged(one, place, disagree);
    } else if (one.function == Function::scaled) {
      if (in[0].size() != 2 || in[1].size() != 2 || in[0][0] != in[1][0] ||
          in[0][1] % in[1][1] != 0)
        disagree("must be M x K and M x K / g");
      if (m_.values[at(one.operands[1].value)].type != "i8") disagree("the scales must be i8");
      if (one.type != "f32") place.at("type").fail("scaled makes f32");
      one.shape = expected = in[0];
    } else if (one.function == Function::beside) {
      for (const auto& each : in)
        if (each.size() == 1) one.shape = {each[0], 2};
      for (const auto& each : in)
        if (one.shape.size() != 2 || each.size() > 1 ||
            (each.size() == 1 && each[0] != one.shape[0]))
          disagree("must be vectors of one length, or a vector and a number");
      expected = one.shape;
    } else if (one.function == Function::product) {
      if (in[0].size() != 2 || in[1].size() != 2 || in[0][1] != in[1][0])
        disagree("must be M x K and K x N");
      one.shape = {in[0][0], in[1][1]};
      expected = {in[0][0], in[1][1], in[0][1]};
      if (in.size() == 3 && in[2] != one.shape) disagree("what is added must be M x N");
      for (std::size_t k = 0; k < 2; ++k)
        if (const auto type = place.find("operand_type"))
          if (one.operands[k].value < 0 ||
              m_.values[at(one.operands[k].value)].type != type->text())
            type->fail("must be the type of the operands that are multiplied");
    } else {
      const bool reduces = reduces_rows(one.function);
      const bool sums = runs(one.function);
      if (gives_place(one.function) && one.type != "i32")
        place.at("type").fail(std::string(name_of(one.function)) + " makes i32");
      if (multiplies(one.function) && one.type != "f32")
        place.at("type").fail(std::string(name_of(one.function)) + " makes f32");
      if (in[0].size() != 2 && !((reduces || sums) && in[0].size() == 1))
        disagree(reduces || sums ? "must be a matrix or a vector" : "must be a matrix");
      if (sums && one.operands.size() == 2) {
        const double how = one.operands[1].number;
        if (one.operands[1].value >= 0 || (how != 1 && how != 2 && how != 3) ||
            (in[0].size() != 2 && how != 2))
          disagree("the second operand must be 1 or 3, of a matrix, or 2");
      }
      one.shape = expected = in[0];
      if (one.function == Function::transpose) {
        std::swap(one.shape[0], one.shape[1]);
        if (one.tile != expected) expected = one.shape;  // a view that costs nothing: either
      } else if (one.function == Function::causal) {
        for (std::size_t k = 1; k < 3; ++k)
          if (one.operands[k].value >= 0) disagree("first and group must be numbers");
        const double group = one.operands[2].number, first = one.operands[1].number;
        if (!(group >= 1 && group <= kMostExtent) || group != std::floor(group) ||
            !(std::abs(first) <= 1e9) || first != std::floor(first))
          disagree("first must be an integer and group one from 1");
      } else if (one.function == Function::lower) {
        if (in.size() == 2 && one.operands[1].value >= 0) disagree("what else is must be a number");
      } else if (!sums) {
        one.shape.pop_back();
      }
    }
    if (is_step(v)) one.tile = expected;
    if (one.tile != expected)
      tile.fail("must be " + shape_text(expected) + " by the shapes of the operands of " +
                std::string(name_of(one.function)));
  }

  /// The tiles have the result's type and one number of elements, and all places are in them.
  template <class Disagree>
  void check_rearranged(const Value& one, const JsonValue& place, const Disagree& disagree) const {
    if (!is_rearrangement(one) || one.tile.size() > 2)
      disagree("one or two tiles, the first place, and an extent and a step of each digit");
    const Rearrangement how = rearrangement_of(one);
    std::int64_t all = 0;
    for (std::size_t k = 0; k < how.tiles; ++k) {
      const Value& tile = m_.values[at(one.operands[k].value)];
      if (tile.type != one.type) place.at("type").fail("must be the type of what is rearranged");
      if (one.operands[k].transposed || one.operands[k].is_part() ||
          elements(tile.shape) != elements(m_.values[at(one.operands[0].value)].shape))
        disagree("must be whole tiles of one size");
      all += elements(tile.shape);
    }
    if (how.elements() != elements(one.tile) || how.last() >= all)
      disagree("the digits are not those of the result, or leave the tiles");
  }

  /// What is of integers has integers, and a comparison makes some.
  template <class Disagree>
  void of_integers(const Value& one, const JsonValue& place, const Disagree& disagree) const {
    const bool integers = is_of_integers(one.function);
    if (!integers && !is_comparison(one.function)) return;
    if (number_type(one.type) == nullptr || number_type(one.type)->precision != 0)
      place.at("type").fail(std::string(name_of(one.function)) + " makes integers: i32 or i8");
    for (std::size_t k = 0; k < one.operands.size() && integers; ++k) {
      const Operand& operand = one.operands[k];
      if (operand.value >= 0 ? number_type(m_.values[at(operand.value)].type)->precision != 0
                             : !(std::abs(operand.number) <= kLargestBound &&
                                 operand.number == std::floor(operand.number)))
        disagree("must be of integers");
    }
  }

  template <class Disagree>
  std::vector<std::int64_t> broadcast(const Value& one,
                                      const std::vector<std::vector<std::int64_t>>& in,
                                      const Disagree& disagree) const {
    std::vector<std::int64_t> shape;
    for (const auto& operand : in)
      if (operand.size() > shape.size()) shape = operand;
    // A vector of rows and one of columns make a matrix.
    for (std::size_t k = 0; k < in.size() && shape.size() == 1; ++k)
      for (std::size_t l = 0; l < in.size(); ++l)
        if (in[k].size() == 1 && in[l].size() == 1 && !one.operands[k].along_columns &&
            one.operands[l].along_columns)
          shape = {in[k][0], in[l][0]};
    check_repeated(one, in, shape, disagree);
    return shape;
  }

  /// Operands have the result's shape, or are numbers or vectors that are repeated to it.
  template <class Disagree>
  static void check_repeated(const Value& one, const std::vector<std::vector<std::int64_t>>& in,
                             const std::vector<std::int64_t>& shape, const Disagree& disagree) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      const bool columns = one.operands[k].along_columns;
      if (columns && (in[k].size() != 1 || shape.size() != 2))
        disagree("only a vector beside a matrix goes along its columns");
      if (in[k].empty() || in[k] == shape) continue;
      if (in[k].size() != 1 || shape.size() != 2 || in[k][0] != shape[columns ? 1 : 0])
        disagree("do not agree");
    }
  }

  /// Cost rules may count a copy by what a warp reads at a time.
  static bool is_part(const std::vector<std::int64_t>& part, const std::vector<std::int64_t>& all) {
    if (part.size() != all.size()) return false;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k] % part[k] != 0) return false;
    return true;
  }

  const JsonValue& root_;
  const std::vector<JsonValue>& ops_;
  bool is_step(int v) const { return v >= first_step_ && v < m_.after_begin; }

  static constexpr int kFirstStep = 1 << 24;  // above all others until they are inserted
  Meaning m_;
  std::vector<std::pair<Value, int>> steps_;  ///< with the op
  int steps_of_ = 0;                          ///< of the op that is read
  int first_step_ = 0;
  std::unordered_map<std::string, Named> names_;
};

class MeaningWriter {
 public:
  MeaningWriter(const Meaning& meaning, JsonWriter& file) : m_(meaning), file_(file) {}

  void run() {
    file_.begin_object();
    if (!m_.constants.empty()) {
      file_.key("constants");
      file_.begin_object();
      for (const auto& [name, value] : m_.constants) {
        file_.key(name);
        number(value);
      }
      file_.end_object();
    }
    if (!m_.tensors.empty()) tensors();
    const int all = static_cast<int>(m_.values.size());
    if (m_.loop_begin > 0) values("before", 0, m_.loop_begin);
    values("ops", m_.loop_begin, m_.after_begin);
    if (!m_.initial.empty()) {
      file_.key("initial");
      file_.begin_object();
      for (const Initial& one : m_.initial) {
        file_.key(m_.values[at(one.value)].id);
        plain(one.what);
      }
      file_.end_object();
    }
    if (all > m_.after_begin) values("after", m_.after_begin, all);
    file_.end_object();
  }

 private:
  void number(double value) {
    if (std::isinf(value))
      file_.value(value > 0 ? "inf" : "-inf");
    else
      file_.value(value);
  }

  void plain(const Operand& operand) {
    if (operand.value >= 0)
      file_.value(m_.values[at(operand.value)].id);
    else if (!operand.constant.empty())
      file_.value(operand.constant);
    else
      number(operand.number);
  }

  void tensors() {
    const Tensor usual;
    file_.key("tensors");
    file_.begin_array();
    for (const Tensor& tensor : m_.tensors) {
      file_.begin_object();
      file_.member("name", tensor.name);
      file_.member("shape", tensor.shape);
      file_.member("type", tensor.type);
      if (tensor.low != usual.low || tensor.high != usual.high)
        file_.member("range", std::vector<double>{tensor.low, tensor.high});
      file_.end_object();
    }
    file_.end_array();
  }

  void values(const char* key, int from, int to) {
    file_.key(key);
    file_.begin_array();
    for (int v = from; v < to; ++v) {
      const Value& value = m_.values[at(v)];
      file_.begin_object();
      file_.member("id", value.id);
      file_.member("shape", value.tile);
      file_.member("type", value.type);
      if (!value.part_of.empty()) file_.member("part_of", value.part_of);
      file_.key("computes");
      file_.begin_array();
      file_.value(name_of(value.function));
      if (value.tensor >= 0) file_.value(m_.tensors[at(value.tensor)].name);
      for (const Operand& operand : value.operands) {
        if (operand.distance == 0 && !operand.along_columns && !operand.transposed &&
            !operand.is_part()) {
          plain(operand);
          continue;
        }
        file_.begin_object();
        file_.key("of");
        plain(operand);
        if (operand.distance > 0) file_.member("distance", operand.distance);
        if (operand.along_columns) file_.member("along", "columns");
        if (operand.transposed) file_.member("transposed", true);
        const auto part = [&](const char* name, std::int64_t first, std::int64_t count) {
          if (count > 0) file_.member(name, std::vector<std::int64_t>{first, first + count});
        };
        part("rows", operand.first_row, operand.rows);
        part("columns", operand.first_column, operand.columns);
        if (operand.row >= 0) file_.member("row", operand.row);
        if (operand.column >= 0) file_.member("column", operand.column);
        file_.end_object();
      }
      file_.end_array();
      file_.end_object();
    }
    file_.end_array();
  }

  const Meaning& m_;
  JsonWriter& file_;
};

}  // namespace

void check_meaning_keys(const JsonValue& root, bool with_ops) {
  if (with_ops)
    root.check_keys({"ops"}, {"constants", "tensors", "before", "initial", "after", "doc"});
  else
    root.check_keys({}, {"constants", "tensors", "before", "initial", "after", "doc"});
}

Meaning read_meaning(const JsonValue& root, const std::vector<JsonValue>& ops) {
  return MeaningReader(root, ops).run();
}

void write_meaning(const Meaning& meaning, JsonWriter& file) {
  MeaningWriter(meaning, file).run();
}

}  // namespace twill::meaning
