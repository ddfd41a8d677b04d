// SPDX-License-Identifier: Apache-2.0
// Entry of the first core, at EL1 or EL2, caches and MMU in any state: becomes EL1 with a known SCTLR, clears memory
// that C expects to be zero, maps memory, and calls main. Every other core let loose on this address parks; those that
// the firmware starts itself come in at secondary_start.

#include "arch/asm.h"
#include "arch/early.h"
#include "arch/exception.h"

        .section .text.start, "ax", %progbits
        .global _start
        .type   _start, %function
_start:
        msr     daifset, #0xf
        // Affinity of the core: level 0 on QEMU, level 1 where cores count as multi-threaded (MT: all of DynamIQ).
        mrs     x9, mpidr_el1
        lsr     x10, x9, #8
        tst     x9, #1 << 24
        csel    x10, x10, x9, ne
        ands    x19, x10, #0xff
        b.ne    stop

        mrs     x9, CurrentEL
        ubfx    x21, x9, #3, #1         // 1 at EL2
        bl      become_el1
        msr     spsel, #0
        adrp    x9, __stack_top
        add     x9, x9, :lo12:__stack_top
        mov     sp, x9
        isb

        // Memory that is written before the caches are on, or behind them, must not lie in them: a dirty line of
        // whoever ran before would land on top later.
        adrp    x0, __bss_start
        add     x0, x0, :lo12:__bss_start
        adrp    x1, __bss_end
        add     x1, x1, :lo12:__bss_end
        bl      flush_range
        adrp    x0, __stack_bottom
        add     x0, x0, :lo12:__stack_bottom
        adrp    x1, __stack_top
        add     x1, x1, :lo12:__stack_top
        bl      flush_range
        adrp    x0, __rtt_start         // mapped non-cacheable
        add     x0, x0, :lo12:__rtt_start
        adrp    x1, __rtt_end
        add     x1, x1, :lo12:__rtt_end
        bl      flush_range
        adrp    x0, __bss_start
        add     x0, x0, :lo12:__bss_start
        adrp    x1, __bss_end
        add     x1, x1, :lo12:__bss_end
2:      cmp     x0, x1                  // the linker script keeps both multiples of 16
        b.hs    3f
        stp     xzr, xzr, [x0], #16
        b       2b
3:
        adrp    x9, entered_at_el2
        strb    w21, [x9, :lo12:entered_at_el2]
        mov     x29, xzr                // the end of every backtrace
        mov     x30, xzr
        bl      early_map               // returns the root table
        bl      mmu_enable
        bl      main
stop:
        msr     daifset, #0xf
        wfi
        b       stop
        .size   _start, . - _start

// Entry of the other cores, from PSCI: EL1 or EL2, MMU and data cache off. x0 points to a struct core_entry that core 0
// has cleaned to memory. Memory is touched only there, until MMU and caches are on.
func secondary_start
        msr     daifset, #0xf
        ldr     x19, [x0, #ENTRY_CORE]
        ldr     x21, [x0, #ENTRY_STACK]
        ldr     x22, [x0, #ENTRY_ROOT]
        bl      become_el1
        mov     x0, x22
        bl      mmu_enable
        msr     spsel, #0
        mov     sp, x21
        mov     x29, xzr
        mov     x30, xzr
        bl      secondary_main
        b       stop
endfunc secondary_start

// Makes core number x19 an EL1 core without MMU and caches, with its exception stack, whatever it was. Returns at EL1h,
// uses no memory.
//   x9, x10, x20 scratch
func become_el1
        mov     x20, x30
        mrs     x9, CurrentEL
        cmp     x9, #2 << 2
        b.hi    stop                    // EL3: secure firmware has not done its part
        b.ne    1f
        bl      leave_el2
1:
        ldr     x9, =SCTLR_OFF          // whatever ran before: no MMU, no caches
        msr     sctlr_el1, x9
        isb
        mov     x9, #3 << 20            // CPACR_EL1.FPEN: no traps
        msr     cpacr_el1, x9
        msr     spsel, #1
        isb
        msr     fpcr, xzr               // round to nearest even, denormals kept: what the references assume
        msr     tpidr_el1, x19
        adrp    x9, exception_vectors
        add     x9, x9, :lo12:exception_vectors
        msr     vbar_el1, x9
        bl      exception_stack_reset
        ret     x20
endfunc become_el1

// Cleans and invalidates [x0, x1) by line, to the point of coherency.
func flush_range
        bic     x0, x0, #63
1:      cmp     x0, x1
        b.hs    2f
        dc      civac, x0
        add     x0, x0, #64
        b       1b
2:      dsb     sy
        ret
endfunc flush_range

// From EL2 to EL1: nothing trapped, the timer and the PMU are EL1's. Returns to the caller at EL1h.
//   x9 scratch
func leave_el2
        mov     x9, #1 << 31            // HCR_EL2.RW: EL1 is AArch64
        msr     hcr_el2, x9
        isb                             // E2H is clear: the registers below have their plain layout
        mov     x9, #3                  // CNTHCTL_EL2: EL1 may use the physical timer
        msr     cnthctl_el2, x9
        msr     cntvoff_el2, xzr
        mov     x9, #0x33ff             // CPTR_EL2 without TFP: bits that are res1, no traps
        msr     cptr_el2, x9
        mrs     x9, pmcr_el0
        ubfx    x9, x9, #11, #5         // MDCR_EL2.HPMN = PMCR_EL0.N: all counters for EL1
        msr     mdcr_el2, x9
        msr     hstr_el2, xzr
        msr     vttbr_el2, xzr
        mrs     x9, midr_el1
        msr     vpidr_el2, x9
        mrs     x9, mpidr_el1
        msr     vmpidr_el2, x9
        ldr     x9, =SCTLR_OFF
        msr     sctlr_el1, x9
        mov     x9, #0x3c5              // EL1h, all masked
        msr     spsr_el2, x9
        msr     elr_el2, x30
        isb
        eret
endfunc leave_el2

// Turns MMU and caches on with x0 as the root table. Leaf, without a stack, for any core: the code is mapped where it
// runs, so nothing moves. Twice the TLB invalidation is the workaround for Cortex-A76 erratum 1286807.
//   x9 scratch
func mmu_enable
        dsb     sy
        ic      iallu
        tlbi    vmalle1
        dsb     nsh
        tlbi    vmalle1
        dsb     nsh
        isb
        ldr     x9, =MAIR_VALUE
        msr     mair_el1, x9
        ldr     x9, =TCR_VALUE
        msr     tcr_el1, x9
        msr     ttbr0_el1, x0
        isb
        ldr     x9, =SCTLR_ON
        msr     sctlr_el1, x9
        isb
        ret
endfunc mmu_enable

        .section .bss.entered_at_el2, "aw", %nobits
        .global entered_at_el2
entered_at_el2:
        .skip   1
        .size   entered_at_el2, 1
