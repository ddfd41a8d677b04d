// SPDX-License-Identifier: Apache-2.0
// Fused attention over the KV ring: rotates and quantizes the queries, then page by page int8 QK, mask,
// online softmax to the base 2 in float32, and PV with probabilities of 14 bits in two int8 halves.
//
// Per query, pages in ascending position order; a page of 32 keys is one step:
//   s[j]  = (float)dot[j] * (query_scale * key_scale[j])      query_scale = max|q| / 127 * (log2 e /
//   sqrt(head_dim)) m'    = max(m, s), alpha = 2^(m - m'), p[j] = 2^(s[j] - m'), 0 where masked l     = l *
//   alpha + sum(p)                                four lanes, j mod 4, combined as (0 + 1) + (2 + 3) pv[j] =
//   p[j] * value_scale[j], top = max(pv), u[j] = round(pv[j] * (16383 / top)) o[i]  = o[i] * alpha + (top /
//   16383) * (float)(sum over j of u[j] * v[j][i])       the sum is an exact integer
// and out = o * (1 / l). Once the context has overflowed, the sink keys are met first, with the query rotated
// as if it stood at position context - 1: they then lie right before the window, which is the same as
// re-rotating the keys.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "arch/share.h"
#include "memory/kv_ring.h"

#define PROBABILITY_MAX 16383.0f

/// Queries of `rows` consecutive tokens, the first at absolute `position`; their keys and values are in the
/// ring.
struct attention {
    const float *queries;     // [rows][heads * head_dim], not rotated
    size_t stride;            // floats from row to row of queries and out
    const int16_t *rope;      // [rows][head_dim]: rope_row of each token
    const int16_t *sink_rope; // [head_dim]: rope_row of position context - 1
    float *out;               // [rows][heads * head_dim]
    uint32_t position;
    unsigned rows;
    unsigned heads; // a multiple of the ring's kv_heads; consecutive heads share one
};

/// The part of it that is `share`'s. Cores get tiles of four query rows of a KV head in turn.
/// Returns how many keys its rows have seen, summed over the rows of all heads.
uint64_t attention(const struct kv_ring *ring, unsigned layer, const struct attention *job,
                   struct share share);
