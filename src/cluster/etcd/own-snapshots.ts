/**
 * Snapshots of a server's own etcd, given its data directory: how to connect to it, and how a snapshot replaces its
 * data. Upstream: k3s's `--cluster-reset-restore-path`.
 *
 * Invariants: a cluster is never restored on one member while others answer; replaced data is kept beside.
 */
import { hasErrorCode } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { createEtcdMembers } from '../../storage/etcd/members.ts';
import { etcdConfig } from '../store/open-store.ts';
import { PreflightError } from '../preflight-error.ts';
import type { EtcdStoreChoice } from '../store/store-options.ts';
import { readEtcdFile, writeEtcdFile } from './etcd-file.ts';
import { endEtcd, etcdDataDir } from './etcd-process.ts';
import { etcdDir, etcdPkiDir } from './own-etcd.ts';

type Deps = Pick<Platform, 'clock' | 'exec' | 'files'>;

/** etcd's programs that restore a snapshot, the newer first. */
const TOOLS = ['etcdutl', 'etcdctl'] as const;
/** How long a member may take to answer: a slow one must not count as gone. */
const ANSWER_TIMEOUT_MS = 10_000;

/** The connection to the etcd of this data directory's server; undefined when the state is in another store. */
export async function ownEtcdChoice(
  { files }: Pick<Deps, 'files'>,
  dataDir: string,
): Promise<EtcdStoreChoice | undefined> {
  const file = await readEtcdFile(files, dataDir);
  if (file === undefined) return undefined;
  const pki = etcdPkiDir(`${dataDir}/pki`);
  return {
    kind: 'etcd',
    endpoints: [file.clientUrl, ...file.others],
    caFile: `${pki}/ca.crt`,
    certFile: `${pki}/client.crt`,
    keyFile: `${pki}/client.key`,
  };
}

/**
 * Replaces the data of a stopped server's etcd by a snapshot; it starts again as its cluster's only member. The
 * caller holds the data directory's lock. Resolves to the name under which the old data is kept. Rejects with
 * `PreflightError`.
 */
export async function restoreOwnEtcd(
  deps: Deps,
  dataDir: string,
  snapshot: string,
): Promise<{ readonly keptAs: string | undefined }> {
  const { files } = deps;
  const file = await readEtcdFile(files, dataDir);
  if (file === undefined) throw new PreflightError(`${dataDir} is of no server with an etcd of its own`);
  await checkOthersAreAway(deps, dataDir);
  const dir = etcdDir(dataDir);
  const incoming = `${dir}/restoring`;
  const cluster = `${file.name}=${file.peerUrl}`;
  await files.remove(incoming);
  try {
    await restoreTo(deps, incoming, [
      ...['snapshot', 'restore', snapshot, '--data-dir', incoming, '--name', file.name],
      ...['--initial-cluster', cluster, '--initial-advertise-peer-urls', file.peerUrl],
    ]);
    await endEtcd(deps, dir);
    const keptAs = await setAside(deps, etcdDataDir(dir));
    await files.rename(incoming, etcdDataDir(dir));
    await writeEtcdFile(files, dataDir, { ...file, others: [], initial: { cluster, state: 'new' } });
    return { keptAs };
  } finally {
    await files.remove(incoming);
  }
}

/** Throws when another member answers: a restored one beside it would split the cluster. */
async function checkOthersAreAway(deps: Deps, dataDir: string): Promise<void> {
  const choice = await ownEtcdChoice(deps, dataDir);
  const others = choice?.endpoints.slice(1) ?? [];
  if (choice === undefined || others.length === 0) return;
  const { tls } = await etcdConfig((path) => deps.files.readText(path), choice);
  // Separate timeouts: a hanging member must not use up the time of others.
  const otherMembers = others.map((url) =>
    createEtcdMembers(deps, { endpoints: [url], tls, timeoutMs: ANSWER_TIMEOUT_MS }),
  );
  const answered = await Promise.any(otherMembers.map((members) => members.list())).then(
    () => true,
    () => false,
  );
  for (const members of otherMembers) members.close();
  if (answered)
    throw new PreflightError(
      `other servers of this cluster run (${others.join(', ')}): a snapshot is for a cluster that is lost; keelson down each of them first`,
    );
}

async function restoreTo({ exec, files }: Deps, target: string, args: readonly string[]): Promise<void> {
  for (const tool of TOOLS) {
    try {
      const { exitCode, stderr, stdout } = await exec.run(tool, args, { env: { ETCDCTL_API: '3' } });
      if (exitCode === 0) return await files.chmod(target, 0o700);
      throw new PreflightError(`${tool} snapshot restore: ${(stderr || stdout).trim().slice(0, 1000)}`);
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT')) throw error;
    }
  }
  throw new PreflightError(`one of these programs is needed and missing: ${TOOLS.join(', ')} (Debian: etcd-client)`);
}

/** Renames it to an unused name. */
async function setAside({ files }: Pick<Deps, 'files'>, path: string): Promise<string | undefined> {
  if (!(await files.exists(path))) return undefined;
  let number = 1;
  while (await files.exists(`${path}.before-restore-${number}`)) number++;
  const keptPath = `${path}.before-restore-${number}`;
  await files.rename(path, keptPath);
  return keptPath;
}
