// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "a64_decode.h"

#include <stddef.h>
#include <stdlib.h>

enum destination { NONE, RD, RD_SP, LINK };

struct row {
    const char *pattern;
    uint8_t class;
    uint8_t destination;
    uint32_t mask, value; // from `pattern`, by a64_init
};

static struct row table[] = {
#define ROW(pattern, class, destination) {pattern, A64_##class, destination, 0, 0},
#include "a64_table.h"
#undef ROW
};
#define ROWS (sizeof table / sizeof table[0])

const struct a64_cost a64_class_cost[A64_CLASSES] = {
#define CLASS(name, mops, v, v0, v1, l, d, i, m, b) {mops, v, v0, v1, l, d, i, m, b},
#include "a64_classes.h"
#undef CLASS
};

const char *const a64_class_name[A64_CLASSES] = {
#define CLASS(name, mops, v, v0, v1, l, d, i, m, b) #name,
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

struct a64_insn a64_decode(uint32_t word) {
    struct a64_insn insn = {.class = A64_UNDECODED, .writes = ~UINT64_C(0) >> 32};
    insn.sum_to = insn.sum_of = A64_NO_REGISTER;
    insn.access.base = A64_NO_REGISTER;
    if (a64_decode_memory(word, &insn))
        return insn;
    for (size_t r = 0; r < ROWS; r++) {
        if ((word & table[r].mask) != table[r].value)
            continue;
        const unsigned rd = word & 31;
        insn.class = table[r].class;
        insn.writes = 0;
        if (table[r].destination == LINK)
            insn.writes = UINT64_C(1) << 30;
        else if (table[r].destination == RD_SP || (table[r].destination == RD && rd != 31))
            insn.writes = UINT64_C(1) << rd;
        decode_sum(word, &insn);
        insn.idles = word == 0xd503207f;
        break;
    }
    insn.cost = a64_class_cost[insn.class];
    return insn;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

uint64_t a64_port_bound(const struct a64_cost *cost) {
    const uint64_t cycle = TICKS_PER_CYCLE;
    uint64_t bound = cost->mops * cycle / 4;
    bound = larger(bound, (cost->v + cost->v0 + cost->v1) * cycle / 2);
    bound = larger(bound, larger(cost->v0, cost->v1) * cycle);
    bound = larger(bound, larger(cost->l, cost->d) * cycle / 2);
    bound = larger(bound, (cost->i + cost->m) * cycle / 3);
    bound = larger(bound, larger(cost->m, cost->b) * cycle);
    return bound;
}
