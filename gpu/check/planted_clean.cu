// Nothing to refuse: check/ptxas.cmake must accept it.
__global__ void clean(float* x) {
  x[threadIdx.x] *= 2.f;
}
