// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "block_follow.h"

static struct value fresh(struct following *f, bool from_load) {
    f->symbol[f->symbols] = (struct symbol){.slot = SLOT_NONE, .from_load = from_load};
    return (struct value){f->symbols++, 0};
}

static bool holds_loaded(const struct following *f, unsigned reg) {
    return reg < 31 && f->symbol[f->reg[reg].symbol].from_load;
}

/// The address of `insn`'s access.
static struct value address_of(struct following *f, const struct a64_insn *insn, unsigned index) {
    const struct a64_access *access = &insn->access;
    const uint32_t word = f->words[index];
    if (access->literal)
        return (struct value){ABSOLUTE, (int64_t)(f->vaddr + index * 4) + access->offset};
    if (access->base == A64_NO_REGISTER)
        return (struct value){ABSOLUTE, 0};
    // An atomic may not report its access (a failed STXR), so that nothing may be derived from it.
    if (access->indexed || access->kind == ACCESS_ATOMIC)
        return fresh(f,
                     holds_loaded(f, access->base) || (access->indexed && holds_loaded(f, word >> 16 & 31)));
    struct value address = f->reg[access->base];
    address.delta += access->offset;
    return address;
}

/// Follows the registers through `insn`.
static void execute(struct following *f, const struct a64_insn *insn, unsigned index) {
    const struct a64_access *access = &insn->access;
    const uint32_t word = f->words[index];
    uint64_t writes = insn->writes;
    if (access->writeback) {
        writes &= ~(UINT64_C(1) << access->base);
        if (access->moved_known)
            f->reg[access->base].delta += access->moved;
        else
            f->reg[access->base] = fresh(f, false);
    }
    if (insn->constant || insn->sum_of != A64_NO_REGISTER) {
        struct value sum = {ABSOLUTE, (int64_t)((f->vaddr + index * 4) & insn->pc_mask)};
        if (!insn->constant)
            sum = f->reg[insn->sum_of];
        sum.delta += insn->addend;
        f->reg[insn->sum_to] = sum;
        return;
    }
    bool loaded = access->kind == ACCESS_LOAD || access->kind == ACCESS_ATOMIC;
    if (access->kind == ACCESS_NONE && writes) {
        const bool register_form = (word & 0x0e000000) == 0x0a000000;
        loaded = holds_loaded(f, word >> 5 & 31) || (register_form && holds_loaded(f, word >> 16 & 31));
    }
    for (unsigned reg = 0; writes; reg++, writes >>= 1)
        if (writes & 1)
            f->reg[reg] = fresh(f, loaded);
}

static void count_kind(struct mix *mix, const struct a64_insn *insn) {
    const uint8_t kind = insn->access.kind;
    if (kind == ACCESS_LOAD || kind == ACCESS_ATOMIC)
        mix->load++;
    if (kind == ACCESS_STORE || kind == ACCESS_ZERO_LINE || kind == ACCESS_ATOMIC)
        mix->store++;
    if (insn->branch != BRANCH_NONE)
        mix->branch++;
    else if (kind != ACCESS_NONE || insn->class == A64_HINT || insn->class == A64_SYSTEM)
        return;
    else if (insn->scalar_float)
        mix->floating++;
    else if (insn->cost.v || insn->cost.v0 || insn->cost.v1 || insn->class == A64_V_FROM_GPR)
        mix->vector++;
    else
        mix->integer++;
}

void block_follow(struct following *f) {
    f->uses = f->symbols = f->segments = 0;
    fresh(f, false); // ABSOLUTE
    f->symbol[ABSOLUTE].slot = SLOT_ABSOLUTE;
    f->symbol[ABSOLUTE].slot_delta = ABSOLUTE_BIAS;
    for (unsigned reg = 0; reg < REGISTERS; reg++)
        f->reg[reg] = fresh(f, false);
    struct segment *segment = f->segment;
    *segment = (struct segment){0};
    for (unsigned i = 0; i < f->insns; i++) {
        struct a64_insn *insn = &f->insn[i];
        *insn = a64_decode(f->words[i]);
        const struct a64_access *access = &insn->access;
        a64_cost_add(&segment->cost, &insn->cost, 1);
        segment->insns++;
        segment->undecoded += insn->class == A64_UNDECODED;
        count_kind(&segment->mix, insn);
        if (access->kind != ACCESS_NONE) {
            const struct value address = address_of(f, insn, i);
            f->use[f->uses++] = (struct use){
                access, i, f->segments, address.symbol, address.delta, address.symbol == ABSOLUTE};
            if (access->kind == ACCESS_LOAD)
                segment->loads += access->units;
            else
                segment->stores += access->units;
        }
        execute(f, insn, i);
        if (access->may_be_doorbell && i + 1 < f->insns) {
            f->segments++;
            *++segment = (struct segment){.first_insn = (uint16_t)(i + 1)};
        }
    }
    f->segments++;
    // A register that is both an address and, at the end, loaded: each time around the loop waits for the
    // last.
    for (unsigned reg = 0; reg < REGISTERS; reg++)
        if (f->symbol[f->reg[reg].symbol].from_load)
            f->symbol[FIRST_REGISTER + reg].from_load = true;
}
