// SPDX-License-Identifier: Apache-2.0
#include "engine/offload_job.h"

#include "arch/cache.h"
#include "arch/cpu.h"
#include "arch/string.h"
#include "engine/linear.h"
#include "engine/offload.h"
#include "engine/offload_attention.h"
#include "hal/npu.h"
#include "link/channel.h"
#include "link/telemetry.h"

_Static_assert(NPU_GROUP == GROUP && NPU_GROUP_BYTES == sizeof(struct group_scale) &&
                   NPU_PANEL_COLUMNS == PANEL_COLUMNS,
               "the NPU reads what the cores write");

static bool is_taken(enum tensor_format format) {
    return format == TENSOR_FORMAT_Q4_0 || format == TENSOR_FORMAT_Q4_1 || format == TENSOR_FORMAT_Q8_0;
}

bool offload_takes_all(const struct products *products) {
    bool all = true;
    for (unsigned i = 0; i < products->count; i++)
        all = all && is_taken(products->list[i].m->format);
    return all;
}

bool offload_halves(const struct pass *p, const struct products *products) {
    bool halves = p->f->npu.halves && offload_takes_all(products);
    for (unsigned i = 0; i < products->count; i++)
        halves = halves && products->list[i].m->rows % 32 == 0; // columns begin with a cache line
    return halves;
}

// Whether they are one matrix as the NPU sees it.
static bool is_one(const struct products *products) {
    for (unsigned i = 1; i < products->count; i++) {
        const struct matrix *m = products->list[i].m, *before = products->list[i - 1].m;
        if (m->format != before->format || m->k != before->k ||
            m->packs != before->packs + before->rows / PANEL_COLUMNS * before->panel_bytes)
            return false;
    }
    return true;
}

static void fail(struct forward *f, const char *what, enum npu_code code, unsigned layer) {
    if (!f->npu.failed)
        log_text(LOG_LEVEL_ERROR, "NPU, layer %u: %s: %s", layer, what, npu_code_text(code));
    f->npu.failed = true;
}

struct offload_job offload_submit(const struct pass *p, const struct npu_job *job, enum kernel kernel,
                                  uint64_t macs) {
    const uint32_t sequence = p->f->npu.failed ? 0 : npu_submit(job);
    if (sequence == 0)
        fail(p->f, "a job is refused", npu_error(), p->layer);
    return (struct offload_job){sequence, kernel, p->layer, macs};
}

// Core 0: the job of some columns of the output, which begin with `m`.
static void submit(const struct pass *p, const struct activations *x, struct interval rows,
                   const struct offload_output *output, bool halves, const struct matrix *m,
                   struct interval columns, enum kernel kernel, struct offload_pending *pending) {
    const unsigned count = rows.to - rows.from, width = columns.to - columns.from;
    const size_t value = halves ? sizeof(uint16_t) : sizeof(float), row = output->width * value;
    const _Alignas(CACHE_LINE) struct npu_job job = {.format = m->format,
                                                     .output = halves ? NPU_OUTPUT_F16 : NPU_OUTPUT_F32,
                                                     .rows = count,
                                                     .panels = width / PANEL_COLUMNS,
                                                     .k = x->k,
                                                     .weights = (uintptr_t)m->packs,
                                                     .values = (uintptr_t)x->values,
                                                     .groups = (uintptr_t)x->groups,
                                                     .row_scales = (uintptr_t)x->row_scales,
                                                     .out = (uintptr_t)output->rows + rows.from * row +
                                                            columns.from * value,
                                                     .out_stride = (uint32_t)row};
    if (count != 0)
        pending->jobs[pending->count++] = offload_submit(p, &job, kernel, (uint64_t)count * width * m->k);
}

// This core's columns, written back so that no cache holds what it has not read from memory.
static void multiply(const struct pass *p, const struct activations *x, struct interval rows,
                     const struct offload_output *output, const struct product *product, unsigned column) {
    const struct matrix *m = product->m;
    const unsigned count = rows.to - rows.from, width = output->width;
    const struct interval panels = panels_of(p, m);
    struct pass here = *p;
    float *y = (float *)output->rows + (size_t)rows.from * width + column;
    here.input = x;
    linear(&here, m, (struct interval){0, count}, y, width, product->kernel);
    y += panels.from * PANEL_COLUMNS;
    for (unsigned row = 0; row < count; row++, y += width)
        cache_begin_clean(y, (panels.to - panels.from) * PANEL_COLUMNS * sizeof *y);
    cache_complete();
}

void offload_record(const struct offload_job *job) {
    struct npu_record times;
    if (npu_times(job->sequence, &times))
        telemetry_npu(job->kernel, job->layer, job->macs, &times);
}

static void record(struct offload_pending *pending) {
    for (unsigned i = 0; i < pending->count; i++)
        offload_record(&pending->jobs[i]);
    pending->count = 0;
}

void offload_products(const struct pass *p, unsigned half, struct interval rows,
                      const struct products *products) {
    struct offload_pending *pending = &p->f->npu.pending[half];
    const struct product *list = products->list;
    const struct offload_output *output = products->output;
    const bool halves = offload_halves(p, products), one = is_one(products) && is_taken(list[0].m->format);
    struct activations x = p->f->npu.input[half];
    struct interval columns = {0, 0};
    x.k = padded_k(list[0].m->k);
    if (p->share.part == 0) {
        record(pending);
        pending->any = true;
        if (one)
            submit(p, &x, rows, output, halves, list[0].m, (struct interval){0, output->width},
                   products->count == 1 ? list[0].kernel : products->kernel, pending);
    }
    // Jobs first: they run while the cores multiply.
    for (unsigned i = 0; i < products->count && !one && p->share.part == 0; i++) {
        columns = (struct interval){columns.to, columns.to + list[i].m->rows};
        if (is_taken(list[i].m->format))
            submit(p, &x, rows, output, halves, list[i].m, columns, list[i].kernel, pending);
    }
    for (unsigned i = 0, column = 0; i < products->count && !one; column += list[i++].m->rows)
        if (!is_taken(list[i].m->format) && rows.from != rows.to)
            multiply(p, &x, rows, output, &list[i], column);
}

void offload_wait_for(const struct pass *p, const struct offload_job *job) {
    struct span span;
    if (job->sequence == 0) // refused
        return;
    span_begin(&span);
    const enum npu_code code = npu_wait(job->sequence);
    span_end(&span, KERNEL_NPU_WAIT, p->layer, 0);
    if (p->share.part == 0 && code != NPU_CODE_DONE)
        fail(p->f, "a job has not ended well", code, p->layer);
}

bool offload_wait(const struct pass *p, unsigned half) {
    const struct offload_pending *pending = &p->f->npu.pending[half];
    if (pending->count != 0)
        offload_wait_for(p, &pending->jobs[pending->count - 1]); // and all before it
    return pending->any;
}

void offload_drain(struct forward *f) {
    offload_attention_drain(f);
    for (unsigned half = 0; half < OFFLOAD_HALVES; half++) {
        struct offload_pending *pending = &f->npu.pending[half];
        for (unsigned i = 0; i < pending->count; i++)
            npu_wait(pending->jobs[i].sequence);
        record(pending);
        *pending = (struct offload_pending){0};
    }
}

void *offload_reserve(size_t bytes, size_t *needed) {
    bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    *needed += bytes;
    return pool_take(&npu_pool, bytes, CACHE_LINE);
}

bool offload_init(struct forward *f, unsigned k, unsigned context, size_t *needed) {
    const struct image_header *h = f->model->header;
    const size_t rows = f->batch_max, query = (size_t)h->heads * h->head_dim,
                 kv = (size_t)h->kv_heads * h->head_dim;
    const size_t first = OFFLOAD_FIRST_ROWS(rows) + TILE_ROWS * BOARD_CORES,
                 most = first < rows ? first : rows, half = (most + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    bool complete = true;
    *needed = 0;
#define TAKE(pointer, bytes) complete &= ((pointer) = offload_reserve(bytes, needed)) != NULL
    for (struct activations *input = f->npu.input; input < f->npu.input + OFFLOAD_HALVES; input++) {
        TAKE(input->values, half * k);
        TAKE(input->groups, half * k / GROUP * sizeof *input->groups);
        TAKE(input->low_sums, half * k / GROUP * sizeof *input->low_sums);
        TAKE(input->row_scales, half * sizeof *input->row_scales);
    }
    f->npu.projected.width = (unsigned)(query + 2 * kv);
    f->npu.gate_up.width = 2 * h->ffn;
    f->npu.product.width = h->hidden;
    TAKE(f->npu.projected.rows, rows * f->npu.projected.width * sizeof(float));
    TAKE(f->npu.gate_up.rows, rows * f->npu.gate_up.width * sizeof(float));
    TAKE(f->npu.product.rows, rows * f->npu.product.width * sizeof(float));
#undef TAKE
    complete &= offload_attention_init(f, context, needed);
    if (!complete)
        pool_reset(&npu_pool);
    return complete;
}
