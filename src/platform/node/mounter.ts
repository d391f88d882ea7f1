/**
 * Mounts by the `mount` and `umount` programs, which know every file system's helper, with a deadline: a hung server
 * must not block. Upstream: k8s.io/mount-utils.
 */
import type { Exec, ExecResult } from '../exec.ts';
import type { Files } from '../files.ts';
import type { Mounter } from '../mounter.ts';
import { parseMountInfo } from './mountinfo.ts';

const DEADLINE_MS = 120_000;

export function createNodeMounter(deps: { readonly files: Files; readonly exec: Exec }): Mounter {
  const list = async (): ReturnType<Mounter['list']> =>
    parseMountInfo(await deps.files.readText('/proc/self/mountinfo'));
  const mountPoints = shareReads(async () => new Set((await list()).map((mount) => mount.path)));
  const isMountPoint = async (path: string): Promise<boolean> => (await mountPoints()).has(trimSlash(path));
  const program = async (name: string, args: readonly string[]): Promise<void> => {
    const result = await deps.exec.run(name, args, { timeoutMs: DEADLINE_MS, env: { LC_ALL: 'C' } });
    if (result.exitCode !== 0) throw mountError(name, args, result);
  };
  return {
    list,
    isMountPoint,
    async mount({ source, target, type, options = [] }) {
      const typeArgs = type === undefined || type === '' ? [] : ['-t', type];
      const bind = options.includes('bind') || options.includes('rbind');
      // The kernel ignores other options in the first step of a bind mount.
      const first = bind
        ? options.filter((option) => option === 'bind' || option === 'rbind' || option === '_netdev')
        : options;
      const optionArgs = first.length === 0 ? [] : ['-o', first.join(',')];
      await program('mount', [...typeArgs, ...optionArgs, '--', source, target]);
      const second = bind ? options.filter((option) => !first.includes(option)) : [];
      if (second.length === 0) return;
      try {
        await program('mount', ['-o', ['bind', 'remount', ...second].join(','), '--', source, target]);
      } catch (error) {
        await program('umount', ['--', target]); // writable where read-only was asked for must not stay
        throw error;
      }
    },
    async unmount(target, options = {}) {
      try {
        await program('umount', [...(options.lazy ? ['-l'] : []), '--', target]);
      } catch (error) {
        if (await isMountPoint(target)) throw error;
      }
    },
  };
}

/**
 * Calls during a read share the next one, so that each sees its caller's earlier changes and thousands of calls cause
 * few reads.
 */
function shareReads<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    const reading = read().finally(() => {
      if (running === reading) running = undefined;
    });
    running = reading;
    return reading;
  };
  return () => (running === undefined ? begin() : (next ??= running.then(begin, begin)));
}

function trimSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function mountError(name: string, args: readonly string[], result: ExecResult): Error {
  const reason = result.timedOut ? `timed out after ${DEADLINE_MS / 1000} s` : `exit status ${result.exitCode}`;
  const text = `${name} failed: ${reason}\narguments: ${args.join(' ')}\noutput: ${(result.stderr + result.stdout).trim()}`;
  return Object.assign(new Error(text), { exitCode: result.exitCode });
}
