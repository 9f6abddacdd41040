#include "graph/emit/cuda_words.hpp"

namespace twill::emit {
namespace {

std::set<std::string> words_of_both() {
  return {"alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
          "case", "catch", "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept",
          "const", "consteval", "constexpr", "constinit", "const_cast", "continue", "co_await",
          "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast",
          "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
          "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
          "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
          "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static",
          "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
          "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
          "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
          // macros
          "alloca", "assert", "errno", "linux", "unix", "i386", "major", "minor", "makedev",
          "stdin", "stdout", "stderr", "offsetof", "isascii", "toascii", "issubnormal", "signbit",
          "isnan", "isinf", "isfinite", "strdupa", "strndupa", "complex", "be16toh", "be32toh",
          "be64toh", "htobe16", "htobe32", "htobe64", "htole16", "htole32", "htole64", "le16toh",
          "le32toh", "le64toh", "sched_priority", "math_errhandling", "near", "far",
          // the file and its headers
          "std", "twill", "gpu", "emitted", "main", "g", "shared", "group", "place", "n", "i", "at",
          "load", "store", "reference", "sizes", "stream", "data", "batch", "block", "warp", "run",
          "launch", "release", "arrive", "wait_for", "copy_of", "barrier_of", "fill", "rounded",
          "max_of_rows", "min_of_rows", "extreme_of_rows", "together", "sum_of_rows", "lane_sum",
          "over_lanes", "masked", "larger", "power_of_2", "binary_logarithm", "reciprocal",
          "smaller", "magnitude", "square_root", "inverse_square_root", "natural_logarithm", "sine",
          "cosine", "error_function", "whole_below", "whole_above", "whole_part", "where_positive",
          "multiply_add", "multiply_subtract", "start_product", "start_product_onto",
          "end_products", "store_tile", "store_rows", "load_rows", "store_operand",
          "store_fragments", "load_fragments", "load_operand", "load_panels", "load_floats",
          "load_bytes", "byte_map", "kSummedAtOnce", "read_rows", "store_row", "picked_row",
          "load_matrix_x4", "widened", "write_rows", "store_panels", "columns_of", "fill_shared",
          "load_tile", "load_vector", "leads", "float_map", "tma_add_start", "bulk_wait_read",
          "tma_store_start", "fence_async_shared", "named_sync", "barrier_init",
          "barrier_init_fence", "barrier_wait", "pin", "forget", "product", "transposed", "columns",
          "elementwise", "element", "own", "place_of", "matrix_map", "check_and_time", "blocks_0",
          "blocks_1", "blocks", "elect_one", "lower_registers", "raise_registers", "k", "argc",
          "argv", "kThreads", "kSharedBytes", "kTensors", "kBlockAxes", "kPanel", "kBarrierBytes",
          "kAllowedError", "kWarpgroupRows"};
}

std::set<std::string> words_on_blackwell() {
  return {"tmem",
          "part",
          "part1",
          "part2",
          "part3",
          "part4",
          "part5",
          "part6",
          "part7",
          "part8",
          "part9",
          "c",
          "tensor_allocate",
          "tensor_relinquish",
          "tensor_free",
          "tensor_fence_before",
          "tensor_fence_after",
          "tensor_commit",
          "tensor_multiply",
          "tensor_multiply_lanes",
          "tensor_wait_loads",
          "tensor_wait_stores",
          "start_tensor_load",
          "end_tensor_loads",
          "start_tensor_store",
          "end_tensor_stores",
          "fill_tensor",
          "start_tensor_product",
          "start_tensor_product_onto",
          "multiply_tiles",
          "own_lanes",
          "columns_at_once",
          "lane_row",
          "store_part",
          "along_columns",
          "load_shared_4",
          "sum_of_rows",
          "store_shared_words",
          "operand_descriptor",
          "instruction_descriptor",
          "load_shared",
          "kCapability"};
}

}  // namespace

std::set<std::string> cuda_words(bool blackwell) {
  std::set<std::string> all = words_of_both();
  if (blackwell) all.merge(words_on_blackwell());
  return all;
}

std::string_view cuda_function(meaning::Function function) {
  using enum meaning::Function;
  switch (function) {
    case abs: return "magnitude";
    case sqrt: return "square_root";
    case rsqrt: return "inverse_square_root";
    case log: return "natural_logarithm";
    case sin: return "sine";
    case cos: return "cosine";
    case erf: return "error_function";
    case floor: return "whole_below";
    case ceil: return "whole_above";
    case toward_zero: return "whole_part";
    default: return "";
  }
}

}  // namespace twill::emit
