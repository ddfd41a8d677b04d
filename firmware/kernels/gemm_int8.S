// SPDX-License-Identifier: Apache-2.0
// One tile of the int8 GEMM: 8 rows by the 16 columns of a panel, over all of K. Reference: reference/int8_ref.c.
//
// void gemm_int8_tile(const struct int8_panel *panel, const struct int8_activations *tile, float *y, uint64_t stride)
//
// x0 panel, x1 the tile's activations, x2 y, x3 its stride in floats. Layouts: int8_linear.h.
//   x4 weights of the quad, their first vector       x5 column scales of the quad      x6 values of the tile
//   x7 steps of the tile                             x8 k, bytes                       x9 k of a block
//   x10 quads left   x11, x12, x13 walk values, weights, steps   x14 k left   x15 k left in the block
//   x16 y of the quad's first row, x17 walks down the rows
//
// Registers, in four banks:
//   A rows          v0, v1 (even k / 4) and v2, v3 (odd): rows 0-3 and 4-7, 4 k each
//   B columns       v4 (even), v5 (odd): the quad's 4 columns, 4 k each
//   accumulators    v8..v15 int32, a row each;  v16..v31 int64, two a row
//   scratch         v6, v7: steps of rows 0-3 and 4-7; at the end row scales, in v0..v5 column scales and terms
// Loads are one k / 4 ahead: while one bank of A and B is multiplied the other one is filled.
//
// An 8x8 tile would hold twice as many int32 sums, and its int64 sums would have to live in memory: two Q stores per
// accumulator and block take four V slots, as much as 16 k of SDOT. 8x4 keeps both kinds in registers.
//
// V slots of a quad: k / 4 x 8 SDOT; a block 16 SMLAL (V0); 8 to clear; 16 SCVTF (V0), 16 FCVTN (V0, two each), 16 FMUL,
// 8 stores (two each). Two pipes: the bound is k + 8 blocks + 44 cycles for 32 k MAC: at blocks of 96 k = 576
// 668 cycles, 86.2 % of 32 MAC a cycle; k = 1536 1708 cycles, 89.9 %.
#include "arch/asm.h"

        // struct int8_panel and struct int8_activations; gemm_int8.c asserts them
        .equ    PANEL_COLUMN_SCALES, 8
        .equ    PANEL_K, 72
        .equ    TILE_STEPS, 8
        .equ    TILE_ROW_SCALES, 16
        .equ    TILE_BLOCK, 28

// Eight rows times a quad, 4 k: a0, a1 the rows, b the columns.
.macro dots a0, a1, b
        sdot    v8.4s, \b\().16b, \a0\().4b[0]
        sdot    v9.4s, \b\().16b, \a0\().4b[1]
        sdot    v10.4s, \b\().16b, \a0\().4b[2]
        sdot    v11.4s, \b\().16b, \a0\().4b[3]
        sdot    v12.4s, \b\().16b, \a1\().4b[0]
        sdot    v13.4s, \b\().16b, \a1\().4b[1]
        sdot    v14.4s, \b\().16b, \a1\().4b[2]
        sdot    v15.4s, \b\().16b, \a1\().4b[3]
.endm

.macro load_even
        ldp     q0, q1, [x11], #32
        ldr     q4, [x12], #32
.endm

.macro load_odd
        ldp     q2, q3, [x11], #32
        ldr     q5, [x12], #32
.endm

// 32 k.
.macro group
        load_even
        .rept   3
        load_odd
        dots    v0, v1, v4
        load_even
        dots    v2, v3, v5
        .endr
        load_odd
        dots    v0, v1, v4
        dots    v2, v3, v5
.endm

// A row's int64 sums: `multiply` is smull for the first block, smlal for the others.
.macro add_row multiply, sum, low, high, step
        \multiply  \low\().2d, \sum\().2s, \step
        \multiply\()2 \high\().2d, \sum\().4s, \step
.endm

.macro add_block multiply
        ldp     q6, q7, [x13], #32
        add_row \multiply, v8, v16, v17, v6.s[0]
        add_row \multiply, v9, v18, v19, v6.s[1]
        add_row \multiply, v10, v20, v21, v6.s[2]
        add_row \multiply, v11, v22, v23, v6.s[3]
        add_row \multiply, v12, v24, v25, v7.s[0]
        add_row \multiply, v13, v26, v27, v7.s[1]
        add_row \multiply, v14, v28, v29, v7.s[2]
        add_row \multiply, v15, v30, v31, v7.s[3]
.endm

// All groups of a block but the last may be looked for in memory: the loop ends at the block's end or that of k.
.macro multiply_block
        cmp     x14, x9
        csel    x15, x14, x9, lo
        sub     x14, x14, x15
1:      group
        subs    x15, x15, #32
        b.ne    1b
.endm

// y = (float)(double)sum * (E * row scale).
.macro store_row low, high, row_scale, factor
        scvtf   \low\().2d, \low\().2d
        scvtf   \high\().2d, \high\().2d
        fmul    \factor\().4s, v4.4s, \row_scale
        fcvtn   \low\().2s, \low\().2d
        fcvtn2  \low\().4s, \high\().2d
        fmul    \low\().4s, \low\().4s, \factor\().4s
        st1     {\low\().4s}, [x17], x3
.endm

func gemm_int8_tile
        stp     d8, d9, [sp, #-64]!
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        ldr     x4, [x0]
        add     x5, x0, #PANEL_COLUMN_SCALES
        ldr     w8, [x0, #PANEL_K]
        ldp     x6, x7, [x1]
        ldr     w9, [x1, #TILE_BLOCK]
        ldr     x1, [x1, #TILE_ROW_SCALES]
        lsl     x3, x3, #2
        mov     x16, x2
        mov     x10, #4

quad:   mov     x11, x6
        mov     x12, x4
        mov     x13, x7
        mov     x14, x8
        .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
        movi    v\n\().2d, #0
        .endr
        multiply_block
        add_block smull
        cbz     x14, 3f
2:      multiply_block
        add_block smlal
        cbnz    x14, 2b

3:      ldr     q4, [x5], #16
        ldp     q6, q7, [x1]
        mov     x17, x16
        store_row v16, v17, v6.s[0], v0
        store_row v18, v19, v6.s[1], v1
        store_row v20, v21, v6.s[2], v2
        store_row v22, v23, v6.s[3], v3
        store_row v24, v25, v7.s[0], v0
        store_row v26, v27, v7.s[1], v1
        store_row v28, v29, v7.s[2], v2
        store_row v30, v31, v7.s[3], v3
        add     x16, x16, #16
        // The next quad: the other one of this half, then the other half, 8 k bytes behind this one.
        add     x4, x4, #16
        sub     x10, x10, #1
        cmp     x10, #2
        add     x11, x4, x8, lsl #3
        sub     x11, x11, #32
        csel    x4, x11, x4, eq
        cbnz    x10, quad

        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     d8, d9, [sp], #64
        ret
endfunc gemm_int8_tile
