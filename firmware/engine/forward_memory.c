// SPDX-License-Identifier: Apache-2.0
// What a forward pass takes from the pools: the list of forward.h.
#include "arch/string.h"
#include "engine/forward.h"
#include "engine/offload.h"
#include "kernels/rope.h"
#include "link/channel.h"

#define CACHE_LINE 64

static void *take(size_t bytes) {
    return pool_take(&activation_pool, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE, CACHE_LINE);
}

static unsigned widest(const struct image_header *h) {
    unsigned width = h->hidden > h->ffn ? h->hidden : h->ffn;
    unsigned query = h->heads * h->head_dim;
    return padded_k(width > query ? width : query);
}

static bool take_buffers(struct forward *f, const struct image_header *h, size_t rows) {
    const size_t quantized = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    size_t query = (size_t)h->heads * h->head_dim, kv = (size_t)h->kv_heads * h->head_dim, k = widest(h);
    const size_t ffn = padded_k(h->ffn);
    bool complete = true;
#define TAKE(pointer, bytes) complete &= ((pointer) = take(bytes)) != NULL
    TAKE(f->residual, rows * h->hidden * sizeof(float));
    TAKE(f->normed, (size_t)BOARD_CORES * NORM_ROWS * h->hidden * sizeof(float));
    TAKE(f->query, rows * query * sizeof(float));
    TAKE(f->key, rows * kv * sizeof(float));
    TAKE(f->value, rows * kv * sizeof(float));
    TAKE(f->gate, (rows + 1) * h->ffn * sizeof(float));
    TAKE(f->few, GEMV_ROWS * (size_t)(h->ffn > h->hidden ? h->ffn : h->hidden) * sizeof(float));
    TAKE(f->columns, BOARD_CORES * rows * PANEL_COLUMNS * sizeof(float));
    TAKE(f->quantized.values, quantized * k);
    TAKE(f->quantized.groups, quantized * k / GROUP * sizeof(struct group_scale));
    TAKE(f->quantized.low_sums, quantized * k / GROUP * sizeof(int32_t));
    TAKE(f->quantized.row_scales, quantized * sizeof(float));
    TAKE(f->activated.values, quantized * ffn);
    TAKE(f->activated.steps, quantized * ffn / GROUP * sizeof(int32_t));
    TAKE(f->activated.row_scales, quantized * sizeof(float));
    TAKE(f->rope, (rows + 1) * h->head_dim * sizeof(float));
    for (struct panel *panel = f->panels; panel < f->panels + BOARD_CORES; panel++) {
        TAKE(panel->weights, panel_weights_bytes(k));
        TAKE(panel->scales, panel_scales_bytes(k));
        TAKE(panel->columns, PANEL_COLUMNS * sizeof(float));
    }
    TAKE(f->logits, (h->vocabulary + PANEL_COLUMNS - 1) / PANEL_COLUMNS * PANEL_COLUMNS * sizeof(float));
    TAKE(f->repeated, (h->vocabulary + 31) / 32 * sizeof(uint32_t));
#undef TAKE
    // A block has at least one group, so that tiles take no more than groups do.
    f->tiles = (struct int8_activations){.values = f->quantized.values,
                                         .steps = (int32_t *)f->quantized.groups,
                                         .row_scales = f->quantized.row_scales};
    for (unsigned core = 0; core < BOARD_CORES; core++)
        f->int8_panels[core].weights = f->panels[core].weights;
    return complete;
}

bool forward_init(struct forward *f, const struct model *model, unsigned context, unsigned batch_max) {
    const struct image_header *h = model->header;
    *f = (struct forward){.model = model, .batch_max = batch_max, .cores = 1};
    if (!take_buffers(f, h, batch_max)) {
        log_text(LOG_LEVEL_ERROR, "activations of %u tokens do not fit the pool of %zu bytes", batch_max,
                 activation_pool.bytes);
        return false;
    }
    f->sink_rope = f->rope + (size_t)batch_max * h->head_dim;
    memset(f->repeated, 0, (h->vocabulary + 31) / 32 * sizeof(uint32_t));
    rope_row(h->rope_step, h->rope_pairs, context - 1, f->sink_rope);
    if (npu_pool.bytes != 0)
        f->npu_ready = offload_init(f, widest(h), context, &f->npu_bytes);
    struct kv_shape shape = {h->layers, h->kv_heads, h->head_dim, context, batch_max};
    if (!kv_ring_init(&f->ring, &shape, &kv_cache_pool)) {
        log_text(LOG_LEVEL_ERROR, "a KV ring for %u tokens takes %zu bytes, the pool has %zu", context,
                 kv_ring_bytes(&shape), kv_cache_pool.bytes);
        return false;
    }
    return true;
}
