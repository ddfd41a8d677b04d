// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_page.h"

#include "arch/string.h"

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
    for (unsigned r = 0; r < rows; r++) {
        UNROLL
        for (unsigned q = 0; q < 4; q++)
            dots[r][q] = vdupq_n_s32(ROUND_MAGIC_BITS);
    }
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
    for (unsigned r = 0; r < rows; r++) {
        UNROLL
        for (unsigned q = 0; q < 4; q++)
            vst1q_f32(state->scores[r] + block * BLOCK_KEYS + 4 * q, vreinterpretq_f32_s32(dots[r][q]));
    }
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
        for (unsigned r = 0; r < rows; r++) {
            UNROLL
            for (unsigned q = 0; q < 4; q++)
                sums[r][q] = vdupq_n_s32(0);
        }
        add_half(rows, sums, values, quad_bytes, blocks, state->probabilities[0]);
        UNROLL
        for (unsigned r = 0; r < rows; r++) {
            UNROLL
            for (unsigned q = 0; q < 4; q++)
                sums[r][q] = vshlq_n_s32(sums[r][q], 7);
        }
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
            softmax_full_page(tile, which, r, key_scales, value_scales, &state);
        else if (tile->from[r] < tile->to[r])
            softmax_part_of_page(tile, which, r, key_scales, value_scales, blocks * BLOCK_KEYS, &state);
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
