// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// A stand-in for the branch predictor of a Cortex-A76, of which only the sizes of its target buffers are
// published: direction by tagged tables with geometric history lengths (Seznec and Michaud, "A case for
// (partially) tagged geometric history length branch prediction", JILP 8, 2006), a return stack, targets of
// indirect branches by path.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    BASE_ENTRIES = 8192,   // assumed
    TAGGED_ENTRIES = 2048, // of each table: assumed
    TAGGED_TABLES = 4,
    TARGETS = 1024, // indirect branches: assumed
    RETURNS = 16,   // depth of the return stack: assumed
};

struct tagged {
    uint16_t tag;
    int8_t counter; // taken from 0 up
    uint8_t useful;
};

struct predictor {
    uint64_t history[2]; // outcomes of conditional branches, the last one in bit 0
    uint64_t path;       // of indirect targets
    uint64_t returns[RETURNS];
    unsigned top;
    int8_t base[BASE_ENTRIES];
    struct tagged table[TAGGED_TABLES][TAGGED_ENTRIES];
    uint64_t target[TARGETS];
    uint32_t decay; // of `useful`, so that entries can be replaced
};

/// A conditional branch at `pc` goes this way. Returns whether that was predicted.
bool predict_direction(struct predictor *p, uint64_t pc, bool taken);

/// A call whose return address is `after`.
static inline void predict_call(struct predictor *p, uint64_t after) {
    p->returns[p->top++ % RETURNS] = after;
}

/// A return to `target`. Returns whether that was predicted.
static inline bool predict_return(struct predictor *p, uint64_t target) {
    return p->returns[--p->top % RETURNS] == target;
}

/// An indirect branch to `target`. Returns whether that was predicted.
bool predict_target(struct predictor *p, uint64_t pc, uint64_t target);
