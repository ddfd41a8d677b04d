// SPDX-License-Identifier: Apache-2.0
#include "kernels/requantize.h"

#include <stdbool.h>

#include "kernels/unpack.h"

#define CENTER 8 // code at which a minimum is rounded

// A of the 16 columns and B, or anything where the format has no minimum.
struct group_integers {
    int8x16_t a;
    int16x8_t b[2];
};

ALWAYS_INLINE int8x16_t narrow_scales(const int16x8_t scale[2], const int16x8_t c[2]) {
    return vqmovn_high_s16(vqmovn_s16(vqrdmulhq_s16(scale[0], c[0])), vqrdmulhq_s16(scale[1], c[1]));
}

ALWAYS_INLINE struct group_integers with_minimum(const int16x8_t scale[2], const int16x8_t minimum[2],
                                                 const int16x8_t c[2]) {
    struct group_integers g = {.a = narrow_scales(scale, c)};
    UNROLL
    for (unsigned half = 0; half < 2; half++) {
        int16x8_t a = half ? vmovl_high_s8(g.a) : vmovl_s8(vget_low_s8(g.a));
        int16x8_t center = vqaddq_s16(minimum[half], vshlq_n_s16(scale[half], 3));
        g.b[half] = vqsubq_s16(vqrdmulhq_s16(center, c[half]), vshlq_n_s16(a, 3));
    }
    return g;
}

// One vector of a quad: 4 columns x 4 k. `a` and `b` are repeated for the 4 k of each column.
ALWAYS_INLINE int8x16_t requantize_vector(const bool minimum, int8x16_t q, int8x16_t a, const int16x8_t b[2],
                                          int16x8_t smoothing) {
    int16x8_t low =
        minimum ? vmlal_s8(b[0], vget_low_s8(q), vget_low_s8(a)) : vmull_s8(vget_low_s8(q), vget_low_s8(a));
    int16x8_t high = minimum ? vmlal_high_s8(b[1], q, a) : vmull_high_s8(q, a);
    return vqmovn_high_s16(vqmovn_s16(vqrdmulhq_s16(low, smoothing)), vqrdmulhq_s16(high, smoothing));
}

// A quad's codes of one half group, k 16 * half.. of the group: `to` is where its first vector goes.
ALWAYS_INLINE void store_half(const bool minimum, const uint8x16_t q[4], uint8_t zero, unsigned c,
                              const struct group_integers *g, const int16_t *smoothing, int8_t *to) {
    static const uint8_t columns[4][16] = {{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
                                           {4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7},
                                           {8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 11},
                                           {12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15}};
    const int8x16_t a = vqtbl1q_s8(g->a, vld1q_u8(columns[c]));
    int16x8_t b[2] = {vdupq_n_s16(0), vdupq_n_s16(0)};
    if (minimum) {
        const int16x8_t wide = vzip1q_s16(g->b[c / 2], g->b[c / 2]),
                        high = vzip2q_s16(g->b[c / 2], g->b[c / 2]);
        const int32x4_t pairs = vreinterpretq_s32_s16(c % 2 ? high : wide);
        b[0] = vreinterpretq_s16_s32(vzip1q_s32(pairs, pairs));
        b[1] = vreinterpretq_s16_s32(vzip2q_s32(pairs, pairs));
    }
    UNROLL
    for (unsigned j = 0; j < 4; j++) {
        const int16x8_t s = vreinterpretq_s16_s64(vld1q_dup_s64((const int64_t *)(smoothing + 4 * j)));
        const int8x16_t codes = vreinterpretq_s8_u8(zero ? vsubq_u8(q[j], vdupq_n_u8(zero)) : q[j]);
        vst1q_s8(to + 32 * j, requantize_vector(minimum, codes, a, b, s));
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
                                    const struct group_integers *high, const int16_t *smoothing,
                                    const struct int8_panel *panel) {
    for (unsigned c = 0; c < 4; c++) {
        const struct quad q = unpack_quad(format, w, c);
        store_half(minimum, q.low, zero, c, low, smoothing + group * GROUP, place(panel, c, 2 * group));
        store_half(minimum, q.high, zero, c, high, smoothing + group * GROUP + 16,
                   place(panel, c, 2 * group + 1));
    }
}

ALWAYS_INLINE const uint8_t *requantize_legacy(enum tensor_format format, unsigned group_bytes,
                                               const bool minimum, uint8_t zero, const uint8_t *w,
                                               const int16x8_t c[2], const int16_t *smoothing,
                                               const struct int8_panel *panel) {
    for (unsigned group = 0; group < panel->k / GROUP; group += 2) {
        const uint8_t *lines = w + 2 * group_bytes;
        for (unsigned i = 0; i < 2; i++, lines += (minimum ? 2 : 1) * COLUMN_INT16) {
            const int16x8x4_t v = vld1q_s16_x4((const int16_t *)lines);
            const struct group_integers g = minimum ? with_minimum(v.val, v.val + 2, c)
                                                    : (struct group_integers){.a = narrow_scales(v.val, c)};
            requantize_group(format, minimum, zero, w + i * group_bytes, group + i, &g, &g, smoothing, panel);
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
                                          const uint8_t *pack, const int16x8_t c[2], const int16_t *smoothing,
                                          const struct int8_panel *panel) {
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
        requantize_group(format, true, 0, pack + K_HEADER_BYTES + in_pack * group_bytes, group, &g, &g,
                         smoothing, panel);
        if (in_pack == K_PACK_GROUPS - 1)
            pack += K_HEADER_BYTES + K_PACK_GROUPS * group_bytes;
    }
    return pack;
}

static const uint8_t *requantize_q6_k(const uint8_t *pack, const int16x8_t c[2], const int16_t *smoothing,
                                      const struct int8_panel *panel) {
    for (unsigned group = 0; group < panel->k / GROUP; group++) {
        unsigned in_pack = group % K_PACK_GROUPS;
        struct group_integers g[2];
        for (unsigned half = 0; half < 2; half++) {
            int32x4_t wide[4];
            int16x8_t scale[2];
            unpack_q6_scales(pack, 2 * in_pack + half, wide);
            narrow_columns(wide, scale);
            g[half].a = narrow_scales(scale, c);
        }
        requantize_group(TENSOR_FORMAT_Q6_K, false, 32, pack + Q6_K_HEADER + in_pack * SIX_BIT_BYTES, group,
                         &g[0], &g[1], smoothing, panel);
        if (in_pack == K_PACK_GROUPS - 1)
            pack += Q6_K_HEADER + K_PACK_GROUPS * SIX_BIT_BYTES;
    }
    return pack;
}

#define LEGACY(format, group_bytes, minimum, zero)                                                           \
    case format:                                                                                             \
        end = requantize_legacy(format, group_bytes, minimum, zero, packs, c.val, by->smoothing, panel);     \
        break

void requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned k,
                      const struct requantization *by, struct int8_panel *panel) {
    const int16x8x2_t c = vld1q_s16_x2(by->multipliers);
    const uint8_t *end = packs;
    panel->k = k;
    switch (format) {
        LEGACY(TENSOR_FORMAT_Q4_0, NIBBLE_BYTES, false, 8);
        LEGACY(TENSOR_FORMAT_Q4_1, NIBBLE_BYTES, true, 0);
        LEGACY(TENSOR_FORMAT_Q5_0, NIBBLE_BYTES + HIGH_BIT_BYTES, false, 16);
        LEGACY(TENSOR_FORMAT_Q5_1, NIBBLE_BYTES + HIGH_BIT_BYTES, true, 0);
        LEGACY(TENSOR_FORMAT_Q8_0, BYTE_GROUP, false, 0);
    case TENSOR_FORMAT_Q4_K:
        end = requantize_k(TENSOR_FORMAT_Q4_K, NIBBLE_BYTES, packs, c.val, by->smoothing, panel);
        break;
    case TENSOR_FORMAT_Q5_K:
        end = requantize_k(TENSOR_FORMAT_Q5_K, NIBBLE_BYTES + HIGH_BIT_BYTES, packs, c.val, by->smoothing,
                           panel);
        break;
    case TENSOR_FORMAT_Q6_K:
        end = requantize_q6_k(packs, c.val, by->smoothing, panel);
        break;
    case TENSOR_FORMAT_F32:
    case TENSOR_FORMAT_SMOOTHING:
        break; // never a matrix: model.c refuses it
    }
    const float *factors = (const float *)end; // D
    for (unsigned i = 0; i < PANEL_COLUMNS; i++)
        panel->columns[i] = factors[i] * (0x1p15f / (float)by->multipliers[i]);
}
