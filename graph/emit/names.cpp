#include "graph/emit/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace twill::emit {
namespace {

constexpr std::size_t kLongestName = 40;
constexpr std::size_t kLongestText = 120;

// Keywords of Python 3.12 and what a reader would take for something else.
constexpr std::string_view kWords[] = {
    "False",  "None",    "True",       "and",        "as",         "assert",  "async",  "await",
    "break",  "case",    "class",      "continue",   "def",        "del",     "elif",   "else",
    "except", "finally", "for",        "from",       "global",     "if",      "import", "in",
    "is",     "lambda",  "match",      "nonlocal",   "not",        "or",      "pass",   "print",
    "raise",  "range",   "return",     "try",        "type",       "while",   "with",   "yield",
    "len",    "max",     "min",        "sum",        "float",      "int",     "str",    "list",
    "tuple",  "dict",    "set",        "abs",        "all",        "any",     "exec",   "eval",
    "open",   "zip",     "map",        "enumerate",  "getattr",    "hasattr", "iter",   "next",
    "slice",  "sorted",  "isinstance", "ValueError", "ImportError"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

bool is_plain_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName || !is_letter(text.front())) return false;
  if (!std::all_of(text.begin(), text.end(),
                   [](char c) { return is_letter(c) || is_digit(c) || c == '_'; }))
    return false;
  if (text.starts_with("TILE_") || text.starts_with("SMEM_")) return false;  // layouts
  return std::find(std::begin(kWords), std::end(kWords), text) == std::end(kWords);
}

bool Names::take(const std::string& name, const std::vector<std::string>& suffixes) {
  if (used_.contains(name)) return false;
  for (const std::string& suffix : suffixes)
    if (used_.contains(name + suffix)) return false;
  used_.insert(name);
  for (const std::string& suffix : suffixes) used_.insert(name + suffix);
  return true;
}

std::string Names::make(std::string_view wish, std::string_view fallback,
                        const std::vector<std::string>& suffixes) {
  if (is_plain_name(wish) && take(std::string(wish), suffixes)) return std::string(wish);
  for (int k = 0;; ++k) {
    std::string name = std::string(fallback) + "_" + std::to_string(k);
    if (take(name, suffixes)) return name;
  }
}

std::set<std::string> words_of_gluon_files() {
  return {"gl",
          "gluon",
          "tma",
          "mbarrier",
          "torch",
          "triton",
          "sys",
          "math",
          "n",
          "i",
          "kernel",
          "reference",
          "main",
          "check",
          "batch",
          "DEPTH",
          "TRIPS",
          "tensor_memory",
          "tcgen05_mma",
          "tcgen05_commit",
          "async_copy",
          "warpgroup_mma",
          "warpgroup_mma_wait",
          "warpgroup_mma_init",
          "fence_async_shared",
          "TensorDescriptor",
          "tensor_memory_descriptor",
          "TensorMemoryLayout",
          "allocate_tensor_memory",
          "zero",
          "part",
          "rows",
          "columns",
          "column",
          "grid",
          "block_0",
          "block_1",
          "ring_k",
          "AXES",
          "TENSORS",
          "launch",
          "tile",
          "first",
          "first_part",
          "turn",
          "anew",
          "at_most",
          "at_least",
          "beside_itself",
          "add_up",
          "keep_larger",
          "multiply_up",
          "keep_smaller",
          "place_of_max",
          "place_of_max_down",
          "place_of_max_all",
          "place_of_min",
          "place_of_min_down",
          "place_of_min_all",
          "ADDED",
          "CAPABILITY",
          "OUTPUTS",
          "VECTOR",
          "random_inputs",
          "itertools",
          "reference_block",
          "check_against_reference",
          "time_it",
          "load",
          "store",
          "os",
          "descriptor",
          "given",
          "grid",
          "BLOCKS",
          "WARPS",
          "UserKernel",
          "T",
          "tilelang",
          "functools",
          "build",
          "compiled",
          "do_bench",
          "loop",
          "batches",
          "blocks_0",
          "blocks_1",
          "tile_count"};
}

std::string harmless(std::string_view text) {
  std::string safe;
  for (const char c : text.substr(0, kLongestText))
    safe += c >= ' ' && c <= '~' && c != '"' && c != '\'' && c != '\\' && c != '#' ? c : '?';
  if (text.size() > kLongestText) safe += "...";
  return safe;
}

bool mentions(std::string_view text, std::string_view name) {
  const auto word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t k = text.find(name); k != std::string_view::npos; k = text.find(name, k + 1))
    if ((k == 0 || !word(text[k - 1])) &&
        (k + name.size() == text.size() || !word(text[k + name.size()])))
      return true;
  return false;
}

std::string number_text(double x) {
  if (std::isnan(x)) return "float(\"nan\")";
  if (std::isinf(x)) return x > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x);
  std::string number(text.data(), end.ptr);
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  return number;
}

}  // namespace twill::emit
