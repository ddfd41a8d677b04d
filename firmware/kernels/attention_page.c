// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_page.h"

#include <stdbool.h>

#include "arch/string.h"
#include "kernels/activations.h"
#include "kernels/attention.h"

#define BLOCK_KEYS 16 // four key quads: what a 16-byte vector of probabilities covers
#define BLOCKS     (KV_PAGE_TOKENS / BLOCK_KEYS)

// What one page means to each row, between the three steps.
struct page_state {
    float scores[ATTENTION_ROWS][KV_PAGE_TOKENS];            // first the bits of dots + ROUND_MAGIC_BITS
    int8_t probabilities[2][ATTENTION_ROWS][KV_PAGE_TOKENS]; // upper and lower 7 bits
    float alpha[ATTENTION_ROWS];
    float unit[ATTENTION_ROWS]; // top / PROBABILITY_MAX
} __attribute__((aligned(16)));

ALWAYS_INLINE int32x4_t dot_16(int32x4_t acc, const int8x16x4_t *v, int8x16_t x) {
    acc = vdotq_laneq_s32(acc, v->val[0], x, 0);
    acc = vdotq_laneq_s32(acc, v->val[1], x, 1);
    acc = vdotq_laneq_s32(acc, v->val[2], x, 2);
    return vdotq_laneq_s32(acc, v->val[3], x, 3);
}

// Scores of one block of keys. The accumulators start at the bits of 1.5 * 2^23, so that one subtraction
// converts them to float: |dot| <= 127 * 127 * 256 < 2^22.
ALWAYS_INLINE void block_scores(const unsigned rows, const struct attention_tile *tile, unsigned which,
                                const int8_t *keys, unsigned block, struct page_state *state) {
    int32x4_t dots[ATTENTION_ROWS][4];
    const size_t quad_bytes = 4 * tile->head_dim;
    UNROLL
    for (unsigned r = 0; r < rows; r++)
        UNROLL
    for (unsigned q = 0; q < 4; q++)
        dots[r][q] = vdupq_n_s32(ROUND_MAGIC_BITS);
    keys += block * 4 * quad_bytes;
    for (unsigned i = 0; i < tile->head_dim; i += 16, keys += 64) {
        UNROLL
        for (unsigned q = 0; q < 4; q++) {
            const int8x16x4_t k = vld1q_s8_x4(keys + q * quad_bytes);
            UNROLL
            for (unsigned r = 0; r < rows; r++)
                dots[r][q] = dot_16(dots[r][q], &k, vld1q_s8(tile->query[which][r] + i));
        }
    }
    UNROLL
    for (unsigned r = 0; r < rows; r++)
        UNROLL
    for (unsigned q = 0; q < 4; q++)
        vst1q_f32(state->scores[r] + block * BLOCK_KEYS + 4 * q, vreinterpretq_f32_s32(dots[r][q]));
}

// All ones where from <= slot < to, for four slots from `slot` on.
ALWAYS_INLINE uint32x4_t visible_mask(unsigned slot, uint32_t from, uint32_t to) {
    static const uint32_t lanes[4] = {0, 1, 2, 3};
    return vcltq_u32(vaddq_u32(vld1q_u32(lanes), vdupq_n_u32(slot - from)), vdupq_n_u32(to - from));
}

ALWAYS_INLINE float32x4_t keep(float32x4_t x, uint32x4_t mask) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x), mask));
}

// Dot products to scores, in place of `dots`; returns the largest visible one.
ALWAYS_INLINE float row_scores(const bool masked, uint32_t from, uint32_t to, float query_scale,
                               const float *key_scales, unsigned keys, float *dots) {
    const float32x4_t magic = vdupq_n_f32(ROUND_MAGIC), scale = vdupq_n_f32(query_scale);
    struct float_maximum top = NO_MAXIMUM;
    for (unsigned i = 0; i < keys; i += BLOCK_KEYS) {
        UNROLL
        for (unsigned j = 0; j < BLOCK_KEYS; j += 4) {
            float32x4_t dot = vsubq_f32(vld1q_f32(dots + i + j), magic);
            float32x4_t score = vmulq_f32(dot, vmulq_f32(vld1q_f32(key_scales + i + j), scale));
            if (masked)
                score = vbslq_f32(visible_mask(i + j, from, to), score, vdupq_n_f32(ATTENTION_NO_SCORE));
            maximum_add(&top, score);
            vst1q_f32(dots + i + j, score);
        }
    }
    return maximum_of(&top);
}

struct weights {
    float sum, largest; // of p, and of p * value scale
};

// Scores to probabilities times value scales, in place; masked keys give exactly 0.
ALWAYS_INLINE struct weights row_weights(const bool masked, uint32_t from, uint32_t to, float top,
                                         const float *value_scales, unsigned keys, float *scores) {
    float32x4_t sums = vdupq_n_f32(0.0f), tops = vdupq_n_f32(top);
    uint32x4_t largest = vdupq_n_u32(0);
    for (unsigned i = 0; i < keys; i += BLOCK_KEYS) {
        UNROLL
        for (unsigned j = 0; j < BLOCK_KEYS; j += 4) {
            float32x4_t p = exp2_negative_f32x4(vsubq_f32(tops, vld1q_f32(scores + i + j)));
            float32x4_t pv = vmulq_f32(p, vld1q_f32(value_scales + i + j));
            if (masked) {
                uint32x4_t mask = visible_mask(i + j, from, to);
                p = keep(p, mask);
                pv = keep(pv, mask);
            }
            sums = vaddq_f32(sums, p);
            largest = vmaxq_u32(largest, vreinterpretq_u32_f32(pv));
            vst1q_f32(scores + i + j, pv);
        }
    }
    return (struct weights){(sums[0] + sums[1]) + (sums[2] + sums[3]), float_from_bits(vmaxvq_u32(largest))};
}

// Sixteen weights times `factor` to 14-bit integers in two int8 halves. The bits of 1.5 * 2^23 lie above the
// 16 that the narrowing keeps.
ALWAYS_INLINE void split_weights(const float *pv, float32x4_t factor, int8_t *upper, int8_t *lower) {
    const float32x4_t magic = vdupq_n_f32(ROUND_MAGIC);
    float32x4x4_t w = vld1q_f32_x4(pv);
    uint32x4_t u[4];
    UNROLL
    for (unsigned j = 0; j < 4; j++)
        u[j] = vreinterpretq_u32_f32(vaddq_f32(vmulq_f32(w.val[j], factor), magic));
    uint16x8_t low = vmovn_high_u32(vmovn_u32(u[0]), u[1]), high = vmovn_high_u32(vmovn_u32(u[2]), u[3]);
    uint8x16_t top = vshrn_high_n_u16(vshrn_n_u16(low, 7), high, 7);
    uint8x16_t rest = vandq_u8(vmovn_high_u16(vmovn_u16(low), high), vdupq_n_u8(127));
    vst1q_s8(upper, vreinterpretq_s8_u8(top));
    vst1q_s8(lower, vreinterpretq_s8_u8(rest));
}

// Steps s to u of attention.h for one row over the first `keys` keys.
ALWAYS_INLINE void row_softmax(const bool masked, struct attention_tile *tile, unsigned which, unsigned r,
                               const float *key_scales, const float *value_scales, unsigned keys,
                               struct page_state *state) {
    const uint32_t from = tile->from[r], to = tile->to[r];
    float *scores = state->scores[r];
    float page_top = row_scores(masked, from, to, tile->scale[which][r], key_scales, keys, scores);
    float top = page_top > tile->top[r] ? page_top : tile->top[r];
    struct weights w = row_weights(masked, from, to, top, value_scales, keys, scores);
    float alpha = exp2_negative(top - tile->top[r]);
    bool negligible = w.largest < ACTIVATION_TINY;
    float32x4_t factor = vdupq_n_f32(negligible ? 0.0f : PROBABILITY_MAX / w.largest);
    for (unsigned i = 0; i < keys; i += BLOCK_KEYS)
        split_weights(scores + i, factor, state->probabilities[0][r] + i, state->probabilities[1][r] + i);
    state->unit[r] = negligible ? 0.0f : w.largest / PROBABILITY_MAX;
    state->alpha[r] = alpha;
    tile->sum[r] = tile->sum[r] * alpha + w.sum;
    tile->top[r] = top;
}

static void row_softmax_full(struct attention_tile *tile, unsigned which, unsigned r, const float *key_scales,
                             const float *value_scales, struct page_state *state) {
    row_softmax(false, tile, which, r, key_scales, value_scales, KV_PAGE_TOKENS, state);
}

static void row_softmax_masked(struct attention_tile *tile, unsigned which, unsigned r,
                               const float *key_scales, const float *value_scales, unsigned keys,
                               struct page_state *state) {
    row_softmax(true, tile, which, r, key_scales, value_scales, keys, state);
}

// Adds one half of the probabilities times 16 dims of the values: sums[r][q] += p[r] * v, 4 dims per q.
ALWAYS_INLINE void add_half(const unsigned rows, int32x4_t sums[ATTENTION_ROWS][4], const int8_t *values,
                            size_t quad_bytes, unsigned blocks,
                            const int8_t p[ATTENTION_ROWS][KV_PAGE_TOKENS]) {
#define KEY_QUAD(lane)                                                                                       \
    {                                                                                                        \
        const int8x16x4_t v = vld1q_s8_x4(values + lane * quad_bytes);                                       \
        UNROLL                                                                                               \
        for (unsigned r = 0; r < rows; r++)                                                                  \
            UNROLL                                                                                           \
        for (unsigned q = 0; q < 4; q++)                                                                     \
            sums[r][q] = vdotq_laneq_s32(sums[r][q], v.val[q], weights[r], lane);                            \
    }
    for (unsigned block = 0; block < blocks; block++, values += 4 * quad_bytes) {
        int8x16_t weights[ATTENTION_ROWS];
        UNROLL
        for (unsigned r = 0; r < rows; r++)
            weights[r] = vld1q_s8(p[r] + block * BLOCK_KEYS);
        KEY_QUAD(0)
        KEY_QUAD(1)
        KEY_QUAD(2)
        KEY_QUAD(3)
    }
#undef KEY_QUAD
}

// out = out * alpha + sums * unit, 16 dims.
ALWAYS_INLINE void add_to_row(float *out, const int32x4_t sums[4], float unit, float alpha) {
    float32x4x4_t o = vld1q_f32_x4(out);
    if (alpha != 1.0f) { // the maximum moved; otherwise the multiplication would change nothing
        UNROLL
        for (unsigned q = 0; q < 4; q++)
            o.val[q] = vmulq_n_f32(o.val[q], alpha);
    }
    UNROLL
    for (unsigned q = 0; q < 4; q++)
        o.val[q] = vaddq_f32(o.val[q], vmulq_f32(vcvtq_f32_s32(sums[q]), vdupq_n_f32(unit)));
    vst1q_f32_x4(out, o);
}

ALWAYS_INLINE void add_values(const unsigned rows, struct attention_tile *tile, const int8_t *values,
                              unsigned blocks, const struct page_state *state) {
    const size_t quad_bytes = 4 * tile->head_dim;
    for (unsigned i = 0; i < tile->head_dim; i += 16, values += 64) {
        int32x4_t sums[ATTENTION_ROWS][4];
        UNROLL
        for (unsigned r = 0; r < rows; r++)
            UNROLL
        for (unsigned q = 0; q < 4; q++)
            sums[r][q] = vdupq_n_s32(0);
        add_half(rows, sums, values, quad_bytes, blocks, state->probabilities[0]);
        UNROLL
        for (unsigned r = 0; r < rows; r++)
            UNROLL
        for (unsigned q = 0; q < 4; q++)
            sums[r][q] = vshlq_n_s32(sums[r][q], 7);
        add_half(rows, sums, values, quad_bytes, blocks, state->probabilities[1]);
        UNROLL
        for (unsigned r = 0; r < rows; r++)
            if (tile->from[r] < tile->to[r])
                add_to_row(tile->out[r] + i, sums[r], state->unit[r], state->alpha[r]);
    }
}

ALWAYS_INLINE void page_rows(const unsigned rows, struct attention_tile *tile, unsigned which,
                             uint8_t *page) {
    struct page_state state;
    unsigned end = 0;
    for (unsigned r = 0; r < rows; r++)
        end = tile->to[r] > end ? tile->to[r] : end;
    unsigned blocks = (end + BLOCK_KEYS - 1) / BLOCK_KEYS;
    for (unsigned block = 0; block < blocks; block++)
        block_scores(rows, tile, which, kv_keys(page), block, &state);
    const float *key_scales = kv_key_scales(page, tile->head_dim);
    const float *value_scales = kv_value_scales(page, tile->head_dim);
    for (unsigned r = 0; r < rows; r++) {
        if (tile->from[r] == 0 && tile->to[r] == KV_PAGE_TOKENS)
            row_softmax_full(tile, which, r, key_scales, value_scales, &state);
        else if (tile->from[r] < tile->to[r])
            row_softmax_masked(tile, which, r, key_scales, value_scales, blocks * BLOCK_KEYS, &state);
        else
            for (unsigned half = 0; half < 2; half++)
                memset(state.probabilities[half][r], 0, KV_PAGE_TOKENS);
    }
    add_values(rows, tile, kv_values(page, tile->head_dim), blocks, &state);
}

void attention_page(struct attention_tile *tile, unsigned which, uint8_t *page) {
    switch (tile->rows) {
    case 1:
        page_rows(1, tile, which, page);
        break;
    case 2:
        page_rows(2, tile, which, page);
        break;
    case 3:
        page_rows(3, tile, which, page);
        break;
    default:
        page_rows(4, tile, which, page);
    }
}
