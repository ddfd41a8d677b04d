// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What an emulator without caches hides of the NPU (check=on): the device sees memory, and caches may hold
// something else. By lines, since that is what caches keep; whether a line would still have been in a cache
// does not matter, so that a mistake is found whether or not it did harm this time.
#pragma once

#include "core.h"
#include "npu_job.h"

/// Returns NULL, or what went wrong.
const char *npu_check_open(const struct options *options);

/// Job `sequence` was accepted: what it reads must be clean, what it writes must not be dirty.
void npu_check_begin(uint32_t sequence, const struct npu_work *work);

/// Its results have come into memory: whoever holds their lines holds what was there before.
void npu_check_end(const struct npu_job *job);

/// The core loads or stores `bytes` at `address`, in RAM and cacheable, by the instruction at `pc`.
void npu_check_access(const struct core *core, uint64_t address, unsigned bytes, uint32_t pc, bool writes);

/// All caches forget the line at `address`.
void npu_check_forget(uint64_t address);
