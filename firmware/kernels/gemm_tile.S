// SPDX-License-Identifier: Apache-2.0
// Tiles of GEMM: 8, 4 or 1 rows by the 4 columns of a quad, over all of K. Reference: reference/linear_ref.c.
//
// void gemm_tile_ROWS_KIND(const int8_t *weights, const int32_t *scales, const int8_t *values,
//                          const struct group_scale *groups, uint64_t k, float *y, uint64_t y_stride,
//                          const float *row_scales, float32x4_t columns)
//
// x0 weights of the quad, advance    x1 its scales, advance    x2 values of row 0    x3 groups of row 0
// x4 k, also bytes from row to row of values    x5 y, x6 its stride in bytes    x7 row scales    v0 columns
//   x9  values, walk down the rows      x10  -(ROWS - 1) * k + 32: back to row 0, next group
//   x11 groups, walk down the rows      x12  k / 4, bytes from row to row    x13  back to row 0, next group
//   x14 groups left
//
//   v0, v1     activations of a row: k 0..15, 16..31
//   v2         its dot products, then terms; v7 the dot products of k 16..31
//   v3, v4     its scale and sum in every lane
//   v5, v6     scales of the quad; its minima, or scales of k 16..31
//   v8..v15    weights of the quad: 4 k each             v16..v31   int64 sums, two per row
//
// Per row: 8 SDOT by element, MUL, MLA for the minimum, two SMLAL: 14 V slots per 128 MAC, of which 8 are SDOT.
// The rows share what is loaded of the quad: 125 instructions per 1024 MAC with 8 rows and minima.
#include "arch/asm.h"

.macro zero register
        movi    \register\().2d, #0
.endm

.macro dot_low
        sdot    v2.4s, v8.16b, v0.4b[0]
        sdot    v2.4s, v9.16b, v0.4b[1]
        sdot    v2.4s, v10.16b, v0.4b[2]
        sdot    v2.4s, v11.16b, v0.4b[3]
.endm

.macro dot_high dot
        sdot    \dot\().4s, v12.16b, v1.4b[0]
        sdot    \dot\().4s, v13.16b, v1.4b[1]
        sdot    \dot\().4s, v14.16b, v1.4b[2]
        sdot    \dot\().4s, v15.16b, v1.4b[3]
.endm

// One row; `step` and `group_step` lead to the next one. Kinds as in dequant.h.
.macro row low, high, kind, step, group_step
        ld1     {v0.16b, v1.16b}, [x9], \step
        movi    v2.4s, #0
        .ifc    \kind, two_scales
        movi    v7.4s, #0
        ld1r    {v3.4s}, [x11], \group_step
        dot_low
        dot_high v7
        mul     v2.4s, v2.4s, v5.4s
        mla     v2.4s, v7.4s, v6.4s
        .else
        .ifc    \kind, minimum
        ld2r    {v3.4s, v4.4s}, [x11], \group_step
        .else
        ld1r    {v3.4s}, [x11], \group_step
        .endif
        dot_low
        dot_high v2
        mul     v2.4s, v2.4s, v5.4s
        .ifc    \kind, minimum
        mla     v2.4s, v6.4s, v4.4s
        .endif
        .endif
        smlal   \low\().2d, v2.2s, v3.2s
        smlal2  \high\().2d, v2.4s, v3.4s
.endm

// y = (float)(double)sum * (D * row_scale) for one row; v4 holds D.
.macro store_row low, high
        ld1r    {v5.4s}, [x7], #4
        scvtf   \low\().2d, \low\().2d
        scvtf   \high\().2d, \high\().2d
        fmul    v5.4s, v4.4s, v5.4s
        fcvtn   \low\().2s, \low\().2d
        fcvtn2  \low\().4s, \high\().2d
        fmul    \low\().4s, \low\().4s, v5.4s
        st1     {\low\().4s}, [x5], x6
.endm

.macro gemm_tile rows, kind
func gemm_tile_\rows\()_\kind
        stp     d8, d9, [sp, #-80]!
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        str     q0, [sp, #64]
        mov     x9, x2
        mov     x11, x3
        lsr     x12, x4, #2
        mov     x10, #(\rows - 1)
        mul     x13, x10, x12
        mul     x10, x10, x4
        neg     x10, x10
        neg     x13, x13
        add     x10, x10, #32
        add     x13, x13, #8
        lsr     x14, x4, #5
        .irp    n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        zero    v\n
        .endr
1:      ld1     {v8.16b-v11.16b}, [x0], #64
        ld1     {v12.16b-v15.16b}, [x0], #64
        ldp     q5, q6, [x1], #32
        .if     \rows == 1
        row     v16, v17, \kind, x10, x13
        .else
        row     v16, v17, \kind, x4, x12
        row     v18, v19, \kind, x4, x12
        row     v20, v21, \kind, x4, x12
        .if     \rows == 4
        row     v22, v23, \kind, x10, x13
        .else
        row     v22, v23, \kind, x4, x12
        row     v24, v25, \kind, x4, x12
        row     v26, v27, \kind, x4, x12
        row     v28, v29, \kind, x4, x12
        row     v30, v31, \kind, x10, x13
        .endif
        .endif
        subs    x14, x14, #1
        b.ne    1b
        ldr     q4, [sp, #64]
        store_row v16, v17
        .if     \rows > 1
        store_row v18, v19
        store_row v20, v21
        store_row v22, v23
        .endif
        .if     \rows > 4
        store_row v24, v25
        store_row v26, v27
        store_row v28, v29
        store_row v30, v31
        .endif
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     d8, d9, [sp], #80
        ret
endfunc gemm_tile_\rows\()_\kind
.endm

gemm_tile 8, scale
gemm_tile 8, minimum
gemm_tile 8, two_scales
gemm_tile 4, scale
gemm_tile 4, minimum
gemm_tile 4, two_scales
gemm_tile 1, scale
gemm_tile 1, minimum
gemm_tile 1, two_scales
