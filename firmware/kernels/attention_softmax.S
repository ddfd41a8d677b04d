// SPDX-License-Identifier: Apache-2.0
// clang-format off
// One row of scores to probabilities. Reference: reference/attention_ref.c, fold_block(); exp2.h, exp2_steps().
//
// void attention_exponents(const struct key_group *groups, uint64_t eights, uint32_t *scores, uint32_t floor,
//                          struct row_weights *weights)
//
// x0 groups, advance    x1 keys left, in eights    x2 scores, advance; replaced by p * value scale
// w3 bits of the score whose p would be 2^-127: what lies below gives 0    x4 sum and largest out
//   x5 walks the scores 8 keys ahead: 32 bytes behind the last one are read (and not used)
//   x8 constants    x9 scales of the group's keys, those of its values 128 bytes on
//
//   A          v0..v3     scores; steps above the floor; exponent and fraction; p
//   B          v4..v7     the cubic's later steps; value scales, then p * value scale
//   scratch    v16..v19   g, the fraction behind 1.0     v20..v23  the cubic's first step
//   constants  v24 floor  v25 leading coefficient        v26 mask of the mantissa
//   sums       v27 p      v28 largest p * value scale
//
// An FMLA's addend is loaded: a MOV would take a V slot, and the load pipes have room.
//
// V slots of 4 keys: UQSUB, SHL, BIT, 3 FMLA, BIT, FADD, FMUL, SMAX, one for STP: 11. Bound: 1.375 cycles a key.
//
// void attention_probabilities(const uint32_t *weights, uint64_t count, int8_t (*halves)[2][16], float factor)
//
// x0 p * value scale, advance    x1 groups left    x2 halves, advance    s0 factor    x8 constants
//   A v4..v7 weights     B v0 factor, v1 128 in every byte     sums v16..v19 1.5 * 2^23 + 128 + u
//
// u = 256 * upper + lower, lower in -128..127: the upper byte of u + 128, and its lower byte less 128.
// V slots of 16 keys: 4 FMLA, 4 UZP, EOR, 2 for STP: 11. Bound: .34 cycles a key.
#include "arch/asm.h"

        .section .rodata.attention_softmax, "a", %progbits
        .p2align 6
attention_softmax_constants:            // each in two vectors: LDP fills two copies
        .irp    bits, 0x3f800000, 0xbb65d5c3, 0x3ef12208, 0x3ee935e1 // 1, EXP2_G2, EXP2_G1, EXP2_G0
        .rept   8
        .word   \bits
        .endr
        .endr
attention_softmax_rounding:
        .rept   8
        .word   0x4b400080              // 1.5 * 2^23 + 128
        .endr

// First half of two vectors: from scores to the cubic's first step.
.macro begin x0, x1, g0, g1, c0, c1
        ldp     q\x0, q\x1, [x5], #32
        ldp     q\g0, q\g1, [x8]
        ldp     q\c0, q\c1, [x8, #32]
        uqsub   v\x0\().4s, v\x0\().4s, v24.4s
        uqsub   v\x1\().4s, v\x1\().4s, v24.4s
        shl     v\x0\().4s, v\x0\().4s, #12
        shl     v\x1\().4s, v\x1\().4s, #12
        bit     v\g0\().16b, v\x0\().16b, v26.16b
        bit     v\g1\().16b, v\x1\().16b, v26.16b
        fmla    v\c0\().4s, v\g0\().4s, v25.4s
        fmla    v\c1\().4s, v\g1\().4s, v25.4s
.endm

// The same for x, g and c, between which the second half of y, h and d goes on: the one waits while the other
// computes. `scales` is where y's value scales are.
.macro begin_and_finish x0, x1, g0, g1, c0, c1, y0, y1, h0, h1, d0, d1, scales
        ldp     q4, q5, [x8, #64]
        ldp     q\x0, q\x1, [x5], #32
        fmla    v4.4s, v\d0\().4s, v\h0\().4s
        fmla    v5.4s, v\d1\().4s, v\h1\().4s
        uqsub   v\x0\().4s, v\x0\().4s, v24.4s
        uqsub   v\x1\().4s, v\x1\().4s, v24.4s
        ldp     q6, q7, [x8, #96]
        ldp     q\g0, q\g1, [x8]
        shl     v\x0\().4s, v\x0\().4s, #12
        shl     v\x1\().4s, v\x1\().4s, #12
        fmla    v6.4s, v4.4s, v\h0\().4s
        fmla    v7.4s, v5.4s, v\h1\().4s
        ldp     q\c0, q\c1, [x8, #32]
        ldp     q4, q5, [x9, #\scales]
        bit     v\g0\().16b, v\x0\().16b, v26.16b
        bit     v\g1\().16b, v\x1\().16b, v26.16b
        bit     v\y0\().16b, v6.16b, v26.16b
        bit     v\y1\().16b, v7.16b, v26.16b
        fmla    v\c0\().4s, v\g0\().4s, v25.4s
        fmla    v\c1\().4s, v\g1\().4s, v25.4s
        fmul    v4.4s, v4.4s, v\y0\().4s
        fadd    v27.4s, v27.4s, v\y0\().4s
        fmul    v5.4s, v5.4s, v\y1\().4s
        fadd    v27.4s, v27.4s, v\y1\().4s
        smax    v28.4s, v28.4s, v4.4s
        smax    v28.4s, v28.4s, v5.4s
        stp     q4, q5, [x2], #32
.endm

func attention_exponents
        adrp    x8, attention_softmax_constants
        add     x8, x8, :lo12:attention_softmax_constants
        mov     w9, #0xcf07
        movk    w9, #0x3d9d, lsl #16    // EXP2_G3
        mov     x5, x2
        dup     v24.4s, w3
        dup     v25.4s, w9
        movi    v26.4s, #0x7f, msl #16
        movi    v27.4s, #0
        movi    v28.4s, #0
        begin   0, 1, 16, 17, 20, 21
1:      ldr     x9, [x0, #8]
        add     x0, x0, #16
        begin_and_finish 2, 3, 18, 19, 22, 23, 0, 1, 16, 17, 20, 21, 128
        subs    x1, x1, #1
        b.eq    2f
        begin_and_finish 0, 1, 16, 17, 20, 21, 2, 3, 18, 19, 22, 23, 160
        subs    x1, x1, #1
        b.ne    1b
2:      stp     q27, q28, [x4]
        ret
endfunc attention_exponents

func attention_probabilities
        adrp    x8, attention_softmax_rounding
        add     x8, x8, :lo12:attention_softmax_rounding
        dup     v0.4s, v0.s[0]
        movi    v1.16b, #128
1:      ldp     q4, q5, [x0], #32
        ldp     q6, q7, [x0], #32
        ldp     q16, q17, [x8]
        ldp     q18, q19, [x8]
        fmla    v16.4s, v4.4s, v0.4s
        fmla    v17.4s, v5.4s, v0.4s
        fmla    v18.4s, v6.4s, v0.4s
        fmla    v19.4s, v7.4s, v0.4s
        uzp1    v4.8h, v16.8h, v17.8h
        uzp1    v5.8h, v18.8h, v19.8h
        uzp1    v6.16b, v4.16b, v5.16b
        uzp2    v7.16b, v4.16b, v5.16b
        eor     v6.16b, v6.16b, v1.16b
        stp     q7, q6, [x2], #32
        subs    x1, x1, #1
        b.ne    1b
        ret
endfunc attention_probabilities
