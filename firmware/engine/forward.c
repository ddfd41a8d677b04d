// SPDX-License-Identifier: Apache-2.0
// Every core runs through the same code; what `share` gives it is its part. docs/multicore.md has the table.
#include "engine/forward.h"

#include "engine/team.h"
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

// Rows are given to cores in units of 16 where there are enough: then no core writes into a line of another's
// (of the rows' scales, the narrowest). Below, balance is worth more than those few lines.
#define ROW_UNIT       16
#define SMALL_ROW_UNIT 4

// What one core knows of the layer that it takes part in.
struct pass {
    struct forward *f;
    const struct layer *weights;
    struct share share;
    unsigned layer;
    uint32_t position; // of row 0
    unsigned first;    // row that goes on after the keys and values; those before it end there
    unsigned rows;     // from `first` on
};

static struct interval rows_of(const struct pass *p, unsigned rows) {
    return share_of(p->share, rows, rows >= ROW_UNIT * p->share.parts ? ROW_UNIT : SMALL_ROW_UNIT);
}

static struct interval panels_of(const struct pass *p, const struct matrix *m) {
    return share_of(p->share, (m->rows + PANEL_COLUMNS - 1) / PANEL_COLUMNS, 1);
}

// The quantized rows from `row` on, `k` values wide.
static struct activations quantized(const struct forward *f, unsigned k, unsigned row) {
    struct activations all = f->quantized;
    all.k = padded_k(k);
    return activations_from(&all, row);
}

static void meet(const struct pass *p) {
    team_meet(p->share, p->layer);
}

static void quantize(const struct pass *p, const float *x, struct interval rows, unsigned k) {
    if (rows.from >= rows.to)
        return;
    struct activations out = quantized(p->f, k, rows.from);
    struct span span;
    span_begin(&span);
    quantize_rows(x + (size_t)rows.from * k, k, rows.to - rows.from, k, &out);
    span_end(&span, KERNEL_QUANTISE, p->layer, (uint64_t)(rows.to - rows.from) * k);
}

static void norm(const struct pass *p, const float *x, const float *weight, struct interval rows) {
    const struct image_header *h = p->f->model->header;
    if (rows.from >= rows.to)
        return;
    size_t at = (size_t)rows.from * h->hidden;
    struct span span;
    span_begin(&span);
    rms_norm_rows(x + at, h->hidden, rows.to - rows.from, h->hidden, weight, h->rms_epsilon,
                  p->f->normed + at);
    span_end(&span, KERNEL_RMS_NORM, p->layer, (uint64_t)(rows.to - rows.from) * h->hidden);
}

// Few rows: straight from the packs, a block of panels that fits the L1 cache for every row in turn.
static void linear_by_rows(const struct pass *p, const struct matrix *m, const struct activations *x,
                           unsigned rows, float *y, enum kernel kernel) {
    const struct interval panels = panels_of(p, m);
    const uint32_t block = rows == 1 ? panels.to : GEMV_BLOCK_BYTES / m->panel_bytes + 1;
    struct span span;
    span_begin(&span);
    for (uint32_t panel = panels.from; panel < panels.to; panel += block) {
        uint32_t count = panels.to - panel < block ? panels.to - panel : block;
        for (unsigned row = 0; row < rows; row++) {
            struct activations one = activations_from(x, row);
            gemv_panels(m->format, m->packs + panel * m->panel_bytes, count, &one,
                        y + (size_t)row * m->rows + panel * PANEL_COLUMNS);
        }
    }
    span_end(&span, kernel, p->layer, (uint64_t)rows * (panels.to - panels.from) * PANEL_COLUMNS * m->k);
}

// This core's columns of y[rows][matrix rows] = rows of x times matrix. Output widths are multiples of 16
// (model.c), except the vocabulary, which only single rows meet: panels never reach into the next row.
static void linear(const struct pass *p, const struct matrix *m, const struct activations *x, unsigned rows,
                   float *y, enum kernel kernel) {
    const struct interval panels = panels_of(p, m);
    struct panel *panel = &p->f->panels[p->share.part];
    struct span_sum multiply = {0}, unpack = {0};
    if (panels.from == panels.to)
        return;
    if (rows <= GEMV_ROWS) {
        linear_by_rows(p, m, x, rows, y, kernel);
        return;
    }
    span_sum_begin(&unpack);
    for (uint32_t i = panels.from; i < panels.to; i++) {
        if (i != panels.from)
            span_sum_switch(&multiply, &unpack);
        dequantize_panel(m->format, m->packs + i * m->panel_bytes, x->k, panel);
        span_sum_switch(&unpack, &multiply);
        gemm_panel(panel, x, rows, y + i * PANEL_COLUMNS, m->rows);
    }
    span_sum_end(&multiply);
    const uint64_t weights = (uint64_t)(panels.to - panels.from) * PANEL_COLUMNS * m->k;
    span_sum_emit(&unpack, KERNEL_DEQUANT, p->layer, weights);
    span_sum_emit(&multiply, kernel, p->layer, rows * weights);
}

// A linear layer's columns that this core computed.
static struct interval columns_of(const struct pass *p, const struct matrix *m) {
    struct interval panels = panels_of(p, m);
    return (struct interval){panels.from * PANEL_COLUMNS, panels.to * PANEL_COLUMNS};
}

// to = from + f->normed, which holds a branch's output by now; in the columns of the matrix that made it.
static void add_branch(const struct pass *p, const struct matrix *m, const float *from, float *to) {
    const struct interval columns = columns_of(p, m);
    const unsigned count = columns.to - columns.from;
    if (count == 0)
        return;
    struct span span;
    span_begin(&span);
    for (unsigned row = 0; row < p->rows; row++) {
        size_t at = (size_t)row * m->rows + columns.from;
        add(from + at, p->f->normed + at, count, to + at);
    }
    span_end(&span, KERNEL_RESIDUAL, p->layer, (uint64_t)p->rows * count);
}

// Adds a bias to the columns of y[rows][matrix rows] that this core computed; families without one have NULL.
static void add_bias(const struct pass *p, const struct matrix *m, const float *bias, unsigned rows,
                     float *y) {
    const struct interval columns = columns_of(p, m);
    const unsigned count = columns.to - columns.from;
    if (bias == NULL || count == 0)
        return;
    struct span span;
    span_begin(&span);
    for (unsigned row = 0; row < rows; row++) {
        float *at = y + (size_t)row * m->rows + columns.from;
        add(at, bias + columns.from, count, at);
    }
    span_end(&span, KERNEL_BIAS, p->layer, (uint64_t)rows * count);
}

// Queries of the rows that go on, keys and values of all; the latter into the ring.
static void project(const struct pass *p) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const unsigned rows = p->first + p->rows;
    const size_t kv = (size_t)h->kv_heads * h->head_dim;
    norm(p, f->residual[0], p->weights->attn_norm, rows_of(p, rows));
    quantize(p, f->normed, rows_of(p, rows), h->hidden);
    meet(p);
    struct activations x = quantized(f, h->hidden, 0), kept = quantized(f, h->hidden, p->first);
    linear(p, &p->weights->k, &x, rows, f->key, KERNEL_LINEAR_K);
    linear(p, &p->weights->v, &x, rows, f->value, KERNEL_LINEAR_V);
    add_bias(p, &p->weights->k, p->weights->k_bias, rows, f->key);
    add_bias(p, &p->weights->v, p->weights->v_bias, rows, f->value);
    if (p->rows != 0) {
        linear(p, &p->weights->q, &kept, p->rows, f->query, KERNEL_LINEAR_Q);
        add_bias(p, &p->weights->q, p->weights->q_bias, p->rows, f->query);
    }
    meet(p);
    struct kv_update update = {f->key, f->value, kv, f->rope, p->position, rows};
    struct span span;
    span_begin(&span);
    unsigned slots = kv_cache_update(&f->ring, p->layer, &update, p->share);
    if (slots != 0)
        span_end(&span, KERNEL_KV_CACHE_UPDATE, p->layer, 2 * (uint64_t)slots * h->head_dim);
}

static void attend(const struct pass *p) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    const unsigned width = h->heads * h->head_dim;
    struct attention job = {.queries = f->query,
                            .stride = width,
                            .rope = f->rope + (size_t)p->first * h->head_dim,
                            .sink_rope = f->sink_rope,
                            .out = f->attended,
                            .position = p->position + p->first,
                            .rows = p->rows,
                            .heads = h->heads};
    struct span span;
    span_begin(&span);
    uint64_t seen = attention(&f->ring, p->layer, &job, p->share);
    if (seen != 0)
        span_end(&span, KERNEL_ATTENTION, p->layer, 2 * seen * h->head_dim);
    meet(p);
    quantize(p, f->attended, rows_of(p, p->rows), width);
    meet(p);
    struct activations x = quantized(f, width, 0);
    linear(p, &p->weights->o, &x, p->rows, f->normed, KERNEL_LINEAR_O);
    add_branch(p, &p->weights->o, f->residual[0] + (size_t)p->first * h->hidden, f->residual[1]);
}

// gate = gate * sigmoid(gate) * up, in the columns that this core computed.
static void activate(const struct pass *p) {
    struct forward *f = p->f;
    const struct interval columns = columns_of(p, &p->weights->gate);
    const unsigned count = columns.to - columns.from, ffn = p->weights->gate.rows;
    if (count == 0)
        return;
    struct span span;
    span_begin(&span);
    for (unsigned row = 0; row < p->rows; row++) {
        size_t at = (size_t)row * ffn + columns.from;
        swiglu(f->gate + at, f->up + at, count);
    }
    span_end(&span, KERNEL_SWIGLU, p->layer, (uint64_t)p->rows * count);
}

static void feed_forward(const struct pass *p) {
    struct forward *f = p->f;
    const struct image_header *h = f->model->header;
    norm(p, f->residual[1], p->weights->ffn_norm, rows_of(p, p->rows));
    quantize(p, f->normed, rows_of(p, p->rows), h->hidden);
    meet(p);
    struct activations x = quantized(f, h->hidden, 0);
    linear(p, &p->weights->gate, &x, p->rows, f->gate, KERNEL_LINEAR_GATE);
    linear(p, &p->weights->up, &x, p->rows, f->up, KERNEL_LINEAR_UP);
    activate(p);
    meet(p);
    quantize(p, f->gate, rows_of(p, p->rows), h->ffn);
    meet(p);
    x = quantized(f, h->ffn, 0);
    linear(p, &p->weights->down, &x, p->rows, f->normed, KERNEL_LINEAR_DOWN);
    add_branch(p, &p->weights->down, f->residual[1], f->residual[0]);
}

static void run_layer(void *context, struct share share) {
    struct pass pass = *(const struct pass *)context;
    pass.share = share;
    project(&pass);
    if (pass.rows == 0)
        return;
    meet(&pass);
    attend(&pass);
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
                  f->residual[0] + (size_t)i * m->k);
    }
    span_end(&span, KERNEL_EMBED, NO_LAYER, (uint64_t)(rows.to - rows.from) * m->k);
}

bool forward_batch(struct forward *f, const uint32_t *tokens, unsigned count, enum outputs outputs,
                   between_layers *go_on, void *context) {
    const struct image_header *h = f->model->header;
    struct start start = {f, tokens, f->ring.length, count};
    struct pass pass = {.f = f, .position = start.position, .rows = count};
    kv_ring_append(&f->ring, tokens, count);
    f->rows = count;
    // A row of its own for every core, or it is not worth waking them.
    team_run(count < f->cores ? 1 : f->cores, run_start, &start, NO_LAYER);
    for (unsigned layer = 0; layer < h->layers; layer++) {
        if (!go_on(context, layer, count)) {
            kv_ring_rewind(&f->ring, start.position);
            return false;
        }
        pass.layer = layer;
        pass.weights = &f->model->layers[layer];
        if (layer == h->layers - 1 && outputs != OUTPUTS_ALL) {
            pass.rows = outputs == OUTPUTS_LAST;
            pass.first = count - pass.rows;
        }
        team_run(f->cores, run_layer, &pass, layer);
    }
    f->first_row = pass.first;
    return true;
}

static void run_head(void *context, struct share share) {
    struct forward *f = context;
    struct pass pass = {.f = f, .share = share, .layer = NO_LAYER};
    struct activations x = quantized(f, f->model->header->hidden, 0);
    linear_by_rows(&pass, &f->model->head, &x, 1, f->logits, KERNEL_HEAD);
}

const float *forward_logits(struct forward *f, unsigned row) {
    const struct image_header *h = f->model->header;
    const struct pass alone = {.f = f, .share = whole(), .layer = NO_LAYER};
    const struct interval one = {0, 1};
    norm(&alone, f->residual[0] + (size_t)(row - f->first_row) * h->hidden, f->model->output_norm, one);
    quantize(&alone, f->normed, one, h->hidden);
    team_run(f->cores, run_head, f, NO_LAYER);
    return f->logits;
}
