// SPDX-License-Identifier: Apache-2.0
// Geometry of the weight packs (docs/weight-image.md). A panel is PANEL_COLUMNS output columns over all of K:
// packs in ascending k, then one f32 scale D per column, rounded up to a cache line. A weight is D * (scale *
// q + minimum).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "schema/image.h"

// Nibbles of a group: 16 columns x 32 k; its high bits in a 5-bit format; a group of bytes.
#define NIBBLE_BYTES   256
#define HIGH_BIT_BYTES 64
#define BYTE_GROUP     512
#define SIX_BIT_BYTES  384 // nibbles and two high bits
#define K_PACK         256 // k per pack of the K formats
#define K_PACK_GROUPS  8
#define Q6_K_SUBBLOCKS 16
#define COLUMN_INT16   32  // bytes of one int16 per column
#define K_HEADER_BYTES 256 // of a q4_k or q5_k pack: scale and minimum factors, then 6-bit scales and minima
#define Q6_K_HEADER    288 // scale factors, then an int8 scale per 16 k and column

struct pack_geometry {
    uint16_t k; // weights along K; 0 for formats that are not packed
    uint16_t bytes;
};

/// Geometry of `format`; {0, 0} for f32 and for unknown formats.
struct pack_geometry pack_geometry(enum tensor_format format);

/// Bytes from the start of a panel to its column scales, for `k` inputs.
size_t panel_scales_offset(enum tensor_format format, unsigned k);

/// Bytes of a whole panel.
size_t panel_bytes(enum tensor_format format, unsigned k);

/// Bytes of a matrix of `rows` outputs and `k` inputs.
size_t matrix_bytes(enum tensor_format format, unsigned rows, unsigned k);
