// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// A translation block, prepared once so that executing it costs the host little: its static cost, and the
// memory it touches as a few address ranges.
//
// A callback for each memory access would cost more than the access itself (a 16-byte load makes two). Most
// addresses in a block differ from another one's by a constant, because they come from the same register
// through additions of constants. So the block is followed symbolically; of all accesses that share a symbol
// only the cheapest one, the anchor, gets a callback, which records its address in a slot. The others follow
// from it: slot + delta.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "a64_decode.h"
#include "op.h"
#include "options.h"

enum {
    BLOCK_INSNS = 512,              // QEMU's own limit of a translation block
    SLOTS = BLOCK_INSNS + 2,        // at most one for each access, slot 0, and SLOT_UNKNOWN
    SLOT_ABSOLUTE = 0,              // always holds ABSOLUTE_BIAS: the range's delta is an address
    SLOT_UNKNOWN = BLOCK_INSNS + 1, // always 0: as if the access had not been executed
    ABSOLUTE_BIAS = 1,              // (0 would mean that the access was not executed)
    SLOT_NONE = 0xffff,
    MAX_SITES = 1 << 20, // beyond it, ranges share the last one's prefetcher state
};

/// Contiguous memory (gaps below a cache line included) that one segment accesses in one way.
struct range {
    int64_t delta; // from the slot's address
    uint32_t site; // number of this range among all, below MAX_SITES
    uint16_t slot;
    uint16_t bytes;
    uint16_t units; // accesses as the PMU counts them
    uint16_t insn;  // first instruction that accesses it, as an index into the block
    uint8_t kind;   // enum access_kind; an atomic is a store
    uint32_t
        keeps; // flags that an L1D hit leaves in place: a prefetch leaves all, others clear LINE_PREFETCHED
    uint32_t dirties; // LINE_DIRTY where the lines become dirty
    uint32_t
        compares;   // bits of an entry in which it must equal tag | dirties for another use to change nothing
    bool dependent; // the address comes from a load: a miss cannot overlap with the one before
};

/// What is known of a load or store when it is translated.
struct hierarchy_access {
    uint32_t site;  // number of the instruction, below MAX_SITES: for the stride prefetcher
    uint16_t bytes; // from the first to the last one
    uint8_t units;  // accesses as the PMU counts them
};

/// One instruction's access, for mode `timed`: at the address in `slot` plus `delta`.
struct touch {
    int64_t delta;
    uint16_t slot;
    uint8_t kind; // enum access_kind
    struct hierarchy_access access;
};

/// Instructions by kind, as the PMU counts them (mode `timed`).
struct mix {
    uint16_t load, store, integer, vector, floating, branch;
};

/// A part of a block that ends with a store that might ring the doorbell, or with the block.
struct segment {
    struct a64_cost cost;
    uint32_t insns, loads, stores, undecoded;
    struct mix mix;
    uint16_t first_insn, first_range, ranges;
};

/// A memory callback that the block needs.
struct probe {
    struct block *block;
    uint16_t insn;
    uint16_t slot; // SLOT_NONE: none is recorded
    uint16_t segment;
    bool doorbell; // the address must be compared with the device page
};

/// A register whose value at the block's start or end, less `delta`, is put into a slot: of PRFM and DC whose
/// address no access gives away, perhaps only because a block ends with its page.
struct register_read {
    int64_t delta;
    uint16_t slot;
    uint8_t reg;
};

/// How one instruction's address is derived: only kept to verify the derivation.
struct derivation {
    uint16_t insn;
    uint16_t slot;
    int64_t delta;
};

struct block {
    uint64_t vaddr;
    uint32_t insns;
    uint32_t ticks; // port bound of the whole block
    uint32_t loads, stores, undecoded;
    uint32_t mops;   // macro-operations
    bool idles;      // ends with WFI
    bool special;    // idles, holds undecoded instructions, or is verified
    bool rare;       // special, or timed: not for the short path of mode `fast`
    uint8_t branch;  // enum a64_branch: how it ends
    uint64_t target; // of a direct branch
    struct mix mix;
    uint16_t slots, segments, ranges, probes, derivations;
    uint16_t reads, end_reads;
    uint16_t unresolved;                   // PRFM or DC whose address cannot be derived
    struct register_read *read, *end_read; // at the start, at the end
    struct range *range;
    struct segment *segment;
    struct probe *probe;
    struct op *op;                 // by instruction; NULL in mode `fast`
    struct touch *touch;           // in program order
    struct hot_spot *spots;        // where its instructions are counted one by one; NULL: they are not
    struct derivation *derivation; // NULL unless derivations are verified
    const struct block *whole;     // of a part: what it is the beginning of, else NULL
    struct block *next;            // of the same hash
    uint32_t words[];
};

/// The block of these instructions: a known one, or a new one, which `created` tells. Not reentrant. Never
/// freed, since translated code keeps pointers to it.
struct block *block_find(uint64_t vaddr, const uint32_t *words, unsigned insns, const struct options *options,
                         bool *created);

/// The first instructions of `whole` as a block of their own, with the addresses that the whole one's anchors
/// have recorded. Not reentrant, neither with block_find.
struct block *block_part(const struct block *whole, unsigned insns, const struct options *options);
