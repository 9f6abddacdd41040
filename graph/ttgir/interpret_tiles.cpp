// Arithmetic on tiles and numbers (interpreter.hpp).
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/interpreter.hpp"

namespace twill::ttgir {
namespace {

bool is_integer(const Type& type) {
  return type.element.starts_with('i') || type.element == "index";
}

std::optional<double> real_operation(std::string_view name, const double* x) {
  if (name == "arith.addf") return x[0] + x[1];
  if (name == "arith.subf") return x[0] - x[1];
  if (name == "arith.mulf") return x[0] * x[1];
  if (name == "arith.divf" || name == "tt.precise_divf" || name == "tt.approx_divf")
    return x[0] / x[1];
  if (name == "arith.negf") return -x[0];
  if (name == "arith.maxnumf") return std::fmax(x[0], x[1]);
  if (name == "arith.minnumf") return std::fmin(x[0], x[1]);
  if (name == "arith.maximumf")
    return std::isnan(x[0]) || std::isnan(x[1]) ? std::nan("") : std::fmax(x[0], x[1]);
  if (name == "math.exp2") return std::exp2(x[0]);
  if (name == "math.exp") return std::exp(x[0]);
  if (name == "math.log2") return std::log2(x[0]);
  if (name == "math.log") return std::log(x[0]);
  if (name == "math.sqrt" || name == "tt.precise_sqrt") return std::sqrt(x[0]);
  if (name == "math.rsqrt") return 1 / std::sqrt(x[0]);
  if (name == "math.absf") return std::fabs(x[0]);
  if (name == "math.sin") return std::sin(x[0]);
  if (name == "math.cos") return std::cos(x[0]);
  if (name == "math.erf") return std::erf(x[0]);
  if (name == "math.floor") return std::floor(x[0]);
  if (name == "math.ceil") return std::ceil(x[0]);
  if (name == "arith.minimumf")
    return std::isnan(x[0]) || std::isnan(x[1]) ? std::nan("") : std::fmin(x[0], x[1]);
  if (name == "math.fma") return x[0] * x[1] + x[2];
  if (name == "arith.truncf" || name == "arith.extf" || name == "tt.fp_to_fp") return x[0];
  return std::nullopt;
}

/// A constant that is converted is one number for everybody, not one with an error.
bool converts_constant(const Module& module, const Operation& op) {
  const Operation* now = &op;
  for (int step = 0; step < 40; ++step) {
    const bool converts = now->name == "arith.truncf" || now->name == "arith.extf";
    if (!converts && (now->name != "tt.splat" || step == 0)) return now->name == "arith.constant";
    const int made = now->operands.size() == 1 ? module.value(now->operands[0]).op : kNone;
    if (made == kNone) return false;
    now = &module.op(made);
  }
  return false;
}

int bits_of(const Type& type) {
  int bits = 64;  // (of an index, too)
  if (type.element.starts_with('i'))
    std::from_chars(type.element.data() + 1, type.element.data() + type.element.size(), bits);
  return bits;
}

/// x as an integer of so many bits has it: a flag without a sign, others with one.
std::int64_t cut_to(std::int64_t x, int bits) {
  if (bits == 1) return x & 1;
  if (bits >= 64 || bits <= 0) return x;
  const auto up = static_cast<std::uint64_t>(x) << (64 - bits);
  return static_cast<std::int64_t>(up) >> (64 - bits);
}

/// The same bits without a sign.
std::uint64_t bits_of(std::int64_t x, int bits) {
  const auto u = static_cast<std::uint64_t>(x);
  return bits >= 64 || bits <= 0 ? u : u & ((std::uint64_t{1} << bits) - 1);
}

std::optional<std::int64_t> whole_operation(std::string_view name, std::int64_t a, std::int64_t b,
                                            int bits) {
  const auto u = static_cast<std::uint64_t>(a), v = static_cast<std::uint64_t>(b);
  const bool shifts = b >= 0 && b < bits;
  if (name == "arith.shli" && shifts) return static_cast<std::int64_t>(u << b);
  if (name == "arith.shrsi" && shifts) return a >> b;
  if (name == "arith.shrui" && shifts) return static_cast<std::int64_t>(bits_of(a, bits) >> b);
  if (name == "tt.mulhiui" && bits == 32)
    return static_cast<std::int64_t>((bits_of(a, 32) * bits_of(b, 32)) >> 32);
  if (name == "arith.addi") return static_cast<std::int64_t>(u + v);
  if (name == "arith.subi") return static_cast<std::int64_t>(u - v);
  if (name == "arith.muli") return static_cast<std::int64_t>(u * v);
  if (name == "arith.divsi" && (b > 0 || b < -1)) return a / b;
  if (name == "arith.remsi" && (b > 0 || b < -1)) return a % b;
  if (name == "arith.ceildivsi" && b > 0) return a / b + (a % b > 0 ? 1 : 0);
  if (name == "arith.minsi") return std::min(a, b);
  if (name == "arith.maxsi") return std::max(a, b);
  if (name == "arith.andi") return a & b;
  if (name == "arith.ori") return a | b;
  if (name == "arith.xori") return a ^ b;
  return std::nullopt;
}

template <class X>
std::optional<bool> compared(std::string_view how, X a, X b) {
  if (how.starts_with('o') || how.starts_with('s')) how.remove_prefix(1);
  if (how == "eq") return a == b;
  if (how == "ne") return a != b;
  if (how == "lt") return a < b;
  if (how == "le") return a <= b;
  if (how == "gt") return a > b;
  if (how == "ge") return a >= b;
  return std::nullopt;
}

}  // namespace

std::string Interpreter::predicate(int op) const {
  const std::string_view text = text_behind_name(op);
  const std::string_view word = text.substr(0, text.find(','));
  constexpr std::string_view kPredicates[] = {"eq", "ne", "slt", "sle", "sgt", "sge"};
  bool found = false;
  const std::string_view number = m_.attribute(m_.op(op), "predicate", &found);
  if (found) {
    std::size_t k = 99;
    std::from_chars(number.data(), number.data() + number.size(), k);
    if (k < 6 && m_.op(op).name == "arith.cmpi") return std::string(kPredicates[k]);
    refuse(op, "its comparison is not known");
  }
  return std::string(word);
}

/// tt.trans: dimension d of the result is the one that its order names at d.
Held Interpreter::permuted(int op) const {
  const Held& from = operand(op, 0);
  const std::string_view text = m_.attribute(m_.op(op), "order");
  const std::size_t colon = text.find(':');
  std::vector<std::size_t> order;
  for (std::size_t k = colon == std::string_view::npos ? 0 : colon; k < text.size(); ++k)
    if (text[k] >= '0' && text[k] <= '9') order.push_back(static_cast<std::size_t>(text[k] - '0'));
  const std::size_t rank = from.shape.size();
  std::vector<bool> named(rank, false);
  for (const std::size_t d : order)
    if (d >= rank || named[d])
      refuse(op, "its order is none of its dimensions");
    else
      named[d] = true;
  if (order.size() != rank) refuse(op, "its order is none of its dimensions");
  std::vector<std::int64_t> step(rank, 1);
  for (std::size_t d = rank; d-- > 1;) step[d - 1] = step[d] * from.shape[d];
  Held held;
  held.base = from.base;
  for (const std::size_t d : order) held.shape.push_back(from.shape[d]);
  for (std::int64_t e = 0; e < count(held.shape); ++e) {
    std::int64_t rest = e, place = 0;
    for (std::size_t d = rank; d-- > 0; rest /= held.shape[d])
      place += rest % held.shape[d] * step[order[d]];
    if (!from.real.empty()) held.real.push_back(from.real.at(static_cast<std::size_t>(place)));
    if (!from.whole.empty()) held.whole.push_back(from.whole.at(static_cast<std::size_t>(place)));
  }
  return held;
}

/// tt.join: two tiles as the last dimension of one; tt.split: that apart.
void Interpreter::beside_each_other(int op) {
  const Held a = operand(op, 0);
  if (m_.op(op).name == "tt.join") {
    const Held b = operand(op, 1);
    if (a.shape != b.shape || a.base >= 0 || b.base >= 0) refuse(op, "it joins no two tiles");
    Held held;
    held.shape = a.shape;
    held.shape.push_back(2);
    for (std::size_t e = 0; e < a.real.size(); ++e)
      held.real.insert(held.real.end(), {a.real[e], b.real.at(e)});
    for (std::size_t e = 0; e < a.whole.size(); ++e)
      held.whole.insert(held.whole.end(), {a.whole[e], b.whole.at(e)});
    return set(op, std::move(held));
  }
  if (a.shape.empty() || a.shape.back() != 2 || a.base >= 0 || m_.op(op).results.size() != 2)
    refuse(op, "it splits what has no two parts");
  for (const std::size_t part : {std::size_t{0}, std::size_t{1}}) {
    Held held;
    held.shape.assign(a.shape.begin(), a.shape.end() - 1);
    for (std::size_t e = part; e < a.real.size(); e += 2) held.real.push_back(a.real[e]);
    for (std::size_t e = part; e < a.whole.size(); e += 2) held.whole.push_back(a.whole[e]);
    set(op, std::move(held), part);
  }
}

Held Interpreter::transposed(const Held& tile) {
  Held result;
  result.shape = {tile.shape[1], tile.shape[0]};
  const auto m = static_cast<std::size_t>(tile.shape[0]),
             n = static_cast<std::size_t>(tile.shape[1]);
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t r = 0; r < m; ++r) {
      if (!tile.real.empty()) result.real.push_back(tile.real[r * n + c]);
      if (!tile.whole.empty()) result.whole.push_back(tile.whole[r * n + c]);
    }
  return result;
}

void Interpreter::constant(int op) {
  const Operation& o = m_.op(op);
  const Type& t = type(op, o.results.at(0));
  std::string_view text = o.literal;
  if (text.starts_with("dense<")) text = text.substr(6, text.size() - 7);
  const auto all = static_cast<std::size_t>(t.kind == TypeKind::tensor ? t.elements() : 1);
  Held held;
  if (t.kind == TypeKind::tensor) held.shape = t.shape;
  if (is_integer(t)) {
    std::int64_t x = text == "true" ? 1 : 0;
    if (text != "true" && text != "false" &&
        std::from_chars(text.data(), text.data() + text.size(), x).ec != std::errc())
      refuse(op, "its number is not read");
    held.whole.assign(all, x);
    return set(op, std::move(held));
  }
  double x = 0;
  if (text.starts_with("0x")) {
    std::uint64_t raw = 0;
    std::from_chars(text.data() + 2, text.data() + text.size(), raw, 16);
    std::uint8_t bytes[8];
    for (int k = 0; k < 8; ++k) bytes[k] = static_cast<std::uint8_t>(raw >> (8 * k));
    const meaning::NumberType* as = meaning::number_type(t.number());
    if (as == nullptr) refuse(op, "its number is not read");
    x = meaning::decode(*as, bytes);
  } else {
    x = std::strtod(std::string(text).c_str(), nullptr);
    // (The text has as many digits as tell the number of its type from its neighbours.)
    if (const auto* as = meaning::number_type(t.number())) x = meaning::rounded(*as, x);
  }
  held.real.assign(all, x);
  set(op, std::move(held));
}

/// The same bytes as another type.
void Interpreter::bits(int op) {
  const Operation& o = m_.op(op);
  const Type &from = type(op, o.operands.at(0)), &to = type(op, o.results.at(0));
  Held held = operand(op, 0);
  if (held.base >= 0 || from.element == to.element) return set(op, std::move(held));
  constexpr int kMostBytes = 8;
  const int bytes = from.bits / 8;
  const auto* real_from = is_integer(from) ? nullptr : meaning::number_type(from.number());
  const auto* real_to = is_integer(to) ? nullptr : meaning::number_type(to.number());
  if (from.bits != to.bits || from.bits % 8 != 0 || bytes < 1 || bytes > kMostBytes ||
      (!is_integer(from) && real_from == nullptr) || (!is_integer(to) && real_to == nullptr))
    refuse(op, "its types are not read");
  Held result;
  result.shape = held.shape;
  const std::size_t all = real_from != nullptr ? held.real.size() : held.whole.size();
  for (std::size_t k = 0; k < all; ++k) {
    std::uint8_t raw[kMostBytes] = {};
    if (real_from != nullptr)
      meaning::encode(*real_from, meaning::rounded(*real_from, held.real[k]), raw);
    else
      for (int b = 0; b < bytes; ++b)
        raw[b] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(held.whole[k]) >> (8 * b));
    if (real_to != nullptr) {
      result.real.push_back(meaning::decode(*real_to, raw));
      continue;
    }
    std::uint64_t x = 0;
    for (int b = 0; b < bytes; ++b) x |= static_cast<std::uint64_t>(raw[b]) << (8 * b);
    result.whole.push_back(cut_to(static_cast<std::int64_t>(x), to.bits));
  }
  set(op, std::move(result));
}

/// tt.reduce of several tiles, each of reals or of integers, by the region as it stands.
void Interpreter::reduce_together(int op) {
  const Operation& o = m_.op(op);
  const auto axis = static_cast<std::size_t>(attribute(op, "axis"));
  const int body = block_of(op, 0);
  const std::size_t tiles_of = o.operands.size();
  const std::vector<std::int64_t> shape = operand(op, 0).shape;
  if (o.name != "tt.reduce" || axis >= shape.size() || o.results.size() != tiles_of ||
      m_.block(body).arguments.size() != 2 * tiles_of)
    refuse(op, "it is not known what is reduced here");
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  const std::int64_t extent = shape[axis], outer = count(shape) / (inner * extent);
  std::vector<Held> in, results(tiles_of);
  for (std::size_t t = 0; t < tiles_of; ++t) {
    in.push_back(operand(op, t));
    if (in[t].shape != shape) refuse(op, "its tiles do not agree");
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d != axis) results[t].shape.push_back(shape[d]);
  }
  const auto one = [&](std::size_t t, std::int64_t k) {
    Held held;
    if (!in[t].real.empty()) held.real = {in[t].real.at(static_cast<std::size_t>(k))};
    if (!in[t].whole.empty()) held.whole = {in[t].whole.at(static_cast<std::size_t>(k))};
    return held;
  };
  for (std::int64_t a = 0; a < outer; ++a)
    for (std::int64_t b = 0; b < inner; ++b) {
      std::vector<Held> now;
      for (std::int64_t k = 0; k < extent; ++k) {
        const std::int64_t place = (a * extent + k) * inner + b;
        if (k == 0) {
          for (std::size_t t = 0; t < tiles_of; ++t) now.push_back(one(t, place));
          continue;
        }
        for (std::size_t t = 0; t < tiles_of; ++t) {
          values_[m_.block(body).arguments[t]] = now[t];
          values_[m_.block(body).arguments[tiles_of + t]] = one(t, place);
        }
        for (const int inside : m_.block(body).ops) {
          if (m_.op(inside).name == "tt.reduce.return")
            for (std::size_t t = 0; t < tiles_of; ++t) now[t] = operand(inside, t);
          else if (!tiles(inside))
            refuse(inside, "it is not executed here");
        }
      }
      for (std::size_t t = 0; t < tiles_of; ++t) {
        results[t].real.insert(results[t].real.end(), now[t].real.begin(), now[t].real.end());
        results[t].whole.insert(results[t].whole.end(), now[t].whole.begin(), now[t].whole.end());
      }
    }
  for (std::size_t t = 0; t < tiles_of; ++t) set(op, std::move(results[t]), t);
}

/// tt.reduce, and tt.scan, which keeps what there is on the way.
void Interpreter::reduce(int op) {
  const Operation& o = m_.op(op);
  if (o.operands.size() > 1) return reduce_together(op);
  const Held tile = operand(op, 0);
  const auto axis = static_cast<std::size_t>(attribute(op, "axis"));
  const bool whole = tile.real.empty();
  if (o.operands.size() != 1 || axis >= tile.shape.size() || tile.base >= 0 ||
      static_cast<std::int64_t>(whole ? tile.whole.size() : tile.real.size()) != count(tile.shape))
    refuse(op, "only one tile of numbers is reduced here");
  const bool scan = o.name == "tt.scan";
  const bool back = scan && m_.attribute(o, "reverse").find("true") != std::string_view::npos;
  const int body = block_of(op, 0);
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < tile.shape.size(); ++d) inner *= tile.shape[d];
  const std::int64_t extent = tile.shape[axis];
  Held result;
  for (std::size_t d = 0; d < tile.shape.size(); ++d)
    if (d != axis || scan) result.shape.push_back(tile.shape[d]);
  if (scan) {
    result.real = tile.real;
    result.whole = tile.whole;
  }
  const auto put = [&](std::size_t place, const Held& one) {
    if (whole)
      result.whole.at(place) = one.whole.at(0);
    else
      result.real.at(place) = one.real.at(0);
  };
  const std::int64_t outer = count(tile.shape) / (inner * extent);
  if (!scan)
    (whole ? result.whole.resize(static_cast<std::size_t>(outer * inner))
           : result.real.resize(static_cast<std::size_t>(outer * inner)));
  for (std::int64_t a = 0; a < outer; ++a)
    for (std::int64_t b = 0; b < inner; ++b) {
      const auto x = [&](std::int64_t k) {
        const std::int64_t from = back ? extent - 1 - k : k;
        const auto place = static_cast<std::size_t>((a * extent + from) * inner + b);
        Held one;
        if (whole)
          one.whole = {tile.whole[place]};
        else
          one.real = {tile.real[place]};
        return one;
      };
      // (Of a scan the first stays as it is.)
      Held all = x(0);
      for (std::int64_t k = 1; k < extent; ++k) {
        // The region as it stands, on two numbers.
        values_[m_.block(body).arguments.at(0)] = all;
        values_[m_.block(body).arguments.at(1)] = x(k);
        for (const int inside : m_.block(body).ops) {
          if (m_.op(inside).name == "tt.reduce.return" || m_.op(inside).name == "tt.scan.return")
            all = operand(inside, 0);
          else if (!tiles(inside))
            refuse(inside, "it is not executed here");
        }
        const std::int64_t to = back ? extent - 1 - k : k;
        if (scan) put(static_cast<std::size_t>((a * extent + to) * inner + b), all);
      }
      if (!scan) put(static_cast<std::size_t>(a * inner + b), all);
    }
  set(op, std::move(result));
}

bool Interpreter::elementwise(int op) {
  const Operation& o = m_.op(op);
  if (o.results.size() != 1 || o.operands.empty()) return false;
  std::vector<const Held*> in;
  std::size_t most = 1;
  for (const int value : o.operands) {
    in.push_back(&get(op, value));
    most = std::max({most, in.back()->real.size(), in.back()->whole.size()});
  }
  const auto real = [&](std::size_t k, std::size_t e) {
    return in.at(k)->real.at(in[k]->real.size() == 1 ? 0 : e);
  };
  const auto whole = [&](std::size_t k, std::size_t e) {
    return in.at(k)->whole.at(in[k]->whole.size() == 1 ? 0 : e);
  };
  Held result;
  const Type& t = type(op, o.results[0]);
  if (t.kind == TypeKind::tensor) result.shape = t.shape;
  if (static_cast<std::size_t>(count(result.shape)) != most) refuse(op, "its tiles do not agree");
  const std::string_view name = o.name;
  if (name == "arith.cmpi" || name == "arith.cmpf") {
    const std::string how = predicate(op);
    for (std::size_t e = 0; e < most; ++e) {
      const auto is = name == "arith.cmpi" ? compared(how, whole(0, e), whole(1, e))
                                           : compared(how, real(0, e), real(1, e));
      if (!is) refuse(op, "its comparison is not known");
      result.whole.push_back(*is ? 1 : 0);
    }
  } else if (name == "arith.select") {
    for (std::size_t e = 0; e < most; ++e) {
      const std::size_t k = whole(0, e) != 0 ? 1 : 2;
      if (is_integer(t))
        result.whole.push_back(whole(k, e));
      else
        result.real.push_back(real(k, e));
    }
  } else if (name == "arith.extsi" && type(op, o.operands[0]).element == "i1") {
    for (std::size_t e = 0; e < most; ++e) result.whole.push_back(-whole(0, e));
  } else if (name == "arith.extsi" || name == "arith.index_cast") {
    result.whole = in[0]->whole;
  } else if (name == "arith.extui") {
    const int bits = bits_of(type(op, o.operands[0]));
    for (std::size_t e = 0; e < most; ++e)
      result.whole.push_back(static_cast<std::int64_t>(bits_of(whole(0, e), bits)));
  } else if (name == "arith.trunci") {
    for (std::size_t e = 0; e < most; ++e) result.whole.push_back(cut_to(whole(0, e), bits_of(t)));
  } else if (name == "arith.sitofp") {
    for (std::size_t e = 0; e < most; ++e) result.real.push_back(static_cast<double>(whole(0, e)));
  } else if (name == "arith.uitofp") {
    const int bits = bits_of(type(op, o.operands[0]));
    for (std::size_t e = 0; e < most; ++e)
      result.real.push_back(static_cast<double>(bits_of(whole(0, e), bits)));
  } else if (name == "arith.fptosi" || name == "arith.fptoui") {
    // (Of what is no such integer it may be any.)
    for (std::size_t e = 0; e < most; ++e) {
      const double x = std::trunc(real(0, e));
      if (!(std::fabs(x) < 0x1p63)) refuse(op, "it makes an integer of what is none");
      result.whole.push_back(cut_to(static_cast<std::int64_t>(x), bits_of(t)));
    }
  } else if (name == "tt.clampf") {
    const std::string_view text = std::string_view(*m_.text).substr(o.begin, o.end - o.begin);
    const bool keeps = text.find("propagateNan = none") == std::string_view::npos &&
                       text.find("propagateNan = 0") == std::string_view::npos;
    for (std::size_t e = 0; e < most; ++e) {
      const double x = real(0, e), inside = std::fmin(std::fmax(x, real(1, e)), real(2, e));
      result.real.push_back(keeps && std::isnan(x) ? x : inside);
    }
  } else if (name == "tt.addptr") {
    result.base = in[0]->base;
    for (std::size_t e = 0; e < most; ++e) result.whole.push_back(whole(0, e) + whole(1, e));
  } else if (is_integer(t)) {
    if (o.operands.size() != 2) return false;
    for (std::size_t e = 0; e < most; ++e) {
      const int bits = bits_of(t);
      const auto x = whole_operation(name, whole(0, e), whole(1, e), bits);
      if (!x) return false;
      result.whole.push_back(cut_to(*x, bits));
    }
  } else {
    const auto* const to = converts_constant(m_, o) ? meaning::number_type(t.element) : nullptr;
    for (std::size_t e = 0; e < most; ++e) {
      double x[3] = {0, 0, 0};
      for (std::size_t k = 0; k < std::min<std::size_t>(3, in.size()); ++k) x[k] = real(k, e);
      const auto y = real_operation(name, x);
      if (!y) return false;
      result.real.push_back(to == nullptr ? *y : meaning::rounded(*to, *y));
    }
  }
  set(op, std::move(result));
  return true;
}

bool Interpreter::tiles(int op) {
  const Operation& o = m_.op(op);
  const std::string_view name = o.name;
  if (name == "arith.constant") {
    constant(op);
    return true;
  }
  if (name == "tt.get_program_id" || name == "tt.get_num_programs") {
    bool found = false;
    std::string_view axis = m_.attribute(o, "axis", &found);
    if (!found) axis = text_behind_name(op);
    const char c = axis.empty() ? '?' : axis.front();
    const int k = c == 'x' || c == '0'   ? 0
                  : c == 'y' || c == '1' ? 1
                  : c == 'z' || c == '2' ? 2
                                         : -1;
    if (k < 0) refuse(op, "its axis is not known");
    Held held;
    held.whole = {name == "tt.get_program_id" ? launch_.program[k] : launch_.programs[k]};
    set(op, std::move(held));
    return true;
  }
  if (name == "tt.make_range") {
    Held held;
    held.shape = type(op, o.results.at(0)).shape;
    for (std::int64_t k = attribute(op, "start"); k < attribute(op, "end"); ++k)
      held.whole.push_back(k);
    set(op, std::move(held));
    return true;
  }
  if (name == "tt.splat" || name == "tt.broadcast") {
    const Held& from = operand(op, 0);
    Held held;
    held.shape = type(op, o.results.at(0)).shape;
    held.base = from.base;
    std::vector<std::int64_t> extents = from.shape;
    extents.resize(held.shape.size(), 1);
    std::vector<std::int64_t> place(held.shape.size(), 0);
    for (std::int64_t e = 0; e < count(held.shape); ++e) {
      std::size_t k = 0;
      for (std::size_t d = 0; d < place.size(); ++d)
        k = k * static_cast<std::size_t>(extents[d]) +
            static_cast<std::size_t>(extents[d] == 1 ? 0 : place[d]);
      if (!from.real.empty()) held.real.push_back(from.real.at(k));
      if (!from.whole.empty()) held.whole.push_back(from.whole.at(k));
      for (std::size_t d = place.size(); d-- > 0;) {
        if (++place[d] < held.shape[d]) break;
        place[d] = 0;
      }
    }
    set(op, std::move(held));
    return true;
  }
  // (Of a reshape that may reorder elements this is one order of those that it may choose.)
  if (name == "tt.bitcast" || name == "arith.bitcast") {
    bits(op);
    return true;
  }
  if (name == "tt.expand_dims" || name == "ttg.convert_layout" || name == "tt.reshape") {
    Held held = operand(op, 0);
    held.shape = type(op, o.results.at(0)).shape;
    set(op, std::move(held));
    return true;
  }
  if (name == "tt.trans") {
    set(op, permuted(op));
    return true;
  }
  if (name == "tt.join" || name == "tt.split") {
    beside_each_other(op);
    return true;
  }
  if (name == "tt.histogram") {
    Held held;
    held.shape = type(op, o.results.at(0)).shape;
    held.whole.assign(static_cast<std::size_t>(count(held.shape)), 0);
    if (o.operands.size() != 1) refuse(op, "it counts under a mask");
    for (const std::int64_t x : operand(op, 0).whole)
      if (x >= 0 && x < count(held.shape)) ++held.whole[static_cast<std::size_t>(x)];
    set(op, std::move(held));
    return true;
  }
  if (name == "tt.reduce" || name == "tt.scan") {
    reduce(op);
    return true;
  }
  if (name == "ttng.warp_group_dot_wait") {
    for (std::size_t k = 0; k < o.results.size(); ++k) set(op, operand(op, k), k);
    return true;
  }
  if (name.starts_with("arith.") || name.starts_with("math.") || name == "tt.addptr" ||
      name == "tt.fp_to_fp" || name == "tt.mulhiui" || name.starts_with("tt.precise_") ||
      name == "tt.approx_divf" || name == "tt.clampf")
    return elementwise(op);
  return false;
}

}  // namespace twill::ttgir
