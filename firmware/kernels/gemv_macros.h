// SPDX-License-Identifier: Apache-2.0
// clang-format off
// What the GEMV kernels share. For .S files only.
//
// void gemv_FORMAT(const uint8_t *packs, const int8_t *values, const struct group_scale *groups, uint64_t k,
//                  float *y, const int32_t *low_sums, uint64_t panels, float row_scale)
//
// x0 packs, advances   x1 values   x2 groups   x3 k   x4 y, advances   x5 low_sums   x6 panels left
// x9, x10, x11 walk values, groups and low_sums of a panel   x12 k left   x7, x8, x13..x15 free   s0 row_scale
//
//   v0, v1     32 activations of the group: k 0..15, 16..31
//   v4, v5     the group's scale and sum in every lane
//   v16..v23   int64 sums: quad c in v(16 + 2c) (columns 4c, 4c + 1) and v(17 + 2c)
//   v24..v27   16 packed bytes each; then their upper nibbles
//   v28        lower nibbles
//   v29        dot products of a quad, then its terms
//   v30        scales or minima of a quad
//   v31        15 in every byte
//
// Per quad and group of 32: 8 SDOT by element, MUL by the scales, SMLAL (q4_k: MLA) for the
// minimum, two SMLAL into the sums. q4_1: 92 V slots per 512 MAC, of which 32 are SDOT.
//
// Packs are read once, line after line, which hardware prefetchers follow: PRFM would only cost instructions.
#pragma once

#include "arch/asm.h"

.macro zero register
        movi    \register\().2d, #0
.endm

// Keeps the row's scale out of the way of v0 and saves what the standard wants back.
.macro gemv_begin
        stp     d8, d9, [sp, #-80]!
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        str     s0, [sp, #64]
        movi    v31.16b, #15
.endm

// Opens the loop over panels, label 9.
.macro panel_begin
9:      mov     x9, x1
        mov     x10, x2
        mov     x11, x5
        mov     x12, x3
        .irp    n, 16, 17, 18, 19, 20, 21, 22, 23
        zero    v\n
        .endr
.endm

// y[n] = (float)(double)sum[n] * (D[n] * row_scale).
.macro gemv_quad_out low, high, columns
        scvtf   \low\().2d, \low\().2d
        scvtf   \high\().2d, \high\().2d
        fcvtn   \low\().2s, \low\().2d
        fcvtn2  \low\().4s, \high\().2d
        fmul    \columns\().4s, \columns\().4s, v0.4s
        fmul    \low\().4s, \low\().4s, \columns\().4s
.endm

// Ends the loop over panels: column scales at x0, after `padding` bytes the next panel.
.macro panel_end padding=0
        ld1     {v24.4s-v27.4s}, [x0], #64
        add     x9, sp, #64
        ld1r    {v0.4s}, [x9]
        gemv_quad_out v16, v17, v24
        gemv_quad_out v18, v19, v25
        gemv_quad_out v20, v21, v26
        gemv_quad_out v22, v23, v27
        stp     q16, q18, [x4]
        stp     q20, q22, [x4, #32]
        add     x4, x4, #64
        .if     \padding
        add     x0, x0, #63
        and     x0, x0, #~63
        .endif
        subs    x6, x6, #1
        b.ne    9b
.endm

.macro gemv_end
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     d8, d9, [sp], #80
        ret
.endm

// A line of packed bytes into v24..v27.
.macro load_line step
        ld1     {v24.16b-v27.16b}, [x0], \step
.endm

// One vector of nibbles: dot += low * xl[lane] + high * xh[lane].
.macro dot_nibbles packed, xl, xh, lane, dot=v29, dot_high=v29
        and     v28.16b, \packed\().16b, v31.16b
        ushr    \packed\().16b, \packed\().16b, #4
        sdot    \dot\().4s, v28.16b, \xl\().4b[\lane]
        sdot    \dot_high\().4s, \packed\().16b, \xh\().4b[\lane]
.endm

// The same with a fifth bit: low[lane] is bit `lane` of `bits`, high[lane] bit 4 + lane. `bit4` holds 16 in
// every byte.
.macro dot_5bit packed, bits, bit4, moved, xl, xh, lane
        and     v28.16b, \packed\().16b, v31.16b
        ushr    \packed\().16b, \packed\().16b, #4
        shl     \moved\().16b, \bits\().16b, #(4 - \lane)
        bit     v28.16b, \moved\().16b, \bit4\().16b
        .if     \lane == 0
        bit     \packed\().16b, \bits\().16b, \bit4\().16b
        .else
        ushr    \moved\().16b, \bits\().16b, #\lane
        bit     \packed\().16b, \moved\().16b, \bit4\().16b
        .endif
        sdot    v29.4s, v28.16b, \xl\().4b[\lane]
        sdot    v29.4s, \packed\().16b, \xh\().4b[\lane]
.endm

// Adds v29 times the group's scale to the sums of a quad.
.macro add_terms low, high, scale
        smlal   \low\().2d, v29.2s, \scale\().2s
        smlal2  \high\().2d, v29.4s, \scale\().4s
.endm
