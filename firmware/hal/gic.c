// SPDX-License-Identifier: Apache-2.0
#include "hal/gic.h"

#include <stdint.h>

#include "arch/cpu.h"
#include "board_config.h"

#define GICD_CTLR       0x000
#define GICD_ISENABLER0 0x100
#define GICD_IPRIORITYR 0x400
#define GICD_ITARGETSR  0x800
#define GICD_SGIR       0xf00
#define FIRST_SHARED    32u

#define GICC_CTLR 0x000
#define GICC_PMR  0x004
#define GICC_IAR  0x00c
#define GICC_EOIR 0x010

#define SPURIOUS 1020u // from here on: none is pending

static volatile uint32_t *gic_register(uintptr_t base, unsigned offset) {
    return (volatile uint32_t *)(base + offset);
}

/// Replaces the byte of `interrupt` in an array of registers that holds four to the word.
static void write_byte(unsigned registers, unsigned interrupt, uint32_t value) {
    volatile uint32_t *word = gic_register(BOARD_GIC_DISTRIBUTOR, registers + interrupt / 4 * 4);
    unsigned shift = interrupt % 4 * 8;
    *word = (*word & ~(0xffu << shift)) | value << shift;
}

void gic_wake_by(unsigned interrupt) {
    write_byte(GICD_IPRIORITYR, interrupt, 0x80);
    if (interrupt >= FIRST_SHARED) // the targets of private interrupts read as the core itself
        write_byte(GICD_ITARGETSR, interrupt, *gic_register(BOARD_GIC_DISTRIBUTOR, GICD_ITARGETSR) & 0xff);
    *gic_register(BOARD_GIC_DISTRIBUTOR, GICD_ISENABLER0 + interrupt / 32 * 4) = 1u << interrupt % 32;
    *gic_register(BOARD_GIC_DISTRIBUTOR, GICD_CTLR) = 1;
    *gic_register(BOARD_GIC_CPU_INTERFACE, GICC_PMR) = 0xff;
    *gic_register(BOARD_GIC_CPU_INTERFACE, GICC_CTLR) = 1;
}

void gic_signal(unsigned mask, unsigned interrupt) {
    barrier_complete(); // what the others are woken for is visible to them
    *gic_register(BOARD_GIC_DISTRIBUTOR, GICD_SGIR) = mask << 16 | interrupt;
}

void gic_acknowledge(void) {
    uint32_t pending = *gic_register(BOARD_GIC_CPU_INTERFACE, GICC_IAR);
    if ((pending & 0x3ff) < SPURIOUS)
        *gic_register(BOARD_GIC_CPU_INTERFACE, GICC_EOIR) = pending;
}
