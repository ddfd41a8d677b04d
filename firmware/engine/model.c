// SPDX-License-Identifier: Apache-2.0
#include "engine/model.h"

#include <stdbool.h>

#include "arch/string.h"
#include "board_config.h"
#include "kernels/activations.h"
#include "kernels/exp2.h"
#include "kernels/pack.h"
#include "link/channel.h"
#include "link/crc32.h"

// Refuses the image: `return refuse(...)`.
#define refuse(status, ...) (log_text(LOG_LEVEL_ERROR, "weight image: " __VA_ARGS__), REPLY_STATUS_##status)

static uint32_t header_crc(const uint8_t *image, size_t bytes) {
    static const uint8_t zero[4];
    const size_t at = offsetof(struct image_header, header_crc);
    uint32_t crc = crc32(0, image, at);
    crc = crc32(crc, zero, sizeof zero);
    return crc32(crc, image + at + sizeof zero, bytes - at - sizeof zero);
}

// Header and table lie within the image and are what the console wrote.
static enum reply_status check_header(const struct image_header *h, const uint8_t *image, size_t bytes) {
    if ((uintptr_t)image % IMAGE_ALIGN)
        return refuse(BAD_VALUE, "not aligned to %d bytes", IMAGE_ALIGN);
    if (bytes < sizeof *h || h->magic != IMAGE_MAGIC)
        return REPLY_STATUS_NO_MODEL; // an empty pool is nothing to complain about
    if (h->version != IMAGE_VERSION)
        return refuse(BAD_VALUE, "version %u, this firmware reads version %u", h->version, IMAGE_VERSION);
    if (h->total_bytes > bytes || h->header_bytes > h->total_bytes || h->header_bytes % IMAGE_ALIGN)
        return refuse(BAD_VALUE, "%llu bytes with a header of %u do not fit the %zu bytes of memory",
                      (unsigned long long)h->total_bytes, h->header_bytes, bytes);
    uint64_t needed = sizeof *h + (uint64_t)h->tensor_count * sizeof(struct tensor_entry);
    if (needed > h->header_bytes)
        return refuse(BAD_VALUE, "a table of %u tensors does not fit its header", h->tensor_count);
    uint32_t crc = header_crc(image, h->header_bytes);
    if (crc != h->header_crc)
        return refuse(BAD_VALUE, "header CRC %08x, expected %08x", crc, h->header_crc);
    return REPLY_STATUS_OK;
}

static bool in_range(uint32_t value, uint32_t most) {
    return value > 0 && value <= most;
}

static enum reply_status check_shapes(const struct image_header *h) {
    if (h->family >= FAMILY_COUNT)
        return refuse(OUT_OF_RANGE, "model family %u is not supported", h->family);
    if (!in_range(h->layers, MODEL_LAYERS_MAX) || !in_range(h->hidden, MODEL_WIDTH_MAX) ||
        !in_range(h->ffn, MODEL_WIDTH_MAX) || !in_range(h->vocabulary, MODEL_VOCABULARY_MAX))
        return refuse(OUT_OF_RANGE, "layers %u, hidden %u, ffn %u, vocabulary %u", h->layers, h->hidden,
                      h->ffn, h->vocabulary);
    if (!in_range(h->head_dim, 2 * ROPE_PAIRS_MAX) || !in_range(h->heads, MODEL_WIDTH_MAX / h->head_dim) ||
        !in_range(h->kv_heads, h->heads))
        return refuse(OUT_OF_RANGE, "heads %u, KV heads %u, head size %u", h->heads, h->kv_heads,
                      h->head_dim);
    if (h->head_dim % 16 || h->rope_pairs != h->head_dim / 2 || h->heads % h->kv_heads)
        return refuse(BAD_VALUE, "heads %u, KV heads %u, head size %u, rotated pairs %u", h->heads,
                      h->kv_heads, h->head_dim, h->rope_pairs);
    if (h->hidden % GROUP || h->ffn % GROUP || h->heads * h->head_dim % GROUP)
        return refuse(BAD_VALUE, "widths %u, %u and %u are not all multiples of %d", h->hidden, h->ffn,
                      h->heads * h->head_dim, GROUP);
    if (float_bits(h->rms_epsilon) >= INFINITY_BITS) // also when negative
        return refuse(BAD_VALUE, "the norm's epsilon is not a number above 0");
    if (h->eos_count > EOS_MAX)
        return refuse(BAD_VALUE, "%u end tokens", h->eos_count);
    return REPLY_STATUS_OK;
}

#define READERS_MAX 3 // matrices that share an input

// Where a tensor belongs and what shape it has there. Exactly one of `matrix`, `vector` and `readers` is set;
// the last are the matrices whose input a smoothing tensor is of.
struct place {
    struct matrix *matrix;
    const float **vector;
    struct {
        struct matrix *matrix;
        uint32_t rows;
    } readers[READERS_MAX];
    uint32_t rows, k;
};

static struct place place_of(struct model *model, enum tensor_role role, unsigned layer_number) {
    const struct image_header *h = model->header;
    struct layer *layer = &model->layers[layer_number];
    uint32_t q_rows = h->heads * h->head_dim, kv_rows = h->kv_heads * h->head_dim;
    switch (role) {
    case TENSOR_ROLE_TOKEN_EMBEDDING:
        return (struct place){.matrix = &model->embedding, .rows = h->vocabulary, .k = h->hidden};
    case TENSOR_ROLE_OUTPUT:
        return (struct place){.matrix = &model->head, .rows = h->vocabulary, .k = h->hidden};
    case TENSOR_ROLE_OUTPUT_NORM:
        return (struct place){.vector = &model->output_norm, .rows = h->hidden, .k = 1};
    case TENSOR_ROLE_ATTN_NORM:
        return (struct place){.vector = &layer->attn_norm, .rows = h->hidden, .k = 1};
    case TENSOR_ROLE_FFN_NORM:
        return (struct place){.vector = &layer->ffn_norm, .rows = h->hidden, .k = 1};
    case TENSOR_ROLE_ATTN_Q_BIAS:
        return (struct place){.vector = &layer->q_bias, .rows = q_rows, .k = 1};
    case TENSOR_ROLE_ATTN_K_BIAS:
        return (struct place){.vector = &layer->k_bias, .rows = kv_rows, .k = 1};
    case TENSOR_ROLE_ATTN_V_BIAS:
        return (struct place){.vector = &layer->v_bias, .rows = kv_rows, .k = 1};
    case TENSOR_ROLE_ATTN_Q:
        return (struct place){.matrix = &layer->q, .rows = q_rows, .k = h->hidden};
    case TENSOR_ROLE_ATTN_K:
        return (struct place){.matrix = &layer->k, .rows = kv_rows, .k = h->hidden};
    case TENSOR_ROLE_ATTN_V:
        return (struct place){.matrix = &layer->v, .rows = kv_rows, .k = h->hidden};
    case TENSOR_ROLE_ATTN_OUTPUT:
        return (struct place){.matrix = &layer->o, .rows = h->hidden, .k = q_rows};
    case TENSOR_ROLE_FFN_GATE:
        return (struct place){.matrix = &layer->gate, .rows = h->ffn, .k = h->hidden};
    case TENSOR_ROLE_FFN_UP:
        return (struct place){.matrix = &layer->up, .rows = h->ffn, .k = h->hidden};
    case TENSOR_ROLE_FFN_DOWN:
        return (struct place){.matrix = &layer->down, .rows = h->hidden, .k = h->ffn};
    case TENSOR_ROLE_ATTN_SMOOTHING:
        return (struct place){.readers = {{&layer->q, q_rows}, {&layer->k, kv_rows}, {&layer->v, kv_rows}},
                              .rows = q_rows + 2 * kv_rows,
                              .k = h->hidden};
    case TENSOR_ROLE_ATTN_OUTPUT_SMOOTHING:
        return (struct place){.readers = {{&layer->o, h->hidden}}, .rows = h->hidden, .k = q_rows};
    case TENSOR_ROLE_FFN_SMOOTHING:
        return (struct place){
            .readers = {{&layer->gate, h->ffn}, {&layer->up, h->ffn}}, .rows = 2 * h->ffn, .k = h->hidden};
    case TENSOR_ROLE_FFN_DOWN_SMOOTHING:
        return (struct place){.readers = {{&layer->down, h->hidden}}, .rows = h->hidden, .k = h->ffn};
    }
    return (struct place){0};
}

// What there is of it already, or NULL.
static const void *bound(const struct place *place) {
    return place->vector   ? *place->vector
           : place->matrix ? place->matrix->packs
                           : (const void *)place->readers[0].matrix->int8.smoothing;
}

static size_t lines(size_t bytes) {
    return (bytes + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
}

// A smoothing tensor: what concerns the channels of the input, then its outputs.
static size_t channel_bytes(uint32_t k) {
    const size_t padded = padded_k(k);
    return lines(padded * sizeof(float)) + lines(padded * sizeof(int16_t)) + lines(padded);
}

static size_t smoothing_bytes(uint32_t rows, uint32_t k) {
    return channel_bytes(k) + lines(rows * sizeof(float)) + lines(rows * sizeof(int16_t));
}

// Gives the matrices that read the input their parts.
static void bind_smoothing(const struct place *place, const uint8_t *at) {
    const size_t padded = padded_k(place->k);
    struct requantization part = {.reciprocals = (const float *)at};
    part.products = (const int16_t *)(at + lines(padded * sizeof(float)));
    part.smoothing = (const int8_t *)part.products + lines(padded * sizeof(int16_t));
    part.columns = (const float *)(at + channel_bytes(place->k));
    part.multipliers = (const int16_t *)((const uint8_t *)part.columns + lines(place->rows * sizeof(float)));
    for (unsigned i = 0; i < READERS_MAX && place->readers[i].matrix; i++) {
        struct requantization *int8 = &place->readers[i].matrix->int8;
        *int8 = part;
        if (part.multipliers[0] == 0)
            int8->multipliers = NULL;
        part.columns += place->readers[i].rows;
        part.multipliers += place->readers[i].rows;
    }
}

static void bind_matrix(struct matrix *m, const struct tensor_entry *e, const uint8_t *at) {
    m->packs = at;
    m->panel_bytes = panel_bytes(e->format, e->columns);
    m->rows = e->rows;
    m->k = e->columns;
    m->format = e->format;
}

// Bytes that a tensor has there, whose format was checked.
static size_t tensor_bytes(const struct place *place, enum tensor_format format) {
    if (place->vector)
        return lines(place->rows * sizeof(float));
    return place->matrix ? matrix_bytes(format, place->rows, place->k)
                         : smoothing_bytes(place->rows, place->k);
}

static bool format_fits(const struct place *place, enum tensor_format format) {
    if (place->matrix)
        return pack_geometry(format).k != 0;
    return format == (place->vector ? TENSOR_FORMAT_F32 : TENSOR_FORMAT_SMOOTHING);
}

static bool belongs_to_layer(enum tensor_role role) {
    return role != TENSOR_ROLE_TOKEN_EMBEDDING && role != TENSOR_ROLE_OUTPUT &&
           role != TENSOR_ROLE_OUTPUT_NORM;
}

static enum reply_status bind_tensor(struct model *model, const uint8_t *image, unsigned index,
                                     const struct tensor_entry *e) {
    const struct image_header *h = model->header;
    if (e->role >= TENSOR_ROLE_COUNT || e->layer >= (belongs_to_layer(e->role) ? h->layers : 1))
        return refuse(BAD_VALUE, "tensor %u has role %u in layer %u", index, e->role, e->layer);
    struct place place = place_of(model, e->role, e->layer);
    struct pack_geometry pack = pack_geometry(e->format);
    if (!format_fits(&place, e->format))
        return refuse(BAD_VALUE, "tensor %u, role %u, has format %u", index, e->role, e->format);
    if (e->rows != place.rows || e->columns != place.k)
        return refuse(BAD_VALUE, "tensor %u, role %u, is %u x %u instead of %u x %u", index, e->role, e->rows,
                      e->columns, place.rows, place.k);
    if (pack.k == K_PACK && place.k % K_PACK)
        return refuse(BAD_VALUE, "tensor %u: %u inputs are not a multiple of %d", index, place.k, K_PACK);
    size_t bytes = tensor_bytes(&place, e->format);
    if (e->bytes != bytes || e->offset % IMAGE_ALIGN || e->offset < h->header_bytes ||
        e->offset > h->total_bytes || bytes > h->total_bytes - e->offset)
        return refuse(BAD_VALUE, "tensor %u, role %u: %llu bytes at %llu, expected %zu within the image",
                      index, e->role, (unsigned long long)e->bytes, (unsigned long long)e->offset, bytes);
    if (bound(&place))
        return refuse(BAD_VALUE, "role %u of layer %u twice", e->role, e->layer);
    if (place.vector)
        *place.vector = (const float *)(image + e->offset);
    else if (place.matrix)
        bind_matrix(place.matrix, e, image + e->offset);
    else
        bind_smoothing(&place, image + e->offset);
    return REPLY_STATUS_OK;
}

static bool is_bias(enum tensor_role role) {
    return role == TENSOR_ROLE_ATTN_Q_BIAS || role == TENSOR_ROLE_ATTN_K_BIAS ||
           role == TENSOR_ROLE_ATTN_V_BIAS;
}

static enum reply_status check_complete(struct model *model) {
    for (unsigned role = 0; role < TENSOR_ROLE_COUNT; role++) {
        unsigned layers = belongs_to_layer(role) ? model->header->layers : 1;
        for (unsigned layer = 0; layer < layers; layer++) {
            struct place place = place_of(model, role, layer);
            if (is_bias(role) && model->header->family != FAMILY_QWEN2)
                continue;
            bool missing = bound(&place) == NULL;
            if (missing && role == TENSOR_ROLE_OUTPUT)
                model->head = model->embedding; // tied
            else if (missing)
                return refuse(BAD_VALUE, "no tensor with role %u in layer %u", role, layer);
        }
    }
    return REPLY_STATUS_OK;
}

static bool has_int8(const struct model *model) {
    for (const struct layer *layer = model->layers; layer < model->layers + model->header->layers; layer++) {
        const struct matrix *all[] = {&layer->q,    &layer->k,  &layer->v,   &layer->o,
                                      &layer->gate, &layer->up, &layer->down};
        for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
            if (all[i]->int8.multipliers == NULL)
                return false;
    }
    return true;
}

enum reply_status model_bind(struct model *model, const uint8_t *image, size_t bytes) {
    const struct image_header *h = (const struct image_header *)image;
    enum reply_status status = check_header(h, image, bytes);
    if (status == REPLY_STATUS_OK)
        status = check_shapes(h);
    if (status != REPLY_STATUS_OK)
        return status;
    memset(model, 0, sizeof *model);
    model->header = h;
    const struct tensor_entry *table = (const struct tensor_entry *)(h + 1);
    for (unsigned i = 0; i < h->tensor_count; i++) {
        status = bind_tensor(model, image, i, &table[i]);
        if (status != REPLY_STATUS_OK)
            return status;
    }
    model->int8 = has_int8(model);
    return check_complete(model);
}
