// SPDX-License-Identifier: Apache-2.0
// Random jobs of the NPU with inputs of their own, what they should give, and what must stay as it was.
#pragma once

#include "hal/npu.h"
#include "kernels/activations.h"

#define OUT       ((uint8_t *)0x90000000) // the NPU's memory
#define OUT_BYTES 32768u                  // of it, used here
#define POISON    0xa5

/// What the test reads: lines of "name value".
void tell(const char *name, uint64_t value);

uint32_t randoms(uint32_t below);

/// A job that runs: formats, shape and output are random where the arguments are 0.
struct npu_job random_job(uint32_t rows, uint32_t k, uint32_t panels);

/// A job that runs whose weights are pages of values, most of which are there.
struct npu_job random_pages_job(uint32_t rows, uint32_t k, uint32_t panels);

/// Fills OUT with POISON, behind the caches.
void poison(void);

/// How many bytes of OUT are not POISON; where `job` is not NULL, outside its results.
uint32_t touched(const struct npu_job *job);

/// How many results differ from the scalar reference's, or, of pages, from a sum of products.
uint32_t wrong(const struct npu_job *job);
