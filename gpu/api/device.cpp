#include "gpu/api/device.hpp"

#include <string>

#include "gpu/api/error.hpp"

namespace twill::gpu {

int multiprocessors() {
  int device = 0, major = 0, minor = 0, count = 0;
  check_cuda(cudaGetDevice(&device), "asking for the current device");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "asking for the compute capability");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
             "asking for the compute capability");
  if (major != 9 || minor != 0)
    refuse(TWILL_GPU_BAD_DEVICE, "device " + std::to_string(device) + " is of compute capability " +
                                     std::to_string(major) + "." + std::to_string(minor) +
                                     ", the kernels need 9.0 (H100, H200)");
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
             "asking for the number of multiprocessors");
  return count;
}

}  // namespace twill::gpu
