/** The API server's connections to kubelets. */
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { KubeletAccess } from '../../apiserver/streaming/kubelet-target.ts';
import { KubeletTunnels } from '../../apiserver/streaming/tunnels/kubelet-tunnels.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { ControlPlaneDeps, ControlPlanePki } from './control-plane-deps.ts';

/** Nothing is opened before an agent requests a tunnel. */
export function createKubeletAccess(
  { platform, pki, settings }: ControlPlaneDeps,
  objects: ObjectStore,
): KubeletAccess & { readonly tunnels: KubeletTunnels } {
  const { clock, datagrams, random } = platform;
  return {
    objects,
    kubeletTls: () => kubeletTls(pki),
    addressTypes: settings?.kubeletAddressTypes,
    tunnels: new KubeletTunnels({
      clock,
      datagrams,
      random: random.fork('kubelet-tunnels'),
      // Without the server's certificate any name may be one of its own.
      isServerName: (name) =>
        pki.apiServer === undefined || readCertificate(platform, pki.apiServer.certPem).dnsNames.includes(name),
    }),
  };
}

/** The client certificate for kubelets, and the authority of their certificates. */
function kubeletTls({ ca, kubeletClient, kubeletTrust }: ControlPlanePki): TlsOptions {
  const { certPem, keyPem } = kubeletClient;
  return { certPem, keyPem, ...(kubeletTrust ?? { caPem: ca.certPem }) };
}
