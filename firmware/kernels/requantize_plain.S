// SPDX-License-Identifier: Apache-2.0
// Requantization of q4_0, q5_0, q8_0 and q6_k, which have no minimum. Arguments, registers and bound are in
// requantize_macros.h, the packs in docs/weight-image.md, the arithmetic in requantize.h, the reference in
// reference/requantize_ref.c. v30 holds what is taken off codes: 8 or 32.
//
// Slots that 32 weights take besides those of SMULL, SQRDMULH, SQXTN and STP (18): q8_0 none, q4_0 4, q5_0 and
// q6_k 8, of which 4 are shifts (V1); bound 12 cycles, 13 for q5_0 and q6_k.
#include "kernels/requantize_macros.h"

.macro take_off
        sub     v8.16b, v8.16b, v30.16b
        sub     v9.16b, v9.16b, v30.16b
.endm

// Run \run of a half; its two quads' vectors are \first and \second.
.macro nibble_run out, run, first, second
        nibbles \first, \second, (\run / 4)
        take_off
        run_without_minimum \out, \run
.endm

.macro nibble_half out, columns
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x0], #64
        repeat_columns \columns
        nibble_run \out, 0, v22, v26
        nibble_run \out, 1, v23, v27
        nibble_run \out, 2, v24, v28
        nibble_run \out, 3, v25, v29
        nibble_run \out, 4, v22, v26
        nibble_run \out, 5, v23, v27
        nibble_run \out, 6, v24, v28
        nibble_run \out, 7, v25, v29
        add     \out, \out, #256
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

// Bit \run of the high bits in v14 and v16 (of quad 0 and 1), as bit 4 of the codes. v15 holds 16 in every byte.
.macro fifth_bit run
        .if     \run < 4
        shl     v10.16b, v14.16b, #(4 - \run)
        shl     v11.16b, v16.16b, #(4 - \run)
        bit     v8.16b, v10.16b, v15.16b
        bit     v9.16b, v11.16b, v15.16b
        .elseif \run == 4
        bit     v8.16b, v14.16b, v15.16b
        bit     v9.16b, v16.16b, v15.16b
        .else
        ushr    v10.16b, v14.16b, #(\run - 4)
        ushr    v11.16b, v16.16b, #(\run - 4)
        bit     v8.16b, v10.16b, v15.16b
        bit     v9.16b, v11.16b, v15.16b
        .endif
.endm

.macro five_bit_run out, run, first, second
        nibbles \first, \second, (\run / 4)
        fifth_bit \run
        sub     v8.16b, v8.16b, v15.16b
        sub     v9.16b, v9.16b, v15.16b
        run_without_minimum \out, \run
.endm

// x7 high bits, advance. The half's scales are in \columns.
.macro five_bit_half out, columns
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x0], #64
        repeat_columns \columns
        ldr     q14, [x7], #16
        ldr     q16, [x7], #16
        five_bit_run \out, 0, v22, v26
        five_bit_run \out, 1, v23, v27
        five_bit_run \out, 2, v24, v28
        five_bit_run \out, 3, v25, v29
        five_bit_run \out, 4, v22, v26
        five_bit_run \out, 5, v23, v27
        five_bit_run \out, 6, v24, v28
        five_bit_run \out, 7, v25, v29
        add     \out, \out, #256
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

// x6 scale lines, advances   x7 high bits, advance   v14, v16 high bits of a half   v15 16 in every byte
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

// x7 second quad of a half, 128 bytes from the first.
.macro byte_half out, columns
        repeat_columns \columns
        add     x7, x0, #128
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x7], #64
        run_without_minimum \out, 0, v22, v26
        run_without_minimum \out, 1, v23, v27
        run_without_minimum \out, 2, v24, v28
        run_without_minimum \out, 3, v25, v29
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x7], #64
        run_without_minimum \out, 4, v22, v26
        run_without_minimum \out, 5, v23, v27
        run_without_minimum \out, 6, v24, v28
        run_without_minimum \out, 7, v25, v29
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
        take_off
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
