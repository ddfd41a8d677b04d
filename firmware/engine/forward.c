// SPDX-License-Identifier: Apache-2.0
#include "engine/forward.h"

#include "arch/string.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/embed.h"
#include "kernels/kv_cache.h"
#include "kernels/linear.h"
#include "kernels/rope.h"
#include "link/telemetry.h"

// Up to this many rows panels are read by gemv_panels, row after row; beyond, each is dequantized once.
// Where the two cost the same; results are the same anyway.
#define GEMV_ROWS 3

// Weights that several rows of GEMV share before the next ones: they stay in a 64 KB L1 cache.
#define GEMV_BLOCK_BYTES 40000

static void quantize(struct forward *f, const float *x, unsigned rows, unsigned k, unsigned layer) {
    struct span span;
    span_begin(&span);
    f->quantized.k = padded_k(k);
    quantize_rows(x, k, rows, k, &f->quantized);
    span_end(&span, KERNEL_QUANTISE, layer, (uint64_t)rows * k);
}

// Few rows: straight from the packs, a block of panels that fits the L1 cache for every row in turn.
static void linear_by_rows(struct forward *f, const struct matrix *m, unsigned rows, float *y,
                           enum kernel kernel, unsigned layer) {
    const uint32_t panels = (m->rows + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    const uint32_t block = rows == 1 ? panels : GEMV_BLOCK_BYTES / m->panel_bytes + 1;
    struct span span;
    span_begin(&span);
    for (uint32_t panel = 0; panel < panels; panel += block) {
        uint32_t count = panels - panel < block ? panels - panel : block;
        for (unsigned row = 0; row < rows; row++) {
            struct activations x = activations_from(&f->quantized, row);
            gemv_panels(m->format, m->packs + panel * m->panel_bytes, count, &x,
                        y + (size_t)row * m->rows + panel * PANEL_COLUMNS);
        }
    }
    span_end(&span, kernel, layer, (uint64_t)rows * m->rows * m->k);
}

// y[rows][matrix rows] = quantized rows times matrix. Output widths are multiples of 16 (model.c), except the
// vocabulary, which only single rows meet: panels never reach into the next row.
static void linear(struct forward *f, const struct matrix *m, unsigned rows, float *y, enum kernel kernel,
                   unsigned layer) {
    struct span_sum multiply = {0}, unpack = {0};
    if (rows <= GEMV_ROWS) {
        linear_by_rows(f, m, rows, y, kernel, layer);
        return;
    }
    span_sum_begin(&unpack);
    for (uint32_t column = 0; column < m->rows; column += PANEL_COLUMNS) {
        const uint8_t *packs = m->packs + column / PANEL_COLUMNS * m->panel_bytes;
        if (column)
            span_sum_switch(&multiply, &unpack);
        dequantize_panel(m->format, packs, f->quantized.k, &f->panel);
        span_sum_switch(&unpack, &multiply);
        gemm_panel(&f->panel, &f->quantized, rows, y + column, m->rows);
    }
    span_sum_end(&multiply);
    span_sum_emit(&unpack, KERNEL_DEQUANT, layer, (uint64_t)m->rows * m->k);
    span_sum_emit(&multiply, kernel, layer, (uint64_t)rows * m->rows * m->k);
}

static void norm(struct forward *f, const float *x, const float *weight, unsigned rows, unsigned layer) {
    const struct image_header *h = f->model->header;
    struct span span;
    span_begin(&span);
    rms_norm_rows(x, h->hidden, rows, h->hidden, weight, h->rms_epsilon, f->normed);
    span_end(&span, KERNEL_RMS_NORM, layer, (uint64_t)rows * h->hidden);
}

// residual[other] = residual[current] + f->normed, which holds a branch's output by now.
static void add_branch(struct forward *f, unsigned rows, unsigned layer) {
    size_t count = (size_t)rows * f->model->header->hidden;
    struct span span;
    span_begin(&span);
    add(f->residual[f->current], f->normed, count, f->residual[!f->current]);
    f->current = !f->current;
    span_end(&span, KERNEL_RESIDUAL, layer, count);
}

static void embed(struct forward *f, const uint32_t *tokens, unsigned count) {
    const struct matrix *m = &f->model->embedding;
    struct span span;
    span_begin(&span);
    f->current = 0;
    for (unsigned i = 0; i < count; i++)
        embed_row(m->format, m->packs, m->k, tokens[i], &f->panel, f->residual[0] + (size_t)i * m->k);
    span_end(&span, KERNEL_EMBED, NO_LAYER, (uint64_t)count * m->k);
}

// Queries, keys and values of all rows; keys and values into the ring.
static void project(struct forward *f, unsigned layer, uint32_t position, unsigned rows) {
    const struct image_header *h = f->model->header;
    const struct layer *l = &f->model->layers[layer];
    size_t kv = (size_t)h->kv_heads * h->head_dim;
    norm(f, f->residual[f->current], l->attn_norm, rows, layer);
    quantize(f, f->normed, rows, h->hidden, layer);
    linear(f, &l->k, rows, f->key, KERNEL_LINEAR_K, layer);
    linear(f, &l->v, rows, f->value, KERNEL_LINEAR_V, layer);
    struct kv_update update = {f->key, f->value, kv, f->rope, position, rows};
    struct span span;
    span_begin(&span);
    kv_cache_update(&f->ring, layer, &update);
    span_end(&span, KERNEL_KV_CACHE_UPDATE, layer, 2 * (uint64_t)rows * kv);
}

static void attend(struct forward *f, unsigned layer, uint32_t position, unsigned rows) {
    const struct image_header *h = f->model->header;
    const struct layer *l = &f->model->layers[layer];
    unsigned width = h->heads * h->head_dim;
    linear(f, &l->q, rows, f->query, KERNEL_LINEAR_Q, layer);
    struct attention job = {.queries = f->query,
                            .stride = width,
                            .rope = f->rope + (size_t)f->first_row * h->head_dim,
                            .sink_rope = f->sink_rope,
                            .out = f->attended,
                            .position = position,
                            .rows = rows,
                            .heads = h->heads};
    uint64_t visible = 0;
    for (unsigned row = 0; row < rows; row++)
        visible += kv_visible(&f->ring, position + row);
    struct span span;
    span_begin(&span);
    attention(&f->ring, layer, &job);
    span_end(&span, KERNEL_ATTENTION, layer, 2 * visible * width);
    quantize(f, f->attended, rows, width, layer);
    linear(f, &l->o, rows, f->normed, KERNEL_LINEAR_O, layer);
    add_branch(f, rows, layer);
}

static void feed_forward(struct forward *f, unsigned layer, unsigned rows) {
    const struct image_header *h = f->model->header;
    const struct layer *l = &f->model->layers[layer];
    norm(f, f->residual[f->current], l->ffn_norm, rows, layer);
    quantize(f, f->normed, rows, h->hidden, layer);
    linear(f, &l->gate, rows, f->gate, KERNEL_LINEAR_GATE, layer);
    linear(f, &l->up, rows, f->up, KERNEL_LINEAR_UP, layer);
    size_t count = (size_t)rows * h->ffn;
    struct span span;
    span_begin(&span);
    swiglu(f->gate, f->up, count);
    span_end(&span, KERNEL_SWIGLU, layer, count);
    quantize(f, f->gate, rows, h->ffn, layer);
    linear(f, &l->down, rows, f->normed, KERNEL_LINEAR_DOWN, layer);
    add_branch(f, rows, layer);
}

// After the last layer's keys and values, only the wanted rows go on: here the last one moves to the front.
static void keep_last_row(struct forward *f, unsigned count) {
    const struct image_header *h = f->model->header;
    unsigned last = count - 1;
    float *rows = f->residual[f->current];
    memmove(rows, rows + (size_t)last * h->hidden, h->hidden * sizeof(float));
    struct activations *q = &f->quantized, from = activations_from(q, last);
    memmove(q->values, from.values, q->k);
    memmove(q->groups, from.groups, q->k / GROUP * sizeof(struct group_scale));
    memmove(q->low_sums, from.low_sums, q->k / GROUP * sizeof(int32_t));
    q->row_scales[0] = from.row_scales[0];
    f->first_row = last;
}

bool forward_batch(struct forward *f, const uint32_t *tokens, unsigned count, enum outputs outputs,
                   between_layers *go_on, void *context) {
    const struct image_header *h = f->model->header;
    const uint32_t position = f->ring.length;
    kv_ring_append(&f->ring, tokens, count);
    f->rows = count;
    f->first_row = 0;
    for (unsigned i = 0; i < count; i++)
        rope_row(h->rope_step, h->rope_pairs, position + i, f->rope + (size_t)i * h->head_dim);
    embed(f, tokens, count);
    for (unsigned layer = 0; layer < h->layers; layer++) {
        if (!go_on(context, layer, count)) {
            kv_ring_rewind(&f->ring, position);
            return false;
        }
        project(f, layer, position, count);
        if (layer == h->layers - 1 && outputs != OUTPUTS_ALL) {
            if (outputs == OUTPUTS_NONE)
                break;
            keep_last_row(f, count);
        }
        unsigned rows = count - f->first_row;
        attend(f, layer, position + f->first_row, rows);
        feed_forward(f, layer, rows);
    }
    return true;
}

const float *forward_logits(struct forward *f, unsigned row) {
    const struct image_header *h = f->model->header;
    norm(f, f->residual[f->current] + (size_t)(row - f->first_row) * h->hidden, f->model->output_norm, 1,
         NO_LAYER);
    quantize(f, f->normed, 1, h->hidden, NO_LAYER);
    linear_by_rows(f, &f->model->head, 1, f->logits, KERNEL_HEAD, NO_LAYER);
    return f->logits;
}
