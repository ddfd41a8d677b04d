// SPDX-License-Identifier: Apache-2.0
// What half a batch goes through in a layer. Between two stages of a half lies a stage of the other one,
// during which the NPU multiplies what the first has left.
#pragma once

#include "engine/offload_job.h"
#include "engine/offload_rows.h"

typedef void offload_stage(const struct pass *p, unsigned half);

offload_stage offload_attention_input; // the layer before is joined; norm; then queries, keys, values
offload_stage offload_attend;          // KV ring, attention of most tokens
offload_stage offload_attend_rest;     // ... of the others; then attn_output
offload_stage offload_ffn_input;       // attn_output is joined; norm; then gate, up
offload_stage offload_activate;        // SwiGLU; then down
offload_stage offload_join_half;       // the last down is joined

static inline struct products projections(const struct pass *p) {
    const struct layer *w = p->weights;
    return (struct products){&p->f->npu.projected,
                             KERNEL_LINEAR_QKV,
                             3,
                             {{&w->q, KERNEL_LINEAR_Q}, {&w->k, KERNEL_LINEAR_K}, {&w->v, KERNEL_LINEAR_V}}};
}

static inline struct products attended(const struct pass *p) {
    return (struct products){&p->f->npu.product, KERNEL_LINEAR_O, 1, {{&p->weights->o, KERNEL_LINEAR_O}}};
}

static inline struct products gate_and_up(const struct pass *p) {
    const struct layer *w = p->weights;
    return (struct products){&p->f->npu.gate_up,
                             KERNEL_LINEAR_GATE_UP,
                             2,
                             {{&w->gate, KERNEL_LINEAR_GATE}, {&w->up, KERNEL_LINEAR_UP}}};
}

static inline struct products activated(const struct pass *p) {
    return (struct products){
        &p->f->npu.product, KERNEL_LINEAR_DOWN, 1, {{&p->weights->down, KERNEL_LINEAR_DOWN}}};
}

static inline struct offload_taking taking_of(const struct pass *p, const struct products *products) {
    return (struct offload_taking){products->output, offload_halves(p, products)};
}
