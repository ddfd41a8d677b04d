// SPDX-License-Identifier: Apache-2.0
// A core's rows on their way to the NPU and back. The NPU sees memory: what goes there is cleaned, and what
// comes from there invalidated. Both run beside other work where they can.
#pragma once

#include "engine/offload_job.h"

/// Half `half` of the batch.
struct interval offload_half(const struct pass *p, unsigned half);

/// This core's rows of it: where there are enough, no core writes into a line of another's.
struct interval offload_mine(const struct pass *p, unsigned half);

/// The next rows of `mine` from `row` on, so few that they stay in the L1 cache.
static inline struct interval offload_some(struct interval mine, unsigned row) {
    return (struct interval){row, mine.to - row < OFFLOAD_ROWS ? mine.to : row + OFFLOAD_ROWS};
}

/// Quantizes rows, the first of them at `floats` and at most TILE_ROWS, as the half's input of `products`,
/// and sends them to memory, where they are after cache_complete().
void offload_give(const struct pass *p, unsigned half, const struct products *products, const float *floats,
                  struct interval rows);

/// Rows of an output, once their products are complete.
struct offload_taking {
    const struct offload_output *output;
    bool halves;
};

/// Forgets what caches hold of rows `mine`, and asks for the first ones.
void offload_take(const struct offload_taking *taking, struct interval mine);

/// Forgets columns [from, to) of a row, as of the next cache_complete().
void offload_forget(const struct offload_taking *taking, unsigned row, unsigned from, unsigned to);

/// Where column `column` of a row is.
const void *offload_at(const struct offload_taking *taking, unsigned row, unsigned column);

/// Columns [from, from + count) of some of these rows as floats, from `to` on, `stride` apart; made so from
/// halves.
void offload_columns(const struct offload_taking *taking, struct interval rows, unsigned from, unsigned count,
                     float *to, size_t stride);

/// Asks for the rows of `mine` behind `rows`, while something else is done.
void offload_ahead(const struct offload_taking *taking, struct interval mine, struct interval rows);
