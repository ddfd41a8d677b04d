// SPDX-License-Identifier: Apache-2.0
// Loops whose instructions can be counted by hand. x0: iterations, x1: memory.

        .macro  loop name
        .global \name
        .balign 64
\name:
        .endm

        .macro  again label
        subs    x0, x0, #1
        b.ne    \label
        .endm

loop count_adds                 // 6 instructions an iteration, 1 after
1:      add     x2, x2, #1
        add     x3, x3, #1
        add     x4, x4, #1
        add     x5, x5, #1
        again   1b
        ret

loop latch_twice                // two latches with 3 adds between, x1: device page
        str     wzr, [x1, #8]
        add     x2, x2, #1
        add     x3, x3, #1
        ldr     x6, [x1, #1032] // instructions, as the first latch left them
        add     x4, x4, #1
        str     wzr, [x1, #8]
        ldr     x7, [x1, #1032]
        sub     x0, x7, x6
        ret

loop device_reads               // 6 instructions an iteration, 2 of them read registers of a device at x1
1:      ldr     w2, [x1, #4]
        add     x3, x3, #1
        ldr     w4, [x1, #8]
        add     x5, x5, #1
        again   1b
        ret

loop sdot_independent           // 16 SDOT (256 MAC) an iteration on 16 accumulators
1:      .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        sdot    v\n\().4s, v16.16b, v17.16b
        .endr
        again   1b
        ret

loop stream_loads               // 64 bytes an iteration
1:      ldp     q0, q1, [x1]
        ldp     q2, q3, [x1, #32]
        add     x1, x1, #64
        again   1b
        ret

loop stream_ld1                 // 64 bytes an iteration
1:      ld1     {v0.16b-v3.16b}, [x1], #64
        again   1b
        ret

loop stream_stores              // 64 bytes an iteration
1:      stp     q0, q1, [x1], #32
        stp     q2, q3, [x1], #32
        again   1b
        ret

loop strided_loads              // 8 of every 320 bytes
1:      ldr     x2, [x1]
        add     x1, x1, #320
        again   1b
        ret

loop chase                      // each load's address is the last one's value
1:      ldr     x1, [x1]
        again   1b
        ret

loop prefetched                 // PRFM 1024 bytes ahead of a 64-byte step
1:      prfm    pldl1keep, [x1, #1024]
        ldr     q0, [x1], #64
        again   1b
        ret

loop zero_lines                 // DC ZVA: 64 bytes an iteration; the store gives its address away
1:      dc      zva, x1
        str     xzr, [x1], #64
        again   1b
        ret

loop clear_lines                // the same where no access gives the address away
1:      dc      zva, x1
        add     x1, x1, #64
        again   1b
        ret

loop clean_lines
1:      dc      cvac, x1
        add     x1, x1, #64
        again   1b
        dsb     sy
        ret

loop invalidate_lines
1:      dc      ivac, x1
        add     x1, x1, #64
        again   1b
        dsb     sy
        ret

        // A block ends with its page, here between PRFM and the load of which its address could be derived.
        .balign 4096
        .space  4096 - 64
loop prefetched_across_pages
        .rept   14
        nop
        .endr
1:      eor     x2, x1, xzr
        prfm    pldl1keep, [x2, #1024]
        ldr     q0, [x2]
        add     x1, x1, #64
        again   1b
        ret
