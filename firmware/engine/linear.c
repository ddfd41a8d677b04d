// SPDX-License-Identifier: Apache-2.0
#include "engine/linear.h"

#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "link/telemetry.h"

// Weights that several rows of GEMV share before the next ones: they stay in a 64 KB L1 cache.
#define GEMV_BLOCK_BYTES 40000

// The quantized rows from `row` on, `k` values wide.
static struct activations quantized(const struct pass *p, unsigned k, unsigned row) {
    struct activations all = *p->input;
    all.k = padded_k(k);
    return activations_from(&all, row);
}

// The input of m as tiles, from the beginning.
static struct int8_activations tiled(const struct pass *p, const struct matrix *m) {
    struct int8_activations all = m == &p->weights->down ? p->f->activated : p->f->tiles;
    all.k = padded_k(m->k);
    all.block = int8_block(m->k);
    return all;
}

// `from` begins with row rows.from.
static void quantize_here(const struct pass *p, struct float_rows from, struct interval rows,
                          const struct matrix *m) {
    const unsigned k = m->k;
    if (p->int8) {
        const struct int8_activations all = tiled(p, m), out = int8_activations_from(&all, rows.from);
        quantize_tiles(&from, rows.to - rows.from, k, m->int8.reciprocals, &out);
    } else {
        const struct activations out = quantized(p, k, rows.from);
        quantize_rows(from.x, from.row, rows.to - rows.from, k, &out);
    }
}

void quantize(const struct pass *p, struct float_rows from, struct interval rows, const struct matrix *m) {
    struct span span;
    if (rows.from == rows.to)
        return;
    span_begin(&span);
    from.x += rows.from * from.row;
    quantize_here(p, from, rows, m);
    span_end(&span, KERNEL_QUANTISE, p->layer, (uint64_t)(rows.to - rows.from) * m->k);
}

void quantize_dealt(const struct pass *p, struct float_rows from, unsigned rows, unsigned unit,
                    const struct matrix *m) {
    unsigned done = 0;
    struct span span;
    span_begin(&span);
    for (unsigned row = 0, end; row < rows; row = end, from.x += unit * from.row) {
        end = row + unit < rows ? row + unit : rows;
        if (is_dealt_back_and_forth(p->share, row / unit)) {
            quantize_here(p, from, (struct interval){row, end}, m);
            done += end - row;
        }
    }
    span_end(&span, KERNEL_QUANTISE, p->layer, (uint64_t)done * m->k);
}

// A few rows at a time, so that they are still in the L1 cache when they are quantized.
void norm_and_quantize(const struct pass *p, const float *x, const float *weight, struct interval rows,
                       const struct matrix *m) {
    const unsigned k = m->k;
    const float epsilon = p->f->model->header->rms_epsilon;
    float *normed = p->f->normed + (size_t)p->share.part * NORM_ROWS * k;
    struct span_sum norm = {0}, quantizing = {0};
    if (rows.from == rows.to)
        return;
    span_sum_begin(&norm);
    for (unsigned row = rows.from; row < rows.to; row += NORM_ROWS) {
        const struct interval some = {row, rows.to - row < NORM_ROWS ? rows.to : row + NORM_ROWS};
        if (row != rows.from)
            span_sum_switch(&quantizing, &norm);
        rms_norm_rows(x + (size_t)row * k, k, some.to - row, k, weight, epsilon, normed);
        span_sum_switch(&norm, &quantizing);
        quantize_here(p, whole_rows(normed, k), some, m);
    }
    span_sum_end(&quantizing);
    const uint64_t work = (uint64_t)(rows.to - rows.from) * k;
    span_sum_emit(&norm, KERNEL_RMS_NORM, p->layer, work);
    span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
}

// Few rows: straight from the packs, a block of panels that fits the L1 cache for every row in turn.
static void linear_by_rows(const struct pass *p, const struct matrix *m, struct interval rows, float *y,
                           size_t stride, enum kernel kernel) {
    const struct interval panels = panels_of(p, m);
    const unsigned count = rows.to - rows.from;
    const uint32_t block = count == 1 ? panels.to : GEMV_BLOCK_BYTES / m->panel_bytes + 1;
    struct span span;
    span_begin(&span);
    for (uint32_t panel = panels.from; panel < panels.to; panel += block) {
        uint32_t here = panels.to - panel < block ? panels.to - panel : block;
        for (unsigned row = 0; row < count; row++) {
            struct activations one = quantized(p, m->k, rows.from + row);
            gemv_panels(m->format, m->packs + panel * m->panel_bytes, here, &one,
                        y + row * stride + panel * PANEL_COLUMNS);
        }
    }
    span_end(&span, kernel, p->layer, (uint64_t)count * (panels.to - panels.from) * PANEL_COLUMNS * m->k);
}

static bool is_by_rows(const struct pass *p, struct interval rows) {
    return !p->int8 && rows.to - rows.from <= GEMV_ROWS;
}

// What a product by panels costs, in pieces: the panels' weights, the product, what follows.
struct pieces {
    struct span_sum unpack, multiply, finish;
};

// One panel of a product, from within a piece of `before` (NULL: of none); ends within a piece of
// pieces->multiply.
static void multiply_panel(const struct pass *p, const struct matrix *m, unsigned index, struct interval rows,
                           float *y, size_t stride, struct pieces *pieces, struct span_sum *before) {
    struct forward *f = p->f;
    const uint8_t *packs = m->packs + (size_t)index * m->panel_bytes;
    const unsigned k = padded_k(m->k), part = p->share.part;
    if (before)
        span_sum_switch(before, &pieces->unpack);
    else
        span_sum_begin(&pieces->unpack);
    if (p->int8) {
        const struct int8_activations x = tiled(p, m);
        requantize_panel(m->format, packs, index, k, &m->int8, &f->int8_panels[part]);
        span_sum_switch(&pieces->unpack, &pieces->multiply);
        gemm_int8_panel(&f->int8_panels[part], &x, rows.from, rows.to, y, stride);
    } else {
        const struct activations x = quantized(p, m->k, rows.from);
        dequantize_panel(m->format, packs, k, &f->panels[part]);
        span_sum_switch(&pieces->unpack, &pieces->multiply);
        gemm_panel(&f->panels[part], &x, rows.to - rows.from, y, stride);
    }
}

static uint64_t weights_of(struct interval panels, const struct matrix *m) {
    return (uint64_t)(panels.to - panels.from) * PANEL_COLUMNS * m->k;
}

static void emit_product(const struct pass *p, struct pieces *pieces, enum kernel kernel, uint64_t weights,
                         struct interval rows) {
    span_sum_emit(&pieces->unpack, KERNEL_DEQUANT, p->layer, weights);
    span_sum_emit(&pieces->multiply, kernel, p->layer, (rows.to - rows.from) * weights);
}

void linear(const struct pass *p, const struct matrix *m, struct interval rows, float *y, size_t stride,
            enum kernel kernel) {
    const struct interval panels = panels_of(p, m);
    struct pieces pieces = {0};
    if (panels.from == panels.to)
        return;
    if (is_by_rows(p, rows)) {
        linear_by_rows(p, m, rows, y, stride, kernel);
        return;
    }
    for (unsigned i = panels.from; i < panels.to; i++)
        multiply_panel(p, m, i, rows, y + i * PANEL_COLUMNS, stride, &pieces,
                       i == panels.from ? NULL : &pieces.multiply);
    span_sum_end(&pieces.multiply);
    emit_product(p, &pieces, kernel, weights_of(panels, m), rows);
}

void add_bias(const struct pass *p, const struct matrix *m, const float *bias, struct interval rows,
              float *y) {
    const struct interval panels = panels_of(p, m);
    const unsigned count = rows.to - rows.from, width = (panels.to - panels.from) * PANEL_COLUMNS;
    const size_t first = (size_t)panels.from * PANEL_COLUMNS;
    struct span span;
    if (bias == NULL || width == 0)
        return;
    span_begin(&span);
    add_rows(y + first, m->rows, bias + first, 0, count, width, y + first);
    span_end(&span, KERNEL_BIAS, p->layer, (uint64_t)count * width);
}

void linear_add(const struct pass *p, const struct matrix *m, struct interval rows, float *sum,
                enum kernel kernel) {
    const struct interval panels = panels_of(p, m);
    const unsigned count = rows.to - rows.from, width = (panels.to - panels.from) * PANEL_COLUMNS;
    const size_t first = (size_t)panels.from * PANEL_COLUMNS;
    struct forward *f = p->f;
    float *columns = f->columns + (size_t)p->share.part * f->batch_max * PANEL_COLUMNS;
    struct pieces pieces = {0};
    if (panels.from == panels.to)
        return;
    if (is_by_rows(p, rows)) {
        linear_by_rows(p, m, rows, f->few, m->rows, kernel);
        span_sum_begin(&pieces.finish);
        add_rows(sum + first, m->rows, f->few + first, m->rows, count, width, sum + first);
    } else {
        for (unsigned i = panels.from; i < panels.to; i++) {
            const size_t at = (size_t)i * PANEL_COLUMNS;
            multiply_panel(p, m, i, rows, columns, PANEL_COLUMNS, &pieces,
                           i == panels.from ? NULL : &pieces.finish);
            span_sum_switch(&pieces.multiply, &pieces.finish);
            add_rows(sum + at, m->rows, columns, PANEL_COLUMNS, count, PANEL_COLUMNS, sum + at);
        }
        emit_product(p, &pieces, kernel, weights_of(panels, m), rows);
    }
    span_sum_end(&pieces.finish);
    span_sum_emit(&pieces.finish, KERNEL_RESIDUAL, p->layer, (uint64_t)count * width);
}

// Floats of gate times up from the first of `panels` on: whole rows, or a block's panels, over and over. An
// odd number of lines from panel to panel: a row's lines then spread over all sets of the L1 cache.
static struct float_rows activated_floats(const struct pass *p, struct interval panels) {
    float *gate = p->f->gate;
    const size_t panel = (size_t)(p->rows | 1) * PANEL_COLUMNS;
    return p->int8 ? (struct float_rows){gate + panels.from * panel, PANEL_COLUMNS, panel}
                   : whole_rows(gate + panels.from * PANEL_COLUMNS, p->weights->gate.rows);
}

// Panels whose columns share a scale as the input of down.
static unsigned panels_of_block(const struct pass *p) {
    return int8_block(p->weights->down.k) / PANEL_COLUMNS;
}

static void swiglu_by_rows(const struct pass *p, struct interval rows, struct interval panels) {
    const struct matrix *gate = &p->weights->gate, *up = &p->weights->up;
    const unsigned count = rows.to - rows.from, width = (panels.to - panels.from) * PANEL_COLUMNS,
                   ffn = gate->rows;
    const size_t first = (size_t)panels.from * PANEL_COLUMNS;
    struct forward *f = p->f;
    struct span span;
    linear_by_rows(p, gate, rows, f->gate, ffn, KERNEL_LINEAR_GATE);
    linear_by_rows(p, up, rows, f->few, ffn, KERNEL_LINEAR_UP);
    span_begin(&span);
    swiglu_rows(f->gate + first, ffn, f->few + first, ffn, count, width);
    span_end(&span, KERNEL_SWIGLU, p->layer, (uint64_t)count * width);
}

void linear_swiglu(const struct pass *p, struct interval rows) {
    const struct matrix *gate = &p->weights->gate, *up = &p->weights->up, *down = &p->weights->down;
    const unsigned block = p->int8 ? panels_of_block(p) : 1, count = rows.to - rows.from;
    const struct interval panels = share_of(p->share, panels_in(gate), block);
    struct forward *f = p->f;
    float *columns = f->columns + (size_t)p->share.part * f->batch_max * PANEL_COLUMNS;
    const struct float_rows out = activated_floats(p, panels);
    const struct int8_activations tiles = tiled(p, down);
    struct pieces gates = {0}, ups = {0};
    struct span_sum quantizing = {0}, *last = NULL;
    if (panels.from == panels.to)
        return;
    if (is_by_rows(p, rows)) {
        swiglu_by_rows(p, rows, panels);
        return;
    }
    for (unsigned i = panels.from, start = i; i < panels.to; i++) {
        float *to = out.x + (i - start) * out.panel;
        multiply_panel(p, gate, i, rows, to, out.row, &gates, last);
        multiply_panel(p, up, i, rows, columns, PANEL_COLUMNS, &ups, &gates.multiply);
        last = &ups.finish;
        span_sum_switch(&ups.multiply, last);
        swiglu_rows(to, out.row, columns, PANEL_COLUMNS, count, PANEL_COLUMNS);
        if (p->int8 && (i + 1 == start + block || i + 1 == panels.to)) {
            span_sum_switch(last, &quantizing);
            quantize_blocks(&out, count, start * PANEL_COLUMNS, (i + 1 - start) * PANEL_COLUMNS,
                            down->int8.reciprocals, &tiles);
            last = &quantizing;
            start = i + 1;
        }
    }
    span_sum_end(last);
    emit_product(p, &gates, KERNEL_LINEAR_GATE, weights_of(panels, gate), rows);
    emit_product(p, &ups, KERNEL_LINEAR_UP, weights_of(panels, up), rows);
    const uint64_t work = (uint64_t)count * (panels.to - panels.from) * PANEL_COLUMNS;
    span_sum_emit(&ups.finish, KERNEL_SWIGLU, p->layer, work);
    if (p->int8)
        span_sum_emit(&quantizing, KERNEL_QUANTISE, p->layer, work);
}

void quantize_activated(const struct pass *p, struct interval rows) {
    const struct matrix *down = &p->weights->down;
    struct span span;
    if (!p->int8) {
        quantize(p, whole_rows(p->f->gate, down->k), rows, down);
        return;
    }
    if (rows.from == rows.to)
        return;
    const struct int8_activations all = tiled(p, down), out = int8_activations_from(&all, rows.from);
    span_begin(&span);
    finish_tiles(rows.to - rows.from, down->k, &out);
    span_end(&span, KERNEL_QUANTISE, p->layer, 0);
}
