// SPDX-License-Identifier: Apache-2.0
#include "engine/offload_rows.h"

#include "arch/cache.h"
#include "arch/string.h"
#include "kernels/elementwise.h"

struct interval offload_half(const struct pass *p, unsigned half) {
    const unsigned rows = p->rows, first = (rows / 2 + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    const unsigned middle = first < rows ? first : rows / 2;
    return half == 0 ? (struct interval){0, middle} : (struct interval){middle, rows};
}

struct interval offload_mine(const struct pass *p, unsigned half) {
    const struct interval all = offload_half(p, half);
    const unsigned count = all.to - all.from, unit = count >= TILE_ROWS * p->share.parts ? TILE_ROWS : 1;
    const struct interval mine = share_of(p->share, count, unit);
    return (struct interval){all.from + mine.from, all.from + mine.to};
}

void offload_give(const struct pass *p, unsigned half, const float *floats, unsigned k,
                  struct interval rows) {
    struct activations all = p->f->npu.input[half];
    all.k = padded_k(k);
    const struct activations x = activations_from(&all, rows.from - offload_half(p, half).from);
    const size_t count = rows.to - rows.from;
    quantize_rows(floats, k, (unsigned)count, k, &x);
    cache_begin_clean(x.values, count * x.k);
    cache_begin_clean(x.groups, count * x.k / GROUP * sizeof *x.groups);
    cache_begin_clean(x.row_scales, count * sizeof *x.row_scales);
}

static size_t row_bytes(const struct offload_taking *taking) {
    return taking->output->width * (taking->halves ? sizeof(uint16_t) : sizeof(float));
}

static void ask(const struct offload_taking *taking, struct interval rows) {
    const size_t row = row_bytes(taking);
    cache_ask(taking->output->rows + rows.from * row, (rows.to - rows.from) * row);
}

void offload_ahead(const struct offload_taking *taking, struct interval mine, struct interval rows) {
    ask(taking, offload_some(mine, rows.to));
}

void offload_take(const struct offload_taking *taking, struct interval mine) {
    const size_t row = row_bytes(taking);
    cache_invalidate(taking->output->rows + mine.from * row, (mine.to - mine.from) * row);
    ask(taking, offload_some(mine, mine.from));
}

void offload_forget(const struct offload_taking *taking, unsigned row, unsigned from, unsigned to) {
    const size_t value = taking->halves ? sizeof(uint16_t) : sizeof(float);
    cache_begin_invalidate(taking->output->rows + row * row_bytes(taking) + from * value,
                           (to - from) * value);
}

void offload_columns(const struct offload_taking *taking, struct interval rows, unsigned from, unsigned count,
                     float *to, size_t stride) {
    const uint8_t *row = taking->output->rows + rows.from * row_bytes(taking);
    for (unsigned n = rows.from; n < rows.to; n++, row += row_bytes(taking), to += stride) {
        if (taking->halves)
            widen((const uint16_t *)row + from, count, to);
        else
            memcpy(to, (const float *)row + from, count * sizeof *to);
    }
}
