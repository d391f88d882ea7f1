/** A volume of a CSI driver: a persistent one, or inline in the pod. Upstream: pkg/volume/csi/csi_plugin.go. */
import type { VolumePlugin } from '../../volume-plugin.ts';

export const csiPlugin: VolumePlugin = {
  name: 'kubernetes.io/csi',
  supports: (source) => source.csi !== undefined || source.persistentCsi !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  setUp: (request, deps) => deps.csi.setUp(request),
  tearDown: ({ dir }, deps) => deps.csi.tearDown(dir),
};
