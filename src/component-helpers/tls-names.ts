/**
 * Names of TLS versions and cipher suites in flags and configuration files: Go's, and the corresponding names of
 * OpenSSL.
 */

/** The TLS versions that are offered, by Go's name. */
export const TLS_VERSIONS: Readonly<Record<string, 'TLSv1.2' | 'TLSv1.3'>> = {
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** OpenSSL's name of a cipher suite; undefined for an unknown one. */
export function openSslCipher(name: string): string | undefined {
  if (/^TLS_(AES_128_GCM_SHA256|AES_256_GCM_SHA384|CHACHA20_POLY1305_SHA256)$/.test(name)) return name;
  const match = /^TLS_(ECDHE_(?:ECDSA|RSA)|RSA)_WITH_(AES_(?:128|256)_(?:GCM|CBC)|CHACHA20_POLY1305)_?(SHA\d*)?$/.exec(
    name,
  );
  if (match === null) return undefined;
  const [, exchange = '', cipher = '', hash = ''] = match;
  const parts = cipher.startsWith('CHACHA20')
    ? ['CHACHA20-POLY1305']
    : [cipher.replace('AES_', 'AES').replace('_CBC', '').replace('_', '-'), hash];
  return [...(exchange === 'RSA' ? [] : [exchange.replace('_', '-')]), ...parts].join('-');
}
