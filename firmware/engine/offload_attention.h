// SPDX-License-Identifier: Apache-2.0
// Attention whose products with the values the NPU computes (docs/npu.md): the cores make probabilities of
// one piece, some tokens of a KV head, while the NPU multiplies those of pieces before it by the pages'
// values, where they lie in the ring. Results have the bits of the cores' own.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/pass.h"
#include "kernels/attention.h"

/// Whether a batch of `rows` tokens is worth it.
static inline bool offload_attention_worth(unsigned rows) {
    return rows > 1;
}

/// Takes its buffers from the NPU's memory, for queries that see `context` tokens. `needed` grows by what
/// they take.
bool offload_attention_init(struct forward *f, unsigned context, size_t *needed);

/// A core's part. Its rows of job->out (attention_has_row) are complete on return; others' behind a barrier.
void offload_attention(const struct pass *p, const struct attention *job);

/// Core 0, outside of jobs: waits until the NPU has ended them, and records them.
void offload_attention_drain(struct forward *f);
