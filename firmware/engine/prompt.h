// SPDX-License-Identifier: Apache-2.0
// The prompt of the next request, put together from PROMPT_PART commands.
#pragma once

#include <stdint.h>

#include "link/frame.h"

#define PROMPT_MAX 32768 // tokens

/// Adds a part. Parts come in order, without gaps; the one with offset 0 starts a new prompt.
/// `vocabulary` bounds the token ids. BAD_LENGTH, BAD_VALUE (a gap) or OUT_OF_RANGE (an id, too long) leave
/// the prompt as it was.
enum reply_status prompt_add(const struct frame *frame, uint32_t vocabulary);

/// The prompt of `request` if exactly `tokens` have arrived, else NULL. It is then forgotten, but stays
/// readable until the next prompt_add.
const uint32_t *prompt_take(uint32_t request, uint32_t tokens);
