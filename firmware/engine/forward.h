// SPDX-License-Identifier: Apache-2.0
// The forward pass: batches of tokens through all layers into the KV ring, and logits of the rows that are
// wanted.
//
// Results do not depend on how tokens are cut into batches: every kernel treats rows independently, matrix
// sums are exact integers, and attention walks the ring by position. Nor do they depend on the number of
// cores: what is divided are rows, columns and heads, never a sum of floats.
//
// Memory, all from the pools, every buffer rounded up to 64 bytes. B is the largest batch, h hidden, f ffn,
// d head_dim, q heads * d, c kv_heads * d, N the board's cores, and K the largest of h, q and f rounded up to
// a multiple of 64:
//   ACTIVATION_POOL
//     B * h * 4          residual stream
//     N x 8 * h * 4      rows that a core normalizes at a time
//     B * q * 4          queries, later what attention has made of them
//     2 x B * c * 4      keys; values
//     (B + 1) * f * 4    gate
//     3 * max(f, h) * 4  output of attn_output, up or ffn_down for few rows
//     N x B * 64         columns of a panel that a core multiplies, on their way to the rows above
//     C * K              quantized rows: int8 values; C is B rounded up to a multiple of 8
//     C * K / 4          their group scales and sums; as tiles their block scales
//     C * K / 8          their half sums
//     C * 4              their row scales
//     C * F              gate times up as int8 tiles, F = f rounded up to a multiple of 64
//     C * F / 8          their block scales
//     C * 4              their row scales
//     (B + 1) * d * 2    rotations of the batch's positions and of the sinks' query
//     N x 16 * K         panel that a core is multiplying: int8 weights
//     N x 4 * K          its scales
//     N x 64             its column factors
//     4 * V              logits, V = vocabulary rounded up to a multiple of 16
//     V' / 8             a bit per token for sampling, V' = vocabulary rounded up to a multiple of 32
//   NPU_POOL, where there is an NPU and they fit. H is B * 9 / 16 + 8 * N, no more than B, rounded up to a
//   multiple of 8
//     2 x H * K, H * K / 4, H * K / 8, H * 4   quantized rows of each half, as above
//     B * (q + 2 * c) * 4, B * 2 * f * 4, B * h * 4
//                        outputs: queries, keys and values; gate and up; attn_output or ffn_down
//     4 x R * A * 512, R * A * 8, R * A * d * 4, A * 64, R = 8 * N * heads / kv_heads, A = context / 256 + 4
//                        attention's pieces: probabilities, factors, sums, addresses of pages
//   KV_CACHE_POOL: P = 1 + (context - 4 + B + 62) / 32 pages (integer division)
//     layers * kv_heads * P * (64 * d + 256)
//     P * 128            token ids
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board_config.h"
#include "engine/model.h"
#include "kernels/activations.h"
#include "kernels/dequant.h"
#include "kernels/int8_linear.h"
#include "memory/kv_ring.h"
#include "schema/npu.h"

// Up to this many rows panels are read by gemv_panels, row after row; beyond, each is dequantized once.
// Where the two cost the same; results are the same anyway.
#define GEMV_ROWS 3

// Rows that are normalized and quantized at a time: a tile of the int8 route.
#define NORM_ROWS TILE_ROWS

enum outputs { OUTPUTS_NONE, OUTPUTS_LAST, OUTPUTS_ALL };

#define OFFLOAD_HALVES 2
/// Of `rows` rows the first half, before it is rounded to a tile for each core.
#define OFFLOAD_FIRST_ROWS(rows) ((rows)*9 / 16)
// At a time: more fill the L1 cache, and stop the core when they are asked for together.
#define OFFLOAD_ROWS 2

// Jobs of the NPU that a half of the batch waits for.
struct offload_job {
    uint32_t sequence;
    enum kernel kernel;
    unsigned layer;
    uint64_t macs;
};
struct offload_pending {
    struct offload_job jobs[3]; // in the order in which they run
    unsigned count;
    bool any; // products at all, be it on the cores
};

// Rows that a stage's products have in the NPU's memory: one product's columns beside the other's.
struct offload_output {
    uint8_t *rows; // [batch_max][width], of floats or of fp16
    unsigned width;
};

// Attention's pieces, engine/offload_attention.h.
#define OFFLOAD_PIECES       4 // under way at once
#define OFFLOAD_PIECE_TOKENS (8 * BOARD_CORES)
/// Blocks of keys that a piece meets at most: of the window, which may begin within one, and the sinks'.
#define OFFLOAD_BLOCKS(context) ((context) / NPU_BLOCK_KEYS + 4)

struct offload_piece {
    int8_t *values;      // [rows][blocks][512]: probabilities; a row is a token and a head of a group
    float (*factors)[2]; // [rows][blocks]
    float *sums;         // [rows][blocks][head_dim]
    uint64_t *pages;     // [blocks][8]
    struct offload_job job;
};

// What the NPU reads and writes, all in its own memory; and what it is doing.
struct offload_buffers {
    struct activations input[OFFLOAD_HALVES];          // quantized rows of each half
    struct offload_output projected, gate_up, product; // queries, keys, values; gate, up; the others'
    struct offload_pending pending[OFFLOAD_HALVES];    // core 0 writes it between two barriers
    struct offload_piece piece[OFFLOAD_PIECES];        // so it does their jobs
    unsigned layer;                                    // the last one of this batch
    bool failed;                                       // a job of this batch
    bool halves;                                       // outputs are fp16, where the NPU makes all of them
};

struct forward {
    const struct model *model;
    struct kv_ring ring;
    unsigned batch_max;
    unsigned cores; // that take part
    unsigned rows;  // of the last batch
    bool int8;      // the next batch takes the int8 route: kernels/int8_linear.h
    enum attention_form attention;
    float *residual, *query, *key, *value, *gate;
    float *normed;  // [cores][NORM_ROWS][hidden]
    float *few;     // [GEMV_ROWS][hidden or ffn]
    float *columns; // [cores][batch_max][16]
    struct activations quantized;
    struct int8_activations tiles;     // in the same memory
    struct int8_activations activated; // gate times up: made while `tiles` are still read
    bool offload;                      // the next batch's matrix products go to the NPU: engine/offload.h
    bool offload_values;               // its probabilities do: engine/offload_attention.h
    bool offloaded;                    // one has been since this was set to false
    bool npu_ready;                    // its memory holds the buffers
    size_t npu_bytes;                  // that they take
    struct offload_buffers npu;
    float *rope;      // [batch_max][head_dim]
    float *sink_rope; // [head_dim]
    struct panel panels[BOARD_CORES];
    struct int8_panel int8_panels[BOARD_CORES];
    float *logits;      // [vocabulary, padded to 16]
    uint32_t *repeated; // a bit per token, for sample(); all zero between its calls
};

/// Takes memory for `model` from the pools and forgets all tokens. False, with a log line, when it does not
/// fit.
bool forward_init(struct forward *forward, const struct model *model, unsigned context, unsigned batch_max);

/// Called before each layer, while only core 0 works; returning false stops the batch.
typedef bool between_layers(void *context, unsigned layer, unsigned count);

/// Appends `count` tokens (at most batch_max, ids below the vocabulary) to the ring and runs them through all
/// layers. `outputs` says which rows forward_logits() will be asked for; the last layer then skips what no
/// one needs. False when `go_on` stopped it: the tokens are then taken back.
bool forward_batch(struct forward *forward, const uint32_t *tokens, unsigned count, enum outputs outputs,
                   between_layers *go_on, void *context);

/// Logits of row `row` of the last batch, in forward->logits until the next call: final norm and head.
const float *forward_logits(struct forward *forward, unsigned row);
