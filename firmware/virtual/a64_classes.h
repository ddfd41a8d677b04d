// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What one instruction of a class costs on a Cortex-A76: data, to be corrected here and nowhere else. The
// port bound of mode `fast` and the pipeline of mode `timed` both read it.
//
//   CLASS(name, mops, v, v0, v1, l, d, i, m, b, k, latency, family, forward)
//
//   mops     dispatch slots of 4 per cycle
//   v, l, i  micro-ops for either vector pipe (V0 or V1), either load/store pipe (L0 or L1), any integer pipe
//            (S0, S1 or M)
//   d        store data, in beats of 8 bytes; the L1D takes two per cycle
//   v0, v1, m, b  cycles that micro-ops take of that pipe (m: multi-cycle integer, b: branch)
//   k        cycles that one of these micro-ops keeps its pipe
//   latency  cycles from issue to the result; of a load: with an L1D hit
//   family, forward  a result is there `forward` cycles after issue for the accumulator operand of an
//   instruction
//            of the same family (late forwarding); NONE: no such path
//
// Sources. SOG: Arm Cortex-A76 Software Optimization Guide v10.0 (PJDOC-466751330-7215), through its
// transcriptions. MEAS: measured on a Raspberry Pi 5 (A76 r4p1). N1: LLVM 19's scheduling model of the
// sibling core Neoverse N1; latencies without a remark are its own and, where SOG lists the instruction, the
// same there. ASSUMED: no source found; a guess on the side that costs more.
// clang-format off
//    name            mops  v v0 v1   l  d    i  m  b   k  lat  family     fwd
CLASS(UNDECODED,           1,  0, 0, 0,  0, 0,   1, 0, 0,  1,   1, NONE,      0) // counted and reported
CLASS(INT,                 1,  0, 0, 0,  0, 0,   1, 0, 0,  1,   1, NONE,      0) // SOG: 3 per cycle; N1 silicon 2.9 ADD per cycle
CLASS(INT_M,               1,  0, 0, 0,  0, 0,   0, 1, 0,  1,   2, NONE,      0) // shift by more than 4, extend, BFM: SOG, N1
CLASS(EXTRACT,             1,  0, 0, 0,  0, 0,   1, 1, 0,  1,   3, NONE,      0) // EXTR of two registers: N1
CLASS(MUL_W,               1,  0, 0, 0,  0, 0,   0, 1, 0,  1,   2, NONE,      0) // also SMADDL, CRC32: SOG
CLASS(MUL_X,               1,  0, 0, 0,  0, 0,   0, 3, 0,  3,   4, MAC_X,     3) // SOG; N1 silicon 3.0 cycles apart. (A review says 1: not followed.) Forwarding 4(3): recalled from SOG, unchecked; N1 has none
CLASS(MUL_HIGH,            1,  0, 0, 0,  0, 0,   0, 4, 0,  4,   5, NONE,      0) // SOG 0.25 per cycle, N1 silicon 4.0 cycles; LLVM says 3 apart
CLASS(DIVIDE_W,            1,  0, 0, 0,  0, 0,   0, 5, 0,  5,  12, NONE,      0) // N1, slowest operands; AnandTech "under 12"
CLASS(DIVIDE_X,            1,  0, 0, 0,  0, 0,   0, 5, 0,  5,  20, NONE,      0) // N1, slowest operands
CLASS(BRANCH,              1,  0, 0, 0,  0, 0,   0, 0, 1,  1,   1, NONE,      0) // SOG
CLASS(BRANCH_LINK,         1,  0, 0, 0,  0, 0,   1, 0, 1,  1,   1, NONE,      0) // the link register takes an integer pipe: N1
CLASS(HINT,                1,  0, 0, 0,  0, 0,   0, 0, 0,  1,   0, NONE,      0)
CLASS(SYSTEM,              1,  0, 0, 0,  0, 0,   1, 0, 0,  1,   1, NONE,      0) // barriers, cache maintenance, MRS, MSR: cost not found, ASSUMED one slot. What they wait for: pipeline.c
CLASS(V,                   1,  1, 0, 0,  0, 0,   0, 0, 0,  1,   2, NONE,      0) // ADD, AND, CMP, MIN, ZIP, TBL of 1-2, EXT, DUP, XTN, FADD, FMAX, FCM*: SOG
CLASS(V_TBL_LONG,          2,  4, 0, 0,  0, 0,   0, 0, 0,  1,   4, NONE,      0) // TBL of 3-4 registers: N1
CLASS(V_TBX_LONG,          2,  4, 0, 0,  0, 0,   0, 0, 0,  1,   6, NONE,      0) // TBX of 3-4 registers: N1
CLASS(V_SHIFT,             1,  0, 0, 1,  0, 0,   0, 0, 0,  1,   2, NONE,      0) // by immediate or register, narrowing, long: SOG
CLASS(V_SHIFT_ROUND,       1,  0, 0, 1,  0, 0,   0, 0, 0,  1,   4, NONE,      0) // rounding or saturating, SQXTN: SOG, N1
CLASS(V_SHIFT_ADD,         1,  0, 0, 1,  0, 0,   0, 0, 0,  1,   4, SHIFT_ADD, 1) // SSRA, SRSRA, SADALP, SABA, SABAL: SOG 4(1) for USRA, the others ASSUMED alike
CLASS(V_DOT,               1,  1, 0, 0,  0, 0,   0, 0, 0,  1,   3, DOT,       1) // SDOT, UDOT: MEAS 99.9 % of 2 per cycle. Latency 3(1): SOG of other cores with two vector pipes, and a library's comment says 3 for A76. LLVM's 2 is its default for what its table lacks
CLASS(V_MUL_LONG,          1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   4, MAC_LONG,  3) // SMULL: SOG; SMULL to SMLAL 3: MEAS
CLASS(V_MLA_LONG,          1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   4, MAC_LONG,  1) // SMLAL, SQDMLAL: SOG; SMLAL to SMLAL 1: MEAS
CLASS(V_MUL_POLY,          1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   3, NONE,      0) // PMULL: N1
CLASS(V_MUL_D,             1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   4, NONE,      0) // MUL, SQDMULH on 64 bits: SOG
CLASS(V_MLA_D,             1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   4, MAC_D,     1) // MLA on 64 bits: SOG
CLASS(V_MUL_Q,             1,  0, 2, 0,  0, 0,   0, 0, 0,  1,   5, NONE,      0) // MUL, SQDMULH on 128 bits: SOG
CLASS(V_MLA_Q,             1,  0, 2, 0,  0, 0,   0, 0, 0,  1,   5, MAC_Q,     2) // MLA on 128 bits: SOG
CLASS(V_FMUL,              1,  1, 0, 0,  0, 0,   0, 0, 0,  1,   3, NONE,      0) // FMUL: N1; 2 per cycle
CLASS(V_FMLA,              1,  1, 0, 0,  0, 0,   0, 0, 0,  1,   4, FMA,       2) // FMLA, FMADD, FRECPS: MEAS 2 per cycle, f16 f32 f64. Latency 4: N1; a chain takes 2 a link in OSACA's N1 model, 4 in LLVM's, which has no forwarding here
CLASS(V_CONVERT_D,         1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   3, NONE,      0) // FCVT*, SCVTF, FRINT* of 2S, 2D or a scalar: N1
CLASS(V_CONVERT_Q,         1,  0, 2, 0,  0, 0,   0, 0, 0,  1,   4, NONE,      0) // of 4S, FCVTL, FCVTN, and of 4H: N1
CLASS(V_CONVERT_H,         1,  0, 4, 0,  0, 0,   0, 0, 0,  1,   6, NONE,      0) // of 8H: N1
CLASS(V_DIVIDE,            1,  0, 3, 0,  0, 0,   0, 0, 0,  3,  10, NONE,      0) // FDIV, FSQRT of a scalar or 2S: N1; 3 apart for the fastest operands
CLASS(V_DIVIDE_Q,          1,  0, 7, 0,  0, 0,   0, 0, 0,  7,  10, NONE,      0) // of 4S: N1, 0.14 per cycle
CLASS(V_DIVIDE_DOUBLE,     1,  0, 7, 0,  0, 0,   0, 0, 0,  7,  15, NONE,      0) // of 2D or a double: N1
CLASS(V_REDUCE,            1,  0, 0, 1,  0, 0,   0, 0, 0,  1,   3, NONE,      0) // ADDV, SMAXV of 4S and 4H: N1
CLASS(V_REDUCE_H,          1,  1, 0, 1,  0, 0,   0, 0, 0,  1,   5, NONE,      0) // of 8H and 8B: SOG (UADDLV), N1
CLASS(V_REDUCE_B,          1,  0, 0, 2,  0, 0,   0, 0, 0,  1,   6, NONE,      0) // of 16B: N1
CLASS(V_REDUCE_FP,         1,  1, 0, 0,  0, 0,   0, 0, 0,  1,   5, NONE,      0) // FMAXV, FMAXNMV of 4S and 4H: N1
CLASS(V_REDUCE_FP_H,       1,  3, 0, 0,  0, 0,   0, 0, 0,  1,   8, NONE,      0) // of 8H: N1
CLASS(V_AES,               1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   2, NONE,      0) // N1
CLASS(V_SHA,               1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   4, NONE,      0) // N1
CLASS(V_COMPARE_FLAGS,     1,  0, 1, 0,  0, 0,   0, 0, 0,  1,   2, NONE,      0) // FCMP, FCCMP: N1
CLASS(V_TO_GPR,            1,  0, 0, 1,  0, 0,   0, 0, 0,  1,   2, NONE,      0) // UMOV, SMOV, FMOV: SOG
CLASS(V_FROM_GPR,          1,  0, 0, 0,  0, 0,   0, 1, 0,  1,   3, NONE,      0) // DUP, FMOV: SOG
CLASS(V_INSERT_GPR,        1,  1, 0, 0,  0, 0,   0, 1, 0,  1,   5, INSERT,    2) // INS: SOG, M then V: the lane's own register is needed by the second
CLASS(FP_TO_GPR,           1,  0, 1, 1,  0, 0,   0, 0, 0,  1,   4, NONE,      0) // FCVTZS X,D: N1
CLASS(FP_FROM_GPR,         1,  0, 1, 0,  0, 0,   0, 1, 0,  1,   6, NONE,      0) // SCVTF D,X: N1
CLASS(LOAD,                1,  0, 0, 0,  1, 0,   0, 0, 0,  1,   4, NONE,      0) // LDR of a general register, LDP W: SOG, 2 per cycle; latency MEAS 4.0
CLASS(LOAD_PAIR,           1,  0, 0, 0,  2, 0,   0, 0, 0,  1,   4, NONE,      0) // LDP X: SOG, 1 per cycle
CLASS(LOAD_PAIR_SIGNED,    1,  0, 0, 0,  1, 0,   1, 0, 0,  1,   5, NONE,      0) // LDPSW: N1
CLASS(LOAD_V,              1,  0, 0, 0,  1, 0,   0, 0, 0,  1,   5, NONE,      0) // LDR B to Q: SOG, 2 per cycle; OSACA says 6
CLASS(LOAD_V_INDEXED,      1,  0, 0, 0,  1, 0,   0, 0, 0,  1,   6, NONE,      0) // LDR H or Q with a register offset: N1
CLASS(LOAD_PAIR_V,         1,  0, 0, 0,  2, 0,   0, 0, 0,  1,   5, NONE,      0) // LDP S, LDP D: N1
CLASS(LOAD_PAIR_Q,         1,  0, 0, 0,  2, 0,   0, 0, 0,  1,   7, NONE,      0) // LDP Q: SOG, 1 per cycle
CLASS(LOAD_VECTORS,        1,  0, 0, 0,  1, 0,   0, 0, 0,  1,   5, NONE,      0) // LD1 of 1 or 2 registers, for each: SOG, N1
CLASS(LOAD_VECTORS_LONG,   1,  0, 0, 0,  1, 0,   0, 0, 0,  1,   6, NONE,      0) // LD1 of 3 or 4 registers, for each: N1
CLASS(LOAD_LANE,           1,  1, 0, 0,  1, 0,   0, 0, 0,  1,   7, NONE,      0) // LD1 to a lane, LD1R, LD2; for each register: SOG
CLASS(LOAD_LANE_LONG,      1,  1, 0, 0,  1, 0,   0, 0, 0,  1,   8, NONE,      0) // LD3, LD4 to a lane; for each register: N1
CLASS(LOAD_LD4,            4, 10, 0, 0,  4, 0,   0, 0, 0,  1,  10, NONE,      0) // LD4 of whole registers, all four: SOG, 0.2 per cycle; LLVM 0.5
CLASS(STORE,               1,  0, 0, 0,  1, 1,   0, 0, 0,  1,   1, NONE,      0) // STR X: SOG, 2 per cycle
CLASS(STORE_PAIR,          1,  0, 0, 0,  2, 2,   0, 0, 0,  1,   1, NONE,      0) // STP X: SOG, 1 per cycle; 2 L: N1
CLASS(STORE_V,             1,  1, 0, 0,  1, 1,   0, 0, 0,  1,   2, NONE,      0) // STR B to D: N1, 2 per cycle
CLASS(STORE_Q,             1,  2, 0, 0,  2, 2,   0, 0, 0,  1,   2, NONE,      0) // STR Q, ST1 of 16 bytes; for each register: SOG, 1 per cycle. 2 L: LLVM; OSACA has 1, so that copying 64 bytes takes it 4 cycles and LLVM 6
CLASS(STORE_PAIR_Q,        1,  2, 0, 0,  4, 4,   0, 0, 0,  1,   3, NONE,      0) // STP Q: SOG 0.5 per cycle in the offset form (1 with writeback: not followed), N1
CLASS(STORE_LANE,          1,  2, 0, 0,  1, 2,   0, 0, 0,  1,   4, NONE,      0) // ST1 of a lane, ST2 to ST4; for each register: N1
CLASS(ATOMIC,              1,  0, 0, 0,  1, 2,   1, 0, 0,  1,   5, NONE,      0) // store exclusive: N1's latency; CAS, LDADD: cost not found, ASSUMED the same
CLASS(PREFETCH,            1,  0, 0, 0,  1, 0,   0, 0, 0,  1,   4, NONE,      0) // PRFM: N1
CLASS(WRITEBACK,           0,  0, 0, 0,  0, 0,   1, 0, 0,  1,   1, NONE,      0) // added to an access that moves its base register: SOG
