// SPDX-License-Identifier: Apache-2.0
#include "engine/attend.h"

#include "engine/offload_attention.h"
#include "link/telemetry.h"

bool attend(const struct pass *p, struct attention job) {
    struct forward *f = p->f;
    const unsigned head_dim = f->model->header->head_dim;
    struct span span;
    job.form = f->attention;
    if (f->offload_values && offload_attention_worth(job.rows)) {
        offload_attention(p, &job);
    } else {
        span_begin(&span);
        const uint64_t seen = attention(&f->ring, p->layer, &job, p->share);
        if (seen != 0)
            span_end(&span, KERNEL_ATTENTION, p->layer, 2 * seen * head_dim);
    }
    return attention_is_by_tokens(job.rows, p->share);
}
