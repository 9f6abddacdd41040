#include "gpu/emulator/numbers.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <vector>

namespace twill::gpu::emulator {

const std::vector<float>& table(Element element) {
  static const auto make = [](Element e) {
    std::vector<float> t(65536);
    for (unsigned i = 0; i < 65536; ++i)
      t[i] = e == Element::f16
                 ? __half2float(__ushort_as_half(static_cast<unsigned short>(i)))
                 : __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(i)));
    return t;
  };
  static const std::vector<float> f16 = make(Element::f16), bf16 = make(Element::bf16);
  return element == Element::f16 ? f16 : bf16;
}

float to_float(std::uint16_t bits, Element element) {
  return table(element)[bits];
}
std::uint16_t from_float(float value, Element element) {
  return element == Element::f16 ? __half_as_ushort(__float2half_rn(value))
                                 : __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

}  // namespace twill::gpu::emulator
