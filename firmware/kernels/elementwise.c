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

void swiglu(float *gate, const float *up, size_t count) {
    const float32x4_t one = vdupq_n_f32(1.0f), log2_e = vdupq_n_f32(LOG2_E);
    for (size_t i = 0; i < count; i += 4) {
        float32x4_t g = vld1q_f32(gate + i);
        float32x4_t t = exp2_negative_f32x4(vabsq_f32(vmulq_f32(g, log2_e)));
        uint32x4_t negative = vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_f32(g), 31));
        float32x4_t sigmoid = vdivq_f32(vbslq_f32(negative, t, one), vaddq_f32(one, t));
        vst1q_f32(gate + i, vmulq_f32(vmulq_f32(g, sigmoid), vld1q_f32(up + i)));
    }
}

void add(const float *a, const float *b, size_t count, float *out) {
    for (size_t i = 0; i < count; i += 4)
        vst1q_f32(out + i, vaddq_f32(vld1q_f32(a + i), vld1q_f32(b + i)));
}
