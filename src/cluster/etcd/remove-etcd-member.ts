/** Removes a member from the etcd cluster, by way of another member. Upstream: kubeadm reset (RemoveMember). */
import type { Platform } from '../../platform/platform.ts';
import { createEtcdMembers } from '../../storage/etcd/members.ts';
import { StoreError } from '../../storage/store.ts';
import { PreflightError } from '../preflight-error.ts';
import { readEtcdFile } from './etcd-file.ts';
import { CALL_TIMEOUT_MS, etcdPkiDir, type OwnEtcdConfig, RETRY_MS } from './own-etcd.ts';

/** etcd changes members only when the remaining ones have been connected for five seconds. The timeout is kubeadm's. */
const HEALTHY_PATIENCE_MS = 120_000;

/**
 * Removes a member of the cluster that this data directory's server belongs to, unless there is none of this name or
 * it is the only one. Rejects with `StoreError` when the members cannot agree.
 */
export async function removeEtcdMember(
  platform: Pick<Platform, 'clock' | 'files' | 'log'>,
  { dataDir, pkiDir }: Pick<OwnEtcdConfig, 'dataDir' | 'pkiDir'>,
  name: string,
): Promise<'removed' | 'unknown' | 'only'> {
  const file = await readEtcdFile(platform.files, dataDir);
  if (file === undefined)
    throw new PreflightError(
      `${dataDir} is of no server with an etcd of its own (keelson server --cluster-init, --join)`,
    );
  const read = (what: string): Promise<string> => platform.files.readText(`${etcdPkiDir(pkiDir)}/${what}`);
  const [caPem, certPem, keyPem] = await Promise.all(['ca.crt', 'client.crt', 'client.key'].map(read));
  const members = createEtcdMembers(platform, {
    // A member's own endpoint disappears with its removal.
    endpoints: name === file.name ? [...file.others, file.clientUrl] : [file.clientUrl, ...file.others],
    tls: { caPem: caPem!, certPem: certPem!, keyPem: keyPem! },
    timeoutMs: CALL_TIMEOUT_MS * 2,
  });
  const remove = async (): Promise<'removed' | 'unknown' | 'only'> => {
    const all = await members.list();
    const etcdMember = all.find((member) => member.name === name);
    if (etcdMember === undefined) return 'unknown';
    if (all.length === 1) return 'only';
    await members.remove(etcdMember.ID);
    return 'removed';
  };
  let tried = false;
  try {
    const outcome = await whenHealthy(platform, remove, () => (tried = true));
    // An earlier attempt removed it, although its answer was lost.
    return outcome === 'unknown' && tried ? 'removed' : outcome;
  } finally {
    members.close();
  }
}

/**
 * Retries while etcd considers too few members connected, has no leader, or leaves the result unknown. Reports once
 * what it waits for.
 */
async function whenHealthy<T>(
  { clock, log }: Pick<Platform, 'clock' | 'log'>,
  change: () => Promise<T>,
  onOpen: () => void,
): Promise<T> {
  let isReported = false;
  const passing = /unhealthy cluster|deadline exceeded|timed out|no leader|leader changed/;
  const deadlineMs = clock.monotonicMs() + HEALTHY_PATIENCE_MS;
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const open = error.code === 'unknownOutcome';
      if (!(open || passing.test(error.message)) || clock.monotonicMs() > deadlineMs) throw error;
      if (open) onOpen();
      if (!isReported) {
        const patienceSeconds = HEALTHY_PATIENCE_MS / 1000;
        log.warn('waiting for the members of etcd to agree', { err: error, patienceSeconds });
      }
      isReported = true;
      await clock.sleep(RETRY_MS);
    }
  }
}
