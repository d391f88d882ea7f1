/**
 * Identities on the simulated network. No bytes are transferred, so no certificate is parsed: a name in place of a PEM text
 * stands for the certificate, and the network maps it to its owner. Real certificates are created when a real port is opened.
 */
import type { Principal } from '../api/transport.ts';
import type { PeerCertificate } from '../platform/http.ts';

/** The user of `cluster.client`. */
export const ADMIN: Principal = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

/** The API server's client certificate for kubelets. */
export const API_SERVER_CLIENT = { certPem: 'simulated: kube-apiserver-kubelet-client', keyPem: '' };

/** The serving certificate of kubelets. */
export const NODE_TLS = { certPem: 'simulated: kubelet', keyPem: '', clientCaPem: 'simulated: authority' };

/** The certificate that a name stands for. */
export function verifySimulatedPeer(certPem: string): PeerCertificate | undefined {
  if (certPem !== API_SERVER_CLIENT.certPem) return undefined;
  return { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'], fingerprint256: '00' };
}

/**
 * The certificate in `kube-root-ca.crt` of clusters on virtual time without a real port: well-formed, always the same, without a
 * private key. Opening a port replaces it by a real one.
 */
export const PLACEHOLDER_CA_PEM = `-----BEGIN CERTIFICATE-----
MIIBkTCCATegAwIBAgIUTTfPd8kfrWIPdvs10n6qzXXCPWwwCgYIKoZIzj0EAwIw
HTEbMBkGA1UEAwwSa2VlbHNvbi1zaW11bGF0aW9uMCAXDTI2MTEyMTAxMzAzMloY
DzIxMjYxMDI4MDEzMDMyWjAdMRswGQYDVQQDDBJrZWVsc29uLXNpbXVsYXRpb24w
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQQpVbbA+koUHZjt37E7Y00A103qvg0
y9dj9lyC6YouUTGLFokG62nO5m55pJ50w6X7w/richnlAwbjguhr5mgYo1MwUTAd
BgNVHQ4EFgQUqEGX2NZfQVBmX+SE2Gbbc+HVDE8wHwYDVR0jBBgwFoAUqEGX2NZf
QVBmX+SE2Gbbc+HVDE8wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBF
AiEA7uF+fORr2kCRntzhRIy7VHMqS72NtPlU75rpXWQ4V4ICIBoLvvJPoCi09Qwu
T8c9zwmfHRU4C88kj+9P1oa6oFWD
-----END CERTIFICATE-----
`;
