// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <stdbool.h>

#include "kernels/neon.h"

// `rows` at most 4, side by side: a row's sum is one chain of additions.
ALWAYS_INLINE void norm_rows(const float *x, size_t stride, const unsigned rows, unsigned k,
                             const float *weight, float epsilon, float *out) {
    float32x4_t squares[4], factor[4];
    UNROLL
    for (unsigned row = 0; row < rows; row++)
        squares[row] = vdupq_n_f32(0.0f);
    for (unsigned i = 0; i < k; i += 4)
        UNROLL
    for (unsigned row = 0; row < rows; row++) {
        float32x4_t v = vld1q_f32(x + row * stride + i);
        squares[row] = vaddq_f32(squares[row], vmulq_f32(v, v));
    }
    UNROLL
    for (unsigned row = 0; row < rows; row++) {
        float sum = (squares[row][0] + squares[row][1]) + (squares[row][2] + squares[row][3]);
        factor[row] = vdupq_n_f32(1.0f / square_root(sum / (float)k + epsilon));
    }
    for (unsigned i = 0; i < k; i += 4) {
        const float32x4_t w = vld1q_f32(weight + i);
        UNROLL
        for (unsigned row = 0; row < rows; row++) {
            const size_t at = row * stride + i;
            vst1q_f32(out + at, vmulq_f32(vmulq_f32(vld1q_f32(x + at), factor[row]), w));
        }
    }
}

void rms_norm_rows(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                   float epsilon, float *out) {
    for (; rows >= 4; rows -= 4, x += 4 * stride, out += 4 * stride)
        norm_rows(x, stride, 4, k, weight, epsilon, out);
    for (; rows > 0; rows--, x += stride, out += stride)
        norm_rows(x, stride, 1, k, weight, epsilon, out);
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

// V slots per vector: 18 for the power, 9 for the division (V0) and its sum, 2 products, 2 to store: 15.5
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
                vst1q_f32(gate + i + 4 * j, vmulq_f32(silu[j], vld1q_f32(up + i + 4 * j)));
        }
}

void add_rows(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows, unsigned columns,
              float *out) {
    for (unsigned row = 0; row < rows; row++, a += stride, b += b_stride, out += stride)
        for (unsigned i = 0; i < columns; i += 4)
            vst1q_f32(out + i, vaddq_f32(vld1q_f32(a + i), vld1q_f32(b + i)));
}
