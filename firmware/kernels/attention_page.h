// SPDX-License-Identifier: Apache-2.0
// One page of keys and values against a tile of up to four query rows, which share every load of the page.
#pragma once

#include <stdint.h>

#include "kernels/neon.h"
#include "memory/kv_ring.h"
#include "schema/image.h"

#define ATTENTION_ROWS     4
#define BLOCK_KEYS         16       // four key quads: what a 16-byte vector of probabilities covers
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

// What one page means to each row, between the three steps.
struct page_state {
    float scores[ATTENTION_ROWS][KV_PAGE_TOKENS];            // first the bits of dots + ROUND_MAGIC_BITS
    int8_t probabilities[2][ATTENTION_ROWS][KV_PAGE_TOKENS]; // upper and lower 7 bits
    float alpha[ATTENTION_ROWS];
    float unit[ATTENTION_ROWS]; // top / PROBABILITY_MAX
} __attribute__((aligned(16)));

/// Steps s to u of attention.h for row `r`, which sees all keys of the page.
void softmax_full_page(struct attention_tile *tile, unsigned which, unsigned r, const float *key_scales,
                       const float *value_scales, struct page_state *state);

/// The same for a row that sees some keys; `keys`, a multiple of BLOCK_KEYS, covers those of all rows.
void softmax_part_of_page(struct attention_tile *tile, unsigned which, unsigned r, const float *key_scales,
                          const float *value_scales, unsigned keys, struct page_state *state);
