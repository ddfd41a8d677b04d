// SPDX-License-Identifier: Apache-2.0
// Entry of the test programs: floating point and MMU on, a stack, main, then idle with `finished` set.

// Without the MMU all memory is Device memory, in which unaligned accesses fault; QEMU does so from 9.0 on.
#define DEVICE 0x00               // MAIR: attribute 0, nGnRnE
#define NORMAL 0xff               // attribute 1, write-back
#define BLOCK  (1 | 1 << 10)      // valid, access flag
#define TCR    (32 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23) // 32-bit addresses, 4 KiB pages, walks cached, no TTBR1
        .section .text.start, "ax"
        .global _start
_start: mov     x0, #(3 << 20)
        msr     cpacr_el1, x0
        mov     x0, #NORMAL << 8 | DEVICE
        msr     mair_el1, x0
        ldr     x0, =TCR
        msr     tcr_el1, x0
        adrp    x0, root_table
        add     x0, x0, :lo12:root_table
        msr     ttbr0_el1, x0
        isb
        mrs     x0, sctlr_el1
        mov     x1, #(1 << 12 | 1 << 2 | 1)             // I, C, M
        orr     x0, x0, x1
        msr     sctlr_el1, x0
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

        .section .rodata
        .balign 32
root_table:                                             // addresses unchanged, a GiB each
        .quad   0x00000000 | BLOCK | 2 << 8             // devices
        .quad   0x40000000 | BLOCK | 1 << 2 | 3 << 8    // RAM
        .quad   0x80000000 | BLOCK | 1 << 2 | 3 << 8
        .quad   0

        .bss
        .global finished
        .balign 4096
finished: .skip 64
        .balign 16
        .skip   16384
stack_top:
