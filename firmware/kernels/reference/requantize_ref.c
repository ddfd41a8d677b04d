// SPDX-License-Identifier: Apache-2.0
// Requantization from its definitions in kernels/requantize.h and requantize_table.h, one weight at a time.
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

// Where the weight of a column and k is in an int8 panel.
static size_t int8_panel_offset(size_t k, unsigned column, size_t i) {
    return column / INT8_COLUMNS * INT8_COLUMNS * k + i / 4 * 32 + column % INT8_COLUMNS * 4 + i % 4;
}

void reference_requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned index, unsigned k,
                                const struct requantization *by, struct int8_panel *panel) {
    int has_minimum = format == TENSOR_FORMAT_Q4_1 || format == TENSOR_FORMAT_Q5_1 ||
                      format == TENSOR_FORMAT_Q4_K || format == TENSOR_FORMAT_Q5_K;
    panel->k = k;
    for (unsigned column = 0; column < PANEL_COLUMNS; column++) {
        unsigned row = index * PANEL_COLUMNS + column;
        for (unsigned i = 0; i < k; i++) {
            panel->weights[int8_panel_offset(k, column, i)] =
                requantized(reference_weight(format, packs, column, i), has_minimum, by->multipliers[row],
                            by->smoothing[i], by->products[i]);
        }
        panel->columns[column] = by->columns[row];
    }
}

void reference_requantize_table_q4_1(const uint8_t *packs, int8_t *weights, uint64_t k,
                                     const int16_t *multipliers) {
    for (unsigned column = 0; column < PANEL_COLUMNS; column++) {
        for (unsigned i = 0; i < k; i++) {
            struct stored_weight w = reference_weight(TENSOR_FORMAT_Q4_1, packs, column, i);
            int32_t scale = rounded_product(w.scale, multipliers[column]);
            int32_t minimum = rounded_product(w.minimum, multipliers[column]);
            uint16_t entry = (uint16_t)(minimum + 128 + w.q * scale);
            weights[int8_panel_offset(k, column, i)] = (int8_t)(entry >> 8);
        }
    }
}
