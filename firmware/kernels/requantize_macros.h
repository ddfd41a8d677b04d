// SPDX-License-Identifier: Apache-2.0
// clang-format off
// What the requantization kernels share. For .S files only.
//
// void requantize_FORMAT(const uint8_t *packs, int8_t *weights, uint64_t k, const void *smoothing,
//                        const int16_t *multipliers)
//
// smoothing is `products` (int16) for formats with a minimum, `smoothing` (int8) for the others.
//
// x0 codes, advances   x1 weights of columns 0..7, x2 of 8..15, both advance   x3 smoothing, advances
// x4 multipliers   x5 k left   x6.. by format
//
//   v0..v7     smoothing of the group's 8 runs of 4 k, repeated for every column of a vector
//   v8, v9     codes of quad 0 and quad 1 of a half (8 columns): 4 columns x 4 k each
//   v10..v13   products: of quad 0 columns 0, 1 and 2, 3; of quad 1
//   v14, v15   per column, int16: B, or the scale where there is no minimum
//   v16, v17   A of quad 0 and quad 1, repeated for the 4 k
//   v18..v21   v14 or v15 likewise: quad 0 columns 0, 1 and 2, 3; quad 1
//   v22..v29   packed codes of a half's two quads
//   v30        A of the 16 columns; high bits
//   v31        15 in every byte
//
// 32 weights (4 k of 8 columns) with a minimum take 4 UMLAL and 4 SQRDMULH, which are 12 slots of V0, 4 SQXTN
// (V1), and 8 slots of either; as many without. Bound: 12 cycles, .375 per weight, plus a group's integers.
#pragma once

#include "arch/asm.h"

.macro requantize_begin
        stp     d8, d9, [sp, #-64]!
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        mov     x5, x2
        add     x2, x1, x2, lsl #3
        movi    v31.16b, #15
.endm

.macro requantize_end
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     d8, d9, [sp], #64
        ret
.endm

// `lanes` is 2d for four int16 per run, 4s for four int8.
.macro load_smoothing lanes, bytes
        ld1r    {v0.\lanes}, [x3], #\bytes
        ld1r    {v1.\lanes}, [x3], #\bytes
        ld1r    {v2.\lanes}, [x3], #\bytes
        ld1r    {v3.\lanes}, [x3], #\bytes
        ld1r    {v4.\lanes}, [x3], #\bytes
        ld1r    {v5.\lanes}, [x3], #\bytes
        ld1r    {v6.\lanes}, [x3], #\bytes
        ld1r    {v7.\lanes}, [x3], #\bytes
.endm

// v18..v21 from the 8 columns of \columns.
.macro repeat_columns columns
        zip1    v19.8h, \columns\().8h, \columns\().8h
        zip2    v21.8h, \columns\().8h, \columns\().8h
        zip1    v18.4s, v19.4s, v19.4s
        zip2    v19.4s, v19.4s, v19.4s
        zip1    v20.4s, v21.4s, v21.4s
        zip2    v21.4s, v21.4s, v21.4s
.endm

// v16, v17 from half \half of v30.
.macro repeat_a half
        .if     \half
        zip2    v17.16b, v30.16b, v30.16b
        .else
        zip1    v17.16b, v30.16b, v30.16b
        .endif
        zip1    v16.8h, v17.8h, v17.8h
        zip2    v17.8h, v17.8h, v17.8h
.endm

// Low or high nibbles of packed codes of quad 0 and quad 1.
.macro nibbles_to to_first, to_second, first, second, high
        .if     \high
        ushr    \to_first\().16b, \first\().16b, #4
        ushr    \to_second\().16b, \second\().16b, #4
        .else
        and     \to_first\().16b, \first\().16b, v31.16b
        and     \to_second\().16b, \second\().16b, v31.16b
        .endif
.endm

.macro nibbles first, second, high
        nibbles_to v8, v9, \first, \second, \high
.endm

// v10..v13 to the int8 weights of run \run.
.macro store_run out, run
        sqxtn   v10.8b, v10.8h
        sqxtn   v12.8b, v12.8h
        sqxtn2  v10.16b, v11.8h
        sqxtn2  v12.16b, v13.8h
        stp     q10, q12, [\out, #(32 * \run)]
.endm

// rdm(q A + B, u s) of v8, v9.
.macro run_with_minimum out, run
        mov     v10.16b, v18.16b
        mov     v11.16b, v19.16b
        mov     v12.16b, v20.16b
        mov     v13.16b, v21.16b
        umlal   v10.8h, v8.8b, v16.8b
        umlal2  v11.8h, v8.16b, v16.16b
        umlal   v12.8h, v9.8b, v17.8b
        umlal2  v13.8h, v9.16b, v17.16b
        sqrdmulh v10.8h, v10.8h, v\run\().8h
        sqrdmulh v11.8h, v11.8h, v\run\().8h
        sqrdmulh v12.8h, v12.8h, v\run\().8h
        sqrdmulh v13.8h, v13.8h, v\run\().8h
        store_run \out, \run
.endm

// The same in two steps, of which the second one follows the first one of the next run: where V0 already has work, stores
// and what else goes on either pipe do not take its slots. Products p0, p1 of quad 0, p2, p3 of quad 1; p0 and p2 may be
// the codes themselves.
.macro multiply_run run, first, second, p0, p1, p2, p3
        smull2  \p1\().8h, \first\().16b, v\run\().16b
        smull   \p0\().8h, \first\().8b, v\run\().8b
        smull2  \p3\().8h, \second\().16b, v\run\().16b
        smull   \p2\().8h, \second\().8b, v\run\().8b
        sqrdmulh \p0\().8h, \p0\().8h, v18.8h
        sqrdmulh \p1\().8h, \p1\().8h, v19.8h
        sqrdmulh \p2\().8h, \p2\().8h, v20.8h
        sqrdmulh \p3\().8h, \p3\().8h, v21.8h
.endm
.macro narrow_run out, run, p0, p1, p2, p3
        sqxtn   v\p0\().8b, v\p0\().8h
        sqxtn   v\p2\().8b, v\p2\().8h
        sqxtn2  v\p0\().16b, v\p1\().8h
        sqxtn2  v\p2\().16b, v\p3\().8h
        stp     q\p0, q\p2, [\out, #(32 * \run)]
.endm

// rdm(q s, scale) of the codes in \first and \second.
.macro run_without_minimum out, run, first=v8, second=v9
        smull   v10.8h, \first\().8b, v\run\().8b
        smull2  v11.8h, \first\().16b, v\run\().16b
        smull   v12.8h, \second\().8b, v\run\().8b
        smull2  v13.8h, \second\().16b, v\run\().16b
        sqrdmulh v10.8h, v10.8h, v18.8h
        sqrdmulh v11.8h, v11.8h, v19.8h
        sqrdmulh v12.8h, v12.8h, v20.8h
        sqrdmulh v13.8h, v13.8h, v21.8h
        store_run \out, \run
.endm

// v30, v14, v15 of a group: A, B of columns 0..7 and 8..15 from di in v16, v17 and mi in v18, v19.
.macro group_with_minimum
        ld1     {v20.8h, v21.8h}, [x4]
        sqrdmulh v22.8h, v16.8h, v20.8h
        sqrdmulh v23.8h, v17.8h, v21.8h
        shl     v16.8h, v16.8h, #3
        shl     v17.8h, v17.8h, #3
        sqadd   v18.8h, v18.8h, v16.8h
        sqadd   v19.8h, v19.8h, v17.8h
        sqrdmulh v18.8h, v18.8h, v20.8h
        sqrdmulh v19.8h, v19.8h, v21.8h
        sqxtun  v30.8b, v22.8h
        sqxtun2 v30.16b, v23.8h
        ushll   v22.8h, v30.8b, #3
        ushll2  v23.8h, v30.16b, #3
        sub     v14.8h, v18.8h, v22.8h
        sub     v15.8h, v19.8h, v23.8h
.endm

// v14, v15: rdm(8 di, c) from di in v16, v17.
.macro group_without_minimum
        ld1     {v20.8h, v21.8h}, [x4]
        shl     v16.8h, v16.8h, #3
        shl     v17.8h, v17.8h, #3
        sqrdmulh v14.8h, v16.8h, v20.8h
        sqrdmulh v15.8h, v17.8h, v21.8h
.endm
