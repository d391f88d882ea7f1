/**
 * flexVolume drivers: programs in the node's plugin directory that are called with JSON. Upstream:
 * pkg/volume/flexvolume (driver-call.go, probe.go).
 *
 * The directory is read at each call, so added, removed and changed drivers are noticed at once; a changed one is
 * initialized again. Every call has a deadline.
 */
import type { Platform } from '../../platform/platform.ts';

export interface FlexAnswer {
  readonly status: string;
  readonly message?: string;
  readonly device?: string;
  readonly volumeName?: string;
  readonly capabilities?: { readonly attach?: boolean; readonly selinuxRelabel?: boolean; readonly fsGroup?: boolean };
}

export interface FlexDrivers {
  /** Calls `vendor/driver`; undefined when it does not support the command. Rejects with its message when it fails. */
  call(driver: string, command: string, args: readonly string[]): Promise<FlexAnswer | undefined>;
  capabilities(driver: string): Promise<Required<NonNullable<FlexAnswer['capabilities']>>>;
}

const CALL_DEADLINE_MS = 120_000;

/** Makes the access to the drivers below `pluginDir`. */
export function createFlexDrivers(platform: Pick<Platform, 'files' | 'exec'>, pluginDir: string): FlexDrivers {
  const initialised = new Map<string, { readonly stamp: string; readonly answer: FlexAnswer }>();
  const root = pluginDir.replace(/\/+$/, '');

  async function findDriver(driver: string): Promise<{ readonly path: string; readonly stamp: string }> {
    try {
      // The path comes from the directory's listing: no text of a pod becomes a path.
      const directory = (await platform.files.readDir(root)).find(
        (name) => !name.startsWith('.') && name.replaceAll('~', '/') === driver,
      );
      if (directory === undefined) throw new Error(`${root} lists no such driver`);
      const path = `${root}/${directory}/${directory.slice(directory.lastIndexOf('~') + 1)}`;
      const { ino, mtimeMs } = await platform.files.stat(path);
      return { path, stamp: `${ino}/${mtimeMs}` };
    } catch (error) {
      throw new Error(`no flexVolume driver ${driver} in ${root}`, { cause: error });
    }
  }

  async function run(path: string, command: string, args: readonly string[]): Promise<FlexAnswer | undefined> {
    const result = await platform.exec.run(path, [command, ...args], { timeoutMs: CALL_DEADLINE_MS });
    if (result.timedOut) throw new Error(`driver call ${path} ${command} did not end in ${CALL_DEADLINE_MS / 1000} s`);
    const answer = answerOf(result.stdout);
    if (answer?.status === 'Not supported') return undefined;
    if (answer?.status === 'Success') return answer;
    const message = answer?.message ?? (result.stdout + result.stderr).trim();
    throw new Error(
      `${command} command failed, status: ${answer?.status ?? `exit ${result.exitCode}`}, reason: ${message}`,
    );
  }

  async function initialise(driver: string): Promise<{ readonly path: string; readonly answer: FlexAnswer }> {
    const { path, stamp } = await findDriver(driver);
    const existing = initialised.get(driver);
    if (existing?.stamp === stamp) return { path, answer: existing.answer };
    const answer = (await run(path, 'init', [])) ?? { status: 'Success' };
    initialised.set(driver, { stamp, answer });
    return { path, answer };
  }

  return {
    async call(driver, command, args) {
      const { path } = await initialise(driver);
      return run(path, command, args);
    },
    async capabilities(driver) {
      const {
        attach = true,
        selinuxRelabel = true,
        fsGroup = true,
      } = (await initialise(driver)).answer.capabilities ?? {};
      return { attach, selinuxRelabel, fsGroup };
    },
  };
}

function answerOf(stdout: string): FlexAnswer | undefined {
  try {
    return JSON.parse(stdout) as FlexAnswer;
  } catch {
    return undefined; // the caller reports the program's own message
  }
}
