/* The argument checks of the C API, in C: what is wrong is refused with the right status and a text
 * that names it, and nothing is launched. Needs no GPU; without one a right call says so. */
#define _POSIX_C_SOURCE 200112L /* setenv */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/twill_gpu.h"

static int failures = 0;

static twill_fmha_forward_arguments right_arguments(void) {
  twill_fmha_forward_arguments a;
  /* Addresses that no device has: a launch would not survive them, so none may happen. */
  char* const nowhere = (char*)(size_t)4096;
  memset(&a, 0, sizeof a);
  a.type = TWILL_GPU_F16;
  a.batch = 2;
  a.query_heads = 4;
  a.key_heads = 2;
  a.query_length = 100;
  a.key_length = 77;
  a.head_dim = 128;
  a.softmax_scale = 0.1f;
  a.q.data = a.k.data = a.v.data = a.o.data = nowhere;
  a.q.head_stride = a.o.head_stride = 128;
  a.q.sequence_stride = a.o.sequence_stride = 4 * 128;
  a.q.batch_stride = a.o.batch_stride = 100 * 4 * 128;
  a.k.head_stride = 77 * 128;
  a.k.sequence_stride = 128;
  a.k.batch_stride = 2 * 77 * 128;
  a.v = a.k;
  a.schedule = TWILL_GPU_SCHEDULE_TWILL;
  return a;
}

static void check(int holds, const char* what) {
  if (!holds) {
    printf("FAILED: %s (last text: %s)\n", what, twill_gpu_error_text());
    ++failures;
  }
}

static void refused(const twill_fmha_forward_arguments* a, twill_gpu_status expected,
                    const char* word) {
  const twill_gpu_status status = twill_fmha_forward(a, NULL, 0, NULL);
  if (status != expected || !strstr(twill_gpu_error_text(), word)) {
    printf("FAILED: expected %s and \"%s\", got %s: %s\n", twill_gpu_status_name(expected), word,
           twill_gpu_status_name(status), twill_gpu_error_text());
    ++failures;
  }
}

#define REFUSED(change, status, word)                   \
  do {                                                  \
    twill_fmha_forward_arguments a = right_arguments(); \
    change;                                             \
    refused(&a, status, word);                          \
  } while (0)

int main(void) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1); /* as if there were none, where there is one too */
  refused(NULL, TWILL_GPU_BAD_ARGUMENT, "arguments is null");
  REFUSED(a.type = 7, TWILL_GPU_BAD_TYPE, "type = 7");
  REFUSED(a.mask = 3, TWILL_GPU_BAD_ARGUMENT, "mask = 3");
  REFUSED(a.schedule = 3, TWILL_GPU_BAD_ARGUMENT, "schedule = 3");
  REFUSED(a.batch = 0, TWILL_GPU_BAD_SHAPE, "batch = 0");
  REFUSED(a.query_heads = -4, TWILL_GPU_BAD_SHAPE, "query_heads = -4");
  REFUSED(a.key_heads = 0, TWILL_GPU_BAD_SHAPE, "key_heads = 0");
  REFUSED(a.key_heads = 3, TWILL_GPU_BAD_SHAPE, "not a multiple of key_heads = 3");
  REFUSED(a.query_length = 0, TWILL_GPU_BAD_SHAPE, "query_length = 0");
  REFUSED(a.key_length = 0, TWILL_GPU_BAD_SHAPE, "key_length = 0");
  REFUSED(a.key_length = 0x7fffffff, TWILL_GPU_BAD_SHAPE, "key_length");
  REFUSED(a.head_dim = 96, TWILL_GPU_BAD_SHAPE, "head_dim = 96");
  REFUSED((a.batch = 1 << 20, a.query_heads = 1 << 12), TWILL_GPU_BAD_SHAPE, "more than 2^30");
  REFUSED(a.softmax_scale = -1.f, TWILL_GPU_BAD_ARGUMENT, "softmax_scale");
  REFUSED(a.softmax_scale = (float)NAN, TWILL_GPU_BAD_ARGUMENT, "softmax_scale");
  REFUSED(a.softmax_scale = (float)INFINITY, TWILL_GPU_BAD_ARGUMENT, "softmax_scale");
  REFUSED(a.q.data = NULL, TWILL_GPU_BAD_ARGUMENT, "q.data is null");
  REFUSED(a.o.data = NULL, TWILL_GPU_BAD_ARGUMENT, "o.data is null");
  REFUSED(a.k.data = (char*)a.k.data + 8, TWILL_GPU_BAD_ALIGNMENT, "k.data");
  REFUSED(a.v.sequence_stride = 132, TWILL_GPU_BAD_ALIGNMENT, "v.sequence_stride = 132");
  REFUSED(a.o.head_stride = 1, TWILL_GPU_BAD_ALIGNMENT, "o.head_stride = 1");
  REFUSED(a.q.batch_stride = -8, TWILL_GPU_BAD_SHAPE, "q.batch_stride = -8");
  REFUSED(a.q.batch_stride = 0, TWILL_GPU_BAD_SHAPE, "q.batch_stride = 0");
  REFUSED(a.lse = (float*)((char*)a.q.data + 2), TWILL_GPU_BAD_ALIGNMENT, "lse");

  { /* the query needs no data pointers, but everything else */
    size_t bytes = 99;
    twill_fmha_forward_arguments a = right_arguments();
    a.q.data = a.k.data = a.v.data = a.o.data = NULL;
    check(twill_fmha_forward_workspace(&a, &bytes) == TWILL_GPU_OK && bytes == 0,
          "the workspace of a right call is 0 bytes");
    check(twill_fmha_forward_workspace(&a, NULL) == TWILL_GPU_BAD_ARGUMENT, "bytes is null");
    a.head_dim = 80;
    check(twill_fmha_forward_workspace(&a, &bytes) == TWILL_GPU_BAD_SHAPE, "head_dim = 80");
  }
  check(strcmp(twill_gpu_status_name(TWILL_GPU_BAD_WORKSPACE), "TWILL_GPU_BAD_WORKSPACE") == 0,
        "names of statuses");
  check(strcmp(twill_gpu_status_name((twill_gpu_status)99), "unknown status") == 0,
        "names of other statuses");

  { /* a dimension of length 1 may have any stride, and nothing but the device is wrong then */
    twill_fmha_forward_arguments a = right_arguments();
    a.batch = 1;
    a.q.batch_stride = a.k.batch_stride = a.v.batch_stride = a.o.batch_stride = 3;
    a.q.data = NULL;
    check(twill_fmha_forward(&a, NULL, 0, NULL) == TWILL_GPU_BAD_ARGUMENT, "stride of length 1");
    check(strstr(twill_gpu_error_text(), "q.data") != NULL, "stride of length 1 is not checked");
  }
  { /* a right call on a machine that shows no device */
    twill_fmha_forward_arguments a = right_arguments();
    refused(&a, TWILL_GPU_NO_DEVICE, "asking for");
    check(twill_fmha_forward_workspace(&a, &(size_t){0}) == TWILL_GPU_OK, "no device to query");
  }
  if (failures == 0) puts("all argument checks hold");
  return failures != 0;
}
