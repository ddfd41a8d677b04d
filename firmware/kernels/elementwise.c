// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include "kernels/neon.h"

void rms_norm_rows(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                   float epsilon, float *out) {
    for (unsigned row = 0; row < rows; row++, x += stride, out += stride) {
        float32x4_t squares = vdupq_n_f32(0.0f);
        for (unsigned i = 0; i < k; i += 4) {
            float32x4_t v = vld1q_f32(x + i);
            squares = vaddq_f32(squares, vmulq_f32(v, v));
        }
        float sum = (squares[0] + squares[1]) + (squares[2] + squares[3]);
        float32x4_t factor = vdupq_n_f32(1.0f / square_root(sum / (float)k + epsilon));
        for (unsigned i = 0; i < k; i += 4)
            vst1q_f32(out + i, vmulq_f32(vmulq_f32(vld1q_f32(x + i), factor), vld1q_f32(weight + i)));
    }
}

// Four vectors side by side: one alone is a chain of 60 cycles, and the issue queues hold little more than
// one. V slots per vector: 18 for the power, 9 for the division and its sum, 2 products, 2 to store: 15.5
// cycles.
ALWAYS_INLINE void swiglu_16(float *gate, const float *up) {
    float32x4_t g[4], t[4];
    UNROLL
    for (unsigned i = 0; i < 4; i++) {
        g[i] = vld1q_f32(gate + 4 * i);
        t[i] = vmulq_f32(g[i], vdupq_n_f32(LOG2_E));
    }
    exp2_clamped_f32x4x4(t);
    UNROLL
    for (unsigned i = 0; i < 4; i++)
        t[i] = vdivq_f32(g[i], vaddq_f32(vdupq_n_f32(1.0f), t[i]));
    UNROLL
    for (unsigned i = 0; i < 4; i++)
        vst1q_f32(gate + 4 * i, vmulq_f32(t[i], vld1q_f32(up + 4 * i)));
}

void swiglu_rows(float *gate, size_t gate_stride, const float *up, size_t up_stride, unsigned rows,
                 unsigned columns) {
    for (unsigned row = 0; row < rows; row++, gate += gate_stride, up += up_stride)
        for (unsigned i = 0; i < columns; i += 16)
            swiglu_16(gate + i, up + i);
}

void add_rows(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows, unsigned columns,
              float *out) {
    for (unsigned row = 0; row < rows; row++, a += stride, b += b_stride, out += stride)
        for (unsigned i = 0; i < columns; i += 4)
            vst1q_f32(out + i, vaddq_f32(vld1q_f32(a + i), vld1q_f32(b + i)));
}
