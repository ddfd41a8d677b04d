// SPDX-License-Identifier: Apache-2.0
#include "engine/offload.h"

#include "arch/cache.h"
#include "engine/linear.h"
#include "engine/offload_job.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/kv_cache.h"
#include "link/telemetry.h"

#define ROWS_AT_A_TIME 4 // rows of gate and up together fill an L1 cache at most for an ffn of 2048
#define WORTH_ROWS     2 // one for each half

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

// The next rows of `mine` from `row` on.
static unsigned end_of(struct interval mine, unsigned row) {
    return mine.to - row < ROWS_AT_A_TIME ? mine.to : row + ROWS_AT_A_TIME;
}

static struct activations input_at(const struct pass *p, unsigned half, unsigned k, unsigned row) {
    struct activations all = p->f->npu.input[half];
    all.k = padded_k(k);
    return activations_from(&all, row - half_rows(p, half).from);
}

// What an output's rows are before they are read: whatever the NPU has written.
static float *take_output(float *y, unsigned width, unsigned from, unsigned to) {
    y += (size_t)from * width;
    cache_invalidate(y, (size_t)(to - from) * width * sizeof *y);
    return y;
}

// Quantized rows that this core has written, on their way to the NPU.
static void give_input(const struct pass *p, unsigned half, unsigned k, struct interval mine) {
    const struct activations x = input_at(p, half, k, mine.from);
    const size_t rows = mine.to - mine.from;
    cache_clean(x.values, rows * x.k);
    cache_clean(x.groups, rows * x.k / GROUP * sizeof *x.groups);
    cache_clean(x.row_scales, rows * sizeof *x.row_scales);
}

// Joins the product of the half with the residual stream (`product`), normalizes and quantizes it.
static void join_and_norm(const struct pass *p, unsigned half, bool product, const float *from, float *to,
                          const float *weight, const struct matrix *m) {
    struct forward *f = p->f;
    const unsigned k = f->model->header->hidden;
    const struct interval mine = my_rows(p, half);
    const float epsilon = f->model->header->rms_epsilon;
    float *normed = f->normed + (size_t)p->share.part * NORM_ROWS * k;
    struct span_sum join = {0}, norm = {0}, quantizing = {0};
    if (mine.from == mine.to)
        return;
    for (unsigned row = mine.from, end; row < mine.to; row = end) {
        end = end_of(mine, row);
        const size_t at = (size_t)row * k;
        if (row == mine.from)
            span_sum_begin(&join);
        else
            span_sum_switch(&quantizing, &join);
        if (product) {
            const float *y = take_output(f->npu.product, k, row, end);
            add_rows(from + at, k, y, k, end - row, k, to + at);
        }
        span_sum_switch(&join, &norm);
        rms_norm_rows(to + at, k, end - row, k, weight, epsilon, normed);
        span_sum_switch(&norm, &quantizing);
        const struct activations out = input_at(p, half, k, row);
        quantize_rows(normed, k, end - row, k, &out);
    }
    give_input(p, half, m->k, mine);
    span_sum_end(&quantizing);
    const uint64_t work = (uint64_t)(mine.to - mine.from) * k;
    if (product)
        span_sum_emit(&join, KERNEL_RESIDUAL, p->layer, work);
    span_sum_emit(&norm, KERNEL_RMS_NORM, p->layer, work);
    span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
}

static void attention_input(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    const bool product = offload_wait(p, half);
    join_and_norm(p, half, product, f->residual[1], f->residual[0], p->weights->attn_norm, &p->weights->q);
    meet(p);
    const struct product products[] = {{&p->weights->q, f->npu.query, KERNEL_LINEAR_Q},
                                       {&p->weights->k, f->npu.key, KERNEL_LINEAR_K},
                                       {&p->weights->v, f->npu.value, KERNEL_LINEAR_V}};
    offload_products(p, half, half_rows(p, half), products, 3);
}

// Forgets what caches hold of an output, and adds a bias if there is one.
static void take_biased(const struct matrix *m, const float *bias, struct interval mine, float *y) {
    const unsigned rows = mine.to - mine.from;
    y = take_output(y, m->rows, mine.from, mine.to);
    if (bias == NULL)
        return;
    add_rows(y, m->rows, bias, 0, rows, m->rows, y);
    cache_clean(y, (size_t)rows * m->rows * sizeof *y); // none may be written back over the next output
}

static void attend(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const struct interval all = half_rows(p, half), mine = my_rows(p, half);
    const unsigned rows = all.to - all.from, width = h->heads * h->head_dim;
    const size_t kv = (size_t)h->kv_heads * h->head_dim;
    struct span span;
    offload_wait(p, half);
    span_begin(&span);
    take_biased(&p->weights->q, p->weights->q_bias, mine, f->npu.query);
    take_biased(&p->weights->k, p->weights->k_bias, mine, f->npu.key);
    take_biased(&p->weights->v, p->weights->v_bias, mine, f->npu.value);
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
                                  .out = f->attended + (size_t)all.from * width,
                                  .position = p->position + all.from,
                                  .rows = rows,
                                  .heads = h->heads};
    span_begin(&span);
    uint64_t seen = attention(&f->ring, p->layer, &job, p->share);
    if (seen != 0)
        span_end(&span, KERNEL_ATTENTION, p->layer, 2 * seen * h->head_dim);
    meet(p);
    if (mine.from != mine.to) {
        const struct activations out = input_at(p, half, width, mine.from);
        span_begin(&span);
        quantize_rows(f->attended + (size_t)mine.from * width, width, mine.to - mine.from, width, &out);
        give_input(p, half, width, mine);
        span_end(&span, KERNEL_QUANTISE, p->layer, (uint64_t)(mine.to - mine.from) * width);
    }
    meet(p);
    const struct product products[] = {{&p->weights->o, f->npu.product, KERNEL_LINEAR_O}};
    offload_products(p, half, all, products, 1);
}

static void ffn_input(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    offload_wait(p, half);
    join_and_norm(p, half, true, f->residual[0], f->residual[1], p->weights->ffn_norm, &p->weights->gate);
    meet(p);
    const struct product products[] = {{&p->weights->gate, f->npu.gate, KERNEL_LINEAR_GATE},
                                       {&p->weights->up, f->npu.up, KERNEL_LINEAR_UP}};
    offload_products(p, half, half_rows(p, half), products, 2);
}

static void activate(const struct pass *p, unsigned half) {
    struct forward *f = p->f;
    const unsigned ffn = p->weights->gate.rows;
    const struct interval mine = my_rows(p, half);
    struct span_sum swiglu = {0}, quantizing = {0};
    offload_wait(p, half);
    for (unsigned row = mine.from, end; row < mine.to; row = end) {
        end = end_of(mine, row);
        if (row == mine.from)
            span_sum_begin(&swiglu);
        else
            span_sum_switch(&quantizing, &swiglu);
        float *gate = take_output(f->npu.gate, ffn, row, end), *up = take_output(f->npu.up, ffn, row, end);
        swiglu_rows(gate, ffn, up, ffn, end - row, ffn);
        span_sum_switch(&swiglu, &quantizing);
        const struct activations out = input_at(p, half, ffn, row);
        quantize_rows(gate, ffn, end - row, ffn, &out);
        take_output(f->npu.gate, ffn, row, end); // none may be written back over the next output
    }
    if (mine.from != mine.to) {
        give_input(p, half, ffn, mine);
        span_sum_end(&quantizing);
        const uint64_t work = (uint64_t)(mine.to - mine.from) * ffn;
        span_sum_emit(&swiglu, KERNEL_SWIGLU, p->layer, work);
        span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
    }
    meet(p);
    const struct product products[] = {{&p->weights->down, f->npu.product, KERNEL_LINEAR_DOWN}};
    offload_products(p, half, half_rows(p, half), products, 1);
}

void offload_layer(void *context, struct share share) {
    typedef void stage(const struct pass *p, unsigned half);
    static stage *const stages[] = {attention_input, attend, ffn_input, activate};
    struct pass p = *(const struct pass *)context;
    p.share = share;
    for (unsigned i = 0; i < sizeof stages / sizeof stages[0]; i++)
        for (unsigned half = 0; half < OFFLOAD_HALVES; half++)
            stages[i](&p, half);
}

void offload_join(void *context, struct share share) {
    struct pass p = *(const struct pass *)context;
    struct forward *f = p.f;
    const unsigned k = f->model->header->hidden;
    p.share = share;
    for (unsigned half = 0; half < OFFLOAD_HALVES; half++) {
        const struct interval mine = my_rows(&p, half);
        struct span span;
        offload_wait(&p, half);
        if (mine.from == mine.to)
            continue;
        span_begin(&span);
        const float *y = take_output(f->npu.product, k, mine.from, mine.to);
        const size_t at = (size_t)mine.from * k;
        add_rows(f->residual[1] + at, k, y, k, mine.to - mine.from, k, f->residual[0] + at);
        span_end(&span, KERNEL_RESIDUAL, p.layer, (uint64_t)(mine.to - mine.from) * k);
    }
}
