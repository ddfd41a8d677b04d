// SPDX-License-Identifier: Apache-2.0
#include "hal/gic.h"

#include <stdint.h>

#include "board_config.h"

#define GICD_CTLR       0x000
#define GICD_ISENABLER0 0x100
#define GICD_IPRIORITYR 0x400
#define GICC_CTLR       0x000
#define GICC_PMR        0x004

static volatile uint32_t *gic_register(uintptr_t base, unsigned offset) {
    return (volatile uint32_t *)(base + offset);
}

void gic_wake_by(unsigned interrupt) {
    volatile uint32_t *priority = gic_register(BOARD_GIC_DISTRIBUTOR, GICD_IPRIORITYR + interrupt / 4 * 4);
    unsigned shift = interrupt % 4 * 8;
    *priority = (*priority & ~(0xffu << shift)) | 0x80u << shift;
    *gic_register(BOARD_GIC_DISTRIBUTOR, GICD_ISENABLER0) = 1u << interrupt;
    *gic_register(BOARD_GIC_DISTRIBUTOR, GICD_CTLR) = 1;
    *gic_register(BOARD_GIC_CPU_INTERFACE, GICC_PMR) = 0xff;
    *gic_register(BOARD_GIC_CPU_INTERFACE, GICC_CTLR) = 1;
}
