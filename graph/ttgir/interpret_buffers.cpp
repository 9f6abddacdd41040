// Buffers in shared and tensor memory (interpreter.hpp).
#include <cmath>
#include <limits>

#include "graph/index.hpp"
#include "graph/ttgir/interpreter.hpp"

namespace twill::ttgir {
namespace {

/// Copies out of and into a buffer, element by element.
template <class Visit>
void each(const Held& view, const Visit& visit) {
  std::vector<std::int64_t> place(view.shape.size(), 0);
  std::int64_t all = 1;
  for (const std::int64_t extent : view.shape) all *= extent;
  for (std::int64_t k = 0; k < all; ++k) {
    std::int64_t where = view.offset;
    for (std::size_t d = 0; d < place.size(); ++d) where += place[d] * view.stride[d];
    visit(static_cast<std::size_t>(k), static_cast<std::size_t>(where));
    for (std::size_t d = place.size(); d-- > 0;) {
      if (++place[d] < view.shape[d]) break;
      place[d] = 0;
    }
  }
}

}  // namespace

Held Interpreter::allocated(int op, int result) const {
  Held view;
  view.shape = type(op, result).shape;
  view.stride.assign(view.shape.size(), 1);
  for (std::size_t d = view.shape.size(); d-- > 1;)
    view.stride[d - 1] = view.stride[d] * view.shape[d];
  view.buffer = std::make_shared<std::vector<double>>(static_cast<std::size_t>(count(view.shape)),
                                                      std::numeric_limits<double>::quiet_NaN());
  return view;
}

Held Interpreter::read(const Held& view) const {
  Held tile;
  tile.shape = view.shape;
  tile.real.resize(static_cast<std::size_t>(count(view.shape)));
  each(view, [&](std::size_t k, std::size_t where) { tile.real[k] = view.buffer->at(where); });
  return tile;
}

void Interpreter::write(int op, const Held& view, const Held& tile) {
  const std::vector<double> all = numbers(tile);
  if (!view.buffer || all.size() != static_cast<std::size_t>(count(view.shape)))
    refuse(op, "a tile does not fit its buffer");
  each(view, [&](std::size_t k, std::size_t where) { view.buffer->at(where) = all[k]; });
}

/// The numbers of a tile, whatever its type.
std::vector<double> Interpreter::numbers(const Held& tile) {
  if (!tile.real.empty()) return tile.real;
  return {tile.whole.begin(), tile.whole.end()};
}

/// What an op reads from a buffer: of integers integers.
Held Interpreter::loaded_from(int op, const Held& view) const {
  Held tile = read(view);
  if (!type(op, m_.op(op).results.at(0)).element.starts_with('i')) return tile;
  for (const double x : tile.real) tile.whole.push_back(static_cast<std::int64_t>(x));
  tile.real.clear();
  return tile;
}

bool Interpreter::buffers(int op) {
  const Operation& o = m_.op(op);
  const std::string_view name = o.name;
  const auto flag = [&](int value) { return integer(op, value) != 0; };
  if (name == "ttg.local_alloc" || name == "ttng.tmem_alloc") {
    Held view = allocated(op, o.results.at(0));
    if (!o.operands.empty()) write(op, view, operand(op, 0));
    set(op, std::move(view));
    return true;
  }
  if (name == "ttg.local_dealloc") return true;
  if (name == "ttg.local_load" || name == "ttng.tmem_load") {
    if (!operand(op, 0).buffer) refuse(op, "it reads no buffer");
    Held loaded = loaded_from(op, operand(op, 0));
    if (m_.op(op).block == m_.op(loop_).block)
      made(op, std::move(loaded), 0);
    else
      set(op, std::move(loaded));
    return true;
  }
  if (name == "ttg.local_store" || name == "ttng.tmem_store") {
    // tile, buffer, token, whether
    const Held &tile = operand(op, 0), &view = operand(op, 1);
    for (const int value : o.operands)
      if (type(op, value).kind == TypeKind::scalar && !flag(value)) return true;
    write(op, view, tile);
    return true;
  }
  if (name == "ttg.memdesc_reshape") {
    Held view = operand(op, 0);
    const std::vector<std::int64_t>& shape = type(op, o.results.at(0)).shape;
    std::int64_t step = 1;
    for (std::size_t d = view.shape.size(); d-- > 0; step *= view.shape[d])
      if (view.shape[d] > 1 && view.stride.at(d) != step) refuse(op, "its rows do not follow");
    if (count(shape) != step) refuse(op, "it has another size");
    view.shape = shape;
    view.stride.assign(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) view.stride[d - 1] = view.stride[d] * shape[d];
    set(op, std::move(view));
    return true;
  }
  if (name == "ttg.memdesc_trans") {
    Held view = operand(op, 0);
    if (view.shape.size() != 2) refuse(op, "it transposes no matrix");
    std::swap(view.shape[0], view.shape[1]);
    std::swap(view.stride[0], view.stride[1]);
    set(op, std::move(view));
    return true;
  }
  if (name == "ttng.tc_gen5_mma") {
    const Held &a = operand(op, 0), &b = operand(op, 1), &to = operand(op, 2);
    std::vector<int> flags;
    for (const int value : o.operands)
      if (type(op, value).kind == TypeKind::scalar) flags.push_back(value);
    if (flags.size() != 2) refuse(op, "its flags are not known");
    if (!flag(flags[1])) return true;
    const Held sum = read(to);
    write(op, to, multiplied(op, read(a), read(b), flag(flags[0]) ? &sum : nullptr));
    return true;
  }
  if (name == "ttng.tc_gen5_mma_scaled") {
    std::vector<int> flags;
    for (const int value : o.operands)
      if (type(op, value).kind == TypeKind::scalar) flags.push_back(value);
    std::vector<const Held*> tiles;
    for (const int value : o.operands)
      if (type(op, value).kind == TypeKind::memdesc) tiles.push_back(&get(op, value));
    if (flags.size() != 2 || tiles.size() != 5) refuse(op, "its operands are not known");
    if (!flag(flags[1])) return true;
    const Held sum = read(*tiles[2]);
    const Held a = multiplied_by_scales(op, read(*tiles[0]), read(*tiles[3]));
    const Held b = multiplied_by_scales(op, transposed(read(*tiles[1])), read(*tiles[4]));
    write(op, *tiles[2], multiplied(op, a, transposed(b), flag(flags[0]) ? &sum : nullptr));
    return true;
  }
  if (name == "ttng.warp_group_dot" || name == "tt.dot") {
    const auto tile = [&](std::size_t k) {
      return operand(op, k).buffer ? read(operand(op, k)) : operand(op, k);
    };
    const Held sum = tile(2);
    bool adds = true;
    for (const int value : o.operands)
      if (type(op, value).kind == TypeKind::scalar) adds = flag(value);
    Held product = multiplied(op, tile(0), tile(1), adds ? &sum : nullptr);
    if (type(op, o.results.at(0)).element.starts_with('i')) {
      product.whole.assign(product.real.begin(), product.real.end());
      product.real.clear();
    }
    set(op, std::move(product));
    return true;
  }
  return false;
}

/// A matrix, every 32 neighbours of a row times 2 to the power of a byte without sign, less 127.
Held Interpreter::multiplied_by_scales(int op, Held a, const Held& scales) const {
  constexpr std::int64_t kTogether = 32;
  if (a.shape.size() != 2 || scales.shape.size() != 2 || a.shape[0] != scales.shape[0] ||
      a.shape[1] != scales.shape[1] * kTogether)
    refuse(op, "it has not one scale for every 32 numbers along K");
  const std::vector<double> bytes = numbers(scales);
  for (std::size_t k = 0; k < a.real.size(); ++k) {
    int byte = static_cast<int>(bytes.at(k / kTogether));
    if (byte < 0) byte += 256;
    a.real[k] = byte == 255 ? std::nan("") : std::ldexp(a.real[k], byte - 127);
  }
  return a;
}

Held Interpreter::multiplied(int op, const Held& a, const Held& b, const Held* sum) const {
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1] != b.shape[0])
    refuse(op, "it multiplies no matrices");
  const auto m = static_cast<std::size_t>(a.shape[0]), n = static_cast<std::size_t>(b.shape[1]);
  const auto depth = static_cast<std::size_t>(a.shape[1]);
  Held result;
  result.shape = {a.shape[0], b.shape[1]};
  result.real.assign(m * n, 0.0);
  if (sum != nullptr) result.real = numbers(*sum);
  const std::vector<double> left = numbers(a), right = numbers(b);
  if (left.size() != m * depth || right.size() != depth * n)
    refuse(op, "it multiplies no matrices");
  if (result.real.size() != m * n) refuse(op, "what it adds to has another size");
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t k = 0; k < depth; ++k) {
      const double x = left[r * depth + k];
      for (std::size_t c = 0; c < n; ++c) result.real[r * n + c] += x * right[k * n + c];
    }
  return result;
}

}  // namespace twill::ttgir
