// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// A block followed symbolically: what its addresses have in common, and where they come from (block.h).
#pragma once

#include "block.h"

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

/// What is found out of a block, one step after the other. The first members and the last two are given.
struct following {
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
    bool registers; // of the guest can be read
    bool timed;     // the mode
};

/// Decodes the instructions and follows the registers through them: uses, symbols, segments without ranges.
void block_follow(struct following *f);

/// Finds a slot for each symbol that can have one: an access that records it, or else a register.
void block_choose_anchors(struct following *f);

/// Cache maintenance has no effect in mode `fast`.
static inline bool maintains(const struct use *use) {
    return use->access->kind == ACCESS_CLEAN || use->access->kind == ACCESS_INVALIDATE;
}
