// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What the timing model needs to know of one A64 instruction: what it occupies, how long it takes, which
// registers it reads and writes, and which memory it touches.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum a64_class {
#define CLASS(name, mops, v, v0, v1, l, d, i, m, b, k, latency, family, forward) A64_##name,
#include "a64_classes.h"
#undef CLASS
    A64_CLASSES
};

/// Occupancy of the core by some instructions: the columns of a64_classes.h, summed.
struct a64_cost {
    uint32_t mops, v, v0, v1, l, d, i, m, b;
};

/// Instructions that forward to each other's accumulator: the column `family`.
enum a64_family {
    FAMILY_NONE,
    FAMILY_MAC_X,
    FAMILY_MAC_LONG,
    FAMILY_MAC_D,
    FAMILY_MAC_Q,
    FAMILY_SHIFT_ADD,
    FAMILY_DOT,
    FAMILY_FMA,
    FAMILY_INSERT,
};

/// How long a class takes: the last columns of a64_classes.h.
struct a64_timing {
    uint8_t latency, family, forward, keeps;
};

/// Register numbers as used below: 0 to 30 are X0 to X30, 31 is SP, 32 to 63 are V0 to V31. XZR never
/// appears.
enum { A64_SP = 31, A64_V0 = 32, A64_FLAGS = 64, A64_NO_REGISTER = 65, A64_REGISTERS = 66 };

/// Registers of one instruction; places that are not used hold A64_NO_REGISTER. A base register that is
/// written back is among the sources, and not among the targets.
struct a64_operands {
    uint8_t source[6];   // needed to issue; of a load or store: those of its address
    uint8_t data[4];     // what a store stores, what a load to a lane merges with, the expected value of CAS
    uint8_t accumulator; // added last: may be late
    uint8_t target[4];
};

enum access_kind {
    ACCESS_NONE,
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_PREFETCH_L1, // PRFM: QEMU reports no access for it
    ACCESS_PREFETCH_L2,
    ACCESS_ZERO_LINE,  // DC ZVA: neither
    ACCESS_CLEAN,      // DC CVAC, CVAU: neither
    ACCESS_INVALIDATE, // DC CIVAC, IVAC: neither
    ACCESS_ATOMIC,     // exclusives and read-modify-write: may report none, or several
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

enum a64_branch {
    BRANCH_NONE,
    BRANCH_DIRECT,
    BRANCH_CONDITIONAL,
    BRANCH_CALL,
    BRANCH_CALL_INDIRECT,
    BRANCH_RETURN,
    BRANCH_INDIRECT
};

/// What an instruction waits for before it does anything.
enum a64_wait {
    WAIT_NONE,
    WAIT_RETIRE,  // MRS, MSR: until all before it have finished
    WAIT_STORES,  // DMB, DSB: also until the store buffer is empty
    WAIT_REFETCH, // ISB, exceptions: what follows is fetched after it has finished
};

struct a64_insn {
    uint8_t class; // enum a64_class
    struct a64_cost cost;
    struct a64_operands operands;
    enum a64_branch branch;
    enum a64_wait wait;
    bool scalar_float; // floating point of one number
    uint64_t writes;   // bit n: general register n
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

/// Decodes loads, stores, PRFM and DC. False where `word` is none of them.
bool a64_decode_memory(uint32_t word, struct a64_insn *insn);

/// Puts `reg` into the first free one of `places`.
void a64_add_register(uint8_t *list, size_t places, unsigned reg);

extern const struct a64_cost a64_class_cost[A64_CLASSES];
extern const struct a64_timing a64_class_timing[A64_CLASSES];
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

/// What some instructions need of one resource of the core, and the least time, in ticks, that this takes.
/// "V" is V0 and V1 together, "L" both load/store pipes, "I" S0, S1 and M.
struct a64_resource {
    const char *name;
    uint64_t slots, ticks;
};
enum { A64_RESOURCES = 9 };

void a64_resources(const struct a64_cost *cost, struct a64_resource resources[A64_RESOURCES]);

/// The least time, in ticks, in which the core can execute `cost`: its busiest resource.
uint64_t a64_port_bound(const struct a64_cost *cost);
