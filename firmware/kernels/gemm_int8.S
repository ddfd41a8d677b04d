// SPDX-License-Identifier: Apache-2.0
// clang-format off
// Tiles of the int8 GEMM: 8 rows by the 16 columns of a panel, over all of K. Reference: reference/int8_ref.c.
//
// void gemm_int8_tiles(const struct int8_panel *panel, const struct int8_activations *a, uint64_t tiles, float *y,
//                      uint64_t stride)
// void gemm_int8_tiles_to_panel(...): stride is 16, so that the next tile's lines of y are known, and asked for
// void gemm_int8_half_tiles(...): the first 4 rows of each tile
//
// Layouts: int8_linear.h. At least one tile; stride in floats.
//   x0 weights of the quad     x1 its column scales    x2 k, in bytes    x3 k of a block
//   x4 values of the tile      x5 its steps            x6 row scales of the tile whose sums are in v16..v23
//   x7 y of the tile           x8 its stride, bytes    x9 tiles left     x10 16 x quad of the panel
//   x11, x12, x13 walk values, weights, steps          x14 k left        x15 k left in the block
//   x16 walks down y, x17 column scales: of the quad whose sums are in v16..v23
//
// Vector registers, in four banks:
//   A rows          v0, v1 (even k / 4) and v2, v3 (odd): rows 0-3 and 4-7, 4 k each
//   B columns       v4 (even), v5 (odd): the quad's 4 columns, 4 k each
//   accumulators    v8..v15 int32, a row each;  v16..v23 sums, likewise;  v24..v31 results of an even quad
//   scratch         v6, v7: steps of rows 0-3 and 4-7, later row scales. While sums are converted v2 and v5, too
// Loads are one k / 4 ahead: while one bank of A and B is multiplied the other one is filled.
//
// Two things keep V0, the only pipe for SQRDMLAH and conversions, from holding up V1: the last SDOTs of a block
// alternate with the first SQRDMLAHs, and a quad's sums are converted among the first SDOTs of the next one. Results of
// an even quad wait for those of the odd one: an STP of two vectors takes the vector pipes no longer than an STR of one.
// Accumulators are cleared by loads, which have pipes of their own.
//
// Why not 8x8: twice as many accumulators and sums would be all the registers that there are.
//
// V slots of a quad of 8 rows: 2 k SDOT; 16 for SQRDMLAH (V0, two each) a block; 16 for SCVTF (V0, two each), 16 FMUL,
// 8 for stores. Two pipes: the bound is k + 8 x blocks + 20 cycles for 32 k MAC. K = 576 in blocks of 128 takes 636
// cycles, 90.6 % of 32 MAC a cycle; K = 1536 in blocks of 96 1684 cycles, 91.2 %. Half a tile takes half.
#include "arch/asm.h"

        // struct int8_panel and struct int8_activations; gemm_int8.c asserts them
        .equ    PANEL_COLUMN_SCALES, 8
        .equ    PANEL_K, 72
        .equ    TILE_ROW_SCALES, 16
        .equ    TILE_BLOCK, 28

// A row's values are 32 bytes from k / 4 to k / 4, also where 4 of the 8 rows are left out.
.macro load rows, low, high, columns
        .if     \rows == 8
        ldp     q\low, q\high, [x11], #32
        .else
        ldr     q\low, [x11], #32
        .endif
        ldr     q\columns, [x12], #32
.endm

// The rows times the quad, 4 k.
.macro dots rows, low, high, columns
        sdot    v8.4s, v\columns\().16b, v\low\().4b[0]
        sdot    v9.4s, v\columns\().16b, v\low\().4b[1]
        sdot    v10.4s, v\columns\().16b, v\low\().4b[2]
        sdot    v11.4s, v\columns\().16b, v\low\().4b[3]
        .if     \rows == 8
        sdot    v12.4s, v\columns\().16b, v\high\().4b[0]
        sdot    v13.4s, v\columns\().16b, v\high\().4b[1]
        sdot    v14.4s, v\columns\().16b, v\high\().4b[2]
        sdot    v15.4s, v\columns\().16b, v\high\().4b[3]
        .endif
.endm

// 8 k, of which the first 4 have been loaded, as have been the next ones at the end.
.macro pair rows
        load    \rows, 2, 3, 5
        dots    \rows, 0, 1, 4
        load    \rows, 0, 1, 4
        dots    \rows, 2, 3, 5
.endm

.macro count_block
        cmp     x14, x3
        csel    x15, x14, x3, lo
        sub     x14, x14, x15
.endm

// The first 24 k of a block.
.macro open_block rows
        count_block
        load    \rows, 0, 1, 4
        .rept   3
        pair    \rows
        .endr
.endm

// Up to the last 8 k of a block.
.macro continue_block rows
        subs    x15, x15, #32
        b.eq    2f
1:      .rept   4
        pair    \rows
        .endr
        subs    x15, x15, #32
        b.ne    1b
2:
.endm

// The last 8 k of row \row of a half.
.macro end_row sum, even, odd, row
        sdot    v\sum\().4s, v4.16b, v\even\().4b[\row]
        sdot    v\sum\().4s, v5.16b, v\odd\().4b[\row]
.endm

// The last 8 k of a block, and its accumulators times its steps. `multiply` is sqrdmulh for the first block, sqrdmlah
// for the others.
.macro close_block rows, multiply
        load    \rows, 2, 3, 5
        ldp     q6, q7, [x13], #32
        end_row 8, 0, 2, 0
        end_row 9, 0, 2, 1
        end_row 10, 0, 2, 2
        \multiply v16.4s, v8.4s, v6.s[0]
        end_row 11, 0, 2, 3
        \multiply v17.4s, v9.4s, v6.s[1]
        .if     \rows == 8
        end_row 12, 1, 3, 0
        \multiply v18.4s, v10.4s, v6.s[2]
        end_row 13, 1, 3, 1
        \multiply v19.4s, v11.4s, v6.s[3]
        end_row 14, 1, 3, 2
        \multiply v20.4s, v12.4s, v7.s[0]
        end_row 15, 1, 3, 3
        \multiply v21.4s, v13.4s, v7.s[1]
        \multiply v22.4s, v14.4s, v7.s[2]
        \multiply v23.4s, v15.4s, v7.s[3]
        .else
        \multiply v18.4s, v10.4s, v6.s[2]
        \multiply v19.4s, v11.4s, v6.s[3]
        .endif
.endm

// SDOT number `index` of a quad's first block, with the loads of its 4 k, which has `rows` of them. The first of each
// accumulator clears it before. None if the number is negative.
.macro dot rows, index
        .if     (\index) >= 0
        .if     (\index) % \rows == 0
        load    \rows, 0, 1, 4
        .endif
        dot_if  \rows, (\index), 0, 8, v0.4b[0]
        dot_if  \rows, (\index), 1, 9, v0.4b[1]
        dot_if  \rows, (\index), 2, 10, v0.4b[2]
        dot_if  \rows, (\index), 3, 11, v0.4b[3]
        dot_if  \rows, (\index), 4, 12, v1.4b[0]
        dot_if  \rows, (\index), 5, 13, v1.4b[1]
        dot_if  \rows, (\index), 6, 14, v1.4b[2]
        dot_if  \rows, (\index), 7, 15, v1.4b[3]
        .endif
.endm

.macro dot_if rows, index, row, sum, a
        .if     \index == \row
        clear   \sum
        .endif
        .if     \index % \rows == \row
        sdot    v\sum\().4s, v4.16b, \a
        .endif
.endm

.macro clear sum
        ldr     q\sum, gemm_int8_zeros
.endm

// y = (float)sum * (E * row scale) of a row, among the six SDOTs from number `index` on. An even quad's stays in `even`,
// an odd one's is stored beside it.
.macro convert_row rows, is_odd, row_scale, sum, even, index
        scvtf   v\sum\().4s, v\sum\().4s
        dot     \rows, (\index)
        fmul    v2.4s, v5.4s, \row_scale
        dot     \rows, (\index+1)
        dot     \rows, (\index+2)
        dot     \rows, (\index+3)
        .if     \is_odd
        fmul    v\sum\().4s, v\sum\().4s, v2.4s
        dot     \rows, (\index+4)
        dot     \rows, (\index+5)
        stp     q\even, q\sum, [x16]
        .if     ahead
        prfm    pstl1keep, [x16, #ahead]
        .endif
        add     x16, x16, x8
        .else
        fmul    v\even\().4s, v\sum\().4s, v2.4s
        dot     \rows, (\index+4)
        dot     \rows, (\index+5)
        .endif
.endm

// `index` is 0, or far below 0 where no quad follows.
.macro convert_quad rows, is_odd, index=0
        ldr     q5, [x17]
        ldp     q6, q7, [x6]
        convert_row \rows, \is_odd, v6.s[0], 16, 24, \index
        convert_row \rows, \is_odd, v6.s[1], 17, 25, (\index+6)
        convert_row \rows, \is_odd, v6.s[2], 18, 26, (\index+12)
        convert_row \rows, \is_odd, v6.s[3], 19, 27, (\index+18)
        .if     \rows == 8
        convert_row \rows, \is_odd, v7.s[0], 20, 28, (\index+24)
        convert_row \rows, \is_odd, v7.s[1], 21, 29, (\index+30)
        convert_row \rows, \is_odd, v7.s[2], 22, 30, (\index+36)
        convert_row \rows, \is_odd, v7.s[3], 23, 31, (\index+42)
        .endif
.endm

// The first block's first 24 k, and what the quad before has summed.
.macro open_block_and_convert rows, is_odd
        count_block
        convert_quad \rows, \is_odd
        load    \rows, 0, 1, 4
.endm

// x11..x14 for a quad.
.macro begin_quad
        mov     x11, x4
        mov     x12, x0
        mov     x13, x5
        mov     x14, x2
.endm

        .section .text.gemm_int8_tiles, "ax", %progbits
        .p2align 4
gemm_int8_zeros:
        .quad   0, 0

// `distance` of the next tile's y from this one's, if it is known.
.macro gemm_function name, rows, distance=0
        .set    ahead, \distance
func \name
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
        .irp    sum, 8, 9, 10, 11, 12, 13, 14, 15
        clear   \sum
        .endr
        open_block \rows
        b       5f

        // Quads 0 and 1 alternate in the panel's first half, 2 and 3 in the second, 8 k bytes on.
3:      add     x0, x0, #16             // an odd quad
        begin_quad
        open_block_and_convert \rows, 0
        b       5f

4:      begin_quad                      // an even quad
        open_block_and_convert \rows, 1
        // Row scales of the next tile, once those of the last one are used.
        add     x17, x6, #32
        cmp     x10, #0
        csel    x6, x17, x6, eq

5:      continue_block \rows
        close_block \rows, sqrdmulh
        cbz     x14, 7f
6:      open_block \rows
        continue_block \rows
        close_block \rows, sqrdmlah
        cbnz    x14, 6b

7:      and     x16, x10, #32
        add     x17, x1, x10
        add     x16, x16, x7
        add     x10, x10, #16
        tbnz    x10, #4, 3b
        sub     x0, x0, #16
        add     x0, x0, x2, lsl #3
        cmp     x10, #64
        b.ne    4b
        mov     x10, #0
        sub     x0, x0, x2, lsl #4
        mov     x5, x13
        add     x4, x4, x2, lsl #3
        add     x7, x7, x8, lsl #3
        subs    x9, x9, #1
        b.ne    4b

        convert_quad \rows, 1, -64
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     d8, d9, [sp], #64
        ret
endfunc \name
.endm

        gemm_function gemm_int8_tiles, 8
        gemm_function gemm_int8_tiles_to_panel, 8, 512
        gemm_function gemm_int8_half_tiles, 4
