// SPDX-License-Identifier: Apache-2.0
// Registers of the Arm PL011 (DDI0183), for the files that drive it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "board_config.h"

struct pl011 {
    uint32_t data;
    uint32_t reserved0[5];
    uint32_t flags;
    uint32_t reserved1[2];
    uint32_t divisor_integer;
    uint32_t divisor_fraction; // in 64ths
    uint32_t line_control;
    uint32_t control;
    uint32_t fifo_levels;
    uint32_t interrupt_mask; // 1: may interrupt
};
_Static_assert(offsetof(struct pl011, interrupt_mask) == 0x38, "UARTIMSC");

#define RECEIVE_EMPTY   (1u << 4)
#define TRANSMIT_FULL   (1u << 5)
#define WORD_8_FIFO     (3u << 5 | 1u << 4)
#define UART_ENABLE     (1u << 0)
#define TRANSMIT_ENABLE (1u << 8)
#define RECEIVE_ENABLE  (1u << 9)

#define INTERRUPT_RECEIVE  (1u << 4) // the FIFO is half full
#define INTERRUPT_TRANSMIT (1u << 5) // the FIFO is half empty
#define INTERRUPT_PAUSE    (1u << 6) // bytes wait, and no other has come for 32 bits

// A character takes 90 us at 115200 baud; a read of the flags takes at least some 50 ns.
#define TRIES 20000u

static volatile struct pl011 *const uart = (volatile struct pl011 *)BOARD_UART_BASE;
