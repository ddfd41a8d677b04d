// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"
#include "kernels/pack.h"
#include "kernels/reference/reference.h"

void reference_gemv_panels(enum tensor_format format, const uint8_t *packs, unsigned panels,
                           const struct activations *a, float *y) {
    for (unsigned n = 0; n < panels * PANEL_COLUMNS; n++) {
        const uint8_t *panel = packs + n / PANEL_COLUMNS * panel_bytes(format, a->k);
        unsigned column = n % PANEL_COLUMNS;
        int64_t sum = 0;
        for (unsigned k = 0; k < a->k; k++) {
            struct stored_weight w = reference_weight(format, panel, column, k);
            sum += (int64_t)a->groups[k / GROUP].scale * a->values[k] * (w.scale * w.q + w.minimum);
        }
        y[n] = (float)(double)sum * (reference_column_scale(format, panel, column, a->k) * a->row_scales[0]);
    }
}

void reference_dequantize_panel(enum tensor_format format, const uint8_t *packs, unsigned k,
                                struct panel *panel) {
    panel->k = k;
    panel->kind = PANEL_SCALE;
    if (format == TENSOR_FORMAT_Q6_K)
        panel->kind = PANEL_TWO_SCALES;
    else if (format == TENSOR_FORMAT_Q4_1 || format == TENSOR_FORMAT_Q5_1 || format == TENSOR_FORMAT_Q4_K ||
             format == TENSOR_FORMAT_Q5_K)
        panel->kind = PANEL_SCALE_MINIMUM;
    for (unsigned column = 0; column < PANEL_COLUMNS; column++) {
        unsigned quad = column / 4, lane = column % 4;
        for (unsigned i = 0; i < k; i++) {
            struct stored_weight w = reference_weight(format, packs, column, i);
            panel->weights[(size_t)quad * 4 * k + i / 4 * 16 + lane * 4 + i % 4] = (int8_t)w.q;
            int32_t *scales = panel->scales + ((size_t)quad * (k / GROUP) + i / GROUP) * 8 + lane;
            if (panel->kind == PANEL_TWO_SCALES)
                scales[i % GROUP / 16 * 4] = w.scale;
            else
                scales[0] = w.scale;
            if (panel->kind == PANEL_SCALE_MINIMUM)
                scales[4] = w.minimum;
        }
        panel->columns[column] = reference_column_scale(format, packs, column, k);
    }
}

void reference_gemm_panel(const struct panel *panel, const struct activations *a, unsigned rows, float *y,
                          size_t stride) {
    for (unsigned row = 0; row < rows; row++) {
        struct activations x = activations_from(a, row);
        for (unsigned column = 0; column < PANEL_COLUMNS; column++) {
            unsigned quad = column / 4, lane = column % 4;
            int64_t sum = 0;
            for (unsigned k = 0; k < a->k; k++) {
                const int32_t *scales =
                    panel->scales + ((size_t)quad * (a->k / GROUP) + k / GROUP) * 8 + lane;
                int32_t scale = panel->kind == PANEL_TWO_SCALES ? scales[k % GROUP / 16 * 4] : scales[0];
                int32_t minimum = panel->kind == PANEL_SCALE_MINIMUM ? scales[4] : 0;
                int32_t q = panel->weights[(size_t)quad * 4 * a->k + k / 4 * 16 + lane * 4 + k % 4];
                sum += (int64_t)x.groups[k / GROUP].scale * x.values[k] * (scale * q + minimum);
            }
            y[row * stride + column] = (float)(double)sum * (panel->columns[column] * x.row_scales[0]);
        }
    }
}
