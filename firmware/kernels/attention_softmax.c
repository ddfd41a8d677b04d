// SPDX-License-Identifier: Apache-2.0
// The online softmax over one page: scores to probabilities of 14 bits.
#include <stdbool.h>

#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/attention_page.h"

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

void softmax_full_page(struct attention_tile *tile, unsigned which, unsigned r, const float *key_scales,
                       const float *value_scales, struct page_state *state) {
    row_softmax(false, tile, which, r, key_scales, value_scales, KV_PAGE_TOKENS, state);
}

void softmax_part_of_page(struct attention_tile *tile, unsigned which, unsigned r, const float *key_scales,
                          const float *value_scales, unsigned keys, struct page_state *state) {
    row_softmax(true, tile, which, r, key_scales, value_scales, keys, state);
}
