// SPDX-License-Identifier: Apache-2.0
// Exception vectors. Normal code runs on SP_EL0 (EL1t), so that an exception finds the processor switched to SP_EL1, a
// stack that nobody else uses: a fault is reported even when it was the stack that broke. Interrupts stay masked
// (the firmware polls), thus every exception taken is one to report.

#include "arch/asm.h"
#include "arch/exception.h"
#include "board_config.h"

// One entry of 32 instructions.
.macro vector target
        .balign 128
        b       \target
.endm

        .section .text.vectors, "ax", %progbits
        .balign 2048
        .global exception_vectors
exception_vectors:
        .rept 4                         // from EL1t: normal code
        vector  exception_save
        .endr
        .rept 4                         // from EL1h: a sink of a report failed
        vector  exception_again
        .endr
        .rept 8                         // from EL0: nothing runs there
        vector  exception_save
        .endr
        .org    exception_vectors + 2048        // an error if an entry has outgrown its 128 bytes

// Makes an exception_frame on the stack and goes to \handler with its address. Never returns.
.macro save_frame handler
        sub     sp, sp, #FRAME_BYTES
        stp     x0, x1, [sp, #FRAME_X]
        stp     x2, x3, [sp, #FRAME_X + 16]
        stp     x4, x5, [sp, #FRAME_X + 32]
        stp     x6, x7, [sp, #FRAME_X + 48]
        stp     x8, x9, [sp, #FRAME_X + 64]
        stp     x10, x11, [sp, #FRAME_X + 80]
        stp     x12, x13, [sp, #FRAME_X + 96]
        stp     x14, x15, [sp, #FRAME_X + 112]
        stp     x16, x17, [sp, #FRAME_X + 128]
        stp     x18, x19, [sp, #FRAME_X + 144]
        stp     x20, x21, [sp, #FRAME_X + 160]
        stp     x22, x23, [sp, #FRAME_X + 176]
        stp     x24, x25, [sp, #FRAME_X + 192]
        stp     x26, x27, [sp, #FRAME_X + 208]
        stp     x28, x29, [sp, #FRAME_X + 224]
        mrs     x1, sp_el0
        stp     x30, x1, [sp, #FRAME_X + 240]
        mrs     x2, elr_el1
        mrs     x3, spsr_el1
        stp     x2, x3, [sp, #FRAME_ELR]
        mrs     x4, esr_el1
        mrs     x5, far_el1
        stp     x4, x5, [sp, #FRAME_ESR]
        mov     x29, xzr                // a debugger's walk of the report's own frames ends here
        mov     x30, xzr
        mov     x0, sp
        b       \handler
.endm

func exception_save
        save_frame exception_report
endfunc exception_save

// The report itself failed: starts the exception stack afresh. That costs x9, x10 and x30 of what is reported.
func exception_again
        bl      exception_stack_reset
        save_frame exception_report_failed
endfunc exception_again

// Puts SP_EL1 at the top of the calling core's exception stack. Called in EL1h, without a stack.
//   x9, x10 scratch
func exception_stack_reset
        mrs     x9, tpidr_el1
        add     x9, x9, #1
        adrp    x10, exception_stacks
        add     x10, x10, :lo12:exception_stacks
        add     x9, x10, x9, lsl #EXCEPTION_STACK_SHIFT
        mov     sp, x9
        ret
endfunc exception_stack_reset

        .section .bss.exception_stacks, "aw", %nobits
        .balign 16
exception_stacks:
        .skip   BOARD_CORES << EXCEPTION_STACK_SHIFT
        .size   exception_stacks, . - exception_stacks
