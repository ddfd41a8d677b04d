// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

// Arguments as in gemv_macros.h.
typedef void gemv_kernel(const uint8_t *packs, const int8_t *values, const struct group_scale *groups,
                         uint64_t k, float *y, const int32_t *low_sums, uint64_t panels, float row_scale);

gemv_kernel gemv_q4_0, gemv_q4_1, gemv_q5_0, gemv_q5_1, gemv_q8_0, gemv_q4_k, gemv_q5_k, gemv_q6_k;

void gemv_panels(enum tensor_format format, const uint8_t *packs, unsigned panels,
                 const struct activations *a, float *y) {
    static gemv_kernel *const kernels[TENSOR_FORMAT_COUNT] = {
        [TENSOR_FORMAT_Q4_0] = gemv_q4_0, [TENSOR_FORMAT_Q4_1] = gemv_q4_1, [TENSOR_FORMAT_Q5_0] = gemv_q5_0,
        [TENSOR_FORMAT_Q5_1] = gemv_q5_1, [TENSOR_FORMAT_Q8_0] = gemv_q8_0, [TENSOR_FORMAT_Q4_K] = gemv_q4_k,
        [TENSOR_FORMAT_Q5_K] = gemv_q5_k, [TENSOR_FORMAT_Q6_K] = gemv_q6_k,
    };
    kernels[format](packs, a->values, a->groups, a->k, y, a->low_sums, panels, a->row_scales[0]);
}
