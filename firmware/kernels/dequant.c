// SPDX-License-Identifier: Apache-2.0
#include "kernels/dequant.h"

#include <stdbool.h>

#include "arch/string.h"
#include "kernels/unpack.h"

#define QUAD_GROUP_BYTES 128 // 4 columns x 32 k
#define SCALE_PAIR       8   // int32 per quad and group

ALWAYS_INLINE void store_quad(int8_t *to, const struct quad *q, uint8_t offset) {
    const uint8x16_t o = vdupq_n_u8(offset);
    uint8_t *bytes = (uint8_t *)to;
    UNROLL
    for (unsigned j = 0; j < 4; j++) {
        vst1q_u8(bytes + 16 * j, vsubq_u8(q->low[j], o));
        vst1q_u8(bytes + 64 + 16 * j, vsubq_u8(q->high[j], o));
    }
}

// Quads of group `group`; `high` bits and offset by format.
ALWAYS_INLINE void store_group(struct panel *panel, unsigned group, enum tensor_format format,
                               const uint8_t *w) {
    UNROLL
    for (unsigned c = 0; c < 4; c++) {
        int8_t *to = panel->weights + (size_t)c * 4 * panel->k + group * QUAD_GROUP_BYTES;
        const uint8_t *nibbles = w + c * (NIBBLE_BYTES / 4);
        const uint8_t *high_bits = w + NIBBLE_BYTES + c * (HIGH_BIT_BYTES / 4);
        struct quad q;
        switch (format) {
        case TENSOR_FORMAT_Q5_0:
            q = unpack_5bit(nibbles, high_bits);
            store_quad(to, &q, 16);
            break;
        case TENSOR_FORMAT_Q5_1:
        case TENSOR_FORMAT_Q5_K:
            q = unpack_5bit(nibbles, high_bits);
            store_quad(to, &q, 0);
            break;
        case TENSOR_FORMAT_Q6_K:
            q = unpack_6bit(nibbles, w + NIBBLE_BYTES + c * 32);
            store_quad(to, &q, 32);
            break;
        case TENSOR_FORMAT_Q8_0:
            q = load_bytes(w + c * (BYTE_GROUP / 4));
            store_quad(to, &q, 0);
            break;
        default:
            q = unpack_nibbles(nibbles);
            store_quad(to, &q, format == TENSOR_FORMAT_Q4_0 ? 8 : 0);
        }
    }
}

ALWAYS_INLINE void store_scales(struct panel *panel, unsigned group, unsigned which, const int32x4_t v[4]) {
    UNROLL
    for (unsigned c = 0; c < 4; c++) {
        size_t at = (size_t)c * (panel->k / GROUP) + group;
        vst1q_s32(panel->scales + at * SCALE_PAIR + which * 4, v[c]);
    }
}

ALWAYS_INLINE const uint8_t *dequantize_legacy(enum tensor_format format, unsigned group_bytes, bool minimum,
                                               const uint8_t *w, struct panel *panel) {
    for (unsigned group = 0; group < panel->k / GROUP; group += 2) {
        const uint8_t *scales = w + 2 * group_bytes;
        for (unsigned g = 0; g < 2; g++) {
            int32x4_t v[4];
            store_group(panel, group + g, format, w + g * group_bytes);
            widen_columns(scales, v);
            store_scales(panel, group + g, 0, v);
            scales += COLUMN_INT16;
            if (minimum) {
                widen_columns(scales, v);
                store_scales(panel, group + g, 1, v);
                scales += COLUMN_INT16;
            }
        }
        w = scales;
    }
    panel->kind = minimum ? PANEL_SCALE_MINIMUM : PANEL_SCALE;
    return w;
}

ALWAYS_INLINE const uint8_t *dequantize_k(enum tensor_format format, unsigned group_bytes,
                                          const uint8_t *pack, struct panel *panel) {
    for (unsigned group = 0; group < panel->k / GROUP; group++) {
        unsigned g = group % K_PACK_GROUPS;
        int32x4_t scale[4], minimum[4];
        unpack_k_scales(pack, g, scale, minimum);
        UNROLL
        for (unsigned c = 0; c < 4; c++)
            minimum[c] = vnegq_s32(minimum[c]);
        store_group(panel, group, format, pack + K_HEADER_BYTES + g * group_bytes);
        store_scales(panel, group, 0, scale);
        store_scales(panel, group, 1, minimum);
        if (g == K_PACK_GROUPS - 1)
            pack += K_HEADER_BYTES + K_PACK_GROUPS * group_bytes;
    }
    panel->kind = PANEL_SCALE_MINIMUM;
    return pack;
}

static const uint8_t *dequantize_q6_k(const uint8_t *pack, struct panel *panel) {
    for (unsigned group = 0; group < panel->k / GROUP; group++) {
        unsigned g = group % K_PACK_GROUPS;
        int32x4_t scale[4];
        store_group(panel, group, TENSOR_FORMAT_Q6_K, pack + Q6_K_HEADER + g * SIX_BIT_BYTES);
        UNROLL
        for (unsigned half = 0; half < 2; half++) {
            unpack_q6_scales(pack, 2 * g + half, scale);
            store_scales(panel, group, half, scale);
        }
        if (g == K_PACK_GROUPS - 1)
            pack += Q6_K_HEADER + K_PACK_GROUPS * SIX_BIT_BYTES;
    }
    panel->kind = PANEL_TWO_SCALES;
    return pack;
}

void dequantize_panel(enum tensor_format format, const uint8_t *packs, unsigned k, struct panel *panel) {
    const uint8_t *end = packs;
    panel->k = k;
    switch (format) {
    case TENSOR_FORMAT_Q4_0:
        end = dequantize_legacy(TENSOR_FORMAT_Q4_0, NIBBLE_BYTES, false, packs, panel);
        break;
    case TENSOR_FORMAT_Q4_1:
        end = dequantize_legacy(TENSOR_FORMAT_Q4_1, NIBBLE_BYTES, true, packs, panel);
        break;
    case TENSOR_FORMAT_Q5_0:
        end = dequantize_legacy(TENSOR_FORMAT_Q5_0, NIBBLE_BYTES + HIGH_BIT_BYTES, false, packs, panel);
        break;
    case TENSOR_FORMAT_Q5_1:
        end = dequantize_legacy(TENSOR_FORMAT_Q5_1, NIBBLE_BYTES + HIGH_BIT_BYTES, true, packs, panel);
        break;
    case TENSOR_FORMAT_Q8_0:
        end = dequantize_legacy(TENSOR_FORMAT_Q8_0, BYTE_GROUP, false, packs, panel);
        break;
    case TENSOR_FORMAT_Q4_K:
        end = dequantize_k(TENSOR_FORMAT_Q4_K, NIBBLE_BYTES, packs, panel);
        break;
    case TENSOR_FORMAT_Q5_K:
        end = dequantize_k(TENSOR_FORMAT_Q5_K, NIBBLE_BYTES + HIGH_BIT_BYTES, packs, panel);
        break;
    case TENSOR_FORMAT_Q6_K:
        end = dequantize_q6_k(packs, panel);
        break;
    case TENSOR_FORMAT_F32:
    case TENSOR_FORMAT_SMOOTHING:
        break; // never a matrix: model.c refuses it
    }
    memcpy(panel->columns, end, PANEL_COLUMNS * sizeof(float));
}
