// 128-bit integers for products of 64-bit ones.
#pragma once

namespace twill {

__extension__ typedef __int128 Wide;

}  // namespace twill
