/**
 * Records of this kubelet's pulls with their credentials: a file per image below `pulled/`, and one per pull in
 * progress below `pulling/`. Upstream: pkg/kubelet/images/pullmanager (fs_pullrecords.go, mem_pullrecords.go), in its
 * format.
 *
 * Invariants: the files are read once; from then on memory is authoritative and written to the files, one write at a
 * time per image; an awaited write is on disk. A file that cannot be read counts as a pull with unknown credentials.
 */
import { formatTime } from '../../api/time.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { ObjectIdentity } from './pull-credentials.ts';

/** A secret, and a hash of its credential. */
export interface PullSecretRecord extends ObjectIdentity {
  readonly credentialHash: string;
}

/** The credentials that give the right to use an image under one name. */
export interface PullCredentialsRecord {
  readonly kubernetesSecrets?: readonly PullSecretRecord[];
  readonly kubernetesServiceAccounts?: readonly ObjectIdentity[];
  /** Every pod of the node may use it. */
  readonly nodePodsAccessible?: boolean;
}

export interface PulledRecord {
  readonly lastUpdatedTime: string;
  /** The runtime's id of the image. */
  readonly imageRef: string;
  /** By image name without tag and digest. */
  readonly credentialMapping: Readonly<Record<string, PullCredentialsRecord>>;
}

/** `load` must be called before the other methods. */
export interface PullRecords {
  /** Reads the files. Rejects when the folders cannot be read; the next call retries. */
  load(): Promise<void>;
  /** `unreadable`: the record cannot be decoded. */
  pulled(imageRef: string): PulledRecord | 'unreadable' | undefined;
  allPulled(): readonly PulledRecord[];
  writePulled(imageRef: string, credentialMapping: PulledRecord['credentialMapping']): Promise<void>;
  removePulled(imageRef: string): Promise<void>;
  /** Images whose pull is in progress, including those that an earlier process left. */
  pulling(): readonly string[];
  /** A pull begins; others of the same image may be in progress. */
  begin(image: string): Promise<void>;
  /** A pull has ended; the last of an image deletes the file. */
  end(image: string): Promise<void>;
}

export interface PullRecordsDeps {
  readonly files: Files;
  readonly crypto: Pick<CryptoPort, 'sha256Hex'>;
  readonly log: Log;
  readonly clock: { nowMs(): number };
}

const PREFIX = 'sha256-';
const API_VERSION = 'kubelet.config.k8s.io/v1beta1';
const READABLE_VERSIONS: readonly unknown[] = [API_VERSION, 'kubelet.config.k8s.io/v1alpha1'];

/** Nothing is read before `load`. */
export function createPullRecords(deps: PullRecordsDeps, directory: string): PullRecords {
  const { files, crypto, log, clock } = deps;
  const writes = new KeyedMutex();
  const pulled = new Map<string, PulledRecord>();
  const unreadable = new Set<string>();
  /** The number of pulls in this process, by image. */
  const pulling = new Map<string, number>();
  let loaded: Promise<void> | undefined;

  const fileName = (key: string): string => `${PREFIX}${crypto.sha256Hex(key)}`;
  const pathOf = (folder: 'pulled' | 'pulling', key: string): string => `${directory}/${folder}/${fileName(key)}`;

  async function eachFile(folder: 'pulled' | 'pulling', take: (name: string, text: string) => void): Promise<void> {
    const path = `${directory}/${folder}`;
    await files.makeDir(path, { mode: 0o700 });
    const names = (await files.readDir(path)).filter((name) => /^sha256-[0-9a-f]{64}$/.test(name));
    await Promise.all(
      names.map(async (name) => {
        try {
          take(name, await files.readText(`${path}/${name}`));
        } catch (error) {
          log.error('cannot read a record of an image pull', { file: `${path}/${name}`, err: error });
          if (folder === 'pulled') unreadable.add(name);
        }
      }),
    );
  }

  async function read(): Promise<void> {
    await eachFile('pulled', (name, text) => {
      const record = pulledRecordOf(text);
      if (fileName(record.imageRef) !== name) throw new Error(`it is about ${record.imageRef}`);
      pulled.set(record.imageRef, record);
    });
    await eachFile('pulling', (_name, text) => pulling.set(intentOf(text), 0));
  }

  return {
    load() {
      loaded ??= read().catch((error: unknown) => {
        loaded = undefined;
        throw error;
      });
      return loaded;
    },
    pulled: (imageRef) =>
      pulled.get(imageRef) ?? (unreadable.size > 0 && unreadable.has(fileName(imageRef)) ? 'unreadable' : undefined),
    allPulled: () => [...pulled.values()],
    async writePulled(imageRef, credentialMapping) {
      const record = { lastUpdatedTime: formatTime(clock.nowMs()), imageRef, credentialMapping };
      pulled.set(imageRef, record);
      unreadable.delete(fileName(imageRef));
      await writes.run(imageRef, () => {
        const newest = { kind: 'ImagePulledRecord', apiVersion: API_VERSION, ...(pulled.get(imageRef) ?? record) };
        return files.writeFileAtomic(pathOf('pulled', imageRef), JSON.stringify(newest), { mode: 0o600 });
      });
    },
    async removePulled(imageRef) {
      pulled.delete(imageRef);
      await writes.run(imageRef, async () => {
        if (!pulled.has(imageRef)) await files.remove(pathOf('pulled', imageRef));
      });
    },
    pulling: () => [...pulling.keys()],
    async begin(image) {
      pulling.set(image, (pulling.get(image) ?? 0) + 1);
      const intent = { kind: 'ImagePullIntent', apiVersion: API_VERSION, image };
      try {
        await writes.run(image, () =>
          files.writeFileAtomic(pathOf('pulling', image), JSON.stringify(intent), { mode: 0o600 }),
        );
      } catch (error) {
        pulling.set(image, (pulling.get(image) ?? 1) - 1);
        throw error;
      }
    },
    async end(image) {
      const left = (pulling.get(image) ?? 1) - 1;
      if (left > 0) {
        pulling.set(image, left);
        return;
      }
      pulling.delete(image);
      await writes.run(image, async () => {
        if (!pulling.has(image)) await files.remove(pathOf('pulling', image));
      });
    },
  };
}

function objectOf(text: string, kind: string): Record<string, unknown> {
  const value = JSON.parse(text) as Record<string, unknown>;
  if (value?.['kind'] !== kind || !READABLE_VERSIONS.includes(value['apiVersion']))
    throw new Error(`no ${kind}: ${text.slice(0, 200)}`);
  return value;
}

function intentOf(text: string): string {
  const { image } = objectOf(text, 'ImagePullIntent');
  if (typeof image !== 'string') throw new Error('it names no image');
  return image;
}

function pulledRecordOf(text: string): PulledRecord {
  const { lastUpdatedTime, imageRef, credentialMapping = {} } = objectOf(text, 'ImagePulledRecord');
  if (typeof imageRef !== 'string' || typeof lastUpdatedTime !== 'string')
    throw new Error('it names no image, or no time');
  return { imageRef, lastUpdatedTime, credentialMapping: credentialMapping as PulledRecord['credentialMapping'] };
}
