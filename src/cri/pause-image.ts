/**
 * The sandbox image, built into Keelson: no registry is needed to start a pod. Upstream: registry.k8s.io/pause.
 */
import { buildOciImage, type OciImage } from './oci-image.ts';
import { pauseExecutable, type PauseArchitecture } from './pause-program.ts';

/** Name of the sandbox image; containerd's configuration names it as `sandbox_image`. */
export const PAUSE_IMAGE_NAME = 'keelson.local/pause:1';

/** The sandbox image for a machine. Throws when there is no pause program for its architecture. */
export function buildPauseImage(architecture: string, sha256Hex: (data: Uint8Array) => string): OciImage {
  if (architecture !== 'amd64' && architecture !== 'arm64')
    throw new Error(`no pause program for architecture ${architecture}`);
  const content = pauseExecutable(architecture satisfies PauseArchitecture);
  return buildOciImage(
    { architecture, files: [{ path: 'pause', mode: 0o755, content }], entrypoint: ['/pause'], user: '65535:65535' },
    sha256Hex,
  );
}
