// SPDX-License-Identifier: Apache-2.0
// A weight image, checked and bound: pointers into the image, nothing copied.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/requantize.h"
#include "schema/image.h"
#include "schema/wire.h"

// Limits of this build. Shapes beyond them are refused, so that sums below stay within their types.
#define MODEL_LAYERS_MAX     128
#define MODEL_WIDTH_MAX      65536 // hidden, ffn, heads * head_dim
#define MODEL_VOCABULARY_MAX (1u << 20)

/// A packed [rows][k] matrix: rows are outputs.
struct matrix {
    const uint8_t *packs; // panels of 16 rows
    size_t panel_bytes;
    uint32_t rows, k;
    enum tensor_format format;
    struct requantization int8; // of layers only
};

struct layer {
    const float *attn_norm, *ffn_norm;     // [hidden]
    const float *q_bias, *k_bias, *v_bias; // [rows of q, k, v]; NULL in families without
    struct matrix q, k, v, o, gate, up, down;
};

struct model {
    const struct image_header *header;
    struct matrix embedding, head; // the same packs where the image has no output tensor
    const float *output_norm;
    struct layer layers[MODEL_LAYERS_MAX];
    bool int8; // every matrix of the layers has an int8 form
};

/// Checks everything that can be checked without reading the weights: header and its CRC, limits, shapes, the
/// table's bounds and alignment, that each tensor is there once with the shape and size that its role
/// demands. After OK, no content of the weights can make the engine leave the image. Otherwise says why by
/// log_text and returns NO_MODEL (no image there), BAD_VALUE (inconsistent) or OUT_OF_RANGE (beyond this
/// build's limits); `model` is then undefined.
enum reply_status model_bind(struct model *model, const uint8_t *image, size_t bytes);
