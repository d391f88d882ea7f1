/**
 * The pause program: the process that holds a sandbox's namespaces, written down as machine code so that no image and no
 * compiler is needed. It blocks SIGTERM, SIGINT and SIGCHLD, waits for one of them, reaps children on SIGCHLD (it is
 * process 1 of pods that share their process namespace) and exits with 0 on the others. Upstream: build/pause.
 *
 * Signals are waited for, not handled: process 1 ignores signals without a handler, but blocked ones stay pending.
 */

/** Architectures there is a pause program for, by Go's names. */
export type PauseArchitecture = 'amd64' | 'arm64';

/** x86-64. System calls: 14 rt_sigprocmask, 128 rt_sigtimedwait, 61 wait4, 231 exit_group. Last: the set of signals. */
const AMD64 = [
  '31ff 488d355c000000 31d2 41ba08000000 b80e000000 0f05', // rt_sigprocmask(SIG_BLOCK, set, NULL, 8)
  '488d3d46000000 31f6 31d2 41ba08000000 b880000000 0f05', // wait: rt_sigtimedwait(set, NULL, NULL, 8)
  '83f811 740c 83f80f 7422 83f802 741d ebd7', // SIGCHLD: reap; SIGTERM, SIGINT: exit; else wait
  '4883cfff 31f6 ba01000000 4531d2 b83d000000 0f05', // reap: wait4(-1, NULL, WNOHANG, NULL)
  '85c0 7fe7 ebbc', // while it found one; then wait
  '31ff b8e7000000 0f05', // exit: exit_group(0)
  '0240010000000000', // set: bits 14 (TERM), 1 (INT), 16 (CHLD)
];

/** AArch64, little-endian words. System calls: 135, 137, 260, 94. */
const ARM64 = [
  '000080d2 e1030010 020080d2 030180d2 e81080d2 010000d4',
  '40030010 010080d2 020080d2 030180d2 281180d2 010000d4',
  '1f440071 c0000054 1f3c0071 a0010054 1f080071 60010054 f4ffff17',
  '00008092 010080d2 220080d2 030080d2 882080d2 010000d4',
  '1f000071 2cffff54 ebffff17',
  '000080d2 c80b80d2 010000d4 1f2003d5',
  '0240010000000000',
];

const ELF_MACHINE: Readonly<Record<PauseArchitecture, number>> = { amd64: 62, arm64: 183 };
const HEADER_BYTES = 64 + 56;
const LOAD_ADDRESS = 0x400000;

/** A static ELF executable: one header, one read-and-execute segment that holds the whole file. */
export function pauseExecutable(architecture: PauseArchitecture): Uint8Array {
  const code = Buffer.from((architecture === 'amd64' ? AMD64 : ARM64).join('').replaceAll(' ', ''), 'hex');
  const file = Buffer.alloc(HEADER_BYTES + code.length);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0);
  file.writeUInt16LE(2, 16); // ET_EXEC
  file.writeUInt16LE(ELF_MACHINE[architecture], 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS + HEADER_BYTES), 24); // entry
  file.writeBigUInt64LE(64n, 32); // program header's offset
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  file.writeUInt16LE(64, 58);
  file.writeUInt32LE(1, 64); // PT_LOAD
  file.writeUInt32LE(5, 68); // read, execute
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 80);
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 88);
  file.writeBigUInt64LE(BigInt(file.length), 96);
  file.writeBigUInt64LE(BigInt(file.length), 104);
  file.writeBigUInt64LE(0x10000n, 112); // arm64 kernels may have 64 KiB pages
  file.set(code, HEADER_BYTES);
  return file;
}
