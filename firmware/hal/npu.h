// SPDX-License-Identifier: Apache-2.0
// The NPU: matrix products of packed weights and quantized activations beside the cores (docs/npu.md).
//
// Jobs run one after the other, in the order in which they were submitted. Between two barriers one core
// submits (or resets); any core may wait. The NPU sees memory, not caches: who has written inputs cleans
// them before the barrier behind which they are submitted, and who reads results invalidates them after
// npu_wait. From npu_submit to the end inputs must not change, and nobody touches the results.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "schema/device_page.h"
#include "schema/npu.h"

/// Whether the board has an NPU. Without one npu_submit refuses every job with NPU_CODE_ABSENT.
bool npu_present(void);

/// Queues a job; `job` itself is cleaned here. Returns its number, from 1 on, or 0: npu_error() says why,
/// and nothing was touched. A job holds one of NPU_DEPTH places until this core has waited for it or a
/// later one, or until a barrier behind some core's doing so.
uint32_t npu_submit(const struct npu_job *job);

/// Why npu_submit last returned 0.
enum npu_code npu_error(void);

/// Waits until job `sequence`, and so all before it, has ended: then their results are in memory. The wait is
/// bounded (NPU_CODE_TIMEOUT). A core other than the submitting one must have passed a barrier since.
enum npu_code npu_wait(uint32_t sequence);

/// The same without waiting: NPU_CODE_BUSY while the job runs or is queued.
enum npu_code npu_look(uint32_t sequence);

/// Ends all jobs that nobody has waited for, without a result: waits for them answer NPU_CODE_RESET.
void npu_reset(void);

/// What job `sequence` took, in cycles of the board's clock. Exact once all cores have passed a barrier
/// behind its end. False where it is not one of the last NPU_RECORDS.
bool npu_times(uint32_t sequence, struct npu_record *times);

/// Cleans the activations that `job` reads, as far as this core's rows are concerned: rows `first` up to,
/// not including, `end`.
void npu_clean_rows(const struct npu_job *job, unsigned first, unsigned end);

/// Forgets what caches hold of rows `first` up to, not including, `end` of the results: after npu_wait.
void npu_invalidate_rows(const struct npu_job *job, unsigned first, unsigned end);

const char *npu_code_text(enum npu_code code);
