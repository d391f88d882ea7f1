/**
 * Keeps one certificate of a node current: reads it from disk, requests it when it is missing or has other contents,
 * renews it after 70 to 90 percent of its lifetime. Certificate and key are in one file that is replaced atomically,
 * under the kubelet's name `<name>-current.pem`. Upstream: client-go util/certificate certificate_manager.go.
 */
import { sleepUnlessAborted, type Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import { callEach } from '../../platform/unexpected.ts';
import { createRequest, type CertificateDeps, type KeyPairPem } from './certificates.ts';
import { readCertificate } from './read-certificate.ts';

const RETRY_MS = 5_000;
/** How many refusals are retried: a server that has just started may not know the node yet. */
const REFUSALS = 3;
const WALL_CHECK_MS = 60 * 60_000;

/** The signer, and where the certificate is kept. */
export interface CertificateManagerDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly crypto: CertificateDeps['crypto'];
  readonly random: CertificateDeps['random'];
  /**
   * Gets a request signed; resolves to the certificate. Rejects when it is denied or not answered: the manager then
   * tries again.
   */
  readonly sign: (requestPem: string, signal: AbortSignal) => Promise<string>;
}

export interface CertificateManagerConfig {
  /** The folder of the certificate's file. */
  readonly dir: string;
  /** `kubelet-client`, `kubelet-server`. */
  readonly name: string;
  /** A pair from another source, used until the file exists. */
  readonly configured?: KeyPairPem;
  /** The contents of the certificate; called whenever one is requested or checked, since addresses change. */
  readonly subject: () => {
    readonly commonName: string;
    readonly organizations: readonly string[];
    readonly dnsNames?: readonly string[];
    readonly ipAddresses?: readonly string[];
  };
  /** Whether requesting the first certificate again is useless. Absent: it is requested until it is signed. */
  readonly isRefusal?: (error: unknown) => boolean;
}

export interface CertificateManager {
  /** The newest certificate; undefined before the first. */
  current(): KeyPairPem | undefined;
  /** The file with certificate and key. */
  readonly file: string;
  /** Reads the kept or configured certificate; resolves to whether it is still valid. Sends no request. */
  load(): Promise<boolean>;
  /**
   * Loads or requests the first certificate; resolves when there is one. Rejects on the signal's abort, and after
   * three refusals in a row.
   */
  ensure(signal: AbortSignal): Promise<KeyPairPem>;
  /** Renews until the signal aborts. Never rejects. */
  keep(signal: AbortSignal): Promise<void>;
  /** Calls back with every new certificate that replaces another. */
  onRenewed(listener: (pair: KeyPairPem) => void): void;
}

/** Reads nothing before `load` or `ensure`. */
export function createCertificateManager(
  deps: CertificateManagerDeps,
  config: CertificateManagerConfig,
): CertificateManager {
  return new Manager(deps, config);
}

class Manager implements CertificateManager {
  readonly file: string;
  readonly #deps: CertificateManagerDeps;
  readonly #config: CertificateManagerConfig;
  readonly #listeners: ((pair: KeyPairPem) => void)[] = [];
  #current: KeyPairPem | undefined;
  #first: Promise<KeyPairPem> | undefined;

  constructor(deps: CertificateManagerDeps, config: CertificateManagerConfig) {
    this.#deps = deps;
    this.#config = config;
    this.file = `${config.dir}/${config.name}-current.pem`;
  }

  current(): KeyPairPem | undefined {
    return this.#current;
  }

  onRenewed(listener: (pair: KeyPairPem) => void): void {
    this.#listeners.push(listener);
  }

  ensure(signal: AbortSignal): Promise<KeyPairPem> {
    this.#first ??= this.#getFirst(signal).catch((error: unknown) => {
      this.#first = undefined;
      throw error;
    });
    return this.#first;
  }

  async load(): Promise<boolean> {
    this.#current ??= await this.#load();
    return this.#current !== undefined;
  }

  async #getFirst(signal: AbortSignal): Promise<KeyPairPem> {
    await this.load();
    let refusals = 0;
    while (this.#current === undefined) {
      await this.#renew(signal).catch((error: unknown) => {
        refusals = this.#config.isRefusal?.(error) === true ? refusals + 1 : 0;
        if (refusals === REFUSALS) throw error;
        this.#failed(error, signal);
      });
      if (this.#current === undefined) await this.#deps.clock.sleep(RETRY_MS, signal);
    }
    return this.#current;
  }

  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const waitMs = this.#renewAtMs() - this.#deps.clock.nowMs();
        // In steps: wall clocks jump, and machines are suspended.
        if (waitMs > 0) await this.#deps.clock.sleep(Math.min(waitMs, WALL_CHECK_MS), signal);
        else await this.#renew(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(error, signal);
        await sleepUnlessAborted(this.#deps.clock, RETRY_MS, signal);
      }
    }
  }

  #failed(error: unknown, signal: AbortSignal): void {
    signal.throwIfAborted();
    this.#deps.log.warn('no certificate yet', { certificate: this.#config.name, err: error });
  }

  /** After 70 to 90 percent of its lifetime: different on every node but fixed for a certificate. */
  #renewAtMs(): number {
    const pair = this.#current;
    if (pair === undefined) return 0;
    const { notBeforeMs, notAfterMs, ipAddresses } = readCertificate(this.#deps, pair.certPem);
    const wanted = this.#config.subject().ipAddresses ?? [];
    if (wanted.some((address) => !ipAddresses.includes(address))) return 0;
    const part = Number.parseInt(this.#deps.crypto.sha256Hex(pair.certPem).slice(0, 8), 16) / 0xffff_ffff;
    return notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * part);
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { requestPem, keyPem } = await createRequest(this.#deps, this.#config.subject());
    const certPem = await this.#deps.sign(requestPem, signal);
    // A certificate that cannot be read has no known end to renew it before: another is requested.
    readCertificate(this.#deps, certPem);
    const { files } = this.#deps;
    await files.makeDir(this.#config.dir, { mode: 0o700 });
    await files.writeFileAtomic(this.file, `${certPem.trimEnd()}\n${keyPem}`, { mode: 0o600 });
    const renewed = this.#current !== undefined;
    this.#current = { certPem, keyPem };
    if (renewed)
      callEach({ log: this.#deps.log, what: 'a user of the certificate threw' }, this.#listeners, this.#current);
  }

  async #load(): Promise<KeyPairPem | undefined> {
    const { files, clock, log } = this.#deps;
    const exists = await files.exists(this.file);
    if (!exists && this.#config.configured === undefined) return undefined;
    try {
      const pair = exists ? splitPair(await files.readText(this.file)) : this.#config.configured!;
      const { notAfterMs, commonName } = readCertificate(this.#deps, pair.certPem);
      if (notAfterMs > clock.nowMs() && commonName === this.#config.subject().commonName) return pair;
      log.warn('the certificate is of no use any more', { certificate: this.#config.name, commonName });
    } catch (error) {
      log.warn('cannot read the certificate; asking for another', { certificate: this.#config.name, err: error });
    }
    return undefined;
  }
}

/** Certificate and key of one PEM text. Throws when one is missing. */
function splitPair(text: string): KeyPairPem {
  const block = (label: string): string =>
    new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----\\n?`).exec(text)?.[0] ?? '';
  const pair = { certPem: block('CERTIFICATE'), keyPem: block('PRIVATE KEY') };
  if (pair.certPem === '' || pair.keyPem === '') throw new Error('certificate or key is missing');
  return pair;
}
