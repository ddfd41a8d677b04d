// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "a64_decode.h"

#include <stddef.h>
#include <stdlib.h>

struct row {
    const char *pattern;
    uint8_t class;
    const char *operands;
    uint32_t mask, value; // from `pattern`, by a64_init
};

static struct row table[] = {
#define ROW(pattern, class, operands) {pattern, A64_##class, operands, 0, 0},
#include "a64_table.h"
#undef ROW
};
#define ROWS (sizeof table / sizeof table[0])

const struct a64_cost a64_class_cost[A64_CLASSES] = {
#define CLASS(name, mops, v, v0, v1, l, d, i, m, b, k, latency, family, forward)                             \
    {mops, v, v0, v1, l, d, i, m, b},
#include "a64_classes.h"
#undef CLASS
};

const struct a64_timing a64_class_timing[A64_CLASSES] = {
#define CLASS(name, mops, v, v0, v1, l, d, i, m, b, k, latency, family, forward)                             \
    {latency, FAMILY_##family, forward, k},
#include "a64_classes.h"
#undef CLASS
};

const char *const a64_class_name[A64_CLASSES] = {
#define CLASS(name, mops, v, v0, v1, l, d, i, m, b, k, latency, family, forward) #name,
#include "a64_classes.h"
#undef CLASS
};

void a64_init(void) {
    for (size_t r = 0; r < ROWS; r++) {
        uint32_t mask = 0, value = 0;
        unsigned bits = 0;
        for (const char *c = table[r].pattern; *c; c++) {
            if (*c == '_')
                continue;
            mask = mask << 1 | (*c == '0' || *c == '1');
            value = value << 1 | (*c == '1');
            bits++;
        }
        if (bits != 32)
            abort(); // a row of a64_table.h is malformed
        table[r].mask = mask;
        table[r].value = value;
    }
}

static const struct a64_operands no_operands = {
    .source = {A64_NO_REGISTER, A64_NO_REGISTER, A64_NO_REGISTER, A64_NO_REGISTER, A64_NO_REGISTER,
               A64_NO_REGISTER},
    .data = {A64_NO_REGISTER, A64_NO_REGISTER, A64_NO_REGISTER, A64_NO_REGISTER},
    .accumulator = A64_NO_REGISTER,
    .target = {A64_NO_REGISTER, A64_NO_REGISTER, A64_NO_REGISTER, A64_NO_REGISTER},
};

static unsigned field(uint32_t word, char name) {
    switch (name) {
    case 'd':
        return word & 31;
    case 'n':
        return word >> 5 & 31;
    case 'm':
        return word >> 16 & 31;
    case 'a':
        return word >> 10 & 31;
    case 'e': // elements of 16 bits leave four bits for the register
        return word >> 16 & (word >> 23 & 1 ? 31 : 15);
    }
    abort(); // a row of a64_table.h is malformed
}

void a64_add_register(uint8_t *list, size_t places, unsigned reg) {
    for (size_t i = 0; i < places; i++)
        if (list[i] == A64_NO_REGISTER) {
            list[i] = (uint8_t)reg;
            return;
        }
    abort(); // an instruction with more registers than struct a64_operands has room for
}

/// Reads the column `operands` of a row for the instruction `word`.
static void decode_operands(uint32_t word, const char *text, struct a64_operands *operands) {
    uint8_t *list = operands->target;
    size_t places = sizeof operands->target;
    for (const char *c = text; *c; c++) {
        unsigned reg;
        switch (*c) {
        case '=':
            list = operands->source;
            places = sizeof operands->source;
            continue;
        case 'F':
            a64_add_register(list, places, A64_FLAGS);
            continue;
        case 'L':
            a64_add_register(list, places, 30);
            continue;
        case '+':
            reg = field(word, c[2]);
            if (c[1] == 'V' || reg != 31)
                operands->accumulator = (uint8_t)(reg + (c[1] == 'V' ? A64_V0 : 0));
            c += 2;
            continue;
        case 'V':
            reg = field(word, *++c);
            const unsigned count = c[1] >= '1' && c[1] <= '4' ? (unsigned)(*++c - '0') : 1;
            for (unsigned i = 0; i < count; i++)
                a64_add_register(list, places, A64_V0 + ((reg + i) & 31));
            continue;
        case 'X':
        case 'S':
            reg = field(word, c[1]);
            if (*c == 'S' || reg != 31)
                a64_add_register(list, places, reg);
            c++;
            continue;
        }
        abort(); // a row of a64_table.h is malformed
    }
}

static enum a64_branch branch_kind(uint32_t word) {
    if ((word & 0x7c000000) == 0x14000000)
        return word >> 31 ? BRANCH_CALL : BRANCH_DIRECT;
    if ((word & 0xfe000000) == 0x54000000 || (word & 0x7c000000) == 0x34000000)
        return BRANCH_CONDITIONAL;
    if ((word & 0xff000000) == 0xd6000000)
        return (word >> 21 & 7) == 1   ? BRANCH_CALL_INDIRECT
               : (word >> 21 & 7) == 0 ? BRANCH_INDIRECT
                                       : BRANCH_RETURN;
    return BRANCH_NONE;
}

static enum a64_wait wait_kind(uint32_t word) {
    if ((word & 0xff000000) == 0xd4000000 || (word & 0xfffff0ff) == 0xd50330df) // SVC and its group, ISB
        return WAIT_REFETCH;
    if ((word & 0xfffff09f) == 0xd503309f) // DSB, DMB
        return WAIT_STORES;
    // MRS and MSR, but of NZCV, which is renamed (SOG 4.11), and of the thread pointer, which is not written.
    const bool system_register = (word & 0xffd00000) == 0xd5100000;
    const bool renamed = (word & 0xffdfffe0) == 0xd51b4200 || (word & 0xffffffe0) == 0xd53bd040;
    return system_register && !renamed ? WAIT_RETIRE : WAIT_NONE;
}

/// The shapes of address arithmetic that block.c follows: ADD and SUB of an immediate, MOV, ADR, ADRP.
static void decode_sum(uint32_t word, struct a64_insn *insn) {
    const unsigned rd = word & 31, rn = word >> 5 & 31;
    insn->sum_to = insn->sum_of = A64_NO_REGISTER;
    if ((word & 0xbf800000) == 0x91000000) { // ADD, bit 30: SUB (64 bits, immediate, flags not set)
        int64_t value = (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
        insn->sum_to = rd;
        insn->sum_of = rn;
        insn->addend = word >> 30 & 1 ? -value : value;
    } else if ((word & 0xffe0ffe0) == 0xaa0003e0) { // MOV Xd, Xm
        const unsigned rm = word >> 16 & 31;
        if (rm != 31 && rd != 31) {
            insn->sum_to = rd;
            insn->sum_of = rm;
        }
    } else if ((word & 0x1f000000) == 0x10000000 && rd != 31) { // ADR, ADRP
        const bool page = word >> 31;
        int64_t value = (int64_t)((uint64_t)(word >> 5 & 0x7ffff) << 45) >> 43 | (word >> 29 & 3);
        insn->sum_to = rd;
        insn->constant = true;
        insn->pc_mask = page ? ~UINT64_C(0xfff) : ~UINT64_C(0);
        insn->addend = page ? (int64_t)((uint64_t)value << 12) : value;
    }
}

/// The general registers that are written.
static uint64_t written(const struct a64_insn *insn) {
    uint64_t writes = 0;
    for (size_t i = 0; i < sizeof insn->operands.target; i++)
        if (insn->operands.target[i] < A64_V0)
            writes |= UINT64_C(1) << insn->operands.target[i];
    if (insn->access.writeback)
        writes |= UINT64_C(1) << insn->access.base;
    return writes;
}

static struct a64_insn nothing_known(void) {
    struct a64_insn insn = {.class = A64_UNDECODED, .operands = no_operands};
    insn.sum_to = insn.sum_of = insn.access.base = A64_NO_REGISTER;
    return insn;
}

struct a64_insn a64_decode(uint32_t word) {
    struct a64_insn insn = nothing_known();
    if (a64_decode_memory(word, &insn)) {
        insn.writes = written(&insn);
        return insn;
    }
    insn = nothing_known();
    insn.writes = ~UINT64_C(0) >> 32;
    for (size_t r = 0; r < ROWS; r++) {
        if ((word & table[r].mask) != table[r].value)
            continue;
        insn.class = table[r].class;
        decode_operands(word, table[r].operands, &insn.operands);
        if (insn.class == A64_EXTRACT && (word >> 5 & 31) == (word >> 16 & 31))
            insn.class = A64_INT; // ROR
        insn.writes = written(&insn);
        insn.branch = branch_kind(word);
        insn.wait = wait_kind(word);
        insn.scalar_float = (word & 0x5e000000) == 0x1e000000;
        decode_sum(word, &insn);
        insn.idles = word == 0xd503207f;
        break;
    }
    insn.cost = a64_class_cost[insn.class];
    return insn;
}

void a64_resources(const struct a64_cost *cost, struct a64_resource resources[A64_RESOURCES]) {
    const struct {
        const char *name;
        uint32_t slots, per_cycle;
    } each[A64_RESOURCES] = {
        {"dispatch", cost->mops, 4}, {"V", cost->v + cost->v0 + cost->v1, 2},
        {"V0", cost->v0, 1},         {"V1", cost->v1, 1},
        {"L", cost->l, 2},           {"store data", cost->d, 2},
        {"I", cost->i + cost->m, 3}, {"M", cost->m, 1},
        {"B", cost->b, 1},
    };
    for (unsigned r = 0; r < A64_RESOURCES; r++)
        resources[r] = (struct a64_resource){each[r].name, each[r].slots,
                                             (uint64_t)each[r].slots * TICKS_PER_CYCLE / each[r].per_cycle};
}

uint64_t a64_port_bound(const struct a64_cost *cost) {
    struct a64_resource resources[A64_RESOURCES];
    a64_resources(cost, resources);
    uint64_t bound = 0;
    for (unsigned r = 0; r < A64_RESOURCES; r++)
        bound = resources[r].ticks > bound ? resources[r].ticks : bound;
    return bound;
}
