// SPDX-License-Identifier: Apache-2.0
// Text on the Arm PL011, polled.
#include "hal/uart.h"

#include <stdarg.h>
#include <stdint.h>

#include "arch/exception.h"
#include "arch/format.h"
#include "board_config.h"
#include "hal/pl011.h"

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
    if (BOARD_LINK_UART)
        uart_drain(); // text goes between frames, never into one
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
