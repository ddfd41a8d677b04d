// SPDX-License-Identifier: Apache-2.0
// AAPCS64 frame records: x29 points to {the caller's x29, the return address}.

#include <stdbool.h>

#include "arch/exception.h"

extern uint8_t __text_start[], __text_end[];
extern uint8_t __stack_guard[], __stack_bottom[],
    __stack_top[]; // of core 0; the other cores' follow at equal distances

static bool is_code(uint64_t address) {
    return address >= (uintptr_t)__text_start && address < (uintptr_t)__text_end;
}

unsigned backtrace(const struct exception_frame *frame, unsigned core, uint64_t *out, unsigned room) {
    uint64_t offset = core * (uint64_t)(__stack_top - __stack_guard);
    uint64_t bottom = (uintptr_t)__stack_bottom + offset, top = (uintptr_t)__stack_top + offset;
    unsigned count = 0;
    if (room == 0)
        return 0;
    out[count++] = frame->elr;
    // A function without a frame record of its own (a leaf, an assembly kernel, a jump into nowhere) has its
    // caller in x30 only. In any other, x30 may be left over from a call that has returned: the reader can
    // tell, by the symbol. panic() is known to be of that kind.
    uint64_t record = frame->x[29], below = bottom;
    bool valid = record >= below && record <= top - 16 && record % 8 == 0;
    uint64_t first = valid ? ((const uint64_t *)(uintptr_t)record)[1] : 0;
    if (count < room && !is_panic(frame) && is_code(frame->x[30]) && frame->x[30] != first)
        out[count++] = frame->x[30];
    while (count < room && record >= below && record <= top - 16 && record % 8 == 0) {
        const uint64_t *at = (const uint64_t *)(uintptr_t)record;
        if (!is_code(at[1]))
            break;
        out[count++] = at[1];
        below = record + 16; // strictly upwards, so that a damaged chain ends
        record = at[0];
    }
    return count;
}
