// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <stdbool.h>

#include "arch/string.h"
#include "kernels/attention_block.h"
#include "kernels/attention_stage.h"
#include "kernels/neon.h"
#include "kernels/rope.h"

// The heads of a group and the tokens of a batch, flattened: row r is token r / group, head r % group of the
// group.
struct tile_job {
    const struct kv_ring *ring;
    const struct attention *job;
    unsigned core, kv_head, rows;
    float score_factor;
    unsigned token[ATTENTION_ROWS]; // of the job
    size_t at[ATTENTION_ROWS];      // floats from row 0 of out
};

_Static_assert(ATTENTION_TILE == ATTENTION_ROWS, "a tile is one core's");

static void place_rows(struct tile_job *t, unsigned group, unsigned first) {
    const size_t head_dim = t->ring->shape.head_dim, stride = t->job->stride;
    unsigned token = first / group, head = first % group;
    size_t at = token * stride + (t->kv_head * group + head) * head_dim;
    for (unsigned r = 0; r < t->rows; r++, at += head_dim) {
        t->token[r] = token;
        t->at[r] = at;
        if (++head == group) {
            head = 0;
            token++;
            at += stride - group * head_dim;
        }
    }
}

static uint32_t tile_position(const struct tile_job *t, unsigned row) {
    return t->job->position + t->token[row];
}

// 1 / sqrt(head_dim), and base 2 instead of e.
static float score_factor(unsigned head_dim) {
    return LOG2_E / square_root((float)head_dim);
}

// Queries of 16 bits in two halves, which take two rows of `queries` each.
__attribute__((noinline)) static void split_queries(const struct head_input *heads, unsigned rows,
                                                    unsigned head_dim, int8_t (*queries)[2 * ROPE_PAIRS_MAX],
                                                    float *scales) {
    float rotated[ATTENTION_ROWS][2 * ROPE_PAIRS_MAX], factors[ATTENTION_ROWS];
    rotate_and_measure(heads, rows, head_dim, PROBABILITY_MAX, rotated, scales, factors);
    for (unsigned r = 0; r < rows; r++) {
        if (factors[r] != 0.0f)
            attention_probabilities((const uint32_t *)rotated[r], head_dim / GROUP_KEYS,
                                    (int8_t(*)[2][GROUP_KEYS])queries[2 * r], factors[r]);
        else
            memset(queries[2 * r], 0, 2 * sizeof *queries);
    }
}

// The tile's queries, rotated by `rope` of their token, or all by the same when `stride` is 0.
static void quantize_queries(const struct tile_job *t, const float *rope, unsigned stride,
                             int8_t (*queries)[2 * ROPE_PAIRS_MAX], float *scales) {
    struct head_input heads[ATTENTION_ROWS];
    const unsigned head_dim = t->ring->shape.head_dim;
    const float factor = t->score_factor;
    for (unsigned r = 0; r < t->rows; r++)
        heads[r] = (struct head_input){t->job->queries + t->at[r], rope + (size_t)t->token[r] * stride};
    if (t->job->form == ATTENTION_FORM_INT16)
        split_queries(heads, t->rows, head_dim, queries, scales);
    else
        rotate_and_quantize(heads, t->rows, head_dim, queries, scales);
    for (unsigned r = 0; r < t->rows; r++)
        scales[r] *= factor;
}

static void prepare_rows(const struct tile_job *t, struct attention_tile *tile) {
    unsigned head_dim = t->ring->shape.head_dim;
    tile->head_dim = head_dim;
    tile->rows = t->rows;
    tile->form = t->job->form;
    tile->stage = NULL;
    quantize_queries(t, t->job->rope, head_dim, tile->query[0], tile->scale[0]);
    if (tile_position(t, t->rows - 1) >= t->ring->shape.context)
        quantize_queries(t, t->job->sink_rope, 0, tile->query[1], tile->scale[1]);
    for (unsigned r = 0; r < t->rows; r++) {
        tile->top[r] = 0;
        tile->sum[r] = 0.0f;
        tile->result[r] = t->job->out + t->at[r];
    }
}

// Keys that each row sees of the block that starts at `start`, after the sinks once the context has
// overflowed. Returns the end of what any row sees.
static unsigned visible_keys(const struct tile_job *t, uint32_t start, struct attention_tile *tile) {
    unsigned to = 0;
    for (unsigned r = 0; r < t->rows; r++) {
        const uint32_t at = tile_position(t, r), first = kv_first_visible(t->ring, at);
        tile->from[r] = first > start ? first - start : 0;
        to = at < start ? 0 : at + 1 - start;
        tile->last[r] = to <= ATTENTION_BLOCK ? UINT32_MAX : 0;
        to = to < ATTENTION_BLOCK ? to : ATTENTION_BLOCK;
        tile->to[r] = to;
    }
    return to;
}

// The same of the block of sinks, which only rows beyond the context meet.
static void visible_sinks(const struct tile_job *t, struct attention_tile *tile) {
    for (unsigned r = 0; r < t->rows; r++) {
        tile->from[r] = 0;
        tile->to[r] = tile_position(t, r) >= t->ring->shape.context ? KV_SINKS : 0;
        tile->last[r] = 0;
    }
}

static void find_groups(const struct tile_job *t, unsigned layer, uint32_t start, unsigned from, unsigned to,
                        struct key_group *groups) {
    const unsigned head_dim = t->ring->shape.head_dim;
    for (unsigned key = from / KV_PAGE_TOKENS * KV_PAGE_TOKENS; key < to; key += KV_PAGE_TOKENS) {
        uint8_t *page = kv_ring_page(t->ring, t->core, layer, t->kv_head, (start + key) / KV_PAGE_TOKENS);
        for (unsigned at = 0; at < KV_PAGE_TOKENS; at += GROUP_KEYS)
            groups[(key + at) / GROUP_KEYS] =
                (struct key_group){kv_keys(page) + at * head_dim, kv_key_scales(page, head_dim) + at};
    }
}

__attribute__((noinline)) static void walk_block(const struct tile_job *t, unsigned layer, uint32_t start,
                                                 struct attention_tile *tile) {
    struct key_group groups[BLOCK_GROUPS];
    const unsigned end = visible_keys(t, start, tile);
    find_groups(t, layer, start, tile->from[0], end, groups);
    attention_block(tile, 0, groups);
}

static void walk_sinks(const struct tile_job *t, unsigned layer, struct attention_tile *tile) {
    struct key_group groups[BLOCK_GROUPS];
    visible_sinks(t, tile);
    find_groups(t, layer, 0, 0, KV_SINKS, groups);
    attention_block(tile, 1, groups);
}

static void walk_blocks(const struct tile_job *t, unsigned layer, struct attention_tile *tile) {
    uint32_t oldest = kv_first_visible(t->ring, tile_position(t, 0));
    uint32_t newest = tile_position(t, t->rows - 1);
    if (newest >= t->ring->shape.context)
        walk_sinks(t, layer, tile);
    for (uint32_t start = oldest / ATTENTION_BLOCK * ATTENTION_BLOCK; start <= newest;
         start += ATTENTION_BLOCK)
        walk_block(t, layer, start, tile);
}

// All blocks of the stage, whatever of them the tile sees.
static void walk_stage(const struct tile_job *t, unsigned layer, unsigned first,
                       struct attention_tile *tile) {
    const struct attention_stage *stage = t->job->stage;
    uint32_t start = stage->start;
    tile->stage = stage;
    tile->stage_row = first - stage->first;
    tile->stage_block = 0;
    if (stage->sinks)
        walk_sinks(t, layer, tile);
    for (; tile->stage_block < stage->blocks; start += ATTENTION_BLOCK)
        walk_block(t, layer, start, tile);
}

// Rows of head->kv_head from `first` up to, not including, `end`, a tile at most. Returns how many keys they
// have seen.
__attribute__((noinline)) static uint64_t run_tile(const struct tile_job *head, unsigned layer,
                                                   unsigned first, unsigned end) {
    struct tile_job t = *head;
    struct attention_tile tile;
    uint64_t seen = 0;
    t.rows = end - first < ATTENTION_ROWS ? end - first : ATTENTION_ROWS;
    place_rows(&t, t.job->heads / t.ring->shape.kv_heads, first);
    prepare_rows(&t, &tile);
    if (t.job->stage != NULL)
        walk_stage(&t, layer, first, &tile);
    else
        walk_blocks(&t, layer, &tile);
    for (unsigned r = 0; r < t.rows; r++)
        seen += kv_visible(t.ring, tile_position(&t, r));
    return seen;
}

uint64_t attention(const struct kv_ring *ring, unsigned layer, const struct attention *job,
                   struct share share) {
    const struct attention_stage *stage = job->stage;
    const unsigned group = job->heads / ring->shape.kv_heads;
    const unsigned head = stage ? stage->kv_head : 0, heads = stage ? head + 1 : ring->shape.kv_heads;
    const unsigned row = stage ? stage->first : 0, end = stage ? row + stage->rows : job->rows * group;
    const bool by_tokens = stage || attention_is_by_tokens(job->rows, share);
    struct tile_job t = {
        .ring = ring, .job = job, .core = share.part, .score_factor = score_factor(ring->shape.head_dim)};
    unsigned unit = 0;
    uint64_t seen = 0;
    for (t.kv_head = head; t.kv_head < heads; t.kv_head++) {
        for (unsigned first = row; first < end; first += ATTENTION_ROWS) {
            if (job->alone ||
                (by_tokens ? attention_has_row(job, group, first, share) : is_dealt(share, unit++)))
                seen += run_tile(&t, layer, first, end);
        }
    }
    return seen;
}
