// SPDX-License-Identifier: Apache-2.0
// The one thing that can be done about an error before the MMU is on.

#include <stddef.h>

#include "arch/cpu.h"
#include "arch/early.h"
#include "board_config.h"

#define DATA_REGISTER 0x00
#define FLAG_REGISTER 0x18
#define TRANSMIT_FULL (1u << 5)

static void put(const char *text) {
    volatile uint32_t *uart = (volatile uint32_t *)BOARD_UART_BASE;
    for (; *text; text++) {
        // Bounded: with nobody at the other end the text is lost, but the core still gets to park.
        for (unsigned tries = 1000000; tries && uart[FLAG_REGISTER / 4] & TRANSMIT_FULL; tries--) {
        }
        uart[DATA_REGISTER / 4] = (uint8_t)*text;
    }
}

void early_panic(const char *what, const char *detail) {
    put("\r\n*** cannot start: ");
    put(what);
    if (detail != NULL)
        put(detail);
    put("\r\n");
    for (;;)
        wait_for_interrupt();
}
