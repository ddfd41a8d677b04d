// SPDX-License-Identifier: Apache-2.0
#include "arch/exception.h"

#include <stdarg.h>
#include <stdbool.h>

#include "arch/cpu.h"
#include "arch/format.h"

_Noreturn void exception_report(const struct exception_frame *frame);
_Noreturn void exception_report_failed(const struct exception_frame *frame);

#define PANIC_TEXT_BYTES 192

static fault_sink *sinks[FAULT_SINKS];
static char panic_text[PANIC_TEXT_BYTES];

void fault_sink_add(fault_sink *sink) {
    for (unsigned i = 0; i < FAULT_SINKS; i++) {
        if (sinks[i] == NULL) {
            sinks[i] = sink;
            return;
        }
    }
    panic("more than %d fault sinks", FAULT_SINKS);
}

/// Called by vectors.S on the exception stack.
void exception_report(const struct exception_frame *frame) {
    char text[PANIC_TEXT_BYTES];
    struct fault_report report = {
        .kind = FAULT_KIND_EXCEPTION, .core = core_number(), .frame = frame, .text = text};
    if (is_panic(frame)) {
        report.kind = FAULT_KIND_PANIC;
        report.text = panic_text;
    } else {
        exception_describe(frame->esr, text, sizeof text);
    }
    report.backtrace_count = backtrace(frame, report.core, report.backtrace, BACKTRACE_MAX);
    for (unsigned i = 0; i < FAULT_SINKS; i++)
        if (sinks[i] != NULL)
            sinks[i](&report);
    park();
}

/// Called by vectors.S when a sink of exception_report faulted. The first sink, the UART, gets one more
/// chance.
void exception_report_failed(const struct exception_frame *frame) {
    static bool tried;
    if (!tried && sinks[0] != NULL) {
        tried = true;
        struct fault_report report = {.kind = FAULT_KIND_EXCEPTION,
                                      .core = core_number(),
                                      .frame = frame,
                                      .text = "the report of a fault faulted itself"};
        sinks[0](&report);
    }
    park();
}

void panic(const char *format, ...) {
    va_list list;
    va_start(list, format);
    format_list(panic_text, sizeof panic_text, format, list);
    va_end(list);
    __asm__ volatile("brk %0" ::"i"(PANIC_BRK));
    __builtin_unreachable();
}

void park(void) {
    sysreg_write(cntv_ctl_el0, 0);
    for (;;)
        wait_for_interrupt();
}
