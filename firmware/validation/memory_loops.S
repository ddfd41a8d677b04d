// SPDX-License-Identifier: Apache-2.0
// The loops that memory.c measures. x0: iterations, x1: memory, x2: more memory.
        .macro  loop name
        .global \name
        .balign 64
\name:
        .endm

        .macro  again label
        subs    x0, x0, #1
        b.ne    \label
        .endm

loop chase                      // each load's address is the last one's value; returns where it came to
1:      ldr     x1, [x1]
        again   1b
        mov     x0, x1
        ret

loop read_lines                 // 64 bytes an iteration
1:      ldp     q0, q1, [x1]
        ldp     q2, q3, [x1, #32]
        add     x1, x1, #64
        again   1b
        ret

loop write_lines
1:      stp     q0, q1, [x1]
        stp     q2, q3, [x1, #32]
        add     x1, x1, #64
        again   1b
        ret

loop copy_lines                 // from x2
1:      ldp     q0, q1, [x2]
        ldp     q2, q3, [x2, #32]
        add     x2, x2, #64
        stp     q0, q1, [x1]
        stp     q2, q3, [x1, #32]
        add     x1, x1, #64
        again   1b
        ret

loop branches                   // one on each byte at x1; returns how often it was not taken
        mov     x5, #0
1:      ldrb    w3, [x1], #1
        cbz     w3, 2f
        add     x5, x5, #1
2:      again   1b
        mov     x0, x5
        ret

        // PSCI starts a core here. x0: its stack.
        .global secondary_start
secondary_start:
        mov     sp, x0
        mov     x0, #(3 << 20)
        msr     cpacr_el1, x0
        isb
        bl      secondary_main
1:      wfi
        b       1b
