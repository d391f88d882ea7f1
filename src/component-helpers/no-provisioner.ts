/** The provisioner of classes whose volumes are created by hand. Upstream: volume/util NotSupportedProvisioner. */
export const NO_PROVISIONER = 'kubernetes.io/no-provisioner';
