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

static int8_t requantized(struct stored_weight w, int has_minimum, int32_t c, int32_t smoothing,
                          int32_t product) {
    if (!has_minimum)
        return (int8_t)saturated(rounded_product(w.q * smoothing, rounded_product(8 * w.scale, c)), INT8_MAX);
    int32_t a = rounded_product(w.scale, c);
    a = a < 0 ? 0 : a > UINT8_MAX ? UINT8_MAX : a;
    int32_t b = rounded_product(saturated(w.minimum + 8 * w.scale, INT16_MAX), c) - 8 * a;
    return (int8_t)saturated(rounded_product(w.q * a + b, product), INT8_MAX);
}

void reference_requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned index, unsigned k,
                                const struct requantization *by, struct int8_panel *panel) {
    int has_minimum = format == TENSOR_FORMAT_Q4_1 || format == TENSOR_FORMAT_Q5_1 ||
                      format == TENSOR_FORMAT_Q4_K || format == TENSOR_FORMAT_Q5_K;
    panel->k = k;
    for (unsigned column = 0; column < PANEL_COLUMNS; column++) {
        unsigned row = index * PANEL_COLUMNS + column;
        for (unsigned i = 0; i < k; i++) {
            size_t at = (size_t)(column / 8) * 8 * k + i / 4 * 32 + column % 8 * 4 + i % 4;
            panel->weights[at] = requantized(reference_weight(format, packs, column, i), has_minimum,
                                             by->multipliers[row], by->smoothing[i], by->products[i]);
        }
        panel->columns[column] = by->columns[row];
    }
}
