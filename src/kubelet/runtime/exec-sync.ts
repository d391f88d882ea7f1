/** Runs a command in a container and waits for its end. */
import { isCriCode } from '../../cri/cri-error.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';

/** The command of a probe or hook exceeded its timeout. */
class ExecTimeoutError extends Error {
  readonly code = 'DEADLINE';

  constructor(command: readonly string[], timeoutMs: number, options?: ErrorOptions) {
    super(`command "${command.join(' ')}" timed out after ${timeoutMs} ms`, options);
    this.name = 'ExecTimeoutError';
  }
}

export async function execSync(
  cri: CriRuntime,
  exec: { containerId: string; command: readonly string[]; timeoutMs: number },
) {
  const { containerId, command, timeoutMs } = exec;
  try {
    const timeoutSeconds = Math.ceil(timeoutMs / 1000);
    const { exitCode, stdout, stderr } = await cri.runtime.execSync({ containerId, cmd: command, timeoutSeconds });
    return { exitCode, stdout, stderr };
  } catch (error) {
    const timedOut =
      isCriCode(error, 'DeadlineExceeded') || (isCriCode(error, 'Unknown') && /timeout .* exceeded/.test(error.detail));
    if (timedOut) throw new ExecTimeoutError(command, timeoutMs, { cause: error });
    throw error;
  }
}
