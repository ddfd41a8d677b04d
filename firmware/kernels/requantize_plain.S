// SPDX-License-Identifier: Apache-2.0
// Requantization of q4_0, q5_0, q8_0 and q6_k, which have no minimum. Arguments, registers and bound are in
// requantize_macros.h, the packs in docs/weight-image.md, the arithmetic in requantize.h, the reference in
// reference/requantize_ref.c. v30 holds what is taken off codes: 8 or 32.
//
// Slots that 32 weights take besides those of SMULL, SQRDMULH, SQXTN and STP (18): q8_0 none, q4_0 4, q5_0 and
// q6_k 8, of which 4 are shifts (V1); bound 12 cycles, 13 for q5_0 and q6_k.
#include "kernels/requantize_macros.h"

// Codes of even runs are in v8 and v9, their products in v8, v16, v9, v17; of odd ones in v10 and v12, v10 to v13.
.macro eight_runs codes, out
        even_run \codes, 0, v22, v26
        odd_run \codes, \out, 1, v23, v27
        even_run \codes, 2, v24, v28, \out
        odd_run \codes, \out, 3, v25, v29
        even_run \codes, 4, v22, v26, \out
        odd_run \codes, \out, 5, v23, v27
        even_run \codes, 6, v24, v28, \out
        odd_run \codes, \out, 7, v25, v29
        narrow_run \out, 7, 10, 11, 12, 13
        add     \out, \out, #256
.endm

// A run, and the end of the one before, if there is one: then \out is given.
.macro even_run codes, run, first, second, out
        \codes  v8, v9, \run, \first, \second
        multiply_run \run, v8, v9, v8, v16, v9, v17
        .ifnb   \out
        narrow_run \out, (\run-1), 10, 11, 12, 13
        .endif
.endm
.macro odd_run codes, out, run, first, second
        \codes  v10, v12, \run, \first, \second
        multiply_run \run, v10, v12, v10, v11, v12, v13
        narrow_run \out, (\run-1), 8, 16, 9, 17
.endm

.macro take_off_from first, second
        sub     \first\().16b, \first\().16b, v30.16b
        sub     \second\().16b, \second\().16b, v30.16b
.endm

.macro nibble_codes to_first, to_second, run, first, second
        nibbles_to \to_first, \to_second, \first, \second, (\run/4)
        take_off_from \to_first, \to_second
.endm

.macro nibble_half out, columns
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x0], #64
        repeat_columns \columns
        eight_runs nibble_codes, \out
.endm

.macro nibble_group
        ld1     {v16.8h, v17.8h}, [x6], #32
        group_without_minimum
        load_smoothing 4s, 4
        nibble_half x1, v14
        nibble_half x2, v15
.endm

// x6 scale lines, advances
func requantize_q4_0
        requantize_begin
        movi    v30.16b, #8
        add     x6, x0, #512
1:      nibble_group
        nibble_group
        mov     x0, x6
        add     x6, x6, #512
        subs    x5, x5, #64
        b.ne    1b
        requantize_end
endfunc requantize_q4_0

// Bit \run of the high bits at [x7 + \at], as bit 4 of the codes. v15 holds 16 in every byte.
.macro fifth_bit codes, run, at
        ldr     q14, [x7, #\at]
        .if     \run < 4
        shl     v14.16b, v14.16b, #(4 - \run)
        .elseif \run > 4
        ushr    v14.16b, v14.16b, #(\run - 4)
        .endif
        bit     \codes\().16b, v14.16b, v15.16b
        sub     \codes\().16b, \codes\().16b, v15.16b
.endm

.macro five_bit_codes to_first, to_second, run, first, second
        nibbles_to \to_first, \to_second, \first, \second, (\run/4)
        fifth_bit \to_first, \run, 0
        fifth_bit \to_second, \run, 16
.endm

// x7 high bits, advance. The half's scales are in \columns.
.macro five_bit_half out, columns
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x0], #64
        repeat_columns \columns
        eight_runs five_bit_codes, \out
        add     x7, x7, #32
.endm

.macro five_bit_group
        ld1     {v16.8h, v17.8h}, [x6], #32
        add     x7, x0, #256
        group_without_minimum
        mov     v30.16b, v15.16b
        load_smoothing 4s, 4
        movi    v15.16b, #16
        five_bit_half x1, v14
        five_bit_half x2, v30
        mov     x0, x7
.endm

// x6 scale lines, advances   x7 high bits, advance   v14 high bits of a half   v15 16 in every byte
// v30 scales of columns 8..15
func requantize_q5_0
        requantize_begin
        add     x6, x0, #640
1:      five_bit_group
        five_bit_group
        mov     x0, x6
        add     x6, x6, #640
        subs    x5, x5, #64
        b.ne    1b
        requantize_end
endfunc requantize_q5_0

// Codes that nothing is to be done with: they are multiplied where they are.
.macro byte_pair out, run, next_run, even_first, even_second, odd_first, odd_second, before
        multiply_run \run, \even_first, \even_second, v8, v16, v9, v17
        .ifnb   \before
        narrow_run \out, (\run-1), 10, 11, 12, 13
        .endif
        multiply_run \next_run, \odd_first, \odd_second, v10, v11, v12, v13
        narrow_run \out, \run, 8, 16, 9, 17
.endm

// x7 second quad of a half, 128 bytes from the first.
.macro byte_half out, columns
        repeat_columns \columns
        add     x7, x0, #128
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x7], #64
        byte_pair \out, 0, 1, v22, v26, v23, v27
        byte_pair \out, 2, 3, v24, v28, v25, v29, before
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x7], #64
        byte_pair \out, 4, 5, v22, v26, v23, v27, before
        byte_pair \out, 6, 7, v24, v28, v25, v29, before
        narrow_run \out, 7, 10, 11, 12, 13
        mov     x0, x7
        add     \out, \out, #256
.endm

.macro byte_group
        ld1     {v16.8h, v17.8h}, [x6], #32
        group_without_minimum
        load_smoothing 4s, 4
        byte_half x1, v14
        byte_half x2, v15
.endm

// x6 scale lines, advances
func requantize_q8_0
        requantize_begin
        add     x6, x0, #1024
1:      byte_group
        byte_group
        mov     x0, x6
        add     x6, x6, #1024
        subs    x5, x5, #64
        b.ne    1b
        requantize_end
endfunc requantize_q8_0

// v18..v21 for 8 columns and 16 k: the int8 scales at [x6 + \at], factors at x8, multipliers at x4.
.macro six_bit_scales half, at
        ldr     d14, [x6, #\at]
        ldr     q16, [x8, #(16 * \half)]
        ldr     q17, [x4, #(16 * \half)]
        sxtl    v14.8h, v14.8b
        smull   v10.4s, v14.4h, v16.4h
        smull2  v11.4s, v14.8h, v16.8h
        rshrn   v14.4h, v10.4s, #7
        rshrn2  v14.8h, v11.4s, #7
        shl     v14.8h, v14.8h, #3
        sqrdmulh v14.8h, v14.8h, v17.8h
        repeat_columns v14
.endm

// Run \run; bits 4 and 5 of its codes are two bits of v16 and v17.
.macro six_bit_run out, run, first, second, lane
        nibbles \first, \second, (\run / 4)
        .if     \lane == 2
        bit     v8.16b, v16.16b, v15.16b
        bit     v9.16b, v17.16b, v15.16b
        .else
        .if     \lane < 2
        shl     v10.16b, v16.16b, #(4 - 2 * \lane)
        shl     v11.16b, v17.16b, #(4 - 2 * \lane)
        .else
        ushr    v10.16b, v16.16b, #2
        ushr    v11.16b, v17.16b, #2
        .endif
        bit     v8.16b, v10.16b, v15.16b
        bit     v9.16b, v11.16b, v15.16b
        .endif
        take_off_from v8, v9
        run_without_minimum \out, \run
.endm

.macro six_bit_half out, half
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x0], #64
        six_bit_scales \half, (8 * \half)
        ldr     q16, [x7]
        ldr     q17, [x7, #32]
        six_bit_run \out, 0, v22, v26, 0
        six_bit_run \out, 1, v23, v27, 1
        six_bit_run \out, 2, v24, v28, 2
        six_bit_run \out, 3, v25, v29, 3
        six_bit_scales \half, (16 + 8 * \half)
        ldr     q16, [x7, #16]
        ldr     q17, [x7, #48]
        six_bit_run \out, 4, v22, v26, 0
        six_bit_run \out, 5, v23, v27, 1
        six_bit_run \out, 6, v24, v28, 2
        six_bit_run \out, 7, v25, v29, 3
        add     x7, x7, #64
        add     \out, \out, #256
.endm

// x6 scales of 16 k, advances   x7 high bits, advance   x8 the pack, its factors   x9 groups left of it
// v15 0x30 in every byte   v16, v17 high bits of a half's quads
func requantize_q6_k
        requantize_begin
        movi    v30.16b, #32
        movi    v15.16b, #0x30
1:      mov     x8, x0
        add     x6, x0, #32
        add     x0, x0, #288
        mov     w9, #8
2:      add     x7, x0, #256
        load_smoothing 4s, 4
        six_bit_half x1, 0
        six_bit_half x2, 1
        mov     x0, x7
        add     x6, x6, #32
        subs    w9, w9, #1
        b.ne    2b
        subs    x5, x5, #256
        b.ne    1b
        requantize_end
endfunc requantize_q6_k
