// SPDX-License-Identifier: Apache-2.0
// A packed panel as int8 with one scale per column over all of K, for the int8 route: every group's own scale
// and the smoothing of the channels are multiplied in once per panel, and GEMM has none left inside K.
//
// For column n and channel k of group g, with di, mi and the code q of the weight (docs/weight-image.md):
//
//   without minimum   w = sat8(rdm(q * s[k], rdm(8 * di, c[n])))
//   with minimum      w = sat8(rdm(q * A + B, u * s[k]))
//                     A = satu8(rdm(di, c[n])), B = rdm(sat16(mi + 8 * di), c[n]) - 8 * A
//   rdm(a, b) = (a * b + 2^14) >> 15, one instruction
//
// Integers only, so the vector form, the scalar reference and the console's numpy twin agree to the bit. s, u
// and c are chosen when the image is packed, such that nothing but w itself ever saturates. Then
// w[n][k] * E[n] ~ the stored weight * s[k] / 128.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/pack.h"

/// Columns that lie together in an int8 panel: one side of the 8 x 8 tile.
#define INT8_COLUMNS 8

/// Buffers for one panel of padded K, cache-line aligned.
struct int8_panel {
    int8_t *weights;              // [2 halves of 8 columns][k / 4][8 columns][4 k]
    float columns[PANEL_COLUMNS]; // E
    unsigned k;
};

/// The int8 route's share of a matrix: parts of the image (docs/weight-image.md), made when it is packed.
struct requantization {
    const float *reciprocals;   // [k] 128 / s: what the input's channels are multiplied with; 0 for padding
    const int16_t *products;    // [k] u * s
    const int8_t *smoothing;    // [k] s in 1..127; 0 for padding
    const float *columns;       // [rows] E
    const int16_t *multipliers; // [rows] c, at least 1; NULL: there is no int8 form of this matrix
};

/// Bytes of the buffer of a panel of padded k inputs.
static inline size_t int8_panel_bytes(unsigned k) {
    return (size_t)PANEL_COLUMNS * k;
}

/// Requantizes panel number `index` of a matrix, which is at `packs` (k inputs, padded; for the K formats a
/// multiple of 256), and sets panel->k and ->columns.
void requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned index, unsigned k,
                      const struct requantization *by, struct int8_panel *panel);
