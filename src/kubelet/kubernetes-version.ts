/** The version the kubelet reports. */
export const KUBERNETES_VERSION = 'v1.36.0';
