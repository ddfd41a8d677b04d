// SPDX-License-Identifier: Apache-2.0
// The packed formats, one weight at a time, from their bit positions.
#include "kernels/pack.h"
#include "kernels/reference/reference.h"

static int32_t int16_at(const uint8_t *bytes, unsigned index) {
    return (int16_t)(bytes[2 * index] | bytes[2 * index + 1] << 8);
}

// round(product / 2^shift), halves up: an arithmetic shift, spelled for any sign.
static int32_t rounded_shift(int32_t product, unsigned shift) {
    int32_t biased = product + (1 << (shift - 1)), unit = 1 << shift;
    return biased >= 0 ? biased / unit : -((-biased + unit - 1) / unit);
}

// Low four bits of (column, k in the group): 16 bytes per 4 columns and 4 k; k 16..31 are the upper nibbles.
static int32_t nibble_at(const uint8_t *group, unsigned column, unsigned k) {
    unsigned byte = column / 4 * 64 + k % 16 / 4 * 16 + column % 4 * 4 + k % 4;
    return k < 16 ? group[byte] & 15 : group[byte] >> 4;
}

static int32_t fifth_bit_at(const uint8_t *group, unsigned column, unsigned k) {
    const uint8_t *bits = group + NIBBLE_BYTES + column / 4 * 16;
    return bits[column % 4 * 4 + k % 4] >> (k / 4) & 1;
}

static int32_t top_two_bits_at(const uint8_t *group, unsigned column, unsigned k) {
    const uint8_t *bits = group + NIBBLE_BYTES + column / 4 * 32 + k / 16 * 16;
    return bits[column % 4 * 4 + k % 4] >> (k % 16 / 4 * 2) & 3;
}

static struct stored_weight legacy_weight(const uint8_t *panel, unsigned column, unsigned k,
                                          unsigned group_bytes, int five_bits, int minimum, int32_t offset) {
    const uint8_t *pack = panel + k / 64 * (2 * group_bytes + (minimum ? 4 : 2) * COLUMN_INT16);
    unsigned g = k % 64 / 32;
    const uint8_t *group = pack + g * group_bytes;
    const uint8_t *scales = pack + 2 * group_bytes + g * (minimum ? 2 : 1) * COLUMN_INT16;
    int32_t q = nibble_at(group, column, k % 32);
    if (five_bits)
        q += 16 * fifth_bit_at(group, column, k % 32);
    return (struct stored_weight){q - offset, int16_at(scales, column),
                                  minimum ? int16_at(scales + COLUMN_INT16, column) : 0};
}

static struct stored_weight q8_0_weight(const uint8_t *panel, unsigned column, unsigned k) {
    const uint8_t *pack = panel + k / 64 * (2 * BYTE_GROUP + 2 * COLUMN_INT16);
    unsigned g = k % 64 / 32;
    unsigned byte = column / 4 * 128 + k % 32 / 4 * 16 + column % 4 * 4 + k % 4;
    return (struct stored_weight){(int8_t)pack[g * BYTE_GROUP + byte],
                                  int16_at(pack + 2 * BYTE_GROUP + g * COLUMN_INT16, column), 0};
}

static struct stored_weight k_weight(const uint8_t *panel, unsigned column, unsigned k, int five_bits) {
    unsigned group_bytes = NIBBLE_BYTES + (five_bits ? HIGH_BIT_BYTES : 0);
    const uint8_t *pack = panel + k / K_PACK * (K_HEADER_BYTES + K_PACK_GROUPS * group_bytes);
    unsigned g = k % K_PACK / 32;
    const uint8_t *low = pack + 64 + g * 16, *high = pack + 64 + 128 + g / 2 * 16;
    unsigned high_bits = high[column] >> (g % 2 * 4);
    int32_t scale = (low[column] & 15) + (int32_t)(high_bits & 3) * 16;
    int32_t minimum = (low[column] >> 4) + (int32_t)(high_bits >> 2 & 3) * 16;
    const uint8_t *group = pack + K_HEADER_BYTES + g * group_bytes;
    int32_t q = nibble_at(group, column, k % 32);
    if (five_bits)
        q += 16 * fifth_bit_at(group, column, k % 32);
    return (struct stored_weight){q, rounded_shift(scale * int16_at(pack, column), 6),
                                  -rounded_shift(minimum * int16_at(pack + COLUMN_INT16, column), 6)};
}

static struct stored_weight q6_k_weight(const uint8_t *panel, unsigned column, unsigned k) {
    const uint8_t *pack = panel + k / K_PACK * (Q6_K_HEADER + K_PACK_GROUPS * SIX_BIT_BYTES);
    const uint8_t *group = pack + Q6_K_HEADER + k % K_PACK / 32 * SIX_BIT_BYTES;
    int32_t scale = (int8_t)pack[COLUMN_INT16 + k % K_PACK / 16 * PANEL_COLUMNS + column];
    int32_t q = nibble_at(group, column, k % 32) + 16 * top_two_bits_at(group, column, k % 32);
    return (struct stored_weight){q - 32, rounded_shift(scale * int16_at(pack, column), 7), 0};
}

struct stored_weight reference_weight(enum tensor_format format, const uint8_t *panel, unsigned column,
                                      unsigned k) {
    switch (format) {
    case TENSOR_FORMAT_Q4_0:
        return legacy_weight(panel, column, k, 256, 0, 0, 8);
    case TENSOR_FORMAT_Q4_1:
        return legacy_weight(panel, column, k, 256, 0, 1, 0);
    case TENSOR_FORMAT_Q5_0:
        return legacy_weight(panel, column, k, 320, 1, 0, 16);
    case TENSOR_FORMAT_Q5_1:
        return legacy_weight(panel, column, k, 320, 1, 1, 0);
    case TENSOR_FORMAT_Q8_0:
        return q8_0_weight(panel, column, k);
    case TENSOR_FORMAT_Q4_K:
        return k_weight(panel, column, k, 0);
    case TENSOR_FORMAT_Q5_K:
        return k_weight(panel, column, k, 1);
    case TENSOR_FORMAT_Q6_K:
        return q6_k_weight(panel, column, k);
    case TENSOR_FORMAT_F32:
    case TENSOR_FORMAT_SMOOTHING:
        break;
    }
    return (struct stored_weight){0, 0, 0};
}

float reference_column_scale(enum tensor_format format, const uint8_t *panel, unsigned column, unsigned k) {
    const float *columns = (const float *)(panel + panel_scales_offset(format, k));
    return columns[column];
}
