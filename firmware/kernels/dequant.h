// SPDX-License-Identifier: Apache-2.0
// A packed panel as plain int8 with expanded scales, for GEMM: unpacked once, used for every row of the
// batch.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/pack.h"

/// What the two scale vectors of a group mean: {scale, -}, {scale, minimum}, or scales of its two runs of 16
/// k.
enum panel_kind { PANEL_SCALE, PANEL_SCALE_MINIMUM, PANEL_TWO_SCALES };

/// Buffers for one panel of padded K, cache-line aligned.
struct panel {
    int8_t *weights; // [4 quads][k / 4][4 columns][4 k]
    int32_t *scales; // [4 quads][k / 32][2][4 columns]
    float *columns;  // [16]: D
    unsigned k;
    enum panel_kind kind;
};

/// Bytes of the buffers of a panel of padded k inputs, in the order of the struct.
static inline size_t panel_weights_bytes(unsigned k) {
    return (size_t)PANEL_COLUMNS * k;
}
static inline size_t panel_scales_bytes(unsigned k) {
    return (size_t)PANEL_COLUMNS * k / GROUP * 2 * sizeof(int32_t);
}

/// Unpacks the panel at `packs` (k inputs, padded; for the K formats a multiple of 256) and sets panel->k and
/// ->kind. Weights come out signed: the formats' offsets of 8, 16 and 32 are taken off.
void dequantize_panel(enum tensor_format format, const uint8_t *packs, unsigned k, struct panel *panel);
