// SPDX-License-Identifier: Apache-2.0
// clang-format off
// The passes of rotate_and_quantize() over one head. Reference: reference/float_ref.c,
// reference_rotate_and_quantize().
//
// void rotate_head(const float *x, uint64_t head_dim, const float *rope, float *y, uint32x4_t *largest)
// void measure_head(const float *x, uint64_t head_dim, uint32x4_t *largest)
// void quantize_head(const float *x, uint64_t head_dim, int8_t *q, float factor)
//
// rotate_head:   x0 x of pairs' first elements, x5 of their second ones     x2 cosines, x6 sines
//                x3 y, x7, likewise     x1 pairs left     x4 largest
//   A, x   v0, v1 first   v2, v3 second      B, rope  v4, v5 cosines   v6, v7 sines
//   sums   v16, v17 first   v18, v19 second  scratch  v20..v23 magnitudes   v24, v25 largest
//   V slots of 8 pairs: 4 FMUL, 2 FMLS, 2 FMLA, 4 FABS, 4 UMAX, 4 for STP: 20. Bound: .625 cycles an element.
// measure_head:  V slots of 16 elements: 4 FABS, 4 UMAX. Bound: .25 cycles an element.
// quantize_head: the lowest byte of a float near 1.5 * 2^23 is its integer's.
//   A v0..v3   B v7 factor   sums v16..v19     V slots of 16 elements: 4 FMLA, 3 UZP, 2 for STR: 9. Bound: .28.
#include "arch/asm.h"

        .section .rodata.rope, "a", %progbits
        .p2align 5
rope_rounding:
        .rept   8
        .word   0x4b400000              // 1.5 * 2^23
        .endr

.macro measure top, x, magnitude
        fabs    \magnitude\().4s, \x\().4s
        umax    \top\().4s, \top\().4s, \magnitude\().4s
.endm

func rotate_head
        lsl     x8, x1, #1              // bytes of half a head
        lsr     x1, x1, #1
        add     x5, x0, x8
        add     x6, x2, x8
        add     x7, x3, x8
        movi    v24.4s, #0
        movi    v25.4s, #0
1:      ldp     q0, q1, [x0], #32
        ldp     q4, q5, [x2], #32
        ldp     q2, q3, [x5], #32
        ldp     q6, q7, [x6], #32
        fmul    v16.4s, v0.4s, v4.4s
        fmul    v17.4s, v1.4s, v5.4s
        fmul    v18.4s, v2.4s, v4.4s
        fmul    v19.4s, v3.4s, v5.4s
        fmls    v16.4s, v2.4s, v6.4s
        fmls    v17.4s, v3.4s, v7.4s
        fmla    v18.4s, v0.4s, v6.4s
        fmla    v19.4s, v1.4s, v7.4s
        stp     q16, q17, [x3], #32
        stp     q18, q19, [x7], #32
        measure v24, v16, v20
        measure v25, v17, v21
        measure v24, v18, v22
        measure v25, v19, v23
        subs    x1, x1, #8
        b.ne    1b
        umax    v24.4s, v24.4s, v25.4s
        str     q24, [x4]
        ret
endfunc rotate_head

func measure_head
        movi    v24.4s, #0
        movi    v25.4s, #0
1:      ldp     q0, q1, [x0], #32
        ldp     q2, q3, [x0], #32
        measure v24, v0, v20
        measure v25, v1, v21
        measure v24, v2, v22
        measure v25, v3, v23
        subs    x1, x1, #16
        b.ne    1b
        umax    v24.4s, v24.4s, v25.4s
        str     q24, [x2]
        ret
endfunc measure_head

func quantize_head
        adrp    x8, rope_rounding
        add     x8, x8, :lo12:rope_rounding
        dup     v7.4s, v0.s[0]
1:      ldp     q0, q1, [x0], #32
        ldp     q2, q3, [x0], #32
        ldp     q16, q17, [x8]
        ldp     q18, q19, [x8]
        fmla    v16.4s, v0.4s, v7.4s
        fmla    v17.4s, v1.4s, v7.4s
        fmla    v18.4s, v2.4s, v7.4s
        fmla    v19.4s, v3.4s, v7.4s
        uzp1    v16.8h, v16.8h, v17.8h
        uzp1    v18.8h, v18.8h, v19.8h
        uzp1    v16.16b, v16.16b, v18.16b
        str     q16, [x2], #16
        subs    x1, x1, #16
        b.ne    1b
        ret
endfunc quantize_head
