/**
 * Inspects paths by programs with a deadline, for file systems that may hang: a call into a dead NFS server or FUSE
 * daemon never returns, and blocks one of the few threads of all file calls. A program can be killed.
 */
import type { Exec } from '../../platform/exec.ts';
import type { Files, FileStat } from '../../platform/files.ts';

/**
 * The operations of the file port for walking along a path. For file systems that do not hang, the port itself is
 * used.
 */
export interface PathFiles {
  lstat(path: string): Promise<Pick<FileStat, 'kind' | 'mode'>>;
  stat(path: string): Promise<Pick<FileStat, 'kind' | 'mode'>>;
  readLink(path: string): Promise<string>;
  makeDir(path: string, options?: { readonly mode?: number }): Promise<void>;
  /** Absent: programs resolve whole paths. */
  readonly openPath?: Files['openPath'];
}

const DEADLINE_MS = 5000;

const KINDS: Readonly<Record<string, FileStat['kind']>> = {
  'regular file': 'file',
  'regular empty file': 'file',
  'symbolic link': 'symlink',
  directory: 'directory',
  socket: 'socket',
  fifo: 'fifo',
  'block special file': 'block',
  'character special file': 'char',
};

/**
 * `where` is named in errors. Rejects with code ENOENT or ENOTDIR for missing paths, and when the file system hangs.
 */
export function createProgramFiles(exec: Exec, where: { readonly type: string; readonly path: string }): PathFiles {
  const run = async (program: string, options: readonly string[], path: string): Promise<string> => {
    const settings = { timeoutMs: DEADLINE_MS, env: { LC_ALL: 'C' } };
    const result = await exec.run(program, [...options, '--', path], settings);
    if (result.timedOut)
      throw new Error(
        `${path} did not answer in ${DEADLINE_MS / 1000} s: the ${where.type} file system at ${where.path} hangs`,
      );
    if (result.exitCode === 0) return result.stdout.replace(/\n$/, '');
    throw Object.assign(new Error(result.stderr.trim()), { code: codeOf(result.stderr) });
  };
  const kind = async (path: string, ...options: string[]): Promise<Pick<FileStat, 'kind' | 'mode'>> => {
    const [, mode = '', text = ''] = /^(\d+) (.*)$/.exec(await run('stat', [...options, '--format=%a %F'], path)) ?? [];
    const fileKind = KINDS[text];
    if (fileKind === undefined) throw new Error(`${path} is a ${text}, which is of no use here`);
    return { kind: fileKind, mode: Number.parseInt(mode, 8) };
  };
  return {
    lstat: (path) => kind(path),
    stat: (path) => kind(path, '--dereference'),
    readLink: (path) => run('readlink', [], path),
    async makeDir(path, { mode = 0o777 } = {}) {
      await run('mkdir', ['--parents', `--mode=${mode.toString(8)}`], path);
    },
  };
}

function codeOf(stderr: string): string | undefined {
  if (stderr.includes('No such file or directory')) return 'ENOENT';
  return stderr.includes('Not a directory') ? 'ENOTDIR' : undefined;
}
