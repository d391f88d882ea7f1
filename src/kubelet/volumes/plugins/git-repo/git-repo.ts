/**
 * A git repository cloned into an empty directory. Upstream: pkg/volume/git_repo, off unless its gate is enabled.
 *
 * Cloned once per pod: a marker file in the pod's plugin directory records it.
 */
import { hasErrorCode } from '../../../../base/errors.ts';
import { fsGroupOf, setVolumeOwnership } from '../../volume-ownership.ts';
import type { SetUpRequest, VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';

const GIT_DEADLINE_MS = 120_000;

export const gitRepoPlugin: VolumePlugin = {
  name: 'kubernetes.io/git-repo',
  supports: (source) => source.gitRepo !== undefined,
  place: 'disk',
  ownsContent: true,
  live: false,
  async setUp(request, deps) {
    if (!deps.settings.gitRepo)
      throw new Error(
        'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`',
      );
    const { files } = deps.platform;
    const { dir, pod } = request;
    const result = { hostPath: dir, readOnly: false, selinuxRelabel: true };
    const mark = readyMark(dir);
    if ((await files.exists(mark)) && (await files.exists(dir))) return result;
    // Remove what an earlier attempt has left.
    await files.remove(dir);
    await files.makeDir(dir);
    await files.chmod(dir, 0o777);
    await clone(request, deps);
    await setVolumeOwnership({ files, path: dir, readOnly: false, ...fsGroupOf(pod) });
    await files.makeDir(mark.slice(0, mark.lastIndexOf('/')), { mode: 0o750 });
    await files.writeFile(mark, '');
    return result;
  },
};

/** `<pod>/plugins/kubernetes.io~git-repo/<name>/ready`. */
function readyMark(dir: string): string {
  const at = dir.lastIndexOf('/volumes/');
  return `${dir.slice(0, at)}/plugins/${dir.slice(at + '/volumes/'.length)}/ready`;
}

async function clone({ spec, dir }: SetUpRequest, deps: VolumePluginDeps): Promise<void> {
  const { repository, revision = '', directory = '' } = spec.source.gitRepo!;
  check(repository, revision, directory);
  await git(deps, ['clone', '--', repository, ...(directory === '' ? [] : [directory])], dir);
  if (revision === '') return;
  const [only, more] = await deps.platform.files.readDir(dir);
  if (only === undefined || (more !== undefined && directory !== '.'))
    throw new Error(`unexpected directory contents: ${[only, more].join(' ')}`);
  const root = directory === '.' ? dir : `${dir}/${only}`;
  await git(deps, ['checkout', revision], root);
  await git(deps, ['reset', '--hard'], root);
}

/** Rejects arguments that git would parse as options, and paths that leave the volume. Upstream: validateVolume. */
function check(repository: string, revision: string, directory: string): void {
  if (repository.startsWith('-'))
    throw new Error(`invalid repository: "${repository}" is not a valid value for repository`);
  if (revision.startsWith('-')) throw new Error(`invalid revision: "${revision}" is not a valid value for revision`);
  if (directory.startsWith('-'))
    throw new Error(`invalid directory: "${directory}" is not a valid value for directory`);
  if (directory.startsWith('/') || directory.split('/').includes('..'))
    throw new Error(`invalid directory: "${directory}" must be a relative path without '..'`);
  if (directory !== '.' && directory.includes('/'))
    throw new Error(`invalid directory: "${directory}" must be a single name`);
}

async function git({ platform }: VolumePluginDeps, args: readonly string[], cwd: string): Promise<void> {
  const shown = `git ${args.join(' ')}`;
  const env = { LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' };
  const result = await platform.exec
    .run('git', args, { cwd, env, timeoutMs: GIT_DEADLINE_MS })
    .catch((error: unknown) => {
      if (!hasErrorCode(error, 'ENOENT')) throw error;
      throw new Error(`failed to exec '${shown}': the program git is not installed on the node`, { cause: error });
    });
  if (result.timedOut) throw new Error(`failed to exec '${shown}': not done after ${GIT_DEADLINE_MS / 1000} s`);
  if (result.exitCode !== 0)
    throw new Error(
      `failed to exec '${shown}': ${(result.stdout + result.stderr).trim()}: exit status ${result.exitCode}`,
    );
}
