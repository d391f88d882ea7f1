/** TLS options for Node.js: versions, suites, certificates by name, and the authorities of client certificates. */
import { constants } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { errorMessage } from '../../base/errors.ts';
import { certificateBlocks } from '../certificate-blocks.ts';
import type { ListenOptions, SniCertificate } from '../http.ts';
import { certificatesByName } from './sni.ts';
import { authoritiesOf, type ClientTrust } from './tls.ts';

const TLS13_SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/**
 * TLS settings for client authorities: one block each, as joined texts may lack a line break in between. Sessions are
 * not resumed: a resumed one would carry over the verification of its certificate and outlive the certificate and the
 * authority.
 */
export function verifiedClients(clientCaPem: string | undefined): { ca?: string[]; secureOptions?: number } {
  if (clientCaPem === undefined) return {};
  return { ca: [...certificateBlocks(clientCaPem)], secureOptions: constants.SSL_OP_NO_TICKET };
}

/** The settings of TLS that stay when certificates change. */
export type TlsChoices = Partial<Omit<NonNullable<ListenOptions['tls']>, 'certPem' | 'keyPem' | 'clientCaPem'>>;

export function versionsOf({ minVersion = 'TLSv1.2', ciphers }: TlsChoices): {
  minVersion: typeof minVersion;
  ciphers?: string;
} {
  if (ciphers === undefined) return { minVersion };
  // A list of TLS 1.2 suites restricts only those; Node.js would not offer TLS 1.3 without any of its suites.
  const later = ciphers.some((name) => TLS13_SUITES.includes(name)) ? [] : TLS13_SUITES;
  return { minVersion, ciphers: [...later, ...ciphers].join(':') };
}

/** Throws for unusable certificates. */
export function contextsByName(
  tls: TlsChoices,
  sni: readonly SniCertificate[],
  clientCaPem: string | undefined,
): ReadonlyMap<string, SecureContext> {
  const contexts = [...certificatesByName(sni)].map(([name, { certPem: cert, keyPem: key }]) => {
    if (cert === '' || key === '') throw new Error('an empty certificate or key cannot be served');
    return [name, createSecureContext({ cert, key, ...verifiedClients(clientCaPem), ...versionsOf(tls) })] as const;
  });
  return new Map(contexts);
}

/** Checks the authorities: for '' Node.js trusts the public ones, and it skips truncated blocks. */
export function readClientCa(pem: string | undefined): ClientTrust['authorities'] {
  try {
    return pem === undefined ? [] : authoritiesOf(pem);
  } catch (error) {
    throw new Error(`unable to load client CA: ${errorMessage(error)}`, { cause: error });
  }
}
