// SPDX-License-Identifier: Apache-2.0
// clang-format off
// Probabilities of a block times its values, added to the output. Reference: reference/attention_ref.c.
//
// void attention_values_ROWS(const struct key_group *groups, uint64_t quads, const int8_t *halves,
//                            uint64_t head_dim, const float32x4_t factors[2], const struct out_row *rows)
// void attention_values_int8_ROWS(...): upper halves alone, as numbers of 8 bits
//
// x0 groups    x1 quads of keys; then whole groups    x2 halves, 512 bytes a row: [group][upper, lower][16 keys]
// x3 dims left    x4 alpha and unit, a lane for each row    x5 where each row's out comes from and goes to
//   x6  bytes from a group's keys to these 16 dims of its values    x7  bytes of a quad
//   x8  bytes of out before these dims    x9  walks the halves      x10 walks the groups, x11 those left
//   x12 walks the values    x13, x14 out    x15 quads of the last group, if it is not whole
//
// Values: [4 quads][head_dim][4 keys].
//
//   A, rows     v0..v3    upper or lower halves of 16 keys, a row each; then out
//   B, columns  v4..v7    16 dims of a key quad
//   factors     v8 alpha, v9 unit, a lane for each row
//   sums        v16..v31  row r, dims 4c.. in v(16 + 4r + c)
//
// V slots of 4 rows, 16 dims and 16 keys: 2 * 64 SDOT; of 4 rows, 16 dims and a block: 16 each of MOVI, SHL, FMUL
// and FMLA, 32 for SCVTF (V0), 16 for STP: 112, which is .22 cycles a pair at 256 keys and head_dim 64.
// Bound there: 4.22 cycles a pair; without lower halves and SHL 2.19.
#include "arch/asm.h"

.macro dot_rows rows, values, lane, sum0, sum1, sum2, sum3
        sdot    \sum0\().4s, \values\().16b, v0.4b[\lane]
        .if     \rows > 1
        sdot    \sum1\().4s, \values\().16b, v1.4b[\lane]
        .endif
        .if     \rows > 2
        sdot    \sum2\().4s, \values\().16b, v2.4b[\lane]
        .endif
        .if     \rows > 3
        sdot    \sum3\().4s, \values\().16b, v3.4b[\lane]
        .endif
.endm

.macro dot_quad rows, lane
        ldp     q4, q5, [x12]
        ldp     q6, q7, [x12, #32]
        add     x12, x12, x7
        dot_rows \rows, v4, \lane, v16, v20, v24, v28
        dot_rows \rows, v5, \lane, v17, v21, v25, v29
        dot_rows \rows, v6, \lane, v18, v22, v26, v30
        dot_rows \rows, v7, \lane, v19, v23, v27, v31
.endm

// A group's values, and one half of its probabilities.
.macro load_group rows
        ldr     x12, [x10], #16
        .if     \rows > 3
        ldr     q3, [x9, #1536]
        .endif
        .if     \rows > 2
        ldr     q2, [x9, #1024]
        .endif
        .if     \rows > 1
        ldr     q1, [x9, #512]
        .endif
        ldr     q0, [x9], #32
        add     x12, x12, x6
.endm

// One half of all keys.
.macro add_half rows
        mov     x10, x0
        mov     x11, x1
        cbz     x11, 3f
2:      load_group \rows
        dot_quad \rows, 0
        dot_quad \rows, 1
        dot_quad \rows, 2
        dot_quad \rows, 3
        subs    x11, x11, #1
        b.ne    2b
3:      cbz     x15, 4f
        load_group \rows
        dot_quad \rows, 0
        cmp     x15, #2
        b.lo    4f
        dot_quad \rows, 1
        b.eq    4f
        dot_quad \rows, 2
4:
.endm

.macro zero sum0, sum1, sum2, sum3
        movi    \sum0\().4s, #0
        movi    \sum1\().4s, #0
        movi    \sum2\().4s, #0
        movi    \sum3\().4s, #0
.endm

.macro shift sum0, sum1, sum2, sum3
        shl     \sum0\().4s, \sum0\().4s, #8
        shl     \sum1\().4s, \sum1\().4s, #8
        shl     \sum2\().4s, \sum2\().4s, #8
        shl     \sum3\().4s, \sum3\().4s, #8
.endm

.macro store_row row, sum0, sum1, sum2, sum3
        ldp     x13, x14, [x5, #(16 * \row)]
        add     x13, x13, x8
        add     x14, x14, x8
        ldp     q0, q1, [x13]
        ldp     q2, q3, [x13, #32]
        scvtf   \sum0\().4s, \sum0\().4s
        scvtf   \sum1\().4s, \sum1\().4s
        scvtf   \sum2\().4s, \sum2\().4s
        scvtf   \sum3\().4s, \sum3\().4s
        fmul    v0.4s, v0.4s, v8.s[\row]
        fmul    v1.4s, v1.4s, v8.s[\row]
        fmul    v2.4s, v2.4s, v8.s[\row]
        fmul    v3.4s, v3.4s, v8.s[\row]
        fmla    v0.4s, \sum0\().4s, v9.s[\row]
        fmla    v1.4s, \sum1\().4s, v9.s[\row]
        fmla    v2.4s, \sum2\().4s, v9.s[\row]
        fmla    v3.4s, \sum3\().4s, v9.s[\row]
        stp     q0, q1, [x14]
        stp     q2, q3, [x14, #32]
.endm

// `macro` for the accumulators of every row.
.macro each_row rows, macro
        \macro  v16, v17, v18, v19
        .if     \rows > 1
        \macro  v20, v21, v22, v23
        .endif
        .if     \rows > 2
        \macro  v24, v25, v26, v27
        .endif
        .if     \rows > 3
        \macro  v28, v29, v30, v31
        .endif
.endm

.macro value_function name, rows, halves
func \name\()_\rows
        stp     d8, d9, [sp, #-16]!
        ldp     q8, q9, [x4]
        lsl     x6, x3, #5
        lsl     x7, x3, #2
        and     x15, x1, #3
        lsr     x1, x1, #2
        mov     x8, #0
1:      mov     x9, x2
        each_row \rows, zero
        add_half \rows
        .if     \halves > 1
        add     x9, x2, #16
        each_row \rows, shift
        add_half \rows
        .endif
        store_row 0, v16, v17, v18, v19
        .if     \rows > 1
        store_row 1, v20, v21, v22, v23
        .endif
        .if     \rows > 2
        store_row 2, v24, v25, v26, v27
        .endif
        .if     \rows > 3
        store_row 3, v28, v29, v30, v31
        .endif
        add     x6, x6, #64
        add     x8, x8, #64
        subs    x3, x3, #16
        b.ne    1b
        ldp     d8, d9, [sp], #16
        ret
endfunc \name\()_\rows
.endm

        .irp    rows, 1, 2, 3, 4
        value_function attention_values, \rows, 2
        value_function attention_values_int8, \rows, 1
        .endr
