// SPDX-License-Identifier: Apache-2.0
#include "engine/offload_attention.h"

#include "arch/cache.h"
#include "engine/offload_job.h"
#include "hal/npu.h"
#include "kernels/attention_stage.h"
#include "link/telemetry.h"

// How many pieces a core is ahead of what it finishes: between that and the next use of the memory lies a
// barrier, since another core may have the same rows then.
#define LAG (OFFLOAD_PIECES - 2)

// One piece: some tokens of a KV head.
struct piece {
    struct attention_stage stage;
    uint64_t seen; // keys, summed over its rows
};

static unsigned group_of(const struct forward *f) {
    return f->model->header->heads / f->model->header->kv_heads;
}

static unsigned piece_count(const struct forward *f, const struct attention *job) {
    return (job->rows + OFFLOAD_PIECE_TOKENS - 1) / OFFLOAD_PIECE_TOKENS * f->model->header->kv_heads;
}

static struct piece piece_at(const struct pass *p, const struct attention *job, unsigned n) {
    const struct forward *f = p->f;
    const struct kv_ring *ring = &f->ring;
    const struct offload_piece *memory = &f->npu.piece[n % OFFLOAD_PIECES];
    const unsigned group = group_of(f), heads = ring->shape.kv_heads;
    const unsigned token = n / heads * OFFLOAD_PIECE_TOKENS, left = job->rows - token,
                   count = left < OFFLOAD_PIECE_TOKENS ? left : OFFLOAD_PIECE_TOKENS;
    const uint32_t position = job->position + token, newest = position + count - 1;
    struct piece piece = {.stage = {.values = memory->values,
                                    .factors = memory->factors,
                                    .kv_head = n % heads,
                                    .first = token * group,
                                    .rows = count * group,
                                    .sinks = newest >= ring->shape.context,
                                    .oldest = kv_first_visible(ring, position),
                                    .end = newest + 1,
                                    .int8 = job->form == ATTENTION_FORM_INT8_PV}};
    piece.stage.start = piece.stage.oldest / STAGE_KEYS * STAGE_KEYS;
    piece.stage.blocks = newest / STAGE_KEYS - piece.stage.start / STAGE_KEYS + 1 + piece.stage.sinks;
    for (uint32_t at = position; at <= newest; at++)
        piece.seen += (uint64_t)group * kv_visible(ring, at);
    return piece;
}

// The values of every page that some token of the job sees may be in caches only: answers' tokens, too.
static void clean_pages(const struct pass *p, const struct attention *job) {
    const struct kv_ring *ring = &p->f->ring;
    const unsigned head_dim = ring->shape.head_dim;
    const uint32_t first = kv_first_visible(ring, job->position) / KV_PAGE_TOKENS,
                   last = (job->position + job->rows - 1) / KV_PAGE_TOKENS;
    unsigned unit = 0;
    for (unsigned head = 0; head < ring->shape.kv_heads; head++)
        for (uint32_t page = 0; page <= last; page = page < first ? first : page + 1) // and the sinks'
            if (is_dealt(p->share, unit++))
                cache_begin_clean(
                    kv_values(kv_ring_page(ring, p->share.part, p->layer, head, page), head_dim),
                    (size_t)KV_PAGE_TOKENS * head_dim);
    cache_complete();
}

// Core 0: where the values of the piece's pages lie; 0 for those that no row sees.
static void find_pages(const struct pass *p, const struct attention_stage *stage, uint64_t *pages) {
    const struct kv_ring *ring = &p->f->ring;
    const unsigned in_block = STAGE_KEYS / KV_PAGE_TOKENS;
    for (unsigned block = 0; block < stage->blocks; block++) {
        const struct stage_keys keys = stage_keys(stage, block);
        const uint32_t start =
            stage->sinks && block == 0 ? 0 : stage->start + (block - stage->sinks) * STAGE_KEYS;
        for (unsigned n = 0; n < in_block; n++) {
            const unsigned key = n * KV_PAGE_TOKENS;
            uint8_t *page =
                keys.from <= key && key < keys.to
                    ? kv_ring_page(ring, 0, p->layer, stage->kv_head, (start + key) / KV_PAGE_TOKENS)
                    : NULL;
            pages[block * in_block + n] = page ? (uintptr_t)kv_values(page, ring->shape.head_dim) : 0;
        }
    }
    cache_clean(pages, (size_t)stage->blocks * in_block * sizeof *pages);
}

// Core 0, behind the barrier at which all have put their rows on the stage.
static void submit(const struct pass *p, const struct piece *piece, struct offload_piece *memory) {
    const struct attention_stage *stage = &piece->stage;
    const unsigned head_dim = p->f->ring.shape.head_dim;
    find_pages(p, stage, memory->pages);
    const _Alignas(64) struct npu_job job = {
        .format = stage->int8 ? NPU_WEIGHTS_KV_INT8 : NPU_WEIGHTS_KV_INT16,
        .output = NPU_OUTPUT_F32,
        .rows = stage->rows,
        .k = stage->blocks * STAGE_KEYS,
        .panels = head_dim / NPU_PANEL_COLUMNS,
        .out_stride = (uint32_t)(stage->blocks * head_dim * sizeof(float)),
        .weights = (uintptr_t)memory->pages,
        .values = (uintptr_t)stage->values,
        .out = (uintptr_t)memory->sums};
    memory->job = offload_submit(p, &job, KERNEL_ATTENTION, piece->seen * head_dim);
}

static void put_on_stage(const struct pass *p, const struct attention *job, unsigned n, struct span *span) {
    struct offload_piece *memory = &p->f->npu.piece[n % OFFLOAD_PIECES];
    const struct piece piece = piece_at(p, job, n);
    struct attention part = *job;
    part.stage = &piece.stage;
    const uint64_t seen = attention(&p->f->ring, p->layer, &part, p->share);
    cache_complete();
    span_end(span, KERNEL_ATTENTION, p->layer, seen * p->f->ring.shape.head_dim);
    meet(p);
    if (p->share.part == 0) {
        offload_record(&memory->job);
        submit(p, &piece, memory);
    }
}

// This core's rows of a piece, from the NPU's sums.
static void finish(const struct pass *p, const struct attention *job, unsigned n) {
    const struct offload_piece *memory = &p->f->npu.piece[n % OFFLOAD_PIECES];
    const struct piece piece = piece_at(p, job, n);
    const struct attention_stage *stage = &piece.stage;
    const unsigned head_dim = p->f->ring.shape.head_dim, group = group_of(p->f);
    const size_t width = (size_t)stage->blocks * head_dim;
    struct span span;
    offload_wait_for(p, &memory->job);
    span_begin(&span);
    for (unsigned row = 0; row < stage->rows; row++)
        if (attention_has_row(job, group, stage->first + row, p->share))
            cache_begin_invalidate(memory->sums + row * width, width * sizeof *memory->sums);
    cache_complete();
    for (unsigned row = 0; row < stage->rows; row++)
        if (attention_has_row(job, group, stage->first + row, p->share))
            cache_ask(memory->sums + row * width, width * sizeof *memory->sums);
    for (unsigned row = 0; row < stage->rows; row++) {
        const unsigned r = stage->first + row;
        const float *sums = memory->sums + row * width;
        if (!attention_has_row(job, group, r, p->share))
            continue;
        stage_finish(stage, row, sums, head_dim,
                     job->out + r / group * job->stride + (stage->kv_head * group + r % group) * head_dim);
    }
    span_end(&span, KERNEL_ATTENTION, p->layer, 0);
}

void offload_attention(const struct pass *p, const struct attention *job) {
    const unsigned count = piece_count(p->f, job);
    struct span span;
    span_begin(&span);
    clean_pages(p, job);
    for (unsigned n = 0; n < count; n++) {
        put_on_stage(p, job, n, &span);
        if (n >= LAG)
            finish(p, job, n - LAG);
        span_begin(&span);
    }
    meet(p); // all see the last piece's job
    for (unsigned n = count > LAG ? count - LAG : 0; n < count; n++)
        finish(p, job, n);
}

void offload_attention_drain(struct forward *f) {
    for (struct offload_piece *piece = f->npu.piece; piece < f->npu.piece + OFFLOAD_PIECES; piece++) {
        if (piece->job.sequence != 0)
            npu_wait(piece->job.sequence);
        offload_record(&piece->job);
        piece->job = (struct offload_job){0};
    }
}

bool offload_attention_init(struct forward *f, unsigned context, size_t *needed) {
    const size_t rows = (size_t)OFFLOAD_PIECE_TOKENS * group_of(f) * OFFLOAD_BLOCKS(context);
    bool complete = true;
#define TAKE(pointer, bytes) complete &= ((pointer) = offload_reserve(bytes, needed)) != NULL
    for (struct offload_piece *piece = f->npu.piece; piece < f->npu.piece + OFFLOAD_PIECES; piece++) {
        TAKE(piece->values, rows * stage_block_bytes(false));
        TAKE(piece->factors, rows * sizeof *piece->factors);
        TAKE(piece->sums, rows * f->model->header->head_dim * sizeof *piece->sums);
        TAKE(piece->pages, OFFLOAD_BLOCKS(context) * (STAGE_KEYS / KV_PAGE_TOKENS) * sizeof *piece->pages);
    }
#undef TAKE
    return complete;
}
