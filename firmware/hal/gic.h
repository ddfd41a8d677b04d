// SPDX-License-Identifier: Apache-2.0
// GICv2, only so far that a pending interrupt ends a WFI. Interrupts are never taken: they stay masked in
// PSTATE.
#pragma once

/// Lets an interrupt, private (16..31) or shared (32 on), through to the calling core.
void gic_wake_by(unsigned interrupt);
