// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include "kernels/neon.h"

// elementwise.S. `stride` is in bytes.
void sum_squares(const float *x, uint64_t count, float32x4_t sums[4]);
typedef void scale_rows(const float *x, size_t stride, const float *weight, uint64_t count, float *out,
                        float factor, float second);
extern scale_rows scale_row, scale_two_rows;

static float norm_factor(const float *x, unsigned k, float share, float epsilon) {
    float32x4_t s[4];
    sum_squares(x, k, s);
    float32x4_t lanes = vaddq_f32(vaddq_f32(s[0], s[1]), vaddq_f32(s[2], s[3]));
    float sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    return 1.0f / square_root(sum * share + epsilon);
}

// Two rows share the loads of the weights. A row's factor takes long to come: the rows before are scaled
// meanwhile.
void rms_norm_rows(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                   float epsilon, float *out) {
    const float share = 1.0f / (float)k;
    float first = 0.0f, second = 0.0f, next_first = 0.0f, next_second = 0.0f;
    for (unsigned row = 0; row < rows + 2; row += 2) {
        const float *next = x + row * stride;
        if (row < rows)
            next_first = norm_factor(next, k, share, epsilon);
        if (row + 1 < rows)
            next_second = norm_factor(next + stride, k, share, epsilon);
        if (row >= 2) {
            scale_rows *scale = row - 1 < rows ? scale_two_rows : scale_row;
            scale(next - 2 * stride, stride * sizeof(float), weight, k, out + (row - 2) * stride, first,
                  second);
        }
        first = next_first;
        second = next_second;
    }
}

static float32x4x4_t widen_16(const uint16_t *halves) {
    const float16x8_t low = vreinterpretq_f16_u16(vld1q_u16(halves));
    const float16x8_t high = vreinterpretq_f16_u16(vld1q_u16(halves + 8));
    return (float32x4x4_t){{vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low),
                            vcvt_f32_f16(vget_low_f16(high)), vcvt_high_f32_f16(high)}};
}

void widen(const void *from, size_t count, float *to) {
    const uint16_t *halves = from;
    for (size_t i = 0; i < count; i += 16) {
        const float32x4x4_t wide = widen_16(halves + i);
        UNROLL
        for (unsigned j = 0; j < 4; j++)
            vst1q_f32(to + i + 4 * j, wide.val[j]);
    }
}

void add_rows(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows, unsigned columns,
              float *out) {
    for (unsigned row = 0; row < rows; row++, a += stride, b += b_stride, out += stride)
        for (unsigned i = 0; i < columns; i += 4)
            vst1q_f32(out + i, vaddq_f32(vld1q_f32(a + i), vld1q_f32(b + i)));
}

void add_halves(float *x, size_t stride, const void *halves, size_t halves_stride, unsigned rows,
                unsigned columns) {
    const uint16_t *y = halves;
    for (unsigned row = 0; row < rows; row++, x += stride, y += halves_stride)
        for (unsigned i = 0; i < columns; i += 16) {
            const float32x4x4_t wide = widen_16(y + i);
            UNROLL
            for (unsigned j = 0; j < 4; j++)
                vst1q_f32(x + i + 4 * j, vaddq_f32(vld1q_f32(x + i + 4 * j), wide.val[j]));
        }
}
