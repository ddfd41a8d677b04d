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

bool offload_halves(const struct pass *p, const struct matrix *m) {
    return p->f->npu.halves && is_taken(m->format) && m->rows % 32 == 0; // rows are whole cache lines
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

static void submit(const struct pass *p, struct offload_pending *pending, const struct activations *x,
                   struct interval rows, const struct product *product) {
    const struct matrix *m = product->m;
    const unsigned count = rows.to - rows.from;
    const _Alignas(CACHE_LINE) struct npu_job job = {
        .format = m->format,
        .output = product->halves ? NPU_OUTPUT_F16 : NPU_OUTPUT_F32,
        .rows = count,
        .panels = m->rows / PANEL_COLUMNS,
        .k = x->k,
        .weights = (uintptr_t)m->packs,
        .values = (uintptr_t)x->values,
        .groups = (uintptr_t)x->groups,
        .row_scales = (uintptr_t)x->row_scales,
        .out = (uintptr_t)product->y + product_bytes(product->halves, (size_t)rows.from * m->rows),
        .out_stride = (uint32_t)product_bytes(product->halves, m->rows)};
    if (count != 0)
        pending->jobs[pending->count++] =
            offload_submit(p, &job, product->kernel, (uint64_t)count * m->rows * m->k);
}

// This core's columns, written back so that no cache holds what it has not read from memory.
static void multiply(const struct pass *p, const struct activations *x, struct interval rows,
                     const struct product *product) {
    const struct matrix *m = product->m;
    const unsigned count = rows.to - rows.from;
    const struct interval panels = panels_of(p, m);
    struct pass here = *p;
    float *y = (float *)product->y + (size_t)rows.from * m->rows;
    here.input = x;
    linear(&here, m, (struct interval){0, count}, y, product->kernel);
    y += panels.from * PANEL_COLUMNS;
    for (unsigned row = 0; row < count; row++, y += m->rows)
        cache_clean(y, (panels.to - panels.from) * PANEL_COLUMNS * sizeof *y);
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
                      const struct product *products, unsigned count) {
    struct offload_pending *pending = &p->f->npu.pending[half];
    struct activations x = p->f->npu.input[half];
    x.k = padded_k(products[0].m->k);
    if (p->share.part == 0) {
        record(pending);
        pending->any = true;
        pending->halves = products[0].halves;
        for (unsigned i = 0; i < count; i++)
            if (is_taken(products[i].m->format))
                submit(p, pending, &x, rows, &products[i]);
    }
    for (unsigned i = 0; i < count && rows.from != rows.to; i++)
        if (!is_taken(products[i].m->format))
            multiply(p, &x, rows, &products[i]);
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

void *offload_take(size_t bytes, size_t *needed) {
    bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    *needed += bytes;
    return pool_take(&npu_pool, bytes, CACHE_LINE);
}

bool offload_init(struct forward *f, unsigned k, unsigned context, size_t *needed) {
    const struct image_header *h = f->model->header;
    const size_t rows = f->batch_max, query = (size_t)h->heads * h->head_dim,
                 kv = (size_t)h->kv_heads * h->head_dim;
    const size_t half = ((rows + 1) / 2 + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    bool complete = true;
    *needed = 0;
#define TAKE(pointer, bytes) complete &= ((pointer) = offload_take(bytes, needed)) != NULL
    for (struct activations *input = f->npu.input; input < f->npu.input + OFFLOAD_HALVES; input++) {
        TAKE(input->values, half * k);
        TAKE(input->groups, half * k / GROUP * sizeof *input->groups);
        TAKE(input->low_sums, half * k / GROUP * sizeof *input->low_sums);
        TAKE(input->row_scales, half * sizeof *input->row_scales);
    }
    TAKE(f->npu.query, rows * query * sizeof(float));
    TAKE(f->npu.key, rows * kv * sizeof(float));
    TAKE(f->npu.value, rows * kv * sizeof(float));
    TAKE(f->npu.gate, rows * h->ffn * sizeof(float));
    TAKE(f->npu.up, rows * h->ffn * sizeof(float));
    TAKE(f->npu.product, rows * h->hidden * sizeof(float));
    TAKE(f->npu.wide,
         BOARD_CORES * 2 * OFFLOAD_ROWS * (h->ffn > h->hidden ? h->ffn : h->hidden) * sizeof(float));
#undef TAKE
    complete &= offload_attention_init(f, context, needed);
    if (!complete)
        pool_reset(&npu_pool);
    return complete;
}
