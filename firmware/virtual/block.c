// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "block.h"

#include <stdlib.h>
#include <string.h>

#include "block_follow.h"
#include "cache.h"
#include "hot_spots.h"

/// Of the block under construction. Translation is serialized by the caller.
static struct following now;

static uint32_t sites;

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
    block_follow(&now);
    block_choose_anchors(&now);
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
