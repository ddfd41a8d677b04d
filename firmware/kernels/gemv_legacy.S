// SPDX-License-Identifier: Apache-2.0
// GEMV for the formats with int16 scales per group of 32: q4_0, q4_1, q5_0, q5_1, q8_0. Arguments and
// registers are in gemv_macros.h, the packs in docs/weight-image.md, the references in reference/linear_ref.c.
//
// A pack is two groups, then its scale lines. More registers than there:
//   v2, v3     activations of the second group (4 and 8 bits); q5: high bits, and 16 in every byte
//   v6, v7     scale and sum of the second group (4 and 8 bits); q5: v6 moved high bits
//   v8..v15    scale lines as int16: scales of the first group, minima; of the second, minima
//   x13         scale lines, advances             x14, x15  strides
#include "kernels/gemv_macros.h"

// Widens 4 of the 8 int16 in `line` into v30: columns of an even or an odd quad.
.macro widen line, odd
        .if     \odd
        sxtl2   v30.4s, \line\().8h
        .else
        sxtl    v30.4s, \line\().4h
        .endif
.endm

// From dot products to the sums. `sum` is the group's sum of activations; without minima it is not used.
.macro finish_quad low, high, odd, scales, minima, scale, sum, minimum
        widen   \scales, \odd
        mul     v29.4s, v29.4s, v30.4s
        .if     \minimum
        .if     \odd
        smlal2  v29.4s, \minima\().8h, \sum\().h[0]
        .else
        smlal   v29.4s, \minima\().4h, \sum\().h[0]
        .endif
        .endif
        add_terms \low, \high, \scale
.endm

// Dot products start at 0, or at -offset * sum where weights have an offset: `sum` then holds that.
.macro start_dot sum, offset
        .if     \offset
        mov     v29.16b, \sum\().16b
        .else
        movi    v29.4s, #0
        .endif
.endm

.macro scale_sum sum, log2_offset
        shl     \sum\().4s, \sum\().4s, #\log2_offset
        neg     \sum\().4s, \sum\().4s
.endm

.macro nibble_quad low, high, odd, xl, xh, scales, minima, scale, sum, minimum, step
        load_line \step
        start_dot \sum, (1 - \minimum)
        dot_nibbles v24, \xl, \xh, 0
        dot_nibbles v25, \xl, \xh, 1
        dot_nibbles v26, \xl, \xh, 2
        dot_nibbles v27, \xl, \xh, 3
        finish_quad \low, \high, \odd, \scales, \minima, \scale, \sum, \minimum
.endm

.macro nibble_group xl, xh, s0, s1, m0, m1, scale, sum, minimum, last_step
        nibble_quad v16, v17, 0, \xl, \xh, \s0, \m0, \scale, \sum, \minimum, #64
        nibble_quad v18, v19, 1, \xl, \xh, \s0, \m0, \scale, \sum, \minimum, #64
        nibble_quad v20, v21, 0, \xl, \xh, \s1, \m1, \scale, \sum, \minimum, #64
        nibble_quad v22, v23, 1, \xl, \xh, \s1, \m1, \scale, \sum, \minimum, \last_step
.endm

// Both groups of a 4-bit pack: 190 instructions per 1024 MAC with minima.
.macro gemv_4bit name, minimum
func \name
        gemv_begin
        .if     \minimum
        mov     x14, #(64 + 128)                // last nibbles to the next pack's
        mov     x15, #(640 - 64)                // a second scale line to the next pack's first
        .else
        mov     x14, #(64 + 64)
        mov     x15, #576
        .endif
        panel_begin
        add     x13, x0, #512                   // scale lines
1:      ld1     {v0.16b-v3.16b}, [x9], #64
        ld4r    {v4.4s-v7.4s}, [x10], #16
        .if     \minimum
        ld1     {v8.8h-v11.8h}, [x13], #64
        ld1     {v12.8h-v15.8h}, [x13], x15
        nibble_group v0, v1, v8, v9, v10, v11, v4, v5, 1, #64
        nibble_group v2, v3, v12, v13, v14, v15, v6, v7, 1, x14
        .else
        ld1     {v8.8h-v11.8h}, [x13], x15
        scale_sum v5, 3
        scale_sum v7, 3
        nibble_group v0, v1, v8, v9, v8, v9, v4, v5, 0, #64
        nibble_group v2, v3, v10, v11, v10, v11, v6, v7, 0, x14
        .endif
        subs    x12, x12, #64
        b.ne    1b
        panel_end
        gemv_end
endfunc \name
.endm

gemv_4bit gemv_q4_0, 0
gemv_4bit gemv_q4_1, 1

.macro five_bit_quad low, high, odd, scales, minima, minimum
        load_line #64
        ldr     q2, [x14], #16
        start_dot v5, (1 - \minimum)
        dot_5bit v24, v2, v3, v6, v0, v1, 0
        dot_5bit v25, v2, v3, v6, v0, v1, 1
        dot_5bit v26, v2, v3, v6, v0, v1, 2
        dot_5bit v27, v2, v3, v6, v0, v1, 3
        finish_quad \low, \high, \odd, \scales, \minima, v4, v5, \minimum
.endm

.macro five_bit_group s0, s1, m0, m1, minimum
        ld1     {v0.16b, v1.16b}, [x9], #32
        ld2r    {v4.4s, v5.4s}, [x10], #8
        add     x14, x0, #256                   // high bits
        .if     \minimum == 0
        scale_sum v5, 4
        .endif
        five_bit_quad v16, v17, 0, \s0, \m0, \minimum
        five_bit_quad v18, v19, 1, \s0, \m0, \minimum
        five_bit_quad v20, v21, 0, \s1, \m1, \minimum
        five_bit_quad v22, v23, 1, \s1, \m1, \minimum
        mov     x0, x14                          // past the high bits
.endm

.macro gemv_5bit name, minimum
func \name
        gemv_begin
        movi    v3.16b, #16
        panel_begin
1:      add     x13, x0, #640                    // scale lines
        .if     \minimum
        ld1     {v8.8h-v11.8h}, [x13], #64
        ld1     {v12.8h-v15.8h}, [x13], #64
        five_bit_group v8, v9, v10, v11, 1
        five_bit_group v12, v13, v14, v15, 1
        .else
        ld1     {v8.8h-v11.8h}, [x13], #64
        five_bit_group v8, v9, v8, v9, 0
        five_bit_group v10, v11, v10, v11, 0
        .endif
        mov     x0, x13
        subs    x12, x12, #64
        b.ne    1b
        panel_end
        gemv_end
endfunc \name
.endm

gemv_5bit gemv_q5_0, 0
gemv_5bit gemv_q5_1, 1

.macro dot_bytes x
        load_line #64
        sdot    v29.4s, v24.16b, \x\().4b[0]
        sdot    v29.4s, v25.16b, \x\().4b[1]
        sdot    v29.4s, v26.16b, \x\().4b[2]
        sdot    v29.4s, v27.16b, \x\().4b[3]
.endm

.macro byte_quad low, high, odd, xl, xh, scales, scale
        movi    v29.4s, #0
        dot_bytes \xl
        dot_bytes \xh
        finish_quad \low, \high, \odd, \scales, \scales, \scale, v5, 0
.endm

.macro byte_group xl, xh, s0, s1, scale
        byte_quad v16, v17, 0, \xl, \xh, \s0, \scale
        byte_quad v18, v19, 1, \xl, \xh, \s0, \scale
        byte_quad v20, v21, 0, \xl, \xh, \s1, \scale
        byte_quad v22, v23, 1, \xl, \xh, \s1, \scale
.endm

// 126 instructions per 1024 MAC.
func gemv_q8_0
        gemv_begin
        panel_begin
1:      ld1     {v0.16b-v3.16b}, [x9], #64
        ld4r    {v4.4s-v7.4s}, [x10], #16
        add     x13, x0, #1024
        ld1     {v8.8h-v11.8h}, [x13], #64
        byte_group v0, v1, v8, v9, v4
        byte_group v2, v3, v10, v11, v6
        mov     x0, x13
        subs    x12, x12, #64
        b.ne    1b
        panel_end
        gemv_end
endfunc gemv_q8_0
