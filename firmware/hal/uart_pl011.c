// SPDX-License-Identifier: Apache-2.0
// Arm PL011 (DDI0183), polled.
#include "hal/uart.h"

#include <stdarg.h>
#include <stdint.h>

#include "arch/exception.h"
#include "arch/format.h"
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
    uint32_t reserved2;
    uint32_t interrupt_mask;
};
_Static_assert(offsetof(struct pl011, interrupt_mask) == 0x38, "UARTIMSC");

#define TRANSMIT_FULL   (1u << 5)
#define WORD_8_FIFO     (3u << 5 | 1u << 4)
#define UART_ENABLE     (1u << 0)
#define TRANSMIT_ENABLE (1u << 8)

// A character takes 90 us at 115200 baud; a read of the flags takes at least some 50 ns.
#define TRIES 20000u

static volatile struct pl011 *const uart = (volatile struct pl011 *)BOARD_UART_BASE;

static void report(const struct fault_report *fault);

void uart_init(void) {
    uart->control = 0;
    uart->interrupt_mask = 0;
#if BOARD_UART_CLOCK_HZ // otherwise boot code has set the rate
    uint32_t divisor =
        (uint32_t)((UINT64_C(4) * BOARD_UART_CLOCK_HZ + BOARD_UART_BAUD / 2) / BOARD_UART_BAUD);
    uart->divisor_integer = divisor / 64;
    uart->divisor_fraction = divisor % 64;
#endif
    uart->line_control = WORD_8_FIFO;
    uart->control = UART_ENABLE | TRANSMIT_ENABLE;
    fault_sink_add(report);
}

static void put(char c) {
    for (unsigned tries = TRIES; uart->flags & TRANSMIT_FULL; tries--)
        if (tries == 0)
            return;
    uart->data = (uint8_t)c;
}

void uart_write(const char *text) {
    for (; *text; text++) {
        if (*text == '\n')
            put('\r');
        put(*text);
    }
}

void uart_printf(const char *format, ...) {
    char text[160];
    va_list list;
    va_start(list, format);
    format_list(text, sizeof text, format, list);
    va_end(list);
    uart_write(text);
}

static void report(const struct fault_report *fault) {
    const struct exception_frame *frame = fault->frame;
    uart_printf("\n*** %s on core %u: %s\n", fault->kind == FAULT_KIND_PANIC ? "panic" : "exception",
                fault->core, fault->text);
    uart_printf("    elr %016lx  esr %08lx  far %016lx\n", frame->elr, frame->esr, frame->far);
    uart_printf("    sp  %016lx  spsr %08lx\n", frame->sp, frame->spsr);
    for (unsigned i = 0; i < 31; i++)
        uart_printf("%sx%-2u %016lx%s", i % 4 ? "  " : "    ", i, frame->x[i],
                    i % 4 == 3 || i == 30 ? "\n" : "");
    uart_write("    called from");
    for (unsigned i = 0; i < fault->backtrace_count; i++)
        uart_printf(" %lx", fault->backtrace[i]);
    uart_write("\n");
}
