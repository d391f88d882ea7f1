/**
 * Verifies a snapshot by starting it: runs a control plane without nodes, controllers and ports on a copy in memory,
 * and compares what it serves with the content of the file. Changes neither a cluster nor the file.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseJson } from '../../../api/codec/json.ts';
import { ensureClusterPki } from '../../../component-helpers/pki/cluster-pki.ts';
import type { Platform } from '../../../platform/platform.ts';
import { createMemoryStore } from '../../../storage/memory/memory-store.ts';
import { scanStore } from '../../../storage/scan-store.ts';
import { prefixEnd, StoreError, type Store, type StoredEntry } from '../../../storage/store.ts';
import { createControlPlane } from '../../control-plane/control-plane.ts';
import { deriveInstance } from '../../instance/instance.ts';
import { PreflightError } from '../../preflight-error.ts';
import { encryptStore } from '../../store/encryption.ts';
import { compareServed, type Comparison } from './compare-served.ts';
import { readSnapshot } from './read-snapshot.ts';

export interface VerifyOptions {
  readonly file: string;
  /** The EncryptionConfiguration with which values were encrypted. */
  readonly encryptionConfigFile?: string | undefined;
  /** The cluster's `--runtime-config`. */
  readonly runtimeConfig: string;
}

/** The content of a snapshot, and how well it matches what is served from it. */
export interface Verification extends Comparison {
  readonly revision: number;
  readonly keyCount: number;
}

const DEFAULT_SERVICE_CIDR = '10.43.0.0/16';
const ENCRYPTED = Buffer.from('k8s:enc:');

/** Rejects with `PreflightError` when the snapshot cannot be started. */
export async function verifySnapshot(platform: Platform, options: VerifyOptions): Promise<Verification> {
  const content = await inUsersWords(options.file, () => readSnapshot(platform, options.file));
  if (content.entries.length === 0) throw new PreflightError(`${options.file} holds no objects`);
  const { store, entries } = await loadStore(platform, content.entries, options);
  const loaded = (await store.status()).revision;
  const comparison = await withControlPlane(platform, store, { entries, options }, async (client) => {
    const renewed = new Set<string>();
    await scanStore(store, { start: '/', end: prefixEnd('/') }, (page) => {
      for (const { key, modRevision } of page.entries) if (modRevision > loaded) renewed.add(key);
    });
    return compareServed(client, entries, (key) => renewed.has(key));
  });
  return { revision: content.revision, keyCount: entries.length, ...comparison };
}

/** Loads the entries into a store in memory; also returns them decrypted. */
async function loadStore(
  platform: Platform,
  stored: readonly StoredEntry[],
  { file, encryptionConfigFile }: VerifyOptions,
): Promise<{ readonly store: Store; readonly entries: readonly StoredEntry[] }> {
  const plain = createMemoryStore(platform);
  for (const { key, value } of stored) await plain.put({ key, value });
  if (encryptionConfigFile === undefined) {
    const encrypted = stored.filter(({ value }) => ENCRYPTED.equals(value.subarray(0, ENCRYPTED.length))).length;
    if (encrypted > 0)
      throw new PreflightError(`${file}: ${encrypted} values are encrypted; give --encryption-provider-config`);
    return { store: plain, entries: stored };
  }
  const store = await encryptStore(platform, plain, { file: encryptionConfigFile, reload: false });
  const entries: StoredEntry[] = [];
  await inUsersWords(file, () =>
    scanStore(store, { start: '/', end: prefixEnd('/') }, (page) => {
      for (const entry of page.entries) entries.push(entry);
    }),
  );
  return { store, entries };
}

async function withControlPlane<T>(
  platform: Platform,
  store: Store,
  { entries, options }: { readonly entries: readonly StoredEntry[]; readonly options: VerifyOptions },
  work: (client: ReturnType<typeof createControlPlane>['admin']) => Promise<T>,
): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), 'keelson-verify-'));
  const lifetime = new AbortController();
  try {
    const { files, crypto, random, clock } = platform;
    const instance = deriveInstance(
      { dataDir, nodeName: 'verify', ...rangesOf(entries), clusterDomain: 'cluster.local', httpsPort: 6443 },
      (text) => crypto.sha256Hex(text),
    );
    const names = { nodeName: 'verify', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };
    const deps = { crypto, random, nowMs: () => clock.nowMs() };
    const pki = await ensureClusterPki(files, deps, { dir: instance.pkiDir, names });
    const settings = { compactionPeriodMs: 0, identityLease: false, servesJoin: false };
    const controlPlane = createControlPlane({
      ...{ platform, store, pki, instance, settings },
      hostAddress: '127.0.0.1',
      runtimeConfig: options.runtimeConfig,
    });
    try {
      await inUsersWords(options.file, () => controlPlane.start(lifetime.signal));
      return await work(controlPlane.admin);
    } finally {
      lifetime.abort(new Error('the snapshot was verified'));
      await controlPlane.stop();
    }
  } finally {
    await store.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The cluster's service ranges: with others its services would be out of range. */
function rangesOf(entries: readonly StoredEntry[]): { readonly clusterCidr: string; readonly serviceCidr: string } {
  const storedEntry = entries.find(({ key }) => key === '/registry/servicecidrs/kubernetes');
  const object =
    storedEntry && (parseJson(Buffer.from(storedEntry.value).toString()).value as { spec?: { cidrs?: string[] } });
  return { clusterCidr: '10.42.0.0/16', serviceCidr: object?.spec?.cidrs?.join(',') ?? DEFAULT_SERVICE_CIDR };
}

async function inUsersWords<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError) throw new PreflightError(`${file}: ${error.message}`);
    throw error;
  }
}
