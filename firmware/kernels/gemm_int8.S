// SPDX-License-Identifier: Apache-2.0
// Tiles of the int8 GEMM: 8 rows by the 16 columns of a panel, over all of K. Reference: reference/int8_ref.c.
//
// void gemm_int8_tiles(const struct int8_panel *panel, const struct int8_activations *a, uint64_t tiles, float *y,
//                      uint64_t stride)
//
// Layouts: int8_linear.h. At least one tile; stride in floats.
//   x0 weights of the panel    x1 its column scales    x2 k, in bytes    x3 k of a block
//   x4 values of the tile      x5 its steps            x6 row scales of the tile whose sums are in v16..v31
//   x7 y of the tile           x8 its stride, bytes    x9 tiles left     x10 16 x quad of the panel
//   x11, x12, x13 walk values, weights, steps          x14 k left        x15 k left in the block
//   x16 walks down y, x17 column scales: of the quad whose sums are in v16..v31
//
// Vector registers, in four banks:
//   A rows          v0, v1 (even k / 4) and v2, v3 (odd): rows 0-3 and 4-7, 4 k each
//   B columns       v4 (even), v5 (odd): the quad's 4 columns, 4 k each
//   accumulators    v8..v15 int32, a row each;  v16..v31 int64, two a row
//   scratch         v6, v7: steps of rows 0-3 and 4-7, later row scales. While sums are stored v2 and v5, too
// Loads are one k / 4 ahead: while one bank of A and B is multiplied the other one is filled.
//
// Two things keep V0, the only pipe for SMLAL and conversions, from holding up V1: the last SDOTs of a block alternate
// with the first SMLALs, and a quad's sums are converted and stored among the first SDOTs of the next one.
//
// Why not 8x8: there would be twice as many int32 sums, and int64 sums in memory. Two Q stores per accumulator and block
// take four V slots, as much as 16 k of SDOT. 8x4 keeps both kinds in registers, and loads are no bottleneck.
//
// V slots of a quad: 2 k SDOT; 16 SMLAL (V0) a block; 8 to clear; 16 SCVTF (V0), 16 FCVTN (V0, two each), 16 FMUL,
// 8 stores (two each). Two pipes: the bound is k + 8 x blocks + 44 cycles for 32 k MAC. Blocks of 96: k = 576 takes
// 668 cycles, 86.2 % of 32 MAC a cycle; k = 1536 1708 cycles, 89.9 %.
#include "arch/asm.h"

        // struct int8_panel and struct int8_activations; gemm_int8.c asserts them
        .equ    PANEL_COLUMN_SCALES, 8
        .equ    PANEL_K, 72
        .equ    TILE_ROW_SCALES, 16
        .equ    TILE_BLOCK, 28

.macro load_even
        ldp     q0, q1, [x11], #32
        ldr     q4, [x12], #32
.endm

.macro load_odd
        ldp     q2, q3, [x11], #32
        ldr     q5, [x12], #32
.endm

// Rows 0-3 or 4-7 times the quad, 4 k.
.macro dots_low a, b
        sdot    v8.4s, \b\().16b, \a\().4b[0]
        sdot    v9.4s, \b\().16b, \a\().4b[1]
        sdot    v10.4s, \b\().16b, \a\().4b[2]
        sdot    v11.4s, \b\().16b, \a\().4b[3]
.endm

.macro dots_high a, b
        sdot    v12.4s, \b\().16b, \a\().4b[0]
        sdot    v13.4s, \b\().16b, \a\().4b[1]
        sdot    v14.4s, \b\().16b, \a\().4b[2]
        sdot    v15.4s, \b\().16b, \a\().4b[3]
.endm

// 8 k, of which the first 4 have been loaded, as have been the next ones at the end.
.macro pair
        load_odd
        dots_low v0, v4
        dots_high v1, v4
        load_even
        dots_low v2, v5
        dots_high v3, v5
.endm

// The first 24 k of a block.
.macro open_block
        cmp     x14, x3
        csel    x15, x14, x3, lo
        sub     x14, x14, x15
        load_even
        .rept   3
        pair
        .endr
.endm

// Up to the last 8 k of a block.
.macro continue_block
        subs    x15, x15, #32
        b.eq    2f
1:      .rept   4
        pair
        .endr
        subs    x15, x15, #32
        b.ne    1b
2:
.endm

// A row's int64 sums; `multiply` is smull for the first block, smlal for the others.
.macro add_row multiply, sum, low, high, step
        \multiply  \low\().2d, \sum\().2s, \step
        \multiply\()2 \high\().2d, \sum\().4s, \step
.endm

// The last 8 k of a block, and its sums times its steps.
.macro close_block multiply
        load_odd
        ldp     q6, q7, [x13], #32
        dots_low v0, v4
        dots_low v2, v5
        sdot    v12.4s, v4.16b, v1.4b[0]
        \multiply  v16.2d, v8.2s, v6.s[0]
        sdot    v13.4s, v4.16b, v1.4b[1]
        \multiply\()2 v17.2d, v8.4s, v6.s[0]
        sdot    v14.4s, v4.16b, v1.4b[2]
        \multiply  v18.2d, v9.2s, v6.s[1]
        sdot    v15.4s, v4.16b, v1.4b[3]
        \multiply\()2 v19.2d, v9.4s, v6.s[1]
        sdot    v12.4s, v5.16b, v3.4b[0]
        \multiply  v20.2d, v10.2s, v6.s[2]
        sdot    v13.4s, v5.16b, v3.4b[1]
        \multiply\()2 v21.2d, v10.4s, v6.s[2]
        sdot    v14.4s, v5.16b, v3.4b[2]
        \multiply  v22.2d, v11.2s, v6.s[3]
        sdot    v15.4s, v5.16b, v3.4b[3]
        \multiply\()2 v23.2d, v11.4s, v6.s[3]
        add_row \multiply, v12, v24, v25, v7.s[0]
        add_row \multiply, v13, v26, v27, v7.s[1]
        add_row \multiply, v14, v28, v29, v7.s[2]
        add_row \multiply, v15, v30, v31, v7.s[3]
.endm

// The SDOT of number `index` of a block, with its 4 k's loads. Numbers 8 to 15 are those of the second 4 k, and so on.
.macro dot index
        .if     (\index) % 8 == 0
        load_even
        .endif
        dot_if  (\index), 0, v8, v0.4b[0]
        dot_if  (\index), 1, v9, v0.4b[1]
        dot_if  (\index), 2, v10, v0.4b[2]
        dot_if  (\index), 3, v11, v0.4b[3]
        dot_if  (\index), 4, v12, v1.4b[0]
        dot_if  (\index), 5, v13, v1.4b[1]
        dot_if  (\index), 6, v14, v1.4b[2]
        dot_if  (\index), 7, v15, v1.4b[3]
.endm

.macro dot_if index, row, sum, a
        .if     \index % 8 == \row
        sdot    \sum\().4s, v4.16b, \a
        .endif
.endm

// y = (float)(double)sum * (E * row scale) for a row; with `index`, among six SDOTs.
.macro store_row row_scale, low, high, index
        scvtf   \low\().2d, \low\().2d
        next_dot \index, 0
        scvtf   \high\().2d, \high\().2d
        next_dot \index, 1
        fmul    v2.4s, v5.4s, \row_scale
        next_dot \index, 2
        fcvtn   \low\().2s, \low\().2d
        next_dot \index, 3
        fcvtn2  \low\().4s, \high\().2d
        next_dot \index, 4
        fmul    \low\().4s, \low\().4s, v2.4s
        next_dot \index, 5
        st1     {\low\().4s}, [x16], x8
.endm

.macro next_dot index, offset
        .ifnb   \index
        dot     (\index + \offset)
        .endif
.endm

.macro load_factors
        ldr     q5, [x17]
        ldp     q6, q7, [x6]
.endm

// The first block's first 24 k, and what the quad before has summed.
.macro open_block_and_store
        cmp     x14, x3
        csel    x15, x14, x3, lo
        sub     x14, x14, x15
        load_factors
        store_row v6.s[0], v16, v17, 0
        store_row v6.s[1], v18, v19, 6
        store_row v6.s[2], v20, v21, 12
        store_row v6.s[3], v22, v23, 18
        store_row v7.s[0], v24, v25, 24
        store_row v7.s[1], v26, v27, 30
        store_row v7.s[2], v28, v29, 36
        store_row v7.s[3], v30, v31, 42
        load_even
.endm

.macro clear sum
        movi    \sum\().2d, #0
.endm

// x11..x15 for a quad; clears its sums.
.macro begin_quad
        mov     x11, x4
        mov     x13, x5
        mov     x14, x2
        // Quads 0 and 1 alternate in the panel's first half, 2 and 3 in the second, 8 k bytes on.
        and     x12, x10, #16
        add     x12, x12, x0
        tst     x10, #32
        add     x15, x12, x2, lsl #3
        csel    x12, x15, x12, ne
        clear   v8
        clear   v9
        clear   v10
        clear   v11
        clear   v12
        clear   v13
        clear   v14
        clear   v15
.endm

func gemm_int8_tiles
        stp     d8, d9, [sp, #-64]!
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        mov     x9, x2
        mov     x7, x3
        lsl     x8, x4, #2
        ldp     x4, x5, [x1]
        ldr     x6, [x1, #TILE_ROW_SCALES]
        ldr     w3, [x1, #TILE_BLOCK]
        add     x1, x0, #PANEL_COLUMN_SCALES
        ldr     w2, [x0, #PANEL_K]
        ldr     x0, [x0]
        mov     x10, #0
        begin_quad
        open_block
        b       4f

3:      begin_quad
        open_block_and_store
        // Row scales of the next tile, once those of the last one are used.
        add     x17, x6, #32
        cmp     x10, #0
        csel    x6, x17, x6, eq
4:      continue_block
        close_block smull
        cbz     x14, 6f
5:      open_block
        continue_block
        close_block smlal
        cbnz    x14, 5b

6:      add     x16, x7, x10
        add     x17, x1, x10
        add     x10, x10, #16
        cmp     x10, #64
        b.ne    3b
        mov     x10, #0
        mov     x5, x13
        add     x4, x4, x2, lsl #3
        add     x7, x7, x8, lsl #3
        subs    x9, x9, #1
        b.ne    3b

        load_factors
        store_row v6.s[0], v16, v17
        store_row v6.s[1], v18, v19
        store_row v6.s[2], v20, v21
        store_row v6.s[3], v22, v23
        store_row v7.s[0], v24, v25
        store_row v7.s[1], v26, v27
        store_row v7.s[2], v28, v29
        store_row v7.s[3], v30, v31
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     d8, d9, [sp], #64
        ret
endfunc gemm_int8_tiles
