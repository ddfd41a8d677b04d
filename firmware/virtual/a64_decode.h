// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What the timing model needs to know of one A64 instruction: what it occupies, which general registers it
// changes, and which memory it touches.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum a64_class {
#define CLASS(name, mops, v, v0, v1, l, d, i, m, b) A64_##name,
#include "a64_classes.h"
#undef CLASS
    A64_CLASSES
};

/// Occupancy of the core by some instructions: the columns of a64_classes.h, summed.
struct a64_cost {
    uint32_t mops, v, v0, v1, l, d, i, m, b;
};

/// Register numbers as used below: 0 to 30 are X0 to X30, 31 is SP. XZR never appears.
enum { A64_SP = 31, A64_NO_REGISTER = 32 };

enum access_kind {
    ACCESS_NONE,
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_PREFETCH_L1, // PRFM: QEMU reports no access for it
    ACCESS_PREFETCH_L2,
    ACCESS_ZERO_LINE, // DC ZVA: neither
    ACCESS_ATOMIC,    // exclusives and read-modify-write: may report none, or several
};

struct a64_access {
    uint8_t kind;     // enum access_kind
    uint8_t base;     // register, or A64_NO_REGISTER where only the address itself is known (see `literal`)
    bool literal;     // address = that of the instruction + offset
    bool indexed;     // base + another register: the address is not base + offset
    uint8_t units;    // accesses as the PMU counts them
    uint8_t reports;  // callbacks that QEMU makes for it, at least
    uint16_t bytes;   // from the first to the last byte
    int32_t offset;   // from base
    bool writeback;   // base changes afterwards ...
    bool moved_known; // ... by `moved`; otherwise by an amount that is not known
    int32_t moved;
    bool may_be_doorbell; // a 4- or 8-byte store of a general register, not to the stack
};

struct a64_insn {
    uint8_t class; // enum a64_class
    struct a64_cost cost;
    uint64_t writes; // bit n: register n
    // Where sum_of is a register, `sum_to` = sum_of + addend; else, where `constant`, sum_to = (pc & page) +
    // addend.
    uint8_t sum_to, sum_of;
    bool constant;
    uint64_t pc_mask;
    int64_t addend;
    bool idles; // WFI. (WFE waits for other cores, in the middle of work.)
    struct a64_access access;
};

/// Must be called once, before the others.
void a64_init(void);

struct a64_insn a64_decode(uint32_t word);

/// Decodes loads, stores, PRFM and DC ZVA. False where `word` is none of them.
bool a64_decode_memory(uint32_t word, struct a64_insn *insn);

extern const struct a64_cost a64_class_cost[A64_CLASSES];
extern const char *const a64_class_name[A64_CLASSES];

static inline void a64_cost_add(struct a64_cost *sum, const struct a64_cost *cost, uint32_t times) {
    sum->mops += cost->mops * times;
    sum->v += cost->v * times;
    sum->v0 += cost->v0 * times;
    sum->v1 += cost->v1 * times;
    sum->l += cost->l * times;
    sum->d += cost->d * times;
    sum->i += cost->i * times;
    sum->m += cost->m * times;
    sum->b += cost->b * times;
}

/// The unit of modeled time: 48 ticks are a cycle, so that a half, a third and a quarter are whole numbers.
#define TICKS_PER_CYCLE 48

/// The least time, in ticks, in which the core can execute `cost`: its busiest resource.
uint64_t a64_port_bound(const struct a64_cost *cost);
