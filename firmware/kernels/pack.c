// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack.h"

// Two groups and their scales make a pack of the legacy formats.
#define LEGACY(group_bytes, scale_arrays)                                                                    \
    { 64, 2 * (group_bytes) + 2 * (scale_arrays)*COLUMN_INT16 }

static const struct pack_geometry geometries[TENSOR_FORMAT_COUNT] = {
    [TENSOR_FORMAT_Q4_0] = LEGACY(NIBBLE_BYTES, 1),
    [TENSOR_FORMAT_Q4_1] = LEGACY(NIBBLE_BYTES, 2),
    [TENSOR_FORMAT_Q5_0] = LEGACY(NIBBLE_BYTES + HIGH_BIT_BYTES, 1),
    [TENSOR_FORMAT_Q5_1] = LEGACY(NIBBLE_BYTES + HIGH_BIT_BYTES, 2),
    [TENSOR_FORMAT_Q8_0] = LEGACY(BYTE_GROUP, 1),
    [TENSOR_FORMAT_Q4_K] = {K_PACK, K_HEADER_BYTES + K_PACK_GROUPS *NIBBLE_BYTES},
    [TENSOR_FORMAT_Q5_K] = {K_PACK, K_HEADER_BYTES + K_PACK_GROUPS *(NIBBLE_BYTES + HIGH_BIT_BYTES)},
    [TENSOR_FORMAT_Q6_K] = {K_PACK, Q6_K_HEADER + K_PACK_GROUPS *SIX_BIT_BYTES},
};

struct pack_geometry pack_geometry(enum tensor_format format) {
    return (unsigned)format < TENSOR_FORMAT_COUNT ? geometries[format] : (struct pack_geometry){0, 0};
}

size_t panel_scales_offset(enum tensor_format format, unsigned k) {
    struct pack_geometry pack = pack_geometry(format);
    return pack.k ? (size_t)(k + pack.k - 1) / pack.k * pack.bytes : 0;
}

size_t panel_bytes(enum tensor_format format, unsigned k) {
    size_t bytes = panel_scales_offset(format, k) + PANEL_COLUMNS * sizeof(float);
    return (bytes + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
}

size_t matrix_bytes(enum tensor_format format, unsigned rows, unsigned k) {
    size_t panels = (rows + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    return panels * panel_bytes(format, k);
}
