// SPDX-License-Identifier: Apache-2.0
// The two stages of attention on the cores; offload_attention.h is for the part that the NPU may have of it.
#include "arch/cache.h"
#include "engine/attend.h"
#include "engine/offload_stages.h"
#include "kernels/elementwise.h"
#include "kernels/kv_cache.h"
#include "link/telemetry.h"

// One of so many tokens is left for offload_attend_rest(), during which the other half's down runs.
#define REST_OF 6

// Queries, keys and values of this core's rows to where attention takes them, biases added. Both halves use
// the same memory in turn, so that it stays in the L2 caches.
static void take_projected(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    const struct layer *w = p->weights;
    const struct products products = projections(p);
    const struct interval mine = offload_mine(p, half);
    const unsigned first = offload_half(p, half).from;
    const struct {
        const struct matrix *m;
        const float *bias;
        float *to;
    } parts[] = {{&w->q, w->q_bias, f->query}, {&w->k, w->k_bias, f->key}, {&w->v, w->v_bias, f->value}};
    struct span span;
    if (mine.from == mine.to)
        return;
    span_begin(&span);
    const struct offload_taking taking = taking_of(p, &products);
    offload_take(&taking, mine);
    for (struct interval rows = offload_some(mine, mine.from); rows.from < mine.to;
         rows = offload_some(mine, rows.to)) {
        unsigned column = 0;
        offload_ahead(&taking, mine, rows);
        for (unsigned i = 0; i < 3; i++) {
            const unsigned width = parts[i].m->rows;
            float *to = parts[i].to + (size_t)(rows.from - first) * width;
            offload_columns(&taking, rows, column, width, to, width);
            if (parts[i].bias != NULL)
                add_rows(to, width, parts[i].bias, 0, rows.to - rows.from, width, to);
            column += width;
        }
    }
    span_end(&span, KERNEL_NPU_READ, p->layer, (uint64_t)(mine.to - mine.from) * products.output->width);
}

// Keys and values that the ring takes as the NPU has left them: fp16 without biases.
static bool are_taken_directly(const struct pass *p) {
    const struct products products = projections(p);
    return offload_halves(p, &products) && p->weights->q_bias == NULL;
}

// Whether each core attends for its own tokens, all heads, and so can quantize what it makes of them.
static bool is_by_tokens(const struct pass *p, unsigned rows) {
    return attention_is_by_tokens(rows, p->share) && !p->f->offload_values;
}

// Forgets what this core goes on with of those: its own queries, and what it may read of keys and values.
static void forget_projected(const struct pass *p, unsigned half) {
    const struct products products = projections(p);
    const struct offload_taking taking = taking_of(p, &products);
    const struct interval all = offload_half(p, half), mine = offload_mine(p, half);
    const unsigned query = p->weights->q.rows;
    const bool by_tokens = is_by_tokens(p, all.to - all.from);
    for (unsigned row = all.from; row < all.to; row++) {
        const bool is_mine = by_tokens
                                 ? is_dealt_back_and_forth(p->share, (row - all.from) / ATTENTION_TOKENS)
                                 : mine.from <= row && row < mine.to;
        offload_forget(&taking, row, is_mine ? 0 : query, products.output->width);
    }
    cache_complete();
}

// Queries of these rows as floats.
static void take_queries(const struct pass *p, struct interval rows, float *to) {
    const struct products products = projections(p);
    const struct offload_taking taking = taking_of(p, &products);
    const unsigned width = p->weights->q.rows;
    offload_columns(&taking, rows, 0, width, to, width);
}

// Tokens of a half of `rows` that are not left for the rest: whole rounds of runs, one for each core.
static unsigned most_tokens(const struct pass *p, unsigned rows) {
    const unsigned round = ATTENTION_TOKENS * p->share.parts;
    return (rows - rows / REST_OF) / round * round;
}

static struct attention attention_of(const struct pass *p, unsigned half) {
    const struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const struct interval all = offload_half(p, half);
    return (struct attention){.queries = f->query,
                              .stride = (size_t)h->heads * h->head_dim,
                              .rope = f->rope + (size_t)all.from * h->head_dim,
                              .sink_rope = f->sink_rope,
                              .out = f->query, // a tile has its queries before it stores
                              .position = p->position + all.from,
                              .rows = all.to - all.from,
                              .heads = h->heads,
                              .form = f->attention};
}

static void update_ring(const struct pass *p, unsigned half, bool direct) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const struct products products = projections(p);
    const struct offload_taking taking = taking_of(p, &products);
    const struct interval all = offload_half(p, half);
    const unsigned kv = h->kv_heads * h->head_dim, query = p->weights->q.rows;
    const struct kv_update update = {.keys = direct ? offload_at(&taking, all.from, query) : f->key,
                                     .values = direct ? offload_at(&taking, all.from, query + kv) : f->value,
                                     .stride = direct ? products.output->width : kv,
                                     .rope = f->rope + (size_t)all.from * h->head_dim,
                                     .position = p->position + all.from,
                                     .rows = all.to - all.from,
                                     .halves = direct};
    struct span span;
    span_begin(&span);
    const unsigned slots = kv_cache_update(&f->ring, p->layer, &update, p->share);
    if (slots != 0)
        span_end(&span, KERNEL_KV_CACHE_UPDATE, p->layer, 2 * (uint64_t)slots * h->head_dim);
}

// Attention of a run of tokens, all this core's, from `token` on.
static struct attention run_of(const struct pass *p, const struct attention *job, unsigned token,
                               unsigned count) {
    struct attention run = *job;
    run.alone = true;
    run.rows = count;
    run.position += token;
    run.rope += (size_t)token * p->f->model->header->head_dim;
    // Queries that are not here yet need room for one run only, always the same: it stays in the caches.
    run.out += (are_taken_directly(p) ? (size_t)p->share.part * ATTENTION_TOKENS : token) * job->stride;
    run.queries = run.out;
    return run;
}

// This core's runs of the tokens [from, to), quantized one by one while they are in the L1 cache.
static void attend_by_tokens(const struct pass *p, unsigned half, const struct attention *job, unsigned from,
                             unsigned to) {
    const struct products products = attended(p);
    const unsigned width = (unsigned)job->stride, first = offload_half(p, half).from;
    struct span_sum attending = {0}, quantizing = {0};
    uint64_t seen = 0;
    unsigned done = 0;
    for (unsigned token = from; token < to; token += ATTENTION_TOKENS) {
        const unsigned count = to - token < ATTENTION_TOKENS ? to - token : ATTENTION_TOKENS;
        const struct attention run = run_of(p, job, token, count);
        const struct interval rows = {first + token, first + token + count};
        if (!is_dealt_back_and_forth(p->share, token / ATTENTION_TOKENS))
            continue;
        if (done == 0)
            span_sum_begin(&attending);
        else
            span_sum_switch(&quantizing, &attending);
        if (are_taken_directly(p))
            take_queries(p, rows, run.out);
        seen += attention(&p->f->ring, p->layer, &run, p->share);
        span_sum_switch(&attending, &quantizing);
        offload_give(p, half, &products, run.out, rows);
        done += count;
    }
    if (done == 0)
        return;
    cache_complete();
    span_sum_end(&quantizing);
    span_sum_emit(&attending, KERNEL_ATTENTION, p->layer, 2 * seen * p->f->model->header->head_dim);
    span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, (uint64_t)done * width);
}

// Everything at once: of a token, cores have different heads, and then each its rows.
static void attend_by_heads(const struct pass *p, unsigned half, const struct attention *job) {
    const struct products products = attended(p);
    const struct interval mine = offload_mine(p, half);
    const unsigned first = offload_half(p, half).from;
    struct span span;
    attend(p, *job);
    meet(p);
    if (mine.from == mine.to)
        return;
    span_begin(&span);
    for (struct interval rows = {mine.from, mine.from}; rows.from < mine.to; rows.from = rows.to) {
        rows.to = mine.to - rows.from < TILE_ROWS ? mine.to : rows.from + TILE_ROWS;
        offload_give(p, half, &products, job->out + (rows.from - first) * job->stride, rows);
    }
    cache_complete();
    span_end(&span, KERNEL_QUANTISE, p->layer, (uint64_t)(mine.to - mine.from) * job->stride);
}

static void multiply_attended(const struct pass *p, unsigned half) {
    const struct products products = attended(p);
    meet(p);
    offload_products(p, half, offload_half(p, half), &products);
}

void offload_attend(const struct pass *p, unsigned half) {
    const struct attention job = attention_of(p, half);
    const struct interval mine = offload_mine(p, half);
    const bool direct = are_taken_directly(p), by_tokens = is_by_tokens(p, job.rows);
    offload_wait(p, half);
    if (direct) {
        forget_projected(p, half);
        if (!by_tokens)
            take_queries(p, mine, job.out + (mine.from - offload_half(p, half).from) * job.stride);
    } else {
        take_projected(p, half);
        meet(p);
    }
    update_ring(p, half, direct);
    meet(p);
    if (by_tokens) {
        attend_by_tokens(p, half, &job, 0, most_tokens(p, job.rows));
    } else {
        attend_by_heads(p, half, &job);
        multiply_attended(p, half);
    }
}

void offload_attend_rest(const struct pass *p, unsigned half) {
    const struct attention job = attention_of(p, half);
    if (is_by_tokens(p, job.rows)) {
        attend_by_tokens(p, half, &job, most_tokens(p, job.rows), job.rows);
        multiply_attended(p, half);
    } else {
        meet(p); // all see what core 0 has just submitted: the next stage waits for it
    }
}
