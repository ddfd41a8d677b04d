// SPDX-License-Identifier: Apache-2.0
// Attention whose product with the values is somebody else's (engine/offload_attention.h): scores, softmax
// and probabilities of some rows of a KV head, and what is made of the sums afterwards. The same bits as
// attention().
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/npu.h"

#define STAGE_KEYS NPU_BLOCK_KEYS // of a block; ATTENTION_BLOCK

/// Rows `first` up to first + rows of a KV head: row r is token r / group, head r % group of the group.
struct attention_stage {
    int8_t *values;      // [rows][blocks][256 upper; or, by 16 keys, upper and lower halves]: probabilities
    float (*factors)[2]; // [rows][blocks]: what the sum so far and the block's sum are multiplied by
    unsigned kv_head, first, rows;
    unsigned blocks;
    bool sinks;           // block 0 is that of the sinks
    uint32_t start;       // position of the first other block
    uint32_t oldest, end; // positions that some row sees, without sinks: [oldest, end)
    bool int8;            // probabilities are upper halves alone
};

/// Bytes of a block of one row.
static inline size_t stage_block_bytes(bool int8) {
    return int8 ? STAGE_KEYS : 2 * STAGE_KEYS;
}

/// Keys of block `block` that are in the stage: the pages of what some row sees. [from, to), whole pages.
struct stage_keys {
    unsigned from, to;
};
struct stage_keys stage_keys(const struct attention_stage *stage, unsigned block);

/// Probabilities of groups [first, first + count) of a row, 16 keys each, into block `block` of row `row`;
/// its other keys in the stage become 0. All of it is on its way to memory, where it is after
/// cache_complete(). `halves` is not read where `count` is 0.
void stage_row(const struct attention_stage *stage, unsigned row, unsigned block, unsigned first,
               unsigned count, const int8_t (*halves)[2][16], const float factors[2]);

/// o of a row from its blocks' sums, [blocks][head_dim].
void stage_finish(const struct attention_stage *stage, unsigned row, const float *sums, unsigned head_dim,
                  float *to);
