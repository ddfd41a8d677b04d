// SPDX-License-Identifier: Apache-2.0
// clang-format off
// Scores of query rows against groups of 16 keys. Reference: reference/attention_ref.c, fold_block().
//
// void attention_scores_ROWS(const struct key_group *groups, uint64_t count, const int8_t *queries,
//                            uint64_t head_dim, const float *query_scales, uint32_t *scores, int32x4_t *tops)
// void attention_scores_masked_ROWS(... , const uint32_t *visible)
// void attention_scores16_ROWS(...), attention_masked16_ROWS(...): queries of 16 bits in two halves
//
// x0 groups, advance    x1 groups left    x2 queries, 256 bytes a row (int16: 512, [head_dim / 16][upper, lower][16])
// x3 head_dim    x4 a scale for each row
// x5 scores, advance, 1024 bytes a row    x6 tops, a vector for each row, updated
// x7 (masked) [count][4 rows], advance: bit j for key j; where it is clear the score is 0
//   x8  constants     x9 walks the queries; scores of a row     x10..x13 walk a key quad each
//   x14 dims left; mask of a row
//   x15 bytes of a quad     x16 key scales     w17 (masked) keys that any row sees
//
// Keys: [4 quads][head_dim / 4][4 keys][4 dims].
//
//   A, rows     v0..v3    16 dims of a query row each; then scores of a row
//   B, columns  v4..v7    16 dims of a key quad; then scales of the 16 keys
//   scratch     v8..v11   largest scores so far, a row each      v12 1.5 * 2^23     v13 query scales
//               v14, v15  mask; partial maxima
//   sums        v16..v31  row r, quad q in v(16 + 4r + q); they start at the bits of 1.5 * 2^23, so that a
//                         subtraction makes floats of them: |dot| <= 127 * 127 * 256 < 2^22
//
// Constants are loaded where a MOV would take a V slot: the load pipes have room.
//
// V slots of 4 rows and 16 keys: 16 * head_dim SDOT, 16 FSUB, 16 FMUL, 16 FMLA, 16 SMAX, 16 for STP: 1.25 a
// pair beside head_dim / 16; masked: 36 more. Bound at head_dim 64: 2.625 cycles a pair, of which 2 are SDOT.
// int16: twice the SDOT, 16 SHL, and SCVTF (2 slots of V0) instead of FSUB: 4.88 cycles a pair.
#include "arch/asm.h"

        .section .rodata.attention_scores, "a", %progbits
        .p2align 6
attention_scores_constants:
        .rept   8
        .word   0x4b400000              // 1.5 * 2^23
        .endr
        .rept   8
        .float  6144.0                  // SCORE_OFFSET
        .endr
        .word   1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768
        .word   0, 0, 0, 0, 0, 0, 0, 0

// Vector `keys`, 4 dims of a key quad, times those dims of every row.
.macro dot_rows rows, keys, lane, sum0, sum1, sum2, sum3
        sdot    \sum0\().4s, \keys\().16b, v0.4b[\lane]
        .if     \rows > 1
        sdot    \sum1\().4s, \keys\().16b, v1.4b[\lane]
        .endif
        .if     \rows > 2
        sdot    \sum2\().4s, \keys\().16b, v2.4b[\lane]
        .endif
        .if     \rows > 3
        sdot    \sum3\().4s, \keys\().16b, v3.4b[\lane]
        .endif
.endm

// 16 dims of a key quad.
.macro dot_quad rows, pointer, sum0, sum1, sum2, sum3
        ldp     q4, q5, [\pointer], #32
        ldp     q6, q7, [\pointer], #32
        dot_rows \rows, v4, 0, \sum0, \sum1, \sum2, \sum3
        dot_rows \rows, v5, 1, \sum0, \sum1, \sum2, \sum3
        dot_rows \rows, v6, 2, \sum0, \sum1, \sum2, \sum3
        dot_rows \rows, v7, 3, \sum0, \sum1, \sum2, \sum3
.endm

.macro start_row int16, sum0, sum1, sum2, sum3
        ldp     q\sum0, q\sum1, [x8, #(128 * \int16)]
        ldp     q\sum2, q\sum3, [x8, #(128 * \int16)]
.endm

// From the sums of upper halves to those of both.
.macro shift_row int16, sum0, sum1, sum2, sum3
        shl     v\sum0\().4s, v\sum0\().4s, #8
        shl     v\sum1\().4s, v\sum1\().4s, #8
        shl     v\sum2\().4s, v\sum2\().4s, #8
        shl     v\sum3\().4s, v\sum3\().4s, #8
.endm

// `macro` for the sums of every row.
.macro each_row rows, int16, macro
        \macro  \int16, 16, 17, 18, 19
        .if     \rows > 1
        \macro  \int16, 20, 21, 22, 23
        .endif
        .if     \rows > 2
        \macro  \int16, 24, 25, 26, 27
        .endif
        .if     \rows > 3
        \macro  \int16, 28, 29, 30, 31
        .endif
.endm

.macro scale_quad int16, sum, scales
        .if     \int16
        scvtf   \sum\().4s, \sum\().4s
        .else
        fsub    \sum\().4s, \sum\().4s, v12.4s
        .endif
        fmul    \sum\().4s, \sum\().4s, \scales\().4s
.endm

// Hides what the row does not see; v14 holds its bits.
.macro mask_quad score, offset
        ldr     q15, [x8, #\offset]
        cmtst   v15.4s, v15.4s, v14.4s
        and     \score\().16b, \score\().16b, v15.16b
.endm

.macro finish_row masked, int16, row, top, sum0, sum1, sum2, sum3
        scale_quad \int16, \sum0, v4
        scale_quad \int16, \sum1, v5
        scale_quad \int16, \sum2, v6
        scale_quad \int16, \sum3, v7
        ldp     q0, q1, [x8, #32]
        ldp     q2, q3, [x8, #32]
        fmla    v0.4s, \sum0\().4s, v13.s[\row]
        fmla    v1.4s, \sum1\().4s, v13.s[\row]
        fmla    v2.4s, \sum2\().4s, v13.s[\row]
        fmla    v3.4s, \sum3\().4s, v13.s[\row]
        .if     \masked
        add     x14, x7, #(4 * \row)
        ld1r    {v14.4s}, [x14]
        mask_quad v0, 64
        mask_quad v1, 80
        mask_quad v2, 96
        mask_quad v3, 112
        .endif
        smax    v14.4s, v0.4s, v1.4s
        smax    v15.4s, v2.4s, v3.4s
        smax    \top\().4s, \top\().4s, v14.4s
        smax    \top\().4s, \top\().4s, v15.4s
        add     x9, x5, #(1024 * \row)
        stp     q0, q1, [x9]
        stp     q2, q3, [x9, #32]
.endm

// Goes on to the next dims when no row sees any of `keys`.
.macro unless_hidden masked, keys
        .if     \masked
        tst     w17, #\keys
        b.eq    3f
        .endif
.endm

// w17: what any row sees of the group.
.macro load_seen rows
        ldr     w17, [x7]
        .irp    row, 1, 2, 3
        .if     \rows > \row
        ldr     w14, [x7, #(4 * \row)]
        orr     w17, w17, w14
        .endif
        .endr
.endm

// Sums of a group: x10 its keys, x9 queries.
.macro dot_group rows, masked, int16
        mov     x14, x3
        add     x11, x10, x15
        add     x12, x11, x15
        add     x13, x12, x15
2:      .if     \rows > 3
        ldr     q3, [x9, #(768 << \int16)]
        .endif
        .if     \rows > 2
        ldr     q2, [x9, #(512 << \int16)]
        .endif
        .if     \rows > 1
        ldr     q1, [x9, #(256 << \int16)]
        .endif
        ldr     q0, [x9], #(16 << \int16)
        dot_quad \rows, x10, v16, v20, v24, v28
        unless_hidden \masked, 0xfff0
        dot_quad \rows, x11, v17, v21, v25, v29
        unless_hidden \masked, 0xff00
        dot_quad \rows, x12, v18, v22, v26, v30
        unless_hidden \masked, 0xf000
        dot_quad \rows, x13, v19, v23, v27, v31
3:      subs    x14, x14, #16
        b.ne    2b
.endm

.macro score_function name, rows, masked, int16
func \name\()_\rows
        stp     d8, d9, [sp, #-64]!
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        adrp    x8, attention_scores_constants
        add     x8, x8, :lo12:attention_scores_constants
        lsl     x15, x3, #2
        ldp     q8, q9, [x6]
        ldp     q10, q11, [x6, #32]
        ldr     q12, [x8]
        ldr     q13, [x4]
1:      ldp     x10, x16, [x0], #16
        .if     \masked
        load_seen \rows
        .endif
        mov     x9, x2
        each_row \rows, \int16, start_row
        dot_group \rows, \masked, \int16
        .if     \int16
        ldr     x10, [x0, #-16]
        add     x9, x2, #16
        each_row \rows, \int16, shift_row
        dot_group \rows, \masked, \int16
        .endif
        ldp     q4, q5, [x16]
        ldp     q6, q7, [x16, #32]
        finish_row \masked, \int16, 0, v8, v16, v17, v18, v19
        .if     \rows > 1
        finish_row \masked, \int16, 1, v9, v20, v21, v22, v23
        .endif
        .if     \rows > 2
        finish_row \masked, \int16, 2, v10, v24, v25, v26, v27
        .endif
        .if     \rows > 3
        finish_row \masked, \int16, 3, v11, v28, v29, v30, v31
        .endif
        .if     \masked
        add     x7, x7, #16
        .endif
        add     x5, x5, #64
        subs    x1, x1, #1
        b.ne    1b
        stp     q8, q9, [x6]
        stp     q10, q11, [x6, #32]
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     d8, d9, [sp], #64
        ret
endfunc \name\()_\rows
.endm

        .irp    rows, 1, 2, 3, 4
        score_function attention_scores, \rows, 0, 0
        score_function attention_scores_masked, \rows, 1, 0
        score_function attention_scores16, \rows, 0, 1
        score_function attention_masked16, \rows, 1, 1
        .endr
