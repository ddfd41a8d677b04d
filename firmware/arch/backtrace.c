// SPDX-License-Identifier: Apache-2.0
// AAPCS64 frame records: x29 points to {the caller's x29, the return address}.

#include <stdbool.h>

#include "arch/exception.h"

extern uint8_t __text_start[], __text_end[];
// Of core 0; those of the other cores follow at equal distances.
extern uint8_t __stack_guard[], __stack_bottom[], __stack_top[];

static bool is_code(uint64_t address) {
    return address >= (uintptr_t)__text_start && address < (uintptr_t)__text_end;
}

static bool is_record(uint64_t address, uint64_t bottom, uint64_t top) {
    return address % 8 == 0 && address >= bottom && address <= top - 16;
}

unsigned backtrace(const struct exception_frame *frame, unsigned core, uint64_t *out, unsigned room) {
    uint64_t offset = core * (uint64_t)(__stack_top - __stack_guard);
    uint64_t bottom = (uintptr_t)__stack_bottom + offset, top = (uintptr_t)__stack_top + offset;
    uint64_t at = frame->x[29];
    unsigned count = 0;
    // A function without a frame record of its own (a leaf, an assembly kernel, a jump into nowhere) has its
    // caller in x30 only. In any other, x30 may be left over from a call that has returned: the reader can
    // tell, by the symbol. panic() is known to be of that kind.
    uint64_t first = is_record(at, bottom, top) ? ((const uint64_t *)(uintptr_t)at)[1] : 0;
    if (count < room && !is_panic(frame) && is_code(frame->x[30]) && frame->x[30] != first)
        out[count++] = frame->x[30];
    while (count < room && is_record(at, bottom, top)) {
        const uint64_t *record = (const uint64_t *)(uintptr_t)at;
        if (!is_code(record[1]))
            break;
        out[count++] = record[1];
        bottom = at + 16; // strictly upwards, so that a damaged chain ends
        at = record[0];
    }
    return count;
}
