// SPDX-License-Identifier: Apache-2.0
// Matrix products for long prompts: weights requantized to int8 with one scale per column over all of K
// (requantize.h), activations int8 with an integer scale per block of K. For every row m and column n
//
//   sum[m][n] = sum over blocks b of  a[m][b] * dot over the block of  qa[m][k] * qw[n][k]      int64, exact
//   y[m][n]   = (float)(double)sum * (E[n] * SA[m])
//
// With D[b] the dot product of everything up to block b, the same sum is that of D[b] * (a[b] - a[b + 1]),
// where a beyond the last block is 0. So the kernel never clears its int32 accumulators, and what is stored
// are those steps. D fits int32 up to k = 131072.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/activations.h"
#include "kernels/requantize.h"

#define TILE_ROWS 8

/// k that share a scale of activations. Blocks cost speed, 8 cycles each in a tile of 8 rows by 4 columns,
/// and buy accuracy; short rows, whose inputs are normalized, need less of it (docs/numerics.md).
static inline unsigned int8_block(unsigned k) {
    return k < 1024 ? 128 : 96;
}

/// Quantized rows in tiles of 8, blocks of `block` values (a multiple of 32; the last block of a row may be
/// shorter).
struct int8_activations {
    int8_t *values;    // [rows / 8][k / 4][8 rows][4 k], in -127..127
    int32_t *steps;    // [rows / 8][blocks][8 rows]: this block's scale less the next one's
    float *row_scales; // [rows]: SA
    unsigned k, block; // k is a multiple of 32
};

static inline unsigned int8_blocks(unsigned k, unsigned block) {
    return (k + block - 1) / block;
}

/// The same activations from row `row` on, a multiple of 8.
static inline struct int8_activations int8_activations_from(const struct int8_activations *a, unsigned row) {
    return (struct int8_activations){a->values + (size_t)row * a->k,
                                     a->steps + (size_t)row * int8_blocks(a->k, a->block),
                                     a->row_scales + row, a->k, a->block};
}

/// Where the tiles have a value, and a block's step.
static inline size_t tile_value(const struct int8_activations *a, unsigned row, unsigned k) {
    return (size_t)(row / TILE_ROWS * a->k + k / 4 * 4) * TILE_ROWS + row % TILE_ROWS * 4 + k % 4;
}
static inline size_t tile_step(const struct int8_activations *a, unsigned row, unsigned block) {
    return ((size_t)row / TILE_ROWS * int8_blocks(a->k, a->block) + block) * TILE_ROWS + row % TILE_ROWS;
}

/// Rows of floats: columns 16 i .. 16 i + 15 of row r are at x + i * panel + r * row. Where rows are whole,
/// panel is 16.
struct float_rows {
    float *x;
    size_t row, panel;
};

static inline struct float_rows whole_rows(float *x, unsigned k) {
    return (struct float_rows){x, k, PANEL_COLUMNS};
}

/// Quantizes `rows` rows of `k` values, each value first multiplied by its channel's smoothing[k].
///   row scale   s = max|x| / (127 * 65535)
///   block scale a = clamp(ceil(max|x in block| / (127 * s)), 1, 65535)
///   values      round_half_even(x * (1 / (s * a))), which is within -127..127
/// k is a multiple of 32; out->k may be larger: the rest is zero, as are rows up to the next multiple of 8. A
/// row with an infinity or a NaN gets a NaN scale and zero values.
void quantize_tiles(const struct float_rows *from, unsigned rows, unsigned k, const float *smoothing,
                    const struct int8_activations *out);

/// Rows [from, to) times one panel (panel->k = a->k). y: rows of 16, `stride` floats apart, the first one row
/// `from`.
void gemm_int8_panel(const struct int8_panel *panel, const struct int8_activations *a, unsigned from,
                     unsigned to, float *y, size_t stride);
