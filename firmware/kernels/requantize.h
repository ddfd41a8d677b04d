// SPDX-License-Identifier: Apache-2.0
// A packed panel as int8 with one scale per column over all of K, for the int8 route: every group's own scale
// and the smoothing of the channels are multiplied in once per panel, and GEMM has none left inside K.
//
// For column n and channel k of group g, with di, mi and the code q of the weight (docs/weight-image.md):
//
//   A = sat8(rdm(di, c[n]))
//   B = rdm(sat16(mi + 8 * di), c[n]) - 8 * A      0 in formats without a minimum
//   t = q * A + B                                  int16
//   w = sat8(rdm(t, smoothing[k]))
//   rdm(a, b) = (a * b + 2^14) >> 15
//
// Integers only, so the vector form, the scalar reference and the console's numpy twin agree to the bit.
// Then w[n][k] ~ the stored weight * smoothing[k] / (2^15 * E[n]) with E[n] = D[n] * (2^15 / c[n]).
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

/// What requantization needs besides the packs: from the image, made when it is packed.
struct requantization {
    const int16_t *smoothing;   // [k]: of the input's channels; 0 for padding
    const int16_t *multipliers; // [16]: c of the panel's columns, at least 1
};

/// Requantizes the panel at `packs` (k inputs, padded; for the K formats a multiple of 256) and sets
/// panel->k and ->columns.
void requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned k,
                      const struct requantization *by, struct int8_panel *panel);
