// SPDX-License-Identifier: Apache-2.0
#include "engine/offload_rows.h"

#include "arch/cache.h"
#include "arch/string.h"
#include "kernels/elementwise.h"

// Rows of A. They see fewer keys: with a few more of them, attention takes the cores about as long as the
// other half's gate and up take the NPU, for both halves. Where there are enough, each core has as many tiles
// of A as the others.
static unsigned first_rows(unsigned rows, unsigned cores) {
    const unsigned round = TILE_ROWS * cores, tiles = (rows / 2 + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    if (rows >= 2 * round)
        return (OFFLOAD_FIRST_ROWS(rows) + round / 2) / round * round;
    return tiles < rows ? tiles : rows / 2;
}

struct interval offload_half(const struct pass *p, unsigned half) {
    const unsigned middle = first_rows(p->rows, p->share.parts);
    return half == 0 ? (struct interval){0, middle} : (struct interval){middle, p->rows};
}

struct interval offload_mine(const struct pass *p, unsigned half) {
    const struct interval all = offload_half(p, half);
    const unsigned count = all.to - all.from, unit = count >= TILE_ROWS * p->share.parts ? TILE_ROWS : 1;
    const struct interval mine = share_of(p->share, count, unit);
    return (struct interval){all.from + mine.from, all.from + mine.to};
}

void offload_give(const struct pass *p, unsigned half, const struct products *products, const float *floats,
                  struct interval rows) {
    const struct interval all = offload_half(p, half);
    const unsigned k = products->list[0].m->k;
    struct activations inputs = p->f->npu.input[half];
    inputs.k = padded_k(k);
    struct activations x = activations_from(&inputs, rows.from - all.from);
    const size_t count = rows.to - rows.from;
    // Only cores use half sums. Where none does, each core has one place for all of its rows, which never
    // leaves its cache.
    if (offload_takes_all(products) && all.to - all.from >= TILE_ROWS * p->share.parts)
        x.low_sums = activations_from(&inputs, TILE_ROWS * p->share.part).low_sums;
    quantize_rows(floats, k, (unsigned)count, k, &x);
    cache_begin_clean(x.values, count * x.k);
    cache_begin_clean(x.groups, count * x.k / GROUP * sizeof *x.groups);
    cache_begin_clean(x.row_scales, count * sizeof *x.row_scales);
}

static size_t value_bytes(const struct offload_taking *taking) {
    return taking->halves ? sizeof(uint16_t) : sizeof(float);
}

static size_t row_bytes(const struct offload_taking *taking) {
    return taking->output->width * value_bytes(taking);
}

const void *offload_at(const struct offload_taking *taking, unsigned row, unsigned column) {
    return taking->output->rows + row * row_bytes(taking) + column * value_bytes(taking);
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
    cache_begin_invalidate((void *)(uintptr_t)offload_at(taking, row, from),
                           (to - from) * value_bytes(taking));
}

void offload_columns(const struct offload_taking *taking, struct interval rows, unsigned from, unsigned count,
                     float *to, size_t stride) {
    for (unsigned row = rows.from; row < rows.to; row++, to += stride) {
        if (taking->halves)
            widen(offload_at(taking, row, from), count, to);
        else
            memcpy(to, offload_at(taking, row, from), count * sizeof *to);
    }
}
