#include "graph/ttgir/warp_counts.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostParents = 8;  // of slices of factors of slices

int leading_number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The product of "[4, 1]"; nullopt = it is no such list.
std::optional<std::int64_t> product_of(std::string_view list) {
  if (list.size() < 2 || list.front() != '[' || list.back() != ']') return std::nullopt;
  std::int64_t product = 1;
  for (std::size_t at = 1; at < list.size(); ++at) {
    if (list[at] < '0' || list[at] > '9') continue;
    std::int64_t number = 0;
    const char* end = list.data() + list.size();
    const auto read = std::from_chars(list.data() + at, end, number);
    if (read.ec != std::errc() || number < 1 || number > (1 << 20)) return std::nullopt;
    product *= number;
    if (product > (1 << 20)) return std::nullopt;
    at = static_cast<std::size_t>(read.ptr - list.data());
  }
  return product;
}

/// Over how many warps a layout shares out a tile; nullopt = that is not known.
std::optional<std::int64_t> warps_of_layout(std::string_view layout, const Module& module) {
  for (int depth = 0; depth < kMostParents; ++depth) {
    layout = resolve_alias(layout, module);
    if (layout.starts_with("#ttg.slice") || layout.starts_with("#ttg.dot_op")) {
      layout = layout_field(layout, "parent");
      continue;
    }
    if (layout.starts_with("#ttg.blocked") || layout.starts_with("#ttg.nvidia_mma"))
      return product_of(layout_field(layout, "warpsPerCTA"));
    if (!layout.starts_with("#ttg.linear")) return std::nullopt;
    // Bases of vectors, each of which doubles the warps.
    const std::string_view bases = layout_field(layout, "warp");
    if (bases.size() < 2) return std::nullopt;
    const auto opened = std::count(bases.begin(), bases.end(), '[') - 1;
    return opened < 0 || opened > 20 ? std::nullopt : std::optional(std::int64_t{1} << opened);
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> region_warps(const Module& module, int warp_specialize) {
  std::vector<int> warps = {
      leading_number(module.inherited(warp_specialize, "ttg.num-warps").first)};
  const Operation& around = module.op(warp_specialize);
  if (around.generic) {  // array<i32: 4, 1>
    std::string_view list = module.attribute(around, "partitionNumWarps");
    for (std::size_t at = list.find_first_of(":,"); at != std::string_view::npos;
         at = list.find(',')) {
      list.remove_prefix(std::min(list.find_first_not_of(" \t\r\n", at + 1), list.size()));
      warps.push_back(leading_number(list));
    }
    return warps;
  }
  constexpr std::string_view kWarps = "num_warps(";
  for (std::size_t r = 1; r < around.regions.size(); ++r) {
    // Between the region before and this one's end, outside of comments.
    const auto& before = module.regions[at(around.regions[r - 1])];
    const auto& region = module.regions[at(around.regions[r])];
    std::string_view header =
        std::string_view(*module.text).substr(before.end, region.end - before.end);
    while (!header.empty() && !header.starts_with(kWarps))
      header.remove_prefix(
          std::min(header.starts_with("//") ? header.find('\n') : std::size_t{1}, header.size()));
    if (!header.empty()) header.remove_prefix(kWarps.size());
    warps.push_back(leading_number(header));
  }
  return warps;
}

void check_warp_counts(const Module& module, int loop) {
  int function = loop;
  while (function != kNone && !module.op(function).name.ends_with(".func"))
    function = module.parent(function);
  // (TTIR has no layouts, and no count. An attribute on the way is that of its own ops.)
  const auto [said, where] = module.inherited(loop, "ttg.num-warps");
  if (function == kNone || where == kNone) return;
  const int whole = leading_number(said);
  std::map<int, int> of_region;  // partitions alone
  const auto executing = [&](int op) {
    for (int block = module.op(op).block; block != kNone;) {
      const int region = module.block(block).region;
      if (const auto found = of_region.find(region); found != of_region.end()) return found->second;
      const int around = region == kNone ? kNone : module.regions[at(region)].op;
      if (around == kNone) break;
      if (const Operation& one = module.op(around); one.name == "ttg.warp_specialize") {
        const std::vector<int> warps = region_warps(module, around);
        for (std::size_t r = 1; r < one.regions.size() && r < warps.size(); ++r)
          of_region[one.regions[r]] = warps[r];
        if (const auto found = of_region.find(region); found != of_region.end())
          return found->second;
      }
      block = module.op(around).block;
    }
    return whole;
  };
  const auto within = [&](int op) {
    while (op != kNone && op != function) op = module.parent(op);
    return op == function;
  };
  std::map<int, std::optional<std::int64_t>> of_type;
  for (int op = 0; op < static_cast<int>(module.ops.size()); ++op) {
    const Operation& one = module.op(op);
    if ((one.operands.empty() && one.results.empty()) || !within(op)) continue;
    int warps = -1;
    for (const auto* values : {&one.operands, &one.results})
      for (const int value : *values) {
        const int number = module.value(value).type;
        if (number == kNone) continue;
        const Type& type = module.types[at(number)];
        if (type.kind != TypeKind::tensor || type.encoding.empty()) continue;
        const auto [known, fresh] = of_type.try_emplace(number);
        if (fresh) known->second = warps_of_layout(type.encoding, module);
        if (!known->second) continue;
        if (warps < 0) warps = executing(op);
        if (warps > 0 && *known->second != warps)
          throw InputError(module.source, Module::place(one),
                           std::string(type.text.substr(0, 80)) + " on " +
                               std::to_string(*known->second) + " warps",
                           "is no tile of an op that " + std::to_string(warps) +
                               " warps execute: layouts must be for as many as the module "
                               "(ttg.num-warps) or the partition has");
      }
  }
}

}  // namespace twill::ttgir
