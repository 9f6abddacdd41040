// The element types of products.
#pragma once

namespace twill::gpu {

enum class Element : unsigned char {
  f16,
  bf16,
  f8,  ///< e4m3: operands of products alone
};

}  // namespace twill::gpu
