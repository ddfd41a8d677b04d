// SPDX-License-Identifier: Apache-2.0
// One row times one panel, straight from the packs. Per group and quad: 8 SDOT by element, one MUL by the scales, the
// minimum, and two SMLAL into the int64 sums. Unsigned formats do not subtract their offset from every weight: their
// accumulators start at -offset * sum(x) instead.
#include <arm_neon.h>
#include <stdbool.h>

#include "kernels/linear.h"
#include "kernels/unpack.h"

struct sums {
    int64x2_t low[4], high[4]; // per quad
};

ALWAYS_INLINE int32x4_t dot_low(int32x4_t acc, const struct quad *w, int8x16_t x) {
    acc = vdotq_laneq_s32(acc, vreinterpretq_s8_u8(w->low[0]), x, 0);
    acc = vdotq_laneq_s32(acc, vreinterpretq_s8_u8(w->low[1]), x, 1);
    acc = vdotq_laneq_s32(acc, vreinterpretq_s8_u8(w->low[2]), x, 2);
    return vdotq_laneq_s32(acc, vreinterpretq_s8_u8(w->low[3]), x, 3);
}

ALWAYS_INLINE int32x4_t dot_high(int32x4_t acc, const struct quad *w, int8x16_t x) {
    acc = vdotq_laneq_s32(acc, vreinterpretq_s8_u8(w->high[0]), x, 0);
    acc = vdotq_laneq_s32(acc, vreinterpretq_s8_u8(w->high[1]), x, 1);
    acc = vdotq_laneq_s32(acc, vreinterpretq_s8_u8(w->high[2]), x, 2);
    return vdotq_laneq_s32(acc, vreinterpretq_s8_u8(w->high[3]), x, 3);
}

ALWAYS_INLINE void add_group(struct sums *sums, unsigned quad, int32x4_t term, int32x4_t x_scale) {
    sums->low[quad] = vmlal_s32(sums->low[quad], vget_low_s32(term), vget_low_s32(x_scale));
    sums->high[quad] = vmlal_high_s32(sums->high[quad], term, x_scale);
}

ALWAYS_INLINE void store_outputs(const struct sums *sums, const float *columns, float row_scale, float *y) {
    UNROLL
    for (unsigned quad = 0; quad < 4; quad++) {
        float32x2_t low = vcvt_f32_f64(vcvtq_f64_s64(sums->low[quad]));
        float32x4_t sum = vcvt_high_f32_f64(low, vcvtq_f64_s64(sums->high[quad]));
        float32x4_t scale = vmulq_n_f32(vld1q_f32(columns + 4 * quad), row_scale);
        vst1q_f32(y + 4 * quad, vmulq_f32(sum, scale));
    }
}

// The group's weights of one quad; how the formats differ.
ALWAYS_INLINE struct quad group_quad(enum tensor_format format, const uint8_t *group, unsigned quad) {
    const uint8_t *nibbles = group + quad * (NIBBLE_BYTES / 4);
    switch (format) {
    case TENSOR_FORMAT_Q5_0:
    case TENSOR_FORMAT_Q5_1:
    case TENSOR_FORMAT_Q5_K:
        return unpack_5bit(nibbles, group + NIBBLE_BYTES + quad * (HIGH_BIT_BYTES / 4));
    case TENSOR_FORMAT_Q6_K:
        return unpack_6bit(nibbles, group + NIBBLE_BYTES + quad * 32);
    case TENSOR_FORMAT_Q8_0:
        return load_bytes(group + quad * (BYTE_GROUP / 4));
    default:
        return unpack_nibbles(nibbles);
    }
}

struct legacy_format {
    enum tensor_format format;
    unsigned group_bytes;
    int offset; // what a stored value of 0 means: -offset
    bool minimum;
};

ALWAYS_INLINE void gemv_legacy(const struct legacy_format f, const uint8_t *w, const struct activations *a, float *y) {
    struct sums sums = {0};
    const int8_t *x = a->values;
    const struct group_scale *groups = a->groups;
    for (unsigned k = 0; k < a->k; k += PACK_K) {
        const uint8_t *scales = w + 2 * f.group_bytes;
        for (unsigned g = 0; g < 2; g++) {
            int8x16x2_t xs = vld1q_s8_x2(x);
            int32x4x2_t group = vld2q_dup_s32(&groups->scale);
            int32x4_t start = vmulq_n_s32(group.val[1], -f.offset);
            int32x4_t scale[4], minimum[4];
            widen_columns(scales, scale);
            scales += COLUMN_INT16;
            if (f.minimum) {
                widen_columns(scales, minimum);
                scales += COLUMN_INT16;
            }
            UNROLL
            for (unsigned c = 0; c < 4; c++) {
                struct quad q = group_quad(f.format, w, c);
                int32x4_t dot = f.offset ? start : vdupq_n_s32(0);
                dot = dot_high(dot_low(dot, &q, xs.val[0]), &q, xs.val[1]);
                int32x4_t term = vmulq_s32(dot, scale[c]);
                if (f.minimum)
                    term = vmlaq_s32(term, minimum[c], group.val[1]);
                add_group(&sums, c, term, group.val[0]);
            }
            w += f.group_bytes;
            x += GROUP;
            groups++;
        }
        w = scales;
    }
    store_outputs(&sums, (const float *)w, a->row_scales[0], y);
}

// q4_k and q5_k: scales of a group come from 6-bit values and the pack's factors.
ALWAYS_INLINE void gemv_k(enum tensor_format format, unsigned group_bytes, const uint8_t *w,
                          const struct activations *a, float *y) {
    struct sums sums = {0};
    const int8_t *x = a->values;
    const struct group_scale *groups = a->groups;
    for (unsigned k = 0; k < a->k; k += K_PACK) {
        const uint8_t *pack = w;
        w += K_HEADER_BYTES;
        for (unsigned g = 0; g < K_PACK_GROUPS; g++) {
            int8x16x2_t xs = vld1q_s8_x2(x);
            int32x4x2_t group = vld2q_dup_s32(&groups->scale);
            int32x4_t scale[4], minimum[4];
            unpack_k_scales(pack, g, scale, minimum);
            UNROLL
            for (unsigned c = 0; c < 4; c++) {
                struct quad q = group_quad(format, w, c);
                int32x4_t dot = dot_high(dot_low(vdupq_n_s32(0), &q, xs.val[0]), &q, xs.val[1]);
                int32x4_t term = vmlsq_s32(vmulq_s32(dot, scale[c]), minimum[c], group.val[1]);
                add_group(&sums, c, term, group.val[0]);
            }
            w += group_bytes;
            x += GROUP;
            groups++;
        }
    }
    store_outputs(&sums, (const float *)w, a->row_scales[0], y);
}

// q6_k: each half of a group has its own scale and its own share of the offset.
static void gemv_q6_k(const uint8_t *w, const struct activations *a, float *y) {
    struct sums sums = {0};
    const int8_t *x = a->values;
    for (unsigned group = 0, groups = a->k / GROUP; group < groups; group++) {
        unsigned g = group % K_PACK_GROUPS;
        const uint8_t *pack = w;
        int8x16x2_t xs = vld1q_s8_x2(x);
        int32x4x2_t x_scale = vld2q_dup_s32(&a->groups[group].scale);
        int32x4_t low_sum = vld1q_dup_s32(&a->low_sums[group]);
        int32x4_t low_start = vmulq_s32(low_sum, vdupq_n_s32(-32));
        int32x4_t high_start = vmulq_s32(vsubq_s32(x_scale.val[1], low_sum), vdupq_n_s32(-32));
        int32x4_t low_scale[4], high_scale[4];
        unpack_q6_scales(pack, 2 * g, low_scale);
        unpack_q6_scales(pack, 2 * g + 1, high_scale);
        const uint8_t *weights = pack + Q6_K_HEADER + g * SIX_BIT_BYTES;
        UNROLL
        for (unsigned c = 0; c < 4; c++) {
            struct quad q = group_quad(TENSOR_FORMAT_Q6_K, weights, c);
            int32x4_t term = vmulq_s32(dot_low(low_start, &q, xs.val[0]), low_scale[c]);
            term = vmlaq_s32(term, dot_high(high_start, &q, xs.val[1]), high_scale[c]);
            add_group(&sums, c, term, x_scale.val[0]);
        }
        x += GROUP;
        if (g == K_PACK_GROUPS - 1)
            w += Q6_K_HEADER + K_PACK_GROUPS * SIX_BIT_BYTES;
    }
    store_outputs(&sums, (const float *)w, a->row_scales[0], y);
}

// One function per format, so that each hot loop is compiled with its constants.
#define LEGACY_GEMV(name, ...)                                                                                         \
    static void name(const uint8_t *w, const struct activations *a, float *y) {                                        \
        const struct legacy_format f = {__VA_ARGS__};                                                                  \
        gemv_legacy(f, w, a, y);                                                                                       \
    }

LEGACY_GEMV(gemv_q4_0, TENSOR_FORMAT_Q4_0, NIBBLE_BYTES, 8, false)
LEGACY_GEMV(gemv_q4_1, TENSOR_FORMAT_Q4_1, NIBBLE_BYTES, 0, true)
LEGACY_GEMV(gemv_q5_0, TENSOR_FORMAT_Q5_0, NIBBLE_BYTES + HIGH_BIT_BYTES, 16, false)
LEGACY_GEMV(gemv_q5_1, TENSOR_FORMAT_Q5_1, NIBBLE_BYTES + HIGH_BIT_BYTES, 0, true)
LEGACY_GEMV(gemv_q8_0, TENSOR_FORMAT_Q8_0, BYTE_GROUP, 0, false)

static void gemv_q4_k(const uint8_t *w, const struct activations *a, float *y) {
    gemv_k(TENSOR_FORMAT_Q4_K, NIBBLE_BYTES, w, a, y);
}

static void gemv_q5_k(const uint8_t *w, const struct activations *a, float *y) {
    gemv_k(TENSOR_FORMAT_Q5_K, NIBBLE_BYTES + HIGH_BIT_BYTES, w, a, y);
}

void gemv_panel(enum tensor_format format, const uint8_t *packs, const struct activations *a, float *y) {
    static void (*const routes[TENSOR_FORMAT_COUNT])(const uint8_t *, const struct activations *, float *) = {
        [TENSOR_FORMAT_Q4_0] = gemv_q4_0, [TENSOR_FORMAT_Q4_1] = gemv_q4_1, [TENSOR_FORMAT_Q5_0] = gemv_q5_0,
        [TENSOR_FORMAT_Q5_1] = gemv_q5_1, [TENSOR_FORMAT_Q8_0] = gemv_q8_0, [TENSOR_FORMAT_Q4_K] = gemv_q4_k,
        [TENSOR_FORMAT_Q5_K] = gemv_q5_k, [TENSOR_FORMAT_Q6_K] = gemv_q6_k,
    };
    routes[format](packs, a, y);
}
