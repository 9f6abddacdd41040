// Status and text of a refused call.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "gpu/twill_gpu.h"

namespace twill::gpu {

/// Thrown inside the library only; guarded() turns it into a status.
struct Refusal {
  twill_gpu_status status;
  std::string text;
};

[[noreturn]] void refuse(twill_gpu_status status, const std::string& text);

/// Refuses with CUDA's own words if `error` is one.
void check_cuda(cudaError_t error, const char* what);

/// Keeps the text for twill_gpu_error_text.
void keep_error_text(const std::string& text);

/// Runs `call` and returns its status: OK, or that of what it threw.
template <class Call>
twill_gpu_status guarded(Call&& call) noexcept {
  try {
    call();
    return TWILL_GPU_OK;
  } catch (const Refusal& refusal) {
    keep_error_text(refusal.text);
    return refusal.status;
  } catch (...) {
    keep_error_text("out of memory");
    return TWILL_GPU_CUDA_ERROR;
  }
}

}  // namespace twill::gpu
