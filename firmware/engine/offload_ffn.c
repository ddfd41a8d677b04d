// SPDX-License-Identifier: Apache-2.0
// The stages in which each core goes on with its own rows: residual stream, norms, SwiGLU.
#include "arch/cache.h"
#include "engine/offload_stages.h"
#include "kernels/elementwise.h"
#include "link/telemetry.h"

// Adds some rows of a product to the residual stream: in place, because rows stay with their core.
static void join_rows(const struct pass *p, const struct offload_taking *taking, struct interval mine,
                      struct interval rows) {
    const unsigned k = p->f->model->header->hidden, count = rows.to - rows.from;
    const void *y = offload_at(taking, rows.from, 0);
    float *x = p->f->residual + (size_t)rows.from * k;
    offload_ahead(taking, mine, rows);
    if (taking->halves)
        add_halves(x, k, y, k, count, k);
    else
        add_rows(x, k, y, k, count, k, x);
}

// Joins this core's rows of the product, if there is one, then normalizes and quantizes the residual stream.
static void join_and_norm(const struct pass *p, unsigned half, const struct products *product,
                          const float *weight, const struct products *next) {
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
        offload_give(p, half, next, normed, rows);
    }
    cache_complete();
    span_sum_end(&quantizing);
    const uint64_t work = (uint64_t)(mine.to - mine.from) * k;
    span_sum_emit(&join, KERNEL_RESIDUAL, p->layer, product ? work : 0);
    span_sum_emit(&norm, KERNEL_RMS_NORM, p->layer, work);
    span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
}

void offload_attention_input(const struct pass *p, unsigned half) {
    const struct products down = activated(p), products = projections(p);
    join_and_norm(p, half, offload_wait(p, half) ? &down : NULL, p->weights->attn_norm, &products);
    meet(p);
    offload_products(p, half, offload_half(p, half), &products);
}

void offload_ffn_input(const struct pass *p, unsigned half) {
    const struct products o = attended(p), products = gate_and_up(p);
    offload_wait(p, half);
    join_and_norm(p, half, &o, p->weights->ffn_norm, &products);
    meet(p);
    offload_products(p, half, offload_half(p, half), &products);
}

// SwiGLU of some rows, to `out`: no core writes to what the NPU has made.
static void activate_rows(const struct offload_taking *taking, struct interval rows, unsigned ffn,
                          float *out) {
    const unsigned count = rows.to - rows.from;
    const size_t stride = taking->output->width;
    const void *gate = offload_at(taking, rows.from, 0), *up = offload_at(taking, rows.from, ffn);
    if (taking->halves) {
        swiglu_halves(gate, stride, up, stride, count, ffn, out, ffn);
    } else {
        offload_columns(taking, rows, 0, ffn, out, ffn);
        swiglu_rows(out, ffn, up, stride, count, ffn);
    }
}

void offload_activate(const struct pass *p, unsigned half) {
    const unsigned ffn = p->weights->gate.rows;
    const struct products products = activated(p), before = gate_and_up(p);
    const struct interval mine = offload_mine(p, half);
    // There is room: where a half has fewer rows than there are cores, the last ones have none.
    float *product = p->f->gate + (size_t)p->share.part * OFFLOAD_ROWS * ffn;
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
            offload_ahead(&taking, mine, rows);
            activate_rows(&taking, rows, ffn, product);
            span_sum_switch(&swiglu, &quantizing);
            offload_give(p, half, &products, product, rows);
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

void offload_join_half(const struct pass *p, unsigned half) {
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
