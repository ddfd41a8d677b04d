// SPDX-License-Identifier: Apache-2.0
// What the portable firmware sources need from a board, for the machine that runs the tests.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/model.h"
#include "hal/pmu.h"
#include "kernels/activations.h"
#include "kernels/exp2.h"
#include "kernels/pack.h"
#include "link/channel.h"
#include "link/crc32.h"
#include "memory/kv_ring.h"
#include "memory/pools.h"

char last_log[512];

void log_text(enum log_level level, const char *format, ...) {
    va_list arguments;
    (void)level;
    va_start(arguments, format);
    vsnprintf(last_log, sizeof last_log, format, arguments);
    va_end(arguments);
}

uint32_t crc32(uint32_t crc, const void *data, size_t bytes) {
    const uint8_t *p = data;
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

void pmu_watch(const void *base, size_t bytes) {
    (void)base, (void)bytes;
}
void pmu_watch_read(uint64_t *accesses, uint64_t *refills) {
    *accesses = *refills = 0;
}

void *pool_take(struct memory_pool *pool, size_t bytes, size_t align) {
    size_t at = (pool->used + align - 1) / align * align;
    if (at > pool->bytes || bytes > pool->bytes - at)
        return NULL;
    pool->used = at + bytes;
    return pool->base + at;
}

// The model under test; too large for ctypes to describe.
static struct model model;

int host_bind(const uint8_t *image, size_t bytes) {
    return model_bind(&model, image, bytes);
}

static int inside(const void *start, size_t bytes, const uint8_t *image, size_t image_bytes) {
    const uint8_t *p = start;
    return p >= image && (size_t)(p - image) <= image_bytes && bytes <= image_bytes - (size_t)(p - image);
}

static int matrix_inside(const struct matrix *m, const uint8_t *image, size_t bytes) {
    return inside(m->packs, matrix_bytes(m->format, m->rows, m->k), image, bytes) &&
           m->panel_bytes == panel_bytes(m->format, m->k);
}

// What the int8 route needs of a layer's matrix.
static int int8_inside(const struct matrix *m, const uint8_t *image, size_t bytes) {
    const struct requantization *r = &m->int8;
    size_t k = padded_k(m->k);
    return inside(r->reciprocals, k * sizeof(float), image, bytes) &&
           inside(r->products, k * sizeof(int16_t), image, bytes) && inside(r->smoothing, k, image, bytes) &&
           inside(r->columns, m->rows * sizeof(float), image, bytes) &&
           (!r->multipliers || inside(r->multipliers, m->rows * sizeof(int16_t), image, bytes));
}

// Whether everything that the last host_bind() bound lies in the image.
int host_bound_inside(const uint8_t *image, size_t bytes) {
    const struct image_header *h = model.header;
    size_t vector = h->hidden * sizeof(float);
    int ok = matrix_inside(&model.embedding, image, bytes) && matrix_inside(&model.head, image, bytes) &&
             inside(model.output_norm, vector, image, bytes);
    for (unsigned i = 0; i < h->layers; i++) {
        const struct layer *l = &model.layers[i];
        const struct matrix *matrices[] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down};
        for (unsigned j = 0; j < 7; j++)
            ok = ok && matrix_inside(matrices[j], image, bytes) && int8_inside(matrices[j], image, bytes);
        ok = ok && inside(l->attn_norm, vector, image, bytes) && inside(l->ffn_norm, vector, image, bytes);
    }
    return ok;
}

// Physical page behind `page`, as the index map has it.
unsigned host_physical_page(const struct kv_ring *ring, uint32_t page) {
    return (unsigned)((size_t)(kv_ring_page(ring, 0, 0, 0, page) - ring->pages) /
                      KV_PAGE_BYTES(ring->shape.head_dim));
}

// Powers of two of `count` arguments.
void host_exp2_negative(const float *x, size_t count, float *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = exp2_negative(x[i]);
}

void host_exp2_steps(const uint32_t *steps, size_t count, float *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = exp2_steps(steps[i]);
}
