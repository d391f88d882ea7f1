/** The names and addresses that the certificates of a server's ports are for, also after certificates were replaced. */
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { HttpServer, ServedCertificates } from '../../platform/http.ts';

type Certificates = Pick<ServedCertificates, 'certPem' | 'sni'>;

export class ServedNames {
  readonly #deps: { readonly crypto: CryptoPort };
  readonly #served: (() => Certificates)[] = [];

  constructor(deps: { readonly crypto: CryptoPort }) {
    this.#deps = deps;
  }

  /** The same server; certificates that are set on it count. */
  follow(server: HttpServer, initial: Certificates | undefined): HttpServer {
    if (initial === undefined) return server;
    let present = initial;
    this.#served.push(() => present);
    return {
      port: server.port,
      close: (graceMs) => server.close(graceMs),
      setCertificate(certificates) {
        server.setCertificate(certificates);
        const { certPem, sni = present.sni } = certificates;
        present = { certPem, sni };
      },
    };
  }

  /** In lower case, without wildcards: these cover hosts that are not this server. */
  names(): readonly string[] {
    const all = this.#served.flatMap((served) => {
      const { certPem, sni = [] } = served();
      return [
        ...this.#namesIn(certPem),
        ...sni.flatMap((one) => (one.names.length > 0 ? one.names : this.#namesIn(one.certPem))),
      ];
    });
    return all.map((name) => name.toLowerCase()).filter((name) => !name.includes('*'));
  }

  #namesIn(certPem: string): readonly string[] {
    const { dnsNames, ipAddresses } = readCertificate(this.#deps, certPem);
    return [...dnsNames, ...ipAddresses];
  }
}
