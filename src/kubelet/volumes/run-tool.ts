/** Runs the node's storage programs with a deadline. The error for a missing program names it. */
import { hasErrorCode } from '../../base/errors.ts';
import type { Exec, ExecResult } from '../../platform/exec.ts';

/** A program of the node that a volume needs is not installed. */
export class ToolMissingError extends Error {
  constructor(file: string, cause: unknown) {
    super(`the program ${file} is not installed on the node`, { cause });
    this.name = 'ToolMissingError';
  }
}

const DEADLINE_MS = 120_000;

/** Runs the program, whatever its exit code. Rejects when the program is missing or exceeds its deadline. */
export async function tryTool(exec: Exec, file: string, args: readonly string[]): Promise<ExecResult> {
  const result = await exec
    .run(file, args, { timeoutMs: DEADLINE_MS, env: { LC_ALL: 'C' } })
    .catch((error: unknown) => {
      if (!hasErrorCode(error, 'ENOENT')) throw error;
      throw new ToolMissingError(file, error);
    });
  if (result.timedOut) throw new Error(`${file} ${args[0] ?? ''} did not end in ${DEADLINE_MS / 1000} s`);
  return result;
}

/**
 * Resolves to the program's output; rejects with its error output when it fails. Arguments may have secrets and are
 * not part of errors.
 */
export async function runTool(exec: Exec, file: string, args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await tryTool(exec, file, args);
  if (exitCode !== 0) throw new Error(`${file} failed: exit status ${exitCode}: ${(stderr || stdout).trim()}`);
  return stdout.trim();
}
