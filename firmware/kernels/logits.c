// SPDX-License-Identifier: Apache-2.0
#include "kernels/logits.h"

#include "kernels/log.h"
#include "kernels/neon.h"

// Largest value, or a NaN when there is one.
static float largest(const float *x, size_t count) {
    struct float_maximum top = NO_MAXIMUM;
    uint32x4_t magnitudes = vdupq_n_u32(0);
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        float32x4_t v = vld1q_f32(x + i);
        maximum_add(&top, v);
        magnitudes = vmaxq_u32(magnitudes, vreinterpretq_u32_f32(vabsq_f32(v)));
    }
    for (; i < count; i++) { // the last ones in all lanes
        maximum_add(&top, vdupq_n_f32(x[i]));
        magnitudes = vmaxq_u32(magnitudes, vreinterpretq_u32_f32(vabsq_f32(vdupq_n_f32(x[i]))));
    }
    return vmaxvq_u32(magnitudes) > INFINITY_BITS ? __builtin_nanf("") : maximum_of(&top);
}

float log_sum_exp(const float *x, size_t count) {
    float top = largest(x, count);
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

bool logits_above(const float *x, int32_t key) {
    int32x4_t top = vdupq_n_s32(INT32_MIN);
    UNROLL
    for (unsigned i = 0; i < LOGITS_RUN; i += 4)
        top = vmaxq_s32(top, ordered_f32x4(vld1q_f32(x + i)));
    return vmaxvq_s32(top) > key;
}
