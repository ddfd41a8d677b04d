// SPDX-License-Identifier: Apache-2.0
// A batch of rows times one dequantized panel. A tile keeps the 8 weight vectors of a quad and group in registers and
// walks its rows: per row 8 SDOT by element into one accumulator, one MUL by the scales, the minimum, and two SMLAL
// into the tile's int64 sums.
#include <arm_neon.h>

#include "kernels/linear.h"
#include "kernels/neon.h"

#define MAX_TILE_ROWS 8

ALWAYS_INLINE int32x4_t dot_16(int32x4_t acc, const int8x16x4_t *w, int8x16_t x) {
    acc = vdotq_laneq_s32(acc, w->val[0], x, 0);
    acc = vdotq_laneq_s32(acc, w->val[1], x, 1);
    acc = vdotq_laneq_s32(acc, w->val[2], x, 2);
    return vdotq_laneq_s32(acc, w->val[3], x, 3);
}

ALWAYS_INLINE void store_row(int64x2_t low, int64x2_t high, float32x4_t columns, float row_scale, float *y) {
    float32x4_t sum = vcvt_high_f32_f64(vcvt_f32_f64(vcvtq_f64_s64(low)), vcvtq_f64_s64(high));
    vst1q_f32(y, vmulq_f32(sum, vmulq_n_f32(columns, row_scale)));
}

// `rows` and `kind` are constants at every call.
ALWAYS_INLINE void tile(const unsigned rows, const enum panel_kind kind, const int8_t *w, const int32_t *scales,
                        float32x4_t columns, const struct activations *a, float *y, size_t stride) {
    int64x2_t low[MAX_TILE_ROWS], high[MAX_TILE_ROWS];
        UNROLL
    for (unsigned r = 0; r < rows; r++)
        low[r] = high[r] = vdupq_n_s64(0);
    const unsigned groups = a->k / GROUP;
    for (unsigned g = 0; g < groups; g++) {
        const int8x16x4_t w0 = vld1q_s8_x4(w), w1 = vld1q_s8_x4(w + 64);
        const int32x4_t scale = vld1q_s32(scales), second = vld1q_s32(scales + 4);
        w += 128;
        scales += 8;
        UNROLL
        for (unsigned r = 0; r < rows; r++) {
            const int8_t *x = a->values + (size_t)r * a->k + g * GROUP;
            const struct group_scale *group = a->groups + r * groups + g;
            int32x4_t dot = dot_16(vdupq_n_s32(0), &w0, vld1q_s8(x));
            int32x4_t term, x_scale;
            if (kind == PANEL_TWO_SCALES) {
                int32x4_t second_dot = dot_16(vdupq_n_s32(0), &w1, vld1q_s8(x + 16));
                term = vmlaq_s32(vmulq_s32(dot, scale), second_dot, second);
                x_scale = vld1q_dup_s32(&group->scale);
            } else {
                dot = dot_16(dot, &w1, vld1q_s8(x + 16));
                term = vmulq_s32(dot, scale);
                x_scale = vld1q_dup_s32(&group->scale);
                if (kind == PANEL_SCALE_MINIMUM)
                    term = vmlaq_s32(term, second, vld1q_dup_s32(&group->sum));
            }
            low[r] = vmlal_s32(low[r], vget_low_s32(term), vget_low_s32(x_scale));
            high[r] = vmlal_high_s32(high[r], term, x_scale);
        }
    }
        UNROLL
    for (unsigned r = 0; r < rows; r++)
        store_row(low[r], high[r], columns, a->row_scales[r], y + r * stride);
}

ALWAYS_INLINE void row_block(const unsigned rows, const enum panel_kind kind, const struct panel *panel,
                             const struct activations *a, float *y, size_t stride) {
    UNROLL
    for (unsigned quad = 0; quad < 4; quad++)
        tile(rows, kind, panel->weights + (size_t)quad * 4 * panel->k, panel->scales + quad * (panel->k / GROUP) * 8,
             vld1q_f32(panel->columns + 4 * quad), a, y + 4 * quad, stride);
}

ALWAYS_INLINE void gemm(const enum panel_kind kind, const struct panel *panel, const struct activations *a,
                        unsigned rows, float *y, size_t stride) {
    unsigned row = 0;
    for (; row + 8 <= rows; row += 8) {
        struct activations at = activations_from(a, row);
        row_block(8, kind, panel, &at, y + row * stride, stride);
    }
    if (row + 4 <= rows) {
        struct activations at = activations_from(a, row);
        row_block(4, kind, panel, &at, y + row * stride, stride);
        row += 4;
    }
    for (; row < rows; row++) {
        struct activations at = activations_from(a, row);
        row_block(1, kind, panel, &at, y + row * stride, stride);
    }
}

void gemm_panel(const struct panel *panel, const struct activations *a, unsigned rows, float *y, size_t stride) {
    switch (panel->kind) {
    case PANEL_SCALE:
        gemm(PANEL_SCALE, panel, a, rows, y, stride);
        break;
    case PANEL_SCALE_MINIMUM:
        gemm(PANEL_SCALE_MINIMUM, panel, a, rows, y, stride);
        break;
    case PANEL_TWO_SCALES:
        gemm(PANEL_TWO_SCALES, panel, a, rows, y, stride);
        break;
    }
}
