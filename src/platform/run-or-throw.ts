/** Runs programs whose failure is an error, such as `ip` and `nft`. */
import type { Exec } from './exec.ts';

/** Programs print a line per error in their input, which may be thousands. */
const MAX_ERROR_LENGTH = 1000;

export interface ProgramInput {
  readonly input?: string | undefined;
  /**
   * The name for error texts, where another program starts the program (`nsenter … ip`). Default: the first word of
   * the command.
   */
  readonly name?: string;
}

/** Runs a program and resolves to its output. Rejects with the program's error text when it fails. */
export async function runOrThrow(
  exec: Pick<Exec, 'run'>,
  command: readonly string[],
  { input, name = command[0] }: ProgramInput = {},
): Promise<string> {
  const [file = '', ...args] = command;
  const { exitCode, stdout, stderr } = await exec.run(file, args, input === undefined ? {} : { input });
  if (exitCode === 0) return stdout;
  throw new Error(`${name}: ${stderr.trim().slice(0, MAX_ERROR_LENGTH)}`);
}

/** Applies nftables commands as one transaction. */
export async function runNft(exec: Pick<Exec, 'run'>, input: string): Promise<void> {
  await runOrThrow(exec, ['nft', '-f', '-'], { input });
}
