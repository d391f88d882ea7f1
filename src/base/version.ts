/** The version of this package, and of the Kubernetes API it serves. */

/** Keelson's own version, as in package.json (a test compares them). */
export const VERSION = '0.1.0';

/** The Kubernetes version whose API is served. */
export const KUBERNETES_VERSION = 'v1.36.0';
