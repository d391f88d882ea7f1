/**
 * A node's WireGuard key: made once, kept in the data directory in the form of `wg genkey`. The program `wg` reads the
 * file, so that the private key is in no command line.
 */
import type { Platform } from '../../../platform/platform.ts';

const ALGORITHM = { name: 'X25519' } as const;
/** What PKCS #8 puts before the 32 bytes of an X25519 key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex');
const KEY_BYTES = 32;

export interface WireguardKey {
  readonly file: string;
  readonly publicKey: string;
}

/** Reads the key, or makes it. Throws where the file holds none. */
export async function ensureWireguardKey(
  { files, crypto }: Pick<Platform, 'files' | 'crypto'>,
  dataDir: string,
): Promise<WireguardKey> {
  const { subtle } = crypto.webcrypto;
  const file = `${dataDir}/wireguard.key`;
  if (!(await files.exists(file))) {
    const made = await subtle.generateKey(ALGORITHM, true, ['deriveBits']);
    if (!('privateKey' in made)) throw new Error('no pair of keys was made');
    const bytes = Buffer.from(await subtle.exportKey('pkcs8', made.privateKey)).subarray(-KEY_BYTES);
    await files.writeFileAtomic(file, `${bytes.toString('base64')}\n`, { mode: 0o600 });
  }
  const bytes = Buffer.from((await files.readText(file)).trim(), 'base64');
  if (bytes.length !== KEY_BYTES) throw new Error(`${file} holds no WireGuard key; remove it for a new one`);
  const pkcs8 = Buffer.concat([PKCS8_PREFIX, bytes]);
  const key = await subtle.importKey('pkcs8', pkcs8, ALGORITHM, true, ['deriveBits']);
  const { x = '' } = await subtle.exportKey('jwk', key);
  return { file, publicKey: Buffer.from(x, 'base64url').toString('base64') };
}
