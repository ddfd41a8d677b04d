// SPDX-License-Identifier: Apache-2.0
// Requantization of q4_1 by looking codes up: scale and minimum of a group are folded into 16 entries per column. A
// measured variant, in the checkasm image only (docs/kernels.md). Reference: reference/requantize_ref.c.
//
// void requantize_table_q4_1(const uint8_t *packs, int8_t *weights, uint64_t k, const int16_t *multipliers)
//
// Arithmetic: requantize_table.h. Packs: docs/weight-image.md. weights: [2 halves of 8 columns][k / 4][8 columns][4 k].
//   x0, x7 codes of a half's quad 0 and quad 1, advance   x1 weights of columns 0..7, x2 of 8..15, both advance
//   x3 multipliers   x5 k left   x6 di and mi of a pack's groups
//
// Vector registers, in four banks:
//   A codes         v16..v19: two of a half's columns and 8 k each, two codes a byte
//   B tables        v0..v7: the 16 entries of a half's columns
//   accumulators    none; v8..v11 are the indices into pairs of tables: code + 16 x (column & 1). What BIT and SRI
//                   put into the low half of a byte leaves the 16 in place, so that an index is one instruction
//   scratch         v12..v19, v21..v23: entries as they are made; v12..v15, v20: weights
//   constants       v24 15 in every byte, v25 128 in every int16, v26..v29 byte numbers that repeat a pair of int16
//                   four times, v30, v31 that put a column's entries in order
//
// Which TBL. A vector of codes belongs to 4 columns x 4 k, a register of entries to one column. V slots of 16 weights,
// behind the one that makes the index (TBL of 1 or 2 registers takes one slot, of 4 registers four: a64_classes.h):
//   4 registers     4, and nothing to move
//   2 registers     TBL, TBX for the other two columns with an index of its own: 3; or TBL twice and INS: 3
//   2 registers     TBL, codes moved so that a vector has 2 columns x 8 k: 1 + 1/2 (LD2, both codes of a byte at once)
//                   + 1 (TRN of the weights): 2.5. The one that is used
//   1 register      TBL, everything moved twice as often: 1 + 1 + 2 = 4
//
// How entries are made. Vectors of int16 have 2 columns x 4 codes; codes 0-3, 8-11 and 12-15 follow from 4-7 by adding
// four times the scale, which SUBHN and ADDHN do while they take the upper byte. For 8 columns: 4 + 1 for SQRDMULH and
// rounding, 5 for the first 4 codes, 8 ZIP, and for each of 4 pairs 1 + 4 + 2.
//
// V slots of a half (8 columns x 32 k): 46 for its tables, 16 x 4.5 = 72 for its weights with their stores. V0 alone
// takes 4 of these, V1 alone 9. Bound: 59 cycles, .2305 per weight.
#include "arch/asm.h"

        .section .rodata.requantize_table, "a", %progbits
        .p2align 4
requantize_table_constants:
        .irp    pair, 0, 4, 8, 12               // int16 numbers 0 and 1, 2 and 3, ...
        .byte   \pair, \pair + 1, \pair, \pair + 1, \pair, \pair + 1, \pair, \pair + 1
        .byte   \pair + 2, \pair + 3, \pair + 2, \pair + 3, \pair + 2, \pair + 3, \pair + 2, \pair + 3
        .endr
        .irp    column, 0, 4                    // from {codes 4-7, 8-11} and {0-3, 12-15} of two columns
        .byte   \column + 16, \column + 17, \column + 18, \column + 19
        .byte   \column, \column + 1, \column + 2, \column + 3
        .byte   \column + 8, \column + 9, \column + 10, \column + 11
        .byte   \column + 24, \column + 25, \column + 26, \column + 27
        .endr

// The scales of 8 columns, four times as much, and their entries of code 4: v22, v21, v23. For half \half of group
// \group of the pack whose scale lines are at x6. A chain of 20 cycles: begun among the weights of the half before.
.macro begin_tables group, half
        ldr     q22, [x6, #(64 * \group + 16 * \half)]
        ldr     q23, [x6, #(64 * \group + 16 * \half + 32)]
        ldr     q21, [x3, #(16 * \half)]
        sqrdmulh v22.8h, v22.8h, v21.8h
        sqrdmulh v23.8h, v23.8h, v21.8h
        shl     v21.8h, v22.8h, #2
        add     v23.8h, v23.8h, v25.8h
        add     v23.8h, v23.8h, v21.8h
.endm

// Tables of two columns from codes 4-7, \zip of \low and \high, and four times the scale, \repeat.
.macro pair_tables first, second, zip, low, high, repeat
        \zip    v12.4s, \low\().4s, \high\().4s
        tbl     v13.16b, {v21.16b}, \repeat\().16b
        add     v14.8h, v12.8h, v13.8h          // codes 8-11
        subhn   v23.8b, v12.8h, v13.8h
        uzp2    v22.16b, v12.16b, v14.16b
        addhn2  v23.16b, v14.8h, v13.8h
        tbl     \first\().16b, {v22.16b, v23.16b}, v30.16b
        tbl     \second\().16b, {v22.16b, v23.16b}, v31.16b
.endm

// v0..v7 from v21..v23.
.macro half_tables
        add     v12.8h, v23.8h, v22.8h
        add     v13.8h, v12.8h, v22.8h
        add     v14.8h, v13.8h, v22.8h
        zip1    v16.8h, v23.8h, v12.8h
        zip2    v17.8h, v23.8h, v12.8h
        zip1    v18.8h, v13.8h, v14.8h
        zip2    v19.8h, v13.8h, v14.8h
        pair_tables v0, v1, zip1, v16, v18, v26
        pair_tables v2, v3, zip2, v16, v18, v27
        pair_tables v4, v5, zip1, v17, v19, v28
        pair_tables v6, v7, zip2, v17, v19, v29
.endm

// Weights of runs \run and \run + 1 by the indices in v8..v11.
.macro look_up out, run
        tbl     v12.16b, {v0.16b, v1.16b}, v8.16b
        tbl     v13.16b, {v2.16b, v3.16b}, v9.16b
        tbl     v14.16b, {v4.16b, v5.16b}, v10.16b
        tbl     v15.16b, {v6.16b, v7.16b}, v11.16b
        trn1    v20.2d, v12.2d, v13.2d
        trn2    v13.2d, v12.2d, v13.2d
        trn1    v12.2d, v14.2d, v15.2d
        trn2    v15.2d, v14.2d, v15.2d
        stp     q20, q12, [\out, #(32 * \run)]
        stp     q13, q15, [\out, #(32 * \run + 32)]
.endm

.macro two_runs out, run
        ld2     {v16.2d, v17.2d}, [x0], #32
        ld2     {v18.2d, v19.2d}, [x7], #32
        bit     v8.16b, v16.16b, v24.16b
        bit     v9.16b, v17.16b, v24.16b
        bit     v10.16b, v18.16b, v24.16b
        bit     v11.16b, v19.16b, v24.16b
        look_up \out, \run
        sri     v8.16b, v16.16b, #4
        sri     v9.16b, v17.16b, #4
        sri     v10.16b, v18.16b, #4
        sri     v11.16b, v19.16b, #4
        look_up \out, (\run + 4)
.endm

// A half; then what begins the tables of half \next of group \group.
.macro table_half out, group, next
        half_tables
        add     x7, x0, #64
        two_runs \out, 0
        begin_tables \group, \next
        two_runs \out, 2
        mov     x0, x7
        add     \out, \out, #256
.endm

func requantize_table_q4_1
        stp     d8, d9, [sp, #-64]!
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        mov     x5, x2
        add     x2, x1, x2, lsl #3
        adrp    x8, requantize_table_constants
        add     x8, x8, :lo12:requantize_table_constants
        ld1     {v26.16b-v29.16b}, [x8], #64
        ld1     {v30.16b, v31.16b}, [x8]
        movi    v24.16b, #15
        movi    v25.8h, #128
        movi    v8.2s, #0
        movi    v9.16b, #16
        zip1    v8.4s, v8.4s, v9.4s             // 16 in the second column's bytes
        mov     v9.16b, v8.16b
        mov     v10.16b, v8.16b
        mov     v11.16b, v8.16b
        add     x6, x0, #512
        begin_tables 0, 0
1:      table_half x1, 0, 1
        table_half x2, 1, 0
        table_half x1, 1, 1
        subs    x5, x5, #64
        add     x8, x6, #640
        csel    x6, x8, x6, ne                  // behind the last pack there may be nothing to read
        table_half x2, 0, 0
        add     x0, x0, #128
        b.ne    1b
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     d8, d9, [sp], #64
        ret
endfunc requantize_table_q4_1
