// SPDX-License-Identifier: Apache-2.0
// ESR_EL1 in words: Arm ARM D19.2.37.
#include "arch/exception.h"
#include <stdbool.h>

#include "arch/format.h"

struct class {
    unsigned code;
    const char *text;
};

static const struct class classes[] = {
    {0x00, "Unknown reason"},
    {0x01, "Trapped WFI or WFE"},
    {0x07, "Trapped floating point or Advanced SIMD"},
    {0x0e, "Illegal execution state"},
    {0x11, "SVC"},
    {0x12, "HVC"},
    {0x13, "SMC"},
    {0x15, "SVC"},
    {0x16, "HVC"},
    {0x17, "SMC"},
    {0x18, "Trapped system register"},
    {0x20, "Instruction abort, lower level"},
    {0x21, "Instruction abort, same level"},
    {0x22, "PC alignment fault"},
    {0x24, "Data abort, lower level"},
    {0x25, "Data abort, same level"},
    {0x26, "SP alignment fault"},
    {0x2c, "Floating-point exception"},
    {0x2f, "SError"},
    {0x31, "Breakpoint, same level"},
    {0x33, "Software step, same level"},
    {0x35, "Watchpoint, same level"},
    {0x3c, "BRK instruction"},
};

struct fault_status {
    unsigned code;
    bool levels; // the two low bits are the level of the translation table
    const char *text;
};

static const struct fault_status statuses[] = {
    {0x00, true, "address size fault"},
    {0x04, true, "translation fault"},
    {0x08, true, "access flag fault"},
    {0x0c, true, "permission fault"},
    {0x10, false, "synchronous external abort"},
    {0x14, true, "synchronous external abort on table walk"},
    {0x18, false, "parity or ECC error"},
    {0x1c, true, "parity or ECC error on table walk"},
    {0x21, false, "alignment fault"},
    {0x30, false, "TLB conflict"},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void describe_abort(const char *what, unsigned code, const char *access, char *text, size_t room) {
    for (unsigned i = 0; i < COUNT(statuses); i++) {
        const struct fault_status *status = &statuses[i];
        if (status->levels && status->code == (code & ~3u)) {
            format_text(text, room, "%s: %s, level %u%s", what, status->text, code & 3, access);
            return;
        }
        if (status->code == code) {
            format_text(text, room, "%s: %s%s", what, status->text, access);
            return;
        }
    }
    format_text(text, room, "%s: fault status 0x%02x%s", what, code, access);
}

void exception_describe(uint64_t esr, char *text, size_t room) {
    unsigned class = (unsigned)(esr >> 26 & 0x3f), code = (unsigned)(esr & 0x3f);
    const char *what = NULL;
    for (unsigned i = 0; i < COUNT(classes); i++)
        if (classes[i].code == class)
            what = classes[i].text;
    if (what == NULL)
        format_text(text, room, "Exception class 0x%02x", class);
    else if (class == 0x20 || class == 0x21)
        describe_abort(what, code, "", text, room);
    else if (class == 0x24 || class == 0x25)
        describe_abort(what, code, esr & 1 << 6 ? " (write)" : " (read)", text, room);
    else
        format_text(text, room, "%s", what);
}
