// SPDX-License-Identifier: Apache-2.0
// GICv2, only so far that a pending interrupt ends a WFI. Interrupts are never taken: they stay masked in
// PSTATE.
#pragma once

/// Lets a private peripheral interrupt (16..31) of the calling core through to it.
void gic_wake_by(unsigned interrupt);
