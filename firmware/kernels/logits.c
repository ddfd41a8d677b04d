// SPDX-License-Identifier: Apache-2.0
#include "kernels/logits.h"

#include "kernels/log.h"
#include "kernels/neon.h"

// Largest value. A NaN of either sign wins: the integers order it beyond infinity.
static float maximum(const float *x, size_t count) {
    float32x4_t first = vdupq_n_f32(x[0]);
    int32x4_t top = ordered_f32x4(first);
    uint32x4_t magnitude = vreinterpretq_u32_f32(vabsq_f32(first));
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        float32x4_t v = vld1q_f32(x + i);
        top = vmaxq_s32(top, ordered_f32x4(v));
        magnitude = vmaxq_u32(magnitude, vreinterpretq_u32_f32(vabsq_f32(v)));
    }
    int32_t best = vmaxvq_s32(top);
    uint32_t largest = vmaxvq_u32(magnitude);
    for (; i < count; i++) {
        int32_t key = ordered_float(x[i]);
        best = key > best ? key : best;
        uint32_t bits = float_bits(x[i]) & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return largest > INFINITY_BITS ? __builtin_nanf("") : float_from_ordered(best);
}

float log_sum_exp(const float *x, size_t count) {
    float top = maximum(x, count);
    if (top != top)
        return top;
    const float32x4_t tops = vdupq_n_f32(top), log2_e = vdupq_n_f32(LOG2_E);
    float32x4_t sums = vdupq_n_f32(0.0f);
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        sums = vaddq_f32(sums, exp2_negative_f32x4(vmulq_f32(vsubq_f32(tops, vld1q_f32(x + i)), log2_e)));
    float lanes[4];
    vst1q_f32(lanes, sums);
    for (; i < count; i++)
        lanes[i % 4] += exp2_negative((top - x[i]) * LOG2_E);
    return top + natural_log((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
}
