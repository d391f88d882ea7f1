/** Puts encryption at rest in front of a store, by an EncryptionConfiguration file that may change while we run. */
import { errorMessage } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import { PreflightError } from '../preflight-error.ts';
import { background } from '../../platform/unexpected.ts';

/** Upstream's period of reading the file. */
const RELOAD_MS = 60_000;

/** The file, and whether it is read again when it has changed. */
export interface EncryptionChoice {
  readonly file: string;
  readonly reload: boolean;
}

/** The encrypting store. Rejects with `PreflightError` when the file cannot be used. */
export async function encryptStore(
  platform: Pick<Platform, 'clock' | 'random' | 'files' | 'crypto' | 'log' | 'metrics'>,
  store: Store,
  { file, reload }: EncryptionChoice,
): Promise<Store> {
  const { clock, random, files, crypto, log, metrics } = platform;
  const { parseEncryptionConfig } = await import('../../storage/encryption/encryption-config.ts');
  const { createEncryptedStore } = await import('../../storage/encryption/encrypted-store.ts');
  const { ciphers } = crypto;
  if (ciphers === undefined) throw new PreflightError(`${file}: there is no encryption under simulation`);
  const parse = (text: string) => parseEncryptionConfig(text, { ciphers, random });
  let text: string;
  let encrypted: ReturnType<typeof createEncryptedStore>;
  try {
    text = await files.readText(file);
    encrypted = createEncryptedStore(store, parse(text));
  } catch (error) {
    throw new PreflightError(`cannot use the encryption configuration ${file}: ${errorMessage(error)}`);
  }
  if (!reload) return encrypted;
  const reloads = metrics.counter({
    name: 'apiserver_encryption_config_controller_automatic_reloads_total',
    help: 'Reloads of the encryption configuration, by outcome.',
    labels: ['status'],
  });
  const checkFile = async (): Promise<void> => {
    try {
      const now = await files.readText(file);
      if (now === text) return;
      encrypted.use(parse(now));
      text = now;
      reloads.inc({ status: 'success' });
      log.info('the encryption configuration was reloaded', { file });
    } catch (err) {
      reloads.inc({ status: 'failure' });
      log.error('the encryption configuration cannot be used; the one before stays', { err, file });
    }
  };
  const stop = clock.setTicker(RELOAD_MS, () =>
    background(log, 'the encryption configuration could not be read', checkFile()),
  );
  return {
    ...encrypted,
    close: async () => {
      stop();
      await encrypted.close();
    },
  };
}
