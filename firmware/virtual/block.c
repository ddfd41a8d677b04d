// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "hot_spots.h"

/// An unknown 64-bit value that addresses in the block are relative to.
struct symbol {
    uint16_t slot;      // SLOT_NONE until an anchor records it
    int64_t slot_delta; // the slot holds the symbol's value plus this
    bool from_load;
};

/// What a register holds: a symbol's value plus `delta`.
struct value {
    uint16_t symbol;
    int64_t delta;
};

/// One memory access of the block.
struct use {
    const struct a64_access *access;
    uint16_t insn, segment, symbol;
    int64_t delta; // address - the symbol's value
    bool resolved;
};

enum {
    ABSOLUTE,
    FIRST_REGISTER,
    REGISTERS = 32,
    MAX_SYMBOLS = 1 + REGISTERS + (REGISTERS + 1) * BLOCK_INSNS
};

/// Scratch of the block under construction. Translation is serialized by the caller.
static struct {
    uint64_t vaddr;
    const uint32_t *words;
    const struct block *whole; // of a part, else NULL
    unsigned insns, uses, symbols, segments, ranges, probes, slots;
    struct a64_insn insn[BLOCK_INSNS];
    struct use use[BLOCK_INSNS];
    struct symbol symbol[MAX_SYMBOLS];
    struct value reg[REGISTERS];
    struct segment segment[BLOCK_INSNS + 1];
    struct range range[BLOCK_INSNS];
    struct probe probe[BLOCK_INSNS];
    struct register_read read[REGISTERS], end_read[REGISTERS];
    unsigned reads, end_reads;
    bool registers, timed; // can be read; the mode
} now;

static uint32_t sites;

static struct value fresh(bool from_load) {
    now.symbol[now.symbols] = (struct symbol){.slot = SLOT_NONE, .from_load = from_load};
    return (struct value){now.symbols++, 0};
}

static bool holds_loaded(unsigned reg) {
    return reg < 31 && now.symbol[now.reg[reg].symbol].from_load;
}

/// The address of `insn`'s access.
static struct value address_of(const struct a64_insn *insn, unsigned index) {
    const struct a64_access *access = &insn->access;
    const uint32_t word = now.words[index];
    if (access->literal)
        return (struct value){ABSOLUTE, (int64_t)(now.vaddr + index * 4) + access->offset};
    if (access->base == A64_NO_REGISTER)
        return (struct value){ABSOLUTE, 0};
    // An atomic may not report its access (a failed STXR), so that nothing may be derived from it.
    if (access->indexed || access->kind == ACCESS_ATOMIC)
        return fresh(holds_loaded(access->base) || (access->indexed && holds_loaded(word >> 16 & 31)));
    struct value address = now.reg[access->base];
    address.delta += access->offset;
    return address;
}

/// Follows the registers through `insn`.
static void execute(const struct a64_insn *insn, unsigned index) {
    const struct a64_access *access = &insn->access;
    const uint32_t word = now.words[index];
    uint64_t writes = insn->writes;
    if (access->writeback) {
        writes &= ~(UINT64_C(1) << access->base);
        if (access->moved_known)
            now.reg[access->base].delta += access->moved;
        else
            now.reg[access->base] = fresh(false);
    }
    if (insn->constant || insn->sum_of != A64_NO_REGISTER) {
        struct value sum = {ABSOLUTE, (int64_t)((now.vaddr + index * 4) & insn->pc_mask)};
        if (!insn->constant)
            sum = now.reg[insn->sum_of];
        sum.delta += insn->addend;
        now.reg[insn->sum_to] = sum;
        return;
    }
    bool loaded = access->kind == ACCESS_LOAD || access->kind == ACCESS_ATOMIC;
    if (access->kind == ACCESS_NONE && writes) {
        const bool register_form = (word & 0x0e000000) == 0x0a000000;
        loaded = holds_loaded(word >> 5 & 31) || (register_form && holds_loaded(word >> 16 & 31));
    }
    for (unsigned reg = 0; writes; reg++, writes >>= 1)
        if (writes & 1)
            now.reg[reg] = fresh(loaded);
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

static void follow(void) {
    now.uses = now.symbols = now.segments = 0;
    fresh(false); // ABSOLUTE
    now.symbol[ABSOLUTE].slot = SLOT_ABSOLUTE;
    now.symbol[ABSOLUTE].slot_delta = ABSOLUTE_BIAS;
    for (unsigned reg = 0; reg < REGISTERS; reg++)
        now.reg[reg] = fresh(false);
    struct segment *segment = now.segment;
    *segment = (struct segment){0};
    for (unsigned i = 0; i < now.insns; i++) {
        struct a64_insn *insn = &now.insn[i];
        *insn = a64_decode(now.words[i]);
        const struct a64_access *access = &insn->access;
        a64_cost_add(&segment->cost, &insn->cost, 1);
        segment->insns++;
        segment->undecoded += insn->class == A64_UNDECODED;
        count_kind(&segment->mix, insn);
        if (access->kind != ACCESS_NONE) {
            const struct value address = address_of(insn, i);
            now.use[now.uses++] = (struct use){
                access, i, now.segments, address.symbol, address.delta, address.symbol == ABSOLUTE};
            if (access->kind == ACCESS_LOAD)
                segment->loads += access->units;
            else
                segment->stores += access->units;
        }
        execute(insn, i);
        if (access->may_be_doorbell && i + 1 < now.insns) {
            now.segments++;
            *++segment = (struct segment){.first_insn = (uint16_t)(i + 1)};
        }
    }
    now.segments++;
    // A register that is both an address and, at the end, loaded: each time around the loop waits for the
    // last.
    for (unsigned reg = 0; reg < REGISTERS; reg++)
        if (now.symbol[now.reg[reg].symbol].from_load)
            now.symbol[FIRST_REGISTER + reg].from_load = true;
}

static bool reports(const struct use *use) {
    return use->access->kind == ACCESS_LOAD || use->access->kind == ACCESS_STORE ||
           use->access->kind == ACCESS_ATOMIC;
}

/// Cache maintenance has no effect in mode `fast`.
static bool maintains(const struct use *use) {
    return use->access->kind == ACCESS_CLEAN || use->access->kind == ACCESS_INVALIDATE;
}

/// The slot of the register that the symbol is, read at the block's start; SLOT_NONE where it is no register
/// or the whole block does not read it.
static uint16_t read_slot(unsigned symbol) {
    const unsigned reg = symbol - FIRST_REGISTER;
    if (!now.registers || symbol < FIRST_REGISTER || reg >= REGISTERS - 1)
        return SLOT_NONE;
    uint16_t slot = SLOT_NONE;
    for (unsigned n = 0; now.whole && n < now.whole->reads; n++)
        if (now.whole->read[n].reg == reg)
            slot = now.whole->read[n].slot;
    if (!now.whole)
        slot = (uint16_t)now.slots++;
    if (slot != SLOT_NONE)
        now.read[now.reads++] = (struct register_read){0, slot, (uint8_t)reg};
    return slot;
}

/// The same at the block's end, where some register still holds the symbol's value, and something.
static uint16_t end_slot(unsigned symbol) {
    for (unsigned reg = 0; reg < REGISTERS - 1 && now.registers && !now.whole && now.end_reads < REGISTERS;
         reg++)
        if (now.reg[reg].symbol == symbol) {
            const uint16_t slot = (uint16_t)now.slots++;
            now.end_read[now.end_reads++] = (struct register_read){now.reg[reg].delta, slot, (uint8_t)reg};
            return slot;
        }
    return SLOT_NONE;
}

/// Chooses the anchors: for each symbol that a segment needs and no earlier one recorded, the access with the
/// fewest callbacks. (A later segment's anchor would come too late for a doorbell in between.) Those of a
/// part have been chosen.
static void choose_anchors(void) {
    uint16_t slot_of[BLOCK_INSNS], given[BLOCK_INSNS];
    now.slots = 1; // SLOT_ABSOLUTE
    now.reads = now.end_reads = 0;
    memset(slot_of, 0xff, sizeof slot_of);
    memset(given, now.whole ? 0xff : 0, sizeof given);
    for (unsigned p = 0; now.whole && p < now.whole->probes; p++)
        given[now.whole->probe[p].insn] = now.whole->probe[p].slot;
    for (unsigned u = 0; u < now.uses; u++) {
        struct use *use = &now.use[u];
        struct symbol *symbol = &now.symbol[use->symbol];
        if (symbol->slot == SLOT_NONE) {
            const struct use *anchor = NULL;
            unsigned least = ~0u;
            for (const struct use *other = use; other < now.use + now.uses && other->segment == use->segment;
                 other++) {
                const unsigned cost = other->access->may_be_doorbell ? 0 : other->access->reports;
                if (other->symbol == use->symbol && reports(other) && given[other->insn] != SLOT_NONE &&
                    cost < least) {
                    anchor = other;
                    least = cost;
                }
            }
            if (anchor) {
                symbol->slot = slot_of[anchor->insn] = now.whole ? given[anchor->insn] : now.slots++;
                symbol->slot_delta = anchor->delta;
            } else if (!reports(use) && (now.timed || !maintains(use))) {
                symbol->slot = read_slot(use->symbol);
                symbol->slot = symbol->slot == SLOT_NONE ? end_slot(use->symbol) : symbol->slot;
                symbol->slot_delta = 0;
            }
        }
        use->resolved = symbol->slot != SLOT_NONE;
    }
    if (now.whole)
        now.slots = now.whole->slots;
    now.probes = 0;
    for (unsigned u = 0; u < now.uses; u++) {
        const struct use *use = &now.use[u];
        if (slot_of[use->insn] != SLOT_NONE || use->access->may_be_doorbell)
            now.probe[now.probes++] = (struct probe){NULL, use->insn, slot_of[use->insn], use->segment,
                                                     use->access->may_be_doorbell};
    }
}

static uint8_t range_kind(const struct use *use) {
    return use->access->kind == ACCESS_ATOMIC ? ACCESS_STORE : use->access->kind;
}

static int by_address(const void *a, const void *b) {
    const struct use *x = a, *y = b;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    if (x->symbol != y->symbol)
        return x->symbol < y->symbol ? -1 : 1;
    if (range_kind(x) != range_kind(y))
        return range_kind(x) < range_kind(y) ? -1 : 1;
    if (x->delta != y->delta)
        return x->delta < y->delta ? -1 : 1;
    return x->insn < y->insn ? -1 : 1;
}

static int by_insn(const void *a, const void *b) {
    const struct range *x = a, *y = b;
    return x->insn < y->insn ? -1 : 1;
}

static struct range begin_range(const struct use *use, int64_t delta) {
    const uint8_t kind = range_kind(use);
    const uint32_t dirties = kind == ACCESS_STORE || kind == ACCESS_ZERO_LINE ? LINE_DIRTY : 0;
    const bool prefetch = kind == ACCESS_PREFETCH_L1 || kind == ACCESS_PREFETCH_L2;
    const struct range range = {.delta = delta,
                                .site = sites,
                                .slot = now.symbol[use->symbol].slot,
                                .bytes = use->access->bytes,
                                .units = use->access->units,
                                .insn = use->insn,
                                .kind = kind,
                                .dirties = dirties,
                                .compares = ~(uint32_t)(LINE_DIRTY ^ dirties),
                                .keeps = prefetch ? ~0u : ~(uint32_t)LINE_PREFETCHED,
                                .dependent = now.symbol[use->symbol].from_load};
    sites += sites < MAX_SITES - 1;
    return range;
}

/// Merges accesses into ranges. A gap below a line's length is bridged: it cannot hold a line of its own.
static void merge(void) {
    enum { LONGEST = 2048 };
    struct use sorted[BLOCK_INSNS];
    memcpy(sorted, now.use, now.uses * sizeof sorted[0]);
    qsort(sorted, now.uses, sizeof sorted[0], by_address);
    now.ranges = 0;
    unsigned u = 0;
    for (unsigned s = 0; s < now.segments; s++) {
        const unsigned first = now.segment[s].first_range = now.ranges;
        uint16_t symbol = 0; // of the range under construction
        struct range *range = NULL;
        for (; u < now.uses && sorted[u].segment == s; u++) {
            const struct use *use = &sorted[u];
            if (!use->resolved || maintains(use))
                continue;
            const int64_t delta = use->delta - now.symbol[use->symbol].slot_delta;
            const int64_t from = range ? delta - range->delta : 0;
            if (range && symbol == use->symbol && range->kind == range_kind(use) &&
                from < range->bytes + LINE_BYTES && from < LONGEST) {
                const int64_t end = from + use->access->bytes;
                range->bytes = end > range->bytes ? (uint16_t)end : range->bytes;
                range->units += use->access->units;
                range->insn = use->insn < range->insn ? use->insn : range->insn;
            } else {
                range = &now.range[now.ranges++];
                *range = begin_range(use, delta);
                symbol = use->symbol;
            }
        }
        now.segment[s].ranges = now.ranges - first;
        qsort(now.range + first, now.ranges - first, sizeof now.range[0], by_insn);
    }
}

static void *copy(const void *from, size_t count, size_t size) {
    void *to = calloc(count ? count : 1, size);
    if (!to)
        abort();
    if (count)
        memcpy(to, from, count * size);
    return to;
}

/// Where the direct branch `word` at `pc` leads.
static uint64_t branch_target(uint32_t word, uint64_t pc) {
    if ((word & 0x7c000000) == 0x14000000) // B, BL
        return pc + (uint64_t)((int64_t)((uint64_t)word << 38) >> 36);
    if ((word & 0x7e000000) == 0x36000000) // TBZ, TBNZ
        return pc + (uint64_t)((int64_t)((uint64_t)(word >> 5) << 50) >> 48);
    return pc + (uint64_t)((int64_t)((uint64_t)(word >> 5) << 45) >> 43); // B.cond, CBZ, CBNZ
}

static void add_mix(struct mix *sum, const struct mix *mix) {
    sum->load += mix->load;
    sum->store += mix->store;
    sum->integer += mix->integer;
    sum->vector += mix->vector;
    sum->floating += mix->floating;
    sum->branch += mix->branch;
}

/// What mode `timed` needs: an op for each instruction, and its access.
static void add_ops(struct block *block) {
    struct op op[BLOCK_INSNS];
    struct touch touch[BLOCK_INSNS];
    for (unsigned i = 0; i < now.insns; i++)
        op[i] = op_make(&now.insn[i]);
    for (unsigned u = 0; u < now.uses; u++) {
        const struct use *use = &now.use[u];
        const struct symbol *symbol = &now.symbol[use->symbol];
        op[use->insn].access = (uint16_t)u;
        touch[u] = (struct touch){.kind = use->access->kind,
                                  .slot = use->resolved ? symbol->slot : SLOT_UNKNOWN,
                                  .delta = use->delta - symbol->slot_delta,
                                  .access = {sites, use->access->bytes, use->access->units}};
        sites += sites < MAX_SITES - 1;
    }
    const unsigned last = now.insns - 1;
    block->op = copy(op, now.insns, sizeof op[0]);
    block->touch = copy(touch, now.uses, sizeof touch[0]);
    block->branch = (uint8_t)now.insn[last].branch;
    block->target = branch_target(now.words[last], now.vaddr + last * 4);
}

static struct block *build(const struct options *options) {
    now.registers = options->registers;
    now.timed = options->timed;
    follow();
    choose_anchors();
    merge();
    struct block *block = calloc(1, sizeof *block + now.insns * sizeof block->words[0]);
    if (!block)
        abort();
    block->vaddr = now.vaddr;
    block->whole = now.whole;
    block->insns = now.insns;
    memcpy(block->words, now.words, now.insns * sizeof block->words[0]);
    struct a64_cost cost = {0};
    for (unsigned s = 0; s < now.segments; s++) {
        a64_cost_add(&cost, &now.segment[s].cost, 1);
        block->loads += now.segment[s].loads;
        block->stores += now.segment[s].stores;
        block->undecoded += now.segment[s].undecoded;
        add_mix(&block->mix, &now.segment[s].mix);
    }
    block->ticks = (uint32_t)a64_port_bound(&cost);
    block->mops = cost.mops;
    block->idles = now.insn[now.insns - 1].idles;
    block->special = block->idles || block->undecoded || options->verify;
    block->rare = block->special || options->timed;
    block->slots = now.slots;
    block->segments = now.segments;
    block->ranges = now.ranges;
    block->probes = now.probes;
    block->segment = copy(now.segment, now.segments, sizeof now.segment[0]);
    block->range = copy(now.range, now.ranges, sizeof now.range[0]);
    block->probe = copy(now.probe, now.probes, sizeof now.probe[0]);
    block->reads = (uint16_t)now.reads;
    block->read = copy(now.read, now.reads, sizeof now.read[0]);
    block->end_reads = (uint16_t)now.end_reads;
    block->end_read = copy(now.end_read, now.end_reads, sizeof now.end_read[0]);
    for (unsigned p = 0; p < now.probes; p++)
        block->probe[p].block = block;
    for (unsigned u = 0; u < now.uses; u++)
        block->unresolved += !now.use[u].resolved && (options->timed || !maintains(&now.use[u]));
    if (options->timed) {
        add_ops(block);
        block->spots = hot_spots_at(block->vaddr, block->insns);
    }
    if (options->verify) {
        struct derivation derivation[BLOCK_INSNS];
        for (unsigned u = 0; u < now.uses; u++) {
            const struct use *use = &now.use[u];
            const struct symbol *symbol = &now.symbol[use->symbol];
            if (use->resolved && (use->access->kind == ACCESS_LOAD || use->access->kind == ACCESS_STORE))
                derivation[block->derivations++] =
                    (struct derivation){use->insn, symbol->slot, use->delta - symbol->slot_delta};
        }
        block->derivation = copy(derivation, block->derivations, sizeof derivation[0]);
    }
    return block;
}

static struct block *find(uint64_t vaddr, const uint32_t *words, unsigned insns, const struct block *whole,
                          const struct options *options, bool *created) {
    enum { BUCKETS = 1 << 14 };
    static struct block *bucket[BUCKETS];
    uint64_t hash = vaddr * UINT64_C(0x9e3779b97f4a7c15) + insns;
    for (unsigned i = 0; i < insns; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    struct block **head = &bucket[hash >> 32 & (BUCKETS - 1)];
    *created = false;
    for (struct block *block = *head; block; block = block->next)
        if (block->vaddr == vaddr && block->insns == insns && block->whole == whole &&
            !memcmp(block->words, words, insns * sizeof words[0]))
            return block;
    now.vaddr = vaddr;
    now.words = words;
    now.insns = insns;
    now.whole = whole;
    struct block *block = build(options);
    block->next = *head;
    *head = block;
    *created = true;
    return block;
}

struct block *block_find(uint64_t vaddr, const uint32_t *words, unsigned insns, const struct options *options,
                         bool *created) {
    return find(vaddr, words, insns, NULL, options, created);
}

struct block *block_part(const struct block *whole, unsigned insns, const struct options *options) {
    bool created;
    return find(whole->vaddr, whole->words, insns, whole, options, &created);
}
