// SPDX-License-Identifier: Apache-2.0
// unsigned checked_call(const void *kernel, const struct call *call)
//
// x0 kernel, x1 call {uint64_t x[8]; float s[4]}
// Returns a bit for every promise of the procedure call standard that the kernel broke:
// 0..9 x19-x28, 10 x29, 11 sp, 12 the caller's stack, 16..23 the low halves of v8-v15.
#include "arch/asm.h"

        .equ    FRAME, 272              // x29, x30, x19-x28: 0..95; d8-d15: 96..159; sp 160; canary from 176
        .equ    CANARY, 176
        .equ    CANARY_WORDS, 12        // to the end of the frame
        .equ    POISON_BYTES, 4096      // of dead stack below the frame

// A constant per register, hard to confuse with data: 0x5a5a at the ends, the register's number between.
.macro pattern reg, number
        mov     \reg, #0x5a5a
        movk    \reg, #\number, lsl #16
        movk    \reg, #0xa5a5, lsl #32
        movk    \reg, #0x5a5a, lsl #48
.endm

// Sets bit `bit` of w9 when `reg` differs from the pattern of `number`.
.macro preserved reg, number, bit
        pattern x10, \number
        cmp     \reg, x10
        cset    w11, ne
        orr     w9, w9, w11, lsl #\bit
.endm

func checked_call
        sub     sp, sp, #FRAME
        stp     x29, x30, [sp]
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [sp, #160]

        // Canaries where a kernel would find arguments on the stack, and junk where it would find old frames.
        pattern x10, 99
        add     x11, sp, #CANARY
        mov     w12, #CANARY_WORDS
1:      str     x10, [x11], #8
        subs    w12, w12, #1
        b.ne    1b
        mov     x11, sp
        mov     w12, #(POISON_BYTES / 8)
1:      str     x10, [x11, #-8]!
        subs    w12, w12, #1
        b.ne    1b

        mov     x16, x0
        mov     x17, x1
        ldp     s0, s1, [x17, #64]
        ldp     s2, s3, [x17, #72]
        ldp     x0, x1, [x17]
        ldp     x2, x3, [x17, #16]
        ldp     x4, x5, [x17, #32]
        ldp     x6, x7, [x17, #48]

        .irp    number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
        pattern x\number, \number
        .endr
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        pattern x15, \number
        fmov    d\number, x15
        .endr
        .irp    number, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        dup     v\number\().2d, x15
        .endr
        mov     x8, x15
        mov     x9, x15
        mov     x10, x15
        mov     x11, x15
        mov     x12, x15
        mov     x13, x15
        mov     x14, x15
        mov     x17, x15
        blr     x16

        // sp first: everything else is found through it.
        mov     w9, #0
        ldr     x10, [sp, #160]
        mov     x11, sp
        cmp     x10, x11
        cset    w9, ne
        lsl     w9, w9, #11
        preserved x19, 19, 0
        preserved x20, 20, 1
        preserved x21, 21, 2
        preserved x22, 22, 3
        preserved x23, 23, 4
        preserved x24, 24, 5
        preserved x25, 25, 6
        preserved x26, 26, 7
        preserved x27, 27, 8
        preserved x28, 28, 9
        preserved x29, 29, 10
        .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
        fmov    x12, d\number
        preserved x12, \number, (8 + \number)
        .endr
        pattern x10, 99
        add     x11, sp, #CANARY
        mov     w12, #CANARY_WORDS
1:      ldr     x13, [x11], #8
        cmp     x13, x10
        cset    w14, ne
        orr     w9, w9, w14, lsl #12
        subs    w12, w12, #1
        b.ne    1b

        mov     w0, w9
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp]
        add     sp, sp, #FRAME
        ret
endfunc checked_call
