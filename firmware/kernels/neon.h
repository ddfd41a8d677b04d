// SPDX-License-Identifier: Apache-2.0
// Vector forms that several kernels share.
#pragma once

#include <arm_neon.h>

#include "kernels/exp2.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

// Loops of few constant trips over arrays of vectors: unrolled, the arrays live in registers.
#define UNROLL _Pragma("GCC unroll 8")

/// x where the mask is set, else 0.
ALWAYS_INLINE float32x4_t keep(float32x4_t x, uint32x4_t mask) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x), mask));
}

/// exp2_negative() per lane, bit for bit.
ALWAYS_INLINE float32x4_t exp2_negative_f32x4(float32x4_t a) {
    const uint32x4_t limit = vreinterpretq_u32_f32(vdupq_n_f32(EXP2_LIMIT));
    const float32x4_t magic = vdupq_n_f32(ROUND_MAGIC);
    // Floats of one sign order like integers, and an integer minimum is cheap everywhere.
    float32x4_t x = vreinterpretq_f32_u32(vminq_u32(vreinterpretq_u32_f32(a), limit));
    float32x4_t shifted = vaddq_f32(x, magic);
    float32x4_t f = vsubq_f32(vsubq_f32(shifted, magic), x);
    float32x4_t p = vaddq_f32(vmulq_f32(f, vdupq_n_f32(EXP2_C4)), vdupq_n_f32(EXP2_C3));
    p = vaddq_f32(vmulq_f32(p, f), vdupq_n_f32(EXP2_C2));
    p = vaddq_f32(vmulq_f32(p, f), vdupq_n_f32(EXP2_C1));
    p = vaddq_f32(vmulq_f32(p, f), vdupq_n_f32(1.0f));
    int32x4_t exponent = vshlq_n_s32(vreinterpretq_s32_f32(shifted), 23);
    return vreinterpretq_f32_s32(vsubq_s32(vreinterpretq_s32_f32(p), exponent));
}

/// exp2_steps() per lane, bit for bit.
ALWAYS_INLINE float32x4_t exp2_steps_u32x4(uint32x4_t steps) {
    const uint32x4_t mantissa = vdupq_n_u32(MANTISSA_MASK);
    uint32x4_t fields = vshlq_n_u32(steps, 23 - EXP2_STEP_BITS);
    float32x4_t g = vbslq_f32(mantissa, vreinterpretq_f32_u32(fields), vdupq_n_f32(1.0f));
    float32x4_t p = vfmaq_f32(vdupq_n_f32(EXP2_G2), g, vdupq_n_f32(EXP2_G3));
    p = vfmaq_f32(vdupq_n_f32(EXP2_G1), p, g);
    p = vfmaq_f32(vdupq_n_f32(EXP2_G0), p, g);
    return vbslq_f32(mantissa, p, vreinterpretq_f32_u32(fields));
}

/// round-half-even(x) per lane for |x| < 2^22; anything larger, and a NaN, lands far outside of 16 bits.
ALWAYS_INLINE int32x4_t round_f32x4(float32x4_t x) {
    float32x4_t shifted = vaddq_f32(x, vdupq_n_f32(ROUND_MAGIC));
    return vsubq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(ROUND_MAGIC_BITS));
}

/// Sixteen floats times `factor`, rounded half to even and clamped to -127..127.
ALWAYS_INLINE int8x16_t quantize_f32x16(float32x4_t x0, float32x4_t x1, float32x4_t x2, float32x4_t x3,
                                        float32x4_t factor) {
    int16x4_t h0 = vqmovn_s32(round_f32x4(vmulq_f32(x0, factor)));
    int16x4_t h2 = vqmovn_s32(round_f32x4(vmulq_f32(x2, factor)));
    int16x8_t h01 = vqmovn_high_s32(h0, round_f32x4(vmulq_f32(x1, factor)));
    int16x8_t h23 = vqmovn_high_s32(h2, round_f32x4(vmulq_f32(x3, factor)));
    return vmaxq_s8(vqmovn_high_s16(vqmovn_s16(h01), h23), vdupq_n_s8(-127));
}

/// ordered_float() per lane.
ALWAYS_INLINE int32x4_t ordered_f32x4(float32x4_t x) {
    int32x4_t bits = vreinterpretq_s32_f32(x);
    return veorq_s32(bits,
                     vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(vshrq_n_s32(bits, 31)), 1)));
}

/// Running maximum of floats of either sign, with integer instructions: cheaper than FMAX where floating
/// point is emulated. As signed integers, floats above zero order right and beat those below; among floats
/// below zero the largest has the smallest bits.
struct float_maximum {
    int32x4_t highest;
    uint32x4_t lowest_bits;
};

ALWAYS_INLINE void maximum_add(struct float_maximum *m, float32x4_t x) {
    m->highest = vmaxq_s32(m->highest, vreinterpretq_s32_f32(x));
    m->lowest_bits = vminq_u32(m->lowest_bits, vreinterpretq_u32_f32(x));
}

/// -0 counts as below +0, a NaN as beyond infinity.
ALWAYS_INLINE float maximum_of(const struct float_maximum *m) {
    int32_t highest = vmaxvq_s32(m->highest);
    return float_from_bits(highest >= 0 ? (uint32_t)highest : vminvq_u32(m->lowest_bits));
}

#define NO_MAXIMUM ((struct float_maximum){vdupq_n_s32(INT32_MIN), vdupq_n_u32(UINT32_MAX)})

/// The square root instruction; __builtin_sqrtf would call the C library for negative numbers.
ALWAYS_INLINE float square_root(float x) {
    return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0);
}
