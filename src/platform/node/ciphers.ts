/** AES by node:crypto. */
import { type CipherGCMTypes, createCipheriv, createDecipheriv } from 'node:crypto';
import type { Ciphers } from '../ciphers.ts';

const TAG_BYTES = 16;

const gcm = (key: Uint8Array): CipherGCMTypes => `aes-${key.length * 8}-gcm` as CipherGCMTypes;

/** The ciphers of this process. */
export const nodeCiphers: Ciphers = {
  encryptAesCbc(key, iv, data) {
    const cipher = createCipheriv(`aes-${key.length * 8}-cbc`, key, iv);
    return Buffer.concat([cipher.update(data), cipher.final()]);
  },
  decryptAesCbc(key, iv, data) {
    const decipher = createDecipheriv(`aes-${key.length * 8}-cbc`, key, iv);
    return Buffer.concat([decipher.update(data), decipher.final()]);
  },
  encryptAesGcm({ key, nonce, additional }, data) {
    const cipher = createCipheriv(gcm(key), key, nonce).setAAD(additional);
    return Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  },
  decryptAesGcm({ key, nonce, additional }, data) {
    if (data.length < TAG_BYTES) throw new Error('the text is too short');
    const at = data.length - TAG_BYTES;
    const decipher = createDecipheriv(gcm(key), key, nonce, { authTagLength: TAG_BYTES }).setAAD(additional);
    decipher.setAuthTag(data.subarray(at));
    return Buffer.concat([decipher.update(data.subarray(0, at)), decipher.final()]);
  },
};
