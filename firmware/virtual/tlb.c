// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "tlb.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"

void tlb_init(struct tlb *tlb, const struct options *options) {
    tlb->page_shift = (unsigned)__builtin_ctzll(options->page_bytes);
    tlb->entries = options->tlb.entries;
    tlb->ways = options->tlb.second_ways;
    tlb->sets = options->tlb.second_entries / tlb->ways;
    tlb->second_wait = (uint64_t)options->tlb.second_cycles * TICKS_PER_CYCLE;
    tlb->walk_wait = (uint64_t)options->tlb.walk_cycles * TICKS_PER_CYCLE;
    tlb->second = malloc((size_t)tlb->sets * tlb->ways * sizeof *tlb->second);
    if (!tlb->second)
        abort();
    memset(tlb->second, 0xff, (size_t)tlb->sets * tlb->ways * sizeof *tlb->second);
    memset(tlb->page, 0xff, sizeof tlb->page);
    memset(tlb->hint, 0xff, sizeof tlb->hint);
}

/// Puts `page` first in its set. False where it was not in.
static bool use_second(struct tlb *tlb, uint64_t page) {
    uint64_t *set = tlb->second + page % tlb->sets * tlb->ways;
    unsigned way = 0;
    while (way < tlb->ways && set[way] != page)
        way++;
    const bool found = way < tlb->ways;
    memmove(set + 1, set, (found ? way : tlb->ways - 1) * sizeof *set);
    set[0] = page;
    return found;
}

uint64_t tlb_translate(struct tlb *tlb, struct counts *counts, uint64_t address) {
    const uint64_t page = address >> tlb->page_shift;
    uint64_t wait = 0;
    unsigned entry = 0;
    while (entry < tlb->entries && tlb->page[entry] != page)
        entry++;
    if (entry == tlb->entries) {
        counts->tlb_refill++;
        const bool found = use_second(tlb, page);
        counts->tlb_walk += !found;
        wait = found ? tlb->second_wait : tlb->second_wait + tlb->walk_wait;
        uint64_t *replaced = &tlb->page[tlb->next];
        tlb->next = tlb->next + 1 < tlb->entries ? tlb->next + 1 : 0;
        if (*replaced != NO_PAGE && tlb->hint[*replaced % TLB_HINTS] == *replaced)
            tlb->hint[*replaced % TLB_HINTS] = NO_PAGE;
        *replaced = page;
    }
    tlb->hint[page % TLB_HINTS] = page;
    return wait;
}
