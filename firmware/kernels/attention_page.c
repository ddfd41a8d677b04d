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
    int32_t scores[ATTENTION_ROWS][KV_PAGE_TOKENS];       // dots, offset by ROUND_MAGIC_BITS
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

// Scores of one block of keys. The accumulators start at the bits of 1.5 * 2^23, so that one subtraction converts them
// to float: |dot| <= 127 * 127 * 256 < 2^22.
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
            vst1q_s32(state->scores[r] + block * BLOCK_KEYS + 4 * q, dots[r][q]);
}

// All ones where from <= slot < to.
ALWAYS_INLINE uint32x4_t visible_mask(unsigned slot, uint32_t from, uint32_t to) {
    static const uint32_t lanes[4] = {0, 1, 2, 3};
    uint32x4_t at = vaddq_u32(vld1q_u32(lanes), vdupq_n_u32(slot - from));
    return vcltq_u32(at, vdupq_n_u32(to - from));
}

// Scores to probabilities: steps s to u of attention.h for one row over the first `blocks` blocks.
static void row_softmax(struct attention_tile *tile, unsigned which, unsigned r, const float *key_scales,
                        const float *value_scales, unsigned blocks, struct page_state *state) {
    const float32x4_t magic = vdupq_n_f32(ROUND_MAGIC), no_score = vdupq_n_f32(ATTENTION_NO_SCORE);
    const unsigned keys = blocks * BLOCK_KEYS;
    const uint32_t from = tile->from[r], to = tile->to[r];
    const bool masked = from > 0 || to < keys;
    float32x4_t s[KV_PAGE_TOKENS / 4];
    int32x4_t highest = ordered_f32x4(no_score);
    for (unsigned i = 0; i < keys; i += 4) {
        float32x4_t dot = vsubq_f32(vreinterpretq_f32_s32(vld1q_s32(state->scores[r] + i)), magic);
        float32x4_t score = vmulq_f32(dot, vmulq_n_f32(vld1q_f32(key_scales + i), tile->scale[which][r]));
        if (masked)
            score = vbslq_f32(visible_mask(i, from, to), score, no_score);
        highest = vmaxq_s32(highest, ordered_f32x4(score));
        s[i / 4] = score;
    }
    float page_top = float_from_ordered(vmaxvq_s32(highest));
    float top = page_top > tile->top[r] ? page_top : tile->top[r];
    float32x4_t sums = vdupq_n_f32(0.0f);
    uint32x4_t largest = vdupq_n_u32(0);
    for (unsigned i = 0; i < keys; i += 4) {
        float32x4_t p = exp2_negative_f32x4(vsubq_f32(vdupq_n_f32(top), s[i / 4]));
        float32x4_t pv = vmulq_f32(p, vld1q_f32(value_scales + i));
        if (masked) {
            uint32x4_t mask = visible_mask(i, from, to);
            p = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(p), mask));
            pv = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(pv), mask));
        }
        sums = vaddq_f32(sums, p);
        largest = vmaxq_u32(largest, vreinterpretq_u32_f32(pv));
        s[i / 4] = pv;
    }
    float pv_top = float_from_bits(vmaxvq_u32(largest));
    bool negligible = pv_top < ACTIVATION_TINY;
    state->alpha[r] = exp2_negative(top - tile->top[r]);
    state->unit[r] = negligible ? 0.0f : pv_top / PROBABILITY_MAX;
    tile->sum[r] = tile->sum[r] * state->alpha[r] + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    tile->top[r] = top;
    float32x4_t factor = vdupq_n_f32(negligible ? 0.0f : PROBABILITY_MAX / pv_top);
    for (unsigned i = 0; i < keys; i += 16) {
        uint16x8_t u[2];
        for (unsigned half = 0; half < 2; half++) {
            uint32x4_t u0 = vreinterpretq_u32_s32(round_f32x4(vmulq_f32(s[i / 4 + 2 * half], factor)));
            uint32x4_t u1 = vreinterpretq_u32_s32(round_f32x4(vmulq_f32(s[i / 4 + 2 * half + 1], factor)));
            u[half] = vmovn_high_u32(vmovn_u32(u0), u1);
        }
        uint8x16_t upper = vshrn_high_n_u16(vshrn_n_u16(u[0], 7), u[1], 7);
        uint8x16_t lower = vandq_u8(vmovn_high_u16(vmovn_u16(u[0]), u[1]), vdupq_n_u8(127));
        vst1q_s8(state->probabilities[0][r] + i, vreinterpretq_s8_u8(upper));
        vst1q_s8(state->probabilities[1][r] + i, vreinterpretq_s8_u8(lower));
    }
}

// Adds one half of the probabilities times 16 dims of the values: sums[r][q] += p[r] * v, 4 dims per q.
ALWAYS_INLINE void add_half(const unsigned rows, int32x4_t sums[ATTENTION_ROWS][4], const int8_t *values,
                            size_t quad_bytes, unsigned blocks, const int8_t p[ATTENTION_ROWS][KV_PAGE_TOKENS]) {
#define KEY_QUAD(lane)                                                                                                 \
    {                                                                                                                  \
        const int8x16x4_t v = vld1q_s8_x4(values + lane * quad_bytes);                                                 \
        UNROLL                                                                                                         \
        for (unsigned r = 0; r < rows; r++)                                                                            \
            UNROLL                                                                                                     \
            for (unsigned q = 0; q < 4; q++)                                                                           \
                sums[r][q] = vdotq_laneq_s32(sums[r][q], v.val[q], weights[r], lane);                                  \
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

static void add_to_row(float *out, int32x4_t sum, float32x4_t unit, float alpha) {
    float32x4_t term = vmulq_f32(vcvtq_f32_s32(sum), unit);
    float32x4_t old = vld1q_f32(out);
    if (alpha != 1.0f) // the maximum moved; otherwise the multiplication would change nothing
        old = vmulq_n_f32(old, alpha);
    vst1q_f32(out, vaddq_f32(old, term));
}

ALWAYS_INLINE void add_values(const unsigned rows, struct attention_tile *tile, const int8_t *values, unsigned blocks,
                              const struct page_state *state) {
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
                UNROLL
                for (unsigned q = 0; q < 4; q++)
                    add_to_row(tile->out[r] + i + 4 * q, sums[r][q], vdupq_n_f32(state->unit[r]), state->alpha[r]);
    }
}

ALWAYS_INLINE void page_rows(const unsigned rows, struct attention_tile *tile, unsigned which, uint8_t *page) {
    struct page_state state;
    unsigned end = 0;
    for (unsigned r = 0; r < rows; r++)
        end = tile->to[r] > end ? tile->to[r] : end;
    unsigned blocks = (end + BLOCK_KEYS - 1) / BLOCK_KEYS;
    for (unsigned block = 0; block < blocks; block++)
        block_scores(rows, tile, which, kv_keys(page), block, &state);
    for (unsigned r = 0; r < rows; r++) {
        if (tile->from[r] < tile->to[r]) {
            row_softmax(tile, which, r, kv_key_scales(page, tile->head_dim), kv_value_scales(page, tile->head_dim),
                        blocks, &state);
        } else {
            memset(state.probabilities[0][r], 0, KV_PAGE_TOKENS);
            memset(state.probabilities[1][r], 0, KV_PAGE_TOKENS);
        }
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
