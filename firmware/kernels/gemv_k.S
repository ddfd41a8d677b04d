// SPDX-License-Identifier: Apache-2.0
// GEMV for the K formats: 256 k per pack, scales from small integers and a factor per column. Arguments and
// registers are in gemv_macros.h, the packs in docs/weight-image.md, the references in reference/linear_ref.c.
#include "kernels/gemv_macros.h"

// q4_k and q5_k. More registers than in gemv_macros.h:
//   v2         high bits of a quad (q5_k)        v3       0x30 in every byte
//   v6, v7     minima of the group as int16      v14, v15 scales of the group as int16
//   v8..v11    factors of scales and of minima   v12      temporary, moved bits
//   v13        upper bits of two groups' scales and minima
//   x13        low bits of scales and minima, advances     x14   upper bits, advances
//   x15        high bits of the weights, advances
//   x7         groups left of the pack

// v14, v15, v6, v7 from the 6-bit values of the next group: scale in bits 0..3, minimum in 4..7, upper bits of
// both in v13.
.macro k_scales odd
        ldr     q12, [x13], #16
        and     v14.16b, v12.16b, v31.16b
        ushr    v12.16b, v12.16b, #4
        .if     \odd
        bit     v14.16b, v13.16b, v3.16b
        ushr    v13.16b, v13.16b, #2
        bit     v12.16b, v13.16b, v3.16b
        .else
        ldr     q13, [x14], #16
        shl     v15.16b, v13.16b, #4
        bit     v14.16b, v15.16b, v3.16b
        shl     v15.16b, v13.16b, #2
        bit     v12.16b, v15.16b, v3.16b
        .endif
        uxtl2   v15.8h, v14.16b
        uxtl    v14.8h, v14.8b
        uxtl2   v7.8h, v12.16b
        uxtl    v6.8h, v12.8b
.endm

// v30 = round(values * factors / 2^shift) for 4 columns.
.macro k_product values, factors, odd, shift
        .if     \odd
        smull2  v30.4s, \values\().8h, \factors\().8h
        .else
        smull   v30.4s, \values\().4h, \factors\().4h
        .endif
        srshr   v30.4s, v30.4s, #\shift
.endm

.macro k_quad low, high, odd, scales, factors, minima, min_factors, five
        load_line #64
        movi    v29.4s, #0
        .if     \five
        ldr     q2, [x15], #16
        movi    v30.16b, #16
        dot_5bit v24, v2, v30, v12, v0, v1, 0
        dot_5bit v25, v2, v30, v12, v0, v1, 1
        dot_5bit v26, v2, v30, v12, v0, v1, 2
        dot_5bit v27, v2, v30, v12, v0, v1, 3
        .else
        dot_nibbles v24, v0, v1, 0
        dot_nibbles v25, v0, v1, 1
        dot_nibbles v26, v0, v1, 2
        dot_nibbles v27, v0, v1, 3
        .endif
        k_product \scales, \factors, \odd, 6
        mul     v29.4s, v29.4s, v30.4s
        k_product \minima, \min_factors, \odd, 6
        mls     v29.4s, v30.4s, v5.4s
        add_terms \low, \high, v4
.endm

.macro k_group odd, five
        ld1     {v0.16b, v1.16b}, [x9], #32
        ld2r    {v4.4s, v5.4s}, [x10], #8
        .if     \five
        add     x15, x0, #256
        .endif
        k_scales \odd
        k_quad  v16, v17, 0, v14, v8, v6, v10, \five
        k_quad  v18, v19, 1, v14, v8, v6, v10, \five
        k_quad  v20, v21, 0, v15, v9, v7, v11, \five
        k_quad  v22, v23, 1, v15, v9, v7, v11, \five
        .if     \five
        mov     x0, x15
        .endif
.endm

.macro gemv_k name, five
func \name
        gemv_begin
        movi    v3.16b, #0x30
        panel_begin
1:      ld1     {v8.8h-v11.8h}, [x0], #64
        mov     x13, x0
        add     x14, x0, #128
        add     x0, x0, #192
        mov     w7, #4
2:      k_group 0, \five
        k_group 1, \five
        subs    w7, w7, #1
        b.ne    2b
        subs    x12, x12, #256
        b.ne    1b
        panel_end
        gemv_end
endfunc \name
.endm

gemv_k gemv_q4_k, 0
gemv_k gemv_q5_k, 1

// q6_k. More registers than in gemv_macros.h:
//   v2, v10    high bits of a quad, low and high half        v3       0x30 in every byte
//   v4         scale     v5, v11  -32 * sum of the high and the low half
//   v6, v7     scales of the low half as int16, v14, v15 of the high half
//   v8, v9     factors of the scales     v12  moved bits     v13  dot products of the high half
//   x13         scales, advances     x14  high bits, advances     x7  groups left of the pack

// dot_nibbles with bits 4 and 5: those of low[lane] in bits 2 lane.. of v2, of high[lane] in v10.
.macro dot_6bit packed, lane
        and     v28.16b, \packed\().16b, v31.16b
        ushr    \packed\().16b, \packed\().16b, #4
        .if     \lane < 2
        shl     v12.16b, v2.16b, #(4 - 2 * \lane)
        bit     v28.16b, v12.16b, v3.16b
        shl     v12.16b, v10.16b, #(4 - 2 * \lane)
        bit     \packed\().16b, v12.16b, v3.16b
        .elseif \lane == 2
        bit     v28.16b, v2.16b, v3.16b
        bit     \packed\().16b, v10.16b, v3.16b
        .else
        ushr    v12.16b, v2.16b, #2
        bit     v28.16b, v12.16b, v3.16b
        ushr    v12.16b, v10.16b, #2
        bit     \packed\().16b, v12.16b, v3.16b
        .endif
        sdot    v29.4s, v28.16b, v0.4b[\lane]
        sdot    v13.4s, \packed\().16b, v1.4b[\lane]
.endm

.macro q6_quad low, high, odd, scales, high_scales, factors
        load_line #64
        ldr     q2, [x14], #16
        ldr     q10, [x14], #16
        mov     v29.16b, v11.16b
        mov     v13.16b, v5.16b
        dot_6bit v24, 0
        dot_6bit v25, 1
        dot_6bit v26, 2
        dot_6bit v27, 3
        k_product \scales, \factors, \odd, 7
        mul     v29.4s, v29.4s, v30.4s
        k_product \high_scales, \factors, \odd, 7
        mla     v29.4s, v13.4s, v30.4s
        add_terms \low, \high, v4
.endm

func gemv_q6_k
        gemv_begin
        movi    v3.16b, #0x30
        panel_begin
1:      ld1     {v8.8h, v9.8h}, [x0], #32
        mov     x13, x0
        add     x0, x0, #256
        mov     w7, #8
2:      ld1     {v0.16b, v1.16b}, [x9], #32
        ld2r    {v4.4s, v5.4s}, [x10], #8
        ld1r    {v11.4s}, [x11], #4
        ldp     q6, q14, [x13], #32
        add     x14, x0, #256
        sub     v5.4s, v5.4s, v11.4s
        shl     v5.4s, v5.4s, #5
        shl     v11.4s, v11.4s, #5
        neg     v5.4s, v5.4s
        neg     v11.4s, v11.4s
        sxtl2   v7.8h, v6.16b
        sxtl    v6.8h, v6.8b
        sxtl2   v15.8h, v14.16b
        sxtl    v14.8h, v14.8b
        q6_quad v16, v17, 0, v6, v14, v8
        q6_quad v18, v19, 1, v6, v14, v8
        q6_quad v20, v21, 0, v7, v15, v9
        q6_quad v22, v23, 1, v7, v15, v9
        mov     x0, x14
        subs    w7, w7, #1
        b.ne    2b
        subs    x12, x12, #256
        b.ne    1b
        panel_end padding=1
        gemv_end
endfunc gemv_q6_k
