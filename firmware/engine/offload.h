// SPDX-License-Identifier: Apache-2.0
// Layers whose matrix products the NPU computes, with the numbers of the exact route (docs/npu.md).
//
// The rows of a batch are two halves. While the NPU multiplies one half, the cores work on the other, which
// is two stages behind (' is the layer before):
//
//   cores: norm A | norm B'   | kv, attend A | swiglu B' | attend A | norm B | norm A    | kv, attend B | ...
//   NPU:   o B'   | q, k, v A | gate, up B'  |           | down B'  | o A    | q, k, v B | gate, up A   | ...
//
// The longest jobs, gate and up of a half, run while the cores attend with the other half, which leaves the
// memory bus to the NPU. Some tokens are left for later, so that there is something to do during down as
// well. Causal order makes A independent of B. Cores share out the rows of a half, so that all that divides
// them is a barrier before each half's jobs, and those around the KV ring. Whoever has quantized rows cleans
// them; whoever reads an output forgets what caches may hold of it first.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/share.h"
#include "engine/forward.h"

/// Takes the buffers for inputs up to `k` wide (padded) and for `context` tokens from the NPU's memory: all,
/// or none and false. `needed` is what they take.
bool offload_init(struct forward *f, unsigned k, unsigned context, size_t *needed);

/// Whether a batch of `rows` rows is worth halving.
bool offload_worth(unsigned rows);

/// A core's part of layer `layer`, all rows of which go on. Its last products are still on their way then.
void offload_layer(void *pass, struct share share);

/// A core's part of what is left to do after the last such layer: the residual stream is complete
/// then.
void offload_join(void *pass, struct share share);

/// Core 0, outside of jobs: waits until the NPU is idle, whatever has become of its jobs.
void offload_drain(struct forward *f);
