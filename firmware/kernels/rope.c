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

void rope_row(const uint32_t *step, unsigned pairs, uint32_t position, int16_t *row) {
    const float32x4_t one = vdupq_n_f32(ROPE_ONE);
    for (unsigned i = 0; i < pairs; i += 4) {
        uint32x4_t phase = vmulq_u32(vld1q_u32(step + i), vdupq_n_u32(position));
        uint32x4_t quadrant = vshrq_n_u32(vaddq_u32(phase, vdupq_n_u32(1u << 29)), 30);
        int32x4_t rest = vreinterpretq_s32_u32(vsubq_u32(phase, vshlq_n_u32(quadrant, 30)));
        float32x4_t s, c;
        sine_cosine(vmulq_f32(vcvtq_f32_s32(rest), vdupq_n_f32(RADIANS_PER_UNIT)), &s, &c);
        int32x4_t sine = round_f32x4(vmulq_f32(s, one)), cosine = round_f32x4(vmulq_f32(c, one));
        // A quarter turn: (c, s) -> (-s, c); a half turn negates both.
        uint32x4_t odd = vtstq_u32(quadrant, vdupq_n_u32(1)), half = vtstq_u32(quadrant, vdupq_n_u32(2));
        int32x4_t turned_c = vbslq_s32(odd, vnegq_s32(sine), cosine);
        int32x4_t turned_s = vbslq_s32(odd, cosine, sine);
        vst1_s16(row + i, vmovn_s32(vbslq_s32(half, vnegq_s32(turned_c), turned_c)));
        vst1_s16(row + pairs + i, vmovn_s32(vbslq_s32(half, vnegq_s32(turned_s), turned_s)));
    }
}

// x[head_dim] rotated into y.
static void rotate(const float *x, const int16_t *row, unsigned head_dim, float *y) {
    unsigned pairs = head_dim / 2;
    for (unsigned i = 0; i < pairs; i += 4) {
        float32x4_t c = vcvtq_n_f32_s32(vmovl_s16(vld1_s16(row + i)), 14);
        float32x4_t s = vcvtq_n_f32_s32(vmovl_s16(vld1_s16(row + pairs + i)), 14);
        float32x4_t a = vld1q_f32(x + i), b = vld1q_f32(x + pairs + i);
        vst1q_f32(y + i, vsubq_f32(vmulq_f32(a, c), vmulq_f32(b, s)));
        vst1q_f32(y + pairs + i, vaddq_f32(vmulq_f32(b, c), vmulq_f32(a, s)));
    }
}

float rotate_and_quantize(const float *x, const int16_t *row, unsigned head_dim, int8_t *q) {
    float rotated[2 * ROPE_PAIRS_MAX] __attribute__((aligned(16)));
    if (row) {
        rotate(x, row, head_dim, rotated);
        x = rotated;
    }
    uint32x4_t top = vdupq_n_u32(0);
    for (unsigned i = 0; i < head_dim; i += 4)
        top = vmaxq_u32(top, vbicq_u32(vreinterpretq_u32_f32(vld1q_f32(x + i)), vdupq_n_u32(0x80000000u)));
    uint32_t magnitude = vmaxvq_u32(top);
    if (magnitude < float_bits(ACTIVATION_TINY) || magnitude >= INFINITY_BITS) {
        memset(q, 0, head_dim);
        return magnitude >= INFINITY_BITS ? __builtin_nanf("") : 0.0f;
    }
    float scale = float_from_bits(magnitude) / (float)ACTIVATION_MAX;
    float32x4_t factor = vdupq_n_f32(1.0f / scale);
    for (unsigned i = 0; i < head_dim; i += 16)
        vst1q_s8(q + i, quantize_f32x16(vld1q_f32(x + i), vld1q_f32(x + i + 4), vld1q_f32(x + i + 8),
                                        vld1q_f32(x + i + 12), factor));
    return scale;
}
