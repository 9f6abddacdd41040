// Types and layouts of TTGIR: what a type's text means for registers, bytes and columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;      ///< of a tile or buffer
inline constexpr std::int64_t kMaxLayoutNumber = std::int64_t{1} << 20;  ///< in a layout

/// Parses a type's text ("tensor<128x64xf32, #blocked>", also the short "<128x64xf16, #shared,
/// #smem>" of a memdesc). What is not understood has TypeKind::other; never throws. `fault` gets
/// the rule that an extent breaks.
Type parse_type(std::string_view text, const Module& module, std::string* fault = nullptr);

/// The rule that a number in a type or layout breaks, "" when all are within bounds: from 0, or 1
/// where a thread, warp or element must be, to kMaxLayoutNumber. Products of three then fit.
std::string number_fault(std::string_view text);

/// The value of "key = value" inside <{...}> of a layout, "" when absent.
std::string_view layout_field(std::string_view layout, std::string_view key);

/// What an alias stands for; other text as it is.
std::string_view resolve_alias(std::string_view text, const Module& module);

/// Elements of a tensor that one thread holds, copies included, from its layout: #ttg.blocked,
/// #ttg.linear, #ttg.nvidia_mma, #ttg.slice of these. nullopt for other layouts.
std::optional<std::int64_t> elements_per_thread(const Type& type, const Module& module);

/// Registers a thread holds of a tensor on `warps` warps: elements a thread x bits / 32, rounded
/// up; a mask of i1 counts as 1. Without a known layout: elements / (32 x warps), rounded up.
std::int64_t registers_per_thread(const Type& type, int warps, const Module& module);

/// Bytes of a buffer in shared memory.
std::int64_t buffer_bytes(const Type& type);

/// Columns of a buffer in tensor memory, from its encoding: N x bits / 32 for each 128 rows. Tiles
/// of blockM = 64 take the columns of 128 rows, as Triton allocates them.
std::int64_t buffer_columns(const Type& type);

}  // namespace twill::ttgir
