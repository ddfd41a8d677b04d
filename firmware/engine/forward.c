// SPDX-License-Identifier: Apache-2.0
// Every core runs through the same code; what `share` gives it is its part. docs/multicore.md has the table.
#include "engine/forward.h"

#include "engine/attend.h"
#include "engine/linear.h"
#include "engine/offload.h"
#include "engine/offload_attention.h"
#include "kernels/embed.h"
#include "kernels/kv_cache.h"
#include "kernels/rope.h"
#include "link/telemetry.h"

// Queries of the rows that go on, keys and values of all; the latter into the ring.
static void project(const struct pass *p) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const unsigned rows = p->first + p->rows;
    const size_t kv = (size_t)h->kv_heads * h->head_dim;
    const struct interval all = {0, rows}, kept = {p->first, rows};
    norm_and_quantize(p, f->residual, p->weights->attn_norm, rows_of(p, rows), &p->weights->k);
    meet(p);
    linear(p, &p->weights->k, all, f->key, kv, KERNEL_LINEAR_K);
    linear(p, &p->weights->v, all, f->value, kv, KERNEL_LINEAR_V);
    add_bias(p, &p->weights->k, p->weights->k_bias, all, f->key);
    add_bias(p, &p->weights->v, p->weights->v_bias, all, f->value);
    if (p->rows != 0) {
        linear(p, &p->weights->q, kept, f->query, p->weights->q.rows, KERNEL_LINEAR_Q);
        add_bias(p, &p->weights->q, p->weights->q_bias, kept, f->query);
    }
    meet(p);
    struct kv_update update = {f->key, f->value, kv, f->rope, p->position, rows, false};
    struct span span;
    span_begin(&span);
    unsigned slots = kv_cache_update(&f->ring, p->layer, &update, p->share);
    if (slots != 0)
        span_end(&span, KERNEL_KV_CACHE_UPDATE, p->layer, 2 * (uint64_t)slots * h->head_dim);
}

static void attention_output(const struct pass *p) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const unsigned width = h->heads * h->head_dim;
    const struct attention job = {.queries = f->query,
                                  .stride = width,
                                  .rope = f->rope + (size_t)p->first * h->head_dim,
                                  .sink_rope = f->sink_rope,
                                  .out = f->query, // a tile has its queries before it stores
                                  .position = p->position + p->first,
                                  .rows = p->rows,
                                  .heads = h->heads};
    const struct float_rows attended = whole_rows(f->query, width);
    if (attend(p, job)) {
        quantize_dealt(p, attended, p->rows, ATTENTION_TOKENS, &p->weights->o);
    } else {
        meet(p);
        quantize(p, attended, rows_of(p, p->rows), &p->weights->o);
    }
    meet(p);
    const struct interval all = {0, p->rows};
    linear_add(p, &p->weights->o, all, f->residual + (size_t)p->first * h->hidden, KERNEL_LINEAR_O);
}

static void feed_forward(const struct pass *p) {
    struct forward *f = p->f;
    const struct interval all = {0, p->rows}, mine = rows_of(p, p->rows);
    float *residual = f->residual + (size_t)p->first * f->model->header->hidden;
    norm_and_quantize(p, residual, p->weights->ffn_norm, mine, &p->weights->gate);
    meet(p);
    linear_swiglu(p, all);
    meet(p);
    quantize_activated(p, mine);
    meet(p);
    linear_add(p, &p->weights->down, all, residual, KERNEL_LINEAR_DOWN);
}

static void run_layer(void *context, struct share share) {
    struct pass pass = *(const struct pass *)context;
    pass.share = share;
    project(&pass);
    if (pass.rows == 0)
        return;
    meet(&pass);
    attention_output(&pass);
    meet(&pass);
    feed_forward(&pass);
}

// Rotations and embeddings of a batch.
struct start {
    struct forward *f;
    const uint32_t *tokens;
    uint32_t position;
    unsigned count;
};

static void run_start(void *context, struct share share) {
    const struct start *start = context;
    struct forward *f = start->f;
    const struct image_header *h = f->model->header;
    const struct matrix *m = &f->model->embedding;
    const struct interval rows = share_of(share, start->count, 1);
    struct span span;
    if (rows.from == rows.to)
        return;
    span_begin(&span);
    for (unsigned i = rows.from; i < rows.to; i++) {
        rope_row(h->rope_step, h->rope_pairs, start->position + i, f->rope + (size_t)i * h->head_dim);
        embed_row(m->format, m->packs, m->k, start->tokens[i], &f->panels[share.part],
                  f->residual + (size_t)i * m->k);
    }
    span_end(&span, KERNEL_EMBED, NO_LAYER, (uint64_t)(rows.to - rows.from) * m->k);
}

// What the NPU still works on ends in the residual stream: the cores go on alone.
static void join(const struct pass *p) {
    struct pass all = *p;
    all.first = 0;
    all.rows = p->f->rows;
    team_run(p->f->cores, offload_join, &all, p->layer);
    offload_drain(p->f);
}

bool forward_batch(struct forward *f, const uint32_t *tokens, unsigned count, enum outputs outputs,
                   between_layers *go_on, void *context) {
    const struct image_header *h = f->model->header;
    struct start start = {f, tokens, f->ring.length, count};
    struct pass pass = {
        .f = f, .position = start.position, .rows = count, .input = &f->quantized, .int8 = f->int8};
    kv_ring_append(&f->ring, tokens, count);
    f->rows = count;
    f->npu.failed = false;
    // A row of its own for every core, or it is not worth waking them.
    team_run(count < f->cores ? 1 : f->cores, run_start, &start, NO_LAYER);
    for (unsigned layer = 0; layer < h->layers; layer++) {
        if (!go_on(context, layer, count) || f->npu.failed) {
            offload_drain(f);
            kv_ring_rewind(&f->ring, start.position);
            return false;
        }
        pass.layer = layer;
        pass.weights = &f->model->layers[layer];
        if (layer == h->layers - 1 && outputs != OUTPUTS_ALL) {
            pass.rows = outputs == OUTPUTS_LAST;
            pass.first = count - pass.rows;
        }
        const bool offload = f->offload && pass.rows == count && offload_worth(count);
        if (f->npu.pending[0].any && !offload)
            join(&pass);
        f->offloaded |= offload || (f->offload_values && offload_attention_worth(pass.rows));
        if (offload)
            f->npu.layer = layer;
        team_run(f->cores, offload ? offload_layer : run_layer, &pass, layer);
    }
    if (f->npu.pending[0].any)
        join(&pass);
    offload_drain(f);
    return !f->npu.failed;
}

static void run_head(void *context, struct share share) {
    struct forward *f = context;
    const struct pass pass = {.f = f, .input = &f->quantized, .share = share, .layer = NO_LAYER};
    linear(&pass, &f->model->head, (struct interval){0, 1}, f->logits, 0, KERNEL_HEAD);
}

const float *forward_logits(struct forward *f, unsigned row) {
    const struct image_header *h = f->model->header;
    const struct pass alone = {.f = f, .input = &f->quantized, .share = whole(), .layer = NO_LAYER};
    norm_and_quantize(&alone, f->residual + (size_t)row * h->hidden, f->model->output_norm,
                      (struct interval){0, 1}, &f->model->head);
    team_run(f->cores, run_head, f, NO_LAYER);
    return f->logits;
}
