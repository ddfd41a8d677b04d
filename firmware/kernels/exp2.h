// SPDX-License-Identifier: Apache-2.0
// 2^-a for a >= 0, the one exponential of this engine: softmax, SwiGLU and log-probabilities all use it.
// Separate multiplies and adds in a fixed order, so that NEON (kernels/neon.h), this plain C and a float32
// twin in Python agree to the bit.
#pragma once

#include <stdint.h>

// 2^f on [-0.5, 0.5] with an exact 1 at 0: relative error 2.9e-6 in float32.
#define EXP2_C1 0x1.62e12cp-1f
#define EXP2_C2 0x1.ec0378p-3f
#define EXP2_C3 0x1.c9fc46p-5f
#define EXP2_C4 0x1.3a02ccp-7f

// Larger arguments, negative ones and NaNs count as this one: the result is always a normal number.
#define EXP2_LIMIT 126.0f

// Adding 1.5 * 2^23 leaves round-half-even(x) in the low mantissa bits, for |x| < 2^22. On a Cortex-A76 this
// replaces FCVTNS (two slots of the only pipe that has it) by one FADD; under QEMU it is four times faster.
#define ROUND_MAGIC      12582912.0f
#define ROUND_MAGIC_BITS 0x4b400000

#define INFINITY_BITS 0x7f800000u

#define LOG2_E 0x1.715476p+0f

static inline uint32_t float_bits(float x) {
    return (union {
               float value;
               uint32_t bits;
           }){.value = x}
        .bits;
}

static inline float float_from_bits(uint32_t bits) {
    return (union {
               uint32_t bits;
               float value;
           }){.bits = bits}
        .value;
}

/// 2^-a for a >= +0.
static inline float exp2_negative(float a) {
    uint32_t bits = float_bits(a), limit = float_bits(EXP2_LIMIT);
    float x = float_from_bits(bits < limit ? bits : limit);
    float shifted = x + ROUND_MAGIC;
    float f = (shifted - ROUND_MAGIC) - x;
    float p = f * EXP2_C4 + EXP2_C3;
    p = p * f + EXP2_C2;
    p = p * f + EXP2_C1;
    p = p * f + 1.0f;
    // The shift drops the bits of ROUND_MAGIC: 0x4b400000 << 23 is 0 in 32 bits.
    return float_from_bits(float_bits(p) - (float_bits(shifted) << 23));
}

// 2^(i/2^11) for softmax, whose scores are fixed-point numbers: a cubic in g = 1 + i/2^11 on [1, 2), which is
// exactly 1 at 1 and stays below 2, so that its mantissa is the result's. Relative error 8.6e-5, a quarter of
// a score's half step (1.7e-4); both are far below what int8 queries and keys cost (docs/attention.md).
#define EXP2_STEP_BITS  11
#define EXP2_ZERO_STEPS (127 << EXP2_STEP_BITS) // exp2_steps() of it is 1
#define EXP2_G0         0x1.d26bc2p-2f
#define EXP2_G1         0x1.e24410p-2f
#define EXP2_G2         -0x1.cbab86p-9f
#define EXP2_G3         0x1.3b9e0ep-4f
#define MANTISSA_MASK   0x007fffffu

/// 2^(steps / 2^11 - 127) for steps in 0..EXP2_ZERO_STEPS; exactly 0 for 0. Fused multiply-adds.
static inline float exp2_steps(uint32_t steps) {
    uint32_t fields = steps << (23 - EXP2_STEP_BITS); // exponent and fraction where a float has them
    float g = float_from_bits((fields & MANTISSA_MASK) | 0x3f800000u);
    float p = __builtin_fmaf(EXP2_G3, g, EXP2_G2);
    p = __builtin_fmaf(p, g, EXP2_G1);
    p = __builtin_fmaf(p, g, EXP2_G0);
    return float_from_bits((fields & ~MANTISSA_MASK) | (float_bits(p) & MANTISSA_MASK));
}

static inline float magnitude(float x) {
    return float_from_bits(float_bits(x) & 0x7fffffffu);
}

/// An integer that orders like the float: negative ones are mirrored. -0 comes below +0, a NaN beyond
/// infinity.
static inline int32_t ordered_float(float x) {
    int32_t bits = (int32_t)float_bits(x);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

static inline float float_from_ordered(int32_t key) {
    return float_from_bits((uint32_t)(key < 0 ? key ^ 0x7fffffff : key));
}
