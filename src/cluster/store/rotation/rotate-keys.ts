/**
 * Rotates the key of encryption at rest while the cluster runs: the new key first, everything written again, the old keys
 * dropped. Upstream: k3s secrets-encrypt rotate-keys. A run that is cut short is taken up by the next one.
 *
 * Invariants: an old key is dropped only when a copy of the store shows that no value needs it, and that the server writes
 * with the new one; the name of the new key is on disk before the key is.
 */
import { errorMessage } from '../../../base/errors.ts';
import { formatTime } from '../../../api/time.ts';
import type { Client } from '../../../client/client.ts';
import type { Platform } from '../../../platform/platform.ts';
import { parseEncryptionConfig, type EncryptionConfig } from '../../../storage/encryption/encryption-config.ts';
import type { StoredEntry } from '../../../storage/store.ts';
import { PreflightError } from '../../preflight-error.ts';
import { keyNames, withFirstKey, withOnlyKey } from './edit-keys.ts';
import { writeAnew, writeProbe } from './write-anew.ts';
import { storedKeys, type StoredKeys } from './stored-keys.ts';

export interface RotationDeps {
  readonly platform: Pick<Platform, 'files' | 'clock' | 'random' | 'crypto'>;
  readonly client: Client;
  /** The entries on disk. */
  read(): Promise<readonly StoredEntry[]>;
  /** Reports a step to the user. */
  report(line: string): void;
}

export interface RotationPlace {
  /** The EncryptionConfiguration. */
  readonly file: string;
  readonly dataDir: string;
}

/** The record of a rotation. */
export interface RotationState {
  readonly key: string;
  readonly stage: 'rewriting' | 'finished';
  readonly time: string;
}

/** The server reads a changed file within a minute. */
const DEADLINE_MS = 180_000;
const PAUSE_MS = 2_000;
const KEY_BYTES = 32;
const SUFFIX_BYTES = 4;

const stateFile = (dataDir: string): string => `${dataDir}/encryption-rotation.json`;

/** Undefined where no key was ever rotated. */
export async function readRotation(files: Platform['files'], dataDir: string): Promise<RotationState | undefined> {
  const path = stateFile(dataDir);
  if (!(await files.exists(path))) return undefined;
  return JSON.parse(await files.readText(path)) as RotationState;
}

/** The configuration in a file. Rejects with `PreflightError`. */
export async function readKeys(
  { files, crypto, random }: Pick<Platform, 'files' | 'crypto' | 'random'>,
  file: string,
): Promise<{ readonly text: string; readonly config: EncryptionConfig; readonly names: readonly string[] }> {
  const { ciphers } = crypto;
  if (ciphers === undefined) throw new PreflightError('there is no encryption under simulation');
  try {
    const text = await files.readText(file);
    return { text, config: parseEncryptionConfig(text, { ciphers, random }), names: keyNames(text) };
  } catch (error) {
    throw new PreflightError(`cannot use the encryption configuration ${file}: ${errorMessage(error)}`);
  }
}

/** Resolves to the name of the new key. Rejects with `PreflightError`; the next call continues where this one ended. */
export async function rotateKeys(deps: RotationDeps, place: RotationPlace): Promise<string> {
  const key = await ensureRotationKey(deps, place);
  deps.report(`the key ${key} is the first of ${place.file}; the server takes it within a minute`);
  const keys = await rewrite(deps, place);
  deps.report(`${keys.fresh} values are written with it, none with another`);
  await editKeyFile(deps, place.file, (text) => withOnlyKey(text, key));
  await remember(deps, place, { key, stage: 'finished' });
  return key;
}

/** The key of an interrupted rotation, or a new one; it is the first in the file afterwards. */
async function ensureRotationKey(deps: RotationDeps, place: RotationPlace): Promise<string> {
  const { files, clock, random } = deps.platform;
  const before = await readRotation(files, place.dataDir);
  const { text, names, config } = await readKeys(deps.platform, place.file);
  // Throws for a file that is not the server's, before it is changed.
  const checkFile = async (): Promise<StoredKeys> => storedKeys(await deps.read(), config);
  if (before?.stage === 'rewriting' && names.includes(before.key)) {
    orPreflightError(place.file, () => withOnlyKey(text, before.key)); // Throws where another key was put first meanwhile.
    await checkFile();
    return before.key;
  }
  // Two that rotate in the same second have keys of two names: values name the key that they are written with.
  const suffix = Buffer.from(random.bytes(SUFFIX_BYTES)).toString('hex');
  const key = `key-${formatTime(clock.nowMs()).replace(/\D/g, '')}-${suffix}`;
  const secret = Buffer.from(random.bytes(KEY_BYTES)).toString('base64');
  const next = orPreflightError(place.file, () => withFirstKey(text, { name: key, secret }));
  await checkFile();
  await remember(deps, place, { key, stage: 'rewriting' });
  await files.writeFileAtomic(place.file, next, { mode: 0o600 });
  return key;
}

async function rewrite(deps: RotationDeps, place: RotationPlace): Promise<StoredKeys> {
  const { clock } = deps.platform;
  const deadlineMs = clock.monotonicMs() + DEADLINE_MS;
  let reported = 0;
  for (;;) {
    const { config } = await readKeys(deps.platform, place.file);
    const keys = storedKeys(await deps.read(), config);
    // A value with the new key shows that the server has it; then none with another can come after this copy was made.
    if (keys.stale.length === 0 && keys.fresh > 0) return keys;
    if (clock.monotonicMs() > deadlineMs)
      throw new PreflightError(
        keys.stale.length > 0
          ? `${keys.stale.length} values are not written with the new key, ${keys.stale[0]!.key} for one; both keys stay: call it again`
          : 'the server does not write with the new key; both keys stay. Does it run with this file?',
      );
    if (reported !== keys.stale.length) deps.report(`${(reported = keys.stale.length)} values to write anew`);
    if (keys.stale.length === 0) await writeProbe(deps.client);
    else await writeAnew(deps.client, keys.stale);
    await clock.sleep(PAUSE_MS);
  }
}

async function editKeyFile(deps: RotationDeps, file: string, edit: (text: string) => string): Promise<void> {
  const { files } = deps.platform;
  const text = await files.readText(file);
  await files.writeFileAtomic(
    file,
    orPreflightError(file, () => edit(text)),
    { mode: 0o600 },
  );
}

function orPreflightError(file: string, edit: () => string): string {
  try {
    return edit();
  } catch (error) {
    throw new PreflightError(`${file}: ${errorMessage(error)}`);
  }
}

async function remember(
  { platform: { files, clock } }: RotationDeps,
  { dataDir }: RotationPlace,
  state: Omit<RotationState, 'time'>,
): Promise<void> {
  const text = JSON.stringify({ ...state, time: formatTime(clock.nowMs()) } satisfies RotationState);
  await files.writeFileAtomic(stateFile(dataDir), `${text}\n`, { mode: 0o600 });
}
