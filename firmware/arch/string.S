// SPDX-License-Identifier: Apache-2.0
// memcpy, memmove, memset, memcmp.
//
// Assumes: little-endian; unaligned access allowed (normal memory, MMU on). Sizes up to 16 bytes go by overlapping
// halves, up to 64 by overlapping 16-byte pieces, larger ones by 64-byte steps with an overlapping tail.

#include "arch/asm.h"

// void *memmove(void *to, const void *from, size_t bytes)
//   x0 to (returned)   x1 from   x2 bytes   x3 running to   x4 end of from   x5 end of to   x6-x7, v0-v7 data
func memmove
        sub     x3, x0, x1
        cmp     x3, x2
        b.lo    memmove_backward        // from <= to < from + bytes: the only overlap that forward copying spoils
        b       memcpy
endfunc memmove

// void *memcpy(void *to, const void *from, size_t bytes): also right for an overlap with to < from, because every
// piece of up to 64 bytes is loaded before it is stored.
func memcpy
        add     x4, x1, x2
        add     x5, x0, x2
        cmp     x2, #16
        b.ls    copy_small
        cmp     x2, #64
        b.hi    2f
        // 17..64 bytes
        ldr     q0, [x1]
        ldr     q3, [x4, #-16]
        cmp     x2, #32
        b.ls    1f
        ldr     q1, [x1, #16]
        ldr     q2, [x4, #-32]
        str     q1, [x0, #16]
        str     q2, [x5, #-32]
1:      str     q0, [x0]
        str     q3, [x5, #-16]
        ret
        // more than 64: the last 64 bytes are loaded first, so that an overlap cannot change them
2:      ldp     q4, q5, [x4, #-64]
        ldp     q6, q7, [x4, #-32]
        mov     x3, x0
        sub     x2, x2, #64
3:      ldp     q0, q1, [x1]
        ldp     q2, q3, [x1, #32]
        add     x1, x1, #64
        stp     q0, q1, [x3]
        stp     q2, q3, [x3, #32]
        add     x3, x3, #64
        subs    x2, x2, #64
        b.hi    3b
        stp     q4, q5, [x5, #-64]
        stp     q6, q7, [x5, #-32]
        ret
copy_small:
        tbz     x2, #4, 4f
        ldr     q0, [x1]
        str     q0, [x0]
        ret
4:      tbz     x2, #3, 5f
        ldr     x6, [x1]
        ldr     x7, [x4, #-8]
        str     x6, [x0]
        str     x7, [x5, #-8]
        ret
5:      tbz     x2, #2, 6f
        ldr     w6, [x1]
        ldr     w7, [x4, #-4]
        str     w6, [x0]
        str     w7, [x5, #-4]
        ret
6:      cbz     x2, 7f
        ldrb    w6, [x1]
        ldrb    w7, [x4, #-1]
        tbz     x2, #1, 8f
        ldrb    w3, [x1, #1]
        strb    w3, [x0, #1]
8:      strb    w6, [x0]
        strb    w7, [x5, #-1]
7:      ret
endfunc memcpy

// The same from the end down. Up to 64 bytes memcpy loads everything before it stores.
func memmove_backward
        add     x4, x1, x2
        add     x5, x0, x2
        cmp     x2, #64
        b.ls    memcpy
        ldp     q4, q5, [x1]
        ldp     q6, q7, [x1, #32]
        sub     x2, x2, #64
1:      ldp     q0, q1, [x4, #-64]
        ldp     q2, q3, [x4, #-32]
        sub     x4, x4, #64
        stp     q0, q1, [x5, #-64]
        stp     q2, q3, [x5, #-32]
        sub     x5, x5, #64
        subs    x2, x2, #64
        b.hi    1b
        stp     q4, q5, [x0]
        stp     q6, q7, [x0, #32]
        ret
endfunc memmove_backward

// void *memset(void *to, int value, size_t bytes)
//   x0 to (returned)   w1 value   x2 bytes   x3 running to   x4 left   x5 end   x6, v0 the value in every byte
func memset
        dup     v0.16b, w1
        add     x5, x0, x2
        cmp     x2, #16
        b.lo    3f
        str     q0, [x0]                // head and tail; between them in aligned pieces
        str     q0, [x5, #-16]
        add     x3, x0, #16
        and     x3, x3, #~15
        sub     x4, x5, x3              // at most 16 are the tail's; negative when the head was all
        subs    x4, x4, #64
        b.lt    2f
1:      stp     q0, q0, [x3]
        stp     q0, q0, [x3, #32]
        add     x3, x3, #64
        subs    x4, x4, #64
        b.ge    1b
2:      adds    x4, x4, #48             // left - 16
        b.le    5f
        str     q0, [x3], #16
        subs    x4, x4, #16
        b.le    5f
        str     q0, [x3], #16
        subs    x4, x4, #16
        b.le    5f
        str     q0, [x3]
5:      ret
        // fewer than 16 bytes
3:      umov    x6, v0.d[0]
        tbz     x2, #3, 6f
        str     x6, [x0]
        str     x6, [x5, #-8]
        ret
6:      tbz     x2, #2, 7f
        str     w6, [x0]
        str     w6, [x5, #-4]
        ret
7:      cbz     x2, 8f
        strb    w6, [x0]
        strb    w6, [x5, #-1]
        tbz     x2, #1, 8f
        strb    w6, [x0, #1]
8:      ret
endfunc memset

// int memcmp(const void *a, const void *b, size_t bytes): negative, 0 or positive.
func memcmp
        mov     x3, x0
        b       2f
1:      ldr     x4, [x3], #8
        ldr     x5, [x1], #8
        sub     x2, x2, #8
        cmp     x4, x5
        b.ne    4f
2:      cmp     x2, #8
        b.hs    1b
3:      cbz     x2, 5f
        ldrb    w4, [x3], #1
        ldrb    w5, [x1], #1
        sub     x2, x2, #1
        subs    w0, w4, w5
        b.eq    3b
        ret
4:      rev     x4, x4                  // the first differing byte is now the most significant one
        rev     x5, x5
        cmp     x4, x5
        mov     w0, #1
        cneg    w0, w0, lo
        ret
5:      mov     w0, #0
        ret
endfunc memcmp
