// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope.h"

#include "arch/string.h"
#include "kernels/activations.h"
#include "kernels/neon.h"
#include "kernels/rope_constants.h"

// 2^-32 turns within an eighth of a turn of zero, to radians, to sine and cosine.
ALWAYS_INLINE void sine_cosine(float32x4_t x, float32x4_t *sine, float32x4_t *cosine) {
    float32x4_t x2 = vmulq_f32(x, x);
    float32x4_t s = vaddq_f32(vmulq_f32(x2, vdupq_n_f32(SINE_C7)), vdupq_n_f32(SINE_C5));
    s = vaddq_f32(vmulq_f32(s, x2), vdupq_n_f32(SINE_C3));
    *sine = vaddq_f32(vmulq_f32(vmulq_f32(s, x2), x), x);
    float32x4_t c = vaddq_f32(vmulq_f32(x2, vdupq_n_f32(COSINE_C8)), vdupq_n_f32(COSINE_C6));
    c = vaddq_f32(vmulq_f32(c, x2), vdupq_n_f32(COSINE_C4));
    c = vaddq_f32(vmulq_f32(c, x2), vdupq_n_f32(-0.5f));
    *cosine = vaddq_f32(vmulq_f32(c, x2), vdupq_n_f32(1.0f));
}

ALWAYS_INLINE float32x4_t flip(float32x4_t x, uint32x4_t sign) {
    return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(x), sign));
}

void rope_row(const uint32_t *step, unsigned pairs, uint32_t position, float *row) {
    const uint32x4_t sign = vdupq_n_u32(0x80000000u);
    for (unsigned i = 0; i < pairs; i += 4) {
        uint32x4_t phase = vmulq_u32(vld1q_u32(step + i), vdupq_n_u32(position));
        uint32x4_t quadrant = vshrq_n_u32(vaddq_u32(phase, vdupq_n_u32(1u << 29)), 30);
        int32x4_t rest = vreinterpretq_s32_u32(vsubq_u32(phase, vshlq_n_u32(quadrant, 30)));
        float32x4_t s, c;
        sine_cosine(vmulq_f32(vcvtq_f32_s32(rest), vdupq_n_f32(RADIANS_PER_UNIT)), &s, &c);
        // A quarter turn: (c, s) -> (-s, c); a half turn negates both.
        uint32x4_t odd = vtstq_u32(quadrant, vdupq_n_u32(1)), half = vtstq_u32(quadrant, vdupq_n_u32(2));
        float32x4_t turned_c = vbslq_f32(odd, vnegq_f32(s), c), turned_s = vbslq_f32(odd, c, s);
        half = vandq_u32(half, sign);
        vst1q_f32(row + i, flip(turned_c, half));
        vst1q_f32(row + pairs + i, flip(turned_s, half));
    }
}

// rope.S, one head each. `largest` are the bits of the largest magnitudes, in four lanes.
void rotate_head(const float *x, uint64_t head_dim, const float *rope, float *y, uint32x4_t *largest);
void measure_head(const float *x, uint64_t head_dim, uint32x4_t *largest);
void quantize_head(const float *x, uint64_t head_dim, int8_t *q, float factor);

// Scales of four heads from their largest magnitudes; the factors are 0 where a head has no finite scale.
static void scale_4(const uint32x4_t *tops, float most, float *scales, float *factors) {
    const uint32x4_t top = vpmaxq_u32(vpmaxq_u32(tops[0], tops[1]), vpmaxq_u32(tops[2], tops[3]));
    const uint32x4_t broken = vcgeq_u32(top, vdupq_n_u32(INFINITY_BITS));
    const uint32x4_t counts = vcgeq_u32(top, vdupq_n_u32(float_bits(ACTIVATION_TINY)));
    const float32x4_t value = vreinterpretq_f32_u32(top);
    float32x4_t scale = vmulq_n_f32(value, 1.0f / most);
    float32x4_t factor = vdivq_f32(vdupq_n_f32(most), value);
    scale = vbslq_f32(broken, vdupq_n_f32(__builtin_nanf("")), keep(scale, counts));
    vst1q_f32(scales, scale);
    vst1q_f32(factors, keep(factor, vbicq_u32(counts, broken)));
}

void rotate_and_measure(const struct head_input *heads, unsigned count, unsigned head_dim, float most,
                        float y[][2 * ROPE_PAIRS_MAX], float *scales, float *factors) {
    uint32x4_t tops[HEADS_AT_ONCE];
    for (unsigned h = 0; h < count; h++)
        if (heads[h].rope)
            rotate_head(heads[h].x, head_dim, heads[h].rope, y[h], &tops[h]);
        else
            measure_head(heads[h].x, head_dim, &tops[h]);
    for (unsigned h = count; h % 4 != 0; h++)
        tops[h] = vdupq_n_u32(0);
    for (unsigned h = 0; h < count; h += 4)
        scale_4(tops + h, most, scales + h, factors + h);
}

void rotate_and_quantize(const struct head_input *heads, unsigned count, unsigned head_dim,
                         int8_t q[][2 * ROPE_PAIRS_MAX], float *scales) {
    float rotated[HEADS_AT_ONCE][2 * ROPE_PAIRS_MAX] __attribute__((aligned(16)));
    float factors[HEADS_AT_ONCE];
    rotate_and_measure(heads, count, head_dim, ACTIVATION_MAX, rotated, scales, factors);
    for (unsigned h = 0; h < count; h++) {
        if (factors[h] != 0.0f)
            quantize_head(heads[h].rope ? rotated[h] : heads[h].x, head_dim, q[h], factors[h]);
        else
            memset(q[h], 0, head_dim);
    }
}
