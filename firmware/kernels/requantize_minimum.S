// SPDX-License-Identifier: Apache-2.0
// Requantization of q4_1, q5_1, q4_k and q5_k, which have a minimum. Arguments, registers and bound are in
// requantize_macros.h, the packs in docs/weight-image.md, the arithmetic in requantize.h, the reference in
// reference/requantize_ref.c.
//
// The fifth bit takes 8 slots per 32 weights, of which 4 are shifts (V1): bound 14 cycles, else 12.
#include "kernels/requantize_macros.h"

// Bit \run of the high bits of a half's quads, at x10, as bit 4 of the codes. v14 holds 16 in every byte.
.macro fifth_bit run, half
        ldr     q10, [x10, #(32 * \half)]
        ldr     q11, [x10, #(32 * \half + 16)]
        .if     \run < 4
        shl     v10.16b, v10.16b, #(4 - \run)
        shl     v11.16b, v11.16b, #(4 - \run)
        .elseif \run > 4
        ushr    v10.16b, v10.16b, #(\run - 4)
        ushr    v11.16b, v11.16b, #(\run - 4)
        .endif
        bit     v8.16b, v10.16b, v14.16b
        bit     v9.16b, v11.16b, v14.16b
.endm

.macro code_run out, run, first, second, half, five
        nibbles \first, \second, (\run / 4)
        .if     \five
        fifth_bit \run, \half
        .endif
        run_with_minimum \out, \run
.endm

.macro code_half out, half, columns, five
        ld1     {v22.16b-v25.16b}, [x0], #64
        ld1     {v26.16b-v29.16b}, [x0], #64
        repeat_a \half
        repeat_columns \columns
        .if     \five
        movi    v14.16b, #16                    // its B is repeated by now
        .endif
        code_run \out, 0, v22, v26, \half, \five
        code_run \out, 1, v23, v27, \half, \five
        code_run \out, 2, v24, v28, \half, \five
        code_run \out, 3, v25, v29, \half, \five
        code_run \out, 4, v22, v26, \half, \five
        code_run \out, 5, v23, v27, \half, \five
        code_run \out, 6, v24, v28, \half, \five
        code_run \out, 7, v25, v29, \half, \five
        add     \out, \out, #256
.endm

// A group's di and mi are in v16..v19.
.macro code_group five
        .if     \five
        add     x10, x0, #256                   // high bits
        .endif
        group_with_minimum
        load_smoothing 2d, 8
        code_half x1, 0, v14, \five
        code_half x2, 1, v15, \five
        .if     \five
        add     x0, x0, #64
        .endif
.endm

// x6 scale lines, advances   x7 from the second group's lines to the next pack's
.macro requantize_legacy name, five, code_bytes
func \name
        requantize_begin
        add     x6, x0, #\code_bytes
        mov     x7, #(\code_bytes + 64)
1:      ld1     {v16.8h-v19.8h}, [x6], #64
        code_group \five
        ld1     {v16.8h-v19.8h}, [x6], x7
        code_group \five
        add     x0, x0, #128
        subs    x5, x5, #64
        b.ne    1b
        requantize_end
endfunc \name
.endm

requantize_legacy requantize_q4_1, 0, 512
requantize_legacy requantize_q5_1, 1, 640

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

// x6 low bits of scales and minima, x7 upper bits, both advance   x8 the pack   w9 pairs of groups left of it
.macro requantize_k name, five
func \name
        requantize_begin
1:      mov     x8, x0
        add     x6, x0, #64
        add     x7, x0, #192
        add     x0, x0, #256
        mov     w9, #4
2:      k_scales 0
        code_group \five
        k_scales 1
        code_group \five
        subs    w9, w9, #1
        b.ne    2b
        subs    x5, x5, #256
        b.ne    1b
        requantize_end
endfunc \name
.endm

requantize_k requantize_q4_k, 0
requantize_k requantize_q5_k, 1
