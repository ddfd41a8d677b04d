// SPDX-License-Identifier: Apache-2.0
// GICv2, only so far that a pending interrupt ends a WFI. Interrupts are never taken: they stay masked in
// PSTATE. Cores wake each other the same way.
#pragma once

/// Makes software-generated interrupt `interrupt` (0..15) pending on every core of `mask`.
void gic_signal(unsigned mask, unsigned interrupt);

/// Takes the pending interrupt off the calling core, if there is one, so that it ends no further WFI.
void gic_acknowledge(void);

/// Lets an interrupt, software-generated (0..15), private (16..31) or shared (32 on), through to the calling
/// core.
void gic_wake_by(unsigned interrupt);
