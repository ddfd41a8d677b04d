// SPDX-License-Identifier: Apache-2.0
// The engine as the command loop sees it: bind a weight image, then answer GENERATE commands.
// One request at a time; the functions are core 0's, which shares the work out.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/image.h"
#include "schema/wire.h"

/// Validates the weight image at `image` and takes the activation and KV memory for its shapes from the
/// pools. `bytes` is how much memory may be read there. An image that cannot be used is explained by log_text
/// and refused: NO_MODEL when there is no image, BAD_VALUE when its content is wrong, OUT_OF_RANGE when it
/// does not fit this build (pools, context, shapes). Nothing is bound then. Binding again replaces the model.
enum reply_status engine_bind(const uint8_t *image, size_t bytes);

/// Forgets the cached tokens.
void engine_reset(void);

/// Runs one request to its end. `prompt` holds command->prompt_tokens token ids that follow the command->keep
/// cached ones. Returns a status other than OK, having sent and changed nothing, when the command cannot run:
/// NO_MODEL, BAD_VALUE (a sampling parameter), OUT_OF_RANGE (a token id, keep, a window), EVICTED (keep
/// reaches into tokens that have left the ring). Otherwise sends PROGRESS, TOKEN and LOGITS messages and
/// exactly one DONE. The token that ends a request (a stop token, or the last one of the limit) is not in the
/// cache afterwards.
enum reply_status engine_generate(const struct generate *command, const uint32_t *prompt);

/// Fills a KV_STATE message; zeros without a model.
void engine_kv_state(struct kv_state *state);

/// Header of the bound image, or NULL.
const struct image_header *engine_model(void);

/// Prefill tokens per batch from now on, clamped to 1..BOARD_BATCH. Results do not depend on it.
void engine_set_batch(unsigned tokens);

/// How many cores work on a prefill batch, or on a decode step, from now on; as many of them as run. Results
/// do not depend on it.
void engine_set_cores(enum phase phase, unsigned count);

/// What of a prompt the NPU computes from now on, always by the exact route. NULL, or why it cannot.
const char *engine_set_npu(enum npu_mode mode);

/// Whether the NPU rounds its results to fp16 from now on, but for queries, keys and values.
void engine_set_npu_f16(bool on);

/// Whether there is an NPU whose memory holds what the bound model needs.
bool engine_npu_ready(void);

/// Prompts of at least `tokens` tokens take the int8 route from now on (kernels/int8_linear.h), which is
/// quicker and less exact; 0: none does. Nor does any prompt of a model with a matrix that has no int8 form.
/// What is generated always takes the exact route.
void engine_set_int8(unsigned tokens);

/// How attention is computed from the next request on, prompts and answers alike.
void engine_set_attention(enum attention_form form);
