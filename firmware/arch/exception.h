// SPDX-License-Identifier: Apache-2.0
// What happens when the processor, or the firmware itself, gives up: registers are saved on a stack of their
// own, a report goes to every sink, and the core parks.
#pragma once

// Offsets in struct exception_frame, for vectors.S.
#define FRAME_X     0
#define FRAME_SP    248
#define FRAME_ELR   256
#define FRAME_SPSR  264
#define FRAME_ESR   272
#define FRAME_FAR   280
#define FRAME_BYTES 288

#define EXCEPTION_STACK_SHIFT 13     // 8 KiB for each core
#define PANIC_BRK             0x4d58 // immediate of the BRK by which panic() enters the exception path

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.h"

/// Registers of the interrupted code.
struct exception_frame {
    uint64_t x[31];
    uint64_t sp;
    uint64_t elr, spsr, esr, far;
};
_Static_assert(offsetof(struct exception_frame, sp) == FRAME_SP, "vectors.S stores sp there");
_Static_assert(offsetof(struct exception_frame, elr) == FRAME_ELR, "vectors.S stores elr there");
_Static_assert(offsetof(struct exception_frame, far) == FRAME_FAR, "vectors.S stores far there");
_Static_assert(sizeof(struct exception_frame) == FRAME_BYTES, "vectors.S makes room for it");

struct fault_report {
    enum fault_kind kind;
    unsigned core;
    const struct exception_frame *frame;
    unsigned backtrace_count;
    uint64_t backtrace[BACKTRACE_MAX]; // return addresses, innermost first
    const char *text;                  // what happened, in words
};

typedef void fault_sink(const struct fault_report *report);

/// Adds a place where reports go; at most FAULT_SINKS, in the order of adding. A sink must not return to
/// other code than its caller's and must cope with whatever state the fault left behind.
#define FAULT_SINKS 2
void fault_sink_add(fault_sink *sink);

/// Reports a broken assumption of the firmware and parks. Formats as log_text does.
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// True when the frame is that of panic().
static inline bool is_panic(const struct exception_frame *frame) {
    return frame->esr >> 26 == 0x3c && (frame->esr & 0xffff) == PANIC_BRK;
}

/// "Data abort, same level: translation fault, level 3 (write)". `text` is always terminated.
void exception_describe(uint64_t esr, char *text, size_t room);

/// Return addresses of the calls that led to `frame`'s instruction, innermost first. Follows frame records
/// only inside the core's own stack, upwards, and only to code.
unsigned backtrace(const struct exception_frame *frame, unsigned core, uint64_t *out, unsigned room);

#endif
