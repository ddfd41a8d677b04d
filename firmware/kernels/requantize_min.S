// SPDX-License-Identifier: Apache-2.0
// Requantization of q4_1 and q4_k. Arguments, registers and bound are in requantize_macros.h, the packs in
// docs/weight-image.md, the arithmetic in requantize.h, the reference in reference/requantize_ref.c.
#include "kernels/requantize_macros.h"

.macro nibble_run out, run, first, second
        .if     \run < 4
        and     v8.16b, \first\().16b, v31.16b
        and     v9.16b, \second\().16b, v31.16b
        .else
        ushr    v8.16b, \first\().16b, #4
        ushr    v9.16b, \second\().16b, #4
        .endif
        run_with_minimum \out, \run
.endm

.macro nibble_half out, half, columns
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x0], #64
        repeat_a \half
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

// A group's di and mi are in v16..v19.
.macro nibble_group
        group_with_minimum
        load_smoothing 2d, 8
        nibble_half x1, 0, v14
        nibble_half x2, 1, v15
.endm

// x6 scale lines, advances   x7 from the second group's lines to the next pack's
func requantize_q4_1
        requantize_begin
        add     x6, x0, #512
        mov     x7, #(640 - 64)
1:      ld1     {v16.8h-v19.8h}, [x6], #64
        nibble_group
        ld1     {v16.8h-v19.8h}, [x6], x7
        nibble_group
        add     x0, x0, #128
        subs    x5, x5, #64
        b.ne    1b
        requantize_end
endfunc requantize_q4_1

// v\out = round(values * factors / 64) of 8 columns.
.macro k_product out, values, factors
        smull   v10.4s, \values\().4h, \factors\().4h
        smull2  v11.4s, \values\().8h, \factors\().8h
        rshrn   v\out\().4h, v10.4s, #6
        rshrn2  v\out\().8h, v11.4s, #6
.endm

// di and mi of the next group. The even one's upper bits are at bits 0 (scale) and 2 (minimum) of a byte that it
// shares with the odd one.
.macro k_scales odd
        ldr     q8, [x6], #16
        .if     \odd
        ldr     q9, [x7], #16
        ushr    v9.16b, v9.16b, #4
        .else
        ldr     q9, [x7]
        .endif
        movi    v22.16b, #0x30
        and     v23.16b, v8.16b, v31.16b
        ushr    v8.16b, v8.16b, #4
        shl     v24.16b, v9.16b, #4
        shl     v9.16b, v9.16b, #2
        bit     v23.16b, v24.16b, v22.16b
        bit     v8.16b, v9.16b, v22.16b
        ld1     {v24.8h-v27.8h}, [x8]           // dk, mk
        ushll   v28.8h, v23.8b, #0
        ushll2  v29.8h, v23.16b, #0
        k_product 16, v28, v24
        k_product 17, v29, v25
        ushll   v28.8h, v8.8b, #0
        ushll2  v29.8h, v8.16b, #0
        k_product 18, v28, v26
        k_product 19, v29, v27
        neg     v18.8h, v18.8h
        neg     v19.8h, v19.8h
.endm

// x6 low bits of scales and minima, x7 upper bits, both advance   x8 the pack   x9 groups left of it
func requantize_q4_k
        requantize_begin
1:      mov     x8, x0
        add     x6, x0, #64
        add     x7, x0, #192
        add     x0, x0, #256
        mov     w9, #4
2:      k_scales 0
        nibble_group
        k_scales 1
        nibble_group
        subs    w9, w9, #1
        b.ne    2b
        subs    x5, x5, #256
        b.ne    1b
        requantize_end
endfunc requantize_q4_k
