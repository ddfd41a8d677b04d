// SPDX-License-Identifier: Apache-2.0
#include "engine/offload.h"

#include "arch/cache.h"
#include "engine/attend.h"
#include "engine/offload_job.h"
#include "engine/offload_rows.h"
#include "kernels/elementwise.h"
#include "kernels/kv_cache.h"
#include "link/telemetry.h"

#define WORTH_ROWS 2 // one for each half

bool offload_worth(unsigned rows) {
    return rows >= WORTH_ROWS;
}

static struct products projections(const struct pass *p) {
    const struct layer *w = p->weights;
    return (struct products){&p->f->npu.projected,
                             KERNEL_LINEAR_QKV,
                             3,
                             {{&w->q, KERNEL_LINEAR_Q}, {&w->k, KERNEL_LINEAR_K}, {&w->v, KERNEL_LINEAR_V}}};
}

static struct products attended(const struct pass *p) {
    return (struct products){&p->f->npu.product, KERNEL_LINEAR_O, 1, {{&p->weights->o, KERNEL_LINEAR_O}}};
}

static struct products gate_and_up(const struct pass *p) {
    const struct layer *w = p->weights;
    return (struct products){&p->f->npu.gate_up,
                             KERNEL_LINEAR_GATE_UP,
                             2,
                             {{&w->gate, KERNEL_LINEAR_GATE}, {&w->up, KERNEL_LINEAR_UP}}};
}

static struct products activated(const struct pass *p) {
    return (struct products){
        &p->f->npu.product, KERNEL_LINEAR_DOWN, 1, {{&p->weights->down, KERNEL_LINEAR_DOWN}}};
}

static struct offload_taking taking_of(const struct pass *p, const struct products *products) {
    return (struct offload_taking){products->output, offload_halves(p, products)};
}

// A core's buffer for some rows of an output.
static float *buffer(const struct pass *p, unsigned which) {
    const struct image_header *h = p->f->model->header;
    const size_t room = (size_t)OFFLOAD_ROWS * (h->ffn > h->hidden ? h->ffn : h->hidden);
    return p->f->npu.wide + (2 * p->share.part + which) * room;
}

// Adds some rows of a product to the residual stream: in place, because rows stay with their core.
static void join_rows(const struct pass *p, const struct offload_taking *taking, struct interval mine,
                      struct interval rows) {
    const unsigned k = p->f->model->header->hidden, count = rows.to - rows.from;
    float *x = p->f->residual + (size_t)rows.from * k, *y = buffer(p, 0);
    offload_columns(taking, rows, 0, k, y, k);
    offload_ahead(taking, mine, rows);
    add_rows(x, k, y, k, count, k, x);
}

// Joins this core's rows of the product, if there is one, then normalizes and quantizes the residual stream.
static void join_and_norm(const struct pass *p, unsigned half, const struct products *product,
                          const float *weight) {
    struct forward *f = p->f;
    const unsigned k = f->model->header->hidden;
    const struct interval mine = offload_mine(p, half);
    const float epsilon = f->model->header->rms_epsilon;
    float *normed = f->normed + (size_t)p->share.part * NORM_ROWS * k;
    struct offload_taking taking;
    struct span_sum join = {0}, norm = {0}, quantizing = {0};
    if (mine.from == mine.to)
        return;
    span_sum_begin(&join);
    if (product) {
        taking = taking_of(p, product);
        offload_take(&taking, mine);
    }
    for (struct interval rows = offload_some(mine, mine.from); rows.from < mine.to;
         rows = offload_some(mine, rows.to)) {
        if (rows.from != mine.from)
            span_sum_switch(&quantizing, &join);
        if (product)
            join_rows(p, &taking, mine, rows);
        span_sum_switch(&join, &norm);
        rms_norm_rows(f->residual + (size_t)rows.from * k, k, rows.to - rows.from, k, weight, epsilon,
                      normed);
        span_sum_switch(&norm, &quantizing);
        offload_give(p, half, normed, k, rows);
    }
    cache_complete();
    span_sum_end(&quantizing);
    const uint64_t work = (uint64_t)(mine.to - mine.from) * k;
    span_sum_emit(&join, KERNEL_RESIDUAL, p->layer, product ? work : 0);
    span_sum_emit(&norm, KERNEL_RMS_NORM, p->layer, work);
    span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
}

static void attention_input(const struct pass *p, unsigned half) {
    const struct products down = activated(p), products = projections(p);
    join_and_norm(p, half, offload_wait(p, half) ? &down : NULL, p->weights->attn_norm);
    meet(p);
    offload_products(p, half, offload_half(p, half), &products);
}

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

// Queries, keys and values as the NPU has left them, where attention can take them so: fp16 without biases.
static bool are_taken_directly(const struct pass *p, const struct products *products) {
    return offload_halves(p, products) && p->weights->q_bias == NULL;
}

// Forgets what this core goes on with of those: its own queries, and what it may read of keys and values.
static void forget_projected(const struct pass *p, unsigned half) {
    const struct products products = projections(p);
    const struct offload_taking taking = taking_of(p, &products);
    const struct interval all = offload_half(p, half);
    const unsigned query = p->weights->q.rows, rows = all.to - all.from;
    const bool by_tokens = attention_is_by_tokens(rows, p->share);
    for (unsigned row = 0; row < rows; row++) {
        const bool mine = !by_tokens || is_dealt_back_and_forth(p->share, row / ATTENTION_TOKENS);
        offload_forget(&taking, all.from + row, mine ? 0 : query, products.output->width);
    }
    cache_complete();
}

// What attention has left in f->query: the core's own tokens or, after a barrier, its rows of everyone's.
static void quantize_attended(const struct pass *p, unsigned half, unsigned width, bool by_tokens) {
    const struct interval all = offload_half(p, half), mine = offload_mine(p, half);
    unsigned done = 0;
    struct span span;
    if (!by_tokens)
        meet(p);
    span_begin(&span);
    for (unsigned row = all.from; by_tokens && row < all.to; row += ATTENTION_TOKENS) {
        const unsigned end = row + ATTENTION_TOKENS < all.to ? row + ATTENTION_TOKENS : all.to;
        if (is_dealt_back_and_forth(p->share, (row - all.from) / ATTENTION_TOKENS)) {
            offload_give(p, half, p->f->query + (size_t)(row - all.from) * width, width,
                         (struct interval){row, end});
            done += end - row;
        }
    }
    if (!by_tokens && mine.from != mine.to) {
        offload_give(p, half, p->f->query + (size_t)(mine.from - all.from) * width, width, mine);
        done = mine.to - mine.from;
    }
    cache_complete();
    span_end(&span, KERNEL_QUANTISE, p->layer, (uint64_t)done * width);
}

static void attention_output(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const struct products products = attended(p);
    const struct interval all = offload_half(p, half);
    const unsigned rows = all.to - all.from, width = h->heads * h->head_dim;
    const size_t kv = (size_t)h->kv_heads * h->head_dim;
    const float *rope = f->rope + (size_t)all.from * h->head_dim;
    const struct products projected = projections(p);
    const bool direct = are_taken_directly(p, &projected);
    const size_t row = projected.output->width;
    const uint16_t *halves = (const uint16_t *)projected.output->rows + all.from * row;
    const void *queries = direct ? (const void *)halves : f->query,
               *keys = direct ? (const void *)(halves + width) : f->key,
               *values = direct ? (const void *)(halves + width + kv) : f->value;
    const struct kv_update update = {keys, values, direct ? row : kv, rope, p->position + all.from,
                                     rows, direct};
    const struct attention job = {.queries = queries,
                                  .halves = direct,
                                  .query_stride = row,
                                  .stride = width,
                                  .rope = rope,
                                  .sink_rope = f->sink_rope,
                                  .out = f->query, // a tile has its queries before it stores
                                  .position = p->position + all.from,
                                  .rows = rows,
                                  .heads = h->heads};
    struct span span;
    offload_wait(p, half);
    if (direct) {
        forget_projected(p, half);
    } else {
        take_projected(p, half);
        meet(p);
    }
    span_begin(&span);
    const unsigned slots = kv_cache_update(&f->ring, p->layer, &update, p->share);
    if (slots != 0)
        span_end(&span, KERNEL_KV_CACHE_UPDATE, p->layer, 2 * (uint64_t)slots * h->head_dim);
    meet(p);
    quantize_attended(p, half, width, attend(p, job));
    meet(p);
    offload_products(p, half, all, &products);
}

static void ffn_input(const struct pass *p, unsigned half) {
    const struct products o = attended(p), products = gate_and_up(p);
    offload_wait(p, half);
    join_and_norm(p, half, &o, p->weights->ffn_norm);
    meet(p);
    offload_products(p, half, offload_half(p, half), &products);
}

static void activate(const struct pass *p, unsigned half) {
    const unsigned ffn = p->weights->gate.rows;
    const struct products products = activated(p), before = gate_and_up(p);
    const struct interval mine = offload_mine(p, half);
    float *gate = buffer(p, 0), *up = buffer(p, 1);
    struct span_sum swiglu = {0}, quantizing = {0};
    offload_wait(p, half);
    if (mine.from != mine.to) {
        span_sum_begin(&swiglu);
        const struct offload_taking taking = taking_of(p, &before);
        offload_take(&taking, mine);
        for (struct interval rows = offload_some(mine, mine.from); rows.from < mine.to;
             rows = offload_some(mine, rows.to)) {
            if (rows.from != mine.from)
                span_sum_switch(&quantizing, &swiglu);
            offload_columns(&taking, rows, 0, ffn, gate, ffn);
            offload_columns(&taking, rows, ffn, ffn, up, ffn);
            offload_ahead(&taking, mine, rows);
            swiglu_rows(gate, ffn, up, ffn, rows.to - rows.from, ffn);
            span_sum_switch(&swiglu, &quantizing);
            offload_give(p, half, gate, ffn, rows);
        }
        cache_complete();
        span_sum_end(&quantizing);
        const uint64_t work = (uint64_t)(mine.to - mine.from) * ffn;
        span_sum_emit(&swiglu, KERNEL_SWIGLU, p->layer, work);
        span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
    }
    meet(p);
    offload_products(p, half, offload_half(p, half), &products);
}

typedef void stage(const struct pass *p, unsigned half);

// Lets all cores see what core 0 has just submitted, for a stage that waits for it at once.
static void settle(const struct pass *p, unsigned half) {
    (void)half;
    meet(p);
}

// B is two stages behind A: the longest jobs, gate and up of a half, run while the cores attend with the
// other half, which leaves the memory bus to the NPU. For down nobody has anything to do meanwhile.
static const struct step {
    stage *run;
    unsigned half;
    bool before; // in the layer before
} steps[] = {
    {attention_input, 0, false}, {ffn_input, 1, true},         {attention_output, 0, false},
    {activate, 1, true},         {settle, 1, false},           {attention_input, 1, false},
    {ffn_input, 0, false},       {attention_output, 1, false}, {activate, 0, false},
};

static struct pass part_of(const void *context, struct share share) {
    struct pass p = *(const struct pass *)context;
    p.share = share;
    return p;
}

static struct pass of_layer(const struct pass *p, unsigned layer) {
    struct pass other = *p;
    other.layer = layer;
    other.weights = &p->f->model->layers[layer];
    return other;
}

void offload_layer(void *context, struct share share) {
    const struct pass p = part_of(context, share);
    const bool first = !p.f->npu.pending[1].any;
    const struct pass before = first ? p : of_layer(&p, p.layer - 1);
    meet(&p); // everyone has seen whether it is the first
    for (const struct step *step = steps; step < steps + sizeof steps / sizeof steps[0]; step++) {
        if (!step->before)
            step->run(&p, step->half);
        else if (!first)
            step->run(&before, step->half);
        else
            meet(&p); // the stages around it rely on one
    }
}

static void join_half(const struct pass *p, unsigned half) {
    const struct interval mine = offload_mine(p, half);
    const struct products down = activated(p);
    struct span span;
    offload_wait(p, half);
    if (mine.from == mine.to)
        return;
    span_begin(&span);
    const struct offload_taking taking = taking_of(p, &down);
    offload_take(&taking, mine);
    for (struct interval rows = offload_some(mine, mine.from); rows.from < mine.to;
         rows = offload_some(mine, rows.to))
        join_rows(p, &taking, mine, rows);
    span_end(&span, KERNEL_RESIDUAL, p->layer, (uint64_t)(mine.to - mine.from) * p->f->model->header->hidden);
}

void offload_join(void *context, struct share share) {
    const struct pass all = part_of(context, share), p = of_layer(&all, all.f->npu.layer);
    ffn_input(&p, 1);
    join_half(&p, 0);
    meet(&p);
    activate(&p, 1);
    meet(&p);
    join_half(&p, 1);
}
