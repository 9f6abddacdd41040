// 128-bit integers for products of 64-bit ones.
#pragma once

namespace twill {

// NOLINTNEXTLINE(modernize-use-using): __extension__ goes before a typedef only.
__extension__ typedef __int128 Wide;

}  // namespace twill
