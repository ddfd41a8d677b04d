// SPDX-License-Identifier: Apache-2.0
// clang-format off
// RMSNorm and SwiGLU. References: reference/float_ref.c, reference_rms_norm() and reference_swiglu().
//
// void sum_squares(const float *x, uint64_t count, float32x4_t *sums)
//   x0 x   x1 count   x2 sums     A v0..v3 x     sums v16..v19, lane i mod 16 of the count
//   V slots of 16 elements: 4 FMLA. Bound: .125 cycles an element; a sum's own latency takes as long.
//
// void scale_row(const float *x, size_t stride, const float *weight, uint64_t count, float *out, float factor,
//                float second)
// void scale_two_rows(...)
//   x0 x   x1 bytes from row to row of x and out   x2 weight   x3 count   x4 out   s0, s1 factors
//   x5 x, x6 out of the second row
//   A v0..v3 x, v20..v23 of the second row    B v4..v7 weights     v16, v17 factors
//   L slots of 16 elements: 4 for loads of x, 4 of weights, 8 for STP: the load/store pipes are what limits, .5 cycles
//   an element; two rows share the weights, .4375. (V slots: 8 FMUL, 4 for STP: .375.)
//
// void swiglu_rows(float *gate, size_t gate_stride, const float *up, size_t up_stride, unsigned rows,
//                  unsigned columns)
// void swiglu_halves(const void *gate, size_t gate_stride, const void *up, size_t up_stride, unsigned rows,
//                    unsigned columns, float *out, size_t out_stride)
//   x0 out   x1 from the end of its row to the next one   x2 up   x3 likewise   x4 16 columns, left
//   x5 columns   x6 columns left of the row   x7 walks the gate 8 ahead   x11 as x1, of the gate
//   x8 constants   x9, x10, x12 steps behind these 16 of out, up, gate
//   Two sets of two vectors each, of which one begins while the other finishes:
//   A gate, at least -86 (v0, v1; v2, v3); then times up
//   B minus gate * log2 e, rounded (v4, v5; v6, v7); then 1 + e^-gate
//   scratch   minus the fraction, on which the polynomial runs (v16, v17; v18, v19); then the reciprocal
//             the polynomial's second step (v20, v21; v22, v23)     v24..v27 of either, in turn
//   constants v28 -86   v29 86   v30 log2 e, EXP2_C4   v31 1.5 * 2^23
//   V slots of 4 elements: UMIN, SMIN, FMLS, FSUB, 5 FMLA, SHL, ADD, FADD, 2 for FRECPE, 2 FRECPS, 4 FMUL, 1 for
//   STP: 21. Bound: 2.625 cycles an element. Halves: 2 FCVTL more, each of which takes V0 twice: 25, 3.125 cycles.
#include "arch/asm.h"

        // Squares are summed faster than the prefetcher looks ahead: what comes after the next two rows is asked for
        // while these are scaled. Right for rows of 2 KB, harmless for others.
        .equ    AHEAD, 9216

func sum_squares
        movi    v16.4s, #0
        movi    v17.4s, #0
        movi    v18.4s, #0
        movi    v19.4s, #0
1:      ldp     q0, q1, [x0], #32
        ldp     q2, q3, [x0], #32
        fmla    v16.4s, v0.4s, v0.4s
        fmla    v17.4s, v1.4s, v1.4s
        fmla    v18.4s, v2.4s, v2.4s
        fmla    v19.4s, v3.4s, v3.4s
        subs    x1, x1, #16
        b.ne    1b
        stp     q16, q17, [x2]
        stp     q18, q19, [x2, #32]
        ret
endfunc sum_squares

// 16 elements of a row times its factor and the weights.
.macro scale_16 x, out, x0, x1, x2, x3, factor
        ldp     q\x0, q\x1, [\x], #32
        ldp     q\x2, q\x3, [\x], #32
        four    \x0, \x1, \x2, \x3, \factor, \factor, \factor, \factor
        four    \x0, \x1, \x2, \x3, 4, 5, 6, 7
        stp     q\x0, q\x1, [\out], #32
        stp     q\x2, q\x3, [\out], #32
.endm
.macro four x0, x1, x2, x3, m0, m1, m2, m3
        fmul    v\x0\().4s, v\x0\().4s, v\m0\().4s
        fmul    v\x1\().4s, v\x1\().4s, v\m1\().4s
        fmul    v\x2\().4s, v\x2\().4s, v\m2\().4s
        fmul    v\x3\().4s, v\x3\().4s, v\m3\().4s
.endm

.macro scale_function name, rows
func \name
        add     x5, x0, x1
        add     x6, x4, x1
        dup     v16.4s, v0.s[0]
        dup     v17.4s, v1.s[0]
1:      ldp     q4, q5, [x2], #32
        ldp     q6, q7, [x2], #32
        scale_16 x0, x4, 0, 1, 2, 3, 16
        .if     \rows == 2
        prfm    pldl1keep, [x0, #(AHEAD - 64)]
        prfm    pldl1keep, [x5, #(AHEAD - 64)]
        scale_16 x5, x6, 20, 21, 22, 23, 17
        .endif
        subs    x3, x3, #16
        b.ne    1b
        ret
endfunc \name
.endm

        scale_function scale_row, 1
        scale_function scale_two_rows, 2

        .section .rodata.swiglu, "a", %progbits
        .p2align 6
swiglu_constants:                       // those in two vectors are addends: LDP fills two copies
        .irp    bits, 0x4b400000, 0xbd64fe23, 0x3e7601bc, 0xbf317096, 0x3f800000 // 1.5 * 2^23, -C3, C2, -C1, 1
        .rept   8
        .word   \bits
        .endr
        .endr
        .word   0x3fb8aa3b, 0x3c1d0166, 0, 0 // log2 e, EXP2_C4
        .irp    bits, 0x4b400000, 0xc2ac0000, 0x42ac0000 // 1.5 * 2^23, -86, 86
        .rept   4
        .word   \bits
        .endr
        .endr

.macro two op, d0, d1, n0, n1, m0, m1
        \op     v\d0\().4s, v\n0\().4s, v\m0\().4s
        \op     v\d1\().4s, v\n1\().4s, v\m1\().4s
.endm

// The same with lane `lane` of v30 as the last operand.
.macro two_by op, d0, d1, n0, n1, lane
        \op     v\d0\().4s, v\n0\().4s, v30.s[\lane]
        \op     v\d1\().4s, v\n1\().4s, v30.s[\lane]
.endm

// The next 8 floats or, where `halves` is 1, halves.
.macro next_8 x0, x1, from
        .if     halves
        ldr     q\x1, [\from], #16
        fcvtl   v\x0\().4s, v\x1\().4h
        fcvtl2  v\x1\().4s, v\x1\().8h
        .else
        ldp     q\x0, q\x1, [\from], #32
        .endif
.endm

// First half of a set, in steps: gate x, exponent n, fraction f, polynomial p.
.macro limit x0, x1, n0, n1
        // As unsigned integers, floats below -86 lie above it and all others below; as signed ones, those
        // beyond 86 lie above that.
        next_8  \x0, \x1, x7
        ldp     q\n0, q\n1, [x8]
        two     umin, \x0, \x1, \x0, \x1, 28, 28
        two     smin, 24, 25, \x0, \x1, 29, 29
.endm
.macro split n0, n1, f0, f1, p0, p1
        two_by  fmls, \n0, \n1, 24, 25, 0
        ldp     q\p0, q\p1, [x8, #32]
        two     fsub, \f0, \f1, \n0, \n1, 31, 31
        two_by  fmla, \f0, \f1, 24, 25, 0
.endm
.macro steps f0, f1, p0, p1
        two_by  fmla, \p0, \p1, \f0, \f1, 1
        ldp     q24, q25, [x8, #64]
        two     fmla, 24, 25, \p0, \p1, \f0, \f1
        ldp     q\p0, q\p1, [x8, #96]
        two     fmla, \p0, \p1, 24, 25, \f0, \f1
.endm

// Second half: e^-gate, the reciprocal of 1 more (in f), and the product.
.macro power n0, n1, f0, f1, p0, p1
        ldp     q26, q27, [x8, #128]
        shl     v\n0\().4s, v\n0\().4s, #23
        shl     v\n1\().4s, v\n1\().4s, #23
        two     fmla, 26, 27, \p0, \p1, \f0, \f1
        ldp     q\p0, q\p1, [x8, #128]
        two     add, \n0, \n1, 26, 27, \n0, \n1
        two     fadd, \n0, \n1, \n0, \n1, \p0, \p1
.endm
.macro estimate x0, x1, n0, n1, f0, f1
        next_8  26, 27, x2
        frecpe  v\f0\().4s, v\n0\().4s
        frecpe  v\f1\().4s, v\n1\().4s
        two     fmul, \x0, \x1, \x0, \x1, 26, 27
.endm
.macro correct n0, n1, f0, f1              // r * (2 - d * r)
        two     frecps, 26, 27, \n0, \n1, \f0, \f1
        two     fmul, \f0, \f1, \f0, \f1, 26, 27
.endm
.macro finish x0, x1, f0, f1
        two     fmul, \x0, \x1, \x0, \x1, \f0, \f1
        stp     q\x0, q\x1, [x0], #32
.endm

// A set begins (x, n, f, p) while the other one (y, m, g, q) finishes.
.macro begin_and_finish x0, x1, n0, n1, f0, f1, p0, p1, y0, y1, m0, m1, g0, g1, q0, q1
        limit   \x0, \x1, \n0, \n1
        power   \m0, \m1, \g0, \g1, \q0, \q1
        split   \n0, \n1, \f0, \f1, \p0, \p1
        estimate \y0, \y1, \m0, \m1, \g0, \g1
        correct \m0, \m1, \g0, \g1
        steps   \f0, \f1, \p0, \p1
        correct \m0, \m1, \g0, \g1
        finish  \y0, \y1, \g0, \g1
.endm

.macro swiglu_function name
func \name
        adrp    x8, swiglu_constants
        add     x8, x8, :lo12:swiglu_constants
        mov     w5, w5
        sub     x1, x1, x5
        sub     x3, x3, x5
        .if     halves
        sub     x9, x7, x5
        mov     x7, x0
        mov     x0, x6
        lsl     x11, x1, #1
        lsl     x3, x3, #1
        lsl     x1, x9, #2
        .else
        mov     x7, x0
        lsl     x1, x1, #2
        lsl     x3, x3, #2
        mov     x11, x1
        .endif
        lsr     x9, x5, #4
        umull   x4, w4, w9
        mov     x6, x5
        ldp     q30, q31, [x8, #160]
        ldp     q28, q29, [x8, #192]
        limit   0, 1, 4, 5
        split   4, 5, 16, 17, 20, 21
        steps   16, 17, 20, 21
1:      begin_and_finish 2, 3, 6, 7, 18, 19, 22, 23, 0, 1, 4, 5, 16, 17, 20, 21
        subs    x6, x6, #16
        csel    x6, x5, x6, eq
        csel    x9, x1, xzr, eq
        csel    x10, x3, xzr, eq
        csel    x12, x11, xzr, eq
        add     x7, x7, x12
        subs    x4, x4, #1
        csel    x7, x0, x7, eq          // nothing is behind the last ones: again something that may be read
        begin_and_finish 0, 1, 4, 5, 16, 17, 20, 21, 2, 3, 6, 7, 18, 19, 22, 23
        add     x0, x0, x9
        add     x2, x2, x10
        b.ne    1b
        ret
endfunc \name
.endm

        .set    halves, 0
        swiglu_function swiglu_rows
        .set    halves, 1
        swiglu_function swiglu_halves
