// SPDX-License-Identifier: Apache-2.0
// Entry of the test programs: floating point on, a stack, main, then idle with `finished` set.
        .section .text.start, "ax"
        .global _start
_start: mov     x0, #(3 << 20)
        msr     cpacr_el1, x0
        isb
        adrp    x0, stack_top
        add     x0, x0, :lo12:stack_top
        mov     sp, x0
        bl      main
        adrp    x1, finished
        mov     w0, #1
        str     w0, [x1, :lo12:finished]
1:      wfi
        b       1b

        .bss
        .global finished
        .balign 4096
finished: .skip 64
        .balign 16
        .skip   16384
stack_top:
