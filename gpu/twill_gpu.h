/* Twill's GPU kernels: attention on Hopper (sm_90a). Plain C; the library needs the CUDA runtime
 * and, to launch, the driver of the machine it runs on.
 *
 * Every function checks its arguments first, then the device; what is wrong comes back as a status
 * and, through twill_gpu_error_text, as a sentence. Nothing is launched then. Launches are
 * asynchronous on the given stream. No global state but the calling thread's last error text; all
 * functions may be called from any thread. */
#ifndef TWILL_GPU_H
#define TWILL_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TWILL_GPU_API __attribute__((visibility("default")))
#else
#define TWILL_GPU_API
#endif

typedef enum {
  TWILL_GPU_OK = 0,
  TWILL_GPU_BAD_ARGUMENT =
      1,                   /* a null pointer, a length or a scale out of range, an unknown value */
  TWILL_GPU_BAD_SHAPE = 2, /* shapes that no kernel here has, or that do not go together */
  TWILL_GPU_BAD_ALIGNMENT = 3, /* addresses or strides that TMA cannot read */
  TWILL_GPU_BAD_TYPE = 4,      /* an element type that no kernel here has */
  TWILL_GPU_BAD_WORKSPACE = 5, /* null or smaller than the query says */
  TWILL_GPU_NO_DEVICE = 6,     /* no driver, or no device */
  TWILL_GPU_BAD_DEVICE = 7,    /* the current device is not of compute capability 9.0 */
  TWILL_GPU_CUDA_ERROR = 8     /* the CUDA runtime or driver refused; the text says what */
} twill_gpu_status;

/* The name of a status, "TWILL_GPU_OK"; "unknown status" for other values. */
TWILL_GPU_API const char* twill_gpu_status_name(twill_gpu_status status);

/* What was wrong in this thread's last call that did not return TWILL_GPU_OK, for a reader: the
 * argument, its value, and the rule. Valid until the thread's next call. Never null. */
TWILL_GPU_API const char* twill_gpu_error_text(void);

typedef enum { TWILL_GPU_F16 = 0, TWILL_GPU_BF16 = 1 } twill_gpu_type;

/* A tensor of [batch][sequence][head][head_dim] elements on the device, the last contiguous.
 * Strides are in elements and may be in any order: PyTorch's BSHD (heads innermost) and BHSD
 * (sequence innermost) both fit. The address is a multiple of 16 bytes and every stride of 8
 * elements; the stride of a dimension of length 1 does not matter. */
typedef struct {
  void* data;
  int64_t batch_stride;
  int64_t sequence_stride;
  int64_t head_stride;
} twill_gpu_tensor;

/* Which keys a query row sees: all; those up to its own index (PyTorch's is_causal); those up to
 * its index counted from the last key (FlashAttention's: the last row sees all). A row that sees
 * none gets O = 0 and a log-sum-exp of -infinity. */
typedef enum {
  TWILL_GPU_MASK_NONE = 0,
  TWILL_GPU_MASK_CAUSAL_TOP_LEFT = 1,
  TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT = 2
} twill_gpu_mask;

/* The schedule that the kernel realises: the variants of Figure 7 of Soi et al. (2025), and one
 * more. */
typedef enum {
  TWILL_GPU_SCHEDULE_DEFAULT = 0, /* CUDA-Default: in order */
  TWILL_GPU_SCHEDULE_SWP = 1,     /* Twill-SWP: software pipeline only */
  TWILL_GPU_SCHEDULE_TWILL = 2,   /* Twill: the joint schedule */
  TWILL_GPU_SCHEDULE_OVERLAP = 3 /* Twill-Overlap: as fast in the model, PV under the own softmax */
} twill_gpu_schedule;

typedef struct {
  int32_t type;             /* a twill_gpu_type, of q, k, v and o */
  int32_t batch;            /* >= 1 */
  int32_t query_heads;      /* a multiple of key_heads */
  int32_t key_heads;        /* of k and v; fewer than query_heads: grouped-query attention */
  int32_t query_length;     /* >= 1 */
  int32_t key_length;       /* >= 1 */
  int32_t head_dim;         /* 64, 128 or 256 */
  int32_t mask;             /* a twill_gpu_mask */
  float softmax_scale;      /* of Q K^T; finite and > 0. 0 stands for 1 / sqrt(head_dim) */
  twill_gpu_tensor q, k, v; /* read */
  twill_gpu_tensor o;       /* written: softmax(scale Q K^T) V */
  float* lse;               /* written, may be null: [batch][query_heads][query_length] of fp32, the
                               natural logarithm of the sum of exp(scale Q K^T), a multiple of 4 */
  int32_t schedule;         /* a twill_gpu_schedule */
  int32_t no_multicast;     /* not 0: never share K and V between two blocks of a cluster */
} twill_fmha_forward_arguments;

/* The workspace of a launch with these arguments, in bytes, to *bytes: 0 for every forward launch.
 * Checks the arguments as the launch does (pointers to data may still be null). */
TWILL_GPU_API twill_gpu_status
twill_fmha_forward_workspace(const twill_fmha_forward_arguments* arguments, size_t* bytes);

/* Attention forward on the current device, on a stream (a cudaStream_t; null is the default
 * stream). `workspace` is device memory of at least the queried size, null if that is 0. */
TWILL_GPU_API twill_gpu_status twill_fmha_forward(const twill_fmha_forward_arguments* arguments,
                                                  void* workspace, size_t workspace_bytes,
                                                  void* stream);

/* The schedule that the backward kernel realises. */
typedef enum {
  TWILL_GPU_BACKWARD_DEFAULT = 0, /* CUDA-Default: in order, tiles of 64 query rows */
  TWILL_GPU_BACKWARD_TWILL = 1,   /* Twill: the solver's, tiles of 64 query rows */
  TWILL_GPU_BACKWARD_TWILL80 = 2  /* Twill-80: the solver's, tiles of 80 query rows */
} twill_gpu_backward_schedule;

typedef struct {
  int32_t type;  /* a twill_gpu_type, of all tensors */
  int32_t batch; /* as for the forward pass, and so are the next */
  int32_t query_heads;
  int32_t key_heads; /* dk and dv are summed over the query heads of a group */
  int32_t query_length;
  int32_t key_length;
  int32_t head_dim;                 /* 64 or 128 */
  int32_t mask;                     /* a twill_gpu_mask */
  float softmax_scale;              /* 0 stands for 1 / sqrt(head_dim) */
  twill_gpu_tensor q, k, v, o, d_o; /* read: the forward pass's, and the gradient of o */
  const float* lse;                 /* read: the forward pass's */
  twill_gpu_tensor dq, dk, dv;      /* written: the gradients of q, k and v */
  int32_t schedule;                 /* a twill_gpu_backward_schedule */
  int32_t deterministic; /* not 0: dq is summed in a fixed order, which takes longer. dk and
                            dv always are */
} twill_fmha_backward_arguments;

/* The workspace of a launch with these arguments, in bytes, to *bytes. Checks the arguments as the
 * launch does (pointers to data may still be null). */
TWILL_GPU_API twill_gpu_status
twill_fmha_backward_workspace(const twill_fmha_backward_arguments* arguments, size_t* bytes);

/* Attention backward on the current device, on a stream: three launches. `workspace` is device
 * memory of at least the queried size, a multiple of 16 bytes, the call's own until the stream is
 * through. */
TWILL_GPU_API twill_gpu_status twill_fmha_backward(const twill_fmha_backward_arguments* arguments,
                                                   void* workspace, size_t workspace_bytes,
                                                   void* stream);

#ifdef __cplusplus
}
#endif

#endif
