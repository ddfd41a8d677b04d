// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include <string.h>

#include "block_follow.h"

static bool reports(const struct use *use) {
    return use->access->kind == ACCESS_LOAD || use->access->kind == ACCESS_STORE ||
           use->access->kind == ACCESS_ATOMIC;
}

/// The slot of the register that the symbol is, read at the block's start; SLOT_NONE where it is no register
/// or the whole block does not read it.
static uint16_t read_slot(struct following *f, unsigned symbol) {
    const unsigned reg = symbol - FIRST_REGISTER;
    if (!f->registers || symbol < FIRST_REGISTER || reg >= REGISTERS - 1)
        return SLOT_NONE;
    uint16_t slot = SLOT_NONE;
    for (unsigned n = 0; f->whole && n < f->whole->reads; n++)
        if (f->whole->read[n].reg == reg)
            slot = f->whole->read[n].slot;
    if (!f->whole)
        slot = (uint16_t)f->slots++;
    if (slot != SLOT_NONE)
        f->read[f->reads++] = (struct register_read){0, slot, (uint8_t)reg};
    return slot;
}

/// The same of a register that holds the symbol's value, and something, at the block's end: a page may end
/// between PRFM and the access whose address it has.
static uint16_t end_slot(struct following *f, unsigned symbol) {
    for (unsigned reg = 0; reg < REGISTERS - 1 && f->registers && !f->whole && f->end_reads < REGISTERS;
         reg++)
        if (f->reg[reg].symbol == symbol) {
            const uint16_t slot = (uint16_t)f->slots++;
            f->end_read[f->end_reads++] = (struct register_read){f->reg[reg].delta, slot, (uint8_t)reg};
            return slot;
        }
    return SLOT_NONE;
}

/// Chooses the anchors: for each symbol that a segment needs and no earlier one recorded, the access with the
/// fewest callbacks. (A later segment's anchor would come too late for a doorbell in between.) Those of a
/// part have been chosen.
void block_choose_anchors(struct following *f) {
    uint16_t slot_of[BLOCK_INSNS], given[BLOCK_INSNS];
    f->slots = 1; // SLOT_ABSOLUTE
    f->reads = f->end_reads = 0;
    memset(slot_of, 0xff, sizeof slot_of);
    memset(given, f->whole ? 0xff : 0, sizeof given);
    for (unsigned p = 0; f->whole && p < f->whole->probes; p++)
        given[f->whole->probe[p].insn] = f->whole->probe[p].slot;
    for (unsigned u = 0; u < f->uses; u++) {
        struct use *use = &f->use[u];
        struct symbol *symbol = &f->symbol[use->symbol];
        if (symbol->slot == SLOT_NONE) {
            const struct use *anchor = NULL;
            unsigned least = ~0u;
            for (const struct use *other = use; other < f->use + f->uses && other->segment == use->segment;
                 other++) {
                const unsigned cost = other->access->may_be_doorbell ? 0 : other->access->reports;
                if (other->symbol == use->symbol && reports(other) && given[other->insn] != SLOT_NONE &&
                    cost < least) {
                    anchor = other;
                    least = cost;
                }
            }
            if (anchor) {
                symbol->slot = slot_of[anchor->insn] = f->whole ? given[anchor->insn] : f->slots++;
                symbol->slot_delta = anchor->delta;
            } else if (!reports(use) && (f->timed || !maintains(use))) {
                symbol->slot = read_slot(f, use->symbol);
                symbol->slot = symbol->slot == SLOT_NONE ? end_slot(f, use->symbol) : symbol->slot;
                symbol->slot_delta = 0;
            }
        }
        use->resolved = symbol->slot != SLOT_NONE;
    }
    if (f->whole)
        f->slots = f->whole->slots;
    f->probes = 0;
    for (unsigned u = 0; u < f->uses; u++) {
        const struct use *use = &f->use[u];
        if (slot_of[use->insn] != SLOT_NONE || use->access->may_be_doorbell)
            f->probe[f->probes++] = (struct probe){NULL, use->insn, slot_of[use->insn], use->segment,
                                                   use->access->may_be_doorbell};
    }
}
