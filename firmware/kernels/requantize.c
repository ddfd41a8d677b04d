// SPDX-License-Identifier: Apache-2.0
#include "kernels/requantize.h"

#include <stdbool.h>

#include "arch/string.h"

// Arguments as in requantize_macros.h.
typedef void requantize_kernel(const uint8_t *packs, int8_t *weights, uint64_t k, const void *smoothing,
                               const int16_t *multipliers);
requantize_kernel requantize_q4_0, requantize_q5_0, requantize_q8_0, requantize_q6_k;
requantize_kernel requantize_q4_1, requantize_q5_1, requantize_q4_k, requantize_q5_k;

void requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned index, unsigned k,
                      const struct requantization *by, struct int8_panel *panel) {
    static const struct {
        requantize_kernel *kernel;
        bool minimum;
    } formats[TENSOR_FORMAT_COUNT] = {
        [TENSOR_FORMAT_Q4_0] = {requantize_q4_0, false}, [TENSOR_FORMAT_Q4_1] = {requantize_q4_1, true},
        [TENSOR_FORMAT_Q5_0] = {requantize_q5_0, false}, [TENSOR_FORMAT_Q5_1] = {requantize_q5_1, true},
        [TENSOR_FORMAT_Q8_0] = {requantize_q8_0, false}, [TENSOR_FORMAT_Q4_K] = {requantize_q4_k, true},
        [TENSOR_FORMAT_Q5_K] = {requantize_q5_k, true},  [TENSOR_FORMAT_Q6_K] = {requantize_q6_k, false},
    };
    const void *smoothing = formats[format].minimum ? (const void *)by->products : by->smoothing;
    formats[format].kernel(packs, panel->weights, k, smoothing, by->multipliers + index * PANEL_COLUMNS);
    panel->k = k;
    memcpy(panel->columns, by->columns + index * PANEL_COLUMNS, sizeof panel->columns);
}
