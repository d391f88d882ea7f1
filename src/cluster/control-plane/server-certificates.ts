/** The certificates of this machine's control plane, created once and shared, and the administrator's kubeconfig. */
import { createDeferred } from '../../base/deferred.ts';
import { ensureClusterPki, type ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import type { Platform } from '../../platform/platform.ts';
import { servingNames } from '../instance/host-address.ts';
import { localAddress, localServerUrl } from '../instance/server-addresses.ts';
import { kubeconfigYaml } from '../kubeconfig.ts';
import { kubernetesServiceAddress } from '../network/pod-network.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import type { Instance } from '../instance/instance.ts';
import type { Progress } from '../progress.ts';

/**
 * The cluster's certificates. `pki` resolves when they are on disk, `made` earlier, when they only have to be
 * written.
 */
interface Certificates {
  readonly pki: Promise<ClusterPki>;
  readonly made: Promise<void>;
}

interface CertificatesConfig {
  readonly instance: Instance;
  readonly options: ClusterOptions;
  readonly advertiseAddress: string;
  readonly progress: Progress;
}

export class ServerCertificates {
  readonly #platform: Pick<Platform, 'files' | 'crypto' | 'random' | 'clock'>;
  readonly #config: CertificatesConfig;
  #certificates: Certificates | undefined;

  constructor(platform: Pick<Platform, 'files' | 'crypto' | 'random' | 'clock'>, config: CertificatesConfig) {
    this.#platform = platform;
    this.#config = config;
  }

  /** Created for the first caller and shared with all others. */
  ensure(): Certificates {
    if (this.#certificates !== undefined) return this.#certificates;
    const made = createDeferred<void>();
    const pki = this.#config.progress.phase('certificates', () => this.#make(made.resolve));
    return (this.#certificates = { pki: pki.finally(made.resolve), made: made.promise });
  }

  #make(onMade: () => void): Promise<ClusterPki> {
    const { files, crypto, random, clock } = this.#platform;
    const { instance, options, advertiseAddress } = this.#config;
    const { dnsNames, ipAddresses } = options.tlsNames ?? { dnsNames: [], ipAddresses: [] };
    const names = servingNames(instance, [
      advertiseAddress,
      '127.0.0.1',
      localAddress(options),
      kubernetesServiceAddress(instance.serviceCidr),
      ...ipAddresses,
    ]);
    return ensureClusterPki(
      files,
      { crypto, random, nowMs: () => clock.nowMs() },
      { dir: instance.pkiDir, names: { ...names, dnsNames: [...names.dnsNames, ...dnsNames] }, onMade },
    );
  }

  /** Writes the kubeconfig of the administrator, with mode 0600. */
  writeAdminKubeconfig({ ca, admin }: ClusterPki): Promise<void> {
    const { instance, options } = this.#config;
    const server = localServerUrl(options, instance.httpsPort);
    return this.#platform.files.writeFileAtomic(
      instance.adminKubeconfig,
      kubeconfigYaml({ server, caPem: ca.certPem, ...admin, user: options.name, cluster: options.name }),
      { mode: 0o600 },
    );
  }
}
