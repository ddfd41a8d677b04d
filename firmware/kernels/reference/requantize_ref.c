// SPDX-License-Identifier: Apache-2.0
// Requantization from its definition in kernels/requantize.h, one weight at a time.
#include "kernels/reference/reference.h"

static int32_t saturated(int32_t value, int32_t most) {
    return value > most ? most : value < -most - 1 ? -most - 1 : value;
}

// round(a * b / 2^15), halves up: an arithmetic shift, spelled for any sign.
static int32_t rounded_product(int32_t a, int32_t b) {
    int32_t biased = a * b + (1 << 14), unit = 1 << 15;
    return biased >= 0 ? biased / unit : -((-biased + unit - 1) / unit);
}

static int8_t requantized(struct stored_weight w, int has_minimum, int32_t c, int32_t smoothing) {
    int32_t a = saturated(rounded_product(w.scale, c), INT8_MAX), b = 0;
    if (has_minimum)
        b = saturated(rounded_product(saturated(w.minimum + 8 * w.scale, INT16_MAX), c) - 8 * a, INT16_MAX);
    int16_t t = (int16_t)(w.q * a + b);
    return (int8_t)saturated(rounded_product(t, smoothing), INT8_MAX);
}

void reference_requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned k,
                                const struct requantization *by, struct int8_panel *panel) {
    int has_minimum = format == TENSOR_FORMAT_Q4_1 || format == TENSOR_FORMAT_Q5_1 ||
                      format == TENSOR_FORMAT_Q4_K || format == TENSOR_FORMAT_Q5_K;
    panel->k = k;
    for (unsigned column = 0; column < PANEL_COLUMNS; column++) {
        int32_t c = by->multipliers[column];
        for (unsigned i = 0; i < k; i++) {
            size_t at = (size_t)(column / 8) * 8 * k + i / 4 * 32 + column % 8 * 4 + i % 4;
            panel->weights[at] =
                requantized(reference_weight(format, packs, column, i), has_minimum, c, by->smoothing[i]);
        }
        panel->columns[column] = reference_column_scale(format, packs, column, k) * (32768.0f / (float)c);
    }
}
