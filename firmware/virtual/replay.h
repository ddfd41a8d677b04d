// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Blocks that the pipeline has executed before in the same state. What a block does to the pipeline depends
// on the pipeline's state, relative to the dispatch cycle, on how long the block's memory accesses take, and
// on how its branch goes; on nothing else. Loops come back to the same states, so that each is kept once,
// with the blocks that were executed in it, what they asked of memory, and the states that they led to. While
// each block finds itself there, only memory and branches are modeled, and the rest is known: a finite
// automaton that is built as the program runs. The result is the same, cycle by cycle.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct block;
struct core;
struct pipeline;
struct touch;

/// What a block asks of what is outside the pipeline.
enum call_kind { CALL_LOAD, CALL_STORE, CALL_PREPARE };

/// Times are relative to the dispatch cycle at the block's beginning.
struct call {
    const struct touch *touch;
    uint32_t at, ready; // when it is made; and of a store, when its data are there
    uint32_t took;      // the answer
    uint32_t kind;      // enum call_kind
    struct step *other; // which was the same up to here, and got another answer
};

/// The core executes all of `block`, whose branch goes as `branch` says, as it has done before in this state.
/// False where it has not: then the pipeline is at the beginning of the block, and remembers what memory has
/// answered until then.
bool replay(struct core *core, const struct block *block, unsigned branch);

/// The pipeline has executed all of `block`: keeps that, with the state in which it is now.
void replay_learn(struct pipeline *p, const struct block *block, unsigned branch);

/// The pipeline is about to do anything else than whole blocks.
void replay_leave(struct pipeline *p);

/// Ends the process when there is no memory.
struct automaton *replay_new(void);
