// SPDX-License-Identifier: Apache-2.0
// From packed bytes to int8 vectors: shared by the fused GEMV, which multiplies them at once, and by
// dequantization, which stores them. Everything works on a quad: 4 columns by one group of 32 k.
#pragma once

#include <arm_neon.h>

#include "kernels/neon.h"
#include "kernels/pack.h"

/// Byte 4*i + t of low[j] is column i, k = 4*j + t; of high[j], k = 16 + 4*j + t.
struct quad {
    uint8x16_t low[4], high[4];
};

/// 64 bytes of nibbles: q in 0..15.
ALWAYS_INLINE struct quad unpack_nibbles(const uint8_t *nibbles) {
    const uint8x16_t mask = vdupq_n_u8(15);
    uint8x16x4_t v = vld1q_u8_x4(nibbles);
    return (struct quad){
        .low = {vandq_u8(v.val[0], mask), vandq_u8(v.val[1], mask), vandq_u8(v.val[2], mask),
                vandq_u8(v.val[3], mask)},
        .high = {vshrq_n_u8(v.val[0], 4), vshrq_n_u8(v.val[1], 4), vshrq_n_u8(v.val[2], 4),
                 vshrq_n_u8(v.val[3], 4)},
    };
}

/// 64 bytes of nibbles and 16 bytes of high bits (bit j: low[j], bit 4 + j: high[j]): q in 0..31.
ALWAYS_INLINE struct quad unpack_5bit(const uint8_t *nibbles, const uint8_t *high_bits) {
    const uint8x16_t bit = vdupq_n_u8(16);
    uint8x16_t h = vld1q_u8(high_bits);
    struct quad q = unpack_nibbles(nibbles);
    q.low[0] = vbslq_u8(bit, vshlq_n_u8(h, 4), q.low[0]);
    q.low[1] = vbslq_u8(bit, vshlq_n_u8(h, 3), q.low[1]);
    q.low[2] = vbslq_u8(bit, vshlq_n_u8(h, 2), q.low[2]);
    q.low[3] = vbslq_u8(bit, vshlq_n_u8(h, 1), q.low[3]);
    q.high[0] = vbslq_u8(bit, h, q.high[0]);
    q.high[1] = vbslq_u8(bit, vshrq_n_u8(h, 1), q.high[1]);
    q.high[2] = vbslq_u8(bit, vshrq_n_u8(h, 2), q.high[2]);
    q.high[3] = vbslq_u8(bit, vshrq_n_u8(h, 3), q.high[3]);
    return q;
}

/// 64 bytes of nibbles and 2 x 16 bytes of two high bits (bits 2j..2j+1 of the first: low[j], of the second:
/// high[j]): q in 0..63.
ALWAYS_INLINE struct quad unpack_6bit(const uint8_t *nibbles, const uint8_t *high_bits) {
    const uint8x16_t bits = vdupq_n_u8(0x30);
    uint8x16x2_t h = vld1q_u8_x2(high_bits);
    struct quad q = unpack_nibbles(nibbles);
    q.low[0] = vbslq_u8(bits, vshlq_n_u8(h.val[0], 4), q.low[0]);
    q.low[1] = vbslq_u8(bits, vshlq_n_u8(h.val[0], 2), q.low[1]);
    q.low[2] = vbslq_u8(bits, h.val[0], q.low[2]);
    q.low[3] = vbslq_u8(bits, vshrq_n_u8(h.val[0], 2), q.low[3]);
    q.high[0] = vbslq_u8(bits, vshlq_n_u8(h.val[1], 4), q.high[0]);
    q.high[1] = vbslq_u8(bits, vshlq_n_u8(h.val[1], 2), q.high[1]);
    q.high[2] = vbslq_u8(bits, h.val[1], q.high[2]);
    q.high[3] = vbslq_u8(bits, vshrq_n_u8(h.val[1], 2), q.high[3]);
    return q;
}

/// 128 bytes, one per weight: q in -128..127.
ALWAYS_INLINE struct quad load_bytes(const uint8_t *bytes) {
    uint8x16x4_t low = vld1q_u8_x4(bytes), high = vld1q_u8_x4(bytes + 64);
    return (struct quad){.low = {low.val[0], low.val[1], low.val[2], low.val[3]},
                         .high = {high.val[0], high.val[1], high.val[2], high.val[3]}};
}

/// Scales and minima of one group of a q4_k or q5_k pack: scale * q - minimum, in units of the column's D.
/// Each is round((6-bit value) * factor / 64) with the factors at the start of the pack.
ALWAYS_INLINE void unpack_k_scales(const uint8_t *pack, unsigned group, int32x4_t scale[4],
                                   int32x4_t minimum[4]) {
    const uint8x16_t bits = vdupq_n_u8(0x30);
    int16x8x4_t factors = vld1q_s16_x4((const int16_t *)pack);
    uint8x16_t nibbles = vld1q_u8(pack + 2 * COLUMN_INT16 + group * 16);
    uint8x16_t high = vld1q_u8(pack + 2 * COLUMN_INT16 + K_PACK_GROUPS * 16 + group / 2 * 16);
    if (group & 1)
        high = vshrq_n_u8(high, 4);
    uint8x16_t s = vbslq_u8(bits, vshlq_n_u8(high, 4), vandq_u8(nibbles, vdupq_n_u8(15)));
    uint8x16_t m = vbslq_u8(bits, vshlq_n_u8(high, 2), vshrq_n_u8(nibbles, 4));
    UNROLL
    for (unsigned half = 0; half < 2; half++) {
        int16x8_t s16 = vreinterpretq_s16_u16(half ? vmovl_high_u8(s) : vmovl_u8(vget_low_u8(s)));
        int16x8_t m16 = vreinterpretq_s16_u16(half ? vmovl_high_u8(m) : vmovl_u8(vget_low_u8(m)));
        int16x8_t ds = factors.val[half], dm = factors.val[2 + half];
        scale[2 * half] = vrshrq_n_s32(vmull_s16(vget_low_s16(s16), vget_low_s16(ds)), 6);
        scale[2 * half + 1] = vrshrq_n_s32(vmull_high_s16(s16, ds), 6);
        minimum[2 * half] = vrshrq_n_s32(vmull_s16(vget_low_s16(m16), vget_low_s16(dm)), 6);
        minimum[2 * half + 1] = vrshrq_n_s32(vmull_high_s16(m16, dm), 6);
    }
}

/// Scales of one run of 16 k of a q6_k pack: round((int8 value) * factor / 128).
ALWAYS_INLINE void unpack_q6_scales(const uint8_t *pack, unsigned subblock, int32x4_t scale[4]) {
    int16x8x2_t factors = vld1q_s16_x2((const int16_t *)pack);
    int8x16_t s = vld1q_s8((const int8_t *)pack + COLUMN_INT16 + subblock * PANEL_COLUMNS);
    UNROLL
    for (unsigned half = 0; half < 2; half++) {
        int16x8_t s16 = half ? vmovl_high_s8(s) : vmovl_s8(vget_low_s8(s));
        scale[2 * half] = vrshrq_n_s32(vmull_s16(vget_low_s16(s16), vget_low_s16(factors.val[half])), 7);
        scale[2 * half + 1] = vrshrq_n_s32(vmull_high_s16(s16, factors.val[half]), 7);
    }
}

/// One int16 per column, widened.
ALWAYS_INLINE void widen_columns(const uint8_t *int16s, int32x4_t wide[4]) {
    int16x8x2_t v = vld1q_s16_x2((const int16_t *)int16s);
    wide[0] = vmovl_s16(vget_low_s16(v.val[0]));
    wide[1] = vmovl_high_s16(v.val[0]);
    wide[2] = vmovl_s16(vget_low_s16(v.val[1]));
    wide[3] = vmovl_high_s16(v.val[1]);
}
