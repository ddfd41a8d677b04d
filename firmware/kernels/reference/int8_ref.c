// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reference.h"

// a * b / 2^31, half rounded up.
static int64_t rounded_product(int32_t a, int32_t b) {
    return ((int64_t)a * b + (1 << 30)) >> 31;
}

void reference_gemm_int8_panel(const struct int8_panel *panel, const struct int8_activations *a,
                               unsigned from, unsigned to, float *y, size_t stride) {
    const unsigned blocks = int8_blocks(a->k, a->block);
    for (unsigned row = from; row < to; row++)
        for (unsigned column = 0; column < PANEL_COLUMNS; column++) {
            const int8_t *weights = panel->weights + (size_t)column / 8 * 8 * a->k;
            int64_t sum = 0;
            int32_t dot = 0;
            for (unsigned block = 0; block < blocks; block++) {
                unsigned start = block * a->block, end = start + a->block < a->k ? start + a->block : a->k;
                for (unsigned k = start; k < end; k++)
                    dot += a->values[tile_value(a, row, k)] * weights[k / 4 * 32 + column % 8 * 4 + k % 4];
                sum += rounded_product(dot, a->steps[tile_step(a, row, block)]);
            }
            y[(row - from) * stride + column] = (float)sum * (panel->columns[column] * a->row_scales[row]);
        }
}
