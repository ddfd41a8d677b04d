// SPDX-License-Identifier: Apache-2.0
// KV cache and attention from their definitions: one query, one head, one key at a time, addressing slots by
// position.
#include "kernels/exp2.h"
#include "kernels/reference/reference.h"
#include "schema/image.h"

// Physical page of `page`, recomputed from the rule instead of the map.
static uint8_t *page_at(const struct kv_ring *ring, unsigned layer, unsigned head, uint32_t page) {
    unsigned physical = page == 0 ? 0 : 1 + (page - 1) % (ring->page_count - 1);
    size_t at = ((size_t)layer * ring->shape.kv_heads + head) * ring->page_count + physical;
    return ring->pages + at * KV_PAGE_BYTES(ring->shape.head_dim);
}

static int8_t *key_at(uint8_t *page, unsigned head_dim, unsigned slot, unsigned i) {
    return (int8_t *)page + ((slot / 4 * (head_dim / 4) + i / 4) * 4 + slot % 4) * 4 + i % 4;
}

static int8_t *value_at(uint8_t *page, unsigned head_dim, unsigned slot, unsigned i) {
    return (int8_t *)page + 32 * head_dim + (slot / 4 * head_dim + i) * 4 + slot % 4;
}

static float *scale_at(uint8_t *page, unsigned head_dim, int value, unsigned slot) {
    return (float *)(page + 64 * head_dim) + (value ? 32 : 0) + slot;
}

void reference_kv_cache_update(const struct kv_ring *ring, unsigned layer, const struct kv_update *update) {
    unsigned head_dim = ring->shape.head_dim;
    for (unsigned row = 0; row < update->rows; row++) {
        uint32_t position = update->position + row;
        unsigned slot = position % 32;
        for (unsigned head = 0; head < ring->shape.kv_heads; head++) {
            uint8_t *page = page_at(ring, layer, head, position / 32);
            size_t at = row * update->stride + head * head_dim;
            int8_t key[2 * ROPE_PAIRS_MAX], value[2 * ROPE_PAIRS_MAX];
            *scale_at(page, head_dim, 0, slot) = reference_rotate_and_quantize(
                (const float *)update->keys + at, update->rope + row * head_dim, head_dim, key);
            *scale_at(page, head_dim, 1, slot) =
                reference_rotate_and_quantize((const float *)update->values + at, NULL, head_dim, value);
            for (unsigned i = 0; i < head_dim; i++) {
                *key_at(page, head_dim, slot, i) = key[i];
                *value_at(page, head_dim, slot, i) = value[i];
            }
            // Of the run of 16 slots, those still to come: a probability of 0 must not meet an infinite
            // scale.
            for (unsigned next = slot + 1; next % 16 != 0; next++)
                *scale_at(page, head_dim, 1, next) = 0.0f;
        }
    }
}

struct row {
    int16_t query[2 * ROPE_PAIRS_MAX];
    float out[2 * ROPE_PAIRS_MAX];
    float scale, sum;
    uint32_t top;
    enum attention_form form;
};

// 2^(a - b) of two scores' bits, 0 from 127 down on.
static float exponent(uint32_t a, uint32_t b) {
    uint32_t floor = b - EXP2_ZERO_STEPS;
    return exp2_steps(a > floor ? a - floor : 0);
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return (int32_t)a > (int32_t)b ? a : b;
}

// Keys at positions [from, to), which lie in one block; the last one divides by the sum.
static void fold_block(struct row *row, const struct kv_ring *ring, unsigned layer, unsigned head,
                       uint32_t from, uint32_t to, int last) {
    unsigned head_dim = ring->shape.head_dim;
    float pv[ATTENTION_BLOCK], lane[4] = {0}, largest = 0.0f;
    uint32_t score[ATTENTION_BLOCK], top = row->top;
    for (uint32_t j = from; j < to; j++) {
        uint8_t *page = page_at(ring, layer, head, j / 32);
        int32_t dot = 0;
        for (unsigned i = 0; i < head_dim; i++)
            dot += row->query[i] * *key_at(page, head_dim, j % 32, i);
        float scaled = (float)dot * *scale_at(page, head_dim, 0, j % 32);
        score[j - from] = float_bits(__builtin_fmaf(scaled, row->scale, SCORE_OFFSET));
        top = larger(top, score[j - from]);
    }
    for (uint32_t j = from; j < to; j++) {
        float p = exponent(score[j - from], top);
        lane[j % 4] += p;
        pv[j - from] = p * *scale_at(page_at(ring, layer, head, j / 32), head_dim, 1, j % 32);
        largest = pv[j - from] > largest ? pv[j - from] : largest;
    }
    float alpha = exponent(row->top, top);
    row->sum = __builtin_fmaf(row->sum, alpha, (lane[0] + lane[1]) + (lane[2] + lane[3]));
    row->top = top;
    float over = last ? 1.0f / row->sum : 1.0f;
    int counts = largest >= ACTIVATION_TINY;
    float unit = counts ? largest * (1.0f / PROBABILITY_MAX) : 0.0f;
    if (row->form == ATTENTION_FORM_INT8_PV)
        unit *= 256.0f;
    float factor = counts ? PROBABILITY_MAX / largest : 0.0f;
    int32_t total[2 * ROPE_PAIRS_MAX] = {0};
    for (uint32_t j = from; j < to; j++) {
        uint8_t *page = page_at(ring, layer, head, j / 32);
        float rounded = __builtin_fmaf(pv[j - from], factor, ROUND_MAGIC); // half to even
        int32_t u = (int32_t)float_bits(rounded) - ROUND_MAGIC_BITS;
        if (row->form == ATTENTION_FORM_INT8_PV)
            u = (u + 128) >> 8;
        for (unsigned i = 0; i < head_dim; i++)
            total[i] += u * *value_at(page, head_dim, j % 32, i);
    }
    for (unsigned i = 0; i < head_dim; i++)
        row->out[i] = __builtin_fmaf((float)total[i], unit * over, row->out[i] * (alpha * over));
}

static void quantize_query(struct row *row, const float *x, const float *rope, unsigned head_dim) {
    if (row->form == ATTENTION_FORM_INT16) {
        row->scale = reference_rotate_and_quantize_16(x, rope, head_dim, row->query);
    } else {
        int8_t q[2 * ROPE_PAIRS_MAX];
        row->scale = reference_rotate_and_quantize(x, rope, head_dim, q);
        for (unsigned i = 0; i < head_dim; i++)
            row->query[i] = q[i];
    }
    row->scale *= LOG2_E / reference_square_root((float)head_dim);
}

static void attend(const struct kv_ring *ring, unsigned layer, const struct attention *job, unsigned token,
                   unsigned head) {
    unsigned head_dim = ring->shape.head_dim;
    unsigned kv_head = head / (job->heads / ring->shape.kv_heads);
    uint32_t position = job->position + token;
    size_t at = token * job->stride + head * head_dim;
    struct row row = {.form = job->form};
    uint32_t first = 0;
    if (position >= ring->shape.context) {
        first = position - (ring->shape.context - KV_SINKS) + 1;
        quantize_query(&row, (const float *)job->queries + at, job->sink_rope, head_dim);
        fold_block(&row, ring, layer, kv_head, 0, KV_SINKS, 0);
    }
    quantize_query(&row, (const float *)job->queries + at, job->rope + token * head_dim, head_dim);
    for (uint32_t from = first, to; from <= position; from = to) {
        to = (from / ATTENTION_BLOCK + 1) * ATTENTION_BLOCK;
        to = to <= position ? to : position + 1;
        fold_block(&row, ring, layer, kv_head, from, to, to > position);
    }
    for (unsigned i = 0; i < head_dim; i++)
        job->out[at + i] = row.out[i];
}

void reference_attention(const struct kv_ring *ring, unsigned layer, const struct attention *job) {
    for (unsigned token = 0; token < job->rows; token++)
        for (unsigned head = 0; head < job->heads; head++)
            attend(ring, layer, job, token, head);
}
