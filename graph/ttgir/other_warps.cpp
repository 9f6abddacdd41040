#include "graph/ttgir/other_warps.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMaxParents = 4;  // of slices of slices

using Integers = std::vector<std::int64_t>;

/// The numbers of "[4, 1]".
Integers numbers_of(std::string_view list) {
  Integers result;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] < '0' || list[at] > '9') continue;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(list.data() + at, list.data() + list.size(), number);
    if (error != std::errc()) return {};
    result.push_back(number);
    at = static_cast<std::size_t>(end - list.data());
  }
  return result;
}

std::string list_text(const Integers& numbers) {
  std::string text = "[";
  for (std::size_t k = 0; k < numbers.size(); ++k)
    text += (k == 0 ? "" : ", ") + std::to_string(numbers[k]);
  return text + "]";
}

/// The bases of "[[0, 1], [0, 2]]".
std::vector<Integers> bases_of(std::string_view list) {
  std::vector<Integers> result;
  std::size_t begin = list.find('[', 1);
  while (begin != std::string_view::npos) {
    const std::size_t end = list.find(']', begin);
    if (end == std::string_view::npos) break;
    result.push_back(numbers_of(list.substr(begin, end - begin)));
    begin = list.find('[', end);
  }
  return result;
}

std::string bases_text(const std::vector<Integers>& bases) {
  std::string text = "[";
  for (std::size_t k = 0; k < bases.size(); ++k) text += (k == 0 ? "" : ", ") + list_text(bases[k]);
  return text + "]";
}

/// A layout with another value of one key.
std::string with_field(std::string_view layout, std::string_view key, const std::string& value) {
  const std::string_view old = layout_field(layout, key);
  const auto at = static_cast<std::size_t>(old.data() - layout.data());
  return std::string(layout.substr(0, at)) + value + std::string(layout.substr(at + old.size()));
}

/// Of blocked layouts and those of products: twice or half the warps along one dimension. More of
/// them go where the tile has room for them, of several such dimensions the last in the layout's
/// order.
std::optional<std::string> blocked(std::string_view layout, int from, int to, const Integers& order,
                                   const Integers& shape) {
  Integers warps = numbers_of(layout_field(layout, "warpsPerCTA"));
  if (warps.empty() || warps.size() != order.size() || warps.size() != shape.size())
    return std::nullopt;
  std::int64_t all = 1;
  for (const std::int64_t count : warps) {
    if (count < 1 || count > from) return std::nullopt;
    all *= count;
    if (all > from) return std::nullopt;
  }
  if (all != from) return std::nullopt;
  for (const std::int64_t dimension : order)
    if (dimension < 0 || dimension >= static_cast<std::int64_t>(warps.size())) return std::nullopt;
  const Integers size = numbers_of(layout_field(layout, "sizePerThread"));
  const Integers threads = numbers_of(layout_field(layout, "threadsPerWarp"));
  const bool known = size.size() == warps.size() && threads.size() == warps.size();
  const auto has_room = [&](std::int64_t dimension) {
    const auto d = static_cast<std::size_t>(dimension);
    return known && size[d] * threads[d] * warps[d] < shape[d];
  };
  for (; from < to; from *= 2) {
    auto more = std::find_if(order.rbegin(), order.rend(), has_room);
    if (more == order.rend()) more = order.rbegin();
    warps[static_cast<std::size_t>(*more)] *= 2;
  }
  for (; from > to; from /= 2) {
    const auto even = [&](std::int64_t d) { return warps[static_cast<std::size_t>(d)] % 2 == 0; };
    const auto fewer = std::find_if(order.rbegin(), order.rend(), even);
    if (fewer == order.rend()) return std::nullopt;
    warps[static_cast<std::size_t>(*fewer)] /= 2;
  }
  return with_field(layout, "warpsPerCTA", list_text(warps));
}

/// Of linear layouts: the last thing that a thread holds goes to warps, or the last of warps to a
/// thread.
std::optional<std::string> linear(std::string_view layout, int from, int to) {
  std::vector<Integers> held = bases_of(layout_field(layout, "register"));
  std::vector<Integers> warps = bases_of(layout_field(layout, "warp"));
  if (warps.size() > 30 || std::int64_t{1} << warps.size() != from) return std::nullopt;
  const auto of_lanes = bases_of(layout_field(layout, "lane"));
  if (of_lanes.empty()) return std::nullopt;
  std::size_t count = 0;  // bases that move, in their order
  for (int k = from < to ? from : to; k < (from < to ? to : from); k *= 2) ++count;
  const auto move = [count](std::vector<Integers>& source, std::vector<Integers>& target) {
    const auto first = source.end() - static_cast<std::ptrdiff_t>(std::min(count, source.size()));
    target.insert(target.end(), first, source.end());
    source.erase(first, source.end());
  };
  if (from > to) {
    move(warps, held);
  } else {
    const std::size_t all = warps.size() + count;
    move(held, warps);
    warps.resize(all,
                 Integers(of_lanes.front().size(), 0));  // nothing is left to share out: copies
  }
  return with_field(with_field(layout, "register", bases_text(held)), "warp", bases_text(warps));
}

/// The name of a layout in the module, where it has one: equal layouts are then equal texts.
std::string named(const std::string& layout, const Module& module) {
  std::string_view name;
  for (const auto& [alias, value] : module.aliases)
    if (value == layout && (name.empty() || alias < name)) name = alias;
  return name.empty() ? layout : std::string(name);
}

/// `shape` has 0 where an extent is not known.
std::optional<std::string> layout_on(std::string_view layout, int from, int to, Integers shape,
                                     const Module& module, int depth) {
  layout = resolve_alias(layout, module);
  if (depth > kMaxParents) return std::nullopt;
  std::optional<std::string> result;
  if (layout.starts_with("#ttg.blocked")) {
    result = blocked(layout, from, to, numbers_of(layout_field(layout, "order")), shape);
  } else if (layout.starts_with("#ttg.nvidia_mma")) {
    Integers order(numbers_of(layout_field(layout, "warpsPerCTA")).size());
    std::iota(order.rbegin(), order.rend(), 0);  // rows are shared out first
    result = blocked(layout, from, to, order, shape);
  } else if (layout.starts_with("#ttg.linear")) {
    result = linear(layout, from, to);
  } else if (layout.starts_with("#ttg.slice") || layout.starts_with("#ttg.dot_op")) {
    const Integers dim = numbers_of(layout_field(layout, "dim"));
    if (layout.starts_with("#ttg.slice")) {
      if (dim.size() != 1 || dim[0] > static_cast<std::int64_t>(shape.size())) return std::nullopt;
      shape.insert(shape.begin() + dim[0], 0);
    }
    const auto parent =
        layout_on(layout_field(layout, "parent"), from, to, shape, module, depth + 1);
    if (!parent) return std::nullopt;
    result = with_field(layout, "parent", *parent);
  }
  if (result) result = named(*result, module);
  return result;
}

/// The extents of "128x64xf32, ...".
Integers shape_of(std::string_view text) {
  Integers shape;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || length >= text.size() || text[length] != 'x') break;
    shape.push_back(extent);
    text.remove_prefix(length + 1);
  }
  return shape;
}

/// Where the bracket that opens at `open` closes; npos where it does not.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '<' || text[at] == '[' || text[at] == '{' || text[at] == '(') ++depth;
    if (text[at] == ']' || text[at] == '}' || text[at] == ')') --depth;
    if (text[at] == '>' && text[at - 1] != '-' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::string> on_other_warps(std::string_view text, int from, int to,
                                          const Module& module) {
  const int less = from < to ? from : to, more = from < to ? to : from;
  if (less < 1 || more % less != 0) return std::nullopt;
  const auto factor = static_cast<unsigned>(more / less);
  if ((factor & (factor - 1)) != 0) return std::nullopt;
  std::string result;
  constexpr std::string_view kTensor = "tensor<";
  for (std::size_t at = text.find(kTensor); at != std::string_view::npos; at = text.find(kTensor)) {
    const std::size_t open = at + kTensor.size() - 1, close = closing(text, open);
    if (close == std::string_view::npos) return std::nullopt;
    // The layout stands behind the last comma that is in no bracket.
    std::size_t comma = open;
    int depth = 0;
    for (std::size_t k = open + 1; k < close; ++k) {
      if (text[k] == '<' || text[k] == '[' || text[k] == '{' || text[k] == '(') ++depth;
      if (text[k] == ']' || text[k] == '}' || text[k] == ')') --depth;
      if (text[k] == '>' && text[k - 1] != '-') --depth;
      if (text[k] == ',' && depth == 0) comma = k;
    }
    constexpr std::string_view kDescriptor = "tensordesc<";
    if (comma == open || text.substr(0, at).ends_with(kDescriptor)) {  // no layout over warps
      result += std::string(text.substr(0, close + 1));
    } else {
      std::size_t begin = comma + 1;
      begin = std::min(text.find_first_not_of(" \t\r\n", begin), close);
      const auto layout = layout_on(text.substr(begin, close - begin), from, to,
                                    shape_of(text.substr(open + 1)), module, 0);
      if (!layout) return std::nullopt;
      result += std::string(text.substr(0, begin)) + *layout + ">";
    }
    text.remove_prefix(close + 1);
  }
  return result + std::string(text);
}

}  // namespace twill::ttgir
