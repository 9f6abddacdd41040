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

static twill_fmha_backward_arguments right_backward_arguments(void) {
  const twill_fmha_forward_arguments f = right_arguments();
  twill_fmha_backward_arguments a;
  memset(&a, 0, sizeof a);
  a.type = f.type;
  a.batch = f.batch;
  a.query_heads = f.query_heads;
  a.key_heads = f.key_heads;
  a.query_length = f.query_length;
  a.key_length = f.key_length;
  a.head_dim = f.head_dim;
  a.softmax_scale = f.softmax_scale;
  a.q = a.o = a.d_o = a.dq = f.q;
  a.k = a.v = a.dk = a.dv = f.k;
  a.lse = (const float*)f.q.data;
  a.schedule = TWILL_GPU_BACKWARD_TWILL80;
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

static void refused_backward(const twill_fmha_backward_arguments* a, void* workspace, size_t bytes,
                             twill_gpu_status expected, const char* word) {
  const twill_gpu_status status = twill_fmha_backward(a, workspace, bytes, NULL);
  if (status != expected || !strstr(twill_gpu_error_text(), word)) {
    printf("FAILED: backward: expected %s and \"%s\", got %s: %s\n",
           twill_gpu_status_name(expected), word, twill_gpu_status_name(status),
           twill_gpu_error_text());
    ++failures;
  }
}

#define REFUSED_BACKWARD(change, status, word)                                \
  do {                                                                        \
    twill_fmha_backward_arguments a = right_backward_arguments();             \
    change;                                                                   \
    refused_backward(&a, (void*)(size_t)4096, (size_t)1 << 40, status, word); \
  } while (0)

static void backward(void) {
  refused_backward(NULL, NULL, 0, TWILL_GPU_BAD_ARGUMENT, "arguments is null");
  REFUSED_BACKWARD(a.type = 2, TWILL_GPU_BAD_TYPE, "type = 2");
  REFUSED_BACKWARD(a.mask = -1, TWILL_GPU_BAD_ARGUMENT, "mask = -1");
  REFUSED_BACKWARD(a.schedule = 3, TWILL_GPU_BAD_ARGUMENT, "twill_gpu_backward_schedule");
  REFUSED_BACKWARD(a.schedule = -1, TWILL_GPU_BAD_ARGUMENT, "schedule = -1");
  REFUSED_BACKWARD(a.batch = 0, TWILL_GPU_BAD_SHAPE, "batch = 0");
  REFUSED_BACKWARD(a.key_heads = 3, TWILL_GPU_BAD_SHAPE, "not a multiple of key_heads = 3");
  REFUSED_BACKWARD(a.query_length = -5, TWILL_GPU_BAD_SHAPE, "query_length = -5");
  REFUSED_BACKWARD(a.key_length = 0, TWILL_GPU_BAD_SHAPE, "key_length = 0");
  REFUSED_BACKWARD(a.head_dim = 256, TWILL_GPU_BAD_SHAPE, "head_dim = 256");
  REFUSED_BACKWARD((a.batch = 1 << 20, a.query_heads = 1 << 12), TWILL_GPU_BAD_SHAPE,
                   "more than 2^30");
  REFUSED_BACKWARD(
      (a.query_length = 1, a.key_length = 1 << 30, a.key_heads = 1 << 8, a.query_heads = 1 << 8),
      TWILL_GPU_BAD_SHAPE, "key_length / 128 is more than 2^30");
  REFUSED_BACKWARD(a.softmax_scale = -1.f, TWILL_GPU_BAD_ARGUMENT, "softmax_scale");
  REFUSED_BACKWARD(a.d_o.data = NULL, TWILL_GPU_BAD_ARGUMENT, "d_o.data is null");
  REFUSED_BACKWARD(a.dv.data = NULL, TWILL_GPU_BAD_ARGUMENT, "dv.data is null");
  REFUSED_BACKWARD(a.dq.data = (char*)a.dq.data + 8, TWILL_GPU_BAD_ALIGNMENT, "dq.data");
  REFUSED_BACKWARD(a.dk.sequence_stride = 132, TWILL_GPU_BAD_ALIGNMENT, "dk.sequence_stride = 132");
  REFUSED_BACKWARD(a.o.batch_stride = 0, TWILL_GPU_BAD_SHAPE, "o.batch_stride = 0");
  REFUSED_BACKWARD(a.lse = NULL, TWILL_GPU_BAD_ARGUMENT, "lse is null");
  REFUSED_BACKWARD(a.lse = (const float*)((char*)a.q.data + 2), TWILL_GPU_BAD_ALIGNMENT, "lse");
  REFUSED_BACKWARD((void)0, TWILL_GPU_NO_DEVICE, "asking for");
  {
    twill_fmha_backward_arguments a = right_backward_arguments();
    void* const space = (void*)(size_t)4096;
    size_t bytes = 0, more = 0;
    a.q.data = a.dq.data = NULL;
    a.lse = NULL;
    check(twill_fmha_backward_workspace(&a, &bytes) == TWILL_GPU_OK, "the workspace's size");
    /* 2 batches, 4 heads, 2 tiles of 80 rows: two fp32 a row, and dQ */
    check(bytes == 2 * 4 * 2 * 80 * (2 + 128) * 4, "the workspace is rows and dQ in fp32");
    a.deterministic = 1;
    check(twill_fmha_backward_workspace(&a, &more) == TWILL_GPU_OK && more > bytes,
          "counters for a fixed order");
    check(twill_fmha_backward_workspace(&a, NULL) == TWILL_GPU_BAD_ARGUMENT, "bytes is null");
    a.head_dim = 80;
    check(twill_fmha_backward_workspace(&a, &bytes) == TWILL_GPU_BAD_SHAPE, "head_dim = 80");
    a = right_backward_arguments();
    refused_backward(&a, NULL, bytes, TWILL_GPU_BAD_WORKSPACE, "workspace is null");
    refused_backward(&a, space, bytes - 1, TWILL_GPU_BAD_WORKSPACE, "workspace_bytes");
    refused_backward(&a, (char*)space + 4, bytes, TWILL_GPU_BAD_ALIGNMENT, "workspace");
    refused_backward(&a, space, bytes, TWILL_GPU_NO_DEVICE, "asking for");
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
  REFUSED(a.schedule = 4, TWILL_GPU_BAD_ARGUMENT, "schedule = 4");
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
  backward();
  if (failures == 0) puts("all argument checks hold");
  return failures != 0;
}
