// SPDX-License-Identifier: Apache-2.0
// One block of keys and values against a tile of query rows, which share every load of the block.
#pragma once

#include <arm_neon.h>
#include <stdint.h>

#include "memory/kv_ring.h"
#include "schema/image.h"
#include "schema/wire.h"

#define ATTENTION_ROWS 8  // of a tile
#define KERNEL_ROWS    4  // of a tile that the assembly takes at once
#define GROUP_KEYS     16 // four key quads: what a 16-byte vector of probabilities covers
#define BLOCK_GROUPS   16 // ATTENTION_BLOCK keys

/// 16 keys of a page. Their values lie 32 * head_dim bytes after them, their value scales KV_PAGE_TOKENS
/// floats after their key scales.
struct key_group {
    const int8_t *keys;
    const float *scales;
};

/// Rows of one KV head. Rows are ordered by position, so that what they see starts and ends in that order,
/// too. Lanes behind ATTENTION_ROWS are padding for loads of four.
struct attention_tile {
    int8_t query[2][2 * ATTENTION_ROWS]
                [2 * ROPE_PAIRS_MAX];              // [1]: rotated for the sinks; int16: two for a row
    float out[ATTENTION_ROWS][2 * ROPE_PAIRS_MAX]; // o, where more blocks follow
    float *result[ATTENTION_ROWS];                 // where the last block's o / l goes
    float scale[2][ATTENTION_ROWS + KERNEL_ROWS];  // of the queries, softmax factor included
    uint32_t top[ATTENTION_ROWS + KERNEL_ROWS];    // m, as the bits of a score; 0: nothing seen yet
    float sum[ATTENTION_ROWS + KERNEL_ROWS];       // l
    unsigned from[ATTENTION_ROWS];                 // keys of the block that each row sees: [from, to)
    unsigned to[ATTENTION_ROWS];
    uint32_t last[ATTENTION_ROWS + KERNEL_ROWS]; // all ones where the block is the row's last one
    unsigned head_dim;
    unsigned rows;
    enum attention_form form;
    // Where probabilities go instead of being multiplied by the values: its row of the tile's first one, and
    // which block comes next.
    const struct attention_stage *stage;
    unsigned stage_row, stage_block;
} __attribute__((aligned(64)));

/// Folds a block into the tile's rows, with tile->query[which]. `groups` are those of the block, of which
/// only the seen ones are read. Rows that see nothing of it stay untouched.
void attention_block(struct attention_tile *tile, unsigned which, const struct key_group *groups);

// The assembly. One function for each number of rows, so that none is computed for nothing.

/// attention_scores.S: scores of `count` groups. scores[r][16 * g + j] are bits of t, tops[r] the largest of
/// each lane so far. `visible` (masked form only): [count][4 rows], bit j for key j; t is 0 where it is
/// clear.
typedef void attention_scores(const struct key_group *groups, uint64_t count,
                              const int8_t queries[][2 * ROPE_PAIRS_MAX], uint64_t head_dim,
                              const float *query_scales, uint32_t scores[][BLOCK_GROUPS * GROUP_KEYS],
                              int32x4_t *tops, const uint32_t (*visible)[KERNEL_ROWS]);
extern attention_scores attention_scores_1, attention_scores_2, attention_scores_3, attention_scores_4,
    attention_scores_masked_1, attention_scores_masked_2, attention_scores_masked_3,
    attention_scores_masked_4;
/// The same for queries of 16 bits: row r takes queries[2 * r] and [2 * r + 1], [head_dim / 16][upper,
/// lower][16].
extern attention_scores attention_scores16_1, attention_scores16_2, attention_scores16_3,
    attention_scores16_4, attention_masked16_1, attention_masked16_2, attention_masked16_3,
    attention_masked16_4;

/// In four lanes, key j in lane j mod 4: the sum of p, and the largest p * value scale (by its bits: not
/// negative).
struct row_weights {
    float32x4_t sum;
    int32x4_t largest;
};

/// attention_softmax.S: t[8 * eights] of one row to p * value scale, in place.
void attention_exponents(const struct key_group *groups, uint64_t eights, uint32_t *scores, uint32_t floor,
                         struct row_weights *weights);

/// attention_softmax.S: u of 16 * count keys of one row, or of as many elements of a query, in two int8
/// halves: u = 256 * [g][0][j] + [g][1][j].
void attention_probabilities(const uint32_t *weights, uint64_t count, int8_t (*halves)[2][GROUP_KEYS],
                             float factor);

/// Where o of a row comes from and goes to.
struct out_row {
    const float *from;
    float *to;
};

/// attention_values.S, for 4 * quads keys: to[i] = from[i] * factors[0][r] + (sum of u * v) * factors[1][r]
/// of each row r.
typedef void attention_values(const struct key_group *groups, uint64_t quads,
                              const int8_t halves[][BLOCK_GROUPS][2][GROUP_KEYS], uint64_t head_dim,
                              const float32x4_t factors[2], const struct out_row *rows);
extern attention_values attention_values_1, attention_values_2, attention_values_3, attention_values_4;
/// The same with upper halves alone: (sum of upper * v) * factors[1][r].
extern attention_values attention_values_int8_1, attention_values_int8_2, attention_values_int8_3,
    attention_values_int8_4;
