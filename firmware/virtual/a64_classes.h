// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What one instruction of a class occupies on a Cortex-A76: data, to be corrected here and nowhere else.
// Latencies are not part of model 1: it bounds throughput.
//
//   CLASS(name, mops, v, v0, v1, l, d, i, m, b)
//
//   mops  dispatch slots of 4 per cycle
//   v     cycles of either vector pipe (V0 or V1); v0, v1: cycles of that one
//   l     cycles of either load/store pipe (L0 or L1)
//   d     store data, in beats of 8 bytes; the L1D takes two per cycle
//   i     cycles of any integer pipe (S0, S1 or M); m: cycles of M (multi-cycle integer)
//   b     cycles of the branch pipe
//
// Sources. SOG: Arm Cortex-A76 Software Optimization Guide v10.0 (PJDOC-466751330-7215), through its
// transcriptions. MEAS: throughput measured on a Raspberry Pi 5 (A76 r4p1). N1: LLVM 19's scheduling model of
// the sibling core Neoverse N1. ASSUMED: no source found; a guess on the side that costs more.
// clang-format off
//    name             mops  v v0 v1   l  d   i  m  b
CLASS(UNDECODED,          1, 0, 0, 0,  0, 0,  1, 0, 0) // counted and reported
CLASS(INT,                1, 0, 0, 0,  0, 0,  1, 0, 0) // 3 per cycle: SOG 4.1; N1 silicon 2.9 ADD per cycle
CLASS(INT_M,              1, 0, 0, 0,  0, 0,  0, 1, 0) // shift by more than 4, or extend: SOG, N1
CLASS(MUL_W,              1, 0, 0, 0,  0, 0,  0, 1, 0) // also SMADDL, CRC32: SOG
CLASS(MUL_X,              1, 0, 0, 0,  0, 0,  0, 3, 0) // SOG; N1 silicon 3.0 cycles. (A review says 1: not followed)
CLASS(MUL_HIGH,           1, 0, 0, 0,  0, 0,  0, 4, 0) // SOG; N1 silicon 4.0 cycles
CLASS(DIVIDE,             1, 0, 0, 0,  0, 0,  0, 5, 0) // at least 5 cycles apart: N1
CLASS(BRANCH,             1, 0, 0, 0,  0, 0,  0, 0, 1) // SOG
CLASS(BRANCH_LINK,        1, 0, 0, 0,  0, 0,  1, 0, 1) // the link register takes an integer pipe: N1
CLASS(HINT,               1, 0, 0, 0,  0, 0,  0, 0, 0)
CLASS(SYSTEM,             1, 0, 0, 0,  0, 0,  1, 0, 0) // MRS, MSR, barriers: cost not found, ASSUMED one slot
CLASS(V,                  1, 1, 0, 0,  0, 0,  0, 0, 0) // ADD, AND, CMP, MIN, ZIP, TBL of 1-2, EXT, DUP, XTN: SOG
CLASS(V_TBL_LONG,         2, 4, 0, 0,  0, 0,  0, 0, 0) // TBL of 3-4 registers: N1
CLASS(V_SHIFT,            1, 0, 0, 1,  0, 0,  0, 0, 0) // by immediate or register, narrowing, long, SADALP, ABA: SOG
CLASS(V_DOT,              1, 1, 0, 0,  0, 0,  0, 0, 0) // SDOT, UDOT: MEAS 99.9 % of 2 per cycle
CLASS(V_MUL_LONG,         1, 0, 1, 0,  0, 0,  0, 0, 0) // SMULL, SMLAL: SOG
CLASS(V_MUL_D,            1, 0, 1, 0,  0, 0,  0, 0, 0) // MUL, MLA, SQDMULH on 64 bits: SOG
CLASS(V_MUL_Q,            1, 0, 2, 0,  0, 0,  0, 0, 0) // the same on 128 bits: SOG
CLASS(V_FP,               1, 1, 0, 0,  0, 0,  0, 0, 0) // FMLA, FMUL, FADD: MEAS 2 per cycle, f16 f32 f64
CLASS(V_CONVERT_D,        1, 0, 1, 0,  0, 0,  0, 0, 0) // FCVT*, SCVTF, FRINT* of 2S or a scalar: N1
CLASS(V_CONVERT_Q,        1, 0, 2, 0,  0, 0,  0, 0, 0) // of 4S, FCVTL, FCVTN, and of 4H: N1
CLASS(V_CONVERT_H,        1, 0, 4, 0,  0, 0,  0, 0, 0) // of 8H: N1
CLASS(V_DIVIDE,           1, 0, 3, 0,  0, 0,  0, 0, 0) // FDIV, FSQRT of a scalar or 2S: N1, fastest operands
CLASS(V_DIVIDE_Q,         1, 0, 7, 0,  0, 0,  0, 0, 0) // of 4S: N1, 0.14 per cycle
CLASS(V_REDUCE,           1, 0, 0, 1,  0, 0,  0, 0, 0) // ADDV 4S and 8H: N1
CLASS(V_REDUCE_B,         1, 0, 0, 2,  0, 0,  0, 0, 0) // ADDV 16B: N1
CLASS(V_CRYPTO,           1, 0, 1, 0,  0, 0,  0, 0, 0) // AES, SHA: N1
CLASS(V_COMPARE_FLAGS,    1, 0, 1, 0,  0, 0,  0, 0, 0) // FCMP, FCCMP: N1
CLASS(V_TO_GPR,           1, 0, 0, 1,  0, 0,  0, 0, 0) // UMOV, SMOV, FMOV: SOG
CLASS(V_FROM_GPR,         1, 0, 0, 0,  0, 0,  0, 1, 0) // DUP, FMOV: SOG
CLASS(V_INSERT_GPR,       1, 1, 0, 0,  0, 0,  0, 1, 0) // INS: SOG
CLASS(FP_TO_GPR,          1, 0, 1, 1,  0, 0,  0, 0, 0) // FCVTZS X,D: N1
CLASS(FP_FROM_GPR,        1, 0, 1, 0,  0, 0,  0, 1, 0) // SCVTF D,X: N1
CLASS(LOAD,               1, 0, 0, 0,  1, 0,  0, 0, 0) // LDR of any width, LDP W: SOG, 2 per cycle
CLASS(LOAD_PAIR,          1, 0, 0, 0,  2, 0,  0, 0, 0) // LDP X, LDP Q: SOG, 1 per cycle
CLASS(LOAD_VECTORS,       1, 0, 0, 0,  1, 0,  0, 0, 0) // LD1 of several registers, for each register: SOG, N1
CLASS(LOAD_LANE,          1, 1, 0, 0,  1, 0,  0, 0, 0) // LD1 to a lane, LD1R, LD2, LD3; for each register: SOG
CLASS(LOAD_LD4,           4,10, 0, 0,  4, 0,  0, 0, 0) // LD4 of whole registers, all four: SOG, 0.2 per cycle
CLASS(STORE,              1, 0, 0, 0,  1, 1,  0, 0, 0) // STR X: SOG, 2 per cycle
CLASS(STORE_PAIR,         1, 0, 0, 0,  1, 2,  0, 0, 0) // STP X: SOG, 1 per cycle
CLASS(STORE_V,            1, 1, 0, 0,  1, 2,  0, 0, 0) // STR Q, ST1; for each register: SOG, 1 per cycle
CLASS(STORE_LANE,         1, 2, 0, 0,  1, 2,  0, 0, 0) // ST1 of a lane, ST2 to ST4; for each register: N1
CLASS(ATOMIC,             1, 0, 0, 0,  1, 2,  1, 0, 0) // exclusives, CAS, LDADD: cost not found, ASSUMED
CLASS(PREFETCH,           1, 0, 0, 0,  1, 0,  0, 0, 0) // PRFM: N1
CLASS(WRITEBACK,          0, 0, 0, 0,  0, 0,  1, 0, 0) // added to an access that moves its base register: SOG
