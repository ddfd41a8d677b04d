// SPDX-License-Identifier: Apache-2.0
// One page of keys and values against a tile of up to four query rows, which share every load of the page.
#pragma once

#include <stdint.h>

#include "kernels/neon.h"
#include "memory/kv_ring.h"
#include "schema/image.h"

#define ATTENTION_ROWS     4
#define ATTENTION_NO_SCORE (-1e30f) // below any score, and finite: differences stay numbers

struct attention_tile {
    int8_t query[2][ATTENTION_ROWS][2 * ROPE_PAIRS_MAX]; // [1]: rotated for the sinks
    float out[ATTENTION_ROWS][2 * ROPE_PAIRS_MAX];
    float scale[2][ATTENTION_ROWS]; // of the queries, softmax factor included
    float top[ATTENTION_ROWS];      // m
    float sum[ATTENTION_ROWS];      // l
    uint32_t from[ATTENTION_ROWS];  // slots of the page that each row sees: [from, to)
    uint32_t to[ATTENTION_ROWS];
    unsigned head_dim;
    unsigned rows;
} __attribute__((aligned(16)));

/// Folds one page into the tile's rows, with tile->query[which]. Rows that see nothing of it stay untouched.
void attention_page(struct attention_tile *tile, unsigned which, uint8_t *page);
