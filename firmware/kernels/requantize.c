// SPDX-License-Identifier: Apache-2.0
#include "kernels/requantize.h"

#include <stdbool.h>

#include "arch/string.h"
#include "kernels/unpack.h"

// What the weights of a group are multiplied with and what is added, for the 16 columns.
struct group_integers {
    int16x8_t scale[2]; // rdm(8 * di, c) without minimum, B with
    uint8x16_t a;
};

ALWAYS_INLINE struct group_integers without_minimum(const int16x8_t scale[2], const int16x8_t c[2]) {
    struct group_integers g;
    UNROLL
    for (unsigned half = 0; half < 2; half++)
        g.scale[half] = vqrdmulhq_s16(vshlq_n_s16(scale[half], 3), c[half]);
    return g;
}

ALWAYS_INLINE struct group_integers with_minimum(const int16x8_t scale[2], const int16x8_t minimum[2],
                                                 const int16x8_t c[2]) {
    struct group_integers g;
    g.a = vqmovun_high_s16(vqmovun_s16(vqrdmulhq_s16(scale[0], c[0])), vqrdmulhq_s16(scale[1], c[1]));
    UNROLL
    for (unsigned half = 0; half < 2; half++) {
        uint8x8_t a = half ? vget_high_u8(g.a) : vget_low_u8(g.a);
        int16x8_t center = vqrdmulhq_s16(vqaddq_s16(minimum[half], vshlq_n_s16(scale[half], 3)), c[half]);
        g.scale[half] = vsubq_s16(center, vreinterpretq_s16_u16(vshll_n_u8(a, 3)));
    }
    return g;
}

// Column i of a quad in the 4 lanes of its 4 k: of 16-bit values, columns 0, 1 and 2, 3.
ALWAYS_INLINE void repeat_columns(const int16x8_t columns[2], unsigned quad, int16x8_t repeated[2]) {
    const int16x8_t v = columns[quad / 2];
    const int32x4_t twice = vreinterpretq_s32_s16(quad % 2 ? vzip2q_s16(v, v) : vzip1q_s16(v, v));
    repeated[0] = vreinterpretq_s16_s32(vzip1q_s32(twice, twice));
    repeated[1] = vreinterpretq_s16_s32(vzip2q_s32(twice, twice));
}

ALWAYS_INLINE uint8x16_t repeat_bytes(uint8x16_t columns, unsigned quad) {
    const uint8x16_t half = quad / 2 ? vzip2q_u8(columns, columns) : vzip1q_u8(columns, columns);
    const uint16x8_t twice = vreinterpretq_u16_u8(half);
    return vreinterpretq_u8_u16(quad % 2 ? vzip2q_u16(twice, twice) : vzip1q_u16(twice, twice));
}

ALWAYS_INLINE int8x16_t narrow(int16x8_t low, int16x8_t high) {
    return vqmovn_high_s16(vqmovn_s16(low), high);
}

// A quad's codes of 16 k; `to` is where its first vector goes.
ALWAYS_INLINE void store_without_minimum(const uint8x16_t q[4], uint8_t zero, unsigned quad,
                                         const struct group_integers *g, const struct requantization *by,
                                         unsigned k, int8_t *to) {
    int16x8_t scale[2];
    repeat_columns(g->scale, quad, scale);
    UNROLL
    for (unsigned j = 0; j < 4; j++, k += 4) {
        const int8x16_t s = vreinterpretq_s8_s32(vld1q_dup_s32((const int32_t *)(by->smoothing + k)));
        const int8x16_t code = vreinterpretq_s8_u8(zero ? vsubq_u8(q[j], vdupq_n_u8(zero)) : q[j]);
        const int16x8_t low = vqrdmulhq_s16(vmull_s8(vget_low_s8(code), vget_low_s8(s)), scale[0]);
        const int16x8_t high = vqrdmulhq_s16(vmull_high_s8(code, s), scale[1]);
        vst1q_s8(to + 32 * j, narrow(low, high));
    }
}

ALWAYS_INLINE void store_with_minimum(const uint8x16_t q[4], unsigned quad, const struct group_integers *g,
                                      const struct requantization *by, unsigned k, int8_t *to) {
    const uint8x16_t a = repeat_bytes(g->a, quad);
    int16x8_t b[2];
    repeat_columns(g->scale, quad, b);
    UNROLL
    for (unsigned j = 0; j < 4; j++, k += 4) {
        const int16x8_t s = vreinterpretq_s16_s64(vld1q_dup_s64((const int64_t *)(by->products + k)));
        const uint16x8_t low = vmlal_u8(vreinterpretq_u16_s16(b[0]), vget_low_u8(q[j]), vget_low_u8(a));
        const uint16x8_t high = vmlal_high_u8(vreinterpretq_u16_s16(b[1]), q[j], a);
        vst1q_s8(to + 32 * j, narrow(vqrdmulhq_s16(vreinterpretq_s16_u16(low), s),
                                     vqrdmulhq_s16(vreinterpretq_s16_u16(high), s)));
    }
}

// Where the half group `part` (16 k) of a quad goes.
ALWAYS_INLINE int8_t *place(const struct int8_panel *panel, unsigned quad, unsigned part) {
    return panel->weights + (size_t)(quad / 2) * INT8_COLUMNS * panel->k + part * 16 * INT8_COLUMNS +
           quad % 2 * 16;
}

ALWAYS_INLINE struct quad unpack_quad(enum tensor_format format, const uint8_t *w, unsigned c) {
    const uint8_t *nibbles = w + c * (NIBBLE_BYTES / 4);
    switch (format) {
    case TENSOR_FORMAT_Q5_0:
    case TENSOR_FORMAT_Q5_1:
    case TENSOR_FORMAT_Q5_K:
        return unpack_5bit(nibbles, w + NIBBLE_BYTES + c * (HIGH_BIT_BYTES / 4));
    case TENSOR_FORMAT_Q6_K:
        return unpack_6bit(nibbles, w + NIBBLE_BYTES + c * 32);
    case TENSOR_FORMAT_Q8_0:
        return load_bytes(w + c * (BYTE_GROUP / 4));
    default:
        return unpack_nibbles(nibbles);
    }
}

// One group of 32 k; `low` and `high` are the integers of its two halves.
ALWAYS_INLINE void requantize_group(enum tensor_format format, const bool minimum, uint8_t zero,
                                    const uint8_t *w, unsigned group, const struct group_integers *low,
                                    const struct group_integers *high, const struct requantization *by,
                                    const struct int8_panel *panel) {
    const unsigned k = group * GROUP;
    for (unsigned quad = 0; quad < 4; quad++) {
        const struct quad q = unpack_quad(format, w, quad);
        int8_t *to = place(panel, quad, 2 * group), *to_high = place(panel, quad, 2 * group + 1);
        if (minimum) {
            store_with_minimum(q.low, quad, low, by, k, to);
            store_with_minimum(q.high, quad, high, by, k + 16, to_high);
        } else {
            store_without_minimum(q.low, zero, quad, low, by, k, to);
            store_without_minimum(q.high, zero, quad, high, by, k + 16, to_high);
        }
    }
}

ALWAYS_INLINE const uint8_t *requantize_legacy(enum tensor_format format, unsigned group_bytes,
                                               const bool minimum, uint8_t zero, const uint8_t *w,
                                               const int16x8_t c[2], const struct requantization *by,
                                               const struct int8_panel *panel) {
    for (unsigned group = 0; group < panel->k / GROUP; group += 2) {
        const uint8_t *lines = w + 2 * group_bytes;
        for (unsigned i = 0; i < 2; i++, lines += (minimum ? 2 : 1) * COLUMN_INT16) {
            const int16x8x2_t scale = vld1q_s16_x2((const int16_t *)lines);
            struct group_integers g;
            if (minimum)
                g = with_minimum(scale.val, vld1q_s16_x2((const int16_t *)(lines + COLUMN_INT16)).val, c);
            else
                g = without_minimum(scale.val, c);
            requantize_group(format, minimum, zero, w + i * group_bytes, group + i, &g, &g, by, panel);
        }
        w = lines;
    }
    return w;
}

// Four int32 per quad as int16.
ALWAYS_INLINE void narrow_columns(const int32x4_t wide[4], int16x8_t narrow[2]) {
    narrow[0] = vmovn_high_s32(vmovn_s32(wide[0]), wide[1]);
    narrow[1] = vmovn_high_s32(vmovn_s32(wide[2]), wide[3]);
}

ALWAYS_INLINE const uint8_t *requantize_k(enum tensor_format format, unsigned group_bytes,
                                          const uint8_t *pack, const int16x8_t c[2],
                                          const struct requantization *by, const struct int8_panel *panel) {
    for (unsigned group = 0; group < panel->k / GROUP; group++) {
        unsigned in_pack = group % K_PACK_GROUPS;
        int32x4_t wide[4], wide_minimum[4];
        int16x8_t scale[2], minimum[2];
        unpack_k_scales(pack, in_pack, wide, wide_minimum);
        narrow_columns(wide, scale);
        narrow_columns(wide_minimum, minimum);
        minimum[0] = vnegq_s16(minimum[0]);
        minimum[1] = vnegq_s16(minimum[1]);
        const struct group_integers g = with_minimum(scale, minimum, c);
        requantize_group(format, true, 0, pack + K_HEADER_BYTES + in_pack * group_bytes, group, &g, &g, by,
                         panel);
        if (in_pack == K_PACK_GROUPS - 1)
            pack += K_HEADER_BYTES + K_PACK_GROUPS * group_bytes;
    }
    return pack;
}

static const uint8_t *requantize_q6_k(const uint8_t *pack, const int16x8_t c[2],
                                      const struct requantization *by, const struct int8_panel *panel) {
    for (unsigned group = 0; group < panel->k / GROUP; group++) {
        unsigned in_pack = group % K_PACK_GROUPS;
        struct group_integers g[2];
        for (unsigned half = 0; half < 2; half++) {
            int32x4_t wide[4];
            int16x8_t scale[2];
            unpack_q6_scales(pack, 2 * in_pack + half, wide);
            narrow_columns(wide, scale);
            g[half] = without_minimum(scale, c);
        }
        requantize_group(TENSOR_FORMAT_Q6_K, false, 32, pack + Q6_K_HEADER + in_pack * SIX_BIT_BYTES, group,
                         &g[0], &g[1], by, panel);
        if (in_pack == K_PACK_GROUPS - 1)
            pack += Q6_K_HEADER + K_PACK_GROUPS * SIX_BIT_BYTES;
    }
    return pack;
}

#define LEGACY(format, group_bytes, minimum, zero)                                                           \
    case format:                                                                                             \
        requantize_legacy(format, group_bytes, minimum, zero, packs, c.val, by, panel);                      \
        break

void requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned index, unsigned k,
                      const struct requantization *by, struct int8_panel *panel) {
    const int16x8x2_t c = vld1q_s16_x2(by->multipliers + index * PANEL_COLUMNS);
    panel->k = k;
    switch (format) {
        LEGACY(TENSOR_FORMAT_Q4_0, NIBBLE_BYTES, false, 8);
        LEGACY(TENSOR_FORMAT_Q4_1, NIBBLE_BYTES, true, 0);
        LEGACY(TENSOR_FORMAT_Q5_0, NIBBLE_BYTES + HIGH_BIT_BYTES, false, 16);
        LEGACY(TENSOR_FORMAT_Q5_1, NIBBLE_BYTES + HIGH_BIT_BYTES, true, 0);
        LEGACY(TENSOR_FORMAT_Q8_0, BYTE_GROUP, false, 0);
    case TENSOR_FORMAT_Q4_K:
        requantize_k(TENSOR_FORMAT_Q4_K, NIBBLE_BYTES, packs, c.val, by, panel);
        break;
    case TENSOR_FORMAT_Q5_K:
        requantize_k(TENSOR_FORMAT_Q5_K, NIBBLE_BYTES + HIGH_BIT_BYTES, packs, c.val, by, panel);
        break;
    case TENSOR_FORMAT_Q6_K:
        requantize_q6_k(packs, c.val, by, panel);
        break;
    case TENSOR_FORMAT_F32:
    case TENSOR_FORMAT_SMOOTHING:
        break; // never a matrix: model.c refuses it
    }
    memcpy(panel->columns, by->columns + index * PANEL_COLUMNS, sizeof panel->columns);
}
