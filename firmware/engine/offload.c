// SPDX-License-Identifier: Apache-2.0
#include "engine/offload.h"

#include "arch/cache.h"
#include "engine/attend.h"
#include "engine/linear.h"
#include "engine/offload_job.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/kv_cache.h"
#include "link/telemetry.h"

#define WORTH_ROWS 2 // one for each half

bool offload_worth(unsigned rows) {
    return rows >= WORTH_ROWS;
}

static struct interval half_rows(const struct pass *p, unsigned half) {
    const unsigned rows = p->rows, first = (rows / 2 + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    const unsigned middle = first < rows ? first : rows / 2;
    return half == 0 ? (struct interval){0, middle} : (struct interval){middle, rows};
}

// This core's rows of a half.
static struct interval my_rows(const struct pass *p, unsigned half) {
    const struct interval all = half_rows(p, half);
    const unsigned count = all.to - all.from, unit = count >= TILE_ROWS * p->share.parts ? TILE_ROWS : 1;
    const struct interval mine = share_of(p->share, count, unit);
    return (struct interval){all.from + mine.from, all.from + mine.to};
}

// The next rows of `mine` from `row` on, so few that they stay in the L1 cache.
static struct interval some_of(struct interval mine, unsigned row) {
    return (struct interval){row, mine.to - row < OFFLOAD_ROWS ? mine.to : row + OFFLOAD_ROWS};
}

static struct activations input_at(const struct pass *p, unsigned half, unsigned k, unsigned row) {
    struct activations all = p->f->npu.input[half];
    all.k = padded_k(k);
    return activations_from(&all, row - half_rows(p, half).from);
}

// Rows of an output as the NPU has left them in memory, whatever caches may hold. Halves are made floats in
// this core's buffer `wide`.
static float *take_output(const struct pass *p, void *y, bool halves, unsigned width, struct interval rows,
                          unsigned wide) {
    const size_t count = (size_t)(rows.to - rows.from) * width;
    uint8_t *from = (uint8_t *)y + product_bytes(halves, (size_t)rows.from * width);
    cache_invalidate(from, product_bytes(halves, count));
    if (!halves)
        return (float *)from;
    const struct image_header *h = p->f->model->header;
    const size_t room = (size_t)OFFLOAD_ROWS * (h->ffn > h->hidden ? h->ffn : h->hidden);
    float *to = p->f->npu.wide + (2 * p->share.part + wide) * room;
    widen(from, count, to);
    return to;
}

// Quantizes some rows of this core, x being the first one, and sends them on their way to memory, where they
// are after cache_complete(): the more of it runs beside the next rows, the better.
static void give_rows(const struct pass *p, unsigned half, const float *floats, unsigned k,
                      struct interval some) {
    const struct activations x = input_at(p, half, k, some.from);
    const size_t rows = some.to - some.from;
    quantize_rows(floats, k, rows, k, &x);
    cache_begin_clean(x.values, rows * x.k);
    cache_begin_clean(x.groups, rows * x.k / GROUP * sizeof *x.groups);
    cache_begin_clean(x.row_scales, rows * sizeof *x.row_scales);
}

// Adds a half's product to some rows of the residual stream: in place, because rows stay with their core.
static void join_rows(const struct pass *p, unsigned half, struct interval rows) {
    struct forward *f = p->f;
    const unsigned k = f->model->header->hidden, count = rows.to - rows.from;
    float *x = f->residual + (size_t)rows.from * k;
    add_rows(x, k, take_output(p, f->npu.product, f->npu.pending[half].halves, k, rows, 0), k, count, k, x);
}

// Joins the half's product, if there is one, then normalizes and quantizes the residual stream.
static void join_and_norm(const struct pass *p, unsigned half, bool product, const float *weight) {
    struct forward *f = p->f;
    const unsigned k = f->model->header->hidden;
    const struct interval mine = my_rows(p, half);
    const float epsilon = f->model->header->rms_epsilon;
    float *normed = f->normed + (size_t)p->share.part * NORM_ROWS * k;
    struct span_sum join = {0}, norm = {0}, quantizing = {0};
    if (mine.from == mine.to)
        return;
    for (struct interval rows = some_of(mine, mine.from); rows.from < mine.to;
         rows = some_of(mine, rows.to)) {
        if (rows.from == mine.from)
            span_sum_begin(&join);
        else
            span_sum_switch(&quantizing, &join);
        if (product)
            join_rows(p, half, rows);
        span_sum_switch(&join, &norm);
        rms_norm_rows(f->residual + (size_t)rows.from * k, k, rows.to - rows.from, k, weight, epsilon,
                      normed);
        span_sum_switch(&norm, &quantizing);
        give_rows(p, half, normed, k, rows);
    }
    cache_complete();
    span_sum_end(&quantizing);
    const uint64_t work = (uint64_t)(mine.to - mine.from) * k;
    span_sum_emit(&join, KERNEL_RESIDUAL, p->layer, product ? work : 0);
    span_sum_emit(&norm, KERNEL_RMS_NORM, p->layer, work);
    span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
}

static void attention_input(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    const bool product = offload_wait(p, half);
    join_and_norm(p, half, product, p->weights->attn_norm);
    meet(p);
    const struct product products[] = {{&p->weights->q, f->npu.query, false, KERNEL_LINEAR_Q},
                                       {&p->weights->k, f->npu.key, false, KERNEL_LINEAR_K},
                                       {&p->weights->v, f->npu.value, false, KERNEL_LINEAR_V}};
    offload_products(p, half, half_rows(p, half), products, 3);
}

// Forgets what caches hold of an output, and adds a bias if there is one.
static void take_biased(const struct pass *p, const struct matrix *m, const float *bias, struct interval mine,
                        float *y) {
    const unsigned rows = mine.to - mine.from;
    y = take_output(p, y, false, m->rows, mine, 0);
    if (bias == NULL)
        return;
    add_rows(y, m->rows, bias, 0, rows, m->rows, y);
    cache_clean(y, (size_t)rows * m->rows * sizeof *y); // none may be written back over the next output
}

// What attention has left in f->query: the core's own tokens or, after a barrier, its rows of everyone's.
static void quantize_attended(const struct pass *p, unsigned half, unsigned width, bool by_tokens) {
    const struct interval all = half_rows(p, half), mine = my_rows(p, half);
    unsigned done = 0;
    struct span span;
    if (!by_tokens)
        meet(p);
    span_begin(&span);
    for (unsigned row = all.from; by_tokens && row < all.to; row += ATTENTION_TOKENS) {
        const unsigned end = row + ATTENTION_TOKENS < all.to ? row + ATTENTION_TOKENS : all.to;
        if (is_dealt_back_and_forth(p->share, (row - all.from) / ATTENTION_TOKENS)) {
            give_rows(p, half, p->f->query + (size_t)row * width, width, (struct interval){row, end});
            done += end - row;
        }
    }
    if (!by_tokens && mine.from != mine.to) {
        give_rows(p, half, p->f->query + (size_t)mine.from * width, width, mine);
        done = mine.to - mine.from;
    }
    cache_complete();
    span_end(&span, KERNEL_QUANTISE, p->layer, (uint64_t)done * width);
}

static void attention_output(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const struct interval all = half_rows(p, half), mine = my_rows(p, half);
    const unsigned rows = all.to - all.from, width = h->heads * h->head_dim;
    const size_t kv = (size_t)h->kv_heads * h->head_dim;
    struct span span;
    offload_wait(p, half);
    span_begin(&span);
    take_biased(p, &p->weights->q, p->weights->q_bias, mine, f->npu.query);
    take_biased(p, &p->weights->k, p->weights->k_bias, mine, f->npu.key);
    take_biased(p, &p->weights->v, p->weights->v_bias, mine, f->npu.value);
    if (p->weights->q_bias != NULL)
        span_end(&span, KERNEL_BIAS, p->layer, (uint64_t)(mine.to - mine.from) * (width + 2 * kv));
    meet(p);
    const float *rope = f->rope + (size_t)all.from * h->head_dim;
    const struct kv_update update = {
        f->npu.key + all.from * kv, f->npu.value + all.from * kv, kv, rope, p->position + all.from, rows};
    span_begin(&span);
    unsigned slots = kv_cache_update(&f->ring, p->layer, &update, p->share);
    if (slots != 0)
        span_end(&span, KERNEL_KV_CACHE_UPDATE, p->layer, 2 * (uint64_t)slots * h->head_dim);
    meet(p);
    const struct attention job = {.queries = f->npu.query + (size_t)all.from * width,
                                  .stride = width,
                                  .rope = rope,
                                  .sink_rope = f->sink_rope,
                                  .out = f->query + (size_t)all.from * width,
                                  .position = p->position + all.from,
                                  .rows = rows,
                                  .heads = h->heads};
    quantize_attended(p, half, width, attend(p, job));
    meet(p);
    const struct product products[] = {
        {&p->weights->o, f->npu.product, offload_halves(p, &p->weights->o), KERNEL_LINEAR_O}};
    offload_products(p, half, all, products, 1);
}

static void ffn_input(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    offload_wait(p, half);
    join_and_norm(p, half, true, p->weights->ffn_norm);
    meet(p);
    const struct product products[] = {
        {&p->weights->gate, f->npu.gate, offload_halves(p, &p->weights->gate), KERNEL_LINEAR_GATE},
        {&p->weights->up, f->npu.up, offload_halves(p, &p->weights->up), KERNEL_LINEAR_UP}};
    offload_products(p, half, half_rows(p, half), products, 2);
}

static void activate(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    const unsigned ffn = p->weights->gate.rows;
    const struct interval mine = my_rows(p, half);
    const bool gate_halves = offload_halves(p, &p->weights->gate),
               up_halves = offload_halves(p, &p->weights->up);
    struct span_sum swiglu = {0}, quantizing = {0};
    offload_wait(p, half);
    for (struct interval rows = some_of(mine, mine.from); rows.from < mine.to;
         rows = some_of(mine, rows.to)) {
        if (rows.from == mine.from)
            span_sum_begin(&swiglu);
        else
            span_sum_switch(&quantizing, &swiglu);
        const unsigned count = rows.to - rows.from;
        float *gate = take_output(p, f->npu.gate, gate_halves, ffn, rows, 0);
        swiglu_rows(gate, ffn, take_output(p, f->npu.up, up_halves, ffn, rows, 1), ffn, count, ffn);
        span_sum_switch(&swiglu, &quantizing);
        give_rows(p, half, gate, ffn, rows);
        if (!gate_halves) // none of it may be written back over the next output
            cache_invalidate(gate, (size_t)count * ffn * sizeof *gate);
    }
    if (mine.from != mine.to) {
        cache_complete();
        span_sum_end(&quantizing);
        const uint64_t work = (uint64_t)(mine.to - mine.from) * ffn;
        span_sum_emit(&swiglu, KERNEL_SWIGLU, p->layer, work);
        span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
    }
    meet(p);
    const struct product products[] = {
        {&p->weights->down, f->npu.product, offload_halves(p, &p->weights->down), KERNEL_LINEAR_DOWN}};
    offload_products(p, half, half_rows(p, half), products, 1);
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
    const struct interval mine = my_rows(p, half);
    struct span span;
    offload_wait(p, half);
    if (mine.from == mine.to)
        return;
    span_begin(&span);
    for (struct interval rows = some_of(mine, mine.from); rows.from < mine.to; rows = some_of(mine, rows.to))
        join_rows(p, half, rows);
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
