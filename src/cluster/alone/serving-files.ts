/**
 * Reloads a server's certificate and its clients' authority from their files periodically, so that renewed ones are
 * used without a restart. Upstream: gate ReloadKubeletServerCertificateFile and
 * dynamiccertificates.DynamicFileCAContent, which reads every minute besides watching.
 *
 * Files that are empty, incomplete or do not fit each other change nothing: the last valid content stays in use, and
 * each problem is logged once.
 */
import { onAbort } from '../../base/abort.ts';
import { errorMessage } from '../../base/errors.ts';
import type { SniCertificateFiles } from '../../component-helpers/command-line/tls-options.ts';
import type { KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import { certificateBlocks } from '../../platform/certificate-blocks.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { HttpServer, SniCertificate } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { PreflightError } from '../preflight-error.ts';
import { background } from '../../platform/unexpected.ts';

/** Paths; '' is not followed. */
export interface ServingFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string;
  /** The authority of front proxies. */
  readonly proxyCaFile?: string | undefined;
  /** In the order of the server's certificates. */
  readonly sni?: readonly SniCertificateFiles[];
}

/** The server's current certificate and authorities. */
export interface ServingIdentity {
  readonly pair: KeyPairPem;
  readonly clientCaPem?: string | undefined;
  /** The authority of front proxies, which also verifies clients. */
  readonly proxyCaPem?: string | undefined;
  readonly sni?: readonly SniCertificate[] | undefined;
}

/** Replaces parts of the identity. */
export interface ServedIdentity {
  setPair(pair: KeyPairPem): void;
  setClientCa(clientCaPem: string): void;
  setProxyCa(proxyCaPem: string): void;
  /** `at`: the index among the server's certificates. */
  setNamedPair(at: number, pair: KeyPairPem): void;
}

const PERIOD_MS = 10_000;

/** Keeps the server's current identity, so that each part can be replaced separately. */
export function servedIdentity(server: Pick<HttpServer, 'setCertificate'>, initial: ServingIdentity): ServedIdentity {
  let now = initial;
  const use = (next: ServingIdentity): void => {
    const { pair, clientCaPem, proxyCaPem, sni } = next;
    const authorities = [clientCaPem, proxyCaPem].filter((pem) => pem !== undefined && pem !== '');
    server.setCertificate({
      ...pair,
      clientCaPem: authorities.length === 0 ? undefined : authorities.join('\n'),
      sni,
    });
    now = next;
  };
  return {
    setPair: (pair) => use({ ...now, pair }),
    setClientCa: (clientCaPem) => use({ ...now, clientCaPem }),
    setProxyCa: (proxyCaPem) => use({ ...now, proxyCaPem }),
    setNamedPair: (at, { certPem, keyPem }) =>
      use({ ...now, sni: now.sni?.map((one, index) => (index === at ? { ...one, certPem, keyPem } : one)) }),
  };
}

/** The authority of clients at the start. @throws PreflightError when the file has no complete certificate */
export async function clientAuthority({ files }: Pick<Platform, 'files'>, path: string): Promise<string> {
  try {
    const pem = await files.readText(path);
    certificateBlocks(pem);
    return pem;
  } catch (error) {
    throw new PreflightError(`unable to load client CA file ${path}: ${errorMessage(error)}`);
  }
}

/** A set of files, and what to do with their content. */
interface ServingFilesToFollow {
  readonly paths: ServingFiles;
  readonly identity: ServedIdentity;
  /** The content at the start. */
  readonly initial: ServingIdentity;
  /** Reads an authority of clients that comes from no file; undefined when it is unknown, which changes nothing. */
  readonly readClientCa?: () => Promise<string | undefined>;
  /** Called with a new authority of clients, after the server has it. */
  readonly onClientCa?: ((pem: string) => void) | undefined;
  /** Called with a new authority of front proxies. */
  readonly onProxyCa?: ((pem: string) => void) | undefined;
}

/** Follows the files until the signal aborts. Their current content counts as known. */
export function followServingFiles(
  { files, clock, crypto, log }: Pick<Platform, 'files' | 'clock' | 'crypto' | 'log'>,
  following: ServingFilesToFollow,
  signal: AbortSignal,
): void {
  const followed = followedOf({ files, crypto }, following);
  if (followed.length === 0) return;
  const readFollowed = async (each: FollowedFiles): Promise<void> => {
    try {
      const texts = await each.read();
      if (texts === undefined || texts.every((text, at) => text === each.known[at])) return;
      each.check(texts);
      if (signal.aborted) return;
      each.use(texts);
      each.known = texts;
      each.lastProblem = undefined;
      log.info(`Reloaded the ${each.what}`, { files: each.paths });
    } catch (error) {
      const text = String(error);
      if (each.lastProblem !== text)
        log.error(`The ${each.what} cannot be reloaded`, { files: each.paths, err: error });
      each.lastProblem = text;
    }
  };
  let busy = false;
  const cancel = clock.setTicker(PERIOD_MS, () => {
    if (busy) return;
    busy = true;
    background(
      log,
      'files could not be read again',
      Promise.all(followed.map(readFollowed)).finally(() => (busy = false)),
    );
  });
  onAbort(signal, cancel);
}

function followedOf(
  { files, crypto }: Pick<Platform, 'files' | 'crypto'>,
  following: ServingFilesToFollow,
): FollowedFiles[] {
  const { paths, identity, initial, readClientCa, onClientCa, onProxyCa } = following;
  const { certFile, keyFile, clientCaFile, proxyCaFile = '', sni = [] } = paths;
  const read = (path: string): Promise<string> => files.readText(path);
  type PairFiles = Pick<ServingFiles, 'certFile' | 'keyFile'>;
  const pair = (at: PairFiles, keyPairPem: KeyPairPem, use: (pair: KeyPairPem) => void): FollowedFiles => ({
    what: 'serving certificate',
    known: [keyPairPem.certPem, keyPairPem.keyPem],
    paths: [at.certFile, at.keyFile],
    read: () => Promise.all([read(at.certFile), read(at.keyFile)]),
    check: ([certPem = '', keyPem = '']) => {
      if (keyPem.trim() === '') throw new Error('the key is empty');
      checkCertificates(crypto, certPem);
    },
    use: ([certPem = '', keyPem = '']) => use({ certPem, keyPem }),
  });
  const authority = (
    { what, path, known = '' }: { readonly what: string; readonly path: string; readonly known?: string | undefined },
    use: (pem: string) => void,
  ): FollowedFiles => ({
    what,
    known: [known],
    paths: [path],
    read: async () => [await read(path)],
    check: ([pem = '']) => checkCertificates(crypto, pem),
    use: ([pem = '']) => use(pem),
  });
  const clients = { what: "clients' authority", path: clientCaFile, known: initial.clientCaPem };
  const ofClients = authority(clients, (pem) => {
    identity.setClientCa(pem);
    onClientCa?.(pem);
  });
  const readState = async (): Promise<string[] | undefined> => {
    const pem = await readClientCa?.();
    return pem === undefined ? undefined : [pem];
  };
  const proxies = { what: "front proxies' authority", path: proxyCaFile, known: initial.proxyCaPem };
  const ofProxies = authority(proxies, (pem) => {
    identity.setProxyCa(pem);
    onProxyCa?.(pem);
  });
  return [
    ...(certFile === '' || keyFile === '' ? [] : [pair(paths, initial.pair, (now) => identity.setPair(now))]),
    ...(readClientCa === undefined ? [] : [{ ...ofClients, paths: [], read: readState }]),
    ...(clientCaFile === '' ? [] : [ofClients]),
    ...(proxyCaFile === '' ? [] : [ofProxies]),
    ...sni.map((one, at) => pair(one, initial.sni![at]!, (now) => identity.setNamedPair(at, now))),
  ];
}

/** A cheap check before the listener's: throws unless there is a certificate and each block looks like one. */
function checkCertificates(crypto: CryptoPort, pem: string): void {
  for (const block of certificateBlocks(pem)) readCertificate({ crypto }, block);
}

interface FollowedFiles {
  readonly what: string;
  /** For the log. */
  readonly paths: readonly string[];
  /** Undefined: unchanged. */
  read(): Promise<readonly string[] | undefined>;
  known: readonly string[];
  /** The last logged problem. */
  lastProblem?: string | undefined;
  /** Throws for content that must not be used. */
  check(texts: readonly string[]): void;
  use(texts: readonly string[]): void;
}
