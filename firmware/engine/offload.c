// SPDX-License-Identifier: Apache-2.0
#include "engine/offload.h"

#include "engine/offload_stages.h"

#define WORTH_ROWS 2 // one for each half

bool offload_worth(unsigned rows) {
    return rows >= WORTH_ROWS;
}

static const struct step {
    offload_stage *run;
    unsigned half;
    bool before; // in the layer before
} steps[] = {
    {offload_attention_input, 0, false}, {offload_ffn_input, 1, true},    {offload_attend, 0, false},
    {offload_activate, 1, true},         {offload_attend_rest, 0, false}, {offload_attention_input, 1, false},
    {offload_ffn_input, 0, false},       {offload_attend, 1, false},      {offload_activate, 0, false},
    {offload_attend_rest, 1, false},
};

static struct pass part_of(const void *context, struct share share) {
    struct pass p = *(const struct pass *)context;
    p.share = share;
    return p;
}

static struct pass of_layer(const struct pass *p, unsigned layer) {
    struct pass other = *p;
    other.layer = layer;
    other.weights = &p->f->model->layers[layer];
    return other;
}

void offload_layer(void *context, struct share share) {
    const struct pass p = part_of(context, share);
    const bool first = !p.f->npu.pending[1].any;
    const struct pass before = first ? p : of_layer(&p, p.layer - 1);
    for (const struct step *step = steps; step < steps + sizeof steps / sizeof steps[0]; step++) {
        if (!step->before)
            step->run(&p, step->half);
        else if (!first)
            step->run(&before, step->half);
        else
            meet(&p); // the stages around it rely on one
    }
}

void offload_join(void *context, struct share share) {
    const struct pass all = part_of(context, share), p = of_layer(&all, all.f->npu.layer);
    offload_ffn_input(&p, 1);
    offload_join_half(&p, 0);
    meet(&p);
    offload_activate(&p, 1);
    meet(&p);
    offload_join_half(&p, 1);
}
