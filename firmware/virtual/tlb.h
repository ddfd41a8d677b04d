// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The TLBs of one core for data: a fully associative first level, a set-associative second one, and what a
// walk costs. Pages have one size, that of the mapping that the guest uses for nearly everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct options;
struct counts;

enum { TLB_ENTRIES_MAX = 64, TLB_HINTS = 64 };

struct tlb {
    unsigned page_shift;
    uint64_t hint[TLB_HINTS]; // by the page's low bits: one that the first level holds, or NO_PAGE
    uint64_t page[TLB_ENTRIES_MAX];
    unsigned entries, next; // next: to be replaced. The real policy is not published: round robin
    uint64_t *second;       // sets x ways, the last used one first
    unsigned sets, ways;
    uint64_t second_wait, walk_wait; // ticks
};

#define NO_PAGE UINT64_MAX

/// Ends the process when there is no memory.
void tlb_init(struct tlb *tlb, const struct options *options);

static inline bool tlb_hits(const struct tlb *tlb, uint64_t address) {
    const uint64_t page = address >> tlb->page_shift;
    return tlb->hint[page % TLB_HINTS] == page;
}

/// Translates an address for which tlb_hits is false. Returns how long that takes, in ticks.
uint64_t tlb_translate(struct tlb *tlb, struct counts *counts, uint64_t address);
