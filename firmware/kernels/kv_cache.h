// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/share.h"
#include "memory/kv_ring.h"

/// Keys and values of `rows` consecutive tokens, the first at absolute `position`; their slots are open.
struct kv_update {
    const void *keys;   // float [rows][kv_heads * head_dim], not rotated
    const void *values; // likewise
    size_t stride;      // values from row to row of both
    const float *rope;  // [rows][head_dim]: rope_row of each token
    uint32_t position;
    unsigned rows;
    bool halves; // both are of half precision
};

/// Rotates the keys, quantizes both to int8 with one scale per token and head, and writes them into their
/// pages of `layer`: the part of it that is `share`'s. The time depends on the rows alone, not on how many
/// tokens are cached. Cores get runs of 16 slots of a head in turn, which are the keys, values and scales of
/// whole lines. Returns how many slots it has filled.
unsigned kv_cache_update(const struct kv_ring *ring, unsigned layer, const struct kv_update *update,
                         struct share share);
