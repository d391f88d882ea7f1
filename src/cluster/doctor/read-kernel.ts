/** Reads facts about the kernel: version, file systems, namespaces, modules, control groups. */
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import type { Platform } from '../../platform/platform.ts';
import type { CgroupFacts, KernelFacts } from './machine.ts';

type Deps = Pick<Platform, 'files' | 'exec' | 'host'>;

export async function readKernel(deps: Deps, isRoot: boolean): Promise<KernelFacts> {
  const { files, host } = deps;
  const { kernelVersion: release } = await host.info();
  const forward = await readIfPresent(files, '/proc/sys/net/ipv4/ip_forward');
  return {
    release,
    // `nodev\toverlay`, or `\text4`.
    fileSystems: ((await readIfPresent(files, '/proc/filesystems')) ?? '')
      .split('\n')
      .map((line) => line.split('\t').at(-1) ?? ''),
    namespaces: await files.readDir('/proc/self/ns').catch(() => []),
    hasSeccomp: await files.exists('/proc/sys/kernel/seccomp/actions_avail'),
    hasBridgeNetfilter: await files.exists('/proc/sys/net/bridge/bridge-nf-call-iptables'),
    modules: await moduleNames(files, release),
    nftError: isRoot ? await nftError(deps) : undefined,
    ipForward: forward === undefined ? undefined : forward.trim() === '1',
  };
}

export async function readCgroups(files: Files): Promise<CgroupFacts> {
  const unified = await readIfPresent(files, '/sys/fs/cgroup/cgroup.controllers');
  if (unified !== undefined) return { version: 2, controllers: unified.trim().split(' ') };
  // The columns: name, hierarchy, number of groups, enabled.
  const lines = ((await readIfPresent(files, '/proc/cgroups')) ?? '').split('\n').map((line) => line.split('\t'));
  return { version: 1, controllers: lines.filter((fields) => fields[3] === '1').map(([name = '']) => name) };
}

/** Names of built-in and loadable modules; the kernel has a list of each. */
async function moduleNames(files: Files, release: string): Promise<readonly string[]> {
  const lists = await Promise.all(
    ['modules.builtin', 'modules.dep'].map((name) => readIfPresent(files, `/lib/modules/${release}/${name}`)),
  );
  const names = lists.flatMap((list = '') =>
    list.split('\n').flatMap((line) => /([^/:]+)\.ko/.exec(line.split(':')[0] ?? '')?.[1] ?? []),
  );
  return names.map((name) => name.replaceAll('-', '_'));
}

/** Undefined when nft works, and when it is missing, which another check reports. */
async function nftError({ exec }: Deps): Promise<string | undefined> {
  try {
    const { exitCode, stderr } = await exec.run('nft', ['list', 'tables'], { timeoutMs: 10_000 });
    return exitCode === 0 ? undefined : (stderr.trim().split('\n')[0] ?? `exit code ${exitCode}`);
  } catch (error) {
    return hasErrorCode(error, 'ENOENT') ? undefined : errorMessage(error);
  }
}

async function readIfPresent(files: Files, path: string): Promise<string | undefined> {
  return files.readText(path).catch(() => undefined);
}
