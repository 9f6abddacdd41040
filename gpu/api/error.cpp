#include "gpu/api/error.hpp"

#include <cstdio>

namespace twill::gpu {

namespace {
// A fixed buffer: keeping a text cannot fail.
thread_local char last_text[512] = "no error";
}  // namespace

void refuse(twill_gpu_status status, const std::string& text) {
  throw Refusal{status, text};
}

void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // the runtime keeps it otherwise
  const bool none = error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
                    error == cudaErrorStubLibrary;
  refuse(none ? TWILL_GPU_NO_DEVICE : TWILL_GPU_CUDA_ERROR,
         std::string(what) + ": " + cudaGetErrorString(error));
}

void keep_error_text(const std::string& text) {
  std::snprintf(last_text, sizeof last_text, "%s", text.c_str());
}

}  // namespace twill::gpu

const char* twill_gpu_error_text(void) {
  return twill::gpu::last_text;
}

const char* twill_gpu_status_name(twill_gpu_status status) {
  switch (status) {
    case TWILL_GPU_OK: return "TWILL_GPU_OK";
    case TWILL_GPU_BAD_ARGUMENT: return "TWILL_GPU_BAD_ARGUMENT";
    case TWILL_GPU_BAD_SHAPE: return "TWILL_GPU_BAD_SHAPE";
    case TWILL_GPU_BAD_ALIGNMENT: return "TWILL_GPU_BAD_ALIGNMENT";
    case TWILL_GPU_BAD_TYPE: return "TWILL_GPU_BAD_TYPE";
    case TWILL_GPU_BAD_WORKSPACE: return "TWILL_GPU_BAD_WORKSPACE";
    case TWILL_GPU_NO_DEVICE: return "TWILL_GPU_NO_DEVICE";
    case TWILL_GPU_BAD_DEVICE: return "TWILL_GPU_BAD_DEVICE";
    case TWILL_GPU_CUDA_ERROR: return "TWILL_GPU_CUDA_ERROR";
  }
  return "unknown status";
}
