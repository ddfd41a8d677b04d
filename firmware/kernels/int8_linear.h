// SPDX-License-Identifier: Apache-2.0
// Matrix products for long prompts: weights requantized to int8 with one scale per column over all of K
// (requantize.h), activations int8 with a scale per block of K, an integer that stands for its share of the
// row's: a / 2^31. For every row m and column n, with D[b] the dot product of everything up to block b,
//
//   sum[m][n] = sum over blocks b of  round(D[b] * (a[m][b] - a[m][b + 1]) / 2^31)          a beyond the
//   last: 0 y[m][n]   = (float)sum * (E[n] * SA[m])
//
// which is the sum of the blocks' dot products times their scales, each rounded to units of the largest
// scale, half up. The kernel never clears its accumulators within K: steps a[b] - a[b + 1] are what is
// stored. Everything fits int32 up to k = 65536.
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
    int32_t *steps;    // [rows / 8][blocks][8 rows]: this block's scale less the next one's, in 2^-31
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
///   row scale   max|x| / 127
///   block scale trunc(max|x in block| / max|x| * 2^31), at most 2^31 - 1
///   values      round_half_even(x * (127 / max|x in block|)), which is within -127..127: the product is
///   exact
/// Values depend on their block alone. k is a multiple of 32; out->k may be larger: the rest is zero, as are
/// rows up to the next multiple of 8. An infinity or a NaN gives its row a NaN scale and its block zero
/// values.
void quantize_tiles(const struct float_rows *from, unsigned rows, unsigned k, const float *smoothing,
                    const struct int8_activations *out);

/// Its two halves. Columns [first, first + k), of which from->x begins with the first: whole blocks, or up to
/// the last column. Leaves each block's maximum where its step will be.
void quantize_blocks(const struct float_rows *from, unsigned rows, unsigned first, unsigned k,
                     const float *smoothing, const struct int8_activations *out);

/// Once all `k` columns have been through it: row scales, steps, and zeros up to out->k.
void finish_tiles(unsigned rows, unsigned k, const struct int8_activations *out);

/// Rows [from, to) times one panel (panel->k = a->k). y: rows of 16, `stride` floats apart, the first one row
/// `from`.
void gemm_int8_panel(const struct int8_panel *panel, const struct int8_activations *a, unsigned from,
                     unsigned to, float *y, size_t stride);
