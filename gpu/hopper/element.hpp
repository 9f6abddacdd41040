// The 16-bit element types of the kernels.
#pragma once

namespace twill::gpu {

enum class Element : unsigned char { f16, bf16 };

}  // namespace twill::gpu
