// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <stdbool.h>

#include "kernels/neon.h"

// out = x * factor * weight, and the sum of squares of `next` in four lanes: a chain of additions, whose gaps
// the products of another row fill. `scale` and `sum` say which of them is wanted.
ALWAYS_INLINE float32x4_t scale_and_sum(const float *x, float32x4_t factor, const float *weight, float *out,
                                        const float *next, unsigned k, const bool scale, const bool sum) {
    float32x4_t squares = vdupq_n_f32(0.0f);
    for (unsigned i = 0; i < k; i += 4) {
        if (sum) {
            float32x4_t v = vld1q_f32(next + i);
            squares = vaddq_f32(squares, vmulq_f32(v, v));
        }
        if (scale)
            vst1q_f32(out + i, vmulq_f32(vmulq_f32(vld1q_f32(x + i), factor), vld1q_f32(weight + i)));
    }
    return squares;
}

void rms_norm_rows(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                   float epsilon, float *out) {
    const float32x4_t none = vdupq_n_f32(0.0f);
    float32x4_t squares = scale_and_sum(NULL, none, NULL, NULL, x, k, false, true);
    for (unsigned row = 0; row < rows; row++, x += stride, out += stride) {
        float sum = (squares[0] + squares[1]) + (squares[2] + squares[3]);
        float32x4_t factor = vdupq_n_f32(1.0f / square_root(sum / (float)k + epsilon));
        squares = row + 1 < rows ? scale_and_sum(x, factor, weight, out, x + stride, k, true, true)
                                 : scale_and_sum(x, factor, weight, out, NULL, k, true, false);
    }
}

// Side by side from one base register, so that the compiler stores pairs: they take half as many V slots.
ALWAYS_INLINE void store_16(float *to, const float32x4_t from[4]) {
    __asm__("" : "+r"(to));
    UNROLL
    for (unsigned i = 0; i < 4; i++)
        vst1q_f32(to + 4 * i, from[i]);
}

// Sixteen columns on their way: g and 1 + 2^-(g log2 e).
struct sixteen {
    float32x4_t gate[4], divisor[4];
};

// Four vectors side by side: one alone is a chain of 60 cycles, and the issue queues hold little more than
// one.
ALWAYS_INLINE struct sixteen divisors_of(const float *gate) {
    struct sixteen s;
    UNROLL
    for (unsigned i = 0; i < 4; i++) {
        s.gate[i] = vld1q_f32(gate + 4 * i);
        s.divisor[i] = vmulq_f32(s.gate[i], vdupq_n_f32(LOG2_E));
    }
    exp2_clamped_f32x4x4(s.divisor);
    UNROLL
    for (unsigned i = 0; i < 4; i++)
        s.divisor[i] = vaddq_f32(vdupq_n_f32(1.0f), s.divisor[i]);
    return s;
}

// V slots per vector: 18 for the power, 9 for the division (V0) and its sum, 2 products, 1 to store: 15
// cycles. Columns are divided while the power of the next ones is computed, which V1 can do alone.
void swiglu_rows(float *gate, size_t gate_stride, const float *up, size_t up_stride, unsigned rows,
                 unsigned columns) {
    struct sixteen next = divisors_of(gate);
    for (unsigned row = 0; row < rows; row++, gate += gate_stride, up += up_stride)
        for (unsigned i = 0; i < columns; i += 16) {
            const bool last_column = i + 16 == columns, last = last_column && row + 1 == rows;
            float32x4_t silu[4];
            UNROLL
            for (unsigned j = 0; j < 4; j++)
                silu[j] = vdivq_f32(next.gate[j], next.divisor[j]);
            next = divisors_of(last ? gate + i : last_column ? gate + gate_stride : gate + i + 16);
            UNROLL
            for (unsigned j = 0; j < 4; j++)
                silu[j] = vmulq_f32(silu[j], vld1q_f32(up + i + 4 * j));
            store_16(gate + i, silu);
        }
}

void add_rows(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows, unsigned columns,
              float *out) {
    for (unsigned row = 0; row < rows; row++, a += stride, b += b_stride, out += stride)
        for (unsigned i = 0; i < columns; i += 16) {
            float32x4_t sum[4];
            UNROLL
            for (unsigned j = 0; j < 16; j += 4)
                sum[j / 4] = vaddq_f32(vld1q_f32(a + i + j), vld1q_f32(b + i + j));
            store_16(out + i, sum);
        }
}
