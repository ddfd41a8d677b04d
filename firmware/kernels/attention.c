// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include "arch/string.h"
#include "kernels/attention_page.h"
#include "kernels/rope.h"

// The heads of a group and the tokens of a batch, flattened: row r is token r / group, head r % group of the
// group.
struct tile_job {
    const struct kv_ring *ring;
    const struct attention *job;
    unsigned core, kv_head, group, first_row, rows;
};

static uint32_t tile_position(const struct tile_job *t, unsigned row) {
    return t->job->position + (t->first_row + row) / t->group;
}

static size_t tile_offset(const struct tile_job *t, unsigned row) {
    unsigned at = t->first_row + row;
    unsigned head = t->kv_head * t->group + at % t->group;
    return at / t->group * t->job->stride + (size_t)head * t->ring->shape.head_dim;
}

// 1 / sqrt(head_dim), and base 2 instead of e.
static float score_factor(unsigned head_dim) {
    return LOG2_E / square_root((float)head_dim);
}

static void prepare_rows(const struct tile_job *t, struct attention_tile *tile) {
    unsigned head_dim = t->ring->shape.head_dim;
    float factor = score_factor(head_dim);
    tile->head_dim = head_dim;
    tile->rows = t->rows;
    for (unsigned r = 0; r < t->rows; r++) {
        const float *query = t->job->queries + tile_offset(t, r);
        const int16_t *rope = t->job->rope + (size_t)((t->first_row + r) / t->group) * head_dim;
        tile->scale[0][r] = rotate_and_quantize(query, rope, head_dim, tile->query[0][r]) * factor;
        if (tile_position(t, r) >= t->ring->shape.context)
            tile->scale[1][r] =
                rotate_and_quantize(query, t->job->sink_rope, head_dim, tile->query[1][r]) * factor;
        tile->top[r] = ATTENTION_NO_SCORE;
        tile->sum[r] = 0.0f;
        memset(tile->out[r], 0, head_dim * sizeof(float));
    }
}

// Keys of `page` that each row sees, in slots of the page: [from, to), empty when none. True when any row
// sees one.
static bool visible_slots(const struct tile_job *t, uint32_t page, bool sinks, struct attention_tile *tile) {
    uint32_t start = page * KV_PAGE_TOKENS;
    bool any = false;
    for (unsigned r = 0; r < t->rows; r++) {
        uint32_t position = tile_position(t, r);
        uint32_t first = kv_first_visible(t->ring, position), end = position + 1;
        if (sinks) {
            bool overflowed = position >= t->ring->shape.context;
            first = 0;
            end = overflowed ? KV_SINKS : 0;
        }
        first = first > start ? first - start : 0;
        end = end > start ? end - start : 0;
        tile->from[r] = first;
        tile->to[r] = end < KV_PAGE_TOKENS ? end : KV_PAGE_TOKENS;
        any |= tile->from[r] < tile->to[r];
    }
    return any;
}

static void walk_pages(const struct tile_job *t, unsigned layer, struct attention_tile *tile) {
    uint32_t oldest = kv_first_visible(t->ring, tile_position(t, 0)) / KV_PAGE_TOKENS;
    uint32_t newest = tile_position(t, t->rows - 1) / KV_PAGE_TOKENS;
    if (visible_slots(t, 0, true, tile))
        attention_page(tile, 1, kv_ring_page(t->ring, t->core, layer, t->kv_head, 0));
    for (uint32_t page = oldest; page <= newest; page++)
        if (visible_slots(t, page, false, tile))
            attention_page(tile, 0, kv_ring_page(t->ring, t->core, layer, t->kv_head, page));
}

static void store_rows(const struct tile_job *t, const struct attention_tile *tile) {
    for (unsigned r = 0; r < t->rows; r++) {
        float *out = t->job->out + tile_offset(t, r);
        float32x4_t factor = vdupq_n_f32(1.0f / tile->sum[r]);
        for (unsigned i = 0; i < tile->head_dim; i += 4)
            vst1q_f32(out + i, vmulq_f32(vld1q_f32(tile->out[r] + i), factor));
    }
}

uint64_t attention(const struct kv_ring *ring, unsigned layer, const struct attention *job,
                   struct share share) {
    struct attention_tile tile;
    unsigned group = job->heads / ring->shape.kv_heads, rows = job->rows * group, unit = 0;
    uint64_t seen = 0;
    for (unsigned kv_head = 0; kv_head < ring->shape.kv_heads; kv_head++) {
        for (unsigned first = 0; first < rows; first += ATTENTION_ROWS) {
            if (!is_dealt(share, unit++))
                continue;
            struct tile_job t = {ring, job, share.part, kv_head, group, first, rows - first};
            if (t.rows > ATTENTION_ROWS)
                t.rows = ATTENTION_ROWS;
            prepare_rows(&t, &tile);
            walk_pages(&t, layer, &tile);
            store_rows(&t, &tile);
            for (unsigned r = 0; r < t.rows; r++)
                seen += kv_visible(ring, tile_position(&t, r));
        }
    }
    return seen;
}
