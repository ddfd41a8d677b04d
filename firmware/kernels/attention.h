// SPDX-License-Identifier: Apache-2.0
// Fused attention over the KV ring: rotates and quantizes the queries, then block by block int8 QK, mask,
// online softmax to the base 2, and PV with probabilities of 15 bits in two int8 halves.
//
// Per query, blocks in ascending position order; a block is ATTENTION_BLOCK keys whose positions start at a
// multiple of it, of which the query sees some (fma: one rounding):
//   t[j]  = fma((float)dot[j] * key_scale[j], query_scale, SCORE_OFFSET)
//                                    query_scale = max|q| / 127 * (log2 e / sqrt(head_dim))
//   m'    = max(m, t), by bits       scores are steps of 2^-11 within +-2048: bits are their order
//   p[j]  = 2^(t[j] - m'), alpha = 2^(m - m')      exp2_steps() of the differences of bits, from m' - 127 on
//   l     = fma(l, alpha, sum(p))                  four lanes, j mod 4, combined as (0 + 1) + (2 + 3)
//   pv[j] = p[j] * value_scale[j], top = max(pv), u[j] = round(pv[j] * (PROBABILITY_MAX / top))
//   o[i]  = fma((float)(sum over j of u[j] * v[j][i]), top / PROBABILITY_MAX, o[i] * alpha)
//                                                  the sum is an exact integer
// In the last block, alpha and unit are multiplied by 1 / l, and o is the result. Once the context has
// overflowed, the sink keys are met first, with the query rotated as if it stood at position context - 1:
// they then lie right before the window, which is the same as re-rotating the keys.
//
// Two more forms are there to be measured (docs/attention.md). INT8_PV: u has 8 bits, (u[j] + 128) >> 8, and
// unit is 256 times as large: half of PV's work. INT16: queries have 16 bits, max|q| / PROBABILITY_MAX apart,
// and dot is an int32 that is rounded to a float: twice the work of QK.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/share.h"
#include "memory/kv_ring.h"
#include "schema/wire.h"

#define ATTENTION_BLOCK 256
#define SCORE_OFFSET    6144.0f  // 1.5 * 2^12: floats around it are 2^-11 apart
#define PROBABILITY_MAX 32639.0f // 127 * 256 + 127

struct attention_stage;

/// Queries of `rows` consecutive tokens, the first at absolute `position`; their keys and values are in the
/// ring.
struct attention {
    const float *queries;   // [rows][heads * head_dim], not rotated
    size_t stride;          // floats from row to row of queries and out
    const float *rope;      // [rows][head_dim]: rope_row of each token
    const float *sink_rope; // [head_dim]: rope_row of position context - 1
    float *out;             // [rows][heads * head_dim]; may be `queries`
    uint32_t position;
    unsigned rows;
    unsigned heads; // a multiple of the ring's kv_heads; consecutive heads share one
    enum attention_form form;
    const struct attention_stage *stage; // NULL: all of it; else these rows, until their probabilities
    bool alone;                          // all rows are the calling core's
};

#define ATTENTION_TILE   8 // rows of a KV head that share every load of its keys; ATTENTION_ROWS
#define ATTENTION_TOKENS 8 // whose heads a core has all, where there are enough

/// Whether cores get all heads of ATTENTION_TOKENS tokens, back and forth. What they go on with is then
/// theirs.
static inline bool attention_is_by_tokens(unsigned rows, struct share share) {
    return rows >= 2 * ATTENTION_TOKENS * share.parts;
}

/// Whether row `row` of a KV head is this share's with a stage: head row % group of token row / group.
static inline bool attention_has_row(const struct attention *job, unsigned group, unsigned row,
                                     struct share share) {
    return attention_is_by_tokens(job->rows, share)
               ? is_dealt_back_and_forth(share, row / group / ATTENTION_TOKENS)
               : is_dealt(share, row / ATTENTION_TILE);
}

/// The part of it that is `share`'s. Where it is not divided by tokens, cores get tiles of eight query rows
/// of a KV head in turn. Returns how many keys its rows have seen, summed over the rows of all heads.
/// With a stage, attention_has_row() says what is its.
uint64_t attention(const struct kv_ring *ring, unsigned layer, const struct attention *job,
                   struct share share);
